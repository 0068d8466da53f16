"""rbrun as a user meets it, on a mock cloud with real sshd nodes: interrupted, stopped, out of time or money, refused,
robbed of a node, looked at while it runs. After every one the cloud itself is asked what is left."""
import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
from cloud_case import CloudCase, kill9  # noqa: E402: its folder is known only here
from real_run import user  # noqa: E402

SECRET = "plugh-swordfish"  # not one that marked_secrets.py watches for beside us


class RealRuns(CloudCase):
    def setUp(self):
        super().setUp()
        self.plan = self.crash.plan

    def tearDown(self):
        deadline = time.time() + 5
        while self.alive() and time.time() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.alive(), [], "instances are left")

    # --- tools

    def alive(self):
        return [i["id"] for i in self.cloud.ledger()["instances"]
                if i["state"] in ("pending", "running") and i["id"] not in self.older]

    def start(self, *args, **env):
        return subprocess.Popen([os.path.join(self.bin_dir, "rbrun"), *args, "--state-dir", self.state], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(self.crash.env, **env),
                                cwd=self.folder)

    def wait_for(self, process, text):
        """Reads stderr until the text has come."""
        seen = ""
        while text not in seen:
            line = process.stderr.readline()
            self.assertTrue(line, "ended before it said %r: %s" % (text, seen))
            seen += line
        return seen

    def edited(self, name, edit):
        path = os.path.join(self.folder, name + ".json")
        with open(self.plan, encoding="utf-8") as f:
            plan = json.load(f)
        edit(plan)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(plan, f)
        return path

    def planned(self, name, job):
        return self.crash.make_plan(self.crash.write("work/%s.yaml" % name, job), name + ".json")

    def slow_plan(self):
        """A run that is still at work when something happens to it."""
        return self.planned("slow", kill9.JOB + "envs: {EPOCH_S: \"0.4\"}\n")

    def report(self):
        return json.loads(self.rbrun("report", "--json").stdout)

    def resume_to_the_end(self, *args):
        report = json.loads(self.rbrun("resume", "--json", *args).stdout.splitlines()[-1])
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(report["leak_check"]["instances_left"], 0)
        return report

    # --- ends

    def test_ctrl_c_ends_the_instances_and_the_run_can_go_on(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "val_acc")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)  # as a terminal does that is closed, and its shell: still once
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("rbrun resume", err)
        self.assertIn("instances left: 0", out)
        self.assertEqual(self.alive(), [])
        self.resume_to_the_end()

    def test_a_cloud_that_is_not_reached_is_reported_before_the_run_begins(self):
        done = self.rbrun(self.plan, expect=1, AWS_ENDPOINT_URL="http://127.0.0.1:1")
        self.assertIn("two.gpus in mock/us-east-1: RunInstances (dry run): http://127.0.0.1:1: ", done.stderr)
        self.assertEqual(os.listdir(self.state) if os.path.exists(self.state) else [], [])

    def test_a_run_without_a_result_is_no_success(self):
        for run, code, ended, error in (
                ("exit 1", 9, "stopped, its script is broken after", "RB4210"),
                ("echo epoch=$RB_RESOURCE_END val_acc=nan", 8, "incomplete, no trial was trained to the end after", "RB4030")):
            with self.subTest(run=run):
                done = self.rbrun(self.planned("vain", kill9.JOB.replace("run: sh train.sh", "run: " + run)), expect=code)
                self.assertRegex(done.stderr, r"rbrun logs crash-\S+ \[%s\]\n" % error)
                self.assertIn(ended, done.stdout)
                self.assertIn("best configuration: none, no trial has a result", done.stdout)
                self.assertIn("instances left: 0", done.stdout)

    def test_only_a_switch_that_answers_counts_as_armed(self):
        """The first heartbeat follows `setup`, which here destroys the node's dead man's switch beyond repair."""
        broken = ("setup: \"kill -9 $(cut -d' ' -f1 $RB_RUN_DIR-switch/seen) && rm -r $RB_RUN_DIR-switch && "
                  "touch $RB_RUN_DIR-switch\"\n")
        for setup, nodes in ((broken, (1, 2)), ("", (0,))):  # one may have left before it answered
            with self.subTest(setup=setup):
                done = self.rbrun(self.planned("switch", kill9.JOB + setup))
                said = [w["text"] for w in self.report()["warnings"] if "dead man's switch" in w["text"]]
                self.assertIn(len(said), nodes, said)
                self.assertIn(done.stderr.count("[RB4106]"), nodes, done.stderr)
                self.assertNotIn("end themselves", done.stderr)

    def test_a_trial_that_trains_on_is_ended_where_its_stage_ends(self):
        on = "sh train.sh && e=$RB_RESOURCE_END && while sleep 0.2; do e=$((e + 1)); echo epoch=$e val_acc=0.99; done"
        self.rbrun(self.planned("beyond", kill9.JOB.replace("run: sh train.sh", "run: " + json.dumps(on))))
        report = self.report()
        self.assertEqual(report["outcome"], "complete")
        warned = [w["text"] for w in report["warnings"] if "(RB_RESOURCE_END): it is ended there" in w["text"]]
        self.assertEqual(len(warned), 1, report["warnings"])
        self.assertRegex(warned[0], r"^trial \d reported epoch 2, but was to stop at 1 ")
        self.assertLess(report["best"]["metric"], 0.99)  # what was trained beyond does not count

    def test_links_in_checkpoints_are_reported_once(self):
        job = kill9.JOB.replace("run: sh train.sh", "run: sh train.sh && ln -sf epoch $RB_CHECKPOINT_DIR/latest")
        self.rbrun(self.planned("linked", job))
        warned = [w["text"] for w in self.report()["warnings"] if "symbolic link (./latest)" in w["text"]]
        self.assertEqual(len(warned), 1)
        refused = self.rbrun("fetch", "crash", "--best", os.path.join(self.folder, "linked"), expect=2).stderr
        self.assertIn("./latest", refused)

    def test_ctrl_c_twice_leaves_and_says_what_is_left(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "is ready")
        self.cloud.process.send_signal(signal.SIGSTOP)  # nothing is ended meanwhile
        try:
            process.send_signal(signal.SIGINT)
            self.wait_for(process, "stopping")
            time.sleep(0.6)  # sooner, it would count as the same
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            self.cloud.process.send_signal(signal.SIGCONT)
        self.assertEqual(process.returncode, 1, err)
        self.assertRegex(err, r"i-[0-9a-f]+ in mock/us-east-1")
        self.assertIn("rbrun stop", err)
        self.rbrun("stop", self.report()["run"])
        self.assertEqual(self.alive(), [])

    def test_stop_reaches_the_process_at_work(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "val_acc")
        second = self.rbrun("resume", expect=2)
        self.assertIn("process %d" % process.pid, second.stderr)
        stopped = self.rbrun("stop", "crash")
        self.assertIn("instances left: 0", stopped.stdout)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_a_stop_that_cannot_reach_the_cloud_says_so_and_can_be_left(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "is ready")
        gone = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
        process.kill()
        process.communicate()
        left = self.alive()
        self.assertTrue(left)
        stop = self.start("stop", "crash", **gone)
        said = self.wait_for(stop, "the end of this run waits until it answers")
        self.assertIn("mock/us-east-1 cannot be listed: DescribeInstances: http://127.0.0.1:1: ", said)
        self.assertIn("Ctrl-C leaves", said)
        stop.send_signal(signal.SIGINT)  # once is enough: it was said to stop before
        _, err = stop.communicate(timeout=20)
        self.assertEqual(stop.returncode, 1, err)
        self.assertRegex(err, r"i-[0-9a-f]+ in mock/us-east-1")
        self.assertEqual(self.alive(), left)
        self.rbrun("stop", "crash")
        self.assertEqual(self.alive(), [])

    def test_a_stop_says_what_the_process_at_work_waits_for(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "is ready")
        self.cloud.process.send_signal(signal.SIGSTOP)  # no answer from it
        try:
            stop = self.start("stop", "crash")
            self.wait_for(stop, "process %d has not ended yet" % process.pid)
        finally:
            self.cloud.process.send_signal(signal.SIGCONT)
        self.assertIn("instances left: 0", stop.communicate(timeout=60)[0])
        process.communicate(timeout=60)

    def test_a_missed_deadline_is_exit_4_and_more_time_helps(self):
        self.plan = self.slow_plan()
        plan = self.edited("late", lambda p: p.update(deadline_us=2500000))
        done = self.rbrun(plan, expect=4)
        self.assertIn("--deadline +1h", done.stderr)
        self.assertEqual(self.report()["outcome"], "stopped: deadline")
        nodes = len(self.report()["nodes"])
        self.rbrun("resume", expect=4)  # no more time: nothing is rented
        self.assertEqual(len(self.report()["nodes"]), nodes)
        self.resume_to_the_end("--deadline", "+5m")

    def test_a_budget_is_never_exceeded_and_more_money_helps(self):
        plan = self.edited("poor", lambda p: p.update(budget_uusd=20000))
        done = self.rbrun(plan, expect=4)
        self.assertIn("--budget +10", done.stderr)
        self.assertLessEqual(self.report()["cost_uusd"]["actual"], 20000)
        self.resume_to_the_end("--budget", "+10")

    def test_a_tighter_deadline_is_refused_before_anything_is_launched(self):
        before = len(self.cloud.ledger()["instances"])
        done = self.rbrun(self.plan, "--deadline", "1s", expect=3)
        self.assertRegex(done.stderr, r"no longer fits.*\[RB2003\]")
        self.assertEqual(len(self.cloud.ledger()["instances"]), before)

    # --- refusals

    def test_sold_out_is_exit_6(self):
        job = kill9.JOB.replace("two.gpus", "sold.out")
        done = self.rbrun(self.planned("soldout", job), expect=6)
        self.assertIn("sold.out", done.stderr)

    def test_no_credentials_is_exit_5(self):
        self.rbrun(self.plan, expect=5, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")

    def test_wrong_credentials_are_exit_5(self):
        self.rbrun(self.plan, expect=5, AWS_SECRET_ACCESS_KEY="wrong")

    def test_without_a_terminal_nothing_is_rented_unasked(self):
        def real(plan):
            for offer in plan["prices"]:
                offer["infra"] = "aws/us-east-1"
            for stage in plan["stages"]:
                for nodes in stage["nodes"]:
                    nodes["infra"] = "aws/us-east-1"
        done = self.rbrun(self.edited("real", real), expect=2, AWS_ENDPOINT_URL="https://ec2.us-east-1.amazonaws.com")
        self.assertIn("--yes", done.stderr)

    def test_bad_plans_are_exit_2_and_leave_nothing(self):
        with open(self.plan, encoding="utf-8") as f:
            text = f.read()
        for name, broken in (("truncated", text[:len(text) // 2]), ("empty", ""), ("list", "[]"),
                             ("unknown", text.replace('"planner"', '"plannr"', 1))):
            path = os.path.join(self.folder, name + ".json")
            with open(path, "w", encoding="utf-8") as f:
                f.write(broken)
            self.rbrun(path, expect=2)
        self.assertFalse(os.path.exists(self.state))

    # --- secrets

    def test_secrets_reach_the_trial_and_no_file(self):
        job = kill9.JOB.replace("run: sh train.sh", "secrets: [MY_TOKEN]\nrun: test -n \"$MY_TOKEN\" && sh train.sh")
        plan = self.planned("secret", job)
        missing = self.rbrun(plan, expect=2)
        self.assertRegex(missing.stderr, r"MY_TOKEN.*\[RB1202\]")
        self.rbrun(plan, MY_TOKEN=SECRET)
        found = subprocess.run(["grep", "-rl", SECRET, self.state], capture_output=True, text=True, check=False)
        self.assertEqual(found.stdout, "")

    def test_secrets_are_in_no_command_line_and_no_trace(self):
        job = kill9.JOB.replace("run: sh train.sh", "secrets: [MY_TOKEN]\nrun: sh train.sh")
        process = self.start(self.planned("marked", job), MY_TOKEN=SECRET, AWS_SESSION_TOKEN="marked-" + SECRET,
                             RB_TRACE="provider,journal,executor")
        said, n_seen = threading.Thread(target=lambda: out.extend(process.communicate(timeout=120))), 0
        out = []
        said.start()
        while said.is_alive():
            for name in os.listdir("/proc"):
                try:
                    with open("/proc/%s/cmdline" % name, "rb") as f:
                        line = f.read()
                except OSError:
                    continue
                n_seen += b"ssh" in line
                self.assertNotIn(SECRET.encode(), line)
            time.sleep(0.01)
        self.assertEqual(process.returncode, 0, out[1])
        self.assertGreater(n_seen, 0)
        self.assertIn("credentials from environment", out[1])  # it was traced
        self.assertNotIn(SECRET, "".join(out))
        found = subprocess.run(["grep", "-rl", SECRET, self.state], capture_output=True, text=True, check=False)
        self.assertEqual(found.stdout, "")

    # --- accidents

    def test_a_node_that_dies_is_replaced(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "val_acc")
        victim = self.alive()[0]
        urllib.request.urlopen(urllib.request.Request(
            "%s/_rbmock/nodes/%s/poweroff" % (self.cloud.url, victim), method="POST"), timeout=10).close()
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        report = self.report()
        self.assertEqual(report["outcome"], "complete")
        self.assertTrue(any(victim in f["text"] for f in report["faults"]), report["faults"])

    def test_what_a_killed_controller_left_is_found_by_gc(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "is ready")
        process.kill()
        process.communicate()
        left = self.alive()
        self.assertTrue(left)
        young = self.rbrun("gc")
        self.assertIn("younger", young.stderr)
        self.assertEqual(self.alive(), left)
        found = json.loads(self.rbrun("gc", "--dry-run", "--older-than", "0s", "--json").stdout)
        self.assertEqual({i["id"] for i in found["left_over"]} & set(left), set(left))
        self.assertEqual(self.alive(), left)
        self.rbrun("gc", "--older-than", "0s")
        self.assertEqual(self.alive(), [])
        self.resume_to_the_end()  # finds its nodes gone, and takes new ones

    def test_what_a_machine_that_is_gone_left_is_ended_by_its_owners_name(self):
        away = ["unshare", "--uts", "sh", "-c", 'hostname gone.lab && exec "$@"', "sh"]
        if subprocess.run([*away, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("a host name of its own cannot be had here; that needs root")
        there = subprocess.run([*away, os.path.join(self.bin_dir, "rbrun"), self.slow_plan(), "--state-dir", self.state],
                               capture_output=True, text=True, timeout=60, cwd=self.folder,
                               env=dict(self.crash.env, RB_TEST_DIE_AFTER="9", RB_TEST_LEASE_S="1"))
        self.assertEqual(there.returncode, -signal.SIGKILL, there.stderr)
        left = self.alive()
        self.assertTrue(left)
        gc = ["gc", "--infra", "mock/us-east-1", "--older-than", "0s"]
        # In its own state directory the run is ours, whatever this host is called by now.
        found = json.loads(self.rbrun("gc", "--dry-run", "--older-than", "0s", "--json").stdout)
        self.assertEqual({i["id"] for i in found["left_over"]} & set(left), set(left))
        self.state += "-here"
        time.sleep(2)  # the lease lapses
        mine = self.rbrun(*gc)
        self.assertIn("belongs to %s@gone.lab: left alone" % user(), mine.stderr)
        none_found = self.rbrun(*gc, "--owner", user() + "@gone")
        self.assertIn(" 0 instances left over", none_found.stdout)  # no part of a name will do
        self.assertEqual(self.alive(), left)
        self.rbrun(*gc, "--owner", user() + "@gone.lab")
        self.assertEqual(self.alive(), [])

    # --- no room for the journal

    def check_rescued(self, process):
        """It has ended what it had rented, said so and how to go on; with room again, the run goes on to its end."""
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, err)
        self.assertRegex(out, "(?m)^crash-[^ ]*: interrupted after ")
        self.assertEqual(json.loads(self.rbrun("list", "--json").stdout)["runs"][0]["outcome"], "interrupted")
        self.assertIn("nothing more is started, and every instance of the run is being ended", err)
        self.assertIn("all its instances were ended, and a listing shows none left; make room, then run `rbrun resume", err)
        self.assertEqual(self.alive(), [])

    def check_goes_on(self):
        cost = self.resume_to_the_end()["cost_uusd"]["actual"]
        bills = [i["cost_uusd"] for i in self.cloud.ledger()["instances"] if i["id"] not in self.older]
        self.assertEqual(cost, sum(bills))

    def test_a_journal_that_may_not_grow(self):
        process = self.start(self.slow_plan())
        self.wait_for(process, "is ready")
        run = os.path.join(self.state, os.listdir(self.state)[0])
        size = max(os.path.getsize(os.path.join(run, f)) for f in os.listdir(run) if f.startswith("journal.db"))
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
        self.check_rescued(process)
        self.check_goes_on()

    def small_disk(self, size="2m"):
        """A state directory that can be filled; unmounted at the end."""
        os.mkdir(self.state)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", self.state], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("a small disk of its own cannot be mounted here; that needs root")
        self.addCleanup(subprocess.run, ["umount", self.state], check=True)

    def fill_disk(self):
        """The path of what fills it."""
        filler = os.path.join(self.state, "filler")
        with open(filler, "wb", buffering=0) as f, self.assertRaises(OSError):
            while True:
                f.write(b"x" * 1024)
        return filler

    def test_a_full_disk(self):
        self.small_disk()
        process = self.start(self.slow_plan())
        self.wait_for(process, "is ready")
        filler = self.fill_disk()
        self.check_rescued(process)
        os.remove(filler)
        self.check_goes_on()

    def test_midway_checkpoints_leave_the_journal_its_room(self):
        """They are announced with every report, and would fill the disk."""
        self.small_disk("32m")
        saves = ('    mkdir $RB_CHECKPOINT_DIR/at-$epoch; echo $epoch >$RB_CHECKPOINT_DIR/at-$epoch/epoch\n'
                 '    head -c 3000000 /dev/zero >$RB_CHECKPOINT_DIR/at-$epoch/pad\n    echo "epoch=$epoch')
        self.crash.write("work/saves.sh", kill9.TRAIN.replace('    echo "epoch=$epoch', saves).replace('% 9000))"', '% 9000)) checkpoint=at-$epoch"'))
        job = kill9.JOB.replace("train.sh", "saves.sh").replace("min_resource: 1, max_resource: 4", "min_resource: 2, max_resource: 4").replace("num_trials: 6", "num_trials: 4")
        process = self.start(self.planned("saves", job + "envs: {EPOCH_S: \"0.2\"}\n"))
        self.wait_for(process, "is ready")
        filler = os.path.join(self.state, "filler")
        left = os.statvfs(self.state)
        with open(filler, "wb") as f:  # all but 1.5 MB: a sixteenth is 2 MB
            f.write(b"x" * (left.f_bavail * left.f_frsize - 1500000))
        out, err = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 0, err)
        said = [w["text"] for w in self.report()["warnings"] if "is not kept" in w["text"]]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"this machine's disk has only \d\.\d MB left, which the run's journal may need: make room")
        self.assertEqual([f for _, _, files in os.walk(self.state) for f in files if f.endswith(".tmp")], [])

    def test_a_run_that_finds_no_room_is_none(self):
        """Else it would be the newest, and `rbrun resume` could not read it; in each case another file is the one too many."""
        self.small_disk()
        filler = self.fill_disk()
        for room in (0, 12288, 24576):
            os.truncate(filler, os.path.getsize(filler) - room)
            refused = self.rbrun(self.plan, expect=1)
            self.assertRegex(refused.stderr, "No space left on device|disk is full")
            self.assertEqual(os.listdir(self.state), ["filler"])
        self.assertFalse([i for i in self.cloud.ledger()["instances"] if i["id"] not in self.older])

    def test_what_only_reads_says_that_the_disk_is_full(self):
        self.small_disk()
        self.rbrun(self.plan)
        filler = self.fill_disk()
        self.assertIn("No space left on device [RB4011]", self.rbrun("report", expect=1).stderr)
        os.remove(filler)
        self.assertEqual(self.report()["outcome"], "complete")

    def test_a_report_that_cannot_be_kept_is_printed_and_can_be_had_later(self):
        process = self.start(self.plan)
        self.wait_for(process, "is ready")
        run = os.listdir(self.state)[0]
        in_the_way = os.path.join(self.state, run, "report.json.tmp")
        os.mkdir(in_the_way)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("instances left: 0", out)
        self.assertIn("the run is over, but its report was not kept", err)
        self.assertIn("`rbrun report " + run, err)
        os.rmdir(in_the_way)
        self.assertEqual(self.report()["outcome"], "complete")

    def test_gc_looks_into_every_region_that_the_cloud_names(self):
        done = self.rbrun("gc", "--infra", "mock/us-east-1", "--all-regions", "--dry-run")
        self.assertIn("1 region looked at, 0 instances left over, 0 ended", done.stdout)

    def test_without_leave_to_look_nothing_is_launched(self):
        refused = self.rbrun(self.plan, expect=5, AWS_SECRET_ACCESS_KEY="wrong")
        self.assertIn("RunInstances (dry run): ", refused.stderr)
        self.assertFalse(os.path.exists(self.state) and os.listdir(self.state), "a run that never was")

    def test_max_cost_stops_a_run_that_its_plan_would_let_go_on(self):
        done = self.rbrun(self.slow_plan(), "--max-cost", "0.0001", expect=4)
        self.assertIn("at most $0.00", done.stderr)
        self.assertIn("the budget is spent", done.stderr)

    # --- doctor

    def doctor(self, *args, expect=0, **env):
        found = json.loads(self.rbrun("doctor", *args, "--json", expect=expect, **env).stdout)
        self.assertEqual(found["ok"], expect == 0)
        return {c["check"]: c for c in found["checks"]}

    def test_doctor_finds_nothing_wrong_with_a_plan_that_can_be_carried_out(self):
        checks = self.doctor(self.plan)
        for check in ("ssh", "state", "endpoint", "clock", "identity", "credentials", "permission", "image"):
            self.assertEqual(checks[check]["verdict"], "ok", checks[check])
        self.assertEqual(checks["prices"]["verdict"], "warn")  # the list of the test is older than a week
        self.assertIn("rbprofile prices update", checks["prices"]["remedy"])
        self.assertIn("the limit is not known", checks["quota"]["detail"])  # of a type that AWS does not have

    def test_doctor_says_whose_keys_are_refused(self):
        checks = self.doctor(self.plan, expect=5, AWS_SECRET_ACCESS_KEY="wrong")
        self.assertEqual(checks["credentials"]["verdict"], "fail")
        self.assertIn("SignatureDoesNotMatch", checks["credentials"]["detail"])
        self.assertEqual(checks["permission"]["verdict"], "fail")
        lines = self.rbrun("doctor", self.plan, expect=5, AWS_SECRET_ACCESS_KEY="wrong").stdout
        self.assertRegex(lines, r"(?m)^fail  credentials  mock/us-east-1: ")

    def test_doctor_without_a_cloud(self):
        checks = self.doctor(self.plan, expect=1, AWS_ENDPOINT_URL="http://127.0.0.1:9")
        self.assertEqual(checks["endpoint"]["verdict"], "fail")

    # --- looking

    def test_everything_can_be_looked_at(self):
        process = self.start(self.slow_plan(), "--json")
        first = process.stdout.readline()
        status = self.rbrun("status")
        self.assertIn("executed by process %d" % process.pid, status.stdout)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        lines = [json.loads(line) for line in [first] + out.splitlines()]
        self.assertEqual(lines[0]["event"], "start")
        self.assertEqual(lines[-1]["format"], "rb-report/1")
        report = lines[-1]
        with open(os.path.join(self.state, report["run"], "report.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f), report)
        for node in report["nodes"]:  # EC2 names whole seconds: the one in which the run began is not "never"
            self.assertTrue(node["running_us"] is not None and node["running_us"] >= node["requested_us"], node)
        self.assertEqual(sum(s["cost_uusd"] for s in report["stages"]), report["cost_uusd"]["actual"])
        self.assertGreater(report["stages"][0]["cost_uusd"], 0)
        best = report["best"]["trial"]
        self.assertIn("complete", self.rbrun("status").stdout)
        broken = os.path.join(self.state, "aaa-20260101-000000-aaaaaa")
        os.mkdir(broken, 0o700)
        good, bad = json.loads(self.rbrun("list", "--json").stdout)["runs"]
        self.assertEqual((good["cost_uusd"], good["error"]), (report["cost_uusd"]["actual"], None))
        self.assertEqual((bad["run"], bad["outcome"], bad["cost_uusd"]), (os.path.basename(broken), "unreadable", None))
        self.assertIn("has no journal", bad["error"])
        os.rmdir(broken)
        self.assertIn("0 orders differ", self.rbrun("replay").stdout)
        self.assertIn("epoch=4", self.rbrun("logs", report["run"], str(best)).stdout)
        said = [json.loads(line) for line in self.rbrun("logs", report["run"], str(best), "--json").stdout.splitlines()]
        self.assertEqual({(one["run"], one["trial"]) for one in said}, {(report["run"], best)})
        self.assertIn("epoch=4", "\n".join(one["line"] for one in said))
        self.assertEqual([one["start"] for one in said], sorted(one["start"] for one in said))
        self.assertEqual(json.loads(self.rbrun("replay", "--json").stdout)["orders_differing"], 0)
        self.assertIn("in between?", self.rbrun("report").stdout)
        model = os.path.join(self.folder, "model")
        self.rbrun("fetch", report["run"], "--best", model)
        with open(os.path.join(model, "epoch"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "4\n")
        self.rbrun("fetch", report["run"], "--best", model, expect=1)  # never over what is there

    def test_a_dry_run_launches_nothing(self):
        before = len(self.cloud.ledger()["instances"])
        lines = self.rbrun(self.plan, "--dry-run", "--json").stdout.splitlines()
        self.assertEqual(json.loads(lines[0])["event"], "start")
        self.assertEqual(json.loads(lines[-1])["format"], "rb-dry-run/1")
        self.assertIn("nothing was launched", self.rbrun(self.plan, "--dry-run").stdout)
        self.assertEqual(len(self.cloud.ledger()["instances"]), before)
        self.assertFalse(os.path.exists(self.state))

    # --- this machine

    def test_this_machine_as_a_node_survives_a_kill(self):
        job = kill9.JOB + "envs: {EPOCH_S: \"0.2\"}\n"
        job = job.replace("[mock/us-east-1]", "[local]").replace(", instance_types: [two.gpus], max_nodes: 2", "")
        profile = os.path.join(self.folder, "work", "profile.yaml")
        with open(profile, encoding="utf-8") as f:
            text = f.read()
        with open(profile, "w", encoding="utf-8") as f:
            f.write(text.replace("accelerator: T4", "accelerator: CPU"))
        try:
            os.environ["RB_LOCAL_SLOTS"] = "2"
            self.crash.env["RB_LOCAL_SLOTS"] = "2"
            plan = self.planned("here", job)
        finally:
            with open(profile, "w", encoding="utf-8") as f:
                f.write(text)
        process = self.start(plan)
        self.wait_for(process, "val_acc")
        process.kill()
        process.communicate()
        report = self.resume_to_the_end()
        self.assertEqual(report["cost_uusd"]["actual"], 0)
        process = self.start(plan)
        self.wait_for(process, "val_acc")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    CloudCase.bin_dir = os.path.abspath(options.bin)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
