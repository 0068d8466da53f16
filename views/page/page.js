// Mounts the charts of a page on their figures, and makes everything usable without a mouse: legend toggles and zoom as
// buttons, values by the arrow keys and read aloud, and the numbers behind every chart as a table. It follows the
// browser's dark mode, the window's width and the printer; the button that changes the colours stores nothing outside
// the page.
"use strict";
(function () {
    var doc = JSON.parse(document.getElementById("document").textContent);
    var prefers_dark = matchMedia("(prefers-color-scheme: dark)");
    var chosen_dark = null, printing = false, mounted = [];
    var ZOOM = 1.6, MOST_ZOOM = 2; // a step; the least share of the axis, in percent
    var live = element("p", {"class": "aside", "aria-live": "polite", id: "live"});

    function element(tag, attributes, text) {
        var made = document.createElement(tag);
        for (var name in attributes)
            made.setAttribute(name, attributes[name]);
        if (text !== undefined)
            made.textContent = text;
        return made;
    }

    // ---- drawing

    function is_dark() {
        return !printing && (chosen_dark === null ? prefers_dark.matches : chosen_dark);
    }

    function zoom_of(mount) {
        var whole = mount.from === 0 && mount.to === 100;
        return [{type: "inside", xAxisIndex: "all", filterMode: "none", start: mount.from, end: mount.to,
                 zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, moveOnMouseMove: !whole, preventDefaultMouseMove: !whole}];
    }

    function draw(mount) {
        var look = rb_charts.look(is_dark()), width = printing ? rb_charts.paper_width - 40 : mount.place.clientWidth;
        look.legend = printing; // on paper there are no buttons
        var made = rb_charts.make(mount.name, doc, look, width), option = made.option;
        option.animation = false;
        mount.selected = rb_charts.merge(rb_charts.merge({}, option.legend.selected), mount.switched);
        option.legend.selected = mount.selected;
        option.dataZoom = made.is_fixed ? [] : zoom_of(mount);
        mount.zoom.hidden = Boolean(made.is_fixed);
        mount.canvas.style.height = made.height + "px";
        mount.width = width;
        mount.option = option;
        mount.chart.resize({width: width, height: made.height});
        mount.chart.setOption(option, true);
        show_toggles(mount);
        mount.details.hidden = !made.numbers;
        if (made.numbers)
            show_numbers(mount, made.numbers);
    }

    function draw_all() {
        mounted.forEach(draw);
    }

    // ---- legend toggles

    function series_called(mount, name) {
        return mount.option.series.filter(function (s) { return s.name === name; })[0];
    }

    function toggle(mount, name) {
        mount.switched[name] = !is_shown(mount, name);
        mount.selected[name] = mount.switched[name];
        mount.chart.dispatchAction({type: mount.selected[name] ? "legendSelect" : "legendUnSelect", name: name});
        hide_value(mount);
        show_toggles(mount);
    }

    function is_shown(mount, name) {
        return mount.selected[name] !== false;
    }

    function swatch(series) {
        var item = series.itemStyle || {}, mark = rb_charts.mark_of(series), space = "http://www.w3.org/2000/svg";
        var made = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
        made.setAttribute("class", "swatch " + mark);
        made.setAttribute("viewBox", "0 0 18 10");
        made.setAttribute("aria-hidden", "true");
        path.setAttribute("d", rb_charts.marks[mark]);
        made.style.color = rb_charts.colour_of(series);
        path.style.opacity = item.opacity || 1;
        made.appendChild(path);
        return made;
    }

    function show_toggles(mount) {
        var names = rb_charts.names(mount.option.series);
        while (mount.toggles.children.length < names.length)
            mount.toggles.appendChild(element("button", {type: "button"}));
        while (mount.toggles.children.length > names.length)
            mount.toggles.removeChild(mount.toggles.lastChild);
        names.forEach(function (name, i) {
            var button = mount.toggles.children[i];
            button.setAttribute("aria-pressed", String(is_shown(mount, name)));
            button.replaceChildren(swatch(series_called(mount, name)), name);
            button.onclick = function () { toggle(mount, name); };
        });
    }

    // ---- zoom

    function zoom_to(mount, from, to) {
        mount.chart.dispatchAction({type: "dataZoom", start: Math.max(0, from), end: Math.min(100, to)});
    }

    // The place of the value under the pointer, in percent of the axis; null: there is none, or the axis has no ends of
    // its own.
    function place_of_value(mount) {
        var series = mount.at && mount.option.series[mount.at.series];
        var axis = series && [].concat(mount.option.xAxis)[series.xAxisIndex || 0];
        if (!axis || typeof axis.min !== "number" || typeof axis.max !== "number")
            return null;
        var datum = series.data[mount.at.index];
        return 100 * ([].concat(datum.value || datum)[0] - axis.min) / (axis.max - axis.min);
    }

    function look_at(mount, middle, share) {
        var half = Math.min(Math.max(share, MOST_ZOOM), 100) / 2;
        middle = Math.min(Math.max(middle, half), 100 - half);
        zoom_to(mount, middle - half, middle + half);
    }

    // by > 1: closer. Around the value under the pointer, or the middle of the visible part.
    function zoom_by(mount, by) {
        var place = place_of_value(mount);
        look_at(mount, place === null ? (mount.from + mount.to) / 2 : place, (mount.to - mount.from) / by);
    }

    // Times are marked at round steps, and at shorter ones after zooming in.
    function closer_ticks(mount) {
        return [].concat(mount.option.xAxis).map(function (axis) {
            return axis.minInterval ? {minInterval: axis.minInterval * (mount.to - mount.from) / 100} : {};
        });
    }

    // Dragging moves the visible part only where there is more to see: otherwise it would keep a finger from scrolling
    // the page.
    function zoomed(mount) {
        var zoom = mount.chart.getOption().dataZoom[0], was_whole = mount.from === 0 && mount.to === 100;
        mount.from = zoom.start;
        mount.to = zoom.end;
        mount.chart.setOption({xAxis: closer_ticks(mount)});
        if (was_whole !== (mount.from === 0 && mount.to === 100))
            mount.chart.setOption({dataZoom: zoom_of(mount)});
    }

    function zoom_buttons(mount, about) {
        var group = element("span", {"class": "zoom", role: "group", "aria-label": "zoom: " + about});
        [["+", "closer", "+", function () { zoom_by(mount, ZOOM); }],
         ["−", "further", "-", function () { zoom_by(mount, 1 / ZOOM); }],
         ["all", "all of it", "0", function () { zoom_to(mount, 0, 100); }]].forEach(function (b) {
            var button = element("button", {type: "button", "aria-label": b[1], title: b[1] + " (key " + b[2] + ")"}, b[0]);
            button.onclick = b[3];
            group.appendChild(button);
        });
        return group;
    }

    // ---- values by the keyboard

    function hide_value(mount) {
        mount.at = null;
        mount.chart.dispatchAction({type: "hideTip"});
        live.textContent = "";
    }

    function show_value(mount) {
        var place = place_of_value(mount);
        if (place !== null && (place < mount.from || place > mount.to))
            look_at(mount, place, mount.to - mount.from);
        var series = mount.option.series[mount.at.series], datum = series.data[mount.at.index];
        mount.chart.dispatchAction({type: "showTip", seriesIndex: mount.at.series, dataIndex: mount.at.index});
        live.textContent = datum.name || series.name + ": " + [].concat(datum.value || datum).join(", ");
    }

    // Series that are visible and have data, by their places in the option.
    function walked(mount) {
        var places = [];
        mount.option.series.forEach(function (s, i) {
            if ((s.data || []).length > 0 && is_shown(mount, s.name))
                places.push(i);
        });
        return places;
    }

    // along: data of a series; across: series.
    function walk(mount, along, across) {
        var places = walked(mount);
        if (places.length === 0)
            return;
        var place = mount.at ? places.indexOf(mount.at.series) : 0;
        place = (Math.max(place, 0) + across + places.length) % places.length;
        var last = mount.option.series[places[place]].data.length - 1;
        var index = mount.at && isFinite(along) ? mount.at.index + along : along === Infinity ? last : 0;
        index = Math.min(Math.max(index, 0), last);
        mount.at = {series: places[place], index: index};
        show_value(mount);
    }

    var KEYS = {
        ArrowRight: function (m, far) { walk(m, far ? 10 : 1, 0); },
        ArrowLeft: function (m, far) { walk(m, far ? -10 : -1, 0); },
        ArrowDown: function (m) { walk(m, 0, 1); },
        ArrowUp: function (m) { walk(m, 0, -1); },
        Home: function (m) { walk(m, -Infinity, 0); },
        End: function (m) { walk(m, Infinity, 0); },
        Escape: hide_value,
        "+": function (m) { zoom_by(m, ZOOM); },
        "=": function (m) { zoom_by(m, ZOOM); },
        "-": function (m) { zoom_by(m, 1 / ZOOM); },
        "0": function (m) { zoom_to(m, 0, 100); }
    };

    function on_key(mount, event) {
        if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey)
            return;
        KEYS[event.key](mount, event.shiftKey);
        event.preventDefault();
    }

    // ---- the numbers

    function cell(tag, text, is_first) {
        return element(tag, tag === "td" ? {"class": "number"} : is_first ? {scope: "row"} : {scope: "col", "class": "number"}, text);
    }

    function show_numbers(mount, numbers) {
        var head = element("tr"), body = element("tbody"), thead = element("thead"), table = element("table");
        numbers.columns.forEach(function (title, i) {
            head.appendChild(i ? cell("th", title, false) : element("th", {scope: "col"}, title));
        });
        numbers.rows.forEach(function (row) {
            var line = element("tr");
            row.forEach(function (text, i) { line.appendChild(i ? cell("td", text) : cell("th", text, true)); });
            body.appendChild(line);
        });
        table.appendChild(element("caption", {}, mount.caption));
        thead.appendChild(head);
        table.appendChild(thead);
        table.appendChild(body);
        mount.numbers.replaceChildren(table);
    }

    // ---- mounting

    function mount(figure) {
        var caption = figure.querySelector("figcaption").textContent;
        var made = {name: figure.dataset.chart, caption: caption, switched: {}, selected: {}, from: 0, to: 100, at: null};
        var tools = element("div", {"class": "tools"}), details = made.details = element("details", {"class": "numbers"});
        made.place = element("div", {"class": "place", tabindex: "0", role: "application", "aria-roledescription": "chart",
            "aria-label": caption + " Arrow keys: values. Plus, minus, 0: zoom."});
        made.toggles = element("span", {"class": "toggles", role: "group", "aria-label": "shown: " + caption});
        made.numbers = element("div", {"class": "table", tabindex: "0", role: "region", "aria-label": "the numbers: " + caption});
        tools.appendChild(made.toggles);
        made.zoom = tools.appendChild(zoom_buttons(made, caption));
        details.appendChild(element("summary", {}, "The numbers"));
        details.appendChild(made.numbers);
        figure.appendChild(tools);
        figure.appendChild(made.place);
        figure.appendChild(details);
        made.canvas = made.place.appendChild(element("div", {"aria-hidden": "true"})); // its text is no sentence
        made.canvas.style.height = "300px";
        made.chart = echarts.init(made.canvas, null, {renderer: "svg"});
        made.place.addEventListener("keydown", function (event) { on_key(made, event); });
        made.place.addEventListener("blur", function () { hide_value(made); });
        mounted.push(made);
        draw(made);
        made.chart.on("datazoom", function () { zoomed(made); });
    }

    // ---- colours, width, paper

    function theme_button() {
        var button = element("button", {type: "button", id: "theme"});
        function say() {
            button.textContent = is_dark() ? "Light colours" : "Dark colours";
        }
        button.onclick = function () {
            chosen_dark = !is_dark();
            document.documentElement.dataset.theme = chosen_dark ? "dark" : "light";
            say();
            draw_all();
        };
        prefers_dark.addEventListener("change", function () {
            say();
            draw_all();
        });
        say();
        return button;
    }

    function resized() {
        mounted.forEach(function (m) {
            if (!printing && m.place.clientWidth !== m.width)
                draw(m);
        });
    }

    function print(is_on) {
        printing = is_on;
        draw_all();
    }

    document.querySelector("header").appendChild(theme_button());
    document.body.appendChild(live);
    document.querySelectorAll("figure[data-chart]").forEach(mount);
    addEventListener("resize", resized);
    addEventListener("beforeprint", function () { print(true); });
    addEventListener("afterprint", function () { print(false); });

    // For a page that receives newer documents, and for tests: what is drawn, and how to draw another document.
    window.rb_page = {
        charts: mounted,
        show: function (newer) {
            doc = newer;
            draw_all();
        }
    };
}());
