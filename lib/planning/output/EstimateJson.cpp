#include "lib/planning/output/EstimateJson.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include "lib/planning/analysis/Bottlenecks.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/report/ReportPage.h"
#include "lib/support/StableSort.h"
#include "lib/support/Version.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <set>

using namespace llvm;
namespace accord {

EstimateTotals sumEstimate(const WorkGraph &graph, const Costs &costs) {
  EstimateTotals totals;
  totals.parameters = graph.parameters;
  std::set<const microarchitecture::InstructionTiming *> programs; // operations of one shape share theirs
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    if (graph.operations[id].body != kNone)
      continue;
    Count times = graph.executions(id);
    totals.flops += times * graph.operations[id].flops;
    if (id >= costs.operations.size())
      continue;
    totals.time += costs.operations[id].time * times;
    totals.energy += costs.operations[id].energy * times;
    if (const auto &timing = costs.operations[id].timing) {
      if (!totals.instructions)
        totals.instructions.emplace();
      totals.instructions->executed +=
          timing->instructions * times * std::max<int64_t>(costs.operations[id].instances, 1);
      if (programs.insert(timing.get()).second)
        totals.instructions->programs += 1, totals.instructions->evaluated += timing->evaluated,
            totals.instructions->estimated += timing->bounds.has_value();
      if (const auto &bounds = timing->bounds) {
        const Seconds cycle = costs.operations[id].compute / double(timing->cycles);
        totals.instructions->low += cycle * double(bounds->low - timing->cycles) * times;
        totals.instructions->high += cycle * double(bounds->high - timing->cycles) * times;
      }
    }
  }
  if (totals.instructions)
    totals.instructions->low += totals.time, totals.instructions->high += totals.time;
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

void describe(JsonVisitor &v, Phase &phase);

namespace {

struct EstimateRow {
  std::string name, kind, bound, algorithm, formula;
  Phase phase = Phase::Forward;
  std::optional<std::string> core;
  Count count = 0;
  double cycles = 0;
  Seconds time;
  Joules energy;
  int64_t flops = 0;
  std::map<std::string, Bytes> bytes;
  std::optional<Communication> communication;
};
/// Operations of one kind in one phase, all their executions in a step.
struct KindRow {
  std::string kind;
  Phase phase = Phase::Forward;
  int64_t operations = 0;
  Seconds time;
  Count flops = 0;
  Bytes bytes; ///< of the device memory
  Joules energy;
};
struct EstimateDocument {
  std::string model, machine, precision, optimizer;
  int64_t microbatch = 1, microbatches = 1;
  std::vector<EstimateRow> operations;
  EstimateTotals totals;
  std::vector<KindRow> kinds;
  double area = 0;
  Watts designPower;          ///< 0: the machine states none
  bool hasBoardPower = false; ///< then the average has an interval
  std::map<std::string, Joules> memories;
  std::vector<StepBottleneck> bottlenecks;
  std::vector<std::string> assumptions;
  std::optional<ClusterShare> cluster;
};

void describeRow(JsonFields &f, EstimateRow &row) {
  f.field("name", row.name)
      .field("kind", row.kind)
      .field("phase", row.phase)
      .about("null: a view that needs none, or an exchange with other devices")
      .field("core", row.core)
      .about("executions per step")
      .field("count", row.count, describeCount)
      .field("cycles", row.cycles)
      .field("time_s", row.time)
      .field("energy_J", row.energy)
      .field("flops", row.flops)
      .about("by memory level")
      .field("bytes", row.bytes)
      .field("bound", row.bound)
      .about("of an exchange of data with other devices of a cluster")
      .maybe("communication", row.communication, [&](JsonFields &g, Communication &communication) {
        g.field("kind", communication.kind)
            .field("axis", communication.axis)
            .field("devices", communication.devices, kFromOne)
            .about("bytes of the whole tensor")
            .field("payload", communication.payload)
            .about("its time is what the attention beside it does not hide")
            .maybe("ring", communication.ring)
            .field("algorithm", row.algorithm)
            .field("formula", row.formula);
      });
}

/// The kinds that take time or move bytes, the one with the most time first. The energy of an operation is what the
/// board draws while it runs (chargeBoard), or what the parts take and the idle power over its time.
std::vector<KindRow> kindsOf(const WorkGraph &graph, const Machine &machine, Costs costs) {
  chargeBoard(graph, machine, costs);
  std::map<std::pair<std::string, Phase>, KindRow> kinds;
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    const OperationCost &cost = costs.operations[id];
    if (op.body != kNone)
      continue;
    const auto times = static_cast<double>(graph.executions(id));
    KindRow &row = kinds[{op.kind, op.phase}];
    row.kind = op.kind, row.phase = op.phase;
    row.operations += 1;
    row.time += cost.time * times;
    row.flops += graph.executions(id) * op.flops;
    if (cost.time.value > 0 && !cost.bytes.empty()) // a view moves nothing itself: who reads it does
      row.bytes += cost.bytes.front() * times;
    if (cost.time.value > 0)
      row.energy += (cost.energy + machine.idle * cost.time) * times;
  }
  std::vector<KindRow> rows;
  for (auto &[key, row] : kinds)
    if (row.time.value > 0)
      rows.push_back(std::move(row));
  stableSort(rows, [](const KindRow &a, const KindRow &b) { return a.time > b.time; });
  return rows;
}

void describeKind(JsonFields &f, KindRow &row) {
  f.field("kind", row.kind)
      .field("phase", row.phase)
      .field("operations", row.operations, kFromOne)
      .about("of all their executions in a step, one after the other")
      .field("time_s", row.time)
      .field("flops", row.flops, describeCount)
      .about("of the device memory")
      .field("bytes", row.bytes)
      .about("with the idle power while they run; the device's alone, without its host")
      .field("energy_J", row.energy)
      .computed("power_W", [&] { return row.energy / row.time; });
}

void describeTotals(JsonFields &f, EstimateDocument &document) {
  EstimateTotals &totals = document.totals;
  f.field("parameters", totals.parameters)
      .field("flops", totals.flops, describeCount)
      .field("time_s", totals.time)
      .field("energy_J", totals.energy)
      .field("memory_bytes", totals.memoryBytes, describeCount)
      .about("of the device memory")
      .maybeIf(totals.capacity > 0, "memory_capacity_bytes", totals.capacity, describeCount)
      .about("as scheduled: operations on several cores overlap")
      .maybeIf(totals.step.value > 0, "step_time_s", totals.step)
      .about("90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet")
      .maybe("step_time_estimate", totals.estimate)
      .about("of the chip, where the machine states it or its parts")
      .maybe("area_mm2", document.area)
      .about("of one step as scheduled, by what uses it; where the machine states energy or power, or a technology")
      .maybeIf(totals.stepEnergy().value > 0, "step_energy", totals,
               [&](JsonFields &g, EstimateTotals &) {
                 g.computed("total_J", [&] { return totals.stepEnergy(); })
                     .about("where the machine states its design power and no energy of its parts: all above idle")
                     .field("arithmetic_J", totals.arithmetic)
                     .about("by memory level")
                     .field("memories_J", document.memories)
                     .about("idle power over step_s")
                     .field("idle_J", totals.idle)
                     .field("step_s", totals.step)
                     .computed("average_power_W", [&] { return totals.power(); })
                     .about("of 100 such boards 90 draw between these")
                     .computedIf(document.hasBoardPower, "low_power_W",
                                 [&] { return totals.power() * kBoardPowerInterval.low; })
                     .computedIf(document.hasBoardPower, "high_power_W",
                                 [&] { return totals.power() * kBoardPowerInterval.high; })
                     .about("of the device, where the machine states it")
                     .maybe("design_power_W", document.designPower);
               })
      .about("of a step on cores at the level of instructions")
      .maybe("instructions", totals.instructions,
             [](JsonFields &g, EstimateTotals::Instructions &instructions) {
               g.field("executed", instructions.executed, describeCount)
                   .about("of these, those whose times were computed: the others follow from them exactly")
                   .field("evaluated", instructions.evaluated)
                   .about("that operations are mapped to; operations of one shape share theirs")
                   .field("programs", instructions.programs)
                   .about("of these, those that go on as what was evaluated of them; then `time_s` is an estimate")
                   .field("estimated", instructions.estimated)
                   .about("between these `time_s` is proven to be")
                   .field("time_low_s", instructions.low)
                   .field("time_high_s", instructions.high);
             })
      .about("input data of one step beside its computation, where the training says how it is loaded")
      .maybe("loading", totals.dataLoading, [](JsonFields &g, DataLoaderRow &row) {
        g.field("batch_bytes", row.batch)
            .about("batches loaded ahead")
            .field("prefetch", row.prefetch)
            .field("load_s", row.load)
            .field("copy_s", row.copy)
            .field("compute_s", row.compute)
            .about("in steady state, loading included")
            .field("step_s", row.step)
            .about("load_s + copy_s + compute_s over step_s")
            .field("gain", row.gain, NumberRange{1})
            .field("bound", row.bound, Words{{"load", "copy", "load and copy", "compute", "variation", "serial"}})
            .field("workers", row.workers, kFromOne)
            .about("loading adds nothing to the step, or at most 1 % where its times vary")
            .field("hidden", row.hidden)
            .about("of step_s, relative, where times of loading vary: two standard errors")
            .maybe("error", row.error)
            .about("the step at other depths, and the host memory that their batches take")
            .field("depths", row.depths, [](JsonFields &h, LoaderChoice::Depth &depth) {
              h.field("prefetch", depth.prefetch).field("step_s", depth.step).field("queue_bytes", depth.queue);
            });
      });
}

void describe(JsonFields &f, EstimateDocument &document) {
  f.constant("command", "estimate", "not an estimate")
      .about("version of accord that wrote this")
      .computed("version", [] { return std::string(kVersion); })
      .constant("status", "done", "expected done")
      .field("model", document.model)
      .field("machine", document.machine)
      .field("precision", document.precision)
      .field("optimizer", document.optimizer)
      .field("microbatch", document.microbatch, kFromOne)
      .field("microbatches", document.microbatches, kFromOne)
      .field("operations", document.operations, describeRow);
  f.about("where time, bandwidth and energy go: operations of one kind and phase, the one with the most time first")
      .field("kinds", document.kinds, describeKind);
  f.visit("totals", true, true, [&](JsonVisitor &v) { v.object([&](JsonFields &g) { describeTotals(g, document); }); });
  f.about("resources that bind somewhere, the one with the most to gain first; of all operations one after the other")
      .field("bottlenecks", document.bottlenecks,
             [](JsonFields &g, StepBottleneck &bottleneck) {
               g.field("resource", bottleneck.resource)
                   .about("of the time: where it binds")
                   .field("fraction", bottleneck.share, kShare)
                   .field("speedup_if_twice", bottleneck.speedupIfTwice, NumberRange{1})
                   .about("absent when nothing else takes time")
                   .maybeIf(std::isfinite(bottleneck.speedupIfUnlimited), "speedup_if_unlimited",
                            bottleneck.speedupIfUnlimited, NumberRange{1});
             })
      .field("assumptions", document.assumptions)
      .about("where the target is a cluster: all numbers are of one of its devices")
      .maybe("cluster", document.cluster, [](JsonFields &g, ClusterShare &cluster) {
        g.field("name", cluster.name)
            .field("devices", cluster.devices, kFromOne)
            .field("tensor_parallel", cluster.tensor, kFromOne)
            .field("sequence_parallel", cluster.sequence, kFromOne)
            .field("data_parallel", cluster.data, kFromOne)
            .field("expert_parallel", cluster.expert, kFromOne)
            .about("devices that share each sample along its sequence; 1 unless stated")
            .maybeIf(cluster.context > 1, "context_parallel", cluster.context, kFromOne);
      });
}

} // namespace

json::Value toEstimateJson(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                           const EstimateTotals &totals, const std::optional<ClusterShare> &cluster) {
  EstimateDocument document{graph.model,
                            machine.name,
                            graph.precision,
                            graph.optimizer,
                            graph.microbatch,
                            graph.microbatches,
                            {},
                            totals,
                            kindsOf(graph, machine, costs),
                            0,
                            machine.tdp,
                            hasBoardPower(machine),
                            {},
                            {},
                            costs.assumptions,
                            cluster};
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    const OperationCost &cost = costs.operations[id];
    if (op.body != kNone)
      continue;
    EstimateRow &row =
        document.operations.emplace_back(op.name, op.kind, cost.bound, cost.type, cost.formula, op.phase);
    if (cost.core >= 0 && cost.core < std::ssize(machine.cores))
      row.core = machine.cores[cost.core].name;
    row.count = graph.executions(id);
    row.cycles = cost.cycles.value;
    row.time = cost.time;
    row.energy = cost.energy;
    row.flops = op.flops;
    for (auto [memory, bytes] : zip(machine.memories, cost.bytes))
      row.bytes[memory.name] = bytes;
    row.communication = op.communication;
  }
  if (machine.area.value > 0)
    document.area = machine.area.squareMillimetres();
  for (auto [memory, energy] : zip(machine.memories, totals.memories))
    document.memories[memory.name] = energy;
  document.bottlenecks = findBottlenecks(graph, costs, machine);
  return toDocument(document);
}

json::Value estimateSchema() { return schemaOf<EstimateDocument>(); }

std::string estimateReport(const json::Value &document) {
  const json::Object &fields = *document.getAsObject();
  return pageOf(Page::Estimate,
                fields.getString("model").value_or("estimate").str() + " on " +
                    fields.getString("machine").value_or("").str(),
                jsonText(document) + "\n", document);
}

} // namespace accord
