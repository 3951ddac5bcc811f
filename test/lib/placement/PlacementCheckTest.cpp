// Malformed placement problems: each is found and named, and the verifier does not compute on it.
#include "lib/placement/verify/PlacementVerifier.h"
#include "test/support/PlacementRandom.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace accord;
using namespace accord::testing;

namespace {

using P = PlacementProblem &;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Two kinds, a form on each, three layers in a chain: well-formed.
PlacementProblem wellFormed() {
  PlacementProblem p;
  p.batch = 4;
  p.deviceTypes.resize(2);
  p.deviceTypes[0] = {"a", 4, 2, 1000, 10, 100, 1, {}};
  p.deviceTypes[1] = {"b", 4, 2, 1000, 10, 100, 1, {}};
  p.links.assign(4, {{1, 1}, {2, 2}});
  p.parallelConfigs.resize(2);
  p.parallelConfigs[0].data = 2, p.parallelConfigs[0].gradientSyncs = {{1, {{1, 1}}}, {2, {{0, 1}}}};
  p.parallelConfigs[0].expertGradientSyncs = {{1, {{1, 1}}}, {2, {{0, 1}}}};
  p.parallelConfigs[1].deviceType = 1, p.parallelConfigs[1].microbatch = 2, p.parallelConfigs[1].gather = {{1, 1}};
  PlacementProblem::Cost cost;
  cost.forward = 1, cost.backward = 2, cost.staticMemory = 10, cost.gradients = 4, cost.weights = 4;
  cost.recomputeChoices = {{"none", 0, 5, 1}, {"full", 1, 1, 2}};
  p.classes = {{"block", {cost, cost}}};
  p.layers.resize(3);
  p.layers[0].name = "first";
  p.edges = {{0, 1, 8}, {1, 2, 8}};
  p.schedules = {PipelineSchedule::GPipe, PipelineSchedule::Interleaved};
  return p;
}

/// What is said after a change; the verifier says the same of any answer.
template <typename Change> std::string after(Change change) {
  PlacementProblem p = wellFormed();
  change(p);
  std::string text;
  for (const Error &error : check(p)) {
    EXPECT_EQ(error.code, Code::MalformedPlacementProblem);
    text += (text.empty() ? "" : "; ") + error.message;
  }
  PlacementResult result;
  result.plan = Placement{};
  result.plan->stages.resize(1);
  EXPECT_EQ(verify(p, result).size(), check(p).size());
  return text;
}

TEST(PlacementCheck, WellFormed) {
  EXPECT_TRUE(check(wellFormed()).empty());
  EXPECT_EQ(check(PlacementProblem{}).size(), 3u); // no layers, kinds, forms
}

TEST(PlacementCheck, NothingThere) {
  EXPECT_EQ(after([](P p) { p.layers.clear(), p.edges.clear(); }), "there are no layers");
  EXPECT_EQ(after([](P p) { p.schedules.clear(); }), "there are no schedules");
  EXPECT_EQ(after([](P p) { p.parallelConfigs.clear(), p.classes[0].costs.clear(); }), "there are no forms");
  EXPECT_NE(after([](P p) { p.deviceTypes.clear(); }).find("there are no device types"), std::string::npos);
  EXPECT_EQ(after([](P p) { p.virtualStages.clear(); }), "schedule interleaved has no number of virtual stages");
}

TEST(PlacementCheck, IdsOutOfRange) {
  EXPECT_EQ(after([](P p) { p.layers[0].of = 1; }), "layer 'first' is of class 1, there are 1");
  EXPECT_EQ(after([](P p) { p.layers[0].placementConstraints = {0}; }),
            "layer 'first' lists placement constraint 0 of 0");
  EXPECT_EQ(after([](P p) { p.placementConstraints = {{"here", {2}, {}, false, {}}}; }),
            "'here' lists device type 2 of 2");
  EXPECT_NE(after([](P p) {
              p.placementConstraints = {{"here", {}, -1, false, {}}};
            }).find("the stage of a placement constraint"),
            std::string::npos);
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].deviceType = 9; }),
            "parallel configuration 0: on device type 9, there are 2");
  EXPECT_EQ(after([](P p) { p.edges[1].to = 3; }), "an edge from layer 1 to 3 of 3");
  EXPECT_EQ(after([](P p) { p.edges[1] = {2, 1, 0}; }), "an edge from layer 2 to 1 of 3");
  EXPECT_EQ(after([](P p) { p.edges[1] = {1, 1, 0}; }), "an edge from layer 1 to 1 of 3");
  EXPECT_EQ(after([](P p) { p.classes[0].costs.pop_back(); }),
            "layers 'block' have costs of 1 parallel configurations of 2");
  EXPECT_EQ(after([](P p) { p.classes[0].costs[0]->recomputeChoices.clear(); }),
            "layers 'block' in parallel configuration 0: it keeps nothing for its backward pass, not even nothing");
  EXPECT_EQ(after([](P p) { p.links.pop_back(); }), "3 links between 2 device types");
  EXPECT_EQ(after([](P p) { p.schedules[0] = static_cast<PipelineSchedule>(9); }), "schedule 9 is none");
  EXPECT_EQ(after([](P p) { p.objective = static_cast<PlacementObjective>(9); }), "objective 9 is none");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].zero = 4; }), "parallel configuration 0: stage 4 of ZeRO");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].expert = 3; }),
            "parallel configuration 0: 3 of 2 replicas divide the experts");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].context = 3; }),
            "parallel configuration 0: 3 of 2 replicas share each sample");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].context = 0; }),
            "parallel configuration 0: 0 of 2 replicas share each sample");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].context = 2, p.parallelConfigs[0].expert = 2; }),
            "parallel configuration 0: 2 of 1 replicas divide the experts");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].expert = 0; }),
            "parallel configuration 0: 0 of 2 replicas divide the experts");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].expertTensor = 2; }),
            "parallel configuration 0: 2 of 1 tensor parallel devices divide each expert");
  EXPECT_EQ(after([](P p) {
              p.parallelConfigs[0].tensor = 2, p.parallelConfigs[0].expert = 2, p.parallelConfigs[0].expertTensor = 3;
            }),
            "parallel configuration 0: 3 of 2 tensor parallel devices divide each expert");
  // Eight experts are whole among four devices, six are not.
  EXPECT_EQ(after([](P p) {
              p.numExperts = 8, p.parallelConfigs[0].tensor = 2, p.parallelConfigs[0].expert = 2;
              p.parallelConfigs[0].expertTensor = 2;
            }),
            "parallel configuration 0: 8 experts among 2 x 2 devices, 2 of which divide each expert");
  EXPECT_EQ(after([](P p) { p.numExperts = 6, p.parallelConfigs[0].tensor = 2, p.parallelConfigs[0].expert = 2; }),
            "parallel configuration 0: 6 experts among 2 x 2 devices, 1 of which divide each expert");
  EXPECT_EQ(after([](P p) { p.parallelConfigs[0].gradientSyncs[1].replicasPerNode = 1; }),
            "parallel configuration 0: gradient synchronization of 1 replicas per node after one of 1");
  EXPECT_EQ(after([](P p) { p.classes[0].costs[0]->weightMemory = 11; }),
            "layers 'block' in parallel configuration 0: weight and gradient memory are more than the static memory");
}

/// Each whole number at -1 and at the largest there is, each other number at -1, NaN and infinity.
TEST(PlacementCheck, NumbersOutOfRange) {
  auto cost = [](P p) -> PlacementProblem::Cost & { return *p.classes[0].costs[1]; };
  std::vector<std::function<int64_t &(P)>> whole{
      [](P p) -> int64_t & { return p.batch; },
      [](P p) -> int64_t & { return p.groups = {{1, 1}}, p.groups[0].min; },
      [](P p) -> int64_t & { return p.hostOverheadPerMicrobatch; },
      [](P p) -> int64_t & { return p.hostOverheadPerStep; },
      [](P p) -> int64_t & { return p.virtualStages[0]; },
      [](P p) -> int64_t & { return p.limits.step; },
      [](P p) -> int64_t & { return p.limits.devices; },
      [](P p) -> int64_t & { return p.deviceTypes[1].devices; },
      [](P p) -> int64_t & { return p.deviceTypes[1].devicesPerNode; },
      [](P p) -> int64_t & { return p.deviceTypes[1].memory; },
      [](P p) -> int64_t & { return p.parallelConfigs[1].tensor; },
      [](P p) -> int64_t & { return p.parallelConfigs[1].data; },
      [](P p) -> int64_t & { return p.parallelConfigs[1].microbatch; },
      [](P p) -> int64_t & { return p.parallelConfigs[0].gradientSyncs[0].replicasPerNode; },
      [](P p) -> int64_t & { return p.parallelConfigs[0].expertGradientSyncs[0].replicasPerNode; },
      [](P p) -> int64_t & { return p.edges[0].bytes; },
      [&](P p) -> int64_t & { return cost(p).forward; },
      [&](P p) -> int64_t & { return cost(p).backward; },
      [&](P p) -> int64_t & { return cost(p).weight; },
      [&](P p) -> int64_t & { return cost(p).update; },
      [&](P p) -> int64_t & { return cost(p).staticMemory; },
      [&](P p) -> int64_t & { return cost(p).weightMemory; },
      [&](P p) -> int64_t & { return cost(p).gradientMemory; },
      [&](P p) -> int64_t & { return cost(p).gradients; },
      [&](P p) -> int64_t & { return cost(p).expertGradients; },
      [&](P p) -> int64_t & { return cost(p).weights; },
      [&](P p) -> int64_t & { return cost(p).recomputeChoices[1].recomputeTime; },
      [&](P p) -> int64_t & { return cost(p).recomputeChoices[1].activations; },
      [&](P p) -> int64_t & { return cost(p).recomputeChoices[1].workspace; }};
  for (size_t i = 0; i < whole.size(); ++i)
    for (int64_t bad : {int64_t(-1), INT64_MIN, INT64_MAX})
      EXPECT_NE(after([&](P p) { whole[i](p) = bad; }), "") << i << " " << bad;
  std::vector<std::function<double &(P)>> real{
      [](P p) -> double & { return p.overlapFraction; },
      [](P p) -> double & { return p.maxOverlap; },
      [](P p) -> double & { return p.limits.watts; },
      [](P p) -> double & { return p.limits.joules; },
      [](P p) -> double & { return p.limits.price; },
      [](P p) -> double & { return p.deviceTypes[0].idleWatts; },
      [](P p) -> double & { return p.deviceTypes[0].tdpWatts; },
      [](P p) -> double & { return p.deviceTypes[0].pricePerHour; },
      [](P p) -> double & { return p.links[3].intraNode.latency; },
      [](P p) -> double & { return p.links[3].interNode.perByte; },
      [](P p) -> double & { return p.parallelConfigs[0].gradientSyncs[1].alternatives[0].latency; },
      [](P p) -> double & { return p.parallelConfigs[1].gather[0].perByte; },
      [&](P p) -> double & { return cost(p).joules; },
      [&](P p) -> double & { return cost(p).recomputeJoules; }};
  for (size_t i = 0; i < real.size(); ++i)
    for (double bad : {-1.0, kNan, double(INFINITY), 1e300})
      EXPECT_NE(after([&](P p) { real[i](p) = bad; }), "") << i << " " << bad;
  EXPECT_NE(after([](P p) { p.overlapFraction = 1.5; }), "");
  EXPECT_NE(after([](P p) { p.maxOverlap = 1.5; }), "");
}

/// What is in range alone, but not in sum over layers, micro-batches or transfers.
TEST(PlacementCheck, SumsOutOfRange) {
  constexpr int64_t kHalf = int64_t(1) << 60;
  EXPECT_NE(after([](P p) { p.classes[0].costs[0]->forward = kHalf; }).find("a step passes 2^61"), std::string::npos);
  EXPECT_NE(
      after([](P p) { p.classes[0].costs[0]->recomputeChoices[0].activations = kHalf; }).find("memory passes 2^61"),
      std::string::npos);
  EXPECT_NE(after([](P p) { p.edges[0].bytes = kHalf, p.edges[1].bytes = kHalf + 1; }), "");
  EXPECT_NE(after([](P p) { p.deviceTypes[0].devices = p.deviceTypes[1].devices = kHalf + kHalf / 2; }), "");
  EXPECT_NE(after([](P p) { p.links[0].interNode.perByte = 1e20; }), "");
  EXPECT_NE(after([](P p) { p.parallelConfigs[0].gradientSyncs[0].alternatives[0].latency = 1e20; }), "");
  EXPECT_NE(after([](P p) { p.parallelConfigs[1].gather[0].latency = 1e20; }), "");
  EXPECT_NE(
      after([](P p) { p.parallelConfigs[0].data = int64_t(1) << 40, p.parallelConfigs[0].tensor = int64_t(1) << 40; }),
      "");
  EXPECT_NE(after([](P p) { p.batch = kHalf; }), "");
}

TEST(PlacementCheck, AtMostTwenty) {
  PlacementProblem p = wellFormed();
  for (int i = 0; i < 100; ++i)
    p.edges.push_back({7, 7, -1});
  EXPECT_EQ(check(p).size(), 20u);
}

} // namespace
