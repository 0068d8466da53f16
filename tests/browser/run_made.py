"""One real run on this machine, of a script that needs only a shell, for all tests of a run's pages. Its parameters hold what
a page must not take for markup."""
import json
import os
import re
import subprocess

EVIL = ["</script><script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 2'>", "a & b \"c\""]

TRAIN = """epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep "$PAUSE"
    awk -v e="$epoch" -v lr="$RB_PARAM_LR" 'BEGIN {printf "epoch=%d val_acc=%.4f\\n", e, (1 - exp(-e * lr)) * 0.9}'
    echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch.new" && mv "$RB_CHECKPOINT_DIR/epoch.new" "$RB_CHECKPOINT_DIR/epoch"
done
"""

PROFILE = """format: rb-profile/1
name: made
source: "declared"
training:
  - {accelerator: CPU, base_s: 0.1, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}
noise: {between: {distribution: lognormal, mean: 1.0, cv: 0.1}, within: 1.0}
startup_s: 0.05
checkpoint_s: 0.03
provisioning: [{infra: local, instance_type: "*", market: "*", queue_s: 0.1, init_s: 0.1, capacity_failure: 0}]
"""

POOL = """format: rb-pool/1
name: made-pool
resources: {infra: [local], max_nodes: 1}
policy: goodput
interval: 1s
restart: 500ms
jobs:
  - job.yaml
  - {job: second.yaml, arrives: %gs}
"""


def job(pause, first=""):
    return """name: made
metric: {name: val_acc, goal: maximize}
parameters: {lr: {distribution: log_uniform, min: 0.05, max: 1}, odd: {values: %s}}
scheduler: {type: sha, num_trials: 9, max_resource: 9, eta: 3, unit: epoch}
trial: {gpus: {min: 1, max: 1}, timeout: 1m}
profile: made
envs: {PAUSE: "%g"}
run: %ssh train.sh
checkpoint: {dir: ckpt}
resources: {infra: [local], max_nodes: 1}
deadline: 2m
""" % (json.dumps(EVIL), pause, first)


class Made:
    """A folder with a planned job; .run(...) carries it out."""

    def __init__(self, programs, folder, pause=0.02):
        self.programs, self.folder, self.pause, self.gate = os.path.abspath(programs), folder, pause, os.path.join(folder, "gate")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("RB_", "AWS_"))}
        self.env.update(RB_DB=os.path.join(folder, "profiles.db"), RB_LOCAL_SLOTS="4", NO_COLOR="1")
        for name, text in (("train.sh", TRAIN), ("made.yaml", PROFILE), ("job.yaml", job(pause))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        self.do("rbprofile", "import", "made.yaml")
        self.do("rbplan", "-o", "plan.json", "job.yaml")

    def command(self, program, *args):
        return [os.path.join(self.programs, program), *args]

    def do(self, program, *args):
        done = subprocess.run(self.command(program, *args), cwd=self.folder, env=self.env, text=True, timeout=60,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError("%s %s: exit %d: %s" % (program, " ".join(args), done.returncode, done.stderr + done.stdout))
        return done.stdout

    def start(self, *args, what=("plan.json",)):
        return subprocess.Popen(self.command("rbrun", *what, "--state-dir", "state", *args), cwd=self.folder,
                                env=self.env, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def pool(self, second_arrives):
        """Of the job and itself once more, some seconds later, which trains only after .open_gate()."""
        gate = "while [ ! -e %s ]; do sleep 0.1; done; " % self.gate
        for name, text in (("pool.yaml", POOL % second_arrives), ("second.yaml", job(self.pause, gate))):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        return ("--pool", "pool.yaml")

    def open_gate(self):
        with open(self.gate, "w", encoding="utf-8"):
            pass

    def start_served(self, what=("plan.json",)):
        """What is carried out and served, and its address."""
        run = self.start("--serve", "127.0.0.1:0", what=what)
        for line in run.stderr:
            found = re.search(r"look at it: (http://127\.0\.0\.1:\d+/[0-9a-f]{32}/)$", line.strip())
            if found:
                return run, found.group(1)
        raise AssertionError("rbrun printed no address")

    def report(self, *args):
        return self.do("rbrun", "report", "--state-dir", "state", *args)

    def run_id(self):
        return next(name for name in os.listdir(os.path.join(self.folder, "state")) if name.startswith("made-"))
