#!/usr/bin/env python3
"""Every relative link of every Markdown file leads somewhere: to a file that is there, and where it names an anchor, to a heading
of that name. Headings become anchors as on GitHub. Links to other machines are not asked for. Every function that docs/MODEL.md names
is in the sources. Every file that a page names by its path from the root, such as base/loop.h, is in the tree, unless the page itself
has its reader save it; CHANGELOG names files as they were.

Usage: check_links.py SOURCE_ROOT"""
import os
import pathlib
import re
import sys

from page import blocks

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$")
EXPLICIT = re.compile(r'<a (?:id|name)="([^"]+)">')
MODEL = "docs/MODEL.md"
SOURCES = ("base", "profiles", "engine", "simulator", "planner", "samplers", "providers", "executor", "views", "commands", "bench")
HISTORY = "CHANGELOG.md"
LEFT_OUT = ("build", ".git", "node_modules", ".quickstart")


def prose(path):
    """Its lines outside fenced blocks, with their numbers."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(path):
    found, seen = set(), {}
    for _, line in prose(path):
        found.update(EXPLICIT.findall(line))
        match = HEADING.match(line)
        if not match:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).replace("`", "").replace("*", "")
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        n = seen.get(name, 0)
        seen[name] = n + 1
        found.add(name if n == 0 else "%s-%d" % (name, n))
    return found


def pages(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(LEFT_OUT) and f != "corpus")
        for name in sorted(names):
            if name.endswith(".md"):
                yield pathlib.Path(folder, name)


def problem(page, target):
    path, _, anchor = target.partition("#")
    goal = (page.parent / path) if path else page
    if not goal.exists():
        return "there is no %s" % path
    if anchor and goal.suffix == ".md" and anchor not in anchors(goal):
        return "%s has no heading #%s" % (path or "this page", anchor)
    return None


def gone(root):
    """Functions named in MODEL that no source has."""
    sources = "".join(p.read_text(encoding="utf-8") for folder in SOURCES for p in sorted((root / folder).rglob("*.[ch]")))
    words = set(re.findall(r"\w+", sources))
    for number, line in prose(root / MODEL):
        for name in re.findall(r"`(rb_\w+)`", line):
            if name not in words:
                yield "%s:%d: there is no %s" % (MODEL, number, name)


def files_gone(root, page):
    """Lines of a page that name a file which is not in the tree."""
    text = page.read_text(encoding="utf-8")
    folders = sorted(d.name for d in root.iterdir() if d.is_dir() and not d.name.startswith(LEFT_OUT))
    file = re.compile(r"(?<![\w/.$~{}<>*-])((?:%s)/[\w/.-]*[\w-]\.\w+)(?![\w/*<{])" % "|".join(map(re.escape, folders)))
    saved = {block.option("name") for block in blocks(text)}
    for number, line in enumerate(text.split("\n"), 1):
        for name in file.findall(line):
            if name not in saved and not (root / name).exists():
                yield "%s:%d: there is no %s in the tree" % (page.relative_to(root), number, name)


def main():
    root = pathlib.Path(sys.argv[1])
    n_pages = n_links = 0
    failed = list(gone(root))
    for page in pages(root):
        n_pages += 1
        if page.name != HISTORY:
            failed += files_gone(root, page)
        for number, line in prose(page):
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                n_links += 1
                why = problem(page, target)
                if why:
                    failed.append("%s:%d: %s: %s" % (page.relative_to(root), number, target, why))
    print("\n".join(failed + ["%d pages, %d relative links, %d problems" % (n_pages, n_links, len(failed))]))
    sys.exit(1 if failed or n_links == 0 else 0)


if __name__ == "__main__":
    main()
