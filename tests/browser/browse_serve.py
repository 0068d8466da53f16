#!/usr/bin/env python3
"""rbrun browse, compare and export to a folder, without a browser: who gets an answer, what is refused, that figures are those
of the reports, and that nothing is left out. Usage: browse_serve.py BUILD_ROOT"""
import http.client
import json
import os
import re
import resource
import signal
import stat
import sys
import tempfile
import time
import unittest
import urllib.parse

import browse_made

PROGRAMS = sys.argv.pop(1)


class Browse(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.many = browse_made.Many(PROGRAMS, cls.folder.name)
        cls.many.share()
        cls.served, cls.url = cls.many.serve("--from", cls.many.team)
        at = urllib.parse.urlsplit(cls.url)
        cls.port, cls.path = at.port, at.path

    @classmethod
    def tearDownClass(cls):
        cls.served.send_signal(signal.SIGINT)
        code = cls.served.wait(30)
        cls.served.stderr.close()
        cls.folder.cleanup()
        assert code == 0, code

    def ask(self, path, method="GET", host="127.0.0.1", headers=()):
        to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        to.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        to.putheader("Host", host)
        for name, value in headers:
            to.putheader(name, value)
        to.endheaders()
        answer = to.getresponse()
        got = answer.status, dict(answer.getheaders()), answer.read().decode()
        to.close()
        return got

    def listed(self, *args):
        document = json.loads(self.many.rbrun("browse", "--json", *args))
        self.assertEqual(document["format"], "rb-runs/1")
        return document["runs"]

    def document_of(self, page):
        return json.loads(re.search(r'id="document">(.*?)</script>', page, re.S).group(1))

    def read(self, path):
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    # --- who gets an answer

    def test_token_host_and_origin(self):
        run = "run/0/%s/" % self.many.runs[0]
        for path in ("", run, "compare/0/%s/0/%s/" % tuple(self.many.runs)):
            status, headers, _ = self.ask(self.path + path)
            self.assertEqual((status, headers["Cache-Control"]), (200, "no-store"), path)
            self.assertNotIn("Access-Control-Allow-Origin", headers)
            token = self.path.strip("/")
            for refused in ("/" + path, "/" + "0" * 32 + "/" + path, "/" + token[:-1] + "/" + path):
                self.assertEqual(self.ask(refused)[0::2], (403, ""), refused)
            self.assertEqual(self.ask(self.path + path, host="evil.example")[0::2], (403, ""))
            for origin in ("http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1.evil.example"):
                self.assertEqual(self.ask(self.path + path, headers=[("Origin", origin)])[0::2], (403, ""), origin)
            own = [("Origin", "http://127.0.0.1:%d" % self.port)]
            self.assertEqual(self.ask(self.path + path, headers=own)[0], 200)
            self.assertEqual(self.ask(self.path + path, method="POST")[0], 405)

    def test_nothing_else_can_be_named(self):
        run = self.many.runs[0]
        for path in ("run/0/../state/%s/" % run, "run/1/..%2f..%2fstate%2f" + run + "/", "run/1/../../state/" + run + "/",
                     "run/1/%2e%2e/", "run/1/./", "run/2/%s/" % run, "run/-1/%s/" % run, "run/01x/%s/" % run,
                     "run/0/%s" % run, "run/0/%s/journal.db" % run, "run/0/%s/../" % run, "run/0/made/", "run/0//",
                     "run/1/%s/data.json" % run, "run//" + run, "run/0/" + "a" * 3000 + "/", "compare/0/%s/" % run,
                     "compare/0/%s/0/%s/x" % (run, run), "compare/0/%s/0/../" % run, "etc/passwd", "../x",
                     "run/99999999999999999999/%s/" % run):
            self.assertIn(self.ask(self.path + path)[0], (403, 404), path)
        self.assertEqual(self.ask(self.path)[0], 200)

    # --- what is shown

    def test_figures_are_those_of_the_reports(self):
        rows = {row["run"]: row for row in self.listed()}
        for run in self.many.runs:
            row, report = rows[run], json.loads(self.many.rbrun("report", run, "--json"))
            plan = self.read(os.path.join(self.many.state, run, "plan.json"))
            self.assertEqual(row["outcome"], report["outcome"])
            self.assertEqual(row["started_at_us"], report["started_at_us"])
            self.assertEqual((row["time_us"], row["cost_uusd"]), (report["time_us"]["actual"], report["cost_uusd"]["actual"]))
            self.assertEqual(row["time_predicted_us"], report["time_us"]["predicted"]["mean"])
            self.assertEqual(row["cost_predicted_uusd"], report["cost_uusd"]["predicted"]["mean"])
            self.assertEqual((row["best_trial"], row["best_metric"]), (report["best"]["trial"], report["best"]["metric"]))
            self.assertEqual((row["trials"], row["trials_failed"]), (len(report["trials"]), 0))
            self.assertEqual((row["deadline_us"], row["p_on_time"]), (120000000, plan["estimate"]["p_deadline"]))
            self.assertEqual((row["on_time"], row["infras"], row["is_free"]), (True, ["local"], True))
        page = self.ask(self.path)[2]
        shown = {row["run"]: row for row in self.document_of(page)["runs"] if row["from"] is None}
        self.assertEqual({run: shown[run] for run in self.many.runs}, {run: rows[run] for run in self.many.runs})
        self.assertIn(">free<", page)
        self.assertNotIn("$0.00", page.split("<script")[0])

    def test_a_shared_report_is_as_the_run_itself(self):
        mine, theirs = (row for row in self.listed("--from", self.many.team) if row["run"] == self.many.runs[0])
        self.assertEqual(theirs.pop("from"), self.many.team)
        self.assertIsNone(mine.pop("from"))
        self.assertEqual(mine, theirs)
        only = self.listed("--from", self.many.team + "/", "--shared-only")
        self.assertEqual({row["from"] for row in only}, {self.many.team})
        self.assertEqual(self.ask(self.path + "run/1/%s/" % self.many.runs[0])[0], 200)

    def test_two_runs_compared(self):
        document = json.loads(self.many.rbrun("compare", *self.many.runs, "--json"))
        rows = {row["run"]: row for row in self.listed()}
        self.assertEqual(document["runs"], [rows[run] for run in self.many.runs])
        self.assertEqual({d["key"]: d["values"] for d in document["differences"]},
                         {"scheduler.num_trials": ["9", "6"], "parameters.lr.max": ["1", "0.5"]})
        for run, best, rungs, curve in zip(self.many.runs, document["best"], document["rungs"], document["curves"]):
            report = json.loads(self.many.rbrun("report", run, "--json"))
            self.assertEqual((best["trial"], best["metric"]), (report["best"]["trial"], report["best"]["metric"]))
            self.assertEqual(float(best["params"]["lr"]), report["best"]["params"]["lr"])
            self.assertEqual([[r[key] for key in ("stage", "trials", "resource_end", "end_us", "cost_uusd")] for r in rungs],
                             [[s[key] for key in ("stage", "trials", "resource_end", "end_us", "cost_uusd")] for s in report["stages"]])
            metrics = [row[curve["columns"].index("metric")] for row in curve["rows"]]
            self.assertEqual(metrics, sorted(set(metrics)))
            self.assertEqual(metrics[-1], max(t["metric"] for t in report["trials"]))
            self.assertEqual(rungs[-1]["best_metric"], metrics[-1])
        page = self.ask(self.path + "compare/0/%s/0/%s/" % tuple(self.many.runs))[2]
        self.assertEqual(self.document_of(page), document)
        self.assertIn('href="../../../../../run/0/%s/"' % self.many.runs[1], page)
        text = self.many.rbrun("compare", *self.many.runs)
        self.assertRegex(text, r"scheduler\.num_trials +9 +6\n")
        self.assertRegex(text, r"cost +free +free\n")
        same = json.loads(self.many.rbrun("compare", self.many.runs[0], self.many.team + "/" + self.many.runs[0], "--json"))
        self.assertEqual((same["differences"], same["best"][0]), ([], same["best"][1]))
        self.assertEqual(same["curves"][0], same["curves"][1])

    # --- what others wrote

    def test_a_hostile_report_is_text(self):
        pages = [self.ask(self.path + path)[2] for path in
                 ("", "run/1/hostile/", "compare/0/%s/1/hostile/" % self.many.runs[0])]
        for page in pages:
            self.assertIn("&lt;/script&gt;&lt;img src=x", page)
            self.assertNotIn("<img", page.split("<script>")[0])
            self.assertEqual(self.document_of(page)["format"][:3], "rb-")
        data = json.loads(self.ask(self.path + "data.json")[2])
        self.assertNotIn("<img", data["main"])
        said = self.many.rbrun("compare", self.many.runs[0], self.many.team + "/hostile")
        self.assertNotIn("\x1b", said)
        self.assertIn("</script><img", said)

    def test_a_broken_report_has_a_row(self):
        team = os.path.join(self.folder.name, "broken")
        self.many.rbrun("export", self.many.runs[0], "--to", "folder:" + team)
        whole = self.read(os.path.join(team, self.many.runs[0], "report.json"))
        many = browse_made.Many.__new__(browse_made.Many)
        many.team = team
        many.put("no-json", "{")
        many.put("other", '{"format": "rb-report/1"}')
        many.put("no-report", '{"format": "rb-run-page/1"}')
        many.put("wrong", json.dumps({**whole, "report": {**whole["report"], "time_us": {"actual": "long"}}}))
        many.put("na me", json.dumps(whole))
        many.put("large", " " * (16 << 20) + "{}")
        many.put("link", "{}")
        os.remove(os.path.join(team, "link", "report.json"))
        os.symlink("/etc/passwd", os.path.join(team, "link", "report.json"))
        os.mkdir(os.path.join(team, "pipe"))
        os.mkfifo(os.path.join(team, "pipe", "report.json"))
        os.symlink(os.path.join(team, self.many.runs[0]), os.path.join(team, "elsewhere"))
        os.mkdir(os.path.join(team, "empty"))
        with open(os.path.join(team, "index.html"), "w", encoding="utf-8"):
            pass
        rows = {row["run"]: row for row in self.listed("--from", team, "--shared-only")}
        said = {"no-json": "no-json/report.json:1", "other": "format rb-run-page/1", "no-report": "report.outcome",
                "wrong": "report.time_us.actual", "na me": "the name of a run", "large": "at most 16777216",
                "link": "a link", "pipe": "another kind", "elsewhere": "", "empty": "No such file"}
        self.assertEqual(set(rows), set(said) | {self.many.runs[0]})
        for name, words in said.items():
            self.assertEqual(rows[name]["outcome"], "unreadable", name)
            self.assertIn(words, rows[name]["error"], name)
            self.assertTrue(all(rows[name][key] is None for key in ("time_us", "cost_uusd", "trials", "best_metric")))
        self.assertIn("report.time_us.actual", self.many.fails(2, "compare", self.many.runs[0], team + "/wrong"))
        self.assertIn("RB7006", self.many.fails(2, "compare", self.many.runs[0], team + "/pipe"))
        self.assertIn("/nowhere", self.many.fails(1, "browse", "--from", "/nowhere"))
        self.assertIn("--from DIR", self.many.fails(2, "browse", "--shared-only"))
        self.assertIn("this machine only", self.many.fails(2, "browse", "--serve", "0.0.0.0:80"))

    def test_changed_values_of_others_do_no_harm(self):
        """Each value of a report replaced in turn by others: a row or a comparison, or an error; never a crash."""
        whole = self.read(os.path.join(self.many.team, self.many.runs[0], "report.json"))
        places = []

        def walk(node, path):
            if path:
                places.append(path)
            items = node.items() if isinstance(node, dict) else enumerate(node[:2]) if isinstance(node, list) else ()
            for key, value in items:
                walk(value, path + (key,))
        walk({key: whole[key] for key in ("report", "history")}, ())
        team = os.path.join(self.folder.name, "changed")
        many = browse_made.Many.__new__(browse_made.Many)
        many.team = team
        for i, value in enumerate((None, -1, "x", [], {}, 1e300, 9223372036854775807, [[[1]]])):
            for k, place in enumerate(places):
                if (k + i) % 24 == 0:
                    node = copy = json.loads(json.dumps(whole))
                    for key in place[:-1]:
                        node = node[key]
                    node[place[-1]] = value
                    many.put("changed-%d-%d" % (i, k), json.dumps(copy))
        served, url = self.many.serve("--from", team, "--shared-only")
        port, path = urllib.parse.urlsplit(url).port, urllib.parse.urlsplit(url).path
        names = os.listdir(team)
        self.assertGreater(len(names), 30)
        to = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for name in names:
            for page in ("run/1/%s/" % name, "compare/1/%s/1/%s/" % (name, names[0])):
                to.request("GET", path + page)
                answer = to.getresponse()
                self.assertIn("</html>", answer.read().decode()[-20:], (name, page, answer.status))
        to.close()
        served.send_signal(signal.SIGINT)
        self.assertEqual(served.wait(30), 0)
        served.stderr.close()

    # --- own runs that cannot be read, that go on, and that are many

    def test_a_damaged_journal_has_a_row(self):
        run = self.many.damage()
        try:
            row = next(row for row in self.listed() if row["run"] == run)
            self.assertEqual(row["outcome"], "unreadable")
            self.assertIn("rbrun gc", row["error"])
            self.assertRegex(self.many.rbrun("list"), run + " +journal damaged")
        finally:
            os.rename(os.path.join(self.many.state, run), os.path.join(self.folder.name, run))

    def test_a_run_that_goes_on(self):
        run, name = self.many.start_slow()
        try:
            row = next(row for row in self.listed() if row["run"] == name)
            self.assertEqual((row["outcome"], row["on_time"]), ("running", None))
            page = self.path + "run/0/%s/" % name
            if self.ask(page)[0] == 404:  # the list is as old as a second: its own page shows when it is newer
                self.wait_for(lambda: self.ask(self.path)[0] == 200 and self.ask(page)[0] == 200)
            self.assertIn("data-live", self.ask(page)[2][:200])
            first = json.loads(self.ask(page + "data.json")[2])
            self.assertEqual((first["format"], first["ended"]), ("rb-live/1", False))
            self.wait_for(lambda: json.loads(self.ask(page + "data.json")[2])["document"]["history"] != first["document"]["history"])
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(30)
            run.stderr.close()
        self.assertTrue(json.loads(self.ask(page + "data.json")[2])["ended"])
        self.assertNotIn("data-live", self.ask(page)[2][:200])

    def wait_for(self, condition, seconds=30):
        ends = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), ends, "it never came")
            time.sleep(0.02)

    def test_many_runs(self):
        state = os.path.join(self.folder.name, "many")
        self.many.copy(500, state)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        runs = json.loads(self.many.made.do("rbrun", "browse", "--json", "--state-dir", state))["runs"]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.assertEqual([row["run"] for row in runs], ["made-20260101-%06d-aaaaaa" % i for i in reversed(range(500))])
        self.assertEqual({row["outcome"] for row in runs}, {"complete"})
        self.assertLess(spent, 4 if os.environ.get("RB_SLOW") else 1.5, "seconds of processor time")

    # --- export

    def test_export(self):
        team = os.path.join(self.folder.name, "new", "team")
        os.mkdir(os.path.dirname(team))
        said = json.loads(self.many.rbrun("export", self.many.runs[1], "--to", "folder:" + team, "--json"))
        self.assertEqual((said["sink"], said["target"]), ("folder", team + "/" + self.many.runs[1]))
        self.assertGreater(said["events"], 10)
        self.assertEqual(sorted(os.listdir(said["target"])), ["report.html", "report.json"])
        for name in os.listdir(said["target"]):
            mode = os.stat(os.path.join(said["target"], name)).st_mode
            self.assertEqual(stat.S_IMODE(mode), 0o644, name)
        report = json.loads(self.many.rbrun("report", self.many.runs[1], "--json"))
        self.assertEqual(self.read(os.path.join(said["target"], "report.json"))["report"], report)
        with open(os.path.join(said["target"], "report.html"), encoding="utf-8") as f:
            self.assertEqual(self.document_of(f.read())["report"], report)
        index = os.path.join(team, "index.html")
        self.many.rbrun("browse", "--from", team, "--shared-only", "--html", index)
        with open(index, encoding="utf-8") as f:
            self.assertIn('<a href="%s/report.html">' % self.many.runs[1], f.read())


if __name__ == "__main__":
    unittest.main()
