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


def plan():
    """All runs, cheap ones and those of the first seeds first."""
    out = []
    for seed in range(SEEDS):
        for optimizer in ("adam", "sgd"):
            for rate in RATES[optimizer]:
                for batch in BATCHES:
                    out.append((optimizer, "standard", "constant", 128, batch, rate, seed))
                for width in WIDTHS:
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


if __name__ == "__main__" and sys.argv[1] == "measure":
    measure(sys.argv[2])
