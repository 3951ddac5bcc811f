// What a training will say at its end, from what it has said so far.
//
// The values after units x are a + b f(x) + e(x). f is one of 14 shapes: a power x^-p, an exponential exp(-x / p), or
// none. e is noise with the share r of the variance, and a path that wanders in log(x) with the rest: a random walk and
// the integral of one, so that what lies further ahead is less sure. a, b and e are normal with a common scale, whose
// square is inverse gamma. So the value after a later unit has Student's distribution in closed form for each shape and
// r (conjugate linear regression: Gelman et al., Bayesian Data Analysis, chapter 14), and they are mixed by how likely
// they make the values that were seen (after Domhan et al., IJCAI 2015, who sample instead).
//
// Its constants were chosen on the training half of LCBench (test/bench/tuning.py), so that intervals of 90 % cover.
#pragma once
#include <cstdint>
#include <vector>

namespace accord::tuning {

/// One shape: Student's distribution with a weight.
struct CurvePart {
  double weight = 0;
  double location = 0, scale = 1; ///< in the unit of the values
  unsigned freedom = 1;
};

/// The distribution of a later value: a mixture whose weights sum up to 1.
class CurvePrediction {
public:
  explicit CurvePrediction(std::vector<CurvePart> parts) : parts_(std::move(parts)) {}
  /// The probability of a value of at most that; NaN where the values are too far apart for floating-point numbers.
  double below(double value) const;
  /// The value of at most which such a share is (above 0, below 1), by bisection.
  double quantile(double share) const;

private:
  std::vector<CurvePart> parts_;
};

/// The value after `unit`, of a training that said these, finite ones, after the units 1, 2, …; there are fewer than
/// `unit`, and at least one. `spread` is how much trainings differ, 0 or more: a tenth of it is noise.
CurvePrediction predictCurve(const std::vector<double> &values, int64_t unit, double spread);

/// The distance of the quartiles of values, 0 of fewer than four: how much trainings differ.
double quartileDistance(std::vector<double> values);

} // namespace accord::tuning
