#include "lib/machine/collectives/Network.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

namespace {
constexpr const char *kTopologies[] = {"switch", "fully_connected", "ring", "mesh", "torus", "fat_tree", "bus"};
constexpr const char *kNames[] = {"ring", "double_tree", "halving_doubling", "direct",
                                  "tree", "dimensions",  "in_switch",        "hierarchical"};
static_assert(std::size(kNames) == kAlgorithms);

template <typename Word, size_t N> std::optional<Word> wordOf(const char *const (&names)[N], const std::string &word) {
  const auto *found = std::ranges::find(names, word);
  return found == std::end(names) ? std::nullopt : std::optional(static_cast<Word>(found - names));
}

bool positive(double value) { return std::isfinite(value) && value > 0; }
bool notNegative(double value) { return std::isfinite(value) && value >= 0; }
} // namespace

const char *name(Topology topology) { return kTopologies[static_cast<size_t>(topology)]; }
const char *name(Algorithm algorithm) { return kNames[static_cast<size_t>(algorithm)]; }
std::optional<Topology> topologyOf(const std::string &word) { return wordOf<Topology>(kTopologies, word); }
std::optional<Algorithm> algorithmOf(const std::string &word) { return wordOf<Algorithm>(kNames, word); }

int64_t Fabric::devices() const {
  int64_t product = 1;
  for (const Network &level : levels)
    if (__builtin_mul_overflow(product, level.endpoints, &product))
      return -1;
  return product;
}

BytesPerSecond endpointBandwidth(const Network &network, int64_t peers) {
  const auto &table = network.bandwidthByPeers;
  if (table.empty())
    return network.bandwidth * network.efficiency;
  auto after =
      std::lower_bound(table.begin(), table.end(), peers, [](const auto &entry, int64_t n) { return entry.first < n; });
  if (after == table.begin())
    return after->second;
  auto before = std::prev(after);
  if (after == table.end())
    return before->second;
  double share = double(peers - before->first) / (after->first - before->first);
  return before->second + (after->second - before->second) * share;
}

Errors check(const Fabric &fabric) {
  Errors errors;
  auto addError = [&](const Network &network, std::string message) {
    errors.push_back({Code::NetworkNumbers, fmt::format("network '{}' {}", network.name, message), network.location});
  };
  int64_t devices = 1;
  for (const Network &level : fabric.levels) {
    if (level.endpoints < 1) {
      addError(level, fmt::format("connects {} endpoints", level.endpoints));
      return errors;
    }
    if (__builtin_mul_overflow(devices, level.endpoints, &devices) || devices > kMaxDevices) {
      addError(level, fmt::format("makes more than {} devices", kMaxDevices));
      return errors;
    }
    if (level.bandwidthByPeers.empty() && !positive(level.bandwidth.value))
      addError(level, fmt::format("has a bandwidth of {} B/s", level.bandwidth.value));
    if (!notNegative(level.latency.value))
      addError(level, fmt::format("has a latency of {} s", level.latency.value));
    if (!notNegative(level.energy.value))
      addError(level, fmt::format("needs {} J/B", level.energy.value));
    if (!positive(level.efficiency) || level.efficiency > 1)
      addError(level, fmt::format("has an efficiency of {}", level.efficiency));
    if (!std::isfinite(level.oversubscription) || level.oversubscription < 1)
      addError(level, fmt::format("is oversubscribed {} times", level.oversubscription));
    if (level.planes < 1 || level.planes > kMaxDevices)
      addError(level, fmt::format("has {} planes", level.planes));
    if (level.leaf < 1)
      addError(level, fmt::format("has {} endpoints on a leaf switch", level.leaf));
    bool grid = level.topology == Topology::Mesh || level.topology == Topology::Torus;
    int64_t places = 1;
    for (int64_t extent : level.shape)
      if (extent < 1 || __builtin_mul_overflow(places, extent, &places))
        places = -1;
    if (grid && (level.shape.empty() || places != level.endpoints))
      addError(level, fmt::format("has {} endpoints, which its shape does not make", level.endpoints));
    int64_t last = 0;
    for (const auto &[peers, bandwidth] : level.bandwidthByPeers) {
      if (peers <= last || !positive(bandwidth.value)) {
        addError(level, "has a table of bandwidths that is not in order of peers, or not positive");
        break;
      }
      last = peers;
    }
  }
  return errors;
}

} // namespace accord
