#!/usr/bin/env python3
"""Jobs with `image:` under a real podman, with an image made here and a registry that gives it out: on this machine and on
nodes of a mock cloud. Skipped where podman is missing, or may start no container.
Usage: image_runs.py --bin BUILD_DIR [TEST]..."""
import argparse
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "cli")]
from mock_cloud import MockCloud  # noqa: E402
from real_run import RealRun, never_preempted, profile  # noqa: E402
from registry import TOOLS, Image, Registry, digest  # noqa: E402

BIN = None
SKIPPED = 77

# A store of its own for every home, so for every node; nothing of this machine's podman is touched.
PODMAN = """#!/bin/sh
export CONTAINERS_CONF=%(folder)s/containers.conf
home=$(printf %%s "$HOME" | cksum)
[ "$1" != run ] || sleep "${RB_TEST_RUN_S:-0}"
exec %(podman)s --root "$HOME/.podman" --runroot "%(folder)s/run/${home%%%% *}" --tmpdir "%(folder)s/tmp/${home%%%% *}" "$@"
"""
CONF = """[containers]
default_ulimits = ["nofile=1024:4096", "nproc=2048:2048"]
[engine]
runtime = "runc"
lock_type = "file"
"""

K8S_PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
k8s/lab,g2,T4,2,16,8,32,on_demand,1.00,test,2026-07-20T00:00:00Z
"""
GCP_PRICES = "gcp/us-central1,n1-standard-8+nvidia-tesla-t4:1,T4,1,16,8,30,on_demand,0.730,test,2026-07-20T00:00:00Z\n"

JOB = """name: boxed
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2, unit: epoch}
trial: {timeout: 60s}
profile: fast
image: %s
envs: {SAID: "it's here"}
setup: echo "$SAID" >"$HOME/set-up"
resources: {infra: [%s]}
run: sh train.sh
"""

# What a trial finds inside, and what it leaves. EPOCH_S: how long an epoch takes.
TRAIN = """set -eu
epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
[ "$epoch" -eq "$RB_RESOURCE_START" ]
[ "$RB_TEST_INSIDE" = yes ] && [ -e /mark ] && [ ! -e /etc/passwd- ]
[ "$(cat "$HOME/set-up")" = "$SAID" ]
echo "uid $(id -u) in $(cat /mark), home $HOME, work $PWD"
setsid sleep 300 &
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep "${EPOCH_S:-0.3}"
    echo "epoch=$epoch loss=$RB_PARAM_LR"
done
echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
"""


def reports(done):
    return [d for d in map(json.loads, done.stdout.splitlines()) if d.get("format") == "rb-report/1"][-1]


class Machine(RealRun):
    """A folder with a podman of its own before the others in PATH."""

    def __init__(self, folder, **env):
        super().__init__(BIN, folder, LC_ALL="C.UTF-8", PATH=folder + "/bin:/usr/bin:/bin:/usr/sbin:/sbin", RB_LOCAL_SLOTS="2", **env)
        self.write("containers.conf", CONF)
        os.chmod(self.write("bin/podman", PODMAN % {"folder": folder, "podman": shutil.which("podman")}), 0o755)
        self.write("train.sh", TRAIN)
        self.write(".rbignore", "./.podman\n./.local\n./run\n./tmp\n")
        self.profile = profile("fast", 0.3).replace(
            "noise:", "  - {accelerator: CPU, base_s: 0.3, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\nnoise:", 1)
        self.write("profile.yaml", self.profile)

    def podman(self, *words, home=None, check=True):
        done = subprocess.run([self.folder + "/bin/podman", *words], env=dict(self.env, HOME=home or self.folder), text=True,
                              capture_output=True, check=False)
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def containers(self):
        return self.podman("ps", "--all", "--format", "{{.Names}}").split()

    def plan(self, image, infra="local", edit=(), prices=None):
        text = JOB % (image, infra)
        for old, new in edit:
            assert old in text, old
            text = text.replace(old, new)
        self.write("job.yaml", text)
        self.say("rbplan", "job.yaml", "--profile-file", "profile.yaml", "-o", "plan.json", *(["--prices", prices] if prices else []))

    def first_run(self):
        """Its folder; None: it has not begun."""
        root = os.path.join(self.folder, ".local/state/rubberband/runs")
        return os.path.join(root, sorted(os.listdir(root))[0]) if os.path.isdir(root) and os.listdir(root) else None

    def killed(self, after):
        """A run that dies when `after` is true of its folder."""
        with subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--yes"], cwd=self.folder, env=self.env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            until = time.monotonic() + 60
            while not after():
                assert run.poll() is None, run.stderr.read().decode()
                assert time.monotonic() < until
                time.sleep(0.1)
            run.send_signal(signal.SIGKILL)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def has_keeper(folder):
    return subprocess.run(["pgrep", "-f", " %s/.*/[.]keeper$" % folder], stdout=subprocess.DEVNULL, check=False).returncode == 0


def unmount(folder):
    """What podman keeps mounted below a store. Lazy: a process of its may still be there."""
    subprocess.run(["umount", "--recursive", "--lazy", folder + "/.podman/overlay"], stderr=subprocess.DEVNULL, check=False)


class Boxed(unittest.TestCase):
    """An image, a machine with a podman of its own, and registries."""
    @classmethod
    def setUpClass(cls):
        cls.image = Image()

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="rb-image-")
        self.here = Machine(folder)
        self.addCleanup(self.clean_up, folder)

    def clean_up(self, folder):
        shutil.rmtree(os.path.join(folder, ".local"), ignore_errors=True)
        while has_keeper(folder):
            time.sleep(0.1)  # it removes containers, in the same store
        self.here.podman("rm", "--all", "--force", check=False)
        self.here.podman("rmi", "--all", "--force", check=False)
        unmount(folder)
        shutil.rmtree(folder)

    def registry(self, **options):
        registry = Registry({"team/train": {"1.2": self.image}}, **options)
        self.addCleanup(registry.__exit__)
        return registry.__enter__()

    def logs(self):
        folder = os.path.join(self.here.first_run() or "", "logs")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                yield f.read()

    def pinned(self, infra="local"):
        with open(os.path.join(self.here.first_run(), "plan.json"), encoding="utf-8") as f:
            return json.load(f)["containers"][infra]


class Runs(Boxed):
    def test_a_private_image_by_its_digest(self):
        registry = self.registry(user="ann:s3cret-w0rd")
        self.here.env.update(REGISTRY_USER="ann", REGISTRY_PASSWORD="s3cret-w0rd")
        self.here.plan(registry.name + "/team/train:1.2", edit=[
            ("envs:", "image_credentials: {user: REGISTRY_USER, password: REGISTRY_PASSWORD}\nenvs:")])
        found = {(f["check"], f["subject"]): f for f in json.loads(self.here.say("rbrun", "doctor", "plan.json", "--json").stdout)["checks"]}
        self.assertEqual(found["container", "podman"]["verdict"], "ok")
        self.assertEqual(found["container", "local"]["detail"], "%s/team/train@%s is there" % (registry.name, digest(self.image.index)))
        report = reports(self.here.say("rbrun", "plan.json", "--json"))
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(report["faults"], [])
        self.assertEqual(self.pinned(), "%s/team/train@%s" % (registry.name, digest(self.image.index)))
        node = self.here.first_run() + "/local/node-0/rb/" + report["run"]
        for log in self.logs():
            self.assertIn("uid %d in made here, home %s, work %s/work" % (os.getuid(), node, node), log)
        self.assertEqual(self.here.containers(), [])
        self.assertEqual(os.listdir("/dev/shm").count("rb-login"), 0)
        kept = subprocess.run(["grep", "-rlF", "s3cret-w0rd", self.here.folder], capture_output=True, text=True, check=False)
        self.assertEqual(kept.stdout, "")
        self.assertEqual([n for n in os.listdir("/dev/shm") if n.startswith("rb-login")], [])

    def test_an_image_of_this_machine_by_its_id(self):
        registry = self.registry()
        self.here.podman("pull", "--quiet", "--tls-verify=false", registry.name + "/team/train:1.2")
        self.here.podman("tag", registry.name + "/team/train:1.2", "localhost/mine:7")
        self.here.plan("localhost/mine:7")
        self.assertEqual(reports(self.here.say("rbrun", "plan.json", "--json"))["outcome"], "complete")
        self.assertEqual(self.pinned(), self.image.id)
        self.here.say("rbprofile", "train", "job.yaml", "--infra", "local", "--gpus", "1", "--configs", "1", "--resource", "2",
                      RB_DB=self.here.folder + "/measured.db")
        self.assertEqual(self.here.containers(), [])
        self.here.plan("localhost/none:7")
        self.assertIn("podman on this machine has no localhost/none:7", self.here.say("rbrun", "plan.json", expect=1).stderr)

    def test_a_job_on_a_machine_that_is_lent(self):
        registry = self.registry()
        self.here.plan(registry.name + "/team/train:1.2")
        self.here.write("pool.yaml", "format: rb-pool/1\nname: pool\nresources: {infra: [local], max_nodes: 1}\npolicy: goodput\n"
                        "jobs: [job.yaml]\n")
        self.here.say("rbrun", "--pool", "pool.yaml", "--profile-file", "profile.yaml")
        logs = list(self.logs())
        self.assertTrue(logs)
        for log in logs:
            self.assertIn(" in made here, home /", log)
        self.assertEqual(self.pinned("pool"), "%s/team/train@%s" % (registry.name, digest(self.image.index)))
        self.assertEqual(self.here.containers(), [])

    def test_pods_have_it_as_their_own(self):
        """The registry is asked before the cluster is; of pods no container is started on."""
        registry = self.registry()
        prices = self.here.write("prices.csv", K8S_PRICES)
        for tag, said in (("1.2", "[RB3501]"), ("9", "image of k8s/lab: %s: team/train:9: there is no such image" % registry.name)):
            self.here.plan("%s/team/train:%s" % (registry.name, tag), "k8s/lab", prices=prices)
            with open(self.here.folder + "/plan.json", encoding="utf-8") as f:
                plan = json.load(f)
            self.assertEqual((plan["images"], plan.get("containers")), ({"k8s/lab": "%s/team/train:%s" % (registry.name, tag)}, None))
            self.assertIn(said, self.here.say("rbrun", "plan.json", "--yes", expect=2 if tag == "1.2" else 1).stderr)
            self.assertEqual(registry.asked[-1][0], "HEAD /v2/team/train/manifests/" + tag)

    def is_training(self):
        return any("rb.run-id" in self.here.podman("inspect", name) for name in self.here.containers()) and any(
            "epoch=1" in log for log in self.logs())

    def test_killed_and_resumed_or_cleared_away(self):
        registry = self.registry()
        self.here.plan(registry.name + "/team/train:1.2", edit=[("envs: {", "envs: {EPOCH_S: \"1\", ")])
        self.here.killed(self.is_training)
        self.assertEqual(len(self.here.containers()), 1)
        report = reports(self.here.say("rbrun", "resume", "--json"))
        self.assertEqual((report["outcome"], sum(t["restarts"] for t in report["trials"])), ("complete", 0))
        self.assertEqual(self.here.containers(), [])
        shutil.rmtree(self.here.first_run())
        self.here.killed(self.is_training)
        self.here.say("rbrun", "gc", "--dry-run")
        self.assertEqual(len(self.here.containers()), 1)
        self.assertIn("its container on this machine was ended", self.here.say("rbrun", "gc").stderr)
        self.assertEqual(self.here.containers(), [])
        report = reports(self.here.say("rbrun", "resume", "--json")) # trials begin again, in another container
        self.assertEqual(report["outcome"], "complete")
        self.assertEqual(self.here.containers(), [])

    def test_killed_while_its_container_is_being_made(self):
        """What was begun goes on, and the next controller waits for it: there is one container, and no other takes its name."""
        self.here.env.update(RB_TEST_RUN_S="2")
        self.here.plan(self.registry().name + "/team/train:1.2")
        self.here.killed(lambda: glob.glob(self.here.folder + "/.local/state/rubberband/runs/*/local/node-0/rb/*/container"))
        self.assertEqual(self.here.containers(), [])
        until = time.monotonic() + 30
        while not has_keeper(self.here.folder):
            self.assertLess(time.monotonic(), until, "nothing would end the container if no one came back")
            time.sleep(0.1)
        report = reports(self.here.say("rbrun", "resume", "--json"))
        self.assertEqual((report["outcome"], report["faults"], len(report["nodes"])), ("complete", [], 1))
        self.assertEqual(self.here.containers(), [])

    def test_a_container_that_is_lost_is_a_node_that_is_lost(self):
        registry = self.registry()
        self.here.plan(registry.name + "/team/train:1.2", edit=[("envs: {", "envs: {EPOCH_S: \"1\", ")])
        with subprocess.Popen([os.path.join(BIN, "rbrun"), "plan.json", "--json"], cwd=self.here.folder, env=self.here.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            until = time.monotonic() + 60
            while not self.is_training():
                self.assertLess(time.monotonic(), until)
                time.sleep(0.1)
            self.here.podman("rm", "--force", *self.here.containers())
            out, err = run.communicate(timeout=90)
        report = [d for d in map(json.loads, out.splitlines()) if d.get("format") == "rb-report/1"][-1]
        self.assertEqual(report["outcome"], "complete", err)
        self.assertEqual(len(report["nodes"]), 2, err)
        self.assertIn("is gone", err)
        self.assertEqual(self.here.containers(), [])

    def test_what_is_wrong_is_said_before_anything_starts(self):
        cases = [(dict(), ":1.3", 1, "RB4442", "there is no such image"),
                 (dict(user="ann:other"), ":1.2", 5, "RB4443", "it is shown to no one without a login"),
                 (dict(says_digest="md5:0123"), ":1.2", 1, "RB4444", "does not say its digest by sha256"),
                 (dict(trouble=9), ":1.2", 1, "RB4444", "status 503; try again, or name the image by its digest")]
        for options, tag, code, number, words in cases:
            with self.subTest(words):
                registry = self.registry(**options)
                self.here.plan(registry.name + "/team/train" + tag)
                said = self.here.say("rbrun", "plan.json", expect=code).stderr
                self.assertIn(words, said)
                self.assertIn("[%s]" % number, said)
                found = [f for f in json.loads(self.here.say("rbrun", "doctor", "plan.json", "--json", expect=code).stdout)["checks"]
                         if f["verdict"] == "fail"]
                self.assertEqual([(f["check"], f["subject"]) for f in found], [("container", "local")])
                self.assertIn(words, found[0]["detail"])
        registry = self.registry(user="ann:s3cret-w0rd", scheme="Basic")
        self.here.env.update(REGISTRY_USER="ann")
        self.here.plan(registry.name + "/team/train:1.2", edit=[("envs:", "image_credentials: {user: REGISTRY_USER, password: NONE}\nenvs:")])
        self.assertIn("image_credentials: NONE is not set in the environment; export it and try again [RB4447]", self.here.say("rbrun", "plan.json", expect=2).stderr)
        self.assertEqual(self.here.containers(), [])

    def test_what_is_missing_is_said_by_the_node(self):
        """No engine; an image without the tools that the node's script needs."""
        image = Image(tools=["sh", "sleep"])
        with Registry({"bare": {"1": image}}) as registry:
            self.here.plan(registry.name + "/bare:1")
            said = self.here.say("rbrun", "plan.json", expect=1).stderr
            self.assertIn("the image has no base64", said)
            self.assertIn("[RB4446]", said)
            os.remove(self.here.folder + "/bin/podman")
            self.here.env["PATH"] = self.here.folder + "/bin"
            for tool in os.listdir("/usr/bin"):
                if tool != "podman":
                    os.symlink("/usr/bin/" + tool, self.here.folder + "/bin/" + tool)
            said = self.here.say("rbrun", "plan.json", expect=1).stderr
            self.assertIn("needs one of these, and none is installed: podman", said)
            self.assertIn("[RB4445]", said)
        Machine(self.here.folder) # for the end
        self.assertEqual(self.here.containers(), [])


class Nodes(Boxed):
    def nodes_find_podman(self):
        before = os.environ["PATH"]
        os.environ["PATH"] = self.here.env["PATH"]  # rbmock's nodes have that of rbmock
        self.addCleanup(os.environ.__setitem__, "PATH", before)

    def test_nodes_of_two_clouds(self):
        """Each pulls by itself and logs in; they end with their containers."""
        registry = self.registry(user="ann:s3cret-w0rd")
        self.here.env.update(REGISTRY_USER="ann", REGISTRY_PASSWORD="s3cret-w0rd")
        self.nodes_find_podman()
        key = self.here.folder + "/key.json"
        with MockCloud(BIN, self.here.folder, "--gcp", "0", "--credentials-out", key, prices=GCP_PRICES, infra="*") as cloud:
            self.here.on(cloud, key)
            for infra, machine in (("mock/us-east-1", "two.gpus"), ("gcp/us-central1", "n1-standard-8+nvidia-tesla-t4:1")):
                with self.subTest(infra):
                    shutil.rmtree(self.here.folder + "/.local", ignore_errors=True)
                    self.here.plan(registry.name + "/team/train:1.2", infra, prices=cloud.prices, edit=[
                        ("resources: {", "resources: {instance_types: [\"%s\"], max_nodes: 1, image_id: {gcp: projects/rbmock/global/images/rbmock-linux}, " % machine),
                        ("envs:", "image_credentials: {user: REGISTRY_USER, password: REGISTRY_PASSWORD}\nenvs:")])
                    self.check_run(infra, self.here.say("rbrun", "plan.json", "--json", "--yes"))
                    self.assertEqual({i["state"] for i in cloud.ledger()["instances"]}, {"terminated"})
                    self.assertEqual(self.pinned(infra), "%s/team/train@%s" % (registry.name, digest(self.image.index)))

    def test_a_pool_on_compute_engine(self):
        """Its nodes boot the pool's image_id, and each job has a container of its own on them, with the job's image in it."""
        registry = self.registry()
        self.nodes_find_podman()
        key = self.here.folder + "/key.json"
        with MockCloud(BIN, self.here.folder, "--gcp", "0", "--credentials-out", key, prices=GCP_PRICES, infra="*") as cloud:
            self.here.on(cloud, key)
            self.here.env["RB_DB"] = self.here.folder + "/store.db"
            self.here.say("rbprofile", "import", "profile.yaml", cloud.prices)
            for name in ("first", "second"):
                self.here.write(name + ".yaml", (JOB % (registry.name + "/team/train:1.2", "local")).replace("name: boxed", "name: " + name))
            self.here.write("pool.yaml", "format: rb-pool/1\nname: lab\ninterval: 1s\nrestart: 500ms\nresources: {infra: [gcp/us-central1], "
                            "instance_types: [\"n1-standard-8+nvidia-tesla-t4:1\"], max_nodes: 2, image_id: {gcp: projects/rbmock/global/images/rbmock-linux}}\n"
                            "jobs: [first.yaml, second.yaml]\n")
            report = json.loads(self.here.say("rbrun", "--pool", "pool.yaml", "--json", "--state-dir", "state").stdout.splitlines()[-1])
            instances = cloud.ledger()["instances"]
        self.assertEqual([job["outcome"] for job in report["jobs"]], ["complete", "complete"])
        self.assertEqual(({i["state"] for i in instances}, report["instances_left"]), ({"terminated"}, 0))
        self.assertEqual(sum(i["cost_uusd"] for i in instances), report["cost_uusd"])
        for job in report["jobs"]:
            logs = [read(path) for path in glob.glob("%s/state/%s/logs/*.log" % (self.here.folder, job["run"]))]
            self.assertTrue(logs)
            for log in logs:
                self.assertIn(" in made here, home /", log)

    def check_run(self, infra, done):
        report = reports(done)
        self.assertEqual((report["outcome"], report["faults"]), ("complete", []))
        self.assertTrue(all(n["infra"].startswith(infra) for n in report["nodes"]))
        logs = list(self.logs())
        self.assertTrue(logs)
        for log in logs:
            self.assertIn(" in made here, home /", log)
        left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("rb-" + report["run"], left)

    def test_a_dead_controller_finds_its_trials_in_their_containers(self):
        registry = self.registry()
        self.nodes_find_podman()
        with MockCloud(BIN, self.here.folder) as cloud:
            self.here.on(cloud)
            self.here.plan(registry.name + "/team/train:1.2", "mock/us-east-1", prices=cloud.prices, edit=[
                ("resources: {", "resources: {instance_types: [two.gpus], "), ("envs: {", "envs: {EPOCH_S: \"1.5\", ")])
            self.here.killed(lambda: any("epoch=1" in log for log in self.logs()))
            done = self.here.say("rbrun", "resume", "--json")
            self.check_run("mock/us-east-1", done)
            self.assertEqual(sum(t["restarts"] for t in reports(done)["trials"]), 0)

    def test_a_spot_machine_asks_its_cloud_from_inside(self):
        """By the image's curl: the trial gets the notice, saves, and goes on in another container."""
        registry = Registry({"team/train": {"1.2": Image(tools=TOOLS + ["curl"])}})
        self.addCleanup(registry.__exit__)
        registry.__enter__()
        self.nodes_find_podman()
        self.here.write("train.sh", TRAIN.replace("    sleep", """    if [ -e "$RB_PREEMPT_FILE" ]; then
        echo "asked $(cat "$RB_PREEMPT_FILE")"
        echo "$((epoch - 1))" >"$RB_CHECKPOINT_DIR/epoch"
        exit 75
    fi
    sleep"""))
        self.here.write("profile.yaml", never_preempted(profile("fast", 0.7)))
        self.here.write("chaos.yaml", "format: rb-chaos/1\nrules:\n  - {where: {instance_type: spot.gpu, market: spot}, "
                                      "what: {interrupted: {after: 14s}}, times: 1}\n")
        row = "mock/us-east-1,spot.gpu,T4,1,16,4,16,spot,0.10,test,2026-07-20T00:00:00Z\n"
        with MockCloud(BIN, self.here.folder, "--chaos", self.here.folder + "/chaos.yaml", prices=row) as cloud:
            self.here.on(cloud)
            self.here.plan(registry.name + "/team/train:1.2", "mock/us-east-1", prices=cloud.prices, edit=[
                ("type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2", "type: random, num_trials: 1, max_resource: 20"),
                ("resources: {", "resources: {instance_types: [spot.gpu], spot: only, max_nodes: 1, "),
                ("envs: {", "checkpoint: {every: none}\nenvs: {EPOCH_S: \"0.7\", ")])
            report = reports(self.here.say("rbrun", "plan.json", "--json", "--yes"))
        self.assertEqual(report["outcome"], "complete")
        logs = "".join(self.logs())
        self.assertRegex(logs, r"asked reason=preempted seconds=1?[0-9]\n")
        epochs = [line for line in logs.splitlines() if line.startswith("epoch=")]
        self.assertEqual((len(epochs), len(set(epochs))), (20, 20)) # none was trained twice


class Launcher(Boxed):
    def test_the_launcher_in_a_container(self):
        """tests/launchers/test_launcher.c: output, words, files, checkpoints, giving way, kills, strays, in a container."""
        registry = self.registry()
        name = registry.name + "/team/train:1.2"
        self.here.podman("pull", "--quiet", "--tls-verify=false", name)
        done = subprocess.run([os.path.join(BIN, "tests/launchers/test_launcher")], env=dict(self.here.env, RB_TEST_IMAGE=name),
                              capture_output=True, text=True, timeout=170, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.here.containers(), [])


def may_run():
    """Why podman starts no container here; None: it does."""
    if not shutil.which("podman") or not shutil.which("runc"):
        return "podman and runc are not installed"
    with tempfile.TemporaryDirectory(prefix="rb-image-probe-", ignore_cleanup_errors=True) as folder:
        machine = Machine(folder)
        done = subprocess.run([folder + "/bin/podman", "run", "--rm", "--network", "host", "--ipc", "host", "--rootfs", "/:O", "true"],
                              env=machine.env, capture_output=True, text=True, check=False)
        unmount(folder)
        return None if done.returncode == 0 else "podman starts no container here: " + done.stderr.strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    args, rest = parser.parse_known_args()
    BIN = os.path.abspath(args.bin)
    why_not = may_run()
    if why_not:
        print("skipped:", why_not)
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0]] + rest)
