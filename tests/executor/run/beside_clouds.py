#!/usr/bin/env python3
"""One run on this machine, which costs nothing, and on a mock cloud: each where its plan wants it, with the checkpoints of the
other place; and a controller that is killed on both. Usage: beside_clouds.py --bin BUILD_DIR [TEST]..."""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "cli")]
from mock_cloud import MockCloud  # noqa: E402
from real_run import ONE_GPU, RealRun, never_preempted, profile  # noqa: E402

BIN = None
PRICES = "mock/us-east-1,four.gpus,T4,4,16,8,32,on_demand,1.00,test,2026-07-20T00:00:00Z\n"
JOB = """name: beside
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 4, min_resource: 2, max_resource: 4, eta: 2, unit: epoch}
profile: fast
deadline: 2m
resources: {infra: [local, mock/us-east-1]}
run: |
  epoch=0
  [ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
  [ "$epoch" -eq "$RB_RESOURCE_START" ] || exit 9
  while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
      epoch=$((epoch + 1))
      sleep 0.3
      echo "epoch=$epoch val_acc=0.$((10 + RB_TRIAL_ID + epoch))"
  done
  echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""
ON_CPU = "  - {accelerator: CPU, base_s: 20, layouts: [%s]}\n" % ONE_GPU


class BesideClouds(unittest.TestCase):
    def test_local_is_free_and_the_cloud_is_fast(self):
        with tempfile.TemporaryDirectory(prefix="rb-beside-") as folder, MockCloud(BIN, folder, prices=PRICES) as cloud:
            run = RealRun(BIN, folder, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="2")
            run.on(cloud)
            run.write("job.yaml", JOB)
            run.write("profile.yaml", never_preempted(profile("fast", 8, ONE_GPU, queue_s=1, init_s=1)).replace(
                "noise:", ON_CPU + "noise:", 1))
            run.say("rbplan", "--profile-file", "profile.yaml", "--prices", cloud.prices, "-o", "plan.json", "job.yaml")
            with open(os.path.join(folder, "plan.json"), encoding="utf-8") as f:
                plan = json.load(f)
            self.assertEqual([[n["infra"] for n in s["nodes"]] for s in plan["stages"]], [["local"], ["mock/us-east-1"]])
            report = self.killed_on_the_cloud(run, cloud)
            self.assertEqual(report["outcome"], "complete")
            self.assertEqual({n["infra"] for n in report["nodes"]}, {"local", "mock/us-east-1"})
            self.assertEqual(sum(t["restarts"] for t in report["trials"]), 0)
            ledger = cloud.ledger()["instances"]
            self.assertEqual({i["state"] for i in ledger}, {"terminated"})
            self.assertEqual(len(ledger), sum(n["infra"] != "local" for n in report["nodes"]))
            self.assertIn("0 orders differ", run.say("rbrun", "replay").stdout)

    def killed_on_the_cloud(self, run, cloud):
        """The report of a run whose controller is killed while its trials are on the cloud."""
        with open(os.path.join(run.folder, "log"), "w", encoding="utf-8") as log:
            with subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--yes"], cwd=run.folder, env=run.env, stdout=log,
                                  stderr=log) as first:
                until = time.monotonic() + 60
                while not any(i["state"] == "running" for i in cloud.ledger()["instances"]):
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.1)
                first.send_signal(signal.SIGKILL)
        done = run.say("rbrun", "resume", "--json")
        return [d for d in map(json.loads, done.stdout.splitlines()) if d.get("format") == "rb-report/1"][0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    BIN = os.path.abspath(args.bin)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
