// Widths of members for those who have none: several narrow models at the cost of one.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// What one model of a width costs, by its real graph (parameters, multiply-accumulates, bytes):
/// layers inside grow with the square of the width, the first and the last one as it does. Nothing:
/// there is no such model.
using WidthCost = std::function<std::optional<double>(int64_t width)>;

struct MemberWidth {
  unsigned members = 1;
  int64_t width = 0; ///< of each
  double cost = 0;   ///< of all together, at most the budget
};

/// For each number of members the widest model, of a multiple of `step` up to `most`, of which so
/// many cost at most `budget`; those of which there is none are left out. By bisection, as cost is
/// taken to grow with width; with W widths O(log W) models are asked for per number. A heuristic:
/// what their errors are has to be measured. The square root law gives 1/sqrt(N) of the width.
std::vector<MemberWidth> memberWidths(const std::vector<unsigned> &members, int64_t max, int64_t step, double budget,
                                      const WidthCost &cost);

} // namespace accord
