"""A terminal for programs under test: a real pty, and enough of an emulator to know what stands on its screen."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

CSI = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """What a terminal shows after some output. Unknown sequences are errors: nothing else may be used."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.normal = [""] * rows
        self.lines, self.row, self.column = self.normal, 0, 0
        self.alternate, self.cursor, self.wrapped = False, True, 0
        self.kept = (0, 0)
        self.scrolled = []

    def feed(self, text):
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = CSI.match(text, at)
                if not found:
                    return text[at:]  # the rest is on its way
                self.control(*found.groups())
                at = found.end()
                continue
            self.put(text[at])
            at += 1
        return ""

    def put(self, c):
        if c == "\r":
            self.column = 0
        elif c == "\n":
            self.feed_line()
        else:
            assert c >= " ", "control character %r" % c
            if self.column == self.columns:
                self.wrapped += 1
                self.column = 0
                self.feed_line()
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + c + line[self.column + 1:]
            self.column += 1

    def feed_line(self):
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            if not self.alternate:
                self.scrolled.append(self.lines[0])
            self.lines[:] = self.lines[1:] + [""]

    def control(self, private, numbers, letter):
        if private:
            self.mode(numbers, letter == "h")
        elif letter == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif letter == "H" and not numbers:
            self.row = self.column = 0
        elif letter == "J":
            if numbers == "2":
                self.lines[:] = [""] * self.rows
            else:
                self.lines[self.row] = self.lines[self.row][:self.column]
                self.lines[self.row + 1:] = [""] * (self.rows - self.row - 1)
        else:
            assert letter == "m", "sequence CSI %s%s" % (numbers, letter)

    def mode(self, number, on):
        if number == "25":
            self.cursor = on
            return
        assert number == "1049", "mode %s" % number
        if on and not self.alternate:
            self.kept, self.normal, self.lines = (self.row, self.column), self.lines, [""] * self.rows
        elif not on and self.alternate:
            self.lines, (self.row, self.column) = self.normal, self.kept
        self.alternate = on

    def text(self):
        return "\n".join(line.rstrip() for line in self.scrolled + self.lines).rstrip()


class Program:
    """A program with a terminal of its own as stdin, stdout and stderr."""

    def __init__(self, command, rows=24, columns=80, env=None, cwd=None):
        self.screen = Screen(rows, columns)
        self.raw, self.frames, self.rest, self.code = "", [], "", None
        self.decode = codecs.getincrementaldecoder("utf-8")().decode
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                if cwd:
                    os.chdir(cwd)
                os.execvpe(command[0], command, dict(os.environ if env is None else env))
            finally:
                os._exit(127)

    def resize(self, rows, columns):
        self.screen.rows, self.screen.columns = rows, columns
        self.screen.lines[:] = (self.screen.lines + [""] * rows)[:rows]
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def kill(self, number=signal.SIGTERM):
        os.kill(self.pid, number)

    def is_stopped(self):
        """By a signal: one that continues it would be lost before."""
        with open("/proc/%d/stat" % self.pid) as stat:
            return stat.read().rsplit(") ", 1)[1].startswith("T")

    def read(self, seconds):
        """One piece of output; False: there will be no more."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: the other side is closed
            return False
        if not data:
            return False
        text = self.decode(data)
        self.raw += text
        self.rest = self.screen.feed(self.rest + text)
        self.frames.append(list(self.screen.lines))
        return True

    def wait_for(self, what, seconds=20):
        """Until what(screen) holds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if what(self.screen):
                return
            if not self.read(0.2):
                break
        assert what(self.screen), "not seen; the screen:\n%s" % self.screen.text()

    def finish(self, seconds=60):
        """Its exit code, or minus the signal that ended it."""
        until = time.monotonic() + seconds
        while self.read(0.2):
            if time.monotonic() > until:
                self.kill(signal.SIGKILL)
        os.close(self.fd)
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code
