#!/usr/bin/env python3
"""Executes examples/notebook/plan.ipynb with jupyter-nbconvert, and compares every output with the one in the file.
Usage: notebook.py --bin BUILD --root SOURCE [--write]. --write puts what is printed now into the file: read the difference.
Exit 77, a skip, where jupyter-nbconvert or the kernel is missing."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

NEEDED = ("/usr/bin/jupyter-nbconvert", "/usr/share/jupyter/kernels/python3/kernel.json")


def execute(root, build, folder):
    """The notebook as it is after its execution, in a copy of the examples."""
    shutil.copytree(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    work = os.path.join(folder, "examples", "notebook")
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "PYTHONPATH": os.path.join(build, "python"), "RB_BIN": build, "LC_ALL": "C.UTF-8",
           "RB_LOCAL_SLOTS": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([NEEDED[0], "--to", "notebook", "--execute", "--output", "executed", "plan.ipynb"], cwd=work, env=env,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("the notebook failed:\n" + done.stderr[-4000:])
    with open(os.path.join(work, "executed.ipynb"), encoding="utf-8") as f:
        return json.load(f)


def shown(cell):
    """The outputs of a cell without what differs from one execution to the next."""
    return [{key: value for key, value in output.items() if key != "metadata"} for output in cell.get("outputs", [])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    missing = [path for path in NEEDED if not os.path.exists(path)]
    if missing:
        print("not tried, %s is missing: apt-get install jupyter-nbconvert python3-ipykernel" % missing[0])
        sys.exit(77)
    path = os.path.join(args.root, "examples", "notebook", "plan.ipynb")
    with open(path, encoding="utf-8") as f:
        notebook = json.load(f)
    with tempfile.TemporaryDirectory(prefix="rb-notebook-") as folder:
        executed = execute(os.path.abspath(args.root), os.path.abspath(args.bin), folder)
    different = 0
    for number, (cell, now) in enumerate(zip(notebook["cells"], executed["cells"], strict=True)):
        if shown(cell) != shown(now):
            different += 1
            print("cell %d:\n  in the file: %.2000s\n  now: %.2000s" % (number, shown(cell), shown(now)))
        if cell["cell_type"] == "code":
            cell["execution_count"] = now["execution_count"]
            cell["outputs"] = [dict(output, metadata={}) if "data" in output else output for output in shown(now)]
    if args.write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    print("%d cells, %d differ" % (len(notebook["cells"]), different))
    sys.exit(1 if different and not args.write else 0)


if __name__ == "__main__":
    main()
