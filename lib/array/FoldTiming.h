// From folds to cycles: what all dataflows have in common.
#pragma once
#include "lib/array/Saturating.h"
#include "lib/array/Systolic.h"
#include <algorithm>

namespace accord {

/// Fills the cycles, shares and `foldsOfOne` of a cost with its folds, load, stream and skew.
/// `least`: the interval that overlapDrain cannot go below. The array has rows, columns and
/// instances; `operations`: multiply-accumulates.
inline void timeFolds(SystolicCost &cost, const SystolicArray &array, Count least,
                      double operations) {
  int64_t used = array.split ? array.count : 1;
  cost.foldsOfOne = cost.folds / used + (cost.folds % used != 0);
  Count tail = cost.stream + cost.skew, whole = plusSaturated(cost.load, tail);
  if (array.overlapDrain)
    cost.interval = array.overlapFill ? std::max(std::max(cost.load, cost.stream), least)
                                      : std::max(plusSaturated(cost.load, cost.stream), least);
  else
    cost.interval = array.overlapFill ? std::max(cost.load, tail) : whole;
  cost.cycles = plusSaturated(whole, timesSaturated(cost.foldsOfOne - 1, cost.interval));
  double cells = static_cast<double>(array.rows) * static_cast<double>(array.cols);
  cost.mappingEfficiency =
      operations / (static_cast<double>(cost.folds) * cells * static_cast<double>(cost.stream));
  cost.utilization =
      operations / (static_cast<double>(cost.cycles) * cells * static_cast<double>(used));
}

} // namespace accord
