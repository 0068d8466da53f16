#!/usr/bin/env python3
"""Training scripts that were not written for us, unedited, on this machine: tests/scripts prints, saves and resumes as timm,
Hugging Face, nanoGPT, Keras, XGBoost, PyTorch's and katib's examples do. One of each run's processes is killed meanwhile; the
result must be that of the script alone, to the last bit.
Usage: unmodified.py --bin BUILD_DIR [--kills N] [TEST]...   N: kills at random delays of a run with stop: saved, 10"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import ONE_GPU, RealRun, never_preempted, profile  # noqa: E402

BIN, KILLS = None, 10
SCRIPTS = os.path.join(HERE, "..", "..", "scripts")

TAIL = """profile: fast
resources: {infra: [local]}
"""
SHA = "{type: sha, num_trials: 2, min_resource: 1, max_resource: 4, eta: 2, unit: epoch}"
STOP = "{type: asha, rule: stop, num_trials: 2, min_resource: 1, max_resource: 4, eta: 2, unit: %s}"

TIMM = """name: timm
metric: {name: eval_top1, goal: maximize, format: csv, file: "{checkpoint}/t/summary.csv", base: 0}
parameters: {lr: {min: 0.1, max: 0.9}, amp: {flag: true}}
scheduler: %s
trial:
  timeout: 1m
  max_restarts: 50
  stop: saved
  args:
    end: "--epochs={max}"
    resume: "--resume={resume}/t/last.pth.tar"
    checkpoint: ["--output={checkpoint}", --experiment=t]
    fixed: --checkpoint-hist=1
checkpoint: {files: [t/last.pth.tar]}
run: python3 timm_train.py "$@"
""" % SHA + TAIL

HF = """name: glue
metric: {name: eval_loss, goal: minimize, format: hf}
parameters: {learning_rate: {min: 0.01, max: 0.1}, fp16: {values: [true, false]}}
scheduler: %s
trial:
  timeout: 1m
  stop: saved
  args:
    style: space
    end: "--num_train_epochs={max}"
    resume: "--resume_from_checkpoint={resume:checkpoint-*}"
    checkpoint: "--output_dir={checkpoint}"
    fixed: [--do_train, --do_eval, --eval_strategy=epoch, --save_strategy=epoch, --save_total_limit=1, --disable_tqdm=True,
            --report_to=none]
run: python3 run_glue.py "$@"
""" % SHA + TAIL

NANOGPT = """name: gpt
metric: {name: val_loss, goal: minimize, pattern: "step {resource}: train loss {train_loss}, val loss {val_loss}"}
parameters: {learning_rate: {min: 0.01, max: 0.1}, dropout: {values: [0.0, 1.0]}}
scheduler: {type: sha, num_trials: 2, min_resource: 4, max_resource: 16, eta: 2, unit: step}
trial:
  timeout: 1m
  args: {end: "--max_iters={end}", resume: --init_from=resume, checkpoint: "--out_dir={checkpoint}",
         fixed: "--lr_decay_iters={max}"}
checkpoint: {in_place: true, files: [ckpt.pt]}
run: python3 nanogpt_train.py "$@"
""" + TAIL

KERAS = """name: keras
metric: {name: val_acc, goal: maximize, format: keras}
parameters: {lr: {min: 0.01, max: 0.1}}
scheduler: %s
trial:
  timeout: 1m
  args: {end: "--epochs={end}", rename: {lr: base-lr},
         checkpoint: ["--checkpoint-format={checkpoint}/checkpoint-{{epoch}}.h5", "--log-dir={checkpoint}/logs"]}
checkpoint: {in_place: true}
run: python3 keras_train.py "$@"
""" % SHA + TAIL

XGBOOST = """name: abalone
metric: {name: validation-rmse, goal: minimize, format: xgboost, base: 0}
parameters: {eta: {min: 0.1, max: 0.5}, max_depth: {min: 2, max: 6}}
scheduler: %s
trial: {timeout: 1m, args: {end: "--num_round={max}", checkpoint: "--model_dir={checkpoint}"}}
checkpoint: {resume: false}
run: python3 abalone.py "$@"
""" % (STOP % "round") + TAIL

MNIST = """name: mnist
metric: {name: test_loss, goal: minimize,
         pattern: ["Train Epoch: {resource} [", "Test set: Average loss: {test_loss}, Accuracy: {*} ({acc}%%)"]}
parameters: {lr: {min: 0.1, max: 0.5}, gamma: {min: 0.5, max: 0.9}, batch-size: {values: [32, 64]}}
scheduler: %s
trial: {timeout: 1m, args: {end: "--epochs={max}", seed: "--seed={seed}", fixed: --save-model}}
checkpoint: {resume: false, files: [mnist_cnn.pt]}
run: python3 mnist_main.py "$@"
""" % (STOP % "epoch") + TAIL

KATIB = """name: katib
metric: {name: test/accuracy, goal: maximize, format: tensorboard, file: "{checkpoint}/logs", base: 0}
parameters: {learning-rate: {min: 0.1, max: 0.5}}
scheduler: %s
trial: {timeout: 1m, args: {end: "--epochs={max}", checkpoint: "--log-path={checkpoint}/logs"}}
checkpoint: {resume: false}
run: python3 mnist_with_summaries.py "$@"
""" % (STOP % "epoch") + TAIL


# The script that is read by `rbplan init` (tests/cli/scripts), the one that is run in its place, what a person searches, the
# first and the last rung.
DRAFTS = {
    "timm": ("timm_train.py", "timm_train.py", "lr: {min: 0.1, max: 0.9}", 1, 4),
    "hf": ("run_glue.py", "run_glue.py", "learning_rate: {min: 0.01, max: 0.1}", 1, 4),
    "nanogpt": ("nanogpt.py", "nanogpt_train.py", "learning_rate: {min: 0.01, max: 0.1}", 4, 16),
    "keras": ("keras_imagenet.py", "keras_train.py", "base-lr: {min: 0.01, max: 0.1}", 1, 4),
    "xgboost": ("abalone.py", "abalone.py", "eta: {min: 0.1, max: 0.5}\n  max_depth: {min: 2, max: 6}", 1, 4),
    "mnist": ("mnist.py", "mnist_main.py", "lr: {min: 0.1, max: 0.5}\n  gamma: {min: 0.5, max: 0.9}", 1, 4),
    "katib": ("tf_summaries.py", "mnist_with_summaries.py", "learning-rate: {min: 0.1, max: 0.5}", 1, 4),
}


def last(pattern):
    """Reads the last number of that pattern in what a script printed."""
    return lambda out, _: float(re.findall(pattern, out)[-1])


def of_summary(_, folder):
    with open(os.path.join(folder, "ckpt/t/summary.csv"), encoding="utf-8") as f:
        rows = [line.strip().split(",") for line in f]
    return float(rows[-1][rows[0].index("eval_top1")])


def of_events(_, folder):
    with open(glob.glob(os.path.join(folder, "ckpt/logs/test/events*"))[0], "rb") as f:
        return struct.unpack("<f", f.read()[-8:-4])[0]


CASES = {
    "timm": (TIMM, of_summary),
    "hf": (HF, last(r"'eval_loss': ([0-9.e-]+)")),
    "nanogpt": (NANOGPT, last(r"val loss ([0-9.]+)")),
    "keras": (KERAS, last(r"val_acc: ([0-9.]+)")),
    "xgboost": (XGBOOST, last(r"validation-rmse:([0-9.]+)")),
    "mnist": (MNIST, last(r"Average loss: ([0-9.]+)")),
    "katib": (KATIB, of_events),
}


def processes_below(folder):
    """Training processes whose checkpoints lie below that folder."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as f:
                environ = f.read()
            with open(os.path.dirname(path) + "/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if ("RB_CHECKPOINT_DIR=" + folder).encode() in environ and words[0].endswith(b"python3"):
            found.append(int(path.split("/")[2]))
    return found


class Place:
    """A folder with the scripts, a job and its plan."""

    def __init__(self, job, pace, cloud=None):
        self.top = tempfile.mkdtemp(prefix="rb-unmodified-")
        self.here = RealRun(BIN, self.top, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="2", PACE=str(pace))
        for script in glob.glob(os.path.join(SCRIPTS, "*.py")):
            shutil.copy(script, self.top)
        self.here.write("job.yaml", job)
        if cloud:
            self.here.on(cloud)
            self.here.write("profile.yaml", never_preempted(profile("fast", 1, ONE_GPU)))
            self.here.make_plan("job.yaml", prices=cloud.prices)
        else:
            self.here.write("profile.yaml", profile("fast", 0.3, accelerator="CPU", queue_s=0, init_s=0))
            self.here.say("rbplan", "--profile-file", "profile.yaml", "-o", "plan.json", "job.yaml", "--time-limit", "2s")

    def run(self, disturb=None, expect=0):
        over = threading.Event()
        helper = threading.Thread(target=disturb, args=(self.top, over)) if disturb else None
        if helper:
            helper.start()
        try:
            done = self.here.say("rbrun", "plan.json", "--json", expect=expect)
        finally:
            over.set()
            if helper:
                helper.join()
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [d for d in lines if d.get("format") == "rb-report/1"][0], done.stderr

    def alone(self, command):
        """What the script prints, and its folder, where nothing is in its way."""
        folder = tempfile.mkdtemp(dir=self.top)
        for script in glob.glob(os.path.join(SCRIPTS, "*.py")):
            shutil.copy(script, folder)
        os.mkdir(os.path.join(folder, "ckpt"))
        done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True,
                              env=dict(self.here.env, PACE="0"))
        return done.stdout, folder

    def checkpoint(self, report):
        return glob.glob(self.top + "/.local/state/rubberband/runs/*/" + report["best"]["checkpoint"])[0]

    def close(self):
        shutil.rmtree(self.top, ignore_errors=True)


# Python reads it first: one process of a run ends in the midst of its work, after the first stage where there are several.
KILL_ONE = """import os, signal, threading
if "RB_TRIAL_ID" in os.environ and (os.environ["RB_RESOURCE_START"] != "0" or "STARTS_OVER" in os.environ):
    try:
        os.close(os.open(os.environ["KILL_ONE"], os.O_CREAT | os.O_EXCL))
        timer = threading.Timer(0.08, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    except FileExistsError:
        pass
"""


class Unmodified(unittest.TestCase):
    def case(self, name):
        job, read = CASES[name]
        place = Place(job, 1)
        place.here.write("site/sitecustomize.py", KILL_ONE)
        place.here.env.update(PYTHONPATH=place.top + "/site", KILL_ONE=place.top + "/killed",
                              **({"STARTS_OVER": "1"} if "resume: false" in job else {}))
        try:
            report, _ = place.run()
            best = report["best"]
            assert report["outcome"] == "complete" and best, name
            out, folder = place.alone(best["command"])
            assert best["metric"] == read(out, folder), (name, best, read(out, folder))
            assert sum(t["restarts"] for t in report["trials"]) == 1, (name, report["trials"])
        finally:
            place.close()
        return name

    def test_the_result_is_that_of_the_script_alone(self):
        with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
            self.assertEqual(list(pool.map(self.case, CASES)), list(CASES))

    def test_a_node_is_lost(self):
        """On nodes with ssh, with a node that dies in the second stage: files, words and checkpoints come from another node."""
        def lose_one(top, over):
            while not over.wait(0.1):
                if glob.glob(top + "/.local/state/rubberband/runs/*/checkpoints/*/stage-0.tar"):
                    alive = [i["id"] for i in cloud.ledger()["instances"] if i["state"] == "running"]
                    urllib.request.urlopen(urllib.request.Request("%s/_rbmock/nodes/%s/poweroff" % (cloud.url, alive[0]),
                                                                  method="POST"), timeout=10).close()
                    return
        job = HF.replace("infra: [local]", "infra: [mock/us-east-1], instance_types: [one.gpu], max_nodes: 2")
        with tempfile.TemporaryDirectory() as folder, MockCloud(BIN, folder) as cloud:
            place = Place(job + 'envs: {PACE: "2"}\n', 1, cloud)
            try:
                report, _ = place.run(lose_one)
                self.assertTrue(report["faults"])
                out, folder = place.alone(report["best"]["command"])
                self.assertEqual(report["best"]["metric"], CASES["hf"][1](out, folder))
            finally:
                place.close()

    def drafted(self, name):
        read, run, parameters, first, length = DRAFTS[name]
        with tempfile.TemporaryDirectory() as folder:
            here = RealRun(BIN, folder, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="2", PACE="2")
            here.env["RB_DB"] = os.path.join(folder, "profiles.db")
            shutil.copy(os.path.join(SCRIPTS, "..", "cli", "scripts", read), folder)
            here.say("rbplan", "init", read, "-o", "job.yaml")
            with open(folder + "/job.yaml", encoding="utf-8") as f:
                draft = f.read()
            here.say("rbplan", "--check", "job.yaml", expect=2 if re.search("[=: ]TODO_[a-z]|TODO_SM", draft) else 0)
            draft = re.sub(r"(?ms)^parameters:.*?^scheduler:", "parameters:\n  %s\nscheduler:" % parameters, draft)
            draft = re.sub(r"num_trials: \d+(, min_resource: \d+)?, max_resource: \d+, eta: 3",
                           "num_trials: 2, min_resource: %d, max_resource: %d, eta: 2" % (first, length), draft)
            here.write("job.yaml", re.sub(r"TODO_\w+", "x", draft))
            shutil.copy(os.path.join(SCRIPTS, run), os.path.join(folder, read))
            here.say("rbplan", "--check", "job.yaml")
            here.say("rbprofile", "train", "job.yaml", "--configs", "2", "--resource", str(3 * first))
            # The plan rests on other times: how well a busy machine is measured is not the question here.
            here.write("fast.yaml", profile("fast", 0.3, accelerator="CPU", queue_s=0, init_s=0))
            here.say("rbplan", "job.yaml", "--profile-file", "fast.yaml", "-o", "plan.json", "--time-limit", "2s")
            lines = [json.loads(line) for line in here.say("rbrun", "plan.json", "--json").stdout.splitlines()]
            report = [d for d in lines if d.get("format") == "rb-report/1"][0]
            assert report["outcome"] == "complete" and report["best"]["metric"] is not None, (name, report)
        return name

    def test_a_draft_runs(self):
        """From `rbplan init` to the end of a run, with what the draft says of the script; a person fills in the TODOs, and says what
        is searched and how long."""
        with concurrent.futures.ThreadPoolExecutor(len(DRAFTS)) as pool:
            self.assertEqual(list(pool.map(self.drafted, DRAFTS)), list(DRAFTS))

    def reclaimed(self, name, cloud):
        job, read = CASES[name]
        place = Place(job.replace("infra: [local]", "infra: [mock/us-east-1], instance_types: [spot.%s], spot: only, "
                                  "max_nodes: 2" % name) + 'envs: {PACE: "2"}\n', 2, cloud)
        try:
            report, _ = place.run()
            assert report["outcome"] == "complete", name
            out, folder = place.alone(report["best"]["command"])
            assert report["best"]["metric"] == read(out, folder), (name, report["best"], read(out, folder))
        finally:
            place.close()

    def test_a_spot_machine_is_reclaimed(self):
        """Each script's first machine gets the cloud's notice while it trains; the rest runs on another one."""
        row = "mock/us-east-1,spot.%s,T4,1,16,4,16,spot,0.10,test,2026-07-20T00:00:00Z\n"
        rule = "  - {where: {instance_type: spot.%s, market: spot}, what: {interrupted: {after: 3s}}, times: 1}\n"
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/chaos.yaml", "w", encoding="utf-8") as f:
                f.write("format: rb-chaos/1\nrules:\n" + "".join(rule % name for name in CASES))
            with MockCloud(BIN, folder, "--chaos", folder + "/chaos.yaml", prices="".join(row % name for name in CASES)) as cloud:
                with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
                    list(pool.map(lambda name: self.reclaimed(name, cloud), CASES))
                used = [i["instance_type"] for i in cloud.ledger()["instances"]]
                self.assertEqual([rule["fired"] for rule in cloud.ask("chaos")], [1] * len(CASES))
        self.assertEqual({name: used.count("spot." + name) >= 2 for name in CASES}, {name: True for name in CASES})

    def test_no_checkpoint_is_lost_or_torn(self):
        """stop: saved, with kills at random delays: state and horizon are those of the script alone."""
        place = Place(TIMM, 0.6)
        done = [0]

        def kill_some(top, over):
            rng = random.Random(4)
            while not over.wait(rng.uniform(0.1, 1.8)):
                pids = processes_below(top)
                if pids and done[0] < KILLS:
                    done[0] += 1
                    try:
                        os.kill(rng.choice(pids), signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        try:
            while done[0] < KILLS:
                report, _ = place.run(kill_some)
                _, folder = place.alone(report["best"]["command"])
                with open(folder + "/ckpt/t/last.pth.tar", encoding="utf-8") as f:
                    alone = json.load(f)
                with tarfile.open(place.checkpoint(report)) as tar:
                    kept = json.load(tar.extractfile("./t/last.pth.tar"))
                    self.assertEqual(tar.getnames(), ["./t/last.pth.tar"])
                self.assertEqual(kept, alone)
                self.assertEqual(set(kept["epochs"]), {4})
                self.assertEqual(report["best"]["metric"], 100 * kept["weight"])
                for archive in glob.glob(place.top + "/.local/state/rubberband/runs/*/checkpoints/*/*.tar"):
                    with tarfile.open(archive) as tar:
                        state = json.load(tar.extractfile("./t/last.pth.tar"))
                    self.assertEqual(len(state["epochs"]), state["epoch"] + 1)
        finally:
            place.close()

    def test_trials_are_paused_with_what_they_have_saved(self):
        """A policy that pauses trials whose results fall behind, although their scripts know nothing of it."""
        job = TIMM.replace(SHA, "{type: asha, rule: speculate, num_trials: 5, min_resource: 1, max_resource: 6, eta: 2}")
        place = Place(job, 1.5)
        codes = []
        try:
            for _ in range(3):  # who falls behind, and when, depends on the machine
                report, _ = place.run()
                out, folder = place.alone(report["best"]["command"])
                self.assertEqual(report["best"]["metric"], of_summary(out, folder))
                self.assertEqual([t["restarts"] for t in report["trials"]], [0] * 5, report["faults"])
                for journal in glob.glob(place.top + "/.local/state/rubberband/runs/*/journal.db"):
                    with sqlite3.connect("file:%s?mode=ro" % journal, uri=True) as db:
                        codes += [row[0] for row in db.execute("SELECT exit_code FROM task")]
                if 75 in codes:
                    return
            self.fail("no trial was paused")
        finally:
            place.close()

    def test_a_failure_says_what_was_seen(self):
        place = Place(XGBOOST.replace("validation-rmse", "test-rmse"), 1)
        try:
            _, said = place.run(expect=9)
            self.assertRegex(said, "never reported round=4 with test-rmse; .*train-rmse, validation-rmse")
        finally:
            place.close()

    def test_what_is_waited_for_is_named(self):
        place = Place(TIMM.replace("[t/last.pth.tar]", "[t/best.pth.tar]").replace("1m", "15s").replace(
            "max_restarts: 50", "max_restarts: 0"), 16)  # an epoch takes 7 s, all of them 29 s
        try:
            _, said = place.run(expect=8)
            self.assertIn("no file that matches checkpoint.files (t/best.pth.tar) has changed and then rested", said)
        finally:
            place.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--kills", type=int, default=10)
    options, rest = parser.parse_known_args()
    BIN, KILLS = options.bin, options.kills
    if rest:
        unittest.main(argv=[sys.argv[0]] + rest)
    names = unittest.defaultTestLoader.getTestCaseNames(Unmodified)  # they mostly wait: all at once
    running = [subprocess.Popen([sys.executable] + sys.argv + ["Unmodified." + name]) for name in names]
    sys.exit(max([p.wait() for p in running]))
