#!/usr/bin/env python3
"""One job with `image:` on every infra: the digits example, in an image that is made here of what the example loads. What a trial
finds inside is compared; it gives way by 75 and goes on from its checkpoint; it hangs, and its kill leaves nothing; the tag moves
once the run has pinned it, and what was pinned is what runs; the registry is private, and its password stays in no file.
Real: podman on this machine and on the nodes of rbmock's EC2 and Compute Engine, Slurm. Stand-ins: apptainer, which unpacks the same
image and enters it by chroot; rbmock's pods, which have this machine's files whatever their image is. What is not installed is left out.
Usage: same_everywhere.py --bin BUILD_DIR [TEST]..."""
import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [HERE] + [os.path.join(HERE, "..", "..", folder) for folder in ("cli", "providers/k8s", "slurm")]
import cluster as kube  # noqa: E402
import image_runs  # noqa: E402
import importlib.util  # noqa: E402
from image_runs import GCP_PRICES, Machine, reports  # noqa: E402
from mock_cloud import PRICES, MockCloud  # noqa: E402
from real_run import RealRun  # noqa: E402
from registry import TOOLS, Image, Registry, digest  # noqa: E402

PYTHON = "/usr/bin/python3"
DIST = "/usr/lib/python3/dist-packages"
PASSWORD = "s3cret-w0rd"
TRAIN = os.path.join(ROOT, "examples", "digits", "train.py")

# Trains an epoch and goes on from its checkpoint for another, and prints which files Python has read.
LOADS = """import os, runpy, sys
folder = sys.argv[1]
for start, resume in (("0", ""), ("1", folder)):
    os.environ.update(RB_RESOURCE_START=start, RB_RESOURCE_END=str(int(start) + 1), RB_CHECKPOINT_DIR=folder, RB_RESUME_FROM=resume)
    sys.argv[:] = ["train.py", "--real", "--width", "32"]
    try:
        runpy.run_path(%r, run_name="__main__")
    except SystemExit as end:
        assert not end.code, end.code
for module in list(sys.modules.values()):
    for path in (getattr(module, "__file__", None), getattr(module, "__cached__", None)):
        if path and os.path.exists(path):
            print("load " + os.path.realpath(path))
""" % os.path.realpath(TRAIN)

JOB = """name: digits
seed: 7
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.05, max: 0.1}}
scheduler: {type: random, num_trials: 1, max_resource: 2}
trial: {gpus: 1, timeout: 10s, max_restarts: 9}
profile: fast
image: %s
image_credentials: {user: REGISTRY_USER, password: REGISTRY_PASSWORD}
envs: {SAID: "it's here", TEST_RUN: "%s"}
setup: echo "$SAID" >>"$HOME/was-set-up"
run: sh probe.sh $RB_ARGS
checkpoint: {dir: ckpt, size: 1MB}
resources: {infra: [%s], max_nodes: 1%s}
deadline: 10m
confidence: 0.5
"""

# At first the trial gives way after an epoch; then it hangs, with a process in a session of its own; then it trains to the end.
PROBE = """set -eu
[ ! -e /mark ] || echo "seen mark=$(cat /mark)"
echo "seen user=${USER:-} ${LOGNAME:-} $(id -u):$(id -g)"
echo "seen set-up=$(cat "$HOME/was-set-up")"
echo "seen work=$PWD $(ls | tr '\\n' ' ')"
: >"$RB_CHECKPOINT_DIR/new" && rm "$RB_CHECKPOINT_DIR/new" && echo "seen writable=$(stat -c '%u:%g %a' "$RB_CHECKPOINT_DIR")"
echo "seen modes=$(stat -c '%u:%g %a' "$HOME")"
echo "seen shm=$(df -P /dev/shm | sed -n '$s/.* //p') tmp=$(mktemp >/dev/null && echo writable)"
env | sed -n 's/^\\(RB_[A-Z_]*\\|SAID\\|CUDA_VISIBLE_DEVICES\\|MASTER_ADDR\\|HOME\\|USER\\|LOGNAME\\|PATH\\|AWS_[A-Z_]*\\|XDG_[A-Z_]*\\)=/env \\1=/p' | sort
[ -z "$(LC_ALL=C grep -lsF "TEST_STRAY=$TEST_RUN" /proc/[0-9]*/environ)" ] || { echo "a process is left"; exit 9; }
if [ -z "$RB_RESUME_FROM" ]; then
    touch "$RB_PREEMPT_FILE"
elif [ ! -e "$HOME/hung" ]; then
    touch "$HOME/hung"
    echo "hangs from $RB_RESOURCE_START"
    export TEST_STRAY="$TEST_RUN"
    setsid sleep 300 &
    trap : TERM
    while :; do sleep 300 || :; done
fi
exec /usr/bin/python3 train.py --real --width 32 "$@"
"""

# Unpacks IMAGE@DIGEST of a private registry of this machine into a folder, with the environment of the image.
UNPACK = """import base64, gzip, io, json, os, sys, tarfile, urllib.request
folder, name = sys.argv[1:]
user = os.environ["APPTAINER_DOCKER_USERNAME"] + ":" + os.environ["APPTAINER_DOCKER_PASSWORD"]
login = {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}
host, _, rest = name.partition("/")
path, _, reference = rest.partition("@")
def get(kind, what):
    with urllib.request.urlopen(urllib.request.Request("http://%s/v2/%s/%s/%s" % (host, path, kind, what), headers=login)) as answer:
        return answer.read()
manifest = json.loads(get("manifests", json.loads(get("manifests", reference))["manifests"][0]["digest"]))
for part in manifest["layers"]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(get("blobs", part["digest"])))) as tar:
        tar.extractall(folder)
with open(folder + "/.env", "w") as f:
    f.write("".join("export %s\\n" % pair for pair in json.loads(get("blobs", manifest["config"]["digest"]))["config"]["Env"]))
"""
APPTAINER = """#!/bin/sh
verb=$1
shift
if [ "$verb" = build ]; then exec /usr/bin/python3 "${0%/*}/unpack" "$3" "${4#docker://}"; fi
bind='/proc /dev /sys'
while :; do
    case $1 in
    --nv) shift ;;
    --bind) bind="$bind $2"; shift 2 ;;
    --pwd) pwd=$2; shift 2 ;;
    *) break ;;
    esac
done
image=$1
shift
exec unshare --mount /bin/sh -c 'image=$1 pwd=$2
for f in $3; do mkdir -p "$image$f" && mount --rbind "$f" "$image$f" || exit 255; done
shift 3
. "$image/.env"
exec /usr/sbin/chroot "$image" /bin/sh -c "cd \\"\\$0\\" && exec \\"\\$@\\"" "$pwd" "$@"' sh "$image" "$pwd" "$bind" "$@"
"""

# rbmock's pods are not in the image, and theirs is the environment of rbmock; a pod's volume is its home.
MUST_DIFFER = {"k8s": {"mark", "RB_TEST_INSIDE", "PATH", "HOME", "USER", "LOGNAME", "user", "modes", "RB_POD_UID"},
               "slurm": {"RB_NODE_HOME", "RB_NODE_DEVICES"}}  # of the allocation: its folder, and which GPUs of the machine it has


def loaded_files():
    """What the example needs besides a shell: the interpreter, what it loads, the digits."""
    with tempfile.TemporaryDirectory(prefix="rb-loads-") as folder:
        said = subprocess.run([PYTHON, "-c", LOADS, folder], capture_output=True, text=True, check=True).stdout
    files = {os.path.realpath(line[5:]) for line in said.splitlines() if line.startswith("load ")}
    files -= {os.path.realpath(TRAIN)}
    return [PYTHON, *sorted(files), DIST + "/sklearn/__init__.py", DIST + "/sklearn/datasets/data/digits.csv.gz"]


class Place:
    """Where the job runs: use with `with`; .run is a RealRun, .infra and .resources go into the job, .prices is a file."""
    is_pod = False
    resources = ""

    def __init__(self, test, name):
        self.test, self.folder = test, os.path.join(test.here.folder, name)
        os.mkdir(self.folder)
        self.run = RealRun(image_runs.BIN, self.folder, LC_ALL="C.UTF-8", PATH=test.here.env["PATH"], RB_LOCAL_SLOTS="1")
        self.stack = contextlib.ExitStack()
        self.prices = self.run.write("prices.csv", PRICES)

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def check_over(self, report):
        """What the place itself says is left."""


class Local(Place):
    infra = "local"

    def begin(self):
        pass

    def check_over(self, report):
        self.test.assertEqual(self.test.here.podman("ps", "--all", "--format", "{{.Names}}", home=self.folder), "")


class Cloud(Place):
    def cloud(self, *options, **more):
        cloud = MockCloud(image_runs.BIN, self.folder, *options, **more)
        self.stack.enter_context(cloud)
        self.prices = cloud.prices
        return cloud

    def check_over(self, report):
        self.test.assertEqual({i["state"] for i in self.front.ledger()["instances"]}, {"terminated"})
        self.test.assertEqual(sum(i["cost_uusd"] for i in self.front.ledger()["instances"]), report["cost_uusd"]["actual"])


class Aws(Cloud):
    infra, resources = "mock/us-east-1", ", instance_types: [one.gpu]"

    def begin(self):
        self.front = self.cloud()
        self.run.on(self.front)


class Gcp(Cloud):
    infra = "gcp/us-central1"
    resources = ", instance_types: [\"n1-standard-8+nvidia-tesla-t4:1\"], image_id: {gcp: projects/rbmock/global/images/rbmock-linux}"

    def begin(self):
        key = self.folder + "/key.json"
        self.front = self.cloud("--gcp", "0", "--credentials-out", key, prices=GCP_PRICES, infra="*")
        self.run.on(self.front, key)


class Kubernetes(Place):
    infra, is_pod = "k8s/lab", True
    resources = ", instance_types: [\"g2/1\"], kubernetes: {namespace: rb, cpus_per_gpu: 1}"

    def begin(self):
        self.cluster = kube.Cluster(image_runs.BIN, self.folder)
        self.stack.enter_context(self.cluster)
        self.prices = self.cluster.prices
        self.run.env["KUBECONFIG"] = self.run.write("kubeconfig", kube.KUBECONFIG % (self.cluster.k8s_url, self.cluster.customer["AWS_SECRET_ACCESS_KEY"]))
        self.images, self.over = set(), threading.Event()
        watch = threading.Thread(target=self.look)
        watch.start()
        self.stack.callback(watch.join)
        self.stack.callback(self.over.set)

    def look(self):
        while not self.over.wait(0.2):
            self.images |= {pod["spec"]["containers"][0]["image"] for pod in self.cluster.objects("pods")}

    def check_over(self, report):
        kube.check_over(self.cluster, report)


class Slurm(Place):
    infra, resources = "slurm/gpu", ", instance_types: [\"gpu:2\"], slurm: {shared_dir: %s}"

    def begin(self):
        slurm = slurm_module()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="rb-slurm-"))
        os.chmod(folder, 0o755)
        self.cluster = slurm.Cluster(folder)
        self.stack.enter_context(self.cluster)
        self.cluster.write("tools/apptainer", APPTAINER, 0o755)
        self.cluster.write("tools/unpack", UNPACK)
        self.resources = self.resources % self.folder
        self.prices = self.run.write("prices.csv", PRICES + "slurm/gpu,gpu:2,T4,2,16,4,16,on_demand,3.60,test,2026-07-20T00:00:00Z\n")
        self.run.env.update(SLURM_CONF=self.cluster.env["SLURM_CONF"], SLURM_JWT=self.cluster.token(), RB_SLURM_URL=self.cluster.url)

    def check_over(self, report):
        self.cluster.wait_for(lambda: not self.cluster.unfinished(), "the end of its jobs")


def slurm_module():
    """Both folders of helpers have a cluster.py."""
    spec = importlib.util.spec_from_file_location("slurm_cluster", os.path.join(HERE, "..", "..", "slurm", "cluster.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_slurm():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    slurm = slurm_module()
    return os.geteuid() == 0 and all(shutil.which(p) for p in slurm.PROGRAMS) and slurm.own_address()


class SameEverywhere(image_runs.Boxed):
    @classmethod
    def setUpClass(cls):
        cls.image = Image(tools=TOOLS + ["df"], files=loaded_files())

    def test_one_job_on_every_infra(self):
        before = os.environ["PATH"]
        os.environ["PATH"] = self.here.env["PATH"]  # rbmock's nodes have that of rbmock
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        places = {"local": Local, "aws": Aws, "gcp": Gcp, "k8s": Kubernetes}
        if has_slurm():
            places["slurm"] = Slurm
        with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
            seen = dict(zip(places, pool.map(lambda name: self.carry_out(places[name], name), places)))
        self.assertEqual(seen["local"]["mark"], "made here")
        for name, record in seen.items():
            with self.subTest(name):
                known = MUST_DIFFER.get(name, set())
                self.assertEqual({k: v for k, v in record.items() if k not in known}, {k: v for k, v in seen["local"].items() if k not in known})

    def carry_out(self, kind, name):
        """What its trial has seen."""
        registry = self.registry(user="ann:" + PASSWORD, scheme="Basic", moves_to=Image("moved", tools=["sh"]), layer_s=1.2)
        tag, pinned = registry.name + "/team/train:1.2", "%s/team/train@%s" % (registry.name, digest(self.image.index))
        mark = "%s-%d" % (name, os.getpid())
        with kind(self, name) as place:
            run = place.run
            run.write("profile.yaml", self.here.profile)
            run.write("work/probe.sh", PROBE)
            shutil.copy(TRAIN, run.folder + "/work")
            run.write("work/job.yaml", JOB % (tag, mark, place.infra, place.resources))
            run.env.update(RB_DB=place.folder + "/store.db", REGISTRY_USER="ann", REGISTRY_PASSWORD=PASSWORD)
            run.say("rbprofile", "import", "profile.yaml", place.prices)
            run.say("rbplan", "work/job.yaml", "-o", "plan.json")
            report = reports(run.say("rbrun", "plan.json", "--json", "--yes", "--state-dir", "state"))
            place.check_over(report)
            self.check_nothing_is_left(mark, report["run"])
            self.check_pinned(place, run.folder + "/state/" + report["run"], pinned)
            kept = subprocess.run(["grep", "-rlF", "--exclude-dir=.podman", PASSWORD, run.folder], capture_output=True, text=True, check=False)
            self.assertEqual((kept.stdout, kept.stderr), ("", ""), name)
            if not place.is_pod: # rbmock's pods pull nothing
                self.assertGreaterEqual(report["nodes"][0]["pull_us"], 1e6, name)
            if place.infra != "local" and not place.is_pod: # of this machine no start is kept
                self.assertRegex(run.say("rbprofile", "show", "fast").stdout, r"of it, image +\S+, mean", name)
        return self.check_starts(name, report, run.folder + "/state/" + report["run"])

    def check_nothing_is_left(self, mark, run_id):
        """No process of the trial, and nothing that bears the run's name: no container."""
        words, until = (("TEST_RUN=%s\0" % mark).encode(), run_id.encode()), time.monotonic() + 30
        while True:
            left = [p for p in glob.glob("/proc/[0-9]*") if words[0] in read(p + "/environ") or words[1] in read(p + "/cmdline")]
            if not left:
                return
            self.assertLess(time.monotonic(), until, [read(p + "/cmdline") for p in left])
            time.sleep(0.2)

    def check_pinned(self, place, folder, pinned):
        with open(folder + "/plan.json", encoding="utf-8") as f:
            plan = json.load(f)
        self.assertEqual(list((plan["images"] if place.is_pod else plan["containers"]).values()), [pinned])
        if place.is_pod:
            self.assertEqual(place.images, {pinned})

    def check_starts(self, name, report, folder):
        """It gave way once, hung once, and trained each epoch once, but for what a busy machine's timeouts repeat."""
        self.assertEqual(report["outcome"], "complete", name)
        said = " ".join(fault["text"] for fault in report["faults"])
        self.assertIn("hung, killed", said, name)
        self.assertNotIn("exit code", said, name)
        logs = [read(path).decode() for path in sorted(glob.glob(folder + "/logs/*.log"), key=lambda p: int(re.findall(r"\d+", p)[-1]))]
        self.assertGreaterEqual(len(logs), 3, name)
        self.assertEqual(sum("hangs from 1\n" in log for log in logs), 1, name)
        self.assertEqual([log.count("epoch=") for log in logs if "hangs" in log], [0], name)
        record = record_of(logs[-1])
        self.assertEqual((record["RB_RESOURCE_START"], record["RB_RESUME_FROM"]), ("1", "RUN/trials/0/resume"), name)
        record["learned"] = list(dict.fromkeys(re.findall(r"^epoch=.*$", "".join(logs), re.M)))
        self.assertEqual([line.split()[0] for line in record["learned"]], ["epoch=1", "epoch=2"], name)
        return record


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def record_of(log):
    """NAME: value, with the run's folder and what belongs to a single start under one name everywhere."""
    pairs = dict(line.split(" ", 1)[1].split("=", 1) for line in log.splitlines() if line.startswith(("seen ", "env ")))
    folder = pairs["RB_PARAMS_FILE"].split("/trials/")[0]
    attempt = pairs["RB_ATTEMPT"]
    pairs = {k: v.replace(folder, "RUN").replace("/trials/0/%s/" % attempt, "/trials/0/N/") for k, v in pairs.items()}
    return pairs | {name: "another" for name in ("RB_ATTEMPT", "RB_RUN_ID", "RB_DEADLINE", "RB_NODE_IPS", "MASTER_ADDR") if name in pairs}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    image_runs.BIN = os.path.abspath(args.bin)
    why_not = image_runs.may_run()
    if not why_not and subprocess.run([PYTHON, "-c", "import numpy, sklearn"], capture_output=True, check=False).returncode:
        why_not = PYTHON + " has no scikit-learn"
    if why_not:
        print("skipped:", why_not)
        sys.exit(image_runs.SKIPPED)
    unittest.main(argv=[sys.argv[0]] + rest)
