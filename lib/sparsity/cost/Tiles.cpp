// Tiles of two operands that meet, and zeros that are skipped several at a time.
#include "lib/sparsity/cost/Occupancy.h"
#include <algorithm>

namespace accord {
namespace {

/// What is less likely changes no digit that is printed.
constexpr double kNegligible = 1e-18;

bool sameParts(const TileParts &a, const TileParts &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].length != b[i].length)
      return false;
  return true;
}

/// All parts as one, in which every place is equally likely.
TilePart merged(const TileParts &parts) {
  if (parts.size() == 1)
    return parts.front();
  TilePart one;
  one.of = total(parts);
  one.length = one.of.max();
  return one;
}

Occupancy overlapOfParts(const TilePart &a, const TilePart &b) {
  // Of two operands it is enough that the places of one are equally likely; where both come in runs, whole runs meet.
  int64_t run = a.run == b.run ? a.run : 1;
  Occupancy result;
  result.probability.assign(static_cast<size_t>(a.length) + 1, 0.0);
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
        result.probability[k * static_cast<size_t>(run)] += both * meet.probability[k];
    }
  return result;
}

/// A part of runs of `part.run`, of which granules of whole runs are skipped together.
TilePart granulesOf(const TilePart &part, int64_t granule) {
  TilePart result{part.length, {}, part.length % granule == 0 ? granule : 1};
  result.of.probability.assign(static_cast<size_t>(part.length) + 1, 0.0);
  const auto runs = static_cast<size_t>(part.length / part.run);
  const int64_t inGranule = granule / part.run;
  // state[left][covered]: runs that are not zero among those that follow, and granules that are not zero so far.
  std::vector<std::vector<double>> state(runs + 1, std::vector<double>{0.0});
  for (size_t j = 0; j <= runs; ++j)
    state[j][0] = part.of.probability[j * static_cast<size_t>(part.run)];
  size_t granules = 0;
  int64_t after = runs;
  for (; after > inGranule; after -= inGranule, ++granules) {
    std::vector<std::vector<double>> next(runs + 1, std::vector<double>(granules + 2, 0.0));
    for (size_t left = 0; left <= runs && left <= static_cast<size_t>(after); ++left) {
      double any = 0;
      for (double each : state[left])
        any = std::max(any, each);
      if (any <= kNegligible)
        continue;
      Occupancy here = hypergeometric(after, left, inGranule);
      for (size_t x = 0; x < here.probability.size() && x <= left; ++x)
        for (size_t c = 0; c < state[left].size(); ++c)
          next[left - x][c + (x > 0)] += state[left][c] * here.probability[x];
    }
    state = std::move(next);
  }
  for (size_t left = 0; left <= static_cast<size_t>(after) && left <= runs; ++left)
    for (size_t c = 0; c < state[left].size(); ++c) {
      int64_t elements = static_cast<int64_t>(c) * granule + (left > 0 ? after * part.run : 0);
      result.of.probability[elements] += state[left][c];
    }
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
    TilePart one{length, {}, length};
    one.of.probability.assign(static_cast<size_t>(length) + 1, 0.0);
    one.of.probability.front() = zero;
    one.of.probability.back() += 1 - zero;
    result.push_back(one);
    length = 0;
    zero = 1;
  }
  return result;
}

} // namespace

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
  bool whole = true; // every part is whole granules
  for (const TilePart &part : parts)
    whole &= part.length % granule == 0;
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
      TilePart max{part.length, {}, 1};
      max.of.probability.assign(static_cast<size_t>(part.length) + 1, 0.0);
      int64_t touched = ((part.run + granule - 2) / granule + 1) * granule;
      for (int64_t k = 0; k <= part.length; ++k)
        max.of.probability[std::min(part.length, k / part.run * touched)] += part.of.probability[k];
      result.push_back(max);
    }
  }
  return result;
}

} // namespace accord
