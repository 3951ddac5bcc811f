// What one parameter is worth: the designs beside the best one, and the best with each choice.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"

namespace accord {

struct SensitivityOptions {
  /// Of each search with one choice pinned: designs valued and boxes bounded, at most. 0: none.
  uint64_t evaluations = 0, bounds = 0;
  /// Of each parameter: those nearest the best design's, valued; and, of them, searched with.
  size_t choices = 64, numFixedChoices = 16;
  unsigned threads = 1;
  const std::atomic<bool> *stop = nullptr;
};

/// By parameter and choice, ascending; empty where it was stopped. A pinned search begins with all designs that differ
/// from the best one in that parameter alone, and with what searches before it found.
std::vector<std::vector<ChoiceSensitivity>> sensitivityOf(MiningProblem &problem, const Design &best,
                                                          const SensitivityOptions &options = {});

} // namespace accord
