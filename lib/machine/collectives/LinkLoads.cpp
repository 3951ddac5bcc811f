#include "lib/machine/collectives/LinkLoads.h"
#include <algorithm>

namespace accord {

std::vector<int64_t> gridOf(const Network &network) {
  if (network.topology == Topology::Ring)
    return {network.endpoints};
  if (network.topology == Topology::Mesh || network.topology == Topology::Torus)
    return network.shape;
  return {};
}

std::vector<int64_t> coordinatesOf(const Fabric &fabric, int64_t device) {
  std::vector<int64_t> coordinates;
  for (const Network &level : fabric.levels) {
    coordinates.push_back(device % level.endpoints);
    device /= level.endpoints;
  }
  return coordinates;
}

/// Links of an endpoint that is not at an edge.
static int64_t degreeOf(const std::vector<int64_t> &grid) {
  int64_t degree = 0;
  for (int64_t extent : grid)
    degree += extent == 1 ? 0 : extent == 2 ? 1 : 2;
  return std::max<int64_t>(degree, 1);
}

Links::Links(const Fabric &fabric, std::vector<int64_t> peers)
    : fabric(fabric), peers(std::move(peers)), moved(fabric.levels.size()), injected(fabric.levels.size()),
      longest(fabric.levels.size()) {
  this->peers.resize(fabric.levels.size(), 1);
}

void Links::load(int level, int64_t instance, int64_t link, double capacity, double bytes) {
  // Numbers of links are below 2^46: a fully connected network has n * n, and there are at most
  // kMostDevices / n of it.
  const Network &network = fabric.levels[level];
  uint64_t n = network.endpoints;
  uint64_t links = network.topology == Topology::FullyConnected ? n * n : n * (2 * network.shape.size() + 4) + 4;
  uint64_t key =
      (static_cast<uint64_t>(level) << 58) | (static_cast<uint64_t>(instance) * links + static_cast<uint64_t>(link));
  Load &entry = loads[key];
  entry.bytes += bytes;
  entry.capacity = capacity;
  entry.level = level;
  ++entry.flows;
  moved[level] += bytes;
}

void Links::route(int level, int64_t instance, int64_t from, int64_t to, double bytes, int64_t &hops) {
  const Network &network = fabric.levels[level];
  std::vector<int64_t> grid = gridOf(network);
  bool wraps = network.topology != Topology::Mesh;
  double capacity = endpointBandwidth(network, peers[level]).value / degreeOf(grid);
  int64_t here = from, stride = 1, node = from;
  for (size_t d = 0; d < grid.size(); ++d) {
    int64_t extent = grid[d], at = here % extent, goal = to / stride % extent;
    here /= extent;
    int64_t up = (goal - at + extent) % extent;
    bool ascends = goal > at;
    if (wraps && extent > 2)
      ascends = up * 2 < extent || (up * 2 == extent && at % 2 == 0);
    for (; at != goal; ++hops) {
      int64_t direction = ascends ? 0 : 1;
      load(level, instance, (node * static_cast<int64_t>(grid.size()) + d) * 2 + direction, capacity, bytes);
      int64_t next = ascends ? (at + 1) % extent : (at + extent - 1) % extent;
      node += (next - at) * stride;
      at = next;
    }
    stride *= extent;
  }
}

void Links::send(int64_t from, int64_t to, double bytes) {
  int level = -1;
  int64_t a = from, b = to, start = 0, end = 0, instance = 0;
  for (size_t l = 0; l < fabric.levels.size(); ++l) {
    int64_t n = fabric.levels[l].endpoints;
    if (a % n != b % n) {
      level = l;
      start = a % n;
      end = b % n;
      instance = a / n;
    }
    a /= n;
    b /= n;
  }
  if (level < 0)
    return;
  const Network &network = fabric.levels[level];
  double capacity = endpointBandwidth(network, peers[level]).value;
  int64_t n = network.endpoints, hops = 1;
  injected[level] += bytes;
  bool measured = !network.bandwidthByPeers.empty();
  if (measured || network.topology == Topology::Switch || network.topology == Topology::FatTree) {
    load(level, instance, 2 * start, capacity, bytes);
    load(level, instance, 2 * end + 1, capacity, bytes);
    int64_t up = start / network.leaf, down = end / network.leaf;
    if (!measured && network.topology == Topology::FatTree && up != down) {
      auto uplink = [&](int64_t leaf) {
        int64_t members = std::min(network.leaf, n - leaf * network.leaf);
        return capacity * members / network.oversubscription;
      };
      load(level, instance, 2 * n + 2 * up, uplink(up), bytes);
      load(level, instance, 2 * n + 2 * down + 1, uplink(down), bytes);
    }
  } else if (network.topology == Topology::Bus) {
    load(level, instance, 0, capacity, bytes);
  } else if (network.topology == Topology::FullyConnected) {
    load(level, instance, start * n + end, capacity / (n - 1), bytes);
  } else {
    hops = 0;
    route(level, instance, start, end, bytes, hops);
  }
  longest[level] = std::max(longest[level], hops);
}

std::vector<double> Links::bottleneckTimeByLevel() const {
  std::vector<double> bottleneckLink(fabric.levels.size());
  for (const auto &[key, load] : loads)
    bottleneckLink[load.level] = std::max(bottleneckLink[load.level], load.bytes / load.capacity);
  return bottleneckLink;
}

Links::BottleneckLink Links::bottleneckLink() const {
  BottleneckLink bottleneckLink;
  uint64_t best = 0;
  for (const auto &[key, load] : loads) {
    Seconds time(load.bytes / load.capacity);
    // Ties by key: the order of a hash table must not show.
    if (bottleneckLink.level < 0 || time > bottleneckLink.time || (time == bottleneckLink.time && key < best)) {
      bottleneckLink = {time, load.flows, load.level};
      best = key;
    }
  }
  return bottleneckLink;
}

} // namespace accord
