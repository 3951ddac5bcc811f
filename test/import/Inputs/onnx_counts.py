#!/usr/bin/env python3
"""onnx_counts.py CATALOGUE WORK: writes the catalogue's networks as ONNX files, imports them, and compares parameters and
forward FLOP with the catalogue's own models.

Differences that are right, in forward FLOP of one sample:
  inception_v3        the catalogue weighs the auxiliary loss by 0.4, which an ONNX file does not state
  ssd_resnet34        the catalogue masks the offsets of boxes without an object, on both sides of the loss: 2 * 8732 * 4
Running means and variances of batch normalization are initializers of the file, but not trained: not counted by either.
"""
import json
import os
import subprocess
import sys

import onnx_models

# name -> file of the catalogue, options of the import, by how many FLOP (multiplies, sums) the catalogue has more
CASES = {
    "vgg16": ("vgg", [], 0),
    "resnet18": ("resnet", [], 0),
    "resnet50": ("resnet", [], 0),
    "resnet101": ("resnet", [], 0),
    "resnext101_32x8d": ("resnet", [], 0),
    "inception_v3": ("inception", [], 1),
    "mobilenet_v2": ("mobilenet", [], 0),
    "mobilenet_v3_large": ("mobilenet", [], 0),
    "efficientnet_b0": ("efficientnet", [], 0),
    "unet": ("unet", ["--loss", "cross_entropy"], 0),
    "ssd_resnet34": ("ssd", ["--loss", "{0}=smooth_l1"], 2 * 8732 * 4),
    "bert_base": ("bert_base", ["--size", "S=512", "--size", "M=76"], 0),
    "bert_large": ("bert", ["--size", "S=512", "--size", "M=76"], 0),
}


def counted(path, name):
    run = subprocess.run(["accord", "estimate", path, "--train", name, "--target", "h100", "--batch", "1", "--precision", "fp32",
                          "--optimizer", "sgd", "--json"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{path}: {run.stdout}{run.stderr}")
    document = json.loads(run.stdout)
    forward = sum(op["flops"] * op["count"] for op in document["operations"] if op["phase"] == "forward")
    return document["totals"]["parameters"], forward


def main():
    catalogue, work = sys.argv[1:]
    for name, (file, options, more) in CASES.items():
        graph = onnx_models.MODELS[name]()
        graph.save(os.path.join(work, name + ".onnx"))
        options = [option.format(graph.outputs[0].name) for option in options]
        imported = os.path.join(work, name + ".dnn")
        subprocess.run(["accord", "import", "onnx", os.path.join(work, name + ".onnx"), "-o", imported, *options], check=True,
                       stderr=subprocess.DEVNULL)
        subprocess.run(["accord", "fmt", "--check", imported], check=True)
        parameters, forward = counted(imported, name)
        wanted = counted(os.path.join(catalogue, file + ".dnn"), name)
        same = (parameters, forward + more) == wanted
        print(name, parameters, forward, "as in the catalogue" if same else f"but the catalogue has {wanted}")


if __name__ == "__main__":
    main()
