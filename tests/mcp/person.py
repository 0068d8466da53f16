"""A person at a terminal: a real pty on which `rbplan approve` asks, and what they type."""
import os
import pty
import select
import subprocess
import time


def type_at(argv, typed, env, folder, timeout=30):
    """Runs a program on a terminal of its own, types a line once it asks, and returns its exit code and what it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=folder, start_new_session=True)
    os.close(theirs)
    shown, until = b"", time.monotonic() + timeout
    while time.monotonic() < until:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end was closed
                break
            if not chunk:
                break
            shown += chunk
            if typed is not None and b"Type the amount" in shown and shown.rstrip().endswith(b":"):
                os.write(ours, typed.encode() + b"\n")
                typed = None
        elif process.poll() is not None:
            break
    os.close(ours)
    return process.wait(timeout), shown.decode("utf-8", "replace").replace("\r\n", "\n")
