#include "lib/machine/array/VectorCycles.h"
#include "lib/machine/array/SaturatingArithmetic.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord {
namespace {
constexpr int64_t kMaxCount64 = std::numeric_limits<int64_t>::max();
bool usable(const VectorUnit &unit, double cycles) {
  return unit.lanes >= 1 && unit.count >= 1 && cycles >= 0 && std::isfinite(cycles);
}
double rounds(Count work, Count atOnce) { return work / atOnce + (work % atOnce != 0); }
} // namespace

std::optional<double> elementCycles(int64_t elements, double cyclesPerElement, const VectorUnit &unit) {
  if (!usable(unit, cyclesPerElement))
    return std::nullopt;
  Count lanes = Count(unit.lanes) * (unit.split ? unit.count : 1);
  return rounds(std::max<int64_t>(elements, 0), lanes) * cyclesPerElement;
}

std::optional<RowCycles> rowCycles(const RowWork &work, const VectorUnit &unit) {
  if (!usable(unit, work.cyclesPerElement))
    return std::nullopt;
  int64_t cores = unit.split ? unit.count : 1, rows = std::max<int64_t>(work.rows, 1),
          length = std::max<int64_t>(work.length, 1);
  double combine = std::max<int64_t>(work.reductions, 0);
  std::optional<RowCycles> best;
  auto take = [&](int step, int64_t group, Count atOnce) {
    double row = rounds(length, group) * work.cyclesPerElement + combine * step;
    double cycles = rounds(rows, atOnce) * row;
    if (!best || cycles < best->cycles)
      best = RowCycles{cycles, group, atOnce};
  };
  int step = 0;
  int64_t group = 1;
  for (;; ++step, group *= 2) { // lanes of one core
    take(step, group, Count(unit.lanes / group) * cores);
    if (group >= length || unit.lanes / group < 2) // more lanes would be empty, or are not there
      break;
  }
  for (int64_t share = 2; group < length && cores / share >= 1 && share <= (kMaxCount64 / group);
       share *= 2) { // of several cores
    take(++step, group * share, cores / share);
    if (group * share >= length || share > kMaxCount64 / 2)
      break;
  }
  return best;
}

} // namespace accord
