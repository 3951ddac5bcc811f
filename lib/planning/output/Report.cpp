#include "lib/planning/output/Report.h"
#include "lib/microarchitecture/output/MicroarchitecturePage.h"
#include "lib/planning/analysis/Totals.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Summary.h"
#include "lib/planning/output/TimingReport.h"
#include "lib/planning/output/Tracks.h"
#include "lib/report/ReportPage.h"
#include "lib/run/output/RunJson.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>
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
    std::string where = op.location.file.empty() ? "" : op.location.file + ":" + std::to_string(op.location.line);
    all.push_back(json::Object{
        {"name", jsonString(op.name)},
        {"kind", jsonString(op.kind)},
        {"phase", static_cast<int>(op.phase)},
        {"flops", op.flops},
        {"bytes", list(cost.bytes, [](Bytes b) { return b.value; })},
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
  json::Array points = list(plan.memory.timeline, [](const MemoryPoint &p) {
    json::Array point{p.time.value};
    append_range(point, p.bytes);
    return point;
  });
  return json::Object{{"peak", metrics.peakBytes},
                      {"capacity", metrics.capacity},
                      {"when", plan.memory.when.value},
                      {"atPeak", json::Array(plan.memory.atPeak)},
                      {"points", std::move(points)}};
}

/// What the page's script reads: headline, operations, regions with slots, memory points, tables.
json::Value reportData(const Plan &plan) {
  Metrics m = measure(plan);
  std::map<Track, int> tracks = numberTracks(plan, 0);
  json::Array names, regions, phases, categories, kinds, top, roofs;
  for (auto [track, index] : tracks)
    names.push_back(jsonString(nameOf(plan, track)));
  for (size_t r = 0; r < plan.schedule.regions.size() && r < plan.graph.regions.size(); ++r) {
    json::Array slots;
    for (const Slot &slot : plan.schedule.regions[r].slots) {
      RegionId body = plan.graph.operations[slot.operation].body;
      auto show = [&](int track) {
        slots.push_back(json::Array{slot.operation, track, slot.start.value, slot.duration.value,
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
    if (int64_t overhang = plan.schedule.regions[r].overhang.value; overhang > 0)
      regions.back().getAsObject()->try_emplace("overhang", overhang);
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
    top.push_back(json::Object{
        {"operation", e.operation}, {"total", e.total.value}, {"share", e.share}, {"critical", e.critical}});
  }
  std::set<std::pair<int, std::string>> used; // core and arithmetic
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id)
    if (const OperationCost &cost = plan.costs.operations[id]; cost.core >= 0 && plan.graph.operations[id].flops > 0)
      used.insert({cost.core, cost.type.empty() ? plan.graph.operations[id].type : cost.type});
  for (const auto &[index, type] : used) {
    const Core &core = plan.machine.cores[index];
    double peak = peakOfOne(plan.machine, core, type).value * core.count;
    roofs.push_back(json::Object{{"core", jsonString(core.name)}, {"type", jsonString(type)}, {"peak", peak}});
  }
  json::Object headline{{"step", m.step.value},
                        {"range", stepTimeRange(plan.estimate)},
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
  if (plan.sequence > 0)
    headline["tokens"] = m.throughput * static_cast<double>(plan.sequence);
  return json::Object{
      {"model", jsonString(plan.graph.model)},
      {"machine", jsonString(plan.machine.name)},
      {"job", jsonString(plan.job)},
      {"precision", jsonString(plan.graph.precision)},
      {"optimizer", jsonString(plan.graph.optimizer)},
      {"version", jsonString(plan.version)},
      {"feasible", plan.feasible},
      {"status", name(statusOf(plan))},
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
      {"levels", list(plan.machine.memories,
                      [](const Memory &level) {
                        return json::Object{{"name", jsonString(level.name)}, {"bandwidth", level.bandwidth.value}};
                      })},
      {"roofs", std::move(roofs)},
      {"instructionModel",
       any_of(plan.costs.operations, [](const OperationCost &cost) { return cost.model == "instructions"; })},
      {"assumptions", strings(plan.assumptions)},
      {"run", plan.run ? toDocument(plan.run->estimate) : json::Value(nullptr)},
      {"conflicts", toDocument(plan.conflicts)},
      {"whatIf", toDocument(plan.whatIf)},
      {"timing", toDocument(&plan, describeTiming)}};
}

/// Cores at the level of instructions that a step uses: the sum of all programs that ran on them, as one instance sees
/// it.
json::Array coresOfStep(const Plan &plan) {
  std::map<int, std::pair<microarchitecture::InstructionTiming, Count>> sums; // by core, with operations
  std::set<const microarchitecture::InstructionTiming *> evaluated;           // operations of one shape share theirs
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    const OperationCost &cost = plan.costs.operations[id];
    if (!cost.timing || cost.core < 0 || !plan.machine.cores[cost.core].microarchitecture)
      continue;
    const Count times = plan.graph.executions(id);
    auto &[sum, operations] = sums[cost.core];
    microarchitecture::addExecutions(sum, *cost.timing, times);
    if (evaluated.insert(cost.timing.get()).second)
      sum.evaluated += cost.timing->evaluated;
    operations += times;
  }
  json::Array cores;
  for (const auto &[core, of] : sums) {
    const Core &is = plan.machine.cores[core];
    json::Object data = microarchitecture::coreData(*is.microarchitecture, of.first);
    data["core"] = jsonString(is.name), data["instances"] = is.count;
    data["operations"] = static_cast<double>(of.second);
    cores.push_back(std::move(data));
  }
  return cores;
}

} // namespace

std::vector<WhatIf> whatIfTable(const Plan &plan, const SingleDeviceRequest &request) {
  std::vector<WhatIf> rows;
  auto row = [&](std::string change, const Machine &machine) {
    if (request.stopped())
      return;
    auto result = planSingleDevice(request, machine);
    auto *other = result.get();
    if (!other)
      return;
    CandidateMetrics achieved = measureCandidate(*other);
    WhatIf w;
    w.change = std::move(change);
    w.step = achieved.stepTime;
    w.throughput = achieved.throughput;
    w.memory = other->memory.peak;
    w.feasible = other->feasible;
    double gain = plan.schedule.step.seconds().value / achieved.stepTime.value - 1;
    w.note = plan.feasible != other->feasible ? fmt::format("fits, with micro-batch {}", other->graph.microbatch)
             : gain < 0.0005                  ? "does not help"
                                              : fmt::format("{:.1f} % faster", 100 * gain);
    rows.push_back(std::move(w));
  };
  for (size_t i = 0; i < plan.machine.memories.size(); ++i) {
    Machine machine = plan.machine;
    machine.memories[i].bandwidth = machine.memories[i].bandwidth * 1.1;
    row(fmt::format("{} bandwidth +10 %", machine.memories[i].name), machine);
  }
  for (size_t i = 0; i < plan.machine.cores.size(); ++i) {
    Machine machine = plan.machine;
    for (auto &[type, peak] : machine.cores[i].peak)
      peak = peak * 1.1;
    row(fmt::format("{} peak +10 %", machine.cores[i].name), machine);
  }
  Machine machine = plan.machine;
  if (!machine.memories.empty()) {
    machine.memories[0].capacity = machine.memories[0].capacity * 1.1;
    row(fmt::format("{} capacity +10 %", machine.memories[0].name), machine);
  }
  return rows;
}

std::string toReport(const Plan &plan, StringRef model) {
  return pageOf(Page::OneDevice, plan.graph.model + " on " + plan.machine.name, jsonText(toJson(plan)) + "\n",
                reportData(plan), model);
}

std::optional<std::string> toCoresPage(const Plan &plan) {
  json::Array cores = coresOfStep(plan);
  if (cores.empty())
    return std::nullopt;
  return pageOf(Page::Cores, plan.graph.model + " on " + plan.machine.name, jsonText(toJson(plan)) + "\n",
                json::Object{{"program", jsonString(plan.graph.model)},
                             {"machine", jsonString(plan.machine.name)},
                             {"version", jsonString(plan.version)},
                             {"ofStep", true},
                             {"cores", std::move(cores)}});
}

} // namespace accord
