#!/usr/bin/env python3
"""Checkpoints from the middle of a stage: trials that are killed, a spot machine that is reclaimed and a controller that is killed
while they are announced and archived; and announcements that are wrong. Usage: midway.py --bin BUILD_DIR [TEST]..."""
import argparse
import glob
import json
import os
import shutil
import signal
import sqlite3
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, never_preempted, profile  # noqa: E402

BIN = None

JOB = """name: midway
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {%s, unit: epoch}
trial: {gpus: 1, timeout: 1m}
profile: fast
run: sh train.sh
checkpoint: {every: 7s}
envs: {NOTES: %s}
resources: {%s}
"""
ONE = "type: random, num_trials: 1, max_resource: 8"
TWO_STAGES = "type: sha, num_trials: 2, min_resource: 4, max_resource: 8, eta: 2"

# Its state is the number of epochs; a checkpoint that is not of RB_RESOURCE_START is an error. `saw` notes what it got; SAY is
# what each epoch announces, DO is run after each report.
TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
echo "$RB_TRIAL_ID $RB_ATTEMPT $epoch $RB_CHECKPOINT_EVERY_S" >>"$NOTES/starts"
[ "$epoch" -eq "$RB_RESOURCE_START" ] || { echo "wrong checkpoint: $epoch, expected $RB_RESOURCE_START"; exit 9; }
# Once the folder that was announced before the last one is gone, its checkpoint is safe.
gone() { n=0; while [ -e "$RB_CHECKPOINT_DIR/$1" ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n + 1)); done; }
refused() { n=0; until grep -aqs "is not kept" "$NOTES"/.local/state/rubberband/runs/*/journal.db* || [ $n -gt 600 ]; do sleep 0.05; n=$((n + 1)); done; }
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep 0.1
    echo "$RB_TRIAL_ID $epoch" >>"$NOTES/epochs"
    mkdir "$RB_CHECKPOINT_DIR/new"
    echo "$epoch" >"$RB_CHECKPOINT_DIR/new/epoch"
    mv "$RB_CHECKPOINT_DIR/new" "$RB_CHECKPOINT_DIR/at-$epoch"
    echo "epoch=$epoch val_acc=0.$((10 + RB_TRIAL_ID + epoch)) checkpoint=%(say)s"
    %(do)s
done
echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""
AWS = """#!/bin/sh
verb=$2 bucket=%s slow=%s
while [ "${1#s3:/}" = "$1" ] && [ "${1#/}" = "$1" ]; do shift; done
case $verb in
rm) sleep "$slow"; rm -rf "$bucket/${1#s3://}" ;;
cp)
    from=$1 to=$2
    [ "${from#s3://}" = "$from" ] || from=$bucket/${from#s3://}
    [ "${to#s3://}" = "$to" ] || to=$bucket/${to#s3://}
    mkdir -p "$to" && cp -r "$from/." "$to/" ;;
esac
"""
AT = "at-$epoch"
LOCAL = "infra: [local]"


class Midway(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="rb-midway-")
        self.here = RealRun(BIN, self.top, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8", RB_LOCAL_SLOTS="2")

    def tearDown(self):
        shutil.rmtree(self.top)

    def prepare(self, do="", say=AT, scheduler=ONE, resources=LOCAL, accelerator="CPU"):
        self.here.write("work/train.sh", TRAIN % {"do": do, "say": say})
        self.here.write("work/job.yaml", JOB % (scheduler, self.top, resources))
        self.here.write("profile.yaml", never_preempted(profile("fast", 0.1, accelerator=accelerator, queue_s=0, init_s=0)))
        self.here.say("rbplan", "work/job.yaml", "--profile-file", "profile.yaml", "-o", "plan.json", "--time-limit", "2s",
                      *(() if resources == LOCAL else ("--prices", "prices.csv")))

    def run_it(self, *command, expect=0, **env):
        done = self.here.say("rbrun", *(command or ("plan.json", "--yes")), "--json", expect=expect, **env)
        report = [d for d in map(json.loads, done.stdout.splitlines()) if d.get("format") == "rb-report/1"]
        return report[0] if report else None, done.stderr

    def events(self):
        path, = glob.glob(self.top + "/.local/state/rubberband/runs/*/journal.db")
        with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
            return [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]

    def saved(self, attempt=0):
        return [e["resource"] for e in self.events() if e["event"] == "saved" and e["attempt"] == attempt]

    def notes(self, name):
        with open(os.path.join(self.top, name), encoding="utf-8") as f:
            return [tuple(map(int, line.split())) for line in f]

    def archives(self):
        return sorted(os.path.basename(p) for p in glob.glob(self.top + "/.local/state/rubberband/runs/*/checkpoints/*/*"))

    def check_end(self, report):
        """Nothing of what was announced is left, and the last checkpoint is what the script has left."""
        self.assertEqual(report["outcome"], "complete")
        self.assertIn("0 orders differ", self.here.say("rbrun", "replay").stdout)
        self.assertEqual([name for name in self.archives() if ".at-" in name or name.endswith(".tmp")], [])
        with tarfile.open(os.path.join(os.path.dirname(glob.glob(
                self.top + "/.local/state/rubberband/runs/*/journal.db")[0]), report["best"]["checkpoint"])) as tar:
            self.assertEqual(sorted(tar.getnames()), [".", "./epoch"])
            self.assertEqual(tar.extractfile("./epoch").read(), b"8\n")

    def test_a_trial_that_fails_goes_on_from_its_last_save(self):
        self.prepare('[ $RB_ATTEMPT != 0 ] || [ $epoch != 5 ] || { gone at-4; exit 1; }')
        report, _ = self.run_it()
        last = self.saved()[-1]
        self.assertGreaterEqual(last, 4)
        self.assertEqual(self.notes("starts"), [(0, 0, 0, 7), (0, 1, last, 7)])
        self.assertEqual(self.notes("epochs"), [(0, n) for n in (*range(1, 6), *range(last + 1, 9))])
        self.check_end(report)

    def prepare_bucket(self, do, slow_s=0):
        """AWS's client is a stand-in that copies to and from a folder. Returns where the checkpoints of the trial will be."""
        bucket = self.top + "/bucket"
        self.here.write("bin/aws", AWS % (bucket, slow_s))
        os.chmod(self.top + "/bin/aws", 0o755)
        self.here.env["PATH"] = self.top + "/bin:/usr/bin:/bin"
        self.prepare(do)
        with open(self.top + "/work/job.yaml", encoding="utf-8") as f:
            job = f.read().replace("every: 7s", "every: 7s, uri: 's3://models/x'")
        self.here.write("work/job.yaml", job)
        self.here.say("rbplan", "work/job.yaml", "--profile-file", "profile.yaml", "-o", "plan.json", "--time-limit", "2s")
        return bucket + "/models/x/trial-0000"

    def test_a_bucket_keeps_one_of_them(self):
        kept = self.prepare_bucket('[ $RB_ATTEMPT != 0 ] || [ $epoch != 5 ] || { gone at-4; exit 1; }')
        report, _ = self.run_it()
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(self.notes("starts"), [(0, 0, 0, 7), (0, 1, self.saved()[-1], 7)])
        self.assertEqual(report["best"]["checkpoint"], "s3://models/x/trial-0000/stage-0")
        self.assertEqual(os.listdir(kept + "/stage-0"), ["epoch"])
        # Each is removed once the next counts, but for one whose removal was still under way, or the controller had gone.
        self.assertLessEqual(len(os.listdir(kept)), 3)

    def test_a_bucket_is_slow_to_remove_them(self):
        """They wait for one another. The trial waits in its last epoch but one until one is left."""
        wait = "n=0; while [ $(ls %s | wc -l) -gt 1 ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n + 1)); done" % (
            self.top + "/bucket/models/x/trial-0000")
        kept = self.prepare_bucket("[ $epoch = 8 ] || gone at-$((epoch - 1)); [ $epoch != 7 ] || { %s; }" % wait, slow_s=1)
        report, _ = self.run_it()
        self.assertEqual(report["outcome"], "complete")
        self.assertLessEqual(len(os.listdir(kept)), 3)

    def test_each_stage_has_its_own(self):
        """Both trials are killed by someone else in every stage: their supervisor sees it, and nothing is charged twice."""
        self.prepare("[ $RB_ATTEMPT != 0 ] || [ $((epoch % 4)) != 3 ] || { gone at-$((epoch - 1)); kill -9 $$; }", scheduler=TWO_STAGES)
        report, _ = self.run_it()
        starts = self.notes("starts")
        self.assertEqual(sorted(s[:2] for s in starts), [(0, 0), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1)])
        for trial, attempt, epoch, _ in starts:
            self.assertIn(epoch % 4, (2, 3) if attempt else (0,))
        self.check_end(report)

    def test_a_controller_that_is_killed_while_checkpoints_are_announced(self):
        """At writes all over a run: the trial trains on, or starts again from what was safe."""
        self.prepare("gone at-$((epoch - 2))")
        writes = int(self.run_it(RB_TRACE="journal")[1].split(" journal writes")[0].split()[-1])
        for point in range(6, writes, max(1, writes // 7)):
            shutil.rmtree(self.top + "/.local")
            os.remove(self.top + "/epochs")
            self.run_it(expect=-signal.SIGKILL, RB_TEST_DIE_AFTER=str(point))
            report, _ = self.run_it("resume")
            self.assertEqual({n for _, n in self.notes("epochs")}, set(range(1, 9)))
            self.check_end(report)

    def reclaimed(self, after_s, do):
        """The report of a run whose first machine is taken back after the given number of seconds."""
        row = "mock/us-east-1,spot.gpu,T4,1,16,4,16,spot,0.10,test,2026-07-20T00:00:00Z\n"
        self.here.write("chaos.yaml", "format: rb-chaos/1\nrules:\n  - {where: {instance_type: spot.gpu, market: spot}, "
                                      "what: {interrupted: {after: %ds}}, times: 1}\n" % after_s)
        with MockCloud(BIN, self.top, "--chaos", self.top + "/chaos.yaml", prices=row) as cloud:
            self.here.on(cloud)
            self.prepare(do, accelerator="T4",
                         resources="infra: [mock/us-east-1], instance_types: [spot.gpu], spot: only, max_nodes: 1")
            report, _ = self.run_it()
            self.assertEqual([rule["fired"] for rule in cloud.ask("chaos")], [1])
        return report

    def test_a_spot_machine_that_is_reclaimed_costs_what_was_not_saved(self):
        """The script does not look for the notice. It waits for its end at epoch 6, of which 5 is safe."""
        report = self.reclaimed(6, "[ $RB_ATTEMPT != 0 ] || [ $epoch != 6 ] || { gone at-5; sleep 60; }")
        last = self.saved()[-1]
        self.assertGreaterEqual(last, 5)
        self.assertEqual([s[2] for s in self.notes("starts")], [0, last])
        self.assertEqual([n for _, n in self.notes("epochs")], [*range(1, 7), *range(last + 1, 9)])
        self.check_end(report)

    def test_a_notice_that_is_heeded_costs_nothing(self):
        """And nothing is started on the machine until it is gone."""
        report = self.reclaimed(14, 'sleep 0.6; [ ! -e "$RB_PREEMPT_FILE" ] || { cat "$RB_PREEMPT_FILE" >>"$NOTES/why"; '
                                    'echo $epoch >"$RB_CHECKPOINT_DIR/epoch"; exit 75; }')
        with open(self.top + "/why", encoding="utf-8") as f:
            self.assertRegex(f.read(), r"\Areason=preempted seconds=1?[0-9]\n\Z")
        (_, _, first, _), (_, attempt, again, _) = self.notes("starts")
        self.assertEqual((first, attempt), (0, 2))  # the start in between was never begun
        self.assertEqual([n for _, n in self.notes("epochs")], [*range(1, 9)])
        self.assertIn(again, range(1, 8))
        self.assertIn("its cloud takes it back in", " ".join(w["text"] for w in report["faults"] + report["warnings"]))
        self.check_end(report)

    def rests(self, saves, reports, most):
        """A script that only saves, in the order of its own; in the first start it waits until its third epoch is archived."""
        line = '[ $epoch != 3 ] || sleep 1.5; echo "epoch=$epoch val_acc=0.$((10 + epoch))"'
        order = [(saves, 'echo $epoch >"$RB_CHECKPOINT_DIR/new"; mv "$RB_CHECKPOINT_DIR/new" "$RB_CHECKPOINT_DIR/epoch"'),
                 (reports, line)]
        self.prepare()
        self.here.write("work/train.sh", TRAIN.split("while")[0].split("[ \"$epoch\"")[0] + "\n".join(
            ['while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do', "epoch=$((epoch + 1))", 'echo "$RB_TRIAL_ID $epoch" >>"$NOTES/epochs"']
            + [text for _, text in sorted(order)]
            + ['if [ $RB_ATTEMPT = 0 ] && [ $epoch = 3 ]; then', "n=0",
               'until ls "$NOTES"/.local/state/rubberband/runs/*/checkpoints/*/*.at-*.tar 2>/dev/null || [ $n -gt 600 ]; do',
               "sleep 0.05; n=$((n + 1)); done; sleep 0.5; kill -9 $$; fi", "done"]))
        self.here.write("work/job.yaml", (JOB % (ONE, self.top, LOCAL)).replace("every: 7s", "every: 1s, files: [epoch]"))
        self.here.say("rbplan", "work/job.yaml", "--profile-file", "profile.yaml", "-o", "plan.json", "--time-limit", "2s")
        report, _ = self.run_it()
        self.assertEqual(report["outcome"], "complete")
        resource, = self.saved()
        self.assertIn(resource, range(1, most + 1))  # less where one look sees what several epochs have changed
        self.assertEqual([s[2] for s in self.notes("starts")], [0, 3])  # its state, whatever it is taken for
        self.assertEqual([n for _, n in self.notes("epochs")], [*range(1, 9)])
        self.assertEqual([name for name in self.archives() if ".at-" in name], [])

    def test_files_that_changed_and_rest_count_as_announced(self):
        self.rests(saves=2, reports=1, most=3)

    def test_a_save_before_its_report_is_of_the_report_before(self):
        """If a second or more lies between them: the node looks at the files once a second."""
        self.rests(saves=1, reports=2, most=2)

    def test_what_is_announced_wrongly_is_reported_and_the_run_goes_on(self):
        wrong = {"../../x": "takes the name of a folder", "at-77": "no such folder", "link": "is a symbolic link"}
        for name, words in wrong.items():
            with self.subTest(name):
                shutil.rmtree(self.top + "/.local", ignore_errors=True)
                say = '$(ln -sfn /etc "$RB_CHECKPOINT_DIR/link"; echo %s)' % name  # it is there before it is announced
                self.prepare('rm -rf "$RB_CHECKPOINT_DIR/$( [ $epoch -gt 7 ] || echo at-)$epoch"; '
                             '[ $epoch -lt 8 ] || { refused; rm -rf "$RB_CHECKPOINT_DIR"/*; }', say=say)
                report, said = self.run_it()
                self.assertEqual(report["outcome"], "complete")
                notes = [w for w in report["faults"] + report["warnings"] if "is not kept" in w["text"]]
                self.assertEqual(len(notes), 1, said)
                self.assertRegex(notes[0]["text"], "^trial 0: the midway checkpoint of its report of epoch [1-8] is not kept: .*"
                                 + words)
                self.assertEqual(self.saved(), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    BIN = os.path.abspath(args.bin)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
