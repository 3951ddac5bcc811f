#include "lib/machine/collectives/CollectiveTerms.h"
#include <algorithm>
#include <cmath>

namespace accord {

void LevelSum::add(const std::vector<double> &levels, double times) {
  size_t used = 0, last = 0;
  for (size_t l = 0; l < levels.size(); ++l)
    if (levels[l] != 0)
      ++used, last = l;
  if (used == 1)
    perLevel[last] += levels[last] * times;
  if (used < 2)
    return;
  auto &round = maxOverLevels.emplace_back(levels);
  for (double &level : round)
    level *= times;
}

void LevelSum::add(const LevelSum &other, double times) {
  for (size_t l = 0; l < perLevel.size(); ++l)
    perLevel[l] += other.perLevel[l] * times;
  for (const auto &round : other.maxOverLevels)
    add(round, times);
}

double LevelSum::at(const std::vector<double> &x) const {
  double sum = 0;
  for (size_t l = 0; l < perLevel.size(); ++l)
    sum += perLevel[l] * x[l];
  for (const auto &round : maxOverLevels) {
    double upperBound = 0;
    for (size_t l = 0; l < round.size(); ++l)
      upperBound = std::max(upperBound, round[l] * x[l]);
    sum += upperBound;
  }
  return sum;
}

int64_t piecesFor(int64_t depth, double a, double cs) {
  auto time = [&](double m) { return (depth + m - 1) * (a + cs / m); };
  double best = a > 0 ? std::sqrt((depth - 1) * cs / a) : kMaxPieces;
  double low = std::clamp(std::floor(best), 1.0, kMaxPieces), high = std::min(low + 1, kMaxPieces);
  return time(high) < time(low) ? high : low;
}

double CollectiveTerms::at(double payload, const std::vector<double> &latencies,
                           const std::vector<double> &ratios) const {
  double time = alpha.at(latencies) + beta.at(ratios) * payload;
  for (const Tree &tree : trees) {
    double a = tree.alpha.at(latencies), cs = tree.beta.at(ratios) * payload;
    double m = piecesFor(tree.depth, a, cs);
    time += (tree.depth + m - 1) * (a + cs / m);
  }
  return time;
}

namespace {

/// Level by level: no less than the sum (`upper`), or no more.
std::vector<double> byLevel(const LevelSum &sum, bool upper, bool outermost) {
  std::vector<double> levels = sum.perLevel;
  for (const auto &round : sum.maxOverLevels)
    if (upper) { // a maximum is at most what all are together, and at least any of them
      for (size_t l = 0; l < round.size(); ++l)
        levels[l] += round[l];
    } else {
      size_t chosen = outermost ? round.size() - 1 : 0;
      while (round[chosen] == 0)
        chosen += outermost ? -1 : 1;
      levels[chosen] += round[chosen];
    }
  return levels;
}

/// Latencies, then seconds per byte, both by level.
std::vector<double> bound(const CollectiveTerms &alternative, bool upper, bool outermost) {
  LevelSum alpha = alternative.alpha, beta = alternative.beta;
  for (const auto &tree : alternative.trees) { // one piece at least, and all bytes once
    alpha.add(tree.alpha, tree.depth);
    beta.add(tree.beta, 1);
  }
  std::vector<double> all = byLevel(alpha, upper, outermost);
  for (double level : byLevel(beta, upper, outermost))
    all.push_back(level);
  return all;
}

bool noMore(const std::vector<double> &a, const std::vector<double> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] > b[i] * (1 + 1e-15)) // sums of the same shares in another order
      return false;
  return true;
}

} // namespace

std::vector<CollectiveTerms> nondominated(const std::vector<CollectiveTerms> &alternatives) {
  std::vector<bool> out(alternatives.size());
  for (size_t w = 0; w < alternatives.size(); ++w)
    for (size_t v = 0; v < alternatives.size() && !out[w]; ++v) {
      if (v == w || out[v] || !alternatives[v].trees.empty())
        continue;
      auto upperBound = bound(alternatives[v], true, false);
      out[w] = noMore(upperBound, bound(alternatives[w], false, false)) ||
               noMore(upperBound, bound(alternatives[w], false, true));
    }
  std::vector<CollectiveTerms> left;
  for (size_t w = 0; w < alternatives.size(); ++w)
    if (!out[w])
      left.push_back(alternatives[w]);
  return left;
}

} // namespace accord
