"""The fronts of rbmock on which one test carries out one run: instances of EC2, reached over ssh, and pods of a cluster."""
import os
import sys
import urllib.request

from cluster import Cluster

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from mock_cloud import MockCloud  # noqa: E402


class Ec2(MockCloud):
    RESOURCES = "infra: [mock/us-east-1]"  # of a job, but for its instance types
    INFRA, SPOT_INFRA = "mock/us-east-1", "mock/us-east-1/us-east-1a"  # in a price list

    def __init__(self, bin_dir, folder, prices=""):
        super().__init__(bin_dir, folder, prices=prices)

    def lose(self, instance):
        """One of its ledger, without notice."""
        urllib.request.urlopen(urllib.request.Request("%s/_rbmock/nodes/%s/poweroff" % (self.url, instance["id"]), b""), timeout=10).close()

    def bill(self, older=()):
        """Of what has been launched since those ids were there, in micro-dollars, once all has ended."""
        return sum(i["cost_uusd"] for i in self.ledger()["instances"] if i["id"] not in older)


class Pods(Cluster):
    RESOURCES = "infra: [k8s/lab], image_id: {k8s/lab: 'x@sha256:0a'}, kubernetes: {namespace: rb, cpus_per_gpu: 1, grace: 5m}"
    INFRA = SPOT_INFRA = "k8s/lab"

    def __init__(self, bin_dir, folder, prices=""):
        super().__init__(bin_dir, folder, prices=prices, kubernetes=", granted: [create pods/eviction]")

    def __enter__(self):
        super().__enter__()
        self.customer["KUBECONFIG"] = self.kubeconfig
        return self

    def lose(self, instance):
        """At a second's notice."""
        self.evict(instance["name"], gracePeriodSeconds=1)

    def bill(self, older=()):
        self.await_no_pods()
        assert self.objects("leases") == [], "the run's lease is left"
        return sum(i["cost_uusd"] for i in self.ledger()["instances"] if i["id"] not in older)


FRONTS = {"ec2": Ec2, "k8s": Pods}
