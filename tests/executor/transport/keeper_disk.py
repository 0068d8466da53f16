"""The keeper of a pod on a full disk: heartbeats go on moving its deadline, a damaged file changes nothing, and a pod that cannot
begin says why. Small disks of their own need root. Usage: keeper_disk.py --printer PRINT_NODE --keeper k8s_keeper.sh"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77
ARGS = None


def mount(folder):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False).returncode == 0


class Keeper(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-keeper-")
        self.addCleanup(temporary.cleanup)
        self.home = os.path.join(temporary.name, "home")
        os.mkdir(self.home)
        self.assertTrue(mount(self.home))
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.home], check=True)  # its last sleep may still be there
        with open(ARGS.keeper, encoding="utf-8") as f:
            self.script = "rb_hard_limit_s=3600\n" + f.read()

    def fill(self):
        with open(os.path.join(self.home, "filler"), "wb", buffering=0) as f, self.assertRaises(OSError):
            while True:
                f.write(b"x" * 512)

    def expires(self):
        with open(os.path.join(self.home, ".expires"), encoding="utf-8") as f:
            return f.read()

    def begin(self):
        keeper = subprocess.Popen(["sh", "-c", self.script], env=dict(os.environ, HOME=self.home), stderr=subprocess.PIPE, text=True)
        self.addCleanup(keeper.stderr.close)
        self.addCleanup(keeper.wait)
        self.addCleanup(keeper.kill)
        return keeper

    def started(self):
        keeper, until = self.begin(), time.monotonic() + 20
        while not os.path.exists(os.path.join(self.home, ".expires")) or not self.expires():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        return keeper

    def beat(self, seconds):
        command = subprocess.run([ARGS.printer, "beat-by-file", str(seconds)], capture_output=True, text=True, check=True).stdout
        return subprocess.run(["sh", "-c", command], cwd=self.home, capture_output=True, text=True, check=False).stdout

    def test_a_heartbeat_on_a_full_disk_moves_the_deadline(self):
        keeper = self.started()
        self.fill()
        self.assertRegex(self.beat(7200), r"^rb-switch armed 7(200|1\d\d)\n$")
        self.assertAlmostEqual(int(self.expires()), time.time() + 7200, delta=100)
        self.beat(1)
        self.assertEqual(keeper.wait(20), 0)  # and is obeyed

    def test_a_damaged_file_changes_nothing(self):
        keeper = self.started()
        for text in ("", "soon\n"):
            with open(os.path.join(self.home, ".expires"), "w", encoding="utf-8") as f:
                f.write(text)
            time.sleep(2.5)  # it looks every second
            self.assertIsNone(keeper.poll())
        os.remove(os.path.join(self.home, ".expires"))
        time.sleep(2.5)
        self.assertIsNone(keeper.poll())
        self.beat(1)
        self.assertEqual(keeper.wait(20), 0)

    def test_a_pod_that_cannot_begin_says_why(self):
        self.fill()
        keeper = self.begin()
        self.assertNotEqual(keeper.wait(20), 0)
        self.assertIn(".expires: make room there", keeper.stderr.read())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--printer", required=True)
    parser.add_argument("--keeper", required=True)
    ARGS, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="rb-keeper-") as probe:
        if not mount(probe):
            print("skipped: a small disk of its own cannot be mounted here; that needs root")
            sys.exit(SKIPPED)
        subprocess.run(["umount", probe], check=True)
    unittest.main(argv=[sys.argv[0], *rest])
