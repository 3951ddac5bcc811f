#!/usr/bin/env python3
"""What shared prefixes of trials bring, on trainings of examples/19-tune that are all trained to the end.

    branches.py train TABLE.csv [PREFIXES]   trains so many drawn configurations (24) with each decay; several minutes
    branches.py compare TABLE.csv            tunes on the table with and without `from`, on 1, 4 and 8 devices, 20 seeds
    branches.py narrow FOLDER [TRIALS]       trains narrow networks for real: cut from a wide one behind unit 9, and alone
"""
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/19-tune")
DECAYS = ["1", "0.3", "0.1", "0.03"]
UNITS, FROM = 27, 9


def train(folder, configuration, units):
    """The values of a trial after each unit, in a folder with its state."""
    paths = {name: os.path.join(folder, name) for name in ("configuration.json", "values")}
    with open(paths["configuration.json"], "w", encoding="utf-8") as file:
        json.dump(configuration, file)
    environment = {"ACCORD_CONFIGURATION": paths["configuration.json"], "ACCORD_VALUES": paths["values"], "ACCORD_TRIAL_FOLDER": folder,
                   "ACCORD_UNITS": str(units)}
    subprocess.run([sys.executable, os.path.join(EXAMPLE, "train.py")], check=True, env={**os.environ, **environment})
    with open(paths["values"], encoding="utf-8") as file:
        said = {line["unit"]: line["value"] for line in map(json.loads, file)}
    return [said.get(unit, float("nan")) for unit in range(1, units + 1)]


def make_table(path, count):
    draw = random.Random(3)
    rows = []
    for number in range(count):
        chosen = {"learning_rate": 10 ** draw.uniform(-3, 0), "momentum": draw.uniform(0, 0.99), "width": round(2 ** draw.uniform(2, 7)),
                  "batch": draw.choice([16, 32, 64, 128]), "activation": draw.choice(["relu", "tanh"])}
        with tempfile.TemporaryDirectory() as folder:
            first = os.path.join(folder, "first")
            os.mkdir(first)
            train(first, chosen, FROM)
            for decay in DECAYS:
                part = shutil.copytree(first, os.path.join(folder, decay))
                values = train(part, {**chosen, "decay": float(decay)}, UNITS)
                rows.append([*map(str, chosen.values()), decay, *(f"{value:.6g}" for value in values)])
        print(f"{number + 1} of {count}", flush=True)
    with open(path, "w", encoding="utf-8") as file:
        names = ["learning_rate", "momentum", "width", "batch", "activation", "decay", *map(str, range(1, UNITS + 1))]
        file.writelines(",".join(row) + "\n" for row in [names, *rows])


def compare(table):
    with open(table, encoding="utf-8") as file:
        best = sorted((max(float(value) for value in line.split(",")[6:]) for line in list(file)[1:]), reverse=True)
    with open(os.path.join(EXAMPLE, "branches.dnn"), encoding="utf-8") as file:
        shared = file.read()
    alone = re.sub(r" *(from|branches) += .*\n", "", shared)
    for target in best[0], best[len(best) // 20]:
        for devices in 1, 4, 8:
            took = {name: times(text, table, len(best), devices, target) for name, text in (("shared", shared), ("alone", alone))}
            ratios = [math.log(a / b) for a, b in zip(took["shared"], took["alone"])]
            draw = random.Random(1)
            means = sorted(sum(draw.choices(ratios, k=len(ratios))) / len(ratios) for _ in range(10000))
            change = [100 * math.expm1(value) for value in (sum(ratios) / len(ratios), means[250], means[9749])]
            print(f"target {target:.4f}, {devices} devices: {sum(took['shared']) / len(ratios):.1f} s shared, {sum(took['alone']) / len(ratios):.1f} s alone, "
                  f"paired {change[0]:+.0f} % ({change[1]:+.0f} .. {change[2]:+.0f})", flush=True)


def times(text, table, trials, devices, target):
    """Seconds of the plan until the target, of 20 seeds."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "t.dnn")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        words = ["accord", "tune", file, "--tuning", "spirals", "--table", table, "--devices", str(devices), "--trials", str(trials), "--target", str(target),
                 "--json"]
        said = [json.loads(subprocess.run([*words, "--seed", str(seed)], capture_output=True, text=True, check=True).stdout) for seed in range(1, 21)]
    assert all(one["ended_by"] == "reached" for one in said)
    return [one["time_s"] for one in said]


def narrow(folder, trials):
    """Both ways have the same trials at most; what they cost is said in units."""
    with open(os.path.join(EXAMPLE, "branches.dnn"), encoding="utf-8") as file:
        shared = file.read()
    os.makedirs(folder, exist_ok=True)
    for name, text in ("cut", shared), ("alone", re.sub(r" *(from|branches) += .*\n", "", shared)):
        path = os.path.join(folder, name + ".dnn")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        for seed in range(3):
            out = os.path.join(folder, f"{name}{seed}")
            subprocess.run(["accord", "tune", path, "--tuning", "narrow", "--engine", "local", "--engine-option", "nodes=here=cpu:2", "--program",
                            f"{sys.executable} {EXAMPLE}/train.py", "--trials", str(trials), "--seed", str(seed), "-o", out],
                           check=True, stdout=subprocess.DEVNULL)
            with open(os.path.join(out, "tune.json"), encoding="utf-8") as file:
                result = json.load(file)
            choices = next(one["choices"] for one in result["problem"]["space"] if one["name"] == "width")
            best = dict.fromkeys(choices, 0.0)
            for trial in result["trials"]:
                width = choices[int(trial["configuration"][-1])]
                values = [report["value"] or 0 for report in trial["reports"] if report["unit"] > FROM]
                best[width] = max([best[width], *values])
            print(f"{name}, seed {seed}: {result['units']} units; best behind unit {FROM} by width:",
                  ", ".join(f"{width}: {value:.4f}" for width, value in best.items()), flush=True)


def main():
    what, path = sys.argv[1:3]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    if what == "train":
        make_table(path, number or 24)
    elif what == "compare":
        compare(path)
    else:
        narrow(path, number or 40)


main()
