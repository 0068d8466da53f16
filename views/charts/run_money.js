// How the dollars, or the GPU time, were spent: the run and each of its nodes in parts; and dollars so far over time.
"use strict";
(function () {
    var NODES = 24; // bars; the cheapest of more nodes share one
    var PARTS = [["train", "training", 0], ["boot", "booting", 1], ["idle_barrier", "idle at barriers", 3],
                 ["checkpoint", "saving checkpoints", 2], ["lost", "work that was lost", 5], ["minimum", "60 s minimum", 7]];

    // The divided quantity: dollars, or GPU time if nothing has a price.
    var DOLLARS = {
        run: function (doc) { return doc.report.cost_uusd; },
        node: function (n) { return {actual: n.cost_uusd, by: n.by}; },
        value: rb_charts.dollars, words: rb_charts.money,
        axis: function (most, look) { return rb_charts.money_axis("cost", 0, most, look, {scale: false, min: 0}); }
    }, TIME = {
        run: function (doc) { return doc.report.node_time_us; },
        node: function (n) { return n.node_time_us; },
        value: rb_charts.ms, words: rb_charts.duration,
        axis: function (most, look) { // not an axis of instants: on those, bars do not stack
            var step = rb_charts.ms(rb_charts.time_step(Math.max(most, 1e6), rb_charts.n_ticks(look)));
            return rb_charts.time_axis("GPU time", 0, most, look, {
                type: "value", min: 0, max: step * Math.ceil(rb_charts.ms(most) / step), interval: step, minInterval: undefined
            });
        }
    };

    function together(bars) {
        var by = {};
        PARTS.forEach(function (part) {
            by[part[0]] = bars.reduce(function (sum, b) { return sum + b.by[part[0]]; }, 0);
        });
        return by;
    }

    function bars_of(doc, measure) {
        var nodes = doc.history.nodes.map(function (n) {
            var values = measure.node(n);
            return {name: "node " + n.node, node: n.node, actual: values.actual, by: values.by};
        }).sort(function (a, b) { return b.actual - a.actual || a.node - b.node; });
        var shown = nodes.length > NODES ? nodes.slice(0, NODES - 1) : nodes, rest = nodes.slice(shown.length);
        var bars = [{name: "the run", by: measure.run(doc).by}].concat(shown);
        if (rest.length)
            bars.push({name: rest.length + " others", by: together(rest)});
        return bars;
    }

    function used(bars) {
        return PARTS.filter(function (part) { return bars[0].by[part[0]] > 0; });
    }

    function parts_chart(doc, look, measure) {
        var bars = bars_of(doc, measure), parts = used(bars), names = bars.map(function (b) { return b.name; });
        var series = parts.map(function (part) {
            return {
                name: part[1], type: "bar", stack: "parts", barMaxWidth: 20,
                itemStyle: {color: look.colours[part[2]], borderColor: look.paper, borderWidth: 0.5},
                data: bars.map(function (b) {
                    return {value: measure.value(b.by[part[0]]), name: b.name + ", " + part[1] + ": " + measure.words(b.by[part[0]])};
                })
            };
        });
        var option = rb_charts.frame(look, series, {
            xAxis: measure.axis(measure.run(doc).actual, look), yAxis: rb_charts.run.name_axis(names, look)
        });
        option.grid = rb_charts.merge(rb_charts.merge({}, option.grid), {left: rb_charts.run.margin(names, look)});
        return {
            height: option.grid.top + 56 + 28 * bars.length, option: option,
            numbers: rb_charts.run.numbers([""].concat(parts.map(function (p) { return p[1]; })), bars.map(function (b) {
                return [b.name].concat(parts.map(function (p) { return measure.words(b.by[p[0]]); }));
            }))
        };
    }

    rb_charts.all["run-money"] = function (doc, look) { return parts_chart(doc, look, DOLLARS); };
    rb_charts.all["run-node-time"] = function (doc, look) { return parts_chart(doc, look, TIME); };

    // A horizontal line at a value of the y axis: a separate series, so that it can be switched off.
    function level(name, uusd, colour) {
        var style = {color: colour, type: "dashed", width: 1.25};
        return {name: name, type: "line", data: [], itemStyle: {color: colour}, lineStyle: style,
                markLine: {symbol: "none", silent: true, precision: rb_charts.EXACT, label: {show: false}, lineStyle: style,
                           data: [{yAxis: rb_charts.dollars(uusd)}]}};
    }

    rb_charts.all["run-spent"] = function (doc, look) {
        var rows = doc.history.spent.rows, predicted = doc.report.cost_uusd.predicted, budget = doc.history.limits.budget_uusd;
        var most = Math.max(doc.report.cost_uusd.actual, predicted ? predicted.p95 : 0), series = [{
            name: "dollars so far", type: "line", showSymbol: false, symbol: "circle", symbolSize: 6, itemStyle: {color: look.colours[0]},
            lineStyle: {color: look.colours[0], width: 2}, areaStyle: {color: look.colours[0], opacity: 0.15},
            data: rows.map(function (row) {
                return {value: [rb_charts.ms(row[0]), rb_charts.dollars(row[1])],
                        name: "after " + rb_charts.duration(row[0]) + ": " + rb_charts.money(row[1])};
            })
        }];
        if (predicted)
            series.push(level("expected in all: " + rb_charts.money(predicted.mean), predicted.mean, look.colours[3]),
                        level("95 % of runs: at most " + rb_charts.money(predicted.p95), predicted.p95, look.colours[7]));
        if (budget !== null && budget <= 2 * most) {
            series.push(level("budget: " + rb_charts.money(budget), budget, look.alarm));
            most = Math.max(most, budget);
        }
        var cost = rb_charts.money_axis("cost", 0, most, look, {scale: false, min: 0, nameGap: 52});
        cost.max = function (seen) { // a round one, above the levels, too
            return cost.minInterval * Math.ceil(1.02 * Math.max(seen.max, rb_charts.dollars(most)) / cost.minInterval);
        };
        var option = rb_charts.frame(look, series, {xAxis: rb_charts.run.time_axis(doc, look), yAxis: cost});
        option.tooltip = rb_charts.run.text_at_once(option);
        return {
            height: option.grid.top + 240, option: option,
            numbers: rb_charts.run.numbers(["after", "dollars so far"], rows.map(function (row) {
                return [rb_charts.duration(row[0]), rb_charts.money(row[1])];
            }))
        };
    };
}());
