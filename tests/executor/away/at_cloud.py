#!/usr/bin/env python3
"""rbrun --at mock/us-east-1 and --at gcp/us-central1: runs whose controller has a machine that was made for it, on mock clouds
whose machines are sshd on loopback. Usage: at_cloud.py --bin BUILD_DIR [TEST]..."""
import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "crash"), os.path.join(here, "..", "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun  # noqa: E402

PLACE = "mock/us-east-1"
PRICE = PLACE + ",t3.small,CPU,1,0,2,2,on_demand,0.0208,test,2026-07-20T00:00:00Z\n"
ON_GCP = "gcp/us-central1"
GCP_TYPE = "n1-standard-8+nvidia-tesla-t4:2"
GCP_PRICES = """%(infra)s,e2-small,CPU,1,0,2,2,on_demand,0.0168,test,2026-07-20T00:00:00Z
%(infra)s,%(type)s,T4,2,16,8,30,on_demand,1.08,test,2026-07-20T00:00:00Z
""" % {"infra": ON_GCP, "type": GCP_TYPE}
GCP_RESOURCES = ("infra: [%s], instance_types: [\"%s\"], controller: {instance_profile: rb@test.iam.gserviceaccount.com}, max_nodes: 2, image_id: {%s: "
                 "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64}" % (ON_GCP, GCP_TYPE, ON_GCP))
PROFILE = "instance_types: [two.gpus], instance_profile: rb-controller, max_nodes: 2"
JOB = kill9.JOB.replace("instance_types: [two.gpus], max_nodes: 2", PROFILE)
# Stands for what an instance profile gives a machine: its own credentials. Calls of hosts alone get them; connections to nodes
# pass. May kill the command that called it, before the n-th call of a host.
SSH = """#!/bin/bash
case "$*" in *" rb '"*) ;; *) exec /usr/bin/ssh "$@" ;; esac
case "$*" in *" rb 'look' 'any'"*) ;; *) [ -z "$RB_TEST_KILL" ] || { kill -9 $PPID; exit 1; } ;; esac
exec /usr/bin/ssh "${@:1:$#-1}" %s"${@: -1}"
"""


class MachineCase(unittest.TestCase):
    """A run is to begin at .place, on a machine of .machine_type."""
    bin_dir = None
    place, machine_type, job, prices = PLACE, "t3.small", JOB, PRICE
    more_there = {}

    def begin_cloud(self):
        """The cloud, and what its customer here has; returns what the machine has."""
        self.cloud = MockCloud(self.bin_dir, self.home, "--state", os.path.join(self.home, "cloud"), prices=self.prices).__enter__()
        self.here.on(self.cloud)
        return self.cloud.customer

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-at-cloud-")
        self.addCleanup(temporary.cleanup)
        self.home = temporary.name
        self.here = RealRun(self.bin_dir, self.home, LC_ALL="C.UTF-8")
        there = self.begin_cloud()
        self.addCleanup(self.cloud.__exit__)
        self.say, self.write = self.here.say, self.here.write
        self.here.env["RB_DB"] = os.path.join(self.home, "own.db")
        there = dict(there, **self.more_there, RB_SSH_PORT=str(self.cloud.ssh_port), RB_SSH_USER=self.here.env["RB_SSH_USER"])
        exports = "export %s; " % " ".join("%s=%s" % item for item in there.items())
        self.write("tools/ssh", SSH % shlex.quote(exports))
        os.chmod(os.path.join(self.home, "tools/ssh"), 0o700)
        self.here.env["PATH"] = ":".join((os.path.join(self.home, "tools"), os.path.abspath(self.bin_dir), "/usr/bin:/bin"))
        for name, text in (("job.yaml", self.job), ("train.sh", kill9.TRAIN), ("profile.yaml", kill9.PROFILE)):
            self.write("work/" + name, text)
        self.say("rbprofile", "prices", "update", "--from", "prices.csv")
        self.here.make_plan("work/job.yaml", profile_file="work/profile.yaml")

    def machines(self, alive=True):
        return [i for i in self.cloud.ledger()["instances"]
                if i["instance_type"] == self.machine_type and (not alive or i["state"] in ("pending", "running"))]

    def alive(self):
        return [i["id"] for i in self.cloud.ledger()["instances"] if i["state"] in ("pending", "running")]

    def start(self, *options, expect=0, **env):
        return self.say("rbrun", "plan.json", "--at", self.place, "--yes", "--json", *options, expect=expect, **env)

    def switch_s(self, machine):
        """Seconds until a machine's dead man's switch ends it."""
        with open(os.path.join(self.home, "cloud/nodes", machine["id"], "run/rb-switch/ends-at"), encoding="utf-8") as f, \
                open("/proc/uptime", encoding="utf-8") as up:
            return int(f.read()) - float(up.read().split()[0])

    def bill(self):
        return sum(i["cost_uusd"] for i in self.cloud.ledger()["instances"])

    def begins_there_and_comes_home(self):
        said = json.loads(self.start().stdout)
        run = said["run"]
        self.assertEqual(said["place"], self.place)
        machine, = self.machines()
        self.assertLessEqual(self.switch_s(machine), 1800)  # from the boot it was an hour
        done = self.say("rbrun", "attach", run)
        self.assertGreater(self.switch_s(machine), 3000)
        self.assertIn("its controller had a machine of its own, " + self.machine_type, done.stdout)
        self.assertEqual(self.alive(), [machine["id"]])  # it ends last
        there = json.loads(self.say("rbrun", "report", "--json", run).stdout)
        self.assertEqual(there["controller"]["id"].split(".")[0], machine["name"] or machine["id"])
        self.assertIsNone(there["controller"]["ended_at_us"])
        self.assertIsNotNone(there["controller"]["ends_at_us"])
        self.assertEqual(there["leak_check"]["instances_left"], 0)
        self.say("rbrun", "move", run, "--to", "here")
        self.assertEqual(self.alive(), [])
        report = json.loads(self.say("rbrun", "report", "--json", run).stdout)
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(report["cost_uusd"]["actual"] + report["controller"]["cost_uusd"], self.bill())
        self.say("rbrun", "fetch", run, "--best", "model")
        self.say("rbrun", "move", run, "--to", "here")  # again: nothing to do


class AtCloud(MachineCase):
    def test_it_begins_there_and_comes_home(self):
        self.begins_there_and_comes_home()

    def test_its_nodes_have_the_budget_that_was_planned(self):
        self.say("rbplan", "work/job.yaml", "--planner", "static", "--profile-file", "work/profile.yaml", "--prices", "prices.csv",
                 "--budget", "5", "--at", PLACE, "-o", "plan.json")
        with open(os.path.join(self.home, "plan.json"), encoding="utf-8") as f:
            plan = json.load(f)
        self.assertEqual(plan["budget_uusd"] + plan["controller"]["set_aside_uusd"], 5000000)
        run = json.loads(self.start(RB_DB=os.path.join(self.home, "none.db")).stdout)["run"]  # by the plan's price
        self.say("rbrun", "stop", run)
        self.say("rbrun", "move", run, "--to", "here")
        row, = json.loads(self.say("rbrun", "list", "--json").stdout)["runs"]
        self.assertEqual(row["budget_uusd"], plan["budget_uusd"])
        self.assertEqual(self.alive(), [])

    # --- killed

    def elsewhere(self):
        return os.listdir(os.path.join(self.home, ".local/state/rubberband/runs/elsewhere"))

    def goes_on(self, machine):
        run, = self.elsewhere()
        said = json.loads(self.start().stdout)
        self.assertEqual(said["run"], run)
        self.assertEqual([m["id"] for m in self.machines(alive=False)], [machine["id"]])
        self.assertFalse(os.path.exists(os.path.join(self.home, ".local/state/rubberband/runs/elsewhere", run, "user-data")))
        self.say("rbrun", "stop", run)
        self.say("rbrun", "move", run, "--to", "here")
        self.assertEqual(self.alive(), [])

    def test_killed_once_it_is_reached_it_goes_on_with_the_same_machine(self):
        killed = subprocess.run(["rbrun", "plan.json", "--at", PLACE, "--yes"], cwd=self.home, capture_output=True, check=False,
                                env=dict(self.here.env, RB_TEST_KILL="1"), timeout=60)
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.goes_on(*self.machines())

    def test_killed_before_the_answer_it_goes_on_with_the_same_machine(self):
        with subprocess.Popen(["rbrun", "plan.json", "--at", PLACE, "--yes"], cwd=self.home, env=self.here.env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
            while not self.machines():
                time.sleep(0.002)
            command.kill()
        self.goes_on(*self.machines())

    def test_a_machine_that_ended_before_the_run_is_replaced(self):
        subprocess.run(["rbrun", "plan.json", "--at", PLACE, "--yes"], cwd=self.home, capture_output=True, check=False,
                       env=dict(self.here.env, RB_TEST_KILL="1"), timeout=60)
        machine, = self.machines()
        subprocess.run([os.path.join(self.home, "cloud/nodes", machine["id"], "bin/poweroff")], check=True, timeout=10)
        while self.alive():
            time.sleep(0.05)
        self.refuse("RB4472", 1)
        run = json.loads(self.start().stdout)["run"]
        self.assertEqual(len(self.machines(alive=False)), 2)
        self.say("rbrun", "stop", run)
        self.say("rbrun", "move", run, "--to", "here")
        self.assertEqual(self.alive(), [])

    def test_a_killed_controller_is_resumed_there(self):
        said = json.loads(self.start(EPOCH_S="0.5").stdout)
        run = said["run"]
        os.kill(said["process"], signal.SIGKILL)
        self.say("rbrun", "resume", run)
        self.say("rbrun", "attach", run)
        self.say("rbrun", "move", run, "--to", "here")
        report = json.loads(self.say("rbrun", "report", "--json", run).stdout)
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(report["cost_uusd"]["actual"] + report["controller"]["cost_uusd"], self.bill())
        self.assertEqual(self.alive(), [])

    def test_under_way_it_comes_home_and_the_machine_ends(self):
        run = json.loads(self.start().stdout)["run"]
        self.say("rbrun", "move", run, "--to", "here")
        self.assertEqual(self.machines(), [])
        self.say("rbrun", "attach", run)
        report = json.loads(self.say("rbrun", "report", "--json", run).stdout)
        self.assertIsNotNone(report["controller"]["ended_at_us"])
        self.assertEqual(report["cost_uusd"]["actual"] + report["controller"]["cost_uusd"], self.bill())
        self.assertEqual(self.alive(), [])

    # --- refusals

    def test_refusals_come_before_anything_is_made(self):
        for place, says in (("mock/eu-west-1", "the plan rents nothing there"), ("gcp/us-central1", "RB4053"), ("k8s/lab", "RB4053")):
            with self.subTest(place=place):
                self.assertIn(says, self.say("rbrun", "plan.json", "--at", place, "--yes", expect=2).stderr)
        self.refuse("leaves nothing for nodes", 3, "--max-cost", "0.01")
        self.refuse("RB4471", 7, RB_DB=os.path.join(self.home, "none.db"))
        self.write("work/job.yaml", JOB.replace("max_nodes", "controller: {instance_type: t3.medium}, max_nodes"))
        self.here.make_plan("work/job.yaml", profile_file="work/profile.yaml")
        self.refuse("would be a t3.medium in mock/us-east-1, whose price is unknown", 7)
        self.write("work/job.yaml", kill9.JOB)
        self.here.make_plan("work/job.yaml", profile_file="work/profile.yaml")
        self.refuse("RB4470", 2)
        self.assertIn("RB4474", self.say("rbrun", "status", "digits-1@" + PLACE, expect=1).stderr)
        self.assertEqual(self.cloud.ledger()["instances"], [])

    def test_the_question_names_the_machine(self):
        with open(self.cloud.prices, encoding="utf-8") as f:
            self.write("aws.csv", f.read().replace("mock/", "aws/"))
        self.write("work/job.yaml", JOB.replace("mock/", "aws/"))
        self.say("rbprofile", "prices", "update", "--from", "aws.csv")
        self.here.make_plan("work/job.yaml", profile_file="work/profile.yaml", prices="aws.csv")
        done = self.say("rbrun", "plan.json", "--at", "aws/us-east-1", expect=2, AWS_ENDPOINT_URL="")
        self.assertIn("and for its controller a t3.small for up to $0.02", done.stderr)  # 10 minutes and the hour after them

    def refuse(self, says, code, *options, **env):
        done = self.say("rbrun", "plan.json", "--at", PLACE, "--yes", *options, expect=code, **env)
        self.assertIn(says, done.stderr)

    def test_a_refusal_there_ends_the_machine(self):
        with open(os.path.join(self.home, "tools/ssh"), encoding="utf-8") as f:
            text = f.read()
        self.write("tools/ssh", text.replace("AWS_ACCESS_KEY_ID", "NO_KEY"))
        os.chmod(os.path.join(self.home, "tools/ssh"), 0o700)
        self.refuse("credentials of its own", 5)
        self.assertEqual(len(self.machines(alive=False)), 1)
        self.assertEqual(self.alive(), [])

class Forgotten(MachineCase):
    """Machines from which no run is fetched. Leases are short there, and a watchdog sees nothing but these."""
    job = JOB.replace("max_nodes", "controller: {keep: 2h}, max_nodes")
    more_there = {"RB_TEST_LEASE_S": "3"}

    def gc(self, *options):
        return json.loads(self.say("rbrun", "gc", "--json", "--infra", PLACE, "--older-than", "0s", *options).stdout)

    def watch(self, *options):
        owner = self.machines()[0]["tags"]["rb:owner"]
        return self.gc("--expired", "--owner", owner, "--state-dir", os.path.join(self.home, "another"), *options)

    def test_it_is_kept_for_as_long_as_the_job_says_and_no_longer_than_its_lease(self):
        run = json.loads(self.start().stdout)["run"]
        self.say("rbrun", "attach", run)
        machine, = self.machines()
        self.assertGreater(self.switch_s(machine), 2 * 3600 - 60)
        row, = json.loads(self.say("rbrun", "list", "--json").stdout)["runs"]
        self.assertEqual((row["run"], row["outcome"], row["controller"]), (run, "elsewhere", PLACE))
        time.sleep(5)  # longer than a lease
        for found in (self.watch(), self.gc()):
            self.assertEqual((found["left_over"], [i["id"] for i in found["in_use_elsewhere"]]), ([], [machine["id"]]))
        helper = subprocess.run(["pgrep", "-f", "keep-machine.*" + run], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(len(helper), 1)
        os.kill(int(helper[0]), signal.SIGKILL)
        until = time.monotonic() + 20
        while self.alive() and time.monotonic() < until:
            self.watch("--yes")
        self.assertEqual(self.alive(), [])

    def test_a_controller_that_died_leaves_nothing(self):
        said = json.loads(self.start().stdout)
        while len(self.alive()) == 1:
            time.sleep(0.05)
        os.kill(said["process"], signal.SIGKILL)
        until = time.monotonic() + 20
        while self.alive() and time.monotonic() < until:
            self.gc("--yes")
        self.assertEqual(self.alive(), [])
        self.assertIn("has ended", self.say("rbrun", "status", said["run"], expect=1).stderr)


class AtComputeEngine(MachineCase):
    """The machine has no key: its service account opens the cloud, and its metadata service knows the project."""
    place, machine_type, prices = ON_GCP, "e2-small", GCP_PRICES
    job = kill9.JOB.replace("infra: [mock/us-east-1], instance_types: [two.gpus], max_nodes: 2", GCP_RESOURCES)

    def begin_cloud(self):
        key = os.path.join(self.home, "key.json")
        self.cloud = MockCloud(self.bin_dir, self.home, "--state", os.path.join(self.home, "cloud"), "--gcp", "0", "--credentials-out", key,
                               prices=self.prices, infra="*").__enter__()
        self.here.on(self.cloud, key)
        return {"RB_GCP_COMPUTE_ENDPOINT": self.cloud.gcp_url, "GCE_METADATA_HOST": "$(expr \"$AWS_EC2_METADATA_SERVICE_ENDPOINT\" : 'http://\\(.*\\)/$')"}

    def test_it_begins_there_and_comes_home(self):
        self.begins_there_and_comes_home()

    def asks(self, url, what):
        """What a metadata service answers."""
        request = urllib.request.Request(url + "computeMetadata/v1/instance/" + what, headers={"Metadata-Flavor": "Google"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    def test_only_the_machine_has_rights(self):
        self.write("work/job.yaml", self.job.replace("run: ", "envs: {EPOCH_S: '2'}\nrun: "))
        self.here.make_plan("work/job.yaml", profile_file="work/profile.yaml")
        run = json.loads(self.start().stdout)["run"]
        machine, = self.machines()
        token = "service-accounts/default/token"
        self.assertEqual(self.asks("%s/_rbmock/metadata/%s/" % (self.cloud.url, machine["id"]), token), 404, "its address is no secret")
        while len(self.alive()) == 1:
            time.sleep(0.1)
        for i in self.alive():
            session = os.path.join(self.home, "cloud/nodes", i, "session")
            while not os.path.exists(session):
                time.sleep(0.1)
            with open(session, encoding="utf-8") as f:
                url = re.search("AWS_EC2_METADATA_SERVICE_ENDPOINT='?(http[^'\\n]*)", f.read()).group(1)
            self.assertEqual(self.asks(url, token), 200 if i == machine["id"] else 404)
            self.assertEqual(self.asks(url, "preempted"), 200)
        self.say("rbrun", "stop", run)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    MachineCase.bin_dir = options.bin
    unittest.main(argv=[sys.argv[0], *rest])
