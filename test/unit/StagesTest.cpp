// A design for each stage of a pipeline: against all assignments of all designs to all stages, on
// the problem that `offer` makes of devices of several kinds.
#include "lib/mine/Stages.h"
#include "DesignSpaceFixture.h"
#include "LatencyCluster.h"
#include "lib/mine/StageLayers.h"
#include "lib/place/Judge.h"
#include "lib/place/Place.h"
#include "lib/place/PlaceStages.h"
#include <cmath>

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
  if (!std::holds_alternative<DesignSpace>(made)) {
    ADD_FAILURE() << test::firstIssue(text);
    std::abort();
  }
  return std::move(std::get<DesignSpace>(made));
}

DesignBox wholeOf(const DesignSpace &space) {
  DesignBox all;
  for (const DesignParameter &parameter : space.parameters()) {
    all.low.push_back(0);
    all.high.push_back(static_cast<uint32_t>(parameter.spelled.size()) - 1);
  }
  return all;
}

struct Case {
  test::ClusterCase one;
  OfferRequest request;

  Case(const char *file, const char *name, std::vector<PipelineSchedule> schedules,
       std::vector<int64_t> data,
       int64_t fewest, int64_t most)
      : one(file, name, 12) {
    request.job = name;
    request.batch = 12;
    Cluster cluster;
    cluster.name = "small";
    cluster.devicesPerServer = 4, cluster.servers = 3;
    cluster.fabric = one.fabric;
    cluster.machine = one.machine;
    request.groups = {cluster};
    request.space.microbatches = {2};
    request.space.schedules = std::move(schedules);
    request.space.data = std::move(data);
    request.space.groups = {{fewest, most}};
    request.instantiate = [this](int64_t t, bool, int64_t microbatch,
                                 const std::string &) -> std::variant<WorkGraph, Issue> {
      if (auto graph = one.graphAt(t, 1, microbatch, 12 / microbatch, {}))
        return std::move(*graph);
      return Issue{"A0705", "no graph", {}, {}};
    };
  }

  std::shared_ptr<const PlacedWork> work(const DesignSpace &space, MiningMetric metric) {
    PlacedJob job{request.job, request, {}, {}};
    job.request.objective = *objectiveOf(metric);
    auto made = PlacedWork::of(std::move(job), std::get<Machine>(space.best(wholeOf(space))));
    if (auto *issues = std::get_if<std::vector<Issue>>(&made)) {
      ADD_FAILURE() << issues->front().message;
      return nullptr;
    }
    return std::move(std::get<std::unique_ptr<PlacedWork>>(made));
  }

  struct Answer {
    double least = INFINITY, common = INFINITY; ///< of any plan; of those on one design
    uint64_t plans = 0;
  };
  /// All cuts, all designs of all stages: seconds, W s of all devices, m2 s of their mean area.
  Answer everything(const DesignSpace &space, MiningMetric metric) {
    OfferRequest all = request;
    all.groups.clear();
    std::vector<double> costs;
    for (uint64_t point = 0; point < *space.points(); ++point) {
      Design design = space.at(point);
      auto machine = space.machine(design);
      auto *found = std::get_if<Machine>(&machine);
      if (!found || space.broken(design, *found))
        continue;
      Cluster group = request.groups.front();
      group.machine = *found;
      all.groups.push_back(group);
      costs.push_back(metric == MiningMetric::TdpTime    ? found->tdp.value
                      : metric == MiningMetric::AreaTime ? found->area.value
                                                         : 1);
    }
    all.between = request.groups.front().fabric.levels.back();
    auto made = offer(all);
    Answer answer;
    if (!std::holds_alternative<Offer>(made)) {
      ADD_FAILURE() << std::get<std::vector<Issue>>(made).front().message;
      return answer;
    }
    const PlacementProblem &problem = std::get<Offer>(made).problem;
    auto layers = static_cast<PlacementProblem::Id>(problem.layers.size());
    for (PipelineSchedule schedule : problem.schedules)
      for (int64_t data : request.space.data)
        for (int64_t p = request.space.groups.front().fewest;
             p <= request.space.groups.front().most && p * data <= 12; ++p) {
          Placement plan;
          plan.schedule = schedule;
          plan.microbatches = 12 / 2 / data;
          std::function<void(PlacementProblem::Id)> next = [&](PlacementProblem::Id from) {
            auto left = p - static_cast<int64_t>(plan.stages.size());
            if (left == 0) {
              PlacementWorth worth = judge(problem, plan);
              ++answer.plans;
              if (!worth.fits)
                return;
              double cost = 0;
              bool same = true;
              for (const PlacedStage &stage : plan.stages) {
                cost += costs[problem.forms[stage.form].kind] *
                        (metric == MiningMetric::AreaTime ? 1 / static_cast<double>(p)
                                                          : static_cast<double>(data));
                same &= stage.form == plan.stages.front().form;
              }
              double value = static_cast<double>(worth.step) * 1e-12 *
                             (metric == MiningMetric::StepTime ? 1 : cost);
              answer.least = std::min(answer.least, value);
              if (same)
                answer.common = std::min(answer.common, value);
              return;
            }
            for (PlacementProblem::Id to = left == 1 ? layers : from + 1;
                 to <= layers - (left - 1); ++to)
              for (PlacementProblem::Id form = 0; form < problem.forms.size(); ++form) {
                if (problem.forms[form].data != data)
                  continue;
                PlacedStage stage;
                stage.form = form;
                for (PlacementProblem::Id layer = from; layer < to; ++layer)
                  stage.layers.push_back(layer), stage.keeps.push_back(0);
                plan.stages.push_back(stage);
                next(to);
                plan.stages.pop_back();
              }
          };
          next(0);
        }
    return answer;
  }

  std::optional<StagedDesigns> mined(const DesignSpace &space, MiningMetric metric,
                                     const StageOptions &options = {}) {
    auto placed = work(space, metric);
    PlacedProblem problem(space, {{placed, nullptr}}, metric);
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
  EXPECT_TRUE(faults(found.problem, found.plan).empty());
  PlacementWorth worth = judge(found.problem, found.plan);
  EXPECT_TRUE(worth.fits && meets(found.problem, worth));
  EXPECT_EQ(worth.step, found.worth.step);
  EXPECT_EQ(found.problem.kinds.size(), found.designs.size());
  EXPECT_LE(found.value, found.common * (1 + 1e-12));
  EXPECT_LE(found.bound, found.value * (1 + 1e-12));
}

} // namespace

TEST(Stages, AreTheLeastOfAllAssignmentsOfAllDesigns) {
  int better = 0;
  for (MiningMetric metric :
       {MiningMetric::StepTime, MiningMetric::TdpTime, MiningMetric::AreaTime})
    for (PipelineSchedule schedule : {PipelineSchedule::OneFOneB, PipelineSchedule::GPipe}) {
      DesignSpace space = few({{"MEMORY", "32 GiB"},
                               {"TENSOR", "pow2 1..2"},
                               {"ROWS", "pow2 64..128"},
                               {"LANES", "{128, 512}"},
                               {"AREA", "22 mm2"}});
      Case one("gpt2.dnn", "gpt2", {schedule}, {1, 2}, 2, metric == MiningMetric::StepTime ? 3 : 2);
      Case::Answer all = one.everything(space, metric);
      ASSERT_GT(all.plans, 1000u);
      auto found = one.mined(space, metric);
      ASSERT_TRUE(found);
      holds(*found);
      EXPECT_NEAR(found->value, all.least, all.least * 1e-9) << name(metric) << name(schedule);
      EXPECT_NEAR(found->bound, all.least, all.least * 1e-9) << name(metric) << name(schedule);
      better += all.least < all.common * (1 - 1e-9);
      // The same without looking at all designs: still a bound, and a plan no worse than common.
      StageOptions options;
      options.few = 0;
      auto some = one.mined(space, metric, options);
      ASSERT_TRUE(some);
      holds(*some);
      EXPECT_GE(some->value, all.least * (1 - 1e-9));
      EXPECT_LE(some->bound, all.least * (1 + 1e-9)) << name(metric) << name(schedule);
      EXPECT_GT(some->bound, 0.5 * all.least) << name(metric) << name(schedule);
      for (auto *one : {&*found, &*some}) {
        printf("cand %zu sched %s m %zu:", size_t(one->candidates), name(one->plan.schedule),
               size_t(one->plan.microbatches));
        for (size_t st = 0; st < one->plan.stages.size(); ++st) {
          auto &stage = one->plan.stages[st];
          auto &form = one->problem.forms[stage.form];
          printf(" [%zu layers kind %u (", stage.layers.size(), form.kind);
          for (auto v : one->designs[form.kind])
            printf("%u ", v);
          printf(") data %zu cost %g w %g]", size_t(form.data), one->problem.kinds[form.kind].tdpWatts,
                 double(one->worth.times[st].forward + one->worth.times[st].backward+one->worth.times[st].weight));
        }
        printf("\n");
      }
      printf("%s %s: least %.6g common %.6g plans %zu; exact %.6g bound %.6g; some %.6g bound %.6g; "
             "cand %zu valued %zu bounds %zu\n",
             name(metric), name(schedule), all.least, all.common, size_t(all.plans), found->value,
             found->bound, some->value, some->bound, size_t(some->candidates),
             size_t(some->valued), size_t(some->bounds));
    }
  EXPECT_GT(better, 0);
}

} // namespace accord
