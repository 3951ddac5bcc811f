# shellcheck shell=bash
# The Debian packages Accord is built from: what each group is for, which are missing, and how they are installed.

: "${logs:?}"

# name of the group | why | packages
# shellcheck disable=SC2034
package_groups=(
  "llvm|the compiler framework Accord is built on|libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools"
  "compiler|compiles and links Accord's own code|clang-22 lld-22 libclang-rt-22-dev cmake ninja-build ccache pkg-config"
  "languages|reads .accel and .dnn files|antlr4 libantlr4-runtime-dev"
  "processes|mines on many processes and machines|libopenmpi-dev openmpi-bin"
  "solver|proves schedules and placements optimal, and writes down why|libz3-dev z3 cadical"
  "libraries|formats text, reads command lines, gives memory fast|libfmt-dev libcli11-dev libjemalloc-dev"
  "calibration|fits machines to measured step times|libceres-dev libeigen3-dev"
  "statistics|limits of what samples show|libboost-math-dev"
  "qhull|triangulates measurements of jobs|libqhull-dev"
  "service|keeps the state of the scheduler process and speaks HTTP|libsqlite3-dev libpqxx-dev libboost-dev libssl-dev"
  "traces|reads traces of profilers, which are gzip|zlib1g-dev"
  "onnx|reads ONNX models|libonnx-dev libprotobuf-dev protobuf-compiler"
  "torch|reads programs of torch.export, which are ZIP archives|zlib1g-dev"
  "deb|writes Debian packages (ninja -C build deb)|dpkg-dev binutils file"
  "tests|the unit tests and benchmarks; python3 runs the test suite, python3-onnx writes models for it, cvc5 confirms what Z3 says|cvc5 libgtest-dev libgmock-dev libbenchmark-dev python3 python3-onnx"
)
# shellcheck disable=SC2034
check_groups=(
  "check|opens the reports in a browser as a user would, stops tests that hang, reads what is emitted for launchers, keeps a state in PostgreSQL, runs in the process of Python|chromium nodejs python3-dev python3-psutil python3-yaml postgresql postgresql-common"
  "containers|runs what is emitted, and tasks of the scheduler process, in containers|podman runc uidmap busybox-static catatonit"
  "slurm|runs jobs on a real cluster|slurmctld slurmd slurm-client munge"
  "site|builds the documentation as a site|mkdocs python3-pygments"
  "style|formats and examines C++ and the scripts|clang-format-22 clang-tidy-22 shellcheck"
)

# shellcheck disable=SC2034
python_groups=("python|makes and installs packages for Python|python3-dev python3-venv binutils")

# missing_packages PACKAGE...: those that are not installed.
missing_packages() {
  local installed package
  installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | awk '$1 == "installed" { printf "%s ", $2 }')"
  for package in "$@"; do
    case $installed in *" $package "*) ;; *) printf '%s ' "$package" ;; esac
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

# An installation that was interrupted (power, a full disk) leaves packages unpacked, and apt refuses all work until they
# are configured. Those that were cut off while they were unpacked are fetched again; what is broken for good stays so.
finish_interrupted_installation() {
  is_interrupted() { [ -n "$(dpkg --audit 2>/dev/null)" ] || [ -n "$(ls /var/lib/dpkg/updates 2>/dev/null)" ]; }
  is_interrupted || return 0
  say "an earlier installation of packages was interrupted on this machine: finishing it"
  step apt-repair.log "configuring what was unpacked" \
    as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 dpkg --configure -a || true
  is_interrupted || return 0
  # shellcheck disable=SC2046
  step apt-repair.log "fetching what was cut off" apt install -y -f --reinstall \
    $(dpkg-query -W -f '${db:Status-Eflag} ${Package}\n' | awk '$1 == "reinstreq" { print $2 }') ||
    say "  some packages stay broken ($logs/apt-repair.log); going on"
}

# apt, three times: mirrors and networks fail for a moment. What waiting cannot mend (a full disk) is not tried again.
apt_patiently() {
  local log=$1 what=$2 attempt
  shift 2
  for attempt in 1 2 3; do
    step "$log" "$what" apt "$@" && return 0
    if [ "$attempt" = 3 ] || grep -qiE 'no space left|unable to locate package|unmet dependencies' "$logs/$log"; then
      return 1
    fi
    say "  that failed; trying again in $((attempt * 5)) s"
    sleep $((attempt * 5))
  done
}

release_name() {
  # shellcheck disable=SC1091
  (. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-an unknown system}") || echo "an unknown system"
}

llvm_hint=(
  "Debian 12 has them in bookworm-security:"
  "  deb http://deb.debian.org/debian-security bookworm-security main"
  "on other releases add LLVM's own packages (https://apt.llvm.org, version 22), then run this again;"
  "or point to an MLIR 22.1 of your own: MLIR_DIR=/path/to/lib/cmake/mlir $0"
)

# ensure_packages GROUP...: installs what is missing, after saying what and why.
ensure_packages() {
  local group name why packages missing all=""
  local -a lines=() want=()
  if ! command -v dpkg-query >/dev/null; then
    for name in cmake ninja antlr4 pkg-config; do
      command -v "$name" >/dev/null || fail "'$name' is missing and $(release_name) has no Debian packages" \
        "install what scripts/packages.sh lists by your own means, then run this again" "${llvm_hint[@]}"
    done
    return
  fi
  for group in "$@"; do
    IFS='|' read -r name why packages <<<"$group"
    # A user with an MLIR of his own brings LLVM's tools with it.
    [ "$name" = llvm ] && [ -n "${MLIR_DIR:-}" ] && continue
    # shellcheck disable=SC2086
    missing=$(missing_packages $packages)
    [ -z "$missing" ] && continue
    lines+=("  $missing- $why")
    all+=$missing
  done
  [ -z "$all" ] && return
  read -ra want <<<"$all"

  say "Accord needs these Debian packages, which are not installed yet:"
  printf '%s\n' "${lines[@]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "installing them needs root, and there is no sudo" \
      "ask your administrator for: apt-get install --no-install-recommends ${want[*]}"
    sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; } || fail "installing them needs root, and sudo did not let us" \
      "ask your administrator for: apt-get install --no-install-recommends ${want[*]}"
  fi
  if [ "${#want[@]}" -gt 5 ] && [ "$(free_gigabytes /usr)" -lt 4 ]; then
    fail "the packages need about 4 GB under /usr, and $(free_gigabytes /usr) GB are free" "free some space and run this again"
  fi
  # One broken source among many does not matter as long as what we need is offered.
  apt_patiently apt-update.log "asking for the list of packages" update ||
    say "  not every package source answered ($logs/apt-update.log); going on with what is known"
  local -a unknown=()
  for name in "${want[@]}"; do
    apt-cache show --no-all-versions "$name" >/dev/null 2>&1 || unknown+=("$name")
  done
  if [ "${#unknown[@]}" -gt 0 ]; then
    # `apt-get update` may end well even when no server answered: then nothing is known, and this is why.
    if grep -qE '^(W|Err|E):?.*([Ff]ailed to fetch|[Cc]ould not resolve|[Nn]o space left|[Cc]ould not get lock)' "$logs/apt-update.log"; then
      explain_failure apt-update.log "asking for the list of packages"
    fi
    fail "$(release_name) does not offer: ${unknown[*]}" "${llvm_hint[@]}"
  fi
  finish_interrupted_installation
  apt_patiently apt-install.log "installing ${#want[@]} packages" install -y --no-install-recommends "${want[@]}" ||
    explain_failure apt-install.log "installing packages"
}
