#include "lib/machine/energy/Energy.h"
#include "lib/planning/analysis/Bottlenecks.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Summary.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <fmt/format.h>
#include <map>

using namespace llvm;
namespace accord {
namespace {

/// "2039 GB/s (NVIDIA A100 data sheet; a100.accel:4)".
std::string originText(const Origin &origin) {
  std::string from = origin.source;
  if (!origin.location.file.empty())
    from += fmt::format("{}{}:{}", from.empty() ? "" : "; ", origin.location.file, origin.location.line);
  return origin.text + (from.empty() ? "" : " (" + from + ")");
}

std::string regionPath(const WorkGraph &g, RegionId region) {
  std::string path;
  for (RegionId r = region; r != kNone; r = g.regions[r].parent)
    path = g.regions[r].name + (r > kUpdateRegion ? fmt::format("[{}]", g.regions[r].count) : "") +
           (path.empty() ? "" : " > " + path);
  return path;
}

using Line = function_ref<void(const std::string &, const std::string &)>;

/// The domain, and how its iterators reach each tensor.
void addDomain(const Operation &op, Line line) {
  std::string domain;
  for (auto [d, loop] : enumerate(op.domain))
    domain += fmt::format("{}d{} {}{}", d ? ", " : "", d, loop.extent,
                          loop.kind == IteratorKind::Reduction ? " (summed)" : "");
  if (!domain.empty())
    line("over", domain);
  for (const TensorAccess &a : op.accesses)
    line(a.written ? "writes" : "reads",
         fmt::format("{}{}{} at {}", a.shape, a.tensor.empty() ? "" : ", ", a.tensor, a.map.empty() ? "()" : a.map));
}

/// "a faster core tc: up to 6.4x, then bandwidth hbm binds".
std::string bottleneckText(const OperationBottleneck &bottleneck) {
  std::string what = bottleneck.resource == "kernel launch overhead"           ? "a smaller kernel launch overhead"
                     : StringRef(bottleneck.resource).starts_with("bandwidth") ? "more " + bottleneck.resource
                                                                               : "a faster " + bottleneck.resource;
  if (bottleneck.next.empty())
    return what + ": nothing else limits it";
  if (bottleneck.gain < 1.005)
    return fmt::format("{} alone: nothing, {} binds as much", what, bottleneck.next);
  return fmt::format("{}: up to {:.3g}x, then {} binds", what, bottleneck.gain, bottleneck.next);
}

/// By what uses it, in symbols and numbers; idle power over its time is the step's, not its own.
void addEnergy(const Plan &plan, const Operation &op, const OperationCost &cost, Line line) {
  if (cost.energy.value <= 0)
    return;
  EnergyBreakdown parts = energyOf(cost, plan.machine);
  std::string text = formatSi(cost.energy.value, "J");
  if (parts.arithmetic.value > 0)
    text +=
        fmt::format("; arithmetic = flops * energy = {} * {} = {}", op.flops,
                    formatSi(energyPerFlop(plan.machine, cost.type).value, "J"), formatSi(parts.arithmetic.value, "J"));
  for (size_t l = 0; l < parts.memories.size(); ++l)
    if (parts.memories[l].value > 0)
      text +=
          fmt::format("; {} = bytes * energy = {:.0f} * {} = {}", plan.machine.memories[l].name, cost.bytes[l].value,
                      formatSi(plan.machine.memories[l].energy.value, "J"), formatSi(parts.memories[l].value, "J"));
  line("energy", text);
  for (const std::string &key : {"mac." + cost.type, std::string("mac")})
    if (auto origin = plan.machine.origins.find(key); origin != plan.machine.origins.end()) {
      line("source", fmt::format("{} = {}", key, originText(origin->second)));
      break;
    }
}

/// On how many instances of its core it runs, and what the other way would have cost.
void addVariants(const Plan &plan, OperationId id, Line line) {
  const OperationCost &cost = plan.costs.operations[id];
  if (cost.core < 0 || !plan.machine.cores[cost.core].anyMapping)
    return;
  auto form = [&](const OperationCost &one) {
    const Core &core = plan.machine.cores[one.core];
    int64_t held = occupiedInstances(plan.machine, one, one.core);
    return fmt::format("{} of the {} instances of {}: {}", held == core.count ? "all" : "one", core.count, core.name,
                       formatSi(one.time.value, "s"));
  };
  std::string text = form(cost);
  auto others = plan.costs.alternatives.find(id);
  if (others == plan.costs.alternatives.end() || others->second.empty()) {
    text += plan.graph.operations[id].parts.empty() ? "; it has no alternative cost"
                                                    : "; fused operations use all instances";
    return line("mapping", text);
  }
  for (const OperationCost &other : others->second) {
    if (cost.time > other.time)
      text += ", which leaves the rest to others";
    text += "; " + form(other);
  }
  line("mapping", text);
}

/// What the backward pass does for a forward operation: those named after it, with their work.
void addGradients(const WorkGraph &g, OperationId id, Line line) {
  const Operation &op = g.operations[id];
  if (op.phase != Phase::Forward || op.body != kNone)
    return;
  for (const Operation &other : g.operations) {
    StringRef rest = other.name;
    bool gradient = other.phase == Phase::DataGradient || other.phase == Phase::WeightGradient;
    // "data_gradient.2" is that of another operand.
    if (!gradient || !rest.consume_front(op.name + ".") || rest.rtrim("0123456789").rtrim('.').contains('.'))
      continue;
    std::string shapes;
    for (const TensorAccess &a : other.accesses)
      shapes += (a.written ? " -> " : shapes.empty() ? "; " : ", ") + a.shape;
    line("backward",
         fmt::format("{} ({}): {}, {} read and {} written{}", rest.str(), other.kind, formatSi(other.flops, "FLOP"),
                     formatBytes(other.bytesRead), formatBytes(other.bytesWritten), shapes));
  }
}

/// The operation of this name, or the fused one that it is a part of.
Expected<OperationId> findOperation(const WorkGraph &g, StringRef operation) {
  auto named = [&](const auto &one) { return one.name == operation; };
  auto found = find_if(g.operations, named);
  if (found == g.operations.end()) // what was fused is found where it went
    found = find_if(g.operations, [&](const Operation &op) { return any_of(op.parts, named); });
  if (found == g.operations.end()) {
    StringRef nearest;
    unsigned best = std::max<unsigned>(2, operation.size() / 2);
    for (const Operation &op : g.operations)
      if (unsigned distance = operation.edit_distance(op.name, true, best); distance < best)
        best = distance, nearest = op.name;
    std::string hint = nearest.empty() ? "" : "; did you mean '" + nearest.str() + "'?";
    return createStringError("the plan has no operation '%s'%s", operation.str().c_str(), hint.c_str());
  }
  return found - g.operations.begin();
}

/// FLOPs, bytes, domain, formula and time of one execution and of a step.
void addWork(const Plan &plan, OperationId id, Line line) {
  const Operation &op = plan.graph.operations[id];
  const OperationCost &cost = plan.costs.operations[id];
  std::string bytes;
  for (size_t l = 0; l < cost.bytes.size(); ++l)
    if (cost.bytes[l].value > 0)
      bytes += fmt::format(", {} through {}", formatBytes(cost.bytes[l].value), plan.machine.memories[l].name);
  line("work", formatSi(op.flops, "FLOP") + bytes);
  addDomain(op, line);
  for (const FusedPart &part : op.parts)
    line("part", fmt::format("{} ({}), {}", part.name, part.kind, formatSi(part.flops, "FLOP")));
  if (!cost.model.empty())
    line("cost model", cost.model + (cost.type.empty() ? "" : ", " + cost.type));
  line("formula", cost.formula.empty() ? "none: takes no time" : cost.formula);
  line("time", fmt::format("{} ({} in all of the step)", formatSi(cost.time.value, "s"),
                           formatSi(cost.time.value * plan.graph.executions(id), "s")));
  addVariants(plan, id, line);
  addEnergy(plan, op, cost, line);
}

/// The sources of the numbers in the formula: of the core, and of every memory that the operation reads or writes.
void addSources(const Plan &plan, const OperationCost &cost, Line line) {
  if (cost.core < 0)
    return;
  const Core &core = plan.machine.cores[cost.core];
  // Of the peaks only the one that was used; `peak` stands for all of them.
  std::string used = "peak." + cost.type;
  bool apart = core.origins.count(used) != 0;
  for (const auto &[key, origin] : core.origins)
    if (!StringRef(key).starts_with("peak") || key == (apart ? used : "peak"))
      line("source", fmt::format("{}.{} = {}", core.name, key, originText(origin)));
  for (size_t l = 0; l < cost.transfer.size(); ++l)
    for (const auto &[key, origin] : plan.machine.memories[l].origins)
      if (cost.transfer[l].value > 0 && (key == "bandwidth" || key == "latency" || key == "energy" || key == "sector"))
        line("source", fmt::format("{}.{} = {}", plan.machine.memories[l].name, key, originText(origin)));
}
} // namespace

Expected<std::string> explainOperation(const Plan &plan, StringRef operation, const TextStyle &style) {
  const WorkGraph &g = plan.graph;
  Expected<OperationId> found = findOperation(g, operation);
  if (!found)
    return found.takeError();
  const OperationId id = *found;
  const Operation &op = g.operations[id];
  const OperationCost &cost = plan.costs.operations[id];
  std::string out = inked(style, Ink::Bold, op.name) + "\n";
  auto line = [&](const std::string &label, const std::string &value) {
    std::string pad(label.size() < 14 ? 14 - label.size() : 1, ' ');
    std::string text = wrapped(value, std::string(16, ' '), style);
    out += "  " + inked(style, Ink::Dim, label) + pad + (text.size() > 16 ? text.substr(16) : "\n");
  };
  Count executions = g.executions(id);
  line("what",
       fmt::format("{}, {}{}", op.kind, name(op.phase),
                   op.location.file.empty() ? ""
                                            : fmt::format(", written at {}:{}", op.location.file, op.location.line)));
  line("where", fmt::format("{}, {} times per step", regionPath(g, op.region), static_cast<int64_t>(executions)));
  if (op.body != kNone) {
    const Region &body = g.regions[op.body];
    RegionSchedule scheduled = plan.schedule.regions.empty() ? RegionSchedule() : plan.schedule.regions[op.body];
    std::string last = scheduled.overhang.value == 0 ? ""
                                                     : fmt::format(" + {} that the last one takes longer",
                                                                   formatSi(scheduled.overhang.seconds().value, "s"));
    line("time", fmt::format("{} = {} iterations * {} of '{}'{}", formatSi(cost.time.value, "s"), body.count,
                             formatSi(scheduled.length.seconds().value, "s"), body.name, last));
  } else {
    addWork(plan, id, line);
  }
  line("bound", cost.bound);
  if (OperationBottleneck bottleneck = findBottlenecks(cost, plan.machine); !bottleneck.resource.empty())
    line("bottleneck", bottleneckText(bottleneck));
  addSources(plan, cost, line);
  if (op.region < plan.schedule.regions.size())
    for (const Slot &slot : plan.schedule.regions[op.region].slots)
      if (slot.operation == id)
        line("scheduled",
             fmt::format("{} after the start of '{}'{}", formatSi(slot.start.seconds().value, "s"),
                         g.regions[op.region].name, slot.core >= 0 ? " on " + plan.machine.cores[slot.core].name : ""));
  addGradients(g, id, line);
  if (id < plan.timing.size())
    line("slack",
         isCritical(plan, id) ? "none: on the critical path" : formatSi(plan.timing[id].slack().seconds().value, "s"));
  return out;
}

} // namespace accord
