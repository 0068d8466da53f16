#!/usr/bin/env python3
"""Words that this project does not use, in sources, tests and documents, also as parts of names: translated ones, and those for which
a plainer word says more. Usage: check_words.py SOURCE_ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
FOLDERS = ("base", "bench", "commands", "docs", "engine", "examples", "executor", "include", "library", "man", "packaging", "planner",
           "profiles", "providers", "python", "samplers", "simulator", "skills", "tests", "tools", "views")
# Each with what to write instead.
INSTEAD = {
    "an" "ew": "again",
    "de" "ar": "costly",
    "de" "arer": "costlier, more expensive",
    "de" "arest": "costliest",
    "in va" "in": "without effect",
    "no" "body": "no one, or who it is that does not",
    "so ma" "ny": "this many, or the number",
    "te" "lls": "says, shows, distinguishes, reports",
    "to" "ld": "said, shown, given, reported",
    "who" "ever": "who it is",
}
# Names that are not ours.
THEIRS = {"providers/wire/http.c": "CURLOPT_NO" "BODY", "tests/slurm/cluster.py": 'GUEST = "no' 'body"'}
WORD = re.compile(r"(?:(?<![a-z])|(?<=\\[nt]))(%s)(?![a-z])" % "|".join(word.replace(" ", "[ _]") for word in INSTEAD), re.IGNORECASE)

found, n = [], 0
for path in sorted(p for folder in FOLDERS for p in (root / folder).rglob("*")) + sorted(root.glob("*.md")):
    if not path.is_file() or path.is_symlink() or "__pycache__" in path.parts:
        continue
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        continue
    n += 1
    name = str(path.relative_to(root))
    for number, line in enumerate(text.split("\n"), 1):
        for m in WORD.finditer(line):
            if name not in THEIRS or THEIRS[name] not in line:
                word = m.group(1).lower().replace("_", " ")
                found.append("%s:%d: '%s'; write: %s" % (name, number, m.group(1), INSTEAD[word]))
print("\n".join(found + ["%d files have none of %d words" % (n - len({f.split(":")[0] for f in found}), len(INSTEAD))]))
sys.exit(1 if found or not n else 0)
