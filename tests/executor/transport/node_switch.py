"""The dead man's switch in every shell that there is: what bootcmd runs and what a heartbeat runs, on a node whose minute
is a second, whose system lies in a directory and whose systemctl and poweroff write down that they were called."""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SPEED = 60
TOOLS = ("systemctl", "shutdown", "poweroff")
TOOL = """#!/bin/sh
echo "${0##*/} $*" >>"$CALLS"
[ "$1 $2" != "--no-block start" ] || { [ -e "$CALLS.unit" ] && { sh "$RB_RUN_DIR-switch/switch" watch </dev/null >/dev/null 2>&1 & exit 0; }; }
[ -e "$CALLS.works" ]
"""


def wait_for(what, condition, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited %d s for %s" % (seconds, what))


class Node:
    def __init__(self, printer, shell):
        self.printer, self.shell = printer, shell
        self.root = tempfile.mkdtemp(prefix="rb-switch-")
        self.dir, self.calls_path = self.path("run/rb-switch"), self.path("calls")
        os.makedirs(self.path("run"))
        os.makedirs(self.path("bin"))
        for name in TOOLS:
            with open(self.path("bin", name), "w") as f:
                f.write(TOOL)
            os.chmod(self.path("bin", name), 0o755)
        # `sh` in what is sent is the shell under test.
        with open(self.path("bin", "sh"), "w") as f:
            f.write('#!/bin/sh\nexec %s "$@"\n' % shell)
        os.chmod(self.path("bin", "sh"), 0o755)
        self.env = {"PATH": self.path("bin") + ":" + os.environ["PATH"], "RB_RUN_DIR": self.path("run/rb"),
                    "RB_CLOCK_PERMILLE": str(SPEED * 1000), "CALLS": self.calls_path, "HOME": self.root}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.watchdogs():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.root)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def watchdogs(self):
        """Processes of this node's watchdogs."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if (self.dir + "/switch").encode() in words and b"watch" in words:
                found.append(int(pid))
        return found

    def sh(self, command, text=""):
        return subprocess.run(self.shell.split() + ["-c", command], env=self.env, input=text, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.strip()

    def boot(self, seconds):
        text = subprocess.check_output([self.printer, "user-data", "ssh-ed25519 AAAA", "60"], text=True)
        block = re.search(r"^bootcmd:\n  - \|\n((?:    .*\n|\n)*)", text, re.M).group(1)
        script = "".join(line[4:] or "\n" for line in block.splitlines(True))
        assert script.count(" beat 3600 ") == 1
        self.script = script.replace(" beat 3600 ", " beat %d " % seconds)
        checked = subprocess.run(self.shell.split() + ["-n"], input=self.script, text=True, check=False)
        assert checked.returncode == 0
        return self.sh(self.script)

    def beat(self, seconds, cut=None):
        command = subprocess.check_output([self.printer, "beat", str(seconds)], text=True)
        text = subprocess.check_output([self.printer, "beat-input"], text=True)
        # sudo, where the test is not run by root, is not what is tested here
        return self.sh(command.replace("sudo -n", ""), text[:cut]).splitlines()[-1]

    def look(self):
        return self.sh('sh "$RB_RUN_DIR-switch/switch" look')

    def calls(self):
        try:
            with open(self.calls_path) as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def read(self, name):
        with open(os.path.join(self.dir, name)) as f:
            return f.read()

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)

    def kill_all(self, how=signal.SIGKILL):
        for pid in self.watchdogs():
            os.kill(pid, how)


def left(report):
    assert re.fullmatch(r"rb-switch armed -?\d+", report), report
    return int(report.split()[-1])


def powers_off_at_its_deadline(node):
    open(node.calls_path + ".works", "w").close()
    began = time.monotonic()
    assert 0 < left(node.boot(120)) <= 120
    call = wait_for("the end", node.calls)
    assert call == ["systemctl poweroff -i"], call
    assert time.monotonic() - began > 1.9


def tries_everything(node):
    """No tool works: the kernel itself is asked last."""
    os.makedirs(node.dir)
    node.write("sysrq", "")
    node.boot(30)
    wait_for("the kernel to be asked", lambda: node.read("sysrq") == "o\n")
    assert node.calls()[:5] == ["systemctl poweroff -i", "shutdown -h now", "systemctl poweroff -f", "poweroff -f",
                                "systemctl poweroff -ff"], node.calls()


def heartbeats_move_it(node):
    open(node.calls_path + ".works", "w").close()
    began = time.monotonic()
    node.boot(120)
    assert 0 < left(node.beat(240)) <= 240
    assert 0 < left(node.beat(0)) < 240
    wait_for("the end", node.calls)
    assert time.monotonic() - began > 3.9, "it ended although a heartbeat came"


def a_dead_or_stopped_one_is_noticed(node):
    node.boot(36000)
    first = node.watchdogs()
    assert len(first) == 1, first
    end = node.read("ends-at")
    node.kill_all()
    wait_for("its death", lambda: not node.watchdogs())
    assert node.look().startswith("rb-switch not-armed"), node.look()
    assert left(node.beat(0)) > 0 and node.read("ends-at") == end
    assert len(node.watchdogs()) == 1 and node.watchdogs() != first
    # One that lives and does not look: a minute of this machine is made to have passed.
    node.kill_all(signal.SIGSTOP)
    pid, seen, known = node.read("seen").split()
    node.write("seen", "%s %d %s\n" % (pid, max(0, int(seen) - 61 * SPEED - 60), known))
    assert node.look().startswith("rb-switch not-armed"), node.look()
    assert left(node.beat(0)) > 0 and len(node.watchdogs()) == 2
    # A process of that number that is none of ours.
    node.kill_all()
    node.write("seen", "1 %s %s\n" % (seen, known))
    assert node.look().startswith("rb-switch not-armed"), node.look()


def damage_moves_nothing(node):
    node.boot(36000)
    seen = node.read("seen").split()
    for text in ("", "soon\n", "-5\n", "1 2\n"):
        node.write("ends-at", text)
        assert 35000 < left(node.look()) <= 36000, (text, node.look())
    os.remove(os.path.join(node.dir, "ends-at"))
    assert 35000 < left(node.look()) <= 36000 and node.read("seen").split()[2] == seen[2]
    assert 60 < left(node.beat(100)) <= 100
    # A script that was cut off on its way is not installed.
    whole = node.read("switch")
    assert left(node.beat(36000, cut=-30)) > 0
    assert node.read("switch") == whole
    # A second boot's worth of the same: nothing is started twice.
    assert left(node.sh(node.script)) > 0 and len(node.watchdogs()) == 1


def systemd_runs_it_where_it_does(node):
    os.makedirs(os.path.join(node.dir, "units"))
    open(node.calls_path + ".unit", "w").close()
    node.boot(36000)
    assert node.calls() == ["systemctl --no-block start rb-switch.service"], node.calls()
    unit = node.read("units/rb-switch.service")
    for line in ("DefaultDependencies=no", "Restart=always", "ExecStart=/bin/sh %s/switch watch" % node.dir):
        assert line in unit.splitlines(), unit
    assert len(node.watchdogs()) == 1
    node.kill_all()
    os.remove(node.calls_path + ".unit")  # and where systemd refuses, it goes alone
    assert left(node.beat(36000)) > 0
    assert len(node.watchdogs()) == 1


CASES = [powers_off_at_its_deadline, tries_everything, heartbeats_move_it, a_dead_or_stopped_one_is_noticed,
         damage_moves_nothing, systemd_runs_it_where_it_does]


def run(printer, shell, case):
    """What went wrong, or None."""
    with Node(os.path.abspath(printer), shell) as node:
        try:
            case(node)
        except Exception:  # noqa: BLE001
            log = os.path.join(node.dir, "log")
            return "%s in %s:\n%s\nits log: %s" % (case.__name__, shell, traceback.format_exc(),
                                                   open(log).read() if os.path.exists(log) else "none")
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--printer", required=True)
    options = parser.parse_args()
    shells = [s for s in ("dash", "bash --posix", "busybox sh") if shutil.which(s.split()[0])]
    assert shells
    with concurrent.futures.ThreadPoolExecutor(6) as pool:  # they mostly wait
        bad = list(filter(None, pool.map(lambda pair: run(options.printer, *pair), [(s, c) for s in shells for c in CASES])))
    print("\n".join(bad) or "%d cases in %s" % (len(CASES), ", ".join(shells)))
    sys.exit(1 if bad else 0)
