#!/usr/bin/env python3
"""librubberband's interface: what the header declares, what the shared library exports and what stood in interface.txt when
the soname was given are the same. Usage: interface.py HEADER LIBRARY INTERFACE.txt [--write]

Where something was added, run it with --write. Where something was changed or taken away, programs that were built against
the library break: raise soversion in library/meson.build and the node in library/rubberband.map first."""
import re
import subprocess
import sys

header, library, recorded = sys.argv[1:4]


def declared(text):
    """Every declaration as one line, without comments and parameter alignment."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    text = re.sub(r'extern "C" \{', "", text)
    lines = []
    for part in re.split(r";", text):
        line = re.sub(r"\s+", " ", part).strip(" }")
        if line:
            lines.append(line)
    return lines


lines = declared(open(header, encoding="utf-8").read())
if "--write" in sys.argv:
    open(recorded, "w", encoding="utf-8").write("\n".join(lines) + "\n")
functions = {m.group(1) for line in lines for m in [re.search(r"(rubberband_\w+)\(", line)] if m}
table = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = {line.split()[2].split("@")[0] for line in table.splitlines() if line.split()[1] in "TDBRVWi"}
problems = []
if len(functions) < 50:
    problems.append("only %d functions were found in %s" % (len(functions), header))
problems += ["%s is declared and not exported" % f for f in sorted(functions - exported)]
problems += ["%s is exported and not declared" % f for f in sorted(exported - functions)]
before = open(recorded, encoding="utf-8").read().splitlines()
problems += ["gone or changed (see the top of interface.py): %s" % line for line in before if line not in lines]
problems += ["new, and not recorded yet (--write): %s" % line for line in lines if line not in before]
for p in problems:
    print(p)
print("%d declarations, %d functions exported, %d problems" % (len(lines), len(exported), len(problems)))
sys.exit(1 if problems else 0)
