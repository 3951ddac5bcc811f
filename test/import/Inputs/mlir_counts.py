#!/usr/bin/env python3
"""mlir_counts.py FORMAT MODULE WORK: imports a module and prints its parameters and the FLOP of its products and convolutions forward."""
import json
import os
import subprocess
import sys

form, module, work = sys.argv[1:]
name = os.path.splitext(os.path.basename(module))[0]
path = os.path.join(work, name + ".dnn")
subprocess.run(["accord", "import", form, module, "-o", path], check=True, stderr=subprocess.DEVNULL)
subprocess.run(["accord", "fmt", "--check", path], check=True)
run = subprocess.run(["accord", "estimate", path, "--target", "h100", "--batch", "1", "--precision", "fp32", "--optimizer", "sgd", "--json"],
                     capture_output=True, text=True)
if run.returncode:
    sys.exit(run.stdout + run.stderr)
document = json.loads(run.stdout)
products = ("conv2d", "conv_transpose2d", "depthwise_conv2d", "linear", "matmul")
flops = sum(op["flops"] * op["count"] for op in document["operations"] if op["phase"] == "forward" and op["kind"] in products)
print(name, document["totals"]["parameters"], flops)
