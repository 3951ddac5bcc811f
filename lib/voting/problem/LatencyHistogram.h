// Quantiles of latencies in bounded memory.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace accord::voting {

/// Latencies of 1 µs to some 1,000 s in steps of 2 %: a quantile is the upper end of its step, so it is at most 2 % too
/// large and never too small.
class LatencyHistogram {
public:
  void add(double seconds) {
    const double step = seconds <= kFirst ? 0 : std::ceil(std::log(seconds / kFirst) / std::log(kFactor));
    ++counts_[static_cast<size_t>(std::min<double>(step, kSteps - 1))];
    ++total_;
  }
  int64_t total() const { return total_; }
  /// In seconds: at least a share `q` of all latencies is not above it. 0 where there are none.
  double quantile(double q) const {
    const auto needed = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(q * static_cast<double>(total_))));
    int64_t seen = 0;
    for (size_t i = 0; total_ > 0 && i < kSteps; ++i)
      if ((seen += counts_[i]) >= needed)
        return kFirst * std::pow(kFactor, static_cast<double>(i));
    return 0;
  }

private:
  static constexpr double kFirst = 1e-6, kFactor = 1.02;
  static constexpr size_t kSteps = 1050;
  std::array<int64_t, kSteps> counts_{};
  int64_t total_ = 0;
};

} // namespace accord::voting
