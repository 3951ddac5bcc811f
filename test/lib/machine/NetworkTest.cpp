// Collectives against bounds, published formulas and measured shares of bandwidth.
#include "NetworkFixture.h"
#include <random>

using namespace accord;
using namespace accord::testing;

/// Thakur et al. 2005, table 2, and Sanders et al. 2009 for long and short data.
TEST(Network, PublishedFormulasOnASwitch) {
  for (int64_t n : {2, 4, 8, 16, 64}) {
    Fabric fabric{{network(Topology::Switch, n)}};
    Groups group{firstDevices(n)};
    double s = 3e8, a = kLatency, k = static_cast<double>(n), lg = std::log2(k);
    double part = (k - 1) / k * s / kBandwidth;
    auto ar = allAlternatives(fabric, Collective::AllReduce, group, s);
    EXPECT_NEAR(by(Algorithm::Ring, ar)->time.value, 2 * (k - 1) * a + 2 * part, 1e-12);
    EXPECT_NEAR(by(Algorithm::HalvingDoubling, ar)->time.value, 2 * lg * a + 2 * part, 1e-12);
    auto ag = allAlternatives(fabric, Collective::AllGather, group, s);
    EXPECT_NEAR(by(Algorithm::Ring, ag)->time.value, (k - 1) * a + part, 1e-12);
    EXPECT_NEAR(by(Algorithm::HalvingDoubling, ag)->time.value, lg * a + part, 1e-12);
    auto aa = allAlternatives(fabric, Collective::AllToAll, group, s);
    EXPECT_NEAR(by(Algorithm::Direct, aa)->time.value, (k - 1) * a + part, 1e-12);
    double tree = by(Algorithm::DoubleTree, allAlternatives(fabric, Collective::AllReduce, group, 1e12))->time.value;
    EXPECT_NEAR(tree, 2 * 1e12 / kBandwidth, 0.01 * tree);
    auto send = best(fabric, Collective::Send, {{0, n - 1}}, s);
    EXPECT_NEAR(send.time.value, a + s / kBandwidth, 1e-12);
    fabric.levels[0].inSwitchReduction = true;
    auto sharp = by(Algorithm::InSwitch, allAlternatives(fabric, Collective::AllReduce, group, s));
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
  auto cost = by(Algorithm::Hierarchical, allAlternatives(fabric, Collective::AllReduce, {firstDevices(128)}, s));
  ASSERT_TRUE(cost);
  double inside = 7.0 / 8 * s / 300e9, across = 2 * 15.0 / 16 * (s / 8) / (25e9 / 8);
  EXPECT_NEAR(cost->time.value, 2 * inside + across, 1e-9);
  // One group over all servers, a device in each: eight of them share the NIC of each server.
  std::vector<Axis> axes{{"tensor", 8}, {"data", 16}};
  Groups data = groupsAlong(axes, "data");
  ASSERT_EQ(data.size(), 8u);
  EXPECT_EQ(data[3], (std::vector<int64_t>{3, 11, 19, 27, 35, 43, 51, 59, 67, 75, 83, 91, 99, 107, 115, 123}));
  auto shared = best(fabric, Collective::AllReduce, data, s);
  auto alone = best(fabric, Collective::AllReduce, {data[0]}, s);
  EXPECT_NEAR(shared.time.value, 8 * alone.time.value, 1e-9);
  EXPECT_EQ(shared.flows, 8);
  Groups tensor = groupsAlong(axes, "tensor");
  EXPECT_EQ(tensor.size(), 16u);
  EXPECT_NEAR(best(fabric, Collective::AllReduce, tensor, s).time.value, 2 * 7.0 / 8 * s / 300e9, 1e-9);
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
    for (const CollectiveCost &alternative : allAlternatives({{mesh}}, Collective::AllToAll, {firstDevices(k * k)}, s))
      EXPECT_GE(alternative.beta.value, bisection * (1 - 1e-9)) << name(alternative.algorithm) << k;
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
          for (const CollectiveCost &alternative : allAlternatives({{net}}, collective, {firstDevices(n)}, s)) {
            double k = static_cast<double>(n), bytes = (k - 1) / k * s, steps = std::ceil(std::log2(k));
            if (collective == Collective::AllReduce)
              bytes *= 2;
            if (collective == Collective::Broadcast || collective == Collective::Send)
              bytes = s;
            if (collective == Collective::Send ||
                (alternative.algorithm == Algorithm::Direct && net.topology == Topology::FullyConnected))
              steps = 1;
            EXPECT_GE(alternative.beta.value, bytes / kBandwidth * (1 - 1e-9))
                << nameOf(net) << name(alternative.algorithm) << name(collective);
            EXPECT_GE(alternative.alpha.value, steps * kLatency * (1 - 1e-9))
                << nameOf(net) << name(alternative.algorithm) << name(collective);
            EXPECT_TRUE(std::isfinite(alternative.time.value));
          }
        }
}

TEST(Network, MoreIsNeverSlower) {
  for (int64_t n : {2, 3, 4, 6, 8, 12})
    for (Network net : everyTopology(n))
      for (unsigned kind = 0; kind < kCollectives; ++kind) {
        Collective collective = static_cast<Collective>(kind);
        auto time = [&](double s) { return best({{net}}, collective, {firstDevices(n)}, s).time.value; };
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
    auto *error = model.getError();
    return error ? numberOf(error->code) : "";
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

namespace {

// Collectives that go level after level.

constexpr Collective kKinds[] = {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
                                 Collective::AllToAll};
constexpr Topology kShapes[] = {Topology::Ring, Topology::FullyConnected, Topology::Switch};

struct Draw {
  std::mt19937_64 random;
  explicit Draw(uint64_t seed) : random(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  Network network(int64_t n) {
    Network net = accord::testing::network(kShapes[below(3)], n);
    net.bandwidth = BytesPerSecond(static_cast<double>(10 + below(400)) * 1e9);
    net.latency = Seconds(static_cast<double>(below(5)) * 1e-7);
    net.efficiency = 1 - 0.1 * static_cast<double>(below(4));
    return net;
  }
  std::optional<Algorithm> algorithm() {
    constexpr Algorithm kOf[] = {Algorithm::Ring, Algorithm::Direct, Algorithm::HalvingDoubling, Algorithm::DoubleTree};
    int64_t which = below(5);
    return which < 4 ? std::optional(kOf[which]) : std::nullopt;
  }
};

/// Dimensions of so many endpoints, each device with links of its own in each.
Fabric dimensions(Draw &draw, const std::vector<int64_t> &extents) {
  Fabric fabric;
  fabric.byLevel = true;
  int64_t planes = 1;
  for (int64_t extent : extents) {
    Network &net = fabric.levels.emplace_back(draw.network(extent));
    net.name += std::to_string(fabric.levels.size());
    net.planes = planes;
    planes *= extent;
  }
  return fabric;
}

} // namespace

/// Rings in four dimensions: each has its share of the payload, as in BlueConnect (MLSys 2019), section 3.
TEST(NetworkLevels, RingsInFourDimensions) {
  const std::vector<int64_t> extents{4, 8, 4, 8};
  const double bandwidths[] = {200e9, 100e9, 50e9, 25e9}, latencies[] = {1e-7, 2e-7, 4e-7, 8e-7};
  Fabric fabric;
  fabric.byLevel = true;
  int64_t planes = 1;
  for (size_t l = 0; l < 4; ++l) {
    Network net = network(Topology::Ring, extents[l]);
    net.name = "d" + std::to_string(l);
    net.bandwidth = BytesPerSecond(bandwidths[l]), net.latency = Seconds(latencies[l]);
    net.algorithm = Algorithm::Ring, net.planes = planes;
    planes *= extents[l];
    fabric.levels.push_back(net);
  }
  ASSERT_EQ(fabric.devices(), 1024);
  ASSERT_TRUE(check(fabric).empty());
  const double bytes = 1e9;
  double half = 0, share = bytes;
  for (size_t l = 0; l < 4; ++l) {
    double n = static_cast<double>(extents[l]);
    half += (n - 1) * latencies[l] + (n - 1) / n * share / bandwidths[l];
    share /= n;
  }
  Groups whole{firstDevices(1024)};
  EXPECT_NEAR(best(fabric, Collective::ReduceScatter, whole, bytes).time.value, half, 1e-9 * half);
  EXPECT_NEAR(best(fabric, Collective::AllGather, whole, bytes).time.value, half, 1e-9 * half);
  EXPECT_NEAR(best(fabric, Collective::AllReduce, whole, bytes).time.value, 2 * half, 2e-9 * half);
  // Each device sends (n-1)/n of its share in each dimension, twice.
  CollectiveCost cost = best(fabric, Collective::AllReduce, whole, bytes);
  ASSERT_EQ(cost.sent.size(), 4u);
  EXPECT_NEAR(cost.sent[0].value, 2 * 0.75 * bytes, 1);
  EXPECT_NEAR(cost.sent[3].value, 2 * 7.0 / 8 * bytes / 128, 1);
  // Groups along one axis only: 8 devices in a row are all of the first dimension, and two of the second.
  Groups tensor = groupsAlong({{"tensor", 8}, {"data", 128}}, "tensor");
  double n = 4, two = 2 * ((n - 1) * latencies[0] + (n - 1) / n * bytes / bandwidths[0]) +
                      2 * (latencies[1] + bytes / 4 / 2 / (bandwidths[1] / 2));
  EXPECT_NEAR(best(fabric, Collective::AllReduce, tensor, bytes).time.value, two, 1e-9 * two);
}

/// On two levels it is what the hierarchical algorithm takes where all devices are routed: with one plane the devices
/// of an endpoint share its links, with a plane for each an endpoint has as many times the bandwidth.
TEST(NetworkLevels, TwoLevelsAreTheRoutedHierarchy) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    Draw draw(seed);
    int64_t inside = int64_t(2) << draw.below(3), outside = int64_t(2) << draw.below(3);
    Fabric routed{{draw.network(inside), draw.network(outside)}};
    routed.levels[0].name = "in", routed.levels[1].name = "out";
    Fabric byLevel = routed;
    byLevel.byLevel = true;
    if (draw.below(2)) {
      byLevel.levels[1].planes = inside;
      routed.levels[1].bandwidth = routed.levels[1].bandwidth * static_cast<double>(inside);
    }
    // An axis over some of the first level and all of the second, or over all.
    int64_t tensor = int64_t(1) << draw.below(inside == 2 ? 1 : 2);
    Groups groups = groupsAlong({{"tensor", tensor}, {"data", inside * outside / tensor}}, "data");
    for (Collective kind : kKinds)
      for (double bytes : {1e3, 1e6, 1e9}) {
        auto hierarchical = by(Algorithm::Hierarchical, allAlternatives(routed, kind, groups, bytes));
        if (!hierarchical)
          continue;
        double want = hierarchical->time.value;
        EXPECT_NEAR(best(byLevel, kind, groups, bytes).time.value, want, 1e-9 * want) << seed << " " << name(kind);
        ++compared;
      }
  }
  EXPECT_GT(compared, 500);
}

/// A box of networks, each exchange by the fastest topology and algorithm at the most bandwidth and the least latency,
/// takes no longer than any network in the box, and on a box of one just as long.
TEST(NetworkLevels, IdealNetworksAreNeverSlower) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Draw draw(seed);
    Fabric one =
        dimensions(draw, {int64_t(2) << draw.below(3), int64_t(2) << draw.below(2), int64_t(2) << draw.below(3)});
    for (Network &level : one.levels)
      level.algorithm = draw.algorithm(), level.efficiency = 1;
    Fabric ideal = one, alone = one;
    for (size_t l = 0; l < one.levels.size(); ++l) {
      Network &best = ideal.levels[l];
      const Network other = draw.network(best.endpoints);
      alone.levels[l].variants = {{best.topology, best.algorithm}};
      best.variants = {{best.topology, best.algorithm}, {other.topology, draw.algorithm()}, {other.topology, {}}};
      best.bandwidth = std::max(best.bandwidth, other.bandwidth);
      best.latency = std::min(best.latency, other.latency);
    }
    int64_t tensor = int64_t(1) << draw.below(4);
    std::vector<Axis> axes{{"tensor", tensor}, {"data", one.devices() / tensor}};
    for (const char *axis : {"tensor", "data"})
      for (Collective kind : kKinds)
        for (double bytes : {10.0, 1e5, 1e8, 1e10}) {
          Groups groups = groupsAlong(axes, axis);
          double here = accord::testing::best(one, kind, groups, bytes).time.value;
          EXPECT_LE(accord::testing::best(ideal, kind, groups, bytes).time.value, here * (1 + 1e-12)) << seed;
          EXPECT_DOUBLE_EQ(accord::testing::best(alone, kind, groups, bytes).time.value, here) << seed;
        }
  }
}

TEST(NetworkLevels, RowsAreFound) {
  Draw draw(1);
  Fabric fabric = dimensions(draw, {4, 8});
  // 12 devices in a row are no rows of both dimensions: they are routed as they stand.
  Groups odd{firstDevices(12)};
  EXPECT_GT(best(fabric, Collective::AllReduce, odd, 1e6).time.value, 0);
  EXPECT_EQ(best(fabric, Collective::AllReduce, {{3}}, 1e6).time.value, 0);
  fabric.levels[1].planes = 0;
  EXPECT_FALSE(check(fabric).empty());
}
