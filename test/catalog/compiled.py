#!/usr/bin/env python3
"""compiled.py FOLDER: trains each model of expected.csv for one sample on paper and compares what `accord estimate` counts."""
import glob
import json
import os
import re
import subprocess
import sys

import count

CATALOGUE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib", "catalog")
# What forward_macs counts; everything else is element-wise, a reduction or a lookup.
CONTRACTIONS = {"linear", "conv2d", "depthwise_conv2d", "conv_transpose2d", "matmul", "lstm", "gru", "moe_dispatch", "moe_experts", "spmm", "interaction", "flash_attention"}
# Most of their work is in layers that need no data gradient, or is element-wise: only the forward pass has a closed form.
FORWARD_ONLY = {"dlrm_kaggle", "ncf", "wide_deep", "gcn", "graphsage", "gat", "mamba_130m", "mamba_2_8b"}
TRAINING = """import "catalog/h100.accel"
import "catalog/%s.dnn"
train counted = %s(%s) on h200 { batch = 1, precision = mixed(bf16), optimizer = adam }
"""


def files_of_models():
    """The catalogue's file that declares each model."""
    files = {}
    for path in glob.glob(os.path.join(CATALOGUE, "*.dnn")):
        with open(path) as file:
            for model in re.findall(r"^model (\w+)", file.read(), re.MULTILINE):
                files[model] = os.path.basename(path)[:-len(".dnn")]
    return files


def main():
    folder, wrong, files = sys.argv[1], 0, files_of_models()
    for model in sorted(files.keys() - {row["model"] for row in count.rows("expected.csv")}):
        print(model, "has no row in expected.csv")
        wrong += 1
    os.makedirs(folder, exist_ok=True)
    for number, row in enumerate(count.rows("expected.csv")):
        path = os.path.join(folder, "row%d.dnn" % number)
        arguments = ", ".join("%s = %d" % pair for pair in row["given"].items())
        with open(path, "w") as file:
            file.write(TRAINING % (files[row["model"]], row["model"], arguments))
        run = subprocess.run(["accord", "estimate", path, "--json"], capture_output=True, text=True)
        if run.returncode != 0:
            print(row["model"], arguments, "exit status", run.returncode, run.stderr)
            wrong += 1
            continue
        estimate = json.loads(run.stdout)
        totals = estimate["totals"]
        faults = []
        if int(totals["parameters"]) != int(row["parameters"]):
            faults.append("parameters %s" % totals["parameters"])
        if row["forward_macs"]:
            forward = sum(op["flops"] * op["count"] for op in estimate["operations"]
                          if op["phase"] == "forward" and op["kind"] in CONTRACTIONS)
            if abs(forward - 2 * int(row["forward_macs"])) > 0.005 * forward:
                faults.append("forward multiply-accumulates %d" % (forward // 2))
        if row["published_gmacs"]:
            # Contractions alone: twice the forward pass again backward, but for the data gradient of what reads the image.
            # Attention in one kernel makes its scores once more.
            backward = {"contract", "flash_attention_grad"}
            flops = sum(op["flops"] * op["count"] for op in estimate["operations"] if op["kind"] in CONTRACTIONS | backward)
            if not 0.9 <= flops / (3 * forward) <= 1.01:
                faults.append("FLOP of contractions / (3 forward) = %.4f" % (flops / (3 * forward)))
        elif row["forward_macs"] and row["model"] not in FORWARD_ONLY:
            # Two FLOP, and twice the forward pass again backward; a first layer needs no data gradient (-), and
            # element-wise work, norms and softmax come on top (+).
            share = float(totals["flops"]) / (6 * int(row["forward_macs"]))
            if not 0.95 <= share <= 1.15:
                faults.append("FLOP / (6 forward multiply-accumulates) = %.4f" % share)
        if faults:
            print(row["model"], arguments, "expected", row["parameters"], row["forward_macs"], "got", *faults)
        wrong += bool(faults)
    print("the compiler counts what is published" if not wrong else "%d models differ" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
