// Cost against deadline: every planner's cheapest plan that keeps the deadline, P50 as a line and P95 as a paler one above it.
"use strict";
rb_charts.all.frontier = function (doc, look) {
    var names = [], by_name = {}, series = [];
    doc.frontier.points.forEach(function (point) {
        if (!by_name[point.planner]) {
            by_name[point.planner] = [];
            names.push(point.planner);
        }
        by_name[point.planner].push(point);
    });
    names.forEach(function (name, i) {
        ["p50", "p95"].forEach(function (q) {
            series.push({
                name: name + (q === "p95" ? ", 95 %" : ""), type: "line", step: "end", symbolSize: q === "p50" ? 6 : 0,
                lineStyle: {type: q === "p50" ? "solid" : "dashed", width: q === "p50" ? 2 : 1},
                itemStyle: {color: look.colours[i % look.colours.length]},
                data: by_name[name].map(function (p) { return [p.deadline_us, p.estimate.cost_uusd[q]]; })
            });
        });
    });
    return {
        height: 380,
        option: rb_charts.frame(look, series, {
            xAxis: rb_charts.axis("deadline", rb_charts.duration, look),
            yAxis: rb_charts.axis("cost", rb_charts.money, look)
        })
    };
};
