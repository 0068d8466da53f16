"""Lines that no one should send, to rbmcp: whatever comes, stdout holds one JSON-RPC object a line and nothing else, each answers
an id that was sent or none, and the server answers a ping at the end. Usage: fuzz_lines.py --bin BUILD [--lines N] [--seed S]"""
import argparse
import json
import os
import random
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from line_client import MODERN, LineClient, fake_programs  # noqa: E402

METHODS = ["initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/list",
           "resources/templates/list", "prompts/get", "notifications/cancelled", "notifications/initialized", "no/such", ""]
WORDS = ["job.yaml", "../job.yaml", "/etc/passwd", "rb://errors/RB1112", "rb://runs/x/report", "rb://plans/" + "0" * 64, "x", "",
         "\x1b[2J", "\u202e", "\ud83d\ude00", "check", "estimate", "run", "stop", "approve", "status", "plan_within_budget", "5", "a" * 300]
KEYS = ["name", "arguments", "_meta", "uri", "job", "plan", "plan_sha256", "approval", "run", "set", "changes", "max_cost", "budget",
        "requestId", "progressToken", "protocolVersion", "io.modelcontextprotocol/protocolVersion", "cursor"]


def value(rng, depth=0):
    kind = rng.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, -1, 5, 2**63, 1e308, 0.1, -0.0])
    if kind < 6:
        return rng.choice(WORDS)
    if kind == 6:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def message(rng):
    method = rng.choice(METHODS)
    params = value(rng) if rng.random() < 0.3 else {key: value(rng, 1) for key in rng.sample(KEYS, rng.randrange(5))}
    if method == "tools/call" and rng.random() < 0.5:
        params = {"name": rng.choice(WORDS), "arguments": {key: value(rng, 2) for key in rng.sample(KEYS, rng.randrange(4))}}
    if isinstance(params, dict) and rng.random() < 0.2:
        params["_meta"] = MODERN
    out = {"jsonrpc": "2.0", "id": rng.choice([rng.randrange(1000), "s%d" % rng.randrange(1000), None, 1.5, {}]), "method": method,
           "params": params}
    for key in list(out):
        if rng.random() < 0.05:
            del out[key]
        elif rng.random() < 0.03:
            out[key] = value(rng)
    return out


def mutated(rng, line):
    line = bytearray(line)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(line) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(line):
            line[at] = rng.randrange(256)
        elif kind == 1:
            line[at:at] = bytes([rng.randrange(256)])
        elif kind == 2:
            del line[at:at + rng.randrange(1, 8)]
        else:
            line[at:at] = line[:rng.randrange(len(line) + 1)]
    return bytes(line).replace(b"\n", b" ")


def lines(rng, n):
    for _ in range(n):
        line = json.dumps(message(rng), ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        yield mutated(rng, line) if rng.random() < 0.6 else line


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bin", required=True)
    options.add_argument("--lines", type=int, default=5000)
    options.add_argument("--seed", type=int, default=int(os.environ.get("RB_TEST_SEED", "1")))
    o = options.parse_args()
    rng = random.Random(o.seed)
    with tempfile.TemporaryDirectory(prefix="rb-mcp-fuzz-") as folder:
        fake = fake_programs(os.path.join(folder, "bin"), os.path.abspath(o.bin), rbplan="echo '{}'\n", rbrun="echo '{}'\n")
        os.mkdir(os.path.join(folder, "jobs"))
        with open(os.path.join(folder, "jobs", "job.yaml"), "w", encoding="utf-8") as f:
            f.write("x")
        answers, bad = [0], []
        with LineClient(fake, os.path.join(folder, "jobs"), env=dict(os.environ, HOME=folder)) as client:
            def read():
                for line in client.process.stdout:
                    try:
                        got = json.loads(line)
                        fine = got["jsonrpc"] == "2.0" and ("result" in got) + ("error" in got) + ("method" in got) == 1
                    except (ValueError, KeyError, TypeError):
                        fine = False
                    answers[0] += 1
                    if not fine:
                        bad.append(line[:300])
                    elif got.get("id") == "the last":
                        return
            said = []
            readers = [threading.Thread(target=read, daemon=True),
                       threading.Thread(target=lambda: said.extend(client.process.stderr), daemon=True)]
            for reader in readers:
                reader.start()
            for line in lines(rng, o.lines):
                client.process.stdin.write(line + b"\n")
            client.send('{"jsonrpc":"2.0","id":"the last","method":"ping"}')
            readers[0].join(300)
            assert not readers[0].is_alive(), "no answer to the last ping (seed %d)" % o.seed
            client.process.stdin.close()
            code = client.process.wait(30)
        assert code == 0, "exit %d (seed %d): %r" % (code, o.seed, said[-3:])
        assert not bad, "seed %d: %r" % (o.seed, bad[:3])
        print("%d lines, %d answers, seed %d" % (o.lines, answers[0], o.seed))


if __name__ == "__main__":
    main()
