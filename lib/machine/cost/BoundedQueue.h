// Batches whose loading times vary, through a queue of bounded length: Lindley's recursion (Proc. Cambridge Phil. Soc.
// 48, 1952) with blocking, as in the line of DataLoader.h.
#pragma once
#include "lib/machine/cost/DataLoader.h"

namespace accord {

/// Loading times of a training, as factors of their mean.
class BoundedQueue {
public:
  /// Lognormal factors with this coefficient of variation, drawn with a fixed seed and scaled to the mean 1.
  /// 0: all are 1.
  explicit BoundedQueue(double variation);
  /// These factors, again and again.
  explicit BoundedQueue(std::vector<double> factors) : factors_(std::move(factors)) {}

  struct Mean {
    Seconds step;     ///< between two ends of computation
    double error = 0; ///< relative: two standard errors, by the means of 32 runs of batches
  };
  /// With `prefetch` >= 0 host buffers: l[n] = max(l[n-1], h[n-K]) + L[n], h[n] = max(l[n], h[n-1], c[n-2]) + H,
  /// c[n] = max(h[n], c[n-1]) + C, the mean of the second cycle of factors. A larger depth, or a smaller time, is never
  /// slower: all draws are the same.
  Mean mean(const DataLoaderStages &stages, int64_t prefetch) const;

  const std::vector<double> &factors() const { return factors_; }

private:
  std::vector<double> factors_;
};

} // namespace accord
