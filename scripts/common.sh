# shellcheck shell=bash
# What ./quickstart and ./check share: plain messages, a progress line, and running a step with its output in a log.
# Sourced after `root` is set to the folder of the checkout.

: "${root:?}"
logs="$root/build/logs"
child=

say() { printf '%s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

# A step killed from the keyboard takes its processes with it.
stop_child() {
  trap - INT TERM
  [ -n "$child" ] && kill "$child" 2>/dev/null
  printf '\ninterrupted\n' >&2
  exit 130
}
trap stop_child INT TERM

# step LOG "what is being done" COMMAND...: runs COMMAND with its output in build/logs/LOG and shows how far it is.
# Returns the command's status; the caller says what a failure means.
step() {
  local log="$logs/$1" what=$2 begin=$SECONDS shown=0 last status=0 width
  shift 2
  mkdir -p "$logs" || fail "cannot write to $logs: is the disk full or the folder not yours?"
  "$@" >"$log" 2>&1 </dev/null &
  child=$!
  width=$(tput cols 2>/dev/null || echo 80)
  while kill -0 "$child" 2>/dev/null; do
    sleep 0.1
    if [ -t 1 ]; then
      last=$(tail -c 400 "$log" 2>/dev/null | tr '\r' '\n' | grep -v '^ *$' | tail -n 1)
      printf '\r\033[K%.*s' "$((width - 1))" "$what  $((SECONDS - begin)) s  $last"
    elif [ $((SECONDS - begin - shown)) -ge 30 ]; then
      shown=$((SECONDS - begin))
      last=$(tail -c 400 "$log" 2>/dev/null | tr '\r' '\n' | grep -v '^ *$' | tail -n 1)
      printf '  %s: %s s  %.120s\n' "$what" "$shown" "$last"
    fi
  done
  wait "$child" || status=$?
  child=
  [ -t 1 ] && printf '\r\033[K'
  if [ "$status" = 0 ]; then say "$what: done in $((SECONDS - begin)) s"; fi
  return "$status"
}

# The most helpful sentence for a failed step, from what it wrote.
explain_failure() {
  local log="$logs/$1" what=$2
  if grep -qi 'no space left on device' "$log"; then
    fail "$what failed: the disk is full" "free some space and run this again; it goes on where it stopped"
  elif grep -qiE 'could not resolve|temporary failure (in name )?resolv|network is unreachable|connection (timed out|refused|failed)|could not connect' "$log"; then
    fail "$what failed: the package server cannot be reached" \
      "check the network (and the proxy in /etc/apt/apt.conf.d), then run this again" "the full output: $log"
  elif grep -qi 'could not get lock' "$log"; then
    fail "$what failed: another package manager is running" "wait for it to end, then run this again"
  elif grep -qiE 'killed|cannot allocate memory|out of memory' "$log"; then
    tail -n 15 "$log" >&2
    fail "$what failed: the machine ran out of memory" "run this again with fewer jobs: --jobs 1" "the full output: $log"
  fi
  # A build's first failure says more than its last lines.
  if grep -q '^FAILED: ' "$log"; then sed -n '/^FAILED: /,$p' "$log" | head -n 80 >&2; else tail -n 60 "$log" >&2; fi
  fail "$what failed" "the full output: $log"
}

# Gigabytes (10^9) free where $1 lies.
free_gigabytes() {
  local free
  free=$(df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print int($4 / 976562) }')
  echo "${free:-999}"
}

# One job for each processor, but no more than the memory carries (a compiler on MLIR's headers takes about 1 GB).
default_jobs() {
  local processors memory
  processors=$(nproc 2>/dev/null || echo 2)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1000000) }' /proc/meminfo 2>/dev/null)
  [ -n "$memory" ] && [ "$memory" -lt "$processors" ] && processors=$memory
  [ "$processors" -lt 1 ] && processors=1
  echo "$processors"
}

is_number() { case $1 in '' | *[!0-9]* | 0*) return 1 ;; esac; }
