// Votes of one input, beside going through all that may still arrive.
#include "lib/voting/problem/VoteCount.h"
#include "lib/support/SplitMix.h"
#include <gtest/gtest.h>
#include <map>

using namespace accord;
using namespace accord::voting;

namespace {

VotingConfig configOf(VoteRule rule, const std::vector<int64_t> &weights, int64_t classes, int64_t quorum) {
  VotingConfig config;
  config.name = "e", config.classes = classes, config.rule = rule, config.quorum = quorum;
  for (int64_t weight : weights)
    config.members.push_back({.name = std::to_string(config.members.size()), .url = "", .weight = weight});
  return config;
}

/// The label of votes, counted anew: -1 is no vote.
int64_t labelOf(const VotingConfig &config, const std::vector<int64_t> &votes) {
  std::map<int64_t, int64_t> sums;
  for (size_t i = 0; i < votes.size(); ++i)
    if (votes[i] >= 0)
      sums[votes[i]] += config.rule == VoteRule::Majority ? 1 : config.members[i].weight;
  int64_t best = 0, max = 0;
  for (auto [label, sum] : sums) // ascending: of equal ones the smallest
    if (sum > max)
      best = label, max = sum;
  return best;
}

/// All completions of votes from `at` on of those that are still open (-2): arrived with each label, or not.
void eachCompletion(const VotingConfig &config, std::vector<int64_t> votes, size_t at,
                    const std::function<void(const std::vector<int64_t> &)> &take) {
  while (at < votes.size() && votes[at] != -2)
    ++at;
  if (at == votes.size())
    return take(votes);
  for (int64_t label = -1; label < config.classes; ++label) {
    votes[at] = label;
    eachCompletion(config, votes, at + 1, take);
  }
}

TEST(VoteCount, DecidesWhatAllVotesWould) {
  SplitMix random(7);
  size_t early = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t members = 1 + random.below(5);
    std::vector<int64_t> weights;
    for (size_t i = 0; i < members; ++i)
      weights.push_back(1 + static_cast<int64_t>(random.below(4)));
    VotingConfig config = configOf(random.below(2) ? VoteRule::Majority : VoteRule::Weighted, weights,
                                   2 + static_cast<int64_t>(random.below(2)), 1);
    config.quorum = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(config.totalWeight())));
    VoteCount count(config);
    std::vector<int64_t> votes(members, -2);
    for (size_t left = members; left > 0; --left) {
      size_t member = random.below(members);
      while (votes[member] != -2)
        member = (member + 1) % members;
      votes[member] = static_cast<int64_t>(random.below(static_cast<uint64_t>(config.classes) + 1)) - 1;
      if (votes[member] >= 0)
        count.add(member, {.label = votes[member]});
      else
        count.drop(member);
      bool mayReach = false, isSame = true;
      eachCompletion(config, votes, 0, [&](const std::vector<int64_t> &all) {
        int64_t weight = 0;
        for (size_t i = 0; i < members; ++i)
          weight += all[i] >= 0 ? config.weightOf(i) : 0;
        mayReach |= weight >= config.quorum;
        isSame &= labelOf(config, all) == count.label();
      });
      EXPECT_EQ(count.isHopeless(), !mayReach);
      if (count.isCertain())
        EXPECT_TRUE(isSame && count.hasQuorum());
      early += count.isCertain() && left > 1;
    }
    EXPECT_TRUE(count.isComplete());
    EXPECT_EQ(count.isCertain(), count.hasQuorum());
    EXPECT_EQ(count.label(), labelOf(config, votes));
  }
  EXPECT_GT(early, 300u);
}

TEST(VoteCount, ThirdEqualVoteOfFiveIsEnough) {
  const VotingConfig config = configOf(VoteRule::Majority, {1, 1, 1, 1, 1}, 10, 3);
  VoteCount count(config);
  for (size_t i : {4u, 2u})
    count.add(i, {.label = 6});
  EXPECT_FALSE(count.isCertain());
  count.add(0, {.label = 1});
  EXPECT_FALSE(count.isCertain());
  count.add(1, {.label = 6});
  EXPECT_TRUE(count.isCertain());
  EXPECT_EQ(count.label(), 6);
}

TEST(VoteCount, SoftVotesAreMeansByWeight) {
  const VotingConfig config = configOf(VoteRule::Soft, {1, 3}, 3, 1);
  VoteCount count(config);
  count.add(0, {.label = 0, .probabilities = {0.8, 0.2, 0}});
  EXPECT_EQ(count.label(), 0);
  EXPECT_FALSE(count.isCertain());
  count.add(1, {.label = 1, .probabilities = {0.3, 0.4, 0.3}});
  // (0.8 + 0.9) / 4, (0.2 + 1.2) / 4, 0.9 / 4
  const std::vector<double> shares = count.shares();
  EXPECT_NEAR(shares[0], 0.425, 1e-12);
  EXPECT_NEAR(shares[1], 0.35, 1e-12);
  EXPECT_NEAR(shares[2], 0.225, 1e-12);
  EXPECT_EQ(count.label(), 0);
  EXPECT_TRUE(count.isCertain());
}

TEST(VoteCount, SoftVotesAreTheSameInAnyOrder) {
  const VotingConfig config = configOf(VoteRule::Soft, {1, 1, 1}, 2, 1);
  const double third = 1.0 / 3;
  const std::vector<MemberVote> votes{{0, {0.1, 0.9}}, {0, {third, 1 - third}}, {1, {0.7, 0.3}}};
  std::vector<size_t> order{0, 1, 2};
  std::vector<double> first;
  do {
    VoteCount count(config);
    for (size_t i : order)
      count.add(i, votes[i]);
    if (first.empty())
      first = count.shares();
    EXPECT_EQ(count.shares(), first);
  } while (std::next_permutation(order.begin(), order.end()));
}

} // namespace
