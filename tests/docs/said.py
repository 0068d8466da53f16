"""Is this what the page says the command prints? Byte by byte, but for three things:

    ...        alone on a line: any number of lines; inside a line: any text of that line
    always     ids of runs and of instances, instants and temporary folders differ each time: any such is as good as another
    measured   in such a block numbers with a unit do, too: times, money, percentages, rates, decimals; and the blanks that align them.
               Whole numbers without a unit (counts, trials, GPUs, exit codes) still have to be the same."""
import difflib
import re

ALWAYS = [
    (re.compile(r"\b([a-z0-9][a-z0-9-]*)-\d{8}-\d{6}-[a-z0-9]{6}\b"), r"\1-RUN"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "INSTANT"),
    (re.compile(r"\bi-[0-9a-f]{17}\b"), "INSTANCE"),
    (re.compile(r"\b(?:local|rb)-[0-9a-f]{16,32}\b"), "INSTANCE"),
]
NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
MEASURED = [
    (re.compile(r"(?:\b%s (?:d|h|m|s|ms|us) ?)+(?![\w])" % NUMBER), "TIME "),
    (re.compile(r"\$%s" % NUMBER), "MONEY"),
    (re.compile(r"-?\b%s ?%%" % NUMBER), "SHARE"),
    (re.compile(r"\b%s MB/s" % NUMBER), "RATE"),
    (re.compile(r"-?\b\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)\b"), "NUMBER"),
]
BLANKS = re.compile(r"[ \t]+")


def normalised(line, measured):
    for pattern, kind in ALWAYS + (MEASURED if measured else []):
        line = pattern.sub(kind, line)
    return BLANKS.sub(" ", line).strip() if measured else line.rstrip()


def pattern(lines):
    """A regular expression of expected lines."""
    text = ""
    for line in lines:
        if line.strip() == "...":
            text += r"(?:[^\n]*\n)*"
        else:
            text += r"[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.compile(text)


def trimmed(lines):
    """Without empty lines at both ends: they are the page's looks."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return lines[first:last]


def agrees(expected, said, measured):
    want = [normalised(line, measured) for line in trimmed(expected)]
    got = [normalised(line, measured) for line in trimmed(said)]
    return pattern(want).fullmatch("".join(line + "\n" for line in got)) is not None


def difference(expected, said, measured):
    want = [normalised(line, measured) for line in trimmed(expected)]
    got = [normalised(line, measured) for line in trimmed(said)]
    return list(difflib.unified_diff(want, got, "the page", "the program", lineterm=""))
