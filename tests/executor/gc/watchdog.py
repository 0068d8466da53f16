"""`rbrun gc --expired`: with the run's directory out of reach, a watchdog ends what a killed controller left, once the lease has
lapsed, and nothing before. A cloud that is away is reported once."""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
from cloud_case import CloudCase  # noqa: E402: its folder is known only here
from leases import Leases  # noqa: E402

PLACE = ["--expired", "--infra", "mock/us-east-1"]


class Watchdog(CloudCase):
    alive, begin, tags, wait_for = Leases.alive, Leases.begin, Leases.tags, Leases.wait_for
    said = staticmethod(Leases.said)

    def setUp(self):
        super().setUp()
        home = tempfile.TemporaryDirectory(prefix="rb-watchdog-")
        self.addCleanup(home.cleanup)
        self.home = home.name

    def env(self, **more):
        """Of another machine: the cloud's key and nothing else of ours."""
        return {"PATH": os.environ["PATH"], "HOME": self.home, **self.cloud.customer, **more}

    def gc(self, *args, expect=0):
        done = subprocess.run([os.path.join(self.bin_dir, "rbrun"), "gc", *args], env=self.env(), cwd=self.home,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def stay(self, *args, **env):
        log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.addCleanup(log.close)
        process = subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), "gc", *args, "--every", "1s", "--yes"],
                                   env=self.env(**env), cwd=self.home, stdout=log, stderr=log)
        process.log = log
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        return process

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0, self.said(process))
        return self.said(process)

    def test_it_ends_alone_what_a_killed_controller_left(self):
        run = self.begin(epoch_s="10")
        mine = self.alive()
        place = [*PLACE, "--owner", self.tags(mine[0])["rb:owner"]]
        watch = self.stay(*place, "--owner", "ann@laptop", "--older-than", "1s")
        found = json.loads(self.gc(*place, "--older-than", "0s", "--json").stdout)
        self.assertEqual((found["left_over"], {i["id"] for i in found["in_use_elsewhere"]}), ([], set(mine)))
        time.sleep(2.5)
        self.assertEqual(self.alive(), mine)  # its lease is renewed
        run.kill()
        run.wait()
        self.wait_for("end of what was left", lambda: not self.alive(), 20)
        said = self.end(watch)
        self.assertEqual(sorted(re.findall(r"(i-\w+) in mock/us-east-1, of run crash-\S+: its lease had lapsed: ended", said)),
                         sorted(mine), said)
        self.assertFalse(os.path.exists(os.path.join(self.home, ".local")), "it keeps nothing")

    def test_a_lapse_of_less_than_ten_minutes_is_spared(self):
        run = self.begin(epoch_s="10")
        mine = self.alive()
        place = [*PLACE, "--owner", self.tags(mine[0])["rb:owner"]]
        run.kill()
        run.wait()
        self.wait_for("lapse", lambda: "just lapsed" in self.gc(*place).stdout, 20)
        self.assertEqual(self.alive(), mine)
        self.assertIn("0 instances left over", self.gc(*PLACE, "--owner", "ann@laptop", "--older-than", "0s").stdout)
        self.assertIn("%d ended" % len(mine), self.gc(*place, "--older-than", "0s", "--yes").stdout)
        self.wait_for("end of all", lambda: not self.alive(), 10)

    def test_a_cloud_that_is_away_is_reported_once(self):
        asked = []
        with socket.create_server(("127.0.0.1", 0)) as away:
            def hang_up():
                while True:
                    try:
                        connection, _ = away.accept()
                    except OSError:
                        return
                    asked.append(time.monotonic())
                    connection.close()
            threading.Thread(target=hang_up, daemon=True).start()
            url = "http://127.0.0.1:%d" % away.getsockname()[1]
            watch = self.stay(*PLACE, "--owner", "ann@laptop", AWS_ENDPOINT_URL=url)
            rounds = lambda: sum(b - a > 0.9 for a, b in zip(asked, asked[1:]))  # noqa: E731
            self.wait_for("three rounds", lambda: rounds() >= 2, 40)
            said = self.end(watch)
            away.shutdown(socket.SHUT_RDWR)
        self.assertEqual(said.count("mock/us-east-1: "), 1, said)
        self.assertLess(len(asked), 40)

    def test_systemd_takes_the_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd")
        units = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "packaging", "systemd")
        names = [os.path.join(self.home, name) for name in sorted(os.listdir(units))]
        for name in names:
            with open(os.path.join(units, os.path.basename(name)), encoding="utf-8") as f:
                unit = f.read().replace("/usr/bin/rbrun", os.path.join(self.bin_dir, "rbrun"))
            with open(name, "w", encoding="utf-8") as f:
                f.write(unit.replace("Documentation=man:rbrun(1)\n", ""))
        done = subprocess.run(["systemd-analyze", "verify", *names], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr, len(names)), (0, "", 2))

    def test_what_is_missing_on_the_command_line(self):
        for words, says in ((["--expired", "--owner", "a@b"], "--infra"), (PLACE, "--owner USER@HOST"),
                            ([*PLACE, "--owner", "a@b", "--every", "1m"], "add --yes"),
                            (["--every", "1m"], "--expired"),
                            ([*PLACE, "--owner", "a@b", "--yes", "--every", "1ms"], "at least 1s"),
                            ([*PLACE, "--owner", "a@b", "--end-in-use", "i-1"], "--end-in-use")):
            self.assertIn(says, self.gc(*words, expect=2).stderr)
        self.gc(*PLACE, "--owner", "a@b")
        self.assertIn("0 ended", self.gc(*PLACE, "--owner", "a@b", "--all-regions").stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    CloudCase.bin_dir = os.path.abspath(options.bin)
    del Leases  # not its tests
    unittest.main(argv=[sys.argv[0], *rest])
