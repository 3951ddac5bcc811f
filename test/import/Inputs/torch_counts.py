#!/usr/bin/env python3
"""torch_counts.py FOLDER WORK: imports each program of models.csv and holds parameters and forward products of a sample
against what PyTorch counted (scripts/torch_models.py)."""
import csv
import json
import os
import subprocess
import sys

folder, work = sys.argv[1:]
PRODUCTS = {"linear", "conv2d", "depthwise_conv2d", "conv_transpose2d", "matmul", "contract", "flash_attention"}
for row in csv.DictReader(open(os.path.join(folder, "models.csv"))):
    name = row["name"]
    model = os.path.join(work, name + ".dnn")
    subprocess.run(["accord", "import", "torch", os.path.join(folder, name + ".pt2"), "-o", model], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["accord", "fmt", "--check", model], check=True)
    run = subprocess.run(["accord", "estimate", model, "--target", "h100", "--batch", "1", "--precision", "fp32", "--optimizer",
                          "sgd", "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        print(name, run.stderr)
        continue
    answer = json.loads(run.stdout)
    products = sum(one["flops"] * one["count"] for one in answer["operations"]
                   if one["phase"] == "forward" and one["kind"] in PRODUCTS)
    # flash_attention counts its softmax: with heads of 64, 5 FLOP beside the 256 of a score.
    near = abs(products / int(row["forward_flops"]) - 1) <= 0.005
    same = answer["totals"]["parameters"] == int(row["parameters"])
    print(name, "parameters equal" if same else f"parameters {answer['totals']['parameters']} of {row['parameters']}",
          "products near" if near else f"products {products} of {row['forward_flops']}")
