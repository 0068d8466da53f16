#!/usr/bin/env python3
"""The page of a real run in a real browser: what it says is what its report says, and it keeps to itself.
Usage: run_page.py BUILD_ROOT"""
import json
import os
import sys
import tempfile

import browser
import run_made


def number(value):
    return "%.6g" % value


def chart(b, name):
    """The option that is drawn: names of series, and of each the data's values and words."""
    return b.js("""
        var name = arguments[0], chart = rb_page.charts.filter(function (c) { return c.name === name; })[0];
        return chart.option.series.map(function (s) {
            return {name: s.name, data: s.data.map(function (d) { return {value: d.value, name: d.name}; })};
        });""", name)


def check_words(b, report):
    best = report["best"]
    summary = b.js("return document.getElementById('summary').textContent")
    assert summary.startswith("Complete after "), summary
    assert "best: trial %d, val_acc %s." % (best["trial"], number(best["metric"])) in summary, summary
    rows = b.table("#trials")
    assert len(rows) == len(report["trials"]), rows
    assert int(rows[0][0]) == best["trial"], rows[0]
    for row in rows:
        trial = report["trials"][int(row[0])]
        assert row[1] == number(trial["metric"]) and row[2] == trial["state"], (row, trial)
        assert row[3] == str(trial["resource"]) and row[4] == str(trial["restarts"]), (row, trial)
        assert row[5] == number(trial["params"]["lr"]) and row[6] == trial["params"]["odd"], (row, trial)
    nodes = b.table("#nodes")
    assert [n[1] for n in nodes] == [n["id"] for n in report["nodes"]], nodes
    stages = b.table("#timeline > .table")
    assert [s[:3] for s in stages] == [[str(s["stage"]), str(s["trials"]), str(s["resource_end"])] for s in report["stages"]]
    left = b.js("return document.getElementById('left').textContent")
    assert "Instances left: %d " % report["leak_check"]["instances_left"] in left, left
    assert "no price" in b.js("return document.getElementById('money').textContent")


def check_charts(b, document):
    history = document["history"]
    bars = [d for s in chart(b, "run-gantt") if s["name"].startswith("stage ") for d in s["data"]]
    drawn = sorted((round(d["value"][0] * 1000), round(d["value"][1] * 1000)) for d in bars)
    assert drawn == sorted((s["start_us"], s["end_us"]) for s in history["starts"]), drawn
    usage = {s["name"]: s["data"] for s in chart(b, "run-usage")}
    assert [d["value"][1] for d in usage["GPUs in use"]][:len(history["gpus"]["rows"])] == [r[2] for r in history["gpus"]["rows"]]
    assert max(d["value"][1] for d in usage["GPUs owned"]) == 4
    points = sorted(tuple(d["value"]) for s in chart(b, "run-learning") for d in s["data"] if d["value"][0] is not None)
    assert points == sorted((r[1], r[2]) for t in history["reports"]["trials"] for r in t["rows"])
    actual = [s["data"][0]["value"][0] for s in chart(b, "run-outcome") if s["name"] == "this run"]
    assert actual == [document["report"]["time_us"]["actual"] / 1000], actual


def check_looks(b):
    for theme in ("light", "dark"):
        b.emulate(prefers_color_scheme=theme)
        for size in (browser.DESKTOP, browser.PHONE):
            b.size(size)
            b.wait("document.scrollingElement.scrollWidth <= innerWidth")
    b.size(browser.DESKTOP)


def main(b):
    with tempfile.TemporaryDirectory() as folder:
        made = run_made.Made(sys.argv[1], folder)
        run = made.start()
        assert run.wait(60) == 0, run.stderr.read()
        run.stderr.close()
        report = json.loads(made.report("--json", "--html", "page.html", "--gantt", "gantt.svg"))
        b.open(os.path.join(folder, "page.html"))
        document = json.loads(b.js("return document.getElementById('document').textContent"))
        assert document["report"] == report
        check_words(b, report)
        check_charts(b, document)
        check_looks(b)
        assert b.js("return window.pwned") is None
        assert b.complaints() == [], "the console has complaints"
        assert [u for u in b.requests() if not u.startswith(("file:", "data:"))] == []
        with open(os.path.join(folder, "gantt.svg"), encoding="utf-8") as f:
            assert f.read(4) == "<svg"
    print("a page of %d trials, and %d starts" % (len(report["trials"]), len(document["history"]["starts"])))


browser.main(main)
