#!/usr/bin/env python3
"""The tables of "Noise of gradients of models that never ran" in docs/learning.md.

    python3 test/bench/noise.py predictions [--accord build/bin/accord]
    python3 test/bench/noise.py simulations [--accord build/bin/accord] [--data ../shared/data]     (some minutes)

`predictions` prints how far predicted noise scales are off where models and families are left out, and how far one that is
the same for all, the geometric mean of the others. `simulations` replays the same drawn jobs of Pollux' workloads, which
choose their batches by the noise that they assume and progress by the measured one: none (batches do not grow), the same for
all, the predicted one (the application's family left out), the mean over the application's own training, any (batches as large
as is fastest), and the measured one of each epoch. Changes of the mean completion are paired, with bootstrap intervals of
95 % over 20 seeds.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import predictions

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "lib/catalog/gradient-noise.csv"
APPLICATIONS = ["bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"]
RUNS = [("Pollux 1, 160 jobs", "workload-1", ["--draw", "160"]), ("Pollux 2, 160 jobs", "workload-2", ["--draw", "160"]),
        ("Pollux 3, load 1.5", "workload-3", ["--draw", "160", "--load", "1.5"]),
        ("Pollux 4, load 0.6", "workload-4", ["--draw", "160", "--load", "0.6"])]


def rows():
    with open(TABLE, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def scores(accord):
    return json.loads(predictions.output([accord, "calibrate", str(TABLE), "--gradient-noise", "--json"]))["scores"]


def same_for_all(group):
    """{model: the geometric mean of the models of other groups}."""
    table = rows()
    return {row["model"]: math.exp(statistics.fmean(math.log(float(other["noise"])) for other in table if other[group] != row[group])) for row in table}


def print_predictions(accord):
    measured = {row["model"]: float(row["noise"]) for row in rows()}
    formulas = {row["model"] for row in rows() if row["model"].startswith("C4") or row["model"].startswith("WebText2")}
    for group, score in zip(("model", "family"), scores(accord)):
        same = same_for_all(group)
        learned = {one["model"]: one for one in score["models"]}
        for name, models in (("all", list(learned)), ("without the six that are of fitted formulas", [one for one in learned if one not in formulas])):
            def factor(predicted, models=models):
                errors = [abs(math.log(predicted(model) / measured[model])) for model in models]
                return f"{math.exp(statistics.median(errors)):.1f} | {math.exp(statistics.fmean(errors)):.1f}"
            covered = sum(learned[model]["low"] <= measured[model] <= learned[model]["high"] for model in models)
            width = math.exp(statistics.median(math.log(learned[model]["high"] / learned[model]["low"]) for model in models))
            print(f"| {score['without']}, {name} | {len(models)} | {factor(lambda model, same=same: same[model])} | "
                  f"{factor(lambda model, learned=learned: learned[model]['predicted'])} | {100 * covered / len(models):.0f} % | {width:.0f} |")
    for one in scores(accord)[1]["models"]:
        print(f"| {one['model']} | {one['measured']:.3g} | {one['predicted']:.3g} | {one['low']:.2g} .. {one['high']:.2g} |")


def simulate(accord, data, workload, drawn, noises):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("application,noise\n" + "".join(f"{name},{value:g}\n" for name, value in (noises or {}).items()))
        file.flush()
        text = predictions.output([accord, "jobs", "--simulate", f"{data}/pollux/workloads/{workload}.csv", "--profiles", f"{data}/pollux/traces", "--servers", "16x4",
                                   "--policy", "exact_las,learned", "--seeds", "20", "--json", *drawn, *(["--gradient-noise", file.name] if noises else [])])
    return {policy["policy"]: [seed["mean_completion_s"] for seed in policy["seeds"]] for policy in json.loads(text)["policies"]}


def simulations(accord, data):
    same, own = same_for_all("family"), {row["model"]: float(row["noise"]) for row in rows()}
    predicted = {one["model"]: one["predicted"] for one in scores(accord)[1]["models"]}
    assumed = {"none": {name: 0 for name in APPLICATIONS}, "any": {name: 1e12 for name in APPLICATIONS},
               "the same for all": {name: same[name] for name in APPLICATIONS}, "predicted": {name: predicted[name] for name in APPLICATIONS},
               "mean over its training": {name: own[name] for name in APPLICATIONS}, "measured": None}
    for title, workload, drawn in RUNS:
        runs = {name: simulate(accord, data, workload, drawn, noises) for name, noises in assumed.items()}
        for policy in ("exact_las", "learned"):
            for name, found in runs.items():
                cells = []
                for reference in ("predicted", "measured"):
                    changes = [100 * (one / other - 1) for one, other in zip(found[policy], runs[reference][policy])]
                    low, high = predictions.interval(changes)
                    cells.append("" if name == reference else f"{statistics.fmean(changes):+.1f} % ({low:+.1f} .. {high:+.1f})")
                print(f"| {title} | `{policy}` | {name} | {statistics.fmean(found[policy]):,.0f} s | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["predictions", "simulations"])
    parser.add_argument("--accord", default=str(ROOT / "build/bin/accord"))
    parser.add_argument("--data", default=os.environ.get("ACCORD_DATA", str(ROOT.parent / "shared/data")))
    given = parser.parse_args()
    if given.what == "predictions":
        print_predictions(given.accord)
    else:
        simulations(given.accord, given.data)


if __name__ == "__main__":
    sys.exit(main())
