#include "lib/placement/output/PlacementTrace.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

using Kind = PipelineSlice::Kind;
constexpr int kDevices = 1, kMemory = 2; // process ids

double micros(int64_t ps) { return ps * 1e-6; }

/// Adds a bubble before what starts later than the end of what came before.
void append(std::vector<PipelineSlice> &slices, const PipelineSlice &slice) {
  int64_t end = slices.empty() ? 0 : slices.back().end;
  if (slice.start > end)
    slices.push_back({Kind::Bubble, slice.stage, slice.microbatch, end, slice.start, 0, 0});
  if (slice.end > slice.start)
    slices.push_back(slice);
}

json::Object named(StringRef what, int pid, int tid, StringRef text) {
  return json::Object{
      {"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", json::Object{{"name", jsonString(text)}}}};
}

/// Activations of a group's device after each pass, over what is always there.
void memory(json::Array &events, const PlacementPlan &plan, const PlacementFigures &figures,
            const PipelinePicture &shown, size_t g) {
  const Placement &placement = *plan.result.plan;
  const GroupFigures &group = figures.groups[g];
  std::vector<int64_t> activations(placement.stages.size());
  for (size_t s : placement.stagesOf(g))
    activations[s] = workOf(plan.problem, placement.stages[s])->activations;
  int64_t held = 0;
  bool split = modelOf(placement.schedule).splitsWeights();
  auto note = [&](int64_t when) {
    json::Object bytes;
    for (size_t i = 0; i < kStageMemories; ++i)
      bytes[name(static_cast<StageMemory>(i))] = group.memory[i];
    bytes[name(StageMemory::Activations)] = std::max<int64_t>(0, held);
    events.push_back(json::Object{{"name", fmt::format("device memory (bytes), group {}", g)},
                                  {"ph", "C"},
                                  {"pid", kMemory},
                                  {"ts", micros(when)},
                                  {"args", std::move(bytes)}});
  };
  note(0);
  for (const PipelineSlice &slice : shown.groups[g]) {
    bool frees = slice.kind == (split ? Kind::Weight : Kind::Backward);
    if (slice.kind == Kind::Forward)
      held += activations[slice.stage], note(slice.start);
    else if (frees)
      held -= activations[slice.stage], note(slice.end);
    else if (slice.kind == Kind::Summary) // a steady state: as much goes as comes
      note(slice.end);
  }
}

} // namespace

const char *name(Kind kind) {
  static constexpr const char *kNames[] = {"forward", "backward", "weight", "exchange", "update", "bubble", "summary"};
  return kNames[llvm::to_underlying(kind)];
}

PipelinePicture picture(const PlacementPlan &plan, const PlacementFigures &figures, size_t max) {
  const Placement &placement = *plan.result.plan;
  const PlanMetrics &metrics = plan.result.metrics;
  size_t groups = figures.groups.size();
  StageEdges edges(placement.stages.size());
  for (const StageTransfer &transfer : figures.transfers)
    edges[transfer.to].push_back(transfer.from);
  PipelineRun run = simulate(placement.shape(), metrics.times, edges, true);
  PipelinePicture shown;
  shown.step = metrics.step;
  size_t each = std::max<size_t>(2, max / groups / 2);
  for (size_t g = 0; g < groups; ++g) {
    const std::vector<SimulatedPass> &passes = run.passes[g];
    std::vector<PipelineSlice> slices;
    auto one = [&](const SimulatedPass &pass) {
      append(slices,
             {static_cast<Kind>(pass.pass.pass), pass.pass.stage, pass.pass.microbatch, pass.start, pass.end, 1, 1});
    };
    size_t head = passes.size(), tail = passes.size();
    if (passes.size() > 2 * each)
      head = each, tail = passes.size() - each;
    for (size_t i = 0; i < head; ++i)
      one(passes[i]);
    if (tail > head) {
      int64_t busy = 0, start = passes[head].start, end = passes[tail - 1].end;
      for (size_t i = head; i < tail; ++i)
        busy += passes[i].end - passes[i].start;
      append(slices,
             {Kind::Summary, static_cast<uint32_t>(g), passes[head].pass.microbatch, start, end,
              static_cast<int64_t>(tail - head), end > start ? static_cast<double>(busy) / (end - start) : 1.0});
      shown.left += static_cast<int64_t>(tail - head);
    }
    for (size_t i = tail; i < passes.size(); ++i)
      one(passes[i]);
    uint32_t stage = g;
    int64_t exchanged = run.groupEnd[g] + figures.groups[g].of(StepComponent::GradientSync);
    int64_t updated = exchanged + figures.groups[g].of(StepComponent::Update);
    append(slices, {Kind::GradientSync, stage, 0, run.groupEnd[g], exchanged, 1, 1});
    append(slices, {Kind::Update, stage, 0, exchanged, updated, 1, 1});
    if (updated < shown.step)
      append(slices, {Kind::Bubble, stage, 0, updated, shown.step, 0, 0});
    shown.groups.push_back(std::move(slices));
  }
  return shown;
}

json::Value toTrace(const PlacementPlan &plan, const TraceLimits &limits) {
  json::Array events;
  json::Object other{
      {"model", jsonString(plan.model)}, {"cluster", jsonString(plan.cluster)}, {"version", jsonString(plan.version)}};
  if (plan.result.plan) {
    const Placement &placement = *plan.result.plan;
    PlacementFigures figures = figuresOf(plan);
    // At worst each pass has a bubble before it, and changes what is in memory.
    PipelinePicture shown = picture(plan, figures, limits.slices / 3);
    other["left_out"] = shown.left;
    other["note"] = shown.left > 0 ? "one device of each group of equal devices; first and last "
                                     "micro-batches, a summary for those between"
                                   : "one device of each group of equal devices";
    events.push_back(named("process_name", kDevices, 0, "devices of " + plan.cluster));
    events.push_back(named("process_name", kMemory, 0, "memory of a device of each group"));
    std::vector<std::string> layers;
    for (const PlacedStage &stage : placement.stages)
      layers.push_back(fmt::format("{}", fmt::join(layerRuns(plan.problem, stage.layers), ", ")));
    for (size_t g = 0; g < shown.groups.size(); ++g) {
      const GroupFigures &group = figures.groups[g];
      int tid = static_cast<int>(g) + 1;
      events.push_back(named(
          "thread_name", kDevices, tid,
          fmt::format("group {}: {} {}", g, plan.problem.deviceTypeOf(group.parallelConfig).name, group.ranks())));
      for (const PipelineSlice &slice : shown.groups[g]) {
        bool pass = slice.kind <= Kind::Weight;
        json::Object args{{"stage", static_cast<int64_t>(slice.stage)}};
        if (pass) {
          args["microbatch"] = static_cast<int64_t>(slice.microbatch) + 1;
          args["layers"] = jsonString(layers[slice.stage]);
        }
        if (slice.kind == Kind::Summary) {
          args["passes"] = slice.passes;
          args["busy"] = slice.busy;
        }
        std::string text = pass ? fmt::format("{} {}", name(slice.kind), slice.microbatch + 1) : name(slice.kind);
        if (pass && placement.virtualStages > 1)
          text += fmt::format(" of virtual stage {}", slice.stage / shown.groups.size());
        events.push_back(json::Object{{"name", text},
                                      {"cat", name(slice.kind)},
                                      {"ph", "X"},
                                      {"pid", kDevices},
                                      {"tid", tid},
                                      {"ts", micros(slice.start)},
                                      {"dur", micros(slice.end - slice.start)},
                                      {"args", std::move(args)}});
      }
    }
    for (size_t g = 0; g < shown.groups.size(); ++g)
      memory(events, plan, figures, shown, g);
  }
  return json::Object{{"displayTimeUnit", "ms"}, {"otherData", std::move(other)}, {"traceEvents", std::move(events)}};
}

} // namespace accord
