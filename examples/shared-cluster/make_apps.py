#!/usr/bin/env python3
"""Makes up two applications for `rbsim --trace`, laid out as docs/formats/trace.md says: iteration times by the seven-parameter
throughput model, training curves with a gradient noise that grows as training goes on. Nothing here was measured; it is
for a first look, and to show what measurements would have to be written down.

    examples/shared-cluster/make_apps.py apps
    rbsim --trace examples/shared-cluster/jobs.csv --apps apps --nodes 4
"""
import csv
import gzip
import io
import itertools
import json
import os
import sys

# alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma: seconds, as in profiles/fit/throughput.h. noise: the gradient noise
# scale in samples at the first and at the last epoch. steps: iterations of an epoch at the initial batch size.
APPS = {
    "vision": {"model": (0.02, 0.0007, 0.10, 0.002, 0.03, 0.001, 2.0), "init": 128, "max": 2048, "local": (32, 512),
               "epochs": 20, "steps": 300, "noise": (300, 4000)},
    "speech": {"model": (0.30, 0.02, 0.40, 0.02, 0.09, 0.002, 1.5), "init": 20, "max": 320, "local": (5, 80),
               "epochs": 12, "steps": 350, "noise": (60, 600)},
}


def step(app, nodes, gpus, local_batch):
    a_c, b_c, a_n, b_n, a_r, b_r, gamma = app["model"]
    grad = a_c + b_c * local_batch
    beyond = max(gpus - 2, 0)
    sync = 0 if gpus == 1 else a_r + b_r * beyond if nodes == 1 else a_n + b_n * beyond
    whole = (grad ** gamma + sync ** gamma) ** (1 / gamma)
    return repr(whole), repr(whole - grad)


def local_batches(app):
    low, high = app["local"]
    batch = low
    while batch < high:
        yield batch
        batch *= 2
    yield high


def rings(most_nodes, most_gpus):
    """Placements, each as the least of its rotations."""
    for n in range(1, most_nodes + 1):
        for p in itertools.product(range(1, most_gpus + 1), repeat=n):
            if p == min(p[i:] + p[:i] for i in range(n)):
                yield p


def table(columns, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def training(app, batch):
    """A batch's training: its iterations are worth gain(batch) of the initial one's."""
    progress = iteration = 0
    for epoch in range(app["epochs"]):
        share = epoch / (app["epochs"] - 1)
        noise = app["noise"][0] + share * (app["noise"][1] - app["noise"][0])
        sqr, var = 1.0, noise / app["init"]
        scale = batch / app["init"]
        progress += app["steps"]
        iteration += app["steps"] / ((var + sqr) / (var / scale + sqr))
        yield progress, iteration, 1 - 0.8 / (1 + epoch), sqr, var


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, constants = sys.argv[1], {}
    times = ["step_time", "sync_time"]
    layout = ["num_nodes", "num_replicas", "local_bsz"] + times
    for name, app in APPS.items():
        batches = [app["init"] * 2 ** i for i in range(5)]
        low, high = app["local"]
        constants[name] = {"init_batch_size": app["init"], "max_batch_size": app["max"], "min_local_bsz": low,
                           "max_local_bsz": high, "max_epochs": app["epochs"],
                           "completion_epoch": {str(batch): app["epochs"] - 1 for batch in batches}}
        write("%s/traces/%s/placements.csv" % (folder, name), table(["placement", "local_bsz"] + times, [
            ("".join(map(str, p)), m) + step(app, len(p), sum(p), m) for p in rings(4, 4) for m in local_batches(app)]))
        write("%s/traces/%s/scalability.csv" % (folder, name), table(layout, [
            (n, k, m) + step(app, n, k, m) for n in (6, 8, 12, 16) for k in (n, 2 * n, 3 * n, 4 * n)
            for m in local_batches(app)]))
        for batch in batches:
            write("%s/traces/%s/validation-%d.csv" % (folder, name, batch),
                  table(["progress", "iteration", "metric", "grad_sqr", "grad_var"], training(app, batch)))
        grid = table(layout, [(n, k, m) + step(app, n, k, m) for n in range(1, 17) for k in range(n, 4 * n + 1)
                              for m in local_batches(app)])
        os.makedirs("%s/derived-throughput-grid" % folder, exist_ok=True)
        with open("%s/derived-throughput-grid/%s-grid.csv.gz" % (folder, name), "wb") as out:
            out.write(gzip.compress(grid.encode(), mtime=0))
    write("%s/reference_vectors.json" % folder, json.dumps({"apps": constants}, indent=1) + "\n")


if __name__ == "__main__":
    main()
