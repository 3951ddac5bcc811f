// What the forward pass of each repeated layer keeps for the backward pass.
#pragma once
#include "lib/planning/analysis/Liveness.h"

namespace accord {

struct SavedActivations {
  std::string repeat;     ///< label of a forward repeat of the micro-batch
  int64_t iterations = 1; ///< its layers
  int64_t bytes = 0;      ///< of all of them, on one device, for one micro-batch
};

/// Operations one after the other in the order of the graph, one tick each and one between them: a
/// schedule for questions that do not depend on time.
Schedule sequentialSchedule(const WorkGraph &graph);

/// Activations that are alive when a repeat of the forward pass ends and were not when it began, by
/// liveness: what several operations keep counts once. One entry per outermost repeat.
std::vector<SavedActivations> findSavedActivations(const WorkGraph &graph);

} // namespace accord
