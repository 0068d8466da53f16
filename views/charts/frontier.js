// Cost against deadline: every planner's cheapest plan that keeps the deadline, P50 and, dashed, P95; and the plan that was
// chosen. Of a page's document {plan, frontier}, or of a frontier alone.
"use strict";
(function () {
    function by_planner(points) {
        var found = [];
        points.forEach(function (point) {
            var of = found.filter(function (f) { return f.planner === point.planner; })[0];
            if (!of)
                found.push(of = {planner: point.planner, points: []});
            of.points.push(point);
        });
        found.sort(function (a, b) { return (b.planner === "optimal") - (a.planner === "optimal"); });
        return found;
    }

    function words(point, q) {
        return point.planner + ", deadline " + rb_charts.duration(point.deadline_us) + ": " +
            rb_charts.money(point.estimate.cost_uusd[q]) + (q === "p95" ? " in 95 % of runs" : " in half of the runs");
    }

    function line(of, q, colour) {
        var best = of.planner === "optimal";
        return {
            name: of.planner + (q === "p95" ? ", 95 %" : ""), type: "line", step: "end",
            symbol: "circle", symbolSize: q === "p50" ? (best ? 7 : 5) : 3, showAllSymbol: true, z: best ? 4 : 3,
            lineStyle: {type: q === "p50" ? "solid" : "dashed", width: best && q === "p50" ? 2.5 : 1.25, color: colour},
            itemStyle: {color: colour},
            data: of.points.map(function (p) {
                return {value: [rb_charts.ms(p.deadline_us), rb_charts.dollars(p.estimate.cost_uusd[q])], name: words(p, q)};
            })
        };
    }

    // Without a deadline it stands at the time that 95 % of its runs keep.
    function chosen(plan, look) {
        var us = plan.deadline_us === null ? plan.estimate.time_us.p95 : plan.deadline_us, cost = plan.estimate.cost_uusd;
        return {
            name: "this plan", type: "scatter", symbol: "diamond", symbolSize: 16, z: 6,
            itemStyle: {color: look.alarm, borderColor: look.paper, borderWidth: 1.5},
            data: [{value: [rb_charts.ms(us), rb_charts.dollars(cost.p50)],
                    name: "this plan: " + rb_charts.money(cost.p50) + " in half of the runs, " + rb_charts.money(cost.p95) +
                          " in 95 %, for " + rb_charts.duration(us)}]
        };
    }

    function numbers(planners) {
        var rows = [];
        planners.forEach(function (of) {
            of.points.forEach(function (p) {
                rows.push([of.planner, rb_charts.duration(p.deadline_us), rb_charts.money(p.estimate.cost_uusd.p50),
                           rb_charts.money(p.estimate.cost_uusd.p95), rb_charts.duration(p.estimate.time_us.p50),
                           rb_charts.duration(p.estimate.time_us.p95)]);
            });
        });
        return {columns: ["planner", "deadline", "cost p50", "cost p95", "time p50", "time p95"], rows: rows};
    }

    rb_charts.all.frontier = function (doc, look, width) {
        var planners = by_planner(doc.frontier.points), series = [], hidden = {}, least = Infinity, most = 0, until = 0;
        planners.forEach(function (of, i) {
            ["p50", "p95"].forEach(function (q) {
                var made = line(of, q, look.colours[i % look.colours.length]);
                if (q === "p95" && of.planner !== "optimal")
                    hidden[made.name] = false;
                series.push(made);
                of.points.forEach(function (p) {
                    least = Math.min(least, p.estimate.cost_uusd[q]);
                    most = Math.max(most, p.estimate.cost_uusd[q]);
                    until = Math.max(until, p.deadline_us);
                });
            });
        });
        if (doc.plan)
            series.push(chosen(doc.plan, look));
        var option = rb_charts.frame(look, width, series, {
            xAxis: rb_charts.time_axis("deadline", until * 1.02, look, width),
            // Tight deadlines may cost a hundred times as much: doublings tell more than a flat line.
            yAxis: rb_charts.money_axis("cost", look, width, {nameGap: 44, type: most > 6 * least ? "log" : "value", logBase: 2})
        });
        option.legend.selected = hidden;
        return {height: 400, option: option, numbers: numbers(planners)};
    };
}());
