// Strategies beside each other.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include <limits>

namespace accord {

/// What all searches of a problem together know.
struct ComparisonReference {
  double best = std::numeric_limits<double>::infinity(); ///< least value that was found
  double bound = 0;                                      ///< no design of the space is worth less
  bool proven() const { return bound >= best; }
};
ComparisonReference comparisonReference(const MiningPlan &plan);

/// A search has converged where its incumbent is so near the best.
constexpr double kNearBest = 0.01;
/// When it had; nothing: never.
std::optional<ConvergencePoint> converged(const MiningResult &result, double best);

} // namespace accord
