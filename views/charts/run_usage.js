// GPUs that were paid for and those that trials were on, over time; dollars an hour on the right.
"use strict";
rb_charts.all["run-usage"] = function (doc, look, width) {
    var table = doc.history.gpus, end_us = rb_charts.run.end_us(doc), last = table.rows[table.rows.length - 1];
    // The last row holds until now.
    var rows = last && last[0] < doc.history.now_us ? table.rows.concat([[doc.history.now_us].concat(last.slice(1))])
                                                    : table.rows;
    var at = rb_charts.run.column(table, "at_us"), narrow = width < 560;

    function line(name, column, colour, extra) {
        var c = rb_charts.run.column(table, column);
        var series = {
            name: name, type: "line", step: "end", symbol: "none", color: colour, lineStyle: {color: colour, width: 1.5},
            itemStyle: {color: colour}, data: rows.map(function (row) { return [row[at], row[c]]; })
        };
        for (var key in extra)
            series[key] = extra[key];
        return series;
    }

    var rate = rb_charts.run.column(table, "uusd_per_hour"), free = !rows.some(function (row) { return row[rate] > 0; });
    var series = [
        line(free ? "GPUs owned" : "GPUs paid for", "owned", look.colours[7], {areaStyle: {opacity: 0.18, color: look.colours[7]}}),
        line("GPUs in use", "used", look.colours[0], {areaStyle: {opacity: 0.35, color: look.colours[0]}})
    ];
    if (!free)
        series.push(line("dollars an hour", "uusd_per_hour", look.colours[1],
                         {yAxisIndex: 1, lineStyle: {type: "dashed", color: look.colours[1], width: 1.5}}));
    return {
        height: 300,
        option: rb_charts.frame(look, series, {
            grid: {left: 56, right: free ? 24 : narrow ? 62 : 76, top: narrow ? 66 : 44, bottom: 56},
            tooltip: {trigger: "axis", confine: true, backgroundColor: look.paper, borderColor: look.rule,
                      textStyle: {color: look.ink}, formatter: function (points) {
                          return "at " + rb_charts.duration(points[0].value[0]) + points.map(function (p) {
                              var value = p.seriesIndex === 2 ? rb_charts.money(p.value[1]) : p.value[1];
                              return "<br>" + p.seriesName + ": " + value;
                          }).join("");
                      }},
            xAxis: rb_charts.axis("since the start of the run", rb_charts.duration, look, {min: 0, max: end_us, scale: false}),
            yAxis: [rb_charts.axis("GPUs", String, look, {scale: false, minInterval: 1}),
                    rb_charts.axis("an hour", rb_charts.money, look,
                                   {scale: false, show: !free, position: "right", nameGap: narrow ? 46 : 56, splitLine: {show: false}})]
        })
    };
};
