#!/usr/bin/env bash
# Writes docs/accuracy.md anew: how far computed steps are from measured ones.
#   scripts/accuracy.sh [ROWS.csv]     default: training-times.csv in $ACCORD_DATA/../reference or ../shared/reference
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
accord=${ACCORD:-$root/build/bin/accord}
rows=${1:-}
for place in "${ACCORD_DATA:-$root/../shared/data}/../reference" "$root/../shared/reference" "$root/../../shared/reference"; do
  [ -n "$rows" ] || [ ! -f "$place/training-times.csv" ] || rows=$place/training-times.csv
done
if [ -z "$rows" ]; then
  echo "scripts/accuracy.sh: no table of measured steps: name one, or point ACCORD_DATA to the shared data" >&2
  exit 1
fi
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$accord" calibrate "$rows" --accuracy >"$page" 2>/dev/null
cp "$page" "$root/docs/accuracy.md"
