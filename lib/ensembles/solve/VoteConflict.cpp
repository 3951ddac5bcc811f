#include "lib/ensembles/solve/BoundDescriptions.h"
#include "lib/ensembles/solve/PatternProgram.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

using Sets = std::vector<std::vector<unsigned>>;

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
  std::vector<size_t> groupOf(rates.members);
  for (size_t g = 0; g < bound.groups.size(); ++g)
    for (unsigned member : bound.groups[g])
      groupOf[member] = g;
  std::erase_if(rates.known, [&](const auto &entry) {
    std::vector<unsigned> counts(bound.groups.size());
    for (unsigned member : entry.first)
      ++counts[groupOf[member]];
    return std::none_of(bound.multipliers.begin(), bound.multipliers.end(),
                        [&](const VoteTerm &term) { return term.counts == counts; });
  });
}

/// How often all of a set are wrong, at least and at most.
std::optional<std::pair<Rational, Rational>> rangeOf(VoteRates rates, const std::vector<unsigned> &set) {
  rates.known[set] = {0, true};
  auto groups = interchangeable(rates); // in the set or not, all members of each
  rates.known.erase(set);
  if (patternsOf(groups) > kMaxPatterns)
    return std::nullopt;
  PatternProgram program(rates, groups);
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
