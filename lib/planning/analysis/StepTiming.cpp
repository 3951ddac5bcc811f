#include "lib/planning/analysis/StepTiming.h"
#include "lib/machine/model/Check.h"
#include "lib/machine/model/PeriodOrder.h"
#include "lib/planning/analysis/CriticalPath.h"
#include <algorithm>
#include <map>
#include <set>

namespace accord {
namespace {

Error error(std::string message) { return {Code::MalformedGraph, std::move(message), {}, {}}; }

/// What an operation holds while it runs: "core tc 0", "memory hbm", "network nvlink".
using Held = std::set<std::string>;

void addHeld(const Plan &plan, const Slot &slot, Held &held) {
  OperationId id = slot.operation;
  const OperationCost &cost = plan.costs.operations[id];
  for (size_t c = 0; c < plan.machine.cores.size(); ++c) {
    const Core &core = plan.machine.cores[c];
    if (!usesCore(cost, c))
      continue;
    bool one = core.perInstanceMapping && cost.parts.empty(); // a fused operation holds all instances
    int64_t first = one ? slot.instance : 0, last = one || !core.perInstanceMapping ? first : core.count - 1;
    for (int64_t i = first; i <= last; ++i)
      held.insert("core " + core.name + " " + std::to_string(i));
  }
  for (size_t m = 0; m < cost.transfer.size() && m < plan.machine.memories.size(); ++m)
    if (cost.transfer[m].value > 0)
      held.insert("memory " + plan.machine.memories[m].name);
  if (plan.graph.operations[id].core == CoreKind::Network && cost.core < 0)
    held.insert(cost.model);
}

/// Bodies hold all that their operations do.
void addHeld(const Plan &plan, RegionId region, Held &held) {
  for (const Slot &slot : plan.schedule.regions[region].slots)
    if (RegionId body = plan.graph.operations[slot.operation].body; body != kNone)
      addHeld(plan, body, held);
    else if (slot.duration.value > 0)
      addHeld(plan, slot, held);
}

struct User {
  int64_t start, end;
  uint32_t node;
};

/// Everyone waits for all that ended before it started; those for whom someone in between waits
/// are left out.
void addOrder(std::vector<User> byStart, std::vector<TimingGraph::Edge> &edges) {
  std::vector<User> byEnd = byStart;
  std::sort(byStart.begin(), byStart.end(),
            [](const User &a, const User &b) { return a.start != b.start ? a.start < b.start : a.node < b.node; });
  std::sort(byEnd.begin(), byEnd.end(),
            [](const User &a, const User &b) { return a.end != b.end ? a.end < b.end : a.node < b.node; });
  size_t ended = 0;
  int64_t lastStart = INT64_MIN;
  for (const User &user : byStart) {
    for (; ended < byEnd.size() && byEnd[ended].end <= user.start; ++ended)
      lastStart = std::max(lastStart, byEnd[ended].start);
    for (size_t i = ended; i > 0 && byEnd[i - 1].end > lastStart; --i)
      edges.push_back({byEnd[i - 1].node, user.node, 0});
  }
}

} // namespace

std::optional<Error> StepTiming::build(const Plan &plan, const Dependences &deps, RegionId r) {
  const Region &region = plan.graph.regions[r];
  for (OperationId id : region.operations)
    if (RegionId body = plan.graph.operations[id].body; body != kNone)
      if (auto problem = build(plan, deps, body))
        return problem;
  const RegionSchedule &schedule = plan.schedule.regions[r];
  overhang_[r] = schedule.overhang.value;
  std::vector<const Slot *> slots(region.operations.size());
  for (const Slot &slot : schedule.slots)
    if (slot.operation < node_.size() && regionOf(slot.operation) == r)
      slots[node_[slot.operation]] = &slot;
  std::vector<int64_t> durations;
  std::vector<std::string> names;
  std::vector<TimingGraph::Edge> edges;
  std::map<std::string, std::vector<User>> users;
  for (uint32_t node = 0; node < slots.size(); ++node) {
    OperationId id = region.operations[node];
    const Operation &op = plan.graph.operations[id];
    names.push_back(op.name);
    if (!slots[node])
      return error("'" + op.name + "' has no slot in the schedule");
    const Slot &slot = *slots[node];
    Held held;
    Wide duration = slot.duration.value;
    if (op.body != kNone) {
      duration = repeated(op.body, length(op.body));
      addHeld(plan, op.body, held);
    } else if (slot.duration.value > 0) {
      addHeld(plan, slot, held);
    }
    if (duration >= kLongestStep || slot.start.value < 0 || slot.start.value >= kLongestStep ||
        slot.duration.value < 0 || slot.duration.value >= kLongestStep)
      return error("'" + op.name + "' runs outside of the longest step, 2^61 ps");
    durations.push_back(duration);
    int64_t start = slot.start.value - schedule.stage(slot) * schedule.length.value;
    if (slot.duration.value > 0)
      for (const std::string &what : held)
        users[what].push_back({start, start + slot.duration.value, node});
  }
  for (auto &[what, of] : users)
    addOrder(std::move(of), edges);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<std::vector<OperationId>> waits = waitsInPeriod(plan.graph, deps, schedule, r);
  for (uint32_t node = 0; node < slots.size(); ++node)
    for (OperationId before : waits[node])
      edges.push_back({node_[before], node, 0});
  auto graph = TimingGraph::of(durations, edges, names);
  if (!graph)
    return graph.error();
  graphs_[r] = std::move(*graph);
  return std::nullopt;
}

bool StepTiming::fits(Wide micro, Wide update) const {
  return Wide{graph_->microbatches} * (micro + hostMicrobatch_) + update + hostStep_ < kLongestStep;
}

Result<StepTiming> StepTiming::of(const Plan &plan) {
  if (auto problems = check(plan.graph); !problems.empty())
    return problems.front();
  if (plan.costs.operations.size() != plan.graph.operations.size() ||
      plan.schedule.regions.size() != plan.graph.regions.size())
    return error("costs or schedule belong to another graph");
  StepTiming step;
  step.graph_ = &plan.graph;
  for (Seconds host : {plan.machine.host.microbatch, plan.machine.host.step})
    if (!Picoseconds::fits(host))
      return error("the host takes longer than the longest step, 2^61 ps");
  step.hostMicrobatch_ = Picoseconds::ceil(plan.machine.host.microbatch).value;
  step.hostStep_ = Picoseconds::ceil(plan.machine.host.step).value;
  step.node_.resize(plan.graph.operations.size());
  for (const Region &region : plan.graph.regions)
    for (uint32_t node = 0; node < region.operations.size(); ++node)
      step.node_[region.operations[node]] = node;
  step.graphs_.resize(plan.graph.regions.size());
  step.avoiding_.resize(plan.graph.regions.size());
  step.overhang_.resize(plan.graph.regions.size());
  Dependences deps = Dependences::of(plan.graph);
  for (RegionId top : {kMicrobatchRegion, kUpdateRegion})
    if (auto problem = step.build(plan, deps, top))
      return *problem;
  if (!step.fits(step.length(kMicrobatchRegion), step.length(kUpdateRegion)))
    return error("the step takes 2^61 ps or more");
  return step;
}

Result<int64_t> StepTiming::stepWith(OperationId id, int64_t duration) const {
  if (duration < 0 || duration >= kLongestStep)
    return error("a duration has to be 0 or more and less than 2^61 ps");
  auto [micro, update] = lengths();
  for (Wide takes = duration;;) {
    RegionId region = regionOf(id);
    const TimingGraph &graph = graphs_[region];
    if (avoiding_[region].empty())
      avoiding_[region] = graph.avoiding();
    Wide length = std::max<Wide>(avoiding_[region][node_[id]], graph.through(node_[id]) + takes);
    if (length >= kLongestStep)
      return error("the step would take 2^61 ps or more");
    OperationId owner = graph_->regions[region].owner;
    if (owner == kNone) {
      (region == kMicrobatchRegion ? micro : update) = length;
      break;
    }
    id = owner;
    takes = repeated(region, length);
  }
  if (!fits(micro, update))
    return error("the step would take 2^61 ps or more");
  return stepFrom({micro, update});
}

std::vector<OperationId> StepTiming::criticalPath(RegionId region) const {
  std::vector<OperationId> path;
  for (uint32_t node : graphs_[region].criticalPath())
    path.push_back(graph_->regions[region].operations[node]);
  return path;
}

} // namespace accord
