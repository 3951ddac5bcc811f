# shellcheck shell=bash
# Running the two suites, format and lint, and counting. All add to `passed` and `failed`, and print what a failing test said.
: "${root:?}" "${logs:?}" "${build:?}"

# run_unit JOBS: accord-unit in parts, JOBS at once (GoogleTest deals the tests out), every part with its own log. There are many parts, since
# some tests take much longer than others.
run_unit() {
  local jobs=$1 parts=$((8 * $1)) part log good bad
  step unit.log "unit tests" unit_parts "$jobs" "$parts"
  for ((part = 0; part < parts; part++)); do
    log="$logs/unit-$part.log"
    good=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$log" | tail -n 1)
    bad=$(sed -nE 's/^\[  FAILED  \] ([0-9]+) tests?, listed below:$/\1/p' "$log" | tail -n 1)
    if [ -z "$good" ]; then
      # It ended before the sum: the last test begun is the one that crashed, and those after it never ran.
      good=$(grep -c '^\[       OK \]' "$log")
      bad=$(($(grep -c '^\[  FAILED  \].*ms)$' "$log") + 1))
      say "accord-unit ended early:"
      tail -n 40 "$log"
    elif [ -n "$bad" ]; then
      grep -vE '^\[( RUN      |       OK |----------)\]|^$' "$log"
    fi
    passed=$((passed + good))
    failed=$((failed + ${bad:-0}))
  done
}

unit_parts() {
  local jobs=$1 parts=$2 part
  rm -f "$logs"/unit-*.log
  # shellcheck disable=SC2046
  trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
  for ((part = 0; part < parts; part++)); do
    while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n; done
    GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part GTEST_COLOR=no "$build/bin/accord-unit" >"$logs/unit-$part.log" 2>&1 &
    echo "part $((part + 1)) of $parts"
  done
  wait
  return 0
}

# run_lit JOBS FAST: the lit suite, one test more at once than there are processors, since those of the service mostly wait.
run_lit() {
  local jobs=$1 fast=$2 log="$logs/lit.log" lit
  local -a options=(-v -j "$((jobs + 1))")
  [ -n "$fast" ] && options+=(--param fast=1)
  lit=$(sed -n 's/^ACCORD_LIT:[A-Z]*=//p' "$build/CMakeCache.txt")
  step lit.log "lit tests" "$lit" "${options[@]}" "$build/test" || true
  awk '/^\*+ TEST .* \*+$/ { show = 1 } show { print } /^\*+$/ { show = 0 }' "$log"
  grep -E '^(FAIL|TIMEOUT|UNRESOLVED|XPASS): ' "$log"
  # lit's own sum: one line for each outcome that occurred.
  local good bad skipped
  good=$(lit_count "$log" Passed 'Expectedly Failed' 'Passed With Retry')
  bad=$(lit_count "$log" Failed 'Timed Out' Unresolved 'Unexpectedly Passed')
  skipped=$(lit_count "$log" Unsupported)
  if ! grep -q '^Total Discovered Tests:' "$log"; then
    say "the lit suite did not run:"
    tail -n 20 "$log"
    bad=1
  fi
  [ "$skipped" -gt 0 ] && say "$skipped tests left out (they need something this machine or this run does not have)"
  passed=$((passed + good))
  failed=$((failed + bad))
}

lit_count() {
  local log=$1 outcome count sum=0
  shift
  for outcome in "$@"; do
    count=$(sed -nE "s/^  $outcome *: +([0-9]+).*/\1/p" "$log" | tail -n 1)
    sum=$((sum + ${count:-0}))
  done
  echo "$sum"
}

# run_readers: a second of libFuzzer on each reader, where it is built (scripts/fuzz-readers.sh --build).
run_readers() {
  [ -x "$root/build-fuzz/bin/accord-fuzz-readers" ] || return 0
  if step fuzz-readers.log "fuzzing the readers" scripts/fuzz-readers.sh --seconds 1 --uncounted; then
    passed=$((passed + 1))
  else
    grep FOUND "$logs/fuzz-readers.log"
    failed=$((failed + 1))
  fi
}

# run_style PROGRAM "what" COMMAND...: one test, which needs PROGRAM.
run_style() {
  local program=$1 what=$2
  shift 2
  if ! command -v "$program" >/dev/null; then
    say "$what is left out: there is no $program"
  elif step "$what.log" "$what" "$@"; then
    passed=$((passed + 1))
  else
    cat "$logs/$what.log"
    failed=$((failed + 1))
  fi
}
