"""The clouds of over_http.py's runs: how each misbehaves, what runs on it, what befalls its machines, and what is left on it."""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "cli"), os.path.join(HERE, "..", "crash"), os.path.join(HERE, "..", "providers", "k8s")]
import kill9  # noqa: E402
from cluster import Cluster  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from real_run import profile  # noqa: E402

SPACE, WORKLOADS = "/api/v1/namespaces/rb", "/apis/kueue.x-k8s.io/v1beta1/namespaces/rb/workloads/"
ALIVE, ENDING = ("pending", "running", "stopping"), ("shutting-down", "stopped")
GONE_WITHIN_S = 150  # the object of a pod whose machine has died; 105 s of the cloud's clock

# What a chaos file can do: where, what, how often at most.
CALL_FAULTS = [("lost_response", 0.2), ("{html_502: {after_effect: true}}", 0.1), ("html_502", 0.1),
               ("{truncated_body: {fraction: 0.6}}", 0.1), ("throttle", 0.1), ("connection_reset", 0.1),
               ("{slow_drip: {bytes_per_s: 2000}}", 0.1),
               ("{error: {status: 500, code: InternalError, after_effect: true}}", 0.1)]
LIST_FAULTS = [("{partial_page: {items: 1}}", 0.5), ("{partial_page: {items: 0}}", 0.2), ("html_502", 0.1),
               ("{truncated_body: {fraction: 0.4}}", 0.1), ("throttle", 0.1), ("connection_reset", 0.1)]


def at(actions, faults):
    return [("action: " + action, what, often) for action in actions for what, often in faults]


class Ec2(MockCloud):
    """Instances, reached over ssh."""
    FRONT, JOB, TRAIN, PROFILE = "ec2", kill9.JOB, kill9.TRAIN, kill9.PROFILE
    FAULTS = at(("RunInstances", "TerminateInstances"), CALL_FAULTS) + at(("DescribeInstances",), LIST_FAULTS) + [
        ("action: RunInstances", "{error: {status: 500, code: InsufficientInstanceCapacity}}", 0.2),
        ("action: TerminateInstances", "{error: {status: 400, code: InvalidInstanceID.NotFound}}", 0.2),
        ("", "{clock_skew: {by: 20m}}", 0.01), ("", "fails_to_start", 0.1), ("", "never_boots", 0.02),
        ("", "{boots_slowly: {factor: 5}}", 0.3), ("", "{dies_at: {after: 4s}}", 0.1), ("", "wrong_market", 0.2),
        ("market: spot", "{interrupted: {after: 5s}}", 0.2)]
    SPOT = "mock/us-east-1,two.gpus,T4,2,16,8,32,spot,0.37,test,2026-07-20T00:00:00Z\n"

    def __init__(self, bin_dir, folder, draw, speed, *options):
        more = ("visible_after_s: {distribution: lognormal, mean: %.2f, cv: 0.5}\ntags_fade_s: %.2f\n"
                "throttle:\n  - {action: RunInstances, burst: %d, per_s: %.1f}\n" % (
                    draw.uniform(0.01, 2), draw.uniform(0.3, 5), draw.randint(1, 4), draw.uniform(0.5, 4)))
        super().__init__(bin_dir, folder, "--speed", str(speed), *options, more=more, prices=self.SPOT)

    def accidents_of(self, draw):  # pylint: disable=unused-argument
        """What befalls its machines while a controller runs: (seconds after its start, what, for how long)."""
        return []

    def bill(self, known):
        """Its ledger as {id: micro-dollars}; known: what the run says each of its nodes cost."""
        mine = self.ledger()["instances"]  # no one else has launched anything here
        for i in mine:  # EC2 does not say of what ended whether it ever ran: with a lost answer, a pending one counts as having run
            if i["running_us"] is None and i["cause"] == "user" and i["id"] in known:
                i["cost_uusd"] = known[i["id"]]
        return {i["id"]: i["cost_uusd"] for i in mine}

    def was_replaced(self, instance, known):  # pylint: disable=unused-argument
        """Was one that the run does not know made in the place of another, or another in its place, by the cloud itself?"""
        return False

    def left(self):
        """What of a run that is over is still there."""
        return [i["id"] for i in self.ledger()["instances"] if i["state"] in ALIVE]

    def without_anchor(self):
        """What would outlive its run's anchor; instances have none."""
        return []


class Pods(Cluster):
    """Pods of a cluster, reached through its API server; of every second one they wait in a queue of Kueue."""
    FRONT, PROFILE = "k8s", profile("crash", 0.35)
    JOB = kill9.JOB.replace("[mock/us-east-1], instance_types: [two.gpus]",
                            "[k8s/lab], instance_types: [g2], image_id: {k8s/lab: 'x@sha256:0a'}, "
                            "kubernetes: {namespace: rb, cpus_per_gpu: 1, grace: 3s, queue_timeout: 10s%s}")
    TRAIN = """epoch=$(cat "$RB_RESUME_FROM/epoch" 2>/dev/null || echo 0)
[ "$epoch" -eq "$RB_RESOURCE_START" ] || { echo "wrong checkpoint: $epoch, expected $RB_RESOURCE_START"; exit 9; }
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep 0.3
    echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch"
    echo "epoch=$epoch val_acc=0.$((1000 + (RB_TRIAL_ID * 2741 + epoch * 13) % 9000))"
    [ ! -e "$RB_PREEMPT_FILE" ] || exit 75
done
"""
    FAULTS = at(("pods.create", "pods.delete"), CALL_FAULTS) + at(("pods.list",), LIST_FAULTS) + at(
        ("leases.create", "leases.update", "leases.delete"), CALL_FAULTS[:6]) + at(
        ("pods.exec",), (("{exec_cut: {bytes: 9}}", 0.1), ("{exec_cut: {bytes: 700}}", 0.1), ("no_status", 0.1),
                         ("connection_reset", 0.1))) + [
        ("action: pods.list", "{error: {status: 410, code: Expired}}", 0.1),
        ("action: pods.create", "{error: {status: 409, code: Conflict, message: 'cannot be fulfilled on resourcequotas'}}", 0.2),
        ("action: pods.get", "html_502", 0.1), ("action: workloads.delete", "lost_response", 0.3),
        ("", "fails_to_start", 0.1), ("", "never_boots", 0.02), ("", "{boots_slowly: {factor: 5}}", 0.3),
        ("", "{dies_at: {after: 4s}}", 0.05), ("", "{interrupted: {after: 4s}}", 0.2),
        ("", "{replaced: {after: 4s}}", 0.25)]
    SPOT = "k8s/lab,g2,T4,2,16,8,30,spot,0.37,test,2026-07-20T00:00:00Z\n"
    ACCIDENTS = {"pod evicted": (1, {}), "pod evicted at a second's notice": (1, {"gracePeriodSeconds": 1}),
                 "all pods evicted": (9, {})}  # how many at most, with which options

    def __init__(self, bin_dir, folder, draw, speed, *options):
        queued = draw.random() < 0.5
        super().__init__(bin_dir, folder, "--speed", str(speed), *options, prices=self.SPOT, kubernetes=(
            ", unreachable_s: 5, release_s: %d, granted: [create pods/eviction], exec_while_terminating: %s%s" % (
                draw.choice((0, 600)), draw.choice(("true", "true", "false")),
                ", queue: {name: team, gpus: 8}" if queued else "")))
        self.shutdown_s *= speed  # controllers look by the host's clock
        self.JOB = self.JOB % (", queue: team" if queued else "")

    def __enter__(self):
        super().__enter__()
        self.customer["KUBECONFIG"] = self.kubeconfig
        return self

    def accidents_of(self, draw):
        if draw.random() < 0.3:
            return []
        return [(draw.uniform(1, 12), draw.choice(sorted(self.ACCIDENTS)), 0) for _ in range(draw.randint(1, 3))]

    def pods(self, *states):
        """Of its ledger, on which there is no chaos."""
        return [i for i in self.ledger()["instances"] if i["state"] in states]

    def befall(self, what, draw):
        """True: a pod was hit by it."""
        most, options = self.ACCIDENTS[what]
        names = sorted(i["name"] for i in self.pods("running"))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": options}
        answers = [self.status_of("%s/pods/%s/eviction" % (SPACE, name), "POST", dict(eviction, metadata={"name": name}))
                   for name in draw.sample(names, min(most, len(names)))]
        return any(status < 300 for status in answers)

    def bill(self, known):  # pylint: disable=unused-argument
        return {"%s.%s" % (i["name"], i["id"]): i["cost_uusd"] for i in self.ledger()["instances"]}

    def was_replaced(self, instance, known):
        """Another of that name, which follows from the launch's token, is one of the run's."""
        return instance.split(".")[0] in {i.split(".")[0] for i in known}

    def left(self):
        until = time.monotonic() + GONE_WITHIN_S
        while self.pods(*ALIVE, *ENDING) and time.monotonic() < until:
            time.sleep(0.2)
        groups = {i["tags"].get("kueue.x-k8s.io/pod-group-name") for i in self.ledger()["instances"]} - {None}
        return (["pod " + i["name"] for i in self.pods(*ALIVE, *ENDING)] +
                ["lease " + lease["metadata"]["name"] for lease in self.objects("leases")] +
                ["workload " + name for name in sorted(groups) if self.status_of(WORKLOADS + name) != 404])

    def without_anchor(self):
        """Pods that stay although no Lease is there that would end them."""
        if self.objects("leases"):
            return []
        before = {i["name"] for i in self.pods(*ALIVE)}
        if before:
            time.sleep(3)  # those of a Lease that has just gone are collected
        return sorted(before & {i["name"] for i in self.pods(*ALIVE)})
