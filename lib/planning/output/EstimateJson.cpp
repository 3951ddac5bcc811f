#include "lib/planning/output/EstimateJson.h"
#include "lib/planning/analysis/Bottlenecks.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include <cmath>

using namespace llvm;
namespace accord {

EstimateTotals sumEstimate(const WorkGraph &graph, const Costs &costs) {
  EstimateTotals totals;
  totals.parameters = graph.parameters;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    if (graph.operations[id].body != kNone)
      continue;
    Count times = graph.executions(id);
    totals.flops += times * graph.operations[id].flops;
    if (id >= costs.operations.size())
      continue;
    totals.time += costs.operations[id].time * static_cast<double>(times);
    totals.energy += costs.operations[id].energy * static_cast<double>(times);
  }
  for (const StaticTensor &resident : graph.staticTensors)
    totals.memoryBytes += resident.bytes;
  return totals;
}

Joules EstimateTotals::stepEnergy() const {
  Joules sum = arithmetic + idle;
  for (Joules memory : memories)
    sum += memory;
  return sum;
}

Watts EstimateTotals::power() const { return step.value > 0 ? stepEnergy() / step : Watts(); }

json::Value toEstimateJson(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                           const EstimateTotals &totals) {
  json::Array operations;
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone)
      continue;
    const OperationCost &cost = costs.operations[id];
    json::Object bytes;
    for (size_t l = 0; l < cost.bytes.size() && l < machine.memories.size(); ++l)
      bytes[json::ObjectKey(json::fixUTF8(machine.memories[l].name))] = cost.bytes[l].value;
    bool placed = cost.core >= 0 && static_cast<size_t>(cost.core) < machine.cores.size();
    json::Object row{{"name", jsonString(op.name)},
                     {"kind", jsonString(op.kind)},
                     {"phase", name(op.phase)},
                     {"core", placed ? jsonString(machine.cores[cost.core].name) : nullptr},
                     {"count", jsonCount(graph.executions(id))},
                     {"cycles", cost.cycles.value},
                     {"time_s", cost.time.value},
                     {"energy_J", cost.energy.value},
                     {"flops", op.flops},
                     {"bytes", std::move(bytes)},
                     {"bound", jsonString(cost.bound)}};
    if (op.communication)
      row["communication"] =
          json::Object{{"kind", jsonString(op.communication->kind)}, {"axis", jsonString(op.communication->axis)},
                       {"devices", op.communication->devices},       {"payload", op.communication->payload},
                       {"algorithm", jsonString(cost.type)},         {"formula", jsonString(cost.formula)}};
    operations.push_back(std::move(row));
  }
  json::Array assumptions;
  for (const std::string &text : costs.assumptions)
    assumptions.push_back(jsonString(text));
  json::Array bottlenecks;
  for (const StepBottleneck &bottleneck : findBottlenecks(graph, costs, machine)) {
    json::Object one{{"resource", jsonString(bottleneck.resource)},
                     {"fraction", bottleneck.share},
                     {"speedup_if_twice", bottleneck.speedupIfTwice}};
    if (std::isfinite(bottleneck.speedupIfUnlimited))
      one["speedup_if_unlimited"] = bottleneck.speedupIfUnlimited;
    bottlenecks.push_back(std::move(one));
  }
  json::Object sums{{"parameters", totals.parameters},
                    {"flops", jsonCount(totals.flops)},
                    {"time_s", totals.time.value},
                    {"energy_J", totals.energy.value},
                    {"memory_bytes", jsonCount(totals.memoryBytes)}};
  if (machine.area.value > 0)
    sums["area_mm2"] = machine.area.squareMillimetres();
  if (totals.stepEnergy().value > 0) {
    json::Object levels;
    for (size_t i = 0; i < totals.memories.size() && i < machine.memories.size(); ++i)
      levels[json::ObjectKey(json::fixUTF8(machine.memories[i].name))] = totals.memories[i].value;
    sums["step_energy"] =
        json::Object{{"total_J", totals.stepEnergy().value}, {"arithmetic_J", totals.arithmetic.value},
                     {"memories_J", std::move(levels)},      {"idle_J", totals.idle.value},
                     {"step_s", totals.step.value},          {"average_power_W", totals.power().value}};
  }
  if (totals.dataLoading)
    sums["loading"] = json::Object{{"batch_bytes", totals.dataLoading->batch.value},
                                   {"prefetch", totals.dataLoading->prefetch},
                                   {"load_s", totals.dataLoading->load.value},
                                   {"copy_s", totals.dataLoading->copy.value},
                                   {"compute_s", totals.dataLoading->compute.value},
                                   {"step_s", totals.dataLoading->step.value},
                                   {"gain", totals.dataLoading->gain},
                                   {"bound", jsonString(totals.dataLoading->bound)}};
  return json::Object{{"command", "estimate"},
                      {"version", kVersion},
                      {"status", "done"},
                      {"model", jsonString(graph.model)},
                      {"machine", jsonString(machine.name)},
                      {"precision", jsonString(graph.precision)},
                      {"optimizer", jsonString(graph.optimizer)},
                      {"microbatch", graph.microbatch},
                      {"microbatches", graph.microbatches},
                      {"operations", std::move(operations)},
                      {"totals", std::move(sums)},
                      {"bottlenecks", std::move(bottlenecks)},
                      {"assumptions", std::move(assumptions)}};
}

} // namespace accord
