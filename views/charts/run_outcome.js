// Predicted beside actual: for time and for cost the range in which most runs were expected, its middle, and this run.
"use strict";
(function () {
    var ROW = 104;

    function points(of, name, at, words, colour, symbol, size) {
        return {
            name: name, type: "scatter", xAxisIndex: of.index, yAxisIndex: of.index, itemStyle: {color: colour}, symbol: symbol,
            symbolSize: size, z: 5, data: [{value: [of.scaled(at), 0], name: words}]
        };
    }

    function band(of, name, from, to, thick, colour) {
        var words = of.name + ", " + name + ": " + of.format(from) + " to " + of.format(to);
        return {
            name: name, type: "line", xAxisIndex: of.index, yAxisIndex: of.index, symbol: "rect", symbolSize: [2, thick], z: 2,
            itemStyle: {color: colour, opacity: 0.6}, lineStyle: {color: colour, width: thick, opacity: 0.5, cap: "butt"},
            data: [{value: [of.scaled(from), 0], name: words}, {value: [of.scaled(to), 0], name: words}]
        };
    }

    function series_of(of, look) {
        var q = of.values.predicted, series = [];
        if (q)
            series = [
                band(of, "95 to 99 % of runs", q.p95, q.p99, 5, look.colours[7]),
                band(of, "5 to 95 % of runs", q.p5, q.p95, 14, look.colours[0]),
                points(of, "half of the runs", q.p50, of.name + ", half of the runs: at most " + of.format(q.p50),
                       look.colours[0], "rect", [3, 24])
            ];
        series.push(points(of, "this run", of.values.actual, of.name + ", this run: " + of.format(of.values.actual),
                           look.colours[1], "diamond", 16));
        if (of.limit !== null && of.limit <= of.high)
            series.push(points(of, "limit", of.limit, of.limit_name + ": " + of.format(of.limit), look.alarm, "rect",
                               [3, 38]));
        return series;
    }

    // The visible range. A limit that is far away would hide the rest; the table has it.
    function extent(of) {
        var q = of.values.predicted, shown = [of.values.actual].concat(q ? [q.p5, q.p99] : []);
        of.low = Math.min.apply(null, shown);
        of.high = Math.max.apply(null, shown);
        if (of.limit !== null && of.limit < of.low + 4 * Math.max(of.high - of.low, of.high * 0.1))
            of.high = Math.max(of.high, of.limit);
        of.pad = Math.max((of.high - of.low) * 0.08, of.high * 0.01, 1);
    }

    function axis_of(of, look) {
        var from = Math.max(of.low - of.pad, 0), to = of.high + of.pad, bounds = {gridIndex: of.index};
        if (of.index === 0)
            return rb_charts.time_axis("", from, to, look, bounds);
        bounds.min = rb_charts.dollars(from);
        bounds.max = rb_charts.dollars(to);
        var axis = rb_charts.money_axis("", from, to, look, bounds);
        axis.axisLabel = rb_charts.merge(rb_charts.merge({}, axis.axisLabel), {showMinLabel: false, showMaxLabel: false});
        return axis;
    }

    function numbers(rows) {
        var keys = ["p5", "p50", "mean", "p95", "p99"];
        return {columns: ["", "5 %", "50 %", "mean", "95 %", "99 %", "this run", "limit"], rows: rows.map(function (of) {
            var q = of.values.predicted;
            return [of.name].concat(keys.map(function (k) { return q ? of.format(q[k]) : "not known"; }),
                                    [of.format(of.values.actual), of.limit === null ? "none" : of.format(of.limit)]);
        })};
    }

    rb_charts.all["run-outcome"] = function (doc, look) {
        var rows = [
            {index: 0, name: "time", values: doc.report.time_us, format: rb_charts.duration, scaled: rb_charts.ms,
             limit: doc.history.limits.deadline_us, limit_name: "deadline"},
            {index: 1, name: "cost", values: doc.report.cost_uusd, format: rb_charts.money, scaled: rb_charts.dollars,
             limit: doc.history.limits.budget_uusd, limit_name: "budget"}
        ];
        // Machines without a price have no cost to show.
        if (!doc.plan.prices.some(function (p) { return p.uusd_per_hour > 0; }))
            rows.pop();
        rows.forEach(extent);
        var series = rows.reduce(function (all, of) { return all.concat(series_of(of, look)); }, []);
        var top = rb_charts.top(look, rb_charts.names(series));
        return {
            height: top + rows.length * ROW - 20,
            numbers: numbers(rows),
            option: rb_charts.frame(look, series, {
                grid: rows.map(function (of) { return {left: 56, right: 32, top: top + of.index * ROW, height: 44}; }),
                xAxis: rows.map(function (of) { return axis_of(of, look); }),
                yAxis: rows.map(function (of) {
                    return rb_charts.axis("", null, look, {type: "category", gridIndex: of.index, data: [of.name], axisTick: {show: false},
                                                           splitLine: {show: false}, axisLabel: {color: look.ink}});
                })
            })
        };
    };
}());
