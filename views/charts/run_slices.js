// Slices: the last result of every trial over each parameter, a panel each, coloured by the stage that the trial
// reached, because results at different stages do not compare. Failed and diverged trials lie at the bad edge.
"use strict";
(function () {
    var MOST_PANELS = 12, MOST_POINTS = 6000, WIDE = 270, HIGH = 168, BELOW = 46, EDGE = 0.1;
    var space = rb_charts.run.space;

    // Places on the metric's axis: [0, 1], and beyond it the edge of what has no result.
    function place_of(metric, t) {
        return t.outcome === "good" ? metric.place(t.metric) : metric.minimize ? 1 + EDGE : -EDGE;
    }

    function points(doc, of, trials, metric) {
        return trials.filter(function (t) { return t.params[of.name] !== undefined; }).map(function (t) {
            return {value: [of.place(t.params[of.name]), place_of(metric, t)],
                    name: space.trial_words(doc, t) + "; " + of.name + ": " + space.said(t.params[of.name])};
        });
    }

    function dots(name, panel, data, colour, extra) {
        return rb_charts.merge({
            name: name, type: "scatter", xAxisIndex: panel, yAxisIndex: panel, symbol: "circle", symbolSize: 6, mark: "dot",
            itemStyle: {color: colour, opacity: 0.8}, data: data
        }, extra);
    }

    // In every panel the same groups, so that a name stands for one of each.
    function groups_of(doc, look, trials) {
        var by_stage = {}, of = doc.plan.stages.length, groups = [];
        trials.forEach(function (t) {
            if (t.outcome === "good" && !t.best)
                (by_stage[t.stage] = by_stage[t.stage] || []).push(t);
        });
        Object.keys(by_stage).forEach(function (stage) {
            var n = by_stage[stage].length;
            groups.push({name: rb_charts.run.stage_name(doc, +stage) + ": " + n + " trial" + (n === 1 ? "" : "s"), trials: by_stage[stage],
                         colour: rb_charts.run.stage_colour(look, +stage, of), extra: {z: 2 + +stage}});
        });
        groups.push({name: "failed or diverged", colour: look.alarm, extra: {symbol: "path://" + rb_charts.marks.cross, symbolSize: 8, mark: "cross", z: 60},
                     trials: trials.filter(function (t) { return t.outcome === "bad" && !t.best; })});
        trials.filter(function (t) { return t.best; }).forEach(function (t) {
            groups.push({name: "best: trial " + t.id, colour: look.colours[1], trials: [t], extra: {symbol: "diamond", symbolSize: 11, z: 61, mark: "diamond"}});
        });
        return groups.filter(function (g) { return g.trials.length > 0; });
    }

    function x_axis(of, i, look) {
        var title = of.name + (of.share === null ? "" : " (" + rb_charts.percent(of.share) + ")"), own = space.with_ticks(space.ticks(of, 5, 8));
        var axis = rb_charts.axis(title, null, look, {gridIndex: i, min: -0.03, max: 1.03, scale: false, nameGap: 24, splitLine: {show: false}});
        axis.axisTick = rb_charts.merge(axis.axisTick, own.axisTick);
        axis.axisLabel = rb_charts.merge(axis.axisLabel, own.axisLabel);
        axis.axisLine.onZero = false;
        axis.nameTextStyle = {color: look.ink};
        return axis;
    }

    function y_axis(metric, i, is_first, look, has_bad) {
        var ticks = space.ticks(metric, 5, 8);
        if (has_bad)
            ticks = ticks.concat([{place: metric.minimize ? 1 + EDGE : -EDGE, text: "failed"}]);
        var own = space.with_ticks(ticks), beyond = has_bad ? 1.7 * EDGE : 0.04;
        var axis = rb_charts.axis("", null, look, {gridIndex: i, scale: false, min: metric.minimize ? -0.04 : -beyond, max: metric.minimize ? 1 + beyond : 1.04});
        axis.axisTick = rb_charts.merge(axis.axisTick, own.axisTick);
        axis.axisLabel = rb_charts.merge(rb_charts.merge(axis.axisLabel, own.axisLabel), {show: is_first});
        axis.axisLine.onZero = false;
        axis.splitLine.show = false;
        return axis;
    }

    rb_charts.all["run-slices"] = function (doc, look) {
        var trials = space.trials(doc), metric = space.metric(doc, trials), all = space.parameters(doc);
        var most = Math.min(MOST_PANELS, Math.max(1, Math.floor(MOST_POINTS / Math.max(1, trials.length))));
        var shown = all.slice(0, most), left_out = space.left_out(all, shown, look), groups = groups_of(doc, look, trials), series = [];
        var has_bad = groups.some(function (g) { return g.name === "failed or diverged"; });
        shown.forEach(function (of, panel) {
            groups.forEach(function (g) { series.push(dots(g.name, panel, points(doc, of, g.trials, metric), g.colour, g.extra)); });
        });
        var across = Math.max(1, Math.min(shown.length, Math.floor((look.width - 60) / WIDE))), apart = (look.width - 60) / across;
        var top = rb_charts.top(look, rb_charts.names(series)), rows = Math.ceil(Math.max(shown.length, 1) / across);
        var option = rb_charts.frame(look, series, {
            grid: shown.map(function (of, i) {
                return {left: 60 + (i % across) * apart, width: apart - 24, top: top + Math.floor(i / across) * (HIGH + BELOW), height: HIGH};
            }),
            xAxis: shown.map(function (of, i) { return x_axis(of, i, look); }),
            yAxis: shown.map(function (of, i) { return y_axis(metric, i, i % across === 0, look, has_bad); }),
            title: left_out.title
        });
        return {height: top + rows * (HIGH + BELOW) + 4 + left_out.height, option: option, is_fixed: true, numbers: space.numbers(doc, all, trials)};
    };
}());
