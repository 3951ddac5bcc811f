// From folds to cycles: what all dataflows have in common.
#pragma once
#include "lib/machine/array/SaturatingArithmetic.h"
#include "lib/machine/array/Systolic.h"
#include <algorithm>

namespace accord {

/// The folds of all products before their streams are cut.
struct Folds {
  Count folds = 1;
  Count load = 0;
  int64_t steps = 1;         ///< the stream, which may be cut between any two of them
  int64_t cyclesPerStep = 1; ///< cycles of one
  Count minInterval = 0;     ///< the interval that overlapDrain cannot go below
  double operations = 1;     ///< multiply-accumulates of all
};

/// With streams in at most `cuts` equal pieces.
inline SystolicCost timeFolds(const Folds &of, const SystolicArray &array, int64_t cuts) {
  int64_t steps = ceilDivide64(of.steps, cuts), used = array.split ? array.count : 1;
  SystolicCost cost;
  cost.pieces = ceilDivide64(of.steps, steps);
  cost.folds = saturatingMultiply(of.folds, cost.pieces);
  cost.foldsPerArray = cost.folds / used + (cost.folds % used != 0);
  cost.load = of.load;
  cost.stream = static_cast<Count>(steps) * of.cyclesPerStep;
  cost.skew = static_cast<Count>(array.rows) + array.cols - 2;
  Count tail = cost.stream + cost.skew, whole = saturatingAdd(cost.load, tail);
  if (array.overlapDrain)
    cost.interval = array.overlapFill ? std::max(std::max(cost.load, cost.stream), of.minInterval)
                                      : std::max(saturatingAdd(cost.load, cost.stream), of.minInterval);
  else
    cost.interval = array.overlapFill ? std::max(cost.load, tail) : whole;
  cost.cycles = saturatingAdd(whole, saturatingMultiply(cost.foldsPerArray - 1, cost.interval));
  return cost;
}

/// The fastest way to cut; of equally fast ones the fewest pieces. Fills all but the accesses. The
/// array has rows, columns and instances.
inline SystolicCost timeFolds(const Folds &of, const SystolicArray &array) {
  SystolicCost best = timeFolds(of, array, 1);
  if (array.split && array.cutStream)
    for (int64_t power = 2; power <= array.count && power <= int64_t{1} << 61; power *= 2)
      for (int64_t cuts : {power, power / 2 * 3})
        if (cuts <= array.count && cuts <= of.steps)
          if (SystolicCost cut = timeFolds(of, array, cuts); cut.cycles < best.cycles)
            best = cut;
  double cells = static_cast<double>(array.rows) * array.cols, used = array.split ? array.count : 1;
  best.mappingEfficiency = of.operations / (best.folds * cells * best.stream);
  best.utilization = of.operations / (best.cycles * cells * used);
  return best;
}

} // namespace accord
