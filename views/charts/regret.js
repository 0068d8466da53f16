// Searches on a table: the mean regret of each against dollars, with the 95 % interval of the mean, until the last of its
// runs ended; below, with a target, the dollars until it was reported. From an rb-sim/1 or an rb-sim-compare/1.
"use strict";
(function () {
    var TYPES = ["solid", "dashed", "dotted"]; // after each round of colours
    var ROW = 40, LINE = 16, HIGH = 320;
    var LOG_BELOW = 0.25; // a line that falls below this is lost at the foot of a linear axis
    var LOG_WITHIN = 0.2; // a search that ends within this share of the dollars is lost at the left of one

    // ---- what is drawn

    function searches_of(doc, look) {
        var colours = look.colours;
        return (doc.variants || [{label: doc.tuner + ":" + doc.policy, search: doc.search}]).map(function (v, i) {
            return {
                label: v.label, search: v.search, points: points_of(v.search.regret_curve), row: i,
                colour: colours[i % colours.length], type: TYPES[Math.floor(i / colours.length) % TYPES.length]
            };
        });
    }

    // Until all runs have ended. An interval of Student's may leave what regret can be.
    function points_of(curve) {
        var ended = curve.running.indexOf(0), n = ended < 0 ? curve.running.length : ended + 1;
        return curve.cost_uusd.slice(0, n).map(function (cost, i) {
            return {cost: cost, mean: curve.mean[i], low: Math.max(curve.low[i], 0), high: Math.min(curve.high[i], 1), running: curve.running[i]};
        });
    }

    function figure(regret) {
        return regret.toFixed(4);
    }

    function words(doc, s, p) {
        return s.label + ", " + rb_charts.money(p.cost) + ": regret " + figure(p.mean) + " (95 %: " + figure(p.low) + " to " + figure(p.high) + "), " +
            (p.running ? p.running + " of " + doc.replicates + " runs go on" : "all runs have ended");
    }

    // ---- the upper part

    function line(doc, s, look) {
        return {
            name: s.label, type: "line", showSymbol: false, symbol: "circle", symbolSize: 7, z: 4,
            mark: s.type === "solid" ? "line" : "dashed",
            itemStyle: {color: s.colour}, lineStyle: {color: s.colour, width: 2, type: s.type},
            data: s.points.map(function (p) { return {value: [rb_charts.dollars(p.cost), p.mean], name: words(doc, s, p)}; })
        };
    }

    // bottom: of the axis.
    function band(doc, s, bottom) {
        var last = s.points[s.points.length - 1];
        return {
            name: s.label, type: "custom", clip: true, z: 2, itemStyle: {color: s.colour},
            renderItem: function (params, api) {
                function at(key) {
                    return s.points.map(function (p) { return api.coord([rb_charts.dollars(p.cost), Math.max(p[key], bottom)]); });
                }
                return {type: "polygon", shape: {points: at("high").concat(at("low").reverse())}, style: {fill: s.colour, opacity: 0.16}};
            },
            data: [{value: [rb_charts.dollars(last.cost), Math.max(last.mean, bottom)], name: "the band: 95 % interval of the mean; " + words(doc, s, last)}]
        };
    }

    function end(doc, s, look) {
        var last = s.points[s.points.length - 1];
        return {
            name: s.label, type: "scatter", symbol: "circle", symbolSize: 8, z: 5,
            itemStyle: {color: s.colour, borderColor: look.paper, borderWidth: 1.5},
            data: [{value: [rb_charts.dollars(last.cost), last.mean], name: words(doc, s, last)}]
        };
    }

    // The least mean and, down to a quarter of it, the least end of an interval.
    function least_of(searches) {
        var mean = 1, low = 1;
        searches.forEach(function (s) {
            s.points.forEach(function (p) {
                mean = Math.min(mean, p.mean);
                low = Math.min(low, p.low);
            });
        });
        return {mean: mean, low: Math.max(low, mean / 4)};
    }

    function is_log(least) {
        return least.mean > 0 && least.mean < LOG_BELOW;
    }

    function regret_axis(least, look) {
        var title = "mean regret";
        return is_log(least) ? rb_charts.axis(title, function (v) { return String(+v.toPrecision(3)); }, look,
                                              {type: "log", logBase: 2, splitNumber: 6, min: foot(least), max: 1, scale: false, nameGap: 50})
                             : rb_charts.axis(title, null, look, {min: 0, max: 1, interval: 0.2, scale: false, nameGap: 50});
    }

    function foot(least) {
        return is_log(least) ? Math.pow(2, Math.floor(Math.log(least.low) / Math.LN2 + 1e-9)) : 0;
    }

    // ---- the lower part

    function target_words(doc, s, look) {
        var q = s.search.target_uusd, n = s.search.reached, of = (n || "none") + " of " + doc.replicates + " runs";
        if (!q || rb_charts.is_narrow(look))
            return s.label + ": " + of;
        return s.label + ": " + of + ", " + rb_charts.money(q.p50) + " in half of them (" + rb_charts.money(q.p5) + " to " + rb_charts.money(q.p95) + ")";
    }

    // [p5, p95, row, p50] as a bar with a mark, under its words.
    function draw_target(doc, s, look) {
        return function (params, api) {
            var from = api.coord([api.value(0), s.row]), to = api.coord([api.value(1), s.row]), half = api.coord([api.value(3), s.row]);
            var made = [{type: "text", style: {text: target_words(doc, s, look), x: params.coordSys.x + 8, y: from[1] - ROW / 2 + 5,
                                               fill: look.ink, font: "12px " + look.font}}];
            if (s.search.target_uusd)
                made.push({type: "rect", shape: {x: from[0], y: from[1] + 3, width: Math.max(to[0] - from[0], 1), height: 10},
                           style: {fill: s.colour, opacity: 0.45}},
                          {type: "rect", shape: {x: half[0] - 1.5, y: from[1], width: 3, height: 16}, style: {fill: s.colour}});
            return {type: "group", children: made};
        };
    }

    function target(doc, s, span, look) {
        var q = s.search.target_uusd || {p5: 0, p50: 0, p95: 0};
        function at(uusd) { return rb_charts.dollars(Math.max(uusd, span.from)); }
        return {
            name: s.label, type: "custom", renderItem: draw_target(doc, s, look), clip: true, xAxisIndex: 1, yAxisIndex: 1,
            itemStyle: {color: s.colour}, encode: {x: [0, 1], y: 2},
            data: [{value: [at(q.p5), at(q.p95), s.row, at(q.p50)],
                    name: "the target: " + target_words(doc, s, look)}]
        };
    }

    // ---- words around it

    function text(said, at, look) {
        return rb_charts.merge({text: said, padding: 0, textStyle: {color: look.faint, fontSize: 12, fontWeight: "normal"}}, at);
    }

    function price_words(price) {
        return price.instance_type + (price.market === "spot" ? " spot" : "") + " at " + rb_charts.money(price.uusd_per_hour) + " an hour (" +
            price.infra + (price.fetched_at ? ", " + price.fetched_at.slice(0, 10) : "") + ")";
    }

    function prices_of(searches) {
        var found = [];
        searches.forEach(function (s) {
            s.search.prices.map(price_words).forEach(function (said) {
                if (found.indexOf(said) < 0)
                    found.push(said);
            });
        });
        return found;
    }

    // A page says it in words of its own.
    function caption(doc, searches) {
        var prices = prices_of(searches), more = prices.length - 1;
        var said = ["Table " + doc.blackbox.table.replace(/^.*\//, "") + ", " + doc.blackbox.rows + " rows; " + doc.replicates + " simulated runs" +
                        (searches.length > 1 ? " of each search, on the same draws." : "."),
                    "Bands: 95 % interval of the mean. A dot: the last run has ended.",
                    "Dollars: " + prices[0] + (more > 0 ? ", and " + more + " more" : "") + "."];
        if (doc.blackbox.target !== null)
            said.splice(2, 0, "Bars: from 5 % to 95 % of the runs that reported the target; the mark: half of them.");
        return said;
    }

    function numbers(searches) {
        var rows = [];
        searches.forEach(function (s) {
            s.points.forEach(function (p) {
                rows.push([s.label, rb_charts.money(p.cost), figure(p.mean), figure(p.low), figure(p.high), String(p.running)]);
            });
        });
        return {columns: ["search", "spent", "mean regret", "95 % from", "to", "runs that go on"], rows: rows};
    }

    // ---- the whole

    // The dollars that are shown. Doublings begin with the last point at which no search has found anything.
    function span_of(searches) {
        var ends = searches.map(function (s) { return s.points[s.points.length - 1].cost; });
        var begins = searches.map(function (s) {
            var found = s.points.filter(function (p) { return p.mean === 1; }).length;
            return s.points[Math.max(found - 1, 1)].cost;
        });
        var most = Math.max.apply(null, ends), is_log = Math.min.apply(null, ends) < LOG_WITHIN * most;
        return {is_log: is_log, from: is_log ? Math.min.apply(null, begins) : 0, to: 1.02 * most};
    }

    function begin_with(span, s) {
        s.points = s.points.filter(function (p) { return p.cost >= span.from; });
    }

    function dollars_axis(title, span, look, grid) {
        var from = rb_charts.dollars(span.from), to = rb_charts.dollars(span.to);
        var axis = span.is_log
            ? rb_charts.doubling_axis(title, look, {gridIndex: grid, min: function () { return from; }, max: function () { return to; }})
            : rb_charts.money_axis(title, 0, span.to, look, {gridIndex: grid, scale: false, min: from, max: to});
        axis.axisLabel.showMaxLabel = false; // the ends are no round amounts
        axis.axisLabel.showMinLabel = !span.is_log;
        return axis;
    }

    rb_charts.all.regret = function (doc, look) {
        var searches = searches_of(doc, look), span = span_of(searches), least = least_of(searches), series = [];
        var has_target = doc.blackbox.target !== null, rows = has_target ? searches.length * ROW : 0, said = look.legend ? caption(doc, searches) : [];
        searches.forEach(function (s) { begin_with(span, s); });
        searches.forEach(function (s) { series.push(line(doc, s, look), band(doc, s, foot(least)), end(doc, s, look)); });
        if (has_target)
            searches.forEach(function (s) { series.push(target(doc, s, span, look)); });
        var top = rb_charts.top(look, rb_charts.names(series)), left = 76, below = top + HIGH + 76;
        var height = (has_target ? below + rows + 40 : top + HIGH + 56) + LINE * said.length, titles = said.map(function (t, i) {
            return text(t, {left: 5, top: height - LINE * (said.length - i)}, look);
        });
        var grids = [{left: left, right: 24, top: top, height: HIGH, outerBoundsMode: "none"}], xs = [dollars_axis("dollars spent", span, look, 0)];
        var ys = [regret_axis(least, look)];
        if (has_target) {
            titles.push(text("dollars to the target, " + doc.blackbox.target, {left: left, top: below - 18}, look));
            grids.push({left: left, right: 24, top: below, height: rows, outerBoundsMode: "none"});
            xs.push(dollars_axis("", span, look, 1));
            ys.push(rb_charts.axis("", null, look, {gridIndex: 1, type: "category", inverse: true, data: searches.map(function (s) { return s.label; }),
                                                    axisLabel: {show: false}, axisTick: {show: false}, splitLine: {show: false}}));
        }
        return {
            height: height, numbers: numbers(searches),
            option: rb_charts.frame(look, series, {grid: grids, xAxis: xs, yAxis: ys, title: titles})
        };
    };
}());
