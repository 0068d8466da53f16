// The page of many runs: filters the rows by words, and chooses two of them to compare. What was chosen stays when a
// newer list replaces the table. Without this script the list is whole, and each row still leads to its run.
"use strict";
(function () {
    var section = document.getElementById("runs");
    if (JSON.parse(document.getElementById("document").textContent).format !== "rb-runs/1" || !section)
        return;
    var chosen = [], bar = document.createElement("div"), field = document.createElement("input");
    var label = document.createElement("label"), shown = document.createElement("span"), compare = document.createElement("a");

    function rows() {
        return Array.prototype.slice.call(document.querySelectorAll("#runs tbody tr"));
    }

    // Where the row leads; null: it is only text.
    function place_of(row) {
        var link = row.cells[0].querySelector("a");
        return link ? link.getAttribute("href") : null;
    }

    function filter() {
        var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), n = 0, all = rows();
        all.forEach(function (row) {
            var text = row.textContent.toLowerCase();
            row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
            n += row.hidden ? 0 : 1;
        });
        shown.textContent = words.length ? n + " of " + all.length : "";
    }

    function offer() {
        var ready = chosen.length === 2;
        compare.textContent = ready ? "Compare the two" : chosen.length ? "Choose one more to compare" : "Choose two runs to compare";
        if (ready)
            compare.href = "compare/" + chosen.map(function (place) { return place.replace(/^run\//, ""); }).join("");
        else
            compare.removeAttribute("href");
        document.querySelectorAll("#runs tbody input").forEach(function (box) {
            box.checked = chosen.indexOf(box.value) >= 0;
        });
    }

    // Of three the first is let go.
    function choose(place, is_on) {
        chosen = chosen.filter(function (other) { return other !== place; });
        if (is_on)
            chosen.push(place);
        chosen = chosen.slice(-2);
        offer();
    }

    function add_box(row) {
        var place = place_of(row), box = document.createElement("input");
        if (place === null || row.cells[0].querySelector("input"))
            return;
        box.type = "checkbox";
        box.value = place;
        box.setAttribute("aria-label", "compare " + row.cells[0].textContent);
        box.onchange = function () { choose(place, box.checked); };
        row.cells[0].insertBefore(box, row.cells[0].firstChild);
    }

    function prepare() {
        rows().forEach(add_box);
        filter();
        offer();
    }

    // The box with the keyboard focus keeps it.
    var replace_tables = rb_page.replace_tables;
    rb_page.replace_tables = function (replace) {
        var focused = document.activeElement, place = focused && focused.matches("#runs tbody input") ? focused.value : null;
        replace_tables(replace);
        prepare();
        document.querySelectorAll("#runs tbody input").forEach(function (box) {
            if (place !== null && box.value === place && !focused.isConnected)
                box.focus({preventScroll: true});
        });
    };

    bar.className = "browse";
    field.type = "search";
    field.placeholder = "a job, a state, a metric, a place";
    field.oninput = filter;
    shown.setAttribute("role", "status");
    label.append("Filter ", field);
    bar.append(label, shown, compare);
    section.parentNode.insertBefore(bar, section);
    prepare();
}());
