#!/usr/bin/env python3
"""Stands for `ninja -C build PROGRAM...` where a page has changed a few files of a copied tree: building all of it again would
take minutes. What differs from the built tree, and what includes a header that differs, is compiled with the flags that the
build uses; the programs are linked as the build links them, from copies of its libraries with these objects in the place of the
members of the same names.

Environment: RB_DOCS_BUILD (the finished build), RB_DOCS_ROOT (its source tree). Run in the copied tree."""
import filecmp
import json
import os
import pathlib
import shlex
import subprocess
import sys

BUILD, ROOT = os.environ["RB_DOCS_BUILD"], os.environ["RB_DOCS_ROOT"]
FOLDERS = ("base", "profiles", "engine", "samplers", "simulator", "planner", "providers", "executor", "views", "library", "commands")


def differing():
    """Paths of sources and headers that are not what was built."""
    found = []
    for folder in FOLDERS:
        for path in sorted(pathlib.Path(folder).rglob("*.[ch]")):
            original = os.path.join(ROOT, path)
            if not os.path.exists(original) or not filecmp.cmp(path, original, shallow=False):
                found.append(str(path))
    return found


def including(headers):
    """Sources that include one of the headers themselves."""
    wanted = ['#include "%s"' % h for h in headers]
    return [str(path) for folder in FOLDERS for path in sorted(pathlib.Path(folder).rglob("*.c"))
            if wanted and any(w in path.read_text(encoding="utf-8") for w in wanted)]


def check_listed(source):
    """A new file that no meson.build names would be in no program."""
    folder = pathlib.Path(source).parts[0]
    name = os.path.relpath(source, folder)
    listed = (pathlib.Path(folder) / "meson.build").read_text(encoding="utf-8")
    if "'%s'" % name not in listed:
        sys.exit("%s/meson.build does not list '%s'" % (folder, name))


def flags_of(source, commands):
    """Those of the file itself or, for a new one, of another in its folder or in one that contains it."""
    folders = [str(p) for p in pathlib.Path(source).parents]
    for command in commands:
        path = os.path.relpath(os.path.join(command["directory"], command["file"]), ROOT)
        library = ".a.p/" in command["command"] and "library/" not in command["command"]
        if path == source or (not os.path.exists(os.path.join(ROOT, source)) and os.path.dirname(path) in folders and library):
            words = shlex.split(command["command"])
            compiler = next(i for i, w in enumerate(words) if w.startswith("-"))  # ccache may stand before it
            return words[:compiler] + [w for w in words[compiler:] if w.startswith(("-O", "-g", "-f", "-std", "-W", "-D", "-pthread"))
                                and not w.startswith("-W,")]
    sys.exit("no compile command is known for %s or a neighbour" % source)


def compile_one(source, commands):
    """The object, named as the build names it in the library of its folder."""
    check_listed(source)
    folder = pathlib.Path(source).parts[0]
    out = os.path.join("build", folder, os.path.relpath(source, folder).replace("/", "_") + ".o")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    if subprocess.run(flags_of(source, commands) + ["-Werror", "-I.", "-I" + BUILD, "-c", source, "-o", out], check=False).returncode:
        sys.exit("%s does not compile" % source)
    return os.path.abspath(out)


def make_library(folder, objects):
    """A copy of the folder's library with these objects in it."""
    own = os.path.abspath("build/%s/librb_%s.a" % (folder, folder))
    old = subprocess.run(["ar", "t", "%s/librb_%s.a" % (folder, folder)], check=True, cwd=BUILD, stdout=subprocess.PIPE, text=True)
    names = {os.path.basename(o) for o in objects}
    members = [m for m in old.stdout.split() if os.path.basename(m) not in names]
    subprocess.run(["ar", "csrD", own] + members + objects, check=True, cwd=BUILD)
    return own


def link(program, libraries):
    lines = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", program], check=True, stdout=subprocess.PIPE,
                           text=True, env=dict(os.environ, PATH=os.environ["RB_DOCS_PATH"])).stdout.splitlines()
    words = shlex.split(next(l for l in reversed(lines) if "-o %s " % program in l))
    own = os.path.abspath("build/" + program)
    if os.path.lexists(own):
        os.remove(own)
    words[words.index("-o") + 1] = own
    if subprocess.run([libraries.get(w, w) for w in words], check=False, cwd=BUILD).returncode:
        sys.exit("%s cannot be linked" % program)


def main():
    programs = [w for w in sys.argv[1:] if not w.startswith("-") and w != "build"]
    changed = differing()
    headers = [p for p in changed if p.endswith(".h")]
    sources = sorted({p for p in changed if p.endswith(".c")} | set(including(headers)))
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    objects = [compile_one(source, commands) for source in sources]
    libraries = {}
    for folder in {os.path.basename(os.path.dirname(o)) for o in objects}:
        mine = [o for o in objects if os.path.basename(os.path.dirname(o)) == folder]
        libraries["%s/librb_%s.a" % (folder, folder)] = make_library(folder, mine)
    for program in programs:
        link(program, libraries)
    print("%d files compiled, %d programs linked" % (len(objects), len(programs)))


if __name__ == "__main__":
    main()
