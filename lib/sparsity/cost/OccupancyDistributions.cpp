// Distributions of counts: what is drawn, added, compared and rounded.
#include "lib/sparsity/cost/Occupancy.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

/// Probabilities from `low` on, out of the ratio of each to the one before it; the likeliest one is where ratios pass
/// 1.
template <typename Ratio> Occupancy fromRatios(int64_t max, int64_t low, int64_t high, int64_t mode, Ratio ratio) {
  Occupancy result;
  std::vector<double> &p = result.probability;
  p.assign(static_cast<size_t>(max) + 1, 0.0);
  p[static_cast<size_t>(mode)] = 1;
  for (int64_t k = mode + 1; k <= high; ++k)
    p[static_cast<size_t>(k)] = p[static_cast<size_t>(k - 1)] * ratio(k);
  for (int64_t k = mode; k > low; --k)
    p[static_cast<size_t>(k - 1)] = p[static_cast<size_t>(k)] / ratio(k);
  double whole = 0;
  for (double each : p)
    whole += each;
  for (double &each : p)
    each /= whole;
  return result;
}

} // namespace

double Occupancy::mean() const {
  double sum = 0;
  for (size_t k = 0; k < probability.size(); ++k)
    sum += k * probability[k];
  return sum;
}

double Occupancy::variance() const {
  double middle = mean(), sum = 0;
  for (size_t k = 0; k < probability.size(); ++k)
    sum += (k - middle) * (k - middle) * probability[k];
  return sum;
}

double Occupancy::atMost(int64_t c) const {
  if (c >= max())
    return 1;
  double sum = 0;
  for (int64_t k = 0; k <= c; ++k)
    sum += probability[k];
  return std::min(1.0, sum);
}

int64_t Occupancy::quantile(double confidence) const {
  double sum = 0;
  for (int64_t k = 0; k < max(); ++k) {
    sum += probability[k];
    if (sum >= confidence && confidence < 1)
      return k;
  }
  return max();
}

Occupancy hypergeometric(int64_t elements, int64_t nonZeros, int64_t draws) {
  const auto n = static_cast<double>(elements), kept = static_cast<double>(nonZeros),
             sampled = static_cast<double>(draws);
  int64_t low = std::max<int64_t>(0, nonZeros - (elements - draws)), high = std::min(nonZeros, draws);
  auto mode = static_cast<int64_t>((kept + 1) * (sampled + 1) / (n + 2));
  return fromRatios(draws, low, high, std::clamp(mode, low, high), [&](int64_t at) {
    const auto k = static_cast<double>(at);
    return (kept - k + 1) * (sampled - k + 1) / (k * (n - kept - sampled + k));
  });
}

Occupancy binomial(int64_t draws, double probability) {
  if (probability <= 0 || probability >= 1) {
    Occupancy result;
    result.probability.assign(static_cast<size_t>(draws) + 1, 0.0);
    result.probability[probability <= 0 ? 0 : static_cast<size_t>(draws)] = 1;
    return result;
  }
  const auto n = static_cast<double>(draws);
  auto mode = std::clamp<int64_t>(static_cast<int64_t>((n + 1) * probability), 0, draws);
  return fromRatios(draws, 0, draws, mode, [&](int64_t at) {
    const auto k = static_cast<double>(at);
    return (n - k + 1) / k * (probability / (1 - probability));
  });
}

Occupancy sum(const Occupancy &a, const Occupancy &b) {
  Occupancy result;
  result.probability.assign(a.probability.size() + b.probability.size() - 1, 0.0);
  for (size_t i = 0; i < a.probability.size(); ++i)
    if (a.probability[i] > 0)
      for (size_t j = 0; j < b.probability.size(); ++j)
        result.probability[i + j] += a.probability[i] * b.probability[j];
  return result;
}

Occupancy times(const Occupancy &one, int64_t count) {
  Occupancy result, power = one;
  for (; count > 0; count /= 2) {
    if (count % 2)
      result = sum(result, power);
    if (count > 1)
      power = sum(power, power);
  }
  return result;
}

Occupancy largest(const std::vector<Occupancy> &counts) {
  Occupancy result;
  for (const Occupancy &each : counts)
    if (each.probability.size() > result.probability.size())
      result.probability.resize(each.probability.size());
  std::vector<double> below(counts.size(), 0.0);
  double before = 0;
  for (size_t c = 0; c < result.probability.size(); ++c) {
    double all = 1;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (c < counts[i].probability.size())
        below[i] += counts[i].probability[c];
      all *= below[i];
    }
    result.probability[c] = std::max(0.0, all - before);
    before = all;
  }
  return result;
}

Occupancy rounds(const Occupancy &count, int64_t slots) {
  Occupancy result;
  result.probability.assign(static_cast<size_t>((count.max() + slots - 1) / slots) + 1, 0.0);
  for (int64_t k = 0; k <= count.max(); ++k)
    result.probability[(k + slots - 1) / slots] += count.probability[k];
  return result;
}

} // namespace accord
