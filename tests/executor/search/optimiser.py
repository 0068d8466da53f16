#!/usr/bin/env python3
"""An optimiser for rb-search/1 that behaves in the way that its argument names: optimiser.py MODE [N]. It notes every line
that it reads in the file `heard`, one process after another."""
import json
import os
import select
import sys
import time

MODE, N = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0


def say(message):
    os.write(1, (message if isinstance(message, str) else json.dumps(message)).encode() + b"\n")


def values_of(trial):
    return {"lr": round(0.1 + 0.05 * trial, 6), "kind": "ab"[trial % 2]}


def suggest(ask, **other):
    say({"type": "suggest", "id": ask["id"], "values": dict(values_of(ask["trial"]), **other), "reason": "by rule", "extra": [1]})


def lines():
    """Lines of stdin; None: none came for 50 ms."""
    rest = b""
    while True:
        if not select.select([0], [], [], 0.05)[0]:
            yield None
            continue
        chunk = os.read(0, 65536)
        if not chunk:
            return
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def on_ask(ask, held):
    first = not os.path.exists("lied")
    if MODE == "reorder":
        held.append(ask)
    elif MODE == "outside":
        suggest(ask, lr=7.0)
    elif MODE == "unknown":
        suggest(ask, momentum=0.9)
    elif MODE == "missing_value":
        say({"type": "suggest", "id": ask["id"], "values": {"lr": 0.5}})
    elif MODE == "not_json":
        say("this is no line of the protocol")
    elif MODE == "long":
        say('{"type": "suggest", "id": %d, "reason": "%s"}' % (ask["id"], "x" * 1000000))
    elif MODE == "once" and first:  # wrong once, then corrected
        open("lied", "w", encoding="utf-8").close()
        suggest(ask, lr=-1)
    elif MODE == "late":
        time.sleep(0.45)
        suggest(ask)
    elif MODE == "none" and ask["trial"] >= N:
        say({"type": "none", "id": ask["id"]})
    elif MODE == "complains":
        say({"type": "error", "message": "no model could be fitted"})
    elif MODE != "hang":
        if MODE == "slow" and ask["trial"] == 0:
            time.sleep(1.2)
        if MODE == "unknown_id":
            say({"type": "suggest", "id": ask["id"] + 1000, "values": values_of(5)})
        suggest(ask)
        if MODE == "twice":
            suggest(ask, lr=0.9)


def main():
    held, n_read = [], 0
    if MODE == "exits":
        sys.exit(3)
    for line in lines():
        if line is None:
            while held:
                suggest(held.pop())
            continue
        with open("heard", "a", encoding="utf-8") as heard:
            heard.write(line.decode() + "\n")
        n_read += 1
        if MODE == "crash" and n_read > N:
            os._exit(9)
        if MODE == "crash_once" and n_read > N and not os.path.exists("lied"):
            open("lied", "w", encoding="utf-8").close()
            os._exit(9)
        message = json.loads(line)
        if message["type"] == "hello":
            say({"type": "hint", "of": "a type that is not known"})
            say({"type": "ready", "name": MODE})
        elif message["type"] == "ask":
            on_ask(message, held)


main()
