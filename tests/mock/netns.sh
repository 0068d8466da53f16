#!/bin/bash
# Nodes in network namespaces of their own: reachable, cut off, silent, healed, gone.
# Usage: netns.sh RBMOCK. Skipped (77) without root, iproute2, nft or the right to make namespaces.
set -eu
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root"
command -v ip >/dev/null && command -v nft >/dev/null || skip "needs iproute2 and nftables"
ip link add rbmprobe type bridge 2>/dev/null && ip link del rbmprobe || skip "cannot make a bridge here"
ip netns add rbmprobe 2>/dev/null && ip netns del rbmprobe || skip "cannot make a network namespace here"
! ip link show rbmock0 >/dev/null 2>&1 || skip "another rbmock --nodes netns runs"

dir=$(mktemp -d /tmp/rbmock-netns-XXXXXX)
rbmock=
finish() { [ -z "$rbmock" ] || { kill "$rbmock"; wait "$rbmock" || true; }; rm -rf "$dir"; }
trap finish EXIT
fail() { echo "FAILED: $*" >&2; [ ! -f "$dir/boot.log" ] || cat "$dir/boot.log"; exit 1; }

cat >"$dir/prices.csv" <<'CSV'
infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour
aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006
CSV
cat >"$dir/cloud.yaml" <<'YAML'
format: rb-mock/1
prices: prices.csv
shutdown_s: 0.05
provisioning: [{infra: aws, instance_type: "*", market: "*", queue_s: 0.05, init_s: 0.05, capacity_failure: 0.0}]
YAML
aws=$(command -v /usr/bin/aws || command -v aws) || skip "aws is not installed"
mkfifo "$dir/ready"
"$1" --nodes netns --cloud "$dir/cloud.yaml" --state "$dir/state" >"$dir/ready" &
rbmock=$!
read -r line <"$dir/ready"
endpoint=${line#ready ec2=}
endpoint=${endpoint%% *}
ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
printf '#cloud-config\nssh_authorized_keys: ["%s"]\n' "$(cat "$dir/key.pub")" >"$dir/user-data"
. "$dir/state/env"
export AWS_PAGER=
id=$("$aws" --endpoint-url "$endpoint" --output text ec2 run-instances --image-id ami-00000000000000000 --instance-type g5.xlarge \
  --count 1 --user-data "file://$dir/user-data" --query 'Instances[0].InstanceId')
await() { for _ in $(seq 150); do "$@" && return; sleep 0.1; done; fail "timed out: $*"; }
reachable() { curl -s "$endpoint/_rbmock/instances" | grep -q '"reachable": true'; }
await reachable
address=$(curl -s "$endpoint/_rbmock/instances" | sed -n 's/.*"address": "\(.*\)",/\1/p')
node() { timeout 15 ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
  -o ConnectTimeout=2 -i "$dir/key" -p 2222 "$(id -un)@$address" "$@"; }
unreachable() { ! node true 2>/dev/null; }
accident() { [ "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$endpoint/_rbmock/nodes/$id/$1")" = 200 ] || fail "$1"; }

[ "$(node hostname)" = "$id" ] || fail "hostname"
[ "$(node 'ip -o link | wc -l')" = 2 ] || fail "the node sees the host's network"
node 'setsid nohup sleep 91919191 >/dev/null 2>&1 &'
accident cut;  await unreachable;  accident heal;   await node true
accident drop; await unreachable;  accident undrop; await node true
accident poweroff; await unreachable
"$aws" --endpoint-url "$endpoint" ec2 terminate-instances --instance-ids "$id" >/dev/null
gone() { curl -s "$endpoint/_rbmock/instances" | grep -q '"state": "terminated"'; }
await gone
! pgrep -f 'sleep 91919191' >/dev/null || fail "a process outlived its node"
kill "$rbmock"; wait "$rbmock" || fail "exit status"
rbmock=
! ip link show rbmock0 >/dev/null 2>&1 || fail "the bridge is still there"
! ip netns list | grep -q '^rbm-' || fail "a network namespace is still there"
echo "cut off, healed and gone"
