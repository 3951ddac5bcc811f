// A design for each stage of a pipeline: against all assignments of all designs to all stages, on
// the problem that `offer` makes of devices of several kinds.
#include "lib/exploration/clusters/StagedDesigns.h"
#include "lib/exploration/clusters/StageLayers.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/HeterogeneousStages.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "test/support/DesignSpaceFixture.h"
#include "test/support/LatencyCluster.h"
#include "test/support/Random.h"
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace accord {
namespace {

const char *kFew = R"(
accelerator s {
  clock = 1 GHz
  technology = 16 nm
  memory hbm : dram { capacity = MEMORY, bandwidth = 200 GB/s }
  memory glb : scratchpad { capacity = {1 MiB, 4 MiB}, bandwidth = 2048 B/cycle, double_buffered = true }
  core tc[TENSOR] : tensor { array = (ROWS) x 64, dataflow = weight_stationary, multiply = bf16, accumulate = fp32, reads = glb }
  core vc[2] : vector { lanes = LANES, types = {fp32, bf16}, reads = glb }
  path hbm -> glb -> {tc, vc}
  power { idle = 2 W, mac = 0.6 pJ }
  area { mac = 760 um2, lane = 2000 um2, sram = 1.4 mm2 per 1 MiB }
  require area <= AREA
})";

DesignSpace few(std::map<std::string, std::string> with) {
  std::string text = kFew;
  for (auto &[word, value] : with)
    text.replace(text.find(word), word.size(), value);
  test::Machines machines(text);
  auto made = machines.space("s");
  if (!made) {
    ADD_FAILURE() << test::firstError(text);
    std::abort();
  }
  return std::move(*made);
}

struct Case {
  test::ClusterCase one;
  PlacementProblemRequest request;

  Case(const char *file, const char *name, std::vector<PipelineSchedule> schedules, std::vector<int64_t> data,
       int64_t min, int64_t max)
      : one(file, name, 12) {
    request.job = name;
    request.batch = 12;
    Cluster cluster;
    cluster.name = "small";
    cluster.devicesPerNode = 4, cluster.servers = 3;
    cluster.fabric = one.fabric;
    cluster.machine = one.machine;
    request.groups = {cluster};
    request.space.microbatches = {2};
    request.space.schedules = std::move(schedules);
    request.space.data = std::move(data);
    request.space.groups = {{min, max}};
    request.instantiate = [this](const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                 const std::string &) -> Result<WorkGraph> {
      if (auto graph = one.graphAt(sharding.tensor, 1, microbatch, 12 / microbatch, {}))
        return std::move(*graph);
      return Error{Code::NotSupported, "no graph", {}, {}};
    };
  }

  std::shared_ptr<const PlacedWork> work(const DesignSpace &space, MiningMetric metric) {
    PlacedJob job{request.job, request, {}, {}};
    job.request.objective = *objectiveOf(metric);
    auto made = PlacedWork::of(std::move(job), *space.best(wholeOf(space.parameters())));
    if (!made) {
      ADD_FAILURE() << made.error().front().message;
      return nullptr;
    }
    return std::move(*made);
  }

  struct Answer {
    double min = INFINITY, common = INFINITY; ///< of any plan; of those on one design
    uint64_t plans = 0;
  };
  /// All cuts, all designs of all stages: seconds, W s of all devices, m2 s of their mean area.
  Answer everything(const DesignSpace &space, MiningMetric metric) {
    PlacementProblemRequest all = request;
    all.groups.clear();
    std::vector<double> costs;
    for (uint64_t point = 0; point < *space.points(); ++point) {
      Design design = space.at(point);
      auto machine = space.machine(design);
      auto *found = machine.get();
      if (!found || space.violatedRequirement(design, *found))
        continue;
      Cluster group = request.groups.front();
      group.machine = *found;
      all.groups.push_back(group);
      costs.push_back(metric == MiningMetric::TdpTime    ? found->tdp.value
                      : metric == MiningMetric::AreaTime ? found->area.value
                                                         : 1);
    }
    all.between = request.groups.front().fabric.levels.back();
    auto made = buildPlacementProblem(all);
    Answer answer;
    if (!made) {
      ADD_FAILURE() << made.error().front().message;
      return answer;
    }
    const PlacementProblem &problem = made->problem;
    auto layers = static_cast<PlacementProblem::Id>(problem.layers.size());
    for (PipelineSchedule schedule : problem.schedules)
      for (int64_t data : request.space.data)
        for (int64_t p = request.space.groups.front().min; p <= request.space.groups.front().max && p * data <= 12;
             ++p) {
          Placement plan;
          plan.schedule = schedule;
          plan.microbatches = 12 / 2 / data;
          std::function<void(PlacementProblem::Id)> next = [&](PlacementProblem::Id from) {
            auto left = p - static_cast<int64_t>(plan.stages.size());
            if (left == 0) {
              PlanMetrics metrics = evaluate(problem, plan);
              ++answer.plans;
              if (!metrics.fits)
                return;
              double cost = 0;
              bool same = true;
              for (const PlacedStage &stage : plan.stages) {
                cost += costs[problem.parallelConfigs[stage.parallelConfig].deviceType] *
                        (metric == MiningMetric::AreaTime ? 1 / static_cast<double>(p) : static_cast<double>(data));
                same &= stage.parallelConfig == plan.stages.front().parallelConfig;
              }
              double value = static_cast<double>(metrics.step) * 1e-12 * (metric == MiningMetric::StepTime ? 1 : cost);
              answer.min = std::min(answer.min, value);
              if (same)
                answer.common = std::min(answer.common, value);
              return;
            }
            for (PlacementProblem::Id to = left == 1 ? layers : from + 1; to <= layers - (left - 1); ++to)
              for (PlacementProblem::Id parallelConfig = 0; parallelConfig < problem.parallelConfigs.size();
                   ++parallelConfig) {
                if (problem.parallelConfigs[parallelConfig].data != data)
                  continue;
                PlacedStage stage;
                stage.parallelConfig = parallelConfig;
                for (PlacementProblem::Id layer = from; layer < to; ++layer)
                  stage.layers.push_back(layer), stage.recomputeChoices.push_back(0);
                plan.stages.push_back(stage);
                next(to);
                plan.stages.pop_back();
              }
          };
          next(0);
        }
    return answer;
  }

  std::optional<StagedDesigns> mined(const DesignSpace &space, MiningMetric metric, const StageOptions &options = {}) {
    auto placed = work(space, metric);
    PlacedProblem problem(space, {{{placed}, nullptr}}, metric);
    MiningResult common = mineExactly(problem);
    if (!common.best) {
      ADD_FAILURE() << "no common design";
      return std::nullopt;
    }
    auto best = problem.placed(0, *common.best);
    return mineStages(space, *placed, metric, *common.best, *best, options);
  }
};

void holds(const StagedDesigns &found) {
  EXPECT_TRUE(findViolations(found.problem, found.plan).empty());
  PlanMetrics metrics = evaluate(found.problem, found.plan);
  EXPECT_TRUE(metrics.fits && satisfiesLimits(found.problem, metrics));
  EXPECT_EQ(metrics.step, found.metrics.step);
  EXPECT_EQ(found.problem.deviceTypes.size(), found.designs.size());
  EXPECT_LE(found.value, found.common * (1 + 1e-12));
  EXPECT_LE(found.bound, found.value * (1 + 1e-12));
}

} // namespace

TEST(Stages, AreTheLeastOfAllAssignmentsOfAllDesigns) {
  int better = 0, foundLocally = 0;
  for (MiningMetric metric : {MiningMetric::StepTime, MiningMetric::TdpTime, MiningMetric::AreaTime})
    for (PipelineSchedule schedule : {PipelineSchedule::OneFOneB, PipelineSchedule::GPipe}) {
      DesignSpace space = few({{"MEMORY", "32 GiB"},
                               {"TENSOR", "pow2 1..2"},
                               {"ROWS", "pow2 64..128"},
                               {"LANES", "{128, 512}"},
                               {"AREA", "22 mm2"}});
      Case one("gpt2.dnn", "gpt2", {schedule}, {1, 2}, 2,
               metric == MiningMetric::StepTime && schedule == PipelineSchedule::GPipe ? 3 : 2);
      Case::Answer all = one.everything(space, metric);
      ASSERT_GT(all.plans, 1000u);
      auto found = one.mined(space, metric);
      ASSERT_TRUE(found);
      holds(*found);
      EXPECT_NEAR(found->value, all.min, all.min * 1e-9) << name(metric) << name(schedule);
      EXPECT_NEAR(found->bound, all.min, all.min * 1e-9) << name(metric) << name(schedule);
      better += all.min < all.common * (1 - 1e-9);
      // Without looking at all designs: still a bound, and a plan no worse than common.
      StageOptions options;
      options.few = 0;
      auto some = one.mined(space, metric, options);
      ASSERT_TRUE(some);
      holds(*some);
      EXPECT_GE(some->value, all.min * (1 - 1e-9));
      EXPECT_LE(some->bound, all.min * (1 + 1e-9)) << name(metric) << name(schedule);
      EXPECT_GT(some->bound, 0.5 * all.min) << name(metric) << name(schedule);
      // By local search, as WHAM does it: never better than all, never worse than common, and no bound.
      options.localSearch = true, options.each = 10;
      auto local = one.mined(space, metric, options);
      ASSERT_TRUE(local);
      holds(*local);
      EXPECT_EQ(local->bound, 0);
      EXPECT_GE(local->value, all.min * (1 - 1e-9)) << name(metric) << name(schedule);
      foundLocally += local->value <= all.min * (1 + 1e-9);
    }
  EXPECT_GE(foundLocally, 5);
  EXPECT_GT(better, 0);
}

// What a stage takes on a design, and on a box of designs at least; the cheapest that is fast
// enough.
TEST(Stages, LayersTakeNoLessThanTheirBoundsAndMixesFindTheLeast) {
  DesignSpace space = few({{"MEMORY", "32 GiB"},
                           {"TENSOR", "pow2 1..4"},
                           {"ROWS", "pow2 32..128"},
                           {"LANES", "{128, 512}"},
                           {"AREA", "22 mm2"}});
  Case one("gpt2.dnn", "gpt2", {PipelineSchedule::OneFOneB}, {1, 2}, 1, 3);
  auto work = one.work(space, MiningMetric::TdpTime);
  ParameterDependence dependence(space);
  Design common;
  for (uint64_t point = 0; point < *space.points() && common.empty(); ++point)
    if (Design design = space.at(point); !space.violatedRequirement(design, *space.machine(design)))
      common = design;
  ASSERT_FALSE(common.empty());
  auto layers = StageLayers::of(space, dependence, *work, *space.best(wholeOf(space.parameters())),
                                MiningMetric::TdpTime, common, {1, false}, 2);
  ASSERT_TRUE(layers);
  std::vector<double> counts(layers->alternatives(), 1);
  auto timeOf = [&](const std::vector<double> &times) {
    double sum = 0;
    for (double time : times)
      sum += time;
    return sum;
  };
  std::mt19937 random(5);
  double fastest = INFINITY, slowest = 0;
  std::map<Design, std::pair<double, double>> all; // time, cost
  for (uint64_t point = 0; point < *space.points(); ++point) {
    Design design = space.at(point);
    auto times = layers->times(design);
    for (const DesignBox &box : test::boxesAround(space, design, random)) {
      auto min = layers->minTimes(box);
      if (!times)
        continue;
      ASSERT_TRUE(min) << point;
      for (size_t alternative = 0; alternative < times->size(); ++alternative)
        EXPECT_LE((*min)[alternative], (*times)[alternative]) << point << " " << alternative;
      EXPECT_LE(layers->cost(box), layers->cost(design) * (1 + 1e-12)) << point;
    }
    if (!times)
      continue;
    EXPECT_GT(timeOf(*layers->minTimes({design, design})), 0.5 * timeOf(*times)) << point;
    all[design] = {timeOf(*times), layers->cost(design)};
    fastest = std::min(fastest, timeOf(*times)), slowest = std::max(slowest, timeOf(*times));
  }
  ASSERT_GT(all.size(), 10u);
  for (double power : {-1.0, 0.0, 0.5, 2.0})
    for (double longest : {double(INFINITY), (fastest + slowest) / 2, fastest, fastest * 0.9}) {
      double best = INFINITY;
      for (auto &[design, of] : all)
        if (of.first <= longest)
          best = std::min(best, power < 0 ? of.first : of.second * std::pow(of.first, power));
      LayerMixProblem mix(space, *layers, counts, {power, longest});
      MiningResult result = mineExactly(mix);
      EXPECT_DOUBLE_EQ(result.value, best) << power << " " << longest;
      EXPECT_EQ(mix.best(3).empty(), std::isinf(best));
    }
}

// Random chains with as many kinds as there are: no plan of them is below the bounds of the least
// of everything, and what is found holds.
TEST(Stages, BoundsOfCostAreBelowEveryPlan) {
  fuzz::Random random(7);
  auto number = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random.below(static_cast<size_t>(high - low + 1)));
  };
  double tightest = 0;
  for (int round = 0; round < 150; ++round) {
    PlacementProblem problem;
    problem.objective = random.percent(50) ? PlacementObjective::StepTime : PlacementObjective::TdpTime;
    int64_t layers = number(3, 6), deviceTypes = number(2, 5), stages = number(1, 4);
    problem.batch = number(1, 12);
    problem.schedules = {random.percent(50) ? PipelineSchedule::GPipe : PipelineSchedule::OneFOneB};
    problem.groups = {{stages, stages}};
    problem.uniformConfigPerDeviceType = false;
    problem.limits.devices = 4;
    if (stages > layers)
      continue;
    for (PlacementProblem::Id layer = 0; layer < layers; ++layer) {
      problem.classes.push_back({fmt::format("c{}", layer), {}});
      problem.layers.push_back({fmt::format("l{}", layer), layer, {}, {}});
      if (layer > 0)
        problem.edges.push_back({layer - 1, layer, number(1, 50)});
    }
    for (PlacementProblem::Id deviceType = 0; deviceType < deviceTypes; ++deviceType) {
      PlacementProblem::DeviceType one;
      one.name = fmt::format("k{}", deviceType);
      one.devices = 4, one.memory = number(100, 400);
      one.tdpWatts = static_cast<double>(number(20, 200));
      problem.deviceTypes.push_back(one);
      PlacementProblem::ParallelConfig parallelConfig;
      parallelConfig.deviceType = deviceType;
      problem.parallelConfigs.push_back(parallelConfig);
      for (auto &cls : problem.classes) {
        PlacementProblem::Cost cost;
        cost.forward = number(1, 100), cost.backward = number(1, 200), cost.update = number(0, 20);
        cost.staticMemory = number(0, 30);
        cost.recomputeChoices = {{"none", 0, 10, 0, 0}, {"full", cost.forward, 2, 0, 0}};
        cls.costs.push_back(cost);
      }
    }
    problem.links.assign(static_cast<size_t>(deviceTypes * deviceTypes), {{1, 0.01}, {2, 0.02}});
    ASSERT_TRUE(check(problem).empty());
    // Everything, by hand.
    double best = INFINITY;
    Placement plan;
    plan.schedule = problem.schedules.front(), plan.microbatches = problem.batch;
    std::function<void(PlacementProblem::Id)> next = [&](PlacementProblem::Id from) {
      auto left = stages - static_cast<int64_t>(plan.stages.size());
      if (left == 0) {
        PlanMetrics metrics = evaluate(problem, plan);
        if (metrics.fits && from == layers)
          best = std::min(best, metrics.value);
        return;
      }
      for (auto to = static_cast<PlacementProblem::Id>(left == 1 ? layers : from + 1); to <= layers - (left - 1); ++to)
        for (PlacementProblem::Id parallelConfig = 0; parallelConfig < deviceTypes; ++parallelConfig)
          for (uint32_t recomputeChoices = 0; recomputeChoices < (1u << (to - from)); ++recomputeChoices) {
            PlacedStage stage;
            stage.parallelConfig = parallelConfig;
            for (PlacementProblem::Id layer = from; layer < to; ++layer) {
              stage.layers.push_back(layer);
              stage.recomputeChoices.push_back(recomputeChoices >> (layer - from) & 1);
            }
            plan.stages.push_back(stage);
            next(to);
            plan.stages.pop_back();
          }
    };
    if (layers * stages * deviceTypes > 50) // too many to look at
      continue;
    next(0);
    PlacementResult found = placeStages(problem, INFINITY);
    if (found.plan) {
      EXPECT_TRUE(findViolations(problem, *found.plan).empty());
      EXPECT_EQ(evaluate(problem, *found.plan).value, found.value);
      EXPECT_GE(found.value, best * (1 - 1e-12));
      EXPECT_EQ(placeStages(problem, found.value).plan.has_value(), false); // none below it
    }
    PlacementProblem steps = problem;
    steps.objective = PlacementObjective::StepTime;
    double step = lowerBoundByCuts(steps, INFINITY);
    if (problem.objective == PlacementObjective::StepTime) {
      EXPECT_LE(step, best) << round;
      if (std::isfinite(best))
        tightest = std::max(tightest, step / best);
      continue;
    }
    StageLowerBounds min;
    min.schedule = plan.schedule, min.stages = stages, min.microbatches = problem.batch;
    min.cost = INFINITY;
    for (auto &deviceType : problem.deviceTypes)
      min.cost = std::min(min.cost, deviceType.tdpWatts);
    for (PlacementProblem::Id layer = 0; layer < layers; ++layer) {
      double time = INFINITY, costTime = INFINITY;
      for (PlacementProblem::Id parallelConfig = 0; parallelConfig < deviceTypes; ++parallelConfig) {
        const auto &cost = *problem.cost(layer, parallelConfig);
        auto takes = static_cast<double>(cost.forward + cost.backward);
        time = std::min(time, takes);
        costTime = std::min(costTime, takes * problem.deviceTypes[parallelConfig].tdpWatts);
      }
      min.time.push_back(time), min.costTime.push_back(costTime);
    }
    if (!std::isfinite(best))
      continue;
    double bound = minStageCost(min, step, best * 2e12) * 1e-12;
    EXPECT_LE(bound, best * (1 + 1e-12)) << round;
    tightest = std::max(tightest, bound / best);
    // It is more than the least power for the least time.
    EXPECT_GE(bound, step * min.cost * static_cast<double>(stages) * 1e-12 * (1 - 1e-9));
  }
  EXPECT_GT(tightest, 0.95);
}

} // namespace accord
