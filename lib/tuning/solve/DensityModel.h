// Where good configurations are dense: the model of BOHB.
//
// Of the configurations with values, the best 15 % are the good ones, the others the bad ones. Each set has a density:
// a kernel around each of its points, a Gaussian by number (Scott's rule for the width), Aitchison and Aitken's kernel
// by choice. A configuration is drawn near a good one, 64 times, and the one with the largest ratio of the densities of
// good and bad is proposed (Falkner et al., BOHB, ICML 2018; Bergstra et al., NeurIPS 2011).
#pragma once
#include "lib/tuning/problem/SearchSpace.h"
#include <functional>
#include <optional>

namespace accord::tuning {

/// A configuration with its value; smaller is better, and what is not finite is worse than all others.
struct ScoredPoint {
  CubePoint point;
  double loss = 0;
};

/// A product of kernels in each dimension, mixed over points. Points are in the cube.
class KernelDensity {
public:
  KernelDensity(const SearchSpace &space, std::vector<CubePoint> points);
  /// The density at a point: of numbers by volume of the cube (cut off at its faces), of choices a probability.
  double at(const CubePoint &point) const;
  /// A point near one of its own, with kernels `widening` times as wide.
  CubePoint draw(SplitMix &random, double widening) const;

private:
  const SearchSpace &space_;
  std::vector<CubePoint> points_;
  std::vector<double> widths_;  ///< by dimension; of a choice the probability of another one
  std::vector<double> factors_; ///< by point: what its Gaussians are divided by, so that their part in the cube is 1
};

/// Nothing where there are too few points: each density needs more than there are dimensions.
/// Where `among` has points, one of those is proposed. With `price`, which is above 0, the ratio for each unit of it
/// counts.
std::optional<CubePoint> proposeByDensity(const SearchSpace &space, std::vector<ScoredPoint> points, SplitMix &random,
                                          const std::vector<CubePoint> &among = {},
                                          const std::function<double(const CubePoint &)> &price = {});
/// So many points the model needs.
size_t minDensityPoints(const SearchSpace &space);

} // namespace accord::tuning
