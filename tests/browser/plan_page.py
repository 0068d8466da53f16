#!/usr/bin/env python3
"""The page of rbplan --html in a real browser: what is shown is what its document and plan.json say, everything can be reached
without a mouse, in both themes, on a phone and on paper, and nothing leaves the page.
Usage: plan_page.py --bin BUILD --root SOURCE"""
import argparse
import json
import math
import os
import re
import subprocess
import tempfile

import browser
from browser import Keys

PARTS = [("train", "training"), ("boot", "booting"), ("idle_barrier", "idle at barriers"), ("checkpoint", "checkpoints"),
         ("lost", "lost"), ("minimum", "60 s minimum")]
CHARTS = ["gantt", "time_distribution", "cost_distribution", "frontier", "breakdown"]


# --- what people are shown, written down a second time

def money(uusd):
    sign, whole = "-" if uusd < 0 else "", abs(uusd)
    if whole == 0 or whole >= 999950:
        cents = (whole + 5000) // 10000
        return "%s$%d.%02d" % (sign, cents // 100, cents % 100)
    return "%s$0.%04d" % (sign, (whole + 50) // 100) if whole >= 50 else "%s$0.%06d" % (sign, whole)


def part(plan, uusd):
    """Of a plan that costs dollars: cents."""
    cents = (uusd + 5000) // 10000
    if plan["estimate"]["cost_uusd"]["mean"] < 1000000 or (cents == 0 and uusd > 0):
        return money(uusd)
    return "$%d.%02d" % (cents // 100, cents % 100)


def probability(p):
    return "not known" if p is None else "%.4f" % p


def duration(us):
    s = (us + 500000) // 1000000
    if us == 0:
        return "0 s"
    if us < 999500:
        return "%d us" % us if us < 1000 else "%d ms" % ((us + 500) // 1000)
    if (us + 50000) // 100000 < 600:
        tenths = (us + 50000) // 100000
        return "%d.%d s" % (tenths // 10, tenths % 10)
    if s < 3600:
        return "%d m %d s" % (s // 60, s % 60)
    minutes, hours = (s + 30) // 60, (s + 1800) // 3600
    return "%d h %d m" % (minutes // 60, minutes % 60) if minutes < 48 * 60 else "%d d %d h" % (hours // 24, hours % 24)


def change(difference, words):
    return "same" if difference == 0 else ("-" if difference < 0 else "+") + words(abs(difference))


# --- pages

class Pages:
    """Written once: a deadline, a budget, an asynchronous job, one without a frontier, one that is free, one with hostile
    words."""

    def __init__(self, args, folder):
        self.folder = folder
        self.rbplan = os.path.join(args.bin, "rbplan")
        self.root = args.root
        bert = os.path.join(args.root, "examples", "bert", "job.yaml")
        asha = os.path.join(args.root, "examples", "asha-cifar10", "job.yaml")
        self.deadline = self.write("deadline", bert)
        self.budget = self.write("budget", bert, "--deadline", "6h", "--budget", "4", "--what-if", "budget=5,deadline=5h")
        self.asynchronous = self.write("asynchronous", asha, "--samples", "32", "--set", "scheduler.num_trials=9",
                                       "--set", "scheduler.max_resource=9", "--what-if", "price=-20%")
        self.static = self.write("static", bert, "--set", "policy=static", "--what-if", "price=-20%")
        self.free = self.write("free", os.path.join(args.root, "examples", "pool", "wide.yaml"))
        self.hostile = self.write("hostile", bert, "--profile-file", self.hostile_profile(), "--what-if", "price=-20%")

    def write(self, name, job, *options):
        page = os.path.join(self.folder, name + ".html")
        subprocess.run([self.rbplan, "--threads", "2", "-o", os.path.join(self.folder, name + ".json"), "--html", page,
                        *options, job], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return page

    def hostile_profile(self):
        path = os.path.join(self.folder, "hostile.yaml")
        with open(os.path.join(self.root, "examples", "bert", "profile.yaml"), encoding="utf-8") as f:
            text = f.read()
        text = re.sub(r"(?m)^source:.*\n(?:[ ]+.*\n)*", "", text)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text + "source: \"</script><script>document.title = 'taken'</script><b>&amp;\"\n")
        return path

    def all(self):
        return [self.deadline, self.budget, self.asynchronous, self.static, self.free, self.hostile]


def document(b):
    return b.js("return JSON.parse(document.getElementById('document').textContent)")


def plan_of(page):
    with open(page.replace(".html", ".json"), encoding="utf-8") as f:
        return json.load(f)


def expect(seen, wanted, what):
    if seen != wanted:
        raise AssertionError("%s: expected %r, seen %r" % (what, wanted, seen))


# --- what is shown

def the_document_holds_the_plan_as_it_was_saved(b, page, doc):
    expect(doc["plan"], plan_of(page), "plan")


def tables_say_what_the_document_says(b, page, doc):
    plan, e = doc["plan"], doc["plan"]["estimate"]
    stages = b.table("#plan > .table table")
    expect([[r[0], r[1], r[3], r[6], r[7], r[8], r[9]] for r in stages],
           [[str(s["stage"]), str(s["trials"]), str(s["gpus_per_trial"]), duration(s["time_us"]["p50"]),
             "(%s)" % duration(s["time_us"]["p95"]), part(plan, s["cost_uusd"]["p50"]),
             "(%s)" % part(plan, s["cost_uusd"]["p95"])]
            for s in plan["stages"]], "stages")
    quantiles = ["mean", "p5", "p50", "p95", "p99"]
    expect(b.table("#certainty > .table table"),
           [["time"] + [duration(e["time_us"][q]) for q in quantiles],
            ["cost"] + [money(e["cost_uusd"][q]) for q in quantiles]], "estimate")
    planners = {row[0]: row[1:] for row in b.table("#frontier > .table table")}
    for name, of in [(plan["planner"], e)] + [(n, x) for n, x in plan["baselines"].items() if n != plan["planner"]]:
        wanted = ["-"] * 5 if of is None else [money(of["cost_uusd"]["mean"]), money(of["cost_uusd"]["p95"]),
                                               duration(of["time_us"]["mean"]), duration(of["time_us"]["p95"]),
                                               probability(of["p_both"])]
        expect(planners[name], wanted, name)


def the_money_adds_up_to_the_expected_cost(b, page, doc):
    stages = doc["timeline"]["stages"]
    expect(sum(sum(s["cost_uusd"].values()) for s in stages), doc["plan"]["estimate"]["cost_uusd"]["mean"], page)
    if doc["plan"]["estimate"]["cost_uusd"]["mean"] == 0:
        expect(b.js("return document.querySelectorAll('#money table, #money figure').length"), 0, "tables of nothing")
        return
    used = [key for key, _ in PARTS if sum(s["cost_uusd"][key] for s in stages) > 0]
    rows = [[str(s["stage"])] + [part(doc["plan"], uusd) for uusd in [s["cost_uusd"][key] for key in used] +
                                [sum(s["cost_uusd"].values())]]
            for s in stages]
    table = b.table("#money > .table table")
    expect(table[:-1], rows, "parts")
    expect(table[-1][-1], part(doc["plan"], doc["plan"]["estimate"]["cost_uusd"]["mean"]), "together")


def what_if_rows_are_those_of_the_document(b, pages):
    for page in (pages.deadline, pages.budget, pages.asynchronous):
        doc = document(b.open(page))
        wanted = []
        expect(doc["what_if"]["base"], doc["plan"]["estimate"], "the base is the plan")
        for s in doc["what_if"]["scenarios"]:
            name = ", ".join("%s = %s" % change for change in s["changes"].items())
            of = s["estimate"]
            wanted.append([name, "no plan", "-", "-", "-", "-"] if of is None else
                          [name, money(of["cost_uusd"]["mean"]), change(s["difference"]["cost_uusd"], lambda uusd: part(doc["plan"], uusd)),
                           duration(of["time_us"]["mean"]), change(s["difference"]["time_us"], duration), probability(of["p_both"])])
        expect(b.table("#what-if > .table table"), wanted, page)
    expect(len(wanted), 1, "scenarios given with --what-if replace the usual ones")


def the_answer_stands_at_the_top(b, page, doc):
    plan, e = doc["plan"], doc["plan"]["estimate"]
    facts = {name: (figure, remark) for name, figure, remark in b.js(
        "return Array.from(document.querySelectorAll('.facts > div'), function (f) {"
        "  return Array.from(f.children, function (c) { return c.textContent; }); })")}
    expect(facts.pop("expected cost"), (money(e["cost_uusd"]["mean"]), "95 % of runs:\nat most " + money(e["cost_uusd"]["p95"])), "cost")
    expect(facts.pop("expected time"), (duration(e["time_us"]["mean"]), "95 % of runs:\nat most " + duration(e["time_us"]["p95"])), "time")
    if plan["deadline_us"] is not None:
        both = " and in budget" if plan["budget_uusd"] is not None else ""
        kept, asked = facts.pop("on time" + both)
        asked = asked.replace("on made-up learning curves\n", "")  # where they are
        expect(kept, "%.1f %%" % (100 * e["p_both"]) if e["p_both"] <= 0.999 else "> 99.9 %", "on time")
        asked = asked.removeprefix("on made-up learning curves\n")
        assert asked.startswith("deadline %s\n" % duration(plan["deadline_us"])) and re.search(
            r"\nasked for: 95 %\nwhere the run leaves the plan: (other nodes for the stages to come \(on_drift: replan\)|a warning)", asked), asked
    marginal = doc["frontier"] and doc["frontier"]["marginal"]
    if marginal:
        (name, (saved, less)), = facts.items()
        uusd = -marginal["more"]["cost_uusd"]
        expect(saved, "saves " + (part(plan, uusd) if uusd else "nothing"), name)
        sooner = marginal["less"] and marginal["less"]["cost_uusd"]
        expect(less, "as much less:\n" + ("no plan keeps it" if sooner is None else part(plan, sooner) + " more" if sooner else "nothing more"), name)
        assert "a minute)" in b.js("return document.getElementById('frontier').textContent") or not uusd, "per minute"
    else:
        expect(facts, {}, "facts")


def charts_hold_the_numbers_of_the_document(b, pages):
    for page in (pages.deadline, pages.budget, pages.asynchronous):
        doc = document(b.open(page))
        series = {name: b.js("return rb_page.charts.filter(function (c) { return c.name === '%s'; })[0].chart.getOption()"
                             ".series.map(function (s) { return [s.name, s.data.map(function (d) { return d.value; })]; })" % name)
                  for name in CHARTS}
        time, cost = dict(series["time_distribution"]), dict(series["cost_distribution"])
        shares = [100 * share for share in doc["distribution"]["shares"]]
        close(time["runs"], [[us / 1000, share] for us, share in zip(doc["distribution"]["time_us"], shares)], "time")
        close(cost["runs"], [[uusd / 1e6, share] for uusd, share in zip(doc["distribution"]["cost_uusd"], shares)], "cost")
        frontier = dict(series["frontier"])
        for planner in {p["planner"] for p in doc["frontier"]["points"]}:
            points = [p for p in doc["frontier"]["points"] if p["planner"] == planner]
            for q, name in (("p50", planner), ("p95", planner + ", 95 %")):
                close(frontier[name], [[p["deadline_us"] / 1000, p["estimate"]["cost_uusd"][q] / 1e6] for p in points], name)
        bars = dict(series["gantt"])
        stages = [s for s in doc["timeline"]["stages"] if s["runs"] > 0]
        close(bars["training"], [[s["provisioned_us"]["p50"] / 1000, s["end_us"]["p50"] / 1000, s["stage"]] for s in stages], "bars")
        close(bars["ends, 90 % of runs"], [[s["end_us"]["p5"] / 1000, s["end_us"]["p95"] / 1000, s["stage"]] for s in stages], "ends")
        close(bars["GPUs paid for"], [[i["at_us"] / 1000, i["gpus"]] for i in doc["timeline"]["instants"]], "GPUs")
        close([[v] for v in dict(series["breakdown"])["training"]],
              [[s["cost_uusd"]["train"] / 1e6] for s in doc["timeline"]["stages"]], "training")


def close(seen, wanted, what):
    expect(len(seen), len(wanted), what + ", how many")
    for a, w in zip(seen, wanted):
        if any(abs(x - y) > 1e-9 * max(1, abs(y)) for x, y in zip(a, w)):
            raise AssertionError("%s: expected %r, seen %r" % (what, w, a))


def every_chart_has_its_numbers_as_a_table(b, pages):
    doc = document(b.open(pages.deadline))
    rows = b.table("figure[data-chart=frontier] .numbers table")
    order = ["optimal", "greedy", "static", "naive"]
    points = sorted(doc["frontier"]["points"], key=lambda p: (order.index(p["planner"]), p["deadline_us"]))
    expect(rows, [[p["planner"], duration(p["deadline_us"])] +
                  [words(p["estimate"][key][q]) for key, words in (("cost_uusd", money), ("time_us", duration))
                   for q in ("p50", "p95")] for p in points], "frontier")
    rows = b.table("figure[data-chart=time_distribution] .numbers table")
    expect(rows, [["%d %%" % p, duration(doc["distribution"]["time_us"][2 * p])] for p in range(0, 101, 5)], "distribution")
    rows = b.table("figure[data-chart=gantt] .numbers table")
    expect(rows, [[str(s["stage"])] + [duration(s["begin_us"][q]) for q in ("p5", "p50", "p95")] +
                  [duration(s["provisioned_us"]["p50"])] + [duration(s["end_us"][q]) for q in ("p5", "p50", "p95")]
                  for s in doc["timeline"]["stages"]], "timeline")


def what_is_left_out_is_said(b, pages):
    doc = document(b.open(pages.static))
    expect(doc["frontier"], None, "frontier")
    assert "Note: left out: the policy keeps the nodes" in b.js("return document.getElementById('frontier').textContent")
    expect(b.js("return document.querySelectorAll('figure[data-chart=frontier]').length"), 0, "charts of nothing")


def words_of_others_stay_words(b, pages):
    b.open(pages.hostile)
    expect(b.js("return document.title"), "Plan of bert", "title")
    assert "</script><script>document.title = 'taken'</script><b>&amp;" in b.js("return document.getElementById('basis').textContent")


# --- what must not happen

def nothing_is_asked_for_and_nothing_complained_of(b, page, doc):
    expect(b.requests(), ["file://" + page], "requests")
    expect(b.complaints(), [], "console")
    charts = ["gantt", "time_distribution"]
    if doc["plan"]["estimate"]["cost_uusd"]["mean"] > 0:
        charts += ["cost_distribution"] + (["frontier"] if doc["frontier"] else []) + ["breakdown"]
    expect(b.js("return rb_page.charts.map(function (c) { return c.name; })"), charts, "charts")


# --- looks

IN_CHARTS = """
    var found = [];
    document.querySelectorAll('.place').forEach(function (place) {
        var all = Array.from(place.querySelectorAll('svg text')).filter(function (t) {
            return t.textContent && t.getBoundingClientRect().width > 0 && getComputedStyle(t).visibility !== 'hidden'; });
        var frame = place.getBoundingClientRect();
        all.forEach(function (t, i) {
            var r = t.getBoundingClientRect();
            if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1)
                found.push('cut off: ' + t.textContent);
            all.slice(i + 1).forEach(function (u) {
                var q = u.getBoundingClientRect();
                if (Math.min(r.right, q.right) - Math.max(r.left, q.left) > 1 && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 3)
                    found.push('on top of each other: ' + t.textContent + ' and ' + u.textContent); });
        });
    });
    return found;"""

CONTRASTS = """
    function channels(text) { return text.match(/[\\d.]+/g).map(Number); }
    function luminance(c) {
        return c.slice(0, 3).map(function (v) { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); })
            .reduce(function (sum, v, i) { return sum + v * [0.2126, 0.7152, 0.0722][i]; }, 0);
    }
    function contrast(a, b) {
        var x = luminance(a), y = luminance(b);
        return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    }
    var paper = channels(getComputedStyle(document.body).backgroundColor), worst = {};
    function look_at(element, colour) {
        var c = contrast(channels(colour), paper);
        if (c < 4.5) worst[element.tagName + ' ' + colour + ' ' + element.textContent.slice(0, 40)] = c;
    }
    var walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), n = 0;
    while (walker.nextNode()) {
        var e = walker.currentNode.parentElement, s = getComputedStyle(e);
        if (!walker.currentNode.textContent.trim() || ['SCRIPT', 'STYLE', 'NOSCRIPT'].indexOf(e.tagName) >= 0) continue;
        look_at(e, e.closest('svg') ? s.fill : s.color);
        n++;
    }
    return [worst, n];"""


def text_can_be_read_in_both_themes(b, pages):
    for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")):
        b.emulate(prefers_color_scheme=scheme)
        b.open(pages.budget)
        expect(b.js("return getComputedStyle(document.body).backgroundColor"), paper, "paper")
        worst, n = b.js(CONTRASTS)
        expect(worst, {}, "contrasts below 4.5, " + scheme)
        assert n > 150, n
    b.emulate(prefers_color_scheme="light")


def the_button_changes_the_colours(b, pages):
    b.open(pages.deadline)
    before = b.js("return rb_page.charts[0].place.innerHTML")
    b.js("document.getElementById('theme').click()")
    expect(b.js("return getComputedStyle(document.body).backgroundColor"), "rgb(20, 23, 28)", "paper")
    assert b.js("return rb_page.charts[0].place.innerHTML") != before
    expect(b.js(CONTRASTS)[0], {}, "contrasts")
    expect(b.js("return [localStorage.length, document.cookie]"), [0, ""], "remembered")
    b.js("document.getElementById('theme').click()")
    expect(b.js("return getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)", "paper")


def nothing_is_cut_or_covered(b, pages):
    for width in (1280, 375, 320):
        b.size((width, 800))
        for page in pages.all():
            b.open(page)
            expect(b.js(IN_CHARTS), [], "%s at %d" % (page, width))
            wide, window = b.js("return [document.scrollingElement.scrollWidth, innerWidth]")
            assert wide <= window, "%s scrolls sideways at %d: %d" % (page, width, wide)
    b.size(browser.DESKTOP)


def amounts_are_marked_at_round_steps(b, pages):
    b.open(pages.deadline)
    for times in (1, 1.7, 2.6, 3.3, 4.1, 5.7, 7.2, 8.8, 170, 0.02):  # of plans that are as many times more expensive
        ticks = b.js("""
            var doc = JSON.parse(document.getElementById('document').textContent), times = arguments[0];
            doc.distribution.cost_uusd = doc.distribution.cost_uusd.map(function (uusd) { return times * uusd; });
            var place = rb_page.charts[2], made = rb_charts.make('cost_distribution', doc, rb_charts.look(false), place.width);
            made.option.animation = false;
            place.chart.setOption(made.option, true);
            place.chart.getZr().flush();
            return Array.from(place.place.querySelectorAll('svg text'), function (t) { return t.textContent; });""", times)
        amounts = [float(t[1:]) for t in ticks if re.fullmatch(r"\$[\d.]+", t)]
        steps = {"%.4g" % (after - before) for before, after in zip(amounts, amounts[1:])}
        assert len(amounts) >= 3 and len(steps) == 1, (times, amounts)
        assert re.fullmatch(r"[0.]*[125]0*", steps.pop()), (times, amounts)


def a_limit_of_less_than_a_cent_stands_at_its_place(b, pages):
    b.open(pages.deadline)
    drawn, place = b.js("""
        var doc = JSON.parse(document.getElementById('document').textContent), chart = rb_page.charts[2];
        doc.distribution.cost_uusd = doc.distribution.cost_uusd.map(function (uusd) { return uusd / 1000; });
        doc.plan.budget_uusd = doc.distribution.cost_uusd[150];
        var made = rb_charts.make('cost_distribution', doc, rb_charts.look(false), chart.width);
        made.option.animation = false;
        chart.chart.setOption(made.option, true);
        chart.chart.getZr().flush();
        var line = Array.from(chart.place.querySelectorAll('svg path[stroke-dasharray]')).filter(function (p) { return p.getAttribute('d'); })[0];
        return [Number(/^M([0-9.]+)/.exec(line.getAttribute('d'))[1]),
                chart.chart.convertToPixel({xAxisIndex: 0}, doc.plan.budget_uusd / 1e6)];""")
    assert abs(drawn - place) < 1, (drawn, place)


def a_legend_shows_what_is_drawn(b, pages):
    b.open(pages.deadline)
    marks = b.js("return Array.from(document.querySelectorAll('.toggles button'), function (e) {"
                 "  return [e.textContent, e.firstChild.getAttribute('class'), e.firstChild.getBoundingClientRect().width]; })")
    expect({name: mark.split()[1] for name, mark, _ in marks if name in ("optimal", "optimal, 95 %", "static", "this plan", "training")},
           {"training": "bar", "optimal": "circle", "optimal, 95 %": "dashed", "static": "rect", "this plan": "diamond"}, "marks")
    assert all(width > 10 for _, _, width in marks), marks


# How those see who lack one kind of cones (Machado and others, 2009), of linear red, green and blue.
SEEN = {"red": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
        "green": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
        "nothing": ((1, 0, 0), (0, 1, 0), (0, 0, 1))}


def lab(colour, seen):
    """CIE L*a*b* of "#rrggbb"."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    r, g, b = (min(max(sum(m * v for m, v in zip(row, linear)), 0), 1) for row in seen)
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089))
    return 116 * y, 500 * (x - y), 200 * (y - z)


def colours_are_distinguished_by_the_colour_blind(b, pages):
    b.open(pages.deadline)
    for dark in (False, True):
        colours = b.js("return rb_charts.look(arguments[0]).colours", dark)[:4]  # of lines and bars that lie side by side
        for missing, seen in SEEN.items():
            for i, colour in enumerate(colours):
                for other in colours[i + 1:]:
                    apart = math.dist(lab(colour, seen), lab(other, seen))
                    assert apart > 22, "%s and %s without %s: %.0f" % (colour, other, missing, apart)


def charts_follow_the_window(b, pages):
    b.open(pages.deadline)
    b.size(browser.PHONE)
    b.wait("rb_page.charts.every(function (c) { return c.place.querySelector('svg').getBoundingClientRect().width <= 375; })")
    b.size(browser.DESKTOP)
    b.wait("rb_page.charts.every(function (c) { return c.place.querySelector('svg').getBoundingClientRect().width > 600; })")


def on_paper_it_is_light_and_fits(b, pages):
    b.emulate(prefers_color_scheme="dark")
    b.open(pages.deadline)
    b.js("addEventListener('beforeprint', function () { window.on_paper = [rb_page.charts[0].place.innerHTML, rb_page.charts[0].width]; })")
    pdf = b.pdf()
    assert pdf.startswith(b"%PDF-") and len(pdf) > 20000, len(pdf)
    drawn, width = b.js("return on_paper")
    assert "#1b1f24" in drawn or "rgb(27,31,36)" in drawn, "axes are in the ink of the light look"
    assert width <= 720, width
    assert "GPUs paid for" in drawn, "on paper the legend is drawn"
    assert "#1b1f24" not in b.js("return rb_page.charts[0].place.innerHTML"), "dark again afterwards"
    b.emulate(prefers_color_scheme="light")


# --- without a mouse, without eyes, without a script

def every_toggle_changes_its_chart(b, pages):
    n = 0
    for page in (pages.deadline, pages.budget, pages.asynchronous):
        b.open(page)
        # They are drawn in the browser's next frame.
        b.js("window.drawn = {}; window.toggle = function (chart, name) {"
             "  var f = document.querySelector('figure[data-chart=' + chart + ']');"
             "  return Array.from(f.querySelectorAll('.toggles button')).filter(function (e) { return e.textContent === name; })[0]; };"
             "window.svg = function (chart) { return document.querySelector('figure[data-chart=' + chart + '] .place svg').innerHTML; };")
        for chart, name, before in b.js("return Array.from(document.querySelectorAll('.toggles button'), function (e) {"
                                        "  return [e.closest('figure').dataset.chart, e.textContent, e.getAttribute('aria-pressed')]; })"):
            for wanted in ("false" if before == "true" else "true", before):
                b.js("drawn[arguments[0]] = svg(arguments[0]); toggle(arguments[0], arguments[1]).click()", chart, name)
                expect(b.js("return toggle(arguments[0], arguments[1]).getAttribute('aria-pressed')", chart, name), wanted, name)
                b.wait("svg('%s') !== drawn['%s']" % (chart, chart), 2)
            n += 1
    assert n >= 40, n


def all_can_be_reached_by_the_keyboard(b, pages):
    b.open(pages.deadline)
    b.keys(Keys.TAB)
    expect(b.js("return document.activeElement.textContent"), "Skip to the content", "first stop")
    b.keys(Keys.ENTER)
    expect(b.js("return document.activeElement.id"), "main", "skipped to")
    b.open(pages.deadline)
    stops = b.js("return document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]').length")
    hidden = b.js("return document.querySelectorAll('details:not([open]) [tabindex=\"0\"]').length")
    seen = set()
    for _ in range(stops - hidden):
        b.keys(Keys.TAB)
        seen.add(b.js("var all = Array.from(document.querySelectorAll('*')); return all.indexOf(document.activeElement)"))
    expect(len(seen), stops - hidden, "stops")


def values_are_spoken_for_arrow_keys(b, pages):
    b.open(pages.deadline)
    for chart in CHARTS:
        place = "figure[data-chart=%s] .place" % chart
        names = b.js("var c = rb_page.charts.filter(function (c) { return c.name === '%s'; })[0];"
                     "return c.option.series.map(function (s) { return s.data.map(function (d) { return d.name; }); })" % chart)
        b.focus(place)
        b.keys(Keys.ARROW_RIGHT)
        expect(b.js("return document.getElementById('live').textContent"), names[0][0], chart)
        b.keys(Keys.ARROW_RIGHT)
        expect(b.js("return document.getElementById('live').textContent"), names[0][min(1, len(names[0]) - 1)], chart)
        b.keys(Keys.ARROW_DOWN)
        expect(b.js("return document.getElementById('live').textContent"), names[1][min(1, len(names[1]) - 1)], chart)
        b.wait("Array.from(document.querySelectorAll('%s div')).some(function (d) {"
               " return d.textContent === document.getElementById('live').textContent; })" % place)  # and shown
        b.keys(Keys.ESCAPE)
        expect(b.js("return document.getElementById('live').textContent"), "", chart)
    expect(b.complaints(), [], "console")


def values_are_shown_under_the_mouse(b, pages):
    b.open(pages.deadline)
    doc = document(b)
    stage = doc["timeline"]["stages"][-1]
    b.js("document.querySelector('figure[data-chart=gantt]').scrollIntoView({behavior: 'instant'})")
    x, y = b.js("var c = rb_page.charts[0], r = c.canvas.getBoundingClientRect();"
                "var p = c.chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [arguments[0], arguments[1]]);"
                "return [r.left + p[0], r.top + p[1]]", (stage["provisioned_us"]["p50"] + stage["begin_us"]["p50"]) / 2000 + 60000,
                stage["stage"])
    for dx in (0, 1):
        b.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x + dx, "y": y})
    name = b.wait("(Array.from(document.querySelectorAll('figure[data-chart=gantt] .place div')).filter(function (d) {"
                  " return /^stage/.test(d.textContent) && getComputedStyle(d).visibility !== 'hidden'; })[0] || {}).textContent")
    expect(name, b.js("return rb_page.charts[0].option.series[1].data[%d].name" % stage["stage"]), "tip")


def a_value_out_of_sight_is_brought_into_it(b, pages):
    b.open(pages.deadline)
    b.focus("figure[data-chart=frontier] .place")
    b.keys("+", "+", "+")
    before = b.js("return [rb_page.charts[3].from, rb_page.charts[3].to]")
    b.keys(Keys.END)
    after = b.js("return [rb_page.charts[3].from, rb_page.charts[3].to]")
    assert before[1] < 90 < after[1] and abs((after[1] - after[0]) - (before[1] - before[0])) < 0.01, (before, after)


def zoom_by_keys_and_buttons(b, pages):
    b.open(pages.deadline)
    seen = "return [rb_page.charts[0].from, rb_page.charts[0].to]"
    b.focus("figure[data-chart=gantt] .place")
    b.keys("+")
    closer = b.js(seen)
    assert 0 < closer[0] < closer[1] < 100, closer
    b.keys("-")
    expect(b.js(seen), [0, 100], "out again")
    b.js("document.querySelector('figure[data-chart=gantt] .zoom button').click()")
    expect(b.js(seen), closer, "by the button")
    expect(b.js(IN_CHARTS), [], "labels")
    b.keys("0")
    expect(b.js(seen), [0, 100], "all of it")
    for _ in range(30):
        b.keys("+")
    least = b.js(seen)
    assert 1 < least[1] - least[0] < 3, least
    expect(b.complaints(), [], "console")


def a_screen_reader_finds_its_way(b, pages):
    b.open(pages.deadline)
    expect(b.js("return document.documentElement.lang"), "en", "language")
    expect(b.js("return Array.from(document.querySelectorAll('h1, h2, h3'), function (h) { return h.tagName; })"),
           ["H1"] + ["H2"] * 7, "headings")
    for nameless in ("button", "[role=region]", "[role=application]", "[role=group]"):
        expect(b.js("return Array.from(document.querySelectorAll('%s')).filter(function (e) {"
                    "  return !e.textContent.trim() && !e.getAttribute('aria-label'); }).length" % nameless), 0, nameless)
    expect(b.js("return Array.from(document.querySelectorAll('table')).filter(function (t) {"
                "  return !t.caption || !t.caption.textContent || !t.tHead; }).length"), 0, "tables without a caption or head")
    expect(b.js("return Array.from(document.querySelectorAll('figure')).filter(function (f) {"
                "  return !f.querySelector('figcaption'); }).length"), 0, "figures without a caption")
    ids = b.js("return Array.from(document.querySelectorAll('[id]'), function (e) { return e.id; })")
    expect(len(ids), len(set(ids)), "ids")
    expect(b.js("return document.querySelectorAll('.place > :not([aria-hidden=true])').length"), 0,
           "drawings that would be read out letter by letter")


def words_need_no_script(b, pages):
    b.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        b.open(pages.deadline)
        source = b.driver.execute_cdp_cmd("DOM.getDocument", {"depth": 0})
        html = b.driver.execute_cdp_cmd("DOM.getOuterHTML", {"nodeId": source["root"]["nodeId"]})["outerHTML"]
    finally:
        b.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    plan = plan_of(pages.deadline)
    assert "<svg" not in html and html.count("<table>") == 7, html.count("<table>")
    assert "<figcaption>" in html and money(plan["estimate"]["cost_uusd"]["mean"]) in html


OF_EVERY_PAGE = [
    nothing_is_asked_for_and_nothing_complained_of, the_document_holds_the_plan_as_it_was_saved,
    the_answer_stands_at_the_top, tables_say_what_the_document_says, the_money_adds_up_to_the_expected_cost,
]


def every_page_says_what_its_document_says(b, pages):
    for page in pages.all():
        doc = document(b.open(page))
        for check in OF_EVERY_PAGE:
            try:
                check(b, page, doc)
            except AssertionError as e:
                raise AssertionError("%s, %s: %s" % (os.path.basename(page), check.__name__.replace("_", " "), e)) from e


CHECKS = [
    every_page_says_what_its_document_says, what_if_rows_are_those_of_the_document, charts_hold_the_numbers_of_the_document, every_chart_has_its_numbers_as_a_table,
    what_is_left_out_is_said, words_of_others_stay_words,
    text_can_be_read_in_both_themes, the_button_changes_the_colours, nothing_is_cut_or_covered, amounts_are_marked_at_round_steps,
    a_limit_of_less_than_a_cent_stands_at_its_place, a_legend_shows_what_is_drawn, colours_are_distinguished_by_the_colour_blind, charts_follow_the_window,
    on_paper_it_is_light_and_fits, every_toggle_changes_its_chart, all_can_be_reached_by_the_keyboard,
    values_are_spoken_for_arrow_keys, values_are_shown_under_the_mouse, a_value_out_of_sight_is_brought_into_it, zoom_by_keys_and_buttons, a_screen_reader_finds_its_way, words_need_no_script,
]

parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
parser.add_argument("--root", required=True)
options = parser.parse_args()


def suite(b):
    with tempfile.TemporaryDirectory(prefix="rb-plan-page-") as folder:
        browser.run(CHECKS, b, Pages(options, folder))


browser.main(suite)
