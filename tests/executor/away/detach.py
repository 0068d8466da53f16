#!/usr/bin/env python3
"""rbrun --detach and rbrun attach: runs that outlive their terminal, on this machine. Real processes, real ptys; the service
manager alone is a stand-in, because a test cannot log in. Usage: detach.py --bin BUILD_DIR [TEST]..."""
import argparse
import contextlib
import glob
import json
import os
import random
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "cli"))
import terminal  # noqa: E402
from real_run import RealRun, profile  # noqa: E402
from away_job import INLINE as JOB, SECRET, SLOW as SLOWLY  # noqa: E402

BIN = None
SLOW = JOB + SLOWLY
LOGINCTL = "#!/bin/sh\necho Linger=%s\n"
SYSTEMD_RUN = """#!/bin/sh
printf '%s\\n' "$@" >>"$HOME/systemd-run.said"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


class Detach(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="rb-detach-")
        self.top = self.temporary.name
        self.run_env = RealRun(BIN, self.top, LC_ALL="C.UTF-8", TERM="xterm-256color", RB_LOCAL_SLOTS="2",
                               PASSWORD_OF_TEST=SECRET)
        self.run_env.env["PATH"] = ":".join((os.path.join(self.top, "tools"), os.path.abspath(BIN), "/usr/bin:/bin"))
        self.env = self.run_env.env
        self.say, self.write = self.run_env.say, self.run_env.write
        self.write("profile.yaml", "exact: true\n" + profile("paced", 0.1, accelerator="CPU", startup_s=0.1, checkpoint_s=0.1,
                                                             queue_s=0, init_s=0))
        self.say("rbprofile", "import", "profile.yaml")
        self.root = os.path.join(self.top, ".local/state/rubberband/runs")

    def tearDown(self):
        for run in self.runs():
            pid = self.holder(run)
            if pid:
                os.kill(pid, signal.SIGKILL)
                self.until(lambda p=pid: not os.path.exists("/proc/%d" % p))
        self.temporary.cleanup()

    # --- tools

    def plan(self, job):
        self.write("job.yaml", job)
        self.say("rbplan", "-o", "plan.json", "job.yaml")

    def tool(self, name, text):
        os.chmod(self.write("tools/" + name, text), 0o700)

    def runs(self):
        return sorted(os.listdir(self.root)) if os.path.isdir(self.root) else []

    def folder(self):
        run, = self.runs()
        return os.path.join(self.root, run)

    def holder(self, run):
        """The process that holds the run's lock; None: none does."""
        path = os.path.join(self.root, run, "journal.db.lock")
        if not os.path.exists(path) or subprocess.run(["flock", "-n", path, "true"], check=False).returncode == 0:
            return None
        with open(path, encoding="utf-8") as f:
            return int(f.readline() or 0) or None

    def until(self, what, seconds=30):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "it did not come about")
            time.sleep(0.05)

    def detach(self, job=JOB, *options, **env):
        self.plan(job)
        said = json.loads(self.say("rbrun", "plan.json", "--detach", "--json", *options, **env).stdout)
        self.assertEqual(said["format"], "rb-detached/1")
        return said

    def trains(self, run):
        self.until(lambda: json.loads(self.say("rbrun", "status", "--json", run).stdout)["best"])

    def controller(self, run):
        rows = json.loads(self.say("rbrun", "list", "--json").stdout)["runs"]
        return {row["run"]: row["controller"] for row in rows}[run]

    # --- the run

    def test_it_outlives_the_command_and_attach_ends_as_it_does(self):
        said = self.detach()
        run = said["run"]
        self.assertEqual(self.holder(run), said["process"])
        self.assertEqual(os.getsid(said["process"]), said["process"])
        self.assertEqual(self.controller(run), "detached")
        done = self.say("rbrun", "attach", run)
        self.assertIsNone(self.controller(run))
        self.assertIn("best configuration", done.stdout)
        self.assertRegex(done.stderr, r"\d+\.\d{3} s  trial 0: epoch \d")
        self.assertEqual(json.loads(self.say("rbrun", "report", "--json", run).stdout)["outcome"], "complete")
        self.assertEqual(self.say("rbrun", "attach", run).stdout, done.stdout)  # also when it is over

    def test_what_it_says(self):
        self.plan(JOB)
        out = self.say("rbrun", "plan.json", "--detach").stdout
        run, = self.runs()
        for line in ("rbrun status " + run, "rbrun attach " + run, "rbrun stop " + run, self.folder() + "/rbrun.log"):
            self.assertIn(line, out)
        self.say("rbrun", "attach")
        log = self.folder() + "/rbrun.log"
        with open(log, encoding="utf-8") as f:
            self.assertIn("best configuration", f.read())
        self.assertEqual(stat.S_IMODE(os.stat(log).st_mode), 0o600)

    def test_a_secret_stays_in_memory(self):
        said = self.detach(SLOW)
        with open("/proc/%d/cmdline" % said["process"], "rb") as f:
            self.assertNotIn(SECRET.encode(), f.read())
        found = subprocess.run(["grep", "-rlF", "--exclude-dir=local", SECRET, self.top], capture_output=True, text=True, check=False).stdout
        self.assertEqual(found, "")
        self.assertEqual(os.stat("/proc/%d/environ" % said["process"]).st_uid, 0)  # not even this user may read it
        self.say("rbrun", "stop", said["run"])

    def test_it_fails_as_the_foreground_does(self):
        self.plan(JOB)
        for spoil, names in (({"PASSWORD_OF_TEST": None}, "RB1"), ({"ULIMIT": "70"}, "RB1035")):
            with self.subTest(names=names):
                ends = []
                for more in ([], ["--detach"]):
                    env = {k: v for k, v in {**self.env, **spoil}.items() if v is not None}
                    done = subprocess.run(["sh", "-c", "ulimit -n ${ULIMIT:-1024}; exec rbrun plan.json \"$@\"", "sh", *more],
                                          env=env, cwd=self.top, capture_output=True, text=True, timeout=60, check=False)
                    ends.append((done.returncode, re.sub(r"\d{8}-\d{6}-\w{6}", "ID", done.stderr.splitlines()[-1])))
                self.assertNotEqual(ends[0][0], 0)
                self.assertEqual(ends[0], ends[1])

    def test_an_error_after_the_journal_was_made_is_the_foregrounds(self):
        said = self.detach(SLOW)
        busy = self.say("rbrun", "resume", said["run"], "--detach", expect=2)
        self.assertIn("RB4003", busy.stderr)
        self.assertEqual(self.holder(said["run"]), said["process"])
        self.say("rbrun", "stop", said["run"])

    def test_a_broken_script_ends_attach_with_its_code(self):
        run = self.detach(JOB.replace("[ \"$PASSWORD", "exit 1\n  [ \"$PASSWORD"))["run"]
        done = self.say("rbrun", "attach", run, expect=9)
        self.assertIn("RB4210", done.stderr)

    def test_resume_goes_on_detached(self):
        run = self.detach(SLOW)["run"]
        follower = subprocess.Popen(["rbrun", "attach", run], env=self.env, cwd=self.top, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        follower.stderr.readline()
        self.say("rbrun", "stop", run)
        said = follower.communicate(timeout=30)[1]
        self.assertEqual(follower.returncode, 130, said)
        without = {name: value for name, value in self.env.items() if name != "PASSWORD_OF_TEST"}
        done = subprocess.run(["rbrun", "resume", run], env=without, cwd=self.top, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("PASSWORD_OF_TEST is not set", done.stderr)
        said = json.loads(self.say("rbrun", "resume", run, "--detach", "--deadline", "+1h", "--json").stdout)
        self.assertEqual(said["run"], run)
        self.assertEqual(self.holder(run), said["process"])
        self.assertGreater(json.loads(self.say("rbrun", "status", run, "--json").stdout)["deadline_us"], 3600 * 10**6)
        self.say("rbrun", "stop", run)

    def test_a_stop_that_comes_as_it_has_begun_ends_it_as_any_stop(self):
        # The socket of its standard input takes one more byte: it is held in the write that says that it has begun.
        run = self.detach(SLOW)["run"]
        self.say("rbrun", "stop", run)
        ours, its = socket.socketpair()
        self.addCleanup(ours.close)
        with contextlib.suppress(BlockingIOError):
            while True:
                its.send(b".", socket.MSG_DONTWAIT)
        ours.recv(1)
        log = os.path.join(self.folder(), "rbrun.log")
        os.remove(log)
        process = subprocess.Popen(["rbrun", "resume", run], env=dict(self.env, RB_DETACHED="1"), cwd=self.top, stdin=its,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        its.close()
        self.addCleanup(process.kill)
        self.until(lambda: os.path.exists(log))
        process.terminate()
        time.sleep(0.2)
        said = b"."
        while said and b"b" not in said:
            said = ours.recv(4096)
        self.assertEqual(process.wait(30), 130)
        self.say("rbrun", "attach", run, expect=130)

    def test_a_killed_process_leaves_no_word(self):
        said = self.detach(SLOW)
        os.kill(said["process"], signal.SIGKILL)
        self.until(lambda: self.holder(said["run"]) is None)
        self.assertIn("RB4052", self.say("rbrun", "attach", said["run"], expect=1).stderr)
        self.say("rbrun", "stop", said["run"])

    # --- terminals

    def test_its_terminal_may_close(self):
        self.plan(SLOW)
        program = terminal.Program(["rbrun", "plan.json", "--detach"], 24, 120, self.env, self.top)
        program.finish()  # which closes the terminal
        run, = self.runs()
        self.assertEqual(program.code, 0)
        self.trains(run)
        self.say("rbrun", "stop", run)

    def test_list_knows_the_terminal(self):
        self.plan(JOB)
        program = terminal.Program(["sh", "-c", "rbrun plan.json & until rbrun status >/dev/null 2>&1; do sleep 0.1; done; "
                                    "rbrun list >list.txt; wait"], 24, 120, self.env, self.top)
        self.until(lambda: os.path.exists(self.top + "/list.txt") and os.path.getsize(self.top + "/list.txt"))
        run, = self.runs()
        self.assertRegex(self.controller(run), r"^terminal pts/\d+$")
        with open(self.top + "/list.txt", encoding="utf-8") as f:
            self.assertIn("  this terminal\n", f.read())
        program.finish()

    def test_ctrl_c_leaves_and_the_run_goes_on(self):
        said = self.detach(SLOW)
        program = terminal.Program(["rbrun", "attach", said["run"]], 24, 120, self.env, self.top)
        program.wait_for(lambda screen: "stage 0 of" in screen.text())
        program.type("\x03")
        program.finish()
        self.assertEqual(program.code, 1)
        self.assertIn("goes on: come back with", program.raw.replace("\r\n", " "))
        self.assertEqual(self.holder(said["run"]), said["process"])
        self.say("rbrun", "stop", said["run"])

    # --- the service manager

    def test_where_linger_is_on_it_gets_a_unit(self):
        self.tool("loginctl", LOGINCTL % "yes")
        self.tool("systemd-run", SYSTEMD_RUN)
        said = self.detach()
        self.assertEqual(said["unit"], "rb-%s.scope" % said["run"])
        with open(os.path.join(self.top, "systemd-run.said"), encoding="utf-8") as f:
            words = f.read().split("\n")
        self.assertEqual(words[:7], ["--user", "--scope", "--collect", "--quiet", "--unit=" + said["unit"], "--",
                                     os.path.realpath(os.path.join(BIN, "rbrun"))])
        self.assertNotIn(SECRET, "".join(words))
        self.say("rbrun", "attach", said["run"])

    def test_a_manager_that_takes_no_unit_is_done_without(self):
        self.tool("loginctl", LOGINCTL % "yes")
        self.tool("systemd-run", "#!/bin/sh\necho no bus >&2\nexit 1\n")
        said = self.detach()
        self.assertIsNone(said["unit"])
        self.say("rbrun", "attach", said["run"])

    def test_where_linger_is_off_it_says_what_turns_it_on(self):
        self.tool("loginctl", LOGINCTL % "no")
        self.plan(JOB)
        self.assertIn("loginctl enable-linger", self.say("rbrun", "plan.json", "--detach").stderr)
        self.say("rbrun", "attach")

    # --- killed at any moment

    def test_a_kill_leaves_no_run_or_one(self):
        self.plan(SLOW)
        seed = int(os.environ.get("RB_TEST_SEED", random.randrange(2**31)))
        rng = random.Random(seed)
        whole = []
        for _ in range(12):
            before = self.runs()
            began = time.monotonic()
            process = subprocess.Popen(["rbrun", "plan.json", "--detach"], env=self.env, cwd=self.top, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
            try:
                process.wait(rng.uniform(0, 1.2 * max(whole)) if whole else None)
                whole.append(time.monotonic() - began)
            except subprocess.TimeoutExpired:
                process.send_signal(rng.choice([signal.SIGKILL, signal.SIGINT]))
            process.communicate()
            new = [run for run in self.runs() if run not in before]
            self.assertLessEqual(len(new), 1, "seed %d" % seed)
            for run in new:
                self.settle(run, seed)

    def settle(self, run, seed):
        """Either it is at work and can be stopped, or nothing was ever launched."""
        time.sleep(0.3)  # a process that was to end has ended
        if self.holder(run):
            self.say("rbrun", "stop", run)
            return
        journal = os.path.join(self.root, run, "journal.db")
        if os.path.exists(journal) and os.path.getsize(journal):
            with sqlite3.connect(journal) as db:
                if db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'launch'").fetchone()[0]:
                    self.assertEqual(db.execute("SELECT count(*) FROM launch").fetchone()[0], 0, "seed %d" % seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = options.bin
    unittest.main(argv=[sys.argv[0], *rest])
