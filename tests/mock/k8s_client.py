"""A Kubernetes client for tests: requests as the API has them, and commands in pods over WebSocket, frame by frame."""
import base64
import hashlib
import http.client
import json
import os
import socket
import struct
import time
import urllib.parse

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, STATUS = range(4)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.text = response.status, response.headers, response.read().decode()
        self.warnings = self.headers.get_all("Warning") or []
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        self.json = json.loads(self.text) if is_json and self.text and "\n" not in self.text.rstrip() else None  # lines: a watch


class Cluster:
    """url: http://127.0.0.1:PORT; token: the bearer's."""

    def __init__(self, url, token, space="rb"):
        self.host, self.token, self.space = url.split("//")[1], token, space
        self.pods = "/api/v1/namespaces/%s/pods" % space
        self.leases = "/apis/coordination.k8s.io/v1/namespaces/%s/leases" % space

    def ask(self, method, path, body=None, token=None, content_type="application/json", accept="*/*"):
        connection = http.client.HTTPConnection(self.host, timeout=20)
        headers = {"Authorization": "Bearer " + (token or self.token), "Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def pod(self, name):
        return self.ask("GET", self.pods + "/" + name)

    def wait(self, name, holds, seconds=20):
        """Until holds(pod's JSON, None where it is gone) is true; returns that JSON."""
        end = time.monotonic() + seconds
        while True:
            answer = self.pod(name)
            pod = answer.json if answer.status == 200 else None
            if holds(pod):
                return pod
            if time.monotonic() > end:
                raise AssertionError("not so after %d s: %s" % (seconds, answer.text))
            time.sleep(0.05)

    def wait_running(self, name):
        return self.wait(name, lambda p: p and p["status"]["phase"] == "Running")

    def exec(self, pod, command, protocols=V5 + ", " + V4, **options):
        return Exec(self, pod, command, protocols, **options)

    def run(self, pod, command, stdin=b"", **options):
        """A command to its end: exit code, stdout, stderr."""
        with self.exec(pod, command, **options) as e:
            e.send(stdin)
            e.end_stdin()
            return e.finish()


class Exec:
    """An open connection. status: the HTTP status, 101 where it stands; protocol: the one chosen."""

    def __init__(self, cluster, pod, command, protocols, method="GET", stdin=True, more=""):
        query = [("container", "node"), ("stdin", str(stdin).lower()), ("stdout", "true"), ("stderr", "true")]
        query += [("command", word) for word in command]
        key = base64.b64encode(os.urandom(16)).decode()
        host, port = cluster.host.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=20)
        self.socket.sendall(("%s %s/%s/exec?%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\n"
                             "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
                             "Sec-WebSocket-Protocol: %s\r\n%s\r\n" % (
                                 method, cluster.pods, pod, urllib.parse.urlencode(query), cluster.host, cluster.token, key,
                                 protocols, more)).encode())
        self.buffer, self.closed = bytearray(), False
        self.out = {STDOUT: bytearray(), STDERR: bytearray(), STATUS: bytearray()}
        head = self._until(b"\r\n\r\n").decode()
        self.status = int(head.split()[1])
        self.headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        if self.status == 101:
            expected = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
            assert self.headers["Sec-WebSocket-Accept"] == expected.decode(), head
            self.protocol = self.headers["Sec-WebSocket-Protocol"]
        else:
            self.body = self._exactly(int(self.headers["Content-Length"]))
            self.refusal = json.loads(self.body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError
        self.buffer += data

    def _until(self, mark):
        while mark not in self.buffer:
            self._more()
        return self._exactly(self.buffer.index(mark) + len(mark))

    def _exactly(self, n):
        while len(self.buffer) < n:
            self._more()
        data = bytes(self.buffer[:n])
        del self.buffer[:n]
        return data

    def frame(self):
        """The next frame: kind, payload."""
        first, length = self._exactly(2)
        assert first & 0x80 and not length & 0x80, "servers send whole, unmasked frames"
        if length == 126:
            length = struct.unpack(">H", self._exactly(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self._exactly(8))[0]
        return first & 0x0F, self._exactly(length)

    def send_frame(self, kind, payload):
        n = len(payload)
        length = bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n) if n < 65536 else b"\xff" + struct.pack(">Q", n)
        self.socket.sendall(bytes([0x80 | kind]) + length + b"\0\0\0\0" + payload)  # a mask of zeros is a mask

    def send(self, data, chunk=60000):
        for at in range(0, len(data), chunk):
            self.send_frame(2, bytes([STDIN]) + data[at:at + chunk])

    def end_stdin(self):
        if self.protocol == V5:
            self.send_frame(2, b"\xff\x00")

    def read(self):
        """One more frame into .out; False: the connection was closed as WebSockets are."""
        kind, payload = self.frame()
        if kind == 2:
            self.out[payload[0]] += payload[1:]
        elif kind == 8:
            self.closed = True
        return not self.closed

    def read_until(self, mark, channel=STDOUT):
        while mark not in self.out[channel]:
            assert self.read(), self.out

    def finish(self):
        while self.read():
            pass
        return self.code(), bytes(self.out[STDOUT]), bytes(self.out[STDERR])

    def code(self):
        status = json.loads(self.out[STATUS])
        if status["status"] == "Success":
            return 0
        if status["reason"] != "NonZeroExitCode":
            return status
        return int([c for c in status["details"]["causes"] if c["reason"] == "ExitCode"][0]["message"])
