#!/usr/bin/env bash
# Published runs as placements: forced, and chosen freely.
#   scripts/published.sh [ROWS.csv]           writes docs/published.md anew
#   scripts/published.sh --check [ROWS.csv]   fails if a gate that docs/published.md calls met is missed now, or a run is out of memory
# Default: training-times.csv in $ACCORD_DATA/../reference or ../shared/reference
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
accord=${ACCORD:-$root/build/bin/accord}
check=
if [ "${1:-}" = --check ]; then
  check=forced
  shift
fi
rows=${1:-}
for place in "${ACCORD_DATA:-$root/../shared/data}/../reference" "$root/../shared/reference" "$root/../../shared/reference"; do
  [ -n "$rows" ] || [ ! -f "$place/training-times.csv" ] || rows=$place/training-times.csv
done
if [ -z "$rows" ]; then
  echo "scripts/published.sh: no table of measured steps: name one, or point ACCORD_DATA to the shared data" >&2
  exit 1
fi
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$accord" calibrate "$rows" --placements="${check:-page}" >"$page" 2>/dev/null
if [ -z "$check" ]; then
  cp "$page" "$root/docs/published.md"
  exit
fi
# Lines of the first table: name, verdict, runs out of memory.
met() { awk -F ' *[|] *' 'NF == 15 && $10 == "met" { print $2 }' "$1"; }
large() { awk -F ' *[|] *' 'NF == 15 && $11 ~ /^[0-9]+$/ { print $2 " " $11 }' "$1"; }
lost=$(met "$root/docs/published.md" | grep -vxFf <(met "$page") || true)
more=$(comm -13 <(large "$root/docs/published.md" | sort) <(large "$page" | sort) | grep -v ' 0$' || true)
if [ -n "$lost$more" ]; then
  printf 'scripts/published.sh: missed now: %s\nout of memory now: %s\n' "$lost" "$more" >&2
  exit 1
fi
echo "$(met "$root/docs/published.md" | wc -l) gates are met as before"
