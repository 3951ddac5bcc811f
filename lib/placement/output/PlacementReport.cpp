#include "lib/placement/output/PlacementReport.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementTrace.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

/// Boxes of all device groups together; a browser draws them in an instant.
constexpr size_t kMaxPasses = 16000;

json::Array strings(const std::vector<std::string> &all) {
  json::Array array;
  for (const std::string &one : all)
    array.push_back(jsonString(one));
  return array;
}

template <size_t N> json::Array numbers(const std::array<int64_t, N> &all) {
  json::Array array;
  for (int64_t one : all)
    array.push_back(one);
  return array;
}

json::Array groups(const PlacementPlan &plan, const PlacementFigures &figures) {
  json::Array all;
  for (const GroupFigures &group : figures.groups) {
    const PlacementProblem::ParallelConfig &parallelConfig = plan.problem.parallelConfigs[group.parallelConfig];
    all.push_back(json::Object{{"deviceType", static_cast<int64_t>(parallelConfig.deviceType)},
                               {"first", group.first},
                               {"last", group.last},
                               {"stride", group.stride},
                               {"ranks", group.ranks()},
                               {"devices", group.devices},
                               {"tensor", parallelConfig.tensor},
                               {"data", parallelConfig.data},
                               {"zero", parallelConfig.zero},
                               {"replicasPerNode", group.replicasPerNode},
                               {"memory", numbers(group.memory)},
                               {"capacity", group.capacity},
                               {"step", numbers(group.step)},
                               {"gradients", group.gradientBytes + group.expertGradientBytes},
                               {"gradientSync", group.exchange}});
  }
  return all;
}

json::Array stages(const PlacementPlan &plan) {
  json::Array all;
  const Placement &placement = *plan.result.plan;
  for (size_t s = 0; s < placement.stages.size(); ++s) {
    const PlacedStage &stage = placement.stages[s];
    const StageTimes &times = plan.result.metrics.times[s];
    std::string recompute;
    for (const RecomputeRun &run : recomputeRuns(plan.problem, stage))
      if (run.policy != "none")
        recompute += fmt::format("{}{}: {}", recompute.empty() ? "" : "; ", run.policy,
                                 fmt::join(layerRuns(plan.problem, run.layers), ", "));
    all.push_back(
        json::Object{{"layers", jsonString(fmt::format("{}", fmt::join(layerRuns(plan.problem, stage.layers), ", ")))},
                     {"count", static_cast<int64_t>(stage.layers.size())},
                     {"forward", times.forward},
                     {"backward", times.backward + times.weight},
                     {"inFlight", plan.result.metrics.inFlight[s]},
                     {"recompute", jsonString(recompute)}});
  }
  return all;
}

/// By group: [kind, stage, micro-batch, start, end, passes, busy] in one list.
json::Array slices(const PipelinePicture &shown) {
  json::Array all;
  for (const std::vector<PipelineSlice> &group : shown.groups) {
    json::Array flat;
    for (const PipelineSlice &slice : group)
      if (slice.kind != PipelineSlice::Kind::Bubble) {
        flat.push_back(static_cast<int64_t>(slice.kind));
        flat.push_back(static_cast<int64_t>(slice.stage));
        flat.push_back(static_cast<int64_t>(slice.microbatch));
        flat.push_back(slice.start);
        flat.push_back(slice.end);
        flat.push_back(slice.passes);
        flat.push_back(slice.busy);
      }
    all.push_back(std::move(flat));
  }
  return all;
}

json::Array runnersUp(const PlacementPlan &plan) {
  json::Array all;
  for (const RunnerUp &other : plan.runnersUp) {
    PlacementFigures figures = figuresOf(plan.problem, other.plan, other.metrics);
    const GroupFigures &maxMemoryGroup = figures.groups[figures.maxMemoryGroup];
    all.push_back(json::Object{{"degrees", jsonString(degreesText(plan.problem, other.plan))},
                               {"schedule", name(other.plan.schedule)},
                               {"microbatch", figures.microbatch},
                               {"devices", other.metrics.devices},
                               {"step", figures.seconds},
                               {"value", other.metrics.value},
                               {"bubble", figures.bubble},
                               {"memory", maxMemoryGroup.peak()},
                               {"capacity", maxMemoryGroup.capacity},
                               {"fits", other.metrics.fits}});
  }
  return all;
}

json::Object headline(const PlacementPlan &plan, const PlacementFigures &figures,
                      const PlacementReportOptions &options) {
  const GroupFigures &maxMemoryGroup = figures.groups[figures.maxMemoryGroup];
  const PlanMetrics &metrics = plan.result.metrics;
  json::Object o{{"step", figures.seconds},
                 {"throughput", figures.throughput},
                 {"mfu", figures.mfu},
                 {"devices", metrics.devices},
                 {"memory", maxMemoryGroup.peak()},
                 {"capacity", maxMemoryGroup.capacity},
                 {"maxMemoryGroup", static_cast<int64_t>(figures.maxMemoryGroup)},
                 {"gap", gapOf(plan)},
                 {"energy", metrics.joules},
                 {"price", metrics.price},
                 {"bubble", figures.bubble},
                 {"value", metrics.value},
                 {"bound", plan.result.bound},
                 {"proof", jsonString(plan.result.proof)}};
  if (options.sequence)
    o["tokens"] = figures.throughput * (*options.sequence);
  if (TrainingFigures training = trainingOf(plan); training.steps > 0)
    o["training"] = json::Object{{"steps", training.steps},
                                 {"seconds", training.seconds},
                                 {"joules", training.joules},
                                 {"price", training.price},
                                 {"samples", plan.samples}};
  return o;
}

} // namespace

json::Value reportData(const PlacementPlan &plan, const PlacementReportOptions &options) {
  const ObjectiveFormula &unit = formulaOf(plan.problem.objective);
  json::Array deviceTypes, shares, memories, whatIf, conflicts, front, sliceKinds, communication;
  for (const PlacementProblem::DeviceType &deviceType : plan.problem.deviceTypes)
    deviceTypes.push_back(json::Object{{"name", jsonString(deviceType.name)},
                                       {"devices", deviceType.devices},
                                       {"devicesPerNode", deviceType.devicesPerNode}});
  for (size_t i = 0; i < kStepComponents; ++i)
    shares.push_back(name(static_cast<StepComponent>(i)));
  for (size_t i = 0; i < kStageMemories; ++i)
    memories.push_back(name(static_cast<StageMemory>(i)));
  for (size_t i = 0; i <= static_cast<size_t>(PipelineSlice::Kind::Summary); ++i)
    sliceKinds.push_back(name(static_cast<PipelineSlice::Kind>(i)));
  for (const Relaxation &one : plan.whatIf)
    whatIf.push_back(json::Object{{"what", jsonString(one.what)}, {"value", one.value}});
  for (const Conflict &c : plan.conflicts)
    conflicts.push_back(json::Object{{"constraint", jsonString(c.constraint)},
                                     {"file", jsonString(c.file)},
                                     {"line", static_cast<int64_t>(c.line)},
                                     {"detail", jsonString(c.detail)}});
  for (const Tradeoff &one : plan.front) {
    PlacementFigures its = figuresOf(plan.problem, one.plan, one.metrics);
    front.push_back(json::Object{{"what", jsonString(one.what)},
                                 {"degrees", jsonString(degreesText(plan.problem, one.plan))},
                                 {"devices", one.metrics.devices},
                                 {"memory", its.groups[its.maxMemoryGroup].peak()},
                                 {"step", its.seconds},
                                 {"throughput", its.throughput},
                                 {"energy", one.metrics.joules},
                                 {"price", one.metrics.price}});
  }
  json::Object o{{"model", jsonString(plan.model)},
                 {"cluster", jsonString(plan.cluster)},
                 {"job", jsonString(plan.job)},
                 {"precision", jsonString(plan.precision)},
                 {"optimizer", jsonString(plan.optimizer)},
                 {"version", jsonString(plan.version)},
                 {"feasible", plan.result.plan.has_value()},
                 {"batch", plan.problem.batch},
                 {"parameters", plan.parameters},
                 {"flops", plan.modelFlops},
                 {"objective", name(plan.problem.objective)},
                 {"unit", unit.unit},
                 {"scale", unit.scale},
                 {"deviceTypes", std::move(deviceTypes)},
                 {"stepComponents", std::move(shares)},
                 {"memories", std::move(memories)},
                 {"sliceKinds", std::move(sliceKinds)},
                 {"whatIf", std::move(whatIf)},
                 {"conflicts", std::move(conflicts)},
                 {"relaxations", strings(plan.relaxations)},
                 {"assumptions", strings(plan.assumptions)},
                 {"paretoFront", std::move(front)},
                 {"runnersUp", runnersUp(plan)}};
  if (!plan.result.plan)
    return o;
  const Placement &placement = *plan.result.plan;
  PlacementFigures figures = figuresOf(plan);
  PipelinePicture shown = picture(plan, figures, kMaxPasses);
  for (const StageTransfer &transfer : figures.transfers)
    if (transfer.bytes > 0)
      communication.push_back(json::Object{{"from", static_cast<int64_t>(transfer.from)},
                                           {"to", static_cast<int64_t>(transfer.to)},
                                           {"bytes", transfer.bytes},
                                           {"time", transfer.time},
                                           {"intraNode", transfer.intraNode}});
  o["headline"] = headline(plan, figures, options);
  o["degrees"] = jsonString(degreesText(plan.problem, placement));
  o["microbatch"] = figures.microbatch;
  o["microbatches"] = placement.microbatches;
  o["uniformConfig"] = figures.hasUniformConfig;
  o["schedule"] = name(placement.schedule);
  o["virtualStages"] = placement.virtualStages;
  o["step"] = plan.result.metrics.step;
  o["left"] = shown.left;
  o["groups"] = groups(plan, figures);
  o["stages"] = stages(plan);
  o["slices"] = slices(shown);
  o["communication"] = std::move(communication);
  return o;
}

std::string toReport(const PlacementPlan &plan, const PlacementReportOptions &options) {
  return pageOf(Page::Placement, plan.model + " on " + plan.cluster, reportData(plan, options));
}

} // namespace accord
