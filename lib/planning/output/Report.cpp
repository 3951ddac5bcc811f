#include "lib/planning/output/Report.h"
#include "lib/planning/analysis/Totals.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/TimingReport.h"
#include "lib/planning/output/Tracks.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/JsonText.h"
#include <map>
#include <set>

using namespace llvm;
namespace accord {
namespace {

json::Value operations(const Plan &plan) {
  json::Array all;
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    const Operation &op = plan.graph.operations[id];
    const OperationCost &cost = plan.costs.operations[id];
    json::Array bytes;
    for (Bytes b : cost.bytes)
      bytes.push_back(b.value);
    std::string where = op.location.file.empty() ? "" : op.location.file + ":" + std::to_string(op.location.line);
    all.push_back(json::Object{
        {"name", jsonString(op.name)},
        {"kind", jsonString(op.kind)},
        {"phase", static_cast<int>(op.phase)},
        {"flops", op.flops},
        {"bytes", std::move(bytes)},
        {"time", op.body == kNone ? cost.time.value : 0.0},
        {"count", static_cast<double>(plan.graph.executions(id))},
        {"bound", jsonString(cost.bound)},
        {"formula", jsonString(cost.formula)},
        {"where", jsonString(where)},
        {"critical", isCritical(plan, id)},
        {"slack", id < plan.timing.size() ? json::Value(plan.timing[id].slack().value) : json::Value(nullptr)}});
  }
  return all;
}

json::Value memoryData(const Plan &plan, const Metrics &metrics) {
  json::Array points, atPeak;
  for (const MemoryPoint &p : plan.memory.timeline) {
    json::Array point{p.time.value};
    for (int64_t b : p.bytes)
      point.push_back(b);
    points.push_back(std::move(point));
  }
  for (int64_t b : plan.memory.atPeak)
    atPeak.push_back(b);
  return json::Object{{"peak", metrics.peakBytes},
                      {"capacity", metrics.capacity},
                      {"when", plan.memory.when.value},
                      {"atPeak", std::move(atPeak)},
                      {"points", std::move(points)}};
}

} // namespace

json::Value reportData(const Plan &plan, ArrayRef<WhatIf> whatIf, const ReportOptions &options) {
  Metrics m = measure(plan);
  std::map<Track, int> tracks;
  for (const RegionSchedule &region : plan.schedule.regions)
    for (const Slot &slot : region.slots)
      for (Track track : tracksOf(plan, slot))
        tracks.try_emplace(track, 0);
  json::Array names, regions, phases, categories, kinds, top, levels, roofs, assumptions, conflicts, changes;
  for (auto &[track, index] : tracks) {
    const Core &core = plan.machine.cores[track.first];
    index = names.size();
    names.push_back(jsonString(core.count > 1 ? core.name + " " + std::to_string(track.second) : core.name));
  }
  for (size_t r = 0; r < plan.schedule.regions.size() && r < plan.graph.regions.size(); ++r) {
    json::Array slots;
    for (const Slot &slot : plan.schedule.regions[r].slots) {
      RegionId body = plan.graph.operations[slot.operation].body;
      auto show = [&](int track) {
        slots.push_back(json::Array{static_cast<int64_t>(slot.operation), track, slot.start.value, slot.duration.value,
                                    body == kNone ? -1 : static_cast<int64_t>(body)});
      };
      if (slot.core < 0)
        show(-1);
      for (Track track : tracksOf(plan, slot))
        show(tracks[track]);
    }
    regions.push_back(json::Object{{"name", jsonString(plan.graph.regions[r].name)},
                                   {"count", plan.graph.regions[r].count},
                                   {"length", plan.schedule.regions[r].length.value},
                                   {"slots", std::move(slots)}});
  }
  for (unsigned p = 0; p <= static_cast<unsigned>(Phase::Recompute); ++p)
    phases.push_back(name(static_cast<Phase>(p)));
  for (unsigned c = 0; c < kCategories; ++c)
    categories.push_back(name(static_cast<Category>(c)));
  for (const auto &[of, work] : stepTotals(plan.graph, plan.costs).byKind)
    if (work.time.value > 0)
      kinds.push_back(json::Object{
          {"kind", jsonString(of.first)}, {"phase", static_cast<int>(of.second)}, {"time", work.time.value}});
  for (const Expense &e : expenses(plan)) {
    if (top.size() == 25)
      break;
    top.push_back(json::Object{{"operation", static_cast<int64_t>(e.operation)},
                               {"total", e.total.value},
                               {"share", e.share},
                               {"critical", e.critical}});
  }
  for (const Memory &level : plan.machine.memories)
    levels.push_back(json::Object{{"name", jsonString(level.name)}, {"bandwidth", level.bandwidth.value}});
  std::set<std::pair<int, std::string>> used; // core and arithmetic
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id)
    if (const OperationCost &cost = plan.costs.operations[id]; cost.core >= 0 && plan.graph.operations[id].flops > 0)
      used.insert({cost.core, cost.type.empty() ? plan.graph.operations[id].type : cost.type});
  for (const auto &[index, type] : used) {
    const Core &core = plan.machine.cores[index];
    double peak = peakOfOne(plan.machine, core, type).value * core.count;
    roofs.push_back(json::Object{{"core", jsonString(core.name)}, {"type", jsonString(type)}, {"peak", peak}});
  }
  for (const std::string &text : plan.assumptions)
    assumptions.push_back(jsonString(text));
  for (const Conflict &c : plan.conflicts)
    conflicts.push_back(json::Object{{"constraint", jsonString(c.constraint)},
                                     {"file", jsonString(c.file)},
                                     {"line", static_cast<int64_t>(c.line)},
                                     {"detail", jsonString(c.detail)}});
  for (const WhatIf &w : whatIf)
    changes.push_back(json::Object{{"change", jsonString(w.change)},
                                   {"step", w.step.value},
                                   {"throughput", w.throughput},
                                   {"memory", w.memory},
                                   {"feasible", w.feasible},
                                   {"note", jsonString(w.note)}});
  json::Object headline{{"step", m.step.value},
                        {"throughput", m.throughput},
                        {"mfu", m.mfu},
                        {"peak", m.peak.value},
                        {"peakType", jsonString(m.peakType)},
                        {"memory", m.peakBytes},
                        {"capacity", m.capacity},
                        {"gap", m.gap},
                        {"energy", m.energy.value},
                        {"objectiveBound", plan.objectiveBound},
                        {"objectiveUnit", objectiveKind(plan.objective).unit},
                        {"proof", jsonString(plan.schedule.proof)},
                        {"batch", plan.batch},
                        {"parameters", plan.graph.parameters},
                        {"flops", static_cast<double>(m.flops)}};
  if (options.sequence)
    headline["tokens"] = m.throughput * (*options.sequence);
  return json::Object{{"model", jsonString(plan.graph.model)},
                      {"machine", jsonString(plan.machine.name)},
                      {"job", jsonString(plan.job)},
                      {"precision", jsonString(plan.graph.precision)},
                      {"optimizer", jsonString(plan.graph.optimizer)},
                      {"version", jsonString(plan.version)},
                      {"feasible", plan.feasible},
                      {"microbatch", plan.graph.microbatch},
                      {"microbatches", plan.graph.microbatches},
                      {"headline", std::move(headline)},
                      {"tracks", std::move(names)},
                      {"phases", std::move(phases)},
                      {"categories", std::move(categories)},
                      {"operations", operations(plan)},
                      {"regions", std::move(regions)},
                      {"memory", memoryData(plan, m)},
                      {"kinds", std::move(kinds)},
                      {"top", std::move(top)},
                      {"levels", std::move(levels)},
                      {"roofs", std::move(roofs)},
                      {"assumptions", std::move(assumptions)},
                      {"conflicts", std::move(conflicts)},
                      {"whatIf", std::move(changes)},
                      {"timing", toDocument(&plan, describeTiming)}};
}

std::string toReport(const Plan &plan, ArrayRef<WhatIf> whatIf, const ReportOptions &options) {
  return pageOf(Page::OneDevice, plan.graph.model + " on " + plan.machine.name, reportData(plan, whatIf, options));
}

} // namespace accord
