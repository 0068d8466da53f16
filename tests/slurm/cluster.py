"""A Slurm cluster of its own for a test: munged, slurmctld, one slurmd per node and two slurmrestd, all on loopback, below
one folder, gone when the test ends. Nodes n1..n3 (partition gpu), k1 and k2 (partition lost, whose daemons tests kill),
c1 and c2 of State=CLOUD (partition cloud): c1 is preferred and never boots. Root only: daemons change their user."""
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

PROGRAMS = ["munged", "slurmctld", "slurmd", "slurmrestd", "scontrol", "scancel", "squeue", "sinfo"]
NODES = {"n1": 4, "n2": 4, "n3": 4, "k1": 2, "k2": 2, "c1": 2, "c2": 2}  # name: GPUs
GUEST = "nobody"  # who uses the unix socket: slurmrestd refuses to run as root

CONF = """ClusterName=rbtest
SlurmctldHost=localhost(%(address)s)
SlurmctldPort=%(ctld_port)d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%(dir)s/munge/munge.socket
CredType=cred/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=%(dir)s/jwt.key
StateSaveLocation=%(dir)s/state
SlurmdSpoolDir=%(dir)s/spool/%%n
SlurmctldPidFile=%(dir)s/run/slurmctld.pid
SlurmdPidFile=%(dir)s/run/slurmd-%%n.pid
SlurmctldLogFile=%(dir)s/log/slurmctld.log
SlurmdLogFile=%(dir)s/log/slurmd-%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=6
KillWait=4
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ResumeProgram=%(dir)s/resume
SuspendProgram=%(dir)s/suspend
SuspendTime=300
SuspendTimeout=5
ResumeTimeout=12
ResumeRate=0
SuspendRate=0
SuspendExcNodes=n[1-3],k[1-2]
TaskProlog=%(dir)s/task-prolog
"""
PARTITIONS = """PartitionName=gpu Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP
PartitionName=lost Nodes=k[1-2] MaxTime=INFINITE State=UP
PartitionName=cloud Nodes=c[1-2] MaxTime=INFINITE State=UP
"""
RESUME = """#!/bin/sh
export SLURM_CONF=%(dir)s/slurm.conf
for node in $(/usr/bin/scontrol show hostnames "$1"); do
    [ "$node" = c1 ] || setsid /usr/sbin/slurmd -N "$node" -b -f "$SLURM_CONF" </dev/null >/dev/null 2>&1 &
done
"""

# Jobs find a stand-in for apptainer, whose images are this machine: it makes the folder, and lets its processes know where they are.
APPTAINER = """#!/bin/sh
case $1 in
build) mkdir -p "$4" ;;
exec)
    while [ "$1" != --pwd ]; do shift; done
    cd "$2" && [ -d "$3" ] || exit 255
    shift 3
    RB_TEST_INSIDE=yes exec "$@"
    ;;
esac
"""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def own_address():
    """Of this machine's name: daemons listen there and nowhere else (NoInAddrAny). 127.0.1.1 on Debian as it is installed."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except socket.gaierror:
        return None


def skip_unless_possible():
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    os.environ["PATH"] = path
    missing = [p for p in PROGRAMS if not shutil.which(p)]
    if missing:
        print("skipped: not installed: %s (tools/packages.sh lists the packages)" % " ".join(missing))
        sys.exit(77)
    if os.geteuid() != 0:
        print("skipped: only root can start a Slurm cluster whose daemons change their user")
        sys.exit(77)
    if not own_address():
        print("skipped: this machine's name, %s, leads to no address: put it into /etc/hosts" % socket.gethostname())
        sys.exit(77)


class Cluster:
    """Use with `with`; .url is slurmrestd over TCP, .socket over a unix socket, .token() the caller's token."""

    def __init__(self, folder):
        self.dir = folder
        self.children = []
        self.homes = set()  # of agents that were killed
        self.env = dict(os.environ, SLURM_CONF=os.path.join(folder, "slurm.conf"))

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), mode)

    def ask(self, *argv):
        return subprocess.run(argv, env=self.env, check=True, stdout=subprocess.PIPE, text=True, timeout=20).stdout

    def __enter__(self):
        os.chmod(self.dir, 0o755)
        for name in ["munge", "state", "run", "log", "rest", "dev", "spool"]:
            os.mkdir(self.path(name), 0o755)
        ports = free_ports(2 + len(NODES))
        self.configure(ports)
        try:
            self.start(ports[1])
        except BaseException:
            self.stop()
            raise
        return self

    def configure(self, ports):
        for name, size in (("munge/munge.key", 1024), ("jwt.key", 32)):
            with open(self.path(name), "wb") as f:
                f.write(os.urandom(size))
            os.chmod(self.path(name), 0o400)
        conf, gres = CONF % {"dir": self.dir, "ctld_port": ports[0], "address": own_address()}, "AutoDetect=off\n"
        for (node, gpus), port in zip(NODES.items(), ports[2:]):
            os.makedirs(self.path("dev", node))
            os.makedirs(self.path("spool", node))
            for gpu in range(gpus):  # any device will do: the files only have to be devices
                os.mknod(self.path("dev", node, "nvidia%d" % gpu), 0o20666, os.makedev(1, 3))
            gres += "NodeName=%s Name=gpu File=%s/nvidia[0-%d]\n" % (node, self.path("dev", node), gpus - 1)
            conf += ("NodeName=%s NodeHostname=localhost NodeAddr=%s Port=%d CPUs=8 RealMemory=4000 Gres=gpu:%d "
                     "Weight=%d State=%s\n" % (node, own_address(), port, gpus, 10 if node == "c2" else 1,
                                               "CLOUD" if node[0] == "c" else "UNKNOWN"))
        self.write("gres.conf", gres)
        self.write("slurm.conf", conf + PARTITIONS)
        self.write("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self.write("resume", RESUME % {"dir": self.dir}, 0o755)
        self.write("suspend", "#!/bin/sh\n", 0o755)
        os.mkdir(self.path("tools"), 0o755)
        self.write("tools/apptainer", APPTAINER, 0o755)
        self.write("task-prolog", "#!/bin/sh\necho export PATH=%s/tools:$PATH\n" % self.dir, 0o755)

    def start(self, rest_port):
        munge = self.path("munge")
        self.ask("munged", "--force", "--key-file=%s/munge.key" % munge, "--socket=%s/munge.socket" % munge,
                 "--pid-file=%s" % self.path("run", "munged.pid"), "--log-file=%s/munged.log" % munge,
                 "--seed-file=%s/seed" % munge)
        self.ask("slurmctld", "-c", "-f", self.env["SLURM_CONF"])
        for node in NODES:
            if node[0] != "c":
                self.ask("slurmd", "-N", node, "-f", self.env["SLURM_CONF"])
        self.wait_for(lambda: self.ask("sinfo", "-h", "-N", "-o", "%T").split().count("idle") >= 5, "five idle nodes")
        os.chown(self.path("rest"), pwd.getpwnam(GUEST).pw_uid, -1)
        self.url = "http://127.0.0.1:%d" % rest_port
        self.socket = self.path("rest", "socket")
        self.serve("rest_auth/jwt", "127.0.0.1:%d" % rest_port, SLURM_JWT="daemon")
        self.serve("rest_auth/local", "unix:" + self.socket)
        self.wait_for(lambda: os.path.exists(self.socket), "slurmrestd's socket")
        self.wait_for(lambda: listens(rest_port), "slurmrestd's port")

    def serve(self, auth, where, **env):
        log = open(self.path("log", "slurmrestd.log"), "ab")
        self.children.append(subprocess.Popen(
            ["slurmrestd", "-a", auth, "-s", controller_plugins(), where], env=dict(self.env, **env), stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, **as_guest()))
        log.close()

    def wait_for(self, holds, what, seconds=25):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end or any(c.poll() is not None for c in self.children):
                raise RuntimeError("no %s after at most %d s; see %s" % (what, seconds, self.path("log")))
            time.sleep(0.1)

    def token(self, user="root"):
        return self.ask("scontrol", "token", "username=" + user, "lifespan=600").strip().split("=", 1)[1]

    def jobs(self):
        """Every job the controller remembers: a list of the fields that `scontrol show job` prints."""
        text = self.ask("scontrol", "-o", "show", "job")
        return [dict(f.split("=", 1) for f in line.split(" ") if "=" in f) | {"line": line}
                for line in text.splitlines() if line.startswith("JobId=")]

    def unfinished(self):
        over = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL")
        return [j["line"] for j in self.jobs() if j["JobState"] not in over]

    def cut_power(self, node, job):
        """Of the machine that is the node: slurmd, the job's supervisor and all its processes, in an instant."""
        with open(self.path("run", "slurmd-%s.pid" % node), encoding="ascii") as f:
            pids = [int(f.read())]
        pids += [p for p in processes() if read(p, "cmdline").startswith(b"slurmstepd: [%s." % job.encode()) and
                 owns(p, self.dir)]
        pids += [p for p in leftovers(self.dir) if b"\0SLURM_JOB_ID=%s\0" % job.encode() in read(p, "environ")]
        for pid in self.see_homes(pids):
            end(pid)

    def see_homes(self, pids):
        """What is killed cannot clean up behind itself."""
        for pid in pids:
            for pair in read(pid, "environ").split(b"\0"):
                if pair.startswith(b"RB_NODE_HOME=/tmp/rb-"):
                    self.homes.add(pair.split(b"=", 1)[1].decode())
        return pids

    def daemons(self):
        """Those that said where they are. The number in a pid file may belong to somebody else by now."""
        pids = []
        for name in glob.glob(self.path("run", "*.pid")):
            with open(name, encoding="ascii") as f:
                text = f.read().strip()
            if text.isdigit() and owns(int(text), self.dir):
                pids.append(int(text))
        return pids

    def stop(self):
        for child in self.children:
            child.terminate()
        if os.path.exists(self.path("run", "slurmctld.pid")):
            subprocess.run(["scancel", "--state=RUNNING"], env=self.env, stderr=subprocess.DEVNULL, check=False, timeout=20)
        daemons = self.daemons()
        for pid in daemons:
            os.kill(pid, signal.SIGTERM)
        limit = time.monotonic() + 5
        while time.monotonic() < limit and any(owns(pid, self.dir) for pid in daemons):
            time.sleep(0.1)
        for pid in daemons + self.see_homes(leftovers(self.dir)):
            if owns(pid, self.dir):
                end(pid)
        for home in self.homes:
            shutil.rmtree(home, ignore_errors=True)
        for child in self.children:
            child.wait(10)

    def __exit__(self, *_):
        self.stop()


def as_guest():
    guest = pwd.getpwnam(GUEST)
    return {"user": guest.pw_uid, "group": guest.pw_gid, "extra_groups": []}


def controller_plugins():
    """Those of slurmrestd that need no accounting database."""
    names = [os.path.basename(f)[len("openapi_"):-len(".so")].replace("_", ".") for f in glob.glob("/usr/lib/*/slurm*/openapi_*.so")]
    return ",".join("openapi/" + n for n in sorted(set(names)) if n.startswith("v") or n == "slurmctld")


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def owns(pid, folder):
    """Is that process one of ours? slurmstepd writes over its environment, but stays where its slurmd was started."""
    try:
        here = os.readlink("/proc/%d/cwd" % pid).startswith(folder)
    except OSError:
        here = False
    return here or any(folder.encode() in read(pid, what) for what in ("cmdline", "environ"))


def read(pid, what):
    try:
        with open("/proc/%d/%s" % (pid, what), "rb") as f:
            return f.read()
    except OSError:
        return b""


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def leftovers(folder):
    """Processes of jobs and their supervisors: their environment names this cluster's configuration."""
    mark = ("SLURM_CONF=%s/slurm.conf" % folder).encode()
    return [p for p in processes() if (mark in read(p, "environ") and b"SLURM_JOB_ID=" in read(p, "environ")) or
            (read(p, "cmdline").startswith(b"slurmstepd: ") and owns(p, folder))]


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
