#!/usr/bin/env python3
"""The table of residuals on top of `estimate` in docs/learning.md.

    python3 test/bench/residuals.py collect FOLDER     # published steps by fits that have not seen them (ten minutes on one core)
    python3 test/bench/residuals.py score FOLDER       # residuals that are learned from the others (seconds)

`collect` prices published steps of decoders as scripts/steps.py does, by calibrations of which a group of rows is left out:
a fold of models, or an accelerator. `score` learns log(measured / computed) of the other groups from features of the graph,
with ridge regression and with a Gaussian process, chooses one of them by an inner split, and compares it with what is printed
today. The residuals of the other groups are of fits that have seen the left-out group, which favours what is learned.
"""
import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import calibrations  # noqa: E402
import compiled_steps  # noqa: E402

FOLDS = 4
COVERAGE = 0.9


def model_of(row):
    return f"{row['family']}/{row['model']}"


def fold_of(row):
    return str(zlib.crc32(model_of(row).encode()) % FOLDS)


GROUPS = {"models": fold_of, "accelerators": lambda row: row["accelerator"]}


def features_of(row, kept):
    """What `accord estimate` says of a device's part of a step on the data sheet: time, kernels and FLOP by what bounds
    them. It prices neither pipelines, nor ZeRO, nor experts on a part of the devices: the layers of all stages are priced
    on one device and divided by the stages, with all states and experts on each device."""
    stages = int(row["pp"] or 1)
    one_stage = dict(row, pp="1", vpp="", n_devices=str(int(float(row["n_devices"] or 1)) // stages), micro_batch=str(kept["microbatch"]),
                     zero_stage="0", ep="1", recompute=kept["recompute"])
    target = compiled_steps.Target(one_stage, sheet=True)
    with tempfile.TemporaryDirectory() as folder:
        text = 'import "cluster.accel"\n' + compiled_steps.model(one_stage) + compiled_steps.training(one_stage)
        for name, content in (("cluster.accel", target.text), ("row.dnn", text)):
            pathlib.Path(folder, name).write_text(content, encoding="utf-8")
        run = subprocess.run([calibrations.ACCORD, "estimate", folder + "/row.dnn", "--json"], capture_output=True, text=True, check=False)
    said = json.loads(run.stdout or "{}")
    if said.get("status") != "done":
        print(row["id"], said.get("diagnostics"), file=sys.stderr)
        return None
    time = kernels = flops = bounded = 0
    for one in said["operations"]:
        seconds = one["count"] * one["time_s"]
        time, kernels, flops = time + seconds, kernels + one["count"], flops + one["count"] * one.get("flops", 0)
        bounded += seconds * one.get("bound", "").startswith("bandwidth")
    return {"memory_bound": bounded / time, "kernels": math.log10(kernels / stages), "size": math.log10(max(flops, 1) / kernels)}


def kept(answers):
    """What is read of answers, by the row's id: times, and shares of the step by what its slowest stage waits for."""
    found = {}
    for row, answer in answers:
        if not answer.get("step_time_s"):
            continue
        estimate, stage = answer["step_time_estimate"], max(answer["stages"], key=lambda one: sum(one.get("step", {}).values()))
        parts, policies = stage.get("step", {}), {one["policy"] for one in stage.get("recompute", [])} - {"none"}
        whole = sum(parts.values()) or answer["step_time_s"]
        exposed = sum(one.get("exposed_s", 0) for one in answer.get("communication", []) if one.get("stage", 0) == 0)
        found[row["id"]] = {"times": [answer["step_time_s"], estimate["low_s"], estimate["high_s"]], "collectives": min(1, exposed / whole),
                            "bubble": parts.get("bubble_s", 0) / whole, "host": parts.get("host_s", 0) / whole,
                            "microbatch": answer["microbatch"], "recompute": min(policies, default="none")}
    return found


def collect(folder, only=None):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True, parents=True)
    # vTrain has half of all rows, of one cluster: every eighth one stands for them.
    rows = [row for row in calibrations.load(*calibrations.tables())
            if not row["source"].startswith("VIA-Research") or zlib.crc32(row["id"].encode()) % 8 == 0]
    priced = [row for row in rows if compiled_steps.is_priced(row)]

    def once(name, make):
        path = folder / (name.replace("/", "_") + ".json")
        if not path.exists():
            made = make()
            path.write_text(json.dumps(made), encoding="utf-8")
            print(name, len(made), file=sys.stderr, flush=True)
        return json.loads(path.read_text(encoding="utf-8"))

    def without(left_out, group):
        """The rows of a group by calibrations of the others, on generic clusters."""
        own = [row for row in priced if group(row) == left_out]
        with tempfile.TemporaryDirectory() as fits:
            generations = {calibrations.generation_of(row) for row in own}
            calibrations.fit_all([row for row in rows if calibrations.generation_of(row) in generations and group(row) != left_out], fits)
            names = os.listdir(fits)
            measured = [row for row in own if any(name.startswith(compiled_steps.Target(row).machine + ".") for name in names)]
            alone = [row for row in own if row not in measured]
            return kept(compiled_steps.price_all(measured, 2, folder=fits, generic=True) + compiled_steps.price_all(alone, 2, sheet=True))

    found = {}
    for unit, group in GROUPS.items():
        for one in sorted({group(row) for row in priced}) if not only or unit == only else []:
            made = once(f"{unit}-{one}", lambda one=one, group=group: without(one, group))
            found.update(made if unit == "models" else {})
    if only != "accelerators":
        once("features", lambda: {row["id"]: features for row in priced if row["id"] in found and (features := features_of(row, found[row["id"]]))})


# ---- Residuals

WORDS = ("precision", "accelerator", "framework")


def design(rows, features):
    """Features of rows, of which numbers come first: shares of the step, decades of kernels and of FLOP a kernel."""
    numbers = ["memory_bound", "collectives", "bubble", "host", "kernels", "size"]
    x = [[features[row["id"]][name] for name in numbers] for row in rows]
    words = {"precision": lambda row: row["precision"].split("-")[0], "accelerator": lambda row: row["accelerator"],
             "framework": lambda row: calibrations.framework_of(row) or "other"}
    columns = [(name, value) for name in WORDS for value in sorted({words[name](row) for row in rows})]
    return np.array(x), np.array([[float(words[name](row) == value) for name, value in columns] for row in rows])


def scaled(numbers, words, known):
    """Numbers in standard deviations of the known rows; words beside them, and a one."""
    mean, deviation = numbers[known].mean(axis=0), numbers[known].std(axis=0) + 1e-9
    return np.hstack([(numbers - mean) / deviation, words, np.ones((len(words), 1))])


def ridge(penalty):
    def predict(x, y, known, asked):
        a = x[known]
        return x[asked] @ np.linalg.solve(a.T @ a + penalty * np.eye(x.shape[1]), a.T @ y[known])
    return predict


def process(length, signal):
    """A Gaussian process with Matern's covariance 5/2; noise of a standard deviation of 0.1."""
    def kernel(a, b):
        r = np.sqrt(5 * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)) / length
        return signal ** 2 * (1 + r + r * r / 3) * np.exp(-r)

    def predict(x, y, known, asked):
        covariance = kernel(x[known], x[known]) + 0.01 * np.eye(len(known))
        return kernel(x[asked], x[known]) @ np.linalg.solve(covariance, y[known])
    return predict


LEARNERS = {"none": [("none", lambda x, y, known, asked: np.zeros(len(asked)))],
            "ridge": [(f"ridge {penalty}", ridge(penalty)) for penalty in (1, 3, 10, 30, 100, 300)],
            "process": [(f"process {length} {signal}", process(length, signal)) for length in (2, 4, 8) for signal in (0.05, 0.1, 0.2)]}


def held_out(learner, x, y, known, groups):
    """Of the known rows, each predicted without its group."""
    found = np.zeros(len(known))
    for group in sorted(set(groups[known])):
        inside = groups[known] == group
        found[inside] = learner(x, y, known[~inside], known[inside])
    return found


def mean_of_groups(errors, groups):
    return float(np.mean([errors[groups == group].mean() for group in sorted(set(groups))]))


def conformal(errors, groups):
    """The error that rows of a new group stay below in 90 of 100 cases (prediction::conformalScore); infinite where groups are too few."""
    names, counts = np.unique(groups, return_counts=True)
    weight = dict(zip(names, 1 / (counts * (len(names) + 1))))
    total = 0
    for error, group in sorted(zip(errors, groups)):
        total += weight[group]
        if total >= COVERAGE - 1e-12:
            return error
    return math.inf


def score(folder):
    folder = pathlib.Path(folder)
    graph = json.loads((folder / "features.json").read_text(encoding="utf-8"))
    everything = {row["id"]: row for row in calibrations.load(*calibrations.tables())}
    print("| left out | learner | rows | mean error | of groups | in | high / low | change of the mean error |\n|---|---|--:|--:|--:|--:|--:|--:|")
    for unit, group in GROUPS.items():
        priced = {}
        for path in folder.glob(f"{unit}-*.json"):
            priced.update(json.loads(path.read_text(encoding="utf-8")))
        ids = sorted(name for name in priced if name in graph)
        rows = [everything[name] for name in ids]
        features = {name: {**priced[name], **graph[name]} for name in ids}
        base = np.array([priced[name]["times"] for name in ids])
        numbers, words = design(rows, features)
        folds = np.array([group(row) for row in rows])
        models = np.array([model_of(row) if unit == "models" else row["accelerator"] for row in rows])
        measured = np.log([float(row["step_time_s"]) for row in rows])
        results, choices = {}, {}
        for fold in sorted(set(folds)):
            known, asked = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            y, x = measured - np.log(base[:, 0]), scaled(numbers, words, known)
            inner = {name: (mean_of_groups(np.abs(held_out(learner, x, y, known, models) - y[known]), models[known]), family, learner)
                     for family, variants in LEARNERS.items() for name, learner in variants}
            for family in (*LEARNERS, "chosen"):
                name = min((one for one in inner if family in ("chosen", inner[one][1])), key=lambda one: inner[one][0])
                learner = inner[name][2]
                predicted = learner(x, y, known, asked)
                half = conformal(np.abs(held_out(learner, x, y, known, models) - y[known]), models[known])
                low, high = np.log(base[asked, 1:].T)
                if family != "none" and math.isfinite(half):
                    low, high = np.log(base[asked, 0]) + predicted - half, np.log(base[asked, 0]) + predicted + half
                elif family != "none":
                    low, high = low + predicted, high + predicted
                choices.setdefault(family, []).append(name)
                results.setdefault(family, []).extend(zip(models[asked], np.abs(np.exp(predicted - y[asked]) - 1), (low <= measured[asked]) & (measured[asked] <= high),
                                                          high - low, [row["source"] for row in (rows[i] for i in asked)]))
        for family, found in results.items():
            of, errors = np.array([one[0] for one in found]), np.array([one[1] for one in found])
            before = np.array([one[1] for one in results["none"]])
            chance, differences = random.Random(0), {name: (errors - before)[of == name] for name in set(of)}
            keys, means = sorted(differences), []
            for _ in range(4000):
                drawn = [differences[name] for name in chance.choices(keys, k=len(keys))]
                means.append(100 * np.concatenate(drawn).mean())
            means.sort()
            change = f"{100 * (errors - before).mean():+.1f} points ({means[100]:+.1f} .. {means[3900]:+.1f})" if family != "none" else ""
            print(f"| {unit} | {family} | {len(found)} | {100 * errors.mean():.1f} % | {100 * mean_of_groups(errors, of):.1f} % | "
                  f"{100 * statistics.fmean(float(one[2]) for one in found):.0f} % | {math.exp(statistics.median(one[3] for one in found)):.2f} | {change} |")
        print(f"\n{unit}: chosen {choices['chosen']}\n", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["collect", "score"])
    parser.add_argument("folder")
    parser.add_argument("--only", choices=list(GROUPS), help="groups that are left out; default: one after the other")
    given = parser.parse_args()
    if given.what == "collect":
        collect(given.folder, given.only)
    else:
        score(given.folder)


if __name__ == "__main__":
    main()
