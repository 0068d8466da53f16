#!/bin/bash
# Debian's awscli, unmodified, drives rbmock: launch, list with filters and pages, describe, terminate,
# look up quotas and parameters.
# Usage: awscli.sh RBMOCK. Skipped (77) where aws is not installed.
set -eu
aws=$(command -v /usr/bin/aws || command -v aws) || { echo "aws is not installed"; exit 77; }
dir=$(mktemp -d /tmp/rbmock-aws-XXXXXX)
rbmock=
finish() { [ -z "$rbmock" ] || { kill "$rbmock"; wait "$rbmock" || true; }; rm -rf "$dir"; }
trap finish EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

cat >"$dir/prices.csv" <<'CSV'
infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour
aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006
aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,spot,0.4125
aws/us-east-1,p4d.24xlarge,A100,8,40,96,1152,on_demand,21.957642
CSV
cat >"$dir/cloud.yaml" <<'YAML'
format: rb-mock/1
prices: prices.csv
ssh_port: 2297
shutdown_s: 0.05
capacity: {p4d.24xlarge: 3}
provisioning:
  - {infra: aws, instance_type: "*", market: "*", queue_s: 0.05, init_s: 30.0, capacity_failure: 0.0}
quotas:
  - {name: G on demand, code: L-DB2E81BA, infra: aws, instance_type: "g*", market: on_demand, unit: vcpus, max: 640}
parameters: {/aws/service/x: ami-00000000000000000}
YAML
mkfifo "$dir/ready"
"$1" --cloud "$dir/cloud.yaml" --state "$dir/state" >"$dir/ready" &
rbmock=$!
read -r line <"$dir/ready"
endpoint=${line#ready ec2=}
endpoint=${endpoint%% *}
. "$dir/state/env"
export AWS_PAGER= HOME=$dir
ec2() { "$aws" --endpoint-url "$endpoint" --output text ec2 "$@"; }

other() { "$aws" --endpoint-url "$endpoint" --output text "$@"; }
[ "$(other service-quotas list-service-quotas --service-code ec2 --query 'Quotas[?Value==`640`].QuotaCode')" = L-DB2E81BA ] ||
  fail "service quotas"
[ "$(other ssm get-parameter --name /aws/service/x --query Parameter.Value)" = ami-00000000000000000 ] || fail "parameter"

printf '#!/bin/sh\ntrue\n' >"$dir/user-data"
ids=$(ec2 run-instances --image-id ami-00000000000000000 --instance-type g5.xlarge --count 7 --user-data "file://$dir/user-data" \
  --instance-initiated-shutdown-behavior terminate --placement AvailabilityZone=us-east-1b \
  --tag-specifications '[{"ResourceType":"instance","Tags":[{"Key":"rb:run-id","Value":"a+b/c %25 é"},{"Key":"empty","Value":""}]}]' \
  --query 'Instances[].InstanceId')
set -- $ids
[ $# = 7 ] || fail "7 instances launched, got: $ids"

found=$(ec2 describe-instances --page-size 5 --filters 'Name=tag:rb:run-id,Values=a+b/c %25 é' 'Name=instance-type,Values=g5.*' \
  --query 'Reservations[].Instances[].InstanceId' | wc -w)
[ "$found" = 7 ] || fail "7 instances found in pages of 5, got $found"
zone=$(ec2 describe-instances --instance-ids "$1" --query 'Reservations[0].Instances[0].Placement.AvailabilityZone')
[ "$zone" = us-east-1b ] || fail "zone: $zone"
none=$(ec2 describe-instances --filters Name=instance-lifecycle,Values=spot --query 'Reservations[].Instances[].InstanceId')
[ -z "$none" ] || fail "no spot instance was launched, found $none"
ec2 describe-instances --filters Name=colour,Values=red 2>"$dir/error" && fail "an unknown filter was accepted"
grep -q InvalidParameterValue "$dir/error" || fail "$(cat "$dir/error")"

# The waiter reads states as every SDK does.
"$aws" --endpoint-url "$endpoint" ec2 wait instance-running --instance-ids $ids || fail "instance-running"

changed=$(ec2 terminate-instances --instance-ids "$1" "$2" --query 'TerminatingInstances[].CurrentState.Name')
[ "$changed" = "$(printf 'shutting-down\tshutting-down')" ] || fail "terminate: $changed"
ec2 terminate-instances --instance-ids i-00000000000000000 2>"$dir/error" && fail "an unknown id was terminated"
grep -q InvalidInstanceID.NotFound "$dir/error" || fail "$(cat "$dir/error")"

# As many as there are between the least and the most; all or none where the two are one.
AWS_MAX_ATTEMPTS=1 ec2 run-instances --image-id ami-00000000000000000 --instance-type p4d.24xlarge --count 4:4 2>"$dir/error" &&
  fail "four machines were launched where there is room for three"
grep -q InsufficientInstanceCapacity "$dir/error" || fail "$(cat "$dir/error")"
gang=$(ec2 run-instances --image-id ami-00000000000000000 --instance-type p4d.24xlarge --count 2:2 --query 'Instances[].AmiLaunchIndex')
[ "$gang" = "$(printf '0\t1')" ] || fail "a gang of two: $gang"
rest=$(ec2 run-instances --image-id ami-00000000000000000 --instance-type p4d.24xlarge --count 1:5 --query 'Instances[].AmiLaunchIndex')
[ "$rest" = 0 ] || fail "the one that is left: $rest"

gpus=$(ec2 describe-instance-types --instance-types p4d.24xlarge \
  --query 'InstanceTypes[0].[GpuInfo.Gpus[0].Name,GpuInfo.Gpus[0].Count,VCpuInfo.DefaultVCpus,MemoryInfo.SizeInMiB]')
[ "$gpus" = "$(printf 'A100\t8\t96\t1179648')" ] || fail "GPUs: $gpus"
price=$(ec2 describe-spot-price-history --instance-types g5.xlarge --product-descriptions Linux/UNIX \
  --availability-zone us-east-1a --start-time "$(date -u +%FT%TZ)" --query 'SpotPriceHistory[].SpotPrice')
[ "$price" = 0.412500 ] || fail "spot price: $price"
[ "$(ec2 describe-images --owners amazon --query 'Images[0].ImageId')" = ami-00000000000000000 ] || fail "image"
[ "$(ec2 describe-availability-zones --query 'length(AvailabilityZones)')" = 3 ] || fail "zones"
AWS_ACCESS_KEY_ID=$(sed -n 's/aws_access_key_id = //p' "$dir/state/credentials") AWS_SECRET_ACCESS_KEY=wrong \
  ec2 describe-regions 2>"$dir/error" && fail "a wrong secret was accepted"
grep -q SignatureDoesNotMatch "$dir/error" || fail "$(cat "$dir/error")"
echo "awscli $("$aws" --version 2>&1 | cut -d' ' -f1) drives rbmock"
