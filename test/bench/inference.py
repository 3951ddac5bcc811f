#!/usr/bin/env python3
"""Latencies of inference that others published, beside what Accord computes.

    python3 test/bench/inference.py [rows.csv] [--accord build/bin/accord] [--table] [--where model=bert_large]

The rows are those of `accord calibrate`: `call`, `file`, `serving`, `precision`, `global_batch`, `accelerator` and
`step_time_s`. A row with `output` tokens is a prompt and an answer: one prefill, and so many tokens decoded with the
context in the middle of the answer. Rows of several devices are left out here. The last lines are the errors by machine, and of each model the median of the
ratio computed / published.
"""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program(row, serving, call):
    settings = "\n  ".join([f"batch = {row['global_batch']}", f"precision = {row['precision']}", serving])
    return f'import "{row["file"]}"\ninfer row = {call} on {row["accelerator"]} {{\n  {settings}\n}}\n'


def seconds(accord, text):
    """The time of one pass; nothing, and why, where there is none."""
    with tempfile.NamedTemporaryFile("w", suffix=".dnn") as file:
        file.write(text)
        file.flush()
        run = subprocess.run([accord, "estimate", file.name, "--json"], capture_output=True, text=True, check=False)
    try:
        totals = json.loads(run.stdout)["totals"]
        return totals.get("step_time_s", totals["time_s"]), ""
    except (ValueError, KeyError):
        return None, (run.stdout + run.stderr)[:300]


def computed(accord, row):
    output = int(row.get("output") or 0)
    if not output:
        return seconds(accord, program(row, row["serving"], row["call"]))
    prompt = int(row["prompt"])
    first, why = seconds(accord, program(row, "phase = prefill\n  " + row["serving"], row["call"]))
    each, also = seconds(accord, program(row, f"phase = decode\n  context = {prompt + output // 2}\n  " + row["serving"],
                                         row["call"]))
    if first is None or each is None:
        return None, why + also
    return first + output * each, ""


def held_out(accord, rows, priors):
    """Of every machine and model: the mean error where its rows are left out of the fit."""
    errors = {}
    for machine in sorted({row["accelerator"] for row in rows}):
        fitted = [row for row in rows if row["accelerator"] == machine and row["quality"] == "A"]
        for model in sorted({row["model"] for row in fitted}):
            with tempfile.TemporaryDirectory() as folder:
                others, own, fit = (os.path.join(folder, name) for name in ("others.csv", "own.csv", "fit.calibration"))
                for name, kept in ((others, [r for r in fitted if r["model"] != model]),
                                   (own, [r for r in fitted if r["model"] == model])):
                    with open(name, "w", encoding="utf-8", newline="") as file:
                        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
                        writer.writeheader()
                        writer.writerows(kept)
                prior = str(priors / f"{machine}.calibration")
                subprocess.run([accord, "calibrate", others, "--prior", prior, "-o", fit], capture_output=True, check=False)
                run = subprocess.run([accord, "calibrate", own, "--check", fit, "--json"], capture_output=True, text=True,
                                     check=False)
                try:
                    scored = json.loads(run.stdout)["rows"]
                except (ValueError, KeyError):
                    print(f"{machine} {model}: {(run.stdout + run.stderr)[:200]}", file=sys.stderr)
                    continue
                ratios = [row["computed_s"] / row["measured_s"] for row in scored]
                errors[machine, model] = statistics.median(ratios)
                print(f"{machine}  {model}  {len(ratios)} rows  " + " ".join(f"{ratio:.2f}" for ratio in ratios))
    near = sum(abs(ratio - 1) <= 0.2 for ratio in errors.values())
    print(f"left out of the fit: {near} of {len(errors)} models and machines have a median within 20 %, "
          f"median error {100 * statistics.median(abs(ratio - 1) for ratio in errors.values()):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", default=str(ROOT / "lib/catalog/measured-inference.csv"))
    parser.add_argument("--accord", default=str(ROOT / "build/bin/accord"))
    parser.add_argument("--table", action="store_true", help="as a table of Markdown")
    parser.add_argument("--where", default="", help="COLUMN=VALUE")
    parser.add_argument("--held-out", action="store_true", help="fit without each model in turn, and score it")
    given = parser.parse_args()
    rows = list(csv.DictReader(open(given.rows, encoding="utf-8")))
    if given.where:
        column, value = given.where.split("=", 1)
        rows = [row for row in rows if row[column] == value]
    if given.held_out:
        held_out(given.accord, rows, ROOT / "lib/catalog")
        return 0
    rows = [row for row in rows if not row.get("tp")]  # `accord calibrate` alone has a layout for several devices
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda row: computed(given.accord, row), rows))
    ratios, wrong = {}, 0
    for row, (time, why) in zip(rows, results):
        if time is None:
            wrong += 1
            print(f"{row['id']}: {why}", file=sys.stderr)
            continue
        published = float(row["step_time_s"])
        ratio = time / published
        ratios.setdefault((row["accelerator"], "eager" if "eager" in row["serving"] else "compiled"), {}).setdefault(
            row["model"], []).append(ratio)
        cells = [row["model"], row["accelerator"], row["precision"], row["serving"], row["global_batch"],
                 f"{published * 1e3:.4g}", f"{time * 1e3:.4g}", f"{ratio:.2f}", row["framework"]]
        print("| " + " | ".join(cells) + " |" if given.table else "  ".join(cells))
    for key, models in sorted(ratios.items()):
        all_of = [ratio for one in models.values() for ratio in one]
        near = sum(abs(ratio - 1) <= 0.2 for ratio in all_of)
        medians = {model: statistics.median(one) for model, one in models.items()}
        close = sum(abs(ratio - 1) <= 0.2 for ratio in medians.values())
        print(f"{' '.join(key)}: {len(all_of)} rows, {near} within 20 %, median error "
              f"{100 * statistics.median(abs(ratio - 1) for ratio in all_of):.1f} %; {close} of {len(medians)} models")
        print("  " + ", ".join(f"{model} {ratio:.2f}" for model, ratio in sorted(medians.items())))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
