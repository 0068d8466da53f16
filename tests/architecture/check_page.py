#!/usr/bin/env python3
"""docs/ARCHITECTURE.md says what is in the tree: its list of folders is complete, every function of its walks is defined in the file
beside it, and every file that it names exists. Usage: check_page.py SOURCE_ROOT [--write]

    --write  put the file where a function is now into the page, where exactly one file below it defines it"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
page = root / "docs/ARCHITECTURE.md"
text = page.read_text(encoding="utf-8")
sys.path.insert(0, str(root / "tools"))
sys.dont_write_bytecode = True
from draw_layers import read_layers  # noqa: E402: its folder is known only here

LAYERS = [name for name in read_layers(root / "docs/pictures/architecture.txt") if "/" not in name]
WALK = re.compile(r"`(\w+)\(\)` in `([\w/.-]+)`")
FILE = re.compile(r"`((?:%s|tests|tools|docs)/[\w/.-]+\.(?:c|h|sh|py|js|txt))`" % "|".join(LAYERS))
problems = []


def folders_listed():
    """Layer by layer, the folders that the page lists below it."""
    block = re.search(r"## Folders\n+```text\n(.*?)```", text, re.DOTALL)
    listed, layer = {}, None
    for line in block.group(1).split("\n"):
        names = re.findall(r"^(\w+)/", line)
        if names:
            layer = names[0]
            listed[layer] = set()
        elif layer:
            listed[layer] |= set(re.findall(r"(?:^|  )(\w+)/(?=\s|$)", line))
    return listed


def folders_there(layer):
    return {d.name for d in (root / layer).iterdir() if d.is_dir() and not d.name.startswith((".", "__"))}


def defines(path, function):
    source = path.read_text(encoding="utf-8")
    return re.search(r"^[a-z][\w \t*]*[ *]%s\((?:[^;{]*)\)\n\{" % function, source, re.MULTILINE) is not None


def where_defined(function):
    return [path.relative_to(root).as_posix() for layer in LAYERS for path in sorted((root / layer).rglob("*.c")) if defines(path, function)]


listed = folders_listed()
for layer in LAYERS:
    if layer not in listed:
        problems.append("the layer %s/ is not listed" % layer)
        continue
    for name in sorted(folders_there(layer) - listed[layer]):
        problems.append("%s/%s/ is not listed" % (layer, name))
    for name in sorted(listed[layer] - folders_there(layer)):
        problems.append("%s/%s/ is listed, and there is none" % (layer, name))
walks = WALK.findall(text)
for function, path in walks:
    if (root / path).is_file() and defines(root / path, function):
        continue
    now = where_defined(function)
    if len(now) == 1 and "--write" in sys.argv:
        text = text.replace("`%s()` in `%s`" % (function, path), "`%s()` in `%s`" % (function, now[0]))
        continue
    problems.append("%s() is not defined in %s, but %s" % (function, path, "in " + ", ".join(now) if now else "nowhere"))
for path in sorted(set(FILE.findall(text))):
    if not (root / path).is_file():
        problems.append("there is no %s" % path)
if "--write" in sys.argv:
    page.write_text(text, encoding="utf-8")
for p in problems:
    print("docs/ARCHITECTURE.md: " + p)
print("%d folders, %d functions of walks, %d problems" % (sum(map(len, listed.values())), len(walks), len(problems)))
sys.exit(1 if problems or len(walks) < 30 else 0)
