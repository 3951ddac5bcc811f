// Collectives as expressions of latencies and bandwidths against pricing them on changed networks.
#include "NetworkFixture.h"
#include <random>

using namespace accord;
using namespace accord::testing;

namespace {

double min(const std::vector<CollectiveTerms> &alternatives, double payload, const std::vector<double> &latencies,
           const std::vector<double> &ratios) {
  double best = std::numeric_limits<double>::infinity();
  for (const CollectiveTerms &alternative : alternatives)
    best = std::min(best, alternative.at(payload, latencies, ratios));
  return best;
}

/// Every pair of topologies, inner of 4 and outer of 6 endpoints, and three switches.
std::vector<Fabric> fabrics() {
  std::vector<Fabric> all;
  for (const Network &inner : everyTopology(4))
    for (const Network &outer : everyTopology(6)) {
      all.push_back({{inner, outer}});
      all.back().levels[1].latency = Seconds(7e-6);
      all.back().levels[1].name = "outer";
      all.back().levels[0].bandwidth = BytesPerSecond(3e11);
    }
  all.push_back({{network(Topology::Switch, 4), network(Topology::FatTree, 3), network(Topology::Switch, 5)}});
  return all;
}

} // namespace

TEST(NetworkTerms, AreTheCostOnEveryOtherNetwork) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  size_t compared = 0, severalAlternatives = 0;
  for (const Fabric &fabric : fabrics()) {
    int64_t devices = fabric.devices();
    for (Collective kind : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
                            Collective::AllToAll, Collective::Broadcast}) {
      int64_t inner = std::array<int64_t, 5>{1, 2, 3, 4, 6}[random() % 5];
      int64_t outer = devices / inner;
      std::vector<Axis> axes = {{"inner", inner}, {"outer", outer}};
      for (const char *axis : {"inner", "outer"}) {
        Groups groups = groupsAlong(axes, axis);
        auto made = CollectiveModel::make(fabric, kind, groups);
        ASSERT_TRUE(made);
        std::vector<CollectiveTerms> alternatives = made->terms();
        if (groups[0].size() < 2) {
          EXPECT_TRUE(alternatives.empty());
          continue;
        }
        severalAlternatives += alternatives.size() > 1;
        for (int i = 0; i < 4; ++i) { // as it is, then with other numbers
          Fabric changed = fabric;
          std::vector<double> latencies, ratios;
          for (Network &level : changed.levels) {
            double ratio = i ? std::exp(6 * uniform(random) - 3) : 1;
            level.bandwidth = level.bandwidth / ratio;
            if (i)
              level.latency = i == 1 ? Seconds(0) : Seconds(std::exp(10 * uniform(random) - 18));
            latencies.push_back(level.latency.value);
            ratios.push_back(ratio);
          }
          auto again = CollectiveModel::make(changed, kind, groups);
          for (double payload : {1.0, 4096.0, 3e6, 5e9}) {
            double expected = again->cost(Bytes(payload)).time.value;
            ASSERT_NEAR(min(alternatives, payload, latencies, ratios), expected, 1e-13 * expected)
                << nameOf(fabric.levels[0]) << " in " << nameOf(fabric.levels[1]) << ", " << name(kind) << " along "
                << axis << " of " << inner << " x " << outer << ", payload " << payload << ", change " << i;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 2000u);
  EXPECT_GT(severalAlternatives, 50u);
}

TEST(NetworkTerms, KeepOneWayWhereItIsAlwaysTheFastest) {
  // On a switch recursive halving and doubling sends what a ring does in fewer messages.
  auto made = CollectiveModel::make({{network(Topology::Switch, 8)}}, Collective::AllReduce, {firstDevices(8)});
  std::vector<CollectiveTerms> alternatives = made->terms();
  ASSERT_EQ(alternatives.size(), 1u);
  EXPECT_TRUE(alternatives[0].trees.empty());
  EXPECT_EQ(alternatives[0].alpha.perLevel, std::vector<double>{6}); // 2 log2(8) latencies
  EXPECT_DOUBLE_EQ(alternatives[0].beta.perLevel[0], 2 * 7.0 / 8 / kBandwidth);
}
