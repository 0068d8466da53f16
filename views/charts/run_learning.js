// Learning curves: the metric over the resource, coloured by the stage that a trial reached. Curves of trials that were
// stopped early are faint; those of the furthest trials and of the best one are not.
"use strict";
(function () {
    // Curves drawn at full strength; total number of reports that are drawn as dots, to be pointed at.
    var SINGLES = 24, SYMBOLS = 1200;

    // ---- curves

    // One point for every resource, in order: a trial that was set back reports some of them twice.
    function points_of(trial, columns) {
        var by = {}, resource = columns.indexOf("resource"), metric = columns.indexOf("metric");
        trial.rows.forEach(function (row) { by[row[resource]] = row[metric]; });
        return Object.keys(by).map(Number).sort(function (a, b) { return a - b; })
            .map(function (r) { return [r, by[r]]; });
    }

    function curves_of(doc) {
        var reached = rb_charts.run.stages_reached(doc), best = doc.report.best ? doc.report.best.trial : -1;
        return doc.history.reports.trials.map(function (t) {
            return {trial: t.trial, stage: reached[t.trial] || 0, best: t.trial === best,
                    points: points_of(t, doc.history.reports.columns)};
        });
    }

    // ---- series

    function data_of(doc, curve) {
        var unit = doc.plan.job.config.scheduler.unit, metric = doc.plan.job.config.metric.name;
        return curve.points.map(function (p) {
            return {value: p, name: "trial " + curve.trial + ", " + unit + " " + p[0] + ": " + metric + " " + rb_charts.run.number(p[1])};
        });
    }

    // All curves of a stage as one line that is broken between two trials: fast even with a thousand of them.
    function group(doc, look, stage, curves, dots) {
        var data = [], of = doc.plan.stages.length, colour = rb_charts.run.stage_colour(look, stage, of);
        var last = stage === of - 1, few = curves.length <= SINGLES;
        // Nothing else of them would be visible.
        var no_lines = curves.every(function (c) { return c.points.length === 1; });
        curves.forEach(function (c, i) {
            if (i)
                data.push({value: [null, null], name: "the next trial"});
            data_of(doc, c).forEach(function (d) { data.push(d); });
        });
        return {
            name: rb_charts.run.stage_name(doc, stage) + ": " + curves.length + " trial" + (curves.length === 1 ? "" : "s"),
            type: "line", connectNulls: false, data: data, z: 2 + stage, itemStyle: {color: colour}, symbol: "circle",
            showSymbol: dots || no_lines, symbolSize: few || last ? 4 : 3,
            lineStyle: {color: colour, width: last ? 2 : 1, opacity: last ? 1 : few ? 0.75 : 0.45}
        };
    }

    function best_series(doc, look, curve) {
        return {
            name: "best: trial " + curve.trial, type: "line", z: 100, symbol: "circle", symbolSize: 5,
            showSymbol: curve.points.length <= 60, itemStyle: {color: look.colours[1]},
            lineStyle: {color: look.colours[1], width: 2.5}, data: data_of(doc, curve), connectNulls: true
        };
    }

    function series_of(doc, look, curves) {
        var by_stage = {}, best = null, n_reports = 0;
        curves.forEach(function (c) {
            n_reports += c.points.length;
            if (c.best)
                best = c;
            else
                (by_stage[c.stage] = by_stage[c.stage] || []).push(c);
        });
        var series = Object.keys(by_stage).map(function (s) { return group(doc, look, +s, by_stage[s], n_reports <= SYMBOLS); });
        return best ? series.concat([best_series(doc, look, best)]) : series;
    }

    // ---- axes

    function metric_axis(doc, look, curves) {
        var name = doc.plan.job.config.metric.name, minimize = doc.plan.job.config.metric.goal === "minimize", values = [];
        curves.forEach(function (c) {
            c.points.forEach(function (p) {
                if (p[1] !== null)
                    values.push(p[1]);
            });
        });
        values.sort(function (a, b) { return minimize ? a - b : b - a; }); // the best first
        var bound = rb_charts.run.bound(values), extra = {nameGap: 46};
        if (bound.n_beyond > 0) {
            extra[minimize ? "max" : "min"] = bound.at;
            name += " (" + bound.n_beyond + " reports lie " + (minimize ? "above)" : "below)");
        }
        return rb_charts.axis(name, function (v) { return String(+v.toPrecision(3)); }, look, extra);
    }

    // Rungs grow geometrically: on a logarithmic axis of their base each has the same width.
    function resource_axis(doc, look) {
        var stages = doc.plan.stages, first = stages.length ? stages[0].resource_end : 1;
        var last = stages.length ? stages[stages.length - 1].resource_end : 1, base = doc.plan.job.config.scheduler.eta;
        var unit = doc.plan.job.config.scheduler.unit;
        if (first >= 1 && last / first >= 8 && base > 1)
            return rb_charts.axis(unit + " (each step is " + base + " times the last)", null, look,
                                  {type: "log", logBase: base, min: 1, max: last, scale: false});
        return rb_charts.axis(unit, null, look, {scale: false, min: 0, max: last, minInterval: 1});
    }

    function numbers(doc, curves) {
        var metric = doc.plan.job.config.metric.name, minimize = doc.plan.job.config.metric.goal === "minimize";
        return rb_charts.run.numbers(["trial", "stage", "reports", "trained to", "last " + metric, "best " + metric], curves.map(function (c) {
            var last = c.points[c.points.length - 1], best = null;
            c.points.forEach(function (p) {
                if (p[1] !== null && (best === null || (minimize ? p[1] < best : p[1] > best)))
                    best = p[1];
            });
            return [String(c.trial), String(c.stage), String(c.points.length), String(last[0]), rb_charts.run.number(last[1]),
                    rb_charts.run.number(best)];
        }));
    }

    rb_charts.all["run-learning"] = function (doc, look) {
        var curves = curves_of(doc), series = series_of(doc, look, curves);
        var option = rb_charts.frame(look, series, {
            xAxis: resource_axis(doc, look),
            yAxis: metric_axis(doc, look, curves)
        });
        return {height: option.grid.top + 370, option: option, numbers: numbers(doc, curves)};
    };
}());
