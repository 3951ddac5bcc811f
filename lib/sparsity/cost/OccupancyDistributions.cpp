// Distributions of counts: what is drawn, added, compared and rounded; tiles of two operands that meet, and zeros that
// are skipped several at a time.
#include "lib/sparsity/cost/Occupancy.h"
#include <algorithm>
#include <numeric>

namespace accord {
namespace {

/// What is less likely changes no digit that is printed.
constexpr double kNegligible = 1e-18;

/// Probabilities from `low` on, out of the ratio of each to the one before it; the likeliest one is where ratios pass
/// 1.
template <typename Ratio> Occupancy fromRatios(int64_t max, int64_t low, int64_t high, int64_t mode, Ratio ratio) {
  Occupancy result = certain(max, mode);
  std::vector<double> &p = result.probability;
  for (int64_t k = mode + 1; k <= high; ++k)
    p[k] = p[k - 1] * ratio(k);
  for (int64_t k = mode; k > low; --k)
    p[k - 1] = p[k] / ratio(k);
  const double whole = std::accumulate(p.begin(), p.end(), 0.0);
  for (double &each : p)
    each /= whole;
  return result;
}

bool sameParts(const TileParts &a, const TileParts &b) {
  return std::ranges::equal(a, b, {}, &TilePart::length, &TilePart::length);
}

/// All parts as one, in which every place is equally likely.
TilePart merged(const TileParts &parts) {
  if (parts.size() == 1)
    return parts.front();
  Occupancy all = total(parts);
  return {all.max(), std::move(all), 1};
}

Occupancy overlapOfParts(const TilePart &a, const TilePart &b) {
  // Of two operands it is enough that the places of one are equally likely; where both come in runs, whole runs meet.
  int64_t run = a.run == b.run ? a.run : 1;
  Occupancy result = emptyOccupancy(a.length);
  for (int64_t i = 0; i <= a.length; i += run)
    for (int64_t j = 0; j <= b.length; j += run) {
      double both = a.of.probability[i] * b.of.probability[j];
      if (both <= kNegligible)
        continue;
      if (i == a.length || j == b.length) {
        result.probability[std::min(i, j)] += both;
        continue;
      }
      Occupancy meet = hypergeometric(a.length / run, i / run, j / run);
      for (size_t k = 0; k < meet.probability.size(); ++k)
        result.probability[k * run] += both * meet.probability[k];
    }
  return result;
}

/// A part of runs of `part.run`, of which granules of whole runs are skipped together.
TilePart granulesOf(const TilePart &part, int64_t granule) {
  TilePart result{part.length, emptyOccupancy(part.length), part.length % granule == 0 ? granule : 1};
  const int64_t runs = part.length / part.run, inGranule = granule / part.run;
  // state[left][covered]: runs that are not zero among those that follow, and granules that are not zero so far.
  std::vector<std::vector<double>> state(runs + 1, std::vector<double>{0.0});
  for (int64_t j = 0; j <= runs; ++j)
    state[j][0] = part.of.probability[j * part.run];
  int64_t granules = 0, after = runs;
  for (; after > inGranule; after -= inGranule, ++granules) {
    std::vector<std::vector<double>> next(runs + 1, std::vector<double>(granules + 2, 0.0));
    for (int64_t left = 0; left <= after; ++left) {
      if (std::ranges::max(state[left]) <= kNegligible)
        continue;
      Occupancy here = hypergeometric(after, left, inGranule);
      for (int64_t x = 0; x <= std::min(here.max(), left); ++x)
        for (size_t c = 0; c < state[left].size(); ++c)
          next[left - x][c + (x > 0)] += state[left][c] * here.probability[x];
    }
    state = std::move(next);
  }
  for (int64_t left = 0; left <= after; ++left)
    for (size_t c = 0; c < state[left].size(); ++c)
      result.of.probability[c * granule + (left > 0 ? after * part.run : 0)] += state[left][c];
  return result;
}

/// Parts put together to granules, where granules are whole parts: one for each granule, which is zero if all of it is.
/// Nothing where borders do not meet.
TileParts joinTiles(const TileParts &parts, int64_t granule) {
  TileParts result;
  int64_t length = 0;
  double zero = 1;
  for (size_t i = 0; i < parts.size(); ++i) {
    length += parts[i].length;
    zero *= parts[i].of.probability.front();
    bool last = i + 1 == parts.size();
    if (length > granule)
      return {};
    if (length < granule && !last)
      continue;
    result.push_back({length, allOrNone(length, zero, 1 - zero), length});
    length = 0;
    zero = 1;
  }
  return result;
}

} // namespace

Error notSkipped(std::string message) { return {Code::NotSkipped, std::move(message), {}, {}}; }

Occupancy emptyOccupancy(int64_t max) {
  Occupancy none;
  none.probability.assign(max + 1, 0.0);
  return none;
}

Occupancy certain(int64_t max, int64_t count) {
  Occupancy one = emptyOccupancy(max);
  one.probability[count] = 1;
  return one;
}

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

Occupancy hypergeometric(int64_t elements, int64_t nonZeros, int64_t draws) {
  const double n = number(elements), kept = number(nonZeros), sampled = number(draws);
  int64_t low = std::max<int64_t>(0, nonZeros - (elements - draws)), high = std::min(nonZeros, draws);
  const int64_t mode = (kept + 1) * (sampled + 1) / (n + 2);
  return fromRatios(draws, low, high, std::clamp(mode, low, high),
                    [&](double k) { return (kept - k + 1) * (sampled - k + 1) / (k * (n - kept - sampled + k)); });
}

Occupancy binomial(int64_t draws, double probability) {
  if (probability <= 0 || probability >= 1)
    return certain(draws, probability <= 0 ? 0 : draws);
  const double n = number(draws);
  auto mode = std::clamp<int64_t>((n + 1) * probability, 0, draws);
  return fromRatios(draws, 0, draws, mode,
                    [&](double k) { return (n - k + 1) / k * (probability / (1 - probability)); });
}

Occupancy allOrNone(int64_t max, double none, double all) {
  Occupancy either = certain(max, 0);
  either.probability.front() = none;
  either.probability.back() += all;
  return either;
}

Occupancy sum(const Occupancy &a, const Occupancy &b) {
  Occupancy result = emptyOccupancy(a.max() + b.max());
  for (size_t i = 0; i < a.probability.size(); ++i)
    if (a.probability[i] > 0)
      for (size_t j = 0; j < b.probability.size(); ++j)
        result.probability[i + j] += a.probability[i] * b.probability[j];
  return result;
}

Occupancy rounds(const Occupancy &count, int64_t slots) {
  Occupancy result = emptyOccupancy(divideUp(count.max(), slots));
  for (int64_t k = 0; k <= count.max(); ++k)
    result.probability[divideUp(k, slots)] += count.probability[k];
  return result;
}

Occupancy total(const TileParts &parts) {
  Occupancy all;
  for (const TilePart &part : parts)
    all = sum(all, part.of);
  return all;
}

Occupancy overlap(const TileParts &a, const TileParts &b) {
  if (!sameParts(a, b))
    return overlapOfParts(merged(a), merged(b));
  Occupancy all;
  for (size_t i = 0; i < a.size(); ++i)
    all = sum(all, overlapOfParts(a[i], b[i]));
  return all;
}

TileParts inGranules(const TileParts &parts, int64_t granule) {
  if (granule <= 1)
    return parts;
  const bool whole = std::ranges::all_of(parts, [&](const TilePart &part) { return part.length % granule == 0; });
  if (!whole && parts.size() > 1)
    if (TileParts result = joinTiles(parts, granule); !result.empty())
      return result;
  const TileParts pieces = whole ? parts : TileParts{merged(parts)};
  TileParts result;
  for (const TilePart &part : pieces) {
    if (part.run % granule == 0)
      result.push_back(part);
    else if (granule % part.run == 0)
      result.push_back(granulesOf(part, granule));
    else { // runs across the borders of granules: no more than each run touches
      TilePart max{part.length, emptyOccupancy(part.length), 1};
      int64_t touched = ((part.run + granule - 2) / granule + 1) * granule;
      for (int64_t k = 0; k <= part.length; ++k)
        max.of.probability[std::min(part.length, k / part.run * touched)] += part.of.probability[k];
      result.push_back(max);
    }
  }
  return result;
}

} // namespace accord
