#include "lib/placement/output/PlacementReport.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementTrace.h"
#include "lib/placement/output/TrafficFigures.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Summary.h"
#include "lib/report/ReportPage.h"
#include "lib/run/output/RunJson.h"
#include "lib/sparsity/output/AccuracyOutput.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

/// Boxes of all device groups together; a browser draws them in an instant.
constexpr size_t kMaxPasses = 16000;

json::Array groups(const PlacementPlan &plan, const PlacementFigures &figures) {
  return list(figures.groups, [&](const GroupFigures &group) {
    const ParallelConfig &config = plan.problem.parallelConfigs[group.parallelConfig];
    return json::Object{{"deviceType", config.deviceType},
                        {"first", group.first},
                        {"last", group.last},
                        {"stride", group.stride},
                        {"ranks", group.ranks()},
                        {"devices", group.devices},
                        {"tensor", config.tensor},
                        {"data", config.data},
                        {"context", config.context},
                        {"zero", config.zero},
                        {"replicasPerNode", group.replicasPerNode},
                        {"memory", json::Array(group.memory)},
                        {"capacity", group.capacity},
                        {"step", json::Array(group.step)},
                        {"gradients", group.gradientBytes + group.expertGradientBytes},
                        {"gradientSync", group.exchange}};
  });
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
                     {"count", stage.layers.size()},
                     {"forward", times.forward},
                     {"backward", times.backward + times.weight},
                     {"inFlight", plan.result.metrics.inFlight[s]},
                     {"recompute", jsonString(recompute)}});
  }
  return all;
}

/// By group: [kind, stage, micro-batch, start, end, passes, busy] in one list.
json::Array slices(const PipelinePicture &shown) {
  return list(shown.groups, [](const std::vector<PipelineSlice> &group) {
    json::Array flat;
    for (const PipelineSlice &slice : group)
      if (slice.kind != PipelineSlice::Kind::Bubble)
        for (json::Value number :
             std::initializer_list<json::Value>{to_underlying(slice.kind), slice.stage, slice.microbatch, slice.start,
                                                slice.end, slice.passes, slice.busy})
          flat.push_back(std::move(number));
    return flat;
  });
}

json::Array runnersUp(const PlacementPlan &plan) {
  return list(plan.runnersUp, [&](const RunnerUp &other) {
    PlacementFigures figures = figuresOf(plan.problem, other.plan, other.metrics);
    const GroupFigures &maxMemoryGroup = figures.groups[figures.maxMemoryGroup];
    return json::Object{{"degrees", jsonString(degreesText(plan.problem, other.plan))},
                        {"schedule", name(other.plan.schedule)},
                        {"microbatch", figures.microbatch},
                        {"devices", other.metrics.devices},
                        {"step", figures.seconds},
                        {"value", other.metrics.value},
                        {"bubble", figures.bubble},
                        {"memory", maxMemoryGroup.peak()},
                        {"capacity", maxMemoryGroup.capacity},
                        {"fits", other.metrics.fits}};
  });
}

json::Array front(const PlacementPlan &plan) {
  return list(plan.front, [&](const Tradeoff &one) {
    PlacementFigures figures = figuresOf(plan.problem, one.plan, one.metrics);
    return json::Object{{"what", jsonString(one.what)},   {"degrees", jsonString(degreesText(plan.problem, one.plan))},
                        {"devices", one.metrics.devices}, {"memory", figures.groups[figures.maxMemoryGroup].peak()},
                        {"step", figures.seconds},        {"throughput", figures.throughput},
                        {"energy", one.metrics.joules},   {"price", one.metrics.price}};
  });
}

/// The printed names of the first enumerators.
template <typename E> json::Array names(size_t count) {
  json::Array all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(name(static_cast<E>(i)));
  return all;
}

/// What the framework makes of the memory of a group's device; null without one.
json::Value onDevice(const PlacementPlan &plan, const GroupFigures &group) {
  if (!plan.deviceMemory)
    return nullptr;
  const DeviceMemory &with = *plan.deviceMemory;
  return json::Object{{"framework", jsonString(with.framework)},
                      {"allocated", with.allocated(group.peak())},
                      {"reserved", with.reserved(group.peak())},
                      {"device", with.onDevice(group.peak())},
                      {"capacity", with.types[plan.problem.parallelConfigs[group.parallelConfig].deviceType].capacity},
                      {"margin", with.margin},
                      {"confidence", with.confidence}};
}

/// Bytes of a step by link and kind; null where they are not known.
json::Value traffic(const PlacementPlan &plan) {
  if (!plan.traffic)
    return nullptr;
  TrafficFigures figures = trafficFiguresOf(plan);
  json::Array links, flows, kinds;
  for (const auto &[link, of] : zip_equal(plan.traffic->links, figures.links))
    links.push_back(json::Object{{"name", jsonString(link.name)},
                                 {"deviceType", link.deviceType},
                                 {"devices", link.devices},
                                 {"bandwidth", link.bandwidth},
                                 {"bytes", json::Array(of.bytes)},
                                 {"used", of.used},
                                 {"busiestRank", of.busiestRank},
                                 {"busiestBytes", of.busiestBytes},
                                 {"utilization", of.utilization}});
  for (const LinkTraffic::Flow &flow : plan.traffic->flows)
    flows.push_back(json::Array{flow.group, to_underlying(flow.kind), flow.link, flow.bytes});
  for (size_t kind = 0; kind < LinkTraffic::kKinds; ++kind)
    kinds.push_back(name(static_cast<LinkTraffic::Kind>(kind)));
  return json::Object{{"links", std::move(links)},
                      {"flows", std::move(flows)},
                      {"kinds", std::move(kinds)},
                      {"busiestLink", figures.busiestLink ? json::Value(*figures.busiestLink) : nullptr}};
}

/// What is zero; null where nothing may be.
json::Value zeros(const PlacementPlan &plan) {
  if (!plan.zeros)
    return nullptr;
  const SparsityFigures figures = sparsityFiguresOf(plan);
  json::Array budgets;
  for (const SparsityFigures::Budget &budget : figures.budgets)
    budgets.push_back(json::Object{{"what", jsonString(budget.what)}, {"used", budget.used}, {"max", budget.max}});
  json::Object all{{"text", jsonString(sparsityText(figures))},
                   {"rows", list(figures.rows,
                                 [](const SparsityFigures::Row &row) {
                                   return json::Object{{"layers", strings(row.layers)},
                                                       {"option", jsonString(row.option)},
                                                       {"options", row.options}};
                                 })},
                   {"budgets", std::move(budgets)},
                   {"dense", plan.zeros->denseValue ? json::Value(*plan.zeros->denseValue) : json::Value(nullptr)}};
  if (AccuracyReport accuracy = plan.zeros->accuracy.value_or(AccuracyReport()); plan.zeros->accuracy)
    all["accuracy"] = toDocument(accuracy);
  return all;
}

json::Object headline(const PlacementPlan &plan, const PlacementFigures &figures) {
  const GroupFigures &maxMemoryGroup = figures.groups[figures.maxMemoryGroup];
  const PlanMetrics &metrics = plan.result.metrics;
  json::Object o{{"step", figures.seconds},
                 {"range", stepTimeRange(plan.estimate)},
                 {"throughput", figures.throughput},
                 {"mfu", figures.mfu},
                 {"devices", metrics.devices},
                 {"memory", maxMemoryGroup.peak()},
                 {"capacity", maxMemoryGroup.capacity},
                 {"onDevice", onDevice(plan, maxMemoryGroup)},
                 {"maxMemoryGroup", figures.maxMemoryGroup},
                 {"gap", gapOf(plan)},
                 {"energy", metrics.joules},
                 {"price", metrics.price},
                 {"bubble", figures.bubble},
                 {"value", metrics.value},
                 {"bound", plan.result.bound},
                 {"proof", jsonString(plan.result.proof)}};
  if (plan.sequence > 0)
    o["tokens"] = figures.throughput * static_cast<double>(plan.sequence);
  if (TrainingFigures training = trainingOf(plan); training.steps > 0)
    o["training"] = json::Object{{"steps", training.steps},
                                 {"seconds", training.seconds},
                                 {"joules", training.joules},
                                 {"price", training.price},
                                 {"samples", plan.samples}};
  return o;
}

} // namespace

json::Value reportData(const PlacementPlan &plan) {
  const ObjectiveFormula &unit = formulaOf(plan.problem.objective);
  json::Array deviceTypes = list(plan.problem.deviceTypes, [](const DeviceType &type) {
    return json::Object{
        {"name", jsonString(type.name)}, {"devices", type.devices}, {"devicesPerNode", type.devicesPerNode}};
  });
  json::Array whatIf = list(plan.whatIf, [](const Relaxation &one) {
    return json::Object{{"what", jsonString(one.what)}, {"value", one.value}};
  });
  json::Object o{{"model", jsonString(plan.model)},
                 {"cluster", jsonString(plan.cluster)},
                 {"job", jsonString(plan.job)},
                 {"precision", jsonString(plan.precision)},
                 {"optimizer", jsonString(plan.optimizer)},
                 {"version", jsonString(plan.version)},
                 {"feasible", plan.result.plan.has_value()},
                 {"status", name(statusOf(plan))},
                 {"batch", plan.problem.batch},
                 {"parameters", plan.parameters},
                 {"flops", plan.modelFlops},
                 {"objective", name(plan.problem.objective)},
                 {"unit", unit.unit},
                 {"scale", unit.scale},
                 {"deviceTypes", std::move(deviceTypes)},
                 {"stepComponents", names<StepComponent>(kStepComponents)},
                 {"memories", names<StageMemory>(kStageMemories)},
                 {"sliceKinds", names<PipelineSlice::Kind>(to_underlying(PipelineSlice::Kind::Summary) + 1)},
                 {"whatIf", std::move(whatIf)},
                 {"conflicts", toDocument(plan.conflicts)},
                 {"relaxations", strings(plan.relaxations)},
                 {"assumptions", strings(plan.assumptions)},
                 {"paretoFront", front(plan)},
                 {"runnersUp", runnersUp(plan)}};
  if (!plan.result.plan)
    return o;
  const Placement &placement = *plan.result.plan;
  PlacementFigures figures = figuresOf(plan);
  PipelinePicture shown = picture(plan, figures, kMaxPasses);
  o["headline"] = headline(plan, figures);
  if (plan.run)
    o["run"] = toDocument(plan.run->estimate);
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
  o["traffic"] = traffic(plan);
  o["sparsity"] = zeros(plan);
  o["communication"] = list(sentTransfers(figures), [](const StageTransfer &transfer) {
    return json::Object{{"from", transfer.from},
                        {"to", transfer.to},
                        {"bytes", transfer.bytes},
                        {"time", transfer.time},
                        {"intraNode", transfer.intraNode}};
  });
  return o;
}

std::string toReport(const PlacementPlan &plan, llvm::StringRef model) {
  return pageOf(Page::Placement, plan.model + " on " + plan.cluster, jsonText(toJson(plan)) + "\n", reportData(plan),
                model);
}

} // namespace accord
