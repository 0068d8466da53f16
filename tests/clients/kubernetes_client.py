#!/usr/bin/env python3
"""Debian's python3-kubernetes against rbmock's Kubernetes front: pods, a watch, a command with stdin, leases.
Usage: kubernetes_client.py RBMOCK"""
import sys

from rbmock import POD, RbMock, require, skip

try:
    from kubernetes import client, config, stream, watch
    from kubernetes.client.rest import ApiException
except ImportError:
    skip("python3-kubernetes is not installed")


def refusal(call, *args, **options):
    try:
        call(*args, **options)
    except ApiException as e:
        return e.status
    sys.exit("FAILED: not refused: %s" % (args,))


with RbMock(sys.argv[1], "--k8s", "0") as cloud:
    for context in ("lab", "lab-tls"):
        api_client = config.new_client_from_config(cloud.kubeconfig, context)
        core, coordination = client.CoreV1Api(api_client), client.CoordinationV1Api(api_client)
        require(client.VersionApi(api_client).get_code().minor == "30", "version")
        core.create_namespaced_pod("rb", POD, dry_run="All")
        require(core.list_namespaced_pod("rb").items == [], "a dry run stores nothing")
        pod = core.create_namespaced_pod("rb", POD)
        require(refusal(core.create_namespaced_pod, "rb", POD) == 409, "twice")
        for event in watch.Watch().stream(core.list_namespaced_pod, "rb", label_selector="rb.run-id=R", timeout_seconds=30):
            if event["object"].status.phase == "Running":
                break
        else:
            sys.exit("FAILED: it never ran")
        require(core.read_namespaced_pod_log("rb-1", "rb") == "hello\n", "log")
        command = stream.stream(core.connect_get_namespaced_pod_exec, "rb-1", "rb", command=["sh", "-c", "read line; echo got $line; exit 7"],
                                container="node", stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
        command.write_stdin("this\n")
        command.run_forever(timeout=20)
        require((command.read_stdout(), command.returncode) == ("got this\n", 7), command.returncode)
        api_client = config.new_client_from_config(cloud.kubeconfig, context)  # stream() has changed the first one
        core, coordination = client.CoreV1Api(api_client), client.CoordinationV1Api(api_client)
        lease = coordination.create_namespaced_lease("rb", {"metadata": {"name": "rb-run"}, "apiVersion": "coordination.k8s.io/v1",
                                                            "kind": "Lease", "spec": {"holderIdentity": "me"}})
        coordination.replace_namespaced_lease("rb-run", "rb", lease)
        require(refusal(coordination.replace_namespaced_lease, "rb-run", "rb", lease) == 409, "an old version")
        coordination.delete_namespaced_lease("rb-run", "rb")
        wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="00000000-0000-4000-a000-000000000000"))
        require(refusal(core.delete_namespaced_pod, "rb-1", "rb", body=wrong) == 409, "a precondition")
        version = core.read_namespaced_pod("rb-1", "rb").metadata.resource_version
        core.delete_namespaced_pod("rb-1", "rb", body=client.V1DeleteOptions(
            preconditions=client.V1Preconditions(uid=pod.metadata.uid), propagation_policy="Background"))
        for event in watch.Watch().stream(core.list_namespaced_pod, "rb", resource_version=version, timeout_seconds=30):
            if event["type"] == "DELETED":
                break
        else:
            sys.exit("FAILED: it never went")
        require(refusal(core.read_namespaced_pod, "rb-1", "rb") == 404, "gone")
        require(refusal(core.list_node) == 403, "nodes")
    print("python3-kubernetes drives rbmock")
