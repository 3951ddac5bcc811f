#!/usr/bin/env python3
"""Networks mined in tpu_like_space, as the rows of the tables in docs/mining.md. Needs a release build in build/ and, for all rows, minutes.

usage: test/bench/mining.py [--metric step_time|tdp_time] [--model NAME]... [--work FOLDER]
"""
import argparse
import csv
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACCORD = ROOT / "build/bin/accord"
# name, file of the catalogue, model, batch, micro-batches, optimizer
MODELS = [
    ("GNMT", "gnmt.dnn", "gnmt", 128, "32, 128", "adam"),
    ("BERT-Base", "bert_base.dnn", "bert_base", 64, "16, 64", "adam"),
    ("BERT-Large", "bert.dnn", "bert_large", 16, "4, 16", "adam"),
    ("VGG-16", "vgg.dnn", "vgg16", 64, "16, 64", "sgd"),
    ("ResNet-18", "resnet.dnn", "resnet18", 128, "32, 128", "sgd"),
    ("ResNeXt-101", "resnet.dnn", "resnext101_32x8d", 32, "8, 32", "sgd"),
    ("MobileNet-v3", "mobilenet.dnn", "mobilenet_v3_large", 128, "32, 128", "sgd"),
    ("Inception-v3", "inception.dnn", "inception_v3", 64, "16, 64", "sgd"),
]
# The catalogue's tpu_like as the only design of the space: its power by the same formula as that of the others.
POINT = [(r"pow2 4\.\.64 MiB", "16 MiB"), (r"\{1024 B/cycle.*?\}", "2048 B/cycle"), (r"mxu\[1\.\.8\]", "mxu[2]"),
         (r"\(pow2 32\.\.256\) x \(pow2 32\.\.256\)", "128 x 128"), (r"\{weight_stationary.*?\}", "weight_stationary"),
         (r"vpu\[1\.\.4\]", "vpu[2]"), (r"pow2 256\.\.4096", "{1024}")]


def run(*words):
    done = subprocess.run([ACCORD, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: accord {' '.join(map(str, words))}\n{done.stderr[:2000]}")
    return done.stdout


def processor_seconds():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime + resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime


def compared(folder):
    with open(folder / "compared.csv", encoding="utf-8") as file:
        return {row["strategy"]: row for row in csv.DictReader(file)}


def above(row):
    return f"{100 * (float(row['value']) / float(row['least']) - 1):.3g} %" if row["value"] else "none found"


def near(row, column, unit=""):
    return f"{float(row[column]):.3g}{unit}" if row[column] else "never"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metric", default="step_time", choices=["step_time", "tdp_time"])
    parser.add_argument("--model", action="append", help="only this one (may be repeated)")
    parser.add_argument("--work", help="folder for what is written (default: one that is removed)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(options.work or scratch)
        work.mkdir(parents=True, exist_ok=True)
        text = (ROOT / "lib/catalog/spaces.accel").read_text(encoding="utf-8")
        text = re.search(r"accelerator tpu_like_space \{.*?\n\}\n", text, re.S).group(0)
        for pattern, value in POINT:
            text, count = re.subn(pattern, value, text)
            if count != 1:
                sys.exit(f"error: tpu_like_space of the catalogue has no '{pattern}'")
        (work / "point.accel").write_text(text, encoding="utf-8")
        print("| model | value | times tpu_like | exact: designs to 1 %, of | processor time to 1 %, of |"
              " wham: above, designs to 1 % | bayes: above, designs to 1 % | bayes, equal time: above |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for name, file, model, batch, microbatches, optimizer in MODELS:
            if options.model and name not in options.model:
                continue
            path = work / f"{model}.dnn"
            path.write_text(f'import "catalog/{file}"\ntrain step = {model}() on tpu_like {{ batch = {batch}, precision = '
                            f"mixed(bf16), optimizer = {optimizer}, search {{ microbatch = {{{microbatches}}} }} }}\n",
                            encoding="utf-8")
            plan = json.loads(run("compile", path, "--json", "-o", work / f"{model}_plan"))
            same = ["--metric", options.metric, "--train", "step", "--json"]
            point = json.loads(run("mine", path, "--space", f"{work}/point.accel:tpu_like_space", "--strategy",
                                   "exhaustive", "-o", work / f"{model}_point", *same))
            folder = work / f"{model}_{options.metric}"
            found = json.loads(run("mine", path, "--space", "tpu_like_space", "--compare", "--strategies", "wham,bayes",
                                   "-o", folder, *same))
            equal = compared(folder)
            run("mine", path, "--space", "tpu_like_space", "--compare=time", "--strategies", "bayes", "-o",
                work / f"{model}_{options.metric}_time", *same)
            timed = compared(work / f"{model}_{options.metric}_time")
            value, exact = found["objective"]["value"], equal["exact"]
            # Against the best plan on the catalogue's design; its power by the formula of the mined ones.
            baseline = plan["step_time_s"] * (point["design"]["tdp_W"] if options.metric == "tdp_time" else 1)
            shown = f"{value:.4g} W s" if options.metric == "tdp_time" else f"{1e3 * value:.4g} ms"
            times = timed["exact"]
            print(f"| {name} | {shown} | {baseline / value:.2f} | {near(exact, 'evaluations_to_1_percent')} of"
                  f" {exact['evaluations']} | {near(times, 'processor_s_to_1_percent')} of"
                  f" {float(times['processor_s']):.3g} s | {above(equal['wham'])},"
                  f" {near(equal['wham'], 'evaluations_to_1_percent')} | {above(equal['bayes'])},"
                  f" {near(equal['bayes'], 'evaluations_to_1_percent')} | {above(timed['bayes'])} |", flush=True)
    print(f"{processor_seconds():.0f} s of processor time in all", file=sys.stderr)


if __name__ == "__main__":
    main()
