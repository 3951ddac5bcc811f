#!/usr/bin/env python3
"""The table "Residuals on top of what `estimate` prints" in docs/learning.md.

    python3 test/bench/residuals.py collect FOLDER     # published steps by fits that have not seen them (half an hour on one core)
    python3 test/bench/residuals.py score FOLDER       # residuals that are learned from the others (seconds)

`collect` prices each published step of a decoder as scripts/steps.py does: by the data sheet, and by calibrations of which
groups of rows are left out. The groups are folds of models, or accelerators. Each pair of groups is also left out together,
so that the residuals which predict a group come from fits that have seen neither that group nor the rows they belong to.
`score` learns log(measured / computed) from features of the graph with ridge regression and with a Gaussian process, chooses
one of them by an inner split, and compares it with what is printed today.
"""
import argparse
import itertools
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

FOLDS = 5
COVERAGE = 0.9


def model_of(row):
    return f"{row['family']}/{row['model']}"


def fold_of(row):
    return str(zlib.crc32(model_of(row).encode()) % FOLDS)


GROUPS = {"models": fold_of, "accelerators": lambda row: row["accelerator"]}


def features_of(row, answer):
    """What `accord estimate` says of a device's part of a step on the data sheet: time, kernels and FLOP by what bounds
    them. It prices neither pipelines, nor ZeRO, nor experts on a part of the devices: the layers of all stages are priced on one
    device and divided by the stages, with all states and experts on each device."""
    stages = int(row["pp"] or 1)
    recompute = {one["policy"] for one in answer["stages"][0]["recompute"]} - {"none"}
    one_stage = dict(row, pp="1", vpp="", n_devices=str(int(float(row["n_devices"] or 1)) // stages), micro_batch=str(answer["microbatch"]),
                     zero_stage="0", ep="1", recompute=recompute.pop() if recompute else "none")
    target = compiled_steps.Target(one_stage, sheet=True)
    with tempfile.TemporaryDirectory() as folder:
        text = 'import "cluster.accel"\n' + compiled_steps.model(one_stage) + compiled_steps.training(one_stage)
        for name, content in (("cluster.accel", target.text), ("row.dnn", text)):
            pathlib.Path(folder, name).write_text(content, encoding="utf-8")
        run = subprocess.run([calibrations.ACCORD, "estimate", folder + "/row.dnn", "--json"], capture_output=True, text=True, check=False)
    said = json.loads(run.stdout)
    if said.get("status") != "done":
        print(row["id"], said.get("diagnostics"), file=sys.stderr)
        return None
    time = kernels = flops = bounded = 0
    for one in said["operations"]:
        seconds = one["count"] * one["time_s"]
        time, kernels, flops = time + seconds, kernels + one["count"], flops + one["count"] * one.get("flops", 0)
        bounded += seconds * one.get("bound", "").startswith("bandwidth")
    return {"memory_bound": bounded / time, "kernels": math.log10(kernels / stages), "size": math.log10(max(flops, 1) / kernels)}


def shares_of(answer):
    """Shares of the computed step by what it waits for, in its slowest stage."""
    parts = max((stage["step"] for stage in answer["stages"]), key=lambda step: sum(step.values()))
    whole = sum(parts.values())
    exposed = sum(one.get("exposed_s", 0) for one in answer.get("communication", []) if one.get("stage", 0) == 0)
    return {"collectives": min(1, exposed / whole), "bubble": parts["bubble_s"] / whole, "host": parts["host_s"] / whole}


def kept(answers):
    """What is read of answers, by the row's id."""
    found = {}
    for row, answer in answers:
        if answer.get("step_time_s"):
            estimate = answer["step_time_estimate"]
            found[row["id"]] = [answer["step_time_s"], estimate["low_s"], estimate["high_s"]]
    return found


def collect(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True, parents=True)
    rows = calibrations.load(*calibrations.tables())
    priced = [row for row in rows if compiled_steps.is_priced(row)]

    def once(name, make):
        path = folder / (name.replace("/", "_") + ".json")
        if not path.exists():
            made = make()
            path.write_text(json.dumps(made), encoding="utf-8")
            print(name, len(made), file=sys.stderr, flush=True)

    def sheet():
        answers = compiled_steps.price_all(priced, 1, sheet=True)
        times = kept(answers)
        return {row["id"]: {"times": times[row["id"]], **shares_of(answer), **features}
                for row, answer in answers if row["id"] in times and (features := features_of(row, answer))}

    def without(left_out, asked, group):
        """The rows of `asked` groups by calibrations without the rows of `left_out` groups, on generic clusters."""
        own = [row for row in priced if group(row) in asked]
        with tempfile.TemporaryDirectory() as fits:
            generations = {calibrations.generation_of(row) for row in own}
            calibrations.fit_all([row for row in rows if calibrations.generation_of(row) in generations and group(row) not in left_out], fits)
            names = os.listdir(fits)
            measured = [row for row in own if any(name.startswith(compiled_steps.Target(row).machine + ".") for name in names)]
            alone = [row for row in own if row not in measured]
            return kept(compiled_steps.price_all(measured, 1, folder=fits, generic=True) + compiled_steps.price_all(alone, 1, sheet=True))

    once("sheet", sheet)
    for unit, group in GROUPS.items():
        groups = sorted({group(row) for row in priced})
        generations = {one: {calibrations.generation_of(row) for row in priced if group(row) == one} for one in groups}
        for one in groups:
            once(f"{unit}-{one}", lambda one=one, group=group: without({one}, {one}, group))
        for one, other in itertools.combinations(groups, 2):
            if generations[one] & generations[other]:  # else neither fit has a row of the other
                once(f"{unit}-{one}-{other}", lambda pair={one, other}, group=group: without(pair, pair, group))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["collect", "score"])
    parser.add_argument("folder")
    given = parser.parse_args()
    if given.what == "collect":
        collect(given.folder)


if __name__ == "__main__":
    main()
