# shellcheck shell=bash
# Configure once, then let ninja say what there is to do: a second run takes as long as ninja needs to see that nothing changed.

: "${root:?}"
build="$root/build"

# configure: runs CMake when there is no build folder yet or when what it was told has changed. ninja does the rest.
configure() {
  local -a options=()
  [ -n "${MLIR_DIR:-}" ] && options+=("-DMLIR_DIR=$MLIR_DIR")
  local told
  told="$root ${options[*]} $(cksum <"$root/CMakePresets.json")"
  [ -f "$build/build.ninja" ] && [ "$(cat "$build/configured" 2>/dev/null)" = "$told" ] && return
  if [ "$(free_gigabytes "$root")" -lt 1 ]; then
    fail "the build needs about 1 GB in $root, and less is free" "free some space and run this again"
  fi
  # A build folder that was moved or copied here cannot be used.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fi
  step configure.log "configuring" cmake -S "$root" --preset release "${options[@]}" || explain_failure configure.log "configuring"
  echo "$told" >"$build/configured"
}

# build_targets JOBS "what" [TARGET...]: no target means everything; those that this machine cannot build (without MPI there is no
# accord-mpi) are left out.
build_targets() {
  local jobs=$1 what=$2 target
  local -a known=()
  shift 2
  for target in "$@"; do
    if ninja -C "$build" -t query "$target" >/dev/null 2>&1; then known+=("$target"); fi
  done
  [ $# -gt 0 ] && [ "${#known[@]}" = 0 ] && return
  set -- "${known[@]}"
  # Where there is no home, ccache keeps its files with the build.
  if [ ! -w "${HOME:-/nowhere}" ]; then export CCACHE_DIR="$build/ccache"; fi
  step build.log "$what" ninja -C "$build" -j "$jobs" "$@" || explain_failure build.log "$what"
}

# build_wheel: the package for Python in build/python, of what is built. What builds it is in a virtual environment of its own.
build_wheel() {
  local python="$build/python/venv/bin/python"
  if ! "$python" -c 'import scikit_build_core' 2>/dev/null; then
    step python-venv.log "making a virtual environment" python3 -m venv "$build/python/venv" || explain_failure python-venv.log "making a virtual environment"
    step python-tools.log "installing scikit-build-core" "$python" -m pip install -q scikit-build-core ||
      explain_failure python-tools.log "installing scikit-build-core"
  fi
  rm -f "$build"/python/*.whl
  step python-wheel.log "building the package for Python" "$python" -m pip wheel -q "$root" --no-build-isolation --no-deps -w "$build/python" ||
    explain_failure python-wheel.log "building the package for Python"
  printf '\npip install %s\n' "$build"/python/*.whl
}
