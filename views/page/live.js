// A live page: requests newer documents (rb-live/1, docs/live.md) until one reports that the run has ended. Text and
// tables arrive as HTML that the server has escaped; figures stay and are drawn again, so that zoom, toggles, scrolling
// and the keyboard focus are kept.
"use strict";
(function () {
    if (!document.documentElement.hasAttribute("data-live"))
        return;
    var EVERY_MS = 1500, HIDDEN_MS = 10000, GIVE_UP_MS = 8000, SHARE = 5; // drawing takes at most a fifth of the time, unless the page would then be older than HIDDEN_MS
    var said = document.createElement("p"), status = document.createElement("span"), when = document.createElement("span");
    var last_text = "", last_main = null, last_seen = new Date(), drawing_ms = 0;
    said.className = "live";
    status.setAttribute("role", "status");
    when.setAttribute("aria-hidden", "true"); // would be read aloud every other second
    said.appendChild(status);
    said.appendChild(when);
    document.querySelector("header").appendChild(said);

    function say(text, time) {
        if (status.textContent !== text)
            status.textContent = text;
        when.textContent = time;
    }

    // ---- text

    // Children of a section between its figures.
    function groups(section) {
        var made = [[]];
        Array.prototype.forEach.call(section.children, function (child) {
            if (child.matches("figure"))
                made.push([]);
            else
                made[made.length - 1].push(child);
        });
        return made;
    }

    function html(group) {
        return group.map(function (e) { return e.outerHTML; }).join("");
    }

    // What a reader changed in the replaced part: scrolled it, opened it.
    function carry_over(from, to) {
        var places = to.querySelectorAll(".table, details"), before = from.querySelectorAll(".table, details");
        Array.prototype.forEach.call(places, function (place, i) {
            if (!before[i] || before[i].tagName !== place.tagName)
                return;
            place.scrollLeft = before[i].scrollLeft;
            if (before[i].open)
                place.open = true;
        });
        if (to.matches(".table"))
            to.scrollLeft = from.scrollLeft;
        if (to.matches("details"))
            to.open = from.open;
    }

    function replace_group(section, old, made, figure) {
        made.forEach(function (e, i) {
            section.insertBefore(e, figure);
            if (old[i] && old[i].tagName === e.tagName)
                carry_over(old[i], e);
        });
        old.forEach(function (e) { e.remove(); });
    }

    function put_section(section, newer, before) {
        var figures = section.querySelectorAll("figure"), now = groups(section), was = before ? groups(before) : [];
        groups(newer).forEach(function (group, i) {
            if (!was[i] || html(was[i]) !== html(group))
                replace_group(section, now[i] || [], group.map(function (e) { return e.cloneNode(true); }), figures[i] || null);
        });
    }

    function put_words(main) {
        var template = document.createElement("template"), place = document.getElementById("main") || document.querySelector("main");
        template.innerHTML = main;
        Array.prototype.forEach.call(place.querySelectorAll("section"), function (section) {
            if (!template.content.getElementById(section.id))
                section.remove();
        });
        Array.prototype.forEach.call(template.content.children, function (newer, i) {
            var section = document.getElementById(newer.id), before = last_main && last_main.getElementById(newer.id);
            if (section)
                put_section(section, newer, before);
            else
                place.insertBefore(newer.cloneNode(true), place.children[i] || null);
        });
        last_main = template.content;
    }

    // ---- documents

    function show(text) {
        var began = performance.now(), live = JSON.parse(text);
        if (live.format !== "rb-live/1")
            throw new Error("expected a document of format rb-live/1");
        document.getElementById("summary").textContent = live.summary;
        document.getElementById("summary").classList.toggle("failed", live.failed);
        rb_page.replace_tables(function () { put_words(live.main); });
        rb_page.show(live.document);
        drawing_ms = performance.now() - began;
        last_text = text;
        return live.ended;
    }

    function again(after_ms) {
        setTimeout(ask, document.hidden ? HIDDEN_MS : Math.min(HIDDEN_MS, Math.max(after_ms, SHARE * drawing_ms)));
    }

    function lost(why) {
        say("Connection lost, last seen " + last_seen.toLocaleTimeString() + ": " + why + ". Still trying.", "");
        document.documentElement.dataset.live = "lost";
        again(2 * EVERY_MS);
    }

    function seen(text) {
        var ended = text === last_text ? false : show(text);
        last_seen = new Date();
        document.documentElement.dataset.live = ended ? "ended" : "on";
        if (ended) {
            say("The run has ended: this is how. The page no longer changes.", "");
            return;
        }
        say("Live.", " As of " + last_seen.toLocaleTimeString() + ".");
        again(EVERY_MS);
    }

    function ask() {
        var patience = new AbortController(), timer = setTimeout(function () { patience.abort(); }, GIVE_UP_MS);
        fetch("data.json", {cache: "no-store", signal: patience.signal}).then(function (answer) {
            if (!answer.ok)
                throw new Error("the answer was " + answer.status);
            return answer.text();
        }).then(seen).catch(function (error) {
            lost(error.name === "AbortError" ? "no answer" : error.name === "TypeError" ? "rbrun does not answer" : error.message);
        }).then(function () { clearTimeout(timer); });
    }

    ask();
}());
