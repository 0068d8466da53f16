// How much of the variance each parameter explains by itself: a bar, and a line of one standard deviation over the
// trees to either side.
"use strict";
(function () {
    var ROW = 30, TOGETHER = "several together";

    function rows_of(doc) {
        var im = doc.importance;
        if (!im || im.state !== "known")
            return [];
        var rows = im.parameters.slice().sort(function (a, b) { return b.share - a.share; });
        return rows.concat([{name: TOGETHER, share: im.together, sd: im.together_sd}]);
    }

    function said(row) {
        return row.name + ": " + rb_charts.percent(row.share) + ", standard deviation " + rb_charts.percent(row.sd);
    }

    rb_charts.all["run-importance"] = function (doc, look) {
        var rows = rows_of(doc), names = rows.map(function (r) { return r.name; }), spread = [];
        rows.forEach(function (r, i) {
            [Math.max(0, r.share - r.sd), Math.min(1, r.share + r.sd)].forEach(function (at) { spread.push({value: [at, i], name: said(r)}); });
            spread.push({value: [null, null], name: "the next"});
        });
        var series = [
            {name: "share of the variance", type: "bar", barMaxWidth: 16, itemStyle: {color: look.colours[0]},
             data: rows.map(function (r) {
                 return {value: r.share, name: said(r), itemStyle: {color: r.name === TOGETHER ? look.colours[7] : look.colours[0]}};
             })},
            {name: "one standard deviation over the trees", type: "line", data: spread, connectNulls: false, showSymbol: true, symbol: "rect",
             symbolSize: [2, 9], itemStyle: {color: look.colours[1]}, lineStyle: {color: look.colours[1], width: 2}, z: 5}
        ];
        var option = rb_charts.frame(look, series, {
            xAxis: rb_charts.axis("share of the variance over the search space", rb_charts.percent, look, {min: 0, max: 1, scale: false}),
            yAxis: rb_charts.run.name_axis(names, look)
        });
        option.grid.left = rb_charts.run.margin(names, look);
        return {height: option.grid.top + ROW * rows.length + 52, option: option, is_fixed: true}; // the page has its numbers as a table
    };
}());
