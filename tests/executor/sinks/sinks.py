#!/usr/bin/env python3
"""Sinks: what trackers get of a run, live and afterwards, whatever is killed, away or hostile; and that no run is disturbed.
Usage: sinks.py --bin BUILD_DIR [--all] [TEST]... --all: every way of dying at every request, not one in turn."""
import argparse
import csv
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "cli"))
import fake_mlflow  # noqa: E402
import tfevents_reader  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

BIN, ALL = None, False
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-optuna if it is installed

JOB = """name: sunk
metric: {name: val_acc, goal: maximize}
parameters:
  lr: {min: 0.1, max: 0.9}
  wd: {distribution: log_uniform, min: 1.0e-4, max: 0.1}
  opt: {values: [adam, "s,\\"gd\\" =é"]}
  amp: {flag: true}
  n: {distribution: int_uniform, min: 1, max: 9}
  drop: {distribution: q_uniform, min: 0.0, max: 0.5, q: 0.2}
  z: {distribution: normal, mu: 0, sigma: 1}
  c: 7
scheduler: {type: sha, num_trials: 3, min_resource: 1, max_resource: 3, eta: 3, unit: epoch}
trial: {gpus: 1, timeout: 1m, max_restarts: 0}
profile: fast
run: sh train.sh $RB_ARGS
checkpoint: {dir: ckpt}
resources: {infra: [local]}
"""
# Where there is a file `hold` it waits after each epoch. Trial 0 fails, trial 1 reports a number that is none, trial 2 is the best.
TRAIN = """env >> seen; ls > "$TOP/listed"; cp seen "$TOP/env"
e=$RB_RESOURCE_START
while [ $e -lt $RB_RESOURCE_END ]; do
    e=$((e + 1))
    [ $RB_TRIAL_ID = 1 ] && v=nan || v=0.$((10 + RB_TRIAL_ID * 5 + e))
    echo "epoch=$e val_acc=$v"
    while [ -e "$TOP/hold" ]; do sleep 0.05; done
    [ $RB_TRIAL_ID != 0 ] || exit 3
done
echo weights > "$RB_CHECKPOINT_DIR/model"
"""
# Every limit at once: a metric's name of 300 characters that is no clean path, 150 parameters, values of 7000 characters.
BIG_METRIC = "../acc//top@1:./" + "x" * 300 + "/"
BIG = """name: big
metric: {name: "%s", goal: minimize}
parameters: {%s, opt: {values: ["%s", "%s"]}}
scheduler: {type: random, num_trials: 1, min_resource: 2500, max_resource: 2500, unit: step}
trial: {gpus: 1, timeout: 1m}
profile: fast
run: echo step=2500 "%s=0.5" # $RB_ARGS
checkpoint: {dir: ckpt}
resources: {infra: [local]}
""" % (BIG_METRIC, ", ".join("p%03d: %d" % (i, i) for i in range(150)), "é" * 3500, "ü" * 3500, BIG_METRIC)


class Sinks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="rb-sinks-")
        cls.shared = cls.world(cls.base)
        cls.planned(cls.shared, "job", JOB)
        cls.shared.say("rbrun", "job.json", "--yes", "--state-dir", "state")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base)

    @classmethod
    def world(cls, folder):
        here = RealRun(BIN, folder, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="4", TOP=folder)
        for name in [n for n in here.env if n.startswith("MLFLOW_")]:
            del here.env[name]
        here.write("profile.yaml", profile("fast", 0.05, accelerator="CPU", startup_s=0.05, checkpoint_s=0.05, queue_s=0,
                                           init_s=0))
        here.say("rbprofile", "import", "profile.yaml")
        here.write("work/train.sh", TRAIN)
        return here

    @staticmethod
    def planned(here, name, job):
        here.write("work/%s.yaml" % name, job)
        here.say("rbplan", "-o", name + ".json", "work/%s.yaml" % name, "--time-limit", "1s", "--planner", "static")

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="rb-sinks-")
        self.servers = []
        shutil.copytree(self.base, self.top, dirs_exist_ok=True, symlinks=True)
        self.here = RealRun(BIN, self.top, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="4", TOP=self.top)

    def tearDown(self):
        for s in self.servers:
            s.stop()
        shutil.rmtree(self.top)

    # --- tools

    def server(self, **how):
        self.servers.append(fake_mlflow.Server(**how))
        return self.servers[-1]

    def say(self, *argv, **more):
        return self.here.say(*argv, "--state-dir", "state", **more)

    def export(self, *argv, **more):
        return self.say("rbrun", "export", *argv, **more)

    def run_dir(self, name="sunk"):
        found = sorted(d for d in os.listdir(os.path.join(self.top, "state")) if d.startswith(name))
        return os.path.join(self.top, "state", found[-1])

    def fresh_run(self, sinks, name="sunk", expect=0, **env):
        """Plans the job with these sinks and runs it; what rbrun said."""
        self.planned(self.here, "live", JOB + "sinks: " + sinks + "\n")
        shutil.rmtree(os.path.join(self.top, "state"))
        return self.say("rbrun", "live.json", "--yes", expect=expect, **env)

    def report(self):
        return json.loads(self.say("rbrun", "report", "--json").stdout)

    def check_mlflow(self, s):
        """Exactly what the run reported, once."""
        self.assertEqual(s.violations, [])
        self.assertEqual(sorted(r["tags"]["rubberband_trial"] for r in s.children()), ["0", "1", "2"])
        self.assertEqual([s.trial(i)["status"] for i in range(3)], ["FAILED", "KILLED", "FINISHED"])
        self.assertEqual([[p[:2] + p[3:] for p in s.trial(i)["points"]] for i in range(3)],
                         [[("val_acc", 1, 0.11)], [], [("val_acc", 1, 0.21), ("val_acc", 2, 0.22), ("val_acc", 3, 0.23)]])
        self.assertEqual(s.trial(1)["tags"]["rubberband_not_finite"], "nan at 1")
        parent = s.parent()
        for i in range(3):
            self.assertEqual(s.trial(i)["tags"]["mlflow.parentRunId"], parent["id"])
            self.assertEqual(set(s.trial(i)["params"]), {"lr", "wd", "opt", "amp", "n", "drop", "z", "c"})
            self.assertLessEqual(s.trial(i)["start"], s.trial(i)["end"])
        self.assertEqual(parent["status"], "FINISHED")
        self.assertEqual(parent["name"], os.path.basename(self.run_dir()))
        self.assertEqual(parent["tags"]["rubberband_outcome"], "complete")
        self.assertEqual(parent["tags"]["rubberband_best_trial"], "2")
        self.assertEqual(sorted((p[0], p[3]) for p in parent["points"]), [("best_val_acc", 0.23), ("cost_dollars", 0.0)])
        self.assertEqual(parent["tags"]["rubberband_plan_sha256"], self.report()["plan_sha256"])

    def event_files(self, folder):
        out = {}
        for root, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(root, name), "rb") as f:
                    out[os.path.relpath(os.path.join(root, name), folder)] = f.read()
        return out

    def parameters(self, trial):
        """As rbrun report has them."""
        with_params = self.report()["trials"][trial]
        return with_params["params"]

    # --- MLflow

    def test_mlflow_gets_a_finished_run_once(self):
        s = self.server(token="sesame")
        self.assertIn("RB4307", self.export("--to", "mlflow", "--uri", s.url, expect=5).stderr)
        refused = self.export("--to", "mlflow", "--uri", s.url, expect=5, MLFLOW_TRACKING_USERNAME="me").stderr
        self.assertNotIn("\x1b", refused)
        self.assertLess(len(refused), 1000)
        said = self.export("--to", "mlflow", "--uri", s.url + "/", "--experiment", "Größe & Co/1", MLFLOW_TRACKING_TOKEN="sesame")
        self.assertEqual(said.stdout, "mlflow: %s, experiment Größe & Co/1\n" % s.url)
        self.assertIn("Größe & Co/1", s.experiments)
        self.check_mlflow(s)
        before, n = s.contents(), len(s.requests)
        shutil.rmtree(os.path.join(self.run_dir(), "sinks"))  # all that is remembered here
        self.export("--to", "mlflow", "--experiment", "Größe & Co/1", MLFLOW_TRACKING_URI=s.url, MLFLOW_TRACKING_USERNAME="me",
                    MLFLOW_TRACKING_PASSWORD="sesame")
        self.assertEqual(s.contents(), before)
        self.assertEqual(set(s.requests[n:]) - {"runs/search", "metrics/get-history"},
                         {"experiments/create", "experiments/get-by-name", "runs/log-batch"})
        s.experiments["Größe & Co/1"]["stage"] = "deleted"
        self.assertIn("RB4306", self.export("--to", "mlflow", "--uri", s.url, "--experiment", "Größe & Co/1", expect=2,
                                            MLFLOW_TRACKING_TOKEN="sesame").stderr)

    def test_mlflow_counts_are_exact_wherever_the_exporter_is_killed(self):
        s = self.server()
        argv = [os.path.join(BIN, "rbrun"), "export", "--to", "mlflow", "--state-dir", "state"]
        ways = ("before", "after", "middle")
        at, tried = 1, 0
        while True:
            died = False
            for how in ways if ALL else (ways[at % 3],):
                s.experiments, s.runs, s.requests, s.victim, s.kill_at, s.kill_how = {}, {}, [], None, at, how
                p = subprocess.Popen(argv, env=dict(self.here.env, MLFLOW_TRACKING_URI=s.url), cwd=self.top,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                s.victim = p.pid
                died = p.wait(timeout=60) == -signal.SIGKILL
                s.kill_at = 0
                if died:
                    tried += 1
                    self.export("--to", "mlflow", "--uri", s.url)
                with self.subTest(at=at, how=how):
                    self.check_mlflow(s)
            if not died:
                break
            at += 1
        self.assertGreater(tried, 20)

    def test_mlflow_limits(self):
        self.planned(self.here, "big", BIG)
        self.say("rbrun", "big.json", "--yes")
        with sqlite3.connect(os.path.join(self.run_dir("big"), "journal.db")) as db:  # 2499 more reports before the one
            events = [json.loads(t) for (t,) in db.execute("SELECT json FROM event ORDER BY seq")]
            at = next(i for i, e in enumerate(events) if e["event"] == "report")
            events[at:at] = [dict(events[at], resource=r, metric=1 / r) for r in range(1, 2500)]
            db.execute("DELETE FROM event")
            db.executemany("INSERT INTO event VALUES (?, ?)", [(i + 1, json.dumps(e)) for i, e in enumerate(events)])
        s = self.server()
        argv = [os.path.join(BIN, "rbrun"), "export", "big", "--to", "mlflow", "--uri", s.url, "--state-dir", "state"]
        for kill_at in (8, 7):  # in the second batch of points; then while history is read
            s.requests, s.victim, s.kill_at, s.kill_how = [], None, kill_at, "after"
            p = subprocess.Popen(argv, env=self.here.env, cwd=self.top)
            s.victim = p.pid
            self.assertEqual(p.wait(timeout=60), -signal.SIGKILL)
        s.kill_at = 0
        self.export("big", "--to", "mlflow", "--uri", s.url)
        self.assertEqual(s.violations, [])
        run = s.trial(0)
        self.assertEqual(len(run["points"]), 2500)
        self.assertEqual(len({p[1] for p in run["points"]}), 2500)
        self.assertEqual({p[3] for p in run["points"]}, {1 / r for r in range(1, 2500)} | {0.5})
        self.assertRegex(run["points"][0][0], r"^__/acc/top_1_\./x{200,}$")
        self.assertEqual(len(run["params"]), 151)
        self.assertRegex(run["params"]["opt"], r"^(é{3000}|ü{3000})$")
        self.assertEqual(s.parent()["tags"]["rubberband_metric"], BIG_METRIC)
        self.export("big", "--to", "tensorboard", "--dir", "tb")
        (data,) = self.event_files(os.path.join(self.top, "tb")).values()
        self.assertEqual(len(tfevents_reader.read(data)[0]), 2500)

    def test_a_server_that_is_busy_is_asked_again(self):
        s = self.server()
        s.fail_with = 503
        p = subprocess.Popen([os.path.join(BIN, "rbrun"), "export", "--to", "mlflow", "--uri", s.url, "--state-dir", "state"],
                             env=self.here.env, cwd=self.top)
        while len(s.requests) < 2:
            time.sleep(0.01)
        s.fail_with = None
        self.assertEqual(p.wait(timeout=30), 0)
        self.check_mlflow(s)

    # --- live

    def test_live_sinks_have_everything_when_the_run_ends(self):
        s = self.server(token="xyzzy-sesame")
        done = self.fresh_run("[{mlflow: {uri: \"%s\"}}, {tensorboard: {dir: tb}}, {optuna: {file: o.db}}, csv, "
                              "{prometheus: {dir: ../prom}}]" % s.url, MLFLOW_TRACKING_TOKEN="xyzzy-sesame")
        self.assertNotIn("export", done.stderr)
        self.check_mlflow(s)
        self.assertEqual(len(self.event_files(os.path.join(self.top, "work/tb", os.path.basename(self.run_dir())))), 3)
        self.assertTrue(os.path.exists(os.path.join(self.top, "work/o.db")))
        self.assertTrue(os.path.exists(os.path.join(self.run_dir(), "sinks/csv/trials.csv")))
        self.assertEqual(len(os.listdir(os.path.join(self.top, "prom"))), 1)
        with open(os.path.join(self.top, "env"), encoding="utf-8") as f:
            self.assertNotIn("sesame", f.read())
        for root, _, names in os.walk(self.top):
            for name in names:
                with open(os.path.join(root, name), "rb") as f:
                    self.assertNotIn(b"sesame", f.read(), name)
        # The next run is not sent the results of this one.
        self.assertEqual(self.say("rbrun", "live.json", "--yes", MLFLOW_TRACKING_TOKEN="xyzzy-sesame").returncode, 0)
        with open(os.path.join(self.top, "listed"), encoding="utf-8") as f:
            listed = f.read().split()
        self.assertIn("train.sh", listed)
        self.assertEqual({"tb", "o.db"} & set(listed), set())
        self.assertEqual(s.violations, [])

    def test_a_server_that_is_away_or_hangs_disturbs_nothing(self):
        s = self.server()
        port = s.port
        s.stop()
        self.servers.remove(s)
        url = "http://127.0.0.1:%d" % port
        for hangs in (False, True):
            with self.subTest(hangs=hangs):
                if hangs:
                    self.server(port=port).hang = True
                began = time.time()
                done = self.fresh_run("[{mlflow: {uri: \"%s\"}}, csv]" % url, **({"RB_TEST_SINKS_S": "1"} if hangs else {}))
                self.assertLess(time.time() - began, 60)
                self.assertEqual(self.report()["outcome"], "complete")
                command = "rbrun export %s --to mlflow" % os.path.basename(self.run_dir())
                self.assertIn(command, done.stderr)
                self.assertRegex(done.stderr, r"warning: mlflow: 0 of \d+ events delivered")
                self.assertTrue(hangs or "csv" not in done.stderr, done.stderr)  # hangs: a busy machine may need more than a second
                self.assertIn(command, self.say("rbrun", "status").stdout)
                self.assertIn(command, self.say("rbrun", "report").stdout)
        self.servers[-1].hang = False
        self.export()
        self.check_mlflow(self.servers[-1])
        self.assertNotIn("export", self.say("rbrun", "report").stdout)

    def test_killed_and_resumed_runs_are_exact(self):
        s = self.server()
        self.planned(self.here, "live", JOB + "deadline: 1h\nsinks: [{mlflow: {uri: \"%s\"}}, {tensorboard: {dir: ../tb}}, {prometheus: {dir: ../prom}}]\n" % s.url)
        shutil.rmtree(os.path.join(self.top, "state"))
        argv = [os.path.join(BIN, "rbrun"), "live.json", "--yes", "--state-dir", "state"]
        hold = self.here.write("hold", "")
        p = subprocess.Popen(argv, env=self.here.env, cwd=self.top, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not any(r["points"] for r in list(s.runs.values())):  # it arrives while the run goes on
            self.assertIsNone(p.poll())
            time.sleep(0.01)
        self.assertIn("RB4303", self.export("--to", "mlflow", expect=1).stderr)
        # The file may first be from before the node was there.
        while not re.search(r"_active\{.*\} 1\n(.*\n)*.*_cost_p95_dollars\{.*\} 0\n(.*\n)*.*_gpus\{.*\} [1-9]", self.prom()):
            self.assertIsNone(p.poll())
            time.sleep(0.01)
        p.kill()
        p.wait()
        os.remove(hold)
        self.say("rbrun", "resume")
        self.assertRegex(self.prom(), r'_active\{.*\} 0\n(.*\n)*.*_on_time_ratio\{.*\} 1\n')
        s.trial(2)["points"].sort()
        self.check_mlflow(s)
        for data in self.event_files(os.path.join(self.top, "tb")).values():
            tfevents_reader.read(data)
        self.export()
        self.check_mlflow(s)

    def prom(self):
        """The file for Prometheus; empty: there is none yet."""
        folder = os.path.join(self.top, "prom")
        text = ""
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".prom"):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    text += f.read()
        return text

    def test_live_jobs_of_a_pool(self):
        self.here.write("work/a.yaml", JOB.replace("name: sunk", "name: a") + "sinks: [{csv: {dir: csv}}]\n")
        self.here.write("pool.yaml", "format: rb-pool/1\nname: two\nresources: {infra: [local], max_nodes: 1}\npolicy: goodput\n"
                                     "jobs: [work/a.yaml]\n")
        self.say("rbrun", "--pool", "pool.yaml", "--yes")
        found = os.listdir(os.path.join(self.top, "work/csv"))
        self.assertEqual(len(found), 1)
        with open(os.path.join(self.top, "work/csv", found[0], "reports.csv"), encoding="utf-8") as f:
            self.assertEqual(len(f.readlines()), 6)

    # --- files

    def test_tensorboard(self):
        folder = os.path.join(self.top, "tb", os.path.basename(self.run_dir()))
        self.assertEqual(self.export("--to", "tensorboard", "--dir", "tb").stdout, "tensorboard: %s\n" % folder)
        files = self.event_files(folder)
        self.assertEqual([re.sub(r"\.\d{10}\.", ".S.", f) for f in sorted(files)],
                         ["trial-000%d/events.out.tfevents.S.rubberband.%d.0" % (i, i) for i in range(3)])
        read = [tfevents_reader.read(files[f]) for f in sorted(files)]
        self.assertEqual([(s[0], s[1], round(s[2], 6)) for s in read[2][0]],
                         [("val_acc", 1, 0.21), ("val_acc", 2, 0.22), ("val_acc", 3, 0.23)])
        self.assertNotEqual(read[1][0][0][2], read[1][0][0][2])  # nan
        self.assertEqual([r[2] for r in read], [[2], [1], [1]])  # ended: failed, ok, ok
        for i in range(3):
            self.assertEqual(read[i][1], self.parameters(i))
        # A file that is torn at any byte is completed, and written a second time it is the same.
        (name,) = (f for f in files if f.startswith("trial-0002"))
        for cut in [0, 1, 7, 8, 11, 12, 13, len(files[name]) // 2, len(files[name]) - 1, len(files[name])]:
            with open(os.path.join(folder, name), "r+b") as f:
                f.truncate(cut)
            self.export("--to", "tensorboard", "--dir", "tb")
            self.assertEqual(self.event_files(folder), files)
        with open(os.path.join(folder, name), "r+b") as f:
            f.seek(30)
            f.write(b"!")
        self.assertRegex(self.export("--to", "tensorboard", "--dir", "tb", expect=2).stderr, "at byte 30; name another place.*RB4304")
        os.chmod(self.top, 0o700)
        self.assertIn("RB4308", self.export("--to", "tensorboard", "--dir", "/proc/none", expect=1).stderr)

    def test_tensorboard_by_protoc(self):
        if not shutil.which("protoc"):
            self.skipTest("no protoc: install protobuf-compiler")
        self.export("--to", "tensorboard", "--dir", "tb")
        files = self.event_files(os.path.join(self.top, "tb"))
        (data,) = (files[f] for f in files if "trial-0002" in f)
        decoded = []
        for record in tfevents_reader.records(data):
            done = subprocess.run(["protoc", "-I", HERE, "--decode=Event", "event.proto"], input=record,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            decoded.append(done.stdout.decode())
        self.assertIn('file_version: "brain.Event:2"', decoded[0])
        self.assertIn('plugin_name: "hparams"', decoded[1])
        self.assertIn("simple_value: 0.21", decoded[2])
        self.assertFalse(any(re.search(r"^\s*\d+: ", d, re.M) for d in decoded), "a field that the messages do not have")

    def rows(self, file, sql):
        with sqlite3.connect(os.path.join(self.top, file)) as db:
            return db.execute(sql).fetchall()

    def test_optuna(self):
        for schema, head, index in (("3.2", "v3.2.0.a", 1), ("3.0", "v3.0.0.d", 0)):
            file = "study%s.db" % schema
            self.export("--to", "optuna", "--file", file, "--schema", schema)
            first = self.rows(file, "SELECT trial_id, state FROM trials")
            self.export("--to", "optuna", "--file", file, "--schema", schema)
            self.assertEqual(self.rows(file, "SELECT trial_id, state FROM trials"), first)
            self.assertEqual(self.rows(file, "SELECT version_num FROM alembic_version"), [(head,)])
            self.assertEqual(self.rows(file, "SELECT version_info_id, schema_version FROM version_info"), [(1, 12)])
            self.assertEqual(self.rows(file, "SELECT count(*) FROM sqlite_master WHERE name = 'trials_study_id_key'"), [(index,)])
            self.assertEqual(self.rows(file, "SELECT study_name FROM studies"), [(os.path.basename(self.run_dir()),)])
            self.assertEqual(self.rows(file, "SELECT direction, objective FROM study_directions"), [("MAXIMIZE", 0)])
            self.assertEqual(self.rows(file, "SELECT number, state FROM trials"), [(0, "FAIL"), (1, "PRUNED"), (2, "COMPLETE")])
            self.assertEqual(self.rows(file, "SELECT trial_id, value, value_type FROM trial_values"), [(3, 0.23, "FINITE")])
            self.assertEqual(self.rows(file, "SELECT trial_id, step, intermediate_value, intermediate_value_type FROM "
                                             "trial_intermediate_values ORDER BY trial_id, step"),
                             [(1, 1, 0.11, "FINITE"), (2, 1, None, "NAN"), (3, 1, 0.21, "FINITE"), (3, 2, 0.22, "FINITE"),
                              (3, 3, 0.23, "FINITE")])
        other = self.export("--to", "optuna", "--file", "study3.0.db", expect=1).stderr
        self.assertIn("it has the schema v3.0.0.d, not v3.2.0.a; say --schema 3.0", other)
        self.here.write("text.db", "no database " * 100)
        self.assertIn("RB4309", self.export("--to", "optuna", "--file", "text.db", expect=1).stderr)

    def test_optuna_opens_it(self):
        has = os.path.exists(PYTHON) and subprocess.run([PYTHON, "-c", "import optuna"], capture_output=True, check=False).returncode == 0
        if not has:
            self.skipTest("no optuna: install python3-optuna")
        # A finished export and a running one: the journal as it was after its first report.
        run = os.path.basename(self.run_dir())
        other = run[:-1] + ("b" if run[-1] == "a" else "a")  # an id of the same form
        shutil.copytree(self.run_dir(), os.path.join(self.top, "state", other))
        with sqlite3.connect(os.path.join(self.top, "state", other, "journal.db")) as db:
            (at,) = db.execute("SELECT min(seq) FROM event WHERE json LIKE '%\"report\"%'").fetchone()
            db.execute("DELETE FROM event WHERE seq > ?", (at,))
            db.execute("UPDATE meta SET run_id = ?", (other,))
        for name in (run, other):
            self.export(name, "--to", "optuna", "--file", "both.db", "--schema", "3.0")
        script = """if True:
            import json, optuna
            out = {}
            for s in optuna.get_all_study_summaries("sqlite:///both.db"):
                study = optuna.load_study(study_name=s.study_name, storage="sqlite:///both.db")
                out[s.study_name] = [[t.state.name, t.params, t.value if t.state.name == "COMPLETE" else None] for t in study.trials]
                if study.trials[-1].state.name == "COMPLETE":
                    out["best"] = study.best_value
            print(json.dumps(out))"""
        done = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, cwd=self.top, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout.splitlines()[-1])
        finished = seen[run]
        self.assertEqual([t[0] for t in finished], ["FAIL", "PRUNED", "COMPLETE"])
        self.assertEqual(seen["best"], 0.23)
        running = seen[other]
        self.assertIn("RUNNING", [t[0] for t in running])
        for trial in range(3):
            expected = json.loads(self.say("rbrun", "report", run, "--json").stdout)["trials"][trial]["params"]
            for name, value in finished[trial][1].items():
                self.assertAlmostEqual(value, expected[name], 12) if isinstance(value, float) else self.assertEqual(value, expected[name])

    def test_csv(self):
        self.export("--to", "csv", "--dir", "out")
        folder = os.path.join(self.top, "out", os.path.basename(self.run_dir()))
        with open(os.path.join(folder, "reports.csv"), encoding="utf-8", newline="") as f:
            reports = list(csv.DictReader(f))
        self.assertEqual(sorted((r["trial"], r["resource"], r["metric"]) for r in reports),
                         [("0", "1", "0.11"), ("1", "1", "nan"), ("2", "1", "0.21"), ("2", "2", "0.22"), ("2", "3", "0.23")])
        with open(os.path.join(folder, "trials.csv"), encoding="utf-8", newline="") as f:
            theirs = self.say("rbrun", "report", "--csv", "trials").stdout
            self.assertEqual(list(csv.DictReader(f)), list(csv.DictReader(theirs.splitlines())))

    def test_prometheus(self):
        self.export("--to", "prometheus", "--dir", "prom")
        run = os.path.basename(self.run_dir())
        path = os.path.join(self.top, "prom", "rubberband_%s.prom" % run)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o644)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        values, typed = {}, {}
        for line in text.splitlines():
            comment = re.fullmatch(r"# (HELP|TYPE) (rubberband_run_[a-z0-9_]+) (.+)", line)
            if comment:
                self.assertNotIn(comment.group(2), values)
                typed.setdefault(comment.group(2), {})[comment.group(1)] = comment.group(3)
                continue
            sample = re.fullmatch(r'([a-z_0-9]+)\{job="sunk",run="%s"\} ([0-9.e+-]+)' % run, line)
            self.assertTrue(sample, line)
            values[sample.group(1)] = float(sample.group(2))
        self.assertEqual(set(typed), set(values))
        for name, about in typed.items():
            self.assertEqual(about["TYPE"], "counter" if name.endswith("_total") else "gauge")
        self.assertEqual(values["rubberband_run_active"], 0)
        self.assertEqual(values["rubberband_run_cost_dollars"], 0)
        self.assertNotIn("rubberband_run_on_time_ratio", values)  # the job has no deadline
        if shutil.which("promtool"):
            with open(path, encoding="utf-8") as f:
                done = subprocess.run(["promtool", "check", "metrics"], stdin=f, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    # --- mistakes

    def test_mistakes_on_the_command_line(self):
        for argv, expect, words in (
                ((), 2, "names no sinks"),
                (("--to", "mlflov"), 2, "did you mean mlflow [RB4301]"),
                (("--to", "csv", "--schema", "3.0"), 2, "--schema: csv has no such setting"),
                (("--to", "optuna", "--schema", "4"), 2, "expected 3.2 or 3.0"),
                (("--to", "prometheus"), 2, "say --dir"),
                (("--to", "mlflow"), 2, "set MLFLOW_TRACKING_URI"),
                (("--to", "mlflow", "--uri", "mlruns"), 2, "got \"mlruns\" [RB4302]"),
                (("--to", "mlflow", "--uri", "https://me:secret@host"), 2, "holds no user"),
                (("--to", "mlflow", "--uri", "http://tracker.example"), 2, "plain http"),
                (("--to", "csv", "--to", "tensorboard", "--follow"), 2, "one sink"),
                (("--to", "mlflow", "--uri", "http://127.0.0.1:1"), 1, "RB4305")):
            with self.subTest(argv=argv):
                said = self.export(*argv, expect=expect).stderr
                self.assertIn(words, said)
                self.assertNotIn("secret", said)

    def test_mistakes_in_the_job(self):
        for sinks, words in (
                ("csv", "job.yaml:18:8: sinks: expected a list"),
                ("[csvs]", "job.yaml:18:9: sinks[0]"),
                ("[{mlflov: {}}]", "did you mean \"mlflow\""),
                ("[{csv: {file: x}}]", "sinks[0].csv.file: unknown key"),
                ("[csv, {csv: {dir: x}}]", "listed twice"),
                ("[{csv: {}, optuna: {}}]", "one sink an entry"),
                ("[prometheus]", "dir"),
                ("[{optuna: {schema: \"4\"}}]", "sinks[0].optuna.schema"),
                ("[{mlflow: {uri: \"https://me:pw@h\"}}]", "holds no user"),
                ("[{mlflow: {experiment: \"%s\"}}]" % ("x" * 251), "at most 250")):
            with self.subTest(sinks=sinks):
                self.here.write("job.yaml", JOB + "sinks: " + sinks + "\n")
                self.assertIn(words, self.here.say("rbplan", "--check", "job.yaml", expect=2).stderr)
        self.assertIn("is the work directory", self.fresh_run("[{tensorboard: {dir: .}}]", expect=2).stderr)


def main():
    global BIN, ALL
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--all", action="store_true")
    known, rest = parser.parse_known_args()
    BIN, ALL = os.path.abspath(known.bin), known.all
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
