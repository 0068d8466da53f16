#!/usr/bin/env python3
"""rbrun move: the controller of a run goes to another host and back while its nodes train on. Both sides are killed at every
step; the cloud is rbmock, its nodes are real sshd. Usage: move.py --bin BUILD_DIR [--all] [TEST]...
--all: every step instead of some."""
import argparse
import glob
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "cli"), os.path.join(here, "..", "..", "crash")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from real_run import user  # noqa: E402
from away_job import IN_WORKDIR, SLOW  # noqa: E402
from host_case import HostCase  # noqa: E402

# Trials wait in their second epoch until the test lets them go.
TRAIN = kill9.TRAIN.replace("    sleep ", "    while [ $epoch -gt 1 ] && [ -e \"$HOLD\" ]; do sleep 0.1; done\n    sleep ")
JOB = kill9.JOB.replace("min_resource: 1", "min_resource: 2").replace("timeout: 20s", "timeout: 5m") + \
    "secrets: [PASSWORD_OF_TEST]\nenvs: {HOLD: %s}\nnotify: [{command: 'cat >>%s/notices'}]\n"
GOING = [("here", step) for step in ("left", "committed", "packed", "before archive", "after archive", "before arrive",
                                     "during arrive", "after arrive", "answered", "settled")] + \
        [("there", step) for step in ("accepting", "accepted")]
COMING = [("here", step) for step in ("after plan", "during depart", "after depart", "before give", "after give", "accepting",
                                      "accepted", "decided", "before accepted", "after accepted")] + \
         [("there", step) for step in ("left", "committed", "packed", "settled")]


class Move(HostCase):
    every_step = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = os.path.join(cls.top, "cloud")
        os.mkdir(folder)
        cls.cloud = MockCloud(cls.bin_dir, folder).__enter__()
        cls.on_cloud = dict(cls.cloud.customer, RB_SSH_PORT=str(cls.cloud.ssh_port), RB_SSH_USER=user())
        cls.set_there()

    @classmethod
    def tearDownClass(cls):
        cls.cloud.__exit__()
        super().tearDownClass()

    @classmethod
    def set_there(cls, without=(), **more):
        """What the other host's environment holds."""
        with open(os.path.join(cls.top, "there.env"), "w", encoding="utf-8") as f:
            for name, value in {**cls.on_cloud, **more}.items():
                if name not in without:
                    f.write("export %s=%s\n" % (name, shlex.quote(value)))

    def setUp(self):
        super().setUp()
        self.env.update(self.on_cloud)
        self.hold = self.write("hold", "")
        self.set_there()

    def tearDown(self):
        self.set_there()
        if os.path.exists(self.hold):
            os.remove(self.hold)
        for run in self.own_runs():
            for place in ("", "@" + self.place):
                subprocess.run(["rbrun", "stop", run + place], env=self.env, cwd=self.home, capture_output=True, check=False)
        alive = [i["id"] for i in self.cloud.ledger()["instances"] if i["state"] in ("pending", "running")]
        self.assertEqual(alive, [], "instances are left")

    # --- tools

    def root(self):
        return os.path.join(self.home, ".local/state/rubberband/runs")

    def own_runs(self):
        names = os.listdir(self.root()) if os.path.isdir(self.root()) else []
        return [name for name in names if name not in ("moves", "elsewhere")]

    def plan(self):
        """Of a run whose trials wait."""
        self.write("work/job.yaml", JOB % (self.hold, self.home))
        self.write("work/train.sh", TRAIN)
        self.write("work/profile.yaml", kill9.PROFILE)
        plan = self.here.make_plan("work/job.yaml", profile_file="work/profile.yaml", prices=self.cloud.prices)
        kill9.edit(plan, lambda plan: kill9.own(plan["stages"][0], 2, 2))

    def trains(self, run):
        self.until(lambda: json.loads(self.say("rbrun", "status", "--json", run).stdout)["best"], 60)

    def start(self):
        self.plan()
        run = json.loads(self.say("rbrun", "plan.json", "--detach", "--yes", "--json").stdout)["run"]
        self.trains(run)
        return run

    def is_held_here(self, run):
        path = os.path.join(self.root(), run, "journal.db.lock")
        return os.path.exists(path) and subprocess.run(["flock", "-n", path, "true"], check=False).returncode != 0

    def holders(self, run):
        return (self.is_held_here(run), self.holder(run))

    def move(self, run, to, expect=0, **env):
        return self.say("rbrun", "move", run, "--to", to, "--json", expect=expect, **env)

    def killed(self, run, to, **env):
        done = subprocess.run(["rbrun", "move", run, "--to", to], cwd=self.home, env=dict(self.env, **env), capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        self.assertNotEqual(self.holders(run), (True, True))

    def let_go(self, run):
        """The run ends well, wherever it is; its bill is the cloud's."""
        os.remove(self.hold)
        self.say("rbrun", "attach", run)
        report = json.loads(self.say("rbrun", "report", "--json", run).stdout)
        self.assertEqual(report["outcome"], "complete")
        kill9.Crash.check_cloud(self, report)
        root = self.root() if self.locally_known(run) else self.there(".local/state/rubberband/runs")
        kill9.Crash.check_journal(os.path.join(root, run, "journal.db"), report)

    def locally_known(self, run):
        row = json.loads(self.say("rbrun", "list", "--json").stdout)["runs"]
        return {r["run"]: r["outcome"] for r in row}.get(run) not in ("elsewhere", "elsewhere, unconfirmed")

    def notices(self):
        with open(os.path.join(self.home, "notices"), encoding="utf-8") as f:
            text = f.read()
        found, at = [], 0
        while at < len(text):
            notice, at = json.JSONDecoder().raw_decode(text, at)
            found.append(notice["type"])
            at += len(text[at:]) - len(text[at:].lstrip())
        return found

    # --- the move

    def test_there_and_back(self):
        run = self.start()
        follower = subprocess.Popen(["rbrun", "attach", run], env=self.env, cwd=self.home, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        follower.stderr.readline()
        said = json.loads(self.move(run, self.place).stdout)
        self.assertIn("RB4452", follower.communicate(timeout=30)[1])
        self.assertEqual(follower.returncode, 1)
        self.assertEqual((said["format"], said["run"], said["place"], said["moved"]), ("rb-moved/1", run, self.place, True))
        self.assertEqual(self.holders(run), (False, True))
        row = self.listed()[run]
        self.assertEqual((row["outcome"], row["controller"]), ("elsewhere", self.place))
        self.assertEqual(json.loads(self.say("rbrun", "status", "--json", run).stdout)["nodes"], 2)
        self.assertIn("RB4450", self.say("rbrun", "move", run, "--to", "ssh:other", expect=2).stderr)
        self.assertEqual(self.holders(run), (False, True))
        gone = self.say("rbrun", "gc", "--older-than", "0s", "--yes", "--infra", "mock/us-east-1")
        self.assertIn("0 ended", gone.stdout + gone.stderr)
        self.assertIsNone(json.loads(self.move(run, "here").stdout)["place"])
        self.assertEqual(self.holders(run), (True, False))
        self.let_go(run)
        self.until(lambda: "finished" in self.notices())
        self.assertEqual(self.notices().count("moved"), 2)
        self.assertNotIn("resumed", self.notices())

    def test_a_run_that_began_there_comes_here(self):
        self.plan()
        run = json.loads(self.say("rbrun", "plan.json", "--at", self.place, "--json").stdout)["run"]
        self.trains(run)
        self.ask_again(run, "here")
        rows = [row for row in json.loads(self.say("rbrun", "list", "--json").stdout)["runs"] if row["run"] == run]
        self.assertEqual([row["controller"] for row in rows], ["detached"])
        self.ask_again(run, self.place)
        os.remove(self.hold)
        self.say("rbrun", "attach", run)
        del self.env["PASSWORD_OF_TEST"]  # a run that is over needs no secrets to come home
        self.move(run, "here")
        self.assertEqual(self.holders(run), (False, False))
        report = json.loads(self.say("rbrun", "report", "--json", run).stdout)
        self.assertEqual(report["outcome"], "complete")
        kill9.Crash.check_cloud(self, report)

    # --- killed at every step

    def ask_again(self, run, to):
        """The same command, whole: one controller, on the side that was asked for."""
        self.move(run, to)
        self.assertEqual(self.holders(run), (to == "here", to != "here"))

    def killed_once(self, run, to, kill):
        """kill: which process ("here" this command, "there" the other side's), and where."""
        side, where = kill
        if side == "here":
            call = " " in where
            self.killed(run, to, **{"RB_TEST_KILL_AT" if call else "RB_TEST_MOVE_DIES": where})
            return
        self.set_there(RB_TEST_MOVE_DIES=where)
        subprocess.run(["rbrun", "move", run, "--to", to], cwd=self.home, env=self.env, capture_output=True, timeout=60, check=False)
        self.set_there()
        self.assertNotEqual(self.holders(run), (True, True))

    def test_killed_at_every_step(self):
        seed = int(os.environ.get("RB_TEST_SEED", random.randrange(2**31)))
        rng = random.Random(seed)
        run = self.start()
        for to, kills in ((self.place, GOING), ("here", COMING)):
            other = "here" if to == self.place else self.place
            self.ask_again(run, other)
            for kill in kills if self.every_step else rng.sample(kills, 1):
                with self.subTest(to=to, kill=kill, seed=seed):
                    self.killed_once(run, to, kill)
                    self.ask_again(run, to)
                    self.ask_again(run, other)
        self.let_go(run)

    def test_a_connection_that_breaks_or_is_gone(self):
        run = self.start()
        for verb in ("archive", "arrive"):
            with self.subTest(verb=verb):
                done = subprocess.run(["rbrun", "move", run, "--to", self.place], cwd=self.home, capture_output=True, text=True,
                                      env=dict(self.env, RB_TEST_KILL_AT="cut " + verb), timeout=60, check=False)
                self.assertIn("asking %s whether" % self.place, done.stderr)
                self.assertEqual(sum(self.holders(run)), 1)
                self.ask_again(run, "here")
        self.killed(run, self.place, RB_TEST_MOVE_DIES="packed")
        os.rename(self.top + "/session", self.top + "/session.away")
        try:
            for to in (self.place, "here"):
                said = self.move(run, to, expect=1)
                self.assertIn("RB4454", said.stdout)
                self.assertIn("is not known", said.stdout)
                self.assertEqual(self.holders(run), (False, False))
        finally:
            os.rename(self.top + "/session.away", self.top + "/session")
        for argv in (["status", run], ["resume", run]):
            said = self.say("rbrun", *argv, expect=2).stderr
            self.assertIn("RB4450", said)
            self.assertIn("--to here", said)
        self.assertEqual(self.listed()[run]["outcome"], "elsewhere, unconfirmed")
        self.another_archive_is_refused(run)
        self.ask_again(run, "here")  # it had not arrived
        self.killed(run, self.place, RB_TEST_KILL_AT="after arrive")
        self.ask_again(run, "here")  # it had
        self.let_go(run)

    def another_archive_is_refused(self, run):
        moves = self.there(".local/state/rubberband/runs/moves", run)
        packed, = glob.glob(os.path.join(self.root(), "moves", run, "*.tar"))
        os.makedirs(moves, exist_ok=True)
        shutil.copy(packed, os.path.join(moves, "0" * 32 + ".tar"))
        done = subprocess.run(["rbrun", "move", run, "--part", "arrive", "--id", "0" * 32, "--json"], stdin=subprocess.DEVNULL,
                              cwd=self.home, env=dict(self.env, HOME=self.there()), capture_output=True, text=True, check=False)
        said = json.loads(done.stdout)
        self.assertEqual((said["moved"], said["error"]["number"]), (False, 4456))  # RB4456

    # --- refused, stopped

    def test_a_refusal_leaves_it_where_it_was(self):
        run = self.start()
        for without in (("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"), ("RB_SSH_PORT",)):
            with self.subTest(without=without):
                self.set_there(without=without)
                said = self.move(run, self.place, expect=2).stdout
                self.assertIn("RB4455", said)
                self.assertIn("the run goes on here, process", said)
                self.assertEqual(self.holders(run), (True, False))
        self.assertNotIn(run, self.runs())
        self.set_there(HOME=self.home)  # the other host is this one
        self.assertIn("is here already", self.move(run, self.place, expect=2).stdout)
        self.assertTrue(self.is_held_here(run))
        self.set_there()
        without = {name: value for name, value in self.env.items() if name != "PASSWORD_OF_TEST"}
        said = subprocess.run(["rbrun", "move", run, "--to", self.place], env=without, cwd=self.home, capture_output=True, text=True,
                              check=False)
        self.assertIn("PASSWORD_OF_TEST is not set", said.stderr)
        self.stopped_controller(run)

    def stopped_controller(self, run):
        """It holds the lock, so it has not left, and sends nothing once the run is elsewhere."""
        with open(os.path.join(self.root(), run, "journal.db.lock"), encoding="utf-8") as f:
            pid = int(f.readline())
        os.kill(pid, signal.SIGSTOP)
        self.assertIn("RB4453", self.move(run, self.place, expect=1).stdout)
        self.assertEqual(self.holders(run), (True, False))
        os.kill(pid, signal.SIGCONT)
        self.until(lambda: not self.is_held_here(run))  # it leaves when it can
        self.ask_again(run, self.place)
        self.let_go(run)

    # --- full disks

    def small_disk(self, path):
        os.makedirs(path, exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", path], capture_output=True, check=False).returncode:
            self.skipTest("a small disk of its own cannot be mounted here; that needs root")
        self.addCleanup(subprocess.run, ["umount", "--lazy", path], check=True)
        return path

    def move_on_a_full_disk(self, run, to, disk, room):
        """Its exit code, and what it said."""
        filler = os.path.join(disk, "filler")
        with open(filler, "wb", buffering=0) as f, self.assertRaises(OSError):
            while True:
                f.write(b"x" * 4096)
        os.truncate(filler, os.path.getsize(filler) - room)
        done = subprocess.run(["rbrun", "move", run, "--to", to], cwd=self.home, env=self.env, capture_output=True, text=True, timeout=90,
                              check=False)
        os.remove(filler)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "No space left on device|disk is full|is that disk full")
        return done.stderr

    def test_full_disks(self):
        """A run that cannot leave, or cannot arrive, goes on where it was."""
        there, own = self.small_disk(self.there(".local/state/rubberband/runs")), self.small_disk(self.root())
        run = self.start()
        for to, disk, room in ((self.place, there, 8192), (self.place, there, 131072), (self.place, own, 0), (self.place, own, 40960)):
            with self.subTest(to=to, disk=disk, room=room):
                said = self.move_on_a_full_disk(run, to, disk, room)
                self.assertRegex(said, "the run goes on here, process|the run is where it was, and goes on")
                self.assertEqual(self.holders(run), (True, False))
        self.ask_again(run, self.place)
        for room in (0, 40960):
            self.until(lambda: glob.glob(there + "/*/journal.db-shm"))  # its process has opened the journal, which takes room
            self.assertIn("the run is where it was, and goes on", self.move_on_a_full_disk(run, "here", there, room))
            self.assertEqual(self.holders(run), (False, True))
        self.ask_again(run, "here")
        self.let_go(run)

    def test_a_run_on_its_way_home_is_not_said_to_be_elsewhere(self):
        run = self.start()
        self.ask_again(run, self.place)
        self.killed(run, "here", RB_TEST_KILL_AT="after depart")
        self.assertEqual(self.holders(run), (False, False))
        said = self.move(run, self.place, expect=2).stdout
        self.assertIn("RB4450", said)
        self.assertIn("no process goes on with it", said)
        self.ask_again(run, "here")
        self.let_go(run)

    # --- what does not move

    def test_what_stays(self):
        self.write("job/job.yaml", IN_WORKDIR + SLOW)
        self.say("rbplan", "-o", "plan.json", "job/job.yaml")
        run = json.loads(self.say("rbrun", "plan.json", "--detach", "--json").stdout)["run"]
        said = self.say("rbrun", "move", run, "--to", self.place, expect=2).stderr
        self.assertIn("RB4451", said)
        self.assertIn("processes of this machine", said)
        self.assertTrue(self.is_held_here(run))
        self.say("rbrun", "stop", run)
        for to, code, number in (("here", 0, ""), ("aws/us-east-1", 2, "RB4053"), (None, 2, "--to")):
            self.assertIn(number, self.say("rbrun", "move", run, *(["--to", to] if to else []), expect=code).stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--all", action="store_true")
    options, rest = parser.parse_known_args()
    Move.bin_dir, Move.every_step = options.bin, options.all
    unittest.main(argv=[sys.argv[0], *rest])
