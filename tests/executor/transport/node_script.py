"""node_script.sh as a node runs it, where what it is sent breaks off or comes twice: a controller that is killed, or a connection
that is cut, closes the input of a command at any byte. And local_keeper.sh, whose controller is killed before its first look.
Usage: node_script.py --root SOURCE [TEST]..."""
import argparse
import base64
import glob
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = None
NONCE = "0" * 32
ENVIRONMENT = "export SAID='it'\\''s here'\nexport RB_PARAMS_JSON='{}'\nrb_resume=0\nrb_checkpoint_dir='ckpt'\n\nrb_command='echo \"said $SAID\"'\nrb_input=whole\n"
SETUP = "export SAID='here'\nrb_command='echo \"$SAID\" >>set-up'\nrb_input=whole\n"


def archive(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo("./" + name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return out.getvalue()


class Node(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="rb-node-script-")
        self.addCleanup(shutil.rmtree, self.base)
        shutil.copy(ROOT + "/executor/transport/node_script.sh", self.base + "/node")
        os.mkdir(self.base + "/work")

    def begin(self, *words):
        return subprocess.Popen(["sh", self.base + "/node", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def say(self, *words, sent=b""):
        with self.begin(*words) as node:
            out, err = node.communicate(sent, timeout=30)
        return node.returncode, out.decode(), err.decode()

    def kept(self, name):
        with open(os.path.join(self.base, name), encoding="utf-8") as f:
            return f.read()


class NodeScript(Node):
    def test_a_trial_whose_environment_breaks_off_is_not_started(self):
        whole = ENVIRONMENT.encode()
        for n in [0] + [i + 1 for i, byte in enumerate(whole[:-1]) if byte == 10]:  # nothing, and each beginning of whole lines
            code, _, said = self.say("run", "0", "0", NONCE, sent=whole[:n])
            self.assertEqual(code, 255, "%d bytes: %s" % (n, said))
            self.assertFalse(os.path.exists(self.base + "/trials/0/0/pid"))
        code, out, said = self.say("run", "0", "0", NONCE, sent=whole)
        self.assertIn("said it's here\n", out, said)
        self.assertIn("@rb-exit %s 0\n" % NONCE, out)
        self.assertEqual([name for name in os.listdir(self.base + "/trials/0/0") if name.startswith("env")], [])

    def test_a_set_up_that_breaks_off_is_not_begun(self):
        whole = SETUP.encode()
        for n in (0, 20, whole.index(b"rb_input")):
            self.assertEqual(self.say("setup", sent=whole[:n])[0], 255)
            self.assertFalse(os.path.exists(self.base + "/work/set-up"))
        self.assertEqual(self.say("setup", sent=whole)[0], 0)
        self.assertEqual(self.kept("work/set-up"), "here\n")
        for sent, runs in ((whole, 1), (whole.replace(b"here", b"there"), 2)):
            self.assertEqual(self.say("setup", sent=sent)[0], 0)
            self.assertEqual(len(self.kept("work/set-up").splitlines()), runs, "it is run once, unless it is another one")

    def test_a_set_up_that_fails_is_no_lost_connection(self):
        for code, expected in ((255, 1), (125, 1), (7, 7)):
            sent = "rb_command='echo no room; exit %d'\nrb_input=whole\n" % code
            self.assertEqual(self.say("setup", sent=sent.encode()), (expected, "", "no room\n"))

    def test_data_is_not_fetched_by_half_a_command(self):
        whole = b"rb_data=''\nrb_command='echo got >got'\nrb_input=whole\n"
        self.assertEqual(self.say("data", sent=whole[:11])[0], 255)
        self.assertEqual(self.say("data", sent=whole)[0], 0)
        self.assertEqual(self.kept("work/got"), "got\n")

    def test_a_checkpoint_that_breaks_off_between_two_files_is_not_taken_for_whole(self):
        whole = archive(first=b"1" * 512, second=b"2" * 512)
        cut = 2 * 512  # tar itself sees nothing wrong there
        code, _, said = self.say("load", "3", "name", str(len(whole)), sent=whole[:cut])
        self.assertEqual(code, 255)
        self.assertIn("%d of %d bytes" % (cut, len(whole)), said)
        self.assertFalse(os.path.exists(self.base + "/trials/3/resume"))
        self.assertEqual(self.say("load", "3", "name", str(len(whole)), sent=whole)[0], 0)
        self.assertEqual(sorted(os.listdir(self.base + "/trials/3/resume")), ["first", "second"])

    def test_two_transfers_of_a_checkpoint_at_once(self):
        """That of a controller that was killed may still be on its way. Whichever ends first, both succeed and it is whole."""
        whole = archive(first=b"1" * 20000, second=b"2" * 20000)
        for slow_breaks_off in (False, True):
            with self.subTest(slow_breaks_off=slow_breaks_off):
                name = "name-%d" % slow_breaks_off
                slow = self.begin("load", "4", name, str(len(whole)))
                slow.stdin.write(whole[:1024])
                slow.stdin.flush()
                until = time.monotonic() + 20
                while not glob.glob(self.base + "/trials/4/resume.new*"):
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.02)
                self.assertEqual(self.say("load", "4", name, str(len(whole)), sent=whole)[0], 0)
                if not slow_breaks_off:
                    slow.stdin.write(whole[1024:])
                slow.stdin.close()
                self.assertEqual(slow.wait(20), 255 if slow_breaks_off else 0, slow.stderr.read())
                slow.stdout.close()
                slow.stderr.close()
                for file, byte in (("first", "1"), ("second", "2")):
                    self.assertEqual(self.kept("trials/4/resume/" + file), byte * 20000)
                self.assertEqual(sorted(os.listdir(self.base + "/trials/4")), ["resume", "resume.digest", "resume.lock"])


class FullDisk(Node):
    """Small disks of their own need root. What a full disk causes is said so that rbrun can tell it from a fault of the trial."""
    def setUp(self):
        super().setUp()
        trials = self.base + "/trials"
        os.mkdir(trials)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", trials], capture_output=True, check=False).returncode:
            self.skipTest("a small disk of its own cannot be mounted here; that needs root")
        self.addCleanup(subprocess.run, ["umount", "--lazy", trials], check=True)

    def fill(self, left=0):
        path = self.base + "/trials/filler"
        with open(path, "wb", buffering=0) as f, self.assertRaises(OSError):
            while True:
                f.write(b"x" * 512)
        os.truncate(path, os.path.getsize(path) - left)

    def follow(self, text=ENVIRONMENT):
        return self.say("run", "0", "0", NONCE, sent=text.encode())

    def test_a_checkpoint_that_does_not_fit(self):
        whole = archive(big=b"1" * 100000)
        code, _, said = self.say("load", "3", "name", str(len(whole)), sent=whole)
        self.assertNotIn(code, (0, 255))
        self.assertIn("No space left on device", said)
        self.assertEqual(os.listdir(self.base + "/trials/3"), [])
        self.fill()
        code, _, said = self.say("load", "4", "name", str(len(whole)), sent=whole)
        self.assertNotIn(code, (0, 255))
        self.assertIn("No space left on device", said)

    def test_a_trial_that_cannot_be_begun(self):
        self.fill()
        code, out, said = self.follow()
        self.assertNotIn(code, (0, 255))
        self.assertEqual(out, "")
        self.assertIn("No space left on device", said)

    def test_a_checkpoint_that_cannot_be_copied_to_where_it_goes_on(self):
        os.makedirs(self.base + "/trials/0/resume")
        with open(self.base + "/trials/0/resume/state", "wb") as f:
            f.write(b"x" * 20000)
        self.fill(left=16384)
        code, out, _ = self.follow(ENVIRONMENT.replace("rb_resume=0", "rb_resume=1\nrb_in_place=1").replace("'ckpt'", "'../place/ckpt'"))
        self.assertEqual(code, 0)
        found = [line.split() for line in out.splitlines() if line.startswith("@rb-file")]
        self.assertEqual([words[3] for words in found], ["unready"], out)
        self.assertIn("No space left on device", base64.b64decode(found[0][2]).decode())
        self.assertIn("@rb-exit %s 1\n" % NONCE, out)
        self.assertNotIn("said it's here", out)

    def test_what_runs_or_has_ended_is_followed_again(self):
        text = ENVIRONMENT.replace("echo", "sleep 1; echo")
        first = self.begin("run", "0", "0", NONCE)
        first.stdin.write(text.encode())
        first.stdin.close()
        until = time.monotonic() + 20
        while not os.path.exists(self.base + "/trials/0/0/params.json"):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        with open(self.base + "/trials/0/0/out", "a", encoding="utf-8") as f:
            f.write("begun\n")  # the page of its output is there
        self.fill()
        for _ in range(2):
            code, out, said = self.follow(text)
            self.assertEqual((code, said), (0, ""))
            self.assertIn("said it's here\n", out)
        first.wait(20)
        first.stdout.close()
        first.stderr.close()


class Keeper(unittest.TestCase):
    def test_a_container_in_which_nothing_trains_yet_is_ended(self):
        home = os.path.realpath(tempfile.mkdtemp(prefix="rb-keeper-"))
        self.addCleanup(shutil.rmtree, home)
        os.makedirs(home + "/rb/run")
        for name, text in (("rb/run/container", "podman rb-run-0 x@sha256:0\n"), (".beat", "1 1 2\n"), ("podman", "#!/bin/sh\necho \"$@\" >>asked\n")):
            with open(os.path.join(home, name), "w", encoding="utf-8") as f:
                f.write(text)
        os.chmod(home + "/podman", 0o755)
        subprocess.run(["sh", ROOT + "/executor/transport/local_keeper.sh"], cwd=home, timeout=60, check=True,
                       env=dict(os.environ, PATH=home + ":" + os.environ["PATH"]))
        with open(home + "/asked", encoding="utf-8") as f:
            self.assertEqual(f.read(), "rm -f rb-run-0\n")

    def test_trials_have_their_time_where_the_controller_was_never_seen(self):
        home = os.path.realpath(tempfile.mkdtemp(prefix="rb-keeper-"))
        self.addCleanup(shutil.rmtree, home)
        with open(home + "/.beat", "w", encoding="utf-8") as f:
            f.write("1 1 3\n")  # no process 1 began then
        with subprocess.Popen(["sleep", "60"], env=dict(os.environ, RB_PREEMPT_FILE=home + "/rb/run/trials/0/0/preempt")) as trial:
            began = time.monotonic()
            done = subprocess.run(["sh", ROOT + "/executor/transport/local_keeper.sh"], cwd=home, timeout=60, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertGreaterEqual(time.monotonic() - began, 2)
            self.assertEqual(trial.wait(20), -9)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", required=True)
    args, rest = parser.parse_known_args()
    ROOT = os.path.abspath(args.root)
    unittest.main(argv=[sys.argv[0]] + rest)
