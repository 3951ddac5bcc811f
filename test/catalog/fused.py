#!/usr/bin/env python3
"""fused.py FOLDER: each model of expected.csv with and without --fuse: the same parameters and FLOPs, less traffic."""
import json
import os
import subprocess
import sys

import compiled
import count


def estimate(path, *options):
    run = subprocess.run(["accord", "estimate", path, "--json", *options], capture_output=True, text=True)
    assert run.returncode == 0, (path, run.stderr)
    document = json.loads(run.stdout)
    moved = sum(sum(op["bytes"].values()) * op["count"] for op in document["operations"])
    return document["totals"], moved, len(document["operations"])


def main():
    folder, files, models = sys.argv[1], compiled.files_of_models(), 0
    os.makedirs(folder, exist_ok=True)
    for number, row in enumerate(count.rows("expected.csv")):
        path = os.path.join(folder, "row%d.dnn" % number)
        with open(path, "w") as file:
            file.write(compiled.TRAINING % (files[row["model"]], row["model"], ", ".join("%s = %d" % pair for pair in row["given"].items())))
        (before, moved, operations), (after, less, fewer) = estimate(path), estimate(path, "--fuse")
        assert before["flops"] == after["flops"] and before["parameters"] == after["parameters"], row["model"]
        assert less < moved and fewer < operations, (row["model"], less, moved)
        models += 1
    print("%d models, the same FLOPs, less traffic" % models)


if __name__ == "__main__":
    main()
