#!/usr/bin/env python3
"""Programs that propose configurations, as rbrun drives them on this machine and rbsim in virtual time: good ones, ones that
crash, hang and lie, Optuna's adapter, and our own rbsearch. Usage: programs.py --bin BUILD_DIR --root SOURCES [TEST]..."""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "cli"))
from real_run import RealRun, profile  # noqa: E402

BIN = ROOT = None

JOB = """name: searched
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}, kind: {values: [a, b]}}
scheduler:
  {type: sha, num_trials: 6, min_resource: 1, max_resource: 4, eta: 2, unit: epoch, sampler: %s}
trial: {gpus: 1, timeout: 1m}
profile: fast
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [local]}
"""

TRAIN = """e=$RB_RESOURCE_START
while [ $e -lt $RB_RESOURCE_END ]; do
    e=$((e + 1))
    echo "epoch=$e val_acc=0.$((10 + RB_TRIAL_ID * 5 + e))"
done
echo weights > "$RB_CHECKPOINT_DIR/model"
"""


def command(mode, timeout="5s", on_failure="random"):
    return "{command: 'exec /usr/bin/python3 optimiser.py %s', timeout: %s, on_failure: %s}" % (mode, timeout, on_failure)


def expected(trial):
    return {"lr": round(0.1 + 0.05 * trial, 6), "kind": "ab"[trial % 2]}


class Programs(unittest.TestCase):
    def runTest(self):
        """For the places of side_by_side."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="rb-search-")
        self.here = RealRun(BIN, self.top, PATH=BIN + ":/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="2",
                            AWS_SECRET_ACCESS_KEY="marked-secret")
        self.here.write("profile.yaml", profile("fast", 0.05, accelerator="CPU", startup_s=0.05, checkpoint_s=0.05,
                                                queue_s=0, init_s=0))
        self.here.write("train.sh", TRAIN)
        shutil.copy(os.path.join(HERE, "optimiser.py"), self.top)
        self.say("rbprofile", "import", "profile.yaml")

    def tearDown(self):
        shutil.rmtree(self.top)

    def side_by_side(self, one, cases):
        """one(PLACE, *CASE) for each case, each in a folder of its own. They wait more than they work."""
        def whole(case):
            place = Programs()
            place.setUp()
            try:
                return one(place, *case)
            finally:
                place.tearDown()
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            return list(pool.map(whole, cases))

    def say(self, *argv, **more):
        return self.here.say(*argv, **more)

    def plan(self, sampler, job=JOB):
        self.here.write("job.yaml", job % sampler)
        self.say("rbplan", "-o", "plan.json", "job.yaml", "--planner", "static", "--time-limit", "300ms")

    def run_dir(self):
        runs = os.path.join(self.top, ".local", "state", "rubberband")
        found = [d for d, _, files in os.walk(runs) if "journal.db" in files]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def suggestions(self):
        """By trial; a trial has one at most."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.run_dir(), "journal.db"))) as db:
            events = [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]
        found = [e for e in events if e["event"] == "suggested"]
        self.assertEqual([t for t, n in collections.Counter(e["trial"] for e in found).items() if n > 1], [])
        return {e["trial"]: e for e in found}

    def heard(self):
        with open(os.path.join(self.top, "heard"), encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def run_it(self, sampler, expect=0, within_s=60):  # some seconds on a quiet machine; for ever is longer
        self.plan(sampler)
        begun = time.monotonic()
        done = self.say("rbrun", "plan.json", expect=expect, timeout=90)
        self.assertLess(time.monotonic() - begun, within_s)
        self.assertIn("0 orders differ", self.say("rbrun", "replay").stdout)
        return done

    def all_by_rule(self):
        found = self.suggestions()
        self.assertEqual({t: e["values"] for t, e in found.items()}, {t: expected(t) for t in range(6)})
        self.assertEqual({e["origin"] for e in found.values()}, {"command"})

    # ---- programs that keep to the protocol

    def test_good(self):
        self.run_it(command("good"))
        self.all_by_rule()
        self.assertEqual(self.suggestions()[3]["because"], "by rule")
        heard = self.heard()
        self.assertEqual(heard[0]["format"], "rb-search/1")
        self.assertEqual(heard[0]["metric"], {"name": "val_acc", "goal": "maximize"})
        self.assertEqual(sorted(m["trial"] for m in heard if m["type"] == "ask"), list(range(6)))
        self.assertEqual([m for m in heard if m["type"] == "replay"], [])
        ends = {m["trial"]: m["state"] for m in heard if m["type"] == "tell"}
        self.assertEqual(ends[5], "ended")
        self.assertEqual(ends[0], "paused")
        best = [m for m in heard if m["type"] == "tell" and m["trial"] == 5 and m["state"] == "running" and "next" not in m]
        self.assertEqual([(m["resource"], m["metric"]) for m in best], [(e, round(0.35 + e / 100, 2)) for e in (1, 2, 3, 4)])

    def test_out_of_order(self):
        self.run_it(command("reorder"))
        self.all_by_rule()

    def test_unknown_ids_and_second_answers_are_dropped(self):
        def one(place, mode):
            place.run_it(command(mode))
            place.all_by_rule()
        self.side_by_side(one, [("unknown_id",), ("twice",)])

    def test_none(self):
        self.run_it(command("none 2"))
        found = self.suggestions()
        self.assertEqual([t for t, e in sorted(found.items()) if e.get("values")], [0, 1])

    def test_sees_no_credentials(self):
        self.run_it("{command: 'env > seen; exec /usr/bin/python3 optimiser.py good'}")
        with open(os.path.join(self.top, "seen"), encoding="utf-8") as f:
            self.assertNotIn("marked-secret", f.read())

    def test_asks_ahead_of_a_slow_one(self):
        """The first answer takes more than a second, so the second question comes before the first trial has trained."""
        self.here.env["RB_LOCAL_SLOTS"] = "1"
        self.run_it(command("slow"))
        self.all_by_rule()
        kinds = [(m["type"], m.get("trial")) for m in self.heard()]
        self.assertLess(kinds.index(("ask", 1)), kinds.index(("tell", 0)))
        self.assertEqual([t for kind, t in kinds if kind == "ask"], list(range(6)))

    def test_is_measured_with_configurations(self):
        self.here.write("job.yaml", (JOB % command("good")).replace("sh train.sh", "test -n \"$RB_PARAM_LR\" && sh train.sh"))
        self.say("rbprofile", "train", "job.yaml", "--configs", "1")
        self.assertFalse(os.path.exists(os.path.join(self.top, "heard")))

    # ---- programs that do not

    def test_corrected_after_an_error(self):
        self.run_it(command("once"))
        self.all_by_rule()
        heard = self.heard()
        error = next(i for i, m in enumerate(heard) if m["type"] == "error")
        self.assertIn("lr", json.dumps(heard[error]) + json.dumps(heard[error - 1]))
        self.assertEqual([m["id"] for m in heard if m["type"] == "ask"].count(heard[error]["id"]), 2)

    def test_crashes(self):
        """Each process lives for eight lines: what the one before it has proposed is replayed, its asks keep their ids."""
        self.run_it(command("crash 8"))
        found = self.suggestions()
        self.assertEqual(sorted(found), list(range(6)))
        for trial, event in found.items():
            if event["origin"] == "command":
                self.assertEqual(event["values"], expected(trial))
        heard = self.heard()
        starts = [i for i, m in enumerate(heard) if m["type"] == "hello"] + [len(heard)]
        self.assertGreater(len(starts), 2)
        second = heard[starts[1]:starts[2]]
        replayed = [m["trial"] for m in second if m["type"] == "replay"]
        self.assertGreater(len(replayed), 0)
        self.assertEqual([m["values"] for m in second if m["type"] == "replay"], [expected(t) for t in replayed])

    def gives_up(self, sampler, why, **more):
        done = self.run_it(sampler, **more)
        found = self.suggestions()
        self.assertEqual(sorted(found), list(range(6)))
        self.assertEqual({e["origin"] for e in found.values()}, {"random"})
        self.assertIn(why, found[0]["because"])
        self.assertIn("started again (3 of 3)" if "asked again" not in done.stderr else "it is asked again", done.stderr)
        self.assertIn("drawn at random from now on", done.stderr)
        return done

    def test_hangs(self):
        self.gives_up(command("hang", "0.3s"), "no answer about trial 0 within 0.3 s")

    def test_is_late(self):
        self.run_it(command("late", "0.3s"))
        self.assertEqual({e["origin"] for e in self.suggestions().values()}, {"random"})

    def test_lies(self):
        self.side_by_side(lambda place, mode, why: place.gives_up(command(mode), why), [
            ("outside", "lr"), ("unknown", "momentum"), ("missing_value", "kind"), ("not_json", "none of rb-search/1"),
            ("long", "more than 262144 bytes"), ("complains", "no model could be fitted")])

    def test_exits_at_once(self):
        self.gives_up(command("exits"), "exit code 3")

    def test_cannot_be_started(self):
        self.gives_up("{command: ./missing}", "exit code 127")
        with open(os.path.join(self.run_dir(), "search.log"), encoding="utf-8") as f:
            self.assertIn("missing", f.read())

    def test_stop_on_failure(self):
        done = self.run_it(command("exits", on_failure="stop"), expect=1)
        self.assertIn("RB4211", done.stderr)
        self.assertEqual(self.suggestions(), {})
        with open(os.path.join(HERE, "optimiser.py"), encoding="utf-8") as f:
            self.here.write("optimiser.py", f.read().replace('MODE == "exits"', "False"))
        self.say("rbrun", "resume", os.path.basename(self.run_dir()))
        self.all_by_rule()

    # ---- kills

    def killed(self, sampler, point):
        """Killed at that write of its journal, and resumed. False: it ended before."""
        self.plan(sampler)
        done = subprocess.run([os.path.join(BIN, "rbrun"), "plan.json"], cwd=self.top, capture_output=True, text=True,
                              check=False, timeout=60, env=dict(self.here.env, RB_TEST_DIE_AFTER=str(point)))
        if done.returncode == 0:
            return False
        self.assertEqual(done.returncode, -9)
        run, had = os.path.basename(self.run_dir()), self.suggestions()
        self.say("rbrun", "resume", run)
        now = self.suggestions()
        self.assertEqual(sorted(now), list(range(6)), point)
        self.assertEqual({t: now[t]["values"] for t in had}, {t: e["values"] for t, e in had.items()})
        self.assertIn("0 orders differ", self.say("rbrun", "replay", run).stdout)
        if "optimiser.py good" in sampler:
            self.all_by_rule()
        return True

    def test_killed(self):
        cases = [(command("good"), point) for point in (12, 20, 30, 45)] + [(command("crash 6"), point) for point in (15, 35)]
        self.assertGreater(sum(self.side_by_side(Programs.killed, cases)), 3)

    # ---- what earlier runs found

    def test_warm_start(self):
        """The second run starts from the first, is killed, and goes on as it began though the store is gone; a cold one
        does not, nor does one that searches something else."""
        train = TRAIN.replace("0.$((10 + RB_TRIAL_ID * 5 + e))", "0.$((10 + (RB_TRIAL_ID * 7 + 3) % 11 * 5 + e))")
        self.here.write("train.sh", train)
        self.plan("tpe")
        said = self.say("rbrun", "plan.json").stderr
        self.assertNotIn("earlier run", said)
        first = os.path.basename(self.run_dir())
        best = self.suggestions()[5]["values"]  # (5 * 7 + 3) % 11 = 5; trials 1 and 4, with 10 and 9, are better
        known = [e["values"] for e in self.suggestions().values()]
        self.assertIn(best, known)
        order = [known[1], known[4], known[2]]  # to R the first two, the next further than the others
        simulated = self.say("rbsim", "job.yaml", "--nodes", "1", "--replicates", "2").stderr
        self.assertIn("every search starts from 1 earlier run: %s; --cold leaves it out" % first, simulated)
        self.assertNotIn("earlier run", self.say("rbsim", "job.yaml", "--cold", "--nodes", "1", "--replicates", "2").stderr)
        shutil.rmtree(os.path.dirname(self.run_dir()))
        killed = subprocess.run([os.path.join(BIN, "rbrun"), "plan.json"], cwd=self.top, capture_output=True, text=True,
                                check=False, timeout=60, env=dict(self.here.env, RB_TEST_DIE_AFTER="12"))
        self.assertEqual(killed.returncode, -9)
        self.assertIn("the search starts from 1 earlier run: " + first, killed.stderr)
        store = self.here.env["RB_DB"]
        shutil.move(store, store + ".gone")
        self.say("rbrun", "resume", os.path.basename(self.run_dir()))
        found = self.suggestions()
        self.assertEqual([found[t]["origin"] for t in range(3)], 3 * ["earlier run"])
        self.assertEqual([found[t]["values"] for t in range(2)], order[:2])
        self.assertIn("(%s)" % first, found[0]["because"])
        self.assertNotIn("earlier run", [found[t]["origin"] for t in range(3, 6)])
        self.assertIn("0 orders differ", self.say("rbrun", "replay").stdout)
        left = "SELECT drawn, metric FROM found JOIN search ON id = search WHERE run = ? AND resource = 1 ORDER BY trial"
        with contextlib.closing(sqlite3.connect(store)) as db:  # a new one: what this run found
            rows = db.execute(left, [os.path.basename(self.run_dir())]).fetchall()
        self.assertEqual([row[0] for row in rows], [found[t]["origin"] == "random" for t in range(6)])  # the model knew enough
        self.assertEqual(rows[4][1], 0.56)  # (4 * 7 + 3) % 11 = 9
        shutil.move(store + ".gone", store)
        shutil.rmtree(os.path.dirname(self.run_dir()))
        self.assertNotIn("earlier run", self.say("rbrun", "--cold", "plan.json").stderr)
        self.assertEqual({e["origin"] for e in self.suggestions().values()}, {"start"})
        with contextlib.closing(sqlite3.connect(store)) as db:
            self.assertEqual([row[0] for row in db.execute(left, [os.path.basename(self.run_dir())])], 6 * [1])
        self.here.write("job.yaml", (JOB % "tpe").replace("max: 0.9", "max: 0.8"))
        self.assertNotIn("earlier run", self.say("rbsim", "job.yaml", "--nodes", "1", "--replicates", "2").stderr)

    # ---- what earlier runs let expect

    def best_for(self, *options):
        return self.say("rbplan", "--best-for", "1", "--deadline", "8s", "--time-limit", "500ms", *options, "job.yaml").stdout

    def test_expected_from_earlier_runs(self):
        """A run says which metric the best of a later search will have, in text and in JSON, with what that rests on; not
        --cold, nor of another command, another R, another metric, or configurations that a sampler has chosen."""
        self.plan("random")
        self.assertIn("this rests on a prior of", self.best_for())
        self.say("rbrun", "plan.json")
        said = self.best_for()
        store = self.here.env["RB_DB"]
        rests = "1 earlier run of this search in %s (6 random configurations, 1 trained to the end) and, by " % store
        self.assertIn("this rests on " + rests, said)
        self.assertIn("a prior of how results at rungs predict those at the end; --cold leaves it out", said)
        # trial 5 is the best at every rung, and has 0.39 at the end
        self.assertRegex(said, r"(?m)^expected: val_acc 0\.3\d* or better in half of draws, 0\.[123]\d* or better in 95 %; ")
        document = json.loads(self.best_for("--json"))
        self.assertEqual((document["law"]["runs"], document["law"]["metric_known"]), (1, True))
        self.assertIn(rests, document["law"]["source"])
        metric = document["chosen"]["expected"]["metric"]
        self.assertEqual((metric["mean"], metric["high"]), (None, None))
        self.assertTrue(0.1 < metric["low"] <= metric["median"] <= 0.39, metric)
        for options in (["--cold"], ["--set", "run=sh other.sh"], ["--set", "scheduler.max_resource=8"],
                        ["--set", "metric.name=loss"]):
            self.assertIn("this rests on a prior of", self.best_for(*options), options)
        self.assertIn(rests, self.best_for("--set", "seed=5", "--set", "scheduler.num_trials=9"))
        sqlite3.connect(store).executescript("UPDATE found SET drawn = 0")
        self.assertIn("this rests on a prior of", self.best_for())
        self.assertIn("RB1026", self.say("rbplan", "--cold", "job.yaml", expect=2).stderr)

    # ---- tables of runs

    def test_recorded(self):
        """What a run reported is a table, on which a search finds the same; trials without a whole curve are left out."""
        job = JOB.replace("sha, num_trials: 6, min_resource: 1, max_resource: 4, eta: 2", "random, num_trials: 6, max_resource: 3")
        self.here.write("train.sh", TRAIN.replace('    echo "epoch=$e val_acc=0.', '    v=0.').replace(
            'e))"', 'e))\n    test $RB_TRIAL_ID = 4 -a $e -ge 2 && v=nan\n    echo "epoch=$e val_acc=$v"'))
        self.plan("random", job)
        self.say("rbrun", "plan.json")
        run = os.path.basename(self.run_dir())
        said = self.say("rbsim", "--record", "mine_first.csv", run).stderr
        self.assertIn("mine_first.csv: 6 rows to 3 with their seconds", said)
        with open(os.path.join(self.top, "mine_first.csv"), encoding="utf-8") as f:
            rows = [line.strip().split(",") for line in f]
        self.assertEqual(rows[0], ["p.lr", "p.kind", "unit_s", "1", "2", "3"])
        found = self.suggestions()
        for trial in range(6):
            self.assertEqual(rows[1 + trial][:2], [str(found[trial]["values"]["lr"]), found[trial]["values"]["kind"]])
            self.assertEqual(rows[1 + trial][3:], ["" if trial == 4 and e > 1 else "0.%d" % (10 + trial * 5 + e) for e in (1, 2, 3)])
            self.assertTrue(0 < float(rows[1 + trial][2]) < 1)
        self.here.write("job.yaml", "name: mine\nprofile: fast\nresources: {infra: [local]}\n"
                        "scheduler: {type: random, num_trials: 6, sampler: random}\n")
        simulated = json.loads(self.say("rbsim", "--blackbox", "mine_first.csv", "--nodes", "1", "--replicates", "2", "--json", "job.yaml").stdout)
        self.assertEqual(simulated["blackbox"]["best"], 0.38)
        self.assertEqual(simulated["means"]["regret"]["mean"], 0)  # all rows were taken
        self.assertEqual(self.say("rbsim", "--record", "mine_twice.csv", run, self.run_dir()).stderr.count("12 rows"), 1)
        self.here.write("other.yaml", "{}\n")
        self.assertIn("other.yaml is there", self.say("rbsim", "--record", "other_x.csv", run, expect=2).stderr)
        self.assertFalse(os.path.exists(os.path.join(self.top, "other_x.csv")))

    # ---- virtual time, our samplers, Optuna

    def simulate(self, sampler, job=JOB, replicates=2):
        self.here.write("job.yaml", job % sampler)
        return json.loads(self.say("rbsim", "job.yaml", "--nodes", "2", "--replicates", str(replicates), "--json").stdout)

    def test_rbsim(self):
        self.simulate(command("good"))
        heard = self.heard()
        self.assertEqual(len([m for m in heard if m["type"] == "hello"]), 2)
        self.assertEqual(len([m for m in heard if m["type"] == "ask"]), 12)
        self.simulate(command("hang", "0.2s"))
        self.here.write("job.yaml", JOB % command("exits", on_failure="stop"))
        done = self.say("rbsim", "job.yaml", "--nodes", "2", "--replicates", "2", expect=1)
        self.assertIn("RB4211", done.stderr)

    def on_a_table(self, mode, replicates=1):
        """Twelve rows, none of which is exactly what is proposed."""
        self.here.write("toy.yaml", "metric: {name: val_acc, goal: maximize}\nmax_resource: 4\nparameters:\n"
                        "  lr: {min: 0.1, max: 0.9}\n  kind: {values: [a, b]}\n")
        self.here.write("toy_1.csv", "p.lr,p.kind,1,2,3,4\n" + "".join(
            "%.2f,%s,%s\n" % (0.12 + 0.06 * i, "ab"[i // 2 % 2], ",".join("%.3f" % (0.1 * r + 0.01 * i) for r in range(4)))
            for i in range(12)))
        self.here.write("job.yaml", JOB % command(mode, "0.5s"))
        begun = time.monotonic()
        said = self.say("rbsim", "job.yaml", "--blackbox", "toy_1.csv", "--nodes", "2", "--replicates", str(replicates),
                        "--json", timeout=60)
        self.assertLess(time.monotonic() - begun, 40)
        return json.loads(said.stdout)

    def test_rbsim_on_a_table(self):
        good = self.on_a_table("good")
        heard = self.heard()
        with open(os.path.join(self.top, "toy_1.csv"), encoding="utf-8") as f:
            rows = {tuple(line.split(",")[:2]) for line in list(f)[1:]}
        asked, suggested = None, []
        for m in heard:
            if m["type"] == "ask":
                asked = m["trial"]
            if m["type"] == "replay":  # the row that it is instead, before anything that it reports
                self.assertEqual(m["trial"], asked)
                suggested.append(("%.2f" % m["values"]["lr"], m["values"]["kind"]))
                self.assertEqual(len(set(suggested)), len(suggested))
                self.assertIn(suggested[-1], rows)
                self.assertLess(abs(m["values"]["lr"] - expected(asked)["lr"]), 0.2)
        self.assertEqual(len([m for m in heard if m["type"] == "replay"]), 6)
        self.on_a_table("good", replicates=2)
        self.assertEqual(len({m["seed"] for m in self.heard()[len(heard):] if m["type"] == "hello"}), 2)

    def test_hostile_on_a_table(self):
        good, crashed, hung, lied = self.side_by_side(lambda place, mode: place.on_a_table(mode), [
            ("good",), ("crash_once 12",), ("hang",), ("not_json",)])
        self.assertEqual(crashed, good)     # started again, it goes on as it would have
        self.assertNotEqual(hung, good)     # random from then on, the same however it failed
        self.assertEqual(hung, lied)

    def test_rbsearch_is_the_sampler(self):
        """What a sampler proposes in the process of the run, and what it proposes over the protocol: one trial at a time, so
        that the facts come in the same order."""
        job = JOB.replace("num_trials: 6", "num_trials: 16")
        def one(place, sampler):
            place.here.env["RB_LOCAL_SLOTS"] = "1"
            place.plan(sampler, job)
            place.say("rbrun", "plan.json")
            return [e["values"] for _, e in sorted(place.suggestions().items())]
        tpe, tpe_outside, gp, gp_outside = self.side_by_side(one, [(sampler % name,) for name in ("tpe", "gp") for sampler in (
            "%s", "{command: rbsearch --job job.yaml --sampler %s}")])
        self.assertEqual(len(tpe), 16)
        self.assertEqual(tpe, tpe_outside)
        self.assertEqual(gp, gp_outside)
        self.assertNotEqual(tpe, gp)

    def test_rbsearch_refuses_other_lines(self):
        self.here.write("job.yaml", JOB % "tpe")
        for line, why in (('{"type": "ask", "trial": 0}', "RB4212"), ('{"id": 1}', "RB4212"), ("[", "RB1111"),
                          ('{"type": "replay", "trial": 0, "values": {"lr": 7.0}}', "lr")):
            done = subprocess.run([os.path.join(BIN, "rbsearch")], input=line + "\n", cwd=self.top, env=self.here.env,
                                  capture_output=True, text=True, check=False, timeout=20)
            self.assertEqual((done.returncode, json.loads(done.stdout)["type"]), (2, "error"))
            self.assertIn(why, done.stderr)

    def test_optuna(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import optuna"], capture_output=True, check=False).returncode:
            self.skipTest("python3-optuna is not installed")
        shutil.copy(os.path.join(ROOT, "examples", "optuna", "adapter.py"), self.top)
        sampler = "{command: 'exec /usr/bin/python3 adapter.py', timeout: 60s}"
        self.run_it(sampler)
        found = self.suggestions()
        self.assertEqual({e["origin"] for e in found.values()}, {"command"})
        self.assertEqual(len({json.dumps(e["values"]) for e in found.values()}), 6)
        job = JOB.replace("num_trials: 6", "num_trials: 30")
        self.simulate(sampler, job, replicates=1)
        for name in ("toy.yaml", "toy_hills.csv"):
            shutil.copy(os.path.join(ROOT, "examples", "search-table", name), self.top)
        self.here.write("table.yaml", "name: toy\nprofile: fast\nresources: {infra: [local]}\n"
                        "scheduler: {type: asha, num_trials: 20, sampler: %s}\n" % sampler)
        done = self.say("rbsim", "table.yaml", "--blackbox", "toy_hills.csv", "--nodes", "1", "--replicates", "1", "--json", timeout=120)
        self.assertEqual(json.loads(done.stdout)["search"]["sampler"], "command")
        self.assertNotIn("failed", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--root", required=True)
    args, rest = parser.parse_known_args()
    BIN, ROOT = os.path.abspath(args.bin), os.path.abspath(args.root)
    unittest.main(argv=sys.argv[:1] + rest)
