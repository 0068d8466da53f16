#!/bin/sh
# Would this job keep its deadline and budget, and does it come through on a cloud that takes machines back? No account is needed:
#
#     dry-run.sh [JOB_FOLDER [DEADLINE [BUDGET]]]       default: examples/practice, 5m, $1
#
# The folder holds job.yaml and, for the mock cloud, prices.csv, profile.yaml and cloud.yaml (docs/howto/ci-dry-run.md). The programs are
# those in PATH, or else the clone's own build. Exit codes: rbplan's and rbrun's (2 bad input, 3 does not fit, 4 late or
# over budget, 8 no trial has a result); 1 if the cloud was not left empty, billed something else than was reported, or spared the run its faults.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clone=$here/../..
job=$(cd "${1:-$clone/examples/practice}" && pwd)
deadline=${2:-5m} budget=${3:-1}
command -v rbplan >/dev/null || PATH=$clone/build:$PATH
work=$(mktemp -d)
mock=
trap '[ -z "$mock" ] || { kill "$mock"; wait "$mock" || :; } 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cp -R "$job/." "$work/job"
cd "$work/job"

unset AWS_ENDPOINT_URL_EC2 AWS_REGION
export PATH RB_DB="$work/profiles.db" XDG_STATE_HOME="$work/state"

echo "== Does it fit?"
rbplan --check job.yaml
rbplan --deadline "$deadline" --budget "$budget" --set resources.spot=only --set on_drift=warn -o "$work/plan.json" job.yaml

echo "== The run in virtual time"
rbrun "$work/plan.json" --dry-run | tail -n 1

echo "== The real script on mock machines; one is taken back"
mkfifo "$work/ready"
rbmock --ec2 0 --cloud cloud.yaml --chaos "$here/chaos.yaml" --state "$work/cloud" >"$work/ready" 2>"$work/mock.log" &
mock=$!
read -r line <"$work/ready" || { cat "$work/mock.log" >&2; exit 1; }
. "$work/cloud/env" # where it listens, its key, and whom its nodes let in
rbrun "$work/plan.json" --yes

echo "== What is left, and who says what it cost"
curl -fsS "$AWS_ENDPOINT_URL/_rbmock/ledger" >"$work/ledger.json"
rbrun report --json >"$work/report.json"
python3 "$clone/tools/compare_ledger.py" "$work/ledger.json" "$work/report.json"
curl -fsS "$AWS_ENDPOINT_URL/_rbmock/chaos" >"$work/chaos.json"
python3 - "$work/chaos.json" "$work/ledger.json" <<'END'
import json, sys
rules, ledger = (json.load(open(path)) for path in sys.argv[1:])
lost = sum(rule["fired"] for rule in rules if rule["name"] == "lost answer")
taken = sum(instance["cause"] == "interrupted" for instance in ledger["instances"])
print("faults that happened: answers lost %d, machines taken back %d" % (lost, taken))
sys.exit(not (lost and taken))
END
