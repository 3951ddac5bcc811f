#!/usr/bin/env bash
# How far computed steps are from measured ones.
#   scripts/accuracy.sh [ROWS.csv]           writes docs/accuracy.md anew, docs/accuracy-notes.md at its end
#   scripts/accuracy.sh --check [ROWS.csv]   fails if a gate that docs/accuracy.md calls met is not met any more (half a minute)
# shellcheck source=scripts/measured.sh
source "$(dirname "${BASH_SOURCE[0]}")/measured.sh"
mode=${check:+gates}
mode=${mode:-page}
"$accord" calibrate "$rows" --accuracy="$mode" >"$page" 2>/dev/null
if [ -z "$check" ]; then
  cat "$page" "$root/docs/accuracy-notes.md" >"$root/docs/accuracy.md"
  exit
fi
# Lines of the first table: name in the second field, verdict in the eleventh of those between bars.
met() { awk -F ' *[|] *' 'NF == 12 && $11 == "met" { print $2 }' "$1"; }
lost=$(met "$root/docs/accuracy.md" | grep -vxFf <(met "$page") || true)
if [ -n "$lost" ]; then
  echo "scripts/accuracy.sh: gates that docs/accuracy.md calls met and that are missed now:" >&2
  awk -F ' *[|] *' -v lost="$lost" 'BEGIN { n = split(lost, names, "\n"); for (i = 1; i <= n; ++i) is[names[i]] = 1 }
    NF == 12 && is[$2] { printf "  %s: unseen %s, plain %s, gate %s\n", $2, $6, $8, $10 }' "$page" >&2
  exit 1
fi
echo "$(met "$root/docs/accuracy.md" | wc -l) gates are met as before"
