#!/usr/bin/env python3
"""Compiles models for machines and verifies each plan; `compile` may say 0 or 2 (the networks: 0), `verify` says 0."""
import argparse
import os
import subprocess
import sys

# A file, and one of its models if it has none of its own name.
MODELS = ["resnet:resnet50", "bert", "bert_base", "bloom", "dlrm", "gat", "gcn", "gnmt", "gpt2", "gpt3", "graphsage", "llama2", "llama3:llama3_8b",
          "mixtral", "ncf", "opt", "t5", "transformer_big", "wide_deep"]
MACHINES = ["a100_80g", "tpu_like", "tpu_v4", "v100_32g"]
# On one machine, where they fit: they differ in the network, not in what the machine makes of it.
NETWORKS = ["resnet:resnet18", "resnet:resnet34", "resnet:resnet101", "resnet:resnext101_32x8d", "vgg:vgg16",
            "mobilenet:mobilenet_v2", "mobilenet:mobilenet_v3_large", "efficientnet:efficientnet_b0", "inception:inception_v3",
            "vit:vit_b_16", "vit:vit_l_16", "unet", "ssd"]


def say(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--every", action="store_true", help="each model on every machine, not on two of them")
    parser.add_argument("catalog")
    parser.add_argument("more", nargs="*", help="further .dnn files")
    args = parser.parse_args()
    verified, failures = 0, 0
    pairs = [(name, machine) for i, name in enumerate(MODELS + args.more) for machine in (MACHINES if args.every else MACHINES[i % 2::2])]
    for name, machine in pairs + [(name, "h100") for name in NETWORKS]:
        file, _, model = name.partition(":")
        path = file if file.endswith(".dnn") else os.path.join(args.catalog, file + ".dnn")
        out = os.path.join(args.work, (model or os.path.basename(path)[:-4]) + "-" + machine)
        choice = ["--train", model] if model else []
        status, text = say("accord", "compile", path, *choice, "--target", machine, "--batch", "8", "-o", out)
        if status == 0 or (status == 2 and machine in MACHINES):
            status, text = say("accord", "verify", os.path.join(out, "plan.json"))
            if status == 0:
                verified += 1
                continue
            text = "verify: " + text
        failures += 1
        print(f"{name} on {machine}: status {status}\n{text}")
    print(f"{verified} plans verified")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
