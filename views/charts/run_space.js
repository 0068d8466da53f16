// Shared by the charts of a run's parameters: what varies and where a value lies on its axis from 0 to 1, the trials
// with their results, ticks. A parameter whose distribution is logarithmic has a logarithmic axis.
"use strict";
rb_charts.run.space = {};

(function () {
    var space = rb_charts.run.space;

    // ---- parameters

    function choice(name, values, condition) {
        return {
            name: name, condition: condition, log: false, min: 0, max: values.length, labels: values.map(String),
            scaled: function (v) { return values.indexOf(v) + 0.5; }
        };
    }

    // A normal distribution has no ends: those of the values.
    function extent(doc, name) {
        var values = doc.report.trials.map(function (t) { return t.params[name]; }).filter(function (v) { return typeof v === "number"; });
        return values.length ? [Math.min.apply(null, values), Math.max.apply(null, values)] : [0, 1];
    }

    function number(doc, name, law) {
        var ends = law.min === undefined ? extent(doc, name) : [law.min, law.max], log = /^log_/.test(law.distribution) && ends[0] > 0;
        var scaled = log ? function (v) { return Math.log(v); } : function (v) { return v; };
        return {name: name, condition: law["if"], log: log, min: scaled(ends[0]), max: scaled(ends[1]), ends: ends, scaled: scaled};
    }

    // Places on the axis from 0 to 1. An axis whose ends are the same has everything in its middle.
    function with_place(axis) {
        axis.place = function (v) { return axis.max > axis.min ? (axis.scaled(v) - axis.min) / (axis.max - axis.min) : 0.5; };
        return axis;
    }

    function share_of(doc, name) {
        var found = doc.importance ? doc.importance.parameters.filter(function (p) { return p.name === name; })[0] : null;
        return found ? found.share : null;
    }

    // All that vary, the most important first; where that is not known, in the order of the job.
    space.parameters = function (doc) {
        var declared = doc.plan.job.config.parameters || {};
        return Object.keys(declared).filter(function (name) { return declared[name] !== null && typeof declared[name] === "object"; })
            .map(function (name, i) {
                var law = declared[name], axis = law.values ? choice(name, law.values, law["if"]) : number(doc, name, law);
                axis.share = share_of(doc, name);
                axis.order = i;
                return with_place(axis);
            }).sort(function (a, b) { return (b.share || 0) - (a.share || 0) || a.order - b.order; });
    };

    // ---- trials

    // What came of it: "good" (it has a result), "bad" (it failed, or its metric is no number), "none" (no result yet).
    function outcome(trial, reports) {
        if (trial.state === "failed")
            return "bad";
        return trial.metric !== null ? "good" : reports[trial.trial] ? "bad" : "none";
    }

    space.trials = function (doc) {
        var reports = {}, reached = rb_charts.run.stages_reached(doc);
        doc.history.reports.trials.forEach(function (t) { reports[t.trial] = true; });
        return doc.report.trials.map(function (t) {
            return {id: t.trial, params: t.params, metric: t.metric, resource: t.resource, stage: reached[t.trial] || 0,
                    state: t.state, outcome: outcome(t, reports), best: doc.report.best !== null && doc.report.best.trial === t.trial};
        });
    };

    space.said = function (v) {
        return typeof v === "number" ? rb_charts.run.number(v) : v === undefined ? "does not apply" : String(v);
    };

    // "trial 7, epoch 9, val_acc 0.81"
    space.trial_words = function (doc, t) {
        var job = doc.plan.job.config;
        return "trial " + t.id + (t.best ? " (best)" : "") + ", " + job.scheduler.unit + " " + t.resource + ", " +
               (t.state === "failed" ? "failed" : job.metric.name + " " + rb_charts.run.number(t.metric));
    };

    // ---- the metric

    // An axis of the results of trials; where a few of them would hide the others, it ends at a bound.
    space.metric = function (doc, trials) {
        var job = doc.plan.job.config, minimize = job.metric.goal === "minimize";
        var values = trials.filter(function (t) { return t.outcome === "good"; }).map(function (t) { return t.metric; });
        values.sort(function (a, b) { return minimize ? a - b : b - a; });
        var bound = rb_charts.run.bound(values), ends = values.length ? [values[0], bound.at] : [0, 1];
        ends.sort(function (a, b) { return a - b; });
        return with_place({name: job.metric.name, log: false, min: ends[0], max: ends[1], ends: ends, minimize: minimize,
                           n_beyond: bound.n_beyond, scaled: function (v) { return Math.min(Math.max(v, ends[0]), ends[1]); }});
    };

    // ---- ticks: {place, text}, at most about n

    function linear_ticks(axis, n) {
        var step = rb_charts.round_step(axis.max - axis.min, n), ticks = [];
        for (var i = Math.ceil(axis.min / step - 1e-9); i * step <= axis.max + 1e-9 * step; i++)
            ticks.push(+(i * step).toPrecision(12));
        return ticks;
    }

    function log_ticks(axis, n) {
        var decades = (axis.max - axis.min) / Math.LN10, factors = decades < 1.5 ? [1, 2, 5] : [1], ticks = [];
        var every = Math.max(1, Math.ceil(decades / n));
        for (var e = Math.floor(axis.min / Math.LN10); e <= axis.max / Math.LN10 + 1e-9; e++)
            factors.forEach(function (f) {
                var v = +(f + "e" + e);
                if (e % every === 0 && v >= axis.ends[0] * (1 - 1e-9) && v <= axis.ends[1] * (1 + 1e-9))
                    ticks.push(v);
            });
        return ticks.length > 1 ? ticks : axis.ends;
    }

    function short(v) {
        var size = Math.abs(v);
        return size !== 0 && (size < 0.001 || size >= 1e5) ? v.toExponential(+v.toPrecision(3) === +v.toPrecision(1) ? 0 : 1).replace("+", "") : String(+v.toPrecision(4));
    }

    function cut(text, most) {
        return text.length > most ? text.slice(0, most - 1) + "\u2026" : text;
    }

    // letters: the longest text.
    space.ticks = function (axis, n, letters) {
        if (axis.labels) {
            var every = Math.ceil(axis.labels.length / Math.max(n, 2) / 2);
            return axis.labels.map(function (label, i) {
                return {place: (i + 0.5) / axis.labels.length, text: cut(label, letters)};
            }).filter(function (t, i) { return i % every === 0; });
        }
        if (!(axis.max > axis.min))
            return [{place: 0.5, text: short(axis.ends[0])}];
        return (axis.log ? log_ticks(axis, n) : linear_ticks(axis, n)).map(function (v) {
            return {place: axis.place(v), text: short(v)};
        });
    };

    // The options of an axis that has these ticks only.
    space.with_ticks = function (ticks) {
        return {
            axisTick: {customValues: ticks.map(function (t) { return t.place; })},
            axisLabel: {
                customValues: ticks.map(function (t) { return t.place; }),
                formatter: function (at) {
                    var near = ticks.filter(function (t) { return Math.abs(t.place - at) < 1e-6; })[0];
                    return near ? near.text : "";
                }
            }
        };
    };

    // Where there is no room for all parameters: which of them are left out, as a line below the plot.
    space.left_out = function (all, shown, look) {
        var names = all.filter(function (p) { return shown.every(function (s) { return s.name !== p.name; }); })
            .map(function (p) { return p.name; });
        var text = names.length ? "Not shown: " + names.join(", ") : "";
        return {
            height: text ? 30 : 0,
            title: {show: text !== "", text: cut(text, Math.floor(look.width / 7)), left: 0, bottom: 6, padding: 0,
                    textStyle: {color: look.faint, fontSize: 12, fontWeight: "normal"}}
        };
    };

    space.numbers = function (doc, parameters, trials) {
        var job = doc.plan.job.config;
        var columns = ["trial", job.metric.name, "state", job.scheduler.unit].concat(parameters.map(function (p) { return p.name; }));
        return rb_charts.run.numbers(columns, trials.map(function (t) {
            return [String(t.id), rb_charts.run.number(t.metric), t.state, String(t.resource)].concat(parameters.map(function (p) {
                return t.params[p.name] === undefined ? "-" : space.said(t.params[p.name]);
            }));
        }));
    };
}());
