#!/usr/bin/env python3
"""AGENTS.md, llms.txt and skills/*/SKILL.md are short and true: their form is the published one, links lead to files, and every
command line has a subcommand and options that exist. Usage: agent_pages.py SOURCE_ROOT BUILD"""
import pathlib
import re
import sys

root, build = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(root / "tests" / "docs"))
import check_commands  # noqa: E402

problems = []


def demand(holds, what):
    if not holds:
        problems.append(what)


def check_links(path, text):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        demand("://" in target or (path.parent / target).exists(), "%s: no file %s" % (path.name, target))


def check_commands_of(path, text, known):
    n = 0
    for words in re.findall(r"`((?:build/)?rb[a-z]+(?: [^`]*)?)`", text):
        words = words.split()
        demand(words[0] in (*check_commands.PROGRAMS, "rbmcp"), "%s: no program %s" % (path.name, words[0]))
        if words[0] in check_commands.PROGRAMS:
            demand(not known.wrong(words), "%s: %s: unknown %s" % (path.name, " ".join(words), known.wrong(words)))
            n += 1
    for command in re.findall(r"^(?:meson|ninja|\./)\S*.*$", text, re.MULTILINE):
        if command.startswith("./"):
            demand((root / command.split()[0]).exists(), "%s: no %s" % (path.name, command))
        suite = re.search(r"--suite (\w+)", command)
        demand(not suite or (root / "tests" / suite.group(1)).is_dir(), "%s: no suite in: %s" % (path.name, command))
    return n


def check_skill(path, text):
    head = re.match(r"---\nname: (.+)\ndescription: (.+)\n---\n", text)
    demand(head, "%s: no front matter with name and description" % path)
    if head:
        name, description = head.groups()
        demand(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and len(name) <= 64, "%s: the name %s" % (path, name))
        demand(name == path.parent.name, "%s: its folder is not %s" % (path, name))
        demand(len(description) <= 1024, "%s: a description of %d characters" % (path, len(description)))


def check_llms(path, text):
    lines = [line for line in text.splitlines() if line.strip()]
    demand(lines[0].startswith("# "), "%s: expected a title" % path.name)
    demand(lines[1].startswith("> "), "%s: expected a quotation under the title" % path.name)
    rest = [line for line in lines[1:] if not line.startswith("> ")]
    for line in rest:
        demand(re.match(r"## |- \[[^\]]+\]\([^)]+\)(: .+)?$", line), "%s: neither heading nor link: %s" % (path.name, line))
    demand("## Optional" in lines, "%s: no ## Optional" % path.name)


known, n_commands = check_commands.Known(build), 0
skills = sorted(root.glob("skills/*/SKILL.md"))
demand(skills, "no skill")
for page in [root / "AGENTS.md", root / "llms.txt", *skills]:
    words = page.read_text(encoding="utf-8")
    demand(len(words.splitlines()) <= 60, "%s: longer than 60 lines" % page.name)
    check_links(page, words)
    n_commands += check_commands_of(page, words, known)
    if page.name == "SKILL.md":
        check_skill(page, words)
    elif page.name == "llms.txt":
        check_llms(page, words)
demand(n_commands >= 8, "only %d commands were found" % n_commands)
tools = set(re.findall(r'^    \{"(\w+)",', (root / "commands" / "rbmcp" / "tools.c").read_text(encoding="utf-8"), re.MULTILINE))
skill = skills[0].read_text(encoding="utf-8")
for tool in tools:
    demand(re.search(r"\b%s\b" % tool, skill), "SKILL.md: no word of the tool %s" % tool)
print("\n".join(problems) or "%d commands, %d tools" % (n_commands, len(tools)))
sys.exit(1 if problems else 0)
