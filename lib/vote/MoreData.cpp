#include "lib/vote/MoreData.h"
#include "lib/statistics/ClopperPearson.h"
#include <algorithm>
#include <bit>

namespace accord {
namespace {

constexpr int64_t kMostSamples = 1'000'000'000;

/// A number from first to last that `holds`, where the one before it does not: the least if all
/// after one hold. Nothing: none was found.
template <typename F> std::optional<int64_t> least(int64_t first, int64_t last, F holds) {
  int64_t step = 1, at = first;
  for (; !holds(at); step *= 2) {
    if (at == last)
      return std::nullopt;
    first = at + 1;
    at = last - at > step ? at + step : last;
  }
  while (first < at) {
    int64_t middle = first + (at - first) / 2;
    if (holds(middle))
      at = middle;
    else
      first = middle + 1;
  }
  return at;
}

/// The facts with every set of `size` members that nothing is known of wrong together at most so
/// often: as if a limit of that were known.
VoteRates with(VoteRates rates, unsigned size, const Rational &most) {
  std::vector<unsigned> set(size);
  auto fill = [&](auto &&self, unsigned at, unsigned from) -> void {
    if (at == size) {
      rates.known.try_emplace(set, VoteRate{most, false});
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
  auto bound = mostWrong(rates, enough);
  return bound && bound->complete ? *bound : mostWrongByMoments(rates, enough);
}

/// The greatest rate of all unknown sets of a size that certifies what is required, in steps of a
/// millionth.
std::optional<Rational> jointAtMost(const VoteRates &rates, unsigned size,
                                    const Rational &required) {
  constexpr int64_t kSteps = 1'000'000;
  if (rates.members < std::max(3u, size) || with(rates, size, 1).known.size() == rates.known.size())
    return std::nullopt;
  // Rates that others contradict are no answer, but lead to one.
  bool feasible = false;
  auto fewer = least(1, kSteps, [&](int64_t less) {
    Rational rate = Rational(kSteps - less) / Rational(kSteps);
    PatternBound bound = boundOf(with(rates, size, rate));
    bool holds = !bound.feasible || bound.value <= required;
    if (holds)
      feasible = bound.feasible;
    return holds;
  });
  if (!fewer || !feasible)
    return std::nullopt;
  return Rational(kSteps - *fewer) / Rational(kSteps);
}

/// With so many samples of every rate that was measured.
ErrorFacts resampled(ErrorFacts facts, int64_t samples) {
  for (ErrorRate &rate : facts.alone)
    if (rate.samples > 0)
      rate.samples = samples;
  for (auto &[set, rate] : facts.together)
    if (rate.samples > 0)
      rate.samples = samples;
  return facts;
}

} // namespace

std::optional<int64_t> samplesNeeded(const Rational &rate, const Rational &required,
                                     const Rational &delta) {
  if (rate >= required || delta.sign() <= 0)
    return std::nullopt;
  // With so many wrong ones so many samples; they are enough if their share is `rate` or more.
  auto samplesOf = [&](int64_t wrong) {
    int64_t fewest = (Rational(wrong) / required).ceil().toInt64().value_or(kMostSamples);
    return least(std::min(std::max(fewest, wrong + 1), kMostSamples), kMostSamples,
                 [&](int64_t samples) { return upperLimit(wrong, samples, delta) <= required; });
  };
  auto enough = least(0, kMostSamples, [&](int64_t wrong) {
    auto samples = samplesOf(wrong);
    return !samples || rate * Rational(*samples) <= Rational(wrong);
  });
  return enough ? samplesOf(*enough) : std::nullopt;
}

MoreData moreData(const ErrorFacts &facts, const Rational &required, const VoteOptions &options) {
  MoreData more;
  VoteRates rates(facts, options);
  if (rates.members == 0 || rates.members > kMostVoters)
    return more;
  constexpr unsigned kMostForTriples = 15; // 455 sets of three
  more.pairs = jointAtMost(rates, 2, required);
  if (rates.members <= kMostForTriples)
    more.triples = jointAtMost(rates, 3, required);
  if (!rates.limits.empty()) {
    int64_t now = 1;
    for (const VoteLimit &limit : rates.limits)
      now = std::max(now, limit.samples);
    VoteOptions same = options;
    same.tests = rates.tests;
    auto needed = least(1, kMostSamples, [&](int64_t samples) {
      auto value = guaranteed(resampled(facts, samples), same);
      return value && *value <= required;
    });
    if (needed && *needed > now)
      more.samples = needed;
  }
  Rational delta =
      (Rational(1) - options.confidence) / Rational(std::max<int64_t>(1, options.tests));
  more.tableRate = required / Rational(2);
  if (!facts.votes.empty()) {
    int64_t wrong = 0, all = 0;
    for (auto [pattern, count] : facts.votes) {
      all += count;
      if (2 * static_cast<unsigned>(std::popcount(pattern)) >= rates.members)
        wrong += count;
    }
    if (all > 0)
      more.tableRate = Rational(wrong) / Rational(all);
  }
  more.tableNoneWrong = samplesNeeded(0, required, delta);
  more.table = samplesNeeded(more.tableRate, required, delta);
  return more;
}

} // namespace accord
