"""Runs to browse: two that are over and differ, one that goes on, and a folder of shared reports, one of them hostile. For
tests of `rbrun browse` with and without a browser."""
import json
import os
import re
import shutil
import subprocess

import run_made

HOSTILE = "</script><img src=x onerror='window.pwned = 3'>\x1b[31m"


class Many:
    """.rbrun(...) on their state directory; .runs: their ids, oldest first; .team: the shared folder."""

    def __init__(self, programs, folder):
        self.folder, self.state, self.team = folder, os.path.join(folder, "state"), os.path.join(folder, "team")
        self.made = run_made.Made(programs, folder, pause=0)
        self.made.do("rbrun", "plan.json", "--state-dir", "state")
        with open(os.path.join(folder, "job.yaml"), encoding="utf-8") as f:
            text = f.read().replace("num_trials: 9", "num_trials: 6").replace("min: 0.05, max: 1}", "min: 0.05, max: 0.5}")
        with open(os.path.join(folder, "smaller.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        self.made.do("rbplan", "smaller.yaml", "-o", "smaller.json")
        self.made.do("rbrun", "smaller.json", "--state-dir", "state")
        self.runs = sorted(os.listdir(self.state), key=lambda name: name[-22:])

    def rbrun(self, *args):
        return self.made.do("rbrun", args[0], "--state-dir", "state", *args[1:])

    def fails(self, code, *args):
        """What it says on stderr."""
        done = subprocess.run(self.made.command("rbrun", args[0], "--state-dir", "state", *args[1:]), cwd=self.folder,
                              env=self.made.env, text=True, timeout=60, capture_output=True, check=False)
        assert done.returncode == code, (args, done.returncode, done.stderr)
        return done.stderr

    def start_slow(self):
        """One that goes on; its process, and its id."""
        slow = os.path.join(self.folder, "slow")
        os.mkdir(slow)
        made = run_made.Made(self.made.programs, slow, pause=1)
        run = subprocess.Popen(made.command("rbrun", "plan.json", "--state-dir", self.state), cwd=slow, env=made.env, text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        name = None
        for line in run.stderr:
            name = line.split()[1] if line.startswith("run ") else name
            if ": epoch " in line:
                return run, name
        raise AssertionError("it ended before any trial reported")

    def share(self):
        """The older run as it is, and once more with markup in every text."""
        self.rbrun("export", self.runs[0], "--to", "folder:" + self.team)
        path = os.path.join(self.team, self.runs[0], "report.json")
        with open(path, encoding="utf-8") as f:
            document = json.load(f)
        job, report = document["plan"]["job"]["config"], document["report"]
        report["run"] = job["name"] = job["metric"]["name"] = report["best"]["metric_name"] = HOSTILE
        report["outcome"] = report["best"]["params"]["lr"] = job["run"] = HOSTILE
        document["plan"]["job"]["config"][HOSTILE] = HOSTILE
        for node in report["nodes"]:
            node["infra"] = HOSTILE
        self.put("hostile", json.dumps(document))

    def put(self, name, text):
        os.makedirs(os.path.join(self.team, name), exist_ok=True)
        with open(os.path.join(self.team, name, "report.json"), "w", encoding="utf-8") as f:
            f.write(text)

    def copy(self, n, state):
        """The older run, n times, each a run of its own to a list."""
        for i in range(n):
            to = os.path.join(state, "made-20260101-%06d-aaaaaa" % i)
            os.makedirs(to)
            for name in ("journal.db", "journal.db.lock", "plan.json", "workdir"):
                shutil.copy(os.path.join(self.state, self.runs[0], name), to)

    def damage(self):
        """A run whose journal is cut; its id."""
        run = "made-20260101-000000-dddddd"
        shutil.copytree(os.path.join(self.state, self.runs[0]), os.path.join(self.state, run))
        with open(os.path.join(self.state, run, "journal.db"), "r+b") as f:
            f.truncate(5000)
        return run

    def serve(self, *args):
        """rbrun browse, and its address."""
        run = subprocess.Popen(self.made.command("rbrun", "browse", "--state-dir", "state", *args), cwd=self.folder,
                               env=self.made.env, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for line in run.stderr:
            found = re.search(r"look at it: (http://127\.0\.0\.1:\d+/[0-9a-f]{32}/)$", line.strip())
            if found:
                return run, found.group(1)
        raise AssertionError("rbrun browse printed no address")
