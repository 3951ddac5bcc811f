#include "lib/sparsity/cost/CycleSum.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

/// Whole cycles, where what is missing to a whole number is rounding alone.
double wholeCycles(double cycles) { return std::ceil(cycles * (1 - 1e-13)); }

/// ln E[exp(s * cycles)], without overflow.
double logMoment(const Occupancy &cycles, double s) {
  // From the largest count that happens at all: beside one that does not, all others vanish.
  size_t last = cycles.probability.size() - 1;
  while (last > 0 && cycles.probability[last] <= 0)
    --last;
  const auto max = static_cast<double>(last);
  double sum = 0;
  for (size_t k = 0; k < cycles.probability.size(); ++k)
    sum += cycles.probability[k] * std::exp(s * (k - max));
  return s * max + std::log(sum);
}

} // namespace

PatternBlock patternBlockOf(const SparsityPattern &p) {
  switch (p.kind) {
  case SparsityPattern::Kind::Structured:
    if (p.transposable)
      return {p.of, p.of};
    return p.along == SparsityPattern::Along::Output ? PatternBlock{p.of, 1} : PatternBlock{1, p.of};
  case SparsityPattern::Kind::Block:
    return {p.blockRows, p.blockColumns};
  case SparsityPattern::Kind::Histogram:
    return {1, p.window};
  default:
    return {};
  }
}

double chernoffQuantile(const std::vector<EquivalentGroups> &groups, double confidence) {
  const double certain = -std::log1p(-confidence);
  double widest = 1;
  for (const EquivalentGroups &each : groups)
    widest = std::max(widest, each.weight * each.cycles.max());
  auto limit = [&](double logS) {
    const double s = std::exp(logS);
    double sum = certain;
    for (const EquivalentGroups &each : groups)
      sum += each.count * logMoment(each.cycles, s * each.weight);
    return sum / s;
  };
  // One valley in ln s; any s gives a limit that holds, so that where the search ends is no matter of trust.
  double low = std::log(1e-9 / widest), high = std::log(1e3 / widest);
  for (int i = 0; i < 60; ++i) {
    double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (limit(a) < limit(b))
      high = b;
    else
      low = a;
  }
  return limit((low + high) / 2);
}

ProductCycles shared(const CycleSum &sum, double engines, double setup, double confidence) {
  ProductCycles result;
  // Each engine takes its share of groups, and whole groups.
  auto perEngine = [&](double cycles) {
    return engines <= 1 || sum.groups <= 0 ? cycles : cycles / sum.groups * std::ceil(sum.groups / engines);
  };
  const double variance = std::max(0.0, sum.variance);
  const double sure = confidence + sum.failureProbability;
  double quantile =
      sure < 1 ? std::max(sum.mean, sum.meanUpperBound) + std::sqrt(variance * sure / (1 - sure)) : sum.dense;
  if (sum.allIndependent && variance > 0)
    quantile = std::min(quantile, chernoffQuantile(sum.equivalent, confidence));
  quantile = std::min(quantile, sum.dense);
  double max = engines <= 1 ? sum.dense : std::ceil(sum.groups / engines) * sum.longest;
  if (sum.onlyMaxIsCertain)
    quantile = sum.dense;
  if (engines > 1)
    quantile = std::min(max, (quantile + (engines - 1) * sum.longest) / engines);
  result.mean = perEngine(sum.mean) + setup;
  result.dense = perEngine(sum.dense);
  result.max = max + setup;
  result.deviation = std::sqrt(variance) / std::max(1.0, engines);
  result.quantile = wholeCycles(std::max(quantile + setup, result.mean));
  return result;
}

} // namespace accord
