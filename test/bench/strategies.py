#!/usr/bin/env python3
"""The table of strategies in docs/mining.md: fresh spaces of spaces.py, many seeds, intervals.

usage: test/bench/strategies.py --work FOLDER [--spaces 20] [--seeds 20] [--first 500] [--minutes 20] [--model NAME]...
       test/bench/strategies.py --work FOLDER --table       the table of what is in FOLDER/rows.csv

Each space is mined by `exact` until its best design is proven. Then each other strategy has as much processor time, on a
problem made anew; strategies that draw at random have it with each seed. What a strategy had after as many evaluated
designs as `exact` took is read from the same runs. `wham` also runs once until it ends by itself. `--model` takes models
of mining.py on tpu_like_space instead of drawn spaces. Rows are added to FOLDER/rows.csv, seed by seed, and those that are
there are not run again; after `--minutes` of processor time no other run begins. Intervals are of the mean over spaces: the
2.5th and 97.5th percentile of 2,000 bootstrap samples of spaces and, within them, of seeds, drawn with seed 1.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import resource
import subprocess
import sys

import mining
import spaces

DRAWN = ["annealing", "random", "bayes"]
SIZES = [1e3, 3e3, 1e4, 3e4]
MODELS = {"edge": ["tc_resnet8", "vit_b_16", "mobilenet_v2"], "mobile": ["tc_resnet8", "vit_b_16", "mobilenet_v3_large"]}
LARGE = ["bert_base", "gpt2_small", "vit_l_16", "bert_large", "resnet50"]
COLUMNS = ["space", "designs", "proven", "strategy", "seed", "minimum", "evaluations", "seconds", "value", "value_evaluations"]


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def mine(path, folder, *words):
    command = [str(mining.ACCORD), "mine", str(path), "--json", "-o", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{path}: {done.stderr[:300]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def drawn(asked):
    """Path, name and number of designs of each space."""
    chosen = random.Random(f"strategies {asked.first}")
    for i in range(asked.spaces):
        family = list(spaces.FAMILIES)[i % len(spaces.FAMILIES)]
        model = chosen.choice(MODELS.get(family, LARGE))
        path, size = spaces.write(asked.work, family, asked.first + i, SIZES[i % len(SIZES)], model)
        yield path, f"{path.stem} {model}", size, []


def catalogued(asked):
    for name, file, model, batch, microbatches, optimizer in mining.MODELS:
        if name in asked.model:
            path = asked.work / f"{model}.dnn"
            path.write_text(f'import "catalog/{file}"\ntrain step = {model}() on tpu_like {{ batch = {batch}, precision = mixed(bf16), '
                            f"optimizer = {optimizer}, search {{ microbatch = {{{microbatches}}}}} }}\n", encoding="utf-8")
            yield path, name, 76800, ["--space", "tpu_like_space"]


def after(search, evaluations):
    """The least value after so many evaluated designs; infinite: none."""
    values = [moment["incumbent"] for moment in search["convergence"] if moment["evaluations"] <= evaluations and moment["incumbent"] is not None]
    return min(values, default=math.inf)


def found(value):
    return math.inf if value is None else value


def run(path, folder, seed, space):
    """Rows of all strategies with one seed; those that draw nothing have them of seed 1 alone."""
    others = DRAWN + (["wham", "phaze"] if seed == 1 else [])
    answer = mine(path, folder, *space, "--compare=time", "--strategies", ",".join(others), "--seed", str(seed))
    if answer is None:
        return
    exact = answer["search"]
    for search in [exact] * (seed == 1) + [other["search"] for other in answer["compared"]]:
        yield {"proven": int(exact["is_optimal"]), "strategy": search["strategy"], "seed": seed, "minimum": exact["value"],
               "evaluations": search["evaluations"], "seconds": round(search["processor_s"], 4), "value": found(search["value"]),
               "value_evaluations": after(search, exact["evaluations"])}
    if seed == 1:
        alone = mine(path, folder, *space, "--strategy", "wham")["search"]
        yield {"proven": int(exact["is_optimal"]), "strategy": "wham to its end", "seed": seed, "minimum": exact["value"],
               "evaluations": alone["evaluations"], "seconds": 0, "value": found(alone["value"]), "value_evaluations": found(alone["value"])}


def above(row, column):
    """Share above the minimum; one that found nothing counts as twice it."""
    return min(float(row[column]) / float(row["minimum"]) - 1, 1.0)


def interval(by_space, draws):
    """Mean over spaces of means over seeds, with its bootstrap interval, in percent."""
    def mean(values):
        return sum(values) / len(values)
    means = []
    for _ in range(2000):
        means.append(mean([mean(draws.choices(one, k=len(one))) for one in draws.choices(by_space, k=len(by_space))]))
    means.sort()
    return f"{100 * mean([mean(one) for one in by_space]):.1f} ({100 * means[50]:.1f} to {100 * means[1949]:.1f})"


def table(rows):
    rows = [row for row in rows if row["proven"] == "1"]
    if not rows:
        sys.exit("error: no space was proven")
    number = len({row["space"] for row in rows})
    seeds = len({row["seed"] for row in rows})
    print(f"{number} spaces, {min(int(row['designs']) for row in rows):,} to {max(int(row['designs']) for row in rows):,} designs, {seeds} seeds\n")
    print("| strategy | equal time: above the minimum, % | minimum found, % | equal evaluations: above the minimum, % | minimum found, % |")
    print("|---|--:|--:|--:|--:|")
    for strategy in ["exact", "wham", "wham to its end", "annealing", "bayes", "random", "phaze"]:
        cells = []
        for column in ["value", "value_evaluations"]:
            by_space = {}
            for row in rows:
                if row["strategy"] == strategy:
                    by_space.setdefault(row["space"], []).append(above(row, column))
            if not by_space:
                break
            hits = [[float(one < 1e-9) for one in of] for of in by_space.values()]
            cells += [interval(list(by_space.values()), random.Random(1)), interval(hits, random.Random(1))]
        else:
            print(f"| {strategy} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--spaces", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    raw = asked.work / "rows.csv"
    if not asked.table:
        known = set()
        if raw.exists():
            with raw.open(encoding="utf-8") as file:
                known = {(row["space"], row["seed"]) for row in csv.DictReader(file)}
        else:
            raw.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
        all_spaces = list(catalogued(asked) if asked.model else drawn(asked))
        for seed in range(1, asked.seeds + 1):
            for path, name, size, space in all_spaces:
                if (name, str(seed)) in known or spent() > 60 * asked.minutes:
                    continue
                with raw.open("a", encoding="utf-8") as file:
                    for row in run(path, asked.work / "out", seed, space):
                        csv.DictWriter(file, COLUMNS).writerow({"space": name, "designs": size, **row})
    with raw.open(encoding="utf-8") as file:
        table(list(csv.DictReader(file)))


if __name__ == "__main__":
    sys.exit(main())
