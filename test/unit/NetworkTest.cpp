// Collectives against a simulation that moves the data, bounds and published formulas.
#include "lib/network/Collective.h"
#include "lib/network/Links.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace accord;

namespace {

constexpr double kBandwidth = 100e9, kLatency = 2e-6;

Network network(Topology topology, int64_t n, std::vector<int64_t> shape = {}) {
  Network net;
  net.name = name(topology);
  net.topology = topology;
  net.endpoints = n;
  net.shape = std::move(shape);
  net.bandwidth = BytesPerSecond(kBandwidth);
  net.latency = Seconds(kLatency);
  return net;
}

std::vector<int64_t> firstDevices(int64_t n) {
  std::vector<int64_t> group(n);
  for (int64_t i = 0; i < n; ++i)
    group[i] = i;
  return group;
}

std::vector<CollectiveCost> allWays(const Fabric &fabric, Collective kind, const Groups &groups,
                                    double bytes) {
  auto model = CollectiveModel::make(fabric, kind, groups);
  if (auto *issue = std::get_if<Issue>(&model)) {
    ADD_FAILURE() << issue->message;
    return {};
  }
  return std::get<CollectiveModel>(model).all(Bytes(bytes));
}

CollectiveCost best(const Fabric &fabric, Collective kind, const Groups &groups, double bytes) {
  auto model = CollectiveModel::make(fabric, kind, groups);
  if (auto *issue = std::get_if<Issue>(&model)) {
    ADD_FAILURE() << issue->message;
    return {};
  }
  return std::get<CollectiveModel>(model).cost(Bytes(bytes));
}

std::optional<CollectiveCost> by(Algorithm algorithm, const std::vector<CollectiveCost> &costs) {
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
Route routeOf(const Network &net, int64_t a, int64_t b) {
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
    std::vector<int64_t> shape =
        net.topology == Topology::Ring ? std::vector<int64_t>{n} : net.shape;
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
        route.links.push_back(
            {fmt::format("{}>{}", fmt::join(at, ","), fmt::join(to, ",")), kBandwidth / ports});
        at = to;
        ++route.hops;
      }
    }
    return route;
  }
  }
  return route;
}

double timeOf(const Network &net, const std::vector<Step> &steps, int64_t serial = 1) {
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

/// Who has contributed to each block that a peer holds.
using Holdings = std::vector<std::vector<std::set<int64_t>>>;
Holdings ownData(int64_t n) {
  Holdings h(n, std::vector<std::set<int64_t>>(n));
  for (int64_t i = 0; i < n; ++i)
    for (auto &block : h[i])
      block = {i};
  return h;
}
bool complete(const Holdings &h) {
  for (auto &peer : h)
    for (auto &block : peer)
      if (block.size() != h.size())
        return false;
  return true;
}

/// Textbook ring all-reduce on blocks, all one way round.
std::vector<Step> ringAllReduce(int64_t n, double bytes) {
  Holdings h = ownData(n);
  std::vector<Step> steps;
  for (int64_t s = 0; s < 2 * (n - 1); ++s) {
    Holdings before = h;
    Step &step = steps.emplace_back();
    for (int64_t i = 0; i < n; ++i) {
      int64_t block = ((i - s) % n + n) % n, next = (i + 1) % n;
      if (s < n - 1)
        h[next][block].insert(before[i][block].begin(), before[i][block].end());
      else
        h[next][block] = before[i][block];
      step.push_back({i, next, bytes / static_cast<double>(n)});
    }
  }
  EXPECT_TRUE(complete(h)) << n;
  return steps;
}

/// Recursive halving and doubling on blocks of 2^k peers, the others fold onto the first ones.
std::vector<Step> halvingDoublingAllReduce(int64_t n, double bytes) {
  int64_t p = 1;
  while (2 * p <= n)
    p *= 2;
  std::vector<std::set<int64_t>> holds(n); // of the blocks a peer is still in charge of
  std::vector<std::vector<std::set<int64_t>>> data(n, std::vector<std::set<int64_t>>(p));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t b = 0; b < p; ++b)
      data[i][b] = {i};
  std::vector<Step> steps;
  auto merge = [](std::set<int64_t> &into, const std::set<int64_t> &from) {
    into.insert(from.begin(), from.end());
  };
  if (p < n) {
    Step &fold = steps.emplace_back();
    for (int64_t i = p; i < n; ++i) {
      fold.push_back({i, i - p, bytes});
      for (int64_t b = 0; b < p; ++b)
        merge(data[i - p][b], data[i][b]);
    }
  }
  // A block belongs to the peer of its number; with whom one differs in bit d, blocks are divided
  // by bit d.
  std::vector<std::vector<int64_t>> mine(p);
  for (int64_t i = 0; i < p; ++i)
    for (int64_t b = 0; b < p; ++b)
      mine[i].push_back(b);
  for (int64_t d = 1; d < p; d *= 2) {
    auto before = data;
    auto had = mine;
    Step &step = steps.emplace_back();
    for (int64_t i = 0; i < p; ++i) {
      int64_t partner = i ^ d;
      double sent = 0;
      for (int64_t b : had[i])
        if ((b & d) == (partner & d)) {
          merge(data[partner][b], before[i][b]);
          sent += bytes / static_cast<double>(p);
        }
      std::erase_if(mine[i], [&](int64_t b) { return (b & d) != (i & d); });
      step.push_back({i, partner, sent});
    }
  }
  for (int64_t d = p / 2; d >= 1; d /= 2) {
    auto before = data;
    auto had = mine;
    Step &step = steps.emplace_back();
    for (int64_t i = 0; i < p; ++i) {
      for (int64_t b : had[i]) {
        data[i ^ d][b] = before[i][b];
        mine[i ^ d].push_back(b);
      }
      step.push_back(
          {i, i ^ d, bytes / static_cast<double>(p) * static_cast<double>(had[i].size())});
    }
  }
  if (p < n) {
    Step &unfold = steps.emplace_back();
    for (int64_t i = p; i < n; ++i) {
      unfold.push_back({i - p, i, bytes});
      data[i] = data[i - p];
    }
  }
  for (auto &peer : data)
    for (auto &block : peer)
      EXPECT_EQ(block.size(), static_cast<size_t>(n));
  return steps;
}

std::vector<Network> everyTopology(int64_t n) {
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

std::string nameOf(const Network &net) {
  return fmt::format("{} of {} ({})", net.name, net.endpoints, fmt::join(net.shape, "x"));
}

} // namespace

TEST(Network, HalvingDoublingIsWhatItsMessagesTake) {
  for (int64_t n : {2, 3, 4, 5, 6, 7, 8, 12})
    for (const Network &net : everyTopology(n)) {
      auto cost = by(Algorithm::HalvingDoubling,
                     allWays({{net}}, Collective::AllReduce, {firstDevices(n)}, 1e8));
      ASSERT_TRUE(cost) << nameOf(net);
      double simulated = timeOf(net, halvingDoublingAllReduce(n, 1e8));
      EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
    }
}

TEST(Network, RingIsWhatItsMessagesTake) {
  for (int64_t n : {2, 3, 4, 5, 6, 7, 8, 12})
    for (const Network &net : everyTopology(n)) {
      auto cost =
          by(Algorithm::Ring, allWays({{net}}, Collective::AllReduce, {firstDevices(n)}, 1e8));
      ASSERT_TRUE(cost) << nameOf(net);
      std::vector<Step> steps = ringAllReduce(n, 1e8);
      bool lines = net.topology == Topology::Ring || net.topology == Topology::Mesh ||
                   net.topology == Topology::Torus;
      if (!lines) {
        double simulated = timeOf(net, steps);
        EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
        continue;
      }
      if (net.shape.size() > 1)
        continue;                // see below: any order of the peers is a ring
      for (Step &step : steps) { // a mirrored second ring takes half of the data
        Step both;
        for (auto &[from, to, bytes] : step) {
          both.push_back({from, to, bytes / 2});
          both.push_back({to, from, bytes / 2});
        }
        step = both;
      }
      double simulated = timeOf(net, steps);
      EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
    }
}

/// The best of all orders of the peers of a small grid is no better than the one that is taken.
TEST(Network, RingOnAGridTakesAnOrderThatNoOtherBeats) {
  for (auto [a, b] : {std::pair{2, 2}, {2, 3}, {3, 2}, {2, 4}}) {
    Network net = network(Topology::Mesh, a * b, {a, b});
    net.latency = Seconds(0);
    int64_t n = a * b;
    double bytes = 1e8, least = 1e9;
    std::vector<int64_t> order = firstDevices(n);
    do {
      Step step;
      for (int64_t i = 0; i < n; ++i) {
        double half = bytes / static_cast<double>(2 * n);
        step.push_back({order[i], order[(i + 1) % n], half});
        step.push_back({order[(i + 1) % n], order[i], half});
      }
      double time = timeOf(net, {step});
      std::map<std::string, double> ignored;
      int hops = 0;
      for (auto &[from, to, size] : step)
        hops = std::max(hops, routeOf(net, from, to).hops);
      least = std::min(least, (time - kLatency * hops) * 2 * static_cast<double>(n - 1));
    } while (std::next_permutation(order.begin() + 1, order.end()));
    auto cost =
        by(Algorithm::Ring, allWays({{net}}, Collective::AllReduce, {firstDevices(n)}, bytes));
    EXPECT_NEAR(cost->time.value, least, 1e-9) << a << "x" << b;
  }
}

TEST(Network, AllToAllIsWhatItsMessagesTake) {
  for (int64_t n : {2, 3, 4, 6, 8, 12})
    for (const Network &net : everyTopology(n)) {
      auto cost =
          by(Algorithm::Direct, allWays({{net}}, Collective::AllToAll, {firstDevices(n)}, 1e8));
      ASSERT_TRUE(cost);
      Step step;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (i != j)
            step.push_back({i, j, 1e8 / static_cast<double>(n)});
      int64_t serial = net.topology == Topology::FullyConnected ? 1 : n - 1;
      double simulated = timeOf(net, {step}, serial);
      EXPECT_NEAR(cost->time.value, simulated, 1e-9 * simulated) << nameOf(net);
    }
}

TEST(Network, BinomialBroadcastReachesAll) {
  for (int64_t n : {2, 3, 5, 8, 12}) {
    Network net = network(Topology::Switch, n);
    std::vector<Step> steps;
    std::set<int64_t> have{0};
    while (static_cast<int64_t>(have.size()) < n) {
      Step &step = steps.emplace_back();
      std::set<int64_t> now = have;
      int64_t next = static_cast<int64_t>(have.size());
      for (int64_t from : have)
        if (next < n) {
          step.push_back({from, next, 1e8});
          now.insert(next++);
        }
      have = now;
    }
    auto cost =
        by(Algorithm::Tree, allWays({{net}}, Collective::Broadcast, {firstDevices(n)}, 1e8));
    ASSERT_TRUE(cost);
    EXPECT_NEAR(cost->time.value, timeOf(net, steps), 1e-12) << n;
  }
}

/// Each peer hands a piece to its parent as soon as its children have: counts rounds until the root
/// has all.
TEST(Network, TwoTreesNeedDepthPlusPiecesRounds) {
  for (int64_t n = 2; n <= 40; ++n) {
    auto [one, two] = doubleTree(n);
    std::vector<int> forwards(n);
    for (const auto &parents : {one, two}) {
      int64_t depth = depthOf(parents);
      EXPECT_LE(depth, static_cast<int64_t>(std::ceil(std::log2(n)))) << n;
      std::set<int64_t> inner(parents.begin(), parents.end());
      inner.erase(-1);
      for (int64_t i : inner)
        ++forwards[i];
      EXPECT_EQ(std::count(parents.begin(), parents.end(), -1), 1) << n;
      std::vector<std::vector<int64_t>> children(n);
      for (int64_t i = 0; i < n; ++i)
        if (parents[i] >= 0)
          children[parents[i]].push_back(i);
      for (auto &c : children)
        EXPECT_LE(c.size(), 2u) << n;
      const int64_t pieces = 5;
      std::vector<int64_t> sent(n); // pieces handed to the parent
      int64_t root = std::find(parents.begin(), parents.end(), -1) - parents.begin(), rounds = 0;
      auto ready = [&](int64_t peer, const std::vector<int64_t> &before) {
        int64_t most = pieces;
        for (int64_t child : children[peer])
          most = std::min(most, before[child]);
        return most;
      };
      for (; ready(root, sent) < pieces; ++rounds) {
        auto before = sent;
        for (int64_t i = 0; i < n; ++i)
          if (i != root && sent[i] < ready(i, before))
            ++sent[i];
      }
      EXPECT_EQ(rounds, depth + pieces - 1) << n;
    }
    // Work is even because (nearly) nobody forwards in both trees.
    EXPECT_LE(std::count(forwards.begin(), forwards.end(), 2), 1) << n;
  }
}

/// Thakur et al. 2005, table 2, and Sanders et al. 2009 for long and short data.
TEST(Network, PublishedFormulasOnASwitch) {
  for (int64_t n : {2, 4, 8, 16, 64}) {
    Fabric fabric{{network(Topology::Switch, n)}};
    Groups group{firstDevices(n)};
    double s = 3e8, a = kLatency, k = static_cast<double>(n), lg = std::log2(k);
    double part = (k - 1) / k * s / kBandwidth;
    auto ar = allWays(fabric, Collective::AllReduce, group, s);
    EXPECT_NEAR(by(Algorithm::Ring, ar)->time.value, 2 * (k - 1) * a + 2 * part, 1e-12);
    EXPECT_NEAR(by(Algorithm::HalvingDoubling, ar)->time.value, 2 * lg * a + 2 * part, 1e-12);
    auto ag = allWays(fabric, Collective::AllGather, group, s);
    EXPECT_NEAR(by(Algorithm::Ring, ag)->time.value, (k - 1) * a + part, 1e-12);
    EXPECT_NEAR(by(Algorithm::HalvingDoubling, ag)->time.value, lg * a + part, 1e-12);
    auto aa = allWays(fabric, Collective::AllToAll, group, s);
    EXPECT_NEAR(by(Algorithm::Direct, aa)->time.value, (k - 1) * a + part, 1e-12);
    double tree =
        by(Algorithm::DoubleTree, allWays(fabric, Collective::AllReduce, group, 1e12))->time.value;
    EXPECT_NEAR(tree, 2 * 1e12 / kBandwidth, 0.01 * tree);
    auto send = best(fabric, Collective::Send, {{0, n - 1}}, s);
    EXPECT_NEAR(send.time.value, a + s / kBandwidth, 1e-12);
    fabric.levels[0].inSwitchReduction = true;
    auto sharp = by(Algorithm::InSwitch, allWays(fabric, Collective::AllReduce, group, s));
    ASSERT_TRUE(sharp);
    EXPECT_NEAR(sharp->time.value, a + s / kBandwidth, 1e-12);
  }
}

/// RS_g(S, inner) + AR_k(S/g, outer / g flows) + AG_g(S, inner): reference hierarchies of NCCL and
/// BlueConnect.
TEST(Network, HierarchicalOnServersWithOneNic) {
  Network inner = network(Topology::Switch, 8), outer = network(Topology::Switch, 16);
  inner.bandwidth = BytesPerSecond(300e9);
  inner.latency = outer.latency = Seconds(0);
  outer.bandwidth = BytesPerSecond(25e9);
  Fabric fabric{{inner, outer}};
  double s = 1e9;
  auto cost =
      by(Algorithm::Hierarchical, allWays(fabric, Collective::AllReduce, {firstDevices(128)}, s));
  ASSERT_TRUE(cost);
  double inside = 7.0 / 8 * s / 300e9, across = 2 * 15.0 / 16 * (s / 8) / (25e9 / 8);
  EXPECT_NEAR(cost->time.value, 2 * inside + across, 1e-9);
  // One group over all servers, a device in each: eight of them share the NIC of each server.
  std::vector<Axis> axes{{"tensor", 8}, {"data", 16}};
  Groups data = groupsAlong(axes, "data");
  ASSERT_EQ(data.size(), 8u);
  EXPECT_EQ(data[3], (std::vector<int64_t>{3, 11, 19, 27, 35, 43, 51, 59, 67, 75, 83, 91, 99, 107,
                                           115, 123}));
  auto shared = best(fabric, Collective::AllReduce, data, s);
  auto alone = best(fabric, Collective::AllReduce, {data[0]}, s);
  EXPECT_NEAR(shared.time.value, 8 * alone.time.value, 1e-9);
  EXPECT_EQ(shared.flows, 8);
  Groups tensor = groupsAlong(axes, "tensor");
  EXPECT_EQ(tensor.size(), 16u);
  EXPECT_NEAR(best(fabric, Collective::AllReduce, tensor, s).time.value, 2 * 7.0 / 8 * s / 300e9,
              1e-9);
}

/// AMD, MI300X: measured all-reduce bus bandwidth 47.7 GB/s of two GPUs and 312.9 GB/s of eight, on
/// 7 links each.
TEST(Network, FullyConnectedPeersUseOnlyTheirOwnLinks) {
  Network net = network(Topology::FullyConnected, 8);
  net.bandwidth = BytesPerSecond(7 * 48e9);
  net.latency = Seconds(0);
  auto busBandwidth = [&](int64_t n) {
    double s = 1e9, k = static_cast<double>(n);
    double time = best({{net}}, Collective::AllReduce, {firstDevices(n)}, s).time.value;
    return 2 * (k - 1) / k * s / time;
  };
  EXPECT_NEAR(busBandwidth(2), 48e9, 1);
  EXPECT_NEAR(busBandwidth(8), 336e9, 1);
  net.bandwidthByPeers = {{2, BytesPerSecond(47.7e9)}, {8, BytesPerSecond(312.9e9)}};
  EXPECT_NEAR(busBandwidth(2), 47.7e9, 1);
  EXPECT_NEAR(busBandwidth(5), (47.7e9 + 312.9e9) / 2, 1);
  EXPECT_NEAR(busBandwidth(8), 312.9e9, 1);
}

/// A torus of equal extents lets every link work; a mesh's all-to-all is bound by its bisection.
TEST(Network, GridsAreBoundByTheirLinks) {
  Network torus = network(Topology::Torus, 64, {4, 4, 4});
  torus.latency = Seconds(0);
  double s = 1e9;
  auto cost = best({{torus}}, Collective::AllReduce, {firstDevices(64)}, s);
  EXPECT_EQ(cost.algorithm, Algorithm::Dimensions);
  EXPECT_NEAR(cost.time.value, 2 * 63.0 / 64 * s / kBandwidth, 1e-9);
  for (int64_t k : {2, 4, 8}) {
    Network mesh = network(Topology::Mesh, k * k, {k, k});
    double ports = k > 2 ? 4 : 2, n = static_cast<double>(k * k), width = static_cast<double>(k);
    double bisection = n / 2 * (s / n) * (n / 2) / (width * kBandwidth / ports);
    for (const CollectiveCost &way :
         allWays({{mesh}}, Collective::AllToAll, {firstDevices(k * k)}, s))
      EXPECT_GE(way.beta.value, bisection * (1 - 1e-9)) << name(way.algorithm) << k;
  }
}

/// No all-reduce of n peers moves less than 2(n-1)/n S through an endpoint without help of
/// switches, nor ends before ceil(log2 n) messages (Chan et al. 2007, table 1: lower bounds).
TEST(Network, NothingBeatsTheLowerBounds) {
  for (int64_t n : {2, 3, 5, 6, 8, 12})
    for (const Network &net : everyTopology(n))
      for (double s : {1.0, 1e4, 1e8})
        for (unsigned kind = 0; kind < kCollectives; ++kind) {
          Collective collective = static_cast<Collective>(kind);
          for (const CollectiveCost &way : allWays({{net}}, collective, {firstDevices(n)}, s)) {
            double k = static_cast<double>(n), bytes = (k - 1) / k * s,
                   steps = std::ceil(std::log2(k));
            if (collective == Collective::AllReduce)
              bytes *= 2;
            if (collective == Collective::Broadcast || collective == Collective::Send)
              bytes = s;
            if (collective == Collective::Send ||
                (way.algorithm == Algorithm::Direct && net.topology == Topology::FullyConnected))
              steps = 1;
            EXPECT_GE(way.beta.value, bytes / kBandwidth * (1 - 1e-9))
                << nameOf(net) << name(way.algorithm) << name(collective);
            EXPECT_GE(way.alpha.value, steps * kLatency * (1 - 1e-9))
                << nameOf(net) << name(way.algorithm) << name(collective);
            EXPECT_TRUE(std::isfinite(way.time.value));
          }
        }
}

TEST(Network, MoreIsNeverSlower) {
  for (int64_t n : {2, 3, 4, 6, 8, 12})
    for (Network net : everyTopology(n))
      for (unsigned kind = 0; kind < kCollectives; ++kind) {
        Collective collective = static_cast<Collective>(kind);
        auto time = [&](double s) {
          return best({{net}}, collective, {firstDevices(n)}, s).time.value;
        };
        double before = 0;
        for (double s : {0.0, 1.0, 1e3, 1e5, 1e7, 1e9}) {
          double now = time(s);
          EXPECT_GE(now, before) << nameOf(net);
          before = now;
        }
        net.bandwidth = BytesPerSecond(2 * kBandwidth);
        EXPECT_LE(time(1e9), before);
        net.bandwidth = BytesPerSecond(kBandwidth);
        net.latency = Seconds(kLatency / 2);
        EXPECT_LE(time(1e9), before);
        net.latency = Seconds(kLatency);
        net.efficiency = 0.5;
        EXPECT_GE(time(1e9), before);
        net.efficiency = 1;
      }
}

TEST(Network, NothingToExchangeCostsNothing) {
  Fabric fabric{{network(Topology::Ring, 4)}};
  EXPECT_EQ(best(fabric, Collective::AllReduce, {{2}}, 1e9).time.value, 0);
  EXPECT_EQ(best(fabric, Collective::AllReduce, {}, 1e9).time.value, 0);
  EXPECT_EQ(best(fabric, Collective::AllReduce, {{0, 1, 2, 3}}, 0).time.value, 0);
  EXPECT_EQ(best(fabric, Collective::AllReduce, {{0, 1, 2, 3}}, std::nan("")).time.value, 0);
  EXPECT_EQ(best(fabric, Collective::AllReduce, {{0, 1, 2, 3}}, -1).time.value, 0);
}

TEST(Network, WrongQuestionsAreRefused) {
  auto codeOf = [](Network net, const Groups &groups) -> std::string {
    auto model = CollectiveModel::make({{net}}, Collective::AllReduce, groups);
    auto *issue = std::get_if<Issue>(&model);
    return issue ? issue->code : "";
  };
  Network good = network(Topology::Mesh, 6, {2, 3});
  EXPECT_EQ(codeOf(good, {{0, 5}}), "");
  EXPECT_EQ(codeOf(good, {{0, 6}}), "A0455");
  EXPECT_EQ(codeOf(good, {{3, 0}}), "A0455");
  EXPECT_EQ(codeOf(good, {{0, 1}, {2}}), "A0455");
  Network bad = good;
  bad.shape = {2, 2};
  EXPECT_EQ(codeOf(bad, {{0, 1}}), "A0454");
  bad = good;
  bad.bandwidth = BytesPerSecond(0);
  EXPECT_EQ(codeOf(bad, {{0, 1}}), "A0454");
  bad = good;
  bad.latency = Seconds(std::nan(""));
  EXPECT_EQ(codeOf(bad, {{0, 1}}), "A0454");
  bad = good;
  bad.endpoints = int64_t(1) << 62;
  EXPECT_EQ(codeOf(bad, {{0, 1}}), "A0454");
  EXPECT_TRUE(groupsAlong({{"a", int64_t(1) << 40}, {"b", int64_t(1) << 40}}, "a").empty());
}

/// Random groups in random fabrics of two levels: links are shared, so all groups together never
/// beat one alone.
TEST(Network, ContentionOnlySlows) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    int64_t inner = 2 + random() % 4, outer = 2 + random() % 4;
    auto nets = everyTopology(inner), more = everyTopology(outer);
    Fabric fabric{{nets[random() % nets.size()], more[random() % more.size()]}};
    fabric.levels[1].bandwidth = BytesPerSecond(kBandwidth / static_cast<double>(1 + random() % 8));
    std::vector<Axis> axes{{"x", inner}, {"y", outer}};
    if (random() % 2)
      std::swap(axes[0].devices, axes[1].devices);
    for (const char *axis : {"x", "y"}) {
      Groups together = groupsAlong(axes, axis);
      Collective kind = static_cast<Collective>(random() % kCollectives);
      double slow = best(fabric, kind, together, 1e7).time.value;
      for (const auto &group : together)
        EXPECT_LE(best(fabric, kind, {group}, 1e7).time.value, slow * (1 + 1e-9));
    }
  }
}

TEST(Network, TheAnswerNamesAlgorithmNumbersAndWhatBinds) {
  Network net = network(Topology::Switch, 8);
  net.name = "nvlink";
  net.energy = JoulesPerByte(1e-11);
  auto cost = best({{net}}, Collective::AllReduce, {firstDevices(8)}, 1e9);
  EXPECT_EQ(cost.bound, "network nvlink");
  EXPECT_EQ(cost.formula, "halving_doubling: 2 log2(n) a + 2(n-1)/n S/B with n = 8, a = 2e-06 s, "
                          "S = 1e+09 B, B = 1e+11 B/s");
  EXPECT_NEAR(cost.sent[0].value, 1.75e9, 1);
  EXPECT_NEAR(cost.energy.value, 2 * 1.75e9 * 1e-11, 1e-9); // into the switch and out of it
  EXPECT_EQ(best({{net}}, Collective::AllReduce, {firstDevices(8)}, 8).bound, "latency nvlink");
  net.algorithm = Algorithm::Ring;
  EXPECT_EQ(best({{net}}, Collective::AllReduce, {firstDevices(8)}, 8).algorithm, Algorithm::Ring);
}
