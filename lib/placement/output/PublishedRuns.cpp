#include "lib/placement/output/PublishedRuns.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using calibrate::Layout;
using Id = PlacementProblem::Id;

/// Degrees as whole numbers.
struct Degrees {
  int64_t tensor, pipeline, virtualStages, data, microbatch, batch, microbatches, context;
};

class Run {
public:
  Run(calibrate::GraphSource &profiler, const calibrate::Row &row, const calibrate::Case &one, const Machine &machine,
      const calibrate::Parameters &parameters, const PublishedOptions &options)
      : profiler_(profiler), row_(row), case_(one), machine_(machine), parameters_(parameters), options_(options) {}

  Result<PublishedRun> run() {
    auto described = calibrate::workloadOf(row_);
    if (!described)
      return described.error();
    workload_ = *described;
    if (!isConfigured(row_) || case_.candidates.size() != 1)
      return leftOut("it does not state all degrees, micro-batch and batch");
    if (auto why = degrees(); !why.empty())
      return leftOut(why);
    request_ = request();
    auto made = buildPlacementProblem(request_);
    if (!made)
      return made.error().front();
    const PlacementProblem &problem = made->problem;
    if (Errors wrong = check(problem); !wrong.empty())
      return wrong.front();
    auto plan = even(problem, layout().zero, workload_.recompute);
    if (auto *why = std::get_if<std::string>(&plan))
      return leftOut(*why);
    const Placement &forced = std::get<Placement>(plan);
    if (auto wrong = findViolations(problem, forced); !wrong.empty())
      return leftOut("as a placement " + wrong.front());
    PlanMetrics metrics = evaluate(problem, forced);
    PublishedRun run;
    run.id = row_.id;
    run.what = describe(problem, forced);
    run.measured = case_.seconds;
    run.forced = loaded(metrics.step * 1e-12);
    run.memory = minMemory(problem, forced);
    run.capacity = problem.deviceTypes.front().memory;
    if (options_.choose) {
      PlacementOptions how;
      how.effort = options_.effort;
      how.known = &forced; // the run's own plan is one of the space
      PlacementResult best = place(problem, how);
      if (best.plan) {
        run.free = loaded(best.value * 1e-12), run.bound = loaded(best.bound * 1e-12);
        run.freeWhat = describe(problem, *best.plan);
      }
    }
    return run;
  }

private:
  const Layout &layout() const { return case_.candidates.front().layout; }
  Error leftOut(const std::string &why) const {
    return {Code::RowLeftOut, fmt::format("'{}' is left out: {}", row_.id, why), row_.location, {}};
  }

  /// The host's workers prepare the next batch meanwhile, whatever the placement.
  double loaded(double step) const {
    double decode = parameters_[llvm::to_underlying(calibrate::Parameter::DecodeCost)];
    return std::max(step, case_.candidates.front().images * decode);
  }

  std::string degrees() {
    const Layout &l = layout();
    auto whole = [](double x) -> int64_t { return std::llround(x); };
    at_ = {
        whole(l.tensor),       whole(l.pipeline), whole(l.virtualStages), whole(l.data), case_.microbatches.front(), 0,
        whole(l.microbatches), whole(l.context)};
    if (at_.microbatches < 1 || std::abs(l.microbatches - at_.microbatches) > 1e-9)
      return "its micro-batches do not divide its batch";
    at_.batch = at_.microbatches * (at_.data / at_.context) * at_.microbatch;
    return "";
  }

  Cluster cluster() const {
    const Layout &l = layout();
    Cluster cluster;
    cluster.name = "published";
    cluster.machine = machine_;
    if (l.parts > 1) { // cores of a chip
      Memory &memory = cluster.machine.memories.front();
      memory.capacity = Bytes(memory.capacity.value / l.parts);
      memory.bandwidth = BytesPerSecond(memory.bandwidth.value / l.parts);
      for (Core &core : cluster.machine.cores)
        for (auto &[type, peak] : core.peak)
          peak = FlopsPerSecond(peak.value / l.parts);
    }
    cluster.machine.fitted = calibrate::toCalibratedValues("published steps", parameters_);
    int64_t devices = at_.tensor * at_.pipeline * at_.data;
    int64_t devicesPerNode = std::llround(l.devicesPerNode);
    cluster.devicesPerNode = std::min(devices, devicesPerNode);
    cluster.servers = (devices + cluster.devicesPerNode - 1) / cluster.devicesPerNode;
    auto level = [](const char *name, int64_t endpoints, double bandwidth) {
      Network network;
      network.name = name, network.endpoints = endpoints;
      network.bandwidth = BytesPerSecond(bandwidth), network.latency = Seconds(1e-5);
      return network;
    };
    if (cluster.devicesPerNode > 1)
      cluster.fabric.levels.push_back(level("links", cluster.devicesPerNode, l.link));
    if (cluster.servers > 1)
      cluster.fabric.levels.push_back(level("network", cluster.servers, l.network * cluster.devicesPerNode));
    return cluster;
  }

  PlacementProblemRequest request() const {
    PlacementProblemRequest request;
    request.job = row_.id;
    request.batch = at_.batch;
    request.groups = {cluster()};
    request.unlinked = layout().unlinked;
    request.location = row_.location;
    const Cluster &cluster = request.groups.front();
    int64_t devices = at_.tensor * at_.pipeline * at_.data;
    if (cluster.devicesPerNode * cluster.servers > devices)
      request.limits.devices = devices;
    PlacementSpace &space = request.space;
    const std::string &policy = workload_.recompute;
    space.tensorShardings = {{at_.tensor, workload_.sequence, at_.context}};
    space.data = {at_.data / at_.context};
    space.microbatches = {at_.microbatch};
    space.zero = {layout().zero};
    if (!statesZero() && layout().zero == 0)
      space.zero.push_back(1);
    space.recomputePolicies = {"none"};
    if (policy != "none")
      space.recomputePolicies.push_back(policy);
    else if (!statesPolicy())
      space.recomputePolicies = {"none", "selective", "full"};
    space.schedules = {at_.virtualStages > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB};
    space.virtualStages = {at_.virtualStages > 1 ? at_.virtualStages : 2};
    if (tables() != Tables::Whole)
      space.tables = {tables()};
    if (options_.choose)
      widen(space, devices);
    auto sharded = [this](const PlacementSpace::TensorSharding &sharding, const std::string &policy) {
      calibrate::Workload workload = workload_;
      workload.tensor = sharding.tensor, workload.sequence = sharding.sequence, workload.recompute = policy;
      workload.context = sharding.context, workload.exchange = name(sharding.contextExchange);
      return workload;
    };
    request.instantiate = [this, sharded](const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                          const std::string &policy) -> Result<WorkGraph> {
      calibrate::Workload workload = sharded(sharding, policy);
      return profiler_.graph(workload, microbatch, std::max<int64_t>(1, at_.batch / microbatch), row_.location);
    };
    request.instantiateDivided =
        [this, sharded](const PlacementSpace::TensorSharding &sharding, int64_t microbatch, const std::string &policy,
                        int64_t data, const PlacementSpace::ReplicaSharding &replicaSharding) -> Result<WorkGraph> {
      calibrate::Workload workload = sharded(sharding, policy);
      workload.data = data, workload.tables = name(replicaSharding.tables);
      return profiler_.graph(workload, microbatch, std::max<int64_t>(1, at_.batch / microbatch / data), row_.location);
    };
    return request;
  }

  /// Tables with sparse gradients are divided among the devices.
  Tables tables() const {
    return case_.candidates.front().allToAllBytes > 0 && at_.data > 1 ? Tables::Columns : Tables::Whole;
  }

  /// What planners usually choose among, besides what was run.
  void widen(PlacementSpace &space, int64_t devices) const {
    auto add = [](auto &list, const auto &value) {
      if (std::find(list.begin(), list.end(), value) == list.end())
        list.push_back(value);
    };
    for (int64_t tensor = 1; tensor <= std::min<int64_t>(devices, 8); tensor *= 2)
      if (tensor != at_.tensor && case_.candidates.front().blocks > 1)
        space.tensorShardings.push_back({tensor, tensor > 1 && workload_.sequence});
    space.data.clear();
    for (int64_t size = 1; size <= 8; size *= 2)
      if (at_.batch % size == 0)
        add(space.microbatches, size);
    std::sort(space.microbatches.begin(), space.microbatches.end());
    if (tables() != Tables::Whole)
      for (auto other : {Tables::Whole, Tables::Rows})
        add(space.tables, other);
    for (const char *policy : {"selective", "full"})
      add(space.recomputePolicies, std::string(policy));
    add(space.schedules, PipelineSchedule::OneFOneB);
    add(space.schedules, PipelineSchedule::Interleaved);
    for (int64_t virtualStages : {2, 3, 4})
      add(space.virtualStages, virtualStages);
  }

  /// What the row states of recomputation and of ZeRO; else either is open.
  bool statesPolicy() const {
    return row_.recompute == "none" || row_.recompute == "selective" || row_.recompute == "full";
  }
  bool statesZero() const { return !row_.zero_stage.empty() && row_.zero_stage != "not stated"; }

  /// The peak of the fullest device. Where the row does not state how memory was saved, of the way that needs least.
  int64_t minMemory(const PlacementProblem &problem, const Placement &forced) const {
    auto peak = [&](const Placement &plan) {
      std::vector<std::vector<uint32_t>> edges;
      PlanMetrics metrics = evaluateStages(problem, plan, edges);
      return *std::max_element(metrics.memory.begin(), metrics.memory.end());
    };
    int64_t min = peak(forced);
    for (int zero : {layout().zero, 1})
      for (const std::string &policy : request_.space.recomputePolicies)
        if ((zero == layout().zero || !statesZero()) && (policy == workload_.recompute || !statesPolicy()))
          if (auto plan = even(problem, zero, policy); auto *one = std::get_if<Placement>(&plan))
            min = std::min(min, peak(*one));
    return min;
  }

  std::variant<Placement, std::string> even(const PlacementProblem &problem, int zero,
                                            const std::string &policy) const {
    Id parallelConfig = 0;
    while (parallelConfig < problem.parallelConfigs.size() && !isOurs(problem.parallelConfigs[parallelConfig], zero))
      ++parallelConfig;
    if (parallelConfig == problem.parallelConfigs.size())
      return "no parallel configuration of the problem is its own";
    // The blocks: the class with the most layers.
    std::vector<size_t> count(problem.classes.size());
    for (const auto &layer : problem.layers)
      ++count[layer.of];
    Id max = std::max_element(count.begin(), count.end()) - count.begin();
    size_t stages = at_.pipeline * at_.virtualStages;
    if (stages > 1 && (count[max] < stages || count[max] % stages))
      return fmt::format("{} blocks in {} stages are not even", count[max], stages);
    size_t per = count[max] / stages, seen = 0;
    Placement plan;
    plan.schedule = at_.virtualStages > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB;
    plan.virtualStages = at_.virtualStages;
    plan.microbatches = at_.microbatches;
    plan.stages.resize(stages);
    for (Id id = 0; id < problem.layers.size(); ++id) {
      size_t stage = stages == 1 ? 0 : std::min(seen / per, stages - 1);
      seen += problem.layers[id].of == max;
      plan.stages[stage].layers.push_back(id);
      plan.stages[stage].parallelConfig = parallelConfig;
      const auto &cost = problem.cost(id, parallelConfig);
      if (!cost)
        return fmt::format("'{}' cannot run so", problem.layers[id].name);
      uint32_t recomputeChoice = 0;
      for (uint32_t k = 0; k < cost->recomputeChoices.size(); ++k)
        if (cost->recomputeChoices[k].policy == policy)
          recomputeChoice = k;
      plan.stages[stage].recomputeChoices.push_back(recomputeChoice);
    }
    return plan;
  }
  bool isOurs(const ParallelConfig &parallelConfig, int zero) const {
    return parallelConfig.tensor == at_.tensor && parallelConfig.sequence == workload_.sequence &&
           parallelConfig.data == at_.data && parallelConfig.context == at_.context &&
           parallelConfig.tables == tables() && parallelConfig.microbatch == at_.microbatch &&
           (parallelConfig.data == 1 || parallelConfig.zero == zero);
  }

  std::string describe(const PlacementProblem &problem, const Placement &plan) const {
    const ParallelConfig &parallelConfig = problem.parallelConfigs[plan.stages.front().parallelConfig];
    std::string text = fmt::format("t{} p{} d{} b{}", parallelConfig.tensor, plan.groups(),
                                   parallelConfig.data / parallelConfig.context, parallelConfig.microbatch);
    if (parallelConfig.context > 1)
      text += fmt::format(" c{}", parallelConfig.context);
    if (plan.virtualStages > 1)
      text += fmt::format(" v{}", plan.virtualStages);
    if (parallelConfig.sequence)
      text += " seq";
    if (parallelConfig.tables != Tables::Whole)
      text += fmt::format(" {} of tables", name(parallelConfig.tables));
    if (parallelConfig.zero > 0 && parallelConfig.data > 1)
      text += fmt::format(" z{}", parallelConfig.zero);
    std::map<std::string, size_t> policies;
    for (const PlacedStage &stage : plan.stages)
      for (size_t i = 0; i < stage.layers.size(); ++i)
        ++policies[problem.choiceOf(stage, i).policy];
    for (const auto &[policy, layers] : policies)
      if (policy != "none")
        text += fmt::format(" {} x {}", layers, policy);
    return text;
  }

  calibrate::GraphSource &profiler_;
  const calibrate::Row &row_;
  const calibrate::Case &case_;
  const Machine &machine_;
  const calibrate::Parameters &parameters_;
  const PublishedOptions &options_;
  calibrate::Workload workload_;
  Degrees at_{};
  PlacementProblemRequest request_;
};

} // namespace

bool isConfigured(const calibrate::Row &row) {
  return row.tp && row.pp && row.dp && row.micro_batch && row.global_batch;
}

Result<PublishedRun> publishedRun(calibrate::GraphSource &profiler, const calibrate::Row &row,
                                  const calibrate::Case &one, const Machine &machine,
                                  const calibrate::Parameters &parameters, const PublishedOptions &options) {
  return Run(profiler, row, one, machine, parameters, options).run();
}

} // namespace accord
