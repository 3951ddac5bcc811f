#!/usr/bin/env bash
# libFuzzer on every reader of files, and how much of the reader's own code it reaches. See docs/fuzzing.md.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P) || exit 1
program="$root/build-fuzz/bin/accord-fuzz-readers"
corpus="$root/test/fuzz/readers/corpus"
found="$root/build-fuzz/crashes"

usage() {
  cat <<'END_OF_HELP'
usage: scripts/fuzz-readers.sh [--seconds N] [--build] [--from DIR] [--keep] [--uncounted] [READER...]

Runs each reader (default: all) for N seconds (default 20) on the inputs of test/fuzz/readers/corpus and what libFuzzer makes of
them, and prints inputs, findings and how many lines of the reader's files it and the other readers reached. A finding is left in
build-fuzz/crashes; the exit status is then 1.

  --build      configure and build build-fuzz/ first, beside the built Accord in build/
  --from DIR   begin with the files of DIR, too: what tests left in build/test, for example
  --keep       add the inputs that reach more code to the corpus of the checkout (at most 16 KiB each)
  --uncounted  do not count the lines, which takes one more run over the corpus
  --help       this text
END_OF_HELP
}

seconds=20 build='' keep='' counted=1 from=() readers=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds wants a number}; shift ;;
    --build) build=1 ;;
    --from) from=("${2:?--from wants a folder}"); shift ;;
    --keep) keep=1 ;;
    --uncounted) counted='' ;;
    --help | -h) usage && exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) readers+=("$1") ;;
  esac
  shift
done

if [ -n "$build" ]; then
  cmake -S "$root/test/fuzz/readers" -B "$root/build-fuzz" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_PREFIX_PATH="$root/build" >/dev/null && ninja -C "$root/build-fuzz" || exit 1
fi
[ -x "$program" ] || { echo "error: there is no $program: scripts/fuzz-readers.sh --build" >&2; exit 1; }
# LLVM's libraries are without sanitizers: their allocators poison nothing and their containers tell nothing of their ends.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_odr_violation=0:detect_leaks=0:handle_abort=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export LLVM_PROFILE_FILE=/dev/null # but where it is looked at
profiles="$root/build-fuzz/profiles"
rm -rf "$profiles"
mkdir -p "$found" "$root/build-fuzz/corpus" "$profiles"

status=0 names=() files=() results=()
"$program" --list >"$root/build-fuzz/readers.txt" || exit 1
while read -r name pattern; do
  [ ${#readers[@]} -eq 0 ] || [[ " ${readers[*]} " == *" $name "* ]] || continue
  log="$root/build-fuzz/$name.log" seeds=("$root/build-fuzz/corpus/$name" "$corpus/$name")
  mkdir -p "${seeds[@]}"
  "$program" "--reader=$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -max_len=40000 -close_fd_mask=1 \
    -print_final_stats=1 -artifact_prefix="$found/$name-" "${seeds[@]}" "${from[@]}" >"$log" 2>&1
  finding=$?
  [ $finding -eq 0 ] || status=1
  if [ -n "$keep" ]; then
    "$program" "--reader=$name" -merge=1 -use_counters=0 -max_len=16384 -timeout=60 "$corpus/$name" "$root/build-fuzz/corpus/$name" \
      "${from[@]}" >>"$log" 2>&1
  fi
  # A finding ends the program before it writes what it reached: once more over the inputs alone.
  if [ -n "$counted" ]; then
    LLVM_PROFILE_FILE="$profiles/$name.raw" "$program" "--reader=$name" -runs=0 -timeout=60 "${seeds[@]}" >>"$log" 2>&1
  fi
  names+=("$name") files+=("$pattern")
  results+=("$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | head -n 1) $([ $finding -eq 0 ] && echo none || echo FOUND)")
done <"$root/build-fuzz/readers.txt"

# A file may belong to several readers, as the syntax does: a line counts where any of them reaches it.
if [ -n "$counted" ]; then
  llvm-profdata-22 merge -sparse "$profiles"/*.raw -o "$profiles/all.data" 2>"$profiles/all.log" || counted=''
fi
printf '%-14s %10s %8s %10s  %s\n' reader inputs finding corpus 'lines reached'
for i in "${!names[@]}"; do
  reached=''
  if [ -n "$counted" ]; then
    mapfile -t sources < <(cd "$root" && find lib -name '*.cpp' | grep -E "${files[i]}" | sed "s|^|$root/|")
    reached=$(llvm-cov-22 report "$program" -instr-profile="$profiles/all.data" "${sources[@]}" 2>>"$profiles/all.log" |
      awk '/^TOTAL/ { printf "%d of %d (%s)", $8 - $9, $8, $10 }')
  fi
  read -r inputs finding <<<"${results[i]}"
  printf '%-14s %10s %8s %10s  %s\n' "${names[i]}" "$inputs" "$finding" "$(find "$corpus/${names[i]}" -type f | wc -l)" "$reached"
done
exit $status
