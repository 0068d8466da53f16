"""Runs of the real rbrun against the real rbmock: HTTP, signatures, sshd nodes, training processes, and every kind of fault
at once; one run in three takes place on pods of rbmock's cluster. Half of the runs lose their controller to SIGKILL, at moments
of the clock, and are resumed; or their journal is damaged then, and `rbrun gc` ends what they left; or they move to another host
and back, killed on the way, too. Controllers are stopped for seconds, lose ssh's control directory, and may open no more files
for a while (root alone can do that to another process). Pods are evicted while they run.

    over_http.py --bin BUILD [--runs N] [--seed S] [--parallel P] [--front ec2|k8s]

After every run, asked of the cloud: nothing left (instances; pods, Leases and Workloads), no launch made twice, no report lost or
written twice, and its ledger is the run's to the micro-dollar. Seed S stands for a cloud, its faults and the moments of the kills;
the clock does the rest, so a run that failed may need its command more than once. It is printed, and its folder kept.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import re
import resource
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
from real_run import edit  # noqa: E402
from soak_fronts import ALIVE, Ec2, Pods  # noqa: E402

MOST_RESUMES = 8  # of runs that gave up; as their user would
LONGEST_S = 400
MOST_GCS = 10  # of damaged runs; chaos is on their calls, too
SEEN_AFTER_S = 8  # a listing knows an instance that has run for so long


def chaos_of(front, draw):
    """Half of all faults are in a world, some of them seldom."""
    rules = []
    for where, what, often in front.FAULTS:
        if draw.random() < 0.5:
            rules.append("  - {where: {front: %s%s}, when: {probability: %.4f}, what: %s}" % (
                front.FRONT, ", " + where if where else "", often * draw.choice((0.3, 1)), what))
    return "format: rb-chaos/1\nrules:\n" + "\n".join(rules) + "\n"


def disturbances_of(draw):
    """What befalls the running controllers: (seconds after a start, what, for how many seconds)."""
    out = []
    if draw.random() < 0.4:
        out += [(draw.uniform(0.3, 10), "suspended", draw.uniform(1, 8)) for _ in range(draw.randint(1, 2))]
    if draw.random() < 0.3:
        out += [(draw.uniform(1, 8), "control directory lost", 0) for _ in range(draw.randint(1, 2))]
    if draw.random() < 0.3 and os.geteuid() == 0:
        out.append((draw.uniform(0.3, 8), "no more files", draw.uniform(1, 6)))
    return sorted(out)


class Disturbances:
    """Of one controller: each begins and ends at its time, unless the process has ended."""

    def __init__(self, process, soak, todo):
        self.process, self.soak = process, soak
        start = time.monotonic()
        self.todo = sorted((start + at, what, seconds) for at, what, seconds in todo)
        self.undo = []  # (when, what)
        self.limit = None

    def step(self):
        now = time.monotonic()
        while self.todo and self.todo[0][0] <= now:
            _, what, seconds = self.todo.pop(0)
            self.begin(what)
            self.undo.append((now + seconds, what))
        for when, what in [u for u in self.undo if u[0] <= now]:
            self.undo.remove((when, what))
            if not any(w == what for _, w in self.undo):
                self.end(what)

    def begin(self, what):
        if what == "suspended":
            self.process.send_signal(signal.SIGSTOP)
        elif what == "no more files":
            self.limit = self.limit or resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (30, self.limit[1]))
        elif what == "control directory lost":
            sockets = [d for d in map(kill9.control_dir, self.soak.run_dirs()) if os.path.isdir(d)]
            for d in sockets:
                shutil.rmtree(d, ignore_errors=True)
            if not sockets:
                return
        elif not self.soak.cloud.befall(what, self.soak.draw):
            return
        self.soak.count(what)

    def end(self, what):
        if what == "suspended":
            self.process.send_signal(signal.SIGCONT)
        elif what == "no more files":
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, self.limit)

    def end_all(self):
        for _, what in self.undo:
            self.end(what)


def zero(journal):
    with open(journal, "r+b") as f:
        f.write(bytes(os.path.getsize(journal)))


def cut(journal):
    os.truncate(journal, 0)
    lose_log(journal)


def lose_log(journal):
    for name in (journal + "-wal", journal + "-shm"):
        if os.path.exists(name):
            os.remove(name)


DAMAGES = {"journal zeroed": zero, "journal cut": cut, "journal's -wal removed": lose_log}


# Stands for ssh: the other host is another home on this one. Nodes are reached as ever.
SSH = """#!/bin/sh
case "$*" in *" rb '"*) ;; *) exec /usr/bin/ssh "$@" ;; esac
for command; do :; done
export HOME=%s
cd "$HOME" && exec sh -c "$command"
"""
OTHER = "ssh:other"
MOST_MOVES = 30  # until a run is where it is to be; chaos is on each of them


class Soak(kill9.Crash):
    """One run of one seed, in a folder and with a cloud of its own."""

    def __init__(self, bin_dir, folder, cloud, draw):
        self.draw, self.kills, self.resumes = draw, 0, 0
        self.counts, self.damaged, self.gc_claims, self.open_files = {}, None, 0, None
        self.without_anchor = []
        super().__init__(bin_dir, folder, cloud, cloud.JOB, cloud.PROFILE, cloud.TRAIN)
        os.mkdir(os.path.join(folder, "other"))
        os.chmod(self.write("tools/ssh", SSH % os.path.join(folder, "other")), 0o700)
        if draw.random() < 0.3:
            self.open_files = self.files_needed() + draw.randint(0, 8)
            self.count("few open files allowed")

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def files_needed(self):
        """What rbrun says when it refuses to begin with fewer."""
        done = subprocess.run([os.path.join(self.bin, "rbrun"), self.plan, "--state-dir", os.path.join(self.folder, "none")],
                              env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (70, 70)))
        return int(re.search(r"needs (\d+) open files", done.stderr).group(1))

    def limit_files(self):
        if self.open_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.open_files, self.open_files))

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
                                   stdout=subprocess.DEVNULL, stderr=self.talk, preexec_fn=self.limit_files)
        disturbed = Disturbances(process, self, disturbances_of(self.draw) + self.cloud.accidents_of(self.draw))
        until = time.monotonic() + (kill_after_s if kill_after_s else LONGEST_S)
        while process.poll() is None and time.monotonic() < until:
            disturbed.step()
            time.sleep(0.02)
        if process.returncode is None:
            disturbed.end_all()
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.kills += 1
            if not kill_after_s:
                raise AssertionError("it hangs")
        self.killed = process.returncode == -signal.SIGKILL
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
                if self.killed:
                    self.without_anchor += self.cloud.without_anchor()
                if self.killed and self.journals():
                    fate = self.draw.random()
                    if fate < 0.4:
                        self.damage()
                        return False
                    if fate > 0.8:
                        self.hop()
                    if fate < 0.7:  # asked first, it may write the log back, and there is none to lose
                        self.ask_gc()
                if self.journals():  # else it ended before anything was launched
                    argv = ["resume", "--state-dir", state]
                if ended_well:
                    return True
                if not kills:
                    self.resumes += 1
                    if self.resumes > MOST_RESUMES:
                        return False
                time.sleep(self.draw.choice((0, 0.5, 3)))

    def move(self, to, kill_after_s=None):
        """One try, maybe killed. Its answer; None: it failed."""
        run = os.path.basename(os.path.dirname(self.journals()[0]))
        env = dict(self.env, PATH=os.path.join(self.folder, "tools") + ":" + self.env["PATH"])
        process = subprocess.Popen([os.path.join(self.bin, "rbrun"), "move", run, "--to", to, "--json", "--state-dir",
                                    os.path.join(self.folder, "state")], env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=self.talk, text=True)
        try:
            said = process.communicate(timeout=kill_after_s or LONGEST_S)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.count("moves killed")
            return None
        self.talk.write("move to %s: exit %d\n%s" % (to, process.returncode, said))
        return json.loads(said) if process.returncode == 0 else None

    def move_surely(self, to):
        for _ in range(MOST_MOVES):
            answer = self.move(to)
            if answer:
                return answer
            time.sleep(0.2)
        raise AssertionError("it does not get to %s" % to)

    def hop(self):
        """There and back, asked again until it is back; the process that then executes it is killed, as the others are."""
        self.count("moves")
        if self.draw.random() < 0.5:
            self.move(OTHER, self.draw.uniform(0.1, 3))
        if self.draw.random() < 0.7:
            self.move(OTHER)
        if self.draw.random() < 0.5:
            self.move("here", self.draw.uniform(0.1, 3))
        answer = self.move_surely("here")
        time.sleep(self.draw.uniform(0, 3))
        if answer["process"] and os.path.exists("/proc/%d" % answer["process"]):
            os.kill(answer["process"], signal.SIGKILL)

    def run_dirs(self):
        return [os.path.dirname(journal) for journal in self.journals()]

    def gc(self, *options):
        """Its exit code and what it printed; who listens to the cloud's errors tries again."""
        done = subprocess.run([os.path.join(self.bin, "rbrun"), "gc", *options, "--older-than", "0s", "--state-dir",
                               os.path.join(self.folder, "state")], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, check=False)
        self.talk.write("gc %s: exit %d\n%s" % (options, done.returncode, done.stdout))
        self.count("rbrun gc after a SIGKILL")
        return done.returncode, done.stdout

    def alive(self, since_s=0):
        """What runs, and has done so for that long."""
        latest_us = (time.time() - since_s) * 1e6
        return {i["id"] for i in self.cloud.ledger()["instances"] if i["state"] in ALIVE and
                (not since_s or (i["running_us"] is not None and i["running_us"] <= latest_us))}

    def ask_gc(self):
        """It may say that nothing is left over only while nothing is."""
        before = self.alive(SEEN_AFTER_S)
        code, said = self.gc("--dry-run")
        if code == 0 and re.search(r"^0 instances left over", said, re.M) and before & self.alive():
            self.gc_claims += 1

    def damage(self):
        """No resume from here: gc must find and end every node, and must not say that it is certain."""
        journal = self.journals()[0]
        has_log = os.path.exists(journal + "-wal") and os.path.getsize(journal + "-wal") > 0
        self.damaged = self.draw.choice([d for d in sorted(DAMAGES) if has_log or "wal" not in d])
        DAMAGES[self.damaged](journal)
        self.count(self.damaged)
        for n in range(MOST_GCS):
            code, said = self.gc("--yes")
            if code == 0 and self.names_all_launches(journal):
                return  # what was lost named no instance
            if code != 1 and (code <= 0 or not re.search(r"\[RB3\d{3}\]", said)):  # or the cloud's own refusal
                raise AssertionError("gc of a run whose %s: exit %d\n%s" % (self.damaged, code, said))
            if not self.alive() and n:  # a launch may still have been on its way
                return
            time.sleep(1)

    def names_all_launches(self, journal):
        """A journal whose log was lost may have been written back after the last launch: then gc is certain, and is right."""
        made = {i["token"] for i in self.cloud.ledger()["instances"]}
        if not made or self.damaged != "journal's -wal removed":
            return not made
        db = sqlite3.connect(journal)
        named = {row[0] for row in db.execute("SELECT token FROM launch")}
        db.close()
        return made <= named

    def journals(self):
        return glob.glob(os.path.join(self.folder, "state", "*", "journal.db"))

    def report(self):
        if not self.journals():
            return {"run": "", "nodes": [], "cost_uusd": {"actual": 0}, "leak_check": {}}
        done = self.run(["rbrun", "report", "--json", "--state-dir", os.path.join(self.folder, "state")])
        return json.loads(done.stdout)

    def check_money(self, report):
        """Node by node, but for those of which the run says that the cloud no longer knows when they ran."""
        known = {n["id"]: n["cost_uusd"] for n in report["nodes"]}
        left, billed = self.cloud.left(), self.cloud.bill(known)
        warnings = "\n".join(w["text"] for w in report.get("warnings", ()))
        forgotten = set(re.findall(r"\((\S+)\): the cloud has forgotten when it ran", warnings)) & billed.keys()
        unseen = {i for i in billed.keys() - known if self.cloud.was_replaced(i, known)}
        unknown = sorted(billed.keys() - known - unseen)
        differ = ["%s: cloud %d, run %d" % (i, billed[i], known[i]) for i in sorted(billed.keys() & known.keys() - forgotten)
                  if known[i] != billed[i]]
        return {"leaked": len(left), "launched twice": len(unknown), "forgotten": len(forgotten), "unseen": len(unseen),
                "higher": sum(known[i] - billed[i] for i in forgotten),
                "bill differs": int(bool(differ) or sum(known.values()) != report["cost_uusd"]["actual"]),
                "cloud": sum(billed.values()) - sum(billed[i] for i in forgotten | unseen),
                "run": report["cost_uusd"]["actual"] - sum(known[i] for i in forgotten),
                "instances": len(billed), "why": left + unknown + differ}

    def check_reports(self, run):
        """Epochs of trials whose checkpoint was saved that do not stand in the journal, with what was measured; and those of
        any trial that stand in it more than once."""
        if not run:
            return {}
        db = sqlite3.connect(os.path.join(self.folder, "state", run, "journal.db"))
        events = [json.loads(row[0]) for row in db.execute("SELECT json FROM event ORDER BY seq")]
        reports = [((e["trial"], e["attempt"], e["resource"]), e["metric"]) for e in events if e["event"] == "report"]
        reported = dict(reports)
        saved = list(db.execute("SELECT trial, attempt, resource_start, resource_end FROM task WHERE state = 'saved'"))
        db.close()
        return {"lost reports": sum(reported.get((trial, attempt, epoch)) != kill9.metric(trial, epoch)
                                    for trial, attempt, start, end in saved for epoch in range(start + 1, end + 1)),
                "doubled reports": len(reports) - len(reported)}


def front_of(seed):
    return Pods if seed % 3 == 0 else Ec2


def one(args, seed):
    """The outcome of one seed; never raises."""
    draw, front = random.Random(seed), front_of(seed)
    folder = tempfile.mkdtemp(prefix="rb-soak-%d-" % seed)
    chaos = os.path.join(folder, "chaos.yaml")
    with open(chaos, "w", encoding="utf-8") as f:
        f.write(chaos_of(front, draw))
    kills = [draw.uniform(0.2, 8) for _ in range(draw.randint(1, 2))] if draw.random() < 0.5 else []
    speed = draw.choice((1, 1, 5))
    out = {"seed": seed, "kills": 0, "why": [], "seconds": -time.monotonic()}
    try:
        with front(args.bin, folder, draw, speed, "--chaos", chaos, "--seed", str(seed)) as cloud:
            soak = Soak(args.bin, folder, cloud, draw)
            out["complete"] = soak.carry_out(kills)
            out.update(kills=soak.kills, resumes=soak.resumes, damaged=int(bool(soak.damaged)), befell=soak.counts)
            out.update({"claims": soak.gc_claims, "on pods": int(front is Pods), "without anchor": len(soak.without_anchor)})
            if soak.damaged:  # no one can say any more what it cost
                out["why"] = cloud.left()
                out["leaked"] = len(out["why"])
            else:
                report = soak.report()
                out.update(soak.check_money(report))
                out.update(soak.check_reports(report["run"]))
                out["claims"] += int(report["leak_check"].get("instances_left") == 0 and out["leaked"] > 0)
            out["faults"] = {}
            for rule in cloud.ask("chaos"):
                what = rule["what"]
                out["faults"][what] = out["faults"].get(what, 0) + rule["fired"]
    except Exception as e:  # pylint: disable=broad-except
        out["error"] = "%s: %s" % (type(e).__name__, str(e)[-600:])
    out["seconds"] += time.monotonic()
    out["bad"] = bool(out.get("error")) or any(
        out.get(key) for key in ("leaked", "launched twice", "bill differs", "lost reports", "doubled reports", "claims",
                                 "without anchor"))
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
    rows = [("runs", len(outs)), ("of them on pods", total("on pods")),
            ("of them killed with SIGKILL and resumed", sum(o["kills"] > 0 for o in outs)),
            ("of them with a damaged journal, ended by gc", total("damaged")),
            ("SIGKILLs", total("kills")), ("complete, the others gave up", total("complete")),
            ("instances launched", total("instances")), ("**instances leaked**", total("leaked")),
            ("**instances launched twice**", total("launched twice")), ("**reports lost**", total("lost reports")),
            ("**reports written twice**", total("doubled reports")),
            ("**pods of a dead controller without a Lease**", total("without anchor")),
            ("**\"none left\" said while one was**", total("claims")),
            ("**runs whose bill is not the cloud's**", total("bill differs")),
            ("nodes the cloud had forgotten, as the run said", total("forgotten")),
            ("... by which the runs' ledgers are higher", total("higher")),
            ("pods replaced before any listing showed them", total("unseen")),
            ("**runs that failed otherwise**", sum("error" in o for o in outs)),
            ("the cloud's ledger, micro-dollars", total("cloud")), ("the runs' ledgers, micro-dollars", total("run"))]
    faults = {}
    for o in outs:
        for what, n in o.get("befell", {}).items():
            faults[what] = faults.get(what, 0) + n
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
    parser.add_argument("--front", choices=("ec2", "k8s"), help="only the seeds whose runs take place there")
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    outs = []
    seeds = [seed for seed in range(args.seed, args.seed + args.runs) if args.front in (None, front_of(seed).FRONT)]
    with concurrent.futures.ThreadPoolExecutor(args.parallel) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, args, seed) for seed in seeds]):
            outs.append(done.result())
            if outs[-1]["bad"]:
                print_failure(outs[-1], args)
    print_table(outs)
    sys.exit(any(o["bad"] for o in outs))


if __name__ == "__main__":
    main()
