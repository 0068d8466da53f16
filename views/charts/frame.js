// Shared by all charts: colours, formats of money and time, axes. A chart is a function (document, look, width) that
// returns {option, height, numbers}: the input of the charting library, the height, and the same figures as a table
// (columns, rows of text). Every datum that can be pointed at has a `name`, the text that is shown and read aloud for
// it. No chart uses a browser's document, and all are written in ECMAScript 5, because they also run without a browser
// (views/pages/picture.h).
"use strict";
var rb_charts = {
    all: {},
    paper_width: 720
};

rb_charts.make = function (name, doc, look, width) {
    if (!rb_charts.all[name])
        throw new Error("no chart is called " + name);
    look.width = width;
    return rb_charts.all[name](doc, look, width);
};

// Okabe and Ito's colours, which almost everyone can distinguish, with the largest differences in lightness that this
// paper allows. The page's style sheet has the same ink and paper. legend: the library draws it; a page has buttons
// instead. width: in pixels, set by make.
rb_charts.look = function (dark) {
    return {
        dark: dark,
        legend: true,
        width: rb_charts.paper_width,
        paper: dark ? "#14171c" : "#ffffff",
        ink: dark ? "#e6e8eb" : "#1b1f24",
        faint: dark ? "#9aa3ad" : "#5d6670",
        rule: dark ? "#333a43" : "#d9dde2",
        colours: dark ? ["#56b4e9", "#e69f00", "#4be0b0", "#c06a9c", "#f0e442", "#ef8a52", "#8fa8ff", "#a0a7b0"]
                      : ["#0072b2", "#b87700", "#006b4d", "#cc79a7", "#7a6f00", "#c04a00", "#4a5fc1", "#6a717a"],
        alarm: dark ? "#ff7b72" : "#b3261e",
        font: "system-ui, sans-serif"
    };
};

rb_charts.is_narrow = function (look) {
    return look.width < 520;
};

// ---- words

// The same as in tables (base/text/units.h): 18.4e6 -> "$18.40", 136900 -> "$0.1369".
rb_charts.money = function (uusd) {
    var whole = Math.abs(uusd), sign = uusd < 0 ? "-$" : "$";
    if (whole === 0 || whole >= 999950)
        return sign + (Math.round(whole / 1e4) / 100).toFixed(2);
    return sign + (whole >= 50 ? Math.round(whole / 100) / 1e4 : whole / 1e6).toFixed(whole >= 50 ? 4 : 6);
};

// Likewise: "1 h 41 m", "52.3 s", "250 ms", "1.25 ms".
rb_charts.duration = function (us) {
    var s = Math.round(us / 1e6), m = Math.floor((s + 30) / 60), h = Math.floor((s + 1800) / 3600);
    if (us < 999500)
        return us === 0 ? "0 s" : us < 1000 ? us + " us" : +(us / 1000).toPrecision(3) + " ms";
    if (Math.round(us / 1e5) < 600)
        return (Math.round(us / 1e5) / 10).toFixed(1) + " s";
    if (s < 3600)
        return Math.floor(s / 60) + " m " + s % 60 + " s";
    return m < 48 * 60 ? Math.floor(m / 60) + " h " + m % 60 + " m" : Math.floor(h / 24) + " d " + h % 24 + " h";
};

rb_charts.percent = function (share) {
    var text = (100 * share).toFixed(1);
    return (text === "100.0" && share < 1 ? "99.9" : text).replace(".0", "") + " %";
};

// ---- axes: time in milliseconds, money in dollars, because the library's own ticks are then round

rb_charts.ms = function (us) { return us / 1000; };
rb_charts.dollars = function (uusd) { return uusd / 1e6; };

// The text of a tick: "0", "45 m", "1 h", "1 h 30 m", "2 d", "20 s".
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

// Ticks this many dollars apart, or closer after zooming in.
rb_charts.money_tick = function (apart) {
    var digits = apart >= 1 ? 0 : Math.max(2, Math.ceil(-Math.log(apart) / Math.LN10 - 1e-9));
    return function (dollars) {
        var off = Math.abs(dollars - +dollars.toFixed(digits)) > 1e-9;
        return "$" + dollars.toFixed(off ? digits + 2 : digits);
    };
};

// Ticks of an axis of doublings: "$64", "$0.125", "$0.03125".
rb_charts.doubling_tick = function (dollars) {
    return "$" + (dollars >= 1 ? dollars : dollars.toPrecision(6).replace(/(\.\d\d\d*?)0*$/, "$1"));
};

rb_charts.merge = function (into, extra) {
    for (var key in extra)
        into[key] = extra[key];
    return into;
};

// extra: the options that differ on this axis.
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

rb_charts.n_ticks = function (look) {
    return rb_charts.is_narrow(look) ? 3 : 7;
};

// The smallest of 1, 2, 5, 10, 20, ... and their tenths that cuts a span into at most n parts.
rb_charts.round_step = function (span, n) {
    var least = span / n * (1 - 1e-9), ten = Math.pow(10, Math.floor(Math.log(least) / Math.LN10));
    return ten * [1, 2, 5, 10].filter(function (m) { return m * ten >= least; })[0];
};

// Makes an axis from 0 for counts: whole ticks, about n of them.
// What trials get: GPUs, or in a job with trial.cpus that many CPUs for each slot.
rb_charts.unit = function (doc) {
    var cpus = (doc.plan.job.config.trial || {}).cpus;
    return cpus ? {one: "CPU", many: "CPUs", each: cpus} : {one: "GPU", many: "GPUs", each: 1};
};

rb_charts.count_axis = function (title, most, n, look, extra) {
    var step = Math.max(rb_charts.round_step(Math.max(most, 1), n), 1);
    return rb_charts.axis(title, null, look, rb_charts.merge({min: 0, scale: false, minInterval: step, maxInterval: step, nameGap: 34}, extra));
};

rb_charts.DAY_S = 86400;

// The smallest round step, of those at which the library marks times, that cuts a span of time into at most n parts.
rb_charts.time_step = function (span_us, n) {
    var steps_s = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200];
    [1, 2, 5, 10, 20, 50, 100, 200, 500].forEach(function (days) { steps_s.push(days * rb_charts.DAY_S); });
    for (var i = 0; i < steps_s.length - 1 && steps_s[i] * 1e6 * n < span_us; i++)
        continue;
    return steps_s[i] * 1e6;
};

// Since the start of the run, [from_us, until_us]. The library knows round hours and minutes (it takes the largest step
// below the requested one), but counts days by the months of a calendar.
rb_charts.time_axis = function (title, from_us, until_us, look, extra) {
    var step_us = rb_charts.time_step(until_us - from_us, rb_charts.n_ticks(look)), days = step_us >= 1e6 * rb_charts.DAY_S;
    return rb_charts.axis(title, rb_charts.time_tick, look, rb_charts.merge({
        type: days ? "value" : "time", max: rb_charts.ms(until_us),
        min: rb_charts.ms(days ? step_us * Math.floor(from_us / step_us) : from_us),
        interval: days ? rb_charts.ms(step_us) : undefined, minInterval: days ? undefined : 1.001 * rb_charts.ms(step_us),
        splitLine: {show: true, lineStyle: {color: look.rule}}
    }, extra));
};

// For amounts between the two.
rb_charts.money_axis = function (title, least_uusd, most_uusd, look, extra) {
    var step = rb_charts.round_step(rb_charts.dollars(most_uusd - least_uusd) || 1, rb_charts.n_ticks(look) + 1);
    return rb_charts.axis(title, rb_charts.money_tick(step), look, rb_charts.merge({minInterval: step, maxInterval: step}, extra));
};

// Tight deadlines may cost a hundred times as much: doublings show more than a flat line.
rb_charts.doubling_axis = function (title, look, extra) {
    return rb_charts.axis(title, rb_charts.doubling_tick, look, rb_charts.merge({type: "log", logBase: 2, splitNumber: 6}, extra));
};

// ---- the whole chart

// The part of the top that the library's legend takes, in rows as wide as the picture.
rb_charts.top = function (look, names) {
    var row = 0, rows = 1;
    if (!look.legend)
        return 24;
    names.forEach(function (name) {
        var wide = 66 + 6.5 * name.length;
        rows += row + wide > look.width ? 1 : 0;
        row = row + wide > look.width ? wide : row + wide;
    });
    return 32 + 22 * rows;
};

// The symbols of series in a legend: outlines in a box of 18 by 10, one for each word that mark_of returns.
rb_charts.marks = {
    line: "M0,3.5h18v3h-18z", dashed: "M0,3.5h5v3h-5zM6.5,3.5h5v3h-5zM13,3.5h5v3h-5z", diamond: "M9,0l5,5l-5,5l-5,-5z",
    tick: "M7.5,0h3v10h-3z", bar: "M0,0.5h18v9h-18z", outline: "M0,0.5h18v9h-18z",
    circle: "M0,4h18v2h-18zM5,5a4,4 0 1 1 8,0a4,4 0 1 1 -8,0z", triangle: "M0,4.5h18v2h-18zM9,0l5,9h-10z",
    down: "M0,3.5h18v2h-18zM9,10l5,-9h-10z", rect: "M0,4h18v2h-18zM5,1h8v8h-8z",
    dot: "M5,5a4,4 0 1 1 8,0a4,4 0 1 1 -8,0z", cross: "M5,2l1.5,-1.5l2.5,3l2.5,-3l1.5,1.5l-3,3l3,3l-1.5,1.5l-2.5,-3l-2.5,3l-1.5,-1.5l3,-3z",
    ring: "M0,4h5v2h-5zM13,4h5v2h-5zM4.5,5a4.5,4.5 0 1 1 9,0a4.5,4.5 0 1 1 -9,0zM6.5,5a2.5,2.5 0 1 0 5,0a2.5,2.5 0 1 0 -5,0z"
};

// A series that is drawn differently from others of its type has `mark`.
rb_charts.mark_of = function (series) {
    if (series.mark)
        return series.mark;
    if (series.type === "scatter")
        return series.symbol === "diamond" ? "diamond" : "tick";
    return series.type !== "line" ? "bar" : (series.lineStyle || {}).type === "dashed" ? "dashed" : "line";
};

// The colour of its line if its symbols are hollow.
rb_charts.colour_of = function (series) {
    return (series.lineStyle || {}).color || series.itemStyle.color;
};

// The library's own legend: a name may stand for several series, which look alike.
rb_charts.legend_data = function (series) {
    return rb_charts.names(series).map(function (name) {
        var s = series.filter(function (s) { return s.name === name; })[0], mark = rb_charts.mark_of(s);
        var item = {name: name, icon: "path://" + rb_charts.marks[mark]};
        if (s.type === "line")
            item.itemStyle = {color: rb_charts.colour_of(s), borderWidth: 0};
        if (mark === "outline")
            item.itemStyle = {color: "transparent", borderColor: s.itemStyle.color, borderWidth: 1, borderType: "dashed"};
        return item;
    });
};

rb_charts.names = function (series) {
    var names = [];
    series.forEach(function (s) {
        if (names.indexOf(s.name) < 0)
            names.push(s.name);
    });
    return names;
};

rb_charts.EXACT = 9; // digits of a line's place, which the library treats as cents

// An upright line at a limit: a separate series, so that it can be switched off. at: its place on an axis [from, to];
// its text is above the chart, on the side where there is room. extra: of the series.
rb_charts.limit = function (name, words, at, from, to, look, extra) {
    var style = {color: look.alarm, type: "dashed", width: 1.5};
    return rb_charts.merge({
        name: name, type: "line", data: [], itemStyle: {color: look.alarm}, lineStyle: style,
        markLine: {
            symbol: "none", silent: true, precision: rb_charts.EXACT, data: [{xAxis: at}], lineStyle: style,
            label: {show: words !== "", formatter: words, color: look.alarm, position: "end", distance: 3,
                    align: at > (from + to) / 2 ? "right" : "left"}
        }
    }, extra);
};

rb_charts.frame = function (look, series, extra) {
    var names = rb_charts.names(series);
    return rb_charts.merge({
        useUTC: true,
        color: look.colours,
        textStyle: {fontFamily: look.font, color: look.ink},
        grid: {left: rb_charts.is_narrow(look) ? 56 : 70, right: 24, top: rb_charts.top(look, names), bottom: 52},
        legend: {show: look.legend, top: 0, left: 0, data: rb_charts.legend_data(series), itemGap: 22, itemWidth: 18, itemHeight: 10,
                 textStyle: {color: look.ink}, inactiveColor: look.faint},
        tooltip: {
            trigger: "item", confine: true, backgroundColor: look.paper, borderColor: look.rule,
            textStyle: {color: look.ink}, extraCssText: "white-space: normal; max-width: 20rem",
            formatter: function (p) { return echarts.format.encodeHTML(p.name); }
        },
        aria: {enabled: false}, // the page describes it in its own words
        series: series
    }, extra);
};
