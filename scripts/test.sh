#!/usr/bin/env bash
# One test, or a few: builds what they need and runs them.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P) || exit 1
# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"
# shellcheck source=scripts/build.sh
. "$root/scripts/build.sh"

usage() {
  cat <<'END'
usage: scripts/test.sh NAME [--list] [--jobs N]

Runs the tests whose name or path contains NAME (an extended regular expression), after building what they need:
  - unit tests: those of a file in test/lib or test/dialects whose path matches, else those whose `Suite.Name` matches
  - lit tests: files of test/ whose path matches
In paths, upper and lower case are alike.

  scripts/test.sh Quantity                     the unit tests of test/lib/support/QuantityTest.cpp
  scripts/test.sh passes/simplify              one folder of the lit suite
  scripts/test.sh test/passes/simplify/fuse    some files of it

  --list       say which tests match, build and run nothing
  --jobs N     compile and test N files at once (default: one for each processor, fewer if memory is short)
  --help       this text
END
}

name=
list=
jobs=
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --list) list=1 ;;
    --jobs | -j) is_number "${2:-}" || fail "'$1' wants a number from 1"; jobs=$2; shift ;;
    -*) fail "unknown option '$1'" "scripts/test.sh --help lists the options" ;;
    *) [ -z "$name" ] || fail "one NAME is wanted, found '$name' and '$1'" "as in: scripts/test.sh 'fuse|merge'"; name=$1 ;;
  esac
  shift
done
[ -n "$name" ] || fail "a NAME is wanted" "scripts/test.sh --help has examples"
: "${jobs:=$(default_jobs)}"
cd "$root" || exit 1

# Suite.Name of each unit test of the files in $@ (parameterized ones with what GoogleTest puts around them).
tests_of() {
  sed -nE 's/^(TEST|TEST_F)\(([A-Za-z0-9_]+), *([A-Za-z0-9_]+)\).*/\2.\3/p; s/^(TEST_P|TYPED_TEST)\(([A-Za-z0-9_]+), *([A-Za-z0-9_]+)\).*/*\2*.\3*/p' "$@"
}
mapfile -t units < <(find test/lib test/dialects -name '*.cpp' | sort)
mapfile -t named < <(printf '%s\n' "${units[@]}" | grep -iE -- "$name")
filters=()
if [ "${#named[@]}" -gt 0 ]; then
  mapfile -t filters < <(tests_of "${named[@]}")
else
  mapfile -t filters < <(tests_of "${units[@]}" | grep -E -- "$name")
fi
# The suffixes are those of test/lit.cfg.py.
mapfile -t files < <(find test -name Inputs -prune -o \( -name '*.mlir' -o -name '*.accel' -o -name '*.dnn' -o -name '*.test' \) -print | sort | grep -iE -- "$name")
if [ "${#filters[@]}" = 0 ] && [ "${#files[@]}" = 0 ]; then
  fail "no test's name or path matches '$name'"
fi
if [ -n "$list" ]; then
  [ "${#filters[@]}" -gt 0 ] && printf 'unit  %s\n' "${filters[@]}"
  [ "${#files[@]}" -gt 0 ] && printf 'lit   %s\n' "${files[@]}"
  exit 0
fi

targets=()
[ "${#filters[@]}" -gt 0 ] && targets+=(bin/accord-unit)
if [ "${#files[@]}" -gt 0 ]; then
  for tool in accord accord-opt accord-fuzz emit-sample accord-lsp; do
    grep -qE -- "(RUN:.*|[^A-Za-z-])$tool([^A-Za-z-]|$)" "${files[@]}" && targets+=("bin/$tool")
  done
  grep -qE 'REQUIRES:.*\bmpi\b' "${files[@]}" && targets+=(accord-mpi)
fi
configure
build_targets "$jobs" "building ${targets[*]#bin/}" "${targets[@]}"

status=0
if [ "${#filters[@]}" -gt 0 ]; then
  filter=$(IFS=: && printf '%s' "${filters[*]}")
  "$build/bin/accord-unit" --gtest_brief=1 --gtest_filter="$filter" || status=1
fi
if [ "${#files[@]}" -gt 0 ]; then
  lit=$(sed -n 's/^ACCORD_LIT:[A-Z]*=//p' "$build/CMakeCache.txt")
  "$lit" -v -j "$jobs" "${files[@]/#test/$build/test}" || status=1
fi
exit "$status"
