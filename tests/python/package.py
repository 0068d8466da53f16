#!/usr/bin/env python3
"""The Python package over librubberband: the plans are those of `rbplan --json`, byte for byte; errors, types, threads; every
function of the header is called. Usage: package.py --bin BUILD --root SOURCE [TEST]..."""
import argparse
import ast
import base64
import copy
import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import timedelta
from decimal import Decimal, localcontext
from unittest import mock

BIN = ROOT = rubberband = None
GUESS = {"guess": {"unit": "4m", "on": "A10G", "from": "feeling"}}


def example(name):
    return os.path.join(ROOT, "examples", name)


def inputs(name="bert"):
    return {"profile": example(name + "/profile.yaml"), "prices": [example("prices/aws-us-east-1.csv")]}


def load(changes=None, name="bert", **named):
    return rubberband.load(example(name + "/job.yaml"), changes, **named)


def rbplan(*words, expect=0):
    done = subprocess.run([os.path.join(BIN, "rbplan"), "--json", "--prices", inputs()["prices"][0], *words], capture_output=True,
                          text=True, env=dict(os.environ, RB_DB="/nowhere/none.db"), check=False)
    assert done.returncode == expect, done.stderr
    return done.stdout


def figures_of(text):
    """A plan's text without what names its maker and where it was made."""
    text, makers = re.subn(r'^\{"format":"rb-plan/1","tool":"[a-z]+ [0-9.]+",', "{", text.strip())
    text, paths = re.subn(r'"path":"[^"]*"', '"path":""', text, count=1)
    assert (makers, paths) == (1, 1), text[:300]
    return text


class Plans(unittest.TestCase):
    def test_plans_have_the_bytes_of_rbplan(self):
        profile = "--profile-file=" + inputs()["profile"]
        for words, job, more in (
                ([profile, "--deadline=2h"], load(deadline=timedelta(hours=2)), {}),
                ([profile, "--deadline=90m", "--budget=$6.5", "--seed=7"], load(deadline="90m", budget=Decimal("6.5"), seed=7), {}),
                ([profile, "--set=scheduler.eta=2", "--set=trial.gpus={min: 1, max: 2}", "--planner=greedy", "--samples=500"],
                 load({"scheduler.eta": 2, "trial.gpus": {"min": 1, "max": 2}}), {"planner": "greedy", "samples": 500}),
                (["--guess=unit=4m,on=A10G,from=feeling", "--deadline=12h"], load(GUESS, deadline="12h"), {"profile": None}),
        ):
            with self.subTest(words):
                plan = job.plan(**{**inputs(), "threads": 2, **more})
                text = rbplan(*words, example("bert/job.yaml"))
                self.assertEqual(figures_of(plan.to_json()), figures_of(text))
                self.assertIn('"estimate":%s,' % plan.estimate.json, text)

    def test_attributes_are_those_of_the_document(self):
        plan = load(deadline="2h", budget="$100").plan(**inputs())
        document = plan.to_dict()
        for figures, key, unit in ((plan.cost, "cost_uusd", Decimal("0.000001")), (plan.time, "time_us", timedelta(microseconds=1))):
            for name, value in document["estimate"][key].items():
                self.assertEqual(getattr(figures, name), value * unit)
        self.assertIsInstance(plan.cost.p95, Decimal)
        self.assertEqual(plan.bound, document["bound"]["cost_uusd"] * Decimal("0.000001"))
        self.assertEqual((plan.proved, plan.basis, plan.name), (True, [], "bert"))
        self.assertEqual(list(plan.warnings), document["warnings"])
        for name in ("p_deadline", "p_budget", "p_both"):
            self.assertEqual(getattr(plan, name), document["estimate"][name])
        self.assertEqual(len(plan.stages), len(document["stages"]))
        for stage, written in zip(plan.stages, document["stages"]):
            nodes = {name: getattr(stage.nodes, name) for name in ("infra", "instance_type", "market", "count")}
            self.assertEqual([nodes], written["nodes"])
            self.assertEqual(stage.nodes.gpus_per_trial, written["gpus_per_trial"])
            for name in ("stage", "trials", "resource_start", "resource_end"):
                self.assertEqual(getattr(stage, name), written[name])
            for name in ("mean", "p50", "p95"):
                self.assertEqual(getattr(stage.time, name), timedelta(microseconds=written["time_us"][name]))
                self.assertEqual(getattr(stage.cost, name), Decimal(written["cost_uusd"][name]) / 1000000)

    def test_money_is_exact_in_every_context(self):
        with localcontext() as context:
            context.prec = 2
            plan = load().plan(**inputs())
        self.assertEqual(int(plan.cost.mean * 1000000), plan.to_dict()["estimate"]["cost_uusd"]["mean"])

    def test_an_estimate_of_one_s_own_nodes(self):
        job = load(deadline="2h")
        plan = job.plan(planner="static", **inputs())
        self.assertEqual(job.estimate([s.nodes for s in plan.stages], **inputs()).cost, plan.cost)
        doubled = [dataclasses.replace(s.nodes, count=2 * s.nodes.count) for s in plan.stages]
        estimate = job.estimate(doubled, threads=2, samples=1024, **inputs())
        self.assertGreater(estimate.cost.mean, plan.cost.mean)
        with self.assertRaises(rubberband.Error) as failed:
            job.estimate(doubled[:2], **inputs())
        self.assertIn("expected 4 stages", str(failed.exception))
        for wrong in ({"market": "on-demand"}, {"count": 0}, {"gpus_per_trial": 2**32 + 1}):
            with self.assertRaises(ValueError):
                job.estimate([dataclasses.replace(doubled[0], **wrong)] * 4, **inputs())

    def test_a_guess_is_said_everywhere_and_never_proved(self):
        plan = load(GUESS, deadline="12h").plan(prices=inputs()["prices"])
        self.assertFalse(plan.proved)
        self.assertEqual(plan.basis[0]["from"], "a feeling")
        self.assertIn("nothing was measured", repr(plan))
        self.assertIn("nothing was measured", plan._repr_html_())
        with self.assertRaises(rubberband.Error) as failed:
            load().plan(prices=inputs()["prices"])
        self.assertEqual(failed.exception.number, "RB1301")

    def test_unknown_probabilities_are_none(self):
        plan = load(name="practice").plan(profile=example("practice/profile.yaml"), prices=example("practice/prices.csv"))
        self.assertIsNone(plan.p_both)
        self.assertIn("not known", repr(plan))

    def test_a_job_for_this_machine(self):
        changes = {"resources": {"infra": ["local"]}}
        with open(inputs()["profile"]) as f:
            profile = rubberband.Profile.parse(f.read().replace("T4", "CPU").replace("aws", "local"))
        job = load({**changes, "trial.gpus": 1, "trial.max_nodes": 1}, deadline="60h")
        plan = job.plan(profile=profile, prices=rubberband.Prices(local_slots=8))
        self.assertEqual((plan.cost.mean, plan.stages[0].nodes.infra), (0, "local"))
        with self.assertRaises(ValueError):
            rubberband.Prices(local_slots=65)


class Records(unittest.TestCase):
    def test_units_become_types_and_unknown_stays_none(self):
        record = rubberband.Record({"format": "rb-x/1", "cost_uusd": {"actual": 1500000, "by": {"train": 1}, "p_on_time": 0.5},
                                    "started_at_us": 86400000000, "end_us": None, "nodes": [{"ready_us": 2}], "ok": True,
                                    "params": {"lag": 3, "lag_us": 4}})
        self.assertEqual((record.cost.actual, record["cost"]["by"].train, record.cost.p_on_time), (Decimal("1.5"), Decimal("0.000001"), 0.5))
        self.assertEqual((record.started_at.isoformat(), record.end), ("1970-01-02T00:00:00+00:00", None))
        self.assertEqual((record.nodes[0].ready, record.ok), (timedelta(microseconds=2), True))
        self.assertEqual((record.params.lag, record.params.lag_us, repr(record.params)), (3, 4, "{'lag': 3, 'lag_us': 4}"))
        self.assertEqual((list(record)[:2], len(record), record.to_dict()["cost_uusd"]["actual"]), (["format", "cost_uusd"], 7, 1500000))
        self.assertEqual(copy.deepcopy(record).cost.actual, record.cost.actual)
        self.assertTrue(repr(record).startswith("<rb-x/1: {'format'"))


class Errors(unittest.TestCase):
    def test_infeasible_names_the_nearest(self):
        for named, words in (({"deadline": "10m"}, ["--deadline=10m"]), ({"budget": 2}, ["--budget=2"]),
                             ({"deadline": "100m", "budget": "4.2"}, ["--deadline=100m", "--budget=4.2"])):
            with self.subTest(named), self.assertRaises(rubberband.Infeasible) as failed:
                load(**named).plan(**inputs())
            problem = failed.exception
            nearest = json.loads(rbplan(*words, "--profile-file=" + inputs()["profile"], example("bert/job.yaml"), expect=3))["nearest"]
            self.assertEqual((problem.number, problem.code, problem.exit_code), ("RB2001", "infeasible", 3))
            for value, key, unit in ((problem.nearest_deadline, "deadline_us", timedelta(microseconds=1)),
                                     (problem.nearest_budget, "budget_uusd", Decimal("0.000001"))):
                self.assertEqual(value, None if nearest[key] is None else nearest[key] * unit)
            self.assertEqual(problem.nearest_confidence, nearest["confidence"])
        self.assertIsInstance(problem.nearest_deadline, timedelta)

    def test_what_is_nearest_is_feasible(self):
        with self.assertRaises(rubberband.Infeasible) as failed:
            load(deadline="10m").plan(**inputs())
        load(deadline=failed.exception.nearest_deadline).plan(**inputs())

    def test_a_bad_job_names_file_line_and_number(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.yaml")
            with open(path, "w") as f:
                f.write("name: a\nmetric: {name: x, goal: maximise}\n")
            with self.assertRaises(rubberband.Error) as failed:
                rubberband.load(path)
            done = subprocess.run([os.path.join(BIN, "rbplan"), "--check", "--json", path], capture_output=True, text=True, check=False)
            self.assertEqual(failed.exception.to_dict(), json.loads(done.stdout))
            self.assertEqual(str(failed.exception), path + ':2:25: metric.goal: expected maximize or minimize, got "maximise"; did '
                             'you mean "maximize"? [RB1117]')

    def test_every_reader_raises(self):
        for read in (lambda: rubberband.load("/nowhere/job.yaml"), lambda: rubberband.parse("name: [", name="inline"),
                     lambda: rubberband.Profile.load("/nowhere/p.yaml"), lambda: rubberband.Profile.parse("format: x"),
                     lambda: rubberband.Prices("/nowhere/p.csv"), lambda: rubberband.Prices.parse("infra,instance_type\naws/a,b\n"),
                     lambda: load({"scheduler.etta": 4}), lambda: load(deadline="soon")):
            with self.assertRaises(rubberband.Error) as failed:
                read()
            self.assertRegex(failed.exception.number, "^RB[1-9][0-9]{3}$")
            self.assertTrue(failed.exception.message and failed.exception.remedy)

    def test_settings_have_ranges(self):
        for setting in ({"samples": 31}, {"samples": 2**32 + 64}, {"threads": 0}, {"planner": "best"}, {"node_limit": -1},
                        {"time_limit": timedelta(seconds=-1)}):
            with self.assertRaisesRegex(ValueError, "expected"):
                load().plan(**setting, **inputs())
        with self.assertRaises(ValueError):
            rubberband.parse("x\0", name="a\0b")

    def test_a_missing_library_says_what_to_do(self):
        code = "import rubberband; rubberband.version()"
        env = {"PYTHONPATH": os.path.join(BIN, "python"), "PATH": "/nowhere"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
        self.assertIn("install the package librubberband0, or set RB_BIN", done.stderr)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(env, RB_BIN="/x"), check=False)
        self.assertIn("RB_BIN is /x, and there is no librubberband.so.0", done.stderr)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(env, PATH=BIN), check=False)
        self.assertEqual(done.stderr, "")  # a build on PATH is enough


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan = load().plan(**inputs())

    def test_the_picture_is_rbplan_s_and_has_no_script(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.svg")
            rbplan("--profile-file=" + inputs()["profile"], "--gantt", path, example("bert/job.yaml"))
            with open(path) as f:
                self.assertEqual(self.plan.to_svg(), f.read())
        shown = self.plan._repr_html_()
        picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', shown).group(1)
        for text in (shown, base64.b64decode(picture).decode()):
            self.assertNotRegex(text.lower(), r"<script|<foreignobject|\son\w+=|javascript:|href=")
        self.assertIn("14 x g4dn.xlarge", shown)

    def test_names_are_escaped(self):
        evil = copy.copy(self.plan)
        evil.name, evil._svg = "<img src=x onerror=alert(1)>", "<svg/>"
        self.assertNotIn("<img src=x", evil._repr_html_())

    def test_without_the_program_there_is_a_table(self):
        from rubberband import _native
        plan = copy.copy(self.plan)
        plan._svg = None
        with mock.patch.object(_native, "program", side_effect=FileNotFoundError("rbplan was not found")):
            self.assertRegex(plan._repr_html_(), "no picture: rbplan was not found.*<table>")

    def test_without_pandas_it_says_so(self):
        with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaisesRegex(ImportError, "python3-pandas"):
            self.plan.to_pandas()

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("python3-pandas is not installed")
        table = self.plan.to_pandas()
        self.assertEqual(list(table["trials"]), [27, 9, 3, 1])
        self.assertEqual(table["cost_mean"].sum(), sum(s.cost.mean for s in self.plan.stages))
        self.assertEqual(table["time_p95"][0], pandas.Timedelta(self.plan.stages[0].time.p95))

    def test_a_saved_plan_is_read_by_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            self.plan.save(path)
            done = subprocess.run([os.path.join(BIN, "rbplan"), "explain", path], capture_output=True, text=True, check=True)
        self.assertIn("stage 3", done.stdout)


class Threads(unittest.TestCase):
    def test_threads_share_inputs(self):
        job, profile, prices = load(), rubberband.Profile.load(inputs()["profile"]), rubberband.Prices(*inputs()["prices"])
        expected, texts = job.plan(profile=profile, prices=prices).to_json(), []
        threads = [threading.Thread(target=lambda: texts.append(job.plan(profile=profile, prices=prices).to_json())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(texts, [expected] * 4)

    def test_others_go_on_while_a_plan_is_searched(self):
        ticks, over = [0], threading.Event()

        def tick():
            while not over.is_set():
                ticks[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=tick)
        thread.start()
        before = ticks[0]
        load().plan(**inputs())
        after = ticks[0]
        over.set()
        thread.join()
        self.assertGreater(after - before, 100)

    def test_nothing_is_left(self):
        """Structs are freed with their last reference: the same once more takes no more memory."""
        code = ("import resource, rubberband, sys\n"
                "def plan():\n"
                "    rubberband.load(sys.argv[1]).plan(profile=sys.argv[2], prices=sys.argv[3], planner='static', samples=64)\n"
                "def used(times):\n"
                "    for _ in range(times): rubberband.load(sys.argv[1]), rubberband.Prices(sys.argv[3])\n"
                "    for _ in range(times // 10): plan()\n"
                "    return int(open('/proc/self/statm').read().split()[1])\n"
                "used(20); before = used(20); print(used(200) - before)")
        done = subprocess.run([sys.executable, "-c", code, example("bert/job.yaml"), inputs()["profile"], inputs()["prices"][0]],
                              capture_output=True, text=True, check=True,
                              env=dict(os.environ, PYTHONPATH=os.path.join(BIN, "python"), RB_BIN=BIN))
        self.assertLess(int(done.stdout), 256, "pages")


class Header(unittest.TestCase):
    def scenario(self):
        """What a program does with the package, once each."""
        self.assertEqual(rubberband.version(), rubberband.__version__)
        job = load(GUESS, deadline="12h")
        self.assertEqual(job.to_dict()["name"], repr(job)[5:-1])
        with open(example("bert/job.yaml")) as f, open(inputs()["profile"]) as p, open(inputs()["prices"][0]) as c:
            parsed = rubberband.parse(f.read(), deadline="2h")
            profile, prices = rubberband.Profile.parse(p.read(), "bert.yaml"), rubberband.Prices.parse(c.read())
        self.assertEqual((repr(profile), repr(prices)[:8]), ("<Profile bert>", "<Prices "))
        rubberband.Prices(local_slots=2)
        plan = parsed.plan(profile=profile, prices=prices, samples=256, threads=1, node_limit=10**6,
                           time_limit=timedelta(minutes=1))
        self.assertFalse(plan.has_place)
        parsed.estimate([s.nodes for s in plan.stages], profile=profile, prices=prices, samples=256)
        job.plan(profile=rubberband.Profile.guess(job, rubberband.Prices(*inputs()["prices"])), prices=inputs()["prices"], samples=256)
        rubberband.Profile.load(inputs()["profile"])
        with self.assertRaises(rubberband.Infeasible):
            load(deadline="10m").plan(samples=256, **inputs())

    def test_every_function_is_called(self):
        from rubberband import _native
        with open(os.path.join(ROOT, "include", "rubberband.h")) as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        declared, called = set(re.findall(r"\b(rubberband_\w+)\(", text)), set()

        class Recorder:
            def __getattr__(self, name):
                called.add(name)
                return getattr(real, name)

        real = _native.library()
        with mock.patch.object(_native, "library", lambda: Recorder()):
            self.scenario()
        self.assertGreater(len(declared), 60)
        self.assertEqual(declared - called, set())

    def test_types_are_those_of_the_header(self):
        """The generator at work on what it must refuse, and on one of everything."""
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        generator = importlib.import_module("python_prototypes")
        header = "#define RUBBERBAND_VERSION_MAJOR 1\n#define RUBBERBAND_VERSION_MINOR 2\n#define RUBBERBAND_VERSION_PATCH 3\n%s"
        made = generator.generate(header % "enum rubberband_x { RUBBERBAND_A, RUBBERBAND_B = 7, RUBBERBAND_C };\n"
                                  "struct rubberband_job;\nint64_t rubberband_f(const struct rubberband_job *job, /* x, */\n"
                                  "                     const char *const *texts, struct rubberband_job **out);")
        self.assertIn('VERSION = "1.2.3"', made)
        self.assertIn("A = 0\nB = 7\nC = 8\n", made)
        self.assertIn('"rubberband_f": (c_int64, [POINTER(job), POINTER(c_char_p), POINTER(POINTER(job))]),', made)
        for wrong in ("void rubberband_f(float x);", "char *rubberband_f(void);", "int rubberband_f(int (*fn)(int));",
                      "int rubberband_f(struct rubberband_unknown *x);", "int rubberband_f(int);", "union x;"):
            with self.assertRaises(generator.Unknown):
                generator.generate(header % wrong)

    def test_the_syntax_is_that_of_the_oldest_python(self):
        package = os.path.dirname(rubberband.__file__)
        with open(os.path.join(ROOT, "python", "pyproject.toml")) as f:
            oldest = tuple(map(int, re.search(r'requires-python = ">=(\d+)\.(\d+)"', f.read()).groups()))
        paths = [os.path.join(package, name) for name in os.listdir(package) if name.endswith(".py")]
        for path in paths + [os.path.join(package, "..", "rubberband_trial.py")]:
            with open(path) as f:
                ast.parse(f.read(), path, feature_version=oldest)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    BIN, ROOT = os.path.abspath(args.bin), os.path.abspath(args.root)
    os.environ["RB_BIN"] = BIN
    sys.path.insert(0, os.path.join(BIN, "python"))
    rubberband = importlib.import_module("rubberband")
    unittest.main(argv=[sys.argv[0], *args.tests])
