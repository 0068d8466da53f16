"""One command in a pod, as rbrun starts it: what goes in and comes out, how it ends, and what is left when its client dies.
This test is the door (providers/k8s/k8s_door.h); rbmock is the cluster, once as an old server and once as a new one.

    k8s_exec.py --bin BUILD [TEST..]
"""
import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from cluster import NAMESPACE, Cluster

BIN = None

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rb-try-0"}, "spec": {
    "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
    "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [{"name": "node", "image": "x", "command": ["/bin/sh", "-c", "sleep 1000 & wait"], "workingDir": "/rb",
                    "env": [{"name": "HOME", "value": "/rb"},
                            {"name": "RB_POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": [{"name": "home", "mountPath": "/rb"}]}],
    "tolerations": [{"operator": "Exists"}], "volumes": [{"name": "home", "emptyDir": {}}]}}


class Door:
    """Answers every caller with the cluster's address and the next of these tokens (the last one for ever)."""

    def __init__(self, path, address, *tokens):
        """address: what a caller is given beside namespace and token."""
        self.address, self.tokens, self.asked = address, list(tokens), []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            caller, _ = self.socket.accept()
            self.asked.append(caller.recv(100).decode())
            token = self.tokens.pop(0) if len(self.tokens) > 1 else self.tokens[0]
            caller.sendall((json.dumps({**self.address, "namespace": NAMESPACE, "token": token}) + "\n").encode())
            threading.Thread(target=lambda c: (c.recv(1), c.close()), args=(caller,), daemon=True).start()


class Exec(unittest.TestCase):
    version, with_tls = "1.30", False

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rb-exec-")
        cls.folder = cls.temporary.name
        chaos = os.path.join(cls.folder, "chaos.yaml")
        with open(chaos, "w", encoding="utf-8") as f:
            f.write("format: rb-chaos/1\nrules:\n  - {where: {front: k8s, action: pods.exec}, when: {call: 2}, times: 1, "
                    "what: {exec_cut: {bytes: 5}}}\n  - {where: {front: k8s, action: pods.exec}, when: {call: 3}, times: 1, "
                    "what: no_status}\n")
        cls.cluster = Cluster(BIN, cls.folder, "--chaos", chaos, kubernetes=', version: "%s"' % cls.version).__enter__()
        cls.token = cls.cluster.customer["AWS_SECRET_ACCESS_KEY"]
        cls.address = {"server": cls.cluster.k8s_url}
        if cls.with_tls:
            with open(cls.cluster.kubeconfig, encoding="utf-8") as f:
                text = f.read()
            authority = re.search(r"certificate-authority-data: *\"?([A-Za-z0-9+/=]+)", text).group(1)
            cls.address = {"server": re.search(r"https://127.0.0.1:[0-9]+", text).group(0), "ca": base64.b64decode(authority).decode()}
        cls.door = Door(os.path.join(cls.folder, "door"), cls.address, cls.token)
        cls.create(POD)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()
        cls.temporary.cleanup()

    @classmethod
    def create(cls, pod):
        request = urllib.request.Request("%s/api/v1/namespaces/%s/pods" % (cls.cluster.k8s_url, NAMESPACE),
                                         json.dumps(pod).encode(), method="POST",
                                         headers={"Authorization": "Bearer " + cls.token, "Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=10).close()
        until = time.monotonic() + 20
        while cls.cluster.objects("pods")[0]["status"]["phase"] != "Running" and time.monotonic() < until:
            time.sleep(0.1)
        cls.pod = "rb-try-0." + cls.cluster.objects("pods")[0]["metadata"]["uid"]

    def argv(self, command, pod=None, door="door"):
        pod = pod or self.pod
        return [os.path.join(BIN, "rbrun"), "--in-pod", os.path.join(self.folder, door), "lab", pod, command]

    def run_in_pod(self, command, expect=0, **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        if "input" in how:
            del how["stdin"]
        how.setdefault("timeout", 60)
        done = subprocess.run(self.argv(command, how.pop("pod", None), how.pop("door", "door")), capture_output=True,
                              check=False, **how)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    # First of all by name: the chaos rules count calls.
    def test_0_a_connection_that_breaks_is_no_end(self):
        self.run_in_pod("true")
        done = self.run_in_pod("echo a long line", expect=255)
        self.assertIn(b"ended before the command did", done.stderr)
        done = self.run_in_pod("echo all of it", expect=255)  # all came but the end
        self.assertEqual(done.stdout, b"all of it\n")

    def test_streams_and_exit_codes(self):
        done = self.run_in_pod("echo out; echo err >&2; exit 7", expect=7)
        self.assertEqual((done.stdout, done.stderr), (b"out\n", b"err\n"))
        self.assertEqual(self.run_in_pod("cat; echo end", input=b"secret lines\n").stdout, b"secret lines\nend\n")
        self.assertEqual(self.run_in_pod("cat; echo end").stdout, b"end\n")  # nothing goes in
        self.assertEqual(self.run_in_pod("pwd; echo \"$HOME\"").stdout.split()[0].decode().split("/")[-1] != "", True)
        self.assertNotIn(b".in.", self.run_in_pod("sleep 0.5; ls -A").stdout)  # the way in leaves nothing

    def test_much_goes_in_and_out_unchanged(self):
        megabytes = int(os.environ.get("RB_TEST_MB", "64"))  # 1000: docs/HACKING.md
        path, copy, digest = os.path.join(self.folder, "data"), os.path.join(self.folder, "copy"), hashlib.sha256()
        with open(path, "wb") as f:
            f.write(b"skipped")
            for _ in range(megabytes):
                block = os.urandom(1000000)
                digest.update(block)
                f.write(block)
        with open(path, "rb") as f:
            os.lseek(f.fileno(), 7, os.SEEK_SET)
            begin = time.monotonic()
            done = self.run_in_pod("tee copy | sha256sum", stdin=f, timeout=600)
            took_in = time.monotonic() - begin
        self.assertEqual(done.stdout.split()[0].decode(), digest.hexdigest())
        with open(copy, "wb") as f:
            begin = time.monotonic()
            self.assertEqual(subprocess.run(self.argv("cat copy; rm copy"), stdin=subprocess.DEVNULL, stdout=f, timeout=600, check=False).returncode, 0)
            took_out = time.monotonic() - begin
        with open(copy, "rb") as f:
            self.assertEqual(hashlib.file_digest(f, "sha256").hexdigest(), digest.hexdigest())
        print("%s%s: %d MB, %.0f MB/s in, %.0f MB/s out" % (self.version, " with TLS" if self.with_tls else "", megabytes, megabytes / took_in, megabytes / took_out))

    def test_a_dead_client_leaves_no_follower(self):
        process = subprocess.Popen(self.argv("echo begun >followed; exec tail -f followed"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"begun\n")
        listing = "ps ax -o args | grep -c '^tail -f follow[e]d' || :"
        self.assertEqual(self.run_in_pod(listing).stdout, b"1\n")
        process.kill()
        process.wait()
        process.stdout.close()
        until = time.monotonic() + 10
        while self.run_in_pod(listing).stdout != b"0\n":
            self.assertLess(time.monotonic(), until, "the follower lives on")

    def test_no_one_reads_any_more(self):
        process = subprocess.Popen(self.argv("echo begun; sleep 100"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"begun\n")
        process.stdout.close()
        self.assertEqual(process.wait(10), 255)

    def test_another_pod_of_the_same_name_is_not_ours(self):
        done = self.run_in_pod("touch been; echo in", expect=255, pod="rb-try-0.0123")
        self.assertIn(b"another pod has this name now", done.stderr)
        self.assertEqual(self.run_in_pod("ls been || :").stdout, b"")

    def test_what_cannot_be_reached(self):
        self.assertIn(b"status 404", self.run_in_pod("true", expect=255, pod="rb-none-0.u").stderr)
        self.assertIn(b"expected the id of a pod", self.run_in_pod("true", expect=255, pod="rb-try-0").stderr)
        self.assertIn(b"does not answer", self.run_in_pod("true", expect=255, door="nowhere").stderr)

    def test_a_refused_token_is_asked_for_again(self):
        door = Door(os.path.join(self.folder, "other"), self.address, "expired", self.token)
        self.assertEqual(self.run_in_pod("echo in", door="other").stdout, b"in\n")
        self.assertEqual(door.asked, ["lab\n", "lab refused\n"])
        Door(os.path.join(self.folder, "wrong"), self.address, "wrong")
        self.assertIn(b"status 401", self.run_in_pod("true", expect=255, door="wrong").stderr)


class ExecOnAnOldServer(Exec):
    version = "1.20"


class ExecOverTls(Exec):
    with_tls = True


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[sys.argv.index("--bin") + 1])
    words = [w for i, w in enumerate(sys.argv[1:], 1) if w != "--bin" and sys.argv[i - 1] != "--bin"]
    unittest.main(argv=[sys.argv[0], *words])
