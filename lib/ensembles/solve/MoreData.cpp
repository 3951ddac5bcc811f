#include "lib/ensembles/solve/MoreData.h"
#include "lib/support/ClopperPearson.h"
#include "lib/support/FirstWhere.h"
#include <algorithm>
#include <bit>

namespace accord {
namespace {

constexpr int64_t kMaxSamples = 1'000'000'000;
constexpr unsigned kSteps = 50; // of Newton's; a few are enough for most

/// A number from first to last that `holds`, where the one before it does not: the smallest if all
/// after one hold. Nothing: none was found.
template <typename F> std::optional<int64_t> findSmallest(int64_t first, int64_t last, F holds) {
  int64_t step = 1, at = first;
  for (; !holds(at); step *= 2) {
    if (at == last)
      return std::nullopt;
    first = at + 1;
    at = last - at > step ? at + step : last;
  }
  return firstWhere(first, at, holds);
}

/// The facts with every set of `size` members that nothing is known of wrong together at most so
/// often: as if a limit of that were known.
VoteRates with(VoteRates rates, unsigned size, const Rational &max) {
  std::vector<unsigned> set(size);
  auto fill = [&](auto &&self, unsigned at, unsigned from) -> void {
    if (at == size) {
      rates.known.try_emplace(set, VoteRate{max, false});
      return;
    }
    for (unsigned member = from; member < rates.members; ++member) {
      set[at] = member;
      self(self, at + 1, member + 1);
    }
  };
  fill(fill, 0, 0);
  return rates;
}

PatternBound boundOf(const VoteRates &rates) {
  unsigned enough = (rates.members + 1) / 2;
  auto bound = maxFailureProbability(rates, enough);
  return bound && bound->complete ? *bound : maxFailureProbabilityByMoments(rates, enough);
}

/// The sum of multiplier * `number(rate)` over all sets that `counts(set)`.
template <typename C, typename F>
Rational weightedSum(const PatternBound &bound, const VoteRates &rates, C counts, F number) {
  std::map<std::vector<unsigned>, Rational> multipliers;
  for (const VoteTerm &term : bound.multipliers)
    multipliers[term.counts] = term.value;
  Rational sum = 0;
  for (const auto &[set, rate] : rates.known) {
    if (!counts(set))
      continue;
    if (auto found = multipliers.find(countsByGroup(bound.groups, set)); found != multipliers.end())
      sum = sum + found->second * number(rate.rate);
  }
  return sum;
}

/// The greatest rate of all unknown sets of a size that certifies what is required, rounded down to
/// a millionth. The bound is concave in it: what multipliers say of another rate is never below, so
/// that Newton's steps from 0 stay on the safe side; those of a contradiction say where one ends.
std::optional<Rational> maxJointError(const VoteRates &rates, unsigned size, const Rational &required) {
  const Rational million = 1'000'000;
  if (rates.members < std::max(3u, size) || with(rates, size, 1).known.size() == rates.known.size())
    return std::nullopt;
  Rational rate = 0;
  std::optional<Rational> enough;
  for (unsigned step = 0; step < kSteps; ++step) {
    VoteRates more = with(rates, size, rate);
    PatternBound bound = boundOf(more);
    if (bound.feasible && bound.value > required)
      break;
    if (bound.feasible)
      enough = rate;
    Rational gain = weightedSum(
        bound, more, [&](const auto &set) { return !rates.known.contains(set); },
        [](const Rational &) { return Rational(1); });
    Rational room = bound.feasible ? required - bound.value : -bound.value;
    if (gain.sign() <= 0 || room.isZero())
      break;
    rate = rate + room / gain;
    if (rate > Rational(1) || (enough && (rate * million).floor() == (*enough * million).floor()))
      break;
  }
  if (!enough)
    return std::nullopt;
  Rational result = (*enough * million).floor() / million;
  if (result.isZero() || !boundOf(with(rates, size, result)).feasible)
    return std::nullopt;
  return result;
}

/// With so many samples of every rate that was measured.
ErrorStatistics resampled(ErrorStatistics statistics, int64_t samples) {
  for (ErrorRate &rate : statistics.memberErrors)
    if (rate.samples > 0)
      rate.samples = samples;
  for (auto &[set, rate] : statistics.jointErrors)
    if (rate.samples > 0)
      rate.samples = samples;
  return statistics;
}

/// More samples than `now` of each rate.
std::optional<int64_t> samplesOfRates(const ErrorStatistics &statistics, const Rational &required, int64_t now,
                                      const VoteOptions &options) {
  auto holds = [&](int64_t samples) {
    auto value = guaranteed(resampled(statistics, samples), options);
    return value && *value <= required;
  };
  if (now >= kMaxSamples || holds(now) || !holds(kMaxSamples))
    return std::nullopt;
  // Few programs are solved where they are large: multipliers of one hold for all numbers of
  // samples.
  int64_t samples = kMaxSamples;
  for (unsigned step = 0; step < kSteps; ++step) {
    PatternBound bound = boundOf(VoteRates(resampled(statistics, samples), options));
    if (statistics.independent || !bound.feasible || bound.value > required || bound.groups.size() == 1)
      return findSmallest(now + 1, samples, holds);
    auto fewer = findSmallest(now + 1, samples, [&](int64_t other) {
      VoteRates rates(resampled(statistics, other), options);
      Rational value =
          weightedSum(bound, rates, [](const auto &) { return true; }, [](const Rational &rate) { return rate; });
      return bound.constant + value <= required;
    });
    if (!fewer || (*fewer == samples && !holds(samples - 1)))
      return samples;
    samples = std::min(*fewer, samples - 1);
  }
  return samples;
}

} // namespace

std::optional<int64_t> samplesNeeded(const Rational &rate, const Rational &required, const Rational &delta) {
  if (rate >= required || delta.sign() <= 0)
    return std::nullopt;
  // With so many wrong ones so many samples; they are enough if their share is `rate` or more.
  auto samplesOf = [&](int64_t wrong) {
    int64_t minSamples = (Rational(wrong) / required).ceil().toInt64().value_or(kMaxSamples);
    return findSmallest(std::min(std::max(minSamples, wrong + 1), kMaxSamples), kMaxSamples,
                        [&](int64_t samples) { return upperLimit(wrong, samples, delta) <= required; });
  };
  auto enough = findSmallest(0, kMaxSamples, [&](int64_t wrong) {
    auto samples = samplesOf(wrong);
    return !samples || rate * Rational(*samples) <= Rational(wrong);
  });
  return enough ? samplesOf(*enough) : std::nullopt;
}

MoreData moreData(const ErrorStatistics &statistics, const Rational &required, const VoteOptions &options,
                  int64_t testsOfTable) {
  MoreData more;
  VoteRates rates(statistics, options);
  if (rates.members == 0 || rates.members > kMaxEnsembleMembers)
    return more;
  constexpr unsigned kMaxForTriples = 15; // 455 sets of three
  more.pairs = maxJointError(rates, 2, required);
  if (rates.members <= kMaxForTriples)
    more.triples = maxJointError(rates, 3, required);
  if (!rates.limits.empty()) {
    int64_t now = 1;
    for (const VoteLimit &limit : rates.limits)
      now = std::max(now, limit.samples);
    VoteOptions same = options;
    same.tests = rates.tests;
    more.samples = samplesOfRates(statistics, required, now, same);
  }
  Rational delta = (Rational(1) - options.confidence) / Rational(std::max<int64_t>({1, options.tests, testsOfTable}));
  more.tableRate = required / Rational(2);
  if (!statistics.votes.empty()) {
    int64_t wrong = 0, all = 0;
    for (auto [pattern, count] : statistics.votes) {
      all += count;
      if (2 * unsigned(std::popcount(pattern)) >= rates.members)
        wrong += count;
    }
    if (all > 0)
      more.tableRate = Rational(wrong) / Rational(all);
  }
  if (statistics.votes.empty()) // else it is known that some are
    more.tableNoneWrong = samplesNeeded(0, required, delta);
  more.table = samplesNeeded(more.tableRate, required, delta);
  return more;
}

} // namespace accord
