#!/usr/bin/env python3
"""What a run looks like on a terminal: the line that is redrawn, plain lines elsewhere, the watched screen; on real ptys, of
real runs on this machine. Usage: progress.py --bin BUILD_DIR [TEST]..."""
import argparse
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

import terminal
from real_run import RealRun, profile

BIN = None
here = os.path.dirname(os.path.abspath(__file__))

JOB = """name: seen
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 4, min_resource: 3, max_resource: 12, eta: 2, unit: epoch}
trial: {gpus: 1, timeout: 1m}
profile: paced
run: |
  e=$RB_RESOURCE_START
  while [ $e -lt $RB_RESOURCE_END ]; do e=$((e + 1)); sleep 0.2; echo "epoch=$e val_acc=0.$((e * 10 + RB_TRIAL_ID))"; done
  echo weights > "$RB_CHECKPOINT_DIR/model"
checkpoint: {dir: ckpt}
resources: {infra: [local]}
deadline: 1m
confidence: 0.5
"""

POOL = """format: rb-pool/1
name: pool
resources: {infra: [local], max_nodes: 1}
policy: goodput
interval: 1s
restart: 1s
jobs:
  - one.yaml
  - {job: two.yaml, arrives: 1.5s}
"""

SGR = re.compile(r"\x1b\[[0-9;]*m")
KNOWN_ETA = re.compile(r"ETA (\d+) s")


class Progress(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="rb-progress-")
        here = RealRun(BIN, self.top, PATH=os.path.abspath(BIN) + ":/usr/bin:/bin", LC_ALL="C.UTF-8", TERM="xterm-256color",
                       RB_LOCAL_SLOTS="4")
        self.env = here.env
        self.call, self.write = lambda *argv: here.say(*argv).stdout, here.write
        self.write("profile.yaml", "exact: true\n" + profile("paced", 0.2, accelerator="CPU", startup_s=0.1, checkpoint_s=0.1,
                                                           queue_s=0, init_s=0))
        self.write("job.yaml", JOB)
        self.call("rbprofile", "import", "profile.yaml")
        self.call("rbplan", "-o", "plan.json", "job.yaml")
        self.programs, self.runs = [], []

    def tearDown(self):
        for run in self.runs:
            if run.poll() is None:
                run.terminate()
            run.wait()
        for program in self.programs:
            if program.code is None:
                program.kill(signal.SIGKILL)
                program.finish()
        shutil.rmtree(self.top)

    def begin(self):
        """A run in the background, once it trains."""
        run = subprocess.Popen(["rbrun", "plan.json"], cwd=self.top, env=self.env, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        self.runs.append(run)
        run.output = b""

        def drain():
            with run.stdout:
                run.output = run.stdout.read()
        threading.Thread(target=drain, daemon=True).start()
        self.until(lambda: self.status()["stage"] is not None and self.status()["best"])
        return run

    def until(self, what, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if what():
                    return
            except (AssertionError, json.JSONDecodeError):
                pass  # no journal yet
            time.sleep(0.1)
        self.fail("it did not come about")

    def status(self):
        return json.loads(self.call("rbrun", "status", "--json"))

    def on_terminal(self, *command, rows=24, columns=80, **env):
        program = terminal.Program(command, rows, columns, {**self.env, **env}, self.top)
        self.programs.append(program)
        return program

    # --- the line

    def lines_drawn(self, program):
        """What the line said, in order; it begins with the stage and stands alone."""
        said = []
        for piece in program.raw.split("\r\x1b[K"):
            if piece.startswith(("stage", "beginning")):
                said.append(piece.split("\r\n")[0])
        return said

    def test_a_run_that_will_miss_its_deadline_says_so_once(self):
        self.write("job.yaml", JOB.replace("min_resource: 3, max_resource: 12", "min_resource: 6, max_resource: 24")
                   .replace("sleep 0.2", "sleep 0.6").replace("deadline: 1m", "deadline: 9s"))
        self.call("rbplan", "-o", "plan.json", "job.yaml")
        run = self.begin()
        self.until(lambda: any(kind == "drift" for kind, _ in self.notes()))
        status = self.status()
        self.assertGreater(status["pace_low"], 1.5)
        self.assertGreater(status["pace_high"], status["pace"])
        self.assertIn(" slower than the profile says (", self.call("rbrun", "status"))
        run.wait()
        notes = [text for kind, text in self.notes() if kind == "drift"]
        self.assertEqual(len(notes), 1, notes)
        self.assertRegex(notes[0], r"^(training takes|stage \d took) \d+ % longer than expected \(\d trials, \+-\d+ %\); "
                                   r"P\(on time\) is 0\.\d\d, 0\.50 was asked$")
        report = json.loads(self.call("rbrun", "report", "--json"))
        self.assertEqual([drift["text"] for drift in report["drifts"]], notes)
        self.assertEqual(run.output.decode().count("drift: " + notes[0]), 1, run.output)

    def test_a_process_that_goes_on_does_not_say_it_again(self):
        self.write("job.yaml", JOB.replace("min_resource: 3, max_resource: 12", "min_resource: 6, max_resource: 24")
                   .replace("sleep 0.2", "sleep 0.8").replace("deadline: 1m", "deadline: 12s"))
        self.call("rbplan", "-o", "plan.json", "job.yaml")
        run = self.begin()
        self.until(lambda: any(kind == "drift" for kind, _ in self.notes()))
        run.kill()
        run.wait()
        again = subprocess.run(["rbrun", "resume", self.status()["run"]], cwd=self.top, env=self.env, capture_output=True, text=True,
                               check=False)
        self.assertEqual(again.returncode, 4, again.stderr)
        self.assertNotIn("drift", again.stderr)
        self.assertEqual(sum(kind == "drift" for kind, _ in self.notes()), 1)

    def test_a_run_that_cannot_keep_its_deadline_stops_if_it_may(self):
        self.write("job.yaml", JOB.replace("min_resource: 3, max_resource: 12", "min_resource: 6, max_resource: 24")
                   .replace("sleep 0.2", "sleep ${SLOW:-0.2}").replace("deadline: 1m", "deadline: 20s\non_drift: stop"))
        self.call("rbplan", "-o", "plan.json", "job.yaml")
        self.env["SLOW"] = "1.5"
        run = self.begin()
        self.assertEqual(run.wait(18), 4)
        self.assertEqual(self.status()["state"], "stopped: drift")
        self.assertIn(b"continue with: rbrun resume seen-", run.output)
        del self.env["SLOW"]
        self.call("rbrun", "resume", self.status()["run"], "--deadline", "+1m")
        self.assertEqual(self.status()["state"], "complete")

    def journal(self):
        runs = os.path.join(self.top, ".local/state/rubberband/runs")
        return os.path.join(runs, os.listdir(runs)[0], "journal.db")

    def notes(self):
        with contextlib.closing(sqlite3.connect(self.journal())) as db:
            return db.execute("SELECT kind, text FROM note ORDER BY seq").fetchall()

    def test_one_line_is_redrawn(self):
        # Twice as long: a slow build needs a second or two for its first prediction.
        self.write("job.yaml", JOB.replace("min_resource: 3, max_resource: 12", "min_resource: 6, max_resource: 24"))
        self.call("rbplan", "-o", "plan.json", "job.yaml")
        run = self.on_terminal("rbrun", "plan.json", columns=120)
        run.wait_for(lambda screen: KNOWN_ETA.search(screen.text()))
        foreseen = time.monotonic()
        self.assertEqual(run.finish(), 0)
        left = time.monotonic() - foreseen
        said = self.lines_drawn(run)
        self.assertGreater(len(said), 5)
        etas = [int(x) for line in said for x in KNOWN_ETA.findall(line)]
        self.assertGreater(len(etas), len(said) // 2, said)
        self.assertTrue(left / 2 < etas[0] < left + 3, (etas, left))  # trials may be slowed down by what else runs here
        self.assertLessEqual(etas[-1], 2)
        # It falls. It may rise where the machine stands still: a trial that does not report is taken for a slow one.
        self.assertLessEqual(sum(later > sooner + 2 for sooner, later in zip(etas, etas[1:])), 2, etas)
        self.assertTrue(any("P(on time) > 0.99" in line for line in said), said)
        self.assertTrue(any(re.match(r"stage 2 of 0-2  0/1 trials  val_acc 0\.\d+  1/1 nodes  free  ETA", line) for line in said), said)
        self.assertEqual({len(line) < 120 for line in said}, {True})
        self.assertNotIn("stage 2 of 0-2  ", run.screen.text().split("best configuration")[0])  # wiped when the report came
        self.assertTrue(run.screen.cursor)
        self.assertNotIn("\x1b[?25l", run.raw)  # never hidden: nothing can go wrong about it

    def test_planning_that_takes_long_says_so(self):
        job = os.path.join(here, "..", "..", "examples", "bert", "job.yaml")
        plan = self.on_terminal("rbplan", "--verify", "200000", "-o", "bert.json", job)
        plan.wait_for(lambda screen: re.search(r"planning: [\d.]+ s; Ctrl-C ends it, --time-limit 10s bounds it", screen.text()))
        self.assertEqual(plan.finish(), 0)
        self.assertNotIn("planning: ", plan.screen.text())
        simulation = self.on_terminal("rbsim", "--plan", "bert.json", "--replicates", "40000", job)
        simulation.wait_for(lambda screen: re.search(r"simulating: [\d.]+ s", screen.text()))
        self.assertEqual(simulation.finish(), 0)
        self.assertNotIn("simulating: ", simulation.screen.text())

    def test_40_columns_follow_a_resize(self):
        run = self.on_terminal("rbrun", "plan.json", columns=100)
        run.wait_for(lambda screen: any(KNOWN_ETA.search(line) and "P(on time)" in line for line in screen.lines))
        run.resize(24, 40)
        before = len(run.raw)
        self.assertEqual(run.finish(), 0)
        run.raw = run.raw[before:]
        said = self.lines_drawn(run)
        self.assertGreater(len(said), 3)
        for line in said[1:]:  # the first may have been on its way
            self.assertLess(len(line), 40)
            self.assertRegex(line, r"^stage \d( of 0-2)?  \d/\d trials  free(  ETA ((\d+ m )?\d+ s|\?))?$")  # without: it is over

    def test_no_colour_and_dumb_terminals(self):
        plain, dumb = self.on_terminal("rbrun", "plan.json", NO_COLOR="1"), self.on_terminal("rbrun", "plan.json", TERM="dumb")
        for program in (plain, dumb):
            threading.Thread(target=program.finish).start()
        self.until(lambda: plain.code is not None and dumb.code is not None)
        self.assertEqual((plain.code, dumb.code), (0, 0))
        self.assertGreater(len(self.lines_drawn(plain)), 3)
        self.assertIsNone(SGR.search(plain.raw))
        self.assertNotIn("\x1b", dumb.raw)
        self.assertRegex(dumb.raw, r"trial \d: epoch 1, val_acc 0\.1")  # one line for every event

    def test_a_signal_ends_line_and_run(self):
        run = self.on_terminal("rbrun", "plan.json")
        run.wait_for(lambda screen: any("val_acc" in line for line in screen.lines))
        run.type("\x03")
        self.assertEqual(run.finish(), 130)
        self.assertTrue(run.screen.cursor and not run.screen.alternate)
        self.assertIn("warning: stopping: ending trials", run.screen.text())
        self.assertEqual(self.status()["state"], "stopped: user")

    # --- a pool

    def make_pool(self):
        for name, epochs in (("one", 20), ("two", 10)):
            text = JOB.replace("name: seen", "name: " + name).replace("type: sha, num_trials: 4, min_resource: 3, max_resource: 12, eta: 2",
                                                                      "type: random, num_trials: 2, max_resource: %d" % epochs)
            self.write(name + ".yaml", text)
        self.write("pool.yaml", POOL)

    def test_a_pool_has_one_line(self):
        self.make_pool()
        pool = self.on_terminal("rbrun", "--pool", "pool.yaml", columns=120)
        self.assertEqual(pool.finish(), 0)
        said = [piece.split("\r\n")[0] for piece in pool.raw.split("\r\x1b[K") if re.match(r"\d/2 jobs", piece)]
        self.assertGreater(len(said), 5)
        self.assertIn("0/2 jobs  1 training, 1 to come  1/1 nodes  free  ETA ? (jobs are to come)", said)
        etas = [int(x) for line in said for x in re.findall(r"^0/2 jobs  2 training  1/1 nodes  free  ETA (\d+) s$", line)]
        self.assertGreater(len(etas), 0, said)
        self.assertLess(etas[0], 10, said)
        self.assertEqual(etas, sorted(etas, reverse=True), said)
        self.assertTrue(any(line.startswith("1/2 jobs  1 training") for line in said), said)
        self.assertNotIn(": epoch ", pool.raw)  # events are for files and pipes
        self.assertNotIn(" jobs  ", pool.screen.text())  # wiped when the report came
        self.assertIn("instances left: 0", pool.screen.text())
        self.assertNotIn("\x1b[?25l", pool.raw)

    def test_a_job_of_a_pool_is_foreseen_if_it_keeps_its_gpus(self):
        self.make_pool()
        pool = subprocess.Popen(["rbrun", "--pool", "pool.yaml"], cwd=self.top, env=self.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        self.runs.append(pool)
        runs = os.path.join(self.top, ".local/state/rubberband/runs")
        status = []

        def foreseen():
            one = next((name for name in os.listdir(runs) if name.startswith("one-")), None) if os.path.isdir(runs) else None
            status.append(self.call("rbrun", "status", one) if one else "")
            return re.search(r"lent nodes  ETA \d+ s", status[-1])
        self.until(foreseen)
        self.assertIn("\nthis is how it will end if the GPUs that the job is lent now stay as they are\n", status[-1])
        self.assertEqual(pool.wait(60), 0)

    def test_elsewhere_a_pool_prints_events(self):
        self.make_pool()
        p = subprocess.run(["rbrun", "--pool", "pool.yaml"], cwd=self.top, env=self.env, text=True, capture_output=True, timeout=60)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertNotIn("\x1b", p.stdout + p.stderr)
        self.assertNotIn("ETA", p.stderr)
        self.assertRegex(p.stderr, r"two: trial 0: epoch 1, val_acc 0\.1")

    # --- the watched screen

    def check_left(self, program, settings):
        """The terminal is as it was."""
        self.assertIn("\x1b[?1049h", program.raw)
        self.assertTrue(program.screen.cursor)
        self.assertFalse(program.screen.alternate)
        self.assertEqual(settings["after"], settings["before"])

    def watch(self, rows, columns, *more):
        program = self.on_terminal("rbrun", "status", "--watch", *more, rows=rows, columns=columns)
        fresh = os.openpty()  # settings of a terminal that no program has changed: this one may have begun already
        program.settings = {"before": termios.tcgetattr(fresh[0])}
        for fd in fresh:
            os.close(fd)
        return program

    def end_watch(self, program):
        """As Program.finish, which closes the terminal: its settings are asked for before."""
        while program.read(0.2):
            pass
        program.settings["after"] = termios.tcgetattr(program.fd)
        return program.finish()

    def test_watched_to_its_end_at_any_size(self):
        run = self.begin()
        watches = [self.watch(*size) for size in ((24, 80), (6, 30), (60, 200), (3, 20))]
        lines = subprocess.Popen(["rbrun", "status", "--watch"], cwd=self.top, env=self.env, stdout=subprocess.PIPE, text=True)
        threads = [threading.Thread(target=self.end_watch, args=(w,)) for w in watches]
        for thread in threads:
            thread.start()
        blocks = lines.communicate(timeout=60)[0]
        for thread in threads:
            thread.join(60)
        self.assertEqual(run.wait(60), 0)
        for w in watches:
            self.assertEqual(w.code, 0)
            self.assertEqual(w.screen.wrapped if w.screen.columns >= 80 else 0, 0)
            self.check_left(w, w.settings)
            self.assertIn("q leaves", w.raw)
        usual = watches[0]
        self.assertRegex(usual.raw, r"stage 2 of 0-2")
        self.assertRegex(usual.raw, r"\[####################\]")
        self.assertRegex(usual.raw, r"trial \d: epoch \d+, val_acc 0\.\d+")
        text = usual.screen.text()
        self.assertRegex(text, r"^seen-\S+: complete, \d+ s of 1 m 0 s\nstage 2 of 0-2  1/1 trials  val_acc 0\.12\d  free")
        self.assertRegex(blocks, r"stage 2 of 0-2  0/1 trials .* ETA \d+ s")
        self.assertGreater(blocks.count(": running, "), 2)
        self.assertEqual(blocks.count(": complete, "), 1)
        self.assertNotIn("\x1b", blocks)
        # The run noticed nothing: what it decided is what its events lead to.
        self.assertIn("0 orders differ", self.call("rbrun", "replay"))
        self.assertNotIn(b"warning: journal", run.output)

    def test_keys_signals_and_crashes_give_the_terminal_back(self):
        run = self.begin()
        ways = {"q": lambda w: w.type("q"), "^C": lambda w: w.type("\x03"), "SIGTERM": lambda w: w.kill(signal.SIGTERM),
                "SIGHUP": lambda w: w.kill(signal.SIGHUP), "crash": lambda w: w.kill(signal.SIGSEGV)}
        watches = {name: self.watch(24, 80) for name in ways}
        for name, w in watches.items():
            w.wait_for(lambda screen: screen.alternate and any("q leaves" in line for line in screen.lines))
            self.assertFalse(w.screen.cursor)
            ways[name](w)
        for name, w in watches.items():
            with self.subTest(way=name):
                code = self.end_watch(w)
                self.assertEqual(code, -signal.SIGSEGV if name == "crash" else 0)
                self.check_left(w, w.settings)
                if name != "crash":
                    self.assertRegex(w.screen.text(), r"^seen-\S+: running, ")
        self.assertIsNone(run.poll())  # the run goes on
        self.assertEqual(run.wait(60), 0)

    def test_suspended_and_brought_back(self):
        run, w = self.begin(), self.watch(24, 80)
        w.wait_for(lambda screen: screen.alternate)
        w.kill(signal.SIGTSTP)
        w.wait_for(lambda screen: not screen.alternate and screen.cursor)
        self.until(w.is_stopped)
        self.assertEqual(termios.tcgetattr(w.fd), w.settings["before"])
        w.kill(signal.SIGCONT)
        w.wait_for(lambda screen: screen.alternate and not screen.cursor and any("q leaves" in x for x in screen.lines))
        w.type("q")
        self.assertEqual(self.end_watch(w), 0)
        self.check_left(w, w.settings)
        self.assertEqual(run.wait(60), 0)

    # --- status, once

    def test_text_and_json_tell_the_same(self):
        self.assertEqual(self.begin().wait(60), 0)
        status, text = self.status(), self.call("rbrun", "status")
        self.assertEqual(status["state"], "complete")
        self.assertEqual(status["trials"]["completed"], 1)
        self.assertEqual([s["trained_to_end"] for s in status["stages"]], [4, 2, 1])
        self.assertIsNone(status["end_p50_us"])
        self.assertEqual(status["why_unknown"], "the run is over")
        best = status["best"]
        self.assertIn("val_acc %.4g" % best["metric"], text)
        self.assertRegex(text, r"\n +%d  completed +12 +%g  best" % (best["trial"], best["metric"]))
        report = json.loads(self.call("rbrun", "report", "--json"))
        self.assertEqual((report["best"]["trial"], report["cost_uusd"]["actual"]), (best["trial"], status["spent_uusd"]))
        self.assertEqual(report["time_us"]["actual"], status["elapsed_us"])
        self.assertEqual([n["state"] for n in status["node_list"]], ["gone"])

    def test_an_interrupted_run_says_so(self):
        run = self.begin()
        run.kill()
        run.wait()
        status, text = self.status(), self.call("rbrun", "status")
        self.assertEqual((status["state"], status["process"], status["why_unknown"]), ("interrupted", None, "no process executes it"))
        self.assertIsNone(status["p_on_time"])
        self.assertRegex(text, r": interrupted, .*\n.*ETA \?  P\(on time\) \?\nno process executes it; continue with: rbrun resume seen-")
        watched = self.on_terminal("rbrun", "status", "--watch")
        self.assertEqual(watched.finish(), 0)  # there is nothing to wait for
        self.assertIn("no process executes it", watched.screen.text())
        self.call("rbrun", "stop", status["run"])  # the trials that went on alone

    def test_hostile_text_reaches_no_terminal(self):
        """A journal with control characters in it, and a terminal too small for anything."""
        self.assertEqual(self.begin().wait(60), 0)
        with sqlite3.connect(self.journal()) as db:
            db.execute("INSERT INTO note (time_us, kind, text) VALUES (1, 'fault', ?)", ("\x1b]0;owned\x07 \x1b[2J \u00fc",))
        text = self.call("rbrun", "status")
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\x07", text)
        small = self.on_terminal("rbrun", "status", rows=2, columns=5)
        self.assertEqual(small.finish(), 0)


def beside_each_other(bin_dir):
    """Most of a test is waiting for its run: three at a time, each in a process of its own."""
    def run(name):
        command = [sys.executable, os.path.abspath(__file__), "--bin", bin_dir, "Progress." + name]
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        done = list(pool.map(run, unittest.defaultTestLoader.getTestCaseNames(Progress)))
    for p in done:
        print(p.stdout if p.returncode else p.stdout.strip().splitlines()[-3])
    sys.exit(any(p.returncode for p in done))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = options.bin
    if not rest:
        beside_each_other(BIN)
    unittest.main(argv=[sys.argv[0]] + rest)
