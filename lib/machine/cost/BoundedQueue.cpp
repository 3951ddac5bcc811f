#include "lib/machine/cost/BoundedQueue.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace accord {

/// Of a cycle: enough that the error of a mean is below 1 % for the variations that a file may state.
static constexpr size_t kBatches = size_t{1} << 15;
static constexpr size_t kRuns = 32;

BoundedQueue::BoundedQueue(double variation) : factors_(kBatches, 1.0) {
  if (variation == 0)
    return;
  const double sigma = std::sqrt(std::log1p(variation * variation));
  SplitMix random(0x10ade7);
  double sum = 0;
  for (size_t i = 0; i < factors_.size(); i += 2) { // Box and Muller, Ann. Math. Stat. 29, 1958
    const double u = 1 - random.unit(), v = 2 * std::numbers::pi * random.unit();
    const double radius = sigma * std::sqrt(-2 * std::log(u));
    factors_[i] = std::exp(radius * std::cos(v)), factors_[i + 1] = std::exp(radius * std::sin(v));
    sum += factors_[i] + factors_[i + 1];
  }
  for (double &factor : factors_)
    factor *= static_cast<double>(factors_.size()) / sum;
}

BoundedQueue::Mean BoundedQueue::mean(const DataLoaderStages &stages, int64_t prefetch) const {
  const double load = stages.load.value, copy = stages.copy.value, compute = stages.compute.value;
  if (prefetch == 0)
    return {stages.load + stages.copy + stages.compute, 0};
  const size_t count = factors_.size();
  const size_t depth = std::min(static_cast<size_t>(prefetch), 2 * count); // more buffers are never taken
  std::vector<double> copied(depth, 0.0); // ends of the last copies, the oldest at n modulo K
  std::vector<double> ends;
  double loaded = 0, lastCopy = 0, computed = 0, before = 0, start = 0; // `before`: the end before `computed`
  for (size_t n = 0; n < 2 * count; ++n) {
    loaded = std::max(loaded, copied[n % depth]) + load * factors_[n % count];
    lastCopy = copied[n % depth] = std::max({loaded, lastCopy, before}) + copy;
    before = computed;
    computed = std::max(lastCopy, computed) + compute;
    if (n + 1 == count)
      start = computed;
    else if (n >= count && (n + 1 - count) % std::max<size_t>(1, count / kRuns) == 0)
      ends.push_back(computed);
  }
  Mean out{Seconds((computed - start) / static_cast<double>(count)), 0};
  if (ends.size() < 2 || !(out.step.value > 0))
    return out;
  double squares = 0, last = start;
  const double each = (computed - start) / static_cast<double>(ends.size());
  for (double end : ends) {
    squares += (end - last - each) * (end - last - each);
    last = end;
  }
  const auto runs = static_cast<double>(ends.size());
  out.error = 2 * std::sqrt(squares / (runs - 1) / runs) / each;
  return out;
}

} // namespace accord
