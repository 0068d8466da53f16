#!/usr/bin/env python3
"""Man pages, section 1 from a program's own option tables and prose of man/, section 5 from docs/formats.

  man_page.py command CHANGELOG.md TREE.json PROSE.md COMMON.md OUTPUT    tree: tools/help_tree.py
  man_page.py format CHANGELOG.md PAGE.md OUTPUT
  man_page.py library CHANGELOG.md rubberband.h OUTPUT

The changelog says which release this is, and of which day."""
import json
import os
import re
import sys

import roff


def sections(markdown):
    """`# TITLE` -> its text, in order."""
    parts = re.split(r"^# +(.*)$", markdown, flags=re.M)
    return {t.strip(): b.strip("\n") for t, b in zip(parts[1::2], parts[2::2])}


def option_lines(options, is_program):
    out = []
    rows = [(o["letter"], o["name"], o["metavar"], o["help"] + (" (may be repeated)" if o["repeatable"] else ""))
            for o in options]
    rows.append(("h", "help", None, "print a summary and exit"))
    if is_program:
        rows.append((None, "version", None, "print version, build and the versions of all formats, and exit; with "
                     "--json as one document"))
    for letter, name, metavar, text in rows:
        term = ("\\fB\\-%s\\fR, " % letter if letter else "") + "\\fB\\-\\-%s\\fR" % roff.escape(name)
        if metavar:
            term += " \\fI%s\\fR" % roff.escape(metavar)
        out += [".TP", term, *roff.text_lines(text)]
    return out


def example_lines(text):
    return roff.code(["    " + line.strip() if not line.startswith("    ") else line for line in text.splitlines()])


def subcommand_lines(tree):
    out = []
    for sub in tree["subcommands"]:
        c = sub["command"]
        out += ['.SS "%s"' % roff.escape(c["name"]), "\\fB%s\\fR %s" % (roff.escape(c["name"]), roff.escape(c["usage"]))]
        out += [".PP", *roff.text_lines(c["summary"])]
        out += option_lines(c["options"], False)
        if c["examples"]:
            out += [".PP", "For example:", *example_lines(c["examples"])]
        out += subcommand_lines(c)
    return out


def synopsis(tree):
    out = ["\\fB%s\\fR [\\fIoptions\\fR] %s" % (tree["name"], roff.escape(tree["usage"].split(" | ")[0].replace(
        "[options]", "").strip()))]
    for sub in tree["subcommands"]:
        c = sub["command"]
        out += [".br", "\\fB%s\\fR %s" % (roff.escape(c["name"]), roff.escape(c["usage"]))]
    return out


def exit_codes(tree):
    rows = ["| `%d` | %s |" % (row["code"], row["meaning"]) for row in tree["exit_codes"]]
    return "\n".join(["| status | meaning |", "|---|---|", *rows])


def command(version, tree_file, prose_file, common_file):
    tree = json.load(open(tree_file, encoding="utf-8"))
    own = sections(open(prose_file, encoding="utf-8").read())
    common = sections(open(common_file, encoding="utf-8").read())
    name, out = tree["name"], []
    brief = own.pop("NAME").strip()
    out += roff.title(name, 1, version)
    out += [".SH NAME", "%s \\- %s" % (name, roff.inline(brief)), ".SH SYNOPSIS", *synopsis(tree)]
    out += [".SH DESCRIPTION", *roff.text_lines(tree["summary"]), ".PP", *roff.body(own.pop("DESCRIPTION"), 1)]
    out += [".SH OPTIONS", *option_lines(tree["options"], True)]
    if tree["subcommands"]:
        out += [".SH SUBCOMMANDS", *subcommand_lines(tree)]
    for title in ("FILES", "ENVIRONMENT", "EXIT STATUS"):
        codes = exit_codes(tree) if title == "EXIT STATUS" else ""
        text = "\n\n".join(t for t in (own.pop(title, ""), codes, common.get(title, "")) if t)
        out += [".SH " + title, *roff.body(text, 1)]
    more = own.pop("EXAMPLES", "")
    out += [".SH EXAMPLES", *example_lines(tree["examples"])[1:], *([".PP", *roff.body(more, 1)] if more else [])]
    see = own.pop("SEE ALSO")
    for title, text in own.items():
        out += [".SH " + title, *roff.body(text, 1)]
    return out + [".SH SEE ALSO", *roff.text_lines(see)]


def format_page(version, page):
    markdown = open(page, encoding="utf-8").read()
    name = "rb-" + os.path.splitext(os.path.basename(page))[0]
    head, text = re.match(r"# +([^\n]*)\n+(.*)", markdown, re.S).groups()
    first = " ".join(text.split("\n\n")[0].split())
    brief = re.split(r"(?<=[\w`)])[.;:] ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first))[0].rstrip(".")
    head = re.sub(r"[`*]", "", head)
    out = roff.title(name, 5, version)
    says = head if " " in head else "%s: %s" % (head, re.sub(r"[`*]", "", brief[:1].lower() + brief[1:]))
    out += [".SH NAME", "%s \\- %s" % (roff.escape(name), roff.escape(says))]
    out += [".SH DESCRIPTION", *roff.body(text, -1)]
    return out + [".SH SEE ALSO", "\\fBrbplan\\fR(1), \\fBrbprofile\\fR(1), \\fBrbrun\\fR(1), \\fBrbsim\\fR(1), "
                  "\\fBrbsearch\\fR(1), \\fBrbmock\\fR(1), \\fBrbmcp\\fR(1)"]


def library(version, header):
    """The header is the reference: its comments as they are."""
    text = open(header, encoding="utf-8").read()
    out = roff.title("librubberband", 3, version)
    out += [".SH NAME", "librubberband \\- predict time and cost of a tuning job and find its cheapest plan, from C",
            ".SH SYNOPSIS", "\\fB#include <rubberband.h>\\fR", ".PP", "cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs "
            "rubberband)", ".SH DESCRIPTION", "The header, rubberband.h, is the reference; this is what it says.", ".PP",
            ".nf"]
    for line in text[:text.index("#ifndef RUBBERBAND_H")].splitlines() + text[text.index("/* The version of the library"):text.index(
            "#ifdef __cplusplus", text.index("/* The version of the library"))].splitlines():
        line = roff.escape(line)
        out.append("\\&" + line if line[:1] in (".", "'") or not line else line)
    out += [".fi", ".SH EXAMPLES", "examples/library/estimate.c, with its Makefile.", ".SH SEE ALSO",
            "\\fBrbplan\\fR(1), \\fBrb\\-job\\fR(5), \\fBrb\\-profile\\fR(5), \\fBrb\\-prices\\fR(5), \\fBrb\\-plan\\fR(5)"]
    return out


kind, changelog, *rest = sys.argv[1:]
version = re.search(r"^## \[(\d[^\]]*)\] - ([0-9-]{10})$", open(changelog, encoding="utf-8").read(), re.M).groups()
lines = {"command": command, "format": format_page, "library": library}[kind](version, *rest[:-1])
with open(rest[-1], "w", encoding="utf-8") as f:
    f.write("\n".join(roff.tidy(lines)) + "\n")
