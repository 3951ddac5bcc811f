#!/usr/bin/env bash
# How far computed times of single operations are from measured ones.
#   scripts/operations.sh [ROWS.csv]    writes the table of docs/operations.md anew (a minute)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${1:-} in -h | --help) sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}" && exit ;; esac
rows=${1:-${ACCORD_DATA:-$root/../shared/data}/neusight/operations.csv}
page=$root/docs/operations.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT
"$root/build/bin/accord" calibrate --operations "$rows" | sed 's/^/    /' >"$new"
# The old table is the indented lines from the one that names its columns.
awk -v new="$new" '
  /^    mean error \(bias\) of/ { while ((getline line < new) > 0) print line; old = 1; next }
  old && /^    / { next }
  { old = 0; print }' "$page" >"$new.page"
mv "$new.page" "$page"
