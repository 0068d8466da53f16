// The plan over time: its stages as bars from the median begin to the median end, provisioning paler, with the range in
// which 90 % of the runs end; below, the GPUs that are paid for and those that train. From a page's document {plan,
// timeline}.
"use strict";
(function () {
    var ROW = 38, LOW = 110;

    function stage_name(stage) {
        return "stage " + stage.stage;
    }

    function label(plan_stage, unit, narrow) {
        function count(n, what) {
            return n + (narrow ? "" : " " + what + (n === 1 ? "" : "s"));
        }
        return "{name|" + stage_name(plan_stage) + "}\n{what|" + count(plan_stage.trials, "trial") + " × " +
            count(plan_stage.gpus_per_trial * unit.each, unit.one) + "}";
    }

    function nodes_of(plan_stage) {
        return plan_stage.nodes.map(function (n) {
            return n.count + " × " + n.instance_type + (n.market === "on_demand" ? "" : " (" + n.market + ")");
        }).join(" + ");
    }

    // [from, to, row] as a bar, `thick` of a row's height.
    function bar(thick, style) {
        return function (params, api) {
            var from = api.coord([api.value(0), api.value(2)]), to = api.coord([api.value(1), api.value(2)]);
            var height = thick * api.size([0, 1])[1];
            return {type: "rect", style: rb_charts.merge({fill: api.visual("color")}, style),
                    shape: {x: from[0], y: from[1] - height / 2, width: Math.max(to[0] - from[0], 1), height: height}};
        };
    }

    // [from, to, row] as a line with an upright end on either side.
    function whisker(params, api) {
        var from = api.coord([api.value(0), api.value(2)]), to = api.coord([api.value(1), api.value(2)]);
        var up = 0.16 * api.size([0, 1])[1], style = {stroke: api.visual("color"), lineWidth: 1.5, fill: "none"};
        function stroke(x1, y1, x2, y2) {
            return {type: "line", shape: {x1: x1, y1: y1, x2: x2, y2: y2}, style: style};
        }
        return {type: "group", children: [stroke(from[0], from[1], to[0], to[1]), stroke(from[0], from[1] - up, from[0], from[1] + up),
                                          stroke(to[0], to[1] - up, to[0], to[1] + up)]};
    }

    function bars(name, colour, draw, stages, span) {
        return {
            name: name, type: "custom", renderItem: draw, itemStyle: {color: colour}, clip: true, mark: draw === whisker ? "line" : "bar",
            encode: {x: [0, 1], y: 2},
            data: stages.map(function (s) {
                var made = span(s);
                return {value: [rb_charts.ms(made[0]), rb_charts.ms(made[1]), s.stage], name: stage_name(s) + ": " + made[2]};
            })
        };
    }

    function over_time(name, key, each, colour, instants, opacity) {
        return {
            name: name, type: "line", xAxisIndex: 1, yAxisIndex: 1, showSymbol: false, symbol: "circle", symbolSize: 6,
            itemStyle: {color: colour}, lineStyle: {color: colour, width: 1.25}, areaStyle: {color: colour, opacity: opacity},
            data: instants.map(function (i) {
                return {value: [rb_charts.ms(i.at_us), i[key] * each],
                        name: "after " + rb_charts.duration(i.at_us) + ": " + (i[key] * each).toFixed(1) + " " + name + " on average"};
            })
        };
    }

    function stage_series(doc, look) {
        var d = rb_charts.duration;
        var stages = doc.timeline.stages.filter(function (s) { return s.runs > 0; });
        return [
            bars("provisioning", look.colours[1], bar(0.42, {opacity: 0.75}), stages, function (s) {
                return [s.begin_us.p50, s.provisioned_us.p50,
                        "its nodes are there " + d(s.provisioned_us.p50 - s.begin_us.p50) + " after it begins"];
            }),
            bars("training", look.colours[0], bar(0.42, {}), stages, function (s) {
                return [s.provisioned_us.p50, s.end_us.p50,
                        "from " + d(s.begin_us.p50) + " to " + d(s.end_us.p50) + " in half of the runs, on " +
                            nodes_of(doc.plan.stages[s.stage])];
            }),
            bars("ends, 90 % of runs", look.ink, whisker, stages, function (s) {
                return [s.end_us.p5, s.end_us.p95, "ends between " + d(s.end_us.p5) + " and " + d(s.end_us.p95) + " in 90 % of runs"];
            })
        ];
    }

    function most_gpus(instants) {
        return instants.reduce(function (most, i) { return Math.max(most, i.gpus); }, 0);
    }

    // In both grids.
    function deadline(doc, until_us, look) {
        var words = "deadline " + rb_charts.duration(doc.plan.deadline_us), at = rb_charts.ms(doc.plan.deadline_us);
        return [words, ""].map(function (said, grid) {
            var line = rb_charts.limit("deadline", said, at, 0, rb_charts.ms(until_us), look, {xAxisIndex: grid, yAxisIndex: grid});
            line.markLine.label.position = "start"; // rows are counted downwards
            return line;
        });
    }

    function numbers(doc) {
        var d = rb_charts.duration;
        return {
            columns: ["stage", "begins p5", "p50", "p95", "nodes there p50", "ends p5", "p50", "p95"],
            rows: doc.timeline.stages.filter(function (s) { return s.runs > 0; }).map(function (s) {
                return [String(s.stage), d(s.begin_us.p5), d(s.begin_us.p50), d(s.begin_us.p95), d(s.provisioned_us.p50),
                        d(s.end_us.p5), d(s.end_us.p50), d(s.end_us.p95)];
            })
        };
    }

    rb_charts.all.gantt = function (doc, look) {
        var narrow = rb_charts.is_narrow(look), t = doc.timeline, rows = t.stages.length * (t.stages.length > 16 ? 24 : ROW);
        var unit = rb_charts.unit(doc), series = stage_series(doc, look).concat([
            over_time(unit.many + " paid for", "gpus", unit.each, look.colours[3], t.instants, 0.22),
            over_time(unit.many + " training", "training_gpus", unit.each, look.colours[2], t.instants, 0.35)
        ]);
        var until = t.stages.reduce(function (most, s) { return s.runs ? Math.max(most, s.end_us.p99) : most; },
                                    doc.plan.deadline_us || 0) * 1.03;
        if (doc.plan.deadline_us !== null)
            series = series.concat(deadline(doc, until, look));
        var top = rb_charts.top(look, rb_charts.names(series)), left = narrow ? 62 : 124;
        return {
            height: top + rows + 24 + LOW + 52,
            numbers: numbers(doc),
            option: rb_charts.frame(look, series, {
                grid: [{left: left, right: 24, top: top, height: rows}, {left: left, right: 24, top: top + rows + 24, height: LOW}],
                xAxis: [rb_charts.time_axis("", 0, until, look, {gridIndex: 0, axisLabel: {show: false}}),
                        rb_charts.time_axis("since the start", 0, until, look, {gridIndex: 1})],
                yAxis: [rb_charts.axis("", null, look, {
                            type: "category", inverse: true, data: doc.plan.stages.map(function (s) { return label(s, unit, narrow); }),
                            axisTick: {show: false}, splitLine: {show: false},
                            axisLabel: {interval: 0, rich: {name: {color: look.ink, align: "right", lineHeight: 15},
                                                            what: {color: look.faint, fontSize: 11, align: "right", lineHeight: 15}}}}),
                        rb_charts.count_axis(unit.many, most_gpus(t.instants) * unit.each, 4, look, {gridIndex: 1})]
            })
        };
    };
}());
