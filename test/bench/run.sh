#!/usr/bin/env bash
# Whole runs, each as a row of docs/performance.md: the best of several, in wall time. Needs a release build in build/.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P) || exit 1

usage() {
  cat <<'END'
usage: test/bench/run.sh [--runs N] [--machine TEXT]

  --runs N         measure each command N times and keep the best (default 5)
  --machine TEXT   what to write in the column `machine` (default: processor and count)
END
}

runs=5
machine="$(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --runs) runs=${2:?--runs wants a number}; shift ;;
    --machine) machine=${2:?--machine wants a text}; shift ;;
    *) usage >&2 && exit 1 ;;
  esac
  shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin="$root/build/bin"
[ -x "$bin/accord" ] || { echo "error: no $bin/accord; run ./check first" >&2; exit 1; }
generate() { python3 "$root/test/bench/generate.py" "$@"; }
today=$(date +%Y-%m-%d)
best=0

# time_of COMMAND...: sets `best` to the least microseconds of the runs; fails if the command does.
time_of() {
  local i begin end status
  best=
  for ((i = 0; i < runs; i++)); do
    begin=${EPOCHREALTIME/./}
    (cd "$work" && "$@") >"$work/log" 2>&1
    status=$?
    end=${EPOCHREALTIME/./}
    if [ "$status" != 0 ]; then
      echo "error: '$*' ended with $status" >&2
      head -n 5 "$work/log" >&2
      return 1
    fi
    if [ -z "$best" ] || [ $((end - begin)) -lt "$best" ]; then best=$((end - begin)); fi
  done
}

# shellcheck disable=SC2016
row() { printf '| %s | `%s` | %s | %s | %s |\n' "$1" "$2" "$3" "$machine" "$today"; }
milliseconds() { awk -v us="$1" 'BEGIN { if (us < 1e6) printf "%.0f ms", us / 1e3; else printf "%.2f s", us / 1e6 }'; }
measure() { # "metric" "command as shown" COMMAND...
  local metric=$1 shown=$2
  shift 2
  if time_of "$@"; then row "$metric" "$shown" "$(milliseconds "$best")"; fi
}

echo "| metric | command | figure | machine | date |"
echo "|---|---|---|---|---|"
generate roomy >"$work/roomy.accel"
for layers in 2 96; do generate gpt3 "$layers" >"$work/gpt3_$layers.dnn"; done
generate declarations 20000 >"$work/declarations.accel"
"$bin/accord" fmt "$work/declarations.accel" # so that --check finds nothing to say
generate operations 200000 >"$work/operations.mlir"

measure "start-up" "accord --version" "$bin/accord" --version
if time_of "$bin/accord" compile gpt3_2.dnn -o out2; then
  shallow=$best
  row "compile, GPT-3 of 2 layers, one machine" "accord compile gpt3_2.dnn" "$(milliseconds "$shallow")"
  if time_of "$bin/accord" compile gpt3_96.dnn -o out96; then
    row "compile, GPT-3 (96 layers), one machine" "accord compile gpt3_96.dnn" "$(milliseconds "$best")"
    row "96 layers to 2 layers" "the two above" "$(awk -v a="$best" -v b="$shallow" 'BEGIN { printf "%.2f times", a / b }')"
  fi
fi
if command -v valgrind >/dev/null; then
  # Instructions do not depend on what else the machine does.
  (cd "$work" && valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bin/accord" compile \
    "$root/examples/01-first-plan/gpt2_xl.dnn" -o out) >"$work/log" 2>&1
  row "instructions, compile, GPT-2 XL" "valgrind --tool=callgrind accord compile examples/01-first-plan/gpt2_xl.dnn" \
    "$(awk '/Collected :/ { printf "%.0f M", $NF / 1e6 }' "$work/log")"
fi
measure "compile, GPT-2 XL" "accord compile examples/01-first-plan/gpt2_xl.dnn" \
  "$bin/accord" compile "$root/examples/01-first-plan/gpt2_xl.dnn" -o out
measure "format 20,000 declarations ($(($(wc -c <"$work/declarations.accel") / 1000)) kB)" "accord fmt --check declarations.accel" \
  "$bin/accord" fmt --check declarations.accel
measure "read and verify 200,000 operations" "accord-opt operations.mlir" "$bin/accord-opt" operations.mlir -o /dev/null
if [ -x "$bin/accord-bench" ]; then
  row "parse 20,000 declarations (the library alone)" "accord-bench --benchmark_filter=BM_ParseMachines/20000" \
    "$("$bin/accord-bench" --benchmark_filter=BM_ParseMachines/20000 --benchmark_repetitions="$runs" 2>/dev/null |
      awk '$1 == "BM_ParseMachines/20000" && (best == "" || $2 < best) { best = $2 } END { print best " ms" }')"
fi
measure "second quickstart" "./quickstart" "$root/quickstart"
