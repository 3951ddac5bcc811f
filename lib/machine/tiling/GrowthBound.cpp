#include "lib/machine/tiling/GrowthBound.h"
#include "lib/machine/tiling/Nest.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace accord::tile {

double minGrowth(std::span<const GrowthTerm> terms, uint32_t shrinking, double min, const double *max) {
  constexpr int kSteps = 8;
  double growth[kMaxLoops] = {}, slope[kMaxLoops], corner[kMaxLoops];
  double bound = -std::numeric_limits<double>::infinity();
  if (terms.empty())
    return bound;
  for (int step = 0; step < kSteps; ++step) {
    double logs[kMaxTensors], top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t t = 0; t < terms.size(); ++t) {
      logs[t] = terms[t].log;
      for (uint32_t rest = terms[t].loops; rest; rest &= rest - 1)
        logs[t] += growth[std::countr_zero(rest)];
      top = std::max(top, logs[t]);
    }
    for (uint32_t rest = shrinking; rest; rest &= rest - 1)
      slope[std::countr_zero(rest)] = 0;
    for (size_t t = 0; t < terms.size(); ++t)
      sum += logs[t] = std::exp(logs[t] - top);
    for (size_t t = 0; t < terms.size(); ++t)
      for (uint32_t rest = terms[t].loops & shrinking; rest; rest &= rest - 1)
        slope[std::countr_zero(rest)] += logs[t] / sum;
    // The least of the tangent: loops of the least slope grow first.
    double value = top + std::log(sum), left = min;
    for (uint32_t open = shrinking; open;) {
      int next = std::countr_zero(open);
      for (uint32_t rest = open; rest; rest &= rest - 1)
        if (slope[std::countr_zero(rest)] < slope[next])
          next = std::countr_zero(rest);
      corner[next] = std::clamp(left, 0.0, max[next]);
      left -= corner[next];
      value += slope[next] * (corner[next] - growth[next]);
      open &= ~(uint32_t(1) << next);
    }
    bound = std::max(bound, value);
    double part = step == 0 ? 1 : 2.0 / (step + 2);
    for (uint32_t rest = shrinking; rest; rest &= rest - 1) {
      int loop = std::countr_zero(rest);
      growth[loop] += part * (corner[loop] - growth[loop]);
    }
  }
  return bound;
}

} // namespace accord::tile
