#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

double seconds(int64_t ps) { return ps * 1e-12; }

json::Array strings(const std::vector<std::string> &all) {
  json::Array array;
  for (const std::string &one : all)
    array.push_back(jsonString(one));
  return array;
}

/// "0, 8, 16, …" as first rank, stride and count.
json::Object ranks(int64_t first, int64_t stride, int64_t count) {
  return json::Object{{"first", first}, {"stride", stride}, {"count", count}};
}

class Writer {
public:
  explicit Writer(const PlacementPlan &plan)
      : problem(plan.problem), placement(*plan.result.plan), metrics(plan.result.metrics), figures(figuresOf(plan)) {}

  void write(json::Object &o) {
    const PlacementProblem::ParallelConfig &parallelConfig =
        problem.parallelConfigs[placement.stages[0].parallelConfig];
    o["step_time_s"] = figures.seconds;
    o["throughput"] = figures.throughput;
    if (figures.mfu > 0)
      o["mfu"] = figures.mfu;
    o["energy_J"] = metrics.joules;
    if (metrics.price > 0)
      o["price"] = metrics.price;
    o["devices"] = metrics.devices;
    o["bubble"] = figures.bubble;
    o["tensor_parallel"] = parallelConfig.tensor;
    o["pipeline_parallel"] = figures.pipeline;
    o["data_parallel"] = parallelConfig.data;
    o["uniform_config"] = figures.hasUniformConfig;
    o["sequence_parallel"] = parallelConfig.sequence;
    o["zero"] = parallelConfig.zero;
    o["microbatch"] = parallelConfig.microbatch;
    o["microbatches"] = placement.microbatches;
    o["schedule"] = name(placement.schedule);
    o["virtual_stages"] = placement.virtualStages;
    o["stages"] = stages();
    o["groups"] = groups();
    o["communication"] = communication();
    o["memory"] = memory();
  }

private:
  json::Object parallelConfigOf(PlacementProblem::Id id) const {
    const PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[id];
    json::Object o{{"tensor", parallelConfig.tensor},
                   {"data", parallelConfig.data},
                   {"sequence", parallelConfig.sequence},
                   {"zero", parallelConfig.zero},
                   {"microbatch", parallelConfig.microbatch}};
    if (parallelConfig.expert > 1)
      o["expert"] = parallelConfig.expert;
    if (parallelConfig.tables != PlacementProblem::Tables::Whole)
      o["tables"] = name(parallelConfig.tables);
    if (parallelConfig.ringOverlap)
      o["ring_overlap"] = true;
    if (parallelConfig.hostStates)
      o["optimizer_on_host"] = true;
    if (parallelConfig.hostWeights)
      o["weights_on_host"] = true;
    if (parallelConfig.order != PlacementProblem::RankOrder::TensorDataPipeline)
      o["rank_order"] = name(parallelConfig.order);
    return o;
  }

  json::Object devicesOf(const GroupFigures &group) const {
    const PlacementProblem::DeviceType &deviceType =
        problem.deviceTypes[problem.parallelConfigs[group.parallelConfig].deviceType];
    int64_t firstNode = group.first / deviceType.devicesPerNode;
    int64_t lastNode = group.last / deviceType.devicesPerNode;
    return json::Object{{"device_type", jsonString(deviceType.name)},
                        {"first", group.first},
                        {"count", group.devices},
                        {"first_node", firstNode},
                        {"nodes", lastNode - firstNode + 1}};
  }

  json::Object memoryOf(const GroupFigures &group) const {
    json::Object o;
    for (size_t i = 0; i < kStageMemories; ++i)
      o[std::string(name(static_cast<StageMemory>(i))) + "_bytes"] = group.memory[i];
    o["peak_bytes"] = group.peak();
    o["capacity_bytes"] = group.capacity;
    if (group.host > 0)
      o["host_bytes"] = group.host;
    return o;
  }

  json::Array stages() const {
    json::Array all;
    size_t count = figures.groups.size();
    for (size_t s = 0; s < placement.stages.size(); ++s) {
      const PlacedStage &stage = placement.stages[s];
      const GroupFigures &group = figures.groups[s % count];
      const StageTimes &times = metrics.times[s];
      json::Array recompute;
      for (const RecomputeRun &run : recomputeRuns(problem, stage))
        recompute.push_back(json::Object{{"policy", jsonString(run.policy)},
                                         {"layers", strings(layerRuns(problem, run.layers))},
                                         {"count", static_cast<int64_t>(run.layers.size())}});
      json::Object o{{"layers", strings(layerRuns(problem, stage.layers))},
                     {"layer_count", static_cast<int64_t>(stage.layers.size())},
                     {"group", static_cast<int64_t>(s % count)},
                     {"virtual_stage", static_cast<int64_t>(s / count)},
                     {"parallel_config", parallelConfigOf(stage.parallelConfig)},
                     {"recompute", std::move(recompute)},
                     {"forward_s", seconds(times.forward)},
                     {"backward_s", seconds(times.backward + times.weight)},
                     {"in_flight", metrics.inFlight[s]}};
      if (s < count) {
        o["devices"] = devicesOf(group);
        o["memory"] = memoryOf(group);
        json::Object step;
        for (size_t i = 0; i < kStepComponents; ++i)
          step[std::string(name(static_cast<StepComponent>(i))) + "_s"] = seconds(group.step[i]);
        o["step"] = std::move(step);
        o["bubble"] = metrics.step > 0 ? static_cast<double>(group.of(StepComponent::Bubble)) / metrics.step : 0.0;
      }
      all.push_back(std::move(o));
    }
    return all;
  }

  /// Ranks of one device group; the pipeline goes from group to group.
  json::Object groups() const {
    json::Array pipeline, byStage;
    for (const GroupFigures &group : figures.groups) {
      const PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[group.parallelConfig];
      byStage.push_back(json::Object{{"device_type", jsonString(problem.deviceTypes[parallelConfig.deviceType].name)},
                                     {"tensor", ranks(group.first, 1, parallelConfig.tensor)},
                                     {"tensor_groups", parallelConfig.data},
                                     {"data", ranks(group.first, group.stride, parallelConfig.data)},
                                     {"data_groups", parallelConfig.tensor}});
    }
    for (const GroupFigures &group : figures.groups)
      pipeline.push_back(group.first);
    json::Object o{{"rule", problem.parallelConfigs[figures.groups[0].parallelConfig].order ==
                                    PlacementProblem::RankOrder::TensorPipelineData
                                ? "device i of replica r of stage s has rank (r * stages + s) * tensor + i: a "
                                  "tensor group is `tensor` ranks in a row, a pipeline group the stages of a "
                                  "replica in a row, a data group the same place in each replica"
                                : "device i of replica r of a stage has rank first + r * tensor + i of its "
                                  "kind: a tensor group is `tensor` ranks in a row, a data group every "
                                  "`tensor`-th rank of a stage, a pipeline group the same place in each "
                                  "stage"},
                   {"stages", std::move(byStage)},
                   {"first_pipeline", std::move(pipeline)}};
    return o;
  }

  json::Array communication() const {
    json::Array all;
    for (const StageTransfer &transfer : figures.transfers)
      if (transfer.bytes > 0)
        all.push_back(json::Object{{"what", "activations"},
                                   {"from_stage", static_cast<int64_t>(transfer.from)},
                                   {"to_stage", static_cast<int64_t>(transfer.to)},
                                   {"bytes", transfer.bytes},
                                   {"time_s", seconds(transfer.time)},
                                   {"per_step", 2 * placement.microbatches},
                                   {"intra_node", transfer.intraNode}});
    for (size_t g = 0; g < figures.groups.size(); ++g) {
      const GroupFigures &group = figures.groups[g];
      if (problem.parallelConfigs[group.parallelConfig].data > 1 && group.gradientBytes + group.expertGradientBytes > 0)
        all.push_back(
            json::Object{{"what", "gradients"},
                         {"stage", static_cast<int64_t>(g)},
                         {"bytes", group.gradientBytes + group.expertGradientBytes},
                         {"time_s", seconds(group.exchange)},
                         {"exposed_s", seconds(group.of(StepComponent::GradientSync))},
                         {"per_step", 1},
                         {"intra_node", group.replicasPerNode >= problem.parallelConfigs[group.parallelConfig].data}});
    }
    return all;
  }

  json::Object memory() const {
    const GroupFigures &group = figures.groups[figures.maxMemoryGroup];
    json::Object o = memoryOf(group);
    o["stage"] = static_cast<int64_t>(figures.maxMemoryGroup);
    return o;
  }

  const PlacementProblem &problem;
  const Placement &placement;
  const PlanMetrics &metrics;
  PlacementFigures figures;
};

json::Array runnersUp(const PlacementPlan &plan, double scale) {
  json::Array all;
  for (const RunnerUp &other : plan.runnersUp) {
    PlacementFigures figures = figuresOf(plan.problem, other.plan, other.metrics);
    double loses = plan.result.metrics.value > 0 ? other.metrics.value / plan.result.metrics.value - 1 : 0;
    all.push_back(json::Object{{"tensor_parallel", figures.tensor},
                               {"pipeline_parallel", figures.pipeline},
                               {"data_parallel", figures.data},
                               {"uniform_config", figures.hasUniformConfig},
                               {"microbatch", figures.microbatch},
                               {"microbatches", other.plan.microbatches},
                               {"sequence_parallel", figures.sequence},
                               {"zero", figures.zero},
                               {"schedule", name(other.plan.schedule)},
                               {"virtual_stages", other.plan.virtualStages},
                               {"devices", other.metrics.devices},
                               {"step_time_s", figures.seconds},
                               {"value", other.metrics.value * scale},
                               {"relative_loss", loses},
                               {"bubble", figures.bubble},
                               {"fits", other.metrics.fits},
                               {"memory_bytes", figures.groups[figures.maxMemoryGroup].peak()}});
  }
  return all;
}

json::Array front(const PlacementPlan &plan) {
  json::Array all;
  for (const Tradeoff &one : plan.front) {
    PlacementFigures figures = figuresOf(plan.problem, one.plan, one.metrics);
    all.push_back(json::Object{{"what", jsonString(one.what)},
                               {"parallel_degrees", jsonString(degreesText(plan.problem, one.plan))},
                               {"devices", one.metrics.devices},
                               {"memory_bytes", figures.groups[figures.maxMemoryGroup].peak()},
                               {"step_time_s", figures.seconds},
                               {"throughput", figures.throughput},
                               {"energy_J", one.metrics.joules},
                               {"price", one.metrics.price}});
  }
  return all;
}

} // namespace

double gapOf(const PlacementPlan &plan) {
  double gap = std::clamp(plan.result.gap(), 0.0, 1.0);
  return gap < 1e-9 ? 0 : gap; // what rounding leaves, which the proof allows, too
}

json::Value toJson(const PlacementPlan &plan) {
  const ObjectiveFormula &unit = formulaOf(plan.problem.objective);
  json::Array whatIf, conflicts;
  for (const Relaxation &one : plan.whatIf)
    whatIf.push_back(json::Object{{"what", jsonString(one.what)}, {"value", one.value * unit.scale}});
  for (const Conflict &c : plan.conflicts) {
    json::Object o{
        {"constraint", jsonString(c.constraint)}, {"file", jsonString(c.file)}, {"line", static_cast<int64_t>(c.line)}};
    if (!c.detail.empty())
      o["detail"] = jsonString(c.detail);
    conflicts.push_back(std::move(o));
  }
  json::Object o{{"schema", 2},
                 {"command", "compile"},
                 {"version", jsonString(plan.version)},
                 {"status", plan.result.plan ? "done" : "infeasible"},
                 {"kind", "placement"},
                 {"job", jsonString(plan.job)},
                 {"model", jsonString(plan.model)},
                 {"cluster", jsonString(plan.cluster)},
                 {"precision", jsonString(plan.precision)},
                 {"optimizer", jsonString(plan.optimizer)},
                 {"batch", plan.problem.batch},
                 {"parameters", plan.parameters},
                 {"model_flops", plan.modelFlops},
                 {"layers", static_cast<int64_t>(plan.problem.layers.size())},
                 {"runners_up", runnersUp(plan, unit.scale)},
                 {"what_if", std::move(whatIf)},
                 {"pareto_front", front(plan)},
                 {"assumptions", strings(plan.assumptions)},
                 {"relaxations", strings(plan.relaxations)},
                 {"conflict", std::move(conflicts)}};
  if (plan.result.plan) {
    o["objective"] = json::Object{
        {"name", name(plan.problem.objective)}, {"value", plan.result.value * unit.scale}, {"unit", unit.unit}};
    o["bound"] = json::Object{
        {"value", plan.result.bound * unit.scale}, {"unit", unit.unit}, {"proof", jsonString(plan.result.proof)}};
    o["gap"] = gapOf(plan);
    if (TrainingFigures training = trainingOf(plan); training.steps > 0) {
      json::Object whole{{"samples", plan.samples},
                         {"steps", training.steps},
                         {"time_s", training.seconds},
                         {"energy_J", training.joules},
                         {"price", training.price}};
      if (plan.sequence > 0)
        whole["tokens"] = plan.samples * plan.sequence;
      o["training"] = std::move(whole);
    }
    Writer(plan).write(o);
  }
  json::Object sizes;
  for (const auto &[name, value] : plan.sizes)
    sizes[name] = value;
  o["sizes"] = std::move(sizes);
  return o;
}

} // namespace accord
