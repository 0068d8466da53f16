"""The dead man's switch under the real thing: Debian's own cloud-init and systemd, booted by systemd-nspawn with the user
data that rbrun sends. Root only. Each case boots a machine of its own; they run side by side, for a deadline is a minute
at least. The root file system is made once by make_rootfs.sh."""
import argparse
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SKIP = 77
OLD = "#cloud-config\nbootcmd:\n  - shutdown -h +60\nruncmd:\n  - mkdir -p /run/rb\n  - touch /run/rb/ready\n"
START = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
umount -R /sys/fs/cgroup 2>/dev/null || :
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /sys/fs/cgroup/$NAME
echo $$ >/sys/fs/cgroup/$NAME/cgroup.procs
mount -t tmpfs tmpfs $DIR/disk
mkdir $DIR/disk/upper $DIR/disk/work $DIR/disk/root
mount -t overlay overlay -o lowerdir=$ROOTFS,upperdir=$DIR/disk/upper,workdir=$DIR/disk/work $DIR/disk/root
mkdir -p $DIR/disk/root/var/lib/cloud/seed/nocloud
cp $DIR/seed/* $DIR/disk/root/var/lib/cloud/seed/nocloud/
[ -z "$PREPARE" ] || chroot $DIR/disk/root sh -ec "$PREPARE"
code=133 # a reboot
while [ $code = 133 ]; do
    code=0
    systemd-nspawn --quiet --boot -D $DIR/disk/root --private-network --register=no --keep-unit --machine=$NAME \\
        --console=pipe --link-journal=no || code=$?
done
exit $code
"""


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


class Machine:
    """Boots at once; `with` ends it. prepare: shell text for its root file system before the boot."""
    count = 0

    def __init__(self, options, user_data, prepare=""):
        Machine.count += 1
        self.options = options
        self.name = "rb-boot-%d-%d" % (os.getpid(), Machine.count)
        self.dir = tempfile.mkdtemp(prefix="rb-boot-")
        os.makedirs(os.path.join(self.dir, "seed"))
        os.makedirs(os.path.join(self.dir, "disk"))
        for name, text in (("user-data", user_data), ("meta-data", "instance-id: i-1\nlocal-hostname: node\n")):
            with open(os.path.join(self.dir, "seed", name), "w") as f:
                f.write(text)
        self.log = open(os.path.join(self.dir, "console"), "w+b")
        env = dict(os.environ, NAME=self.name, DIR=self.dir, ROOTFS=os.path.abspath(options.rootfs), PREPARE=prepare)
        self.process = subprocess.Popen(["unshare", "-m", "sh", "-c", START], env=env, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        self.began = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        leader = self.leader()
        if leader:
            os.kill(leader, signal.SIGKILL)
        self.process.terminate()
        for pid in children(self.process.pid) if self.process.poll() is None else []:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        subprocess.run(["unshare", "-m", "sh", "-c", "umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup; "
                        "find /sys/fs/cgroup/%s -depth -type d -exec rmdir {} +" % self.name],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def leader(self):
        """Its first process, seen from here; 0: it is not up."""
        try:
            for nspawn in children(self.process.pid):
                for child in children(nspawn):
                    with open("/proc/%d/comm" % child) as f:
                        if f.read().strip() == "systemd":
                            return child
        except OSError:
            pass
        return 0

    def run(self, command, text="", user=None):
        """Exit code and output of a shell command on the machine; (-1, "") while it is not up."""
        leader = self.leader()
        if not leader:
            return -1, ""
        argv = ["su", "-", user, "-c", command] if user else ["sh", "-c", command]
        done = subprocess.run(["nsenter", "-t", str(leader), "-a"] + argv, input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def wait(self, command, seconds=60):
        """Until the command succeeds there; its output."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            code, out = self.run(command)
            if code == 0:
                return out
            assert self.process.poll() is None, "%s ended; its console:\n%s" % (self.name, self.console())
            time.sleep(0.1)
        raise AssertionError("waited %d s for: %s\n%s\n%s" % (seconds, command, out, self.console()))

    def console(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-4000:]

    def booted(self):
        self.wait("test -e /run/rb/ready && systemctl is-active -q ssh dbus", 90)
        self.wait("cloud-init status | grep -Eq 'done|error'")

    def beat(self, seconds, user="debian"):
        """A heartbeat as rbrun sends it, by the image's login user: what it reports."""
        command = subprocess.check_output([self.options.printer, "beat", str(seconds)], text=True)
        text = subprocess.check_output([self.options.printer, "beat-input"], text=True)
        lines = self.run(command, text, user)[1].splitlines()
        return next((line for line in lines if line.startswith("rb-switch ")), "\n".join(lines))

    def left(self, report):
        assert report.startswith("rb-switch armed "), "%s\n%s" % (report, self.run("journalctl -u rb-switch; ls -l "
                                                                                   "/run/rb-switch")[1])
        return int(report.split()[-1])

    def ends_within(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s still runs after %d s:\n%s" % (self.name, seconds, self.console())) from None


def user_data(options, minutes):
    with open(os.path.join(options.folder, "key.pub")) as f:
        key = " ".join(f.read().split()[:2])
    return subprocess.check_output([options.printer, "user-data", key, str(minutes)], text=True)


def entered_us(m, unit):
    out = m.run("systemctl show -P ActiveEnterTimestampMonotonic %s" % unit)[1]
    return int(out.strip() or 0)


def what_was_sent_before_arms_nothing(options):
    """That this test can fail: `shutdown -h +60` in bootcmd."""
    with Machine(options, OLD) as m:
        m.booted()
        assert "Failed to connect to bus" in m.run("journalctl -b --no-pager; cat /var/log/cloud-init-output.log")[1]
        assert m.run("test -e /run/systemd/shutdown/scheduled")[0] == 1
        assert m.run("sh /run/rb-switch/switch look")[0] != 0


def no_one_comes(options):
    """rbrun is dead before its first heartbeat."""
    with Machine(options, user_data(options, 1)) as m:
        m.wait("test -e /run/rb-switch/seen", 30)
        armed = time.monotonic()
        m.booted()
        assert 0 < m.left(m.run("sh /run/rb-switch/switch look")[1].strip()) <= 60
        switch, bus, ssh = (entered_us(m, unit) for unit in ("rb-switch", "dbus", "ssh"))
        assert 0 < switch < bus and switch < ssh, (switch, bus, ssh)
        assert m.run("systemctl is-active cloud-init cloud-final")[0] == 0
        m.ends_within(90)
        lived = time.monotonic() - armed
        assert 50 < lived < 90, lived
        return "armed %.1f s before D-Bus, ended %.0f s later" % ((bus - switch) / 1e6, lived)


def a_heartbeat_moves_the_end(options):
    with Machine(options, user_data(options, 1)) as m:
        m.wait("test -e /run/rb-switch/seen", 30)
        began = time.monotonic()
        assert 100 <= m.left(m.beat(240, None)) <= 240
        m.booted()
        assert 110 <= m.left(m.beat(120)) <= 120
        assert m.run("useradd -m mallory; su mallory -c 'echo 9999999 >/run/rb-switch/ends-at || rm -rf /run/rb-switch; "
                     "mv /run/rb-switch /run/x; kill -9 $(cut -d\" \" -f1 /run/rb-switch/seen)'")[0] != 0
        time.sleep(max(0.0, began + 72 - time.monotonic()))
        assert m.process.poll() is None, "it ended although a heartbeat came"
        assert 0 < m.left(m.beat(0)) <= 120
        assert m.left(m.beat(2)) <= 2
        m.ends_within(40)


def other_targets_and_a_reboot(options):
    with Machine(options, user_data(options, 60)) as m:
        m.booted()
        assert 3580 < m.left(m.beat(3600, "root")) <= 3600
        for target in ("multi-user.target", "rescue.target"):
            m.run("systemctl isolate %s" % target)
            time.sleep(3)
            assert 3500 < m.left(m.beat(0, "root")) <= 3600, target
        assert m.run("systemctl is-active cloud-init")[0] != 0, "rescue.target was meant to stop it"
        m.run("systemctl isolate multi-user.target")
        m.beat(7200, "root")
        before = m.run("cat /run/rb-switch/seen")[1]
        m.run("systemctl reboot")
        m.wait("test -e /run/rb-switch/seen && [ \"$(cat /run/rb-switch/seen)\" != '%s' ] && "
               "[ $(sh /run/rb-switch/switch look | cut -d' ' -f3) -le 3600 ]" % before.strip())
        m.wait("systemctl is-active -q ssh dbus")
        assert 3500 < m.left(m.beat(0, "root")) <= 3600
        assert m.left(m.beat(1, "root")) <= 1
        m.ends_within(40)


def a_killed_watchdog(options):
    kill = "kill -9 $(cut -d' ' -f1 /run/rb-switch/seen)"
    with Machine(options, user_data(options, 60)) as m:
        m.booted()
        end = m.run("cat /run/rb-switch/ends-at")[1]
        assert m.run(kill)[0] == 0
        m.wait("sh /run/rb-switch/switch look | grep -q ' armed'", 20)  # systemd starts it again
        assert m.run("cat /run/rb-switch/ends-at")[1] == end
        # Where systemd does not either, the next heartbeat notices, and starts it.
        m.run("systemctl mask --runtime rb-switch; sed -i s/Restart=always/Restart=no/ /run/systemd/system/rb-switch.service; "
              "systemctl daemon-reload; " + kill)
        assert "not-armed" in m.run("sh /run/rb-switch/switch look")[1]
        assert 1700 < m.left(m.beat(1800)) <= 1800
        assert m.left(m.beat(1)) <= 1
        m.ends_within(40)


def without_a_unit(options):
    """systemd refuses the unit: a process beside all units, which outlives the service that it was started by, and whose
    processes end with it, for one of its modules fails."""
    text = user_data(options, 60).replace("\nssh_deletekeys:", "\n  - 'sleep 1000 & exit 1'\nssh_deletekeys:", 1)
    with Machine(options, text, "ln -s /dev/null /etc/systemd/system/rb-switch.service") as m:
        m.booted()
        assert m.run("systemctl is-failed cloud-init")[0] == 0
        assert not m.run("grep -lzx '100[0]' /proc/[0-9]*/cmdline 2>/dev/null")[1], "the neighbour was to be killed"
        assert 3500 < m.left(m.beat(0)) <= 3600
        assert "alone" in m.run("tr '\\0' ' ' </proc/$(cut -d' ' -f1 /run/rb-switch/seen)/cmdline")[1]
        m.run("systemctl stop cloud-init.service; systemctl isolate rescue.target")
        time.sleep(3)
        assert 3500 < m.left(m.beat(0, "root")) <= 3600
        m.beat(1, "root")
        m.ends_within(40)


CASES = [no_one_comes, a_heartbeat_moves_the_end, other_targets_and_a_reboot, a_killed_watchdog, without_a_unit,
         what_was_sent_before_arms_nothing]


def reason_to_skip(options):
    if os.geteuid() != 0:
        return "root only"
    for tool in ("systemd-nspawn", "unshare", "nsenter"):
        if not shutil.which(tool):
            return "%s is not installed (Debian: systemd-container)" % tool
    if not os.path.isdir(os.path.join(options.rootfs, "etc/cloud")):
        return "no root file system at %s: tests/realboot/make_rootfs.sh makes one" % options.rootfs
    if subprocess.run(["unshare", "-m", "sh", "-c", "mount --make-rprivate / && mount -t cgroup2 cgroup2 /mnt"],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return "no cgroup2 can be mounted here"
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--printer", required=True)
    parser.add_argument("--rootfs", required=True)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    options.rootfs = os.environ.get("RB_BOOT_ROOTFS", options.rootfs)
    why = reason_to_skip(options)
    if why:
        print("skipped: " + why)
        sys.exit(SKIP)
    failed = False
    with tempfile.TemporaryDirectory(prefix="rb-boot-") as options.folder:
        subprocess.check_call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(options.folder, "key")])
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            cases = [c for c in CASES if not options.cases or c.__name__ in options.cases]
            for case, future in [(c, pool.submit(c, options)) for c in cases]:
                try:
                    print("%s: ok%s" % (case.__name__, ", %s" % future.result() if future.result() else ""), flush=True)
                except Exception as e:  # noqa: BLE001
                    failed = True
                    print("%s: FAILED" % case.__name__, flush=True)
                    traceback.print_exception(e)
    sys.exit(failed)
