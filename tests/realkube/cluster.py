#!/usr/bin/env python3
"""A cluster of Kubernetes on this machine, of one node: etcd, the API server over TLS, the controllers, the scheduler, containerd
and a kubelet, from the programs that build.sh made. Everything lives in namespaces of its own (processes, mounts, network) and
ends with the command that was run in them. Root only.

    cluster.py PROGRAMS [COMMAND..]     runs the command, without one a shell, with $KUBECONFIG: context lab, user ann@example.org,
                                        who has the Role of docs/policies in namespace rb; context admin, who may do everything
"""
import glob
import hashlib
import io
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ADDRESS, NODE, GPUS = "10.88.0.1", "n1", 8  # of the bridge, which is the node's interface
URL = "https://%s:6443" % ADDRESS  # on loopback rbrun would be more impatient than with other clusters
PACKAGES = ["dash", "coreutils", "util-linux", "tar", "grep", "sed", "gzip", "python3"]  # of this machine, with what they depend on: the image
IMAGE, PAUSE = "registry.example/train", "registry.example/pause:1"
TOKEN = "a-token-of-ann"

CONTAINERD = """version = 2
root = "{dir}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{programs}/root/usr/lib/cni"
    conf_dir = "{dir}/cni"
"""
CNI = """{"cniVersion": "0.4.0", "name": "rig", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": {"type": "host-local",
  "dataDir": "/run/cni", "ranges": [[{"subnet": "10.88.0.0/24", "gateway": "%s"}]]}}]}
"""
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "cgroupfs", "failSwapOn": False,
    "authorization": {"mode": "AlwaysAllow"}, "enforceNodeAllocatable": [], "evictionHard": {"memory.available": "100Mi"},
    "makeIPTablesUtilChains": False, "clusterDomain": "cluster.local", "resolvConf": "", "imageGCHighThresholdPercent": 100}
# What a kubelet would set for the whole machine: it finds its own values there, and sets nothing.
TUNABLES = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
            "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
         "rules": [{"level": "Request", "users": ["ann@example.org"]}, {"level": "None"}]}
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: lab
clusters: [{name: rig, cluster: {server: "%s", certificate-authority: %s/ca.crt}}]
contexts:
  - {name: lab, context: {cluster: rig, user: ann, namespace: rb}}
  - {name: admin, context: {cluster: rig, user: admin, namespace: rb}}
users:
  - {name: ann, user: {token: %s}}
  - {name: admin, user: {client-certificate: %s/admin.crt, client-key: %s/admin.key}}
"""


def missing(programs):
    """Why no cluster can be started here; None: one can."""
    if os.geteuid() != 0:
        return "root only"
    if not os.path.exists(os.path.join(programs, "bin", "kubelet")):
        return "no programs of Kubernetes in %s: tests/realkube/build.sh makes them" % programs
    try:
        subprocess.run(["unshare", "-m", "-n", "-p", "--fork", "--mount-proc", "ip", "link", "add", "b0", "type", "bridge"], check=True,
                       stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return "no namespaces with a bridge can be made here"
    return None


def enclosed(programs, argv):
    """Runs a program in namespaces of their own, with a folder in $RB_RIG_DIR; returns its exit code when nothing of it is left."""
    folder = tempfile.mkdtemp(prefix="rb-kube-")
    group = "/rb-kube-%d" % os.getpid()
    env = dict(os.environ, RB_RIG_DIR=folder, RB_RIG_PROGRAMS=os.path.abspath(programs), RB_RIG_GROUP=group)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    process = subprocess.Popen(["unshare", "-m", "-n", "-p", "-i", "-u", "--fork", "--kill-child", "--mount-proc"] + argv, env=env)
    try:
        return process.wait()
    finally:
        process.kill()  # the first process in there goes with it, and takes all others with it
        process.wait()
        sweep(folder, group)


def sweep(folder, group):
    """The last processes may still be dying."""
    end = time.monotonic() + 20
    while True:
        try:
            for path in sorted(glob.glob("/sys/fs/cgroup/*%s/**/" % group, recursive=True), key=len, reverse=True):
                os.rmdir(path)
            shutil.rmtree(folder)
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


# --- the image: packages of this machine, as a layer of an OCI image

def closure(packages):
    """With all that they depend on and that is installed."""
    found, todo = set(), list(packages)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Depends},${Pre-Depends}", name], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            found.add(name)
            todo += [word.split("|")[0].split("(")[0].split(":")[0].strip() for word in asked.stdout.split(",") if word.strip()]
    return sorted(found)


def files_of(packages):
    for package in packages:
        listed = subprocess.run(["dpkg-query", "-L", package], capture_output=True, text=True, check=True).stdout
        for path in listed.splitlines():
            if path != "/." and not path.startswith(("/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/var")) and os.path.lexists(path):
                yield path


def write_root(tar):
    for link in ("bin", "sbin", "lib", "lib64"):
        entry = tarfile.TarInfo(link)
        entry.type, entry.linkname = tarfile.SYMTYPE, "usr/" + link
        tar.addfile(entry)
    for folder, mode in (("tmp", 0o1777), ("proc", 0o755), ("dev", 0o755), ("sys", 0o755), ("etc", 0o755), ("usr", 0o755), ("run", 0o755), ("var", 0o755)):
        entry = tarfile.TarInfo(folder)
        entry.type, entry.mode = tarfile.DIRTYPE, mode
        tar.addfile(entry)
    seen = set()
    for path in files_of(closure(PACKAGES)):
        name = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))[1:]
        if name not in seen and name not in ("bin", "sbin", "lib", "lib64", "tmp", "etc", "usr", "run"):
            seen.add(name)
            tar.add("/" + name, name, recursive=False)


def write_pause(tar):
    tar.add(os.path.realpath(os.path.join(os.environ["RB_RIG_PROGRAMS"], "bin", "busybox")), "busybox")


class Image:
    """An archive in the layout of OCI; .name has its digest."""

    def __init__(self, path, name, write, command=()):
        with tempfile.TemporaryFile() as layer, tarfile.open(path, "w") as self.tar:
            with tarfile.open(fileobj=layer, mode="w") as tar:
                write(tar)
            digest = self.blob(layer)
            config = self.blob(json.dumps({"architecture": "amd64", "os": "linux", "config": {"Cmd": list(command), "Env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]}, "rootfs": {"type": "layers", "diff_ids": [digest["digest"]]}}))
            manifest = self.blob(json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                                             "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config},
                                             "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", **digest}]}))
            self.name = name if ":" in name else "%s@%s" % (name, manifest["digest"])
            self.add("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
            self.add("index.json", json.dumps({"schemaVersion": 2, "manifests": [
                {"mediaType": "application/vnd.oci.image.manifest.v1+json", **manifest, "annotations": {"io.containerd.image.name": self.name}}]}).encode())

    def add(self, name, data):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        self.tar.addfile(entry, io.BytesIO(data))

    def blob(self, data):
        """Text, or a file that was written."""
        stream = io.BytesIO(data.encode()) if isinstance(data, str) else data
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        digest = hashlib.sha256()
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
        stream.seek(0)
        entry = tarfile.TarInfo("blobs/sha256/" + digest.hexdigest())
        entry.size = size
        self.tar.addfile(entry, stream)
        return {"digest": "sha256:" + digest.hexdigest(), "size": size}


# --- the cluster

class Cluster:
    """Use with `with`, in a process that `enclosed` started."""

    def __init__(self):
        self.dir, self.programs = os.environ["RB_RIG_DIR"], os.environ["RB_RIG_PROGRAMS"]
        self.children, self.image = {}, None
        self.kubeconfig = self.path("kubeconfig")

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return self.path(name)

    def run(self, *argv, stdin=None):
        done = subprocess.run([shutil.which(argv[0], path=os.path.join(self.programs, "bin") + ":" + os.environ["PATH"]), *argv[1:]], input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, "%s\n%s" % (" ".join(argv), done.stdout)
        return done.stdout

    def kubectl(self, *argv, stdin=None):
        return self.run("kubectl", "--kubeconfig", self.kubeconfig, "--context", "admin", *argv, stdin=stdin)

    def start(self, program, *options):
        with open(self.path(program + ".log"), "ab") as log:
            self.children[program] = subprocess.Popen(
                [os.path.join(self.programs, "bin", program), *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, PATH=os.path.join(self.programs, "bin") + ":" + os.environ["PATH"]))

    def restart(self, program, pause_s):
        child = self.children.pop(program)
        child.kill()
        child.wait()
        time.sleep(pause_s)
        self.start(program, *child.args[1:])

    def wait(self, what, holds, seconds=90):
        end = time.monotonic() + seconds
        while not holds():
            dead = [name for name, child in self.children.items() if child.poll() is not None]
            assert not dead and time.monotonic() < end, "%s: not after %d s; ended: %s\n%s" % (what, seconds, dead, self.last_words(dead))
            time.sleep(0.2)

    def last_words(self, programs):
        words = ""
        for name in programs or self.children:
            with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as f:
                words += "--- %s\n%s" % (name, f.read()[-3000:])
        return words

    def __enter__(self):
        began = time.monotonic()
        Image(self.path("pause.tar"), PAUSE, write_pause, ["/busybox", "tail", "-f", "/dev/null"])
        self.image = Image(self.path("image.tar"), IMAGE, write_root)
        self.make_place()
        self.make_keys()
        self.write("kubeconfig", KUBECONFIG % (URL, self.dir, TOKEN, self.dir, self.dir))
        self.start_control_plane()
        self.start_node()
        self.make_namespace()
        self.wait("a node that is ready", self.is_ready)
        self.give_gpus()
        self.took = time.monotonic() - began
        return self

    def __exit__(self, *_):
        for child in reversed(self.children.values()):
            child.terminate()  # what they leave ends with the namespaces

    def make_place(self):
        """Folders that these programs insist on, in mounts of our own; a bridge; a cgroup."""
        self.run("mount", "--make-rprivate", "/")
        for place in ("/var/lib", "/var/log", "/run", "/opt"):
            self.run("mount", "-t", "tmpfs", "tmpfs", place)
        os.makedirs("/var/lib/kubelet")
        os.makedirs(self.path("kubelet"))
        self.run("mount", "--bind", self.path("kubelet"), "/var/lib/kubelet")
        self.run("mount", "--bind", self.write("resolv.conf", "nameserver 127.0.0.1\n"), "/etc/resolv.conf")  # where no one answers
        self.run("mount", "--make-rshared", "/")
        for name, value in TUNABLES.items():
            self.run("mount", "--bind", self.write("tunable-" + name.replace("/", "-"), str(value)), "/proc/sys/" + name)
        for words in ("link set lo up", "link add cni0 type bridge", "addr add %s/24 dev cni0" % ADDRESS, "link set cni0 up",
                      "route add default via 10.88.0.254"):
            self.run("ip", *words.split())
        for controller in glob.glob("/sys/fs/cgroup/*/"):
            os.makedirs(controller + os.environ["RB_RIG_GROUP"], exist_ok=True)
        group = "/sys/fs/cgroup/cpuset" + os.environ["RB_RIG_GROUP"]
        for name in ("cpuset.cpus", "cpuset.mems") if os.path.exists(group + "/cpuset.cpus") else ():
            shutil.copyfile("/sys/fs/cgroup/cpuset/" + name, group + "/" + name)

    def make_keys(self):
        def openssl(*words):
            self.run("openssl", *words)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=rig", "-keyout", self.path("ca.key"), "-out", self.path("ca.crt"))
        for name, subject in (("server", "/CN=kube-apiserver"), ("admin", "/O=system:masters/CN=admin")):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", self.path(name + ".key"), "-out", self.path(name + ".csr"))
            more = self.write("extensions", "subjectAltName=IP:%s,IP:10.96.0.1\nextendedKeyUsage=serverAuth,clientAuth\n" % ADDRESS)
            openssl("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"), "-CAcreateserial",
                    "-days", "2", "-extfile", more, "-out", self.path(name + ".crt"))
        openssl("genrsa", "-out", self.path("accounts.key"), "2048")
        self.write("tokens", '%s,ann@example.org,1\n' % TOKEN)

    def is_up(self, url):
        context = ssl.create_default_context(cafile=self.path("ca.crt"))
        try:
            return urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": "Bearer " + TOKEN}), timeout=2, context=context).status == 200
        except (OSError, urllib.error.URLError):
            return False

    def start_control_plane(self):
        self.start("etcd", "--data-dir=/run/etcd", "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
                   "--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
                   "--initial-cluster=default=http://127.0.0.1:2380")
        self.wait("etcd", lambda: self.is_up("http://127.0.0.1:2379/health"))
        self.start("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=" + ADDRESS, "--kubelet-preferred-address-types=InternalIP",
                   "--service-cluster-ip-range=10.96.0.0/24", "--authorization-mode=RBAC", "--token-auth-file=" + self.path("tokens"),
                   "--client-ca-file=" + self.path("ca.crt"), "--tls-cert-file=" + self.path("server.crt"),
                   "--tls-private-key-file=" + self.path("server.key"), "--kubelet-client-certificate=" + self.path("admin.crt"),
                   "--kubelet-client-key=" + self.path("admin.key"), "--service-account-key-file=" + self.path("accounts.key"),
                   "--service-account-signing-key-file=" + self.path("accounts.key"), "--service-account-issuer=https://rig", "--allow-privileged=true",
                   "--audit-policy-file=" + self.write("audit.yaml", AUDIT), "--audit-log-path=" + self.path("audit.log"))
        self.wait("the API server", lambda: self.is_up(URL + "/readyz"))
        admin = self.write("admin.conf", KUBECONFIG.replace("current-context: lab", "current-context: admin") % (URL, self.dir, TOKEN, self.dir, self.dir))
        self.start("kube-controller-manager", "--kubeconfig=" + admin, "--leader-elect=false", "--root-ca-file=" + self.path("ca.crt"),
                   "--service-account-private-key-file=" + self.path("accounts.key"), "--node-monitor-grace-period=20s", "--bind-address=127.0.0.1")
        self.start("kube-scheduler", "--kubeconfig=" + admin, "--leader-elect=false", "--bind-address=127.0.0.1")

    def start_node(self):
        os.makedirs(self.path("cni"))
        self.write("cni/10-rig.conflist", CNI % ADDRESS)
        self.start("containerd", "--config", self.write("containerd.toml", CONTAINERD.format(dir=self.dir, programs=self.programs, pause=PAUSE)))
        self.wait("containerd", lambda: os.path.exists("/run/containerd/containerd.sock"))
        for name in ("pause.tar", "image.tar"):
            self.run("ctr", "-n", "k8s.io", "images", "import", self.path(name))
            os.unlink(self.path(name))
        config = dict(KUBELET, cgroupRoot=os.environ["RB_RIG_GROUP"], authentication={
            "anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": self.path("ca.crt")}})
        self.start("kubelet", "--kubeconfig=" + self.path("admin.conf"), "--config=" + self.write("kubelet.yaml", config), "--hostname-override=" + NODE,
                   "--node-ip=" + ADDRESS, "--container-runtime=remote", "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
                   "--node-labels=node.kubernetes.io/instance-type=g2", "--volume-plugin-dir=" + self.path("plugins"))

    def make_namespace(self):
        self.kubectl("create", "namespace", "rb")
        self.kubectl("apply", "--namespace", "rb", "--filename", os.path.join(ROOT, "docs", "policies", "k8s-role.yaml"))
        self.wait("a service account", lambda: "default" in self.kubectl("get", "serviceaccounts", "-o", "name"))

    def node(self):
        listed = json.loads(self.kubectl("get", "nodes", "-o", "json"))["items"]
        return listed[0] if listed else {}

    def is_ready(self):
        return any(c["type"] == "Ready" and c["status"] == "True" for c in self.node().get("status", {}).get("conditions", []))

    def give_gpus(self):
        """As an administrator does who announces a resource of her own."""
        body = json.dumps([{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": str(GPUS)}]).encode()
        context = ssl.create_default_context(cafile=self.path("ca.crt"))
        context.load_cert_chain(self.path("admin.crt"), self.path("admin.key"))
        urllib.request.urlopen(urllib.request.Request(URL + "/api/v1/nodes/%s/status" % NODE, body, {"Content-Type": "application/json-patch+json"},
                                                      method="PATCH"), timeout=20, context=context).close()
        self.wait("GPUs", lambda: self.node()["status"]["allocatable"].get("nvidia.com/gpu") == str(GPUS))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if "RB_RIG_DIR" not in os.environ:
        why = missing(sys.argv[1])
        sys.exit(why or enclosed(sys.argv[1], [sys.executable, os.path.abspath(__file__)] + sys.argv[1:]))
    with Cluster() as cluster:
        print("%d s; image %s" % (cluster.took, cluster.image.name), file=sys.stderr, flush=True)
        env = dict(os.environ, KUBECONFIG=cluster.kubeconfig, PATH=os.path.join(cluster.programs, "bin") + ":" + os.environ["PATH"])
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(subprocess.run(sys.argv[2:] or [os.environ.get("SHELL", "/bin/sh")], env=env, check=False).returncode)


if __name__ == "__main__":
    main()
