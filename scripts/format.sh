#!/usr/bin/env bash
# Formats all C++ of the repository as .clang-format says.
set -euo pipefail
usage() {
  cat <<'END'
usage: scripts/format.sh [--check] [FILE...]

Formats the files, or all C++ files of the repository, in place.

  --check      change nothing; name the files that are not formatted, and fail if there are any
  --help       this text
END
}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
check=
files=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --check) check=1 ;;
    -*) echo "error: unknown option '$1' (scripts/format.sh --help lists the options)" >&2 && exit 1 ;;
    *) files+=("$(realpath "$1")") ;;
  esac
  shift
done
formatter=$(command -v clang-format-22) || {
  echo "error: clang-format-22 is missing (a Debian package; ./check installs it)" >&2
  exit 1
}
cd "$root"
if [ "${#files[@]}" = 0 ]; then
  # Without git, as in an archive: what lies in the folders of the repository.
  if ! mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.h' 2>/dev/null) || [ "${#files[@]}" = 0 ]; then
    mapfile -t files < <(find dialects lib passes tools test examples cmake -name '*.cpp' -o -name '*.h')
  fi
fi
existing=()
for file in "${files[@]}"; do [ -f "$file" ] && existing+=("$file"); done # what is deleted is still known to git
each() { printf '%s\0' "${existing[@]}" | xargs -0 -P "$(nproc)" -n 50 "$formatter" "$@"; }
if [ -z "$check" ]; then
  each -i
  exit
fi
mapfile -t bad < <(each --dry-run 2>&1 >/dev/null | sed -nE 's/^([^:]+):[0-9]+:[0-9]+: (warning|error): .*/\1/p' | sort -u)
if [ "${#bad[@]}" -gt 0 ]; then
  echo "these files are not formatted (scripts/format.sh formats them):"
  printf '  %s\n' "${bad[@]}"
  exit 1
fi
