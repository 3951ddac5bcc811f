#include "lib/ensembles/solve/Patterns.h"
#include "lib/ensembles/solve/PatternProgram.h"
#include <algorithm>
#include <numeric>

namespace accord {

std::vector<std::vector<unsigned>> interchangeable(const VoteRates &rates) {
  auto equivalent = [&](unsigned a, unsigned b) {
    return std::all_of(rates.known.begin(), rates.known.end(), [&](const auto &entry) {
      std::vector<unsigned> set = entry.first;
      for (unsigned &member : set)
        member = member == a ? b : member == b ? a : member;
      std::sort(set.begin(), set.end());
      auto found = rates.known.find(set);
      return found != rates.known.end() && found->second.rate == entry.second.rate &&
             found->second.exact == entry.second.exact;
    });
  };
  std::vector<std::vector<unsigned>> groups;
  for (unsigned i = 0; i < rates.members; ++i) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto &other) { return equivalent(other.front(), i); });
    if (group == groups.end())
      groups.push_back({i});
    else
      group->push_back(i);
  }
  return groups;
}

uint64_t patternsOf(const std::vector<std::vector<unsigned>> &groups) {
  uint64_t product = 1;
  for (const auto &group : groups)
    if (product <= kMaxPatterns)
      product *= group.size() + 1;
  return product;
}

int64_t choose(unsigned n, unsigned k) {
  if (k > n)
    return 0;
  unsigned __int128 result = 1;
  for (unsigned i = 0; i < std::min(k, n - k); ++i)
    result = result * (n - i) / (i + 1);
  return static_cast<int64_t>(result);
}

PatternProgram::PatternProgram(const VoteRates &rates, std::vector<std::vector<unsigned>> in) : groups(std::move(in)) {
  std::vector<size_t> groupOf(rates.members);
  for (size_t g = 0; g < groups.size(); ++g)
    for (unsigned member : groups[g])
      groupOf[member] = g;
  std::map<std::vector<unsigned>, VoteRate> sums;
  for (const auto &[set, rate] : rates.known) {
    std::vector<unsigned> counts(groups.size());
    for (unsigned member : set)
      ++counts[groupOf[member]];
    auto [sum, added] = sums.try_emplace(counts, VoteRate{0, true});
    sum->second.rate = sum->second.rate + rate.rate;
    sum->second.exact &= rate.exact;
  }
  fill(sums);
}

PatternProgram::PatternProgram(std::vector<std::vector<unsigned>> in,
                               const std::map<std::vector<unsigned>, VoteRate> &sums)
    : groups(std::move(in)) {
  fill(sums);
}

void PatternProgram::fill(const std::map<std::vector<unsigned>, VoteRate> &sums) {
  for (const auto &[counts, sum] : sums) {
    sets.push_back(counts);
    program.rows.push_back({sum.rate, sum.exact});
  }
  std::vector<unsigned> wrong(groups.size());
  while (true) {
    ExactProgram::Column column;
    for (size_t s = 0; s < sets.size(); ++s) {
      int64_t times = 1;
      for (size_t g = 0; g < groups.size() && times; ++g)
        times *= choose(wrong[g], sets[s][g]);
      if (times)
        column.entries.push_back({static_cast<unsigned>(s), times});
    }
    program.columns.push_back(std::move(column));
    patterns.push_back(wrong);
    size_t g = 0;
    for (; g < groups.size() && wrong[g] == groups[g].size(); ++g)
      wrong[g] = 0;
    if (g == groups.size())
      break;
    ++wrong[g];
  }
}

PatternBound PatternProgram::solve() const {
  ExactSolution solution = maximize(program);
  PatternBound bound;
  bound.groups = groups;
  bound.feasible = solution.feasible;
  bound.complete = solution.complete;
  bound.value = solution.value;
  bound.constant = solution.constant;
  for (size_t s = 0; s < sets.size(); ++s)
    if (solution.multipliers[s].sign())
      bound.multipliers.push_back({sets[s], solution.multipliers[s]});
  for (size_t p = 0; p < solution.x.size(); ++p)
    if (solution.x[p].sign())
      bound.attained.push_back({patterns[p], solution.x[p]});
  return bound;
}

void PatternProgram::countWrong(unsigned enough) {
  for (size_t p = 0; p < patterns.size(); ++p)
    program.columns[p].objective = std::accumulate(patterns[p].begin(), patterns[p].end(), 0u) >= enough;
}

std::optional<PatternBound> maxFailureProbability(const VoteRates &rates, unsigned enough) {
  auto groups = interchangeable(rates);
  if (patternsOf(groups) > kMaxPatterns)
    return std::nullopt;
  PatternProgram program(rates, std::move(groups));
  program.countWrong(enough);
  return program.solve();
}

PatternBound maxFailureProbabilityByMoments(const VoteRates &rates, unsigned enough) {
  std::vector<unsigned> all(rates.members);
  std::iota(all.begin(), all.end(), 0u);
  std::map<unsigned, size_t> knownOf;
  std::map<std::vector<unsigned>, VoteRate> sums;
  auto add = [&](unsigned size, const VoteRate &rate) {
    auto &sum = sums.try_emplace({size}, VoteRate{0, true}).first->second;
    sum.rate = sum.rate + rate.rate;
    sum.exact &= rate.exact;
  };
  for (const auto &[set, rate] : rates.known)
    ++knownOf[set.size()];
  for (const auto &[set, rate] : rates.known)
    if (auto size = static_cast<unsigned>(set.size());
        size > 2 && knownOf[size] == static_cast<uint64_t>(choose(rates.members, size)))
      add(size, rate);
  for (unsigned i : all) {
    add(1, rates.of({i}));
    for (unsigned j = i + 1; j < rates.members; ++j)
      add(2, rates.of({i, j}));
  }
  PatternProgram program({all}, sums);
  program.countWrong(enough);
  PatternBound bound = program.solve();
  bound.attained.clear();
  return bound;
}

} // namespace accord
