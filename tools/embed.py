#!/usr/bin/env python3
"""embed.py INPUT NAME OUTPUT.h: a file's bytes as a C array `NAME` and its length `NAME_len`."""
import sys

source, name, output = sys.argv[1:]
data = open(source, "rb").read()
with open(output, "w") as f:
    f.write("// Made from %s by the build.\nstatic const unsigned char %s[] = {\n" % (source.rsplit("/", 1)[-1], name))
    for at in range(0, len(data), 20):
        f.write("    " + ", ".join("0x%02x" % b for b in data[at:at + 20]) + ",\n")
    f.write("};\nstatic const unsigned long %s_len = %d;\n" % (name, len(data)))
