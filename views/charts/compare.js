// Two runs side by side, from an rb-compare/1: the best result so far against dollars or time. A line is a staircase,
// because a result holds until a better one comes; a diamond is the end of a rung.
"use strict";
(function () {
    var TIME = {
        column: "at_us", rung: "end_us", end: "time_us", scaled: rb_charts.ms, words: rb_charts.duration, when: "after ",
        axis: function (most, look) { return rb_charts.time_axis("since the start of each run", 0, most, look); }
    };
    var DOLLARS = {
        column: "uusd", rung: "spent_uusd", end: "cost_uusd", scaled: rb_charts.dollars, words: rb_charts.money, when: "for ",
        axis: function (most, look) {
            return rb_charts.money_axis("dollars spent", 0, most, look, {scale: false, min: 0});
        }
    };

    function name_of(doc, k) {
        var run = doc.runs[k], same = doc.runs[0].run === doc.runs[1].run;
        return same ? run.run + " (" + (run.from || "this machine") + ")" : run.run;
    }

    function rows_of(doc, k, measure) {
        var curve = doc.curves[k], at = curve.columns.indexOf(measure.column), metric = curve.columns.indexOf("metric");
        return curve.rows.filter(function (row) { return row[at] !== null; }).map(function (row) {
            return {at: row[at], metric: row[metric], trial: row[curve.columns.indexOf("trial")]};
        });
    }

    function words(doc, row, measure) {
        return doc.runs[0].metric_name + " " + rb_charts.run.number(row.metric) + " " + measure.when + measure.words(row.at);
    }

    // Until the end of the run: nothing better came.
    function line(doc, k, rows, measure, colour) {
        var data = rows.map(function (row) {
            return {value: [measure.scaled(row.at), row.metric], name: name_of(doc, k) + ": " + words(doc, row, measure) + " (trial " + row.trial + ")"};
        });
        var end = doc.runs[k][measure.end], last = rows[rows.length - 1];
        if (last && end !== null && end > last.at)
            data.push({value: [measure.scaled(end), last.metric], name: name_of(doc, k) + " ended: " + words(doc, {metric: last.metric, at: end}, measure)});
        return {
            name: name_of(doc, k), type: "line", step: "end", symbol: "circle", symbolSize: 5, showSymbol: rows.length <= 60,
            itemStyle: {color: colour}, lineStyle: {color: colour, width: 2, type: k ? "dashed" : "solid"}, data: data
        };
    }

    function rungs(doc, k, measure, colour, look) {
        return {
            name: name_of(doc, k) + ", ends of rungs", type: "scatter", symbol: "diamond", symbolSize: 13, z: 5,
            itemStyle: {color: colour, borderColor: look.paper, borderWidth: 1.5},
            data: doc.rungs[k].filter(function (r) { return r[measure.rung] !== null && r.best_metric !== null; }).map(function (r) {
                return {value: [measure.scaled(r[measure.rung]), r.best_metric],
                        name: name_of(doc, k) + ", end of rung " + r.stage + " (" + r.trials + " trials, trained to " + r.resource_end +
                              "): " + words(doc, {metric: r.best_metric, at: r[measure.rung]}, measure)};
            })
        };
    }

    function numbers(doc, measure) {
        var rows = [];
        [0, 1].forEach(function (k) {
            rows_of(doc, k, measure).forEach(function (row) {
                rows.push([name_of(doc, k), measure.words(row.at), rb_charts.run.number(row.metric), String(row.trial)]);
            });
        });
        return rb_charts.run.numbers(["run", measure === TIME ? "after" : "for", doc.runs[0].metric_name, "trial"], rows);
    }

    function draw(doc, look, measure) {
        var colours = [look.colours[0], look.colours[1]], most = 0, series = [];
        [0, 1].forEach(function (k) {
            var rows = rows_of(doc, k, measure);
            most = Math.max(most, doc.runs[k][measure.end] || 0, rows.length ? rows[rows.length - 1].at : 0);
            series.push(line(doc, k, rows, measure, colours[k]), rungs(doc, k, measure, colours[k], look));
        });
        var option = rb_charts.frame(look, series, {
            xAxis: measure.axis(most || 1e6, look),
            yAxis: rb_charts.axis(doc.runs[0].metric_name, function (v) { return String(+v.toPrecision(3)); }, look, {nameGap: 46})
        });
        return {height: option.grid.top + 340, option: option, numbers: numbers(doc, measure)};
    }

    rb_charts.all["compare-time"] = function (doc, look) { return draw(doc, look, TIME); };
    rb_charts.all["compare-dollars"] = function (doc, look) { return draw(doc, look, DOLLARS); };
}());
