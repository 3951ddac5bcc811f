// Networks for tests, and a second opinion on how long messages take: routes written anew from the
// topologies' descriptions.
#pragma once
#include "lib/machine/collectives/Collective.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <tuple>

namespace accord::testing {

constexpr double kBandwidth = 100e9, kLatency = 2e-6;

inline Network network(Topology topology, int64_t n, std::vector<int64_t> shape = {}) {
  Network net;
  net.name = name(topology);
  net.topology = topology;
  net.endpoints = n;
  net.shape = std::move(shape);
  net.bandwidth = BytesPerSecond(kBandwidth);
  net.latency = Seconds(kLatency);
  return net;
}

inline std::vector<int64_t> firstDevices(int64_t n) {
  std::vector<int64_t> group(n);
  for (int64_t i = 0; i < n; ++i)
    group[i] = i;
  return group;
}

inline std::vector<CollectiveCost> allAlternatives(const Fabric &fabric, Collective kind, const Groups &groups,
                                                   double bytes) {
  auto model = CollectiveModel::make(fabric, kind, groups);
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return {};
  }
  return model->all(Bytes(bytes));
}

inline CollectiveCost best(const Fabric &fabric, Collective kind, const Groups &groups, double bytes) {
  auto model = CollectiveModel::make(fabric, kind, groups);
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return {};
  }
  return model->cost(Bytes(bytes));
}

inline std::optional<CollectiveCost> by(Algorithm algorithm, const std::vector<CollectiveCost> &costs) {
  for (const CollectiveCost &cost : costs)
    if (cost.algorithm == algorithm)
      return cost;
  return std::nullopt;
}

/// One step of a simulated algorithm: who sends how many bytes to whom, at the same time.
using Step = std::vector<std::tuple<int64_t, int64_t, double>>;

/// The links of a message by name, with hops. Written anew from the description of the topologies.
struct Route {
  std::vector<std::pair<std::string, double>> links; ///< name, bandwidth
  int hops = 1;
};
inline Route routeOf(const Network &net, int64_t a, int64_t b) {
  Route route;
  int64_t n = net.endpoints;
  switch (net.topology) {
  case Topology::Switch:
    route.links = {{fmt::format("from {}", a), kBandwidth}, {fmt::format("to {}", b), kBandwidth}};
    return route;
  case Topology::Bus:
    route.links = {{"bus", kBandwidth}};
    return route;
  case Topology::FullyConnected:
    route.links = {{fmt::format("{}>{}", a, b), kBandwidth / static_cast<double>(n - 1)}};
    return route;
  case Topology::FatTree:
    route.links = {{fmt::format("from {}", a), kBandwidth}, {fmt::format("to {}", b), kBandwidth}};
    if (a / net.leaf != b / net.leaf) {
      auto up = [&](int64_t leaf) {
        double members = 0;
        for (int64_t i = 0; i < n; ++i)
          members += i / net.leaf == leaf;
        return members * kBandwidth / net.oversubscription;
      };
      route.links.push_back({fmt::format("up {}", a / net.leaf), up(a / net.leaf)});
      route.links.push_back({fmt::format("down {}", b / net.leaf), up(b / net.leaf)});
    }
    return route;
  case Topology::Ring:
  case Topology::Mesh:
  case Topology::Torus: {
    std::vector<int64_t> shape = net.topology == Topology::Ring ? std::vector<int64_t>{n} : net.shape;
    double ports = 0;
    std::vector<int64_t> at, goal;
    for (int64_t extent : shape) {
      ports += extent > 2 ? 2 : extent == 2 ? 1 : 0;
      at.push_back(a % extent);
      goal.push_back(b % extent);
      a /= extent;
      b /= extent;
    }
    route.hops = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t distance = std::abs(goal[d] - at[d]), step = goal[d] > at[d] ? 1 : -1;
      if (net.topology != Topology::Mesh && shape[d] > 2) {
        if (distance * 2 > shape[d])
          step = -step;
        else if (distance * 2 == shape[d])
          step = at[d] % 2 == 0 ? 1 : -1;
      }
      while (at[d] != goal[d]) {
        auto to = at;
        to[d] = (to[d] + step + shape[d]) % shape[d];
        route.links.push_back({fmt::format("{}>{}", fmt::join(at, ","), fmt::join(to, ",")), kBandwidth / ports});
        at = to;
        ++route.hops;
      }
    }
    return route;
  }
  }
  return route;
}

inline double timeOf(const Network &net, const std::vector<Step> &steps, int64_t serial = 1) {
  double total = 0;
  for (const Step &step : steps) {
    std::map<std::string, double> busy; // seconds of each link
    int hops = 0;
    for (auto &[from, to, bytes] : step) {
      Route route = routeOf(net, from, to);
      for (auto &[link, bandwidth] : route.links)
        busy[link] += bytes / bandwidth;
      hops = std::max(hops, route.hops);
    }
    double longest = 0;
    for (auto &[link, time] : busy)
      longest = std::max(longest, time);
    total += longest + kLatency * hops * static_cast<double>(serial);
  }
  return total;
}

inline std::vector<Network> everyTopology(int64_t n) {
  std::vector<Network> all{network(Topology::Switch, n), network(Topology::FullyConnected, n),
                           network(Topology::Ring, n), network(Topology::Bus, n)};
  Network tree = network(Topology::FatTree, n);
  tree.leaf = 2;
  tree.oversubscription = 3;
  all.push_back(tree);
  for (Topology grid : {Topology::Mesh, Topology::Torus}) {
    all.push_back(network(grid, n, {n}));
    for (int64_t a = 2; a < n; ++a)
      if (n % a == 0)
        all.push_back(network(grid, n, {a, n / a}));
    if (n == 8 || n == 12)
      all.push_back(network(grid, n, {2, n / 4, 2}));
  }
  return all;
}

inline std::string nameOf(const Network &net) {
  return fmt::format("{} of {} ({})", net.name, net.endpoints, fmt::join(net.shape, "x"));
}

} // namespace accord::testing
