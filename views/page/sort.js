// Makes tables sortable: each heading becomes a button, which sorts upwards, downwards, and then restores the first
// order. Numbers, durations, dollars and shares are compared by their size, other text as text; unknown values stay
// last, and a total (a row of class "total") below everything. A table that continues further down, under the same
// headings in the same section, is sorted together with it. Without this script tables stay as they were written.
"use strict";
(function () {
    var chosen = {}; // by key of a table: {column, descending}; kept when a live page replaces the table
    var UNITS = {us: 1e-6, "\u00b5s": 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86400};
    var words = new Intl.Collator(undefined, {numeric: true, sensitivity: "base"});

    // "1 m 20 s" in seconds, "-$0.0012", "52.7 %", "4.5e-05"; null: it is none of them.
    function size_of(text) {
        var plain = text.trim().replace(/^[-\u2212+]/, ""), sign = plain !== text.trim() && text.trim()[0] !== "+" ? -1 : 1;
        var number = /^\$?(\d[\d.]*(?:e[-+]?\d+)?)(?: %)?$/i.exec(plain);
        if (number)
            return sign * parseFloat(number[1]);
        if (!/^(\d[\d.]* (us|\u00b5s|ms|s|m|h|d)( |$))+$/.test(plain))
            return null;
        return sign * plain.match(/[\d.]+ [^ ]+/g).reduce(function (sum, part) {
            return sum + parseFloat(part) * UNITS[part.split(" ")[1]];
        }, 0);
    }

    function is_unknown(text) {
        return /^(|-|\u2013|not known|not yet|never|not ended|none|no plan|\?)$/.test(text);
    }

    function key_of(table) {
        var section = table.closest("section");
        return (section ? section.id : "") + "|" + Array.prototype.map.call(table.tHead.rows[0].cells, function (c) {
            return c.textContent;
        }).join("|");
    }

    // This table and those that continue it.
    function together(key) {
        return tables().filter(function (table) { return key_of(table) === key; });
    }

    function tables() {
        return Array.prototype.filter.call(document.querySelectorAll("main .table > table"), function (table) {
            return table.tHead && table.tBodies.length === 1 && !table.closest("figure") && table.tHead.rows[0].textContent.trim() !== "";
        });
    }

    function rows_of(table) {
        return Array.prototype.slice.call(table.tBodies[0].rows);
    }

    function compare(a, b, downwards) {
        if (a.unknown || b.unknown)
            return a.unknown - b.unknown; // last in either order
        var order = a.size !== null && b.size !== null ? a.size - b.size
            : a.size !== null || b.size !== null ? (a.size === null) - (b.size === null) : words.compare(a.text, b.text);
        return downwards ? -order : order;
    }

    function entry(row, column) {
        var cell = row.cells[column], text = cell ? cell.textContent.trim() : "";
        return {row: row, place: row.rb_place, unknown: +is_unknown(text), text: text, size: size_of(text)};
    }

    function arrange(key) {
        var parts = together(key), lengths = parts.map(function (t) { return rows_of(t).length; }), how = chosen[key];
        var rows = [].concat.apply([], parts.map(rows_of)), totals = rows.filter(function (r) { return r.className === "total"; });
        var entries = rows.filter(function (r) { return r.className !== "total"; }).map(function (r) {
            return entry(r, how ? how.column : 0);
        });
        entries.sort(function (a, b) { return (how ? compare(a, b, how.descending) : 0) || a.place - b.place; });
        var sorted = entries.map(function (e) { return e.row; }).concat(totals), at = 0;
        parts.forEach(function (table, i) {
            sorted.slice(at, at + lengths[i]).forEach(function (row) { table.tBodies[0].appendChild(row); });
            at += lengths[i];
            Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, column) {
                var is_it = how && how.column === column;
                if (is_it)
                    cell.setAttribute("aria-sort", how.descending ? "descending" : "ascending");
                else
                    cell.removeAttribute("aria-sort");
            });
        });
    }

    function pressed(key, column) {
        var how = chosen[key];
        if (!how || how.column !== column)
            chosen[key] = {column: column, descending: false};
        else if (!how.descending)
            how.descending = true;
        else
            delete chosen[key];
        arrange(key);
    }

    function make_button(cell, key, column) {
        var button = document.createElement("button");
        button.type = "button";
        button.textContent = cell.textContent;
        button.onclick = function () { pressed(key, column); };
        cell.replaceChildren(button);
    }

    // Makes headings of new tables into buttons, and sorts those tables like the ones they replace.
    function prepare() {
        var fresh = {};
        tables().forEach(function (table) {
            var key = key_of(table);
            if (table.rb_sorts || together(key).reduce(function (n, t) { return n + rows_of(t).length; }, 0) < 2)
                return;
            table.rb_sorts = fresh[key] = true;
            Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, column) {
                if (cell.textContent !== "")
                    make_button(cell, key, column);
            });
        });
        Object.keys(fresh).forEach(function (key) {
            [].concat.apply([], together(key).map(rows_of)).forEach(function (row, i) { row.rb_place = i; });
            if (chosen[key])
                arrange(key);
        });
    }

    // Wraps every replacement of tables: the heading with the keyboard focus keeps it.
    rb_page.replace_tables = function (replace) {
        var focused = document.activeElement, cell = focused && focused.closest("thead th"), table = cell && cell.closest("table");
        var key = table ? key_of(table) : null, column = cell ? cell.cellIndex : -1;
        replace();
        prepare();
        if (key === null || focused.isConnected)
            return;
        together(key).slice(0, 1).forEach(function (t) {
            var button = t.tHead.rows[0].cells[column].querySelector("button");
            if (button)
                button.focus({preventScroll: true});
        });
    };

    prepare();
}());
