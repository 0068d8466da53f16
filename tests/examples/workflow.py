#!/usr/bin/env python3
"""The last step of examples/ci/workflow.yml as a runner carries it out: two checkouts beside each other, nothing of ours in PATH. A job that
fits passes; one that cannot be in time fails with 3; a cloud that spares the run its faults is noticed."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from mock_cloud import free_port  # noqa: E402

BIN = None
WORKFLOW = (ROOT / "examples" / "ci" / "workflow.yml").read_text(encoding="utf-8")


def found(pattern):
    matches = re.findall(pattern, WORKFLOW, re.MULTILINE)
    assert len(matches) == 1, "workflow.yml: expected one %s, found %d" % (pattern, len(matches))
    return matches[0]


class Workflow(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="rb-ci-")
        self.workspace = pathlib.Path(self.temporary.name)
        checkout = self.workspace / found(r"^ +path: (\S+)$")
        shutil.copytree(ROOT / "examples" / "ci", checkout / "examples" / "ci")
        (checkout / "tools").symlink_to(ROOT / "tools")
        (checkout / "build").symlink_to(BIN)
        self.chaos = checkout / "examples" / "ci" / "chaos.yaml"
        self.job_name = found(r"^ +JOB: (\S+)")
        job = self.workspace / self.job_name
        shutil.copytree(ROOT / "examples" / "practice", job)
        port = str(free_port())
        for path in job.glob("*.yaml"):
            path.write_text(path.read_text(encoding="utf-8").replace("2222", port), encoding="utf-8")

    def tearDown(self):
        self.temporary.cleanup()

    def last_step(self, change=("", "")):
        command = found(r"^ +run: (\S*dry-run\.sh .*)$").replace(*change)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "RB_"))}
        env.update(JOB=self.job_name, PATH="/usr/local/bin:/usr/bin:/bin:/usr/sbin", HOME=self.temporary.name)
        return subprocess.run(["bash", "-e", "-c", command], cwd=self.workspace, env=env, capture_output=True, text=True, timeout=120,
                              check=False)

    def test_a_job_that_fits(self):
        done = self.last_step()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("0 instances left", done.stdout)
        self.assertTrue(done.stdout.endswith("answers lost 1, machines taken back 1\n"), done.stdout)
        self.assertIn("Server.SpotInstanceTermination", done.stdout)

    def test_a_job_that_cannot_be_in_time(self):
        done = self.last_step((" 5m ", " 5s "))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertNotIn("virtual time", done.stdout)  # nothing was run

    def test_faults_that_do_not_happen(self):
        self.chaos.write_text(self.chaos.read_text(encoding="utf-8").replace("after: 4s", "after: 1h"), encoding="utf-8")
        done = self.last_step()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertTrue(done.stdout.endswith("answers lost 1, machines taken back 0\n"), done.stdout)

    def test_what_the_other_steps_name_is_there(self):
        words = (ROOT / "tools" / "packages.sh").read_text(encoding="utf-8")
        for name in re.findall(r"\$(\w+_PACKAGES)", WORKFLOW):
            self.assertIn(name + "=", words)
        self.assertIn("install_packages()", words)
        for option in re.findall(r"-D(\w+)=", WORKFLOW):
            self.assertIn("'%s'" % option, (ROOT / "meson_options.txt").read_text(encoding="utf-8"))


def main():
    global BIN
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    BIN = os.path.abspath(args.bin)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


main()
