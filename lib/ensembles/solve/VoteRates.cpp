#include "lib/ensembles/solve/VoteRates.h"
#include "lib/support/ClopperPearson.h"
#include <algorithm>
#include <set>

namespace accord {
namespace {

bool isSet(const std::vector<unsigned> &set, unsigned members) {
  return !set.empty() && set.back() < members &&
         std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) == set.end();
}

} // namespace

VoteRates::VoteRates(const ErrorStatistics &statistics, const VoteOptions &options)
    : members(static_cast<unsigned>(statistics.memberErrors.size())) {
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
  tests = options.tests > 0 ? options.tests : std::max<int64_t>(1, table ? 1 : static_cast<int64_t>(measured.size()));
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

} // namespace accord
