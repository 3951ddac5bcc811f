#include "lib/machine/collectives/GroupTopology.h"
#include "lib/machine/collectives/LinkLoads.h"
#include <algorithm>

namespace accord {

RankSpan rankSpanOf(const Fabric &fabric, const Groups &groups) {
  RankSpan rankSpan;
  rankSpan.peers.assign(fabric.levels.size(), 1);
  std::vector<bool> differs(fabric.levels.size());
  for (const auto &group : groups) {
    int64_t unit = 1; // devices of an endpoint of the level
    for (size_t l = 0; l < fabric.levels.size(); ++l) {
      int64_t whole = unit * fabric.levels[l].endpoints, run = 0, last = -1;
      for (size_t i = 0; i < group.size(); ++i) { // ascending: endpoints of one network are together
        run = i > 0 && group[i] / whole == group[i - 1] / whole ? run + (group[i] / unit != last) : 1;
        last = group[i] / unit;
        rankSpan.peers[l] = std::max(rankSpan.peers[l], run);
        differs[l] = differs[l] || run > 1;
      }
      unit = whole;
    }
  }
  for (size_t l = 0; l < differs.size(); ++l)
    if (differs[l])
      rankSpan.levels.push_back(l);
  return rankSpan;
}

/// Extents of the part of a grid that a group fills; empty if it fills none.
static std::vector<int64_t> filled(const Network &network, const std::vector<int64_t> &endpoints) {
  std::vector<int64_t> grid = gridOf(network), extents;
  int64_t stride = 1, product = 1;
  for (int64_t extent : grid) {
    std::vector<int64_t> at;
    for (int64_t endpoint : endpoints)
      at.push_back(endpoint / stride % extent);
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    extents.push_back(at.size());
    product *= extents.back();
    stride *= extent;
  }
  return grid.empty() || std::cmp_not_equal(product, endpoints.size()) ? std::vector<int64_t>() : extents;
}

GroupTopology groupTopologyOf(const Fabric &fabric, const Groups &groups, const RankSpan &rankSpan) {
  GroupTopology groupTopology;
  if (rankSpan.levels.size() != 1)
    return groupTopology;
  const Network &network = fabric.levels[rankSpan.levels[0]];
  groupTopology.hasLinkPerPair = network.topology == Topology::FullyConnected;
  groupTopology.canReduceInSwitch =
      network.inSwitchReduction && (network.topology == Topology::Switch || network.topology == Topology::FatTree);
  if (!network.bandwidthByPeers.empty())
    return groupTopology;
  groupTopology.isBidirectional = !gridOf(network).empty();
  int64_t unit = 1; // devices of an endpoint of the level
  for (int l = 0; l < rankSpan.levels[0]; ++l)
    unit *= fabric.levels[l].endpoints;
  for (size_t i = 0; i < groups.size() && groupTopology.isBidirectional; ++i) {
    std::vector<int64_t> endpoints;
    for (int64_t device : groups[i])
      endpoints.push_back(device / unit % network.endpoints);
    std::vector<int64_t> grid = filled(network, endpoints);
    if (i == 0)
      groupTopology.grid = grid;
    else if (grid != groupTopology.grid)
      groupTopology.grid.clear();
    if (groupTopology.grid.empty())
      break;
  }
  return groupTopology;
}

/// Places in the order of a path through the grid without its dimension `without`: every second
/// row backwards. Strides are those of the whole grid.
static std::vector<int64_t> snake(const std::vector<int64_t> &grid, size_t without) {
  int64_t n = 1, places = 1;
  std::vector<int64_t> strides;
  for (size_t d = 0; d < grid.size(); ++d) {
    strides.push_back(places);
    places *= grid[d];
    n *= d == without ? 1 : grid[d];
  }
  std::vector<int64_t> order(n);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, unit = n, above = 0; // above: the number that the higher digits make
    for (size_t d = grid.size(); d-- > 0;) {
      if (d == without)
        continue;
      unit /= grid[d];
      int64_t digit = rest / unit;
      rest %= unit;
      order[i] += (above % 2 ? grid[d] - 1 - digit : digit) * strides[d];
      above = above * grid[d] + digit;
    }
  }
  return order;
}

std::vector<int64_t> ringOrder(const std::vector<int64_t> &grid) {
  size_t even = 0;
  while (even < grid.size() && grid[even] % 2)
    ++even;
  std::vector<int64_t> path = snake(grid, even);
  if (even == grid.size() || path.size() < 2)
    return even == grid.size() ? path : snake(grid, grid.size());
  // Up the even dimension over all of the path but its first place, and back down along that.
  int64_t stride = 1;
  for (size_t d = 0; d < even; ++d)
    stride *= grid[d];
  std::vector<int64_t> order;
  for (int64_t row = 0; row < grid[even]; ++row)
    for (size_t i = 1; i < path.size(); ++i)
      order.push_back(path[row % 2 ? path.size() - i : i] + row * stride);
  for (int64_t row = grid[even]; row-- > 0;)
    order.push_back(path[0] + row * stride);
  return order;
}

std::pair<Groups, Groups> splitAtLevel(const Fabric &fabric, const Groups &groups, int inner) {
  int64_t whole = 1;
  for (int l = 0; l <= inner; ++l)
    whole *= fabric.levels[l].endpoints;
  Groups intraNode, interNode;
  size_t size = 0;
  for (const auto &group : groups) {
    Groups runs;
    for (size_t i = 0; i < group.size(); ++i) {
      if (i == 0 || group[i] / whole != group[i - 1] / whole)
        runs.emplace_back();
      runs.back().push_back(group[i]);
    }
    size = size ? size : runs[0].size();
    for (const auto &run : runs)
      if (run.size() != size)
        return {};
    if (runs.size() < 2 || size < 2)
      return {};
    for (size_t j = 0; j < size; ++j) {
      auto &column = interNode.emplace_back();
      for (const auto &run : runs)
        column.push_back(run[j]);
    }
    intraNode.insert(intraNode.end(), runs.begin(), runs.end());
  }
  return {intraNode, interNode};
}

/// Of one group; empty: it is no such row.
static std::vector<LevelRow> rowsOf(const Fabric &fabric, const std::vector<int64_t> &group) {
  std::vector<LevelRow> rows;
  int64_t unit = 1, members = 1;
  for (size_t l = 0; l < fabric.levels.size(); ++l) {
    int64_t n = fabric.levels[l].endpoints;
    std::vector<int64_t> at;
    for (int64_t device : group)
      at.push_back(device / unit % n);
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    unit *= n;
    if (at.size() < 2)
      continue;
    LevelRow row{static_cast<int>(l), at[1] - at[0], static_cast<int64_t>(at.size())};
    for (size_t i = 1; i < at.size(); ++i)
      if (at[i] - at[i - 1] != row.stride)
        return {};
    if (n % (row.stride * row.peers) != 0)
      return {};
    members *= row.peers;
    rows.push_back(row);
  }
  return std::cmp_equal(members, group.size()) ? rows : std::vector<LevelRow>();
}

std::vector<LevelRow> rowsOf(const Fabric &fabric, const Groups &groups) {
  std::vector<LevelRow> rows;
  for (size_t i = 0; i < groups.size(); ++i) {
    std::vector<LevelRow> one = rowsOf(fabric, groups[i]);
    if (one.empty() || (i > 0 && one != rows))
      return {};
    rows = std::move(one);
  }
  return rows;
}

Groups groupsAlong(const std::vector<Axis> &axes, const std::string &axis) {
  int64_t stride = 1, total = 1, size = 0;
  for (const Axis &one : axes) {
    if (one.devices < 1)
      return {};
    if (one.name == axis && !size) {
      size = one.devices;
      stride = total;
    }
    if (__builtin_mul_overflow(total, one.devices, &total) || total > kMaxDevices)
      return {};
  }
  Groups groups;
  for (int64_t base = 0; size && base < total; ++base)
    if (base / stride % size == 0) {
      auto &group = groups.emplace_back();
      for (int64_t i = 0; i < size; ++i)
        group.push_back(base + i * stride);
    }
  return groups;
}

std::vector<int64_t> gridOf(const Network &network) {
  if (network.topology == Topology::Ring)
    return {network.endpoints};
  if (network.topology == Topology::Mesh || network.topology == Topology::Torus)
    return network.shape;
  return {};
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
  // kMaxDevices / n of it.
  const Network &network = fabric.levels[level];
  uint64_t n = network.endpoints;
  uint64_t links = network.topology == Topology::FullyConnected ? n * n : n * (2 * network.shape.size() + 4) + 4;
  uint64_t key = (uint64_t(level) << 58) | (instance * links + link);
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
      load(level, instance, (node * int64_t(grid.size()) + d) * 2 + direction, capacity, bytes);
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
  if (network.planes > 1) {
    int64_t inside = 1; // devices of an endpoint
    for (int l = 0; l < level; ++l)
      inside *= fabric.levels[l].endpoints;
    instance = instance * network.planes + from % inside * network.planes / inside;
  }
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
