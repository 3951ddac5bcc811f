#!/usr/bin/env python3
"""Tunings of LCBench's surrogate: which quality after how many trials, and how long until then.

usage: tuning.py tables MODEL.onnx FOLDER [--rows 2000]     tables for accord tune, one for each data set (onnxruntime, numpy)
       tuning.py quality FOLDER [--seeds 5] [--optuna]      regret after trials; with --optuna also of Optuna's samplers
       tuning.py time FOLDER [--seeds 5] [--devices 8] [--proposals priced] [--stops both]
           time to the quality of ASHA, joint (with these proposals and stops) and over fixed allocations (without)

MODEL.onnx is lcbench/model.onnx of YAHPO Gym (slds-lmu/yahpo_data, Apache-2.0), a surrogate of 34 data sets whose trainings
of 2,000 configurations and 52 epochs were recorded (Zimmer et al., Auto-PyTorch Tabular, 2021). Even data sets, by their order,
are held out: no default was chosen on them. How trials scale and share a device are measured rates of Gavel (V100).
"""
import argparse
import csv
import json
import math
import os
import subprocess
import tempfile

SETS = ["126025", "126026", "126029", "146212", "167104", "167149", "167152", "167161", "167168", "167181", "167184", "167185",
        "167190", "167200", "167201", "168329", "168330", "168331", "168335", "168868", "168908", "168910", "189354", "189862",
        "189865", "189866", "189873", "189905", "189906", "189908", "189909", "34539", "3945", "7593"]
CODES = dict(zip(SETS, [1, 2, 3, 4] + list(range(6, 36))))  # of the surrogate: 5 is a data set that it leaves out
EPOCHS = 52
SPACE = [("batch_size", 16, 512, "log", int), ("learning_rate", 1e-4, .1, "log", float), ("momentum", .1, .99, "", float),
         ("weight_decay", 1e-5, .1, "", float), ("num_layers", 1, 5, "", int), ("max_units", 64, 1024, "log", int),
         ("max_dropout", 0, 1, "", float)]
PROFILES = {  # speeds on several devices, and of each of two on one
    "resnet50-64": ("{2: 1.80, 4: 2.15, 8: 3.94}", ""),
    "transformer-128": ("{2: 1.85, 4: 2.6, 8: 5.67}", "{2: 0.672}"),
    "resnet18-128": ("{2: 1.33, 4: 3.89, 8: 8}", "{2: 0.78}"),
    "lm-20": ("{2: 2, 8: 7.68}", "{2: 0.653}"),
}


def write_tables(model, folder, rows):
    import numpy as np
    import onnxruntime
    session = onnxruntime.InferenceSession(model)
    os.makedirs(folder, exist_ok=True)
    for name in SETS:
        random = np.random.default_rng(int(name))

        def log(low, high):
            return np.exp(random.uniform(math.log(low), math.log(high), rows))
        columns = {"batch_size": np.round(log(16, 512)).astype(int), "learning_rate": log(1e-4, .1),
                   "momentum": random.uniform(.1, .99, rows), "weight_decay": random.uniform(1e-5, .1, rows),
                   "num_layers": random.integers(1, 6, rows), "max_units": np.round(log(64, 1024)).astype(int),
                   "max_dropout": random.uniform(0, 1, rows)}
        epoch = np.tile(np.arange(1, EPOCHS + 1), rows)
        numbers = np.stack([epoch] + [np.repeat(columns[key[0]], EPOCHS) for key in SPACE], 1).astype(np.float32)
        kinds = np.full((len(epoch), 1), CODES[name], np.int32)
        said = session.run(None, {"x_cat": kinds, "x_cont": numbers})[0].reshape(rows, EPOCHS, 6)
        with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8") as file:
            file.write(",".join([key[0] for key in SPACE] + ["seconds"] + [str(e) for e in range(1, EPOCHS + 1)]) + "\n")
            for row in range(rows):
                cells = [repr(columns[key[0]][row].item()) for key in SPACE]
                cells += ["%.4g" % max(said[row, -1, 0] / EPOCHS, .01)] + ["%.5g" % value for value in said[row, :, 1]]
                file.write(",".join(cells) + "\n")


def read_table(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [float(r[7]) for r in rows], [[float(v) for v in r[8:]] for r in rows]


def block(folder, probes, unit, profile, stops="halving"):
    lines = []
    for name, low, high, kind, of in SPACE:
        ends = f"{low}..{high}"
        lines.append(f"{name} = " + (f"log({ends})" if kind else ends if of is int else f"real({ends})"))
    speed, shared = PROFILES[profile]
    text = "tuning t {\n search {\n  " + "\n  ".join(lines) + "\n }\n units = 1..52\n trials = 100\n"
    text += f" probes = {probes}\n unit = {unit} s\n restart = {unit / 5} s\n speed = {speed}\n"
    text += (f" shared = {shared}\n" if shared else "") + f" stops = {stops}\n maximize accuracy\n}}\n"
    path = os.path.join(folder, f"{probes}-{profile}-{stops}.dnn")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def tune(file, table, *options):
    program = os.environ.get("ACCORD", "accord")
    done = subprocess.run([program, "tune", file, "--table", table, "--json", *map(str, options)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def bootstrap(values, draws=2000):
    import random
    source = random.Random(1)
    means = sorted(sum(source.choice(values) for _ in values) / len(values) for _ in range(draws))
    return sum(values) / len(values), means[int(.025 * draws)], means[int(.975 * draws)]


def regret_curve(document, best, median, trials):
    """Regret when so many trials have begun, as a share of the distance from the median to the best of the table."""
    starts = sorted(min(s["start_s"] for s in document["segments"] if s["trial"] == i)
                    for i in range(len(document["trials"])))
    out = []
    for count in trials:
        until = starts[count] if count < len(starts) else math.inf
        values = [one["value"] for one in document["incumbents"] if one["time_s"] <= until]
        out.append((best - values[-1]) / (best - median) if values else 1)
    return out


def quality(folder, seeds, with_optuna):
    trials = (25, 50, 100)
    ways = {"ASHA": (0, "random", False), "BOHB": (0, "density", False), "accord": (8, "density", False),
            "accord, with histories": (8, "density", True)}
    regrets = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as work:
        histories = {}
        for name in SETS:
            table = os.path.join(folder, name + ".csv")
            histories[name] = os.path.join(work, name)
            tune(block(work, 8, 1, "resnet50-64"), table, "--sharing", "fixed:1", "--seed", 77, "-o", histories[name])
        for name in SETS[1::2]:
            table = os.path.join(folder, name + ".csv")
            best = sorted(max(values) for values in read_table(table)[1])
            for way, (probes, proposals, has_history) in ways.items():
                others = [o for other in SETS if other != name for o in ("--history", histories[other])][:20]
                for seed in range(1, seeds + 1):
                    document = tune(block(work, probes, 1, "resnet50-64"), table, "--sharing", "fixed:1", "--proposals",
                                    proposals, "--seed", seed, *(others if has_history else []))
                    regrets[way].append((regret_curve(document, best[-1], best[len(best) // 2], trials), document["units"]))
    if with_optuna:
        for kind in ("random-asha", "tpe-asha", "tpe-hyperband"):
            regrets["Optuna " + kind] = [optuna_run(os.path.join(folder, name + ".csv"), kind, seed, trials)
                                         for name in SETS[1::2] for seed in range(1, seeds + 1)]
    print("| tuning | regret after " + " | ".join(map(str, trials)) + " trials | units |")
    for way, runs in regrets.items():
        cells = ["%.3f (%.3f .. %.3f)" % bootstrap([run[0][i] for run in runs]) for i in range(len(trials))]
        print(f"| {way} | " + " | ".join(cells) + f" | {sum(run[1] for run in runs) / len(runs):.0f} |")


def optuna_run(path, kind, seed, trials):
    import numpy as np
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def cube(configuration):
        out = []
        for (_, low, high, scale, of), value in zip(SPACE, configuration):
            half = .5 if of is int else 0
            to = math.log if scale else float
            out.append((to(value) - to(low - half)) / (to(high + half) - to(low - half)))
        return out
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    points = np.array([cube([float(cell) for cell in row[:7]]) for row in rows])
    values = [[float(cell) for cell in row[8:]] for row in rows]
    best = sorted(max(one) for one in values)
    used = np.zeros(len(rows), bool)
    sampler = (optuna.samplers.TPESampler(seed=seed, multivariate=True) if "tpe" in kind
               else optuna.samplers.RandomSampler(seed=seed))
    pruner = (optuna.pruners.HyperbandPruner(1, EPOCHS, 3) if "hyperband" in kind
              else optuna.pruners.SuccessiveHalvingPruner(1, 3))
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    found, units = [], 0

    def run(trial):
        nonlocal units
        chosen = [trial.suggest_int(name, low, high, log=bool(scale)) if of is int
                  else trial.suggest_float(name, low, high, log=bool(scale)) for name, low, high, scale, of in SPACE]
        far = ((points - np.array(cube(chosen))) ** 2).sum(1)
        far[used] = np.inf
        row = int(far.argmin())
        used[row] = True
        reached = found[-1] if found else -math.inf
        for epoch, value in enumerate(values[row], 1):
            units += 1
            reached = max(reached, value)
            trial.report(value, epoch)
            if trial.should_prune():
                found.append(reached)
                raise optuna.TrialPruned()
        found.append(reached)
        return value
    study.optimize(run, n_trials=max(trials))
    return [(best[-1] - found[count - 1]) / (best[-1] - best[len(best) // 2]) for count in trials], units


def time(folder, seeds, devices, proposals, stops):
    print(f"| trials like | {devices} devices: fixed | time against it | reached (joint, fixed) of |")
    for profile, (speed, shared) in PROFILES.items():
        changes, reached, count, joint_reached = {}, {}, 0, 0
        for name in SETS[1::2]:
            table = os.path.join(folder, name + ".csv")
            unit = sum(read_table(table)[0]) / 2000
            with tempfile.TemporaryDirectory() as work:
                asha = tune(block(work, 0, unit, profile), table, "--devices", devices, "--proposals", "random", "--sharing",
                            "fixed:1", "--seed", 1000, "--seeds", seeds, "--compare", "density/fixed:1")
                target = max(one["value"]["mean"] for one in asha["compared"])
                ways = ["density/fixed:1", "density/fixed:2"] + (["density/fixed:0.5"] if shared else [])
                until = ("--devices", devices, "--trials", 1500, "--target", target, "--seeds", seeds)
                ours = tune(block(work, 8, unit, profile, stops), table, *until, "--proposals", proposals, "--compare",
                            proposals + "/fixed:1")["compared"][0]
                fixed = tune(block(work, 8, unit, profile), table, *until, "--sharing", "fixed:1", "--compare",
                             ",".join(ways[1:] or ["random/fixed:1"]))["compared"]
            count += seeds
            joint_reached += ours["reached"]
            for way in ways:
                one = next(one for one in fixed if one["name"] == way)
                changes.setdefault(way, []).append(math.log(ours["time_s"]["mean"] / one["time_s"]["mean"]))
                reached[way] = reached.get(way, 0) + one["reached"]
        for way, values in changes.items():
            mean = ["%+.1f %%" % (100 * math.expm1(value)) for value in bootstrap(values)]
            print(f"| {profile} | {way} | {mean[0]} ({mean[1]} .. {mean[2]}) | {joint_reached}, {reached[way]} of {count} |",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tables", "quality", "time"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--proposals", default="density")
    parser.add_argument("--stops", default="halving")
    parser.add_argument("--optuna", action="store_true")
    given = parser.parse_args()
    if given.what == "tables":
        write_tables(given.paths[0], given.paths[1], given.rows)
    elif given.what == "quality":
        quality(given.paths[0], given.seeds, given.optuna)
    else:
        time(given.paths[0], given.seeds, given.devices, given.proposals, given.stops)


main()
