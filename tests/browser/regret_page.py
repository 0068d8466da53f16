#!/usr/bin/env python3
"""The page of rbsim --regret in a real browser: it draws the numbers of its document, in both themes and on a phone, says them to
the arrow keys, and asks for nothing. Usage: regret_page.py BUILD_ROOT SOURCE_ROOT"""
import os
import subprocess
import sys
import tempfile

import browser
from browser import Keys

CUT = """
    return Array.from(document.querySelectorAll('.place')).map(function (place) {
        var frame = place.getBoundingClientRect();
        return Array.from(place.querySelectorAll('svg text')).filter(function (t) {
            var r = t.getBoundingClientRect();
            return r.width > 0 && (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1);
        }).map(function (t) { return t.textContent; });
    })"""


def check_numbers(b, page):
    b.open(page)
    doc = b.js("return JSON.parse(document.getElementById('document').textContent)")
    series = b.js("return rb_page.charts[0].chart.getOption().series.map(function (s) {"
                  " return {name: s.name, type: s.type, data: s.data.map(function (d) { return d.value; })}; })")
    assert len(doc["variants"]) == 2, doc["variants"]
    for variant in doc["variants"]:
        curve = variant["search"]["regret_curve"]
        n = curve["running"].index(0) + 1
        line, = [s["data"] for s in series if s["name"] == variant["label"] and s["type"] == "line"]
        wanted = [[uusd / 1e6, mean] for uusd, mean in zip(curve["cost_uusd"][:n], curve["mean"])]
        assert line == wanted, (variant["label"], line, wanted)
        target = [s["data"] for s in series if s["name"] == variant["label"] and s["type"] == "custom"][1][0]
        q = variant["search"]["target_uusd"]
        assert target[:2] == [q["p5"] / 1e6, q["p95"] / 1e6] and target[3] == q["p50"] / 1e6, (target, q)
    rows = b.js("return document.querySelectorAll('figure details.numbers tbody tr').length")
    assert rows == sum(v["search"]["regret_curve"]["running"].index(0) + 1 for v in doc["variants"]), rows


def check_nothing_is_cut_off(b, page):
    for width in (1280, 375, 320):
        b.size((width, 800))
        b.open(page)
        assert b.js(CUT) == [[]], (width, b.js(CUT))
        wide = b.js("return document.scrollingElement.scrollWidth")
        assert wide <= width, "it scrolls sideways at %d: %d" % (width, wide)
    b.size(browser.DESKTOP)


def check_keys_and_colours(b, page):
    b.open(page)
    b.focus("figure[data-chart=regret] .place")
    b.keys(Keys.ARROW_RIGHT)
    said = b.js("return document.getElementById('live').textContent")
    assert said == "asha/random:static, $0.00: regret 1.0000 (95 %: 1.0000 to 1.0000), 20 of 20 runs go on", said
    light = b.js("return rb_page.charts[0].place.innerHTML")
    b.js("document.getElementById('theme').click()")
    assert b.js("return rb_page.charts[0].place.innerHTML") != light


def check_it_asks_for_nothing(b, page):
    b.forget()
    b.open(page)
    assert b.requests() == ["file://" + page], b.requests()
    assert b.complaints() == [], b.complaints()


def suite(b):
    build, root = (os.path.abspath(path) for path in sys.argv[1:])
    example = os.path.join(root, "examples", "search-table")
    with tempfile.TemporaryDirectory(prefix="rb-regret-page-") as folder:
        page = os.path.join(folder, "regret.html")
        subprocess.run([os.path.join(build, "rbsim"), "--profile-file", os.path.join(example, "profile.yaml"),
                        "--prices", os.path.join(root, "examples", "prices", "aws-us-east-1.csv"),
                        "--blackbox", os.path.join(example, "toy_hills.csv"), "--nodes", "2", "--replicates", "20",
                        "--set", "metric.target=0.88", "--compare", "asha/random:static,asha/tpe:static", "--regret", page,
                        os.path.join(example, "job.yaml")], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        browser.run([check_numbers, check_nothing_is_cut_off, check_keys_and_colours, check_it_asks_for_nothing], b, page)


browser.main(suite)
