#!/usr/bin/env bash
# Published runs as placements: forced, and chosen freely.
#   scripts/published.sh [ROWS.csv]           writes docs/published.md anew
#   scripts/published.sh --check [ROWS.csv]   fails if a gate that docs/published.md calls met is missed now, or a run is out of memory
# shellcheck source=scripts/measured.sh
source "$(dirname "${BASH_SOURCE[0]}")/measured.sh"
mode=${check:+forced}
mode=${mode:-page}
"$accord" calibrate "$rows" --placements="$mode" >"$page" 2>/dev/null
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
