#!/usr/bin/env bash
# Writes docs/goodput.md anew: predicted goodput and interruptions beside published ones.
#   scripts/goodput.sh
set -euo pipefail
if [ "${1:-}" = --help ]; then
  sed -n 's/^# \{0,1\}//p' "$0"
  exit 0
fi
root=$(cd "$(dirname "$0")/.." && pwd)
ACCORD_GOODPUT_PAGE=$root/docs/goodput.md "$root/build/bin/accord-unit" --gtest_filter='PublishedGoodput*' > /dev/null
