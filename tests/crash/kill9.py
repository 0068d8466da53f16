"""Kills a real rbrun with SIGKILL after the n-th write of its journal, resumes it, and compares the end with that of a
run that was not killed. Real HTTP with signatures, real sshd nodes, real processes: rbmock is the cloud.

    kill9.py --bin BUILD [--points N | --all]

Every point: the same best trial, every report of every finished trial in the journal, one instance per launch, no
instance left (asked of the cloud, not of rbrun), none of ssh's control sockets, and the bill that the cloud's ledger shows.
"""
import argparse
import json
import os
import re
import signal
import sqlite3
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, edit, own, profile  # noqa: E402

JOB = """name: crash
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 6, min_resource: 1, max_resource: 4, eta: 2}
policy: elastic
trial: {gpus: 1, timeout: 20s}
run: sh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [mock/us-east-1], instance_types: [two.gpus], max_nodes: 2}
deadline: 10m
confidence: 0.5
"""

TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
[ "$epoch" -eq "$RB_RESOURCE_START" ] || { echo "wrong checkpoint: $epoch, expected $RB_RESOURCE_START"; exit 9; }
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep "${EPOCH_S:-0.05}"
    echo "epoch=$epoch val_acc=0.$((1000 + (RB_TRIAL_ID * 2741 + epoch * 13) % 9000))"
done
echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""

PROFILE = profile("crash", 0.06)


def control_dir(run_dir):
    """Where a run keeps ssh's control sockets: in its directory, or in one named by the FNV-1a hash of that."""
    h = 14695981039346656037
    for byte in run_dir.encode():
        h = (h ^ byte) * 1099511628211 % 2**64
    tag = "%08x" % ((h ^ h >> 32) % 2**32)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime):
        return "%s/rb-%s" % (runtime, tag)
    own = os.path.join(run_dir, "ssh")
    return own if len(own) <= 82 else "/tmp/rb-%d-%s" % (os.geteuid(), tag)


def metric(trial, epoch):
    return float("0.%d" % (1000 + (trial * 2741 + epoch * 13) % 9000))


class Crash(RealRun):
    """The job of this test or another one, planned, on that cloud."""

    def __init__(self, bin_dir, folder, cloud, job=JOB, of_profile=PROFILE, train=TRAIN):
        super().__init__(bin_dir, folder, RB_TRACE="journal")
        self.cloud = cloud
        self.on(cloud)
        for name, text in (("job.yaml", job), ("train.sh", train), ("profile.yaml", of_profile)):
            self.write("work/" + name, text)
        self.control_dirs_left = 0  # by the runs that died
        self.plan = self.make_plan("work/job.yaml")
        self.widen_first_stage()

    def make_plan(self, job, out="plan.json", profile_file="work/profile.yaml", prices="prices.csv"):
        return super().make_plan(job, out, profile_file, prices)

    def widen_first_stage(self):
        """Two nodes, then one, so that a node is also released while the run goes on."""
        edit(self.plan, lambda plan: own(plan["stages"][0], 2, 2))

    def run(self, argv, expect=0, **env):
        return self.say(*argv, expect=expect, **env)

    def one(self, die_after):
        """A run that dies at that write (0: never), resumed to its end. Returns what must not depend on the death."""
        state = os.path.join(self.folder, "state-%d" % die_after)
        command = ["rbrun", self.plan, "--json", "--state-dir", state]
        if die_after == 0:
            done = self.run(command)
        else:
            self.run(command, expect=-signal.SIGKILL, RB_TEST_DIE_AFTER=str(die_after))
            self.control_dirs_left += any(os.path.exists(control_dir(os.path.join(state, run))) for run in os.listdir(state))
            done = self.run(["rbrun", "resume", "--json", "--state-dir", state])
        report = json.loads(done.stdout.splitlines()[-1])
        self.check_cloud(report)
        sockets = control_dir(os.path.join(state, report["run"]))
        assert not os.path.exists(sockets), "ssh's control sockets are left: %s" % sockets
        self.check_journal(os.path.join(state, report["run"], "journal.db"), report)
        writes = int(re.search(r"(\d+) journal writes", done.stderr).group(1))
        end = {"outcome": report["outcome"], "best": {k: report["best"][k] for k in ("trial", "metric")},
               "trials": [(t["trial"], t["state"], t["resource"], t["metric"]) for t in report["trials"]]}
        return end, writes

    def check_cloud(self, report):
        mine = [i for i in self.cloud.ledger()["instances"] if i["tags"].get("rb:run-id") == report["run"]]
        left = [i["id"] for i in mine if i["state"] not in ("terminated", "shutting-down")]
        assert not left, "instances left: %s" % left
        assert report["leak_check"]["instances_left"] == 0
        assert {i["id"] for i in mine} == {n["id"] for n in report["nodes"]}, "a launch was made twice, or is unknown"
        # EC2 does not say of an instance that ended whether it ever ran. Where the answer to TerminateInstances died with the
        # controller, one that was pending counts as having run.
        ours = {n["id"]: n["cost_uusd"] for n in report["nodes"]}
        cost = sum(ours[i["id"]] if i["running_us"] is None and i["cause"] == "user" else i["cost_uusd"] for i in mine)
        assert cost == report["cost_uusd"]["actual"], "the cloud's bill is %d, ours %d" % (
            cost, report["cost_uusd"]["actual"])
        assert sum(report["cost_uusd"]["by"].values()) == cost

    @staticmethod
    def check_journal(path, report):
        db = sqlite3.connect(path)
        events = [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]
        tokens = [row[0] for row in db.execute("SELECT token FROM launch")]
        assert len(tokens) == len(set(tokens)) == len(report["nodes"])
        reported = {(e["trial"], e["attempt"], e["resource"]): e["metric"] for e in events if e["event"] == "report"}
        saved = db.execute("SELECT trial, attempt, resource_start, resource_end FROM task WHERE state = 'saved'")
        for trial, attempt, start, end in saved:
            for epoch in range(start + 1, end + 1):
                got = reported.get((trial, attempt, epoch))
                assert got == metric(trial, epoch), "trial %d, epoch %d: the journal says %s" % (trial, epoch, got)
        db.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--all", action="store_true", help="every write, not a sample")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rb-kill9-") as folder:
        with MockCloud(os.path.abspath(args.bin), folder) as cloud:
            crash = Crash(os.path.abspath(args.bin), folder, cloud)
            expected, writes = crash.one(0)
            assert expected["outcome"] == "complete" and expected["best"]["metric"] == metric(expected["best"]["trial"], 4)
            n = writes - 1 if args.all else args.points
            points = sorted({1 + round(i * (writes - 2) / max(1, n - 1)) for i in range(n)})
            identical = 0
            for point in points:
                end, _ = crash.one(point)
                assert end == expected, "killed at write %d: %s instead of %s" % (point, end, expected)
                identical += 1
            alive = [i for i in cloud.ledger()["instances"] if i["state"] not in ("terminated", "shutting-down")]
            assert crash.control_dirs_left > 0, "a controller that dies leaves control sockets: are they looked for in the right place?"
            print("%d journal writes; killed at %d of them: %s" % (writes, len(points), points))
            print("ended identically: %d; instances left: %d" % (identical, len(alive)))


if __name__ == "__main__":
    main()
