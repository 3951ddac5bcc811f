// The program over patterns against all its vertices, and rates that contradict each other.
#include "VoteRandom.h"
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/ensembles/verify/Vote.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

/// The same program, in patterns one by one, with a column for what each "at most" leaves.
AllVertices vertices(const VoteRates &rates, unsigned enough) {
  AllVertices program;
  unsigned patterns = 1u << rates.members;
  program.sides.push_back(1);
  for (const auto &[set, rate] : rates.known)
    program.sides.push_back(rate.rate);
  for (unsigned pattern = 0; pattern < patterns; ++pattern) {
    std::vector<Rational> column = {1};
    for (const auto &[set, rate] : rates.known)
      column.push_back(std::all_of(set.begin(), set.end(), [&](unsigned member) { return pattern >> member & 1; }));
    program.columns.push_back(column);
    program.objective.push_back(static_cast<unsigned>(std::popcount(pattern)) >= enough);
  }
  size_t row = 1;
  for (const auto &[set, rate] : rates.known) {
    if (!rate.exact) {
      program.columns.emplace_back(program.sides.size(), 0);
      program.columns.back()[row] = 1;
      program.objective.push_back(0);
    }
    ++row;
  }
  return program;
}

TEST(VotePatterns, TheMostOfAllVertices) {
  std::mt19937 draw(1);
  unsigned met = 0;
  for (unsigned i = 0; i < 200; ++i) {
    unsigned members = i % 10 == 0 ? 4 : 1 + draw() % 3;
    JointAtRandom joint(draw, members);
    ErrorStatistics statistics = joint.statistics(draw, members == 4 ? 30 : 70, 3);
    VoteRates rates(statistics, {});
    for (auto &[set, rate] : rates.known)
      rate.exact = members == 4 || draw() % 3 > 0;
    unsigned enough = 1 + draw() % members;
    auto bound = maxFailureProbability(rates, enough);
    ASSERT_TRUE(bound && bound->feasible && bound->complete);
    auto max = vertices(rates, enough).max();
    ASSERT_TRUE(max);
    ASSERT_EQ(bound->value, *max) << i;
    met += 2 * enough >= members && *max == joint.failureProbability();
  }
  EXPECT_GT(met, 10u);
}

/// Rates that are drawn one by one: many have no joint distribution.
TEST(VotePatterns, ContradictionsAreThoseOfNoDistribution) {
  std::mt19937 draw(2);
  unsigned none = 0, some = 0;
  for (unsigned i = 0; i < 300; ++i) {
    unsigned members = 2 + draw() % 2;
    ErrorStatistics statistics;
    for (unsigned m = 0; m < members; ++m)
      statistics.memberErrors.push_back({ratio(draw() % 11, 10), draw() % 8 ? 0 : -1});
    for (unsigned mask = 0; mask < 1u << members; ++mask)
      if (std::popcount(mask) > 1 && draw() % 4)
        statistics.jointErrors[membersOf(mask)] = {ratio(draw() % (mask == 7 ? 3 : 7), 10), 0};
    auto conflict = conflictOf(statistics, {});
    VoteRates rates(statistics, {});
    bool possible = vertices(rates, members + 1).max().has_value();
    ASSERT_EQ(conflict.has_value(), !possible) << i;
    ASSERT_EQ(guaranteed(statistics, {}).has_value(), possible) << i;
    if (possible) {
      ++some;
      continue;
    }
    ++none;
    VoteProof proof = verify(conflict->certificate);
    ASSERT_TRUE(proof.holds()) << proof.findings[0].message;
    ASSERT_EQ(conflict->certificate.statistics.jointErrors, statistics.jointErrors);
    // None of the sets can be left out, and the range of the last is right.
    VoteRates only = rates;
    std::erase_if(only.known, [&](const auto &entry) {
      return std::find(conflict->sets.begin(), conflict->sets.end(), entry.first) == conflict->sets.end();
    });
    ASSERT_FALSE(vertices(only, members + 1).max());
    for (const auto &set : conflict->sets) {
      VoteRates fewer = only;
      fewer.known.erase(set);
      ASSERT_TRUE(vertices(fewer, members + 1).max());
    }
    ASSERT_TRUE(conflict->range);
    for (int64_t tenths = 0; tenths <= 10; ++tenths) {
      Rational rate = ratio(tenths, 10);
      only.known[conflict->sets.back()].rate = rate;
      ASSERT_EQ(vertices(only, members + 1).max().has_value(),
                conflict->range->first <= rate && rate <= conflict->range->second);
    }
  }
  EXPECT_GT(none, 50u);
  EXPECT_GT(some, 50u);
}

TEST(VotePatterns, ContradictionsInWords) {
  ErrorStatistics statistics;
  statistics.memberErrors = {{ratio(1, 10), 0}, {ratio(1, 5), 0}, {ratio(3, 10), 0}};
  statistics.jointErrors[{0, 1}] = {ratio(3, 20), 0};
  statistics.jointErrors[{1, 2}] = {ratio(1, 10), 0};
  auto conflict = conflictOf(statistics, {});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(text(*conflict, {"wide", "thin"}),
            "no joint distribution exists with error of 'wide' 0.1 and joint error of 'wide' and "
            "'thin' 0.15: joint error of 'wide' and 'thin' would have to be from 0 to 0.1");
  statistics.jointErrors[{0, 1}] = {ratio(1, 50), 0};
  EXPECT_FALSE(conflictOf(statistics, {}));
  statistics.independent = true;
  statistics.jointErrors[{1, 2}] = {ratio(6, 100), 0};
  EXPECT_FALSE(conflictOf(statistics, {}));
  statistics.jointErrors[{1, 2}] = {ratio(7, 100), 0};
  conflict = conflictOf(statistics, {});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(text(*conflict, {}),
            "errors are stated to be independent, but error of member 2 0.2, error of member 3 0.3 "
            "and joint error of member 2 and member 3 0.07: joint error of member 2 and member 3 "
            "would be 0.06");
  statistics.independent = false;
  statistics.memberErrors.push_back({ratio(3, 2), 0});
  conflict = conflictOf(statistics, {});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->sets, (std::vector<std::vector<unsigned>>{{3}}));
  EXPECT_EQ(conflict->range, std::pair(Rational(0), Rational(1)));
}

TEST(VotePatterns, EqualMembersAreCounted) {
  // 31 of one kind: patterns are told apart by a number.
  ErrorStatistics statistics;
  for (unsigned i = 0; i < 31; ++i) {
    statistics.memberErrors.push_back({ratio(1, 50), 0});
    for (unsigned j = 0; j < i; ++j)
      statistics.jointErrors[{j, i}] = {ratio(1, 500), 0};
  }
  VoteRates rates(statistics, {});
  EXPECT_EQ(interchangeable(rates).size(), 1u);
  auto bound = maxFailureProbability(rates, 16);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->value, maxFailureProbabilityByMoments(rates, 16).value);
  EXPECT_EQ(bound->value, ratio(31 * 30, 16 * 15) * ratio(1, 500));
  statistics.memberErrors[3].rate = ratio(1, 5);
  EXPECT_EQ(interchangeable(VoteRates(statistics, {})).size(), 2u);
}

/// Nine members of which each pair is known otherwise.
TEST(VotePatterns, NineDifferentMembers) {
  std::mt19937 draw(3);
  for (unsigned largest : {2, 3}) {
    JointAtRandom joint(draw, 9);
    ErrorStatistics statistics = joint.statistics(draw, 100, largest);
    VoteGuarantee guarantee = strongest(statistics, {});
    ASSERT_FALSE(guarantee.conflict);
    EXPECT_EQ(guarantee.strongest().kind, VoteBoundKind::Patterns);
    EXPECT_GE(guarantee.value(), joint.failureProbability());
    EXPECT_EQ(guarantee.strongest().certificate.groups.size(), 9u);
    VoteProof proof = verify(guarantee.strongest().certificate);
    EXPECT_TRUE(proof.holds());
    EXPECT_TRUE(proof.tight);
  }
}

} // namespace
