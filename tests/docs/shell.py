"""One shell for a whole page, as its reader has one: folders, variables and programs in the background last from command to
command. What a command prints, and on which of the two streams it talks, is seen together as on a terminal. What the shell
itself says about a program that it started in the background and that was killed comes at its own time, and is left out."""
import os
import queue
import re
import signal
import subprocess
import threading
import time

END = "\x01end-of-command"
OBITUARY = re.compile(r"^bash: line \d+: +\d+ (?:Killed|Terminated) ")


class TooLong(Exception):
    """A command did not end in its time."""


class Shell:
    def __init__(self, folder, env):
        self.process = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=folder, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.lines = queue.Queue()
        self.code = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            text = line.decode("utf-8", "replace").rstrip("\n")
            if not OBITUARY.match(text):
                self.lines.put(text)
        self.lines.put(None)

    def _line(self, until):
        try:
            line = self.lines.get(timeout=max(0, until - time.monotonic()))
        except queue.Empty:
            raise TooLong from None
        if line is None:
            raise TooLong
        return line

    def run(self, command, seconds):
        """Lines printed until the shell is ready for the next command, and the exit code. Raises TooLong; the lines so far are
        then in .said."""
        # The last exit code is there for `echo $?`; braces keep all in this shell; there is no input.
        script = "(exit %d)\n{ %s\n} </dev/null\nprintf '\\n%s %%d\\n' $?\n" % (self.code, command, END)
        self.process.stdin.write(script.encode())
        self.process.stdin.flush()
        self.said, until = [], time.monotonic() + seconds
        while True:
            line = self._line(until)
            if line.startswith(END):
                self.code = int(line.split()[1])
                if self.said and self.said[-1] == "":
                    self.said.pop()  # the line break before the mark
                return self.said, self.code
            self.said.append(line)

    def wait_for(self, is_enough, seconds):
        """Goes on reading what a program in the background prints."""
        until = time.monotonic() + seconds
        while not is_enough(self.said):
            self.said.append(self._line(until))
        return self.said

    def close(self):
        """Ends the shell and all that it started: they share its session."""
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for pid in members(self.process.pid):
                try:
                    os.kill(pid, sent)
                except ProcessLookupError:
                    pass
            end = time.monotonic() + 10
            while members(self.process.pid) and time.monotonic() < end:
                self.process.poll()
                time.sleep(0.05)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


def members(session):
    """Processes of a session."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(name))
    return found
