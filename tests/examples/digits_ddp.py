#!/usr/bin/env python3
"""examples/digits-ddp: two ranks on two nodes learn what one learns, and a run that loses one of its two nodes goes on from the
checkpoint. Skipped in words where PyTorch is not installed for Debian's Python."""
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
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
from mock_cloud import MockCloud, free_port  # noqa: E402

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


class Run(unittest.TestCase):
    """rbrun and rbmock, with sshd nodes."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="rb-ddp-")
        self.folder = self.temporary.name
        self.job = os.path.join(self.folder, "job")
        shutil.copytree(EXAMPLE, self.job)
        with open(os.path.join(EXAMPLE, "prices.csv"), encoding="utf-8") as f:
            rows = "".join(f.readlines()[1:])
        self.cloud = MockCloud(BIN, self.folder, prices=rows).__enter__()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RB_"))}
        self.env.update(self.cloud.customer, RB_SSH_USER=user,
                        RB_SSH_PORT=str(self.cloud.ssh_port), RB_DB=os.path.join(self.folder, "none.db"), NO_COLOR="1")

    def tearDown(self):
        self.cloud.__exit__()
        self.temporary.cleanup()

    def command(self, *words):
        return [os.path.join(BIN, words[0]), *words[1:]]

    def run_command(self, *words):
        done = subprocess.run(self.command(*words), env=self.env, text=True, capture_output=True, timeout=60, cwd=self.folder,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

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
        with urllib.request.urlopen(self.cloud.url + "/_rbmock/instances", timeout=10) as answer:
            running = [i["id"] for i in json.load(answer) if i["state"] == "running"]
        self.assertEqual(len(running), 2)
        request = urllib.request.Request("%s/_rbmock/nodes/%s/poweroff" % (self.cloud.url, running[-1]), method="POST")
        urllib.request.urlopen(request, timeout=10).close()
        return running[-1]

    def test_one_of_two_nodes_is_lost(self):
        plan = self.run_command("rbplan", "job/job.yaml", "--deadline", "10m", "--set", "objective=min_time", "--set",
                                "resources.max_nodes=2", "--set", "scheduler.num_trials=2", "--json", "-o", "plan.json")
        self.assertEqual([s["gpus_per_trial"] for s in json.loads(plan)["stages"]], [1, 2])
        with open(os.path.join(self.folder, "rbrun.log"), "w", encoding="utf-8") as said:
            run = subprocess.Popen(self.command("rbrun", "plan.json", "--yes", "--json", "--state-dir", "state"), env=self.env,
                                   stdout=subprocess.PIPE, stderr=said, text=True, cwd=self.folder)
        until = time.monotonic() + RUN_S
        while self.reached(1) < LOST_AT_EPOCH and run.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        lost = self.lose_a_node()
        out, _ = run.communicate(timeout=max(1.0, until - time.monotonic()))
        with open(os.path.join(self.folder, "rbrun.log"), encoding="utf-8") as said:
            self.assertEqual(run.returncode, 0, said.read())
        self.check(json.loads(out.splitlines()[-1]), lost)

    def check(self, report, lost):
        self.assertEqual((report["outcome"], report["leak_check"]["instances_left"]), ("complete", 0))
        self.assertEqual(len(report["nodes"]), 3)
        ledger = self.cloud.ledger()
        self.assertEqual(ledger["instances_left"], 0)
        self.assertEqual(ledger["total_uusd"], report["cost_uusd"]["actual"])
        self.assertIn(lost, [i["id"] for i in ledger["instances"]])
        log = self.run_command("rbrun", "logs", "--state-dir", "state", report["run"], str(report["best"]["trial"]))
        ranks = re.findall(r"rank (\d) of (\d), on node (\d) of (\d).* from epoch (\d+)", log)
        self.assertEqual(ranks[0][1], "1", log)  # the first rung
        self.assertIn(("0", "2", "0", "2", "1"), ranks[1:], log)  # the second goes on from its checkpoint,
        self.assertGreaterEqual(ranks.count(("0", "2", "0", "2", "1")), 2, log)  # and again after the loss
        self.assertRegex(log, r"world size 2: all ranks have the parameters \w+\s+epoch=12 val_acc=")


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
