// The baseline of a server over a record: other work on the machine makes it slower or faster, at times at once.
#pragma once
#include "lib/tuning/problem/ServerTuning.h"

namespace accord::tuning {

/// Standard deviation of the logarithm of a window's rate around the mean of its interval, pooled over the complete
/// intervals; at least 1e-4.
double windowNoise(const std::vector<ServerInterval> &intervals);

/// The logarithm of the baseline's samples per second (or per joule): a mean of its intervals, weighted by
/// exp(-distance / kReferenceReach) in intervals, of those that lie on the same side of each jump. A baseline is behind
/// a jump where it differs from the mean of those before by more than kMinJump, and by more than kJumpDeviations times
/// the noise of an interval of the baseline, sigma sqrt(1 + 1/n). Sigma is the larger one of the window noise over
/// sqrt(kWindows), and the median of the differences of neighbours over 0.6745 sqrt(2).
class BaselineTrack {
public:
  BaselineTrack(const std::vector<ServerInterval> &intervals, bool isPerJoule);
  /// At the interval of this number; nothing before the first baseline, and between two that a jump divides.
  std::optional<double> at(size_t interval) const;
  /// Behind the last interval.
  std::optional<double> now() const { return at(count_); }
  /// Standard deviation of what the mean of an interval and `now` differ by, beyond the noise of windows: that of
  /// `now`, and what sigma has beyond the window noise over sqrt(kWindows).
  double deviation() const;

private:
  struct Point {
    size_t interval = 0, segment = 0;
    double value = 0;
  };
  double sigmaOf(double windowNoise) const;

  std::vector<Point> points_;
  size_t count_ = 0;
  double sigma_ = 0;  ///< of one interval of the baseline
  double beyond_ = 0; ///< of it beyond the noise of windows
};

/// Whether windows say with confidence that their mean ratio is below the floor, whenever they are looked at: the sum
/// of log(rate / reference / floor) is below -(u(n) + n * 1.645 * deviation of the reference), with the mixture
/// boundary u(n) = noise sqrt(2 (n + rho) log(sqrt((n + rho) / rho) / (2 alpha) + 1)), rho = 3, which a sum of normal
/// terms of mean 0 and this noise passes at any n with probability alpha (Robbins 1970; Howard et al., Time-uniform,
/// nonparametric, nonasymptotic confidence sequences, Annals of Statistics 2021). Logarithms are at least
/// kMinWindowLog.
bool isBelowFloor(const std::vector<ServerWindow> &windows, double reference, double referenceDeviation, double noise,
                  double floor, double alpha = kFalseRollback);

} // namespace accord::tuning
