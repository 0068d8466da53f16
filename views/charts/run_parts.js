// Shared by the charts of a run: rows by the names of their columns, its plan over time, the colours of stages, the end
// of time.
"use strict";
rb_charts.run = {};

rb_charts.run.number = function (value) {
    return value === null || value === undefined ? "not known" : String(+value.toPrecision(6));
};

rb_charts.run.column = function (table, name) {
    return table.columns.indexOf(name);
};

rb_charts.run.span = function (from_us, to_us) {
    var d = rb_charts.duration;
    return "from " + d(from_us) + " to " + d(to_us) + " (" + d(to_us - from_us) + ")";
};

// The plan's stages one after another, with expected times: where each begins and ends. Empty without a prediction.
rb_charts.run.planned = function (doc) {
    var at = 0;
    if (!doc.report.time_us.predicted)
        return [];
    return doc.plan.stages.map(function (stage) {
        var from = at;
        at += stage.time_us.mean;
        return {stage: stage.stage, start_us: from, end_us: at, nodes: stage.nodes.reduce(function (sum, n) {
            return sum + n.count;
        }, 0)};
    });
};

// Do its stages overlap, as they do where trials continue at once? Then there are no barriers.
rb_charts.run.overlaps = function (doc) {
    return doc.report.stages.some(function (s, i) {
        var before = doc.report.stages[i - 1];
        return i > 0 && s.start_us !== null && before.start_us !== null &&
               (before.end_us === null || before.end_us > s.start_us);
    });
};

// The axis of time ends with the run or its plan, whichever is later.
rb_charts.run.end_us = function (doc) {
    var planned = rb_charts.run.planned(doc);
    return Math.max(doc.history.now_us, planned.length ? planned[planned.length - 1].end_us : 0, 1e6);
};

rb_charts.run.time_axis = function (doc, look, extra) {
    return rb_charts.time_axis("since the start of the run", 0, rb_charts.run.end_us(doc), look, extra);
};

// Stages are steps of one colour, deeper the further they are trained; `of` of them.
rb_charts.run.stage_colour = function (look, stage, of) {
    var from = look.dark ? [58, 98, 131] : [176, 213, 238], to = look.dark ? [126, 205, 255] : [0, 74, 128];
    var share = of > 1 ? Math.min(stage / (of - 1), 1) : 1;
    return "rgb(" + from.map(function (f, i) { return Math.round(f + (to[i] - f) * share); }).join(",") + ")";
};

rb_charts.run.stage_name = function (doc, stage) {
    var planned = doc.plan.stages[stage], unit = doc.plan.job.config.scheduler.unit;
    return "stage " + stage + (planned ? ", to " + unit + " " + planned.resource_end : "");
};

// The stage that a trial reached, by trial: the last one in which it was started.
rb_charts.run.stages_reached = function (doc) {
    var reached = {};
    doc.history.starts.forEach(function (s) { reached[s.trial] = Math.max(reached[s.trial] || 0, s.stage); });
    return reached;
};

// Where an axis of results ends, which are given with the best first: a few trials that diverged would hide the others.
// Where the worst twentieth takes most of the axis, it is left out. n_beyond: how many lie beyond.
rb_charts.run.bound = function (values) {
    var n = values.length, at = values[Math.floor(n * 0.95)];
    if (n < 40 || Math.abs(values[n - 1] - values[0]) <= 4 * Math.abs(at - values[0]))
        return {at: values[n - 1], n_beyond: 0};
    at += (at - values[0]) * 0.1;
    return {at: at, n_beyond: values.filter(function (v) { return (v - at) * (at - values[0]) > 0; }).length};
};

// An axis with the names of lanes and bars.
rb_charts.run.name_axis = function (names, look, extra) {
    return rb_charts.axis("", null, look, rb_charts.merge({
        type: "category", inverse: true, data: names, axisTick: {show: false}, splitLine: {show: false},
        axisLabel: {color: look.ink, width: rb_charts.run.margin(names, look) - 12, overflow: "truncate", interval: 0}
    }, extra));
};

// Room for them to the left of the plot.
rb_charts.run.margin = function (names, look) {
    var longest = names.reduce(function (most, n) { return Math.max(most, n.length); }, 4);
    return Math.min(longest * 7 + 14, Math.round(look.width * 0.3));
};

// The text for a pointer anywhere over the plot: a line for each series.
rb_charts.run.text_at_once = function (frame) {
    return rb_charts.merge(rb_charts.merge({}, frame.tooltip), {trigger: "axis", formatter: function (points) {
        return points.map(function (p) { return echarts.format.encodeHTML(p.name); }).join("<br>");
    }});
};

// A table of thousands of rows is useless: shows the first rows, and the number of the others.
rb_charts.run.numbers = function (columns, rows) {
    var most = 200, shown = rows.length > most ? rows.slice(0, most) : rows;
    if (rows.length > most)
        shown = shown.concat([columns.map(function (c, i) { return i ? "" : "and " + (rows.length - most) + " more"; })]);
    return {columns: columns, rows: shown};
};
