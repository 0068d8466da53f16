// What all charts share: colours, words for money and time, axes. A chart is a function (document, look, width) that returns
// {option, height}: what the charting library is to draw, and how high. No chart touches a browser's document, and all are
// written in ECMAScript 5, because they also run where there is no browser (views/picture.h).
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

// Okabe and Ito's colours, told apart by almost everybody; the page's style sheet has the same ink and paper.
rb_charts.look = function (dark) {
    return {
        dark: dark,
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

// 18.4e6 -> "$18.40"; below a dollar four digits, as the tables have it.
rb_charts.money = function (uusd) {
    var dollars = uusd / 1e6;
    return "$" + dollars.toFixed(Math.abs(dollars) < 1 && dollars !== 0 ? 4 : 2);
};

rb_charts.duration = function (us) {
    var s = Math.round(us / 1e6), h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60);
    if (h)
        return h + " h " + m + " m";
    return m ? m + " m " + s % 60 + " s" : us < 60e6 && us % 1e6 ? (us / 1e6).toFixed(1) + " s" : s + " s";
};

// A linear axis of money or time. extra: what is different on this one.
rb_charts.axis = function (title, format, look, extra) {
    var axis = {
        type: "value", name: title, nameLocation: "middle", nameGap: 34, scale: true,
        nameTextStyle: {color: look.faint},
        axisLabel: {color: look.faint, formatter: format, hideOverlap: true},
        axisLine: {show: true, lineStyle: {color: look.rule}},
        splitLine: {lineStyle: {color: look.rule}}
    };
    for (var key in extra)
        axis[key] = extra[key];
    return axis;
};

rb_charts.frame = function (look, series, extra) {
    var option = {
        color: look.colours,
        textStyle: {fontFamily: look.font, color: look.ink},
        grid: {left: 76, right: 24, top: 44, bottom: 56},
        legend: {top: 0, left: 0, textStyle: {color: look.ink}, inactiveColor: look.rule},
        tooltip: {trigger: "item", confine: true, backgroundColor: look.paper, borderColor: look.rule,
                  textStyle: {color: look.ink}},
        aria: {enabled: true},
        series: series
    };
    for (var key in extra)
        option[key] = extra[key];
    return option;
};
