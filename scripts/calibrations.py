#!/usr/bin/env python3
"""Fits the calibrations of the catalogue anew: of each machine with measured steps, of each framework in which several of
them were measured, and of each cluster of lib/catalog/clusters.accel whose steps are published.

Usage: scripts/calibrations.py [TRAINING-TIMES.csv [MEASURED-STEP.csv]] [--to FOLDER]

Rows of the second table that train a dense decoder are brought into the columns of the first (step_rows.py). Recommenders
are left out: their steps wait for input and Python, which says nothing of other jobs' kernels. Machines of one generation
share what is fitted, as factors on what their data sheets promise; a framework starts from the fit of its generation, and
a cluster from that of its framework. FOLDER: lib/catalog unless another is named.
"""
import argparse
import collections
import csv
import os
import shutil
import subprocess
import sys
import tempfile

import step_rows

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
ACCORD = os.environ.get("ACCORD", os.path.join(ROOT, "build/bin/accord"))
CATALOG = os.path.join(ROOT, "lib/catalog")
# Accelerators of each generation, and the catalogue's name of each. One without rows takes what its generation's rows say.
GENERATIONS = {"v100": {"v100-sxm2-16": "v100_16g", "v100-sxm2-32": "v100_32g"}, "a100": {"a100-sxm-40": "a100_40g", "a100-sxm-80": "a100_80g"},
               "h100": {"h100-sxm": "h100", "h200-sxm": "h200"},
               "blackwell": {"b200-sxm": "b200", "gb200": "gb200", "b300-sxm": "b300", "gb300": "gb300"},
               "tpu_v5e": {"tpu-v5e": "tpu_v5e"}, "tpu_v6e": {"tpu-v6e": "tpu_v6e"}, "trainium1": {"trainium1": "trainium1"}}
# By how the column `framework` begins; NeMo and Megatron-Bridge run Megatron-LM's core.
FRAMEWORKS = {"Megatron-DeepSpeed": "deepspeed", "Megatron": "megatron", "NeMo": "megatron", "NVIDIA NeMo": "megatron", "Composer/FSDP": "composer",
              "torchtitan": "fsdp", "MaxText": "maxtext"}
# A framework on top of another one: its rows are in the other's file too, which is its own where it has few.
KINDS = {"composer": "fsdp", "megatron_fsdp": "megatron"}
# By how the column `source` begins: clusters of lib/catalog/clusters.accel, whose devices are all alike.
CLUSTERS = {"Korthikanti": "selene", "Narayanan": "selene", "Smith": "selene", "bigscience-workshop/bigscience:train/tr11": "jean_zay",
            "VIA-Research/vTrain:data": "vtrain_a100"}
PARTS = {"trainium1": "trainium1_core"}  # machines of the catalogue that are a part of a chip
FEWEST = 6  # rows of a framework that are worth a file


def beginning(names, text):
    return next((name for begin, name in names.items() if text.strip('"').startswith(begin)), None)


def framework_of(row):
    framework = beginning(FRAMEWORKS, row["framework"])
    return "megatron_fsdp" if framework == "megatron" and row["zero_stage"] == "fsdp" else framework


def cluster_of(row):
    return beginning(CLUSTERS, row["source"]) if row["family"].startswith("llm-dense") else None


def generation_of(row):
    return next((name for name, accelerators in GENERATIONS.items() if row["accelerator"] in accelerators), None)


def tables():
    """Paths of the two tables beside the checkout, where they are."""
    for place in (os.environ.get("ACCORD_DATA", ROOT + "/../shared/data") + "/../reference", ROOT + "/../shared/reference", ROOT + "/../../shared/reference"):
        if os.path.exists(place + "/training-times.csv"):
            return place + "/training-times.csv", place + "/measured-step.csv"
    sys.exit("no table of measured steps: name one, or point ACCORD_DATA to the shared data")


def load(times, steps):
    """All rows in the columns of training-times.csv."""
    with open(times, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["framework"].startswith("MaxText"):  # what these rows call the default: attention='flash' in its scripts (configs/v5e)
            row["attn_kernel"] = "flash"
    with open(steps, encoding="utf-8") as file:
        made = [step_rows.converted(row) for row in csv.DictReader(file)]
    return rows + [{name: row.get(name, "") for name in rows[0]} for row in made if isinstance(row, dict)]


def write(rows, path):
    with open(path, "w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def fit(rows, prior=None, cluster=False):
    """{machine: text of its calibration} and the score over all rows; nothing where no row is left."""
    with tempfile.TemporaryDirectory() as work:
        write(rows, work + "/rows.csv")
        os.mkdir(work + "/out")
        if prior:
            with open(work + "/prior", "w", encoding="utf-8") as file:
                file.write(prior)
        run = subprocess.run([ACCORD, "calibrate", work + "/rows.csv", "-o", work + "/out/"] + (["--prior", work + "/prior"] if prior else []) + (["--cluster"] if cluster else []),
                             capture_output=True, text=True, check=False)
        made = {}
        for name in sorted(os.listdir(work + "/out")):
            with open(f"{work}/out/{name}", encoding="utf-8") as file:
                made[name.removesuffix(".calibration")] = file.read()
    return made, next((line.removeprefix("all").strip() for line in run.stdout.splitlines() if line.startswith("all ")), "no row")


def fit_all(rows, folder, say=lambda what, score: None):
    """Writes MACHINE.calibration, MACHINE.FRAMEWORK.calibration, CLUSTER.calibration of the framework that was measured most on it, and
    CLUSTER.FRAMEWORK.calibration of every other one."""
    groups = collections.defaultdict(list)
    for row in rows:
        generation = generation_of(row)
        if not generation or row["family"] == "recsys":
            continue
        groups[generation, "", ""].append(row)
        framework = framework_of(row)
        for name in filter(None, (framework, KINDS.get(framework))):
            groups[generation, name, ""].append(row)
        if framework and cluster_of(row):
            groups[generation, framework, cluster_of(row)].append(row)
    most = {}
    for (_, framework, cluster), own in groups.items():
        if cluster and len(own) > most.get(cluster, (0, ""))[0]:
            most[cluster] = len(own), framework
    pooled = {}  # the calibration that a narrower one starts from, by generation and framework
    for (generation, framework, cluster), own in sorted(groups.items(), key=lambda group: (group[0][0], group[0][2], group[0][1])):
        if framework and not cluster and len(own) < FEWEST:
            continue
        made, score = fit(own, pooled.get((generation, framework if cluster else "")) or pooled.get((generation, "")), bool(cluster))
        if not made:
            continue
        say(" on ".join(filter(None, [" in ".join(filter(None, [generation, framework])), cluster])), score)
        if not cluster:
            pooled[generation, framework] = next(iter(made.values()))
        known, text = next(iter(made.items()))
        siblings = [] if cluster else list(GENERATIONS[generation].values())
        for machine in siblings + [PARTS[machine] for machine in made if machine in PARTS]:  # the same efficiencies, of another machine's peaks
            made.setdefault(machine, text.replace(f'machine "{known}"', f'machine "{machine}"'))
        few = [own for own, kind in KINDS.items() if kind == framework and not cluster and 0 < len(groups.get((generation, own, ""), ())) < FEWEST]
        for machine, text in made.items():
            for name in [framework] + few:
                parts = [cluster or machine] + ([name] if name and (not cluster or most[cluster][1] != framework) else [])
                with open(os.path.join(folder, ".".join(parts) + ".calibration"), "w", encoding="utf-8") as file:
                    file.write(text)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("times", nargs="?")
    parser.add_argument("steps", nargs="?")
    parser.add_argument("--to", default=CATALOG)
    arguments = parser.parse_args()
    times, steps = tables()
    with tempfile.TemporaryDirectory() as folder:
        fit_all(load(arguments.times or times, arguments.steps or steps), folder, lambda what, score: print(f"{what}: {score}"))
        for name in sorted(os.listdir(folder)):
            shutil.copy(os.path.join(folder, name), arguments.to)


if __name__ == "__main__":
    main()
