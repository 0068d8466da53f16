#!/usr/bin/env python3
"""Every command line of a program of ours that a document shows, in a block or in a sentence, is one that the program knows: its
subcommand and its options. This includes pages whose commands are run. Usage: check_commands.py SOURCE_ROOT BUILD"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

PROGRAMS = ("rbmcp", "rbmock", "rbplan", "rbprofile", "rbrun", "rbsearch", "rbsim")
WHERE = ("*.md", "docs/**/*.md", "examples/**/*.md", "man/*.md")
SHOWN = re.compile(r"`((?:build/)?rb[a-z]+(?: [^`]*)?)`|^(?:    |\$ )((?:build/)?rb[a-z]+ .*)$", re.MULTILINE)
ENDS = re.compile(r"\s(?:\||\|\||&&|&|;|#|>|<|2>)(?:\s|$)|\s2>&1")


def ask(build, words):
    """What --help=json says: options by name, subcommands by name."""
    done = subprocess.run([build / words[0], *words[1:], "--help=json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class Known:
    def __init__(self, build):
        self.build = build
        self.asked = {}

    def help(self, *words):
        if words not in self.asked:
            self.asked[words] = ask(self.build, words)
        return self.asked[words]

    def command(self, words):
        """The longest beginning of the words that is a command."""
        found = (words[0],)
        for word in words[1:]:
            if word not in [sub["name"] for sub in self.help(*found)["subcommands"]] or word.startswith("-"):
                break
            found += (word,)
        return found

    def wrong(self, words):
        command = self.command(words)
        options = [o for at in {command, command[:1]} for o in self.help(*at)["options"]]
        names = {"--" + o["name"] for o in options} | {"-" + o["letter"] for o in options if o["letter"]}
        names |= {"--help", "-h", "--version", "--help=json", "--"}
        names |= {sub["name"] for sub in self.help(*command[:1])["subcommands"] if sub["name"].startswith("--")}
        given = [w.split("=")[0] for w in words[len(command):] if re.match(r"--?[a-z]", w)]
        return [name for name in given if name not in names]


def lines(text):
    for match in SHOWN.finditer(text.replace("\\\n", " ")):
        yield match.start(), ENDS.split(match.group(1) or match.group(2), 1)[0]


def main():
    root, build = map(pathlib.Path, sys.argv[1:3])
    known, problems, n = Known(build), [], 0
    for path in sorted({p for pattern in WHERE for p in root.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        for at, line in lines(text):
            try:
                words = shlex.split(line)
            except ValueError:
                words = line.split()  # a form with an odd quote
            words[0] = words[0].split("/")[-1]
            if words[0] not in PROGRAMS:
                continue
            n += 1
            for name in known.wrong(words):
                problems.append("%s:%d: %s: no option %s" % (path.relative_to(root), text.count("\n", 0, at) + 1, line, name))
    print("\n".join(problems + ["%d command lines shown, %d with an option that there is not" % (n, len(problems))]))
    sys.exit(1 if problems or n < 100 else 0)


if __name__ == "__main__":
    main()
