// Joint distributions of wrong members drawn at random, and all vertices of small programs.
#pragma once
#include "lib/ensembles/problem/Ensemble.h"
#include <bit>
#include <random>

namespace accord::test {

inline Rational ratio(int64_t a, int64_t b) { return Rational(a) / Rational(b); }

inline std::vector<unsigned> membersOf(uint64_t mask) {
  std::vector<unsigned> set;
  for (unsigned member = 0; mask >> member; ++member)
    if (mask >> member & 1)
      set.push_back(member);
  return set;
}

/// By pattern of wrong members a weight.
struct JointAtRandom {
  unsigned members;
  std::vector<int64_t> weights;
  int64_t sum = 0;

  /// Few patterns have a weight, mostly those with few wrong members, so that bounds are met.
  JointAtRandom(std::mt19937 &draw, unsigned members) : members(members), weights(1u << members) {
    unsigned sparse = 1 + draw() % 4;
    for (uint64_t pattern = 0; pattern < weights.size(); ++pattern)
      if (draw() % sparse == 0)
        weights[pattern] = static_cast<int64_t>(draw() % (1 + (60 >> std::popcount(pattern))));
    weights[0] += 1 + static_cast<int64_t>(draw() % 200);
    for (int64_t weight : weights)
      sum += weight;
  }

  Rational all(const std::vector<unsigned> &set) const {
    uint64_t mask = 0;
    for (unsigned member : set)
      mask |= uint64_t{1} << member;
    int64_t wrong = 0;
    for (uint64_t pattern = 0; pattern < weights.size(); ++pattern)
      if ((pattern & mask) == mask)
        wrong += weights[pattern];
    return ratio(wrong, sum);
  }
  Rational failureProbability() const {
    int64_t wrong = 0;
    for (uint64_t pattern = 0; pattern < weights.size(); ++pattern)
      if (2 * static_cast<unsigned>(std::popcount(pattern)) >= members)
        wrong += weights[pattern];
    return ratio(wrong, sum);
  }

  /// All members' rates, and those of other sets with a chance of `share` percent up to a size.
  ErrorStatistics statistics(std::mt19937 &draw, unsigned share, unsigned largest) const {
    ErrorStatistics statistics;
    for (unsigned i = 0; i < members; ++i)
      statistics.memberErrors.push_back({all({i}), 0});
    for (uint64_t mask = 0; mask < weights.size(); ++mask) {
      auto size = static_cast<unsigned>(std::popcount(mask));
      if (size < 2 || size > largest || draw() % 100 >= share)
        continue;
      std::vector<unsigned> set = membersOf(mask);
      statistics.jointErrors[set] = {all(set), 0};
    }
    return statistics;
  }
};

/// The most of objective * x over all x >= 0 with matrix * x = sides, by solving for every set of
/// columns; nothing: there is no x.
class AllVertices {
public:
  std::vector<std::vector<Rational>> columns;
  std::vector<Rational> sides, objective;

  std::optional<Rational> max() {
    best.reset();
    std::vector<std::vector<Rational>> rows(sides.size());
    for (size_t i = 0; i < sides.size(); ++i) {
      for (const auto &column : columns)
        rows[i].push_back(column[i]);
      rows[i].push_back(sides[i]);
    }
    search(std::move(rows), 0, 0);
    return best;
  }

private:
  /// Gauss-Jordan: rows before `done` are solved for a column each. Column `next` is in or out.
  void search(std::vector<std::vector<Rational>> rows, size_t done, size_t next) {
    if (next == columns.size()) {
      Rational value = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        if (i >= done ? !rows[i].back().isZero() : rows[i].back().sign() < 0)
          return;
        if (i < done)
          value = value + objective[in[i]] * rows[i].back();
      }
      if (!best || value > *best)
        best = value;
      return;
    }
    search(rows, done, next + 1);
    size_t pivot = done;
    while (pivot < rows.size() && rows[pivot][next].isZero())
      ++pivot;
    if (pivot == rows.size())
      return;
    std::swap(rows[done], rows[pivot]);
    Rational by = rows[done][next];
    for (Rational &entry : rows[done])
      entry = entry / by;
    for (size_t i = 0; i < rows.size(); ++i)
      if (Rational times = rows[i][next]; i != done && !times.isZero())
        for (size_t j = 0; j < rows[i].size(); ++j)
          rows[i][j] = rows[i][j] - times * rows[done][j];
    in.resize(done);
    in.push_back(next);
    search(std::move(rows), done + 1, next + 1);
    in.resize(done);
  }

  std::vector<size_t> in;
  std::optional<Rational> best;
};

} // namespace accord::test
