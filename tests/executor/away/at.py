#!/usr/bin/env python3
"""rbrun --at ssh:HOST: runs whose controller lives on another host, which here is a real sshd on loopback with a home of its own.
Usage: at.py --bin BUILD_DIR [TEST]..."""
import argparse
import json
import os
import signal
import stat
import subprocess
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "cli"))
import terminal  # noqa: E402
from away_job import IN_WORKDIR as JOB, SECRET, SLOW  # noqa: E402
from host_case import HostCase, free_port  # noqa: E402


class At(HostCase):
    def plan(self, more=""):
        self.write("job/job.yaml", JOB + more)
        self.say("rbplan", "-o", "plan.json", "job/job.yaml")

    def start(self, more="", *options, **env):
        self.plan(more)
        return json.loads(self.say("rbrun", "plan.json", "--at", self.place, "--json", *options, **env).stdout)

    # --- the run

    def test_it_is_carried_out_there(self):
        said = self.start()
        run = said["run"]
        self.assertEqual(said["place"], self.place)
        self.assertEqual(self.new_runs(), [run])
        self.assertEqual(os.stat("/proc/%d/cwd" % said["process"]).st_uid, os.getuid())
        done = self.say("rbrun", "attach", run + "@" + self.place)
        self.assertIn("best configuration", done.stdout)
        self.assertEqual(json.loads(self.say("rbrun", "report", "--json", run).stdout)["outcome"], "complete")  # found by its record
        self.assertIn("best configuration", self.say("rbrun", "report", run + "@" + self.place).stdout)
        self.say("rbrun", "fetch", run + "@" + self.place, "--best", "model")
        with open(os.path.join(self.home, "model", "where"), encoding="utf-8") as f:
            self.assertTrue(f.read().startswith(self.there()))
        row = self.listed()[run]
        self.assertEqual((row["outcome"], row["controller"]), ("elsewhere", self.place))
        self.assertIn("epoch=", self.say("rbrun", "logs", run).stdout)
        sent = self.there(".local/state/rubberband/sent", run)
        self.assertEqual(stat.S_IMODE(os.stat(sent).st_mode), 0o700)
        kept = os.listdir(os.path.join(self.home, ".local/state/rubberband/runs/elsewhere", run))
        self.assertEqual(sorted(kept), ["asked", "begun"])

    def test_a_secret_is_on_no_disk_and_in_no_argument(self):
        said = self.start(SLOW)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    self.assertNotIn(SECRET.encode(), f.read())
            except (FileNotFoundError, ProcessLookupError):
                pass
        # local/ is the node's disk: what a node does with a secret, marked_secrets.py looks into.
        found = subprocess.run(["grep", "-rlF", "--exclude-dir=local", SECRET, self.top], capture_output=True, text=True, check=False).stdout
        self.assertEqual(found, "")
        self.say("rbrun", "stop", said["run"])

    def test_the_program_is_sent_once(self):
        self.say("rbrun", "stop", self.start(SLOW)["run"])
        done = self.say("rbrun", "plan.json", "--at", self.place)
        self.assertNotIn("sending this program", done.stderr)
        run, = [run for run in self.new_runs() if self.holder(run)]
        for line in ("status", "attach", "stop", "fetch"):
            self.assertIn("rbrun %s %s@%s" % (line, run, self.place), done.stdout)
        self.assertEqual(len([n for n in os.listdir(self.there(".cache/rubberband")) if n.startswith("rbrun-")]), 1)

    def test_ctrl_c_leaves_attach_and_stop_ends_with_its_code(self):
        run = self.start(SLOW)["run"]
        program = terminal.Program(["rbrun", "attach", run], 24, 140, self.env, self.home)
        program.wait_for(lambda screen: "stage 0 of" in screen.text())
        program.type("\x03")
        program.finish()
        self.assertEqual(program.code, 1)
        self.assertTrue(self.holder(run))
        follower = subprocess.Popen(["rbrun", "attach", run], env=self.env, cwd=self.home, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        follower.stderr.readline()
        self.say("rbrun", "stop", run)
        follower.communicate(timeout=30)
        self.assertEqual(follower.returncode, 130)
        refused = self.say("rbrun", "resume", run, expect=2).stderr  # its secrets were in the memory of a process that is gone
        self.assertIn("PASSWORD_OF_TEST is not set", refused)

    def test_a_follower_that_dies_leaves_none_there(self):
        run = self.start(SLOW)["run"]
        follower = subprocess.Popen(["rbrun", "attach", run], env=self.env, cwd=self.home, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        follower.stderr.readline()

        def followers():
            return subprocess.run(["pgrep", "-fc", "rubberband/rbrun-.*attach " + run], capture_output=True, text=True,
                                  check=False).stdout.strip()
        self.until(lambda: followers() != "0")
        follower.kill()
        follower.communicate()
        self.until(lambda: followers() == "0")
        self.say("rbrun", "stop", run)

    # --- refusals

    def test_refusals_say_what_to_do(self):
        self.plan()
        for place, code, says in (("aws/us-east-1", 2, "the plan rents nothing there"), ("k8s/lab", 2, "ssh:HOST"), ("ssh:-oProxyCommand=x", 2, "RB4053"),
                                  ("ssh:127.0.0.1:%d" % free_port(), 1, "RB4054"),
                                  (self.place.replace("127.0.0.1", "localhost"), 1, "Host key verification failed")):
            with self.subTest(place=place):
                self.assertIn(says, self.say("rbrun", "plan.json", "--at", place, expect=code).stderr)
        self.assertIn("RB1026", self.say("rbrun", "plan.json", "--at", self.place, "--serve", "127.0.0.1:0", expect=2).stderr)
        self.assertEqual(self.new_runs(), [])
        self.assertEqual(self.listed(), {})

    def test_an_unfit_host_is_refused(self):
        self.plan()
        os.makedirs(self.there("bin"), exist_ok=True)
        for tool, text, says in (("uname", "#!/bin/sh\n[ $1 = -s ] && echo Linux || echo sparc\n", "sparc"),
                                 ("date", "#!/bin/sh\necho 1000\n", "clock")):
            path = self.there("bin", tool)
            with open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o700)) as f:
                f.write(text)
            try:
                done = self.say("rbrun", "plan.json", "--at", self.place, expect=2)
            finally:
                os.remove(path)
            self.assertIn(says, done.stderr)
            self.assertIn("RB4055", done.stderr)
        self.assertEqual(self.new_runs(), [])

    def test_its_own_refusal_keeps_its_number(self):
        with open(self.there("profile"), "w", encoding="utf-8"):
            pass
        self.write("prices.csv", "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at\n"
                   "aws/us-east-1,g4dn.xlarge,CPU,1,16,4,16,on_demand,0.50,test,2026-07-20T00:00:00Z\n")
        self.write("job/job.yaml", JOB.replace("[local]", "[aws/us-east-1]"))
        self.say("rbplan", "-o", "plan.json", "job/job.yaml", "--prices", "prices.csv", "--profile-file", "profile.yaml")
        self.assertIn("RB4053", self.say("rbrun", "plan.json", "--at", "k8s/lab", expect=2).stderr)  # before it asks for money
        done = self.say("rbrun", "plan.json", "--at", self.place, "--yes", expect=5)
        self.assertIn("on %s: aws/us-east-1" % self.place, done.stderr)
        self.assertIn("credentials of its own", done.stderr)
        self.assertEqual(self.new_runs(), [])
        self.assertEqual(self.listed(), {})

    def test_a_full_disk_there_is_its_reason(self):
        self.plan()
        cache = self.there(".cache")
        kept = self.there("cache-of-others")
        if os.path.exists(cache):
            os.rename(cache, kept)
        try:
            with open(cache, "w", encoding="utf-8"):
                pass
            self.assertIn("RB4056", self.say("rbrun", "plan.json", "--at", self.place, expect=1).stderr)
        finally:
            os.remove(cache)
            if os.path.exists(kept):
                os.rename(kept, cache)

    # --- killed at every step

    def test_a_kill_at_every_step_leaves_no_run_or_one(self):
        self.plan(SLOW)
        calls = None
        for kill, after in (("after 1", 0), ("during 2", 0.1), ("after 3", 0), ("during 4", 0.3), ("after 4", 0)):
            with self.subTest(kill=kill, after=after):
                self.write("calls", "0")
                known = set(self.runs())
                killed = subprocess.run(["rbrun", "plan.json", "--at", self.place], cwd=self.home, capture_output=True, check=False,
                                        env=dict(self.env, RB_TEST_KILL_AT=kill, RB_TEST_KILL_AFTER=str(after)), timeout=60)
                self.assertEqual(killed.returncode, -signal.SIGKILL)
                self.assertLessEqual(len(set(self.runs()) - known), 1)
                calls = self.once_more(known)
        self.assertEqual(calls, 4, "a step was added that this test does not kill")

    def test_a_connection_that_breaks_is_said(self):
        self.plan(SLOW)
        self.write("calls", "0")
        known = set(self.runs())
        done = self.say("rbrun", "plan.json", "--at", self.place, expect=1, RB_TEST_KILL_AT="cut start")
        self.assertIn("RB4054", done.stderr)
        self.assertIn("repeat this command", done.stderr)
        self.assertEqual([row["outcome"] for row in self.listed().values()], ["elsewhere, unconfirmed"])
        self.once_more(known)

    def once_more(self, known):
        """The same command, whole: afterwards exactly one run has begun. Number of its calls."""
        self.write("calls", "0")
        said = json.loads(self.say("rbrun", "plan.json", "--at", self.place, "--json").stdout)
        begun = [run for run in self.runs() if run not in known]
        self.assertEqual(begun, [said["run"]])
        with open(os.path.join(self.home, "calls"), encoding="utf-8") as f:
            calls = int(f.read())
        self.assertTrue(self.holder(said["run"]))
        self.assertEqual({row["outcome"] for row in self.listed().values()}, {"elsewhere"})
        self.say("rbrun", "stop", said["run"])
        return calls


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    At.bin_dir = options.bin
    unittest.main(argv=[sys.argv[0], *rest])
