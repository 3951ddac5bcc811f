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
# name, file of the catalogue, model, chips, batch: placed on chips of the space, four to a board.
CLUSTERS = [
    ("OPT-1.3B", "opt.dnn", "opt_1_3b", 8, 64),
    ("GPT-2 XL", "gpt2.dnn", "gpt2_xl", 8, 64),
    ("GPT-3 175B", "gpt3.dnn", "gpt3", 512, 512),
]
CLUSTER = """import "{space}"
cluster pod {{
  server board[{boards}] {{
    device chip[4] : tpu_like_space
    network ici {{ connects = chip, topology = switch, bandwidth = 100 GB/s, latency = 1 us }}
  }}
  network ethernet {{ connects = board, topology = fat_tree(oversubscription = 1), bandwidth = 50 GB/s, latency = 5 us }}
}}
"""
PLACED = """import "catalog/{file}"
import "{cluster}"
train step = {model}() on pod {{
  batch = {batch}
  precision = mixed(bf16)
  optimizer = adam
  search {{ microbatch = {{1, 2, 4}}, tensor_parallel = pow2 1..4, recompute = {{none, full}}, schedule = one_f_one_b, zero = 0 }}
  maximize throughput
}}
"""
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
    return f"{100 * (float(row['value']) / float(row['best']) - 1):.3g} %" if row["value"] else "none found"


def near(row, column, unit=""):
    return f"{float(row[column]):.3g}{unit}" if row[column] else "never"


def row(name, metric, found, baseline, equal, timed):
    value, exact, times = found["objective"]["value"], equal["exact"], timed["exact"]
    shown = f"{value:.4g} W s" if metric == "tdp_time" else f"{1e3 * value:.4g} ms"
    print(f"| {name} | {shown} | {baseline / value:.2f} | {near(exact, 'evaluations_to_1_percent')} of"
          f" {exact['evaluations']} | {near(times, 'processor_s_to_1_percent')} of"
          f" {float(times['processor_s']):.3g} s | {above(equal['wham'])},"
          f" {near(equal['wham'], 'evaluations_to_1_percent')} | {above(equal['bayes'])},"
          f" {near(equal['bayes'], 'evaluations_to_1_percent')} | {above(timed['bayes'])} |", flush=True)


def mined(path, folder, space, same):
    """What exact found, and the comparisons with as many designs and with as much time."""
    found = json.loads(run("mine", path, *space, "--compare", "--strategies", "wham,bayes", "-o", folder, *same))
    run("mine", path, *space, "--compare=time", "--strategies", "bayes", "-o", f"{folder}_time", *same)
    return found, compared(folder), compared(pathlib.Path(f"{folder}_time"))


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
            found, equal, timed = mined(path, work / f"{model}_{options.metric}", ["--space", "tpu_like_space"], same)
            # Against the best plan on the catalogue's design; its power by the formula of the mined ones.
            baseline = plan["step_time_s"] * (point["design"]["tdp_W"] if options.metric == "tdp_time" else 1)
            row(name, options.metric, found, baseline, equal, timed)
        for name, file, model, chips, batch in CLUSTERS:
            if options.model and name not in options.model:
                continue
            same = ["--metric", options.metric, "--json"]
            for kind, space in [("pod", "catalog/spaces.accel"), ("point_pod", "point.accel")]:
                (work / f"{model}_{kind}.accel").write_text(CLUSTER.format(space=space, boards=chips // 4), encoding="utf-8")
                (work / f"{model}_{kind}.dnn").write_text(
                    PLACED.format(file=file, cluster=f"{model}_{kind}.accel", model=model, batch=batch), encoding="utf-8")
            point = json.loads(run("mine", work / f"{model}_point_pod.dnn", "--strategy", "exhaustive", "-o",
                                   work / f"{model}_point", *same))
            found, equal, timed = mined(work / f"{model}_pod.dnn", work / f"{model}_{options.metric}", [], same)
            row(name, options.metric, found, point["objective"]["value"], equal, timed)
    print(f"{processor_seconds():.0f} s of processor time in all", file=sys.stderr)


if __name__ == "__main__":
    main()
