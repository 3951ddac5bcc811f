#!/usr/bin/env python3
"""Tunings of servers on drawn surfaces: how often progress was below the floor, and what was gained.

usage: servers.py ACCORD [--surfaces 50] [--first 0] [--deviation 0.02]

Families of surfaces, each over power cap, loader workers, prefetch depth and bucket; the baseline is drawn, too:
  model    drawn from the prior of the tuner itself: what its confidence speaks of
  smooth   drawn from a process that changes twice as fast (squared exponential, 1.0 of the range, 20 %)
  loader   the recursion of a bounded queue with workers and prefetch, the clock under a power cap, the best bucket
  cliff    the same, and beyond a memory that is drawn the program dies
  rough    drawn from a process that changes six times as fast (0.35 of the range, 25 %): the model is wrong
For each: runs with an interval below the floor (limits of Clopper and Pearson), such intervals, failures, the gain of the
setting that stays over the baseline, the share of the largest gain, progress meanwhile; intervals are bootstraps over
surfaces. numpy is needed.
"""
import argparse
import csv
import itertools
import json
import math
import os
import subprocess
import tempfile

import numpy as np

CAPS, WORKERS, PREFETCH, BUCKETS = np.arange(200, 401, 25), np.arange(1, 9), np.arange(1, 7), 2.0 ** np.arange(20, 28)
GRID = list(itertools.product(CAPS, WORKERS, PREFETCH, BUCKETS))
CUBE = np.array([[(c - 200) / 200, (w - 1) / 7, (p - 1) / 5, (math.log2(b) - 20) / 7] for c, w, p, b in GRID])

STEPS = np.array([8, 7, 5, 7])  # of each


def matern(a, b, length):
    r = math.sqrt(5) * np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(2)) / length
    return (1 + r + r * r / 3) * np.exp(-r)


def drawn(random, kernel):
    """A process on the grid, by its values on a coarser one of 4 x 4 x 4 x 4 points and the conditional mean between."""
    coarse = np.array(list(itertools.product(np.linspace(0, 1, 4), np.linspace(0, 1, 4), np.linspace(0, 1, 4), np.linspace(0, 1, 4))))
    covariance = kernel(coarse, coarse) + 1e-8 * np.eye(len(coarse))
    factor = np.linalg.cholesky(covariance)
    weights = np.linalg.solve(factor.T, random.standard_normal(len(coarse)))
    return np.concatenate([kernel(part, coarse) @ weights for part in np.array_split(CUBE, 8)])


def dynamic(clock):
    return clock * max(.8, 1 - 1.75 * (1 - clock)) ** 2


def clock_at(power):
    """The clock under a share of the dynamic power, by the law of docs/power.md."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if dynamic(middle) <= power else (low, middle)
    return low if power < 1 else 1.0


def step_time(load, copy, compute, depth, factors):
    """Lindley's recursion of a queue with `depth` host buffers and two on the device (docs/dlrm.md)."""
    loaded, copied, done = [0.0], [0.0], [0.0]
    for n, factor in enumerate(factors, 1):
        loaded.append(max(loaded[n - 1], copied[n - depth] if n >= depth else 0) + load * factor)
        copied.append(max(loaded[n], copied[n - 1], done[n - 2] if n >= 2 else 0) + copy)
        done.append(max(copied[n], done[n - 1]) + compute)
    half = len(factors) // 2
    return (done[-1] - done[half]) / (len(factors) - half)


def loader(random, has_cliff):
    compute, copy, active = random.uniform(.1, .2), random.uniform(.005, .03), random.uniform(280, 400)
    load, variation = random.uniform(.2, 1), random.uniform(.1, .6)
    best, slope = random.uniform(20, 27), random.uniform(.02, .08)
    memory = random.uniform(12, 40) if has_cliff else math.inf
    sigma = math.sqrt(math.log(1 + variation ** 2))
    factors = np.exp(random.standard_normal(300) * sigma - sigma * sigma / 2)
    clocks = {c: clock_at(min(1, (c - 60) / (active - 60))) for c in CAPS}
    steps = {}
    for c, w, p in itertools.product(CAPS, WORKERS, PREFETCH):
        steps[c, w, p] = step_time(load / w, copy, compute / clocks[c], int(p), factors)
    rates = [0 if w * p > memory else 256 / (steps[c, w, p] + slope * compute * abs(math.log2(b) - best)) for c, w, p, b in GRID]
    return np.array(rates), [min(c, active) for c, _, _, _ in GRID]


def surface(family, number):
    random = np.random.default_rng([number, sum(map(ord, family))])
    if family == "model":
        return 1000 * np.exp(.15 * drawn(random, lambda a, b: matern(a * STEPS, b * STEPS, 16))), None, random
    if family in ("smooth", "rough"):
        signal, length = (.2, 1.0) if family == "smooth" else (.25, .35)
        waves, phases, sizes = random.standard_normal((200, 4)) / length, random.uniform(0, 2 * math.pi, 200), random.standard_normal(200)
        return 1000 * np.exp(signal * math.sqrt(2 / 200) * np.cos(CUBE @ waves.T + phases) @ sizes), None, random
    rates, watts = loader(random, family == "cliff")
    return rates, watts, random


def run(accord, folder, family, number, deviation):
    rates, watts, random = surface(family, number)
    alive = np.flatnonzero(rates > 0)
    c, w, p, b = GRID[random.choice(alive)]
    with open(os.path.join(folder, "t.csv"), "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["power_cap", "loader_workers", "prefetch", "bucket", "samples_per_second", "deviation"])
        for row, rate in zip(GRID, rates):
            table.writerow([f"{row[0]} W", row[1], row[2], f"{row[3]:.0f} B", f"{rate:.9g}" if rate > 0 else "", deviation])
    with open(os.path.join(folder, "t.dnn"), "w", encoding="utf-8") as file:
        file.write("tuning t {\n  server { power_cap = 200 W..400 W step 25 W, loader_workers = 1..8, prefetch = 1..6, bucket = log(1 MiB..128 MiB) }\n"
                   f"  baseline {{ power_cap = {c} W, loader_workers = {w}, prefetch = {p}, bucket = {b / 2 ** 20:.0f} MiB }}\n"
                   "  maximize samples_per_second\n}\n")
    done = subprocess.run([accord, "tune", "t.dnn", "--table", "t.csv", "--seed", str(number), "--compare", "all", "--json"], cwd=folder,
                          capture_output=True, text=True, check=True)
    base = rates[GRID.index((c, w, p, b))]
    return {one["name"]: one for one in json.loads(done.stdout)["compared"]}, rates.max() / base - 1


def bootstrap(values):
    values = np.array(values)
    means = values[np.random.default_rng(0).integers(0, len(values), (10_000, len(values)))].mean(1)
    return f"{100 * values.mean():+.1f} % ({100 * np.quantile(means, .025):+.1f} .. {100 * np.quantile(means, .975):+.1f})"


def limits(count, of):
    """Clopper's and Pearson's limits of 95 %, by bisection on the binomial distribution."""
    def tail(k, p):  # of at most k
        return sum(math.comb(of, i) * p ** i * (1 - p) ** (of - i) for i in range(k + 1))

    def solve(holds):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low
    low = 0 if count == 0 else solve(lambda p: 1 - tail(count - 1, p) < .025)
    high = 1 if count == of else solve(lambda p: tail(count, p) > .025)
    return f"{count} of {of} ({100 * low:.0f} .. {100 * high:.0f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accord")
    parser.add_argument("--surfaces", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--deviation", type=float, default=.02)
    parser.add_argument("--families", default="model,smooth,loader,cliff,rough")
    options = parser.parse_args()
    accord = os.path.abspath(options.accord)
    print("| surfaces | strategy | runs below the floor | intervals below, of 40 | died | gain | of the largest | progress meanwhile |\n|---|---|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for family in options.families.split(","):
            runs = [run(accord, folder, family, options.first + i, options.deviation) for i in range(options.surfaces)]
            for name in ("safe", "unsafe", "random"):
                mine = [one[name] for one, _ in runs]
                largest = sum(best for _, best in runs)
                print(f"| {family} | {name} | {limits(sum(one['runs_below'] for one in mine), len(runs))} | "
                      f"{sum(one['below'] for one in mine) / len(runs):.2f} | {sum(one['failures'] for one in mine) / len(runs):.2f} | "
                      f"{bootstrap([one['gain']['mean'] for one in mine])} | {100 * sum(one['gain']['mean'] for one in mine) / largest:.0f} % | "
                      f"{bootstrap([one['progress']['mean'] for one in mine])} |", flush=True)


if __name__ == "__main__":
    main()
