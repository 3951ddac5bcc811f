#include "lib/ensembles/solve/Patterns.h"
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/search/Simplex.h"
#include "lib/support/ClopperPearson.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace accord {

namespace {

bool isSet(const std::vector<unsigned> &set, unsigned members) {
  return !set.empty() && set.back() < members &&
         std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) == set.end();
}

} // namespace

VoteRates::VoteRates(const ErrorStatistics &statistics, const VoteOptions &options)
    : members(statistics.memberErrors.size()) {
  std::map<std::vector<unsigned>, ErrorRate> all;
  for (unsigned i = 0; i < members; ++i)
    all[{i}] = statistics.memberErrors[i];
  for (const auto &[set, rate] : statistics.jointErrors)
    if (set.size() > 1 && isSet(set, members))
      all[set] = rate;
  // Measured once for each multiset of kinds.
  std::set<std::pair<std::vector<unsigned>, std::pair<Rational, int64_t>>> measured;
  for (const auto &[set, rate] : all)
    if (rate.samples > 0) {
      std::vector<unsigned> kinds;
      for (unsigned i : set)
        kinds.push_back(i < options.kinds.size() ? options.kinds[i] : i);
      std::sort(kinds.begin(), kinds.end());
      measured.insert({kinds, {rate.rate, rate.samples}});
    }
  bool table = !statistics.votes.empty();
  tests = options.tests > 0 ? options.tests : std::max<int64_t>(1, table ? 1 : measured.size());
  delta = (Rational(1) - options.confidence) / Rational(tests);
  for (const auto &[set, rate] : all) {
    if (rate.samples == 0) {
      known[set] = {rate.rate, true};
    } else if (rate.samples > 0 && !table) {
      auto wrong = (rate.rate * Rational(rate.samples)).ceil().toInt64();
      VoteLimit limit{wrong ? *wrong : rate.samples, rate.samples, 1};
      auto same = std::find_if(limits.begin(), limits.end(), [&](const VoteLimit &other) {
        return other.wrong == limit.wrong && other.samples == limit.samples;
      });
      if (same == limits.end()) {
        limit.limit = upperLimit(limit.wrong, limit.samples, delta);
        same = limits.insert(same, limit);
      }
      known[set] = {same->limit, false};
    }
  }
}

VoteRate VoteRates::of(const std::vector<unsigned> &set) const {
  if (auto found = known.find(set); found != known.end())
    return found->second;
  VoteRate min{1, false};
  for (const auto &[other, rate] : known)
    if (rate.rate < min.rate && std::includes(set.begin(), set.end(), other.begin(), other.end()))
      min.rate = rate.rate;
  return min;
}

std::vector<std::vector<unsigned>> interchangeable(const VoteRates &rates,
                                                   llvm::function_ref<bool(unsigned, unsigned)> alike) {
  auto equivalent = [&](unsigned a, unsigned b) {
    if (alike && !alike(a, b))
      return false;
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

std::vector<unsigned> countsByGroup(const std::vector<std::vector<unsigned>> &groups,
                                    const std::vector<unsigned> &set) {
  std::vector<unsigned> counts;
  for (const auto &group : groups)
    counts.push_back(std::ranges::count_if(set, [&](unsigned member) { return llvm::is_contained(group, member); }));
  return counts;
}

namespace {

using Sets = std::vector<std::vector<unsigned>>;
/// The sum of the rates of all sets with so many members of each group.
using Sums = std::map<std::vector<unsigned>, VoteRate>;

void add(Sums &sums, const std::vector<unsigned> &counts, const VoteRate &rate) {
  VoteRate &sum = sums.try_emplace(counts, VoteRate{0, true}).first->second;
  sum.rate = sum.rate + rate.rate;
  sum.exact &= rate.exact;
}

Sums sumsOf(const VoteRates &rates, const Sets &groups) {
  Sums sums;
  for (const auto &[set, rate] : rates.known)
    add(sums, countsByGroup(groups, set), rate);
  return sums;
}

/// Numbers of wrong members by group that are told apart.
uint64_t patternsOf(const Sets &groups) {
  uint64_t product = 1;
  for (const auto &group : groups)
    if (product <= kMaxPatterns)
      product *= group.size() + 1;
  return product;
}

/// n over k; exact for n up to 63.
int64_t choose(unsigned n, unsigned k) {
  if (k > n)
    return 0;
  unsigned __int128 result = 1;
  for (unsigned i = 0; i < std::min(k, n - k); ++i)
    result = result * (n - i) / (i + 1);
  return result;
}

/// The linear program over patterns of wrong members, told apart by how many of each group are wrong: a row for each
/// sum of rates, a column for each pattern.
struct PatternProgram {
  PatternProgram(Sets in, const Sums &sums) : groups(std::move(in)) {
    for (const auto &[counts, sum] : sums) {
      sets.push_back(counts);
      program.rows.push_back({sum.rate, sum.exact});
    }
    std::vector<unsigned> wrong(groups.size());
    while (true) {
      ExactProgram::Column column;
      for (unsigned s = 0; s < sets.size(); ++s) {
        int64_t times = 1;
        for (size_t g = 0; g < groups.size() && times; ++g)
          times *= choose(wrong[g], sets[s][g]);
        if (times)
          column.entries.push_back({s, times});
      }
      program.columns.push_back(std::move(column));
      patterns.push_back(wrong);
      size_t g = 0;
      for (; g < groups.size() && wrong[g] == groups[g].size(); ++g)
        wrong[g] = 0;
      if (g == groups.size())
        return;
      ++wrong[g];
    }
  }

  /// The most that patterns of so many wrong members or more can have.
  PatternBound solve(unsigned enough) {
    for (size_t p = 0; p < patterns.size(); ++p)
      program.columns[p].objective = std::accumulate(patterns[p].begin(), patterns[p].end(), 0u) >= enough;
    return solve();
  }
  /// The most of the objective that columns have, over `scale`.
  PatternBound solve(const Rational &scale = 1) {
    ExactSolution solution = maximize(program);
    PatternBound bound{
        groups, solution.feasible, solution.complete, solution.value / scale, solution.constant / scale, {}, {}};
    for (size_t s = 0; s < sets.size(); ++s)
      if (solution.multipliers[s].sign())
        bound.multipliers.push_back({sets[s], solution.multipliers[s] / scale});
    for (size_t p = 0; p < solution.x.size(); ++p)
      if (solution.x[p].sign())
        bound.attained.push_back({patterns[p], solution.x[p]});
    return bound;
  }

  Sets groups, sets, patterns; ///< sets of rows, patterns of columns
  ExactProgram program;
};

} // namespace

std::optional<PatternBound> maxFailureProbability(const VoteRates &rates, unsigned enough) {
  auto groups = interchangeable(rates);
  if (patternsOf(groups) > kMaxPatterns)
    return std::nullopt;
  return PatternProgram(groups, sumsOf(rates, groups)).solve(enough);
}

std::optional<PatternBound> maxFailureShare(const VoteRates &rates, const Sets &groups,
                                            llvm::function_ref<Rational(const std::vector<unsigned> &)> share) {
  if (patternsOf(groups) > kMaxPatterns)
    return std::nullopt;
  PatternProgram program(groups, sumsOf(rates, groups));
  const int64_t scale = 1'000'000'000'000;
  for (size_t p = 0; p < program.patterns.size(); ++p)
    program.program.columns[p].objective =
        (share(program.patterns[p]) * Rational(scale)).ceil().toInt64().value_or(scale);
  return program.solve(Rational(scale));
}

PatternBound maxFailureProbabilityByMoments(const VoteRates &rates, unsigned enough) {
  std::vector<unsigned> all(rates.members);
  std::iota(all.begin(), all.end(), 0u);
  std::map<unsigned, int64_t> knownOf;
  Sums sums;
  for (const auto &[set, rate] : rates.known)
    ++knownOf[set.size()];
  for (const auto &[set, rate] : rates.known)
    if (unsigned size = set.size(); size > 2 && knownOf[size] == choose(rates.members, size))
      add(sums, {size}, rate);
  for (unsigned i : all) {
    add(sums, {1}, rates.of({i}));
    for (unsigned j = i + 1; j < rates.members; ++j)
      add(sums, {2}, rates.of({i, j}));
  }
  PatternBound bound = PatternProgram({all}, sums).solve(enough);
  bound.attained.clear();
  return bound;
}

namespace {

/// The contradiction among the rates; nothing: there is none, or none that is found.
std::optional<PatternBound> contradiction(const VoteRates &rates) {
  // Any objective will do; that of the vote leads there quickly.
  unsigned enough = (rates.members + 1) / 2;
  auto bound = maxFailureProbability(rates, enough);
  if (!bound || (!bound->complete && bound->feasible))
    bound = maxFailureProbabilityByMoments(rates, enough);
  return bound->feasible ? std::nullopt : std::optional(std::move(*bound));
}

/// Leaves the sets that the multipliers of a contradiction use.
void keepUsed(VoteRates &rates, const PatternBound &bound) {
  std::erase_if(rates.known, [&](const auto &entry) {
    return std::ranges::find(bound.multipliers, countsByGroup(bound.groups, entry.first), &VoteTerm::counts) ==
           bound.multipliers.end();
  });
}

/// How often all of a set are wrong, at least and at most.
std::optional<std::pair<Rational, Rational>> rangeOf(VoteRates rates, const std::vector<unsigned> &set) {
  rates.known[set] = {0, true};
  auto groups = interchangeable(rates); // in the set or not, all members of each
  rates.known.erase(set);
  if (patternsOf(groups) > kMaxPatterns)
    return std::nullopt;
  PatternProgram program(groups, sumsOf(rates, groups));
  Rational ends[2];
  for (int sign : {-1, 1}) {
    for (size_t p = 0; p < program.patterns.size(); ++p) {
      bool all = true;
      for (size_t g = 0; g < groups.size(); ++g)
        if (std::binary_search(set.begin(), set.end(), groups[g].front()))
          all &= program.patterns[p][g] == groups[g].size();
      program.program.columns[p].objective = all ? sign : 0;
    }
    ExactSolution solution = maximize(program.program);
    if (!solution.feasible || !solution.complete)
      return std::nullopt;
    ends[sign > 0] = solution.value;
  }
  return std::pair(-ends[0], ends[1]);
}

std::optional<VoteConflict> dependent(const VoteRates &rates, const VoteCertificate &certificate) {
  for (const auto &[set, rate] : rates.known) {
    if (set.size() < 2 || !rate.exact)
      continue;
    Rational product = 1;
    bool exact = true;
    Sets sets;
    for (unsigned member : set) {
      VoteRate one = rates.of({member});
      product = product * one.rate;
      exact &= one.exact;
      sets.push_back({member});
    }
    if (!exact || product == rate.rate)
      continue;
    sets.push_back(set);
    return VoteConflict{sets, std::pair(product, product), true, certificate};
  }
  return std::nullopt;
}

} // namespace

std::optional<VoteConflict> conflictOf(const ErrorStatistics &statistics, const VoteOptions &options) {
  if (statistics.memberErrors.empty() || statistics.memberErrors.size() > kMaxEnsembleMembers)
    return std::nullopt;
  VoteRates all(statistics, options);
  VoteCertificate certificate;
  certificate.statistics = statistics;
  certificate.kinds = options.kinds;
  certificate.confidence = options.confidence;
  certificate.tests = all.tests;
  certificate.limits = all.limits;
  certificate.proof = VoteCertificate::Proof::Contradiction;
  VoteRates rates = all;
  auto found = contradiction(rates);
  if (!found)
    return statistics.independent ? dependent(all, certificate) : std::nullopt;
  keepUsed(rates, *found);
  Sets sets;
  for (const auto &[set, rate] : rates.known)
    sets.push_back(set);
  auto smaller = [](const auto &a, const auto &b) { return a.size() != b.size() ? a.size() < b.size() : a < b; };
  std::sort(sets.rbegin(), sets.rend(), smaller);
  for (const auto &set : sets) { // what still contradicts without one does not need it
    auto entry = rates.known.find(set);
    if (entry == rates.known.end())
      continue;
    VoteRate rate = entry->second;
    rates.known.erase(entry);
    if (auto without = contradiction(rates)) {
      found = std::move(without);
      keepUsed(rates, *found);
    } else {
      rates.known[set] = rate;
    }
  }
  VoteConflict conflict;
  for (const auto &[set, rate] : rates.known)
    conflict.sets.push_back(set);
  std::sort(conflict.sets.begin(), conflict.sets.end(), smaller);
  VoteRates others = rates;
  others.known.erase(conflict.sets.back());
  conflict.range = rangeOf(others, conflict.sets.back());
  // Groups and multipliers are those of these rates alone; the others do not matter.
  found = contradiction(rates);
  certificate.value = found->value;
  certificate.groups = found->groups;
  certificate.constant = found->constant;
  certificate.multipliers = found->multipliers;
  conflict.certificate = std::move(certificate);
  return conflict;
}

std::string text(const VoteConflict &conflict, const std::vector<std::string> &names) {
  VoteOptions options{conflict.certificate.confidence, conflict.certificate.tests, conflict.certificate.kinds};
  VoteRates rates(conflict.certificate.statistics, options);
  std::string result =
      conflict.independent ? "errors are stated to be independent, but " : "no joint distribution exists with ";
  for (size_t i = 0; i < conflict.sets.size(); ++i) {
    VoteRate rate = rates.of(conflict.sets[i]);
    result += i == 0 ? "" : i + 1 < conflict.sets.size() ? ", " : " and ";
    result += fmt::format("{} {}{}", nameOf(conflict.sets[i], names), rate.exact ? "" : "at most ", rate.rate.print());
  }
  if (!conflict.range)
    return result;
  auto [low, high] = *conflict.range;
  std::string last = nameOf(conflict.sets.back(), names);
  return result + (low == high ? fmt::format(": {} would be {}", last, low.print())
                               : fmt::format(": {} would have to be from {} to {}", last, low.print(), high.print()));
}

} // namespace accord
