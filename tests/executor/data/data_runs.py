#!/usr/bin/env python3
"""Jobs that bring their data to their nodes (data.fetch) or find it there (data.mount): on a mock cloud, where what one run
measures the next plan knows, and on this machine.
    data_runs.py --bin BUILD [-k NAME]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, ".."), os.path.join(here, "..", "..", "cli")]
from cloud_case import CloudCase, kill9  # noqa: E402: its folder is known only here
from real_run import RealRun  # noqa: E402

READS = "run: test -e \"$RB_DATA_DIR/set\" && sh train.sh"
FETCH = "sleep 0.5; cp train.sh \"$RB_DATA_DIR/set\""


def with_data(job, **data):
    return job.replace("run: sh train.sh", READS) + "data: %s\n" % json.dumps(data)


class OnACloud(CloudCase):
    def planned(self, name, *options, **data):
        """A plan with the profile of the store."""
        self.crash.write("work/%s.yaml" % name, with_data(kill9.JOB, **data))
        self.crash.say("rbplan", "work/%s.yaml" % name, "--planner", "static", "--prices", "prices.csv", "-o", name + ".json", *options)
        with open(os.path.join(self.folder, name + ".json"), encoding="utf-8") as f:
            return json.load(f)

    def setUp(self):
        super().setUp()
        self.crash.env["RB_DB"] = self.state + ".db"
        self.crash.say("rbprofile", "import", "work/profile.yaml")

    def ready(self):
        run = os.listdir(self.state)[0]
        with open(os.path.join(self.state, run, "events.jsonl"), encoding="utf-8") as f:
            return [e for e in map(json.loads, f) if e.get("event") == "node_ready"]

    def test_the_next_plan_knows_how_long_data_took(self):
        before = self.planned("first", size="1GB", fetch=FETCH)
        self.assertTrue([w for w in before["warnings"] if "the first run measures it" in w], before["warnings"])
        report = json.loads(self.rbrun("first.json", "--json").stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        took = [e["data_us"] / 1e6 for e in self.ready()]
        self.assertTrue(took and all(0.5 <= s < 20 for s in took), took)
        (reading,) = json.loads(self.crash.say("rbprofile", "show", "crash", "--json").stdout)["profile"]["data"]
        self.assertEqual((reading["fetch"], reading["infra"], reading["instance_type"], reading["size"], reading["nodes"]),
                         (FETCH, "mock/us-east-1", "two.gpus", "1GB", len(took)))
        after = self.planned("second", size="2GB", fetch=FETCH)
        self.assertTrue([w for w in after["warnings"] if "fetches 2GB of data" in w and
                         "measured on %d node" % len(took) in w], after["warnings"])
        longer = after["estimate"]["time_us"]["mean"] - before["estimate"]["time_us"]["mean"]
        self.assertGreater(longer / 1e6, 2 * min(took) - 0.01)
        self.assertIn("data two.gpus", self.crash.say("rbprofile", "show", "crash").stdout.replace("mock/us-east-1 ", ""))

    def test_a_node_whose_data_does_not_come_is_replaced(self):
        once = os.path.join(self.state + "-failed")
        self.planned("failing", size="1GB", fetch="mkdir '%s' && { echo no bucket >&2; exit 3; }; %s" % (once, FETCH))
        done = self.rbrun("failing.json", "--json")
        report = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        self.assertIn("data.fetch on node 0 failed with exit code 3: no bucket", done.stderr)

    def test_fetching_survives_a_killed_controller(self):
        count = self.state + "-count"
        self.planned("killed", size="1GB", fetch="echo one >>'%s'; sleep 2; %s" % (count, FETCH))
        run = subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), "killed.json", "--state-dir", self.state], cwd=self.folder,
                               env=self.crash.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while not os.path.exists(count) and time.monotonic() < until:
            time.sleep(0.02)
        run.kill()
        run.wait()
        report = json.loads(self.rbrun("resume", "--json").stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        with open(count, encoding="utf-8") as f:
            self.assertEqual(len(f.readlines()), len(self.ready()))  # no node fetched twice
        self.assertTrue(all(e["data_us"] >= 2500000 for e in self.ready()), self.ready())

    def test_what_is_mounted_must_be_there(self):
        mount = self.state + "-mount"
        self.planned("mounted", mount=mount)
        done = self.rbrun("mounted.json", expect=1)
        self.assertIn("has no folder " + mount, done.stderr)
        os.mkdir(mount)
        with open(os.path.join(mount, "set"), "w", encoding="utf-8"):
            pass
        report = json.loads(self.rbrun("mounted.json", "--json").stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")


class Here(unittest.TestCase):
    def test_data_is_fetched_once_and_timed(self):
        with tempfile.TemporaryDirectory(prefix="rb-data-") as folder:
            user = RealRun(self.bin, folder, RB_LOCAL_SLOTS="2")
            user.write("train.sh", kill9.TRAIN)
            count = os.path.join(folder, "count")
            fetch = "echo one >>'%s'; %s" % (count, FETCH)
            job = kill9.JOB.replace("infra: [mock/us-east-1], instance_types: [two.gpus], max_nodes: 2", "infra: [local]")
            user.write("job.yaml", with_data(job, size="1MB", fetch=fetch))
            user.say("rbprofile", "train", "job.yaml", "--configs", "2", "--resource", "3")
            user.say("rbplan", "job.yaml", "-o", "plan.json")
            with open(os.path.join(folder, "plan.json"), encoding="utf-8") as f:
                self.assertTrue([w for w in json.load(f)["warnings"] if "measured on 1 node" in w])
            user.say("rbrun", "plan.json")
            with open(count, encoding="utf-8") as f:
                self.assertEqual(f.read(), "one\n" * 2)  # of the measurement, of the run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    OnACloud.bin_dir = Here.bin = os.path.abspath(args.bin)
    unittest.main(argv=sys.argv[:1] + rest)
