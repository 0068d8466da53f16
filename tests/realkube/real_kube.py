#!/usr/bin/env python3
"""Whole runs on a real cluster (cluster.py): what a run does there, what a cluster does to it, and that nothing of it is left.

    real_kube.py --bin BUILD --programs PROGRAMS [Kube.test_NAME..]
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, os.path.join(HERE, "..", "clients"))
import same_answers  # noqa: E402
from cluster import TOKEN, URL, Cluster, enclosed, missing  # noqa: E402
from kubernetes_model import Model  # noqa: E402
from rbmock import RbMock  # noqa: E402
from real_run import ONE_GPU, RealRun, profile  # noqa: E402

SKIP = 77
PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
k8s/lab,g2/2,T4,2,16,8,30,on_demand,1.08,test,2026-07-20T00:00:00Z
k8s/lab,g2/1,T4,1,16,4,15,on_demand,0.54,test,2026-07-20T00:00:00Z
"""
JOB = """name: real
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {%(scheduler)s}
trial: {gpus: {min: %(gpus)d, max: %(gpus)d}, max_nodes: 2, timeout: 60s}
setup: "touch set-up"
run: "test -e set-up || exit 9; test ${#SECRET_WORD} = 13 || exit 8; epoch=$(cat $RB_RESUME_FROM/epoch 2>/dev/null || echo 0); while [ $epoch -lt $RB_RESOURCE_END ]; do epoch=$((epoch + 1)); \\
  %(extra)ssleep %(epoch_s)g; echo $epoch >$RB_CHECKPOINT_DIR/epoch; echo epoch=$epoch val_acc=0.$RB_TRIAL_ID$epoch; \\
  if [ -e $RB_PREEMPT_FILE ]; then exit 75; fi; done"
checkpoint: {dir: ckpt}
secrets: [SECRET_WORD]
resources:
  infra: [k8s/lab]
  instance_types: ["g2/2"]
  image_id: {k8s/lab: "%(image)s"}
  max_nodes: 2
  kubernetes: {%(kubernetes)s}
deadline: 20m
confidence: 0.5
"""


class Kube(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().__enter__()
        print("a cluster in %d s" % cls.cluster.took, flush=True)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(dir=self.cluster.dir)
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def prepare(self, scheduler="type: random, num_trials: 4, max_resource: 3", gpus=1, epoch_s=0.5, kubernetes="grace: 20s", image=None, extra="", **env):
        run = RealRun(BIN, self.folder, KUBECONFIG=self.cluster.kubeconfig, SECRET_WORD="marked-secret", **env)
        run.write("prices.csv", PRICES)
        run.write("work/job.yaml", JOB % {"scheduler": scheduler, "gpus": gpus, "epoch_s": epoch_s, "kubernetes": kubernetes, "extra": extra,
                                          "image": image or self.cluster.image.name})
        run.write("profile.yaml", profile("real", epoch_s + 0.3, ONE_GPU, "{gpus: 2, nodes: 1, speedup: 1.8}", "{gpus: 4, nodes: 2, speedup: 3.0}"))
        run.make_plan("work/job.yaml")
        return run

    def background(self, run, *more):
        with open(os.path.join(self.folder, "out"), "wb") as out, open(os.path.join(self.folder, "err"), "wb") as err:
            process = subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--yes", "--json", "--state-dir", "state", *more], cwd=self.folder,
                                       env=run.env, stdout=out, stderr=err)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def said(self, name="err"):
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return f.read()

    def finish(self, process):
        code = process.wait(180)
        self.assertEqual(code, 0, self.said())
        return json.loads(self.said("out").splitlines()[-1])

    def objects(self, kind):
        return json.loads(self.cluster.kubectl("get", kind, "-o", "json"))["items"]

    def until(self, what, holds, seconds=90):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "not after %d s: %s\n%s" % (seconds, what, self.cluster.kubectl("get", "pods", "-o", "yaml")[-4000:]))
            time.sleep(0.2)

    def logs(self):
        out = ""
        for root, _, names in os.walk(os.path.join(self.folder, "state")):
            for name in names:
                if name.endswith(".log"):
                    with open(os.path.join(root, name), encoding="utf-8") as f:
                        out += f.read()
        return out

    def in_pod(self, command):
        return self.cluster.kubectl("exec", self.objects("pods")[0]["metadata"]["name"], "--", "sh", "-c", command)

    def nothing_left(self, report=None):
        self.until("no pods", lambda: not self.objects("pods"))
        self.assertEqual(self.objects("leases"), [])
        if report:
            self.assertEqual(report["outcome"], "complete")
            self.assertEqual(report["leak_check"]["instances_left"], 0)

    def epochs(self):
        return re.findall(r"^epoch=\d+", self.logs(), re.M)

    # --- the cases

    def test_a_search_with_checkpoints(self):
        run = self.prepare("type: sha, num_trials: 4, max_resource: 4, min_resource: 1, eta: 2")
        doctor = run.say("rbrun", "doctor", "plan.json", "--json", "--state-dir", "state")
        self.assertNotIn('"fail"', doctor.stdout)
        done = run.say("rbrun", "plan.json", "--yes", "--json", "--state-dir", "state", timeout=240)
        self.nothing_left(json.loads(done.stdout.splitlines()[-1]))
        with open(self.cluster.path("audit.log"), encoding="utf-8") as f:
            audit = f.read()
        self.assertIn("/exec?", audit)
        for secret in (TOKEN, "marked-secret"):
            self.assertNotIn(secret, audit)
            self.assertNotIn(secret, done.stdout + done.stderr)
            self.assertEqual(subprocess.run(["grep", "-rqF", secret, "/run/etcd"], check=False).returncode, 1, "it is stored in the cluster")

    def test_by_a_client_certificate(self):
        run = self.prepare("type: random, num_trials: 2, max_resource: 2", kubernetes="grace: 20s, context: admin")
        done = run.say("rbrun", "plan.json", "--yes", "--json", "--state-dir", "state", timeout=240)
        self.nothing_left(json.loads(done.stdout.splitlines()[-1]))

    def test_a_drained_node(self):
        run = self.prepare(epoch_s=1, scheduler="type: random, num_trials: 2, max_resource: 8")
        process = self.background(run)
        self.until("two epochs", lambda: "epoch=2 " in self.logs())
        self.cluster.kubectl("drain", "n1", "--force", "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=60s")
        self.cluster.kubectl("uncordon", "n1")
        self.nothing_left(self.finish(process))
        self.assertEqual(len(self.epochs()), 16, "trained twice")

    def test_a_deleted_pod(self):
        """Its trials have checkpoints of 50 MB, which are fetched while it ends, and sent to the next one."""
        blob = "(cd $RB_CHECKPOINT_DIR; if [ $epoch = 1 ]; then head -c 50000000 /dev/urandom >blob; sha256sum blob >sum; " \
               "else [ -e blob ] || cp $RB_RESUME_FROM/blob $RB_RESUME_FROM/sum . && sha256sum -c --status sum; fi) || exit 7; "
        run = self.prepare(epoch_s=1, scheduler="type: random, num_trials: 2, max_resource: 6", kubernetes="grace: 60s", extra=blob)
        process = self.background(run)
        self.until("two epochs", lambda: "epoch=2 " in self.logs())
        self.cluster.kubectl("delete", "pod", self.objects("pods")[0]["metadata"]["name"], "--wait=false")
        report = self.finish(process)
        self.nothing_left(report)
        self.assertEqual(len(report["nodes"]), 2)
        self.assertEqual(len(self.epochs()), 12, "trained twice")

    def test_killed_and_resumed(self):
        run = self.prepare()
        run.say("rbrun", "plan.json", "--yes", "--state-dir", "state", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="9")
        done = run.say("rbrun", "resume", "--json", "--state-dir", "state", timeout=240)
        report = json.loads(done.stdout.splitlines()[-1])
        self.nothing_left(report)

    def test_gc_after_a_dead_controller(self):
        run = self.prepare(epoch_s=1, scheduler="type: random, num_trials: 2, max_resource: 60", kubernetes="grace: 2s")
        process = self.background(run)
        self.until("an epoch", lambda: "epoch=1 " in self.logs())
        process.kill()
        process.wait()
        self.assertIn("rb-", run.say("rbrun", "gc", "--dry-run", "--older-than", "0s", "--state-dir", "state").stdout)
        self.assertEqual(len(self.objects("pods")), 1)
        run.say("rbrun", "gc", "--yes", "--older-than", "0s", "--state-dir", "state")
        self.nothing_left()

    def test_a_deleted_anchor_takes_the_pods(self):
        run = self.prepare(epoch_s=1, scheduler="type: random, num_trials: 2, max_resource: 60", kubernetes="grace: 2s")
        process = self.background(run)
        self.until("an epoch", lambda: "epoch=1 " in self.logs())
        process.kill()
        process.wait()
        self.cluster.kubectl("delete", "lease", self.objects("leases")[0]["metadata"]["name"])
        self.nothing_left()

    def test_the_dead_mans_switch(self):
        run = self.prepare(epoch_s=1, scheduler="type: random, num_trials: 2, max_resource: 60", kubernetes="grace: 2s")
        process = self.background(run)
        self.until("an epoch", lambda: "epoch=1 " in self.logs())
        process.kill()
        process.wait()
        [pod] = self.objects("pods")
        left = int(self.in_pod("echo $(($(cat /rb/.expires) - $(date +%s)))"))
        self.assertTrue(1700 < left <= 1800, "%d s" % left)
        self.in_pod("echo $(($(date +%s) + 2)) >/rb/.expires")  # instead of half an hour
        self.until("an end of its own", lambda: self.objects("pods")[0]["status"]["phase"] in ("Succeeded", "Failed"))
        self.assertEqual(self.objects("pods")[0]["metadata"]["uid"], pod["metadata"]["uid"])
        run.say("rbrun", "gc", "--yes", "--older-than", "0s", "--state-dir", "state")
        self.nothing_left()

    def test_the_api_server_restarts(self):
        run = self.prepare(epoch_s=1, scheduler="type: random, num_trials: 2, max_resource: 20")
        process = self.background(run)
        self.until("two epochs", lambda: "epoch=2 " in self.logs())
        self.cluster.restart("kube-apiserver", 5)
        self.nothing_left(self.finish(process))
        self.assertEqual(len(self.epochs()), 40, "trained twice, or its output lost")

    def test_the_kubelet_is_silent_for_a_while(self):
        run = self.prepare(epoch_s=1, scheduler="type: random, num_trials: 2, max_resource: 30")
        process = self.background(run)
        self.until("two epochs", lambda: "epoch=2 " in self.logs())
        self.cluster.children["kubelet"].send_signal(signal.SIGSTOP)
        time.sleep(15)
        self.cluster.children["kubelet"].send_signal(signal.SIGCONT)
        self.nothing_left(self.finish(process))
        self.assertEqual(len(self.epochs()), 60, "trained twice, or its output lost")

    def test_a_queue_without_kueue(self):
        run = self.prepare(kubernetes="queue: team")
        self.assertIn("no Kueue holds pods", run.say("rbrun", "plan.json", "--yes", "--state-dir", "state", expect=2).stderr)
        self.nothing_left()

    def test_no_room(self):
        run = self.prepare(kubernetes="grace: 2s, queue_timeout: 3s, node_selector: {no-such: label}")
        done = run.say("rbrun", "plan.json", "--yes", "--state-dir", "state", expect=6)
        self.assertIn("no machine within resources.kubernetes.queue_timeout", done.stderr)
        self.nothing_left()

    def test_no_such_image(self):
        run = self.prepare(image="registry.example/none@sha256:" + "0a" * 32)
        done = run.say("rbrun", "plan.json", "--yes", "--state-dir", "state", expect=2)
        self.assertRegex(done.stderr, "ErrImagePull|ImagePullBackOff")
        self.nothing_left()

    def test_a_gang_over_two_pods(self):
        run = self.prepare(gpus=4, scheduler="type: random, num_trials: 2, max_resource: 2")
        done = run.say("rbrun", "plan.json", "--yes", "--json", "--state-dir", "state", timeout=240)
        report = json.loads(done.stdout.splitlines()[-1])
        self.nothing_left(report)
        self.assertEqual(len(report["nodes"]), 2)

    def test_quota(self):
        self.cluster.kubectl("create", "quota", "few", "--hard=requests.nvidia.com/gpu=1")
        self.addCleanup(self.cluster.kubectl, "delete", "quota", "few")
        run = self.prepare()
        self.until("a counted quota", lambda: self.objects("quota")[0].get("status", {}).get("used"))
        doctor = run.say("rbrun", "doctor", "plan.json", "--state-dir", "state", expect=5)
        self.assertIn("ResourceQuota few", doctor.stdout + doctor.stderr)
        done = run.say("rbrun", "plan.json", "--yes", "--state-dir", "state", expect=5)
        self.assertIn("exceeded quota: few", done.stderr)
        self.nothing_left()

    def test_each_right_is_needed(self):
        run = self.prepare()
        role = self.objects("role")[0]
        self.addCleanup(self.cluster.kubectl, "replace", "-f", "-", stdin=json.dumps({**role, "metadata": {"name": role["metadata"]["name"]}}))
        for verb, resource in (("create", "pods"), ("delete", "pods"), ("create", "pods/exec"), ("update", "leases"), ("delete", "leases")):
            poorer = json.loads(json.dumps(role))
            poorer["metadata"] = {"name": role["metadata"]["name"]}
            for rule in poorer["rules"]:
                if rule["resources"] == [resource]:
                    rule["verbs"].remove(verb)
            self.cluster.kubectl("replace", "-f", "-", stdin=json.dumps(poorer))
            done = None
            end = time.monotonic() + 20
            while done is None:  # the server notices a changed role a little later
                asked = subprocess.run([os.path.join(BIN, "rbrun"), "doctor", "plan.json", "--state-dir", "state"], cwd=self.folder, env=run.env,
                                       capture_output=True, text=True, check=False)
                done = asked if ": %s %s;" % (verb, resource) in asked.stdout + asked.stderr else None
                self.assertLess(time.monotonic(), end, asked.stdout + asked.stderr)

    def test_answers_are_as_our_types_say(self):
        """The model that rbmock is held against takes what a real server says."""
        model = Model()
        for kind in ("pods", "events", "leases", "quota", "limits", "namespaces", "nodes"):
            model.check(json.loads(self.cluster.kubectl("get", "--raw", {
                "leases": "/apis/coordination.k8s.io/v1/leases", "quota": "/api/v1/resourcequotas", "limits": "/api/v1/limitranges"}.get(kind, "/api/v1/" + kind))))
        for path in ("/api", "/apis", "/api/v1", "/apis/coordination.k8s.io/v1"):
            model.check(json.loads(self.cluster.kubectl("get", "--raw", path)))
        self.assertEqual(sorted(set(model.problems)), [])

    def test_rbmock_answers_alike(self):
        with RbMock(os.path.join(BIN, "rbmock"), "--k8s", "0", "--key", "id:secret", more='kubernetes: {version: "1.20", pod_security: privileged}\n') as cloud:
            real = same_answers.Side(URL.split("//")[1], TOKEN, same_answers.tls(self.cluster.dir))
            mock = same_answers.Side(cloud.k8s.split("//")[1], "secret")
            found = same_answers.differences(real, mock, self.cluster.image.name, lambda holds: self.until("both pods run", holds))
        self.assertEqual(found, [], "\n".join(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    BIN = os.path.abspath(options.bin)
    if "RB_RIG_DIR" not in os.environ:
        why = missing(options.programs)
        if why:
            print("skipped: " + why)
            sys.exit(SKIP)
        sys.exit(enclosed(options.programs, [sys.executable] + sys.argv))
    unittest.main(argv=[sys.argv[0], *options.cases], verbosity=2)
