// The probability of a plan: the share of runs that end by a time, or cost no more than an amount, with the required
// limit. From a page's document {plan, distribution}.
"use strict";
(function () {
    // A limit further away than this many times the spread of the runs would hide the runs.
    var FAR = 3;

    function at(distribution, key, share) {
        return distribution[key][Math.round(share * (distribution.shares.length - 1))];
    }

    function curve(name, d, key, scaled, words, colour) {
        return {
            name: name, type: "line", showSymbol: false, symbol: "circle", symbolSize: 7, itemStyle: {color: colour},
            lineStyle: {color: colour, width: 2}, areaStyle: {color: colour, opacity: 0.12},
            data: d[key].map(function (value, i) {
                return {value: [scaled(value), 100 * d.shares[i]],
                        name: rb_charts.percent(d.shares[i]) + " of runs " + words + " " + (key === "time_us" ? rb_charts.duration(value) : rb_charts.money(value))};
            })
        };
    }

    // The median and the 95 % of the estimate.
    function quantile_lines(quantiles, scaled, format, look) {
        return {
            name: "estimate, 50 % and 95 %", type: "scatter", symbol: "diamond", symbolSize: 12, z: 5,
            itemStyle: {color: look.colours[1], borderColor: look.paper, borderWidth: 1},
            data: [["p50", 50], ["p95", 95]].map(function (q) {
                return {value: [scaled(quantiles[q[0]]), q[1]], name: "the estimate: " + format(quantiles[q[0]]) + " in " + q[1] + " % of runs"};
            })
        };
    }

    function numbers(d, key, title, format) {
        var rows = [];
        for (var percent = 0; percent <= 100; percent += 5)
            rows.push([percent + " %", format(at(d, key, percent / 100))]);
        return {columns: ["share of runs", title], rows: rows};
    }

    function draw(doc, look, of) {
        var d = doc.distribution, series = [curve("runs", d, of.key, of.scaled, of.words, look.colours[0]),
                                            quantile_lines(doc.plan.estimate[of.key], of.scaled, of.format, look)];
        var most = at(d, of.key, 1), least = at(d, of.key, 0);
        var is_far = of.limit !== null && of.limit > most + FAR * (most - least), title = of.title;
        if (is_far)
            title += " (the " + of.limit_name + ", " + of.format(of.limit) + ", is further right)";
        else if (of.limit !== null)
            most = Math.max(most, of.limit);
        least = of.limit === null ? least : Math.min(least, of.limit);
        var room = 0.06 * (most - least) || 0.06 * most || 1, from = Math.max(0, least - room), to = most + room;
        if (of.limit !== null && !is_far)
            series.push(rb_charts.limit(of.limit_name, of.limit_name + " " + of.format(of.limit), of.scaled(of.limit),
                                        of.scaled(from), of.scaled(to), look));
        return {
            height: 320,
            numbers: numbers(d, of.key, of.title, of.format),
            option: rb_charts.frame(look, series, {
                xAxis: of.axis(title, from, to, look),
                yAxis: rb_charts.axis("share of runs", "{value} %", look, {min: 0, max: 100, interval: 25, nameGap: 44})
            })
        };
    }

    rb_charts.all.time_distribution = function (doc, look) {
        return draw(doc, look, {
            key: "time_us", title: "time", words: "are done by", scaled: rb_charts.ms, format: rb_charts.duration,
            limit: doc.plan.deadline_us, limit_name: "deadline", axis: rb_charts.time_axis
        });
    };

    rb_charts.all.cost_distribution = function (doc, look) {
        return draw(doc, look, {
            key: "cost_uusd", title: "cost", words: "cost at most", scaled: rb_charts.dollars, format: rb_charts.money,
            limit: doc.plan.budget_uusd, limit_name: "budget",
            axis: function (title, from, to, look) {
                var axis = rb_charts.money_axis(title, from, to, look, {min: rb_charts.dollars(from), max: rb_charts.dollars(to)});
                axis.axisLabel.showMinLabel = axis.axisLabel.showMaxLabel = false; // the ends are no round amounts
                return axis;
            }
        });
    };
}());
