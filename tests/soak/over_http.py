"""Runs of the real rbrun against the real rbmock: HTTP, signatures, sshd nodes, training processes, and every kind of fault
at once. Half of the runs lose their controller to SIGKILL, at moments of the clock, and are resumed.

    over_http.py --bin BUILD [--runs N] [--seed S] [--parallel P]

After every run, asked of the cloud: no instance left, no launch made twice, no report lost, and its ledger is the run's to
the micro-dollar. Seed S stands for a cloud, its faults and the moments of the kills; the clock does the rest, so a run that
failed may need its command more than once. It is printed, and its folder kept.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "cli"), os.path.join(HERE, "..", "crash")]
import kill9  # noqa: E402
from mock_cloud import MockCloud  # noqa: E402
from real_run import edit  # noqa: E402

SPOT = "mock/us-east-1,two.gpus,T4,2,16,8,32,spot,0.37,test,2026-07-20T00:00:00Z\n"
MOST_RESUMES = 8  # of runs that gave up; as their user would
LONGEST_S = 400

# What a chaos file can do: where, what, how often at most.
CALL_FAULTS = [("lost_response", 0.2), ("{html_502: {after_effect: true}}", 0.1), ("html_502", 0.1),
               ("{truncated_body: {fraction: 0.6}}", 0.1), ("throttle", 0.1), ("connection_reset", 0.1),
               ("{slow_drip: {bytes_per_s: 2000}}", 0.1),
               ("{error: {status: 500, code: InternalError, after_effect: true}}", 0.1)]
FAULTS = [("action: " + action, what, often) for action in ("RunInstances", "TerminateInstances")
          for what, often in CALL_FAULTS]
FAULTS += [("action: DescribeInstances", what, often) for what, often in (
    ("{partial_page: {items: 1}}", 0.5), ("{partial_page: {items: 0}}", 0.2), ("html_502", 0.1),
    ("{truncated_body: {fraction: 0.4}}", 0.1), ("throttle", 0.1), ("connection_reset", 0.1))]
FAULTS += [("action: RunInstances", "{error: {status: 500, code: InsufficientInstanceCapacity}}", 0.2),
           ("action: TerminateInstances", "{error: {status: 400, code: InvalidInstanceID.NotFound}}", 0.2),
           ("", "{clock_skew: {by: 20m}}", 0.01), ("", "fails_to_start", 0.1), ("", "never_boots", 0.02),
           ("", "{boots_slowly: {factor: 5}}", 0.3), ("", "{dies_at: {after: 4s}}", 0.1), ("", "wrong_market", 0.2),
           ("market: spot", "{interrupted: {after: 5s}}", 0.2)]


def chaos_of(draw):
    """Half of all faults are in a world, some of them seldom."""
    rules = []
    for where, what, often in FAULTS:
        if draw.random() < 0.5:
            rules.append("  - {where: {front: ec2%s}, when: {probability: %.4f}, what: %s}" % (
                ", " + where if where else "", often * draw.choice((0.3, 1)), what))
    return "format: rb-chaos/1\nrules:\n" + "\n".join(rules) + "\n"


def cloud_of(draw):
    return ("visible_after_s: {distribution: lognormal, mean: %.2f, cv: 0.5}\ntags_fade_s: %.2f\n"
            "throttle:\n  - {action: RunInstances, burst: %d, per_s: %.1f}\n" % (
                draw.uniform(0.01, 2), draw.uniform(0.3, 5), draw.randint(1, 4), draw.uniform(0.5, 4)))


class Soak(kill9.Crash):
    """One run of one seed, in a folder and with a cloud of its own."""

    def __init__(self, bin_dir, folder, cloud, draw):
        self.draw, self.kills, self.resumes = draw, 0, 0
        super().__init__(bin_dir, folder, cloud)

    def widen_first_stage(self):
        """Both markets, in every stage as the seed wants it, so that what a cloud gives by mistake has a price."""
        edit(self.plan, self.use_both_markets)

    def use_both_markets(self, plan):
        plan["prices"].append(dict(plan["prices"][0], market="spot", uusd_per_hour=370000))
        for stage in plan["stages"]:
            here = stage["nodes"][0]
            here["count"] = self.draw.randint(1, 2)
            if here["count"] == 1 and self.draw.random() < 0.8:
                stage["nodes"].append(dict(here, market="spot"))
            slots = 2 * sum(nodes["count"] for nodes in stage["nodes"])
            stage["waves"] = -(-stage["trials"] // slots)

    def controller(self, argv, kill_after_s):
        """True: it ended by itself, well."""
        process = subprocess.Popen([os.path.join(self.bin, "rbrun")] + argv, env=self.env, cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=self.talk)
        try:
            process.wait(kill_after_s if kill_after_s else LONGEST_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.kills += 1
            if not kill_after_s:
                raise AssertionError("it hangs") from None
        return process.returncode == 0

    def carry_out(self, kills):
        """Every controller but the last is killed; one that gives up is resumed."""
        state = os.path.join(self.folder, "state")
        argv = [self.plan, "--state-dir", state]
        with open(os.path.join(self.folder, "talk.log"), "w", encoding="utf-8") as self.talk:
            while True:
                ended_well = self.controller(argv, kills.pop(0) if kills else None)
                if ended_well and not kills:
                    return True
                if self.journals():  # else it ended before anything was launched
                    argv = ["resume", "--state-dir", state]
                if ended_well:
                    return True
                if not kills:
                    self.resumes += 1
                    if self.resumes > MOST_RESUMES:
                        return False
                time.sleep(self.draw.choice((0, 0.5, 3)))

    def journals(self):
        return glob.glob(os.path.join(self.folder, "state", "*", "journal.db"))

    def report(self):
        if not self.journals():
            return {"run": "", "nodes": [], "cost_uusd": {"actual": 0}, "leak_check": {}}
        done = self.run(["rbrun", "report", "--json", "--state-dir", os.path.join(self.folder, "state")])
        return json.loads(done.stdout)

    def check_money(self, report):
        mine = self.cloud.ledger()["instances"]  # nobody else has launched anything here
        left = [i["id"] for i in mine if i["state"] not in ("terminated", "shutting-down")]
        known = {n["id"]: n["cost_uusd"] for n in report["nodes"]}
        for i in mine:  # EC2 does not say of what ended whether it ever ran: with a lost answer, a pending one counts as having run
            if i["running_us"] is None and i["cause"] == "user" and i["id"] in known:
                i["cost_uusd"] = known[i["id"]]
        unknown = [i["id"] for i in mine if i["id"] not in known]
        differ = ["%s: cloud %d, run %d" % (i["id"], i["cost_uusd"], known[i["id"]]) for i in mine
                  if i["id"] in known and known[i["id"]] != i["cost_uusd"]]
        cost = sum(i["cost_uusd"] for i in mine)
        return {"leaked": len(left), "launched twice": len(unknown),
                "bill differs": int(cost != report["cost_uusd"]["actual"] or bool(differ)),
                "cloud": cost, "run": report["cost_uusd"]["actual"], "instances": len(mine), "why": left + unknown + differ}

    def count_lost_reports(self, run):
        """Epochs of trials whose checkpoint was saved that do not stand in the journal, with what was measured."""
        if not run:
            return 0
        db = sqlite3.connect(os.path.join(self.folder, "state", run, "journal.db"))
        events = [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]
        reported = {(e["trial"], e["attempt"], e["resource"]): e["metric"] for e in events if e["event"] == "report"}
        saved = list(db.execute("SELECT trial, attempt, resource_start, resource_end FROM task WHERE state = 'saved'"))
        db.close()
        return sum(reported.get((trial, attempt, epoch)) != kill9.metric(trial, epoch)
                   for trial, attempt, start, end in saved for epoch in range(start + 1, end + 1))


def one(args, seed):
    """The outcome of one seed; never raises."""
    draw = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="rb-soak-%d-" % seed)
    chaos = os.path.join(folder, "chaos.yaml")
    with open(chaos, "w", encoding="utf-8") as f:
        f.write(chaos_of(draw))
    kills = [draw.uniform(0.2, 8) for _ in range(draw.randint(1, 2))] if draw.random() < 0.5 else []
    speed = draw.choice(("1", "1", "5"))
    out = {"seed": seed, "kills": 0, "why": [], "seconds": -time.monotonic()}
    try:
        with MockCloud(args.bin, folder, "--chaos", chaos, "--seed", str(seed), "--speed", speed, more=cloud_of(draw),
                       prices=SPOT) as cloud:
            soak = Soak(args.bin, folder, cloud, draw)
            out["complete"] = soak.carry_out(kills)
            report = soak.report()
            out.update(soak.check_money(report), kills=soak.kills, resumes=soak.resumes)
            out["lost reports"] = soak.count_lost_reports(report["run"])
            out["claims"] = int(report["leak_check"].get("instances_left") == 0 and out["leaked"] > 0)
            out["faults"] = {}
            for rule in cloud.ask("chaos"):
                what = rule["what"]
                out["faults"][what] = out["faults"].get(what, 0) + rule["fired"]
    except Exception as e:  # pylint: disable=broad-except
        out["error"] = "%s: %s" % (type(e).__name__, str(e)[-600:])
    out["seconds"] += time.monotonic()
    out["bad"] = bool(out.get("error") or out["leaked"] or out["launched twice"] or out["bill differs"] or
                      out["lost reports"] or out["claims"])
    if out["bad"]:
        out["folder"] = folder
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return out


def print_failure(out, args):
    print("FAILED seed %d: %s\n  folder: %s\n  again: %s --bin %s --runs 1 --seed %d" % (
        out["seed"], out.get("error") or {k: v for k, v in out.items() if k not in ("faults", "folder", "seconds")},
        out["folder"], sys.argv[0], args.bin, out["seed"]), flush=True)


def print_table(outs):
    def total(key):
        return sum(o.get(key, 0) for o in outs)
    rows = [("runs", len(outs)), ("of them killed with SIGKILL and resumed", sum(o["kills"] > 0 for o in outs)),
            ("SIGKILLs", total("kills")), ("complete, the others gave up", total("complete")),
            ("instances launched", total("instances")), ("**instances leaked**", total("leaked")),
            ("**instances launched twice**", total("launched twice")), ("**reports lost**", total("lost reports")),
            ("**\"none left\" said while one was**", total("claims")),
            ("**runs whose bill is not the cloud's**", total("bill differs")),
            ("**runs that failed otherwise**", sum("error" in o for o in outs)),
            ("the cloud's ledger, micro-dollars", total("cloud")), ("the runs' ledgers, micro-dollars", total("run"))]
    faults = {}
    for o in outs:
        for what, n in o.get("faults", {}).items():
            faults[what] = faults.get(what, 0) + n
    rows += [("fault: " + what, n) for what, n in sorted(faults.items())]
    print("| %-44s | %10s |\n|---|---:|" % ("", ""))
    for what, n in rows:
        print("| %-44s | %10d |" % (what, n))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=2)
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    outs = []
    with concurrent.futures.ThreadPoolExecutor(args.parallel) as pool:
        for done in concurrent.futures.as_completed(
                [pool.submit(one, args, seed) for seed in range(args.seed, args.seed + args.runs)]):
            outs.append(done.result())
            if outs[-1]["bad"]:
                print_failure(outs[-1], args)
    print_table(outs)
    sys.exit(any(o["bad"] for o in outs))


if __name__ == "__main__":
    main()
