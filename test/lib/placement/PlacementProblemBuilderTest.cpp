// Layers of a step and the placement problem made of them, against the schedule of the whole step,
// liveness, and the cost of collectives.
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/machine/collectives/Collective.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/planning/analysis/Liveness.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "test/support/LatencyCluster.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using test::ClusterCase;

namespace {

struct Scheduled {
  WorkGraph graph;
  Costs costs;
  Schedule schedule;
};

std::optional<Scheduled> scheduled(ClusterCase &one, int64_t tensor, int64_t microbatch, int64_t microbatches) {
  auto graph = one.graphAt(tensor, 1, microbatch, microbatches, {});
  if (!graph)
    return std::nullopt;
  EstimateOptions options;
  options.fabric = &one.fabric;
  options.axes = {{"tensor", tensor}};
  auto costs = estimate(*graph, one.machine, options);
  if (!costs)
    return std::nullopt;
  Scheduled made{std::move(*graph), std::move(*costs), {}};
  ScheduleOptions brief;
  brief.effort = 0;
  auto schedule = scheduleStep(made.graph, one.machine, made.costs, brief);
  if (!schedule)
    return std::nullopt;
  made.schedule = std::move(*schedule);
  return made;
}

Cluster clusterOf(const ClusterCase &one) {
  Cluster cluster;
  cluster.name = "small";
  cluster.machine = one.machine;
  cluster.devicesPerNode = 4;
  cluster.servers = 3;
  cluster.fabric = one.fabric;
  return cluster;
}

PlacementProblemRequest requestOf(ClusterCase &one, int64_t batch) {
  PlacementProblemRequest request;
  request.job = "job";
  request.batch = batch;
  request.groups = {clusterOf(one)};
  request.instantiate = [&one](const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                               const std::string &) -> Result<WorkGraph> {
    if (auto graph = one.graphAt(sharding.tensor, 1, microbatch, 2, {}))
      return std::move(*graph);
    return Error{Code::NotSupported, "no graph", {}, {}};
  };
  return request;
}

struct Case {
  const char *file, *name;
  double step;   ///< how much longer than the schedule the layers may be together, in percent
  double memory; ///< than liveness
};

} // namespace

// One device runs one stage: its passes one after the other are the schedule without what it
// overlaps between layers, and its memory is the peak, but that nothing kept has been freed when a
// layer needs most, and that tables used at both ends count twice.
TEST(PlacementProblemBuilder, LayersAddUpToTheStepOfOneDevice) {
  for (const Case &net : {Case{"gpt2.dnn", "gpt2_xl", 1.0, 6.0}, Case{"bert.dnn", "bert_large", 1.0, 9.0},
                          Case{"resnet.dnn", "resnet50", 0.5, 20.0}, Case{"vgg.dnn", "vgg16", 0.5, 10.0},
                          Case{"gnmt.dnn", "gnmt", 3.0, 20.0}}) {
    SCOPED_TRACE(net.name);
    ClusterCase one(net.file, net.name, 16);
    auto whole = scheduled(one, 1, 4, 4);
    ASSERT_TRUE(whole);
    ASSERT_TRUE(one.job);
    PlacementProblemRequest request = requestOf(one, 16);
    request.space.microbatches = {4};
    auto made = buildPlacementProblem(request);
    ASSERT_TRUE(made.get()) << made.error().front().message;
    const PlacementProblem &problem = made->problem;
    Placement plan;
    plan.microbatches = 4;
    plan.stages.resize(1);
    for (PlacementProblem::Id layer = 0; layer < problem.layers.size(); ++layer)
      plan.stages[0].layers.push_back(layer);
    plan.stages[0].recomputeChoices.assign(problem.layers.size(), 0);
    while (problem.parallelConfigs[plan.stages[0].parallelConfig].data != 1)
      ++plan.stages[0].parallelConfig;
    EXPECT_TRUE(findViolations(problem, plan).empty());
    PlanMetrics metrics = evaluate(problem, plan);
    double step = static_cast<double>(whole->schedule.step.value);
    EXPECT_GE(static_cast<double>(metrics.step), step * (1 - 1e-9));
    EXPECT_LE(static_cast<double>(metrics.step), step * (1 + net.step / 100));
    double peak = static_cast<double>(liveness(whole->graph, whole->schedule).peak);
    EXPECT_GE(static_cast<double>(metrics.memory[0]), peak * 0.999);
    EXPECT_LE(static_cast<double>(metrics.memory[0]), peak * (1 + net.memory / 100));
  }
}

// The layers of GPT-2 XL are the 48 blocks between two ends; what goes from one to the next is one
// activation of 1024 x 1600 in bf16.
TEST(PlacementProblemBuilder, BlocksOfATransformerAreLayers) {
  ClusterCase one("gpt2.dnn", "gpt2_xl", 16);
  auto whole = scheduled(one, 1, 1, 1);
  ASSERT_TRUE(whole);
  Layering layering = Layering::of(whole->graph, whole->schedule);
  ASSERT_EQ(layering.classes.size(), 3u);
  EXPECT_EQ(layering.classes[1].count, 48);
  EXPECT_TRUE(layering.classes[1].iterated);
  EXPECT_EQ(layering.layers(), 50);
  ASSERT_EQ(layering.edges.size(), 49u);
  for (size_t i = 0; i < 49; ++i) {
    EXPECT_EQ(layering.edges[i].from, i);
    EXPECT_EQ(layering.edges[i].to, i + 1);
    EXPECT_EQ(layering.edges[i].bytes, 1024 * 1600 * 2);
  }
  // 12 h^2 + 13 h scalars in a block: 2 B of weights, 2 B of gradients, 12 B of states.
  std::vector<LayerUse> uses = layerUses(layering, whole->graph, whole->costs, whole->schedule);
  int64_t scalars = 12 * 1600 * 1600 + 13 * 1600;
  EXPECT_EQ(uses[1].weights, 2 * scalars);
  EXPECT_EQ(uses[1].gradients, 2 * scalars);
  EXPECT_EQ(uses[1].states, 12 * scalars);
  std::vector<SharedParameter> shared = sharedParameters(layering, whole->graph);
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_EQ(shared[0].name, "gpt_logits.wte");
  EXPECT_EQ(shared[0].classes, (std::vector<uint32_t>{0, 2}));
}

// Of a search over several numbers of pipeline stages, a plan of one group of devices is that of a search over one
// stage alone, and has a parameter of two layers once: it exchanges, updates and holds what the step of one device has.
TEST(PlacementProblemBuilder, TiedParametersAreOncePerGroup) {
  ClusterCase one("gpt2.dnn", "gpt2_xl", 16);
  ASSERT_TRUE(one.job);
  PlacementProblemRequest request = requestOf(one, 16);
  request.space.microbatches = {4};
  request.space.data = {2};
  request.space.zero = {0, 1};
  request.sharesParameters = true;
  auto several = buildPlacementProblem(request);
  request.space.groups = {{1, 1}};
  auto alone = buildPlacementProblem(request);
  request.sharesParameters = false;
  request.space.groups = {};
  auto copies = buildPlacementProblem(request);
  ASSERT_TRUE(several && alone && copies);
  EXPECT_EQ(several->parameters, alone->parameters);
  const int64_t embedding = int64_t{50257} * 1600;
  int64_t checked = 0;
  for (uint32_t id = 0; id < several->problem.parallelConfigs.size(); ++id) {
    const ParallelConfig &config = several->problem.parallelConfigs[id];
    auto sumOf = [&](const PlacementProblem &problem, uint32_t of, int64_t PlacementProblem::Cost::*field) {
      int64_t sum = 0;
      for (uint32_t layer = 0; layer < problem.layers.size(); ++layer)
        sum += (*problem.cost(layer, of)).*field;
      return sum;
    };
    auto like = [&](const PlacementProblem &problem) {
      for (uint32_t other = 0; other < problem.parallelConfigs.size(); ++other)
        if (problem.parallelConfigs[other].zero == config.zero)
          return other;
      return ~0u;
    };
    if (!config.oneGroup) {
      EXPECT_EQ(sumOf(several->problem, id, &PlacementProblem::Cost::gradients),
                sumOf(copies->problem, like(copies->problem), &PlacementProblem::Cost::gradients));
      continue;
    }
    for (auto field :
         {&PlacementProblem::Cost::gradients, &PlacementProblem::Cost::staticMemory, &PlacementProblem::Cost::update,
          &PlacementProblem::Cost::weights, &PlacementProblem::Cost::forward, &PlacementProblem::Cost::backward})
      EXPECT_EQ(sumOf(several->problem, id, field), sumOf(alone->problem, like(alone->problem), field));
    int64_t twice = sumOf(copies->problem, like(copies->problem), &PlacementProblem::Cost::gradients) -
                    sumOf(several->problem, id, &PlacementProblem::Cost::gradients);
    EXPECT_GE(twice, 2 * embedding); // numbers of two bytes at least
    EXPECT_LE(twice, 4 * embedding + 4);
    EXPECT_EQ(twice, copies->problem.cost(copies->problem.ties.front().b, like(copies->problem))->tied);
    // A pipeline of two groups has no room in the space of one.
    Placement plan;
    plan.microbatches = 2;
    uint32_t half = static_cast<uint32_t>(several->problem.layers.size()) / 2;
    for (uint32_t stage : {0u, 1u}) {
      PlacedStage &made = plan.stages.emplace_back();
      made.parallelConfig = id;
      for (uint32_t layer = stage ? half : 0; layer < (stage ? several->problem.layers.size() : half); ++layer)
        made.layers.push_back(layer), made.recomputeChoices.push_back(0);
    }
    EXPECT_FALSE(findViolations(several->problem, plan).empty());
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

// A network without repeats becomes a chain, and no layer of a branch stands beside it.
TEST(PlacementProblemBuilder, ConvolutionalNetworksAreChains) {
  for (auto [file, name] : {std::pair{"vgg.dnn", "vgg16"}, {"resnet.dnn", "resnet50"}}) {
    ClusterCase one(file, name, 16);
    auto whole = scheduled(one, 1, 1, 1);
    ASSERT_TRUE(whole);
    Layering layering = Layering::of(whole->graph, whole->schedule);
    EXPECT_GE(layering.layers(), 10) << name;
    ASSERT_EQ(static_cast<int64_t>(layering.edges.size()), layering.layers() - 1) << name;
    for (size_t i = 0; i < layering.edges.size(); ++i)
      EXPECT_EQ(layering.edges[i].to, layering.edges[i].from + 1) << name;
  }
}

// Shared among 2 and 4 devices the blocks keep their names, and their weights are divided.
TEST(PlacementProblemBuilder, LayersOfSharedSteps) {
  ClusterCase one("gpt2.dnn", "gpt2_xl", 16);
  auto whole = scheduled(one, 1, 2, 1);
  ASSERT_TRUE(whole);
  Layering layering = Layering::of(whole->graph, whole->schedule);
  LayerUse alone = layerUses(layering, whole->graph, whole->costs, whole->schedule)[1];
  for (int64_t tensor : {2, 4}) {
    auto shared = scheduled(one, tensor, 2, 1);
    ASSERT_TRUE(shared);
    std::vector<LayerUse> uses = layerUses(layering, shared->graph, shared->costs, shared->schedule);
    double sharding = static_cast<double>(uses[1].weights) / static_cast<double>(alone.weights);
    EXPECT_NEAR(sharding, 1.0 / static_cast<double>(tensor), 0.001);
    EXPECT_LT(uses[1].activations, alone.activations);
    double step = 0;
    for (size_t c = 0; c < uses.size(); ++c)
      step += static_cast<double>(layering.classes[c].count) *
              static_cast<double>(uses[c].forward + uses[c].backward + uses[c].weight + uses[c].recomputeTime +
                                  uses[c].update);
    double length = static_cast<double>(shared->schedule.step.value);
    EXPECT_GE(step, length * (1 - 1e-9));
    EXPECT_LE(step, length * 1.03);
  }
}

TEST(PlacementProblemBuilder, LinesOfACollectiveAreItsCost) {
  Fabric fabric = test::smallFabric();
  for (auto [tensor, data] : {std::pair<int64_t, int64_t>{1, 12}, {4, 3}, {2, 6}, {1, 2}})
    for (Collective kind : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather}) {
      Groups groups = groupsAlong({{"tensor", tensor}, {"data", data}}, "data");
      auto lines = linesOf(fabric, kind, groups);
      ASSERT_TRUE(lines.get());
      auto model = CollectiveModel::make(fabric, kind, groups);
      for (double bytes = 1; bytes < 1e12; bytes *= 7) {
        double exact = model->cost(Bytes(bytes)).time.value * 1e12;
        auto time = static_cast<double>(minTime(*lines, bytes));
        EXPECT_GE(time, exact * (1 - 1e-9));
        EXPECT_LE(time, exact * 1.05 + 1);
      }
    }
}

TEST(PlacementProblemBuilder, LowestLinesAreTheLeastOfAll) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(0, 100);
  for (int round = 0; round < 200; ++round) {
    std::vector<AlphaBetaModel> lines;
    for (int i = 0; i < 1 + round % 9; ++i)
      lines.push_back({number(random), number(random) / 10});
    std::vector<AlphaBetaModel> min = lowerEnvelope(lines);
    EXPECT_LE(min.size(), lines.size());
    for (double bytes = 0.01; bytes < 1e5; bytes *= 1.5)
      EXPECT_EQ(minTime(min, bytes), minTime(lines, bytes));
  }
}

// ZeRO divides states among replicas from stage 1 on, gradients from 2, weights from 3 (Rajbhandari
// et al., figure 1: with 16 bytes of Adam per scalar, 2 + 2 + 12/d, 2 + 14/d, 16/d).
TEST(PlacementProblemBuilder, ZeroDividesWhatIsResident) {
  ClusterCase one("gpt2.dnn", "gpt2_xl", 16);
  PlacementProblemRequest request = requestOf(one, 16);
  request.space.data = {4};
  request.space.zero = {0, 1, 2, 3};
  auto made = buildPlacementProblem(request);
  ASSERT_TRUE(made.get());
  const PlacementProblem &problem = made->problem;
  ASSERT_EQ(problem.parallelConfigs.size(), 4u);
  auto scalars = static_cast<double>(12 * 1600 * 1600 + 13 * 1600);
  const double bytes[] = {16, 4 + 12.0 / 4, 2 + 14.0 / 4, 16.0 / 4};
  int64_t update = problem.classes[1].costs[0]->update;
  for (PlacementProblem::Id parallelConfig = 0; parallelConfig < 4; ++parallelConfig) {
    const PlacementProblem::Cost &cost = *problem.classes[1].costs[parallelConfig];
    EXPECT_EQ(problem.parallelConfigs[parallelConfig].zero, static_cast<int>(parallelConfig));
    EXPECT_NEAR(static_cast<double>(cost.staticMemory), bytes[parallelConfig] * scalars, 4);
    EXPECT_NEAR(static_cast<double>(cost.update), static_cast<double>(update) / (parallelConfig > 0 ? 4 : 1), 1);
    EXPECT_EQ(problem.parallelConfigs[parallelConfig].gather.empty(), parallelConfig < 2);
  }
}

// What cannot be divided is left out, and said where nothing is left.
TEST(PlacementProblemBuilder, DegreesThatDoNotFit) {
  ClusterCase one("gpt2.dnn", "gpt2_medium", 16);
  PlacementProblemRequest request = requestOf(one, 16);
  request.space.microbatches = {1, 3, 8};
  request.space.data = {1, 5, 8, 16};
  auto made = buildPlacementProblem(request);
  ASSERT_TRUE(made.get());
  for (const PlacementProblem::ParallelConfig &parallelConfig : made->problem.parallelConfigs) {
    EXPECT_EQ(16 % (parallelConfig.data * parallelConfig.microbatch), 0);
    EXPECT_LE(parallelConfig.data, 12);
  }
  request.space.data = {5};
  auto nothing = buildPlacementProblem(request);
  ASSERT_TRUE((nothing.getError()));
  EXPECT_EQ(nothing.error().front().code, Code::NothingToPlace);
}
