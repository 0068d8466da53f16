// GPUs that were paid for and those on which trials ran, over time; dollars an hour on the right.
"use strict";
(function () {
    // The last row is valid until now.
    function rows_of(doc) {
        var rows = doc.history.gpus.rows, last = rows[rows.length - 1];
        return last && last[0] < doc.history.now_us ? rows.concat([[doc.history.now_us].concat(last.slice(1))]) : rows;
    }

    function line(doc, name, column, colour, scaled, words, extra) {
        var at = rb_charts.run.column(doc.history.gpus, "at_us"), c = rb_charts.run.column(doc.history.gpus, column);
        return rb_charts.merge({
            name: name, type: "line", step: "end", showSymbol: false, symbol: "circle", symbolSize: 6,
            itemStyle: {color: colour}, lineStyle: {color: colour, width: 1.25},
            data: rows_of(doc).map(function (row) {
                return {value: [rb_charts.ms(row[at]), scaled(row[c])],
                        name: "after " + rb_charts.duration(row[at]) + ": " + words(row[c])};
            })
        }, extra);
    }

    function most_of(doc, column) {
        var c = rb_charts.run.column(doc.history.gpus, column);
        return doc.history.gpus.rows.reduce(function (most, row) { return Math.max(most, row[c]); }, 0);
    }

    function count(unit, what) {
        return function (n) { return n * unit.each + " " + (n * unit.each === 1 ? unit.one : unit.many) + " " + what; };
    }

    function numbers(doc) {
        var unit = rb_charts.unit(doc), columns = ["after", unit.many + " owned", unit.many + " in use", "an hour"];
        return rb_charts.run.numbers(columns, rows_of(doc).map(function (row) {
            return [rb_charts.duration(row[0]), String(row[1] * unit.each), String(row[2] * unit.each), rb_charts.money(row[3])];
        }));
    }

    rb_charts.all["run-usage"] = function (doc, look) {
        var rate = rb_charts.run.column(doc.history.gpus, "uusd_per_hour"), narrow = rb_charts.is_narrow(look);
        var free = !doc.history.gpus.rows.some(function (row) { return row[rate] > 0; });
        var unit = rb_charts.unit(doc), owned = free ? "owned" : "paid for";
        function scaled(n) { return n * unit.each; }
        var series = [
            line(doc, unit.many + " " + owned, "owned", look.colours[3], scaled, count(unit, owned),
                 {areaStyle: {opacity: 0.2, color: look.colours[3]}}),
            line(doc, unit.many + " in use", "used", look.colours[2], scaled, count(unit, "in use"),
                 {areaStyle: {opacity: 0.4, color: look.colours[2]}})
        ];
        if (!free)
            series.push(line(doc, "dollars an hour", "uusd_per_hour", look.colours[1], rb_charts.dollars, function (uusd) {
                return rb_charts.money(uusd) + " an hour";
            }, {yAxisIndex: 1, lineStyle: {type: "dashed", color: look.colours[1], width: 1.5}}));
        var option = rb_charts.frame(look, series, {
            xAxis: rb_charts.run.time_axis(doc, look),
            yAxis: [rb_charts.count_axis(unit.many, scaled(most_of(doc, "owned")), 7, look),
                    rb_charts.money_axis("dollars an hour", 0, most_of(doc, "uusd_per_hour"), look,
                                         {scale: false, min: 0, show: !free, position: "right", nameGap: 44, splitLine: {show: false}})]
        });
        option.grid = rb_charts.merge(rb_charts.merge({}, option.grid), {right: free ? 24 : narrow ? 60 : 70});
        option.tooltip = rb_charts.run.text_at_once(option);
        return {height: option.grid.top + 256, option: option, numbers: numbers(doc)};
    };
}());
