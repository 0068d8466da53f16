// Parallel coordinates: an axis for each parameter, the resource and the metric; a line for each trial, coloured by its
// result. A parameter that does not apply, and the result of a trial that failed or diverged, lie below their axes.
"use strict";
(function () {
    var BELOW = -0.13, LOW = -0.2, HIGH = 1.05, SYMBOLS = 80, MANY = 60, LEAST_APART = 74;
    var PARTS = {5: "fifth", 3: "third"}, ORDINALS = ["best", "second", "third", "fourth", "worst"];
    var space = rb_charts.run.space;

    // ---- axes

    // Marked where trials are compared: at the ends of the stages.
    function resource_axis(doc, trials) {
        var ends = doc.plan.stages.map(function (stage) { return stage.resource_end; });
        var most = trials.reduce(function (m, t) { return Math.max(m, t.resource); }, Math.max.apply(null, ends.concat([1])));
        var log = most >= 8, scaled = log ? function (r) { return Math.log(Math.max(r, 1)); } : function (r) { return r; }, max = scaled(most);
        var axis = {name: doc.plan.job.config.scheduler.unit, place: function (r) { return max > 0 ? scaled(r) / max : 0.5; }};
        axis.ticks = ends.filter(function (r, i) { return ends.indexOf(r) === i; }).map(function (r) {
            return {place: axis.place(r), text: String(r)};
        });
        return axis;
    }

    function axes_of(doc, parameters, trials, look) {
        var room = Math.max(2, Math.floor((look.width - 80) / (rb_charts.is_narrow(look) ? 52 : LEAST_APART)) - 1);
        var shown = parameters.slice(0, room).sort(function (a, b) { return a.order - b.order; }).map(function (p) {
            return rb_charts.merge(rb_charts.merge({}, p), {
                at: function (t) { return t.params[p.name] === undefined ? BELOW : p.place(t.params[p.name]); },
                words: function (t) { return p.name + ": " + space.said(t.params[p.name]); },
                below: p.condition ? "none" : null
            });
        });
        var resource = resource_axis(doc, trials), metric = space.metric(doc, trials);
        resource.at = function (t) { return resource.place(t.resource); };
        resource.words = function (t) { return resource.name + ": " + t.resource; };
        metric.at = function (t) { return t.outcome === "good" ? metric.place(t.metric) : BELOW; };
        metric.words = function (t) {
            return t.state === "failed" ? "failed" : metric.name + ": " + rb_charts.run.number(t.metric);
        };
        metric.below = trials.some(function (t) { return t.outcome === "bad"; }) ? "failed" : null;
        return shown.concat([resource, metric]);
    }

    // ---- series

    function line_of(doc, axes, t) {
        return axes.map(function (axis, i) {
            return {value: [i, axis.at(t)], name: space.trial_words(doc, t) + "; " + axis.words(t)};
        });
    }

    // Lines of several trials as one that is broken between two of them.
    function group(doc, axes, trials, name, colour, extra) {
        var data = [];
        trials.forEach(function (t, i) {
            if (i)
                data.push({value: [null, null], name: "the next trial"});
            data = data.concat(line_of(doc, axes, t));
        });
        return rb_charts.merge({
            name: name, type: "line", connectNulls: false, data: data, symbol: "circle", symbolSize: 5,
            showSymbol: trials.length <= SYMBOLS, itemStyle: {color: colour}, lineStyle: {color: colour, width: 1.25}
        }, extra);
    }

    function by_result(doc, axes, trials, look) {
        var minimize = doc.plan.job.config.metric.goal === "minimize";
        var sorted = trials.filter(function (t) { return t.outcome === "good" && !t.best; }).sort(function (a, b) {
            return (minimize ? a.metric - b.metric : b.metric - a.metric) || a.id - b.id;
        });
        var n_parts = sorted.length >= 20 ? 5 : sorted.length >= 9 ? 3 : 1, series = [];
        for (var k = 0; k < n_parts && sorted.length; k++) {
            var part = sorted.slice(Math.round(k * sorted.length / n_parts), Math.round((k + 1) * sorted.length / n_parts));
            var range = rb_charts.run.number(part[0].metric) + " to " + rb_charts.run.number(part[part.length - 1].metric);
            var name = n_parts === 1 ? "trials" : (k === n_parts - 1 ? "worst" : ORDINALS[k]) + " " + PARTS[n_parts];
            series.push(group(doc, axes, part, name + ": " + range, rb_charts.run.stage_colour(look, n_parts - 1 - k, n_parts), {z: 10 - k}));
            // Of many, the worse ones would hide the better.
            series[k].lineStyle.opacity = sorted.length > MANY ? Math.max(0.15, 0.9 - 0.75 * k / n_parts * Math.min(sorted.length / 200, 1.2)) : 1;
        }
        return series;
    }

    function series_of(doc, axes, trials, look) {
        function those(test) { return trials.filter(test); }
        var best = those(function (t) { return t.best; }), bad = those(function (t) { return t.outcome === "bad" && !t.best; });
        var none = those(function (t) { return t.outcome === "none"; }), series = by_result(doc, axes, trials, look);
        if (best.length)
            series.unshift(group(doc, axes, best, "best: trial " + best[0].id, look.colours[1],
                                 {z: 20, symbolSize: 6, lineStyle: {color: look.colours[1], width: 3}}));
        if (bad.length)
            series.push(group(doc, axes, bad, "failed or diverged", look.alarm,
                              {z: 12, lineStyle: {color: look.alarm, width: 1.25, type: "dashed"}}));
        if (none.length)
            series.push(group(doc, axes, none, "no result yet", look.faint,
                              {z: 1, mark: "dashed", lineStyle: {color: look.faint, width: 1, type: "dotted"}}));
        return series;
    }

    // ---- the plot

    function upright(axis, i, apart, look) {
        var ticks = axis.ticks || space.ticks(axis, 5, rb_charts.is_narrow(look) ? 5 : 9);
        if (axis.below)
            ticks = ticks.concat([{place: BELOW, text: axis.below}]);
        var own = space.with_ticks(ticks);
        return {
            type: "value", min: LOW, max: HIGH, position: "left", offset: -i * apart, z: 40,
            axisLine: {show: true, onZero: false, lineStyle: {color: look.faint}}, splitLine: {show: false},
            axisTick: rb_charts.merge({show: true, length: 4, lineStyle: {color: look.faint}}, own.axisTick),
            axisLabel: rb_charts.merge({
                color: look.ink, fontSize: rb_charts.is_narrow(look) ? 9 : 11, textBorderColor: look.paper, textBorderWidth: 3, hideOverlap: true
            }, own.axisLabel)
        };
    }

    rb_charts.all["run-parallel"] = function (doc, look) {
        var parameters = space.parameters(doc), trials = space.trials(doc), axes = axes_of(doc, parameters, trials, look);
        var narrow = rb_charts.is_narrow(look), left = narrow ? 44 : 70, right = narrow ? 16 : 40;
        var apart = (look.width - left - right) / (axes.length - 1), series = series_of(doc, axes, trials, look);
        var letters = Math.max(5, Math.floor(apart / 7) - 1), left_out = space.left_out(parameters, axes, look);
        var option = rb_charts.frame(look, series, {
            xAxis: {
                type: "category", boundaryGap: false, position: "top", axisLine: {show: false}, axisTick: {show: false},
                data: axes.map(function (a) { return a.name; }),
                axisLabel: {
                    color: look.ink, interval: 0, margin: 6, fontSize: narrow ? 9 : 12,
                    formatter: function (name) { return name.length > letters ? name.slice(0, letters - 1) + "\u2026" : name; }
                }
            },
            yAxis: axes.map(function (axis, i) { return upright(axis, i, apart, look); }),
            title: left_out.title
        });
        option.grid = {left: left, right: right, top: rb_charts.top(look, rb_charts.names(series)) + 12, bottom: 8 + left_out.height};
        return {height: option.grid.top + 340 + left_out.height, option: option, is_fixed: true, numbers: space.numbers(doc, parameters, trials)};
    };
}());
