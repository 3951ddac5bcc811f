// What a forward pass keeps for the backward pass, by the liveness of a schedule without times.
#pragma once
#include "lib/planning/analysis/Liveness.h"
#include <algorithm>

namespace accord {

struct SavedActivations {
  std::string repeat;     ///< label of a forward repeat of the micro-batch
  int64_t iterations = 1; ///< its layers
  int64_t bytes = 0;      ///< of all of them, on one device, for one micro-batch
};

/// Operations one after the other in the order of the graph, one tick each and one between them: a schedule for
/// questions that do not depend on time.
inline Schedule sequentialSchedule(const WorkGraph &graph) {
  Schedule schedule;
  schedule.regions.resize(graph.regions.size());
  // Bodies stand behind the region that they are in, so their lengths are known first.
  for (size_t r = graph.regions.size(); r-- > 0;) {
    RegionSchedule &region = schedule.regions[r];
    int64_t now = 0;
    for (OperationId id : graph.regions[r].operations) {
      const Operation &op = graph.operations[id];
      int64_t ticks = op.body == kNone ? 1 : graph.regions[op.body].count * schedule.regions[op.body].length.value;
      region.slots.push_back({id, -1, 0, {now + 1}, {ticks}});
      now += 1 + ticks;
    }
    region.length = {now};
  }
  schedule.step = {schedule.regions[kMicrobatchRegion].length.value * graph.microbatches +
                   schedule.regions[kUpdateRegion].length.value};
  return schedule;
}

/// Activations that are alive when a repeat of the forward pass ends and were not when it began, by
/// liveness: what several operations keep counts once. One entry per outermost repeat.
inline std::vector<SavedActivations> findSavedActivations(const WorkGraph &graph) {
  constexpr unsigned kAllPoints = 1u << 30;
  Schedule schedule = sequentialSchedule(graph);
  std::vector<MemoryPoint> timeline = liveness(graph, schedule, {kAllPoints}).timeline;
  auto at = [&](int64_t time) {
    auto after = std::upper_bound(timeline.begin(), timeline.end(), time,
                                  [](int64_t t, const MemoryPoint &p) { return t < p.time.value; });
    return after == timeline.begin() ? int64_t{0}
                                     : std::prev(after)->bytes[static_cast<unsigned>(Category::Activations)];
  };
  std::vector<SavedActivations> saved;
  for (const Slot &slot : schedule.regions[kMicrobatchRegion].slots) {
    const Operation &op = graph.operations[slot.operation];
    if (op.body == kNone || op.phase != Phase::Forward)
      continue;
    // In the ticks around it no operation runs: what is alive there is needed later.
    saved.push_back({graph.regions[op.body].name, graph.regions[op.body].count,
                     at(slot.start.value + slot.duration.value) - at(slot.start.value - 1)});
  }
  return saved;
}

} // namespace accord
