#include "lib/machine/collectives/Terms.h"
#include <algorithm>
#include <cmath>

namespace accord {

void LevelSum::add(const std::vector<double> &levels, double times) {
  size_t used = 0, last = 0;
  for (size_t l = 0; l < levels.size(); ++l)
    if (levels[l] != 0)
      ++used, last = l;
  if (used == 1)
    alone[last] += levels[last] * times;
  if (used < 2)
    return;
  auto &round = among.emplace_back(levels);
  for (double &level : round)
    level *= times;
}

void LevelSum::add(const LevelSum &other, double times) {
  for (size_t l = 0; l < alone.size(); ++l)
    alone[l] += other.alone[l] * times;
  for (const auto &round : other.among)
    add(round, times);
}

double LevelSum::at(const std::vector<double> &x) const {
  double sum = 0;
  for (size_t l = 0; l < alone.size(); ++l)
    sum += alone[l] * x[l];
  for (const auto &round : among) {
    double most = 0;
    for (size_t l = 0; l < round.size(); ++l)
      most = std::max(most, round[l] * x[l]);
    sum += most;
  }
  return sum;
}

int64_t piecesFor(int64_t depth, double a, double cs) {
  auto time = [&](double m) { return (static_cast<double>(depth) + m - 1) * (a + cs / m); };
  double best = a > 0 ? std::sqrt(static_cast<double>(depth - 1) * cs / a) : kMostPieces;
  double low = std::clamp(std::floor(best), 1.0, kMostPieces),
         high = std::min(low + 1, kMostPieces);
  return static_cast<int64_t>(time(high) < time(low) ? high : low);
}

double CollectiveTerms::at(double payload, const std::vector<double> &latencies,
                           const std::vector<double> &ratios) const {
  double time = alpha.at(latencies) + beta.at(ratios) * payload;
  for (const Tree &tree : trees) {
    double a = tree.alpha.at(latencies), cs = tree.beta.at(ratios) * payload;
    auto m = static_cast<double>(piecesFor(tree.depth, a, cs));
    time += (static_cast<double>(tree.depth) + m - 1) * (a + cs / m);
  }
  return time;
}

namespace {

/// Level by level: no less than the sum (`upper`), or no more.
std::vector<double> byLevel(const LevelSum &sum, bool upper, bool outermost) {
  std::vector<double> levels = sum.alone;
  for (const auto &round : sum.among)
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
std::vector<double> bound(const CollectiveTerms &way, bool upper, bool outermost) {
  LevelSum alpha = way.alpha, beta = way.beta;
  for (const auto &tree : way.trees) { // one piece at least, and all bytes once
    alpha.add(tree.alpha, static_cast<double>(tree.depth));
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

std::vector<CollectiveTerms> undominated(const std::vector<CollectiveTerms> &ways) {
  std::vector<bool> out(ways.size());
  for (size_t w = 0; w < ways.size(); ++w)
    for (size_t v = 0; v < ways.size() && !out[w]; ++v) {
      if (v == w || out[v] || !ways[v].trees.empty())
        continue;
      auto most = bound(ways[v], true, false);
      out[w] =
          noMore(most, bound(ways[w], false, false)) || noMore(most, bound(ways[w], false, true));
    }
  std::vector<CollectiveTerms> left;
  for (size_t w = 0; w < ways.size(); ++w)
    if (!out[w])
      left.push_back(ways[w]);
  return left;
}

} // namespace accord
