#!/usr/bin/env bash
# Writes docs/power.md: measured power of boards and servers against the law that is fitted to them.
#   scripts/power.sh
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
ACCORD_WRITE_POWER="$root/docs/power.md" "$root/build/bin/accord-unit" \
  --gtest_filter=PowerFit.PageIsWrittenFromTheRows >/dev/null
