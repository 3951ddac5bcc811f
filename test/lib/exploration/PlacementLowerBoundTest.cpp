// What the verifier finds of placements on many designs by itself, against the best placement of
// each; stated problems that are wrong.
#include "lib/exploration/verify/PlacementLowerBound.h"
#include "PlacedCase.h"
#include "lib/machine/cost/Estimate.h"
#include <fmt/format.h>

namespace accord {
namespace {

using ParallelConfig = PlacementProblem::ParallelConfig;

struct Net {
  const char *file, *name;
  std::vector<int64_t> tensor;
  MiningMetric metric;
  bool interleaves = false;
};

/// Of steps on a machine, as `accord verify` has them.
PlacementLowerBound::Prices pricesOn(const CertificateCluster &cluster, const Machine &machine) {
  return [&cluster, &machine](size_t step) -> std::optional<Costs> {
    const WorkGraph &graph = cluster.steps[step].graph;
    auto priced = estimate(graph, machine);
    auto *costs = priced.get();
    if (!costs)
      return std::nullopt;
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      if (graph.operations[id].core == CoreKind::None && graph.operations[id].givenSeconds)
        costs->operations[id].time = Seconds(*graph.operations[id].givenSeconds);
    return std::move(*costs);
  };
}

std::optional<Machine> machineOf(const DesignSpace &space, uint64_t point) {
  auto made = space.machine(space.at(point));
  auto *machine = made.get();
  return machine && !space.violatedRequirement(space.at(point), *machine) ? std::optional(std::move(*machine))
                                                                          : std::nullopt;
}

} // namespace

// No bound is above the best placement of a design, that is found with the search's own problem;
// each is at least the one before; a tenth more would be found out.
TEST(PlacementLowerBound, IsNotAboveTheBestPlacementOfADesign) {
  DesignSpace space = test::chips();
  int tenth = 0;
  for (const Net &net : {Net{"bert_base.dnn", "bert_base", {1, 2}, MiningMetric::StepTime},
                         Net{"bert_base.dnn", "bert_base", {1, 2}, MiningMetric::TdpTime},
                         Net{"gnmt.dnn", "gnmt", {1}, MiningMetric::StepTime},
                         Net{"resnet.dnn", "resnet18", {1}, MiningMetric::StepTime},
                         Net{"bert_base.dnn", "bert_base", {1}, MiningMetric::StepTime, true}}) {
    SCOPED_TRACE(fmt::format("{} {}", net.name, name(net.metric)));
    test::PlacedCase one(net.file, net.name, net.tensor);
    if (!net.interleaves)
      one.request.space.schedules = {PipelineSchedule::OneFOneB};
    auto work = one.work(space, net.metric);
    ASSERT_TRUE(work);
    CertificateCluster cluster = work->claimed({});
    EXPECT_TRUE(check(cluster.problem).empty());
    PlacementLowerBound floor(cluster);
    int finite = 0;
    for (uint64_t point = 0; point < 36; point += net.metric == MiningMetric::StepTime ? 3 : 5) {
      SCOPED_TRACE(point);
      auto machine = machineOf(space, point);
      if (!machine)
        continue;
      PlacedBest best = work->best(*machine, INFINITY);
      double unit = net.metric == MiningMetric::TdpTime ? machine->tdp.value : 1, value = best.value / unit,
             below = std::isfinite(value) ? value * 1.01 : 1e15;
      double lowerBound = floor.value(*machine);
      PlacementLowerBound::Open open = floor.open(*machine, below),
                                priced = floor.open(*machine, below, pricesOn(cluster, *machine), open.parallelConfigs);
      EXPECT_LE(lowerBound, value);
      EXPECT_LE(open.lowerBound, value);
      EXPECT_LE(priced.lowerBound, value);
      EXPECT_GE(open.lowerBound, std::min(lowerBound, below) * (1 - 1e-9));
      EXPECT_GE(priced.lowerBound, std::min(open.lowerBound, below) * (1 - 1e-9));
      if (!best.plan)
        continue;
      ++finite;
      tenth += priced.lowerBound * 1.1 > value;
      EXPECT_GT(lowerBound, 0.4 * value); // it says something
      // The best placement's form is left open, and one of a problem that is stated.
      std::vector<ParallelConfig> parallelConfigs;
      for (auto id : priced.parallelConfigs)
        parallelConfigs.push_back(cluster.problem.parallelConfigs[id]);
      auto isBest = [&](const ParallelConfig &parallelConfig) {
        return parallelConfig.tensor == best.parallelConfig.tensor && parallelConfig.data == best.parallelConfig.data &&
               parallelConfig.microbatch == best.parallelConfig.microbatch &&
               parallelConfig.zero == best.parallelConfig.zero;
      };
      EXPECT_TRUE(std::any_of(parallelConfigs.begin(), parallelConfigs.end(), isBest));
      std::vector<PlacementProblem::Id> have;
      for (const PlacementProblem &stated : work->problems(*machine, parallelConfigs)) {
        EXPECT_EQ(floor.differs(stated, *machine, pricesOn(cluster, *machine)), "");
        for (auto id : floor.formsOf(stated))
          have.push_back(id);
      }
      std::sort(have.begin(), have.end());
      EXPECT_EQ(have, priced.parallelConfigs);
    }
    EXPECT_GE(finite, 3);
  }
  EXPECT_GE(tenth, 5);
}

TEST(PlacementLowerBound, RefusesProblemsOfOtherClustersAndOtherWork) {
  DesignSpace space = test::chips();
  test::PlacedCase one("bert_base.dnn", "bert_base", {1, 2});
  auto work = one.work(space);
  ASSERT_TRUE(work);
  CertificateCluster cluster = work->claimed({});
  PlacementLowerBound floor(cluster);
  auto machine = machineOf(space, 29);
  ASSERT_TRUE(machine);
  auto prices = pricesOn(cluster, *machine);
  std::vector<PlacementProblem> stated = work->problems(*machine, cluster.problem.parallelConfigs);
  ASSERT_EQ(stated.size(), 4u); // by share and micro-batch
  const PlacementProblem &good = stated.front();
  ASSERT_EQ(floor.differs(good, *machine, prices), "");
  auto refused = [&](const char *what, const char *said, auto change) {
    PlacementProblem other = good;
    change(other);
    std::string difference = floor.differs(other, *machine, prices);
    EXPECT_NE(difference, "") << what;
    EXPECT_NE(difference.find(said), std::string::npos) << what << ": " << difference;
  };
  refused("more devices", "devices are others", [](auto &p) { p.deviceTypes[0].devices *= 2; });
  refused("less memory", "bytes of memory", [](auto &p) { p.deviceTypes[0].memory /= 2; });
  refused("another batch", "batch", [](auto &p) { p.batch *= 2; });
  refused("a slower link", "links", [](auto &p) { p.links[0].interNode.perByte *= 2; });
  refused("a limit", "limits", [](auto &p) { p.limits.devices = 1; });
  refused("another schedule", "schedules", [](auto &p) { p.schedules.pop_back(); });
  refused("a slower host", "host", [](auto &p) { p.hostOverheadPerMicrobatch += 1000; });
  refused("a slower network of replicas", "no parallel configuration of the cluster", [](auto &p) {
    for (auto &parallelConfig : p.parallelConfigs)
      for (auto &sync : parallelConfig.gradientSyncs)
        sync.alternatives[0].perByte *= 1.01;
  });
  refused("a layer less", "as often", [](auto &p) {
    size_t max = 0;
    for (size_t l = 0; l < p.layers.size(); ++l)
      if (p.layers[l].name.find("[3]") != std::string::npos)
        max = l;
    p.layers.erase(p.layers.begin() + static_cast<long>(max));
    for (auto &edge : p.edges)
      edge.from -= edge.from >= max, edge.to -= edge.to >= max;
    std::erase_if(p.edges, [](const auto &edge) { return edge.from >= edge.to; });
    for (auto &tie : p.ties)
      tie.a -= tie.a >= max, tie.b -= tie.b >= max;
  });
  refused("a class less", "is of class", [](auto &p) { p.classes.pop_back(); });
  refused("another class", "is no layer", [](auto &p) { p.classes[1].name = "other"; });
  refused("cheaper layers", "takes less than its operations do", [](auto &p) {
    for (auto &cls : p.classes)
      for (auto &cost : cls.costs)
        cost->forward = cost->forward / 10 * 9, cost->backward = cost->backward / 10 * 9;
  });
  using Cost = PlacementProblem::Cost;
  for (int64_t Cost::*part : {&Cost::forward, &Cost::backward, &Cost::update, &Cost::gradients, &Cost::weights})
    refused("a part of the layers that is cheaper", "takes less than its operations do", [part](auto &p) {
      for (auto &cls : p.classes)
        for (auto &cost : cls.costs)
          (*cost).*part = (*cost).*part / 10 * 9;
    });
  // What two orders of a sum make is no difference, and dearer layers are none that a bound is above.
  PlacementProblem nearly = good;
  for (auto &link : nearly.links)
    link.intraNode.perByte *= 1 + 1e-12, link.interNode.perByte *= 1 - 1e-12;
  for (auto &cls : nearly.classes)
    for (auto &cost : cls.costs)
      ++cost->forward, ++cost->backward, ++cost->staticMemory;
  EXPECT_EQ(floor.differs(nearly, *machine, prices), "");
  refused("a limit of the step alone", "limits", [](auto &p) { p.limits.step = 1; });
  refused("a limit of the power alone", "limits", [](auto &p) { p.limits.watts = 1; });
  refused("another power", "bytes of memory", [](auto &p) { p.deviceTypes[0].tdpWatts *= 2; });
  refused("another idle power", "bytes of memory", [](auto &p) { p.deviceTypes[0].idleWatts += 1; });
  refused("another host's memory", "devices are others", [](auto &p) { p.deviceTypes[0].hostMemory += 1; });
  refused("another price", "devices are others", [](auto &p) { p.deviceTypes[0].pricePerHour += 1; });
  refused("another server", "devices are others", [](auto &p) { p.deviceTypes[0].devicesPerNode /= 2; });
  refused("a kind of devices more", "", [](auto &p) { p.deviceTypes.push_back(p.deviceTypes[0]); });
  refused("fewer residents", "takes less", [](auto &p) {
    for (auto &cls : p.classes)
      for (auto &cost : cls.costs)
        cost->staticMemory = cost->staticMemory / 10 * 9;
  });
  // Of a form that is not stated nothing follows.
  PlacementProblem fewer = good;
  fewer.parallelConfigs.pop_back();
  for (auto &cls : fewer.classes)
    cls.costs.pop_back();
  EXPECT_EQ(floor.differs(fewer, *machine, prices), "");
  EXPECT_EQ(floor.formsOf(fewer).size() + 1, floor.formsOf(good).size());
}

// Room for a share of device memory alone rules out what has no room there.
TEST(PlacementLowerBound, LessRoomNeverMakesPlacementsBetter) {
  DesignSpace space = test::chips();
  test::PlacedCase one("bert_base.dnn", "bert_base", {1});
  one.request.space.schedules = {PipelineSchedule::OneFOneB};
  auto work = one.work(space);
  ASSERT_TRUE(work);
  auto machine = machineOf(space, 29);
  ASSERT_TRUE(machine);
  CertificateCluster all = work->claimed({}), few = all;
  double capacity = machine->memories.front().capacity.value;
  double before = 0;
  for (int64_t bytes : {int64_t(1) << 40, int64_t(1) << 30, int64_t(1) << 28, int64_t(1) << 20}) {
    few.memoryBudgets = {{capacity, bytes}};
    PlacementLowerBound floor(few);
    EXPECT_EQ(floor.memoryBudget(*machine), std::min(bytes, static_cast<int64_t>(capacity)));
    double lowerBound = floor.open(*machine, 1e18).lowerBound;
    EXPECT_GE(lowerBound, before);
    before = lowerBound;
  }
  EXPECT_GE(before, 1e18); // not one layer fits
}

} // namespace accord
