// The shell function of the guard. No single quote stands in it, so that scripts and manifests may quote it whole.
#include "lib/launch/Guard.h"
#include "lib/launch/Products.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace accord {
namespace {

/// Switches, and what the environment says of servers and ranks.
constexpr const char *kEnvironment = R"sh(  set +eu
  unset IFS
  LC_ALL=C PATH="$PATH:/usr/bin:/bin:/usr/sbin:/sbin:/opt/rocm/bin:/opt/aws/neuron/bin"
  export LC_ALL PATH
  node="${SLURMD_NODENAME:-${ACCORD_NODE:-$(uname -n)}}"
  quote="$(printf "\047")" asked="" mark=""
  refuse() { # SENTENCE [WHAT TO DO]
    printf "accord guard: %s: nothing was started%s\n" "$1" "${2:+ ($2)}" >&2
    exec 2>/dev/null # a shell may say that it killed something
    if [ -n "$mark" ]; then printf "accord-guard-refused\t%s\t%s\n" "$node" "$1" >>"$mark"; fi
    if [ -n "$asked" ]; then kill -9 "$asked"; fi
    exit 78
  }
  is_number() {
    case "$1" in
    "" | *[!0-9]* | ????????????????*) return 1 ;;
    esac
  }
  words_of() {
    printf "%s" "$1" | tr "[:upper:]" "[:lower:]" | tr -cs "[:alnum:]" " "
  }
  has_tool() {
    for one in nvidia-smi rocm-smi amd-smi hl-smi neuron-ls; do
      if command -v "$one" >/dev/null 2>&1; then return 0; fi
    done
    [ -d "$root/proc/driver/nvidia" ] || [ -n "${TPU_ACCELERATOR_TYPE:-}" ]
  }
  case "${ACCORD_GUARD:-on}" in
  on) ;;
  auto) has_tool || virtual=1 ;;
  virtual) virtual=1 ;;
  off)
    printf "accord guard: off: node %s starts without a look at its devices\n" "$node" >&2
    exit 0
    ;;
  *) refuse "ACCORD_GUARD is ${quote}$ACCORD_GUARD${quote}, which is none of on, auto, virtual and off" ;;
  esac
  if [ -n "${ACCORD_GUARD_PRODUCT:-}" ]; then
    product="$quote$ACCORD_GUARD_PRODUCT$quote" products="$(words_of "$ACCORD_GUARD_PRODUCT")"
    products="${products# }" products="${products% }"
  fi
  more=""
  if [ "$memory" -gt 0 ]; then more=" with at least $memory MiB"; fi
  needs="the plan needs $devices $type ($product$more)"
  limit="${ACCORD_GUARD_SECONDS:-30}"
  is_number "$limit" || limit=30
  given="${SLURM_STEP_NUM_NODES:-${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-${PET_NNODES:-}}}}"
  if is_number "$given" && [ "$given" -ne "$servers" ]; then
    refuse "the number of servers of the job is $given, and the plan needs $servers with $devices $type each"
  fi
  given="${NODE_RANK:-${JOB_COMPLETION_INDEX:-${PET_NODE_RANK:-${SLURM_NODEID:-}}}}"
  if is_number "$given" && [ "$given" -ge "$servers" ]; then
    refuse "node $node is server $given, and the plan has $servers, from 0"
  fi
  given="${WORLD_SIZE:-}"
  if is_number "$given" && [ "$given" -ne "$world" ] && [ "$given" -ne "$servers" ]; then
    refuse "WORLD_SIZE is $given, and the plan has $world devices on $servers servers"
  fi
  mark="${ACCORD_GUARD_MARK:-}" # from here on it is the node
  given="${SLURM_GPUS_ON_NODE:-}"
  if is_number "$given" && [ "$given" -lt "$devices" ]; then
    refuse "Slurm gives node $node $given devices, and $needs"
  fi
  file="$(mktemp "${TMPDIR:-/tmp}/accord-guard.XXXXXX" 2>/dev/null || mktemp /dev/shm/accord-guard.XXXXXX 2>/dev/null)" ||
    refuse "node $node has no place for a temporary file" "TMPDIR names one"
  # shellcheck disable=SC2064
  trap "rm -f \"$file\"" 0
  ask() { # COMMAND...: its output in $file
    "$@" </dev/null >"$file" 2>/dev/null &
    asked=$! ticks=$((limit * 50))
    while kill -0 "$asked" 2>/dev/null; do
      if [ "$ticks" -le 0 ]; then
        refuse "$1 on node $node said nothing within $limit s" "ACCORD_GUARD_SECONDS is its time, ACCORD_GUARD=off starts unchecked"
      fi
      if sleep 0.02 2>/dev/null; then ticks=$((ticks - 1)); else sleep 1 && ticks=$((ticks - 50)); fi
    done
    wait "$asked"
    status=$? asked=""
    [ "$status" -eq 0 ] || failed="$1 ends with status $status"
    return "$status"
  }
)sh";

/// Without devices: the type of generic resources that Slurm was configured with.
constexpr const char *kVirtual = R"sh(  if [ "$virtual" = 1 ]; then
    if [ -n "${SLURM_JOB_ID:-}" ] && command -v scontrol >/dev/null 2>&1 && ask scontrol show node "$node"; then
      while read -r line; do
        case "$line" in
        Gres=*)
          gres="$(printf "%s" "${line#Gres=}" | tr "[:upper:]" "[:lower:]")"
          wanted="$(printf "%s" "$name" | tr "[:upper:]" "[:lower:]")"
          case ",$gres," in
          *,gpu:"$wanted"[:,\(]*) ;;
          *) refuse "node $node has ${quote}${line#Gres=}${quote}, and the plan needs $devices $type (${quote}gpu:$name${quote})" ;;
          esac
          ;;
        esac
      done <"$file"
    fi
    exit 0
  fi
)sh";

/// Devices one by one: which of them the launcher will see, and whether each is as planned.
constexpr const char *kDevices =
    R"sh(  index=-1 count=0 misfits=0 misfit=0 mixed=0 kinds=0 unread=0 run=0 shown="" found="" chosen="" numbered=1 failed="" seen=""
  choose() { # LIST: what a variable leaves of the devices
    case "$1" in
    *MIG-*) refuse "node $node gives a part of a device (MIG), and $needs" ;;
    esac
    chosen="," numbered=1
    rest="$1,"
    while [ -n "$rest" ]; do
      one="${rest%%,*}" rest="${rest#*,}"
      one="${one# }" one="${one% }"
      case "$one" in
      GPU-*) numbered=0 ;;
      "" | *[!0-9]*) break ;;
      esac
      chosen="$chosen$one,"
    done
  }
  group() {
    if [ "$run" -gt 0 ]; then found="$found${found:+ and }$run $shown"; fi
    run=0
  }
  see() { # NAME MIB: the next device; MIB is empty where it is not known
    index=$((index + 1))
    if [ "$1,$2" != "$seen" ]; then
      seen="$1,$2" kinds=$((kinds + 1)) fits=0 words=" $(words_of "$1") " rest="$products|"
      while [ -n "$rest" ]; do
        case "$words" in
        *" ${rest%%|*} "*) fits=1 ;;
        esac
        rest="${rest#*|}"
      done
      if is_number "$2"; then
        if [ "$2" -lt "$memory" ]; then fits=0; fi
      elif [ "$memory" -gt 0 ]; then
        unread=1
      fi
    fi
    if [ "$fits" = 0 ]; then misfit=1; fi
    if [ "$misfit" = 1 ] && [ "$kinds" -gt 1 ]; then mixed=1; fi
    case "$chosen" in
    "" | *,"$index",*) ;;
    *) [ "$numbered" = 0 ] || return 0 ;;
    esac
    count=$((count + 1))
    [ "$fits" = 1 ] || misfits=1
    one="$quote$1$quote"
    if is_number "$2"; then one="$one ($2 MiB)"; fi
    if [ "$one" != "$shown" ]; then group; fi
    shown="$one" run=$((run + 1))
  }
  rows() { # lines of $file: NAME, MIB MiB[, MIG MODE]
    while IFS= read -r line || [ -n "$line" ]; do
      case "$line" in
      *,*) ;;
      *) continue ;;
      esac
      one="${line%%,*}" rest="${line#*,}"
      mode=""
      case "$rest" in
      *,*) mode="${rest#*,}" rest="${rest%%,*}" ;;
      esac
      rest="${rest# }" rest="${rest% MiB}"
      case "$mode" in
      *Enabled*) one="parts (MIG) of $one" rest=0 ;;
      esac
      see "$one" "$rest"
    done <"$file"
  }
)sh";

/// Vendors: each function returns 0 where its tool spoke.
constexpr const char *kVendors = R"sh(  nvidia() {
    if command -v nvidia-smi >/dev/null 2>&1; then
      if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then choose "$CUDA_VISIBLE_DEVICES"; fi
      ask nvidia-smi --query-gpu=name,memory.total,mig.mode.current --format=csv,noheader ||
        ask nvidia-smi --query-gpu=name,memory.total --format=csv,noheader || return 1
      rows
      if [ "$numbered" = 0 ] && [ "$mixed" = 1 ]; then
        one="${chosen#,}" chosen="" numbered=1 index=-1 count=0 misfits=0 run=0 found=""
        ask nvidia-smi --id="${one%,}" --query-gpu=name,memory.total --format=csv,noheader || return 1
        rows
      fi
      if [ -n "$chosen" ] && [ "$mixed" = 1 ] && [ "${CUDA_DEVICE_ORDER:-}" != PCI_BUS_ID ]; then
        group
        refuse "node $node has devices of several kinds, which CUDA numbers by their speed, and $needs" "CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them as nvidia-smi does"
      fi
      return 0
    fi
    for one in "$root"/proc/driver/nvidia/gpus/*/information; do
      [ -r "$one" ] || return 1
      if [ "$index" -lt 0 ] && [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then choose "$CUDA_VISIBLE_DEVICES"; fi
      while read -r key line; do
        if [ "$key" = Model: ]; then see "$line" ""; fi
      done <"$one"
    done
  }
  amd() {
    if [ -n "${ROCR_VISIBLE_DEVICES+set}" ]; then
      choose "$ROCR_VISIBLE_DEVICES"
    elif [ -n "${HIP_VISIBLE_DEVICES+set}" ]; then
      choose "$HIP_VISIBLE_DEVICES"
    elif [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
      choose "$CUDA_VISIBLE_DEVICES"
    fi
    if command -v rocm-smi >/dev/null 2>&1 && ask rocm-smi --showproductname --showmeminfo vram; then
      while read -r line; do
        case "$line" in
        GPU\[*Card\ [Ss]eries:*) ;;
        *) continue ;;
        esac
        key="${line%%]*}]" mib=""
        while read -r other; do
          case "$other" in
          "$key"*"VRAM Total Memory (B):"*) mib="${other##*[!0-9]}" ;;
          esac
        done <"$file"
        if is_number "$mib"; then mib=$((mib / 1048576)); fi
        line="${line#*eries:}"
        see "${line#"${line%%[![:space:]]*}"}" "$mib"
      done <"$file"
      return 0
    fi
    command -v amd-smi >/dev/null 2>&1 && ask amd-smi static --asic --vram || return 1
    called=""
    while read -r key line; do
      case "$key" in
      GPU:) if [ -n "$called" ]; then see "$called" ""; fi && called="" ;;
      MARKET_NAME:) called="$line" ;;
      SIZE:) if [ -n "$called" ]; then see "$called" "${line%% *}"; fi && called="" ;;
      esac
    done <"$file"
    if [ -n "$called" ]; then see "$called" ""; fi
  }
  habana() {
    command -v hl-smi >/dev/null 2>&1 && ask hl-smi -Q name,memory.total -f csv,noheader || return 1
    rows
  }
  neuron() {
    command -v neuron-ls >/dev/null 2>&1 && ask neuron-ls -j || return 1
    called=""
    read -r called 2>/dev/null <"$root/sys/devices/virtual/dmi/id/product_name"
    lines="$(tr "{}," "[\n*]" <"$file")"
    printf "%s\n" "$lines" >"$file"
    while read -r key line; do
      case "$key" in
      \"memory_size\":)
        mib=""
        if is_number "$line"; then mib=$((line * of / each / 1048576)); fi
        part=0
        while [ "$part" -lt "$each" ]; do
          see "AWS Neuron ${called:-device}" "$mib"
          part=$((part + of))
        done
        ;;
      esac
    done <"$file"
  }
  tpu() { # the type says how many there are in the whole slice
    case "${TPU_ACCELERATOR_TYPE:-}" in
    v[0-9]*-[0-9]*) ;;
    *) return 1 ;;
    esac
    given="${TPU_ACCELERATOR_TYPE##*-}" slices="${MEGASCALE_NUM_SLICES:-1}"
    is_number "$given" && is_number "$slices" || return 1
    see "TPU ${TPU_ACCELERATOR_TYPE%-*}" ""
    unread=0
    if [ "$misfits" = 0 ]; then
      given=$((given * slices * each / of))
      if [ "$given" -ne "$world" ]; then
        refuse "${quote}$TPU_ACCELERATOR_TYPE${quote} has $given $type, and the plan has $world"
      fi
      count=$devices
    fi
  }
)sh";

constexpr const char *kDecide = R"sh(  nvidia || amd || habana || neuron || tpu
  group
  if [ "$index" -lt 0 ]; then
    refuse "node $node shows no device (${failed:-there is no nvidia-smi, rocm-smi, amd-smi, hl-smi or neuron-ls}), and $needs" "ACCORD_GUARD=off starts unchecked"
  fi
  if [ "$numbered" = 0 ]; then # devices of one kind by their names: as many as are named
    rest="${chosen#,}" given=0
    while [ -n "$rest" ]; do given=$((given + 1)) rest="${rest#*,}"; done
    if [ "$given" -lt "$count" ]; then
      count="$given" found="$given ${found#* }"
    fi
  fi
  if [ "$count" -eq 0 ]; then
    refuse "node $node leaves no device visible, and $needs"
  fi
  if [ "$misfits" = 1 ] || [ "$count" -lt "$devices" ]; then
    refuse "node $node has $found, and $needs"
  fi
  if [ "$unread" = 1 ]; then
    printf "accord guard: node %s has %s, whose memory no tool says: its name alone was compared\n" "$node" "$found" >&2
  fi
)sh";

/// Fit for double quotes of a shell.
std::string harmless(const std::string &text) {
  std::string out;
  for (char c : sanitized(text))
    out += c == '\'' || c == '*' || c == '|' ? '_' : c;
  return out;
}

} // namespace

std::string guardText(const GuardExpectation &expected, const std::string &root) {
  std::vector<std::string> words, names;
  for (const std::string &product : expected.products)
    if (std::string text = wordsOf(product); !text.empty()) {
      words.push_back(text);
      names.push_back("${quote}" + harmless(product) + "${quote}");
    }
  const int64_t scaled = std::max<int64_t>(1, std::llround(std::min(expected.devicesPerUnit, 1e6) * 1024));
  const int64_t divisor = std::gcd(scaled, int64_t(1024));
  const std::string settings =
      fmt::format("  root=\"{}\" type=\"{}\" name=\"{}\" products=\"{}\"\n"
                  "  memory={} devices={} servers={} world={} each={} of={} virtual={}\n",
                  root, harmless(expected.deviceType),
                  harmless(expected.deviceName.empty() ? expected.deviceType : expected.deviceName),
                  fmt::join(words, "|"), std::max<int64_t>(0, expected.memory) / 1048576, expected.devicesPerServer,
                  expected.servers, expected.worldSize, scaled / divisor, 1024 / divisor, expected.isVirtual ? 1 : 0);
  const std::string product = fmt::format("  product=\"{}\"\n", fmt::join(names, " or "));
  std::string environment = kEnvironment; // names are quoted once the quote is known
  const std::string_view before = "  refuse() {";
  environment.insert(environment.find(before), product);
  return "accord_guard() (\n" + settings + environment + kVirtual + kDevices + kVendors + kDecide + ")\n";
}

} // namespace accord
