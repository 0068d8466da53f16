#!/usr/bin/env python3
"""bundle_schemas.py OUTPUT.h FOLDER NAME...: each FOLDER/NAME.schema.json as one line of JSON that refers to no other file, as
a C string rb_schema_NAME. What it refers to becomes a member of its $defs; identifiers and the dialect are left out, so that a
client may compile several of them in one go."""
import json
import os
import sys


def load(folder, name):
    with open(os.path.join(folder, name + ".schema.json"), encoding="utf-8") as f:
        return json.load(f)


def moved(node, name, home, needed):
    """A copy whose references work from the root of the bundle. home: where this schema's own root is there, "" or "/$defs/x"."""
    if isinstance(node, list):
        return [moved(item, name, home, needed) for item in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if key in ("$id", "$schema") and isinstance(value, str):
            continue
        if key == "$ref" and isinstance(value, str):
            file, _, pointer = value.partition("#")
            if file:
                other = file[:-len(".schema.json")]
                needed.add(other)
                value = "#/$defs/" + other + pointer
            else:
                value = "#" + home + pointer
            out[key] = value
        else:
            out[key] = moved(value, name, home, needed)
    return out


def bundle(folder, name):
    needed, done = set(), {}
    root = moved(load(folder, name), name, "", needed)
    while needed - set(done):
        other = sorted(needed - set(done))[0]
        done[other] = moved(load(folder, other), other, "/$defs/" + other, needed)
    for other, schema in done.items():
        assert other not in root.get("$defs", {}), "%s has a definition of that name: %s" % (name, other)
        root.setdefault("$defs", {})[other] = schema
    return root


def c_string(text, width=24):
    """Its bytes one by one: C promises no string literal of more than 4095."""
    numbers = [str(byte) for byte in text.encode("ascii")] + ["0"]
    return "\n".join("    " + ", ".join(numbers[at:at + width]) + "," for at in range(0, len(numbers), width))


def main():
    output, folder, *names = sys.argv[1:]
    with open(output, "w", encoding="utf-8") as f:
        f.write("// Made by tools/bundle_schemas.py from docs/schemas.\n")
        for name in names:
            text = json.dumps(bundle(folder, name), separators=(",", ":"), ensure_ascii=True)
            f.write("static const char rb_schema_%s[] = {\n%s\n};\n" % (name.replace("-", "_"), c_string(text)))


if __name__ == "__main__":
    main()
