#!/usr/bin/env python3
"""Jobs without GPUs, trial.cpus: measured, planned, simulated and run on this machine and on a mock cloud's nodes, where as
many trials run beside each other as the CPUs and the memory of a node hold.
Usage: cpu_jobs.py --bin BUILD_DIR [TEST]..."""
import argparse
import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import ONE_GPU, RealRun, profile  # noqa: E402

BIN = None

# Trials meet in a folder: each waits until as many as shall run at once are there, so that fewer at once never end.
SCRIPT = """import json, os, time
seen, folder = {"at": os.environ["RB_TRIAL_ID"]}, os.environ["MEET"] + "/" + os.environ["RB_RUNG"]
for name in ("RB_CPUS", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "RB_GPUS_PER_NODE"):
    seen[name] = os.environ.get(name)
os.makedirs(folder, exist_ok=True)
with open("%s/%s" % (folder, os.environ["RB_TRIAL_ID"]), "w") as f:
    json.dump(seen, f)
while os.environ["RB_RUNG"] == "0" and len(os.listdir(folder)) < int(os.environ["AT_ONCE"]):
    time.sleep(0.05)
for epoch in range(int(os.environ["RB_RESOURCE_START"]), int(os.environ["RB_RESOURCE_END"])):
    time.sleep(0.3)
    print("epoch=%d loss=%g" % (epoch + 1, float(os.environ["RB_PARAM_LR"]) / (epoch + 1)), flush=True)
open(os.environ["RB_CHECKPOINT_DIR"] + "/state", "w").close()
"""

JOB = """name: trees
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2, unit: epoch}
trial: {cpus: 2, memory: 4GB, timeout: 30s}
envs: {MEET: "%s", AT_ONCE: "4"}
profile: fast
resources: {infra: [%s]}
run: python3 train.py
"""

MACHINES = """mock/us-east-1,cpu.eight,CPU,1,0,8,16,on_demand,0.40,test,2026-07-20T00:00:00Z
mock/us-east-1,cpu.low,CPU,1,0,8,3,on_demand,0.39,test,2026-07-20T00:00:00Z
mock/us-east-1,cpu.one,CPU,1,0,1,16,on_demand,0.01,test,2026-07-20T00:00:00Z
"""


class CpuJobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.here = RealRun(BIN, self.folder, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="8")
        self.here.write("train.py", SCRIPT)

    def job(self, infra="local", **changes):
        text = JOB % (self.folder + "/meet", infra)
        for old, new in changes.get("edit", []):
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.here.write("job.yaml", text)

    def run_plan(self):
        done = self.here.say("rbrun", "plan.json", "--json")
        report = [d for d in map(json.loads, done.stdout.splitlines()) if d.get("format") == "rb-report/1"][0]
        self.assertEqual(report["outcome"], "complete")
        return report, done

    def check_trials_met(self):
        """Four trials of two CPUs were at once on one node of eight, and saw their own CPUs only."""
        for name in os.listdir(self.folder + "/meet/0"):
            with open(self.folder + "/meet/0/" + name, encoding="utf-8") as f:
                self.assertEqual(json.load(f), {"at": name, "RB_CPUS": "2", "OMP_NUM_THREADS": "2",
                                                "CUDA_VISIBLE_DEVICES": "", "RB_GPUS_PER_NODE": "0"})
        self.assertEqual(len(os.listdir(self.folder + "/meet/0")), 4)

    def test_four_trials_of_two_cpus_on_a_node_of_eight(self):
        self.job("mock/us-east-1")
        self.here.write("profile.yaml", profile("fast", 1, ONE_GPU, accelerator="2 CPUs"))
        with MockCloud(BIN, self.folder, prices=MACHINES) as cloud:
            self.here.on(cloud)
            said = self.here.say("rbplan", "job.yaml", "--profile-file", "profile.yaml", "--prices", cloud.prices,
                                 "--set", "resources.max_nodes=1", "--explain", "-o", "plan.json").stdout
            self.assertRegex(said, r"stage +trials +trained to +CPUs/trial")
            self.assertRegex(said, r" 0 +4 +0 -> 1 epoch +2  1 x cpu.eight +1 ")  # all at once
            said += self.here.say("rbplan", "explain", "plan.json").stdout
            self.assertRegex(said, "4 trials to 1 epoch, 2 CPUs each")
            self.assertNotIn("GPU", said)
            report, done = self.run_plan()
            self.check_trials_met()
            self.assertEqual({i["instance_type"] for i in cloud.ledger()["instances"]}, {"cpu.eight"})
        self.assertEqual([s["cpus_per_trial"] for s in report["stages"]], [2, 2])
        self.assertEqual(report["stages"][0]["nodes"], 1)
        shown = self.here.say("rbrun", "report", os.listdir(self.folder + "/.local/state/rubberband/runs")[0], "--html", "page.html").stdout
        self.assertIn("CPUs/trial", shown)
        for text in (shown, done.stderr):
            self.assertNotIn("GPU", text)

    def test_measured_planned_simulated_and_run_on_this_machine(self):
        self.here.env["RB_DB"] = self.folder + "/p.db"
        self.job(edit=[('AT_ONCE: "4"', 'AT_ONCE: "1"')])
        measured = self.here.say("rbprofile", "train", "job.yaml", "--configs", "2")
        self.assertIn("on 2 CPUs", measured.stderr)
        shutil.rmtree(self.folder + "/meet")
        self.job()
        for words in (("rbplan", "job.yaml", "-o", "plan.json"), ("rbsim", "job.yaml")):
            said = self.here.say(*words)
            self.assertNotIn("GPU", said.stdout + said.stderr)
        self.run_plan()
        self.check_trials_met()
        other = self.here.say("rbplan", "job.yaml", "--set", "trial.cpus=4", expect=2)  # a time on 2 CPUs is none on 4
        self.assertIn("4 CPUs", other.stderr)

    def test_a_guess_of_a_trials_cpus(self):
        self.job("mock/us-east-1")
        self.here.write("prices.csv", "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,"
                                      "usd_per_hour,source,fetched_at\n" + MACHINES)
        said = self.here.say("rbplan", "job.yaml", "--guess", "unit=4m,on=CPU", "--prices", "prices.csv", "--json")
        plan = json.loads(said.stdout)
        self.assertEqual({p["instance_type"]: (p["gpus"], p["accelerator"]) for p in plan["prices"]}["cpu.eight"], (4, "2 CPUs"))
        self.assertEqual(plan["profile"]["model"]["basis"][0]["what"], "4 m 0 s for one epoch on the CPUs of one trial")
        self.assertFalse(plan["bound"]["proved"])
        for guess, cpus, error in (("unit=4m,on=A10G", 2, "the job trains on CPUs .*RB1262"),
                                   ("unit=4m,on=CPU", 16, "no machine without GPUs .* on offer")):
            refused = self.here.say("rbplan", "job.yaml", "--guess", guess, "--prices", "prices.csv", "--set",
                                    "trial.cpus=%d" % cpus, expect=1 if "A10G" in guess else 2)
            self.assertRegex(refused.stderr, error)

    def test_a_job_that_wants_both_is_refused(self):
        for edit, said in ((("cpus: 2,", "cpus: 2, gpus: 1,"), "trial.gpus and trial.cpus are both given"),
                           (("cpus: 2, ", ""), "trial.memory goes with trial.cpus"),
                           (("infra: [local]", "infra: [local], accelerators: [A10G]"), "remove resources.accelerators"),
                           (("cpus: 2,", "cpus: 2, max_nodes: 2,"), "remove trial.max_nodes"),
                           (("cpus: 2,", "cpus: 2, batch: {size: 8, max: 16},"), "trial.batch")):
            self.job(edit=[edit])
            done = self.here.say("rbplan", "--check", "job.yaml", expect=2)
            self.assertIn("RB1221", done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = options.bin
    unittest.main(argv=[sys.argv[0]] + rest)
