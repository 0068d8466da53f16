"""Whole runs on rbmock's cluster: one pod per launch, none left, nor the run's lease, the cluster's bill, and the token in
nothing that was written.

    k8s_run.py --bin BUILD [TEST..]
"""
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from cluster import JOB, Cluster, check_over, check_secrets, profile, run_on

BIN = None

FAULTS = """format: rb-chaos/1
rules:
  - {where: {front: k8s, action: leases.create}, times: 1, what: lost_response}
  - {where: {front: k8s, action: pods.create}, times: 2, what: {error: {code: Forbidden, status: 403, message: "pods is forbidden: User \\"ann\\" cannot create resource \\"pods\\""}}}
  - {where: {front: k8s, action: pods.create}, when: {call: 4}, times: 1, what: lost_response}
  - {where: {front: k8s, action: pods.create}, when: {call: 5}, times: 1, what: {error: {code: Conflict, status: 409, message: "Operation cannot be fulfilled on resourcequotas \\"q\\""}}}
  - {where: {front: k8s, action: pods.watch}, times: 1, what: {error: {code: Expired, status: 410, message: "too old"}}}
  - {where: {front: k8s, action: pods.list}, when: {call: 3}, times: 1, what: {truncated_body: {fraction: 0.5}}}
  - {where: {front: k8s, action: pods.list}, when: {call: 5}, times: 1, what: {error: {code: Expired, status: 410, message: "too old"}}}
  - {where: {front: k8s, action: pods.list}, when: {call: 6}, times: 1, what: throttle}
  - {where: {front: k8s, action: pods.delete}, times: 1, what: {html_502: {after_effect: true}}}
  - {where: {front: k8s, action: pods.exec}, when: {call: 4}, times: 1, what: {exec_cut: {bytes: 9}}}
  - {where: {front: k8s, action: pods.exec}, when: {call: 7}, times: 1, what: no_status}
"""


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
DIGITS = """name: digits
seed: 7
metric: {name: val_acc, goal: maximize}
parameters: {lr: {distribution: log_uniform, min: 0.002, max: 0.5}, width: {values: [32, 64]}}
scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2, unit: epoch}
trial: {gpus: 1}
run: /usr/bin/python3 train.py $RB_ARGS --real
checkpoint: {dir: ckpt}
resources: {infra: %s, instance_types: [%s], image_id: {k8s/lab: "x@sha256:0a"}, max_nodes: 2, kubernetes: {namespace: rb}}
deadline: 10m
confidence: 0.5
"""
# Where a policy takes Jobs alone: the rights of docs/policies/k8s-role-jobs.yaml.
JOBS_ALONE = ", granted: [create jobs, get jobs, list jobs, delete jobs, create pods/eviction], denied: [create pods, get pods, delete pods]"
SPOT_PRICES = "k8s/lab,g2,T4,2,16,8,30,spot,0.40,test,2026-07-20T00:00:00Z\n"
SPOT_TIMES = "\n  - {infra: k8s, instance_type: '*', market: spot, queue_s: 0.5, init_s: 1, capacity_failure: 0, preemption_per_hour: 1}"
# Each right without which no run begins, and those that it does without.
NEEDED = ("create pods", "get pods", "list pods", "delete pods", "create pods/exec", "get pods/exec", "create leases", "get leases",
          "list leases", "update leases", "delete leases")
NEEDED_BY_JOBS = ("create jobs", "get jobs", "list jobs", "delete jobs")
OPTIONAL = ("list events", "watch pods", "get pods/log", "list resourcequotas")


def copy_of(pod):
    """As it was sent."""
    spec = {k: v for k, v in pod["spec"].items() if k != "nodeName"}
    meta = {k: v for k, v in pod["metadata"].items() if k in ("name", "labels", "annotations", "ownerReferences")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


class Runs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-k8s-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def on(self, *options, capacity=10, queue="", prices="", release_s=0, **job):
        cluster = Cluster(BIN, self.folder, *options, capacity=capacity, kubernetes=queue, prices=prices, release_s=release_s)
        cluster.__enter__()
        self.addCleanup(cluster.__exit__)
        return cluster, run_on(BIN, self.folder, cluster, **job)

    def begin(self, run):
        return subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--state-dir", "state"], cwd=self.folder, env=run.env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_after_an_epoch(self, run):
        """Kills the controller once a trial has reported, or after a minute; the end of that minute."""
        process = self.begin(run)
        until = time.monotonic() + 60
        while "epoch=1 " not in self.logs() and time.monotonic() < until:
            time.sleep(0.1)
        process.kill()
        process.wait()
        return until

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

    def on_jobs(self, *options, **job):
        return self.on(*options, queue=JOBS_ALONE, kubernetes=", as: job" + job.pop("kubernetes", ""), **job)

    def test_nodes_that_are_jobs(self):
        """The same faults, a kill, and a Role that makes no pods: nothing is launched twice."""
        cluster, run = self.on_jobs("--chaos", self.chaos(FAULTS.replace("action: pods.create", "action: jobs.create").replace(
            "action: pods.delete", "action: jobs.delete").replace("pods is forbidden", "jobs is forbidden").replace('resource \\"pods', 'resource \\"jobs')))
        killed = run.say("rbrun", "plan.json", "--json", "--state-dir", "state", expect=-signal.SIGKILL, RB_TEST_DIE_AFTER="9")
        done = run.say("rbrun", "resume", "--json", "--state-dir", "state")
        check_over(cluster, json.loads(done.stdout.splitlines()[-1]))
        check_secrets(cluster, self.folder, killed.stdout + killed.stderr + done.stdout + done.stderr)
        self.assertEqual(cluster.objects("jobs"), [])

    def test_the_pod_of_a_job_is_deleted(self):
        """It has its grace, its trials save, and another Job takes its place; the old Job makes no second pod."""
        cluster, run = self.on_jobs(trials=2, resource=8, epoch_s=0.4, kubernetes=", grace: 90s")
        process = self.begin(run)
        until = time.monotonic() + 60
        while "epoch=2 " not in self.logs() and time.monotonic() < until:
            time.sleep(0.1)
        cluster.evict(cluster.objects("pods")[0]["metadata"]["name"])
        self.assertEqual(process.wait(100), 0)
        report = json.loads(run.say("rbrun", "report", "k8s", "--json", "--state-dir", "state").stdout)
        check_over(cluster, report)
        self.assertEqual(len(report["nodes"]), 2)
        epochs = re.findall(r"^epoch=\d+", self.logs(), re.M)
        self.assertEqual(len(epochs), 2 * 8, "epochs were trained twice: %s" % epochs)
        drained = min(cluster.ledger()["instances"], key=lambda i: i["requested_us"])
        self.assertLess(drained["ended_us"] - drained["running_us"], 60e6, "it was held for its whole grace")

    def test_a_second_pod_of_a_job_is_ended_and_not_used(self):
        """As by a server that replaces what it has not seen end."""
        rule = "{where: {front: k8s}, times: 1, what: {replaced: {after: 4s}}}"
        cluster, run = self.on_jobs("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % rule), trials=2, resource=14, epoch_s=0.4)
        done = run.say("rbrun", "plan.json", "--json", "--state-dir", "state")
        report = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        self.assertRegex(done.stderr, r"lost: \S+ has taken its place")
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases") + cluster.objects("jobs"), [])
        self.assertEqual((len(report["nodes"]), len(cluster.ledger()["instances"])), (2, 3))  # the second pod was never a node

    def test_a_second_pod_of_a_job_that_came_while_no_controller_lived_is_not_used(self):
        rule = "{where: {front: k8s}, times: 1, what: {replaced: {after: 6s}}}"
        cluster, run = self.on_jobs("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % rule), trials=2, resource=18, epoch_s=0.4)
        until = self.kill_after_an_epoch(run)
        first = cluster.objects("pods")[0]["metadata"]["name"]
        while [p["metadata"]["name"] for p in cluster.objects("pods")] in ([first], []):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        second = cluster.objects("pods")[-1]["metadata"]["name"]
        done = run.say("rbrun", "resume", "--json", "--state-dir", "state")
        report = json.loads(done.stdout.splitlines()[-1])
        self.assertRegex(done.stderr, r"lost: %s\.\S+ has taken its place" % second)
        self.assertEqual((report["outcome"], len(report["nodes"])), ("complete", 2))
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases") + cluster.objects("jobs"), [])

    def test_jobs_that_get_no_pod_or_no_room_leave_nothing(self):
        """The cluster takes a Job whose pod it refuses, and says why in an event. And a gang of Jobs where one finds a machine."""
        for say, queue, job in (("waits: FailedCreate: Error creating: pods \"rbj-", ', quota: {pods: "0"}', {"trials": 1}),
                                ("3 nodes in a row got no machine", "", {"trials": 2, "gpus": 4, "capacity": 1})):
            with self.subTest(say=say), tempfile.TemporaryDirectory(prefix="rb-k8s-") as folder, \
                    Cluster(BIN, folder, capacity=job.pop("capacity", 10), kubernetes=JOBS_ALONE + queue) as cluster:
                done = run_on(BIN, folder, cluster, kubernetes=", as: job, queue_timeout: 2s", **job).say("rbrun", "plan.json", "--state-dir", "state", expect=6)
                self.assertIn(say, done.stderr)
                cluster.await_no_pods()
                self.assertEqual(cluster.objects("leases") + cluster.objects("jobs"), [])

    def test_a_job_that_waited_is_billed_from_when_it_was_last_seen_to_wait(self):
        """Its pod goes with it, unseen: it may have got a machine at the last moment."""
        cluster, run = self.on_jobs(capacity=0, trials=1)
        process = subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--state-dir", "state"], cwd=self.folder, env=run.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = ""
        while " waits: " not in said:  # a listing has shown so
            line = process.stderr.readline()
            self.assertTrue(line, said)
            said += line
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=60)[1]
        self.assertIn("the cloud has forgotten when it ran; billed by our clock", said)
        node, = json.loads(run.say("rbrun", "report", "k8s", "--json", "--state-dir", "state").stdout)["nodes"]
        self.assertGreater(node["running_us"], node["requested_us"])
        self.assertGreater(node["cost_uusd"], 0)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases") + cluster.objects("jobs"), [])

    def test_gc_ends_jobs_that_a_dead_controller_left(self):
        cluster, run = self.on_jobs(trials=2, resource=60, epoch_s=1, kubernetes=", grace: 2s", RB_TEST_LEASE_S="3")
        self.kill_after_an_epoch(run)
        self.assertIn("rbj-", run.say("rbrun", "gc", "--dry-run", "--older-than", "0s", "--state-dir", "state").stdout)
        self.assertEqual(len(cluster.objects("jobs")), 1)
        shutil.rmtree(os.path.join(self.folder, "state"))  # the watchdog's view: no journal says that its nodes are Jobs
        until = time.monotonic() + 30
        while cluster.objects("leases"):  # the run's lease lapses first
            self.assertLess(time.monotonic(), until)
            run.say("rbrun", "gc", "--yes", "--older-than", "0s", "--infra", "k8s/lab", "--state-dir", "state", RB_KUBE_NAMESPACE="rb")
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("jobs"), [])

    def test_over_tls_by_a_certificate_of_the_cluster(self):
        cluster, run = self.on(trials=2, kubernetes=", context: lab-tls")
        done = run.say("rbrun", "plan.json", "--json", "--state-dir", "state", KUBECONFIG=cluster.kubeconfig)
        check_over(cluster, json.loads(done.stdout.splitlines()[-1]))
        check_secrets(cluster, self.folder, done.stdout + done.stderr)

    def test_a_drained_pod_keeps_its_checkpoints(self):
        cluster, run = self.on(trials=2, resource=8, epoch_s=0.4, kubernetes=", grace: 90s")
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
        drained = min(cluster.ledger()["instances"], key=lambda i: i["requested_us"])
        self.assertLess(drained["ended_us"] - drained["running_us"], 60e6, "it was held for its whole grace")

    def check_replaced(self, cluster, said, report):
        """One pod has lost its name to another, which was ended, and a third has gone on."""
        names = [i["name"] for i in cluster.ledger()["instances"]]
        lost, why = re.search(r"\((\S+)\): lost: (.*)", said).groups()
        check_over(cluster, report, estimated={lost})
        self.assertEqual((len(names), len(set(names))), (3, 2), names)
        self.assertIn(lost.split(".")[0], why)
        self.assertIn(" has taken its place", why)
        self.assertIn("its launch made a second instance, " + why.split()[0], said)

    def test_a_replaced_pod_is_lost_and_the_one_in_its_place_is_ended(self):
        rule = "{where: {front: k8s}, times: 1, what: {replaced: {after: 3s}}}"
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % rule), trials=2, resource=10,
                               epoch_s=0.4, kubernetes=", grace: 2s")
        done = run.say("rbrun", "plan.json", "--json", "--state-dir", "state")
        self.check_replaced(cluster, done.stderr, json.loads(done.stdout.splitlines()[-1]))

    def test_a_pod_that_was_replaced_while_no_controller_lived_is_lost(self):
        cluster, run = self.on(trials=2, resource=10, epoch_s=0.4, kubernetes=", grace: 1s")
        process = self.begin(run)
        until = time.monotonic() + 60
        while "epoch=2 " not in self.logs() and time.monotonic() < until:
            time.sleep(0.1)
        process.kill()
        process.wait()
        copy = copy_of(cluster.objects("pods")[0])
        cluster.delete_pod(copy["metadata"]["name"])
        cluster.await_no_pods()
        self.assertEqual(cluster.create("pods", copy), 201)
        done = run.say("rbrun", "resume", "--json", "--state-dir", "state")
        self.check_replaced(cluster, done.stderr, json.loads(done.stdout.splitlines()[-1]))

    def test_sold_out_is_said_after_the_timeout(self):
        cluster, run = self.on(kubernetes=", queue_timeout: 3s", capacity=0)
        done = run.say("rbrun", "plan.json", "--state-dir", "state", expect=6)
        why = "NotTriggerScaleUp: pod didn't trigger scale-up: 1 max node group size reached"
        self.assertIn("waits: " + why, done.stderr)
        self.assertIn("no machine within resources.kubernetes.queue_timeout (%s)" % why, done.stderr)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_a_gang_without_room_leaves_nothing(self):
        cluster, run = self.on(capacity=1, kubernetes=", queue_timeout: 1s", trials=2, gpus=4)
        done = run.say("rbrun", "plan.json", "--state-dir", "state", expect=6)
        self.assertIn("3 nodes in a row got no machine", done.stderr)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_a_gang_of_four_with_room_for_three_leaves_nothing(self):
        for queue, job in (("", ""), (", queue: {name: team, gpus: 6}", ", queue: team")):
            with self.subTest(queue=queue), tempfile.TemporaryDirectory(prefix="rb-k8s-") as folder, \
                    Cluster(BIN, folder, capacity=3, kubernetes=queue) as cluster:
                run = run_on(BIN, folder, cluster, gpus=8, trials=2, nodes=4, kubernetes=job + ", queue_timeout: 2s")
                seen, over = set(), threading.Event()

                def watch(cluster=cluster, seen=seen, over=over):
                    while not over.wait(0.1):
                        seen |= {p["metadata"]["labels"].get("kueue.x-k8s.io/pod-group-name") for p in cluster.objects("pods")}
                watcher = threading.Thread(target=watch)
                watcher.start()
                run.say("rbrun", "plan.json", "--state-dir", "state", expect=6)
                over.set()
                watcher.join()
                cluster.await_no_pods()
                self.assertEqual(cluster.objects("leases"), [])
                self.assertTrue(seen, "no pod was seen")
                for name in seen - {None}:
                    self.assertEqual(cluster.status_of("/apis/kueue.x-k8s.io/v1beta1/namespaces/rb/workloads/" + name), 404)
                self.assertEqual(None in seen, not queue)

    def test_part_of_a_gang_in_a_queue_does_not_stay(self):
        refused = ("{where: {front: k8s, action: pods.create}, when: {call: 4}, times: 1, what: {error: {code: Forbidden, status: 403, "
                   "message: 'pods \"rb-x\" is forbidden: exceeded quota: q'}}}")
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % refused), capacity=4,
                               queue=", queue: {name: team, gpus: 8}", gpus=8, trials=1, nodes=4, kubernetes=", queue: team")
        run.say("rbrun", "plan.json", "--state-dir", "state", expect=5)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])
        self.assertEqual(len(cluster.ledger()["instances"]), 2)  # the first call is the question whether it may

    def test_a_late_copy_of_a_launch_does_not_stay(self):
        cluster, run = self.on(trials=2)
        process, copies = self.begin(run), []
        until = time.monotonic() + 60
        while not copies and time.monotonic() < until:
            copies = [p for p in cluster.objects("pods") if p["status"]["phase"] == "Running"]
            time.sleep(0.1)
        self.assertEqual(process.wait(100), 0)
        cluster.await_no_pods()
        self.assertEqual(cluster.create("pods", copy_of(copies[0])), 201)  # no controller knows of it, and its Lease is gone
        cluster.await_no_pods()

    def test_a_run_without_its_lease_ends_its_pods(self):
        cluster, run = self.on(trials=2, resource=60, epoch_s=1, kubernetes=", grace: 1s")
        self.kill_after_an_epoch(run)
        before = time.monotonic()
        cluster.delete("leases", cluster.objects("leases")[0]["metadata"]["name"])
        cluster.await_no_pods()
        self.assertLess(time.monotonic() - before, 60)

    def test_connections_cut_at_random_bytes_lose_no_line(self):
        seed = int(os.environ.get("RB_TEST_SEED", "11"))
        draw, rules = random.Random(seed), "format: rb-chaos/1\nrules:\n"
        for call in range(6, 60):
            if draw.random() < 0.4:
                rules += ("  - {where: {front: k8s, action: pods.exec}, when: {call: %d}, times: 1, what: {exec_cut: {bytes: %d}}}\n"
                          % (call, draw.choice((0, draw.randrange(1, 60), draw.randrange(1, 4000)))))
        cluster, run = self.on("--chaos", self.chaos(rules), trials=6, resource=12, epoch_s=0.15)
        report = json.loads(run.say("rbrun", "plan.json", "--json", "--state-dir", "state").stdout.splitlines()[-1])
        check_over(cluster, report)
        self.assertEqual(report["outcome"], "complete")
        for root, _, names in os.walk(os.path.join(self.folder, "state")):
            for name in names:
                if name.endswith(".log"):
                    with open(os.path.join(root, name), encoding="utf-8") as f:
                        lines = [line for line in f if line.startswith("epoch=")]
                    epochs = [int(re.match(r"epoch=(\d+)", line).group(1)) for line in lines]
                    self.assertEqual(epochs, sorted(set(epochs)), "seed %d: %s: %s" % (seed, name, lines))
                    self.assertEqual(epochs and list(range(epochs[0], epochs[-1] + 1)), epochs, "seed %d: %s" % (seed, name))
        epochs = re.findall(r"^epoch=\d+ .*$", self.logs(), re.M)
        self.assertEqual(len(epochs), 6 * 12, "seed %d: %s" % (seed, epochs))
        tails = subprocess.run("ps ax -o args", shell=True, capture_output=True, text=True, check=True).stdout
        self.assertNotIn(report["run"], tails)

    def test_spot_pods_are_taken_and_the_run_goes_on(self):
        rule = "{where: {front: k8s, market: spot}, times: 1, what: {interrupted: {after: 3s}}}"
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % rule), prices=SPOT_PRICES,
                               resources="\n  spot: safe", extra=SPOT_TIMES, trials=2, resource=14, epoch_s=0.4,
                               kubernetes=", grace: 5s")
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as f:
            plan = json.load(f)
        self.assertEqual({n["market"] for s in plan["stages"] for n in s["nodes"]}, {"on_demand"})
        done = run.say("rbrun", "plan.json", "--json", "--state-dir", "state")
        report = json.loads(done.stdout.splitlines()[-1])
        check_over(cluster, report)
        self.assertEqual([n["market"] for n in report["nodes"]], ["spot", "spot"])
        self.assertIn("its cloud takes it back in", done.stderr)
        self.assertEqual({i["market"] for i in cluster.ledger()["instances"]}, {"spot"})
        epochs = re.findall(r"^epoch=\d+", self.logs(), re.M)
        self.assertEqual(len(epochs), 2 * 14, "epochs were trained twice: %s" % epochs)

    def test_a_tail_is_billed_and_a_price_comes_from_the_job(self):
        cluster, run = self.on(release_s=120, trials=2)
        run.write("work/job.yaml", (JOB % (2, 2, 1, 1, 2, 0.1, "", 2, ", price_per_gpu_hour: 0.54, release: 2m")).replace(
            '["g2"]', '["g2/1"]\n  accelerators: [T4]'))
        with open(cluster.prices, encoding="utf-8") as f:
            run.write("elsewhere.csv", f.read().split("k8s/")[0])
        run.make_plan("work/job.yaml", prices="elsewhere.csv")
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as f:
            price = json.load(f)["prices"][0]
        self.assertEqual((price["uusd_per_hour"], price["release_s"], price["source"]),
                         (540000, 120, "attributed: resources.kubernetes.price_per_gpu_hour"))
        done = run.say("rbrun", "plan.json", "--json", "--state-dir", "state")
        report = json.loads(done.stdout.splitlines()[-1])
        check_over(cluster, report)
        tail = 540000 * 120 // 3600
        self.assertGreaterEqual(report["cost_uusd"]["actual"], len(report["nodes"]) * tail)
        self.assertIn("the cost is attributed", run.say("rbrun", "report", "k8s", "--state-dir", "state").stdout)

    def test_the_pull_of_an_image_is_timed_apart(self):
        slow = "{where: {front: k8s}, what: {boots_slowly: {factor: 12}}}"
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % slow), trials=2)
        db = os.path.join(self.folder, "store.db")
        run.env["RB_DB"] = db
        run.say("rbprofile", "import", "profile.yaml")
        run.say("rbplan", "work/job.yaml", "--planner", "static", "--prices", "prices.csv", "-o", "plan.json")
        report = json.loads(run.say("rbrun", "plan.json", "--json", "--state-dir", "state").stdout.splitlines()[-1])
        check_over(cluster, report)
        with sqlite3.connect(db) as store:
            kept = store.execute("SELECT queue_s, init_s, pull_s FROM provision").fetchall()
        self.assertEqual(len(kept), len(report["nodes"]))
        for node in report["nodes"]:  # whole seconds
            self.assertGreaterEqual(node["ready_us"] - node["running_us"] + 1000000, node["pull_us"])
            self.assertGreaterEqual(node["pull_us"], 2000000)
        self.assertEqual(sorted(row[2] for row in kept), sorted(n["pull_us"] / 1e6 for n in report["nodes"]))
        self.assertTrue(all(init_s >= pull_s - 1 for _, init_s, pull_s in kept), kept)
        self.assertRegex(run.say("rbprofile", "show", "k8s").stdout, r"of it, image +\S+, mean")

    def test_a_pod_that_is_replaced_under_a_measurement_ends_it(self):
        rule = "{where: {front: k8s}, times: 1, what: {replaced: {after: 3s}}}"
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % rule), trials=2, resource=3,
                               epoch_s=2, kubernetes=", grace: 1s")
        run.env["RB_DB"] = os.path.join(self.folder, "store.db")
        run.say("rbprofile", "prices", "update", "--from", "prices.csv")
        done = run.say("rbprofile", "train", "work/job.yaml", "--configs", "1", "--resource", "3", "--yes", "--state-dir", "state",
                       expect=1)
        self.assertIn("its node could no longer be reached: another pod has this name now", done.stderr)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])
        self.assertEqual(len(cluster.ledger()["instances"]), 2)

    def test_a_pod_whose_image_cannot_be_pulled_ends_a_measurement(self):
        """At once: in a queue it could wait for a week."""
        rule = "{where: {front: k8s}, what: never_boots}"
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n" % rule), trials=2, resource=3)
        run.env["RB_DB"] = os.path.join(self.folder, "store.db")
        run.say("rbprofile", "prices", "update", "--from", "prices.csv")
        done = run.say("rbprofile", "train", "work/job.yaml", "--configs", "1", "--resource", "3", "--yes", "--state-dir", "state",
                       expect=2, timeout=30)
        self.assertIn("node 0: ErrImagePull: rpc error", done.stderr)
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_prices_come_from_the_nodes(self):
        cluster, run = self.on(queue=", place: aws/us-east-1/us-east-1a, granted: [list nodes]", trials=2)
        run.write("aws.csv", "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                  "aws/us-east-1,g2,T4,2,16,8,30,on_demand,1.50\n")
        db = ("--db", os.path.join(self.folder, "store.db"))
        self.assertIn("changed", run.say("rbprofile", "prices", "update", "--infra", "k8s/lab", *db, expect=7).stderr)
        run.say("rbrun", "plan.json", "--state-dir", "state")  # its machine stays a while
        unpriced = run.say("rbprofile", "prices", "update", "--infra", "k8s/lab", *db, expect=2)
        self.assertIn("g2 on_demand of aws/us-east-1/us-east-1a", unpriced.stderr)
        run.say("rbprofile", "prices", "update", "--from", "aws.csv", *db)
        run.say("rbprofile", "prices", "update", "--infra", "k8s/lab", *db)
        shown = run.say("rbprofile", "prices", "show", "--infra", "k8s", *db).stdout
        self.assertRegex(shown, r"k8s/lab +g2 +on_demand +T4 +2 +1\.5 .*attributed: 2 of 2 GPUs of aws/us-east-1")
        self.assertRegex(shown, r"k8s/lab +g2/1 +on_demand +T4 +1 +0\.75 .*attributed: 1 of 2 GPUs of aws/us-east-1")

    def test_digits_as_on_ec2(self):
        """The example's script learns the same on pods as on a cloud's machines, and each bill is its ledger's."""
        if subprocess.run(["/usr/bin/python3", "-c", "import numpy, sklearn"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("python3-sklearn is not installed")
        cluster, run = self.on()
        run.on(cluster)
        shutil.copy(os.path.join(ROOT, "examples", "digits", "train.py"), os.path.join(self.folder, "work", "train.py"))
        run.write("prices.csv", "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                  "k8s/lab,g2,T4,2,16,8,30,on_demand,1.08\nmock/us-east-1,two.gpus,T4,2,16,8,32,on_demand,1.00\n")
        run.write("profile.yaml", profile("digits", 0.3))
        learned = {}
        for infra, machine in (("k8s/lab", "g2"), ("mock/us-east-1", "two.gpus")):
            before = {i["id"] for i in cluster.ledger()["instances"]}
            run.write("work/job.yaml", DIGITS % (infra, machine))
            run.make_plan("work/job.yaml")
            done = run.say("rbrun", "plan.json", "--json", "--state-dir", "state")
            report = json.loads(done.stdout.splitlines()[-1])
            self.assertEqual((report["outcome"], report["leak_check"]["instances_left"]), ("complete", 0))
            bill = sum(i["cost_uusd"] for i in cluster.ledger()["instances"] if i["id"] not in before)
            self.assertEqual(report["cost_uusd"]["actual"], bill)
            learned[infra] = sorted(re.findall(r"^epoch=.*$", self.logs(), re.M))
            shutil.rmtree(os.path.join(self.folder, "state"))
        self.assertEqual(len(learned["k8s/lab"]), 4 * 1 + 2 * 1)
        self.assertEqual(learned["k8s/lab"], learned["mock/us-east-1"])

    def test_every_search_runs_on_pods(self):
        cluster, run = self.on()
        with open(os.path.join(self.folder, "work", "job.yaml"), encoding="utf-8") as f:
            job = f.read()
        for search in ("type: sha, eta: 2, num_trials: 4, max_resource: 4", "type: asha, eta: 2, num_trials: 4, max_resource: 4",
                       "type: pbt, num_trials: 3, ready_every: 1, max_resource: 2"):
            before = {i["id"] for i in cluster.ledger()["instances"]}
            run.write("work/job.yaml", re.sub(r"scheduler: {.*}", "scheduler: {%s}" % search, job))
            run.make_plan("work/job.yaml")
            report = json.loads(run.say("rbrun", "plan.json", "--json", "--state-dir", "state").stdout.splitlines()[-1])
            self.assertEqual((report["outcome"], report["leak_check"]["instances_left"]), ("complete", 0), search)
            bill = sum(i["cost_uusd"] for i in cluster.ledger()["instances"] if i["id"] not in before)
            self.assertEqual(report["cost_uusd"]["actual"], bill, search)
            shutil.rmtree(os.path.join(self.folder, "state"))
        cluster.await_no_pods()

    def test_a_pool_of_jobs_runs_on_pods(self):
        """Its pods have the image of its jobs, which is one."""
        cluster, run = self.on()
        with open(os.path.join(self.folder, "work", "job.yaml"), encoding="utf-8") as f:
            job = re.sub(r"scheduler: {.*}", "scheduler: {type: sha, eta: 2, num_trials: 4, max_resource: 4}", f.read())
        run.write("work/first.yaml", job.replace("name: k8s\n", "name: first\nprofile: k8s\n"))
        run.write("work/pool.yaml", "format: rb-pool/1\nname: lab\ninterval: 1s\nrestart: 500ms\nresources: {infra: [k8s/lab], instance_types: "
                  "[g2], max_nodes: 2, kubernetes: {namespace: rb, cpus_per_gpu: 1}}\njobs: [first.yaml, second.yaml]\n")
        run.say("rbprofile", "import", "profile.yaml", "prices.csv")
        pool = ("rbrun", "--pool", "work/pool.yaml", "--json", "--state-dir", "state")
        second = job.replace("name: k8s\n", "name: second\nprofile: k8s\n")
        run.write("work/second.yaml", second.replace("registry.example/train", "registry.example/other"))
        refused = run.say(*pool, expect=2)
        self.assertIn("RB4441", refused.stdout + refused.stderr)
        self.assertIn("job second: image: expected registry.example/train@", refused.stdout + refused.stderr)
        run.write("work/second.yaml", second)
        report = json.loads(run.say(*pool).stdout.splitlines()[-1])
        self.assertEqual([j["outcome"] for j in report["jobs"]], ["complete", "complete"])
        cluster.await_no_pods()
        self.assertEqual(sum(i["cost_uusd"] for i in cluster.ledger()["instances"]), report["cost_uusd"])

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
        self.assertNotIn("is there", done.stdout, "no one has looked for the image")
        self.assertIn('"list nodes is not granted', done.stdout)
        for right, as_job in [(right, "") for right in NEEDED] + [(right, ", as: job") for right in NEEDED_BY_JOBS]:
            others = ", granted: [%s]" % ", ".join(r for r in NEEDED_BY_JOBS if r != right) if as_job else ""
            with tempfile.TemporaryDirectory(prefix="rb-k8s-") as folder, \
                    Cluster(BIN, folder, kubernetes=", denied: [%s]%s" % (right, others)) as poor:
                done = run_on(BIN, folder, poor, kubernetes=as_job).say("rbrun", "doctor", "plan.json", "--state-dir", "state", expect=5)
                self.assertIn("rights missing in namespace rb", done.stdout + done.stderr)
                self.assertIn(": %s;" % right, done.stdout + done.stderr)
                self.assertIn("docs/policies/k8s-role%s.yaml is the Role" % ("-jobs" if as_job else ""), done.stdout + done.stderr)
        with tempfile.TemporaryDirectory(prefix="rb-k8s-") as folder, \
                Cluster(BIN, folder, kubernetes=", denied: [%s]" % ", ".join(OPTIONAL)) as poor:
            run = run_on(BIN, folder, poor, trials=1)
            done = run.say("rbrun", "doctor", "plan.json", "--state-dir", "state")
            for right in OPTIONAL:
                self.assertIn("warn  rights       k8s/lab: %s is not granted" % right, done.stdout)
            run.say("rbrun", "plan.json", "--state-dir", "state")
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_the_doctor_tries_a_command_in_a_pod(self):
        """Only where it is asked to; then nothing of it stays, whatever happens."""
        for as_job, space in (("", ""), (", as: job", JOBS_ALONE)):
            with self.subTest(as_job=as_job), tempfile.TemporaryDirectory(prefix="rb-k8s-") as folder, Cluster(BIN, folder, kubernetes=space) as cluster:
                run = run_on(BIN, folder, cluster, kubernetes=as_job + ", grace: 1s")
                self.assertNotIn("ok    exec", run.say("rbrun", "doctor", "plan.json", "--state-dir", "state").stdout)
                self.assertEqual(cluster.ledger()["instances"], [])
                done = run.say("rbrun", "doctor", "plan.json", "--exec", "--state-dir", "state")
                self.assertRegex(done.stdout, r"ok    exec         k8s/lab: a command in rb\S+ takes [0-9.]+ m?s, at most \S+ m?s of 5; "
                                 r"the pod had its machine for .*, which is worth \$0\.\d+\n")
                cluster.await_no_pods()
                self.assertEqual(cluster.objects("leases"), [])
                self.assertEqual(len(cluster.ledger()["instances"]), 1)

    def test_the_doctor_ends_its_pod_where_no_command_runs(self):
        rule = "{where: {front: k8s, action: pods.exec}, what: {error: {code: InternalError, status: 500, message: no way in}}}"
        lost = "{where: {front: k8s, action: pods.create}, when: {call: 2}, times: 9, what: lost_response}"  # the first is the dry run
        cluster, run = self.on("--chaos", self.chaos("format: rb-chaos/1\nrules:\n  - %s\n  - %s\n" % (rule, lost)), kubernetes=", grace: 1s")
        done = run.say("rbrun", "doctor", "plan.json", "--exec", "--state-dir", "state", expect=1)
        self.assertRegex(done.stdout, "fail  exec         k8s/lab: .*(pods.create|no way in)")
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])
        self.assertIn("not tried: no plan", run.say("rbrun", "doctor", "--infra", "k8s/lab", "--exec", "--state-dir", "state", RB_KUBE_NAMESPACE="rb").stdout)

    def test_an_interrupted_doctor_leaves_nothing(self):
        cluster, run = self.on(capacity=0)
        process = subprocess.Popen([os.path.join(BIN, "rbrun"), "doctor", "plan.json", "--exec", "--state-dir", "state"], cwd=self.folder, env=run.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        until = time.monotonic() + 60
        while not cluster.objects("pods") and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.assertIn("fail  exec         k8s/lab: interrupted", process.communicate(timeout=60)[0])
        cluster.await_no_pods()
        self.assertEqual(cluster.objects("leases"), [])

    def test_gc_ends_what_a_dead_controller_left(self):
        cluster, run = self.on(trials=2, resource=60, epoch_s=1, kubernetes=", grace: 2s")
        self.kill_after_an_epoch(run)
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
