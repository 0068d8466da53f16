#!/usr/bin/env python3
"""The page of a real run in a real browser: what it says is what its report says, and it keeps to itself.
Usage: run_page.py BUILD_ROOT"""
import json
import math
import os
import subprocess
import sys
import tempfile

import browser
import run_made


def number(value):
    return "%.6g" % value


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
    money = b.js("return document.getElementById('money').textContent")
    assert "Nothing in this run has a price." in money, money
    assert "$" not in b.js("return document.querySelector('main').innerText"), "a free run shows dollars"


def check_facts(b, report):
    facts = {name: (figure, remark) for name, figure, remark in b.js(
        "return Array.from(document.querySelectorAll('.facts > div'), function (f) {"
        "  return Array.from(f.children, function (c) { return c.textContent; }); })")}
    spent = report["node_time_us"]
    assert facts.pop("spent training")[0] == "%.0f %%" % (100 * spent["by"]["train"] / spent["actual"]), facts
    time = facts.pop("time")[1]
    assert time.startswith("expected ") and "\n95 % of runs: at most " in time, time
    assert facts.pop("outcome") == ("Complete", "deadline 2 m 0 s: kept"), facts
    assert facts.pop("val_acc")[0] == number(report["best"]["metric"]), facts
    assert facts == {}, facts
    assert b.js("return document.querySelectorAll('.failed').length") == 0


def check_node_time(b, report, document):
    """What was at work and what was not, of 4 slots for as long as the node was there."""
    node, = document["history"]["nodes"]
    assert node["node_time_us"] == report["node_time_us"], node
    assert report["node_time_us"]["actual"] == sum(report["node_time_us"]["by"].values())
    assert report["node_time_us"]["actual"] == 4 * (node["ended_us"] - node["running_us"]), node
    assert report["node_time_us"]["by"]["minimum"] == 0 < report["node_time_us"]["by"]["train"]
    stacked = sum(s["data"][0]["value"] for s in b.chart("run-node-time"))
    assert abs(stacked - report["node_time_us"]["actual"] / 1000) < 1, stacked


def check_command(b, report):
    """Pasted into a shell, it starts the script with the best trial's parameters."""
    shown = b.js("return document.querySelector('pre.command').textContent")
    assert shown == report["best"]["command"], shown
    assert shown.startswith("RB_PARAM_LR=") and shown.endswith(" sh train.sh"), shown
    said = subprocess.run(["sh", "-c", shown.replace(" sh train.sh", " sh -c 'printf %s:%s \"$RB_PARAM_LR\" \"$RB_PARAM_ODD\"'")],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    lr, odd = said.split(":", 1)
    assert float(lr) == report["best"]["params"]["lr"] and odd == report["best"]["params"]["odd"], said


def heading(b, section, title):
    """Presses a heading by the keyboard; what aria-sort says then."""
    b.js("var t = arguments[1];"
         "Array.from(document.querySelectorAll(arguments[0] + ' thead button')).filter(function (e) {"
         "  return e.textContent === t; })[0].focus()", section, title)
    b.keys(browser.Keys.ENTER)
    return b.js("return document.activeElement.closest('th').getAttribute('aria-sort')")


def check_sorting(b):
    first = b.table("#trials")
    assert heading(b, "#trials", "lr") == "ascending"
    up = b.table("#trials")
    assert [float(r[5]) for r in up] == sorted(float(r[5]) for r in first), up
    assert heading(b, "#trials", "lr") == "descending"
    assert b.table("#trials") == up[::-1], "no order by size, or ties"
    assert heading(b, "#trials", "lr") is None
    assert b.table("#trials") == first, "the first order does not come back"
    # Equal ones stay in the order they were in, whichever way.
    for order in ("ascending", "descending"):
        assert heading(b, "#trials", "epoch") == order
        rows = b.table("#trials")
        assert rows == sorted(first, key=lambda r: int(r[3]), reverse=order == "descending"), rows
    assert heading(b, "#trials", "epoch") is None
    # Durations by their size; a total stays where it is.
    assert heading(b, "#money", "GPU time") == "ascending"
    rows = b.table("#money .table:not(figure .table)")
    assert rows[-1][0] == "all" and [r[2] for r in rows[:-1]] == sorted((r[2] for r in rows[:-1]), key=lambda s: float(s[:-2])), rows
    assert heading(b, "#money", "GPU time") == "descending" and heading(b, "#money", "GPU time") is None


def check_failed_script(b, folder):
    """A script that fails at once: red at the top."""
    made = run_made.Made(sys.argv[1], folder)
    with open(os.path.join(folder, "train.sh"), "w", encoding="utf-8") as f:
        f.write("echo no such file; exit 3\n")
    run = made.start()
    assert run.wait(60) != 0
    run.stderr.close()
    made.report("--html", "page.html")
    b.open(os.path.join(folder, "page.html"))
    red = b.js("return Array.from(document.querySelectorAll('.facts .failed dt'), function (e) { return e.textContent; })")
    assert "outcome" in red and "val_acc" in red, red
    colours = b.js("return ['.facts .failed dd', '#summary', '#events td.failed'].map(function (s) {"
                   "  return getComputedStyle(document.querySelector(s)).color; })")
    assert len(set(colours)) == 1 and colours[0] != b.js("return getComputedStyle(document.body).color"), colours
    assert b.complaints() == [], "the console has complaints"


def check_charts(b, document):
    history = document["history"]
    bars = [d for s in b.chart("run-gantt") if s["name"].startswith("stage ") for d in s["data"]]
    drawn = sorted((round(d["value"][0] * 1000), round(d["value"][1] * 1000)) for d in bars)
    assert drawn == sorted((s["start_us"], s["end_us"]) for s in history["starts"]), drawn
    usage = {s["name"]: s["data"] for s in b.chart("run-usage")}
    assert [d["value"][1] for d in usage["GPUs in use"]][:len(history["gpus"]["rows"])] == [r[2] for r in history["gpus"]["rows"]]
    assert max(d["value"][1] for d in usage["GPUs owned"]) == 4
    points = sorted(tuple(d["value"]) for s in b.chart("run-learning") for d in s["data"] if d["value"][0] is not None)
    assert points == sorted((r[1], r[2]) for t in history["reports"]["trials"] for r in t["rows"])
    actual = [s["data"][0]["value"][0] for s in b.chart("run-outcome") if s["name"] == "this run"]
    assert actual == [document["report"]["time_us"]["actual"] / 1000], actual


def check_parameters(b, document):
    """Lines and dots lie where the values are; for nine trials no importance is given."""
    trials, law = document["report"]["trials"], document["plan"]["job"]["config"]["parameters"]["lr"]
    span = math.log(law["max"] / law["min"])
    expected = sorted(math.log(t["params"]["lr"] / law["min"]) / span for t in trials)
    lines = [d["value"] for s in b.chart("run-parallel") for d in s["data"] if d["value"][0] is not None]
    assert len(lines) == 4 * len(trials), lines  # lr, odd, epoch, val_acc
    dots = [d["value"][0] for s in b.chart("run-slices") for d in s["data"] if "; lr: " in d["name"]]
    for drawn in (sorted(y for x, y in lines if x == 0), sorted(dots)):
        assert len(drawn) == len(expected) and all(abs(a - e) < 1e-9 for a, e in zip(drawn, expected)), drawn
    words = b.js("return document.getElementById('parameters').textContent")
    assert document["importance"]["state"] == "few" and "there are 9 at one epoch, and 16 are needed" in words, words
    assert not b.js("return document.querySelector('[data-chart=run-importance]')")


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
        check_parameters(b, document)
        check_facts(b, report)
        check_node_time(b, report, document)
        check_command(b, report)
        check_sorting(b)
        check_looks(b)
        assert b.js("return window.pwned") is None
        assert b.complaints() == [], "the console has complaints"
        assert [u for u in b.requests() if not u.startswith(("file:", "data:"))] == []
        with open(os.path.join(folder, "gantt.svg"), encoding="utf-8") as f:
            assert f.read(4) == "<svg"
    with tempfile.TemporaryDirectory() as folder:
        check_failed_script(b, folder)
    print("a page of %d trials, and %d starts" % (len(report["trials"]), len(document["history"]["starts"])))


browser.main(main)
