"""A page of the documentation as a list of steps. The first line of a fenced block gives its meaning:

    ```console              lines `$ command` (a trailing backslash goes on), below each what it prints
    ```console measured     likewise, where times, money, percentages and ids are new every time (see said.py)
    ```yaml name=job.yaml   a file that the reader saves under that name; the text above the block must say the name, too
    ```c part=NAME          text that a test of its own takes from the page by that name
    ```text, ```mermaid     for the eye

`<!-- not run: REASON -->` on the line above a console block keeps it from being run; it is counted and listed. A block of
any other kind is a mistake: what can be run is run. Blocks without a language, and indented ones, are allowed only if no line of
theirs begins with the name of one of our programs."""
import re

PROGRAMS = ("rbplan", "rbrun", "rbprofile", "rbsim", "rbmock", "rbmcp", "rbsearch")
FOR_THE_EYE = ("text", "mermaid")
FENCE = re.compile(r"^( *)(```+)\s*(.*)$")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
MAX_DISTANCE_OF_A_NAME = 12  # lines above a block in which the file's name must appear


class Mistake(Exception):
    """Something in the page itself."""


class Command:
    def __init__(self, text, line, measured):
        self.text, self.line, self.measured = text, line, measured
        self.expected = []
        self.code_is_shown = False  # the next command prints it


class File:
    def __init__(self, name, text, line):
        self.name, self.text, self.line = name, text, line


class NotRun:
    def __init__(self, reason, line, commands):
        self.reason, self.line, self.commands = reason, line, commands


class Block:
    def __init__(self, info, line, before):
        words = info.split()
        self.language, self.words = (words[0] if words else ""), words[1:]
        self.line, self.before, self.lines = line, before, []

    def option(self, name):
        for word in self.words:
            if word.startswith(name + "="):
                return word[len(name) + 1:]
        return None


def blocks(text):
    """Every fenced block, in order."""
    found, current, fence, indent = [], None, "", 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if current is None and match:
            indent, fence = len(match.group(1)), match.group(2)
            current = Block(match.group(3), number, lines[max(0, number - 1 - MAX_DISTANCE_OF_A_NAME):number - 1])
        elif current is not None and match and match.group(2).startswith(fence) and not match.group(3):
            found.append(current)
            current = None
        elif current is not None:
            current.lines.append(line[indent:])
    if current is not None:
        raise Mistake("line %d: this block has no end" % current.line)
    return found


def commands(block):
    found = []
    measured = "measured" in block.words
    for offset, line in enumerate(block.lines, 1):
        if found and found[-1].text.endswith("\\"):
            found[-1].text += "\n" + line
        elif line.startswith("$ "):
            found.append(Command(line[2:], block.line + offset, measured))
        elif not found:
            raise Mistake("line %d: a console block begins with `$ command`" % (block.line + offset))
        else:
            found[-1].expected.append(line)
    if not found:
        raise Mistake("line %d: a console block without a command" % block.line)
    return found


def reason_not_to_run(block):
    for line in reversed(block.before):
        if line.strip():
            match = NOT_RUN.match(line.strip())
            return match.group(1) if match else None
    return None


def saved_file(block):
    name = block.option("name")
    if not any("`%s`" % name in line for line in block.before):
        raise Mistake("line %d: the text does not say to save this as `%s`" % (block.line, name))
    return File(name, "\n".join(block.lines) + "\n", block.line)


def check_indented(text):
    """Lines that Markdown shows as a block because of their blanks."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside and line.startswith("    ") and line.strip().startswith(PROGRAMS + ("$ ",)):
            raise Mistake("line %d: commands belong into a ```console block, where they are run" % number)


def steps(text):
    """The steps of the page, in order."""
    check_indented(text)
    found = []
    for block in blocks(text):
        if block.language == "console":
            reason = reason_not_to_run(block)
            found += [NotRun(reason, block.line, len(commands(block)))] if reason else commands(block)
        elif block.option("name"):
            found.append(saved_file(block))
        elif not block.option("part") and block.language not in FOR_THE_EYE:
            check_that_nothing_can_be_run(block)
    mark_codes(found)
    return found


def check_that_nothing_can_be_run(block):
    if block.language in ("sh", "bash", "shell") or any(l.strip().startswith(PROGRAMS) for l in block.lines):
        raise Mistake("line %d: commands belong into a ```console block, where they are run" % block.line)


def mark_codes(found):
    for step, following in zip(found, found[1:]):
        if isinstance(step, Command) and isinstance(following, Command):
            step.code_is_shown = following.text.startswith("echo $?")
