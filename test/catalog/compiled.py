#!/usr/bin/env python3
"""compiled.py FOLDER: trains each model of expected.csv for one sample on paper and compares what `accord estimate` counts."""
import json
import os
import subprocess
import sys

import count

FILES = {"gpt2": "gpt2", "gpt3": "gpt3", "bert": "bert", "llam": "llama2", "resn": "resnet", "dlrm": "dlrm", "gnmt": "gnmt",
         "vgg1": "vgg", "mobi": "mobilenet", "effi": "efficientnet", "ince": "inception", "vit_": "vit", "unet": "unet",
         "ssd_": "ssd"}
CONTRACTIONS = {"linear", "matmul", "conv2d", "depthwise_conv2d", "conv_transpose2d", "contract"}
TRAINING = """import "catalog/h100.accel"
import "catalog/%s.dnn"
train counted = %s(%s) on h200 { batch = 1, precision = mixed(bf16), optimizer = adam }
"""


def main():
    folder, wrong = sys.argv[1], 0
    os.makedirs(folder, exist_ok=True)
    for number, row in enumerate(count.rows("expected.csv")):
        path = os.path.join(folder, "row%d.dnn" % number)
        arguments = ", ".join("%s = %d" % pair for pair in row["given"].items())
        with open(path, "w") as file:
            file.write(TRAINING % (FILES[row["model"][:4]], row["model"], arguments))
        run = subprocess.run(["accord", "estimate", path, "--json"], capture_output=True, text=True)
        if run.returncode != 0:
            print(row["model"], arguments, "exit status", run.returncode, run.stderr)
            wrong += 1
            continue
        totals = json.loads(run.stdout)["totals"]
        faults = []
        if int(totals["parameters"]) != int(row["parameters"]):
            faults.append("parameters %s" % totals["parameters"])
        operations = json.loads(run.stdout)["operations"]
        if row["forward_macs"] and "lstm" in {op["kind"] for op in operations}:
            # Two FLOP, and twice the forward pass again backward; a first layer needs no data gradient (-), and
            # element-wise work, norms and softmax come on top (+).
            share = float(totals["flops"]) / (6 * int(row["forward_macs"]))
            if not 0.95 <= share <= 1.15:
                faults.append("FLOP / (6 forward multiply-accumulates) = %.4f" % share)
        elif row["forward_macs"]:
            counted = [op for op in operations if op["kind"] in CONTRACTIONS]
            flops = sum(int(op["flops"]) * int(op["count"]) for op in counted)
            forward = sum(int(op["flops"]) * int(op["count"]) for op in counted if op["phase"] == "forward")
            if forward != 2 * int(row["forward_macs"]):
                faults.append("forward multiply-accumulates %s" % (forward / 2))
            # Twice the forward pass again backward, but for the data gradient of what reads the sample itself.
            if not 0.9 <= flops / (3 * forward) <= 1:
                faults.append("FLOP of contractions / (3 forward) = %.4f" % (flops / (3 * forward)))
        if faults:
            print(row["model"], arguments, "expected", row["parameters"], row["forward_macs"], "got", *faults)
        wrong += bool(faults)
    print("the compiler counts what is published" if not wrong else "%d models differ" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
