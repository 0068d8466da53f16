"""A controller that never comes back: its nodes must end themselves, and no later than was said. The cloud's clock runs
600 times as fast as that of this machine, so that an hour is six seconds."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "crash"), os.path.join(here, "..", "..", "cli")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402

SPEED = 600
LIMIT_US = 60 * 60 * 1000000  # from the boot, without a heartbeat
SLACK_US = 3 * SPEED * 1000000  # this machine may be busy for three seconds


def wait_for(what, seconds, condition):
    deadline = time.time() + seconds
    while time.time() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("waited %d s for %s, which did not come" % (seconds, what))


def check_sockets(crash, state):
    """What ssh left of the controller goes with what gc tidies up, and not with a look at that."""
    run, = (name for name in os.listdir(state) if name.startswith("crash-"))
    sockets = kill9.control_dir(os.path.join(state, run))
    crash.run(["rbrun", "gc", "--state-dir", state, "--dry-run"])
    assert os.path.exists(sockets), "nothing is left where the controller's sockets are looked for: %s" % sockets
    crash.run(["rbrun", "gc", "--state-dir", state])
    assert not os.path.exists(sockets), "left by gc: %s" % sockets


def check(bin_dir, folder):
    with MockCloud(bin_dir, folder, "--speed", str(SPEED)) as cloud:
        crash = kill9.Crash(bin_dir, folder, cloud)
        run = subprocess.Popen([os.path.join(bin_dir, "rbrun"), crash.plan, "--state-dir", os.path.join(folder, "state")],
                               env=dict(crash.env, EPOCH_S="30"), cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        try:
            instances = lambda: cloud.ledger()["instances"]  # noqa: E731
            wait_for("a node that takes logins", 30, lambda: [i for i in instances() if i["ready_us"]])
        finally:
            run.kill()
            said = run.communicate()[1]
        # Before it knows, it promises nothing.
        assert "if every node's dead man's switch is armed" in said and "end themselves" not in said, said
        wait_for("the end of all", 60, lambda: all(i["ended_us"] for i in instances()))
        for i in instances():
            lived_us = i["ended_us"] - i["ready_us"] if i["ready_us"] else 0
            assert i["cause"] == "guest", "%s ended by %s" % (i["id"], i["cause"])
            assert 0 < lived_us <= LIMIT_US + SLACK_US, "%s lived for %d s" % (i["id"], lived_us / 1e6)
        check_sockets(crash, os.path.join(folder, "state"))
        return len(instances())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rb-switch-") as temporary:
        print("%d nodes ended themselves" % check(os.path.abspath(options.bin), temporary))
