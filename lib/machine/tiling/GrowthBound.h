// How little can pass a link when tiles must shrink to fit: what a range of tilings moves at least.
#pragma once
#include <cstdint>
#include <span>

namespace accord::tile {

/// One summand of a traffic: e^log, times e^growth of each of its loops.
struct GrowthTerm {
  double log = 0;
  uint32_t loops = 0; ///< mask
};

/// A lower bound of ln(sum over terms of e^(log + sum of growth_i over its loops)) over all growths
/// with 0 <= growth_i <= most[i] that sum to at least `least` over the loops of `shrinking` (to no
/// more than their `most` allow).
///
/// The logarithm of such a sum is convex, so each of its tangents is below it, and the least of a
/// tangent under one sum is a fractional knapsack. Tangents at the steps of Frank and Wolfe (Naval
/// Research Logistics Quarterly 3, 1956) approach the least; each alone is a bound.
double minGrowth(std::span<const GrowthTerm> terms, uint32_t shrinking, double min, const double *max);

} // namespace accord::tile
