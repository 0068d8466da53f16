#!/usr/bin/env python3
"""slurm_run.py BIN EXAMPLES: rbrun against a real Slurm cluster on this machine. The scenarios run side by side; each
ends with no job of its own left in the queue."""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import cluster as slurm
from lossy_proxy import LossyProxy

PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
slurm/%s,%s,T4,%d,16,4,16,on_demand,%s,test,
"""
PROFILE = """format: rb-profile/1
name: %s
unit: epoch
training:
  - accelerator: T4
    base_s: 0.5
    layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.8}]
noise:
  between: {distribution: constant, mean: 1.0}
  within: {distribution: constant, mean: 1.0}
startup_s: {distribution: constant, mean: 1}
checkpoint_s: {distribution: constant, mean: 1}
provisioning:
  - {infra: slurm, instance_type: "*", market: "*", queue_s: {distribution: constant, mean: 3},
     init_s: {distribution: constant, mean: 1}, capacity_failure: 0, preemption_per_hour: null}
"""
JOB = """name: %(name)s
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: %(trials)d, min_resource: 1, max_resource: %(epochs)d, eta: 2, unit: epoch}
trial: {gpus: 1}
envs: {PACE: "%(pace)s"}
run: sh trial.sh
checkpoint: {dir: ckpt, size: 1KB}
resources:
  infra: %(infra)s
  max_nodes: %(nodes)d
  slurm: {shared_dir: %(shared)s}
deadline: %(deadline)s
budget: 5
"""


def require(holds, why):
    if not holds:
        raise AssertionError(why)


class Run:
    """One job on one partition: its folder, its plan, and rbrun with or without a token."""

    def __init__(self, test, name, partition, guest=False, price="3.60", **job):
        self.cluster, self.bin, self.name = test.cluster, test.bin, name
        self.folder, self.state = os.path.join(test.folder, name), os.path.join(test.folder, name, "state")
        self.who = slurm.as_guest() if guest else {}
        self.env = dict(self.cluster.env, HOME=self.folder, XDG_DATA_HOME=self.folder, NO_COLOR="1",
                        RB_SLURM_URL="unix:" + self.cluster.socket if guest else self.cluster.url)
        if not guest:
            self.env["SLURM_JWT"] = self.cluster.token()
        self.shared = os.path.join(test.folder, "shared-" + name)
        os.makedirs(self.folder)
        os.makedirs(self.shared)
        shutil.copy(os.path.join(os.path.dirname(__file__), "trial.sh"), self.folder)
        self.job = {"name": name, "partition": partition, "trials": 4, "epochs": 4, "pace": "0.4", "nodes": 2,
                    "type": "gpu:2", "gpus": 2, "deadline": "10m", "shared": self.shared, "price": price,
                    "infra": "slurm/" + partition} | job
        self.write("job.yaml", JOB % self.job)
        self.write("profile.yaml", PROFILE % name)
        self.write("prices.csv", PRICES % (partition, self.job["type"], self.job["gpus"], price))
        if guest:
            own(self.folder)
            own(self.shared)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def start(self, program, *args):
        return subprocess.Popen([os.path.join(self.bin, program), *args], cwd=self.folder, env=self.env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **self.who)

    def wait(self, process, code=0, seconds=80):
        try:
            said = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("%s: not over after %d s:\n%s" % (self.name, seconds, process.communicate()[0])) from None
        require(process.returncode == code, "%s: exit code %d, expected %d:\n%s" % (self.name, process.returncode, code, said))
        return said

    def plan(self):
        self.wait(self.start("rbplan", "--profile-file", "profile.yaml", "--prices", "prices.csv", "-o", "plan.json",
                             "job.yaml"))

    def rbrun(self, *args):
        return self.start("rbrun", *args, "--state-dir", self.state)

    def carry_out(self, *options, code=0):
        self.plan()
        return self.wait(self.rbrun("--yes", "plan.json", *options), code)

    def id(self):
        names = [n for n in os.listdir(self.state) if os.path.isdir(os.path.join(self.state, n))]
        require(len(names) == 1, "%s: expected one run, found %s" % (self.name, names))
        return names[0]

    def report(self):
        with open(os.path.join(self.state, self.id(), "report.json"), encoding="utf-8") as f:
            return json.load(f)

    def logs(self):
        folder = os.path.join(self.state, self.id(), "logs")
        return [open(os.path.join(folder, n), encoding="utf-8").read() for n in sorted(os.listdir(folder))]

    def jobs(self):
        """Slurm's jobs of this run, by the name that the run gives them."""
        return [j for j in self.cluster.jobs() if j["JobName"].startswith("rb-%s-" % self.name)]

    def running_job(self):
        def look():
            return [j for j in self.jobs() if j["JobState"] == "RUNNING" and
                    any("epoch=" in log for log in self.logs_or_none())]
        self.cluster.wait_for(look, "training on " + self.name, 60)
        return look()[0]

    def logs_or_none(self):
        return self.logs() if os.path.isdir(self.state) and os.path.isdir(os.path.join(self.state, self.id(), "logs")) else []

    def check_end(self, complete=True):
        report = self.report()
        require(report["leak_check"]["instances_left"] == 0, "%s: %s" % (self.name, report["leak_check"]))
        # Seen by others than the program itself; Slurm may still be taking the last node back.
        self.cluster.wait_for(lambda: all(j["JobState"] in ("COMPLETED", "CANCELLED", "FAILED", "NODE_FAIL")
                                          for j in self.jobs()), "the end of the jobs of " + self.name)
        tokens = [re.search(r"token=(\w+)", j["line"]).group(1) for j in self.jobs()]
        require(tokens and len(tokens) == len(set(tokens)), "%s: a launch was submitted twice: %s" % (self.name, tokens))
        if complete:
            require(report["best"]["checkpoint"], "%s: no best checkpoint" % self.name)
            require(len(report["nodes"]) == len(tokens), "%s: %d nodes, %d jobs" % (self.name, len(report["nodes"]),
                                                                                     len(tokens)))
        return report


def own(folder):
    guest = pwd.getpwnam(slurm.GUEST)
    for path, _, files in os.walk(folder):
        for name in [path] + [os.path.join(path, f) for f in files]:
            os.chown(name, guest.pw_uid, guest.pw_gid)


def faults(report):
    return " | ".join(f["text"] if isinstance(f, dict) and "text" in f else json.dumps(f) for f in report["faults"])


# --- scenarios


def digits(test):
    """The digits example on two allocations that share nodes with others; the answer to the first submission is lost on
    the way, and looking for its token finds the job."""
    run = Run(test, "digits", "gpu", trials=4, epochs=4, price="0")
    for name in ("train.py",):
        shutil.copy(os.path.join(test.examples, "digits", name), run.folder)
    with open(os.path.join(test.examples, "digits", "job.yaml"), encoding="utf-8") as f:
        example = f.read()
    parameters = example[example.index("parameters:"):example.index("scheduler:")]
    text = (JOB % run.job).replace("parameters: {lr: {min: 0.1, max: 0.9}}\n", parameters)
    run.write("job.yaml", text.replace("sh trial.sh", "/usr/bin/python3 train.py --epoch-seconds 0.4 "
                                                      "--startup-seconds 0.2 $RB_ARGS"))
    with LossyProxy(test.cluster.url, lose="/job/submit") as proxy:
        run.env["RB_SLURM_URL"] = proxy.url
        said = run.carry_out()
    require(proxy.lost == 1 and "undecided" in said, "digits: the answer was not lost: " + said)
    report = run.check_end()
    require(float(report["best"]["metric"]) > 0.5, "digits: %s learned nothing" % report["best"])
    require(report["cost_uusd"]["actual"] == 0, "digits: %s: a declared price of 0" % report["cost_uusd"])


def devices(test):
    """Allocations that share a node: every trial sees the GPUs that Slurm lent to its own. Planned for haste, so that
    there are several; carried out at leisure."""
    run = Run(test, "devices", "gpu", trials=6, type="gpu:1", gpus=1, nodes=6, deadline="12s")
    run.carry_out("--deadline", "10m")
    run.check_end()
    seen = set()  # an allocation that is given back may be followed by another one on the same GPU
    for log in run.logs():
        for node, job, device, lent in re.findall(r"here node=(\S+) job=(\S+) devices=(\S*) lent=(\S*)", log):
            require(device and device == lent, "devices: %s was lent, %s was used" % (lent, device))
            seen.add((node, device, job))
    require(len({(node, device) for node, device, job in seen}) > 1, "devices: %s: one GPU for all trials" % seen)


def lost_node(test):
    """A slurmd is killed with all it runs while a trial trains: Slurm gives the node up, the run takes another one."""
    run = Run(test, "lost", "lost", pace="1.5", nodes=1)
    run.plan()
    process = run.rbrun("--yes", "plan.json")
    job = run.running_job()
    test.cluster.cut_power(job["NodeList"], job["JobId"])
    run.wait(process)
    report = run.check_end()
    require("lost" in faults(report) and len(report["nodes"]) == 2, "lost: %s" % json.dumps(report["faults"]))


def never_boots(test):
    """The node of State=CLOUD that Slurm prefers never comes: the next one does."""
    run = Run(test, "cloud", "cloud", nodes=1)
    said = run.carry_out()
    report = run.check_end()
    require(len(report["nodes"]) == 2 and "lost" in faults(report), "cloud: %s\n%s" % (json.dumps(report["faults"]), said))


def killed_controller(test):
    """kill -9 while trials train; they go on, and `rbrun resume` finds them. Over the unix socket, as another user."""
    run = Run(test, "resume", "gpu", guest=True, pace="1.5", nodes=1)
    run.plan()
    process = run.rbrun("--yes", "plan.json")
    job = run.running_job()
    process.kill()
    process.communicate()
    run.wait(run.rbrun("resume", run.id()))
    report = run.check_end()
    require([n["id"] for n in report["nodes"]] and len(run.jobs()) == 1, "resume: the first job was not kept")
    require(job["UserId"].startswith(slurm.GUEST), "resume: job of " + job["UserId"])


def gives_way(test):
    """Asynchronous halving: trials that fall behind are asked through the mailbox to give way, and do."""
    run = Run(test, "asks", "gpu", nodes=1, epochs=8)
    run.write("job.yaml", (JOB % run.job).replace("{type: sha,", "{type: asha, rule: speculate,"))
    said = run.carry_out()
    report = run.check_end()
    require(re.search(r"trial \d+ ended: gave way", said), "asks: no one gave way:\n" + said)
    require(not report["warnings"] and not report["faults"], "asks: %s %s" % (report["warnings"], faults(report)))
    require(report["outcome"] == "complete", "asks: " + report["outcome"])


def boxed(test):
    """The same in an image, by a stand-in for apptainer: all commands of the job run inside, and what they start is found."""
    run = Run(test, "boxed", "gpu", nodes=1, epochs=8)
    text = (JOB % run.job).replace("{type: sha,", "{type: asha, rule: speculate,").replace("sh trial.sh", 'test "$RB_TEST_INSIDE" = yes && sh trial.sh')
    run.write("job.yaml", text + 'setup: test "$RB_TEST_INSIDE" = yes\nimage: registry.example.org/train@sha256:%s\n' % ("0" * 64))
    said = run.carry_out()
    report = run.check_end()
    require(re.search(r"trial \d+ ended: gave way", said), "boxed: no one gave way:\n" + said)
    require(not report["faults"] and report["outcome"] == "complete", "boxed: %s" % faults(report))


def beside_local(test):
    """Some stages on Slurm, the others on this machine, which costs nothing."""
    run = Run(test, "beside", "gpu", deadline="140s", infra="[slurm/gpu, local]")
    run.env["RB_LOCAL_SLOTS"] = "1"
    on_cpu = "  - {accelerator: CPU, base_s: 30, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
    anywhere = PROFILE.replace("base_s: 0.5", "base_s: 20").replace("noise:", on_cpu + "noise:", 1).replace("infra: slurm,", 'infra: "*",')
    run.write("profile.yaml", anywhere % run.name)
    run.carry_out()
    report = run.check_end(complete=False)
    require({n["infra"] for n in report["nodes"]} == {"slurm/gpu", "local"}, "beside: %s" % report["nodes"])
    require(report["outcome"] == "complete", "beside: " + report["outcome"])


def interrupted(test):
    """SIGINT: trials are ended, the allocation is given back."""
    run = Run(test, "stop", "gpu", pace="30", nodes=1)
    run.plan()
    process = run.rbrun("--yes", "plan.json")
    test.cluster.wait_for(lambda: any(j["JobState"] == "RUNNING" for j in run.jobs()) and run.logs_or_none(), "a trial", 60)
    process.send_signal(signal.SIGINT)
    run.wait(process, 130)
    run.check_end(complete=False)


def orphaned(test):
    """kill -9, and no one resumes: `rbrun gc` finds the allocation by its owner and ends it."""
    run = Run(test, "orphan", "gpu", pace="30", nodes=1)
    run.plan()
    process = run.rbrun("--yes", "plan.json")
    test.cluster.wait_for(lambda: any(j["JobState"] == "RUNNING" for j in run.jobs()), "the allocation", 60)
    process.kill()
    process.communicate()
    gc = ["gc", "--yes", "--infra", "slurm/gpu", "--older-than", "1s"]
    time.sleep(1.5)
    job = run.jobs()[0]["JobId"]
    said = run.wait(run.rbrun(*gc, "--dry-run"))
    require(job in said and run.jobs()[0]["JobState"] == "RUNNING", "orphan: dry run: " + said)
    said = run.wait(run.rbrun(*gc))
    test.cluster.wait_for(lambda: run.jobs()[0]["JobState"] in ("CANCELLED", "COMPLETED"), "the end of the orphan")


def refused(test):
    """What no node can give is refused with Slurm's words; a token that has expired, with ours. Nothing is left."""
    run = Run(test, "refused", "gpu", type="gpu:64", gpus=64, nodes=1)
    said = run.carry_out(code=2)
    require("Slurm error 2014" in said and "instance type" in said, "refused: " + said)
    require(not [j for j in run.jobs() if j["JobState"] not in ("FAILED", "CANCELLED")], "refused: a job is left")
    late = Run(test, "late", "gpu", nodes=1)
    late.env["SLURM_JWT"] = test.cluster.ask("scontrol", "token", "username=root", "lifespan=1").strip().split("=", 1)[1]
    time.sleep(2)
    require("has expired" in late.carry_out(code=5), "late: said something else")


def doctored(test):
    """`rbrun doctor` asks Slurm, and believes neither a token nor an address that it has not tried."""
    run = Run(test, "doctored", "gpu", nodes=1)
    said = run.wait(run.start("rbrun", "doctor", "job.yaml"))
    require("ok    credentials  slurm/gpu: accepted" in said, "doctored: " + said)
    good, run.env["SLURM_JWT"] = run.env["SLURM_JWT"], "garbage"
    said = run.wait(run.start("rbrun", "doctor", "job.yaml"), code=1)  # Slurm answers 500 to a token that it cannot read
    require("fail  instances    slurm/gpu: " in said and "SLURM_JWT" in said, "doctored: " + said)
    run.env.update(SLURM_JWT=good, RB_SLURM_URL="http://127.0.0.1:9")
    said = run.wait(run.start("rbrun", "doctor", "job.yaml"), code=1)
    require("fail  instances    slurm/gpu: " in said and "127.0.0.1:9" in said, "doctored: " + said)


def measured(test):
    """rbprofile on Slurm: trials are timed on an allocation, the queue on two more; what is kept can be planned with."""
    run = Run(test, "measured", "gpu", nodes=1)
    store = ["--db", "store.db"]
    run.wait(run.start("rbprofile", "import", "prices.csv", *store))
    said = run.wait(run.start("rbprofile", "train", "job.yaml", "--instance-type", "gpu:2", "--gpus", "1,2", "--configs", "1", "--resource", "8", "--yes",
                              "--state-dir", run.state, *store))
    require("2 of 2 runs kept" in said, "measured: " + said)
    said = run.wait(run.start("rbprofile", "provision", "--infra", "slurm/gpu", "--instance-type", "gpu:2", "--shared-dir",
                              run.shared, "-n", "2", "--yes", "--state-dir", run.state, *store))
    require(len(re.findall(r"(?m)^ +\d+  ok ", said)) == 2, "measured: two allocations: " + said)
    test.cluster.wait_for(lambda: all(j["JobState"] in ("COMPLETED", "CANCELLED") for j in run.jobs()), "the end of the jobs")
    fit = json.loads(run.wait(run.start("rbprofile", "show", "measured", "--json", *store)))
    seconds = {c["gpus"]: c["mean_s"] for c in fit["cells"]}
    require(0.3 < seconds[1] < 2 and set(seconds) == {1, 2}, "measured: %s" % seconds) # PACE is 0.4 s an epoch; a line may be seen late
    place = [p for p in fit["provisioning"] if p["infra"] == "slurm/gpu"]
    require(place and place[0]["ok"] == 3, "measured: %s" % fit["provisioning"])
    run.wait(run.start("rbplan", "-o", "plan.json", "job.yaml", *store))


def controller_in_a_job(test):
    """--at slurm/gpu: the controller is a batch job of its own, without a token of ours; it ends last, and its files come home."""
    run = Run(test, "elsewhere", "gpu", price="0")
    run.write("job.yaml", (JOB % run.job).replace("slurm: {", "slurm: {url: %s, " % test.cluster.url))
    run.plan()
    state = ("--state-dir", run.state)
    said = run.wait(run.rbrun("plan.json", "--at", "slurm/gpu", "--yes"))
    id = re.search(r"run (\S+) goes on at slurm/gpu", said).group(1)
    require("cpu:1 in slurm/gpu, which ends after" in said, "elsewhere: its limit is not said: " + said)
    own, = [j for j in test.cluster.jobs() if j["JobName"].startswith("rb-elsewhere-controller-")]
    pid = int(re.search(r"process (\d+)", said).group(1))
    with open("/proc/%d/environ" % pid, "rb") as f:
        environ = f.read()
    require(b"SLURM_JOB_ID=%s\0" % own["JobId"].encode() in environ and run.env["SLURM_JWT"].encode() not in environ,
            "elsewhere: process %d is not in job %s, or has our token" % (pid, own["JobId"]))
    require("best configuration" in run.wait(run.rbrun("attach", id)), "elsewhere: no report")
    running = [j["JobId"] for j in run.jobs() if j["JobState"] == "RUNNING"]
    require(running == [own["JobId"]], "elsewhere: %s run, expected the controller alone" % running)
    run.wait(run.rbrun("move", id, "--to", "here"))
    test.cluster.wait_for(lambda: not [j for j in run.jobs() if j["JobState"] not in ("COMPLETED", "CANCELLED")], "the end of its jobs")
    report = json.loads(run.wait(run.rbrun("report", "--json", id)))
    require(report["outcome"] == "complete" and report["controller"]["id"] == own["JobId"] and report["controller"]["ended_at_us"],
            "elsewhere: %s" % report["controller"])
    run.wait(run.start("rbrun", "fetch", id, "--best", "model", *state))


def controller_job_cancelled(test):
    """The controller's job is cancelled: its process ends with it, and its nodes end by themselves or by gc."""
    run = Run(test, "cancelled", "gpu", price="0", pace="3")
    run.write("job.yaml", (JOB % run.job).replace("slurm: {", "slurm: {url: %s, " % test.cluster.url))
    run.plan()
    said = run.wait(run.rbrun("plan.json", "--at", "slurm/gpu", "--yes"))
    id, pid = re.search(r"run (\S+) goes on at slurm/gpu: process (\d+)", said).groups()
    own, = [j for j in test.cluster.jobs() if j["JobName"].startswith("rb-cancelled-controller-")]
    test.cluster.ask("scancel", own["JobId"])
    test.cluster.wait_for(lambda: not os.path.exists("/proc/" + pid), "the end of the controller")
    require("does not answer" in run.wait(run.rbrun("status", id), code=1), "cancelled: it is not said")
    for job in run.jobs():
        if job["JobState"] in ("RUNNING", "PENDING"):
            test.cluster.ask("scancel", job["JobId"])
    test.cluster.wait_for(lambda: all(j["JobState"] in ("COMPLETED", "CANCELLED", "FAILED") for j in run.jobs()), "the end of its jobs")


SCENARIOS = [controller_in_a_job, controller_job_cancelled, never_boots, lost_node, killed_controller, gives_way, boxed, beside_local, digits, devices, interrupted, refused, doctored,
             measured]
ALONE = [orphaned]  # gc takes whatever no one carries out from its own state directory


class Test:
    def __init__(self, cluster, folder, bin_dir, examples):
        self.cluster, self.folder, self.bin, self.examples = cluster, folder, bin_dir, examples
        self.failures = []

    def attempt(self, scenario):
        began = time.monotonic()
        try:
            scenario(self)
            print("ok      %-18s %5.1f s  %s" % (scenario.__name__, time.monotonic() - began, scenario.__doc__.split("\n")[0]))
        except BaseException:  # pylint: disable=broad-except
            self.failures.append(scenario.__name__)
            print("FAILED  %-18s\n%s" % (scenario.__name__, traceback.format_exc()))


def main():
    slurm.skip_unless_possible()
    wanted = sys.argv[3:]
    with tempfile.TemporaryDirectory(prefix="rb-slurm-") as folder:
        os.chmod(folder, 0o755)
        os.mkdir(os.path.join(folder, "cluster"))
        bin_dir = os.path.join(folder, "bin")  # where another user may read it
        os.mkdir(bin_dir)
        for program in ("rbplan", "rbprofile", "rbrun"):
            shutil.copy(os.path.join(sys.argv[1], program), bin_dir)
        with slurm.Cluster(os.path.join(folder, "cluster")) as cluster:
            test = Test(cluster, folder, bin_dir, os.path.abspath(sys.argv[2]))
            threads = [threading.Thread(target=test.attempt, args=(s,)) for s in SCENARIOS
                       if not wanted or s.__name__ in wanted]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            for scenario in ALONE:
                if not wanted or scenario.__name__ in wanted:
                    test.attempt(scenario)
            left = [line for line in cluster.unfinished() if not test.failures]
    for line in left:
        print("a job is left: " + line)
    sys.exit(1 if test.failures or left else 0)


if __name__ == "__main__":
    main()
