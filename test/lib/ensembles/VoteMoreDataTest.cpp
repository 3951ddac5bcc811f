// What more would have to be known to certify a vote.
#include "VoteRandom.h"
#include "lib/ensembles/solve/MoreData.h"
#include "lib/support/ClopperPearson.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

ErrorStatistics equal(unsigned members, const Rational &error, std::optional<Rational> pair = {}) {
  ErrorStatistics statistics;
  for (unsigned i = 0; i < members; ++i) {
    statistics.memberErrors.push_back({error, 0});
    for (unsigned j = 0; pair && j < i; ++j)
      statistics.jointErrors[{j, i}] = {*pair, 0};
  }
  return statistics;
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
  EXPECT_LE(upperLimit((ratio(1, 20) * Rational(*half)).ceil().toInt64().value(), *half, ratio(1, 20)), ratio(1, 10));
  for (int64_t fewer = 1; fewer < *half; ++fewer)
    EXPECT_GT(upperLimit((ratio(1, 20) * Rational(fewer)).ceil().toInt64().value(), fewer, ratio(1, 20)), ratio(1, 10))
        << fewer;
  EXPECT_FALSE(samplesNeeded(ratio(1, 10), ratio(1, 10), ratio(1, 20)));
  EXPECT_FALSE(samplesNeeded(0, 0, ratio(1, 20)));
  auto near = samplesNeeded(ratio(999, 10000), ratio(1, 10), ratio(1, 20));
  ASSERT_TRUE(near); // about 1.645^2 .09 / .0001^2
  EXPECT_NEAR(static_cast<double>(*near), 24.35e6, 0.1e6);
}

TEST(VoteMoreData, PairsAndTriples) {
  ErrorStatistics statistics = equal(3, ratio(1, 10));
  MoreData more = moreData(statistics, ratio(6, 100), {});
  EXPECT_EQ(more.pairs, ratio(1, 50)); // 3 q
  EXPECT_FALSE(more.triples);          // they do not say how rare pairs are
  EXPECT_FALSE(more.samples);
  EXPECT_EQ(more.tableRate, ratio(3, 100));
  ASSERT_TRUE(more.table && more.tableNoneWrong);
  EXPECT_LT(*more.tableNoneWrong, *more.table);
  // Votes that were seen wrong are not supposed to be right.
  ErrorStatistics seen;
  seen.memberErrors = statistics.memberErrors;
  seen.votes = {{0, 96}, {3, 4}};
  EXPECT_FALSE(moreData(seen, ratio(6, 100), {}).tableNoneWrong);
  // Five members with pairs: 10 q / 3; three of five wrong at once at most so often.
  statistics = equal(5, ratio(1, 10), ratio(1, 50));
  EXPECT_EQ(strongest(statistics, {}).value(), ratio(2, 30));
  more = moreData(statistics, ratio(1, 100), {});
  EXPECT_FALSE(more.pairs);
  ASSERT_TRUE(more.triples);
  for (bool above : {false, true}) {
    ErrorStatistics with = statistics;
    for (uint64_t mask = 0; mask < 32; ++mask)
      if (std::popcount(mask) == 3)
        with.jointErrors[membersOf(mask)] = {*more.triples + ratio(above, 1'000'000), 0};
    EXPECT_EQ(*guaranteed(with, {}) <= ratio(1, 100), !above);
  }
}

TEST(VoteMoreData, SamplesOfRates) {
  ErrorStatistics statistics = equal(3, ratio(1, 10), ratio(1, 50));
  for (auto &rate : statistics.memberErrors)
    rate.samples = 100;
  for (auto &[set, rate] : statistics.jointErrors)
    rate.samples = 100;
  Rational required = ratio(7, 100);
  EXPECT_GT(*guaranteed(statistics, {}), required);
  MoreData more = moreData(statistics, required, {});
  ASSERT_TRUE(more.samples);
  auto with = [&](int64_t samples) {
    ErrorStatistics other = statistics;
    for (auto &rate : other.memberErrors)
      rate.samples = samples;
    for (auto &[set, rate] : other.jointErrors)
      rate.samples = samples;
    return *guaranteed(other, {});
  };
  EXPECT_LE(with(*more.samples), required);
  EXPECT_GT(with(*more.samples - 1), required);
  EXPECT_FALSE(moreData(statistics, ratio(6, 100), {}).samples); // not even with all there are
}

TEST(VoteMoreData, ATableIsAskedAboutMoreEnsembles) {
  ErrorStatistics statistics = equal(3, ratio(1, 10));
  VoteOptions now{ratio(19, 20), 1, {}}, later = now;
  later.tests = 24;
  MoreData more = moreData(statistics, ratio(6, 100), now, later.tests);
  statistics.votes = {{0, *more.tableNoneWrong}};
  EXPECT_LE(*guaranteed(statistics, later), ratio(6, 100));
  statistics.votes = {{0, *more.tableNoneWrong - 1}};
  EXPECT_GT(*guaranteed(statistics, later), ratio(6, 100));
}

TEST(VoteMoreData, OddQuestions) {
  EXPECT_FALSE(moreData({}, ratio(1, 10), {}).pairs);
  ErrorStatistics one = equal(1, ratio(1, 10));
  EXPECT_FALSE(moreData(one, ratio(1, 20), {}).pairs);
  MoreData none = moreData(equal(3, ratio(1, 2)), 0, {});
  EXPECT_FALSE(none.table);
  // Members that are nearly always wrong are wrong together.
  EXPECT_FALSE(moreData(equal(3, ratio(9, 10)), ratio(1, 10), {}).pairs);
}

} // namespace
