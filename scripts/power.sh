#!/usr/bin/env bash
# Writes docs/power.md: measured power of boards and servers against the law that is fitted to them.
#   scripts/power.sh           writes the page anew
#   scripts/power.sh --check   fails if it is not what the rows give
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
case ${1:-} in
--check | '') ;;
*) sed -n '2,4s/^# //p' "$0" && exit ;;
esac
page=$(mktemp)
trap 'rm -f "$page"' EXIT
ACCORD_WRITE_POWER="$page" "$root/build/bin/accord-unit" --gtest_filter=PowerFit.PageIsWrittenFromTheRows >/dev/null
if [ "${1:-}" != --check ]; then
  cp "$page" "$root/docs/power.md"
elif ! diff -u "$root/docs/power.md" "$page" >&2; then
  echo "docs/power.md is not what the rows give: run scripts/power.sh" >&2
  exit 1
fi
