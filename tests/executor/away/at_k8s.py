#!/usr/bin/env python3
"""rbrun --at k8s/lab: runs whose controller is a pod beside the run's pods, on rbmock's cluster. Usage: at_k8s.py --bin BUILD_DIR"""
import argparse
import json
import os
import signal
import sys
import tempfile
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "providers", "k8s"))
from cluster import Cluster, run_on  # noqa: E402

BIN = None
CPU = "k8s/lab,c4,CPU,4,0,4,8,on_demand,0.05,test,2026-07-20T00:00:00Z\n"


# Where a policy takes Jobs alone: the rights of docs/policies/k8s-role-jobs.yaml, which the controller has, too.
JOBS_ALONE = ", granted: [create jobs, get jobs, list jobs, delete jobs], denied: [create pods, get pods, delete pods]"


class AtK8s(unittest.TestCase):
    rights, job = "", ""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-at-k8s-")
        self.addCleanup(temporary.cleanup)
        self.cluster = Cluster(BIN, temporary.name, prices=CPU, kubernetes=self.rights)
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__)
        self.run = run_on(BIN, temporary.name, self.cluster, kubernetes=", service_account: rubberband" + self.job)
        self.run.env["PATH"] = os.path.abspath(BIN) + ":/usr/bin:/bin"

    def say(self, *words, **how):
        return self.run.say("rbrun", *words, **how)

    def start(self):
        return json.loads(self.say("plan.json", "--at", "k8s/lab", "--yes", "--json").stdout)

    def controllers(self):
        return [p for p in self.cluster.objects("pods") if p["spec"]["automountServiceAccountToken"]]

    def test_it_begins_there_and_comes_home(self):
        said = self.start()
        run = said["run"]
        self.assertEqual(said["place"], "k8s/lab")
        pod, = self.controllers()
        self.assertEqual(pod["spec"]["serviceAccountName"], "rubberband")
        self.assertNotIn(self.cluster.customer["AWS_SECRET_ACCESS_KEY"], json.dumps(pod))
        self.assertIn("best configuration", self.say("attach", run).stdout)
        row, = json.loads(self.say("list", "--json").stdout)["runs"]
        self.assertEqual((row["outcome"], row["controller"]), ("elsewhere", "k8s/lab"))
        leases = [lease["metadata"]["name"] for lease in self.cluster.objects("leases")]
        self.assertEqual(leases, ["rb-%s-controller" % run], "the run's own lease has gone with it")
        self.assertEqual([p["metadata"]["name"] for p in self.controllers()], [pod["metadata"]["name"]])  # it ends last
        self.say("move", run, "--to", "here")
        report = json.loads(self.say("report", "--json", run).stdout)
        self.assertEqual((report["outcome"], report["leak_check"]["instances_left"]), ("complete", 0))
        self.assertIsNotNone(report["controller"]["ended_at_us"])
        self.cluster.await_no_pods()
        self.assertEqual(self.cluster.objects("leases"), [])
        self.say("fetch", run, "--best", "model")

    def process_of(self, run):
        """The controller's, as this machine numbers it: the pod numbers its own."""
        uid = self.controllers()[0]["metadata"]["uid"]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f, open("/proc/%s/environ" % pid, "rb") as e:
                    if ("resume\0%s\0" % run).encode() in f.read() and ("RB_POD_UID=" + uid).encode() in e.read():
                        return int(pid)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass
        raise AssertionError("no controller in the pod")

    def test_its_pod_is_deleted(self):
        run = self.start()["run"]
        self.cluster.delete_pod(self.controllers()[0]["metadata"]["name"])
        until = time.monotonic() + 20
        while self.controllers() and time.monotonic() < until:
            time.sleep(0.1)
        self.assertIn("does not answer: it has ended", self.say("status", run, expect=1).stderr)
        for lease in self.cluster.objects("leases"):  # the pods of both go with their leases, even if no controller lives
            self.cluster.delete("leases", lease["metadata"]["name"])
        self.cluster.await_no_pods()

    def test_a_killed_controller_is_resumed_there(self):
        said = self.start()
        os.kill(self.process_of(said["run"]), signal.SIGKILL)
        self.say("resume", said["run"])
        self.say("attach", said["run"])
        self.say("move", said["run"], "--to", "here")
        self.assertEqual(json.loads(self.say("report", "--json", said["run"]).stdout)["outcome"], "complete")


class Jobs(unittest.TestCase):
    """The controller is a Job beside the run's Jobs."""
    rights, job = JOBS_ALONE, ", as: job"
    setUp, say, start, controllers = AtK8s.setUp, AtK8s.say, AtK8s.start, AtK8s.controllers

    def test_it_begins_there_and_comes_home(self):
        run = self.start()["run"]
        pod, = self.controllers()
        self.assertEqual([o["kind"] for o in pod["metadata"]["ownerReferences"]], ["Job"])
        self.assertEqual(pod["spec"]["serviceAccountName"], "rubberband")
        self.assertIn("best configuration", self.say("attach", run).stdout)
        job, = self.cluster.objects("jobs")  # it ends last
        self.assertEqual(job["metadata"]["ownerReferences"][0]["name"], "rb-%s-controller" % run)
        self.say("move", run, "--to", "here")
        report = json.loads(self.say("report", "--json", run).stdout)
        self.assertEqual((report["outcome"], report["leak_check"]["instances_left"]), ("complete", 0))
        mine, = [i for i in self.cluster.ledger()["instances"] if i["tags"]["rb.run-id"] == run + "-controller"]
        self.assertIsNotNone(mine["ended_us"], "its Job has gone, and its pod still has its machine")
        self.assertGreaterEqual(report["controller"]["ended_at_us"], mine["ended_us"])
        self.cluster.await_no_pods()
        self.assertEqual(self.cluster.objects("leases") + self.cluster.objects("jobs"), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = options.bin
    unittest.main(argv=[sys.argv[0], *rest])
