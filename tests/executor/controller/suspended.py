"""An rbrun that is stopped (SIGSTOP, Ctrl-Z, `docker pause`) for longer than trial.timeout while its trials train on: no trial
is started again, and everything ends as if nothing had been. So it is when the cloud's API is what was stopped."""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
from cloud_case import CloudCase  # noqa: E402: its folder is known only here

TIMEOUT_S = 5   # of trials
STOPPED_S = 7


class Suspended(CloudCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(cls.folder, "work/job.yaml"), encoding="utf-8") as f:
            text = f.read()
        assert "timeout: 20s" in text
        cls.crash.write("work/job.yaml", text.replace("timeout: 20s", "timeout: %ds" % TIMEOUT_S))
        cls.plan = cls.crash.make_plan("work/job.yaml", "short.json")

    def results(self, report):
        return report["outcome"], report["best"]["trial"], report["best"]["metric"], [
            (t["trial"], t["state"], t["resource"], t["metric"], t["restarts"]) for t in report["trials"]]

    def start(self, name):
        self.state = os.path.join(self.folder, name)
        return subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), self.plan, "--json", "--state-dir", self.state],
                                env=dict(self.crash.env, EPOCH_S="0.5"), cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def read_until(self, run, event):
        """Events of its output up to the first of that kind."""
        for line in run.stdout:
            if json.loads(line).get("event") == event:
                return
        self.fail("no %s: %s" % (event, run.communicate()[1]))

    def end(self, run):
        out, said = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, said)
        report = json.loads(out.splitlines()[-1])
        self.crash.check_cloud(report)
        self.assertEqual(report["faults"], [], said)
        self.assertIn("0 orders differ", self.rbrun("replay").stdout)
        return self.results(report), said

    def test_stopped_controllers(self):
        """Alone, as `kill -STOP` does it, and with its children, as Ctrl-Z does; beside one that is left in peace."""
        stops = {"undisturbed": None, "alone": os.kill, "with-its-children": os.killpg}
        runs = {name: self.start(name) for name in stops}
        results = {}
        try:
            for name, stop in stops.items():
                if stop:
                    self.read_until(runs[name], "report")
                    stop(runs[name].pid, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            for name, stop in stops.items():
                if stop:
                    stop(runs[name].pid, signal.SIGCONT)
            for name, run in runs.items():
                self.state = os.path.join(self.folder, name)
                results[name], _ = self.end(run)
                self.assertEqual(results[name], results["undisturbed"], name)
        finally:
            for run in runs.values():
                if run.poll() is None:
                    os.killpg(run.pid, signal.SIGKILL)

    def test_stopped_cloud(self):
        run = self.start("cloud")
        try:
            self.read_until(run, "start")
            self.cloud.process.send_signal(signal.SIGSTOP)
            time.sleep(3)
            self.cloud.process.send_signal(signal.SIGCONT)
            self.end(run)
        finally:
            self.cloud.process.send_signal(signal.SIGCONT)
            run.poll() is None and run.kill()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    CloudCase.bin_dir = os.path.abspath(options.bin)
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
