#include "lib/array/VectorCycles.h"
#include "lib/array/Saturating.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {
bool usable(const VectorUnit &unit, double cycles) {
  return unit.lanes >= 1 && unit.count >= 1 && cycles >= 0 && std::isfinite(cycles);
}
double rounds(Count work, Count atOnce) {
  return static_cast<double>(work / atOnce + (work % atOnce != 0));
}
} // namespace

std::optional<double> elementCycles(int64_t elements, double cyclesPerElement,
                                    const VectorUnit &unit) {
  if (!usable(unit, cyclesPerElement))
    return std::nullopt;
  Count lanes = static_cast<Count>(unit.lanes) * (unit.split ? unit.count : 1);
  return rounds(std::max<int64_t>(elements, 0), lanes) * cyclesPerElement;
}

std::optional<RowCycles> rowCycles(const RowWork &work, const VectorUnit &unit) {
  if (!usable(unit, work.cyclesPerElement))
    return std::nullopt;
  int64_t cores = unit.split ? unit.count : 1, rows = std::max<int64_t>(work.rows, 1),
          length = std::max<int64_t>(work.length, 1);
  auto combine = static_cast<double>(std::max<int64_t>(work.reductions, 0));
  std::optional<RowCycles> best;
  for (int step = 0; step < 63 && unit.lanes >> step; ++step) {
    int64_t group = int64_t{1} << step;
    double row = rounds(length, group) * work.cyclesPerElement + combine * step;
    double cycles = rounds(rows, static_cast<Count>(unit.lanes >> step) * cores) * row;
    if (!best || cycles < best->cycles)
      best = RowCycles{cycles, group};
    if (group >= length) // more lanes would be empty
      break;
  }
  return best;
}

} // namespace accord
