#!/usr/bin/env bash
# Writes the calibrations of the catalogue anew: one for each machine with measured steps.
#   scripts/calibrations.sh [TRAINING-TIMES.csv [MEASURED-STEP.csv]]
# Rows of the second table that train a dense decoder are brought into the columns of the first (scripts/step_rows.py).
# Recommenders are left out: their steps wait for input and Python, which says nothing of other jobs' kernels.
# Machines of one generation share what is fitted, as factors on what their data sheets promise.
# shellcheck source=scripts/measured.sh
source "$(dirname "${BASH_SOURCE[0]}")/measured.sh"
steps=${2:-$(dirname "$rows")/measured-step.csv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$root/scripts/step_rows.py" "$steps" >"$work/steps.csv" 2>/dev/null
fit() {
  local table=$1 where=()
  shift
  for accelerator in "$@"; do where+=(--where "accelerator=$accelerator"); done
  "$accord" calibrate "$table" "${where[@]}" -o "$root/lib/catalog/" 2>/dev/null | tail -n +1 | grep '^all' || true
}
python3 - "$rows" "$work/steps.csv" >"$work/all.csv" <<'PYTHON'
import csv, sys
first, second = (list(csv.DictReader(open(path, encoding="utf-8"))) for path in sys.argv[1:3])
writer = csv.DictWriter(sys.stdout, list(first[0]), lineterminator="\n")
writer.writeheader()
for row in first + second:
    if row["family"] != "recsys":
        writer.writerow({name: row.get(name, "") for name in first[0]})
PYTHON
fit "$work/all.csv" v100-sxm2-16 v100-sxm2-32
fit "$work/all.csv" a100-sxm-40 a100-sxm-80
fit "$work/all.csv" h100-sxm
fit "$work/all.csv" tpu-v5e
fit "$work/all.csv" tpu-v6e
fit "$work/all.csv" trainium1
