"""A mock cloud of its own for a test: rbmock on a free port, its nodes' sshd on another, and what it says happened."""
import configparser
import json
import os
import shlex
import socket
import subprocess
import urllib.request

PRICES = """infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at
mock/us-east-1,one.gpu,T4,1,16,4,16,on_demand,0.50,test,2026-07-20T00:00:00Z
mock/us-east-1,two.gpus,T4,2,16,8,32,on_demand,1.00,test,2026-07-20T00:00:00Z
mock/us-east-1,sold.out,T4,1,16,4,16,on_demand,0.50,test,2026-07-20T00:00:00Z
"""

CLOUD = """format: rb-mock/1
prices: prices.csv
ssh_port: %d
shutdown_s: %g
capacity: {sold.out: 0, one.gpu: 2%s}
provisioning:
  - {infra: "%s", instance_type: "*", market: "*", queue_s: 0.2, init_s: 0.2, capacity_failure: 0}
"""


def read_exports(stream):
    """What rbmock prints below its `ready` line for a shell to take over, as a map: names that it unsets have no value."""
    exports = {}
    for line in stream:
        if line.startswith("#"):
            return exports
        command, *words = shlex.split(line)
        for word in words:
            name, _, value = word.partition("=")
            exports[name] = value if command == "export" else None
    raise RuntimeError("rbmock ended before it had said what its keys are")


def customer(exports):
    """What a customer's environment holds: the endpoint, and the key itself, which a test may then spoil."""
    ini = configparser.ConfigParser(interpolation=None)
    ini.read(exports["AWS_SHARED_CREDENTIALS_FILE"], encoding="utf-8")
    return {"AWS_ENDPOINT_URL": exports["AWS_ENDPOINT_URL"], "AWS_ACCESS_KEY_ID": ini["default"]["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": ini["default"]["aws_secret_access_key"]}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def account(bin_dir, options):
    """Words for rbmock that spare it a new RSA key: the service account that was made with the build, if it would make one."""
    path = os.path.join(bin_dir, "tests", "mock", "account.json")
    return () if "--key" in options or not os.path.exists(path) else ("--service-account", path)


class MockCloud:
    """Use with `with`; .url is the endpoint (.gcp_url Compute Engine's, if `--gcp` is among the options, .k8s_url and .kubeconfig those of its cluster, if `--k8s` is), .customer its
    customers' environment, .prices the price list, .ssh_port what every node's sshd listens on."""

    def __init__(self, bin_dir, folder, *options, more="", prices="", infra="mock", shutdown_s=0.1, capacity=""):
        """options: further words for rbmock; more: further lines of its cloud file; prices: further rows of its price list; infra: whose
        machines boot."""
        self.bin_dir, self.folder, self.options, self.more = bin_dir, folder, options, more
        self.more_prices, self.infra, self.shutdown_s, self.capacity = prices, infra, shutdown_s, capacity
        self.ssh_port = free_port()
        self.prices = os.path.join(folder, "prices.csv")

    def __enter__(self):
        cloud = os.path.join(self.folder, "cloud.yaml")
        with open(self.prices, "w", encoding="utf-8") as f:
            f.write(PRICES + self.more_prices)
        with open(cloud, "w", encoding="utf-8") as f:
            f.write(CLOUD % (self.ssh_port, self.shutdown_s, self.capacity, self.infra) + self.more)
        self.log = open(os.path.join(self.folder, "rbmock.log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([os.path.join(self.bin_dir, "rbmock"), "--ec2", "0", "--cloud", cloud,
                                         *account(self.bin_dir, self.options), *self.options],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        ready = self.process.stdout.readline()
        if not ready.startswith("ready ec2="):
            self.log.seek(0)
            raise RuntimeError("rbmock did not start: %r %s" % (ready, self.log.read()))
        self.url = ready.split("ec2=")[1].split()[0]
        self.gcp_url = ready.split("gcp=")[1].split()[0] if "gcp=" in ready else None
        self.k8s_url = ready.split("k8s=")[1].split()[0] if "k8s=" in ready else None
        exports = read_exports(self.process.stdout)
        self.customer = customer(exports)
        self.kubeconfig = exports.get("KUBECONFIG")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()
        self.log.close()

    def ask(self, what):
        with urllib.request.urlopen(self.url + "/_rbmock/" + what, timeout=10) as answer:
            return json.load(answer)

    def ledger(self):
        return self.ask("ledger")
