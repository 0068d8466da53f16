#!/usr/bin/env python3
"""embed.py NAME OUTPUT.h INPUT...: the bytes of all inputs, one after the other, as a C array `NAME` and its length `NAME_len`."""
import os
import sys

name, output, *sources = sys.argv[1:]
data = b"".join(open(source, "rb").read() for source in sources)
with open(output, "w") as f:
    f.write("// Made from %s by the build.\nstatic const unsigned char %s[] = {\n" % (", ".join(map(os.path.basename, sources)), name))
    for at in range(0, len(data), 20):
        f.write("    " + ", ".join("0x%02x" % b for b in data[at:at + 20]) + ",\n")
    f.write("};\nstatic const unsigned long %s_len = %d;\n" % (name, len(data)))
