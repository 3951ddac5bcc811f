#!/usr/bin/env python3
"""Compiles models for machines and verifies each plan; `compile` may say 0 or 2, `verify` says 0."""
import argparse
import os
import subprocess
import sys

MODELS = ["resnet", "bert", "bert_base", "bloom", "dlrm", "gat", "gcn", "gnmt", "gpt2", "gpt3", "graphsage", "llama2", "llama3",
          "mixtral", "ncf", "opt", "t5", "transformer_big", "wide_deep"]
MACHINES = ["a100_80g", "tpu_like", "tpu_v4", "v100_32g"]


def say(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("catalog")
    parser.add_argument("more", nargs="*", help="further .dnn files")
    args = parser.parse_args()
    verified, failures = 0, 0
    for model in [os.path.join(args.catalog, name + ".dnn") for name in MODELS] + args.more:
        for machine in MACHINES:
            out = os.path.join(args.work, os.path.basename(model)[:-4] + "-" + machine)
            status, text = say("accord", "compile", model, "--target", machine, "--batch", "8", "-o", out)
            if status in (0, 2):
                status, text = say("accord", "verify", os.path.join(out, "plan.json"))
                if status == 0:
                    verified += 1
                    continue
                text = "verify: " + text
            failures += 1
            print(f"{model} on {machine}: status {status}\n{text}")
    print(f"{verified} plans verified")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
