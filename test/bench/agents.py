#!/usr/bin/env python3
"""The table of agents in docs/mining.md: strategies of `accord mine` on one space at equal evaluations, several seeds.

usage: test/bench/agents.py --work FOLDER [--file test/bench/full_stack.dnn] [--evaluations 40] [--seeds 3] [--strategy NAME]...

Each strategy evaluates as many designs with each seed, on a problem made anew, without bounds that guide it. Said is the
step of the best design in seconds: the mean over seeds, the least and the largest, and the processor time of one run. What
found no design is left out of the mean and counted beside it.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys

import mining

AGENTS = ["random", "annealing", "genetic", "bayes"]


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def best(asked, strategy, seed):
    """The value of the best design, or None; and processor seconds."""
    before = spent()
    command = [str(mining.ACCORD), "mine", str(asked.file), "--json", "-o", str(asked.work / "out"), "--strategy", strategy,
               "--evaluations", str(asked.evaluations), "--seed", str(seed), "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{strategy}: {done.stderr[:500]}")
    return json.loads(done.stdout)["search"]["value"], spent() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--file", type=pathlib.Path, default=pathlib.Path("test/bench/full_stack.dnn"))
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--strategy", action="append")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    print("| strategy | step: mean over seeds (least to largest), s | seeds that found none | processor time of a run, s |\n|---|--:|--:|--:|")
    for strategy in asked.strategy or AGENTS:
        runs = [best(asked, strategy, seed) for seed in range(1, asked.seeds + 1)]
        values = [value for value, _ in runs if value is not None]
        said = f"{statistics.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else "-"
        print(f"| {strategy} | {said} | {len(runs) - len(values)} | {statistics.mean(time for _, time in runs):.1f} |", flush=True)


if __name__ == "__main__":
    main()
