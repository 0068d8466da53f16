// What other budgets are expected to find: the best metric, or the share of random configurations that it beats, with
// its 90 % band, against dollars; and the chosen budget. From a page's document {best_for}.
"use strict";
(function () {
    function knows_metric(doc) {
        return doc.best_for.law.metric_known;
    }

    // Of earlier runs the mean is not known, and the median stands in its place; without an upper end.
    function band(doc, point) {
        var e = knows_metric(doc) ? point.expected.metric : point.expected.better_than, times = knows_metric(doc) ? 1 : 100;
        return e.high === null ? {mean: times * e.median, low: times * e.low, high: null}
            : {mean: times * e.mean, low: times * e.low, high: times * e.high};
    }

    function what(doc) {
        return knows_metric(doc) ? doc.best_for.metric : "% of random configurations that it beats";
    }

    function figure(value) {
        return String(Number(value.toPrecision(5)));
    }

    function words(doc, point) {
        var b = band(doc, point), money = rb_charts.money(point.budget_uusd) + ": " + figure(b.mean);
        return b.high === null ? money + " or better in half of draws, " + figure(b.low) + " or better in 95 %"
            : money + " (90 %: " + figure(b.low) + " to " + figure(b.high) + ")";
    }

    function line(doc, points, q, name, look) {
        var mean = q === "mean", colour = look.colours[0];
        return {
            name: name, type: "line", mark: mean ? "circle" : "dashed", symbol: "circle", symbolSize: mean ? 7 : 3, showAllSymbol: true,
            lineStyle: {type: mean ? "solid" : "dashed", width: mean ? 2.5 : 1.25, color: colour}, itemStyle: {color: colour},
            data: points.map(function (p) { return {value: [rb_charts.dollars(p.budget_uusd), band(doc, p)[q]], name: words(doc, p)}; })
        };
    }

    function chosen(doc, look) {
        var p = doc.best_for.chosen;
        return {
            name: "this plan", type: "scatter", symbol: "diamond", symbolSize: 16, z: 6,
            itemStyle: {color: look.alarm, borderColor: look.paper, borderWidth: 1.5},
            data: [{value: [rb_charts.dollars(p.budget_uusd), band(doc, p).mean], name: "this plan, " + words(doc, p)}]
        };
    }

    function numbers(doc, points) {
        return {
            columns: ["budget", "trials", "expected", "90 % from", "to"],
            rows: points.map(function (p) {
                var b = band(doc, p);
                return [rb_charts.money(p.budget_uusd), String(p.trials), figure(b.mean), figure(b.low), b.high === null ? "or better" : figure(b.high)];
            })
        };
    }

    rb_charts.all.best = function (doc, look) {
        var points = doc.best_for.frontier;
        var open = points.some(function (p) { return band(doc, p).high === null; });
        var series = [line(doc, points, "mean", open ? "half of draws are as good or better" : "expected", look),
                      line(doc, points, "low", "5 % of draws are worse", look)]
            .concat(open ? [] : [line(doc, points, "high", "5 % are better", look)], [chosen(doc, look)]);
        var option = rb_charts.frame(look, series, {
            xAxis: rb_charts.doubling_axis("budget", look, {}),
            yAxis: rb_charts.axis(what(doc), figure, look, {nameGap: 50})
        });
        return {height: 400, option: option, numbers: numbers(doc, points)};
    };
}());
