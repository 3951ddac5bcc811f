#include "lib/ensembles/solve/MemberWidths.h"
#include <map>

namespace accord {

std::vector<MemberWidth> memberWidths(const std::vector<unsigned> &members, int64_t max, int64_t step, double budget,
                                      const WidthCost &cost) {
  std::vector<MemberWidth> found;
  if (step < 1)
    return found;
  std::map<int64_t, std::optional<double>> known;
  auto costOf = [&](int64_t width) {
    auto [slot, isNew] = known.try_emplace(width);
    if (isNew)
      slot->second = cost(width);
    return slot->second;
  };
  for (unsigned number : members) {
    auto fits = [&](int64_t steps) {
      auto one = costOf(steps * step);
      return one && *one * number <= budget;
    };
    int64_t low = 0, high = max / step + 1; // low fits, or is none; high does not
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    if (low > 0 && number > 0)
      found.push_back({number, low * step, *costOf(low * step) * number});
  }
  return found;
}

} // namespace accord
