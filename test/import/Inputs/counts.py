#!/usr/bin/env python3
"""counts.py CONFIGS WORK: imports every configuration and compares what `accord estimate` counts with huggingface_counts.csv, which
scripts/huggingface_counts.py made of transformers and torch."""
import csv
import json
import os
import subprocess
import sys

configs, work = sys.argv[1:]
# What forward_flops counts. The softmax within attention in one kernel comes on top, at most 0.5 %.
CONTRACTIONS = {"linear", "conv2d", "depthwise_conv2d", "matmul", "moe_dispatch", "moe_experts", "flash_attention"}
LENGTHS = {"t5": []}  # both sides have those of the import


def imported(name, tokens):
    model = os.path.join(work, name + ".dnn")
    path = os.path.join(configs, name + ".json")
    with open(path, encoding="utf-8") as file:
        kind = json.load(file)["model_type"]
    size = LENGTHS.get(kind, ["--size", "seq=" + tokens] if tokens != "0" else [])
    subprocess.run(["accord", "import", "huggingface", path, "-o", model] + size, check=True, stderr=subprocess.DEVNULL)
    return model


def main():
    rows = 0
    with open(os.path.join(configs, "huggingface_counts.csv"), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            name = row["configuration"]
            run = subprocess.run(["accord", "estimate", imported(name, row["tokens"]), "--target", "h100", "--batch", "1", "--precision", "bf16",
                                  "--optimizer", "adam", "--json"], capture_output=True, text=True)
            if run.returncode != 0:
                print(name, run.stderr)
                continue
            estimate = json.loads(run.stdout)
            parameters = estimate["totals"]["parameters"]
            flops = sum(op["flops"] * op["count"] for op in estimate["operations"] if op["phase"] == "forward" and op["kind"] in CONTRACTIONS)
            expected = int(row["forward_flops"])
            if str(parameters) != row["parameters"]:
                print(name, "has", parameters, "parameters, not", row["parameters"])
            elif abs(flops - expected) > 0.005 * expected:
                print(name, "has", flops, "FLOPs, not", expected)
            else:
                rows += 1
    print(rows, "configurations count what transformers counts")


main()
