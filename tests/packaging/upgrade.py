#!/usr/bin/env python3
"""What older programs wrote is opened, used and resumed; what a newer one wrote is refused and left alone (docs/formats/stability.md).
Usage: upgrade.py --bin BUILD"""
import argparse
import glob
import os
import pathlib
import re
import sqlite3
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from real_run import RealRun  # noqa: E402

BIN = None


def sql(path, *statements):
    """The rows of the last statement."""
    database = sqlite3.connect(path)
    rows = [database.execute(statement).fetchall() for statement in statements][-1]
    database.commit()
    database.close()
    return rows


class Upgrade(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rb-upgrade-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.user = RealRun(BIN, self.folder, RB_LOCAL_SLOTS="2", XDG_STATE_HOME=os.path.join(self.folder, "state"))
        self.version = self.user.say("rbplan", "--version").stdout.split()[1]

    def refuses(self, number, *argv, code=2):
        said = self.user.say(*argv, expect=code).stderr
        self.assertIn(number, said)
        self.assertIn("rubberband 9.0.1", said)


class OldStore(Upgrade):
    script = None

    def setUp(self):
        super().setUp()
        self.db = os.path.join(self.folder, "profiles.db")
        database = sqlite3.connect(self.db)
        database.executescript((HERE / "old" / self.script).read_text(encoding="utf-8"))
        database.close()
        self.user.env["RB_DB"] = self.db


class Store(OldStore):
    script = "store-1.sql"

    def list(self):
        return self.user.say("rbprofile", "list").stdout

    def test_an_old_one_is_read_as_it_is(self):
        before = pathlib.Path(self.db).read_bytes()
        self.assertRegex(self.list(), r"(?m)^bert +yes +0 +0 .*\n^first +no +2 +4 ")
        plan = self.user.say("rbplan", "--deadline", "2h", str(ROOT / "examples" / "bert" / "job.yaml"),
                             "--profile-file", str(ROOT / "examples" / "bert" / "profile.yaml")).stdout
        self.assertIn("g4dn.xlarge", plan)  # the only type that this store has a price for
        self.assertEqual(pathlib.Path(self.db).read_bytes(), before)

    def test_a_writer_brings_an_old_one_up_to_date(self):
        before = self.list()
        self.user.say("rbprofile", "import", str(ROOT / "examples" / "prices" / "aws-us-east-1.csv"))
        self.assertEqual(sql(self.db, "PRAGMA user_version"), [(6,)])
        self.assertEqual(sql(self.db, "SELECT version FROM writer"), [(self.version,)])
        self.assertEqual(self.list(), before)
        self.assertEqual(sql(self.db, "PRAGMA integrity_check"), [("ok",)])

    def test_a_newer_one_is_refused(self):
        sql(self.db, "PRAGMA user_version=7", "CREATE TABLE writer(version TEXT NOT NULL)",
            "INSERT INTO writer VALUES ('9.0.1')")
        before = pathlib.Path(self.db).read_bytes()
        self.refuses("RB1304", "rbprofile", "list")
        self.refuses("RB1304", "rbprofile", "import", str(ROOT / "examples" / "prices" / "aws-us-east-1.csv"))
        self.refuses("RB1304", "rbplan", str(ROOT / "examples" / "bert" / "job.yaml"))
        self.assertEqual(pathlib.Path(self.db).read_bytes(), before)


JOB = """name: again
seed: %d
metric: {name: score, goal: maximize}
parameters: {lr: {distribution: log_uniform, min: 0.001, max: 1.0}}
scheduler: {type: sha, num_trials: 6, min_resource: 1, max_resource: 4, eta: 2, unit: epoch, sampler: %s}
trial: {gpus: 1}
guess: {unit: 100ms, on: CPU}
run: sh train.sh $RB_ARGS
resources: {infra: [local]}
"""
TRAIN = "while [ $RB_RESOURCE_END -gt ${e:=$RB_RESOURCE_START} ]; do e=$((e + 1)); echo epoch=$e score=0.$e$RB_TRIAL_ID; done\n"


class StoreOfSchema2(OldStore):
    """What an ended run found has ranks without metrics there."""
    script = "store-2.sql"

    def rests_on(self):
        said = self.user.say("rbplan", "--best-for", "1", "--deadline", "1h", "--time-limit", "1s", "job.yaml").stdout
        return re.search("this rests on (.*) of how results", said).group(1)

    def test_what_runs_found_is_read_as_it_is_and_kept(self):
        before = pathlib.Path(self.db).read_bytes()
        found = "SELECT trial, resource, config, quantile, unit_s FROM found JOIN search ON id = search WHERE run LIKE '%-j32jtk'"
        rows = sql(self.db, found)
        self.user.write("train.sh", TRAIN)
        self.user.write("job.yaml", JOB % (7, "tpe"))
        said = self.user.say("rbsim", "job.yaml", "--nodes", "1", "--replicates", "2").stderr
        self.assertIn("every search starts from 1 earlier run: again-20261128-210640-j32jtk; ", said)
        self.assertEqual(self.rests_on(), "a prior")  # no metrics, so no more than without
        self.assertEqual(pathlib.Path(self.db).read_bytes(), before)
        self.user.write("job.yaml", JOB % (8, "random"))
        self.user.say("rbplan", "-o", "plan.json", "job.yaml")
        self.user.say("rbrun", "plan.json")
        self.assertEqual(sql(self.db, "PRAGMA user_version"), [(6,)])
        self.assertEqual(sql(self.db, "PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(sql(self.db, found), rows)
        self.assertIn("1 earlier run of this search in %s (6 random configurations, 1 trained to the end)" % self.db, self.rests_on())


class Journal(Upgrade):
    def setUp(self):
        super().setUp()
        runs = os.path.join(self.folder, "state", "rubberband", "runs")
        os.makedirs(runs, 0o700)
        with tarfile.open(HERE / "old" / "run-1.tar.gz") as archive:
            archive.extractall(runs)  # our own file
        self.journal = glob.glob(runs + "/*/journal.db")[0]

    def test_an_old_run_is_listed_and_resumed(self):
        self.assertRegex(self.user.say("rbrun", "list").stdout, r"(?m)^first-\S+ +interrupted .* 0\.33$")
        self.assertRegex(self.user.say("rbrun", "status", "first").stdout, r"(?m)^ +2 +0/1 ")
        said = self.user.say("rbrun", "resume", "first", "--deadline", "+1h").stdout
        self.assertIn("best configuration: trial 3, val_acc 0.43\n", said)
        self.assertIn("instances left: 0 ", said)
        self.assertIn(" 0 orders differ from the journal; complete;", self.user.say("rbrun", "replay", "first").stdout)
        self.assertEqual(sql(self.journal, "PRAGMA user_version"), [(1,)])

    def test_a_newer_run_is_refused(self):
        sql(self.journal, "PRAGMA user_version=2", "CREATE TABLE writer(version TEXT NOT NULL)",
            "INSERT INTO writer VALUES ('9.0.1')")
        before = pathlib.Path(self.journal).read_bytes()
        for command in ("status", "report", "logs", "replay", "stop"):
            self.refuses("RB4013", "rbrun", command, "first")
        self.refuses("RB4013", "rbrun", "resume", "first", "--deadline", "+1h")
        self.refuses("RB4024", "rbrun", "gc", "--dry-run", code=1)
        listed = self.user.say("rbrun", "list")
        self.assertRegex(listed.stdout, r"(?m)^first-\S+ +unreadable ")
        self.assertIn("rubberband 9.0.1", listed.stderr)
        self.assertEqual(pathlib.Path(self.journal).read_bytes(), before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    known, rest = parser.parse_known_args()
    BIN = known.bin
    unittest.main(argv=sys.argv[:1] + rest)
