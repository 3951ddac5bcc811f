#include "lib/vote/Survive.h"
#include <algorithm>
#include <bit>
#include <numeric>

namespace accord {
namespace {

/// Quorums of all sizes are compared up to so many members: 2^8 programs of the rest at most.
constexpr unsigned kAllQuorums = 9;

using Set = std::vector<unsigned>;

class Quorums {
public:
  Quorums(const ErrorFacts &facts, const VoteOptions &options)
      : facts(facts), options(options), members(static_cast<unsigned>(facts.alone.size())),
        rates(facts, options) {
    // Limits of rates hold for all quorums together; a table's is a test for each.
    this->options.tests = rates.tests;
    if (!facts.votes.empty())
      this->options.tests *= int64_t{1} << (std::min(members, 40u) - 1);
  }

  VoteLoss best(const Set &lost) {
    VoteLoss loss;
    loss.lost = lost;
    Set left;
    for (unsigned member = 0; member < members; ++member)
      if (!std::binary_search(lost.begin(), lost.end(), member))
        left.push_back(member);
    auto consider = [&](const Set &quorum) {
      Rational value = guaranteedOf(quorum);
      if (loss.quorum.empty() || value < loss.value ||
          (value == loss.value && quorum.size() < loss.quorum.size())) {
        loss.value = value;
        loss.quorum = quorum;
      }
    };
    if (left.size() <= kAllQuorums) {
      for (uint64_t mask = 1; mask < uint64_t{1} << left.size(); ++mask)
        if (std::popcount(mask) % 2) {
          Set quorum;
          for (size_t i = 0; i < left.size(); ++i)
            if (mask >> i & 1)
              quorum.push_back(left[i]);
          consider(quorum);
        }
      return loss;
    }
    Set order = left;
    std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      Rational left = rates.of({a}).rate, right = rates.of({b}).rate;
      return left != right ? left < right : a < b;
    });
    for (size_t size = 1; size <= order.size(); size += 2) {
      Set quorum(order.begin(), order.begin() + static_cast<ptrdiff_t>(size));
      std::sort(quorum.begin(), quorum.end());
      consider(quorum);
    }
    return loss;
  }

private:
  Rational guaranteedOf(const Set &quorum) {
    auto [found, added] = known.try_emplace(quorum, 1);
    if (!added)
      return found->second;
    VoteOptions own = options;
    own.kinds.clear();
    for (unsigned member : quorum)
      own.kinds.push_back(member < options.kinds.size() ? options.kinds[member] : member);
    return found->second = guaranteed(restricted(facts, quorum), own).value_or(1);
  }

  const ErrorFacts &facts;
  VoteOptions options;
  unsigned members;
  VoteRates rates;
  std::map<Set, Rational> known;
};

} // namespace

VoteSurvival survive(const ErrorFacts &facts, const std::vector<std::vector<unsigned>> &losses,
                     const VoteOptions &options) {
  VoteSurvival survival;
  if (facts.alone.empty() || facts.alone.size() > kMostVoters)
    return survival;
  Quorums quorums(facts, options);
  for (const Set &lost : losses) {
    survival.losses.push_back(quorums.best(lost));
    if (survival.losses.back().value > survival.losses[survival.worst].value)
      survival.worst = survival.losses.size() - 1;
  }
  return survival;
}

std::vector<std::vector<unsigned>> lossesOf(unsigned members, unsigned lost) {
  std::vector<Set> result;
  Set set(lost);
  std::iota(set.begin(), set.end(), 0u);
  while (lost <= members) {
    result.push_back(set);
    size_t i = lost;
    while (i > 0 && set[i - 1] == members - lost + static_cast<unsigned>(i) - 1)
      --i;
    if (i == 0)
      break;
    ++set[i - 1];
    for (; i < lost; ++i)
      set[i] = set[i - 1] + 1;
  }
  return result;
}

} // namespace accord
