// What the verifier finds of placements on many designs by itself, against the best placement of
// each; stated problems that are wrong.
#include "lib/exploration/verify/MiningPlacement.h"
#include "PlacedCase.h"
#include "lib/machine/cost/Estimate.h"
#include <fmt/format.h>

namespace accord {
namespace {

using Form = PlacementProblem::Form;

struct Net {
  const char *file, *name;
  std::vector<int64_t> tensor;
  MiningMetric metric;
  bool interleaves = false;
};

/// Of steps on a machine, as `accord verify` has them.
PlacementFloor::Prices pricesOn(const ClaimedCluster &cluster, const Machine &machine) {
  return [&cluster, &machine](size_t step) -> std::optional<Costs> {
    const WorkGraph &graph = cluster.steps[step].graph;
    auto priced = estimate(graph, machine);
    auto *costs = std::get_if<Costs>(&priced);
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
  auto *machine = std::get_if<Machine>(&made);
  return machine && !space.broken(space.at(point), *machine) ? std::optional(std::move(*machine))
                                                             : std::nullopt;
}

} // namespace

// No bound is above the best placement of a design, that is found with the search's own problem;
// each is at least the one before; a tenth more would be found out.
TEST(PlacementFloor, IsNotAboveTheBestPlacementOfADesign) {
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
    ClaimedCluster cluster = work->claimed({});
    EXPECT_TRUE(check(cluster.problem).empty());
    PlacementFloor floor(cluster);
    int finite = 0;
    for (uint64_t point = 0; point < 36; point += net.metric == MiningMetric::StepTime ? 3 : 5) {
      SCOPED_TRACE(point);
      auto machine = machineOf(space, point);
      if (!machine)
        continue;
      PlacedBest best = work->best(*machine, INFINITY);
      double unit = net.metric == MiningMetric::TdpTime ? machine->tdp.value : 1,
             value = best.value / unit, below = std::isfinite(value) ? value * 1.01 : 1e15;
      double least = floor.value(*machine);
      PlacementFloor::Open open = floor.open(*machine, below),
                           priced =
                               floor.open(*machine, below, pricesOn(cluster, *machine), open.forms);
      EXPECT_LE(least, value);
      EXPECT_LE(open.least, value);
      EXPECT_LE(priced.least, value);
      EXPECT_GE(open.least, std::min(least, below) * (1 - 1e-9));
      EXPECT_GE(priced.least, std::min(open.least, below) * (1 - 1e-9));
      if (!best.plan)
        continue;
      ++finite;
      tenth += priced.least * 1.1 > value;
      EXPECT_GT(least, 0.4 * value); // it says something
      // The best placement's form is left open, and one of a problem that is stated.
      std::vector<Form> forms;
      for (auto id : priced.forms)
        forms.push_back(cluster.problem.forms[id]);
      auto isBest = [&](const Form &form) {
        return form.tensor == best.form.tensor && form.data == best.form.data &&
               form.microbatch == best.form.microbatch && form.zero == best.form.zero;
      };
      EXPECT_TRUE(std::any_of(forms.begin(), forms.end(), isBest));
      std::vector<PlacementProblem::Id> have;
      for (const PlacementProblem &stated : work->problems(*machine, forms)) {
        EXPECT_EQ(floor.differs(stated, *machine, pricesOn(cluster, *machine)), "");
        for (auto id : floor.formsOf(stated))
          have.push_back(id);
      }
      std::sort(have.begin(), have.end());
      EXPECT_EQ(have, priced.forms);
    }
    EXPECT_GE(finite, 3);
  }
  EXPECT_GE(tenth, 5);
}

TEST(PlacementFloor, RefusesProblemsOfOtherClustersAndOtherWork) {
  DesignSpace space = test::chips();
  test::PlacedCase one("bert_base.dnn", "bert_base", {1, 2});
  auto work = one.work(space);
  ASSERT_TRUE(work);
  ClaimedCluster cluster = work->claimed({});
  PlacementFloor floor(cluster);
  auto machine = machineOf(space, 29);
  ASSERT_TRUE(machine);
  auto prices = pricesOn(cluster, *machine);
  std::vector<PlacementProblem> stated = work->problems(*machine, cluster.problem.forms);
  ASSERT_EQ(stated.size(), 4u); // by share and micro-batch
  const PlacementProblem &good = stated.front();
  ASSERT_EQ(floor.differs(good, *machine, prices), "");
  auto refused = [&](const char *what, const char *said, auto change) {
    PlacementProblem other = good;
    change(other);
    std::string why = floor.differs(other, *machine, prices);
    EXPECT_NE(why.find(said), std::string::npos) << what << ": " << why;
  };
  refused("more devices", "devices are others", [](auto &p) { p.kinds[0].devices *= 2; });
  refused("less memory", "bytes of memory", [](auto &p) { p.kinds[0].memory /= 2; });
  refused("another batch", "batch", [](auto &p) { p.batch *= 2; });
  refused("a slower link", "links", [](auto &p) { p.links[0].across.perByte *= 2; });
  refused("a limit", "limits", [](auto &p) { p.limits.devices = 1; });
  refused("another schedule", "schedules", [](auto &p) { p.schedules.pop_back(); });
  refused("a slower host", "host", [](auto &p) { p.perMicrobatch += 1000; });
  refused("a slower network of replicas", "no form of the cluster", [](auto &p) {
    for (auto &form : p.forms)
      for (auto &sync : form.syncs)
        sync.ways[0].perByte *= 1.01;
  });
  refused("a layer less", "as often", [](auto &p) {
    size_t most = 0;
    for (size_t l = 0; l < p.layers.size(); ++l)
      if (p.layers[l].name.find("[3]") != std::string::npos)
        most = l;
    p.layers.erase(p.layers.begin() + static_cast<long>(most));
  });
  refused("a class less", "", [](auto &p) { p.classes.pop_back(); });
  refused("another class", "is no layer", [](auto &p) { p.classes[1].name = "other"; });
  refused("cheaper layers", "takes less than its operations do", [](auto &p) {
    for (auto &cls : p.classes)
      for (auto &cost : cls.costs)
        cost->forward = cost->forward / 10 * 9, cost->backward = cost->backward / 10 * 9;
  });
  refused("fewer residents", "takes less", [](auto &p) {
    for (auto &cls : p.classes)
      for (auto &cost : cls.costs)
        cost->resident = cost->resident / 10 * 9;
  });
  // Of a form that is not stated nothing follows.
  PlacementProblem fewer = good;
  fewer.forms.pop_back();
  for (auto &cls : fewer.classes)
    cls.costs.pop_back();
  EXPECT_EQ(floor.differs(fewer, *machine, prices), "");
  EXPECT_EQ(floor.formsOf(fewer).size() + 1, floor.formsOf(good).size());
}

// Room for a share of device memory alone rules out what has no room there.
TEST(PlacementFloor, LessRoomNeverMakesPlacementsBetter) {
  DesignSpace space = test::chips();
  test::PlacedCase one("bert_base.dnn", "bert_base", {1});
  one.request.space.schedules = {PipelineSchedule::OneFOneB};
  auto work = one.work(space);
  ASSERT_TRUE(work);
  auto machine = machineOf(space, 29);
  ASSERT_TRUE(machine);
  ClaimedCluster all = work->claimed({}), few = all;
  double capacity = machine->memories.front().capacity.value;
  double before = 0;
  for (int64_t bytes : {int64_t(1) << 40, int64_t(1) << 30, int64_t(1) << 28, int64_t(1) << 20}) {
    few.rooms = {{capacity, bytes}};
    PlacementFloor floor(few);
    EXPECT_EQ(floor.room(*machine), std::min(bytes, static_cast<int64_t>(capacity)));
    double least = floor.open(*machine, 1e18).least;
    EXPECT_GE(least, before);
    before = least;
  }
  EXPECT_GE(before, 1e18); // not one layer fits
}

} // namespace accord
