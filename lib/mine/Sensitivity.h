// What one parameter is worth: the designs beside the best one, and the best with each choice.
#pragma once
#include "lib/mine/Mine.h"

namespace accord {

struct SensitivityOptions {
  /// Of the searches with one parameter pinned: designs valued and boxes bounded of all together,
  /// an equal share for each. 0: none is searched.
  uint64_t evaluations = 0, bounds = 0;
  size_t choices = 64; ///< of a parameter: at most so many, those nearest the best design's first
  unsigned threads = 1;
  const std::atomic<bool> *stop = nullptr;
};

/// By parameter and choice, ascending. A pinned search begins with all designs that differ from the
/// best one in that parameter alone, and with what searches before it found.
std::vector<std::vector<ChoiceWorth>> sensitivityOf(MiningProblem &problem, const Design &best,
                                                    const SensitivityOptions &options = {});

} // namespace accord
