// Learning curves: the metric over the resource trained, by how far a trial came. Those that were stopped early are faint,
// those that came furthest and the best one are not.
"use strict";
(function () {
    var SINGLES = 24, SYMBOLS = 1500; // curves that get a series of their own; points that can be pointed at

    // One point for every resource, in order: a trial that was set back reports some of them twice.
    function points_of(trial, columns) {
        var by = {}, resource = columns.indexOf("resource"), metric = columns.indexOf("metric");
        trial.rows.forEach(function (row) { by[row[resource]] = row[metric]; });
        return Object.keys(by).map(Number).sort(function (a, b) { return a - b; })
            .map(function (r) { return [r, by[r]]; });
    }

    // The stage a trial came to: the last one it was started in.
    function stages_of(doc) {
        var reached = {};
        doc.history.starts.forEach(function (s) { reached[s.trial] = Math.max(reached[s.trial] || 0, s.stage); });
        return reached;
    }

    function curves_of(doc) {
        var reached = stages_of(doc), best = doc.report.best ? doc.report.best.trial : -1;
        return doc.history.reports.trials.map(function (t) {
            return {trial: t.trial, stage: reached[t.trial] || 0, best: t.trial === best,
                    points: points_of(t, doc.history.reports.columns)};
        });
    }

    // All curves of a stage as one line that is broken between two trials: quick with a thousand of them.
    function group(doc, look, stage, curves, of) {
        var data = [], colour = rb_charts.run.stage_colour(look, stage, of), last = stage === of - 1;
        curves.forEach(function (c) {
            c.points.forEach(function (p) { data.push({value: p, trial: c.trial}); });
            data.push({value: [null, null], trial: c.trial});
        });
        var few = curves.length <= SINGLES;
        return {
            name: rb_charts.run.stage_name(doc, stage) + ": " + curves.length + " trial" + (curves.length === 1 ? "" : "s"),
            type: "line", connectNulls: false, color: colour, data: data, z: 2 + stage,
            itemStyle: {color: colour}, symbol: "circle", symbolSize: data.length > SYMBOLS ? 0 : few || last ? 4 : 3,
            showSymbol: data.length <= SYMBOLS,
            lineStyle: {color: colour, width: last ? 2 : 1, opacity: last ? 1 : few ? 0.75 : 0.45}
        };
    }

    function best_series(doc, look, curve) {
        return {
            name: "best: trial " + curve.trial, type: "line", color: look.colours[1], z: 100, symbolSize: 6,
            itemStyle: {color: look.colours[1]}, lineStyle: {color: look.colours[1], width: 2.5},
            data: curve.points.map(function (p) { return {value: p, trial: curve.trial}; }), connectNulls: true
        };
    }

    function rungs(doc, look) {
        return {symbol: "none", silent: true, animation: false, label: {show: false},
                lineStyle: {color: look.rule, type: "dashed"},
                data: doc.plan.stages.map(function (s) { return {xAxis: s.resource_end}; })};
    }

    // A few trials that diverged would leave nothing to see of the others: where the worst twentieth of all reports takes up
    // most of the axis it is left out, and the axis says how many reports lie beyond.
    function metric_axis(doc, look, curves) {
        var name = doc.plan.job.config.metric.name, minimize = doc.plan.job.config.metric.goal === "minimize", values = [];
        curves.forEach(function (c) {
            c.points.forEach(function (p) {
                if (p[1] !== null)
                    values.push(p[1]);
            });
        });
        values.sort(function (a, b) { return minimize ? a - b : b - a; }); // the best first
        var n = values.length, bound = values[Math.floor(n * 0.95)], extra = {nameGap: 44};
        if (n >= 40 && Math.abs(values[n - 1] - values[0]) > 4 * Math.abs(bound - values[0])) {
            var margin = (bound - values[0]) * 0.1;
            extra[minimize ? "max" : "min"] = bound + margin;
            var beyond = values.filter(function (v) { return minimize ? v > bound + margin : v < bound + margin; }).length;
            name += " (" + beyond + " reports lie " + (minimize ? "above)" : "below)");
        }
        return rb_charts.axis(name, function (v) { return String(+v.toPrecision(4)); }, look, extra);
    }

    // Rungs grow geometrically: on a logarithmic axis of their base each has the same room.
    function resource_axis(doc, look) {
        var stages = doc.plan.stages, first = stages.length ? stages[0].resource_end : 1;
        var last = stages.length ? stages[stages.length - 1].resource_end : 1, base = doc.plan.job.config.scheduler.eta;
        var unit = doc.plan.job.config.scheduler.unit;
        if (first >= 1 && last / first >= 8 && base > 1)
            return rb_charts.axis(unit + " (each step is " + base + " times the last)", String, look,
                                  {type: "log", logBase: base, min: 1, max: last, scale: false});
        return rb_charts.axis(unit, String, look, {scale: false, min: 0, max: last, minInterval: 1});
    }

    rb_charts.all["run-learning"] = function (doc, look, width) {
        var curves = curves_of(doc), of = doc.plan.stages.length, by_stage = {}, best = null;
        curves.forEach(function (c) {
            if (c.best)
                best = c;
            else
                (by_stage[c.stage] = by_stage[c.stage] || []).push(c);
        });
        var series = Object.keys(by_stage).map(function (s) { return group(doc, look, +s, by_stage[s], of); });
        if (best)
            series.push(best_series(doc, look, best));
        if (series.length)
            series[0].markLine = rungs(doc, look);
        var unit = doc.plan.job.config.scheduler.unit, metric = doc.plan.job.config.metric.name, narrow = width < 560;
        return {
            height: narrow ? 400 : 420,
            option: rb_charts.frame(look, series, {
                grid: {left: 64, right: 24, top: 30 + 24 * Math.ceil(series.length / (narrow ? 1 : 3)), bottom: 56},
                tooltip: {trigger: "item", confine: true, backgroundColor: look.paper, borderColor: look.rule,
                          textStyle: {color: look.ink}, formatter: function (p) {
                              return rb_charts.run.text("trial " + p.data.trial + ", " + unit + " " + p.value[0]) + "<br>" +
                                     rb_charts.run.text(metric + " " + rb_charts.run.number(p.value[1]));
                          }},
                xAxis: resource_axis(doc, look),
                yAxis: metric_axis(doc, look, curves)
            })
        };
    };
}());
