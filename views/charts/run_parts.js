// What the charts of a run share: rows by the names of their columns, what stands for a stage, safe words, time's end.
"use strict";
rb_charts.run = {};

// Text of others (names of metrics, instances, nodes) inside a tooltip, which is HTML.
rb_charts.run.text = function (value) {
    return String(value).replace(/[&<>"']/g, function (c) { return "&#" + c.charCodeAt(0) + ";"; });
};

rb_charts.run.number = function (value) {
    return value === null || value === undefined ? "not known" : String(+value.toPrecision(6));
};

rb_charts.run.column = function (table, name) {
    return table.columns.indexOf(name);
};

// The plan's stages one after another, expected times: where each begins and ends. Empty where nobody predicted any.
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

// The axis of time ends where the run or its plan does, whichever is later.
rb_charts.run.end_us = function (doc) {
    var planned = rb_charts.run.planned(doc);
    return Math.max(doc.history.now_us, planned.length ? planned[planned.length - 1].end_us : 0, 1e6);
};

// Stages are steps of one colour, the further trained the deeper; `of` of them.
rb_charts.run.stage_colour = function (look, stage, of) {
    var from = look.dark ? [58, 98, 131] : [176, 213, 238], to = look.dark ? [126, 205, 255] : [0, 74, 128];
    var share = of > 1 ? stage / (of - 1) : 1;
    return "rgb(" + from.map(function (f, i) { return Math.round(f + (to[i] - f) * share); }).join(",") + ")";
};

rb_charts.run.stage_name = function (doc, stage) {
    var planned = doc.plan.stages[stage], unit = doc.plan.job.config.scheduler.unit;
    return "stage " + stage + (planned ? ", to " + unit + " " + planned.resource_end : "");
};

// Room left of the plot for names of so many characters.
rb_charts.run.margin = function (width, n_characters) {
    return Math.min(n_characters * 7 + 14, Math.round(width * 0.3));
};

// Do its stages overlap, as they do where trials go on as soon as they may? Then there are no barriers to speak of.
rb_charts.run.overlaps = function (doc) {
    return doc.report.stages.some(function (s, i) {
        var before = doc.report.stages[i - 1];
        return i > 0 && s.start_us !== null && before.start_us !== null &&
               (before.end_us === null || before.end_us > s.start_us);
    });
};
