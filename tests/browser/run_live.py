#!/usr/bin/env python3
"""The live page in a real browser: it follows a real run to its end and stops by itself; when the controller is killed it says
so. Usage: run_live.py BUILD_ROOT"""
import json
import sys
import tempfile

import browser
import run_made

STATE = "document.documentElement.dataset.live"
SAID = "document.querySelector('.live').textContent"


def check_follows(b, made):
    run, url = made.start_served()
    b.open(url)
    b.wait(STATE + " === 'on'")
    b.js("window.same_page = true; document.querySelector('#timeline .toggles button').click();"
         "document.querySelector('#trials').dataset.kept = 'yes'")
    switched_off = b.js("return document.querySelector('#timeline .toggles button').textContent")
    first = b.js("return document.getElementById('summary').textContent")
    assert first.startswith("Running for "), first
    assert b.js("return !!document.getElementById('progress')"), "its progress is not shown"
    stands = dict(b.table("#progress"))
    assert "not known" not in (stands["ends by, 50 %"], stands["ends by, 95 %"], stands["P(on time)"]), stands
    assert "dollars so far" not in stands, "a free run shows dollars"
    b.js("Array.from(document.querySelectorAll('#trials thead button, #timeline thead button')).filter(function (e) {"
         "  return e.textContent === 'stage'; })[0].focus()")
    b.keys(browser.Keys.ENTER, browser.Keys.ENTER)
    b.wait("document.getElementById('summary').textContent !== %s" % json.dumps(first), 15)
    b.wait(STATE + " === 'ended'", 90)
    assert run.wait(30) == 0
    run.stderr.close()
    report = json.loads(made.report("--json"))
    assert b.js("return document.getElementById('summary').textContent").startswith("Complete after ")
    assert [int(row[0]) for row in b.table("#trials")][0] == report["best"]["trial"]
    assert [row[0] for row in b.table("#timeline > .table")] == ["2", "1", "0"], "newer tables are not sorted as the old ones were"
    place = b.js("var e = document.activeElement; return [e.textContent, e.isConnected, e.closest('th') && e.closest('th').getAttribute('aria-sort')]")
    assert place == ["stage", True, "descending"], place
    facts = b.js("return Array.from(document.querySelectorAll('.facts dt'), function (e) { return e.textContent; })")
    assert facts == ["spent training", "time", "outcome", "val_acc"], facts
    assert b.js("return rb_page.charts.filter(function (c) { return c.name === 'run-gantt'; })[0].option.series"
                ".reduce(function (n, s) { return n + (/^stage /.test(s.name) ? s.data.length : 0); }, 0)") == 13
    assert b.js("return !document.getElementById('progress')"), "there is nothing more to foresee"
    assert b.js("return window.same_page && document.querySelector('#trials').dataset.kept"), "the page was replaced"
    pressed = b.js("var name = arguments[0]; return Array.from(document.querySelectorAll('#timeline .toggles button'))"
                   ".filter(function (e) { return e.textContent === name; })[0].getAttribute('aria-pressed')", switched_off)
    assert pressed == "false", "a toggle did not stay as it was set"
    assert b.js("return window.pwned") is None
    b.forget()
    b.wait("performance.now() > %f" % (b.js("return performance.now()") + 2500))
    assert b.requests() == [], "it still asks"
    assert "ended" in b.js("return " + SAID)


def check_pool(b, made):
    """From the list of jobs to one of them, and back to a list that has changed."""
    pool, url = made.start_served(made.pool(second_arrives=3))
    b.open(url)
    b.wait(STATE + " === 'on'")
    b.wait("!!document.querySelector('#jobs a[href=\"1/\"]')", 15)
    assert not b.js("return document.querySelector('#jobs a[href=\"2/\"]')"), "a link to a job that has not begun"
    b.wait("!!document.querySelector('#jobs a[href=\"2/\"]')", 15)
    assert b.complaints() == []
    b.js("document.querySelector('#jobs a[href=\"2/\"]').click()")
    b.wait("document.title.indexOf('Run made-') === 0 && " + STATE, 15)
    assert b.js("return rb_page.charts.length") > 0
    b.js("history.back()")
    b.wait("document.title.indexOf('Pool made-pool-') === 0 && " + STATE, 15)
    made.open_gate()
    b.wait(STATE + " === 'ended'", 40)
    assert pool.wait(30) == 0
    pool.stderr.close()
    assert b.js("return document.getElementById('summary').textContent").startswith("2/2 jobs")


def check_killed(b, made):
    run, url = made.start_served()
    b.open(url)
    b.wait(STATE + " === 'on'")
    assert b.complaints() == []
    run.kill()
    run.wait()
    run.stderr.close()
    b.wait(STATE + " === 'lost'", 15)
    assert b.js("return " + SAID).startswith("Connection lost, last seen "), b.js("return " + SAID)
    rows = b.table("#timeline > .table")
    assert len(rows) == 3, "what was seen last is gone"
    made.do("rbrun", "stop", "--state-dir", "state", made.run_id())


def main(b):
    with tempfile.TemporaryDirectory() as folder:
        check_follows(b, run_made.Made(sys.argv[1], folder, pause=0.4))
        assert b.complaints() == [], "the console has complaints"
    with tempfile.TemporaryDirectory() as folder:
        check_killed(b, run_made.Made(sys.argv[1], folder, pause=1))
    with tempfile.TemporaryDirectory() as folder:
        check_pool(b, run_made.Made(sys.argv[1], folder, pause=0.3))
        assert b.complaints() == [], "the console has complaints"
    print("a live page followed a run to its end, and a pool, and outlived a killed one")


browser.main(main)
