// Regression of values that come in groups: rates of models, of families of models, on types of devices.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace accord::prediction {

/// A random effect. Its covariance between two rows is the square of a scale times its kernel.
struct Effect {
  std::string name;
  double median = 1; ///< of the prior of the scale, which is log-normal; more than 0
  double spread = 1; ///< standard deviation of the logarithm of the scale; 0: the scale is its median
};

/// Kernel of an effect, by number, between two rows, by number. It is symmetric, and each effect's matrix of kernels
/// has no negative eigenvalue.
using Kernel = std::function<double(size_t effect, size_t first, size_t second)>;

/// A normal distribution of several values.
struct Normal {
  std::vector<double> mean;
  std::vector<double> covariance; ///< row by row
  size_t size() const { return mean.size(); }
  double variance(size_t i) const { return covariance[i * size() + i]; }
  double covarianceOf(size_t i, size_t j) const { return covariance[i * size() + j]; }
};

/// The distribution of all values where those at `known` (each once) are `values`: those keep no variance.
Normal condition(const Normal &normal, const std::vector<size_t> &known, const std::vector<double> &values);

/// A linear mixed model: values are a sum of normal random effects and independent noise, which is a Gaussian process
/// whose kernel is a sum (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2 and 5.4).
/// Rows have numbers that the caller gives them. Deterministic.
class MixedModel {
public:
  /// Rows by which scales are chosen, at most; evenly spaced ones are taken of more.
  static constexpr size_t kMaxRows = 600;

  /// `noise`: standard deviation of what repeated measurements of one row differ by; more than 0.
  MixedModel(std::vector<Effect> effects, Kernel kernel, double noise);

  /// Chooses scales of the largest posterior density, marginal likelihood times prior, by coordinate ascent over steps
  /// of 4, 2 and root 2 from the medians: a local maximum. `values` are of `rows`, less what the caller knows of
  /// their mean. Without rows, scales stay at their medians.
  void fit(const std::vector<size_t> &rows, const std::vector<double> &values);
  const std::vector<double> &scales() const { return scaleOf; } ///< by effect
  void setScales(std::vector<double> scales) { scaleOf = std::move(scales); }
  /// Logarithm of the marginal likelihood of values, without its constant.
  double logLikelihood(const std::vector<size_t> &rows, const std::vector<double> &values) const;

  /// The distribution of measured values at `queries`, with noise, where those at `rows` are known.
  Normal predict(const std::vector<size_t> &rows, const std::vector<double> &values,
                 const std::vector<size_t> &queries) const;

  /// Of each row the distribution of its value where all rows of its group are unknown and those of the other groups
  /// are known, by blocks of the inverse covariance (Rasmussen and Williams, 2006, section 5.4.2, for groups).
  struct LeftOut {
    double mean = 0, variance = 0;
  };
  std::vector<LeftOut> leaveGroupsOut(const std::vector<size_t> &rows, const std::vector<double> &values,
                                      const std::vector<std::string> &groups) const;

private:
  std::vector<Effect> effects;
  Kernel kernel;
  double noise;
  std::vector<double> scaleOf;
};

} // namespace accord::prediction
