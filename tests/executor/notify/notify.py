"""`notify:` in a job: every notice reaches every hook, whatever the hook does and whichever process is killed; no hook disturbs a run; no
secret is written down. Usage: notify.py --bin BUILD_DIR [TEST]..."""
import argparse
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "cli"))
from hook_server import Server  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

BIN = None
MARK = "xyzzy" + "hunter2"
SECRET = "whsec_" + "eHl6enlodW50ZXIyLWtleQ=="  # base64 of MARK and "-key"
JOB = """name: heard
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 2, min_resource: 1, max_resource: 1, eta: 2, unit: epoch}
trial: {gpus: 1, timeout: 1m}
profile: fast
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [local]}
notify: %s
"""
TRAIN = """env >>"$TOP/trials"
echo epoch=1 val_acc=0.$((5 + RB_TRIAL_ID))
while [ -e "$TOP/hold" ]; do sleep 0.05; done
echo weights >"$RB_CHECKPOINT_DIR/model"
"""


class Notify(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="rb-notify-")
        self.addCleanup(shutil.rmtree, self.top)
        self.here = RealRun(BIN, self.top, PATH=self.top + "/bin:/usr/bin:/bin", RB_LOCAL_SLOTS="2", TOP=self.top,
                            RB_TEST_NOTIFY_MS="1", LC_ALL="C.UTF-8")
        self.here.write("profile.yaml", profile("fast", 0.05, accelerator="CPU", startup_s=0.05, checkpoint_s=0.05,
                                                queue_s=0, init_s=0))
        self.here.say("rbprofile", "import", "profile.yaml")
        self.here.write("work/train.sh", TRAIN)

    def server(self, *args, **how):
        server = Server(*args, **how)
        self.addCleanup(server.stop)
        return server

    def plan(self, hooks, expect=0):
        self.here.write("work/job.yaml", JOB % json.dumps(hooks))
        return self.here.say("rbplan", "-o", "plan.json", "work/job.yaml", "--time-limit", "1s", "--planner", "static",
                             expect=expect)

    def run_plan(self, hooks, expect=0, **env):
        self.plan(hooks)
        return self.rbrun("plan.json", "--yes", expect=expect, **env)

    def rbrun(self, *argv, **how):
        return self.here.say("rbrun", *argv, "--state-dir", "state", **how)

    def begin(self, **env):
        """A run that trains until the file `hold` goes."""
        self.here.write("hold", "")
        log = open(os.path.join(self.top, "log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        run = subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--yes", "--state-dir", "state"], stderr=log,
                               stdout=log, cwd=self.top, env=dict(self.here.env, **env))
        self.addCleanup(lambda: run.poll() is None and (run.kill(), run.wait()))
        return run

    def wait_for(self, what, condition, seconds=30):
        deadline = time.time() + seconds
        while not condition():
            self.assertLess(time.time(), deadline, "no %s within %d s" % (what, seconds))
            time.sleep(0.02)

    def read(self, name):
        with open(os.path.join(self.top, name), encoding="utf-8") as f:
            return f.read()

    def run_dir(self):
        name, = (n for n in os.listdir(os.path.join(self.top, "state")) if n.startswith("heard-"))
        return os.path.join(self.top, "state", name)

    def outbox(self):
        database = sqlite3.connect(os.path.join(self.run_dir(), "journal.db"))
        rows = database.execute("SELECT seq, kind, hook, state FROM notice JOIN delivery USING (seq) ORDER BY hook, seq").fetchall()
        database.close()
        return rows

    def expect_ids(self, server, n):
        run_id = os.path.basename(self.run_dir())
        self.assertEqual(list(dict.fromkeys(server.ids())), ["%s-%d" % (run_id, i + 1) for i in range(n)])
        self.assertEqual(server.wrong, [])

    # --- delivery

    def test_failing_nine_times_of_ten(self):
        failures = [429, 500, "cut", 503, "half", 302, 404, "cut", 500]
        s = self.server(lambda n: 200 if n % 10 == 9 else failures[n % 10], secret=SECRET)
        self.run_plan([{"webhook": s.url, "secret": "HOOK_SECRET"}], HOOK_SECRET=SECRET)
        if len(s.taken) < 2:
            self.rbrun("notify", "--wait", "20s", HOOK_SECRET=SECRET)
        self.expect_ids(s, 2)
        self.assertEqual(s.types(), ["started", "finished"])
        self.assertEqual(len(s.asked), 20)
        notice = s.taken[1][1]
        self.assertEqual((notice["format"], notice["job"], notice["outcome"]), ("rb-notice/1", "heard", "complete"))
        self.assertEqual((notice["best"]["trial"], notice["best"]["metric"]), (1, "val_acc"))
        self.assertRegex(notice["text"], r"^heard-\S+ is over: complete, after .*; best: trial 1, val_acc 0\.6$")
        self.assertEqual({row[3] for row in self.outbox()}, {"delivered"})

    def test_killed_between_event_and_delivery(self):
        s = self.server(lambda n: "hang", secret="plain words")
        self.plan([{"webhook": s.url, "secret": "HOOK_SECRET"}])
        run = self.begin(HOOK_SECRET="plain words")
        self.wait_for("request", lambda: s.asked)
        run.kill()
        run.wait()
        self.assertEqual(self.outbox(), [(1, "started", 0, "waiting")])
        s.answer = lambda n: 200
        os.remove(os.path.join(self.top, "hold"))
        self.rbrun("resume", HOOK_SECRET="plain words")
        self.expect_ids(s, 3)
        self.assertEqual(s.types(), ["started", "resumed", "finished"])

    def test_a_server_that_is_away_until_the_run_is_over(self):
        away = self.server()
        self.plan([{"webhook": away.url}, {"command": "cat >>\"$TOP/heard\""}])
        away.stop()
        begun = time.monotonic()
        said = self.rbrun("plan.json", "--yes", RB_TEST_NOTIFY_MS="60000").stderr
        self.assertLess(time.monotonic() - begun, 50)
        self.assertRegex(said, r"2 notices were not delivered: webhook http://127\.0\.0\.1:\d+/hook: .*; `rbrun notify heard-\S+` tries again")
        done = self.rbrun("notify", "--wait", "1s", expect=1)
        self.assertEqual(done.stdout, "0 delivered, 2 left\n")
        self.assertRegex(done.stderr, r"2 notices were not delivered: webhook .* \[RB4402\]")
        away.http = type(away.http)(("127.0.0.1", away.port), away.http.RequestHandlerClass)
        threading.Thread(target=away.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.assertEqual(self.rbrun("notify").stdout, "2 delivered, 0 left\n")
        self.expect_ids(away, 2)
        self.assertEqual([json.loads(line)["type"] for line in self.read("heard").splitlines()], ["started", "finished"])

    def test_a_hook_that_is_gone_and_one_that_chooses(self):
        gone, chosen = self.server(lambda n: 410), self.server()
        said = self.run_plan([{"webhook": gone.url}, {"webhook": chosen.url, "on": ["finished", "node_lost"]}]).stderr
        self.assertIn("status 410: it wants no more notices, and gets none", said)
        self.assertNotIn("not delivered", said)
        self.assertEqual((len(gone.asked), chosen.types()), (1, ["finished"]))
        self.assertEqual([row[3] for row in self.outbox()], ["refused", "delivered"])

    def test_after_24_hours_a_notice_is_given_up(self):
        s = self.server(lambda n: 500)
        self.run_plan([{"webhook": s.url}], RB_TEST_NOTIFY_MS="60000")
        database = sqlite3.connect(os.path.join(self.run_dir(), "journal.db"))
        database.execute("UPDATE notice SET due_unix_us = due_unix_us - 86400000000 WHERE kind = 'started'")
        database.commit()
        database.close()
        self.assertIn("given up after 24 hours", self.rbrun("notify", "--wait", "1s", expect=1, RB_TEST_NOTIFY_MS="60000").stderr)
        self.assertEqual([row[3] for row in self.outbox()], ["given up", "waiting"])

    # --- the run goes on

    def test_hooks_that_hang_hold_up_nothing(self):
        s = self.server(lambda n: "hang")
        self.plan([{"webhook": s.url}, {"command": "sleep 1000"}])
        begun = time.monotonic()
        self.assertIn("not delivered", self.rbrun("plan.json", "--yes").stderr)
        self.assertLess(time.monotonic() - begun, 50)
        report = json.loads(self.rbrun("report", "--json").stdout)
        self.assertEqual(report["outcome"], "complete")
        self.assertLess(report["time_us"]["actual"], 30e6)
        left = subprocess.run(["pgrep", "-f", "^sleep 1000$"], capture_output=True, text=True, check=False).stdout.split()
        self.assertEqual([p for p in left if os.path.realpath("/proc/%s/cwd" % p).startswith(self.top)], [])

    # --- forms

    def test_slack_gets_its_own_form(self):
        s = self.server()
        self.plan([{"webhook": "$SLACK_URL", "format": "slack", "on": ["resumed"]}])
        run = self.begin(SLACK_URL=s.url)
        self.wait_for("training", lambda: "val_acc" in self.read("log"))
        run.send_signal(signal.SIGTERM)
        run.wait(30)
        os.remove(os.path.join(self.top, "hold"))
        self.rbrun("resume", SLACK_URL=s.url)
        self.assertEqual([list(body) for _, body in s.taken], [["text"]])
        self.assertRegex(s.taken[0][1]["text"], r"^heard-\S+ goes on$")

    def test_mail_and_commands(self):
        self.here.write("bin/sendmail", "#!/bin/sh\necho \"$0 $*\" >>\"$HOME/mail\"\ncat >>\"$HOME/mail\"\n")
        os.chmod(os.path.join(self.top, "bin/sendmail"), 0o700)
        self.run_plan([{"email": "ann@example.org", "on": ["finished"]},
                       {"command": "env >\"$TOP/seen\"; cat >\"$TOP/said\"; exit 0", "on": ["finished"]},
                       {"webhook": "http://127.0.0.1:1/", "secret": "HOOK_SECRET", "on": ["resumed"]}],
                      HOOK_SECRET=SECRET, AWS_SECRET_ACCESS_KEY=MARK)
        mail, seen, said = map(self.read, ("mail", "seen", "said"))
        self.assertRegex(mail, r"\A\S*sendmail -t -i\nTo: ann@example\.org\nSubject: rubberband: finished: heard-\S+\n"
                               r"Auto-Submitted: auto-generated\nMIME-Version: 1\.0\nContent-Type: text/plain; charset=utf-8\n"
                               r"\nheard-\S+ is over: complete, .*\n\n\{\"format\":\"rb-notice/1\".*\}\n\Z")
        self.assertIn("RB_EVENT=finished\n", seen)
        self.assertIn("RB_RUN_ID=heard-", seen)
        self.assertNotIn("HOOK_SECRET", seen + self.read("trials"))
        self.assertNotIn(MARK, seen)
        self.assertEqual(json.loads(said)["type"], "finished")

    # --- secrets

    def test_no_secret_is_written_down(self):
        s = self.server(secret=SECRET)
        lines = set()
        over = threading.Event()

        def watch():
            while not over.is_set():
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        with open("/proc/%s/cmdline" % pid, "rb") as f:
                            lines.add(f.read())
                    except OSError:
                        pass
                time.sleep(0.01)
        watcher = threading.Thread(target=watch)
        watcher.start()
        url = "http://127.0.0.1:%d/%s" % (s.port, MARK)
        try:
            done = self.run_plan([{"webhook": "$HOOK_URL", "secret": "HOOK_SECRET"}, {"command": "exit 3"},
                                  {"webhook": "$BAD_URL"}], HOOK_SECRET=SECRET, HOOK_URL=url,
                                 BAD_URL="https://%s.example.invalid/" % MARK,
                                 RB_TRACE="provider,journal,executor,engine", RB_TEST_NOTIFY_MS="60000")
        finally:
            over.set()
            watcher.join()
        self.assertEqual(s.types(), ["started", "finished"])
        self.assertEqual(s.wrong, [])
        marks = (MARK.encode(), SECRET[6:].encode())
        said = (done.stdout + done.stderr).encode()
        self.assertIn(b"notify[2] (webhook $BAD_URL)", said)
        files = 0
        for folder, _, names in os.walk(self.top):
            for name in names:  # also what the trials see
                with open(os.path.join(folder, name), "rb") as f:
                    text = f.read()
                files += 1
                for mark in marks:
                    self.assertNotIn(mark, text, os.path.join(folder, name))
        self.assertGreater(files, 10)
        for mark in marks:
            self.assertNotIn(mark, said)
            self.assertFalse([line for line in lines if mark in line])

    def test_what_is_refused(self):
        for hook, says in (({"webhook": "https://hooks.slack.com/services/T/B/x", "format": "slack"}, "webhook: $SLACK_URL"),
                           ({"webhook": "http://example.org/x"}, "expected https://"),
                           ({"webhook": "https://ann:pw@example.org/x"}, "may be a secret"),
                           ({"webhook": "https://example.org/x?token=1"}, "may be a secret"),
                           ({"webhook": "https://example.org/x", "secret": SECRET + "="}, "not the secret itself"),
                           ({"webhook": "$A-B"}, "name of a variable"),
                           ({"email": "ann@example.org\nBcc: eve@example.org"}, "expected one address"),
                           ({"email": "-oQ/tmp@x"}, "expected one address"),
                           ({"command": "true", "secret": "A"}, "secret"),
                           ({"command": "true", "email": "a@b"}, "expected one of"),
                           ({"on": ["started"]}, "expected one of"),
                           ({"command": "true", "on": ["vanished"]}, "vanished"),
                           ({"command": "true", "on": []}, "at least one event")):
            self.assertIn(says, self.plan([hook], expect=2).stderr, hook)
        self.plan([{"webhook": "$HOOK_URL"}])
        said = self.rbrun("plan.json", "--yes", expect=2).stderr
        self.assertRegex(said, r"notify\[0\]: the environment has no HOOK_URL.* \[RB4401\]")
        self.assertFalse(os.path.exists(os.path.join(self.top, "state")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = os.path.abspath(options.bin)
    unittest.main(argv=[sys.argv[0], *rest])
