#!/usr/bin/env python3
"""rbprofile train and provision against a real rbmock: real HTTP, real sshd nodes, a training script of four lines.
Usage: measure.py --bin BUILD_DIR"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from mock_cloud import MockCloud

BIN = None
EPOCH_S = 0.05

JOB = """name: tiny
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 4, max_resource: 4}
trial: {gpus: {min: 1, max: 2, sizes: [1, 2]}}
run: %s
checkpoint: {dir: ckpt}
resources: {infra: [mock/us-east-1], instance_types: [two.gpus]}
"""

TRAIN = """i=0
while [ $i -lt $RB_RESOURCE_END ]; do
    i=$((i + 1)); sleep %g; echo "epoch=$i loss=0.5"
done
echo weights > "$RB_CHECKPOINT_DIR/model"
"""


class Measure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="rb-measure-")
        cls.cloud = MockCloud(BIN, cls.folder.name).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cloud.__exit__()
        cls.folder.cleanup()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-measure-", dir=self.folder.name)
        self.addCleanup(temporary.cleanup)
        self.home = temporary.name
        self.job = os.path.join(self.home, "job", "job.yaml")
        os.mkdir(os.path.dirname(self.job))
        self.write_job("sh train.sh", EPOCH_S)
        self.env = {"PATH": BIN + ":/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.home, "LC_ALL": "C.UTF-8",
                    **self.cloud.customer,
                    "RB_SSH_PORT": str(self.cloud.ssh_port),
                    "RB_SSH_USER": subprocess.check_output(["id", "-un"], text=True).strip()}
        self.launched = len(self.cloud.ledger()["instances"])
        p = self.rbprofile("prices", "update", "--from", self.cloud.prices)
        self.assertEqual(p.returncode, 0, p.stderr)

    def tearDown(self):
        self.assertEqual(self.cloud.ledger()["instances_left"], 0)

    def write_job(self, run, epoch_s):
        with open(self.job, "w", encoding="utf-8") as f:
            f.write(JOB % json.dumps(run))
        with open(os.path.join(os.path.dirname(self.job), "train.sh"), "w", encoding="utf-8") as f:
            f.write(TRAIN % epoch_s)

    def rbprofile(self, *args, **env):
        return subprocess.run([os.path.join(BIN, "rbprofile"), *args], env={**self.env, **env}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    def new_instances(self):
        return self.cloud.ledger()["instances"][self.launched:]

    def names(self):
        p = self.rbprofile("list", "--json")
        self.assertEqual(p.returncode, 0, p.stderr)
        return [profile["name"] for profile in json.loads(p.stdout)["profiles"]]

    # --- train

    def test_train_measures_and_keeps(self):
        p = self.rbprofile("train", self.job, "--resource", "3", "--configs", "2")
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("4 of 4 runs kept in profile tiny; look at the fit with `rbprofile show tiny`", p.stdout)
        self.assertEqual(len(self.new_instances()), 1)
        fit = json.loads(self.rbprofile("show", "tiny", "--json").stdout)
        self.assertEqual([(c["gpus"], c["runs"], c["units"]) for c in fit["cells"]], [(1, 2, 4), (2, 2, 4)])
        for cell in fit["cells"]:
            # A unit is timed from line to line as they are read: one that was read late leaves its follower short.
            self.assertGreaterEqual(cell["mean_s"], 0.8 * EPOCH_S)
            self.assertLess(cell["mean_s"], 20 * EPOCH_S)
        self.assertEqual([(v["instance_type"], v["ok"]) for v in fit["provisioning"]], [("two.gpus", 1)])

    def test_train_prints_one_json_document(self):
        p = self.rbprofile("train", self.job, "--resource", "2", "--configs", "1", "--gpus", "1", "--name", "other",
                           "--nodes", "2", "--json")
        self.assertEqual(p.returncode, 0, p.stderr)
        document = json.loads(p.stdout)
        self.assertEqual(document["format"], "rb-campaign/1")
        self.assertEqual([(r["gpus"], r["ok"], len(r["unit_s"])) for r in document["runs"]], [(1, True, 1)])
        self.assertGreater(document["runs"][0]["checkpoint_s"], 0)
        self.assertEqual([n["outcome"] for n in document["nodes"]], ["ok", "ok"])
        self.assertEqual(sorted(n["instance"] for n in document["nodes"]),
                         sorted(i["id"] for i in self.new_instances()))
        self.assertEqual(self.names(), ["other"])

    def test_a_failing_command_is_no_measurement(self):
        self.write_job("echo last words; exit 3", EPOCH_S)
        p = self.rbprofile("train", self.job, "--resource", "2", "--configs", "1", "--gpus", "1")
        self.assertEqual((p.returncode, p.stdout), (9, ""))
        self.assertEqual(p.stderr.count("the script printed: last words"), 1)
        self.assertRegex(p.stderr, r"rbprofile train: the training script is broken: .*exit code 3; its output: .*/logs/")
        logs = re.search(r"the logs are in (\S+) \[RB4210\]$", p.stderr.strip()).group(1)
        kept = [pathlib.Path(logs, name).read_text(encoding="utf-8") for name in os.listdir(logs)]
        self.assertIn("last words", "".join(kept))
        self.assertEqual(self.names(), [])

    def test_a_command_that_is_killed_is_no_measurement(self):
        self.write_job("kill -9 $$", EPOCH_S)
        p = self.rbprofile("train", self.job, "--resource", "2", "--configs", "1", "--gpus", "1")
        self.assertEqual((p.returncode, p.stdout), (1, ""))
        self.assertRegex(p.stderr, r"no run could be measured \(exit code 137; .*\[RB1316\]$")

    def test_a_silent_command_is_no_measurement(self):
        self.write_job("true", EPOCH_S)
        p = self.rbprofile("train", self.job, "--resource", "2", "--configs", "1", "--gpus", "1", "--json")
        self.assertEqual(p.returncode, 9)
        error = json.loads(p.stdout)
        self.assertEqual((error["format"], error["code"]), ("rb-error/1", "broken_script"))
        self.assertIn("it reported 0 of 2 epochs", error["message"])
        self.assertEqual(self.names(), [])

    def test_local_needs_no_cloud(self):
        p = self.rbprofile("train", self.job, "--infra", "local", "--resource", "2", "--configs", "1", "--gpus", "1",
                           AWS_ENDPOINT_URL="http://127.0.0.1:9")
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("1 of 1 runs kept", p.stdout)
        self.assertEqual(self.new_instances(), [])

    def test_trials_that_share_a_gpu_are_measured_together(self):
        """Half a GPU takes twice as long; units count only while both train."""
        with open(os.path.join(os.path.dirname(self.job), "train.sh"), "w", encoding="utf-8") as f:
            f.write("i=0\nwhile [ $i -lt $RB_RESOURCE_END ]; do i=$((i + 1));"
                    " sleep $(awk \"BEGIN{print 0.15 / $RB_GPU_SHARE}\"); echo \"epoch=$i loss=0.5\"; done\n"
                    "echo $CUDA_VISIBLE_DEVICES ${CUDA_MPS_ACTIVE_THREAD_PERCENTAGE:-all} >&2\n")
        p = self.rbprofile("train", self.job, "--infra", "local", "--resource", "4", "--configs", "2", "--gpus", "1",
                           "--share", "1,2", "--name", "shared", "--json", RB_LOCAL_SLOTS="1")
        self.assertEqual(p.returncode, 0, p.stderr)
        runs = json.loads(p.stdout)["runs"]
        self.assertEqual([(r["gpus"], r.get("sharers", 1), r["config"]) for r in runs],
                         [(1, 1, 0), (1, 1, 1), (1, 2, 0), (1, 2, 1)])
        self.assertTrue(all(r["ok"] and r["unit_s"] for r in runs), runs)
        p = self.rbprofile("export", "shared", "--json")
        sharing, = json.loads(p.stdout)["training"][0]["sharing"]
        self.assertEqual(sharing["trials"], 2)
        self.assertGreater(sharing["slowdown"], 1.5)
        self.assertLess(sharing["slowdown"], 2.5)
        self.assertIn("2 trials on one", self.rbprofile("show", "shared").stdout)

    def exported(self, name):
        document = json.loads(self.rbprofile("export", name, "--json").stdout)
        self.assertEqual(document["format"], "rb-profile/1")
        return document

    def test_a_script_that_begins_again_is_found_out(self):
        p = self.rbprofile("train", self.job, "--infra", "local", "--resource", "3", "--configs", "2", "--gpus", "1")
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("the script does not resume from a checkpoint", p.stdout)
        profile = self.exported("tiny")
        self.assertIs(profile["resumes"], False)
        measured = profile["measured"]
        self.assertEqual((measured["configurations"], measured["units"]), (2, 4))
        self.assertGreaterEqual(measured["load"], 0)
        self.assertEqual([f["path"] for f in measured["of"]["files"]], ["train.sh"])
        self.assertIn("relative_error", profile["startup_s"])

    def test_a_script_that_goes_on_is_found_out(self):
        with open(os.path.join(os.path.dirname(self.job), "train.sh"), "w", encoding="utf-8") as f:
            f.write('i=0\n[ -z "$RB_RESUME_FROM" ] || i=$(cat "$RB_RESUME_FROM/model")\n' + TRAIN[4:].replace("%g", "0.05")
                    .replace("echo weights", "echo $i"))
        p = self.rbprofile("train", self.job, "--infra", "local", "--resource", "3", "--configs", "1", "--gpus", "1", "--json")
        self.assertEqual(p.returncode, 0, p.stderr)
        document = json.loads(p.stdout)
        self.assertEqual((document["resumes"], document["trained_beyond"], len(document["runs"])), (True, None, 1))
        self.assertNotIn("resumes", self.exported("tiny"))

    def test_a_script_that_trains_on_is_found_out(self):
        with open(os.path.join(os.path.dirname(self.job), "train.sh"), "w", encoding="utf-8") as f:
            f.write((TRAIN % EPOCH_S).replace("$RB_RESOURCE_END", "200"))
        began = time.monotonic()
        p = self.rbprofile("train", self.job, "--infra", "local", "--resource", "2", "--configs", "1", "--gpus", "1")
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("trains on after RB_RESOURCE_END: it reported epoch 3 when it was to stop at 2", p.stdout)
        self.assertLess(time.monotonic() - began, 200 * EPOCH_S)

    def test_a_profile_of_something_else_is_reported_and_measured_afresh(self):
        train = ("train", self.job, "--infra", "local", "--resource", "3", "--configs", "2", "--gpus", "1")
        plan = [os.path.join(BIN, "rbplan"), self.job, "--set", "resources.infra=[local]", "--set", "resources.instance_types=[]",
                "--set", "trial.gpus.sizes=[1]"]

        def warned(*more):
            p = subprocess.run(plan + list(more), env=self.env, text=True, capture_output=True, check=False)
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertIn("\nmeasured: 2 configurations, 4 units, load ", p.stdout)
            return [line for line in p.stderr.splitlines() if "since profile" in line]

        self.assertEqual(self.rbprofile(*train).returncode, 0)
        self.assertEqual(warned(), [])
        line, = warned("--set", "parameters.lr.max=90")
        self.assertIn("parameters have changed since profile \"tiny\" was measured", line)
        self.assertIn("`rbprofile train --fresh %s`" % self.job, line)
        self.write_job("sh train.sh; true", 1.1 * EPOCH_S)
        line, = warned()
        self.assertIn("the command and train.sh have changed", line)
        self.assertEqual(self.rbprofile(*train, "--fresh").returncode, 0)
        self.assertEqual(warned(), [])

    def test_epochs_printed_together_share_their_time(self):
        with open(os.path.join(os.path.dirname(self.job), "train.sh"), "w", encoding="utf-8") as f:
            f.write('for i in 1 2 "3\\nepoch=4 loss=0.5\\nepoch=5" 6; do sleep 0.3; printf "epoch=$i loss=0.5\\n"; done\n'
                    'echo weights > "$RB_CHECKPOINT_DIR/model"\n')
        self.assertEqual(self.rbprofile("train", self.job, "--infra", "local", "--resource", "6", "--configs", "2",
                                        "--gpus", "1").returncode, 0)
        units = self.exported("tiny")["training"][0]
        self.assertLess(units["base_s"], 2, units)
        p = subprocess.run([os.path.join(BIN, "rbplan"), self.job, "--set", "resources.infra=[local]", "--set",
                            "resources.instance_types=[]", "--set", "trial.gpus.sizes=[1]"], env=self.env, text=True,
                           capture_output=True, check=False)
        self.assertEqual(p.returncode, 0, p.stderr)

    # --- scripts that do not do what they should

    def failed_for(self, run, *args):
        """What is said of a campaign of one run; it may not leave a node, and not take for ever."""
        self.write_job(run, EPOCH_S)
        p = self.rbprofile("train", self.job, "--resource", "2", "--configs", "1", "--gpus", "1", *args)
        self.assertEqual((p.returncode, p.stdout), (1, ""), p.stderr)
        self.assertEqual([i["state"] for i in self.new_instances()], ["terminated"] * len(self.new_instances()))
        return p.stderr

    def test_a_script_that_hangs_is_ended(self):
        for run, said in (("sleep 300", "failed: no report for 1.0 s (trial.timeout): killed"),
                          ("sh train.sh; sleep 300", "failed: it has reported all and does not end for 1.0 s (trial.timeout)")):
            with self.subTest(run=run):
                self.assertIn(said, self.failed_for(run, "--set", "trial.timeout=1s"))

    def test_epochs_out_of_order_are_reported(self):
        self.assertIn("failed: it reported epoch 2 without the one before: expected a line `epoch=1 loss=0.5` for each, in order",
                      self.failed_for("echo epoch=2 loss=1; echo epoch=1 loss=1"))

    # --- Ctrl-C

    def interrupt(self, awaited, *args):
        """Runs rbprofile, sends SIGINT once `awaited` was said; (exit code, stdout, stderr)."""
        p = subprocess.Popen([os.path.join(BIN, "rbprofile"), *args], env=self.env, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = ""
        for line in p.stderr:
            said += line
            if awaited in line:
                p.send_signal(signal.SIGINT)
                break
        self.assertIn(awaited, said)
        out, rest = p.communicate(timeout=30)
        return p.returncode, out, said + rest

    def test_interrupted_while_training_leaves_nothing(self):
        self.write_job("sh train.sh", 30)
        code, out, said = self.interrupt("ready:", "train", self.job, "--resource", "2", "--configs", "1")
        self.assertEqual((code, out), (130, ""), said)
        self.assertEqual([i["state"] for i in self.new_instances()], ["terminated"])
        self.assertEqual(self.names(), [])

    def test_interrupted_on_this_machine_leaves_no_process(self):
        pid = os.path.join(self.home, "pid")
        self.write_job("echo $$ >%s; exec sleep 300" % pid, EPOCH_S)
        p = self.begin("train", self.job, "--infra", "local", "--resource", "2", "--configs", "1", "--gpus", "1")
        while not (os.path.exists(pid) and pathlib.Path(pid).read_text().strip()):
            self.assertIsNone(p.poll())
            time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        _, said = p.communicate(timeout=30)
        self.assertEqual(p.returncode, 130, said)
        self.assertFalse(os.path.exists("/proc/" + pathlib.Path(pid).read_text().strip()), said)

    def test_interrupted_with_json_still_prints_one_document(self):
        self.write_job("sh train.sh", 30)
        code, out, said = self.interrupt("ready:", "train", self.job, "--resource", "2", "--configs", "1", "--json")
        self.assertEqual(code, 130, said)
        self.assertEqual(json.loads(out)["format"], "rb-error/1")

    def test_interrupted_while_booting_leaves_nothing(self):
        code, _, said = self.interrupt("launching 2 x", "provision", "--infra", "mock/us-east-1",
                                       "--instance-type", "two.gpus", "-n", "2")
        self.assertEqual(code, 130, said)
        self.assertEqual({i["state"] for i in self.new_instances()} - {"terminated"}, set())

    def test_a_pager_that_was_closed_leaves_nothing(self):
        p = self.begin("train", self.job, "--resource", "2", "--configs", "1", "--gpus", "1")
        p.stderr.close()
        self.assertEqual(p.wait(timeout=60), 0)
        self.assertEqual([i["state"] for i in self.new_instances()], ["terminated"])

    # --- kill -9, and what rbrun gc makes of a campaign

    def begin(self, *args):
        p = subprocess.Popen([os.path.join(BIN, "rbprofile"), *args], env=self.env, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(lambda: p.poll() is None and p.kill())
        next(line for line in p.stderr if "ready:" in line)
        return p

    def gc(self, *args, code=0):
        p = subprocess.run([os.path.join(BIN, "rbrun"), "gc", "--yes", "--older-than", "0s", *args], env=self.env, text=True,
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual(p.returncode, code, p.stderr)
        return p

    def test_gc_leaves_a_living_campaign_alone_and_ends_a_killed_one(self):
        self.write_job("sh train.sh", 30)
        p = self.begin("train", self.job, "--resource", "2", "--configs", "1", "--gpus", "1")
        done = self.gc()
        self.assertIn("is being executed: left alone", done.stderr)
        self.assertEqual(done.stdout, "1 region looked at, 0 instances left over, 0 ended\n")
        p.kill()
        p.wait()
        p.stderr.close()
        # aws/us-east-1 is the same endpoint: looked at once, and what is there counts once
        done = self.gc("--dry-run", "--infra", "aws/us-east-1")
        self.assertIn("1 region looked at, 1 instance left over, 0 ended\n", done.stdout)
        # a cloud that cannot be asked is an error, and no reason to leave the others' instances running
        done = self.gc("--infra", "gcp/us-central1", code=5)
        self.assertIn("gcp", done.stderr)
        self.assertIn("1 region looked at, at least 1 instance left over (not everything could be seen), 1 ended\n", done.stdout)
        until = time.monotonic() + 20  # the termination was accepted, which ends the bill, and takes a moment
        while self.cloud.ledger()["instances_left"] > 0 and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual([i["state"] for i in self.new_instances()], ["terminated"])

    def test_gc_leaves_out_a_mock_cloud_that_is_no_more(self):
        env = {k: v for k, v in self.env.items() if not k.startswith("AWS_ENDPOINT_URL")}
        p = subprocess.run([os.path.join(BIN, "rbrun"), "gc", "--infra", "mock/us-east-1"], env=env, text=True,
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("left out: mock/us-east-1", p.stderr)

    # --- provision

    def test_provision_records_capacity_refusals(self):
        p = self.rbprofile("provision", "--infra", "mock/us-east-1", "--instance-type", "one.gpu", "-n", "3", "--json")
        self.assertEqual(p.returncode, 0, p.stderr)
        nodes = json.loads(p.stdout)["nodes"]
        self.assertEqual(sorted(n["outcome"] for n in nodes), ["capacity", "ok", "ok"])
        refused = [n for n in nodes if n["outcome"] == "capacity"][0]
        self.assertEqual((refused["instance"], refused["running_us"], refused["ready_us"]), (None, None, None))
        for n in nodes:
            if n["outcome"] == "ok":
                self.assertLessEqual(n["requested_us"], n["running_us"])  # EC2 names whole seconds
                self.assertLess(n["running_us"], n["ready_us"])

    def test_provision_prints_a_table(self):
        p = self.rbprofile("provision", "--infra", "mock/us-east-1", "--instance-type", "one.gpu", "-n", "1")
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertRegex(p.stdout, r"\Anode  outcome +queueing  initialisation\n   0  ok +[\d.]+ m?s +[\d.]+ m?s\n\Z")

    # --- exit codes

    def test_train_without_capacity_is_exit_6(self):
        p = self.rbprofile("train", self.job, "--instance-type", "sold.out", "--gpus", "1", "--configs", "1")
        self.assertEqual((p.returncode, p.stdout), (6, ""), p.stderr)
        self.assertEqual(self.names(), [])

    def test_wrong_credentials_are_exit_5(self):
        p = self.rbprofile("train", self.job, "--gpus", "1", "--configs", "1", AWS_SECRET_ACCESS_KEY="wrong")
        self.assertEqual((p.returncode, p.stdout), (5, ""), p.stderr)
        self.assertEqual(self.new_instances(), [])

    def refused(self, code, words, *args, **env):
        before = self.files()
        p = self.rbprofile(*args, **env)
        self.assertEqual((p.returncode, p.stdout), (code, ""), p.stderr)
        self.assertIn(words, p.stderr)
        self.assertEqual(self.files(), before)
        self.assertEqual(self.new_instances(), [])

    def files(self):
        return sorted((os.path.join(parent, name), os.lstat(os.path.join(parent, name)).st_mtime_ns)
                      for parent, _, names in os.walk(self.home) for name in names)

    def test_bad_input_changes_nothing(self):
        self.refused(2, "a two.gpus has 2", "train", self.job, "--gpus", "4")
        self.refused(2, "--gpus 2,1", "train", self.job, "--gpus", "2,1")
        self.refused(2, "--share 2,11", "train", self.job, "--share", "2,11")
        self.refused(2, "add 1 to --gpus", "train", self.job, "--gpus", "2", "--share", "1,2")
        self.refused(2, "add --configs 4", "train", self.job, "--share", "1,4")
        self.refused(2, "where?", "provision", "--instance-type", "one.gpu")
        self.refused(2, "which machine?", "provision", "--infra", "mock/us-east-1")
        self.refused(2, "needs no provisioning", "provision", "--infra", "local", "--instance-type", "one.gpu")
        self.refused(2, "did you mean", "train", self.job, "--infra", "mok/us-east-1")
        self.refused(2, "is not on loopback", "train", self.job, AWS_ENDPOINT_URL="https://192.0.2.1")
        self.refused(7, "no price for no.such", "train", self.job, "--instance-type", "no.such")

    def test_real_machines_are_not_bought_unasked(self):
        prices = os.path.join(self.home, "aws.csv")
        with open(self.cloud.prices, encoding="utf-8") as f, open(prices, "w", encoding="utf-8") as g:
            g.write(f.read().replace("mock/", "aws/"))
        self.assertEqual(self.rbprofile("prices", "update", "--from", prices).returncode, 0)
        self.refused(2, "this rents real machines: pass --yes to confirm", "train", self.job, "--infra", "aws/us-east-1",
                     AWS_ENDPOINT_URL="https://192.0.2.1")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", required=True, help="where the programs are")
    args, rest = options.parse_known_args()
    if not shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin"):
        print("skipped: no sshd for the mock cloud's nodes; install openssh-server")
        sys.exit(77)
    BIN = os.path.abspath(args.bin)
    unittest.main(argv=[sys.argv[0]] + rest)
