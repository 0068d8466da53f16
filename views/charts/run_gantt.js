// Who ran where and when: a lane for every node with its phases, trials on its GPUs, and under each lane what was planned.
"use strict";
(function () {
    var LANE_LEAST = 26, GPU_HEIGHT = 9, LANE_MOST = 84, GHOST = 5; // pixels

    function lanes_of(doc, planned) {
        var lanes = [], by_node = {};
        doc.history.nodes.forEach(function (n, i) {
            if (by_node[n.node] === undefined) {
                by_node[n.node] = lanes.length;
                lanes.push({node: n.node, gpus: n.gpus, type: doc.report.nodes[i].instance_type, lost: false});
            }
            var lane = lanes[by_node[n.node]];
            lane.lost = lane.lost || n.lost;
            lane.gpus = Math.max(lane.gpus, n.gpus);
        });
        var most = planned.reduce(function (m, s) { return Math.max(m, s.nodes); }, 0);
        for (var k = lanes.length; k < most && lanes.length < 64; k++)
            lanes.push({node: null, gpus: 1, type: "planned, never asked for"});
        lanes.by_node = by_node;
        return lanes;
    }

    // Trials that share a GPU lie beside each other on its part of the lane.
    function spread(bars) {
        var by_gpu = {};
        bars.forEach(function (bar) {
            var key = bar.lane + ":" + bar.first;
            (by_gpu[key] = by_gpu[key] || []).push(bar);
        });
        Object.keys(by_gpu).forEach(function (key) {
            var free_at = [];
            by_gpu[key].sort(function (a, b) { return a.start_us - b.start_us; }).forEach(function (bar) {
                var row = 0;
                while (row < free_at.length && free_at[row] > bar.start_us)
                    row++;
                free_at[row] = bar.end_us;
                bar.row = row;
            });
            by_gpu[key].forEach(function (bar) { bar.rows = free_at.length; });
        });
    }

    // One bar for each run of neighbouring GPUs of a start.
    function bars_of(doc, lanes, now_us) {
        var bars = [];
        doc.history.starts.forEach(function (s) {
            s.slots.forEach(function (slot) {
                var lane = lanes.by_node[slot.node];
                for (var i = 0, from = 0; lane !== undefined && i < slot.gpus.length; i++) {
                    if (i + 1 < slot.gpus.length && slot.gpus[i + 1] === slot.gpus[i] + 1)
                        continue;
                    bars.push({start: s, lane: lane, first: slot.gpus[from], last: slot.gpus[i], start_us: s.start_us,
                               end_us: s.end_us === null ? Math.max(now_us, s.start_us) : s.end_us, row: 0, rows: 1});
                    from = i + 1;
                }
            });
        });
        spread(bars);
        return bars;
    }

    function said(parts) {
        return parts.filter(function (p) { return p; }).map(rb_charts.run.text).join("<br>");
    }

    function span(from, to) {
        return rb_charts.duration(from) + " to " + rb_charts.duration(to) + " (" + rb_charts.duration(to - from) + ")";
    }

    function told(doc, bar) {
        var s = bar.start, unit = doc.plan.job.config.scheduler.unit;
        return said(["trial " + s.trial + ", stage " + s.stage,
                     unit + " " + s.resource_start + " to " + s.resource_end,
                     "GPU" + (bar.first < bar.last ? "s " + bar.first + " to " + bar.last : " " + bar.first),
                     span(bar.start_us, bar.end_us),
                     s.end ? s.end : s.end_us === null ? "running" : ""]);
    }

    // A series of rectangles. data: {lane, top, bottom (shares of the lane), start_us, end_us, tip}.
    function rectangles(name, colour, data, lanes, extra) {
        var series = {
            name: name, type: "custom", itemStyle: {color: colour}, color: colour, clip: true, silent: false,
            encode: {x: [0, 1], y: 2}, progressive: 0, z: 2,
            data: data.map(function (d) {
                return {value: [d.start_us, d.end_us, d.lane, d.top, d.bottom], tip: d.tip, label_text: d.text || ""};
            }),
            tooltip: {formatter: function (p) { return p.data.tip; }},
            renderItem: function (params, api) {
                var d = data[params.dataIndex], middle = api.coord([d.start_us, d.lane]);
                var right = api.coord([d.end_us, d.lane])[0], height = api.size([0, 1])[1] - 8 - GHOST;
                var y = middle[1] - (height + GHOST) / 2, box = params.coordSys;
                var x0 = Math.max(middle[0], box.x), x1 = Math.min(right, box.x + box.width);
                var shape = {x: x0, y: y + d.top * height, width: Math.max(x1 - x0, 0.5),
                             height: (d.bottom - d.top) * height};
                if (d.edge)
                    shape.width = 4;
                if (d.ghost) {
                    shape.y = y + height + 1.5;
                    shape.height = GHOST;
                }
                if (x1 < box.x || x0 > box.x + box.width)
                    return;
                var style = {fill: extra.fill === undefined ? colour : extra.fill, stroke: extra.stroke,
                             lineWidth: extra.stroke ? 1 : 0, lineDash: extra.dash, opacity: extra.opacity};
                var children = [{type: "rect", shape: shape, style: style}];
                if (d.text && shape.width > 6 + 7 * d.text.length && shape.height >= 9)
                    children.push({type: "text", silent: true, style: {
                        text: d.text, x: shape.x + shape.width / 2, y: shape.y + shape.height / 2, align: "center",
                        verticalAlign: "middle", fill: extra.ink, font: Math.min(11, shape.height) + "px sans-serif"}});
                return {type: "group", children: children};
            }
        };
        for (var key in extra.series)
            series[key] = extra.series[key];
        return series;
    }

    function phases(doc, look, lanes, now_us) {
        var kinds = {provisioning: [], "set-up": [], "waiting at the barrier": [], releasing: []}, lost = [];
        doc.history.nodes.forEach(function (n) {
            function phase(kind, from, to) {
                if (from === null || (to !== null && to <= from))
                    return;
                var until = to === null ? now_us : to;
                kinds[kind].push({lane: lanes.by_node[n.node], top: 0, bottom: 1, start_us: from, end_us: until,
                                  tip: said(["node " + n.node + ": " + kind, span(from, until)])});
            }
            var end = n.ended_us, leaves = n.release_us === null || (end !== null && n.release_us > end) ? end : n.release_us;
            phase("provisioning", n.requested_us, n.running_us === null ? end : n.running_us);
            phase("set-up", n.running_us, n.ready_us === null ? leaves : n.ready_us);
            phase("waiting at the barrier", n.ready_us, leaves);
            if (n.release_us !== null && leaves !== end)
                phase("releasing", leaves, end);
            if (n.lost && end !== null)
                lost.push({lane: lanes.by_node[n.node], top: 0, bottom: 1, start_us: end, end_us: end, edge: true,
                           tip: said(["node " + n.node + " was lost at " + rb_charts.duration(end)])});
        });
        return [
            rectangles("provisioning", look.faint, kinds.provisioning, lanes, {fill: "none", stroke: look.faint, dash: [3, 3]}),
            rectangles("set-up", look.colours[1], kinds["set-up"], lanes, {opacity: 0.75}),
            rectangles("waiting at the barrier", look.rule, kinds["waiting at the barrier"], lanes, {}),
            rectangles("releasing", look.faint, kinds.releasing, lanes, {opacity: 0.5}),
            rectangles("node lost", look.alarm, lost, lanes, {series: {z: 4}})
        ];
    }

    function training(doc, look, lanes, now_us) {
        var of = doc.plan.stages.length, by_stage = {}, lost = [];
        bars_of(doc, lanes, now_us).forEach(function (bar) {
            var gpus = lanes[bar.lane].gpus, part = 1 / gpus / bar.rows;
            var top = bar.first / gpus + bar.row * part;
            var d = {lane: bar.lane, start_us: bar.start_us, end_us: bar.end_us, tip: told(doc, bar), top: top,
                     bottom: bar.rows > 1 ? top + part : (bar.last + 1) / gpus, text: String(bar.start.trial)};
            var end = bar.start.end;
            if (end && end !== "reached" && end !== "yielded" && end !== "stopped")
                lost.push(d);
            else
                (by_stage[bar.start.stage] = by_stage[bar.start.stage] || []).push(d);
        });
        var series = Object.keys(by_stage).map(function (stage) {
            var colour = rb_charts.run.stage_colour(look, +stage, of), deep = of < 2 || +stage >= of / 2;
            return rectangles(rb_charts.run.stage_name(doc, +stage), colour, by_stage[stage], lanes,
                              {stroke: look.paper, ink: deep ? look.paper : look.ink, series: {z: 3}});
        });
        if (lost.length)
            series.push(rectangles("work that was lost", look.alarm, lost, lanes, {stroke: look.paper, ink: look.paper, series: {z: 3}}));
        return series;
    }

    // Node k of the plan is there from the first to the last stage in a row that lists more than k.
    function ghost(planned, look, lanes) {
        var data = [];
        lanes.forEach(function (lane, k) {
            for (var s = 0; s < planned.length; s++) {
                var from = s;
                while (s < planned.length && planned[s].nodes > k)
                    s++;
                if (s > from)
                    data.push({lane: k, top: 0, bottom: 1, ghost: true, start_us: planned[from].start_us,
                               end_us: planned[s - 1].end_us, tip: said(["planned", span(planned[from].start_us,
                                                                                         planned[s - 1].end_us)])});
            }
        });
        return rectangles("planned", look.colours[3], data, lanes, {opacity: 0.8});
    }

    // Dashed: where a stage was expected to end; whole: where one did; the deadline.
    function barriers(doc, planned, look, end_us) {
        var lines = [];
        function line(at, type, colour, text) {
            if (at !== null && at <= end_us)
                lines.push({xAxis: at, lineStyle: {type: type, color: colour, width: 1}, name: text, label: {show: false}});
        }
        if (!rb_charts.run.overlaps(doc)) {
            planned.forEach(function (s) { line(s.end_us, "dashed", look.colours[3], "planned end of stage " + s.stage); });
            doc.report.stages.forEach(function (s) { line(s.end_us, "solid", look.faint, "end of stage " + s.stage); });
        }
        line(doc.history.limits.deadline_us, "solid", look.alarm, "deadline");
        return {type: "custom", name: "barriers", renderItem: function () {}, data: [], encode: {x: 0, y: 1}, silent: true,
                markLine: {symbol: "none", silent: true, animation: false, data: lines}};
    }

    rb_charts.all["run-gantt"] = function (doc, look, width) {
        var planned = rb_charts.run.planned(doc), lanes = lanes_of(doc, planned);
        var end_us = rb_charts.run.end_us(doc), narrow = width < 560;
        var names = lanes.map(function (lane) {
            return lane.node === null ? "planned" : "node " + lane.node + (narrow ? "" : " " + lane.type) +
                   (lane.lost ? narrow ? " \u2020" : " (lost)" : "");
        });
        var most_gpus = lanes.reduce(function (m, lane) { return Math.max(m, lane.gpus); }, 1);
        var lane_px = Math.min(Math.max(LANE_LEAST, most_gpus * GPU_HEIGHT + 8 + GHOST), LANE_MOST);
        if (lanes.length > 12)
            lane_px = Math.max(18, Math.round(lane_px * 12 / lanes.length));
        var series = phases(doc, look, lanes, doc.history.now_us)
            .concat(training(doc, look, lanes, doc.history.now_us));
        if (planned.length)
            series.push(ghost(planned, look, lanes));
        series = series.filter(function (s) { return s.data.length; });
        var legend = series.map(function (s) { return s.name; }), top = narrow ? 100 : 66;
        series.push(barriers(doc, planned, look, end_us));
        var longest = names.reduce(function (m, n) { return Math.max(m, n.length); }, 0);
        return {
            height: top + 60 + Math.max(lanes.length, 1) * lane_px,
            option: rb_charts.frame(look, series, {
                grid: {left: rb_charts.run.margin(width, longest), right: 24, top: top, bottom: 56},
                legend: {data: legend, top: 0, left: 0, textStyle: {color: look.ink}, inactiveColor: look.rule},
                xAxis: rb_charts.axis("since the start of the run", rb_charts.duration, look,
                                      {min: 0, max: end_us, scale: false}),
                yAxis: {type: "category", data: names, inverse: true, axisTick: {show: false},
                        axisLine: {lineStyle: {color: look.rule}}, axisLabel: {color: look.ink, width: Math.round(width * 0.27),
                        overflow: "truncate", interval: lane_px < 14 ? "auto" : 0}}
            })
        };
    };
}());
