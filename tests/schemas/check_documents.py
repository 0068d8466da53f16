#!/usr/bin/env python3
"""Runs the programs and validates every JSON document they print against docs/schemas; then spoils each document in every
way of mutations.py and demands that the schema refuses it. Without python3-jsonschema: skipped (exit code 77).
Usage: check_documents.py --bin BUILD_DIR --root SOURCE_ROOT"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: no module jsonschema; install python3-jsonschema")
    sys.exit(77)

import mutations
import report_csv
import schemas

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from mock_cloud import MockCloud  # noqa: E402

EXAMPLES = ("bert", "resnet50-cifar10", "resnet50-imagenet")

# What its table says of a search, a job must say itself to be planned.
TOY = ("--set 'metric={name: score, goal: maximize, target: 0.8}' --set 'parameters={lr: {min: 0.1, max: 0.9}}' --set run=train"
       " --set 'scheduler={type: sha, num_trials: 4, min_resource: 1, max_resource: 9, eta: 3}'")

# Of an entry of a profile's provisioning.
SPELLS = ("{infra: aws, instance_type: \"*\", market: spot, queue_s: 20, init_s: 60, capacity_failure: 0.05, spells: {sampled_s: 60,"
          " days: 9, up_s: 36000, down_s: 1200, together: 1, hazard: [{from_s: 0, per_hour: 0.1}]}}")

JOB = """name: tiny
metric: {name: loss, goal: minimize}
parameters: {lr: {min: 0.1, max: 0.9}, opt: {values: [sgd, adam]}}
scheduler: {type: sha, num_trials: 3, max_resource: 3, sampler: tpe}
trial: {gpus: {min: 1, max: 2, sizes: [1, 2]}}
run: |
  i=$RB_RESOURCE_START
  while [ $i -lt $RB_RESOURCE_END ]; do i=$((i + 1)); sleep 0.05; echo "epoch=$i loss=0.$RB_TRIAL_ID"; done
  echo weights > "$RB_CHECKPOINT_DIR/model"
checkpoint: {dir: ckpt}
notify: [{command: 'cat >>"$HOME/notices"'}]
resources: {infra: [mock/us-east-1], instance_types: [two.gpus], max_nodes: 3}
deadline: 5m
"""


class Programs:
    """The commands, in a directory and with a HOME of their own."""

    def __init__(self, bin_dir, root, top):
        self.root, self.work = os.path.abspath(root), top
        self.env = {"PATH": os.path.abspath(bin_dir) + ":/usr/bin:/bin:/usr/sbin:/sbin", "HOME": top, "LC_ALL": "C.UTF-8"}

    def run(self, command, code=0):
        p = subprocess.run(command, shell=True, cwd=self.work, env={**self.env, "ROOT": self.root}, text=True,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        if p.returncode != code:
            sys.exit("$ %s\nexit code %d, expected %d\n%s%s" % (command, p.returncode, code, p.stdout[:2000], p.stderr))
        return p.stdout

    def json(self, command, code=0):
        return json.loads(self.run(command, code))

    def csv(self, table):
        self.run("rbrun report --csv %s > %s.csv" % (table, table))
        return pathlib.Path(self.work, table + ".csv").read_bytes().decode()

    def lines(self, command, code=0):
        return [json.loads(line) for line in self.run(command, code).splitlines()]

    def file(self, name):
        return json.loads(pathlib.Path(self.work, name).read_text(encoding="utf-8"))


def page_document(p, name):
    text = pathlib.Path(p.work, name).read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="document">(.*?)</script>', text, re.S).group(1))


def planned(p):
    """(kind of schema, where from, document), without any node."""
    for name in EXAMPLES:
        command = "rbplan $ROOT/examples/%s/job.yaml --samples 64 --json" % name
        yield "plan", name, p.json(command)
    for name in ("wandb-bayes.yaml", "wandb-grid.yaml", "determined-asha.yaml", "ray-asha.json"):
        yield "job-import", name, p.json("rbplan import $ROOT/tests/profiles/imports/%s --json" % name)
    bert = "$ROOT/examples/bert/job.yaml --samples 64"
    p.run("(cat $ROOT/examples/prices/aws-us-east-1.csv; echo aws/us-east-1,disk,,,,,,,0.00011,,) > prices.csv")
    yield "plan", "disks, budget", p.json("rbplan %s --prices prices.csv --set resources.disk_size=100GB --budget 50 "
                                          "--planner naive --json" % bert)
    yield "plan", "a population", p.json("rbplan $ROOT/examples/resnet50-cifar10/job.yaml --samples 64 --deadline 3h --json --set "
                                         "'scheduler={type: pbt, num_trials: 8, ready_every: 10, max_resource: 50}'")
    p.run("sh -c 'cat $ROOT/examples/prices/aws-us-east-1.csv >with-cpu.csv; echo aws/us-east-1,t3.small,CPU,1,0,2,2,on_demand,0.0208,test, >>with-cpu.csv'")
    for place in "aws/us-east-1", "ssh:me@box":
        yield "plan", "a controller at " + place, p.json("rbplan %s --prices with-cpu.csv --budget 50 --at %s --json" % (bert, place))
    yield "plan", "an instant", p.json("rbplan %s --deadline 2099-01-01T00:00:00Z --json" % bert)
    p.run("rbplan %s -o plan.json" % bert)
    yield "plan", "plan.json", p.file("plan.json")
    yield "check", "job.yaml", p.json("rbplan --check $ROOT/examples/bert/job.yaml --json")
    for program in ("rbplan", "rbprofile", "rbrun", "rbsim", "rbmock", "rbmcp"):
        yield "version", program, p.json(program + " --version --json")
    yield "infeasible", "of rbsim", p.json("rbsim $ROOT/examples/bert/job.yaml --deadline 10m --json", 3)
    yield "infeasible", "deadline", p.json("rbplan %s --deadline 10m --json" % bert, 3)
    yield "infeasible", "budget", p.json("rbplan %s --budget 1 --json" % bert, 3)
    yield "infeasible", "confidence", p.json("rbplan %s --deadline 35m --json" % bert, 3)
    p.run("rbplan %s --pareto pareto.json" % bert)
    yield "pareto", "pareto.json", p.file("pareto.json")
    yield "pareto", "stdout", p.json("rbplan %s --deadline 10m --pareto pareto.json --json" % bert)
    p.run("sed '/^provisioning:/a\\  - %s' $ROOT/examples/bert/profile.yaml > spells.yaml" % SPELLS)
    p.run("rbplan %s --profile-file spells.yaml --set resources.spot=safe --set 'resources.instance_types=[g4dn.xlarge]' "
          "--pareto spot.json" % bert)
    yield "pareto", "with spot", p.file("spot.json")
    p.run("rbplan %s --profile-file spells.yaml --set resources.spot=allow --set scheduler.num_trials=3"
          " --set scheduler.max_resource=3 --pareto allow.json" % bert)
    yield "pareto", "without spot", p.file("allow.json")
    p.run("rbplan %s --html page.html" % bert)
    yield "plan-page", "page.html", page_document(p, "page.html")
    best = "rbplan %s --best-for 4 --deadline 3h" % bert
    yield "best-for", "the prior", p.json(best + " --json")
    p.run("rbplan $ROOT/examples/search-table/job.yaml --prices $ROOT/examples/prices/aws-us-east-1.csv --best-for 0.3 --deadline 30m --samples 64"
          " --blackbox $ROOT/examples/search-table/toy_hills.csv %s --pareto best.json --html best.html" % TOY)
    yield "best-for", "a table, with a frontier and a target", p.file("best.json")
    yield "plan-page", "of a search for a budget", page_document(p, "best.html")
    p.run("rbplan %s --set policy=static --what-if deadline=10m --html static.html" % bert)
    yield "plan-page", "no frontier, an infeasible scenario", page_document(p, "static.html")
    scenarios = "--what-if price=-20% --what-if training=-5%,provisioning=+50% --what-if price.g4dn.xlarge=+5%,spot=allow --what-if deadline=10m"
    yield "what-if", "scenarios", p.json("rbplan %s %s --json" % (bert, scenarios))
    yield "sensitivity", "bert", p.json("rbplan %s --budget 60 --sensitivity --json" % bert)
    yield "sensitivity", "an infeasible base", p.json("rbplan %s --deadline 10m --sensitivity --json" % bert)
    yield "what-if", "an infeasible base", p.json("rbplan %s --deadline 10m %s --json" % (bert, scenarios))
    yield "sim", "rbsim", p.json("rbsim %s --replicates 16 --json" % bert.split()[0])
    yield "sim-compare", "rbsim", p.json("rbsim $ROOT/examples/resnet50-cifar10/job.yaml --nodes 2 --replicates 4 "
                                         "--compare asha:static,asha:hypersched --json")
    table = "rbsim --blackbox $ROOT/examples/search-table/toy_hills.csv --nodes 2 --replicates 4 $ROOT/examples/search-table/job.yaml --json "
    yield "sim", "a table", p.json(table)
    yield "sim-compare", "a table with a target", p.json(table + "--set metric.target=0.85 --compare asha/random:static,asha/tpe:static")
    yield from traced(p)
    *events, last = p.lines("rbrun plan.json --dry-run --json")
    yield from (("event", "dry run", e) for e in events)
    yield "dry-run", "rbrun", last


# A made-up application: 1 s an iteration on one GPU, 0.6 s on two of one node.
TRACE = {
    "apps/reference_vectors.json": '{"apps": {"toy": {"init_batch_size": 10, "max_batch_size": 40, "min_local_bsz": 1, '
                                   '"max_local_bsz": 10, "max_epochs": 2, "completion_epoch": {"10": 1}}}}',
    "apps/traces/toy/placements.csv": "placement,local_bsz,step_time,sync_time\n1,1,1,0\n1,10,1,0\n2,1,0.6,0\n2,10,0.6,0\n",
    "apps/traces/toy/validation-10.csv": "progress,iteration,metric,grad_sqr,grad_var\n100,100,0.5,1,0\n200,200,0.6,1,0\n",
    "apps/derived-throughput-grid/toy-grid.csv": "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,2,1,0.6,0\n",
    "jobs.csv": "name,time,application,num_replicas,batch_size\na,0,toy,2,20\nb,7,toy,1,10\n",
    "due.csv": "name,time,application,num_replicas,batch_size,deadline_s\na,0,toy,2,20,200\n",
}


def traced(p):
    for name, text in TRACE.items():
        path = pathlib.Path(p.work, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    p.run("gzip -f apps/derived-throughput-grid/toy-grid.csv")
    command = "rbsim --trace %s.csv --apps apps --policy tiresias --nodes 1 --gpus-per-node 2 --json %s"
    yield "sim-trace", "events", p.json(command % ("jobs", ""))
    yield "sim-trace", "a price and a deadline", p.json(command % ("due", "--rules osdi21 --usd-per-gpu-hour 0.35"))


def refused(p):
    pathlib.Path(p.work, "bad.yaml").write_text("name: x\nmetrc: {}\n", encoding="utf-8")
    yield "error", "a place in a file", p.json("rbplan --check bad.yaml --json", 2)
    yield "error", "no place", p.json("rbplan --json", 2)
    yield "error", "a file", p.json("rbprofile list --db none.db --json", 1)
    yield "error", "a price", p.json("rbplan $ROOT/examples/bert/job.yaml --prices $ROOT/examples/digits/prices.csv --json", 7)


def stored(p):
    for name in EXAMPLES:
        yield "import", name, p.json("rbprofile import $ROOT/examples/%s/profile.yaml --json" % name)
        yield "profile", name, p.json("rbprofile export %s --json" % name)
        yield "fit", name, p.json("rbprofile show %s --json" % name)
    yield "import", "prices", p.json("rbprofile prices update --from $ROOT/examples/prices/aws-us-east-1.csv --json")
    yield "prices", "prices", p.json("rbprofile prices show --json")
    yield "profiles", "list", p.json("rbprofile list --json")
    placements = "placement,local_bsz,step_time,sync_time\n" + "".join(
        "%s,128,%g,%g\n" % row for row in ((1, 0.30, 0), (2, 0.34, 0.05), (4, 0.36, 0.07), (11, 0.37, 0.09), (22, 0.39, 0.1)))
    pathlib.Path(p.work, "placements.csv").write_text(placements, encoding="utf-8")
    p.run("rbprofile import placements.csv --name vgg --accelerator V100 --batch 128 --units-per-epoch 391")
    yield "fit", "throughput", p.json("rbprofile show vgg --json")
    yield "profile", "throughput", p.json("rbprofile export vgg --json")


def ran(p, bin_dir):
    """A whole job on a mock cloud: measured, planned, carried out."""
    with MockCloud(bin_dir, p.work) as cloud:
        p.env.update(cloud.customer, RB_SSH_PORT=str(cloud.ssh_port), RB_SSH_USER=subprocess.check_output(["id", "-un"], text=True).strip())
        os.mkdir(os.path.join(p.work, "job"))
        pathlib.Path(p.work, "job", "job.yaml").write_text(JOB, encoding="utf-8")
        p.run("rbprofile prices update --from %s" % cloud.prices)
        yield "campaign", "train", p.json("rbprofile train job/job.yaml --resource 3 --configs 2 --nodes 2 --json")
        yield "campaign", "provision", p.json("rbprofile provision --infra mock/us-east-1 --instance-type one.gpu -n 3 --json")
        yield "fit", "measured", p.json("rbprofile show tiny --json")
        yield "profile", "measured", p.json("rbprofile export tiny --json")
        p.run("rbplan job/job.yaml --samples 64 -o run.json")
        *events, report = p.lines("rbrun run.json --json")
        yield from (("event", "rbrun", e) for e in events)
        yield "report", "rbrun", report
        for line in pathlib.Path(p.work, "notices").read_text(encoding="utf-8").splitlines():
            yield "notice", "a hook", json.loads(line)
        report = p.json("rbrun report --json")
        yield "report", "rbrun report", report
        print("%d fields of CSV are those of the report" % report_csv.check(report, p.csv))
        p.run("rbrun report --html run.html")
        document = page_document(p, "run.html")
        assert document["report"] == report, "the page shows another report"
        yield "run-page", "rbrun report --html", document
        yield "runs", "rbrun list", p.json("rbrun list --json")
        yield "compare", "rbrun compare", p.json("rbrun compare tiny tiny --json")
        yield from (("export", "to a folder", line) for line in p.lines("rbrun export tiny --to folder:shared --json"))
        yield "runs", "rbrun browse", p.json("rbrun browse --from shared --json")
        yield from (("log", "rbrun logs", line) for line in p.lines("rbrun logs tiny --json"))
        yield "detached", "rbrun --detach", p.json("rbrun run.json --yes --detach --json")
        p.run("rbrun attach")
        yield "fetch", "rbrun fetch", p.json("rbrun fetch tiny --best fetched --json")
        yield from (("export", "rbrun export", line) for line in p.lines("rbrun export tiny --to csv --to optuna --json"))
        yield "replay", "rbrun replay", p.json("rbrun replay --json")
        yield "status", "rbrun status", p.json("rbrun status --json")
        yield "doctor", "rbrun doctor", p.json("rbrun doctor --json")
        yield "gc", "rbrun gc", p.json("rbrun gc --dry-run --json")
        yield "ledger", "rbmock", cloud.ledger()


def pooled(p):
    """Two jobs on this machine."""
    p.env.update(RB_LOCAL_SLOTS="2")
    shutil.copytree(os.path.join(p.root, "examples", "pool"), os.path.join(p.work, "pool"))
    for name, epochs in (("wide", 2), ("deep", 2)):
        path = pathlib.Path(p.work, "pool", name + ".yaml")
        path.write_text(re.sub("max_resource: [0-9]+", "max_resource: %d" % epochs, path.read_text(encoding="utf-8")), encoding="utf-8")
    yield "pool-report", "rbrun --pool", p.json("rbrun --pool pool/pool.yaml --json")
    yield "status", "rbrun status POOL", p.json("rbrun status pool --json")


def check_schemas(loaded):
    problems = []
    jsonschema.Draft202012Validator.check_schema(schemas.bundle(loaded, "plan"))  # every bundle has them all
    for name, schema in loaded.items():
        for path, object_schema in schemas.subschemas(schema):
            if object_schema.get("additionalProperties") is not False:
                problems.append("%s%s: is not closed (additionalProperties: false)" % (name, path))
    return problems


def first_error(validator, document):
    error = next(validator.iter_errors(document), None)
    return error and "%s: %s" % ("/".join(map(str, error.absolute_path)) or "the document", error.message[:200])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bin", required=True, help="where the programs are")
    options.add_argument("--root", required=True, help="the source tree")
    args = options.parse_args()
    loaded = schemas.load(os.path.join(args.root, "docs", "schemas"))
    validators = {name: jsonschema.Draft202012Validator(schemas.bundle(loaded, name)) for name in loaded}
    problems, samples, n_documents, n_mutations = check_schemas(loaded), {}, 0, 0
    with tempfile.TemporaryDirectory(prefix="rb-schemas-") as top:
        p = Programs(args.bin, args.root, top)
        sources = [planned(p), refused(p), stored(p)]
        if shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin"):
            sources.append(ran(p, os.path.abspath(args.bin)))
            sources.append(pooled(p))
        else:
            print("no sshd: report, campaign, gc and ledger are not checked; install openssh-server")
        for source in sources:
            for kind, origin, document in source:
                n_documents += 1
                error = first_error(validators[kind], document)
                if error:
                    problems.append("%s (%s): %s" % (kind, origin, error))
                samples.setdefault((kind, document.get("event")), document)
        yielded = {kind for kind, _ in samples}
    for (kind, _), document in samples.items():
        thin = mutations.thinned(document, set())
        for what, spoilt in mutations.mutations(thin if validators[kind].is_valid(thin) else document, kind):
            n_mutations += 1
            if validators[kind].is_valid(spoilt):
                problems.append("%s: the schema accepts %s" % (kind, what))
    unseen = set(loaded) - yielded - {"job", "estimate"}  # these two are parts of a plan
    print("\n".join(problems))
    print("%d documents of %d kinds valid, %d spoilt ones refused, %d problems; not seen: %s"
          % (n_documents, len(yielded), n_mutations, len(problems), ", ".join(sorted(unseen)) or "none"))
    sys.exit(1 if problems or n_mutations < 100 else 0)


if __name__ == "__main__":
    main()
