#!/usr/bin/env bash
# Memory of plans against measured memory: `accord compile` on each row, beside what was measured.
#   scripts/memory.sh [MEASURED.csv [TIMES.csv]]           writes docs/memory.md anew
#   scripts/memory.sh --check [MEASURED.csv [TIMES.csv]]   fails if a gate that docs/memory.md calls met is missed now
# shellcheck source=scripts/measured.sh
source "$(dirname "${BASH_SOURCE[0]}")/measured.sh"
times=${1:+${2:-}}
[ -n "${1:-}" ] || times=$rows
measured=${1:-$(dirname "$rows")/measured-memory.csv}
python3 "$root/scripts/memory_rows.py" "$accord" "$measured" "$times" >"$page"
if [ -z "$check" ]; then
  cp "$page" "$root/docs/memory.md"
  exit
fi
met() { awk -F ' *[|] *' 'NF == 12 && $9 == "met" { print $2 }' "$1"; }
lost=$(met "$root/docs/memory.md" | grep -vxFf <(met "$page") || true)
if [ -n "$lost" ]; then
  printf 'scripts/memory.sh: missed now: %s\n' "$lost" >&2
  exit 1
fi
echo "$(met "$root/docs/memory.md" | wc -l) gates are met as before"
