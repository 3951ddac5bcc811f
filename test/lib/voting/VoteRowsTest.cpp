// Tables of votes line by line, times of a stub, quantiles.
#include "lib/voting/problem/VoteRows.h"
#include "lib/voting/problem/LatencyHistogram.h"
#include "lib/voting/problem/ServiceTime.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

using namespace accord;
using namespace accord::voting;

namespace {

TEST(VoteRows, ALineForSoManySamples) {
  auto rows = readVoteRows("count,wide,class,wide.2\n3,right,cat,wrong\n0,wrong,cat,wrong\n2,0,dog,1\n", "v.csv");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->members, (std::vector<std::string>{"wide", "wide.2"}));
  EXPECT_EQ(rows->samples(), 5);
  std::vector<uint64_t> wrong;
  for (int64_t sample = 0; sample < rows->samples(); ++sample)
    wrong.push_back(rows->wrongOf(sample));
  EXPECT_EQ(wrong, (std::vector<uint64_t>{2, 2, 2, 1, 1}));
}

TEST(VoteRows, WhatIsNoTable) {
  auto placeOf = [](const char *text) {
    auto rows = readVoteRows(text, "v.csv");
    EXPECT_FALSE(rows) << text;
    return rows ? std::pair(0u, 0u)
                : std::pair(rows.error().front().location.line, rows.error().front().location.column);
  };
  EXPECT_EQ(placeOf("a,b\nright,maybe\n"), std::pair(2u, 7u));
  EXPECT_EQ(placeOf("a,a\nright,right\n"), std::pair(1u, 3u));
  EXPECT_EQ(placeOf("count,a\n-1,right\n"), std::pair(2u, 1u));
  EXPECT_EQ(placeOf("count,a\n1\n"), std::pair(2u, 1u));
  EXPECT_EQ(placeOf("count,a\n9007199254740992,right\n1,wrong\n"), std::pair(3u, 1u));
  EXPECT_EQ(placeOf("count\n1\n"), std::pair(1u, 1u));
  EXPECT_EQ(placeOf("count,a\n0,right\n"), std::pair(1u, 1u));
  EXPECT_EQ(placeOf("a\n"), std::pair(1u, 1u));
  EXPECT_EQ(placeOf(""), std::pair(1u, 1u));
}

TEST(VoteRows, LabelsDiffer) {
  for (int64_t classes : {2, 3, 1000})
    for (int64_t sample = 0; sample < 1000; ++sample) {
      EXPECT_NE(trueLabel(sample, classes), wrongLabel(sample, classes));
      EXPECT_LT(std::max(trueLabel(sample, classes), wrongLabel(sample, classes)), classes);
    }
}

TEST(ServiceTime, HasTheQuantilesOfItsDistribution) {
  const ServiceTime time{.constant = 2, .median = 3, .sigma = 0.5};
  std::vector<double> all;
  for (uint64_t i = 0; i < 200000; ++i)
    all.push_back(time.of(1, i));
  std::ranges::sort(all);
  EXPECT_NEAR(all[100000], 5, 0.02);
  // Phi(1) = 0.841345, Phi(2.326348) = 0.99
  EXPECT_NEAR(all[168269], 2 + 3 * std::exp(0.5), 0.04);
  EXPECT_NEAR(all[198000], 2 + 3 * std::exp(0.5 * 2.326348), 0.15);
  EXPECT_EQ(time.of(1, 17), time.of(1, 17));
  EXPECT_NE(time.of(1, 17), time.of(2, 17));
}

TEST(LatencyHistogram, QuantilesAreAtMostTwoPerCentAbove) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  SplitMix random(3);
  std::vector<double> all;
  for (int i = 0; i < 10000; ++i) {
    all.push_back(1e-5 * std::exp(8 * random.unit()));
    histogram.add(all.back());
  }
  std::ranges::sort(all);
  for (double q : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double exact = all[static_cast<size_t>(std::ceil(q * 10000)) - 1];
    EXPECT_GE(histogram.quantile(q), exact * (1 - 1e-12));
    EXPECT_LE(histogram.quantile(q), exact * 1.0201);
  }
  histogram.add(0);
  histogram.add(1e9);
  EXPECT_EQ(histogram.total(), 10002);
}

} // namespace
