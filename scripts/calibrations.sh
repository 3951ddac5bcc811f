#!/usr/bin/env bash
# Writes the calibrations of the catalogue anew: one for each machine with measured steps, and one for each framework in
# which several of them were measured. A machine takes that of the framework that trains on it where there is one.
#   scripts/calibrations.sh [TRAINING-TIMES.csv [MEASURED-STEP.csv]]
# Rows of the second table that train a dense decoder are brought into the columns of the first (scripts/step_rows.py).
# Recommenders are left out: their steps wait for input and Python, which says nothing of other jobs' kernels.
# Machines of one generation share what is fitted, as factors on what their data sheets promise.
# shellcheck source=scripts/measured.sh
source "$(dirname "${BASH_SOURCE[0]}")/measured.sh"
steps=${2:-$(dirname "$rows")/measured-step.csv}
catalog=$root/lib/catalog
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$root/scripts/step_rows.py" "$steps" >"$work/steps.csv" 2>/dev/null
# One table for each generation, and one for each framework in it: generation.csv, generation.framework.csv.
python3 - "$rows" "$work" <<'PYTHON'
import collections, csv, sys

GENERATIONS = {"v100": ("v100-sxm2-16", "v100-sxm2-32"), "a100": ("a100-sxm-40", "a100-sxm-80"), "h100": ("h100-sxm",),
               "tpu_v5e": ("tpu-v5e",), "tpu_v6e": ("tpu-v6e",), "trainium1": ("trainium1",)}
# By how the column begins; NeMo and Megatron-Bridge run Megatron-LM's core.
FRAMEWORKS = {"Megatron-LM": "megatron", "NeMo": "megatron", "Megatron-Bridge": "megatron", "NVIDIA NeMo": "megatron",
              "Megatron-DeepSpeed": "deepspeed", "Composer/FSDP": "fsdp"}
rows_path, work = sys.argv[1:3]
first, second = (list(csv.DictReader(open(path, encoding="utf-8"))) for path in (rows_path, f"{work}/steps.csv"))
tables = collections.defaultdict(list)
for row in first + second:
    if row["family"] == "recsys":
        continue
    for generation, accelerators in GENERATIONS.items():
        if row["accelerator"] in accelerators:
            tables[generation].append(row)
            for begin, framework in FRAMEWORKS.items():
                if row["framework"].strip('"').startswith(begin):
                    tables[f"{generation}.{framework}"].append(row)
                    break
for name, table in tables.items():
    if "." in name and len(table) < 6:
        continue
    with open(f"{work}/{name}.csv", "w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(first[0]), lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: row.get(name, "") for name in first[0]} for row in table)
PYTHON
for table in "$work"/*.csv; do
  name=$(basename "$table" .csv)
  case $name in steps | *.*) continue ;; esac
  mkdir "$work/$name"
  "$accord" calibrate "$table" -o "$work/$name/" 2>/dev/null | sed -n "s/^all/$name/p"
  cp "$work/$name/"*.calibration "$catalog/"
  pooled=("$work/$name/"*.calibration)
  for own in "$work/$name".*.csv; do
    [ -f "$own" ] || continue
    framework=$(basename "$own" .csv)
    framework=${framework##*.}
    mkdir "$work/$name.$framework"
    "$accord" calibrate "$own" --prior "${pooled[0]}" -o "$work/$name.$framework/" 2>/dev/null | sed -n "s/^all/$name in $framework/p"
    for file in "$work/$name.$framework/"*.calibration; do
      cp "$file" "$catalog/$(basename "$file" .calibration).$framework.calibration"
    done
  done
done
