"""The notice `credentials_ending`: said in time and once, where the run outlives credentials that only a person renews.
Usage: credentials.py --bin BUILD_DIR"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "crash"), os.path.join(HERE, "..", "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, profile  # noqa: E402

BIN = None
MINUTES = 60
JOB = kill9.JOB.replace("deadline: 10m", "deadline: 2h") + "envs: {EPOCH_S: '600'}\nnotify: [{command: cat >>notices}]\n"


class Credentials(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-credentials-")
        self.addCleanup(temporary.cleanup)
        self.home = temporary.name
        self.cloud = MockCloud(BIN, self.home).__enter__()
        self.addCleanup(self.cloud.__exit__)
        self.here = RealRun(BIN, self.home, LC_ALL="C.UTF-8")
        self.here.on(self.cloud)
        for name, text in (("job.yaml", JOB), ("train.sh", kill9.TRAIN), ("profile.yaml", profile("crash", 60, startup_s=0, checkpoint_s=0))):
            self.here.write("work/" + name, text)
        self.here.make_plan("work/job.yaml", profile_file="work/profile.yaml")

    def notices(self):
        path = os.path.join(self.home, "work/notices")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def ending(self):
        return [n for n in self.notices() if n["type"] == "credentials_ending"]

    def run_until(self, ends_in_s, condition):
        """A run with credentials that end then, stopped once the condition holds; what it said."""
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + ends_in_s))
        run = subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--yes"], cwd=self.home, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, env=dict(self.here.env, AWS_CREDENTIAL_EXPIRATION=ends))
        until = time.monotonic() + 60
        while not condition() and run.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(3)  # it looks every second
        run.send_signal(signal.SIGINT)
        return ends, run.communicate(timeout=60)[1]

    def started(self):
        return any(n["type"] == "started" for n in self.notices()) and self.cloud.ledger()["instances"]

    def test_it_is_said_once(self):
        ends, said = self.run_until(4 * MINUTES, self.ending)  # about as long as the planned run
        notice, = self.ending()
        self.assertIn("will outlive its credentials: the credentials for mock/us-east-1 end at " + ends, notice["text"])
        self.assertEqual(said.count("nothing here renews them"), 1, said)

    def test_it_is_not_said_of_a_run_that_ends_before(self):
        _, said = self.run_until(50 * MINUTES, self.started)
        self.assertEqual(self.ending(), [], said)
        self.assertNotIn("nothing here renews them", said)

    def test_it_is_not_said_long_before(self):
        _, said = self.run_until(70 * MINUTES, self.started)
        self.assertEqual(self.ending(), [], said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = os.path.abspath(options.bin)
    unittest.main(argv=[sys.argv[0], *rest])
