"""What a test of a real run sets up: a folder with its files, an environment in which nothing leads elsewhere, a profile, a
plan, and programs that end as expected."""
import json
import os
import subprocess

ELSEWHERE = ("AWS_", "RB_", "GOOGLE_", "GCLOUD_", "CLOUDSDK_", "GCE_", "KUBE")  # variables of the user who runs the tests
ONE_GPU = "{gpus: 1, nodes: 1, speedup: 1.0}"

PROFILE = """format: rb-profile/1
name: %s
training:
  - {accelerator: %s, base_s: %g, layouts: [%s]}
noise: {between: 1.0, within: 1.0}
startup_s: %g
checkpoint_s: %g
provisioning:
  - {infra: "*", instance_type: "*", market: "*", queue_s: %g, init_s: %g, capacity_failure: 0}
"""


def profile(name, base_s, *layouts, accelerator="T4", startup_s=0.3, checkpoint_s=0.2, queue_s=0.5, init_s=1.0):
    """An rb-profile/1 without noise."""
    return PROFILE % (name, accelerator, base_s, ", ".join(layouts or [ONE_GPU]), startup_s, checkpoint_s, queue_s, init_s)


def never_preempted(text):
    """The same profile, for jobs that may use spot."""
    return text.replace("capacity_failure: 0}", "capacity_failure: 0, preemption_per_hour: 0}")


def user():
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


class RealRun:
    """.folder is where commands are said and their home; .env what they see."""

    def __init__(self, bin_dir, folder, **env):
        self.bin, self.folder = os.path.abspath(bin_dir), folder
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(ELSEWHERE)}
        self.env.update(HOME=folder, RB_DB=os.path.join(folder, "none.db"), **env)

    def on(self, cloud, key=None):
        """The environment of a MockCloud's customer; key: the file with its credentials on Compute Engine, if it is one."""
        self.env.update(cloud.customer, RB_SSH_PORT=str(cloud.ssh_port), RB_SSH_USER=user())
        if key:
            self.env.update(RB_GCP_COMPUTE_ENDPOINT=cloud.gcp_url, RB_GCP_TOKEN_ENDPOINT=cloud.gcp_url + "/token",
                            GOOGLE_APPLICATION_CREDENTIALS=key, NO_GCE_CHECK="true")

    def write(self, name, text):
        """Its path; folders are made, and no one else may read it."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
            f.write(text)
        return path

    def say(self, *argv, expect=0, timeout=120, **env):
        """A program of ours, to its end."""
        done = subprocess.run([os.path.join(self.bin, argv[0]), *argv[1:]], capture_output=True, text=True, timeout=timeout,
                              env=dict(self.env, **env), cwd=self.folder, check=False)
        assert done.returncode == expect, "%s: exit %d, expected %d\n%s" % (
            argv, done.returncode, expect, done.stderr[-3000:] + done.stdout[-1000:])
        return done

    def make_plan(self, job, out="plan.json", profile_file="profile.yaml", prices="prices.csv"):
        """The static plan of a job, as a file."""
        self.say("rbplan", job, "--planner", "static", "--profile-file", profile_file, "--prices", prices, "-o", out)
        return os.path.join(self.folder, out)


def edit(plan, change):
    """Changes a plan in its file."""
    with open(plan, encoding="utf-8") as f:
        document = json.load(f)
    change(document)
    with open(plan, "w", encoding="utf-8") as f:
        json.dump(document, f)
    return plan


def own(stage, n_nodes, n_slots):
    """This many nodes for that stage of a plan, with room for n_slots trials each."""
    stage["nodes"][0]["count"] = n_nodes
    stage["waves"] = -(-stage["trials"] // (n_nodes * n_slots))
