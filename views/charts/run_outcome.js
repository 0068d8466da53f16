// Predicted beside actual: of time and of cost the range that 5 to 95 % of runs were expected in, its middle, and the run.
"use strict";
rb_charts.all["run-outcome"] = function (doc, look, width) {
    var narrow = width < 560, grids = [], x = [], y = [], series = [];
    var rows = [
        {name: "time", values: doc.report.time_us, format: rb_charts.duration, limit: doc.history.limits.deadline_us, limit_name: "deadline"},
        {name: "cost", values: doc.report.cost_uusd, format: rb_charts.money, limit: doc.history.limits.budget_uusd, limit_name: "budget"}
    ];

    function points(i, name, data, colour, symbol, size) {
        series.push({
            name: name, type: "scatter", xAxisIndex: i, yAxisIndex: i, color: colour, itemStyle: {color: colour}, symbol: symbol,
            symbolSize: size, data: data.map(function (d) { return {value: [d.at, 0], says: d.says}; }), z: 5,
            tooltip: {formatter: function (p) { return p.data.says; }}
        });
    }

    function band(i, q, format) {
        [["up to 99 % of runs", q.p95, q.p99, 4, look.colours[7]], ["5 to 95 % of runs", q.p5, q.p95, 12, look.colours[0]]].forEach(function (b) {
            series.push({
                name: b[0], type: "line", xAxisIndex: i, yAxisIndex: i, symbol: "none", color: b[4], z: 2,
                lineStyle: {color: b[4], width: b[3], opacity: 0.45, cap: "butt"}, itemStyle: {color: b[4], opacity: 0.45},
                data: [[b[1], 0], [b[2], 0]]
            });
        });
        points(i, "middle (50 %)", [{at: q.p50, says: "half of all runs: " + format(q.p50)}], look.colours[0], "rect", [3, 22]);
    }

    rows.forEach(function (row, i) {
        var q = row.values.predicted, shown = [row.values.actual].concat(q ? [q.p5, q.p99] : []);
        var low = Math.min.apply(null, shown), high = Math.max.apply(null, shown);
        // A limit that is far off would leave nothing to see of the rest; the table has it.
        if (row.limit !== null && row.limit > 0 && row.limit < low + 4 * Math.max(high - low, high * 0.1))
            high = Math.max(high, row.limit);
        var pad = Math.max((high - low) * 0.08, high * 0.01, 1);
        grids.push({left: 64, right: 40, top: (narrow ? 86 : 52) + i * 110, height: 44});
        x.push(rb_charts.axis("", row.format, look, {gridIndex: i, min: Math.max(low - pad, 0), max: high + pad,
               axisLabel: {color: look.faint, formatter: row.format, hideOverlap: true, showMinLabel: false, showMaxLabel: false}}));
        y.push({type: "category", gridIndex: i, data: [row.name], axisTick: {show: false},
                axisLine: {lineStyle: {color: look.rule}}, axisLabel: {color: look.ink}});
        if (q)
            band(i, q, row.format);
        points(i, "this run", [{at: row.values.actual, says: "this run: " + row.format(row.values.actual)}], look.colours[1], "diamond", 15);
        if (row.limit !== null && row.limit <= high)
            points(i, "limit", [{at: row.limit, says: row.limit_name + ": " + row.format(row.limit)}], look.alarm, "rect", [3, 36]);
    });
    var names = [], legend = [];
    series.forEach(function (s) {
        if (names.indexOf(s.name) >= 0)
            return;
        names.push(s.name);
        legend.push({name: s.name, icon: s.type === "line" ? "rect" : s.symbol === "diamond" ? "diamond" : "roundRect"});
    });
    return {
        height: (narrow ? 86 : 52) + 2 * 110,
        option: rb_charts.frame(look, series, {
            grid: grids, xAxis: x, yAxis: y,
            legend: {data: legend, top: 0, left: 0, textStyle: {color: look.ink}, inactiveColor: look.rule}
        })
    };
};
