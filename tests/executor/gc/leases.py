"""`rbrun gc` ends what no one uses, and only that. Another state directory (another container of the same host name) does not
make a live run's nodes left over: their leases say that somebody carries the run out. A run whose journal is damaged, cut or
gone is unknown, never "0 left over", and its nodes are found all the same. A suspended rbrun is named as what it is."""
import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
from cloud_case import CloudCase, kill9  # noqa: E402: its folder is known only here

LEASE_S = 6  # renewed every 2 s
END = ["--yes", "--older-than", "0s"]


class Leases(CloudCase):
    def alive(self):
        return [i["id"] for i in self.cloud.ledger()["instances"]
                if i["id"] not in self.older and i["state"] not in ("terminated", "shutting-down")]

    def tags(self, instance):
        return next(i["tags"] for i in self.cloud.ledger()["instances"] if i["id"] == instance)

    def wait_for(self, what, condition, seconds=60):
        deadline = time.time() + seconds
        while time.time() < deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError("no %s within %d s" % (what, seconds))

    def begin(self, epoch_s):
        """A run in this test's state directory; returns once a node of it trains."""
        self.crash.write("work/train.sh", kill9.TRAIN.replace("${EPOCH_S:-0.05}", epoch_s))
        log = open(os.path.join(self.folder, self.id() + ".log"), "w+", encoding="utf-8")
        run = subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), self.crash.plan, "--state-dir", self.state],
                               env=dict(self.crash.env, RB_TEST_LEASE_S=str(LEASE_S)),
                               cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log)
        run.log = log
        self.addCleanup(log.close)
        self.addCleanup(lambda: run.poll() is None and (run.kill(), run.wait()))
        self.wait_for("node that trains", lambda: "is ready" in self.said(run))
        return run

    @staticmethod
    def said(run):
        run.log.seek(0)
        return run.log.read()

    def kill(self, run):
        run.kill()
        run.wait()
        name, = (n for n in os.listdir(self.state) if n.startswith("crash-"))
        return os.path.join(self.state, name)

    def gc(self, *args, state=None, expect=0):
        return self.crash.run(["rbrun", "gc", *args, "--state-dir", state or self.state], expect=expect)

    def elsewhere(self, *args, expect=0):
        return self.gc("--infra", "mock/us-east-1", *args, state=self.state + "-other", expect=expect)

    def test_live_run_is_in_use_elsewhere(self):
        run = self.begin(epoch_s="0.6")
        mine = self.alive()
        first = {i: self.tags(i)["rb:expires-at"] for i in mine}
        done = self.elsewhere(*END)
        self.assertIn("0 instances left over, 0 ended; %d in use elsewhere" % len(mine), done.stdout)
        found = json.loads(self.elsewhere(*END, "--json").stdout)
        self.assertEqual((found["left_over"], found["ended"], found["certain"]), ([], 0, True))
        self.assertEqual({i["id"] for i in found["in_use_elsewhere"]}, set(mine))
        # Renewed: the lease of a live run never lapses.
        self.wait_for("renewal", lambda: any(self.tags(i)["rb:expires-at"] > first[i] for i in mine), 3 * LEASE_S)
        self.assertIn("in use elsewhere", self.elsewhere(*END).stdout)
        self.assertEqual(run.wait(120), 0, self.said(run))
        self.assertNotIn("cannot be renewed", self.said(run))
        report = json.loads(self.rbrun("report", "--json").stdout)
        self.assertEqual((report["outcome"], report["leak_check"]["instances_left"]), ("complete", 0))
        lost = [n for n in self.cloud.ledger()["instances"] if n["id"] in mine and n.get("cause") not in ("user", "api", None)]
        self.assertEqual(lost, [])

    def test_lease_of_a_killed_run_lapses(self):
        self.kill(self.begin(epoch_s="10"))
        mine = self.alive()
        self.assertIn("%d in use elsewhere" % len(mine), self.elsewhere(*END).stdout)
        # By name it may be ended at once, and only what is named.
        self.assertIn("RB4025", self.elsewhere(*END, "--end-in-use", "i-0123456789abcdef0", expect=1).stderr)
        self.assertEqual(self.alive(), mine)
        self.elsewhere(*END, "--end-in-use", mine[0])
        self.wait_for("end of the one named", lambda: mine[0] not in self.alive(), 10)
        rest = mine[1:]
        self.assertEqual(self.alive(), rest)
        self.wait_for("lapse", lambda: "in use elsewhere" not in self.elsewhere("--dry-run").stdout, 3 * LEASE_S)
        self.assertIn("%d ended" % len(rest), self.elsewhere(*END).stdout)
        self.wait_for("end of all", lambda: not self.alive(), 10)

    def zero(self, journal):
        with open(journal, "r+b") as f:
            f.write(bytes(os.path.getsize(journal)))

    def lose_log(self, journal):
        self.assertGreater(os.path.getsize(journal + "-wal"), 0)
        os.remove(journal + "-wal")
        os.remove(journal + "-shm")

    def cut(self, journal):
        os.truncate(journal, 0)
        os.remove(journal + "-wal")

    def lose(self, journal):
        for name in (journal, journal + "-wal", journal + "-shm"):
            os.remove(name)

    def check_damaged(self, run_dir, n):
        journal, name = os.path.join(run_dir, "journal.db"), os.path.basename(run_dir)
        found = json.loads(self.gc("--dry-run", "--older-than", "0s", "--json", expect=1).stdout)
        self.assertEqual((len(found["left_over"]), found["certain"]), (n, False))
        self.assertEqual([u["run"] for u in found["unknown"]], [name])
        self.assertIn(journal, found["unknown"][0]["error"])
        for command in ("status", "report", "replay", "resume", "stop", "list"):
            done = self.rbrun(command, *([name] if command != "list" else []), expect=0 if command == "list" else 2)
            self.assertIn("is damaged", done.stderr, command)
            self.assertIn("rbrun gc --older-than 0s", done.stderr, command)

    def test_nodes_of_damaged_journals(self):
        run_dir = self.kill(self.begin(epoch_s="10"))
        n, whole = len(self.alive()), os.path.join(self.folder, "whole")
        shutil.copytree(run_dir, whole)
        for damage in (self.zero, self.lose_log, self.cut, self.lose):
            with self.subTest(damage.__name__):
                shutil.rmtree(run_dir)
                shutil.copytree(whole, run_dir)
                damage(os.path.join(run_dir, "journal.db"))
                self.check_damaged(run_dir, n)
        self.gc(*END, expect=1)
        self.wait_for("end of all", lambda: not self.alive(), 10)
        done = self.gc(expect=1)
        self.assertNotIn(" 0 instances left over,", done.stdout)
        self.assertRegex(done.stderr, r"it is not certain that nothing is left over \[RB4024\]")
        self.assertIn("mv %s" % run_dir, done.stderr)
        os.rename(run_dir, run_dir + ".damaged")
        self.gc()

    def test_plan_damaged_as_well(self):
        run_dir = self.kill(self.begin(epoch_s="10"))
        for name in ("journal.db", "plan.json"):
            os.truncate(os.path.join(run_dir, name), 0)
        self.gc(*END, expect=1)  # the launch log still says where
        self.wait_for("end of all", lambda: not self.alive(), 10)
        os.remove(os.path.join(run_dir, "launches"))
        self.assertIn("add --infra", self.gc(*END, expect=1).stderr)

    def test_killed_run_of_this_state_directory_needs_no_lapse(self):
        run_dir, n = self.kill(self.begin(epoch_s="10")), len(self.alive())
        # Others may write its log back: that is no damage.
        sqlite3.connect(os.path.join(run_dir, "journal.db")).execute("SELECT * FROM launch").connection.close()
        self.rbrun("status")
        self.assertIn("%d instance%s left over, %d ended" % (n, "" if n == 1 else "s", n), self.gc(*END).stdout)
        self.wait_for("end of all", lambda: not self.alive(), 10)

    def test_stop_says_that_the_process_is_stopped(self):
        run = self.begin(epoch_s="10")
        run.send_signal(signal.SIGSTOP)
        stop = subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), "stop", "crash", "--state-dir", self.state],
                                env=self.crash.env, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while "kill -CONT" not in said:
            line = stop.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertIn("process %d is stopped" % run.pid, said)
        run.send_signal(signal.SIGCONT)
        self.assertEqual(stop.wait(60), 0)
        stop.communicate()
        self.assertEqual(run.wait(60), 130)
        self.assertEqual(self.alive(), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    CloudCase.bin_dir = os.path.abspath(options.bin)
    unittest.main(argv=[sys.argv[0], *rest])
