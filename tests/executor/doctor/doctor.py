"""What `rbrun doctor` says about clouds that refuse: too little quota, missing permissions, images that are not there, a
clock that is off, instances that no run looks after. Where it foretells a refusal, the cloud itself is asked for it too."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "cli")]
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, edit, own, profile  # noqa: E402

BIN = None

JOB = """name: doctor
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: random, num_trials: 4, max_resource: 3}
run: "true"
resources: {infra: [%(infra)s%(more)s], instance_types: ["%(type)s"], image_id: {%(infra)s: %(image)s}, max_nodes: 2}
deadline: 10m
confidence: 0.5
"""

PRICES = """mock/us-east-1,g4dn.xlarge,T4,1,16,4,16,on_demand,0.526,test,2026-07-20T00:00:00Z
mock/us-west-2,g4dn.xlarge,T4,1,16,4,16,on_demand,0.600,test,2026-07-20T00:00:00Z
gcp/us-central1,n1-standard-8+nvidia-tesla-t4:1,T4,1,16,8,30,on_demand,0.730,test,2026-07-20T00:00:00Z
"""

MORE = """parameters: {/aws/service/here: ami-00000000000000000}
quotas:
  - {name: Running On-Demand G and VT instances, code: L-DB2E81BA, infra: aws, instance_type: "g*", market: on_demand, unit: vcpus, max: %(g)d}
  - {name: NVIDIA_T4_GPUS, infra: gcp, instance_type: "*t4*", market: on_demand, unit: gpus, max: %(t4)d}
  - {name: GPUS_ALL_REGIONS, infra: gcp, unit: gpus, max: 16, all_regions: true}
denied: [%(denied)s]
"""

EC2 = {"infra": "mock/us-east-1", "type": "g4dn.xlarge", "image": "/aws/service/here", "more": ""}
GCP = {"infra": "gcp/us-central1", "type": "n1-standard-8+nvidia-tesla-t4:1",
       "image": "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64", "more": ""}


class Doctor(unittest.TestCase):
    def cloud(self, g=64, t4=8, denied="", chaos=None):
        """A cloud, and the environment to speak to it."""
        temporary = tempfile.TemporaryDirectory(prefix="rb-doctor-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.here = RealRun(BIN, self.folder)
        key = os.path.join(self.folder, "key.json")
        options = ["--gcp", "0", "--credentials-out", key]
        if chaos:
            options += ["--chaos", self.here.write("chaos.yaml", "format: rb-chaos/1\nrules:\n" + chaos)]
        cloud = MockCloud(BIN, self.folder, *options, more=MORE % {"g": g, "t4": t4, "denied": denied}, prices=PRICES,
                          infra="*")
        self.mock = cloud.__enter__()
        self.addCleanup(cloud.__exit__)
        self.here.on(cloud, key)
        self.here.write("profile.yaml", profile("doctor", 0.15))

    def plan(self, place):
        plan = self.here.make_plan(self.here.write("job.yaml", JOB % place))
        return edit(plan, lambda document: [own(stage, 2, 1) for stage in document["stages"]])

    def doctor(self, *args, expect=0):
        """Findings by check and subject; every fail and warn comes with what to do."""
        found = json.loads(self.here.say("rbrun", "doctor", *args, "--json", expect=expect).stdout)
        self.assertEqual(found["ok"], expect == 0)
        return {(c["check"], c["subject"]): c for c in found["checks"]}

    def only(self, findings, check):
        rows = [f for (c, _), f in findings.items() if c == check]
        self.assertEqual(len(rows), 1, rows)
        return rows[0]

    # --- quotas

    def test_quotas_that_are_enough(self):
        self.cloud()
        quota = self.only(self.doctor(self.plan(EC2)), "quota")
        self.assertEqual((quota["verdict"], quota["subject"]),
                         ("ok", "Running On-Demand G and VT instances (L-DB2E81BA) in mock/us-east-1"))
        self.assertEqual(quota["detail"], "8 vCPUs wanted, 64 allowed, the number in use is not known")

    def test_a_quota_that_is_too_small_is_foretold(self):
        self.cloud(g=6)
        plan = self.plan(EC2)
        quota = self.only(self.doctor(plan, expect=5), "quota")
        self.assertEqual(quota["verdict"], "fail")
        self.assertIn("8 vCPUs wanted, 6 allowed", quota["detail"])
        self.assertIn("ask the cloud for more", quota["remedy"])
        refused = self.here.say("rbrun", plan, "--state-dir", "state", expect=5)
        self.assertIn("VcpuLimitExceeded", refused.stderr)

    def test_quotas_of_compute_engine(self):
        self.cloud(t4=1)
        found = self.doctor(self.plan(GCP), expect=5)
        kind = found["quota", "NVIDIA_T4_GPUS of us-central1 in gcp/us-central1"]
        self.assertEqual((kind["verdict"], kind["detail"]), ("fail", "2 GPUs wanted, 1 allowed, 0 in use"))
        everywhere = found["quota", "GPUS_ALL_REGIONS of all regions in gcp/us-central1"]
        self.assertEqual((everywhere["verdict"], everywhere["detail"]), ("ok", "2 GPUs wanted, 16 allowed, 0 in use"))
        self.assertEqual(found["permission", "%(type)s in %(infra)s" % GCP]["verdict"], "ok")
        self.assertEqual(found["image", "gcp/us-central1"]["verdict"], "ok")

    def test_quotas_that_no_one_may_look_at_are_no_failure(self):
        self.cloud(chaos="  - {where: {action: ListServiceQuotas}, "
                         "what: {error: {status: 400, code: AccessDeniedException, message: not authorized}}}\n")
        quota = self.only(self.doctor(self.plan(EC2)), "quota")
        self.assertEqual(quota["verdict"], "warn")
        self.assertIn("AccessDeniedException", quota["detail"])
        self.assertIn("docs/policies", quota["remedy"])

    # --- permissions and images

    def test_what_may_not_be_ended_is_said_and_not_launched(self):
        self.cloud(denied="compute.instances.delete")
        plan = self.plan(GCP)
        permission = self.only(self.doctor(plan, expect=5), "permission")
        self.assertEqual(permission["verdict"], "fail")
        self.assertIn("compute.instances.delete", permission["detail"])
        self.assertIn("docs/policies/gcp-role.yaml", permission["detail"])
        self.here.say("rbrun", plan, "--state-dir", "state", expect=5)
        self.assertEqual(self.mock.ledger()["instances"], [])

    def test_an_image_by_parameter(self):
        self.cloud()
        image = self.only(self.doctor(self.plan(EC2)), "image")
        self.assertEqual((image["verdict"], image["detail"]), ("ok", "ami-00000000000000000 is there"))

    def test_what_only_stands_in_may_be_missing(self):
        self.cloud()
        plan = self.plan({"infra": "mock/us-east-1", "type": "g4dn.xlarge", "image": "/aws/service/here, mock/us-west-2: "
                          "/aws/service/nowhere", "more": ", mock/us-west-2"})
        found = self.doctor(plan)
        self.assertEqual(found["permission", "g4dn.xlarge in mock/us-east-1"]["verdict"], "ok")
        other = found["launch", "g4dn.xlarge in mock/us-west-2"]
        self.assertEqual(other["verdict"], "warn")
        self.assertIn("/aws/service/nowhere", other["detail"])

    def test_images_that_are_not_there(self):
        self.cloud()
        for place, words in ((dict(EC2, image="/aws/service/gone"), "ParameterNotFound"),
                             (dict(EC2, image="ami-0123456789abcdef0"), "InvalidAMIID"),
                             (dict(GCP, image="projects/rbmock/global/images/gone"), "was not found")):
            image = self.only(self.doctor(self.plan(place), expect=1), "image")
            self.assertEqual(image["verdict"], "fail")
            self.assertIn(words, image["detail"])
            self.assertIn("resources.image_id", image["remedy"])

    # --- before there is a plan

    def test_a_job_is_enough_for_most_of_it(self):
        self.cloud()
        found = self.doctor(self.here.write("job.yaml", JOB % EC2))
        self.assertEqual(found["permission", "g4dn.xlarge in mock/us-east-1"]["verdict"], "ok")
        self.assertEqual(found["image", "mock/us-east-1"]["verdict"], "ok")
        self.assertEqual(found["quota", None]["verdict"], "warn")
        self.assertIn("plan.json", found["quota", None]["remedy"])
        self.here.say("rbrun", "doctor", self.here.write("bad.yaml", JOB % EC2 + "quux: 1\n"), expect=2)

    # --- this machine

    def test_a_state_directory_that_others_can_read(self):
        self.cloud()
        state = os.path.join(self.folder, "state")
        os.mkdir(state, 0o755)
        row = self.only(self.doctor("--infra", "local", "--state-dir", state), "state")
        self.assertEqual(row["verdict"], "warn")
        self.assertIn("chmod 700", row["remedy"])
        os.chmod(state, 0o700)
        self.assertEqual(self.only(self.doctor("--infra", "local", "--state-dir", state), "state")["verdict"], "ok")

    def test_ssh_that_is_not_there(self):
        self.cloud()
        self.here.env["PATH"] = self.folder
        found = self.doctor("--infra", "mock/us-east-1", expect=1)
        self.assertEqual(found["ssh", "ssh"]["verdict"], "fail")
        self.assertIn("openssh-client", found["ssh", "ssh"]["remedy"])

    # --- clock and orphans

    def test_a_clock_that_is_off(self):
        for by, verdict, code in (("2m", "warn", 0), ("20m", "fail", 1)):
            self.cloud(chaos="  - {where: {front: ec2}, what: {clock_skew: {by: %s}}}\n" % by)
            clock = self.only(self.doctor("--infra", "mock/us-east-1", expect=code), "clock")
            self.assertEqual(clock["verdict"], verdict)
            self.assertRegex(clock["detail"], r"this machine is \d+ s behind")
            self.assertIn("set the clock", clock["remedy"])

    def test_instances_that_no_one_looks_after(self):
        self.cloud()
        place = ("doctor", "--infra", "mock/us-east-1", "--state-dir", "state")
        self.assertEqual(self.only(self.doctor(*place[1:]), "instances")["verdict"], "ok")
        run = subprocess.Popen([os.path.join(BIN, "rbrun"), self.plan(EC2), "--state-dir", "state"], env=self.here.env,
                               cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.time() + 30
            while len(self.mock.ledger()["instances"]) < 2 and time.time() < deadline:
                time.sleep(0.05)
            at_work = self.only(self.doctor(*place[1:]), "instances")
        finally:
            run.kill()
            run.wait()
        self.assertEqual(at_work["verdict"], "ok")
        self.assertRegex(at_work["detail"], r"^2 of .*, 2 of them of runs that this machine executes")
        left = self.only(self.doctor(*place[1:]), "instances")
        self.assertEqual(left["verdict"], "warn")
        self.assertRegex(left["detail"], r"^2 of .*, 0 of them of runs that this machine executes")
        self.assertIn("rbrun gc --dry-run --infra mock/us-east-1", left["remedy"])
        self.here.say("rbrun", "gc", "--infra", "mock/us-east-1", "--older-than", "0s", "--state-dir", "state")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    arguments, rest = parser.parse_known_args()
    BIN = os.path.abspath(arguments.bin)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
