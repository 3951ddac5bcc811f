#!/usr/bin/env python3
"""What rules of scaling bring: the best learning rate by width and batch, and tunings that are carried to a larger size.

    python3 scaling.py measure RUNS.csv          # trains the perceptron of examples/22-sizes (numpy, minutes; goes on)
    python3 scaling.py optima RUNS.csv           # the best learning rate of each width and batch
    python3 scaling.py transfer RUNS.csv ACCORD  # small tunings carried to large sizes, against tunings there

A run is a training of ten epochs; its value is the cross-entropy of 450 images that were held out, behind the last one.
Learning rates are in base terms: in the standard parametrization that of all weights, in the maximal update
parametrization that at width 64.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples", "22-sizes"))
import train  # noqa: E402

KEYS = ["optimizer", "parametrization", "schedule", "width", "batch", "rate", "seed"]
WIDTHS, BATCHES, SEEDS, BASE_WIDTH, BASE_BATCH = [64, 128, 256, 512, 1024], [16, 32, 64, 128, 256, 512], 5, 64, 64
RATES = {"adam": [2.0 ** e for e in range(-12, -2)], "sgd": [2.0 ** e for e in range(-8, 2)]}


def rates_of(optimizer, width):
    """Wide networks take long: with SGD the six in the middle, among which the best ones are."""
    return RATES[optimizer] if optimizer == "adam" or width < 512 else RATES[optimizer][2:8]


def plan():
    """All runs, cheap ones and those of the first seeds first."""
    out = []
    for seed in range(SEEDS):
        for optimizer in ("adam", "sgd"):
            for rate in RATES[optimizer]:
                for batch in BATCHES:
                    out.append((optimizer, "standard", "constant", 128, batch, rate, seed))
                for width in WIDTHS:
                    if rate not in rates_of(optimizer, width):
                        continue
                    for parametrization in ("standard", "mup") if width > BASE_WIDTH else ("standard",):
                        out.append((optimizer, parametrization, "constant", width, BASE_BATCH, rate, seed))
                        if optimizer == "adam" and width in (BASE_WIDTH, 1024):
                            out.append((optimizer, parametrization, "linear", width, BASE_BATCH, rate, seed))
    return sorted(dict.fromkeys(out), key=lambda run: (run[6], run[3] > 256, run[3] > 512))


def run(optimizer, parametrization, schedule, width, batch, rate, seed, data):
    ratio = width / BASE_WIDTH if parametrization == "mup" else 1.0
    passed = rate / ratio if optimizer == "adam" else rate  # mup(64), mup(64, sgd)
    x, label = data
    network = train.Perceptron(x.shape[1], width, ratio, optimizer, seed)
    random = np.random.default_rng(1000 + seed)
    values = []
    with np.errstate(all="ignore"):
        for _ in range(train.EPOCHS):
            network.epoch(x[:train.TRAINED], label[:train.TRAINED], batch, passed, schedule == "linear",
                          random.permutation(train.TRAINED))
            values.append(network.loss(x[train.TRAINED:], label[train.TRAINED:]))
            if not np.isfinite(values[-1]):
                break
    return values


def read(path):
    runs = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for row in csv.reader(file):
                key = (row[0], row[1], row[2], int(row[3]), int(row[4]), float(row[5]), int(row[6]))
                runs[key] = [float(one) for one in row[7:]]
    return runs


def measure(path):
    known, data = read(path), train.images()
    with open(path, "a", encoding="utf-8", newline="") as file:
        for one in plan():
            if one not in known:
                csv.writer(file).writerow([*one, *run(*one, data)])
                file.flush()


def value(runs, key):
    """Infinite where a training has diverged."""
    values = runs[key]
    return values[-1] if len(values) == train.EPOCHS and np.isfinite(values[-1]) else np.inf


def curve(runs, optimizer, parametrization, width, batch, seed):
    """Values by learning rate, in the order of `rates_of`."""
    return np.array([value(runs, (optimizer, parametrization, "constant", width, batch, rate, seed))
                     for rate in rates_of(optimizer, width)])


def at(values, rates, rate):
    """The value at a rate between those that ran, linear in the logarithm; outside of them that of the nearest."""
    return float(np.interp(np.log2(rate), np.log2(rates), values))


def interval(numbers):
    """A mean over seeds with its interval of 95 % by the bootstrap."""
    numbers = np.array(numbers)
    means = numbers[np.random.default_rng(0).integers(0, len(numbers), (10000, len(numbers)))].mean(1)
    return f"{numbers.mean():.4f} ({np.quantile(means, 0.025):.4f} .. {np.quantile(means, 0.975):.4f})"


def optima(runs):
    seeds = range(1 + max(key[6] for key in runs))
    print(f"{len(seeds)} seeds; log2 of the best learning rate in base terms, mean (min .. max); its value; what the best\n"
          "rate of the base costs there, more than the best one\n")

    def line(name, optimizer, width, curves, bases, factor=1.0):
        rates = rates_of(optimizer, width)
        best = [np.log2(rates[int(one.argmin())]) for one in curves]
        cost = [at(one, rates, RATES[optimizer][int(base.argmin())] * factor) - one.min() for one, base in zip(curves, bases)]
        print(f"{name:34} {np.mean(best):6.1f} ({min(best):5.1f} .. {max(best):5.1f})  "
              f"{np.mean([one.min() for one in curves]):.4f}  {interval(cost)}")

    for optimizer in RATES:
        bases = [curve(runs, optimizer, "standard", BASE_WIDTH, BASE_BATCH, seed) for seed in seeds]
        for parametrization in ("standard", "mup"):
            for width in WIDTHS:
                same = "standard" if width == BASE_WIDTH else parametrization
                curves = [curve(runs, optimizer, same, width, BASE_BATCH, seed) for seed in seeds]
                line(f"{optimizer} {parametrization} width {width}", optimizer, width, curves, bases)
        bases = [curve(runs, optimizer, "standard", 128, BASE_BATCH, seed) for seed in seeds]
        for batch in BATCHES:
            curves = [curve(runs, optimizer, "standard", 128, batch, seed) for seed in seeds]
            for rule, factor in (("none", 1), ("sqrt", (batch / BASE_BATCH) ** 0.5), ("linear", batch / BASE_BATCH)):
                line(f"{optimizer} batch {batch} {rule}", optimizer, 128, curves, bases, factor)


BLOCK = """tuning t {{
  search {{ learning_rate = log({}..{}){} }}
  {}
  units = {}
  probes = 0
  minimize loss
}}
"""


def tune(accord, folder, name, rows, more, scale, options, ends=None):
    """Tunes a table of rows (learning rate in base terms, other cells, values); the value of each trial in its order.

    `ends`: of the learning rates that may be chosen, where these are not those of the table.
    """
    ends = ends or (min(row[0] for row in rows), max(row[0] for row in rows))
    path = os.path.join(folder, name)
    with open(path + ".dnn", "w", encoding="utf-8") as file:
        search = "".join(f", {key} = {{{', '.join(sorted({row[1][key] for row in rows}))}}}" for key in more)
        file.write(BLOCK.format(*ends, search, scale, train.EPOCHS))
    with open(path + ".csv", "w", encoding="utf-8") as file:
        file.write(",".join(["learning_rate", *more, *map(str, range(1, train.EPOCHS + 1))]) + "\n")
        for rate, cells, values in rows:
            shown = [str(one) if np.isfinite(one) else "nan" for one in values]
            shown += [""] * (train.EPOCHS - len(shown))
            file.write(",".join([repr(rate), *(cells[key] for key in more), *shown]) + "\n")
    made = subprocess.run([accord, "tune", path + ".dnn", "--table", path + ".csv", "-o", path, "--json", *options],
                          check=True, capture_output=True, text=True)
    trials = json.loads(made.stdout)["trials"]
    values = [one["reports"][-1]["value"] if len(one["reports"]) == train.EPOCHS else None for one in trials]
    return [np.inf if one is None else one for one in values]


def after(values, count):
    return min(values[:count])


SMALL_TRIALS, LARGE, TUNERS = 16, [1, 2, 4, 8], 5


def widths(runs, accord, folder):
    """From width 64 to 1024 with Adam, of learning rate and schedule: regret after so many large trials."""
    seeds = range(1 + max(key[6] for key in runs))
    regret = {name: [] for name in ("with the rule", "without", "tuned there", "tuned there, mup")}
    for seed in seeds:
        def rows(parametrization, width, seed=seed):
            return [(rate, {"schedule": schedule, "width": str(width)},
                     runs["adam", parametrization, schedule, width, BASE_BATCH, rate, seed])
                    for rate in rates_of("adam", width) for schedule in ("constant", "linear")]
        small, standard, mup = rows("standard", BASE_WIDTH), rows("standard", 1024), rows("mup", 1024)
        best = min(v[-1] for table in (standard, mup) for _, _, v in table
                   if len(v) == train.EPOCHS and np.isfinite(v[-1]))
        lines = {name: [] for name in regret}
        for tuner in range(1, TUNERS + 1):
            few, many = [["--seed", str(tuner), "--trials", str(n)] for n in (SMALL_TRIALS, max(LARGE) + 1)]
            rule, more = f"scale learning_rate {{ width = mup({BASE_WIDTH}) }}", ["schedule", "width"]
            tune(accord, folder, "small", small, more, rule, few)
            tune(accord, folder, "plain", small, more[:1], "", few)
            history = ["--history", os.path.join(folder, "small")], ["--history", os.path.join(folder, "plain")]
            for name, values in (("with the rule", tune(accord, folder, "a", mup, more, rule, many + history[0])),
                                 ("without", tune(accord, folder, "b", standard, more[:1], "", many + history[1])),
                                 ("tuned there", tune(accord, folder, "c", standard, more[:1], "", many)),
                                 ("tuned there, mup", tune(accord, folder, "d", mup, more, rule, many))):
                extra = name.startswith("tuned")  # the small tuning cost less than one large trial
                lines[name].append([after(values, count + extra) - best for count in LARGE])
        for name, per_tuner in lines.items():
            regret[name].append(np.mean(per_tuner, 0))
    print(f"regret at width 1024 after {LARGE} trials there (those tuned there have one more), {len(seeds)} seeds")
    for name, lines in regret.items():
        print(f"{name:20}", "  ".join(interval([line[i] for line in lines]) for i in range(len(LARGE))))
    for name in list(regret)[1:]:
        print(f"{'less than ' + name:30}", "  ".join(
            interval([other[i] - own[i] for own, other in zip(regret["with the rule"], regret[name])])
            for i in range(len(LARGE))))


def noise(optimizer, rate, seed, data):
    """The gradient noise scale, in samples, of a training at the base batch (McCandlish et al., arXiv 1812.06162, appendix A.1).

    The trace of the covariance and the square of the gradient are each summed over the epochs.
    """
    x, label = (one[:train.TRAINED] for one in data)
    network = train.Perceptron(x.shape[1], 128, 1.0, optimizer, seed)
    random, trace, square = np.random.default_rng(1000 + seed), 0.0, 0.0
    for _ in range(train.EPOCHS):
        order = random.permutation(train.TRAINED)
        full = float((network.gradient(x, label).astype(float) ** 2).sum())
        parts = [order[first:first + BASE_BATCH] for first in range(0, train.TRAINED - BASE_BATCH, BASE_BATCH)]
        mean = np.mean([(network.gradient(x[part], label[part]).astype(float) ** 2).sum() for part in parts])
        trace += (mean - full) / (1 / BASE_BATCH - 1 / train.TRAINED)
        square += full
        network.epoch(x, label, BASE_BATCH, rate, False, order)
    return trace / square


def batches(runs, accord, folder):
    """From batch 64 to others at width 128, of the learning rate: regret after the first trials there."""
    seeds, data = range(1 + max(key[6] for key in runs)), train.images()
    for optimizer, rates in RATES.items():
        scales = []
        for seed in seeds:
            base = curve(runs, optimizer, "standard", 128, BASE_BATCH, seed)
            scales.append(noise(optimizer, rates[int(base.argmin())], seed, data))
        print(f"{optimizer}: gradient noise scale at batch {BASE_BATCH}, by seed:", *(f"{one:.0f}" for one in scales))
        for batch in (16, 256, 512):
            for rule in ("none", "sqrt", "linear", "adascale"):
                regret = []
                for seed in seeds:
                    ratio, large = batch / BASE_BATCH, round(scales[seed])
                    gain = ratio * (large + BASE_BATCH) / (large + batch)
                    factor = {"none": 1, "sqrt": ratio ** 0.5, "linear": ratio,
                              "adascale": gain ** 0.5 if optimizer == "adam" else gain}[rule]
                    more = {"adascale": f", {large}{', adam' if optimizer == 'adam' else ''}"}.get(rule, "")

                    def rows(size, scale, seed=seed):
                        return [(rate / scale, {"batch": str(size)},
                                 runs[optimizer, "standard", "constant", 128, size, rate, seed]) for rate in rates]
                    best = curve(runs, optimizer, "standard", 128, batch, seed).min()
                    scale = f"scale learning_rate {{ batch = {rule}({BASE_BATCH}{more}) }}" if rule != "none" else ""
                    keys = ["batch"] if rule != "none" else []
                    tune(accord, folder, "small", rows(BASE_BATCH, 1), keys, scale, ["--trials", str(len(rates))])
                    ends = (min(rates) * min(1, 1 / factor), max(rates) * max(1, 1 / factor))  # of both tables
                    values = tune(accord, folder, "large", rows(batch, factor), keys, scale,
                                  ["--trials", "3", "--history", os.path.join(folder, "small")], ends)
                    regret.append([after(values, count) - best for count in (1, 3)])
                print(f"{optimizer} batch {batch} {rule:9}", "  ".join(interval([one[i] for one in regret]) for i in (0, 1)))


def complete(runs):
    """Those of seeds of which all ran."""
    wanted = plan()
    done = [seed for seed in range(SEEDS) if all(one in runs for one in wanted if one[6] == seed)]
    return {key: values for key, values in runs.items() if key[6] in done}


def main():
    if sys.argv[1] == "measure":
        return measure(sys.argv[2])
    runs = complete(read(sys.argv[2]))
    if sys.argv[1] == "optima":
        return optima(runs)
    with tempfile.TemporaryDirectory() as folder:
        widths(runs, sys.argv[3], folder)
        batches(runs, sys.argv[3], folder)


if __name__ == "__main__":
    main()
