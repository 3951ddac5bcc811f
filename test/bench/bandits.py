#!/usr/bin/env python3
"""The tables of "A bandit over the planner's parameters" and "Regret" in docs/learning.md.

    python3 test/bench/bandits.py changes [--accord build/bin/accord] [--data ../shared/data]    # against `learned`, 20 seeds
    python3 test/bench/bandits.py curves       # regret against `exact`, with and without the history of another cluster

Each row of `changes` simulates the same drawn jobs under both policies, and ends with the processor time of all. `curves` prints, for each policy, the change of the mean
completion of the jobs that arrived first against `exact`, which knows the work, the regret of all jobs in hours, and after how many
jobs the mean is within 2 %. Rows with a history have the work of the jobs of another trace: all of it, that without one family of
applications, or that of other applications. Each table takes some ten minutes.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pollux(data, workload, *more):
    return ["--simulate", f"{data}/pollux/workloads/workload-{workload}.csv", "--profiles", f"{data}/pollux/traces", "--servers", "16x4", *more]


def gavel(data, trace, devices, *more):
    servers = ",".join(f"{name}={count}x1" for name, count in zip(("v100", "p100", "k80"), devices))
    return ["--simulate", f"{data}/gavel/traces/{trace}.trace", "--profiles", f"{data}/gavel/physical_cluster_throughputs.json", "--servers", servers, *more]


def document(accord, arguments):
    run = subprocess.run([accord, "jobs", *arguments, "--json"], capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout)


def percent(interval):
    return f"{100 * interval['mean']:+.1f} % ({100 * interval['low']:+.1f} .. {100 * interval['high']:+.1f})"


def changes(accord, data):
    week = ROOT / "examples/14-week/week.csv"
    rows = [("Pollux 1, 160 jobs", pollux(data, 1, "--draw", "160")), ("Pollux 2, 160 jobs", pollux(data, 2, "--draw", "160")),
            ("Pollux 3, 160 jobs, load 1.5", pollux(data, 3, "--draw", "160", "--load", "1.5")),
            ("Pollux 4, 160 jobs, load 0.6", pollux(data, 4, "--draw", "160", "--load", "0.6")),
            ("Gavel, 96 jobs, 8 / 16 / 24", gavel(data, "max_min_fairness", (8, 16, 24), "--draw", "96")),
            ("Gavel medium, 96 jobs, 4 / 4 / 4", gavel(data, "medium_test", (4, 4, 4), "--draw", "96")),
            ("Gavel, 192 jobs, 8 / 8 / 8", gavel(data, "max_min_fairness", (8, 8, 8), "--draw", "192")),
            ("the log of `examples/14-week`, 150 jobs", ["--simulate", str(week), "--servers", "16x4", "--draw", "150"])]
    for name, trace in rows:
        started = os.times()
        found = document(accord, [*trace, "--policy", "learned,bandit", "--seeds", "20", "--reference", "learned"])
        change = found["policies"][1]["change"]
        print(f"| {name} | {percent(change)} {change['shown']} | {os.times().children_user - started.children_user:.0f} s |", flush=True)


def jobs(parity, key):
    return str(parity.get(key, "never"))


def curves(accord, data):
    with tempfile.TemporaryDirectory() as folder:
        def history(name, trace, leftOut=()):
            path = f"{folder}/{name}.csv"
            document(accord, [*trace, "--policy", "fifo" if "gavel" in trace[1] else "tiresias", "--write-history", path])
            with open(path, encoding="utf-8") as file:
                rows = list(csv.reader(file))
            with open(path, "w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(row for row in rows if not any(row and row[0].startswith(family) for family in leftOut))
            return path
        ofPollux = history("pollux", pollux(data, 1))
        ofGavel = history("gavel", gavel(data, "max_min_fairness", (8, 16, 24)))
        cases = [("Pollux 2, 80 jobs, load 2", pollux(data, 2, "--draw", "80", "--load", "2"),
                  [("Pollux 1", ofPollux), ("Pollux 1 without cifar10", history("noCifar", pollux(data, 1), ("cifar10",))), ("Gavel, 8 / 16 / 24", ofGavel)]),
                 ("Gavel medium, 48 jobs, 4 / 4 / 4", gavel(data, "medium_test", (4, 4, 4), "--draw", "48"),
                  [("Gavel, 8 / 16 / 24", ofGavel), ("the same without ResNet", history("noResNet", gavel(data, "max_min_fairness", (8, 16, 24)), ("ResNet",))),
                   ("Pollux 1", ofPollux)]),
                 ("Gavel medium, 48 jobs, 8 / 8 / 8", gavel(data, "medium_test", (8, 8, 8), "--draw", "48"), [("Gavel, 8 / 16 / 24", ofGavel)])]
        for name, trace, histories in cases:
            for number, (origin, path) in enumerate(histories):
                policies = ("exact_las,sia,pollux_objective," if number == 0 else "") + "learned,bandit,exact"
                found = document(accord, [*trace, "--policy", policies, "--seeds", "20", "--reference", "exact", "--curve", "--history", path])
                for regret in found["regrets"]:
                    isLearned = regret["policy"] in ("learned", "bandit")
                    if number > 0 and not isLearned:
                        continue
                    points = regret["points"]
                    shown = [percent(points[len(points) * quarter // 4 - 1]["change"]) for quarter in (1, 2, 4)]
                    total, parity = points[-1]["regret_s"], regret["parity"]
                    policy = regret["policy"].replace(" new", "")
                    against = regret["reference"] + (", the best fixed" if regret["is_best_fixed"] else "")
                    print(f"| {name} | `{policy}` | {origin if isLearned else '–'} | {against} | " + " | ".join(shown) +
                          f" | {total['mean'] / 3600:+,.1f} h ({total['low'] / 3600:+,.1f} .. {total['high'] / 3600:+,.1f}) | "
                          f"{jobs(parity, 'jobs')} ({jobs(parity, 'low')} .. {jobs(parity, 'high')}) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["changes", "curves"])
    parser.add_argument("--accord", default=str(ROOT / "build/bin/accord"))
    parser.add_argument("--data", default=os.environ.get("ACCORD_DATA", str(ROOT.parent / "shared/data")))
    given = parser.parse_args()
    {"changes": changes, "curves": curves}[given.what](given.accord, given.data)


if __name__ == "__main__":
    main()
