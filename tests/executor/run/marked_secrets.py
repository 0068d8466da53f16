"""A whole run whose every secret is marked: nothing that others can see may hold a mark. Looked at are the command lines
and environments of all processes while it runs, and afterwards every file of the run, of its nodes, and every word said."""
import argparse
import os
import resource
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
sys.path[:0] = [os.path.join(here, "..", "..", "crash"), os.path.join(here, "..", "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402

BIN = None
MARK = "xyzzy-" + "hunter2"
JOB_SECRET = MARK + "-job"
CLOUD_SECRETS = {  # whatever a caller of rbrun may have in the environment
    "AWS_ACCESS_KEY_ID": "marked",
    "AWS_SECRET_ACCESS_KEY": MARK + "-key",
    "AWS_SESSION_TOKEN": MARK + "-token",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN": MARK + "-container",
    "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/" + MARK,
    "CLOUDSDK_AUTH_ACCESS_TOKEN": MARK + "-google",
    "SLURM_JWT": MARK + "-slurm",
}


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def program(pid):
    try:
        return os.readlink("/proc/%s/exe" % pid)
    except OSError:
        return ""


class Watcher(threading.Thread):
    """Looks at every process that is there, again and again. What is rbrun's own, or has yet to become something else
    (between fork and exec a child looks like its parent), is left out."""

    def __init__(self):
        super().__init__()
        self.found, self.seen, self.over = set(), set(), False

    def look(self, pid):
        before, line, environ = program(pid), read("/proc/%s/cmdline" % pid), read("/proc/%s/environ" % pid)
        if MARK.encode() in line:
            self.found.add("command line: %r" % line)
        if before != program(pid) or before.endswith("/rbrun"):
            return
        if environ:
            self.seen.add(os.path.basename(before))
        for pair in environ.split(b"\0"):
            trial = JOB_SECRET.encode() in pair and b"RB_TRIAL_ID=" in environ  # which is who it is meant for
            if MARK.encode() in pair and not trial:
                self.found.add("environment of %s (%r): %r" % (before, line, pair))

    def run(self):
        while not self.over:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                self.look(pid)
            time.sleep(0.005)

    def end(self):
        self.over = True
        self.join()


class MarkedSecrets(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="rb-marked-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name
        self.state = os.path.join(self.folder, "state")
        self.keys = tempfile.NamedTemporaryFile("w", suffix=".csv", prefix="rb-keys-")
        self.addCleanup(self.keys.close)
        self.keys.write("Access key ID,Secret access key\ntest,test\nmarked,%s\n" % CLOUD_SECRETS["AWS_SECRET_ACCESS_KEY"])
        self.keys.flush()
        cloud = MockCloud(BIN, self.folder, "--state", os.path.join(self.folder, "cloud"), "--credentials",
                          self.keys.name)
        cloud.__enter__()
        self.addCleanup(cloud.__exit__)
        self.crash = kill9.Crash(BIN, self.folder, cloud)

    def plan(self, job):
        self.crash.write("work/job.yaml",
                         job.replace("run: sh train.sh", 'secrets: [MY_TOKEN]\nrun: test -n "$MY_TOKEN" && sh train.sh'))
        return self.crash.make_plan("work/job.yaml", "marked.json")

    def start(self, plan, **options):
        env = dict(self.crash.env, **CLOUD_SECRETS, MY_TOKEN=JOB_SECRET, RB_TRACE="provider,journal,executor,engine")
        return subprocess.Popen([os.path.join(BIN, "rbrun"), plan, "--state-dir", self.state, "--json"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=self.folder, **options)

    def watch(self, plan):
        """The run, from its beginning to its end; returns the names of the programs that were looked into."""
        watcher = Watcher()
        watcher.start()
        try:
            process = self.start(plan, umask=0)
            out, err = process.communicate(timeout=120)
        finally:
            watcher.end()
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("trace journal: ", err)  # it was traced
        self.assertEqual(watcher.found, set())
        self.assertNotIn(MARK, out + err)
        found = subprocess.run(["grep", "-rl", MARK, self.folder], capture_output=True, text=True, check=False)
        self.assertEqual(found.stdout, "")
        self.check_modes()
        return watcher.seen

    def check_modes(self):
        """Whatever the caller's umask was: no one else may read or write what the run left. The user's own files keep
        their modes, in a copy behind directories that are closed."""
        n = 0
        for root, folders, names in os.walk(self.state):
            folders[:] = [f for f in folders if f != "work"]
            for path in [root] + [os.path.join(root, name) for name in names]:
                if not os.path.islink(path):
                    self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)
                    n += 1
        self.assertGreater(n, 5)

    def test_a_run_on_a_cloud(self):
        seen = self.watch(self.plan(kill9.JOB))
        self.assertIn("ssh", seen)

    def test_a_run_on_this_machine(self):
        profile = os.path.join(self.folder, "work", "profile.yaml")
        with open(profile, "w", encoding="utf-8") as f:
            f.write(kill9.PROFILE.replace("accelerator: T4", "accelerator: CPU"))
        self.crash.env["RB_LOCAL_SLOTS"] = "2"
        job = kill9.JOB.replace("[mock/us-east-1]", "[local]").replace(", instance_types: [two.gpus], max_nodes: 2", "")
        seen = self.watch(self.plan(job))
        self.assertTrue(seen & {"sleep", "dash", "bash"}, seen)

    def test_the_watcher_sees_what_there_is_to_see(self):
        watcher = Watcher()
        child = subprocess.Popen(["sleep", "30"], env=dict(os.environ, SLURM_JWT=MARK))
        try:
            deadline = time.time() + 10
            while not watcher.found and time.time() < deadline:
                watcher.look(str(child.pid))
        finally:
            child.kill()
            child.wait()
        self.assertEqual(len(watcher.found), 1)

    def test_no_memory_is_left_in_a_core_file(self):
        unlimited = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)  # noqa: E731
        if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
            unlimited = lambda: None  # noqa: E731
        process = self.start(self.plan(kill9.JOB), preexec_fn=unlimited)
        process.stdout.readline()  # it is at work
        limits = read("/proc/%d/limits" % process.pid).decode()
        process.send_signal(signal.SIGABRT)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = -signal.SIGABRT
        process.stdout.close()
        process.stderr.close()
        self.assertRegex(limits, r"(?m)^Max core file size +0 +0 ")
        self.assertTrue(os.WIFSIGNALED(status))
        self.assertFalse(os.WCOREDUMP(status))
        self.crash.run(["rbrun", "gc", "--older-than", "0s", "--state-dir", self.state])

    def test_no_one_else_may_look_into_the_process(self):
        """What a process that is not dumpable has in /proc belongs to root, even if the process does not."""
        user = 65534 if os.geteuid() == 0 else os.geteuid()
        copy = os.path.join(self.folder, "rbrun")  # the build may lie where that user may not go
        shutil.copy(os.path.join(BIN, "rbrun"), copy)
        os.chmod(self.folder, 0o755)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = "http://127.0.0.1:%d" % silent.getsockname()[1]
            process = subprocess.Popen([copy, "doctor", "--infra", "mock/us-east-1"], user=user, cwd="/",
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=dict(self.crash.env, **CLOUD_SECRETS, AWS_ENDPOINT_URL=url))
            try:
                silent.settimeout(30)
                with silent.accept()[0]:  # it is at work
                    owner = os.stat("/proc/%d/environ" % process.pid).st_uid
            finally:
                process.kill()
                process.communicate()
        self.assertEqual(owner, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    arguments, rest = parser.parse_known_args()
    BIN = os.path.abspath(arguments.bin)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
