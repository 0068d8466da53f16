#!/usr/bin/env python3
"""Every page with commands in it is in a group of meson.build: check_pages.py SOURCE_ROOT PATTERN..."""
import pathlib
import sys

import page as pages

WHERE = ("README.md", "docs/*.md", "docs/tutorial/*.md", "docs/howto/*.md", "docs/explanation/*.md", "docs/formats/*.md", "docs/errors/*.md")


def main():
    root = pathlib.Path(sys.argv[1])
    tested = {p for pattern in sys.argv[2:] if not pattern.startswith("--") for p in root.glob(pattern)}
    missing = []
    for path in sorted({p for pattern in WHERE for p in root.glob(pattern)} - tested):
        if any(block.language == "console" for block in pages.blocks(path.read_text(encoding="utf-8"))):
            missing.append(str(path.relative_to(root)))
    print("\n".join(["%s has commands and is in no group" % name for name in missing] + ["%d pages are tested" % len(tested)]))
    sys.exit(1 if missing or not tested else 0)


if __name__ == "__main__":
    main()
