#!/usr/bin/env python3
"""Runs on capacity that is already paid for, on a mock cloud: the planned nodes are launched into their reservation and
cost nothing, what it has no room for is on demand, and when it ends the trials save and go on elsewhere. Nothing is left."""
import argparse
import datetime
import json
import os
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "crash"), os.path.join(here, "..", "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

ODCR, BLOCK, FULL = "cr-0123456789abcdef0", "cr-0123456789abcdef1", "cr-0123456789abcdef2"
ZONE = "mock/us-east-1/us-east-1a"
CLOUD = """reservations:
  - {id: %s, zone: us-east-1a, instance_type: two.gpus, count: 2}
  - {id: %s, zone: us-east-1a, instance_type: two.gpus, count: 2, end_after_s: 90000, capacity_block: true}
  - {id: %s, zone: us-east-1a, instance_type: two.gpus, count: 1, start_after_s: 80000}
""" % (ODCR, BLOCK, FULL)

# Saves when it is asked to. Where END is set, it waits for that after three epochs, so that it is asked however fast it trains.
TRAIN = """note() { echo "$1 $RB_TRIAL_ID $(date +%s) $2" >>"${LOG:-/dev/null}"; }
epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
note begins "$epoch"
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    sleep 0.05
    epoch=$((epoch + 1))
    echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
    echo "epoch=$epoch val_acc=0.$((1000 + (RB_TRIAL_ID * 2741 + epoch * 13) % 9000))"
    [ "$epoch" -ne 3 ] || until [ -e "$RB_PREEMPT_FILE" ] || [ "$(date +%s)" -ge "${END:-0}" ]; do sleep 0.2; done
    if [ -e "$RB_PREEMPT_FILE" ]; then note asked "$epoch $(cat "$RB_PREEMPT_FILE")"; exit 75; fi
done
"""


def utc(unix_s):
    return datetime.datetime.fromtimestamp(unix_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Log:
    """What trials wrote: when they began from which epoch, and when, at which epoch and why they were asked to save."""

    def __init__(self, path):
        self.begins, self.asked = {}, {}  # trial -> (unix time, epoch)
        self.reasons = set()
        with open(path, encoding="utf-8") as f:
            for line in f:
                what, trial, at, epoch, *reason = line.split()
                {"begins": self.begins, "asked": self.asked}[what].setdefault(int(trial), []).append((int(at), int(epoch)))
                self.reasons.update(reason[:1])


class Reservations(unittest.TestCase):
    bin_dir = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rb-reservations-")
        cls.folder = cls.temporary.name
        cls.cloud = MockCloud(cls.bin_dir, cls.folder, more=CLOUD).__enter__()
        cls.run_in = RealRun(cls.bin_dir, cls.folder)
        cls.run_in.on(cls.cloud)
        cls.run_in.write("train.sh", TRAIN)
        cls.run_in.write("profile.yaml", profile("crash", 0.06))

    @classmethod
    def tearDownClass(cls):
        cls.cloud.__exit__()
        cls.temporary.cleanup()

    def plan(self, name, reservation, **changes):
        job = kill9.JOB.replace("max_nodes: 2}", "max_nodes: 2, reservations: [{infra: %s, instance_type: two.gpus, %s}]}"
                                % (ZONE, reservation))
        for old, new in changes.items():
            assert old in job
            job = job.replace(old, new)
        self.run_in.write(name + ".yaml", job)
        done = self.run_in.say("rbplan", name + ".yaml", "--planner", "static", "--profile-file", "profile.yaml", "--prices",
                               "prices.csv", "-o", name + ".json")
        with open(os.path.join(self.folder, name + ".json"), encoding="utf-8") as f:
            return name + ".json", json.load(f), done.stdout

    def rbrun(self, plan):
        done = self.run_in.say("rbrun", plan, "--json", "--state-dir", plan + ".state", timeout=300)
        report = json.loads(done.stdout.splitlines()[-1])
        ours = [i for i in self.cloud.ledger()["instances"] if i["tags"].get("rb:run-id") == report["run"]]
        self.assertEqual(report["outcome"], "complete")
        self.assertFalse([i for i in ours if i["state"] != "terminated"], ours)
        self.assertEqual(report["cost_uusd"]["actual"], sum(i["cost_uusd"] for i in ours))
        return report, ours, done.stderr

    def a_run_within_its_reservation_costs_nothing(self):
        plan, document, table = self.plan("block", 'id: %s, count: 2, capacity_block: true, end: "%s"' % (BLOCK, utc(time.time() + 86400)))
        self.assertIn("two.gpus (reserved)", table)
        self.assertEqual(document["estimate"]["cost_uusd"]["mean"], 0)
        report, instances, _ = self.rbrun(plan)
        self.assertEqual({n["market"] for n in report["nodes"]}, {"reserved"})
        self.assertEqual({i["reservation"] for i in instances}, {BLOCK})
        self.assertEqual(report["cost_uusd"]["actual"], 0)

    def what_the_reservation_cannot_hold_is_on_demand(self):
        plan, _, _ = self.plan("full", "id: %s, count: 2" % FULL)  # the cloud opens it much later than the job says
        report, instances, stderr = self.rbrun(plan)
        self.assertEqual({n["market"] for n in report["nodes"]}, {"on_demand"})
        self.assertFalse([i for i in instances if "reservation" in i])
        self.assertIn("mock/us-east-1 two.gpus (on_demand) stands in for %s two.gpus (reserved)" % ZONE, stderr)

    def ends_after(self, seconds, notice_s):
        """A run whose reservation ends after that time. Was this machine fast enough for its trials to be asked in time? Whatever
        does not depend on that is looked at here."""
        name = "ends-%d" % seconds
        end, log = int(time.time()) + seconds, os.path.join(self.folder, name + ".log")
        plan, _, _ = self.plan(name, 'id: %s, count: 2, notice: %ds, end: "%s"' % (ODCR, notice_s, utc(end)),
                               **{"num_trials: 6, min_resource: 1, max_resource: 4": "num_trials: 4, min_resource: 20, max_resource: 20",
                                  "timeout: 20s": "timeout: 10m",
                                  "deadline:": "envs: {END: '%d', LOG: %s}\ndeadline:" % (end, log)})
        report, instances, stderr = self.rbrun(plan)
        replayed = self.run_in.say("rbrun", "replay", "--state-dir", plan + ".state", report["run"])
        self.assertIn(" 0 orders differ", replayed.stdout)
        reserved = [i for i in instances if "reservation" in i]
        self.assertEqual(sum(i["cost_uusd"] for i in reserved), 0)
        seen = Log(log)
        self.assertLessEqual(seen.reasons, {"reason=reservation_ends"})
        began = [trial for trial, starts in seen.begins.items() if starts[0][0] < end - notice_s]
        saved = [trial for trial in began if trial in seen.asked and seen.asked[trial][0][0] <= end - notice_s / 2]
        if len(saved) < 4:
            return "%s: began before the notice: %s, asked soon after: %s\n%s" % (name, began, saved, stderr)
        self.assertEqual({n["market"] for n in report["nodes"]}, {"reserved", "on_demand"})
        self.assertIn("reservation %s ends" % ODCR, stderr)
        self.assertGreater(report["cost_uusd"]["actual"], 0)
        # Every trial was asked once, and went on from what it had saved.
        self.assertEqual({trial: [epoch for _, epoch in starts] for trial, starts in seen.begins.items()},
                         {trial: [0, asked[0][1]] for trial, asked in seen.asked.items()})
        return None

    # A busy machine needs a later end; a quiet one does not wait for it.
    def trials_save_before_the_end_and_go_on_on_demand(self):
        too_slow = [self.ends_after(14, 4)]
        for seconds, notice_s in [(42, 12), (98, 28)]:
            if too_slow[-1]:
                too_slow.append(self.ends_after(seconds, notice_s))
        self.assertIsNone(too_slow[-1], too_slow)

    # Most of their time is waiting: for copies of refused requests, and for the end of a reservation.
    def test_runs(self):
        looks = [self.a_run_within_its_reservation_costs_nothing, self.what_the_reservation_cannot_hold_is_on_demand,
                 self.trials_save_before_the_end_and_go_on_on_demand]
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(look) for look in looks]:
                done.result()

    def test_rbprofile_writes_them_as_lines_of_a_job(self):
        listed = self.run_in.say("rbprofile", "reservations", "--infra", "mock/us-east-1").stdout
        self.assertIn("    - {infra: %s, instance_type: two.gpus, id: %s, count: 2}\n" % (ZONE, ODCR), listed)
        self.assertRegex(listed, 'id: %s, count: 2, end: "[-0-9T:.]+Z", capacity_block: true}' % BLOCK)
        self.assertRegex(listed, 'id: %s, count: 1, start: "[-0-9T:.]+Z"}' % FULL)
        self.run_in.write("listed.yaml", kill9.JOB.replace(", max_nodes: 2}", "}").replace("resources: {", "resources:\n  ", 1)
                          .replace("infra: [mock/us-east-1], instance_types: [two.gpus]}", "infra: [mock/us-east-1]")
                          .replace("deadline:", listed.replace("resources:\n", "", 1) + "deadline:"))
        self.run_in.say("rbplan", "--check", "listed.yaml")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    Reservations.bin_dir = os.path.abspath(args.bin)
    unittest.main(argv=[sys.argv[0], *rest])
