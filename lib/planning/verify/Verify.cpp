#include "lib/planning/verify/Verify.h"
#include "lib/machine/model/Check.h"
#include "lib/planning/verify/Proof.h"
#include "lib/support/Number.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace accord {

namespace {

/// Bytes: what is kept throughout, and the largest result of an operation, which is there whenever that one runs, in
/// any order. Of a value with a slice for each iteration nothing is counted.
double minPeak(const WorkGraph &graph) {
  double kept = 0, max = 0;
  for (const StaticTensor &tensor : graph.staticTensors)
    kept += tensor.bytes;
  for (const Operation &operation : graph.operations) {
    double bytes = 0;
    for (ValueId result : operation.results)
      if (const Value &value = graph.values[result]; value.category == Category::Activations && value.slices <= 1)
        bytes = std::max<double>(bytes, value.bytes);
    max = std::max(max, bytes);
  }
  return kept + max;
}

/// FLOP of a step by the type that they are computed in; not `again`: without those of recomputation.
std::map<std::string, double> flopsByType(const Plan &plan, bool again) {
  std::map<std::string, double> flops;
  for (const Operation &operation : plan.graph.operations) {
    double times = operation.phase == Phase::Recompute && !again ? 0
                   : operation.region == kUpdateRegion           ? 1
                                                                 : plan.graph.microbatches;
    for (RegionId r = operation.region; r != kNone; r = plan.graph.regions[r].parent)
      times *= plan.graph.regions[r].count;
    flops[operation.type] += times * operation.flops;
  }
  return flops;
}

/// FLOP/s of all cores in a type; of cores that do not state it, and for an empty one, at their fastest.
double peakOf(const Machine &machine, const std::string &type) {
  double sum = 0;
  for (const Core &core : machine.cores) {
    double fastest =
        core.rows > 0 ? 2.0 * (core.rows * core.cols) * machine.clock.value : core.lanes * machine.clock.value;
    auto stated = core.peak.find(type);
    for (const auto &[other, peak] : core.peak)
      if (stated == core.peak.end() || other == type)
        fastest = std::max(fastest, peak.value);
    sum += fastest * core.count;
  }
  return sum;
}

/// Seconds that no plan of any micro-batch is below: cores of one type work at their peak all the time.
double minStep(const Plan &plan) {
  double min = 0;
  for (const auto &[type, flops] : flopsByType(plan, false))
    if (double peak = peakOf(plan.machine, type); peak > 0)
      min = std::max(min, flops / peak);
  return min;
}

/// What a plan must not pass, read from a conflict: "device memory", "step_time <= 1 ms", or, of a requirement with a
/// name, what was found: "3.5 s is not <= 500 ms".
struct Limit {
  double memory = INFINITY, step = INFINITY;
};

Limit limitOf(const Plan &plan, const Conflict &conflict) {
  Limit limit;
  llvm::StringRef text = conflict.constraint;
  if (text == "device memory")
    limit.memory = plan.machine.memories.front().capacity.value;
  auto value = [&](llvm::StringRef name, llvm::StringRef sign) -> std::optional<double> {
    llvm::StringRef rest = text;
    if (!rest.consume_front(name))
      return std::nullopt;
    rest = rest.ltrim();
    if (!rest.consume_front(sign))
      return std::nullopt;
    rest.consume_front("=");
    auto [share, of] = rest.split('*'); // "0.95 * hbm.capacity"
    for (const Memory &memory : plan.machine.memories)
      if (of.trim() == memory.name + ".capacity")
        if (auto factor = parseReal(share.trim()))
          return *factor * memory.capacity.value;
    auto quantity = parseQuantity(rest.trim());
    return quantity ? std::optional(quantity->toDouble()) : std::nullopt;
  };
  if (auto bytes = value("device.memory", "<"))
    limit.memory = *bytes;
  if (auto seconds = value("step_time", "<"))
    limit.step = *seconds;
  if (auto rate = value("throughput", ">"); rate && *rate > 0)
    limit.step = plan.batch / *rate;
  auto [found, asked] = llvm::StringRef(conflict.detail).split(" is not <= ");
  auto have = parseQuantity(found), may = parseQuantity(asked);
  if (have && may && compare(*have, *may)) {
    auto isNear = [&](double value) { return std::abs(have->toDouble() - value) <= 1e-5 * value; };
    if (isNear(plan.schedule.step.seconds().value))
      limit.step = std::min(limit.step, may->toDouble());
    else if (isNear(static_cast<double>(plan.memory.peak)))
      limit.memory = std::min(limit.memory, may->toDouble());
  }
  return limit;
}

/// That there is no plan at all. What a device keeps and the FLOP of the model, which recomputation only adds to, are
/// those of all candidates; the peak that no order of operations is below, and the bound of the step, exclude this one.
void verifyExclusion(Proof &p) {
  const Plan &plan = p.plan;
  double kept = 0;
  for (const StaticTensor &tensor : plan.graph.staticTensors)
    kept += tensor.bytes;
  double bound = p.out.boundProved ? plan.schedule.bound.seconds().value : 0;
  double shortest = minStep(plan);
  bool excludesThis = false;
  for (const Conflict &conflict : plan.conflicts) {
    Limit limit = limitOf(plan, conflict);
    if (kept > limit.memory)
      return p.checked("no plan keeps '{}': weights, gradients, optimizer states and inputs take {:.6g} B",
                       conflict.constraint, kept);
    if (shortest > limit.step)
      return p.checked("no plan keeps '{}': at the peak of all cores its FLOP take {:.6g} s", conflict.constraint,
                       shortest);
    excludesThis |= bound > limit.step || minPeak(plan.graph) > limit.memory;
  }
  std::string what = fmt::format("that no plan keeps '{}'", plan.conflicts[0].constraint);
  if (!excludesThis)
    p.out.solverAnswers.push_back(what + " assumes the search of schedules alone");
  else if (plan.excludedCandidates > 1)
    p.out.solverAnswers.push_back(
        fmt::format("{} with one of {} other micro-batches and kinds of recomputation assumes the search alone", what,
                    plan.excludedCandidates - 1));
  else
    p.checked("no plan of this micro-batch keeps '{}'", plan.conflicts[0].constraint);
}

void verifyVerdict(Proof &p) {
  const Plan &plan = p.plan;
  if (plan.feasible && !plan.conflicts.empty())
    p.find(Code::WrongVerdict, {}, "the plan is feasible and names {} conflicts, the first '{}'", plan.conflicts.size(),
           plan.conflicts[0].constraint);
  if (!plan.feasible && plan.conflicts.empty())
    p.find(Code::WrongVerdict, {}, "the plan is infeasible and names no conflict");
  if (plan.feasible && plan.excludedCandidates > 0)
    p.find(Code::WrongVerdict, {}, "the plan is feasible, and {} candidates are stated as excluded",
           plan.excludedCandidates);
  if (!plan.feasible && plan.excludedCandidates > 0 && !plan.conflicts.empty())
    verifyExclusion(p);
  Count samples = Count{plan.graph.microbatch} * plan.graph.microbatches;
  if (samples != plan.batch)
    p.find(Code::WrongBatch, {}, "the batch is {}, micro-batch {} times {} is {}", plan.batch, plan.graph.microbatch,
           plan.graph.microbatches, static_cast<double>(samples));

  double step = plan.schedule.step.seconds().value, bound = plan.schedule.bound.seconds().value, batch = plan.batch;
  auto is = [&](const char *what, double value) {
    if (!close(plan.objectiveValue, value))
      p.find(Code::WrongObjective, {}, "the objective {} is {:.9g}, {} gives {:.9g}", plan.objective,
             plan.objectiveValue, what, value);
  };
  if (plan.objective == "throughput") {
    if (step > 0)
      is("batch / step time", batch / step);
    if (bound > 0 && plan.objectiveBound < batch / bound * (1 - 1e-9))
      p.find(Code::WrongObjective, {},
             "the bound states that no plan is faster than {:.9g} samples/s, the bound of {:.9g} s on the "
             "step allows {:.9g}",
             plan.objectiveBound, bound, batch / bound);
  } else if (plan.objective == "step_time") {
    is("the step", step);
    if (plan.objectiveBound > bound * (1 + 1e-9))
      p.find(Code::WrongObjective, {},
             "the bound states that no plan takes less than {:.9g} s, the bound on the step is {:.9g} s",
             plan.objectiveBound, bound);
  } else if (plan.objective == "memory") {
    is("peak memory", plan.memory.peak);
  } else {
    p.trusted("the value of objective '{}' is assumed", plan.objective);
    return;
  }
  p.checked("objective {} = {:.6g} follows from the step", plan.objective, plan.objectiveValue);
}

void verifyTotals(Proof &p) {
  double flops = 0, max = peakOf(p.plan.machine, "");
  for (const auto &[type, of] : flopsByType(p.plan, true))
    flops += of;
  double step = p.plan.schedule.step.seconds().value;
  if (p.out.trusted.empty() && flops > max * step * (1 + 1e-9))
    p.find(Code::WrongLength, {}, "{:.6g} FLOP in {:.6g} s are more than the {:.6g} FLOP/s of '{}'", flops, step, max,
           p.plan.machine.name);
  p.checked("{:.6g} FLOP in {:.6g} s are within the peak of '{}'", flops, step, p.plan.machine.name);
}

} // namespace

PlanVerification verify(const Plan &plan, const StepZeroShares &zeros) {
  Proof p{plan, {}, {}, zeros};
  for (auto &errors : {check(plan.graph), check(plan.machine)})
    p.out.findings.insert(p.out.findings.end(), errors.begin(), errors.end());
  if (!p.out.findings.empty())
    return p.out;
  p.checked("{} operations in {} regions are in order, ids and repeats agree", plan.graph.operations.size(),
            plan.graph.regions.size());
  if (!verifyCosts(p) || !verifySlots(p))
    return p.out;
  verifyReplay(p);
  verifyBound(p);
  verifyVerdict(p);
  verifyTotals(p);
  p.trusted("the FLOPs and bytes of each operation are those of the work graph in the plan");
  p.trusted("the machine's numbers are those written in the plan");
  return p.out;
}

/// Where an operation may start among the instances of its core: spread over all it is the first.
static int64_t places(const Proof &p, const OperationCost &cost) {
  int64_t count = p.plan.machine.cores[cost.core].count;
  return cost.parts.empty() ? count - p.instances(cost, cost.core) + 1 : count;
}

bool verifySlots(Proof &p) {
  const WorkGraph &graph = p.plan.graph;
  const Schedule &schedule = p.plan.schedule;
  size_t before = p.out.findings.size();
  if (schedule.regions.size() != graph.regions.size()) {
    p.find(Code::OperationMissing, {}, "the plan schedules {} regions, the step has {}", schedule.regions.size(),
           graph.regions.size());
    return false;
  }
  std::vector<unsigned> slots(graph.operations.size());
  Count longest = 0;
  for (RegionId r = 0; r < graph.regions.size(); ++r) {
    const RegionSchedule &region = schedule.regions[r];
    Seconds host = r == kMicrobatchRegion ? p.plan.machine.host.microbatch
                   : r == kUpdateRegion   ? p.plan.machine.host.step
                                          : Seconds();
    int64_t end = hostTime(host);
    for (const Slot &slot : region.slots) {
      if (slot.operation >= graph.operations.size() || p.operation(slot.operation).region != r) {
        p.find(Code::OperationMissing, {}, "region '{}' has a slot for operation {}, which is not in it",
               graph.regions[r].name, slot.operation);
        continue;
      }
      const Operation &op = p.operation(slot.operation);
      ++slots[slot.operation];
      if (slot.start.value < 0 || slot.duration.value < 0 || slot.start.value > (int64_t{1} << 61) ||
          slot.duration.value > (int64_t{1} << 61)) {
        p.find(Code::WrongDuration, op.location, "'{}' starts at {} ps and takes {} ps", op.name, slot.start.value,
               slot.duration.value);
        return false;
      }
      Count duration = p.durations[slot.operation];
      if (op.body != kNone)
        duration = Count{graph.regions[op.body].count} * schedule.regions[op.body].length.value +
                   (graph.regions[op.body].count > 0 ? schedule.regions[op.body].overhang.value : 0);
      if (duration != slot.duration.value)
        p.find(Code::WrongDuration, op.location, "'{}' has a slot of {} ps, it takes {:.0f} ps", op.name,
               slot.duration.value, static_cast<double>(duration));
      int core = op.body != kNone ? -1 : p.plan.costs.operations[slot.operation].core;
      if (slot.core != core)
        p.find(Code::ResourceOverlap, op.location, "'{}' has a slot on core {}, its cost is for core {}", op.name,
               slot.core, core);
      else if (core >= 0)
        if (int64_t max = places(p, p.plan.costs.operations[slot.operation]); slot.instance < 0 || slot.instance >= max)
          p.find(Code::ResourceOverlap, op.location, "'{}' runs on instance {} of core '{}', which has {}", op.name,
                 slot.instance, p.plan.machine.cores[core].name, max);
      if (slot.start.value < host.value * 1e12 - 0.5)
        p.find(Code::WrongDuration, op.location, "'{}' starts at {} ps, the host needs {:.0f} ps before it", op.name,
               slot.start.value, host.value * 1e12);
      end = std::max(end, slot.start.value + slot.duration.value);
    }
    Count length = Count{region.length.value} + region.overhang.value;
    if (region.overhang.value < 0 || (region.overhang.value > 0 && r <= kUpdateRegion))
      p.find(Code::WrongLength, {}, "an iteration of region '{}' is stated to go on for {} ps when the next begins",
             graph.regions[r].name, region.overhang.value);
    else if (end != length)
      p.find(Code::WrongLength, {}, "region '{}' is {:.0f} ps long, its last slot ends at {} ps", graph.regions[r].name,
             static_cast<double>(length), end);
    longest = std::max(longest, length);
  }
  for (OperationId id = 0; id < slots.size(); ++id)
    if (slots[id] != 1)
      p.find(Code::OperationMissing, p.operation(id).location, "'{}' has {} slots, it has to have one",
             p.operation(id).name, slots[id]);
  Count step = Count{graph.microbatches} * schedule.regions[kMicrobatchRegion].length.value +
               schedule.regions[kUpdateRegion].length.value;
  if (step != schedule.step.value)
    p.find(Code::WrongLength, {}, "the step is {} ps, {} micro-batches of {} ps and an update of {} ps give {:.0f} ps",
           schedule.step.value, graph.microbatches, schedule.regions[kMicrobatchRegion].length.value,
           schedule.regions[kUpdateRegion].length.value, static_cast<double>(step));
  if (p.out.findings.size() > before)
    return false; // times that do not hold cannot be replayed
  p.checked("{} operations have one slot each, as long as their cost", graph.operations.size());
  p.checked("the step of {} ps is {} micro-batches and the update", schedule.step.value, graph.microbatches);
  return true;
}

} // namespace accord
