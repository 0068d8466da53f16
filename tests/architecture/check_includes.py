#!/usr/bin/env python3
"""Reads every #include and fails on an arrow that docs/pictures/architecture.txt does not have (the picture of docs/ARCHITECTURE.md
is drawn from it), on an arrow there that no #include needs, and on a third-party library outside its fence.
Usage: check_includes.py SOURCE_ROOT"""
import os
import re
import sys

root = sys.argv[1]
sys.path.insert(0, os.path.join(root, "tools"))
sys.dont_write_bytecode = True
from draw_layers import read_layers  # noqa: E402: its folder is known only here

LAYERS = read_layers(os.path.join(root, "docs/pictures/architecture.txt"))
# Direct arrows; "may include" is their transitive closure.
ARROWS = {name: layer.arrows for name, layer in LAYERS.items() if not layer.includes_all}
MAY_INCLUDE_ANYTHING = {name for name, layer in LAYERS.items() if layer.includes_all} | {"tests"}

# header prefix -> folders (or files) it may stand in
FENCES = {
    "curl/": ["providers"],
    "openssl/": ["providers"],
    "expat": ["providers"],
    "sqlite3": ["profiles/store", "executor/journal", "executor/sinks/sink_optuna"],
    "yaml": ["base/document"],
    "cjson/": ["base/document"],
    "zlib": ["base/document/csv", "base/file"],
    "libqhull_r/": ["simulator/cluster/apps_between"],
    "uv.h": ["executor"],
    "microhttpd": ["providers/mock", "views/live/live_server"],
    "gsl/": ["profiles/fit", "profiles/space/space", "samplers/model/normal", "samplers/model/quasi", "simulator/stage/compare"],
    "duktape": ["views/pages/picture"],
    "cmocka": ["tests"],
}


def closure(layer):
    seen, todo = set(), [layer]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += ARROWS[at]
    return seen


def layer_of(path):
    known = [l for l in list(ARROWS) + list(MAY_INCLUDE_ANYTHING) if path == l or path.startswith(l + "/")]
    return max(known, key=len) if known else None


problems, n_files, n_arrows = [], 0, 0
used = set()  # (layer, layer) of every #include between two layers
for folder, _, names in os.walk(root):
    relative = os.path.relpath(folder, root)
    if relative.split(os.sep)[0].startswith((".", "build")):
        continue
    for name in names:
        if not name.endswith((".c", ".h")):
            continue
        path = os.path.normpath(os.path.join(relative, name))
        layer = layer_of(os.path.dirname(path))
        if layer is None:
            if not path.startswith(("bench/", "examples/")):
                problems.append("%s: in no layer; where does it belong?" % path)
            continue
        n_files += 1
        for number, line in enumerate(open(os.path.join(root, path), encoding="utf-8"), 1):
            m = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not m:
                continue
            kind, target = m.groups()
            where = "%s:%d" % (path, number)
            for prefix, allowed in FENCES.items():
                if target.startswith(prefix) and kind == "<" and layer != "tests" and not path.startswith(tuple(allowed)):
                    problems.append("%s: <%s> is fenced to %s" % (where, target, ", ".join(allowed)))
            if kind == "<" or layer in MAY_INCLUDE_ANYTHING:
                continue
            n_arrows += 1
            to = layer_of(os.path.dirname(target))
            if to is None:
                problems.append('%s: include "%s" from the root of the tree' % (where, target))
            elif to == layer:
                pass
            elif to in closure(layer):
                used.add((layer, to))
            else:
                problems.append('%s: %s may not include %s ("%s")' % (where, layer, to, target))

for name, arrows in ARROWS.items():
    for to in arrows:  # a direct arrow is drawn only if nothing longer leads there, and something goes that way
        if (name, to) not in used:
            problems.append("docs/pictures/architecture.txt: %s -> %s: no #include goes that way" % (name, to))
        if any(to in closure(other) for other in arrows if other != to):
            problems.append("docs/pictures/architecture.txt: %s -> %s: other arrows lead there already" % (name, to))
for p in problems:
    print(p)
print("%d files, %d includes between layers, %d problems" % (n_files, n_arrows, len(problems)))
if n_files < 50:
    sys.exit("too few files were read: is %s the source tree?" % root)
sys.exit(1 if problems else 0)
