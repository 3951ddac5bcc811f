// Whoever reads a plan may follow every index in it: this is where a forged or truncated file is
// refused.
#include "lib/planning/output/PlanJson.h"
#include <iterator>
#include <limits>

using namespace llvm;
namespace accord {
using json::Path;
namespace {

bool fail(Path p, StringLiteral message) {
  p.report(message);
  return false;
}
bool within(const std::vector<uint32_t> &ids, size_t count, Path p, StringLiteral message) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= count)
      return fail(p.index(i), message);
  return true;
}
constexpr StringLiteral kNoOperation = "no operation has this number";
constexpr StringLiteral kNoValue = "no value has this number";
constexpr StringLiteral kNoRegion = "no region has this number";
constexpr StringLiteral kNoCore = "no core has this number";

bool checkValues(const WorkGraph &g, Path p) {
  for (size_t i = 0; i < g.values.size(); ++i) {
    const Value &v = g.values[i];
    if (v.region != kNone && v.region >= g.regions.size())
      return fail(p.index(i).field("region"), kNoRegion);
    if (v.bytes < 0 || v.slices < 1)
      return fail(p.index(i), "a size below zero");
    size_t steps = 0;
    for (ValueId a = v.alias; a != kNone; a = g.values[a].alias)
      if (a >= g.values.size())
        return fail(p.index(i).field("alias"), kNoValue);
      else if (++steps > g.values.size())
        return fail(p.index(i).field("alias"), "aliases form a cycle");
  }
  return true;
}

bool checkOperations(const WorkGraph &g, Path p) {
  for (size_t i = 0; i < g.operations.size(); ++i) {
    const Operation &op = g.operations[i];
    if (op.region >= g.regions.size())
      return fail(p.index(i).field("region"), kNoRegion);
    if (op.body != kNone && (op.body >= g.regions.size() || g.regions[op.body].owner != i))
      return fail(p.index(i).field("body"), "no region of this operation has this number");
    if (op.flops < 0 || op.bytesRead < 0 || op.bytesWritten < 0)
      return fail(p.index(i), "a count below zero");
    for (const FusedPart &part : op.parts)
      if (part.flops < 0)
        return fail(p.index(i).field("parts"), "a count below zero");
    if (!within(op.operands, g.values.size(), p.index(i).field("operands"), kNoValue) ||
        !within(op.results, g.values.size(), p.index(i).field("results"), kNoValue))
      return false;
  }
  return true;
}

bool checkRegions(const WorkGraph &g, Path p) {
  for (size_t i = 0; i < g.regions.size(); ++i) {
    const Region &r = g.regions[i];
    if (r.count < 0)
      return fail(p.index(i).field("count"), "a count below zero");
    if (r.owner != kNone && r.owner >= g.operations.size())
      return fail(p.index(i).field("owner"), kNoOperation);
    size_t steps = 0;
    for (RegionId a = r.parent; a != kNone; a = g.regions[a].parent)
      if (a >= g.regions.size())
        return fail(p.index(i).field("parent"), kNoRegion);
      else if (++steps > g.regions.size())
        return fail(p.index(i).field("parent"), "regions form a cycle");
    if (i > kUpdateRegion && (r.parent == kNone || r.owner == kNone || g.operations[r.owner].body != i ||
                              g.operations[r.owner].region != r.parent))
      return fail(p.index(i), "a repeat's body without its repeat");
    if (!within(r.operations, g.operations.size(), p.index(i).field("operations"), kNoOperation))
      return false;
    for (size_t j = 0; j < r.operations.size(); ++j)
      if (g.operations[r.operations[j]].region != i)
        return fail(p.index(i).field("operations").index(j), "this operation is in another region");
    for (const Region::Carried &c : r.carried)
      if (!within({c.argument, c.yielded, c.initial, c.result}, g.values.size(), p.index(i).field("carried"), kNoValue))
        return false;
    for (const auto *slices : {&r.stashed, &r.unstashed})
      for (const Region::Slice &s : *slices)
        if (!within({s.inside, s.stacked}, g.values.size(),
                    p.index(i).field(slices == &r.stashed ? "stashed" : "unstashed"), kNoValue))
          return false;
  }
  return true;
}

bool checkSchedule(const Plan &plan, Path p) {
  const Schedule &s = plan.schedule;
  if (!s.regions.empty() && s.regions.size() != plan.graph.regions.size())
    return fail(p.field("regions"), "expected one per region of the graph");
  for (size_t i = 0; i < s.regions.size(); ++i) {
    if (s.regions[i].overhang.value != 0 && (s.regions[i].overhang.value < 0 || s.regions[i].length.value <= 0))
      return fail(p.field("regions").index(i).field("overhang_ps"), "iterations of no length have none");
    for (size_t j = 0; j < s.regions[i].slots.size(); ++j) {
      const Slot &slot = s.regions[i].slots[j];
      // Never the temporary of a path kept beyond its full expression: children point to their
      // parents.
      auto slotFail = [&](StringLiteral key, StringLiteral message) {
        return fail(p.field("regions").index(i).field("slots").index(j).field(key), message);
      };
      if (slot.operation >= plan.graph.operations.size())
        return slotFail("operation", kNoOperation);
      if (slot.core < -1 || slot.core >= std::ssize(plan.machine.cores))
        return slotFail("core", kNoCore);
      if (slot.core >= 0 && (slot.instance < 0 || slot.instance >= plan.machine.cores[slot.core].count))
        return slotFail("instance", "the core has no such instance");
      if (slot.duration.value > std::numeric_limits<int64_t>::max() - slot.start.value)
        return slotFail("duration_ps", "the end is past the end of time");
    }
  }
  return true;
}

bool checkCost(const Plan &plan, size_t operation, const OperationCost &cost, Path p) {
  int64_t cores = plan.machine.cores.size();
  size_t memories = plan.machine.memories.size();
  if (cost.core < -1 || cost.core >= cores)
    return fail(p.field("core"), kNoCore);
  if (cost.instances < 0 || cost.instances > (cost.core < 0 ? 0 : plan.machine.cores[cost.core].count))
    return fail(p.field("instances"), "the core has not so many");
  if (!cost.parts.empty() && cost.parts.size() != plan.graph.operations[operation].parts.size())
    return fail(p.field("parts"), "expected one per part");
  for (const PartCost &part : cost.parts)
    if (part.core < -1 || part.core >= cores)
      return fail(p.field("parts"), kNoCore);
  if (cost.bytes.size() > memories || cost.transfer.size() > memories)
    return fail(p, "more levels than the machine has memories");
  return true;
}
} // namespace

bool checkGraph(const WorkGraph &g, Path p) {
  if (g.regions.size() < 2)
    return fail(p.field("regions"), "expected at least micro-batch and update");
  if (g.microbatch < 1 || g.microbatches < 1)
    return fail(p, "a batch below one");
  return checkValues(g, p.field("values")) && checkOperations(g, p.field("operations")) &&
         checkRegions(g, p.field("regions"));
}

bool checkIndices(const Plan &plan, Path p) {
  const WorkGraph &g = plan.graph;
  size_t operations = g.operations.size();
  if (plan.batch < 1)
    return fail(p.field("graph"), "a batch below one");
  if (!checkGraph(g, p.field("graph")) || !checkSchedule(plan, p.field("schedule")))
    return false;
  for (size_t i = 0; i < plan.machine.cores.size(); ++i) {
    const Core &core = plan.machine.cores[i];
    if (core.reads < -1 || core.reads >= std::ssize(plan.machine.memories))
      return fail(p.field("machine").field("cores").index(i).field("reads"), "no memory has this number");
    if (core.count < 1)
      return fail(p.field("machine").field("cores").index(i).field("count"), "a count below one");
  }
  const auto &costs = plan.costs.operations;
  if (costs.size() != operations)
    return fail(p.field("costs").field("operations"), "expected one per operation");
  for (size_t i = 0; i < costs.size(); ++i)
    if (!checkCost(plan, i, costs[i], p.field("costs").field("operations").index(i)))
      return false;
  for (size_t at = 0; const auto &[id, others] : plan.costs.alternatives) {
    if (id >= operations)
      return fail(p.field("costs").field("alternatives").index(at).field("operation"), kNoOperation);
    for (const OperationCost &other : others)
      if (!checkCost(plan, id, other, p.field("costs").field("alternatives").index(at)))
        return false;
    ++at;
  }
  if (!plan.timing.empty() && plan.timing.size() != operations)
    return fail(p.field("timing_ps"), "expected one per operation");
  return within(plan.criticalPath, operations, p.field("critical_path"), kNoOperation);
}

} // namespace accord
