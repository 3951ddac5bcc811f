# shellcheck shell=bash disable=SC2034
# For scripts that hold Accord against measured steps; `source` it with the script's arguments.
#   root     the repository · accord  the program · check  set with --check · rows  the table · page  an empty file
# Default of the table: training-times.csv in $ACCORD_DATA/../reference or ../shared/reference
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
accord=${ACCORD:-$root/build/bin/accord}
check=
if [ "${1:-}" = --check ]; then
  check=yes
  shift
fi
rows=${1:-}
for place in "${ACCORD_DATA:-$root/../shared/data}/../reference" "$root/../shared/reference" "$root/../../shared/reference"; do
  [ -n "$rows" ] || [ ! -f "$place/training-times.csv" ] || rows=$place/training-times.csv
done
if [ -z "$rows" ]; then
  echo "$0: no table of measured steps: name one, or point ACCORD_DATA to the shared data" >&2
  exit 1
fi
page=$(mktemp)
trap 'rm -f "$page"' EXIT
