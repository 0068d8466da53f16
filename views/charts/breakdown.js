// Expected money, stage by stage: training and everything else that is paid for. From a page's document {timeline}.
"use strict";
(function () {
    var PARTS = [["train", "training", 0], ["boot", "booting", 1], ["idle_barrier", "idle at barriers", 3],
                 ["checkpoint", "saving checkpoints", 2], ["lost", "lost with nodes", 5], ["minimum", "60 s minimum", 7]];

    function used(stages) {
        return PARTS.filter(function (part) {
            return stages.some(function (s) { return s.cost_uusd[part[0]] > 0; });
        });
    }

    rb_charts.all.breakdown = function (doc, look) {
        var stages = doc.timeline.stages, parts = used(stages);
        var series = parts.map(function (part) {
            return {
                name: part[1], type: "bar", stack: "cost", barMaxWidth: 22,
                itemStyle: {color: look.colours[part[2]], borderColor: look.paper, borderWidth: 0.5},
                data: stages.map(function (s) {
                    return {value: rb_charts.dollars(s.cost_uusd[part[0]]),
                            name: "stage " + s.stage + ", " + part[1] + ": " + rb_charts.money(s.cost_uusd[part[0]])};
                })
            };
        });
        var most = stages.reduce(function (most, s) {
            return Math.max(most, parts.reduce(function (sum, part) { return sum + s.cost_uusd[part[0]]; }, 0));
        }, 0);
        var option = rb_charts.frame(look, series, {
            xAxis: rb_charts.money_axis("expected cost", 0, most, look, {scale: false}),
            yAxis: rb_charts.axis("", null, look, {type: "category", inverse: true, axisTick: {show: false}, splitLine: {show: false},
                data: stages.map(function (s) { return "stage " + s.stage; })})
        });
        return {
            height: option.grid.top + 30 * stages.length + 52,
            option: option,
            numbers: {
                columns: ["stage"].concat(parts.map(function (part) { return part[1]; })),
                rows: stages.map(function (s) {
                    return [String(s.stage)].concat(parts.map(function (part) { return rb_charts.money(s.cost_uusd[part[0]]); }));
                })
            }
        };
    };
}());
