"""An agent at work on a mock cloud through rbmcp: it plans, asks, is refused without an approval, and runs with one that a person
made by typing the very command it was given. Usage: agent.py --bin BUILD"""
import argparse
import json
import os
import sys
import tempfile
import time
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "crash"), os.path.join(here, "..", "cli"), here]
import kill9  # noqa: E402
from line_client import LineClient  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from person import type_at  # noqa: E402

JOB = kill9.JOB.replace("num_trials: 6", "num_trials: 2").replace("max_resource: 4", "max_resource: 2")


class Agent(unittest.TestCase):
    bin_dir = None

    def test_from_a_job_to_a_report(self):
        with tempfile.TemporaryDirectory(prefix="rb-agent-") as folder, MockCloud(self.bin_dir, folder) as cloud:
            user = kill9.RealRun(self.bin_dir, folder, PATH=self.bin_dir + os.pathsep + os.environ["PATH"])
            for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
                user.env.pop(name, None)
            user.on(cloud)
            for name, text in (("job.yaml", JOB), ("train.sh", kill9.TRAIN), ("profile.yaml", kill9.PROFILE)):
                user.write("work/" + name, text)
            with open(cloud.prices, encoding="utf-8") as f:
                user.write("work/prices.csv", f.read())
            with LineClient(self.bin_dir, os.path.join(folder, "work"), env=user.env) as agent:
                self.go(agent, user, cloud, folder)

    def go(self, agent, user, cloud, folder):
        kept = json.loads(agent.tool("estimate", job="job.yaml")["content"][1]["text"])
        asked = agent.tool("approve", plan=kept["plan"], max_cost=5)["structuredContent"]
        wanted = {"plan": kept["plan"], "plan_sha256": asked["plan_sha256"], "approval": asked["approval"]}
        self.assertEqual(agent.error_of("run", **wanted)["number"], "RB4031")  # no one has approved anything
        with open(os.path.join(folder, "work", "mine.json"), "w", encoding="utf-8") as f:
            json.dump({"format": "rb-approval/1"}, f)
        self.assertEqual(agent.error_of("run", **dict(wanted, approval="mine.json"))["code"], "invalid")
        os.remove(os.path.join(folder, "work", "mine.json"))
        self.assertEqual(cloud.ledger()["instances"], [], "a machine was launched without an approval")
        code, shown = type_at(["sh", "-c", asked["command"]], "5", user.env, folder)
        self.assertEqual(code, 0, shown)
        run = agent.tool("run", meta={"progressToken": 1}, **wanted)["structuredContent"]["run"]
        self.assertEqual(agent.tool("status", run=run)["structuredContent"]["format"], "rb-status/1")
        until = time.monotonic() + 90
        while agent.tool("status", run=run)["structuredContent"]["state"] == "running" and time.monotonic() < until:
            time.sleep(0.2)
        report = agent.tool("report", run=run)["structuredContent"]
        self.assertEqual((report["run"], report["outcome"]), (run, "complete"))
        listed = agent.ask("resources/list")["result"]["resources"]
        self.assertEqual([r["uri"] for r in listed], ["rb://runs/%s/report" % run])
        read = agent.ask("resources/read", {"uri": listed[0]["uri"]})["result"]["contents"][0]
        self.assertEqual(json.loads(read["text"])["run"], run)
        self.assertEqual(agent.error_of("run", **wanted)["number"], "RB4038")
        stopped = agent.tool("stop", run=run)["structuredContent"]
        self.assertEqual(stopped["leak_check"]["instances_left"], 0)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bin", required=True)
    known, rest = options.parse_known_args()
    Agent.bin_dir = os.path.abspath(known.bin)
    unittest.main(argv=sys.argv[:1] + rest)
