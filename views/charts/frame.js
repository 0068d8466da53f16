// What all charts share: colours, words for money and time, axes. A chart is a function (document, look, width) that returns
// {option, height, numbers}: what the charting library is to draw, how high, and the same figures as a table (columns, rows of
// text). Every datum that can be pointed at has a `name`, the words that are shown and spoken for it. No chart touches a
// browser's document, and all are written in ECMAScript 5, because they also run where there is no browser (views/picture.h).
"use strict";
var rb_charts = {
    all: {},
    paper_width: 720
};

rb_charts.make = function (name, doc, look, width) {
    if (!rb_charts.all[name])
        throw new Error("no chart is called " + name);
    return rb_charts.all[name](doc, look, width);
};

// Okabe and Ito's colours, told apart by almost everybody; the page's style sheet has the same ink and paper. legend: the
// library draws it; a page has buttons instead.
rb_charts.look = function (dark) {
    return {
        dark: dark,
        legend: true,
        paper: dark ? "#14171c" : "#ffffff",
        ink: dark ? "#e6e8eb" : "#1b1f24",
        faint: dark ? "#9aa3ad" : "#5d6670",
        rule: dark ? "#333a43" : "#d9dde2",
        colours: dark ? ["#56b4e9", "#e69f00", "#2fbf8f", "#cc79a7", "#f0e442", "#ef8a52", "#8fa8ff", "#a0a7b0"]
                      : ["#0072b2", "#b87700", "#00805c", "#a6487d", "#7a6f00", "#c04a00", "#4a5fc1", "#6a717a"],
        alarm: dark ? "#ff7b72" : "#b3261e",
        font: "system-ui, sans-serif"
    };
};

rb_charts.is_narrow = function (width) {
    return width < 520;
};

// ---- words

// 18.4e6 -> "$18.40"; below a dollar four digits, as the tables have it.
rb_charts.money = function (uusd) {
    var dollars = uusd / 1e6;
    return (dollars < 0 ? "-$" : "$") + Math.abs(dollars).toFixed(Math.abs(dollars) < 1 && dollars !== 0 ? 4 : 2);
};

rb_charts.duration = function (us) {
    var s = Math.round(us / 1e6), h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60);
    if (h)
        return h + " h " + m + " m";
    return m ? m + " m " + s % 60 + " s" : us < 60e6 && us % 1e6 ? (us / 1e6).toFixed(1) + " s" : s + " s";
};

rb_charts.percent = function (share) {
    var text = (100 * share).toFixed(1);
    return (text === "100.0" && share < 1 ? "99.9" : text).replace(".0", "") + " %";
};

// ---- axes: time in milliseconds, money in dollars, as the library's own ticks fall on round ones there

rb_charts.ms = function (us) { return us / 1000; };
rb_charts.dollars = function (uusd) { return uusd / 1e6; };

// Of a tick: "0", "45 m", "1 h", "1 h 30 m", "2 d", "20 s".
rb_charts.time_tick = function (ms) {
    var left = Math.round(ms / 1000), said = [];
    [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]].forEach(function (unit) {
        var n = Math.floor(left / unit[1]);
        left -= n * unit[1];
        if (n && said.length < 2)
            said.push(n + " " + unit[0]);
    });
    return said.join(" ") || "0";
};

rb_charts.money_tick = function (dollars) {
    var digits = Math.abs(dollars) >= 10 || dollars === Math.round(dollars) ? 0 : Math.abs(dollars) >= 0.1 ? 2 : 4;
    return "$" + dollars.toFixed(digits);
};

rb_charts.merge = function (into, extra) {
    for (var key in extra)
        into[key] = extra[key];
    return into;
};

// extra: what is different on this one.
rb_charts.axis = function (title, format, look, extra) {
    return rb_charts.merge({
        type: "value", name: title, nameLocation: "middle", nameGap: 30, scale: true,
        nameTextStyle: {color: look.faint},
        axisLabel: {color: look.faint, formatter: format, hideOverlap: true},
        axisLine: {show: true, lineStyle: {color: look.rule}},
        axisTick: {lineStyle: {color: look.rule}},
        splitLine: {lineStyle: {color: look.rule}}
    }, extra);
};

// Since the start of the run, [0, until_us].
rb_charts.time_axis = function (title, until_us, look, width, extra) {
    return rb_charts.axis(title, rb_charts.time_tick, look, rb_charts.merge({
        type: "time", min: 0, max: rb_charts.ms(until_us), splitNumber: rb_charts.is_narrow(width) ? 3 : 6,
        splitLine: {show: true, lineStyle: {color: look.rule}}
    }, extra));
};

rb_charts.money_axis = function (title, look, width, extra) {
    return rb_charts.axis(title, rb_charts.money_tick, look, rb_charts.merge({
        splitNumber: rb_charts.is_narrow(width) ? 3 : 6
    }, extra));
};

// ---- the whole

// How much of the top the library's legend takes, in rows as wide as the picture.
rb_charts.top = function (look, names, width) {
    var row = 0, rows = 1;
    if (!look.legend)
        return 14;
    names.forEach(function (name) {
        var wide = 46 + 6.5 * name.length;
        rows += row + wide > width ? 1 : 0;
        row = row + wide > width ? wide : row + wide;
    });
    return 20 + 22 * rows;
};

rb_charts.names = function (series) {
    var names = [];
    series.forEach(function (s) {
        if (names.indexOf(s.name) < 0)
            names.push(s.name);
    });
    return names;
};

// A line across the chart where a limit is: its own series, so that it can be switched off. upright: at a value of the x axis.
rb_charts.limit = function (name, value, words, look, extra) {
    return rb_charts.merge({
        name: name, type: "line", data: [], itemStyle: {color: look.alarm}, lineStyle: {color: look.alarm, type: "dashed"},
        markLine: {
            symbol: "none", silent: true, data: [{xAxis: value, name: words}],
            lineStyle: {color: look.alarm, type: "dashed", width: 1.5},
            label: {formatter: words, color: look.alarm, position: "insideEndTop", distance: 4}
        }
    }, extra);
};

rb_charts.frame = function (look, width, series, extra) {
    var names = rb_charts.names(series);
    return rb_charts.merge({
        useUTC: true,
        color: look.colours,
        textStyle: {fontFamily: look.font, color: look.ink},
        grid: {left: rb_charts.is_narrow(width) ? 56 : 70, right: 24, top: rb_charts.top(look, names, width), bottom: 52},
        legend: {show: look.legend, top: 0, left: 0, data: names, textStyle: {color: look.ink}, inactiveColor: look.faint},
        tooltip: {
            trigger: "item", confine: true, backgroundColor: look.paper, borderColor: look.rule,
            textStyle: {color: look.ink}, extraCssText: "white-space: normal; max-width: 20rem",
            formatter: function (p) { return echarts.format.encodeHTML(p.name); }
        },
        aria: {enabled: false}, // the page says it in words of its own
        series: series
    }, extra);
};
