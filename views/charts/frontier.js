// Cost against deadline: every planner's cheapest plan that keeps the deadline, P50 and, dashed, P95; and the chosen
// plan. From a page's document {plan, frontier}, or from a frontier alone.
"use strict";
(function () {
    var WITH_SPOT = "with spot", WITHOUT_SPOT = "without spot", PLANNERS = ["optimal", "greedy", "static", "naive", WITH_SPOT]; // each has its own colour and symbol
    var SYMBOLS = ["circle", "triangle", "rect", "ring", "down"];
    var ROOM_FOR_WORDS = 700; // pixels

    // Those of every planner, and either those of runs that also use spot machines or those of plans that have none.
    function points_of(frontier) {
        var name = frontier.with_spot ? WITH_SPOT : WITHOUT_SPOT;
        return frontier.points.concat((frontier.with_spot || frontier.without_spot || []).map(function (p) {
            return {planner: name, deadline_us: p.deadline_us, estimate: p.estimate};
        }));
    }

    // Its colour and symbol. There is only one of the lines about spot.
    function place_of(planner) {
        return PLANNERS.indexOf(planner === WITHOUT_SPOT ? WITH_SPOT : planner);
    }

    function by_planner(points) {
        var found = [];
        points.forEach(function (point) {
            var of = found.filter(function (f) { return f.planner === point.planner; })[0];
            if (!of)
                found.push(of = {planner: point.planner, points: []});
            of.points.push(point);
        });
        found.sort(function (a, b) { return place_of(a.planner) - place_of(b.planner); });
        return found;
    }

    function words(point, q) {
        return point.planner + ", deadline " + rb_charts.duration(point.deadline_us) + ": " +
            rb_charts.money(point.estimate.cost_uusd[q]) + (q === "p95" ? " in 95 % of runs" : " in half of the runs");
    }

    function line(of, q, place, look) {
        var best = of.planner === "optimal", median = q === "p50", mark = median ? SYMBOLS[place] : "dashed", colour = look.colours[place];
        return {
            name: of.planner + (median ? "" : ", 95 %"), type: "line", step: "end", mark: mark,
            symbol: mark === "down" ? "triangle" : mark === "triangle" || mark === "rect" ? mark : "circle", symbolRotate: mark === "down" ? 180 : 0,
            symbolSize: median ? 7 : 3, showAllSymbol: true, z: best ? 4 : 3,
            lineStyle: {type: median ? "solid" : "dashed", width: best && median ? 2.5 : 1.25, color: colour},
            itemStyle: mark === "ring" ? {color: look.paper, borderColor: colour, borderWidth: 1.5} : {color: colour},
            data: of.points.map(function (p) {
                return {value: [rb_charts.ms(p.deadline_us), rb_charts.dollars(p.estimate.cost_uusd[q])], name: words(p, q)};
            })
        };
    }

    // The plan, or for a frontier alone the cheapest at the requested deadline; null: there is none.
    function at_deadline(doc, points, asked) {
        var there = points.filter(function (p) { return p.deadline_us === asked; });
        function of(planner) { return there.filter(function (p) { return p.planner === planner; })[0]; }
        return doc.plan || of(WITH_SPOT) || of("optimal");
    }

    // Without a deadline it is placed at the time that 95 % of its runs keep.
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

    // The deadline of the plan, or of the request behind the frontier.
    function asked_us(doc) {
        if (doc.plan)
            return doc.plan.deadline_us;
        return doc.frontier.marginal ? doc.frontier.marginal.deadline_us : null;
    }

    // "deadline 2 h 0 m: more time saves $0.0129 a minute"
    function deadline_words(doc, asked, look) {
        var said = "deadline " + rb_charts.duration(asked), marginal = doc.frontier.marginal, saved = marginal && -marginal.more.uusd_per_minute;
        if (!marginal || look.width < ROOM_FOR_WORDS)
            return said;
        if (doc.frontier.with_spot)
            said += ", on demand";
        return said + (saved > 0 ? ": more time saves " + rb_charts.money(saved) + " a minute" : ": a little more time saves nothing");
    }

    // A page can switch the others' 95 % on; a picture has room for the optimal plan's only.
    function lines(planners, look, hidden) {
        var series = [];
        planners.forEach(function (of) {
            var place = Math.max(place_of(of.planner), 0), best = of.planner === "optimal";
            series.push(line(of, "p50", place, look));
            if (best || !look.legend)
                series.push(line(of, "p95", place, look));
            if (!best)
                hidden[of.planner + ", 95 %"] = false;
        });
        return series;
    }

    rb_charts.all.frontier = function (doc, look) {
        var points = points_of(doc.frontier), planners = by_planner(points), hidden = {}, least = Infinity, most = 0, until = 0, asked = asked_us(doc);
        var series = lines(planners, look, hidden);
        points.forEach(function (p) {
            least = Math.min(least, p.estimate.cost_uusd.p50);
            most = Math.max(most, p.estimate.cost_uusd.p95);
            until = Math.max(until, p.deadline_us * 1.02, asked || 0);
        });
        if (at_deadline(doc, points, asked))
            series.push(chosen(at_deadline(doc, points, asked), look));
        if (asked !== null)
            series.push(rb_charts.limit("deadline", deadline_words(doc, asked, look), rb_charts.ms(asked), 0, rb_charts.ms(until), look));
        var option = rb_charts.frame(look, series, {
            xAxis: rb_charts.time_axis("deadline", 0, until, look),
            yAxis: most > 6 * least ? rb_charts.doubling_axis("cost", look, {nameGap: 50})
                                    : rb_charts.money_axis("cost", least, most, look, {nameGap: 50})
        });
        option.legend.selected = hidden;
        return {height: 400, option: option, numbers: numbers(planners)};
    };
}());
