"""Whole runs on rbmock's cluster: one pod per launch, none left, nor the run's lease, the cluster's bill, and the token in
nothing that was written.

    k8s_run.py --bin BUILD [TEST..]
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from cluster import Cluster, check_over, check_secrets, run_on

BIN = None

FAULTS = """format: rb-chaos/1
rules:
  - {where: {front: k8s, action: leases.create}, times: 1, what: lost_response}
  - {where: {front: k8s, action: pods.create}, times: 2, what: {error: {code: Forbidden, status: 403, message: "pods is forbidden: User \\"ann\\" cannot create resource \\"pods\\""}}}
  - {where: {front: k8s, action: pods.create}, when: {call: 4}, times: 1, what: lost_response}
  - {where: {front: k8s, action: pods.create}, when: {call: 5}, times: 1, what: {error: {code: Conflict, status: 409, message: "Operation cannot be fulfilled on resourcequotas \\"q\\""}}}
  - {where: {front: k8s, action: pods.list}, when: {call: 3}, times: 1, what: {truncated_body: {fraction: 0.5}}}
  - {where: {front: k8s, action: pods.list}, when: {call: 5}, times: 1, what: {error: {code: Expired, status: 410, message: "too old"}}}
  - {where: {front: k8s, action: pods.list}, when: {call: 6}, times: 1, what: throttle}
  - {where: {front: k8s, action: pods.delete}, times: 1, what: {html_502: {after_effect: true}}}
  - {where: {front: k8s, action: pods.exec}, when: {call: 4}, times: 1, what: {exec_cut: {bytes: 9}}}
  - {where: {front: k8s, action: pods.exec}, when: {call: 7}, times: 1, what: no_status}
"""


class Runs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-k8s-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def on(self, *options, capacity=10, queue="", **job):
        cluster = Cluster(BIN, self.folder, *options, capacity=capacity, kubernetes=queue)
        cluster.__enter__()
        self.addCleanup(cluster.__exit__)
        return cluster, run_on(BIN, self.folder, cluster, **job)

    def chaos(self, text):
        path = os.path.join(self.folder, "chaos.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def logs(self):
        """What all starts of all trials have printed."""
        out = ""
        for root, _, names in os.walk(os.path.join(self.folder, "state")):
            for name in names:
                if name.endswith(".log"):
                    with open(os.path.join(root, name), encoding="utf-8") as f:
                        out += f.read()
        return out

    def test_killed_and_resumed_while_the_cluster_misbehaves(self):
        cluster, run = self.on("--chaos", self.chaos(FAULTS), RB_TRACE="provider,launcher")
        killed = run.say("rbrun", "plan.json", "--json", "--state-dir", "state", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="9")
        done = run.say("rbrun", "resume", "--json", "--state-dir", "state")
        report = json.loads(done.stdout.splitlines()[-1])
        check_over(cluster, report)
        check_secrets(cluster, self.folder, killed.stdout + killed.stderr + done.stdout + done.stderr)

    def test_over_tls_by_a_certificate_of_the_cluster(self):
        cluster, run = self.on(trials=2, kubernetes=", context: lab-tls")
        done = run.say("rbrun", "plan.json", "--json", "--state-dir", "state", KUBECONFIG=cluster.kubeconfig)
        check_over(cluster, json.loads(done.stdout.splitlines()[-1]))
        check_secrets(cluster, self.folder, done.stdout + done.stderr)

    def test_a_drained_pod_keeps_its_checkpoints(self):
        cluster, run = self.on(trials=2, resource=8, epoch_s=0.4, kubernetes=", grace: 8s")
        with open(os.path.join(self.folder, "out"), "w+", encoding="utf-8") as out:
            process = subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--json", "--state-dir", "state"],
                                       cwd=self.folder, env=run.env, stdout=out, stderr=subprocess.PIPE, text=True)
            until = time.monotonic() + 60
            while "epoch=2 " not in self.logs() and time.monotonic() < until:
                time.sleep(0.1)
            cluster.delete_pod(cluster.objects("pods")[0]["metadata"]["name"])
            said = process.communicate(timeout=100)[1]
            out.seek(0)
            report = json.loads(out.read().splitlines()[-1])
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("its cloud takes it back in", said)
        check_over(cluster, report)
        self.assertEqual(len(report["nodes"]), 2)
        epochs = re.findall(r"^epoch=\d+", self.logs(), re.M)
        self.assertEqual(len(epochs), 2 * 8, "epochs were trained twice: %s" % epochs)

    def test_sold_out_is_said_after_the_timeout(self):
        cluster, run = self.on(kubernetes=", queue_timeout: 1s", capacity=0)
        done = run.say("rbrun", "plan.json", "--state-dir", "state", expect=6)
        self.assertIn("no machine within resources.kubernetes.queue_timeout", done.stderr + self.logs())
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_a_gang_without_room_leaves_nothing(self):
        cluster, run = self.on(capacity=1, kubernetes=", queue_timeout: 1s", trials=2, gpus=4)
        done = run.say("rbrun", "plan.json", "--state-dir", "state", expect=6)
        self.assertIn("3 nodes in a row got no machine", done.stderr)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_pods_wait_in_a_queue(self):
        cluster, run = self.on(queue=", queue: {name: team, gpus: 4}", kubernetes=", queue: team", trials=2, gpus=4)
        report = json.loads(run.say("rbrun", "plan.json", "--json", "--state-dir", "state").stdout.splitlines()[-1])
        check_over(cluster, report)
        self.assertEqual(len(report["nodes"]), 2)

    def test_a_queue_without_kueue_is_refused(self):
        cluster, run = self.on(kubernetes=", queue: team")
        for words in (("doctor", "plan.json"), ("plan.json",)):
            done = run.say("rbrun", *words, "--state-dir", "state", expect=1 if words[0] == "doctor" else 2)
            self.assertIn("no Kueue holds pods of namespace rb back, so that queue team would mean nothing", done.stdout + done.stderr)
        self.assertEqual(cluster.objects("pods") + cluster.objects("leases"), [])

    def test_a_dropped_field_is_refused(self):
        rule = "{where: {front: k8s, action: pods.create}, what: {dropped_field: {field: spec.activeDeadlineSeconds}}}"
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % rule))
        done = run.say("rbrun", "plan.json", "--state-dir", "state", expect=2)
        self.assertIn("RB3505", done.stderr)
        self.assertIn("spec.activeDeadlineSeconds", done.stderr)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_the_doctor_names_each_missing_right(self):
        cluster, run = self.on()
        done = run.say("rbrun", "doctor", "plan.json", "--json", "--state-dir", "state", expect=0)
        self.assertNotIn('"fail"', done.stdout)
        self.assertNotIn("is there", done.stdout, "nobody has looked for the image")
        for right in ("create pods", "delete pods", "create pods/exec", "update leases", "delete leases"):
            with tempfile.TemporaryDirectory(prefix="rb-k8s-") as folder, \
                    Cluster(BIN, folder, kubernetes=", denied: [%s]" % right) as poor:
                done = run_on(BIN, folder, poor).say("rbrun", "doctor", "plan.json", "--state-dir", "state", expect=5)
                self.assertIn("rights missing in namespace rb", done.stdout + done.stderr)
                self.assertIn(": %s;" % right, done.stdout + done.stderr)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_gc_ends_what_a_dead_controller_left(self):
        cluster, run = self.on(trials=2, resource=60, epoch_s=1, kubernetes=", grace: 2s")
        process = subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--state-dir", "state"], cwd=self.folder,
                                   env=run.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while "epoch=1 " not in self.logs() and time.monotonic() < until:
            time.sleep(0.1)
        process.kill()
        process.wait()
        dry = run.say("rbrun", "gc", "--dry-run", "--older-than", "0s", "--state-dir", "state")
        self.assertIn("rb-", dry.stdout)
        self.assertEqual(len(cluster.objects("pods")), 1)
        run.say("rbrun", "gc", "--yes", "--older-than", "0s", "--state-dir", "state")
        self.assertEqual(cluster.objects("leases"), [])
        cluster.await_no_pods()


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[sys.argv.index("--bin") + 1])
    words = [w for i, w in enumerate(sys.argv[1:], 1) if w != "--bin" and sys.argv[i - 1] != "--bin"]
    unittest.main(argv=[sys.argv[0], *words])
