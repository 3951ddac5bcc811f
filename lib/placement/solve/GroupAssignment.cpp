#include "lib/placement/solve/GroupAssignment.h"
#include <algorithm>
#include <cmath>
#include <functional>

namespace accord::placing {

double GroupAssignment::max() const {
  constexpr double kMaxSteps = 4'000;
  double steps = holds.size();
  for (size_t k = 0; k + 1 < limits.size(); ++k)
    steps *= limits[k] + 1;
  return steps > kMaxSteps ? maxByPrices() : maxByNumbers(nullptr);
}

std::vector<size_t> GroupAssignment::kinds() const {
  constexpr double kMaxSteps = 200'000;
  double steps = holds.size();
  for (size_t k = 0; k + 1 < limits.size(); ++k)
    steps *= limits[k] + 1;
  std::vector<size_t> chosen;
  return steps <= kMaxSteps && !std::isinf(maxByNumbers(&chosen)) ? chosen : std::vector<size_t>{};
}

double GroupAssignment::maxByNumbers(std::vector<size_t> *kinds) const {
  std::vector<size_t> strides;
  std::vector<int64_t> used;
  size_t states = 1, last = limits.size() - 1;
  for (size_t k = 0; k < last; ++k)
    strides.push_back(states), states *= limits[k] + 1;
  auto digit = [&](size_t state, size_t k) { return static_cast<int64_t>(state / strides[k]) % (limits[k] + 1); };
  for (size_t state = 0; state < states; ++state) {
    int64_t sum = 0;
    for (size_t k = 0; k < last; ++k)
      sum += digit(state, k);
    used.push_back(sum);
  }
  std::vector<double> sums(states, -INFINITY), next(states);
  std::vector<std::vector<size_t>> of(kinds ? holds.size() : 0, std::vector<size_t>(states, last)); // of each group
  sums[0] = 0;
  int64_t groups = 0;
  for (const std::vector<double> &mine : holds) {
    ++groups;
    for (size_t state = 0; state < states; ++state) {
      int64_t ofLast = groups - used[state]; // after this one
      next[state] = ofLast > 0 && ofLast <= limits[last] ? sums[state] + mine[last] : -INFINITY;
      for (size_t k = 0; k < last; ++k)
        if (double sum = sums[state - std::min(state, strides[k])] + mine[k];
            ofLast >= 0 && ofLast <= limits[last] && digit(state, k) > 0 && sum > next[state]) {
          next[state] = sum;
          if (kinds)
            of[groups - 1][state] = k;
        }
    }
    sums.swap(next);
  }
  double max = -INFINITY;
  size_t best = 0;
  for (size_t state = 0; state < states; ++state) {
    bool each = groups > used[state];
    for (size_t k = 0; k < last; ++k)
      each &= digit(state, k) > 0;
    if (each && sums[state] > max)
      max = sums[state], best = state;
  }
  for (size_t g = of.size(); g-- > 0 && !std::isinf(max);) {
    kinds->insert(kinds->begin(), of[g][best]);
    if (of[g][best] < last)
      best -= strides[of[g][best]];
  }
  return max;
}

double GroupAssignment::maxByPrices() const {
  constexpr int kRounds = 4;
  for (size_t k = 0; k < limits.size(); ++k)
    if (std::ranges::all_of(holds, [&](const std::vector<double> &mine) { return std::isinf(mine[k]); }))
      return -INFINITY;
  std::vector<double> prices(limits.size());
  double best = INFINITY;
  auto sumWithPrices = [&] {
    double sum = 0;
    for (size_t k = 0; k < limits.size(); ++k)
      sum += prices[k] * static_cast<double>(limits[k]);
    for (const std::vector<double> &mine : holds) {
      double max = -INFINITY;
      for (size_t k = 0; k < limits.size(); ++k)
        max = std::max(max, mine[k] - prices[k]);
      sum += max;
    }
    best = std::min(best, sum);
  };
  sumWithPrices();
  for (int round = 0; round < kRounds && !std::isinf(best); ++round)
    for (size_t k = 0; k < limits.size(); ++k) {
      std::vector<double> gains; // of this kind above the others
      for (const std::vector<double> &mine : holds) {
        double other = -INFINITY;
        for (size_t j = 0; j < limits.size(); ++j)
          if (j != k)
            other = std::max(other, mine[j] - prices[j]);
        if (!std::isinf(mine[k]) && !std::isinf(other))
          gains.push_back(mine[k] - other);
      }
      size_t limit = limits[k];
      if (limit >= gains.size()) {
        prices[k] = 0;
      } else {
        std::nth_element(gains.begin(), gains.begin() + limit, gains.end(), std::greater<>());
        prices[k] = std::max(0.0, gains[limit]);
      }
      sumWithPrices();
    }
  return best;
}

} // namespace accord::placing
