#include "lib/planning/analysis/StepSensitivity.h"
#include "lib/planning/analysis/CriticalPath.h"
#include <algorithm>
#include <array>

namespace accord {
namespace {

constexpr std::array kKinds{CoreKind::Tensor, CoreKind::Vector, CoreKind::Network, CoreKind::None};

/// Adds what is on the longest path of one iteration of the region, so many times.
void follow(const WorkGraph &graph, const StepTiming &timing, RegionId region, int64_t times,
            std::map<CoreKind, Picoseconds> &kinds, StepSensitivity &out) {
  for (OperationId id : timing.criticalPath(region)) {
    const Operation &op = graph.operations[id];
    out.critical.push_back(id);
    if (op.body != kNone) {
      // No time, no path to follow; and the product below is at most the step.
      if (timing.duration(id) > 0)
        follow(graph, timing, op.body, times * graph.regions[op.body].count, kinds, out);
      continue;
    }
    Picoseconds spent{timing.duration(id) * times};
    kinds[op.core] = kinds[op.core] + spent;
    out.phases[op.phase] = out.phases[op.phase] + spent;
  }
}

} // namespace

Result<StepSensitivity> StepSensitivity::of(const Plan &plan) {
  auto made = StepTiming::of(plan);
  if (!made)
    return made.error();
  const StepTiming &timing = *made;
  const WorkGraph &graph = plan.graph;
  StepSensitivity out;
  out.step = {timing.step()};
  out.host = {timing.host()};
  std::vector<Picoseconds> durations(graph.operations.size());
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    if (graph.operations[id].body != kNone)
      continue;
    int64_t duration = timing.duration(id);
    durations[id] = {duration};
    auto shorter = [&](int64_t takes) {
      auto step = timing.stepWith(id, takes); // cannot be refused: it is not longer
      return Picoseconds{out.step.value - *step};
    };
    OperationSensitivity s{id, {}, shorter(duration / 2), shorter(0)};
    Picoseconds slack{timing.slack(id)};
    if (s.gainIfFree.value > 0)
      out.operations.push_back(s);
    if (duration > 0 && slack.value > 0 && (out.next == kNone || slack < out.nextSlack)) {
      out.next = id;
      out.nextSlack = slack;
    }
  }
  if (sumOfWork(graph, durations) >= kLongestStep)
    return Error{Code::MalformedGraph, "the step takes 2^61 ps or more, one operation after the other", {}, {}};
  for (OperationSensitivity &s : out.operations)
    s.busy = {static_cast<int64_t>(graph.executions(s.operation) * durations[s.operation].value)};
  std::sort(out.operations.begin(), out.operations.end(),
            [](const OperationSensitivity &a, const OperationSensitivity &b) {
              return a.gainIfFree != b.gainIfFree ? a.gainIfFree > b.gainIfFree : a.operation < b.operation;
            });

  std::map<CoreKind, Picoseconds> kinds;
  follow(graph, timing, kMicrobatchRegion, graph.microbatches, kinds, out);
  follow(graph, timing, kUpdateRegion, 1, kinds, out);
  Dependences deps = Dependences::of(graph);
  for (CoreKind kind : kKinds) {
    std::vector<Picoseconds> only(durations.size());
    bool any = false;
    for (OperationId id = 0; id < durations.size(); ++id)
      if (graph.operations[id].core == kind && durations[id].value > 0) {
        only[id] = durations[id];
        any = true;
      }
    if (any)
      out.kinds.push_back({kind, kinds[kind], CriticalPath::of(graph, deps, only).step});
  }
  return out;
}

} // namespace accord
