#!/usr/bin/env python3
"""The page over many runs in a real browser: it filters, sorts, chooses two and compares them, and follows a run that goes on;
what others wrote stays text. Usage: browse_page.py BUILD_ROOT"""
import signal
import sys
import tempfile

import browse_made
import browser

ROWS = "Array.from(document.querySelectorAll('#runs tbody tr')).filter(function (r) { return !r.hidden; })"
NAMES = ROWS + ".map(function (r) { return r.cells[0].textContent; })"


def type_into(b, words):
    b.js("var field = document.querySelector('.browse input'); field.value = arguments[0];"
         "field.dispatchEvent(new Event('input'))", words)


def box(run):
    return "document.querySelector('#runs input[value=\"run/0/%s/\"]')" % run


def check_filter_and_sort(b, many):
    whole = b.js("return " + NAMES)
    assert set(many.runs) < set(whole) and "hostile" in whole, whole
    type_into(b, "COMPLETE this machine")
    assert set(b.js("return " + NAMES)) == set(many.runs), b.js("return " + NAMES)
    assert b.js("return document.querySelector('.browse [role=status]').textContent") == "2 of %d" % len(whole)
    type_into(b, "complete nothing-like-it")
    assert b.js("return " + NAMES) == []
    type_into(b, "")
    b.js("Array.from(document.querySelectorAll('#runs thead button')).filter(function (e) {"
         "  return e.textContent === 'trials'; })[0].click()")
    own = [name for name in b.js("return " + NAMES) if name in many.runs]
    assert own[0] == many.runs[1], "fewer trials come first"


def check_live(b, many):
    """A run begins while the page is open, and what was typed and chosen stays."""
    type_into(b, "made")
    b.js(box(many.runs[1]) + ".click()")
    run, name = many.start_slow()
    try:
        b.wait(NAMES + ".indexOf('%s') >= 0" % name, 20)
        assert b.js("return document.querySelector('.browse input').value") == "made"
        assert b.js("return " + box(many.runs[1]) + ".checked")
        assert "hostile" not in b.js("return " + NAMES), "the filter was lost"
        assert "1 running" in b.js("return document.getElementById('summary').textContent")
        b.js("document.querySelector('#runs a[href=\"run/0/%s/\"]').click()" % name)
        b.wait("document.documentElement.dataset.live === 'on'", 15)
        assert b.js("return document.title") == "Run " + name
        first = b.js("return document.getElementById('summary').textContent")
        b.wait("document.getElementById('summary').textContent !== %r" % first, 15)
    finally:
        run.send_signal(signal.SIGINT)
        run.wait(30)
        run.stderr.close()
    b.wait("document.documentElement.dataset.live === 'ended'", 15)


def check_compare(b, many, url):
    b.open(url)
    b.wait("document.documentElement.dataset.live === 'on'")
    link = "document.querySelector('.browse > a')"
    assert not b.js("return %s.hasAttribute('href')" % link)
    b.focus("#runs input[value=\"run/1/%s/\"]" % many.runs[0])
    b.keys(browser.Keys.SPACE)
    for run in many.runs:
        b.js(box(run) + ".click()")
    assert b.js("return document.querySelectorAll('#runs input:checked').length") == 2, "of three the first is let go"
    b.js(link + ".click()")
    b.wait("document.title === 'Two runs side by side'")
    charts = b.js("return rb_page.charts.map(function (c) { return [c.name, c.option.series.map(function (s) { return s.data.length; })]; })")
    assert [name for name, _ in charts] == ["compare-time"], "a free run has no dollars"
    assert all(n > 0 for n in charts[0][1]) and len(charts[0][1]) == 4, charts
    assert dict(row[:2] for row in b.table("#differences"))["scheduler.num_trials"] == "9"
    for media in ("dark", "light"):
        b.emulate(prefers_color_scheme=media)
        for size in (browser.PHONE, browser.DESKTOP):
            b.size(size)
            assert b.js("return document.documentElement.scrollWidth <= innerWidth"), (media, size)
    assert b.complaints() == [], b.complaints()
    b.js("document.querySelector('#runs a').click()")
    b.wait("document.title === 'Run %s'" % many.runs[0])
    assert b.complaints() == [], b.complaints()


def check_hostile(b, many, url):
    for page in ("", "run/1/hostile/", "compare/0/%s/1/hostile/" % many.runs[0]):
        b.open(url + page)
        b.wait("document.readyState === 'complete'")
        assert b.js("return window.pwned === undefined && !document.querySelector('img')"), page
        assert all(request.startswith(url) for request in b.requests()), b.requests()


def main():
    why = browser.missing()
    if why:
        print("skipped: " + why)
        return browser.SKIP
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as b:
        many = browse_made.Many(sys.argv[1], folder)
        many.share()
        served, url = many.serve("--from", many.team)
        b.open(url)
        b.wait("document.documentElement.dataset.live === 'on'")
        assert b.complaints() == [], b.complaints()
        check_filter_and_sort(b, many)
        check_live(b, many)
        check_compare(b, many, url)
        check_hostile(b, many, url)
        served.send_signal(signal.SIGTERM)
        assert served.wait(30) == 0
        served.stderr.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
