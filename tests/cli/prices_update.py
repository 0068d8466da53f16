#!/usr/bin/env python3
"""rbprofile prices update and history against rbmock: whatever the clouds name must be what their price list says, to the micro-dollar.
The expected table is made here from the list, with decimals; the clouds' own answers pass through GetProducts,
DescribeSpotPriceHistory and services.skus.list, in small pages, with faults on the way."""
import argparse
import csv
import decimal
import io
import json
import os
import re
import subprocess
import tempfile

from mock_cloud import customer, read_exports

HEADER = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
PRICES = HEADER + """aws/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand,1.006
aws/us-east-1,g5.xlarge,A10G,1,24,4,16,spot,0.4125
aws/us-east-1/us-east-1b,g5.xlarge,A10G,1,24,4,16,spot,0.3999
aws/us-east-1,p4d.24xlarge,A100,8,40,96,1152,on_demand,21.957642
aws/us-east-1,c5.xlarge,CPU,1,0,4,8,on_demand,0.17
aws/us-west-2,g5.xlarge,A10G,1,24,4,16,on_demand,1.2
aws/us-west-2,only.spot,T4,1,16,4,16,spot,0.1
gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.706824
gcp/us-central1,g2-standard-4,L4,1,24,4,16,spot,0.397
gcp/us-central1,g2-standard-8,L4,1,24,8,32,on_demand,0.853608
gcp/us-central1,g2-standard-8,L4,1,24,8,32,spot,0.4801
gcp/us-central1,a2-highgpu-1g,A100,1,40,12,85,on_demand,3.673385
gcp/us-central1,a2-highgpu-8g,A100,8,40,96,680,on_demand,29.38708
gcp/us-central1,n1-standard-8+nvidia-tesla-t4:2,T4,2,16,8,30,on_demand,1.079998
gcp/us-central1,n1-standard-8+nvidia-tesla-t4:2,T4,2,16,8,30,spot,0.512345
gcp/us-central1,a3-highgpu-8g,H100,8,80,208,1872,on_demand,88.49
gcp/europe-west4,g2-standard-4,L4,1,24,4,16,on_demand,0.778
"""
ZONES = ("a", "b", "c")
CLOUD = """format: rb-mock/1
prices: prices.csv
provisioning:
  - {infra: "*", instance_type: "*", market: "*", queue_s: 1, init_s: 1, capacity_failure: 0}
"""
# Each call fails at first, and pages are short: retries and paging are on the way of every price.
CHAOS = """format: rb-chaos/1
rules:
  - {name: small pages, where: {action: GetProducts}, what: {partial_page: {items: 1}}}
  - {name: small histories, where: {action: DescribeSpotPriceHistory}, what: {partial_page: {items: 7}}}
  - {name: small skus, where: {action: services.skus.list}, what: {partial_page: {items: 7}}}
  - {name: busy, where: {action: GetProducts}, times: 1, what: throttle}
  - {name: cut, where: {action: services.skus.list}, when: {call: 2}, times: 1, what: {truncated_body: {fraction: 0.5}}}
"""


def uusd(text):
    return int((decimal.Decimal(text) * 1000000).to_integral_value(decimal.ROUND_CEILING))


def expected(region, types):
    """(infra, type, market) -> micro-dollars: spot per zone on EC2, one price per region otherwise."""
    rows = list(csv.DictReader(io.StringIO(PRICES)))
    table = {}
    for row in rows:
        place = row["infra"].split("/")
        if "/".join(place[:2]) != region or (types and row["instance_type"] not in types):
            continue
        by_zone = place[0] == "aws" and row["market"] == "spot"
        zones = [place[2]] if len(place) == 3 else [place[1] + z for z in ZONES] if by_zone else [None]
        for zone in zones:
            key = (region + ("/" + zone if zone else ""), row["instance_type"], row["market"])
            if len(place) == 3 or key not in table:
                table[key] = uusd(row["usd_per_hour"])
    return table


class Test:
    def __init__(self, bin_dir, folder):
        self.bin_dir, self.folder = bin_dir, folder
        for name, text in (("prices.csv", PRICES), ("cloud.yaml", CLOUD), ("chaos.yaml", CHAOS)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        self.cloud = subprocess.Popen([os.path.join(bin_dir, "rbmock"), "--ec2", "0", "--gcp", "0", "--cloud", "cloud.yaml",
                                       "--chaos", "chaos.yaml", "--credentials-out", "key.json"],
                                      stdout=subprocess.PIPE, text=True, cwd=folder)
        words = dict(word.split("=") for word in self.cloud.stdout.readline().split()[1:])
        keys = customer(read_exports(self.cloud.stdout))
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("AWS_", "GOOGLE_", "GCLOUD_", "CLOUDSDK_", "GCE_", "RB_"))}
        self.env.update(HOME=folder, RB_DB=os.path.join(folder, "store.db"), **keys, RB_GCP_COMPUTE_ENDPOINT=words["gcp"],
                        GOOGLE_APPLICATION_CREDENTIALS=os.path.join(folder, "key.json"))

    def run(self, words, expect=0):
        done = subprocess.run([os.path.join(self.bin_dir, "rbprofile")] + words.split(), capture_output=True, text=True,
                              timeout=60, env=self.env, cwd=self.folder, check=False)
        assert done.returncode == expect, "%s: exit %d\n%s" % (words, done.returncode, done.stderr)
        return done

    def stored(self, infra):
        rows = json.loads(self.run("prices show --json --infra " + infra).stdout)["prices"]
        assert all(r["fetched_at"] and r["source"] for r in rows)
        return {(r["infra"], r["instance_type"], r["market"]): r["uusd_per_hour"] for r in rows}

    def updates(self, infra, types=()):
        said = self.run("prices update --infra %s %s" % (infra, " ".join("--instance-type " + t for t in types)))
        want = expected(infra, types)
        assert self.stored(infra) == want, "%s: %s\nexpected %s" % (infra, self.stored(infra), want)
        n_spot = sum(1 for key in want if key[2] == "spot")
        assert said.stdout == "%s: %d on-demand and %d spot prices\n" % (infra, len(want) - n_spot, n_spot), said.stdout

    def has_history(self):
        """Four prices a day in each zone, within a fifth of the list's; a pool's own prices come from its steps."""
        lines = self.run("prices history --infra aws/us-west-2 --instance-type only.spot --days 7").stdout.splitlines()
        assert len(lines) == len(ZONES), lines
        for zone, line in zip(ZONES, lines):
            said = re.fullmatch(r"aws/us-west-2/us-west-2%s only.spot: price: \{mean: ([\d.]+), p5: ([\d.]+), p95: ([\d.]+)\}  "
                                r"# now \$([\d.]+), after (\d+) changes" % zone, line)
            assert said, line
            mean, low, high, now = (float(said.group(k)) for k in range(1, 5))
            assert 0.08 <= low <= mean <= high <= 0.12 and now == 0.1 and 26 <= int(said.group(5)) <= 30, line
        assert "after 0 change" not in self.run("prices history --infra aws/us-west-2 --instance-type only.spot --days 1").stdout
        nothing = self.run("prices history --infra aws/us-east-1 --instance-type p4d.24xlarge").stdout
        assert nothing == "# aws/us-east-1: no spot price of such a machine in that time\n", nothing

    def refuses(self, words, code, *says):
        before = self.stored("*") if os.path.exists(self.env["RB_DB"]) else None
        said = self.run(words, expect=code).stderr
        assert all(word in said for word in says), said
        after = self.stored("*") if os.path.exists(self.env["RB_DB"]) else None
        assert before == after, "a refused update changed the store"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    with tempfile.TemporaryDirectory() as folder:
        t = Test(os.path.abspath(parser.parse_args().bin), folder)
        try:
            t.refuses("prices update --infra gcp/us-central1", 2, "--instance-type")
            t.refuses("prices update --infra aws/us-east-1 --instance-type p99.huge", 2, "p99.huge")
            assert not os.path.exists(t.env["RB_DB"]), "a store without a price in it"
            t.updates("aws/us-east-1", ["g5.xlarge"])
            t.updates("aws/us-west-2")                     # all there are
            t.updates("aws/us-east-1", ["g5.xlarge", "p4d.24xlarge", "c5.xlarge"])
            t.run("prices update --infra aws/us-east-1")   # those it knows
            assert t.stored("aws/us-east-1") == expected("aws/us-east-1", [])
            gcp = ["g2-standard-4", "g2-standard-8", "a2-highgpu-1g", "a2-highgpu-8g", "n1-standard-8+nvidia-tesla-t4:2"]
            t.updates("gcp/us-central1", gcp)
            t.updates("gcp/europe-west4", ["g2-standard-4"])
            t.refuses("prices update --infra gcp/us-central1 --instance-type a3-highgpu-8g", 7, "a3-highgpu-8g", "import")
            t.refuses("prices update --infra gcp/europe-west4 --instance-type a2-highgpu-1g", 1, "a2-highgpu-1g")
            t.has_history()
            t.refuses("prices history --infra gcp/us-central1 --instance-type g2-standard-4", 2, "rbprofile import CAPACITY.csv")
            t.refuses("prices history --infra aws/us-east-1", 2, "an --instance-type")
            t.env["AWS_SECRET_ACCESS_KEY"] = "wrong"
            t.refuses("prices history --infra aws/us-east-1 --instance-type g5.xlarge", 5)
            t.refuses("prices update --infra aws/us-east-1", 5)
        finally:
            t.cloud.terminate()
            t.cloud.wait(20)
            t.cloud.stdout.close()


main()
