"""rbmcp as a child process, one line at a time; and a folder in which the programs beside it are scripts of a test."""
import json
import os
import select
import shutil
import subprocess
import time

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def fake_programs(folder, real_bin, **scripts):
    """A folder with rbmcp itself and shell scripts in place of the programs that it starts."""
    os.makedirs(folder)
    shutil.copy(os.path.join(real_bin, "rbmcp"), folder)
    for name, text in scripts.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
    return folder


class LineClient:
    """Use with `with`. Every line that rbmcp prints is one JSON object, or reading it fails."""

    def __init__(self, bin_dir, root, *options, env=None):
        self.argv = [os.path.join(bin_dir, "rbmcp"), "--root", root, *options]
        self.env, self.next_id, self.unread, self.others = env, 1, b"", []

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=self.env)
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends its input; its exit code and what it said on stderr."""
        if self.process.stdin.closed:
            return self.process.returncode, ""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        said = self.process.stderr.read().decode()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        for line in (self.unread + rest).splitlines():
            json.loads(line)
        return self.process.wait(20), said

    def send(self, line):
        self.process.stdin.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
        self.process.stdin.flush()

    def line(self, timeout=60):
        """The next line; None: none came in time."""
        until = time.monotonic() + timeout
        while b"\n" not in self.unread:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            assert chunk, "rbmcp ended: %s" % self.process.stderr.read().decode()
            self.unread += chunk
        line, _, self.unread = self.unread.partition(b"\n")
        message = json.loads(line)
        assert isinstance(message, dict) and message["jsonrpc"] == "2.0", line
        return message

    def answer_to(self, wanted, timeout=60):
        """The answer with that id; other lines are put aside in .others."""
        while True:
            message = self.line(timeout)
            assert message is not None, "no answer to %r" % (wanted,)
            if message.get("id") == wanted and "method" not in message:
                return message
            self.others.append(message)

    def post(self, method, params=None):
        """Sends a request; its id."""
        self.next_id += 1
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params is not None:
            request["params"] = params
        self.send(json.dumps(request))
        return self.next_id

    def ask(self, method, params=None):
        return self.answer_to(self.post(method, params))

    def tool(self, name, meta=None, **arguments):
        """Its result."""
        params = {"name": name, "arguments": arguments}
        if meta:
            params["_meta"] = meta
        answer = self.ask("tools/call", params)
        assert "result" in answer, answer
        return answer["result"]

    def error_of(self, name, **arguments):
        """The rb-error/1 of a tool that fails."""
        result = self.tool(name, **arguments)
        assert result.get("isError") is True and "structuredContent" not in result, result
        return json.loads(result["content"][0]["text"])
