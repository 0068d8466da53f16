"""Tests of one class with another host, which here is a real sshd on loopback with a home of its own."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "cli"))
from mock_cloud import free_port  # noqa: E402
from real_run import RealRun, profile, user  # noqa: E402
from away_job import SECRET, TRAIN  # noqa: E402

SSHD = """ListenAddress 127.0.0.1
Port %(port)d
HostKey %(top)s/keys/host
AuthorizedKeysFile %(top)s/keys/user.pub
PidFile none
UsePAM no
PasswordAuthentication no
StrictModes no
UseDNS no
KexAlgorithms -sntrup*
ForceCommand %(top)s/session
SetEnv HOME=%(top)s/there
"""
SESSION = """#!/bin/sh
export HOME=%(top)s/there RB_LOCAL_SLOTS=2 RB_DB=%(top)s/there/none.db PATH=%(top)s/there/bin:/usr/bin:/bin
unset PASSWORD_OF_TEST XDG_STATE_HOME XDG_CACHE_HOME
[ ! -e %(top)s/there.env ] || . %(top)s/there.env
cd "$HOME"
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
CONFIG = """IdentityFile %(top)s/keys/user
IdentitiesOnly yes
UserKnownHostsFile %(top)s/keys/known
"""
# Counts calls of the host, and may kill the one that called it before, during or after one: the n-th, or the first with this
# word. A call may also be cut. Connections to nodes pass.
SSH = """#!/bin/sh
ssh="/usr/bin/ssh -F %(top)s/config"
case "$*" in *" rb '"*) ;; *) exec $ssh "$@" ;; esac
n=$(($(cat "$HOME/calls" 2>/dev/null || echo 0) + 1))
echo $n >"$HOME/calls"
how=${RB_TEST_KILL_AT%%%% *} what=${RB_TEST_KILL_AT#* }
case "$*" in *" '$what'"*) ;; *) [ "$what" = "$n" ] || how= ;; esac
case $how in
before) kill -9 $PPID; exit 1 ;;
cut) $ssh "$@" <&0 & sleep 0.3; kill -9 $!; exit 255 ;;
during) { sleep ${RB_TEST_KILL_AFTER:-0.2}; kill -9 $PPID; } & ;;
esac
$ssh "$@"
code=$?
[ "$how" != after ] || kill -9 $PPID
exit $code
"""


def ssh_keygen(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


class HostCase(unittest.TestCase):
    """.place is the other host, .there its home; .home is a test's own on this one, .here its RealRun. Of the class: .top."""
    bin_dir = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rb-at-")
        cls.top = top = cls.temporary.name
        cls.port = free_port()
        cls.values = {"top": top, "port": cls.port}
        for name in ("keys", "there", "here", "tools"):
            os.mkdir(os.path.join(top, name), 0o700)
        for name in ("host", "user"):
            ssh_keygen(os.path.join(top, "keys", name))
        with open(top + "/keys/host.pub", encoding="utf-8") as key, open(top + "/keys/known", "w", encoding="utf-8") as known:
            known.write("[127.0.0.1]:%d %s" % (cls.port, key.read()))
        for name, text, mode in (("sshd_config", SSHD, 0o600), ("session", SESSION, 0o700), ("config", CONFIG, 0o600),
                                 ("tools/ssh", SSH, 0o700)):
            with open(os.path.join(top, name), "w", encoding="utf-8") as f:
                f.write(text % cls.values)
            os.chmod(os.path.join(top, name), mode)
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        cls.sshd = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", top + "/sshd_config", "-E", top + "/sshd.log"])
        cls.place = "ssh:%s@127.0.0.1:%d" % (user(), cls.port)

    @classmethod
    def tearDownClass(cls):
        cls.sshd.terminate()
        cls.sshd.wait()
        cls.temporary.cleanup()

    def setUp(self):
        self.home = os.path.join(self.top, "here", self.id().rsplit(".", 1)[-1])
        os.mkdir(self.home)
        self.here = RealRun(self.bin_dir, self.home, LC_ALL="C.UTF-8", TERM="xterm-256color", RB_LOCAL_SLOTS="2", PASSWORD_OF_TEST=SECRET)
        self.here.env["PATH"] = ":".join((self.top + "/tools", os.path.abspath(self.bin_dir), "/usr/bin:/bin"))
        self.env, self.say, self.write = self.here.env, self.here.say, self.here.write
        self.write("profile.yaml", "exact: true\n" + profile("paced", 0.1, accelerator="CPU", startup_s=0.1, checkpoint_s=0.1,
                                                             queue_s=0, init_s=0))
        self.say("rbprofile", "import", "profile.yaml")
        self.write("job/src/train.sh", TRAIN)
        self.before = set(self.runs())
        self.until(lambda: subprocess.run([self.top + "/tools/ssh", *self.address(), "true"], env=self.env, capture_output=True,
                                          check=False).returncode == 0)
        self.write("calls", "0")

    def tearDown(self):
        for run in self.new_runs():
            if self.holder(run):
                self.say("rbrun", "stop", run + "@" + self.place)

    # --- tools

    def address(self):
        return ["-p", str(self.port), self.place[4:].rsplit(":", 1)[0]]

    def there(self, *path):
        return os.path.join(self.top, "there", *path)

    def runs(self):
        root = self.there(".local/state/rubberband/runs")
        return sorted(set(os.listdir(root)) - {"moves", "elsewhere"}) if os.path.isdir(root) else []

    def new_runs(self):
        return [run for run in self.runs() if run not in self.before]

    def holder(self, run):
        path = self.there(".local/state/rubberband/runs", run, "journal.db.lock")
        return os.path.exists(path) and subprocess.run(["flock", "-n", path, "true"], check=False).returncode != 0

    def until(self, what, seconds=30):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "it did not come about")
            time.sleep(0.05)

    def listed(self):
        return {row["run"]: row for row in json.loads(self.say("rbrun", "list", "--json").stdout)["runs"]}
