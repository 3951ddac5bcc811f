// Votes after losses, and what more would have to be known.
#include "VoteRandom.h"
#include "lib/statistics/ClopperPearson.h"
#include "lib/vote/MoreData.h"
#include "lib/vote/Survive.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

ErrorFacts equal(unsigned members, const Rational &error, std::optional<Rational> pair = {}) {
  ErrorFacts facts;
  for (unsigned i = 0; i < members; ++i) {
    facts.alone.push_back({error, 0});
    for (unsigned j = 0; pair && j < i; ++j)
      facts.together[{j, i}] = {*pair, 0};
  }
  return facts;
}

TEST(VoteSurvive, SetsThatMayBeLost) {
  EXPECT_EQ(lossesOf(3, 0), (std::vector<std::vector<unsigned>>{{}}));
  EXPECT_EQ(lossesOf(3, 2), (std::vector<std::vector<unsigned>>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(lossesOf(9, 4).size(), 126u);
  EXPECT_EQ(lossesOf(2, 3).size(), 0u);
}

/// Of four of five that vote three are better, and one where pairs say too little.
TEST(VoteSurvive, AQuorumIsOdd) {
  ErrorFacts facts = equal(5, ratio(1, 10), ratio(1, 50));
  VoteSurvival survival = survive(facts, lossesOf(5, 1), {});
  ASSERT_EQ(survival.losses.size(), 5u);
  EXPECT_EQ(survival.losses[1].lost, std::vector<unsigned>{1});
  EXPECT_EQ(survival.losses[1].quorum, (std::vector<unsigned>{0, 2, 3}));
  EXPECT_EQ(survival.value(), ratio(6, 100));
  survival = survive(equal(5, ratio(1, 10)), lossesOf(5, 1), {});
  EXPECT_EQ(survival.losses[0].quorum, std::vector<unsigned>{1});
  EXPECT_EQ(survival.value(), ratio(1, 10));
  survival = survive(facts, {{0, 1, 2, 3, 4}}, {});
  EXPECT_TRUE(survival.losses[0].quorum.empty());
  EXPECT_EQ(survival.value(), Rational(1));
}

/// Against all quorums of the others, and the true error of each loss.
TEST(VoteSurvive, TheBestQuorumOfEachLoss) {
  std::mt19937 draw(7);
  for (unsigned i = 0; i < 40; ++i) {
    JointAtRandom joint(draw, 4 + i % 2);
    ErrorFacts facts = joint.facts(draw, 80, 3);
    VoteSurvival survival = survive(facts, lossesOf(joint.members, 1 + i % 3), {});
    for (const VoteLoss &loss : survival.losses) {
      Rational best = 1;
      for (unsigned mask = 1; mask < 1u << joint.members; ++mask) {
        std::vector<unsigned> quorum;
        bool lost = false;
        for (unsigned m = 0; m < joint.members; ++m)
          if (mask >> m & 1) {
            quorum.push_back(m);
            lost |= std::find(loss.lost.begin(), loss.lost.end(), m) != loss.lost.end();
          }
        if (!lost && quorum.size() % 2)
          best = std::min(best, *guaranteed(restricted(facts, quorum), {}));
      }
      EXPECT_EQ(loss.value, best);
      EXPECT_EQ(loss.quorum.size() % 2, 1u);
      int64_t wrong = 0;
      for (uint64_t pattern = 0; pattern < joint.weights.size(); ++pattern) {
        size_t among = 0;
        for (unsigned member : loss.quorum)
          among += pattern >> member & 1;
        wrong += 2 * among >= loss.quorum.size() ? joint.weights[pattern] : 0;
      }
      EXPECT_GE(loss.value, ratio(wrong, joint.sum));
      EXPECT_LE(loss.value, survival.value());
    }
  }
}

/// Quorums that are chosen by the votes themselves share the confidence.
TEST(VoteSurvive, ATableIsATestForEachQuorum) {
  ErrorFacts facts;
  facts.alone = {{1, -1}, {1, -1}, {1, -1}, {1, -1}};
  facts.votes = {{0, 900}, {1, 30}, {2, 30}, {4, 25}, {8, 15}};
  VoteSurvival survival = survive(facts, lossesOf(4, 1), {});
  EXPECT_EQ(survival.value(), upperLimit(0, 1000, ratio(1, 20) / Rational(8)));
  EXPECT_EQ(survival.losses[0].quorum, (std::vector<unsigned>{1, 2, 3}));
}

TEST(VoteSurvive, ManyMembers) {
  ErrorFacts facts = equal(21, ratio(1, 10));
  facts.alone[4].rate = ratio(1, 20);
  facts.independent = true;
  VoteSurvival survival = survive(facts, {{4}, {5, 6}}, {});
  EXPECT_EQ(survival.losses[0].quorum.size(), 19u);
  EXPECT_EQ(survival.worst, 0u);
  EXPECT_LT(survival.value(), ratio(1, 1000));
}

TEST(VoteMoreData, SamplesForAShare) {
  // No wrong ones: (1 - required)^n <= delta.
  for (int64_t per : {10, 100, 1000}) {
    auto needed = samplesNeeded(0, ratio(1, per), ratio(1, 20));
    ASSERT_TRUE(needed);
    double exact = std::log(0.05) / std::log1p(-1.0 / static_cast<double>(per));
    EXPECT_NEAR(static_cast<double>(*needed), exact, 1.01);
    EXPECT_LE(upperLimit(0, *needed, ratio(1, 20)), ratio(1, per));
    EXPECT_GT(upperLimit(0, *needed - 1, ratio(1, 20)), ratio(1, per));
  }
  auto half = samplesNeeded(ratio(1, 20), ratio(1, 10), ratio(1, 20));
  ASSERT_TRUE(half);
  EXPECT_LE(
      upperLimit((ratio(1, 20) * Rational(*half)).ceil().toInt64().value(), *half, ratio(1, 20)),
      ratio(1, 10));
  for (int64_t fewer = 1; fewer < *half; ++fewer)
    EXPECT_GT(
        upperLimit((ratio(1, 20) * Rational(fewer)).ceil().toInt64().value(), fewer, ratio(1, 20)),
        ratio(1, 10))
        << fewer;
  EXPECT_FALSE(samplesNeeded(ratio(1, 10), ratio(1, 10), ratio(1, 20)));
  EXPECT_FALSE(samplesNeeded(0, 0, ratio(1, 20)));
  auto near = samplesNeeded(ratio(999, 10000), ratio(1, 10), ratio(1, 20));
  ASSERT_TRUE(near); // about 1.645^2 .09 / .0001^2
  EXPECT_NEAR(static_cast<double>(*near), 24.35e6, 0.1e6);
}

TEST(VoteMoreData, PairsAndTriples) {
  ErrorFacts facts = equal(3, ratio(1, 10));
  MoreData more = moreData(facts, ratio(6, 100), {});
  EXPECT_EQ(more.pairs, ratio(1, 50)); // 3 q
  EXPECT_FALSE(more.triples);          // they do not say how rare pairs are
  EXPECT_FALSE(more.samples);
  EXPECT_EQ(more.tableRate, ratio(3, 100));
  ASSERT_TRUE(more.table && more.tableNoneWrong);
  EXPECT_LT(*more.tableNoneWrong, *more.table);
  // Five members with pairs: 10 q / 3; three of five wrong at once at most so often.
  facts = equal(5, ratio(1, 10), ratio(1, 50));
  EXPECT_EQ(strongest(facts, {}).value(), ratio(2, 30));
  more = moreData(facts, ratio(1, 100), {});
  EXPECT_FALSE(more.pairs);
  ASSERT_TRUE(more.triples);
  for (bool above : {false, true}) {
    ErrorFacts with = facts;
    for (const auto &set : lossesOf(5, 3))
      with.together[set] = {*more.triples + ratio(above, 1'000'000), 0};
    EXPECT_EQ(*guaranteed(with, {}) <= ratio(1, 100), !above);
  }
}

TEST(VoteMoreData, SamplesOfRates) {
  ErrorFacts facts = equal(3, ratio(1, 10), ratio(1, 50));
  for (auto &rate : facts.alone)
    rate.samples = 100;
  for (auto &[set, rate] : facts.together)
    rate.samples = 100;
  Rational required = ratio(7, 100);
  EXPECT_GT(*guaranteed(facts, {}), required);
  MoreData more = moreData(facts, required, {});
  ASSERT_TRUE(more.samples);
  auto with = [&](int64_t samples) {
    ErrorFacts other = facts;
    for (auto &rate : other.alone)
      rate.samples = samples;
    for (auto &[set, rate] : other.together)
      rate.samples = samples;
    return *guaranteed(other, {});
  };
  EXPECT_LE(with(*more.samples), required);
  EXPECT_GT(with(*more.samples - 1), required);
  EXPECT_FALSE(moreData(facts, ratio(6, 100), {}).samples); // not even with all there are
}

TEST(VoteMoreData, OddQuestions) {
  EXPECT_FALSE(moreData({}, ratio(1, 10), {}).pairs);
  ErrorFacts one = equal(1, ratio(1, 10));
  EXPECT_FALSE(moreData(one, ratio(1, 20), {}).pairs);
  MoreData none = moreData(equal(3, ratio(1, 2)), 0, {});
  EXPECT_FALSE(none.table);
  // Members that are nearly always wrong are wrong together.
  EXPECT_FALSE(moreData(equal(3, ratio(9, 10)), ratio(1, 10), {}).pairs);
}

} // namespace
