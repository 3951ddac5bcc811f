#include "lib/planning/output/Summary.h"
#include "lib/machine/energy/Cooling.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/planning/analysis/Bottlenecks.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/run/output/RunJson.h"
#include "lib/support/documents/SummaryLines.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/ArrayRef.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

/// The area, and of a chip of components how hot it is and what its board draws.
void addDie(const Machine &machine, SummaryLines &lines) {
  if (!(machine.area.value > 0))
    return;
  std::string text = fmt::format("{:.4g} mm2", machine.area.squareMillimetres());
  if (double junction = junctionOf(machine); junction > 0 && machine.origins.count("interfaces")) {
    Cooling cooling = Cooling::of(machine);
    text += fmt::format(", {:.0f} degrees Celsius at {:.4g} W ({:.4g} W before regulators)", junction - 273.15,
                        machine.tdp.value, machine.tdp.value / cooling.regulator);
  }
  lines.add("area", text);
}

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }
const char *times(const TextStyle &style) { return style.unicode ? "×" : "x"; }

/// "300 W of 400 W", with the interval where the law of boards counts.
std::string powerText(Watts power, const Machine &machine) {
  std::string text = formatSi(power.value, "W");
  if (machine.tdp.value > 0)
    text += " of " + formatSi(machine.tdp.value, "W");
  if (hasBoardPower(machine))
    text += fmt::format(" (90 %: {} to {})", formatSi(power.value * kBoardPowerInterval.low, "W"),
                        formatSi(power.value * kBoardPowerInterval.high, "W"));
  return text;
}

/// Of keys and values that decoding reads.
int64_t cacheBytes(const WorkGraph &graph) {
  int64_t bytes = 0;
  for (const StaticTensor &tensor : graph.staticTensors)
    bytes += tensor.category == Category::Activations ? tensor.bytes : 0;
  return bytes;
}

} // namespace

std::string stepTimeNote(const std::optional<StepEstimate> &estimate) {
  if (!estimate)
    return "";
  std::string note = fmt::format(" ({} .. {})", formatSi(estimate->low, "s"), formatSi(estimate->high, "s"));
  return estimate->ideal > 0 ? note + ", ideal " + formatSi(estimate->ideal, "s") : note;
}

std::string stepTimeRange(const std::optional<StepEstimate> &estimate) {
  if (!estimate)
    return "";
  std::string range = fmt::format("90 %: {} to {}", formatSi(estimate->low, "s"), formatSi(estimate->high, "s"));
  return estimate->ideal > 0 ? range + "; ideal " + formatSi(estimate->ideal, "s") : range;
}

std::string compileSummary(const Plan &plan, const SummaryOptions &options, const TextStyle &style) {
  Metrics m = measure(plan);
  const WorkGraph &g = plan.graph;
  SummaryLines lines(style);
  std::string state = plan.feasible ? "" : "  " + inked(style, Ink::Red, name(statusOf(plan)));
  lines.text = inked(style, Ink::Bold, g.model + " on " + plan.machine.name) + state + "\n";
  bool infers = g.isInference();
  if (infers)
    lines.add("inference", fmt::format("{}, {} parameters", g.precision, formatSi(g.parameters, "")));
  else
    lines.add("training", fmt::format("{}, {}, {} parameters", g.precision, g.optimizer, formatSi(g.parameters, "")));
  lines.add("batch", infers && g.microbatches == 1 ? std::to_string(plan.batch)
                                                   : fmt::format("{} = {} {} {} micro-batches", plan.batch,
                                                                 g.microbatch, times(style), g.microbatches));
  if (g.recompute != "none")
    lines.add("recompute", g.recompute);
  lines.add(infers ? "latency" : "step time",
            inked(style, Ink::Bold, formatSi(m.step.value, "s")) + stepTimeNote(plan.estimate));
  std::string rate = formatSi(m.throughput, cacheBytes(g) > 0 ? "tokens/s" : "samples/s");
  if (options.sequence)
    rate += ", " + formatSi(m.throughput * (*options.sequence), "tokens/s");
  lines.add("throughput", rate);
  lines.add("MFU", fmt::format("{} {} of {} {}", shareBar(style, m.mfu, 20), percent(m.mfu),
                               formatSi(m.peak.value, "FLOP/s"), m.peakType));
  double full = m.capacity > 0 ? double(m.peakBytes) / m.capacity : 0;
  std::string memory = formatBytes(m.peakBytes);
  if (m.capacity > 0) {
    std::string bar = shareBar(style, full, 20);
    memory = fmt::format("{} {} of {} ({})", full > 1 ? inked(style, Ink::Red, bar) : bar, memory,
                         formatBytes(m.capacity), percent(full));
  }
  if (int64_t cache = cacheBytes(g))
    memory += fmt::format(", {} of them keys and values", formatBytes(cache));
  lines.add("memory", memory);
  if (m.energy.value > 0)
    lines.add("energy",
              formatSi(m.energy.value, "J") + (infers ? " per batch" : " per step") +
                  (m.step.value > 0 ? ", " + powerText(m.energy / m.step, plan.machine) + " on average" : ""));
  addRunLines(plan.run, plan.assumptions, lines);
  addDie(plan.machine, lines);
  int shown = 0;
  for (const Expense &e : expenses(plan)) {
    if (!e.critical)
      continue;
    const Operation &op = g.operations[e.operation];
    std::string text = fmt::format("{:>6}  {}  ({}, {})", percent(e.share),
                                   shortened(op.name, style.width > 70 ? style.width - 60 : 20, style),
                                   formatSi(e.total.value, "s"), plan.costs.operations[e.operation].bound);
    lines.add(shown ? "" : "most critical", text);
    if (++shown == 3)
      break;
  }
  ObjectiveKind kind = objectiveKind(plan.objective);
  std::string unit = *kind.unit ? " " + std::string(kind.unit) : "";
  if (plan.feasible)
    lines.add("gap", fmt::format("{}: {} {:.6g}{}, no plan {} {:.6g}{} ({})",
                                 inked(style, m.gap < 0.05 ? Ink::Green : Ink::Yellow, percent(m.gap)), plan.objective,
                                 plan.objectiveValue, unit, kind.maximize ? "above" : "below", plan.objectiveBound,
                                 unit, plan.schedule.proof));
  if (!plan.schedule.stopped.empty())
    lines.add("stopped", plan.schedule.stopped + ": another plan may be better");
  for (const Conflict &c : plan.conflicts) {
    std::string where = c.file.empty() ? "" : fmt::format(" ({}:{})", c.file, c.line);
    lines.add("conflict", inked(style, Ink::Red, c.constraint) + where + (c.detail.empty() ? "" : ": " + c.detail));
  }
  if (!options.report.empty())
    lines.add("report", options.report);
  return lines.text;
}

/// "4 workers, 3 batches ahead in 1.2 MiB; 2 ahead: 3.4 ms"
static std::string loaderText(const DataLoaderRow &row) {
  std::string text = fmt::format("{} worker{}, {} batch{} ahead", row.workers, row.workers == 1 ? "" : "s",
                                 row.prefetch, row.prefetch == 1 ? "" : "es");
  for (const LoaderChoice::Depth &depth : row.depths)
    if (depth.prefetch == row.prefetch)
      text += " in " + formatBytes(depth.queue.value);
  for (const LoaderChoice::Depth &depth : row.depths)
    if (depth.prefetch + 1 == row.prefetch)
      text += fmt::format("; with {}: {} per step", depth.prefetch, formatSi(depth.step.value, "s"));
  return text;
}

std::string estimateTable(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                          const EstimateTotals &totals, const TextStyle &style) {
  TextTable table("lllrrrrl", {"operation", "phase", "core", "count", "time", "FLOP", "bytes", "bound"});
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    const OperationCost &cost = costs.operations[id];
    if (op.body != kNone || (cost.time.value == 0 && op.flops == 0))
      continue;
    static constexpr const char *kShort[] = {"fwd", "d-grad", "w-grad", "update", "comm", "recomp"};
    table.row({op.name, kShort[static_cast<unsigned>(op.phase)],
               // What an exchange is done by: the algorithm, of several the outermost.
               cost.core >= 0     ? machine.cores[cost.core].name
               : op.communication ? cost.type.substr(0, cost.type.find(' '))
                                  : "-",
               std::to_string(static_cast<int64_t>(graph.executions(id))), formatSi(cost.time.value, "s"),
               formatSi(op.flops, ""), cost.bytes.empty() ? "-" : formatBytes(cost.bytes[0].value), cost.bound});
  }
  const DataLoaderRow *dataLoading = totals.dataLoading ? &*totals.dataLoading : nullptr;
  if (dataLoading && dataLoading->step > dataLoading->compute && !(dataLoading->hidden && dataLoading->error > 0))
    table.row({"input data", "fwd", "host", "1", formatSi((dataLoading->load + dataLoading->copy).value, "s"), "0",
               formatBytes(dataLoading->batch.value), dataLoading->bound});
  SummaryLines lines(style);
  lines.text = "\n";
  lines.add("parameters", formatSi(totals.parameters, ""));
  lines.add("work", formatSi(totals.flops, "FLOP") + " per step");
  lines.add("total time", formatSi(totals.time.value, "s") + " per step, one operation after the other");
  if (const auto &instructions = totals.instructions)
    lines.add("instructions", fmt::format("{} per step in {} programs; {} were evaluated, ",
                                          formatSi(double(instructions->executed), ""), instructions->programs,
                                          formatSi(double(instructions->evaluated), "")) +
                                  (instructions->estimated == 0
                                       ? "which give all others exactly"
                                       : fmt::format("{} programs only in part: the total time is proven from {} to {}",
                                                     instructions->estimated, formatSi(instructions->low.value, "s"),
                                                     formatSi(instructions->high.value, "s"))));
  if (totals.stepEnergy().value > 0) {
    bool board = hasBoardPower(machine);
    std::string parts = (board ? "above idle " : "arithmetic ") + formatSi(totals.arithmetic.value, "J");
    for (size_t i = 0; !board && i < totals.memories.size() && i < machine.memories.size(); ++i)
      parts += fmt::format(", {} {}", machine.memories[i].name, formatSi(totals.memories[i].value, "J"));
    lines.add("energy", fmt::format("{} per step: {}, idle {}", formatSi(totals.stepEnergy().value, "J"), parts,
                                    formatSi(totals.idle.value, "J")));
    lines.add("power", powerText(totals.power(), machine) + " on average");
  }
  addDie(machine, lines);
  lines.add("memory", formatBytes(totals.memoryBytes));
  if (dataLoading) {
    lines.add("with loading",
              dataLoading->prefetch == 0
                  ? formatSi(dataLoading->step.value, "s") + " per step, nothing overlaps"
                  : fmt::format("{} per step ({} binds), {:.4g} times as fast as in turn",
                                formatSi(dataLoading->step.value, "s"), dataLoading->bound, dataLoading->gain));
    lines.add("loader", loaderText(*dataLoading));
  }
  constexpr size_t kMaxBottlenecks = 3;
  bool first = true;
  std::vector<StepBottleneck> bottlenecks = findBottlenecks(graph, costs, machine);
  for (const StepBottleneck &bottleneck : llvm::ArrayRef(bottlenecks).take_front(kMaxBottlenecks)) {
    std::string max = std::isfinite(bottleneck.speedupIfUnlimited)
                          ? fmt::format(", at most {:.3g}x", bottleneck.speedupIfUnlimited)
                          : "";
    lines.add(first ? "bottlenecks" : "",
              fmt::format("{}, {:.3g} % of the total time: {:.3g}x faster if doubled{}", bottleneck.resource,
                          100 * bottleneck.share, bottleneck.speedupIfTwice, max));
    first = false;
  }
  return inked(style, Ink::Bold, graph.model + " on " + machine.name) +
         fmt::format(", {} {} {} samples\n", graph.microbatches, times(style), graph.microbatch) + table.text(style) +
         lines.text;
}

} // namespace accord
