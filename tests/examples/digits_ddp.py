#!/usr/bin/env python3
"""examples/digits-ddp: two ranks on two nodes learn what one learns, and a run that loses one of its nodes goes on from the
checkpoint, on instances and on two and four pods; pods learn what instances learn. Skipped in words where PyTorch is not installed for
Debian's Python."""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[1:1] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tests", "providers", "k8s")]
from fronts import Ec2, Pods  # noqa: E402
from mock_cloud import free_port  # noqa: E402
from real_run import ONE_GPU, RealRun, profile  # noqa: E402

BIN = None
PYTHON = "/usr/bin/python3"  # the example's
EXAMPLE = os.path.join(ROOT, "examples", "digits-ddp")
SKIPPED = 77
LOST_AT_EPOCH = 4  # of 12: after the rung's checkpoint at 1, long before the end
RUN_S = 280
DIFFERENCE = """
import sys, torch
a, b = (torch.load(path) for path in sys.argv[1:])
assert a["epoch"] == b["epoch"] == 2, (a["epoch"], b["epoch"])
print(max((a["model"][name] - b["model"][name]).abs().max().item() for name in a["model"]))
"""


def torch_is_there():
    return subprocess.run([PYTHON, "-c", "import torch, sklearn"], capture_output=True, check=False).returncode == 0


class Ranks(unittest.TestCase):
    """train.py alone."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="rb-ddp-")
        self.folder = self.temporary.name

    def tearDown(self):
        self.temporary.cleanup()

    def start(self, rank, ranks, port, *options, **env):
        directory = os.path.join(self.folder, "%d-of-%d" % (rank, ranks))
        os.makedirs(directory, exist_ok=True)
        env = dict(os.environ, RB_NODE_RANK=str(rank), RB_NUM_NODES=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                   OMP_NUM_THREADS="1", RB_RESOURCE_END="2", RB_TRIAL_SEED="5", RB_CHECKPOINT_DIR=directory, **env)
        return subprocess.Popen([PYTHON, os.path.join(EXAMPLE, "train.py"), "--real", *options], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self, processes, code=0):
        said = [p.communicate(timeout=120)[0] for p in processes]
        self.assertEqual([p.returncode for p in processes], [code] * len(processes), said)
        return said

    def test_gradients_are_averaged(self):
        """Ranks see half of each batch; had they not exchanged gradients, they would be far from what one rank learns."""
        port, alone = free_port(), free_port()
        said = self.finish([self.start(rank, 2, port) for rank in (0, 1)] + [self.start(0, 1, alone)])
        self.assertIn("world size 2: all ranks have the parameters", said[0])
        self.assertNotIn("epoch=", said[1])  # rank 1 does not report
        self.assertFalse(os.listdir(os.path.join(self.folder, "1-of-2")))  # nor save
        done = subprocess.run([PYTHON, "-c", DIFFERENCE, *(os.path.join(self.folder, d, "state.pt") for d in ("0-of-2", "0-of-1"))],
                              capture_output=True, text=True, check=True)
        self.assertLess(float(done.stdout), 1e-5)

    def test_gpus_without_torchrun_are_refused(self):
        said = self.finish([self.start(0, 1, free_port(), RB_GPUS_PER_NODE="4")], code=1)
        self.assertIn("expected to be started by torchrun", said[0])


PRICES = "%s,g4dn.xlarge,T4,1,16,4,16,on_demand,0.526,test,2026-07-20T00:00:00Z\n"
# The best of two trials goes on from its first epoch.
GANG = """name: gang
seed: 7
metric: {name: val_acc, goal: maximize}
parameters: {lr: {distribution: log_uniform, min: 0.01, max: 0.5}, width: {values: [32, 64]}}
scheduler: {type: sha, num_trials: 2, min_resource: 1, max_resource: 3, eta: 2, unit: epoch}
trial: {gpus: {min: %(ranks)d, max: %(ranks)d}, max_nodes: %(ranks)d, timeout: 2m}
envs: {OMP_NUM_THREADS: "1"}
run: /usr/bin/python3 train.py $RB_ARGS --real
checkpoint: {dir: ckpt}
resources: {%(resources)s, instance_types: [g4dn.xlarge], spot: never, max_nodes: %(ranks)d}
deadline: 20m
confidence: 0.5
"""
LEARNED = r"world size (\d): all ranks have the parameters (\w+)\s+epoch=(\d+) val_acc=([0-9.]+)"


class Runs(unittest.TestCase):
    """rbrun and rbmock, with nodes that are processes of their own."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-ddp-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        shutil.copytree(EXAMPLE, os.path.join(self.folder, "job"))

    def on(self, front):
        self.cloud = front(BIN, self.folder, PRICES % front.INFRA).__enter__()
        self.addCleanup(self.cloud.__exit__)
        self.run_of = RealRun(BIN, self.folder)
        self.run_of.on(self.cloud)

    def say(self, *words):
        return self.run_of.say(*words, timeout=RUN_S).stdout

    def log(self, report, trial):
        return self.say("rbrun", "logs", "--state-dir", "state", report["run"], str(trial))

    def check_over(self, report):
        self.assertEqual((report["outcome"], report["leak_check"]["instances_left"]), ("complete", 0))
        self.assertEqual(self.cloud.bill(), report["cost_uusd"]["actual"])
        self.assertEqual(len(self.cloud.ledger()["instances"]), len(report["nodes"]))

    def learned(self, front, ranks):
        """What each epoch of each trial ended with: (world size, fingerprint, epoch, accuracy)."""
        self.on(front)
        self.run_of.write("job/job.yaml", GANG % {"ranks": ranks, "resources": front.RESOURCES})
        self.run_of.write("profile.yaml", profile("gang", 1.0, "{gpus: %d, nodes: %d, speedup: 1.0}" % (ranks, ranks), ONE_GPU, startup_s=4))
        self.run_of.make_plan("job/job.yaml")
        report = json.loads(self.say("rbrun", "plan.json", "--json", "--state-dir", "state").splitlines()[-1])
        self.check_over(report)
        self.assertEqual(len(report["nodes"]), ranks)
        self.assertEqual({t["state"] for t in report["trials"]}, {"stopped", "completed"}, report["trials"])
        logs = [self.log(report, trial) for trial in (0, 1)]
        best = logs[report["best"]["trial"]]
        self.assertIn("rank 0 of %d, on node 0 of %d; as fast as this machine trains, from epoch 1" % (ranks, ranks), best)
        shutil.rmtree(os.path.join(self.folder, "state"))
        return [re.findall(LEARNED, log) for log in logs]

    def test_pods_learn_what_instances_learn(self):
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                on_pods, on_instances = self.learned(Pods, ranks), self.learned(Ec2, ranks)
                self.assertEqual(sorted(len(epochs) for epochs in on_pods), [1, 3])
                self.assertEqual({epoch[0] for epochs in on_pods for epoch in epochs}, {str(ranks)})
                self.assertEqual(on_pods, on_instances)

    def reached(self, stage):
        """The last epoch that the journal's copy of events has of this stage; 0: none yet."""
        epoch = 0
        for path in glob.glob(os.path.join(self.folder, "state", "*", "events.jsonl")):
            with open(path, encoding="utf-8") as f:
                for line in f:
                    event = json.loads(line) if line.endswith("\n") else {}
                    if event.get("event") == "report" and event.get("resource", 0) > stage:
                        epoch = event["resource"]
        return epoch

    def lose_a_node(self):
        """The younger of the two that train: not the one with rank 0, which has the checkpoint."""
        running = [i for i in self.cloud.ledger()["instances"] if i["state"] == "running"]
        self.assertEqual(len(running), 2)
        self.cloud.lose(running[-1])

    def check_a_loss(self, front):
        self.on(front)
        with open(os.path.join(self.folder, "job", "job.yaml"), encoding="utf-8") as f:
            job = f.read()
        self.run_of.write("job/job.yaml", re.sub(r"^resources:(\n  .*)*", "resources: {%s, instance_types: [g4dn.xlarge], spot: never, max_nodes: 2}"
                                                 % front.RESOURCES, job, flags=re.M))
        with open(os.path.join(self.folder, "job", "profile.yaml"), encoding="utf-8") as f:
            self.run_of.write("job/profile.yaml", f.read().replace("infra: mock", 'infra: "*"'))
        plan = self.say("rbplan", "job/job.yaml", "--prices", "prices.csv", "--deadline", "10m", "--set", "objective=min_time",
                        "--set", "scheduler.num_trials=2", "--json", "-o", "plan.json")
        self.assertEqual([s["gpus_per_trial"] for s in json.loads(plan)["stages"]], [1, 2])
        with open(os.path.join(self.folder, "rbrun.log"), "w", encoding="utf-8") as said:
            run = subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--yes", "--json", "--state-dir", "state"], env=self.run_of.env,
                                   stdout=subprocess.PIPE, stderr=said, text=True, cwd=self.folder)
        until = time.monotonic() + RUN_S
        while self.reached(1) < LOST_AT_EPOCH and run.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        self.lose_a_node()
        out, _ = run.communicate(timeout=max(1.0, until - time.monotonic()))
        with open(os.path.join(self.folder, "rbrun.log"), encoding="utf-8") as said:
            self.assertEqual(run.returncode, 0, said.read())
        report = json.loads(out.splitlines()[-1])
        self.check_over(report)
        self.assertEqual(len(report["nodes"]), 3)
        log = self.log(report, report["best"]["trial"])
        ranks = re.findall(r"rank (\d) of (\d), on node (\d) of (\d).* from epoch (\d+)", log)
        self.assertEqual(ranks[0][1], "1", log)  # the first rung
        again = ("0", "2", "0", "2", "1")
        self.assertIn(again, ranks[1:], log)  # the second goes on from its checkpoint,
        self.assertGreaterEqual(ranks.count(again), 2, log)  # and again after the loss
        self.assertRegex(log, r"world size 2: all ranks have the parameters \w+\s+epoch=12 val_acc=")

    def test_one_of_two_nodes_is_lost(self):
        self.check_a_loss(Ec2)

    def test_one_of_two_pods_is_lost(self):
        self.check_a_loss(Pods)


def main():
    global BIN
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    BIN = os.path.abspath(args.bin)
    if not torch_is_there():
        print("skipped: %s has no torch and sklearn (apt-get install python3-torch python3-sklearn)" % PYTHON)
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


main()
