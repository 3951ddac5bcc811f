#!/usr/bin/env python3
"""The tables of "Throughput of models never measured" in docs/learning.md.

    python3 test/bench/predictions.py rates [--accord build/bin/accord] [--data ../shared/data]
    python3 test/bench/predictions.py simulations     # measured against predicted speeds, 20 seeds, paired (some minutes)
    python3 test/bench/predictions.py steps           # models, families, sources left out (ten minutes)

`rates` and `steps` print what `accord calibrate --rates` and `accord calibrate --accuracy=unseen` do. `simulations` replays the same
drawn jobs twice and prints by how much the mean completion grows where policies know no more than predicted speeds, with
the bootstrap interval of 95 % over seeds.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREE = [part for name in ("v100", "p100", "k80") for part in ("--where", f"type={name}")]
CLUSTERS = [("96 jobs, 8 / 16 / 24", "max_min_fairness", "v100=8x1,p100=16x1,k80=24x1", 96, "exact_las,exact,learned,sia,pollux_objective,tenant_fairness"),
            ("medium, 96 jobs, 4 / 4 / 4", "medium_test", "v100=4x1,p100=4x1,k80=4x1", 96, "exact_las,sia"),
            ("192 jobs, 8 / 8 / 8", "max_min_fairness", "v100=8x1,p100=8x1,k80=8x1", 192, "exact_las,sia")]


def output(command):
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return run.stdout


def rates(accord, data):
    """Tables of left-out rates: all rows, and by family."""
    inputs = [("Gavel, measured on its cluster, one device", "physical_cluster_throughputs.json", THREE + ["--where", "devices=1"]),
              ("Gavel, measured on its cluster, 1 to 8 devices", "physical_cluster_throughputs.json", THREE),
              ("Gavel, for its simulator, 1 to 8 devices", "simulation_throughputs.json", THREE)]
    inputs = [(name, f"{data}/gavel/{file}", where) for name, file, where in inputs] + [("Pollux", f"{data}/pollux/traces", [])]
    for name, table, where in inputs:
        for scored in json.loads(output([accord, "calibrate", "--rates", table, *where, "--json"]))["tables"]:
            for group in scored["groups"]:
                print(f"| {name}: {scored['title']} | {group['name']} | {group['rows']} | {100 * group['mean_error']:.1f} % | "
                      f"{100 * group['median_error']:.1f} % | {100 * group['coverage']:.1f} % | {group['interval_ratio']:.1f} |")


def interval(changes, draws=4000):
    """The bootstrap interval of 95 % of a mean."""
    chance = random.Random(0)
    means = sorted(statistics.fmean(chance.choices(changes, k=len(changes))) for _ in range(draws))
    return means[draws * 25 // 1000], means[draws * 975 // 1000]


def simulations(accord, data):
    for name, trace, servers, jobs, policies in CLUSTERS:
        runs = []
        for speeds in ("measured", "predicted"):
            text = output([accord, "jobs", "--simulate", f"{data}/gavel/traces/{trace}.trace", "--profiles", f"{data}/gavel/physical_cluster_throughputs.json",
                           "--servers", servers, "--policy", policies, "--speeds", speeds, "--draw", str(jobs), "--seeds", "20", "--json"])
            runs.append({policy["policy"]: [seed["mean_completion_s"] for seed in policy["seeds"]] for policy in json.loads(text)["policies"]})
        for policy, known in runs[0].items():
            changes = [100 * (predicted / measured - 1) for measured, predicted in zip(known, runs[1][policy])]
            low, high = interval(changes)
            print(f"| {name} | `{policy}` | {statistics.fmean(known):,.0f} s | {statistics.fmean(runs[1][policy]):,.0f} s | "
                  f"{statistics.fmean(changes):+.1f} % ({low:+.1f} .. {high:+.1f}) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rates", "simulations", "steps"])
    parser.add_argument("--accord", default=str(ROOT / "build/bin/accord"))
    parser.add_argument("--data", default=os.environ.get("ACCORD_DATA", str(ROOT.parent / "shared/data")))
    given = parser.parse_args()
    if given.what == "steps":
        print(output([given.accord, "calibrate", f"{given.data}/../reference/training-times.csv", "--accuracy=unseen"]))
    else:
        {"rates": rates, "simulations": simulations}[given.what](given.accord, given.data)


if __name__ == "__main__":
    main()
