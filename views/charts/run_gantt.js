// What ran where and when: a lane for every node with its phases, trials on its GPUs, and under each lane the plan.
"use strict";
(function () {
    var LANE_LEAST = 26, GPU_HEIGHT = 9, LANE_MOST = 84, GHOST = 5; // pixels

    // ---- lanes

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
            lanes.push({node: null, gpus: 1, type: ""});
        lanes.by_node = by_node;
        return lanes;
    }

    function lane_name(lane, narrow) {
        if (lane.node === null)
            return "planned";
        return "node " + lane.node + (narrow ? "" : " " + lane.type) + (lane.lost ? narrow ? " \u2020" : " (lost)" : "");
    }

    function lane_height(lanes) {
        var most_gpus = lanes.reduce(function (m, lane) { return Math.max(m, lane.gpus); }, 1);
        var height = Math.min(Math.max(LANE_LEAST, most_gpus * GPU_HEIGHT + 8 + GHOST), LANE_MOST);
        return lanes.length > 12 ? Math.max(18, Math.round(height * 12 / lanes.length)) : height;
    }

    // ---- trials on their GPUs

    // The bars of one GPU, by start: those that overlap share its part of the lane.
    function spread_gpu(bars) {
        var free_at = [], together = [], until = -1;
        bars.concat([{start_us: Infinity}]).forEach(function (bar) {
            if (bar.start_us >= until) {
                together.forEach(function (b) { b.rows = free_at.length; });
                free_at = [];
                together = [];
            }
            var row = 0;
            while (row < free_at.length && free_at[row] > bar.start_us)
                row++;
            free_at[row] = bar.end_us;
            until = Math.max(until, bar.end_us);
            bar.row = row;
            together.push(bar);
        });
    }

    function spread(bars) {
        var by_gpu = {};
        bars.forEach(function (bar) {
            var key = bar.lane + ":" + bar.first;
            if (bar.first === bar.last)
                (by_gpu[key] = by_gpu[key] || []).push(bar);
        });
        Object.keys(by_gpu).forEach(function (key) {
            spread_gpu(by_gpu[key].sort(function (a, b) { return a.start_us - b.start_us; }));
        });
    }

    // One bar for each group of neighbouring GPUs of a start.
    function bars_of(doc, lanes) {
        var bars = [], now_us = doc.history.now_us;
        doc.history.starts.forEach(function (s, index) {
            s.slots.forEach(function (slot) {
                var lane = lanes.by_node[slot.node];
                for (var i = 0, from = 0; lane !== undefined && i < slot.gpus.length; i++) {
                    if (i + 1 < slot.gpus.length && slot.gpus[i + 1] === slot.gpus[i] + 1)
                        continue;
                    bars.push({start: s, index: index, lane: lane, first: slot.gpus[from], last: slot.gpus[i], start_us: s.start_us,
                               end_us: s.end_us === null ? Math.max(now_us, s.start_us) : s.end_us, row: 0, rows: 1});
                    from = i + 1;
                }
            });
        });
        spread(bars);
        return bars;
    }

    // The same as in views/live/progress.c.
    var ENDS = {
        reached: "trained as far as this stage goes", yielded: "gave way, resumes later", failed: "failed",
        hung: "killed, it did not report or end in time", evicted: "killed, it was asked to give way and did not in time",
        lost: "lost with its node", stopped: "ended by order"
    };

    function end_of(start) {
        return start.end ? ENDS[start.end] || start.end : start.end_us === null ? "running" : "ended";
    }

    function description(doc, lanes, bar) {
        var s = bar.start, unit = doc.plan.job.config.scheduler.unit;
        return "trial " + s.trial + ", stage " + s.stage + ", " + unit + " " + s.resource_start + " to " + s.resource_end +
               ", on node " + lanes[bar.lane].node + ", " + (rb_charts.unit(doc).one === "CPU" ? "slot" : "GPU") + (bar.first < bar.last ? "s " + bar.first + " to " + bar.last : " " + bar.first) +
               ", " + rb_charts.run.span(bar.start_us, bar.end_us) + (s.saved_resource ? ", saved at " + unit + " " + s.saved_resource : "") + ": " + end_of(s);
    }

    // ---- rectangles

    // One datum of a series: its place and its style. lane, top, bottom: in shares of the lane's height.
    function draw_one(d, extra, params, api) {
        var from = api.coord([rb_charts.ms(d.start_us), d.lane]), to = api.coord([rb_charts.ms(d.end_us), d.lane]);
        var height = api.size([0, 1])[1] - 8 - GHOST, y = from[1] - (height + GHOST) / 2, box = params.coordSys;
        var x0 = Math.max(from[0], box.x), x1 = Math.min(to[0], box.x + box.width), colour = api.visual("color");
        if (to[0] < box.x || from[0] > box.x + box.width)
            return null;
        var shape = {x: x0, y: y + d.top * height, width: d.edge || Math.max(x1 - x0, 0.5), height: (d.bottom - d.top) * height};
        if (extra.ghost)
            shape = {x: x0, y: y + height + 1.5, width: shape.width, height: GHOST};
        var children = [{type: "rect", shape: shape, style: {
            fill: extra.fill || colour, stroke: extra.stroke, lineWidth: extra.stroke ? 1 : 0, lineDash: extra.dash,
            opacity: extra.opacity}}];
        if (d.text && shape.width > 6 + 7 * d.text.length && shape.height >= 9)
            children.push({type: "text", silent: true, style: {
                text: d.text, x: shape.x + shape.width / 2, y: shape.y + shape.height / 2, align: "center",
                verticalAlign: "middle", fill: extra.ink, font: Math.min(11, shape.height) + "px sans-serif"}});
        return {type: "group", children: children};
    }

    function rectangles(name, colour, data, extra) {
        return {
            name: name, type: "custom", itemStyle: {color: colour, opacity: extra.opacity}, clip: true, z: extra.z || 2, progressive: 0,
            mark: extra.dash ? "outline" : "bar",
            encode: {x: [0, 1], y: 2},
            data: data.map(function (d) { return {value: [rb_charts.ms(d.start_us), rb_charts.ms(d.end_us), d.lane], name: d.name}; }),
            renderItem: function (params, api) { return draw_one(data[params.dataIndex], extra, params, api); }
        };
    }

    // ---- series

    // An instant on one lane, as an upright line of that width.
    function edge(lane, at_us, name, width, top, bottom) {
        return {lane: lane, top: top, bottom: bottom, start_us: at_us, end_us: at_us, edge: width, name: name};
    }

    // What spot machines do to a run: which nodes were on spot, which requests were refused, what trials saved, and where the run
    // changed its plan.
    function spot(doc, look, lanes, bars) {
        var on_spot = [], refused = [], saved = [], by_start = {};
        doc.history.nodes.forEach(function (n, i) {
            if (doc.report.nodes[i].market === "spot" && n.running_us !== null)
                on_spot.push({lane: lanes.by_node[n.node], top: 0, bottom: 0.12, start_us: n.running_us,
                              end_us: n.ended_us === null ? doc.history.now_us : n.ended_us, name: "node " + n.node + " was on spot"});
        });
        doc.history.refusals.forEach(function (r) {
            if (lanes.by_node[r.node] !== undefined)
                refused.push(edge(lanes.by_node[r.node], r.at_us, "a request for node " + r.node + " was refused at " +
                                  rb_charts.duration(r.at_us), 4, 0.25, 0.75));
        });
        bars.forEach(function (bar) { by_start[bar.index] = by_start[bar.index] || bar; });
        doc.history.saves.forEach(function (s) {
            var bar = by_start[s.start], place = bar && place_of(lanes, bar);
            if (bar)
                saved.push(edge(bar.lane, s.at_us, "trial " + bar.start.trial + " saved at " + doc.plan.job.config.scheduler.unit + " " +
                                s.resource + ", at " + rb_charts.duration(s.at_us), 2, place.top, place.bottom));
        });
        return [
            rectangles("on spot", look.colours[4], on_spot, {z: 4}),
            rectangles("request refused", look.colours[5], refused, {z: 4}),
            rectangles("saved", look.ink, saved, {z: 5})
        ];
    }

    function phases(doc, look, lanes) {
        var kinds = {provisioning: [], "set-up": [], "waiting at the barrier": [], releasing: []}, lost = [];
        doc.history.nodes.forEach(function (n) {
            var end = n.ended_us, leaves = n.release_us === null || (end !== null && n.release_us > end) ? end : n.release_us;
            function phase(kind, from, to, more) {
                var until = to === null ? doc.history.now_us : to;
                if (from !== null && until > from)
                    kinds[kind].push({lane: lanes.by_node[n.node], top: 0, bottom: 1, start_us: from, end_us: until,
                                      name: "node " + n.node + ", " + kind + " " + rb_charts.run.span(from, until) + (more || "")});
            }
            phase("provisioning", n.requested_us, n.running_us === null ? end : n.running_us);
            phase("set-up", n.running_us, n.ready_us === null ? leaves : n.ready_us,
                  n.pull_us ? ", its image pulled for " + rb_charts.duration(n.pull_us) : "");
            phase("waiting at the barrier", n.ready_us, leaves);
            if (leaves !== end)
                phase("releasing", leaves, end);
            if (n.lost && end !== null)
                lost.push({lane: lanes.by_node[n.node], top: 0, bottom: 1, start_us: end, end_us: end, edge: 4,
                           name: "node " + n.node + " was lost at " + rb_charts.duration(end)});
        });
        return [
            rectangles("provisioning", look.faint, kinds.provisioning, {fill: "rgba(128,128,128,0.08)", stroke: look.faint, dash: [3, 3]}),
            rectangles("set-up", look.colours[1], kinds["set-up"], {opacity: 0.75}),
            rectangles("waiting at the barrier", look.colours[7], kinds["waiting at the barrier"], {opacity: 0.28}),
            rectangles("releasing", look.faint, kinds.releasing, {opacity: 0.5}),
            rectangles("node lost", look.alarm, lost, {z: 4})
        ];
    }

    // A bar's part of the height of its lane.
    function place_of(lanes, bar) {
        var gpus = lanes[bar.lane].gpus, part = 1 / gpus / bar.rows, top = bar.first / gpus + bar.row * part;
        return {top: top, bottom: bar.rows > 1 ? top + part : (bar.last + 1) / gpus};
    }

    function training(doc, look, lanes, bars) {
        var of = doc.plan.stages.length, by_stage = {}, lost = [];
        bars.forEach(function (bar) {
            var place = place_of(lanes, bar);
            var d = {lane: bar.lane, start_us: bar.start_us, end_us: bar.end_us, name: description(doc, lanes, bar), top: place.top,
                     bottom: place.bottom, text: String(bar.start.trial)};
            if (["failed", "hung", "evicted", "lost"].indexOf(bar.start.end) >= 0)
                lost.push(d);
            else
                (by_stage[bar.start.stage] = by_stage[bar.start.stage] || []).push(d);
        });
        var series = Object.keys(by_stage).map(function (stage) {
            var deep = of < 2 || +stage >= of / 2;
            return rectangles(rb_charts.run.stage_name(doc, +stage), rb_charts.run.stage_colour(look, +stage, of), by_stage[stage],
                              {stroke: look.paper, ink: deep === look.dark ? "#1b1f24" : deep ? look.paper : look.ink, z: 3});
        });
        series.push(rectangles("work that was lost", look.alarm, lost, {stroke: look.paper, ink: look.paper, z: 3}));
        return series;
    }

    // Node k of the plan exists from the first to the last stage in a row that lists more than k nodes.
    function ghost(planned, look, lanes) {
        var data = [];
        lanes.forEach(function (lane, k) {
            for (var s = 0; s < planned.length; s++) {
                var from = s;
                while (s < planned.length && planned[s].nodes > k)
                    s++;
                if (s > from)
                    data.push({lane: k, top: 0, bottom: 1, start_us: planned[from].start_us, end_us: planned[s - 1].end_us,
                               name: "planned " + rb_charts.run.span(planned[from].start_us, planned[s - 1].end_us)});
            }
        });
        return rectangles("planned", look.colours[3], data, {opacity: 0.8, ghost: true});
    }

    // Upright lines as a separate series, so that they can be switched off.
    function lines(name, colour, type, instants) {
        return {name: name, type: "line", data: [], itemStyle: {color: colour}, lineStyle: {color: colour, type: type},
                markLine: {symbol: "none", silent: true, precision: rb_charts.EXACT, label: {show: false}, lineStyle: {color: colour, type: type, width: 1},
                           data: instants.map(function (at_us) { return {xAxis: rb_charts.ms(at_us)}; })}};
    }

    function barriers(doc, planned, look) {
        var series = [], limit_us = doc.history.limits.deadline_us, ends = doc.report.stages.map(function (s) { return s.end_us; });
        var changed = doc.history.marks.filter(function (mark) { return mark.kind === "replan"; });
        ends = ends.filter(function (at_us) { return at_us !== null; });
        if (!rb_charts.run.overlaps(doc)) {
            if (planned.length)
                series.push(lines("planned", look.colours[3], "dashed", planned.map(function (s) { return s.end_us; })));
            if (ends.length)
                series.push(lines("ends of stages", look.faint, "solid", ends));
        }
        if (changed.length)
            series.push(lines("new plan", look.alarm, "dotted", changed.map(function (mark) { return mark.at_us; })));
        if (limit_us !== null && limit_us <= rb_charts.run.end_us(doc))
            series.push(rb_charts.limit("deadline", "deadline", rb_charts.ms(limit_us), 0, rb_charts.ms(rb_charts.run.end_us(doc)), look));
        return series;
    }

    function numbers(doc) {
        var unit = rb_charts.unit(doc);
        return rb_charts.run.numbers(["trial", "stage", "nodes", unit.many, "from", "to", "end"], doc.history.starts.map(function (s) {
            var gpus = s.slots.reduce(function (sum, slot) { return sum + slot.gpus.length; }, 0);
            return [String(s.trial), String(s.stage), s.slots.map(function (slot) { return slot.node; }).join(", "), String(gpus * unit.each),
                    rb_charts.duration(s.start_us), s.end_us === null ? "not yet" : rb_charts.duration(s.end_us), end_of(s)];
        }));
    }

    rb_charts.all["run-gantt"] = function (doc, look) {
        var planned = rb_charts.run.planned(doc), lanes = lanes_of(doc, planned), narrow = rb_charts.is_narrow(look);
        var names = lanes.map(function (lane) { return lane_name(lane, narrow); });
        var bars = bars_of(doc, lanes);
        var series = phases(doc, look, lanes).concat(training(doc, look, lanes, bars), spot(doc, look, lanes, bars), [ghost(planned, look, lanes)]);
        series = series.filter(function (s) { return s.data.length; }).concat(barriers(doc, planned, look));
        var top = rb_charts.top(look, rb_charts.names(series));
        return {
            height: top + 60 + Math.max(lanes.length, 1) * lane_height(lanes),
            numbers: numbers(doc),
            option: rb_charts.frame(look, series, {
                grid: {left: rb_charts.run.margin(names, look), right: 24, top: top, bottom: 52},
                xAxis: rb_charts.run.time_axis(doc, look),
                yAxis: rb_charts.run.name_axis(names, look)
            })
        };
    };
}());
