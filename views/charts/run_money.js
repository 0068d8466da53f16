// Where the dollars went: the run and each of its nodes in parts, and dollars so far over time.
"use strict";
(function () {
    var NODES = 24; // bars; the cheapest of more nodes share one
    var PARTS = [["train", "training"], ["boot", "booting and setting up"], ["idle_barrier", "idle, waiting at barriers"],
                 ["checkpoint", "saving checkpoints"], ["lost", "work that was lost"], ["minimum", "the 60 s minimum"]];

    function sum(nodes, key) {
        return nodes.reduce(function (total, n) { return total + n.by[key]; }, 0);
    }

    function bars_of(doc) {
        var nodes = doc.history.nodes.slice().sort(function (a, b) { return b.cost_uusd - a.cost_uusd || a.node - b.node; });
        var shown = nodes.length > NODES ? nodes.slice(0, NODES - 1) : nodes, rest = nodes.slice(shown.length);
        var bars = [{name: "the run", by: doc.report.cost_uusd.by}];
        shown.forEach(function (n) { bars.push({name: "node " + n.node, by: n.by}); });
        if (rest.length) {
            var by = {};
            PARTS.forEach(function (p) { by[p[0]] = sum(rest, p[0]); });
            bars.push({name: "the " + rest.length + " others", by: by});
        }
        return bars;
    }

    rb_charts.all["run-money"] = function (doc, look, width) {
        var bars = bars_of(doc), narrow = width < 560;
        var colours = [look.colours[0], look.colours[1], look.colours[7], look.colours[2], look.alarm, look.colours[3]];
        var series = PARTS.map(function (part, i) {
            return {name: part[1], type: "bar", stack: "parts", color: colours[i], itemStyle: {color: colours[i]}, barMaxWidth: 18,
                    data: bars.map(function (b) { return b.by[part[0]]; })};
        });
        var top = narrow ? 130 : 70;
        return {
            height: top + 56 + 26 * bars.length,
            option: rb_charts.frame(look, series, {
                grid: {left: rb_charts.run.margin(width, 11), right: 24, top: top, bottom: 56},
                tooltip: {trigger: "item", confine: true, backgroundColor: look.paper, borderColor: look.rule,
                          textStyle: {color: look.ink}, formatter: function (p) {
                              return p.name + "<br>" + p.seriesName + ": " + rb_charts.money(p.value);
                          }},
                xAxis: rb_charts.axis("dollars", rb_charts.money, look, {scale: false}),
                yAxis: {type: "category", inverse: true, data: bars.map(function (b) { return b.name; }),
                        axisTick: {show: false}, axisLine: {lineStyle: {color: look.rule}}, axisLabel: {color: look.ink}}
            })
        };
    };

    rb_charts.all["run-spent"] = function (doc, look, width) {
        var table = doc.history.spent, predicted = doc.report.cost_uusd.predicted, limits = doc.history.limits, marks = [];
        var total = doc.report.cost_uusd.actual, most = Math.max(total, predicted ? predicted.p95 : 0);
        var narrow = width < 560;

        function mark(at, name, colour, place) {
            marks.push({yAxis: at, name: name, lineStyle: {color: colour, type: "dashed"},
                        label: {formatter: "{b}", position: place, color: colour}});
        }
        if (predicted) {
            mark(predicted.mean, "expected " + rb_charts.money(predicted.mean), look.faint, "insideStartTop");
            mark(predicted.p95, narrow ? "95 %" : "95 % of runs cost less", look.faint, "insideEndTop");
        }
        if (limits.budget_uusd !== null && limits.budget_uusd <= 2 * most)
            mark(limits.budget_uusd, "budget", look.alarm, "insideMiddleTop");
        return {
            height: 280,
            option: rb_charts.frame(look, [{
                name: "dollars so far", type: "line", symbol: "none", color: look.colours[0],
                itemStyle: {color: look.colours[0]}, lineStyle: {color: look.colours[0], width: 2},
                areaStyle: {color: look.colours[0], opacity: 0.15}, data: table.rows,
                markLine: {symbol: "none", silent: true, animation: false, data: marks}
            }], {
                grid: {left: narrow ? 64 : 76, right: 24, top: 24, bottom: 56},
                legend: {show: false},
                tooltip: {trigger: "axis", confine: true, backgroundColor: look.paper, borderColor: look.rule,
                          textStyle: {color: look.ink}, formatter: function (p) {
                              return "at " + rb_charts.duration(p[0].value[0]) + ": " + rb_charts.money(p[0].value[1]);
                          }},
                xAxis: rb_charts.axis("since the start of the run", rb_charts.duration, look,
                                      {min: 0, max: rb_charts.run.end_us(doc), scale: false}),
                yAxis: rb_charts.axis("dollars", rb_charts.money, look,
                                      {scale: false, min: 0, max: most > 0 ? most * 1.08 : null, nameGap: 56,
                                       axisLabel: {color: look.faint, formatter: rb_charts.money, showMaxLabel: false}})
            })
        };
    };
}());
