// Widths of members: the widest of which so many fit a budget.
#include "lib/ensembles/solve/ChooseMembers.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// Parameters of a chain: from 3 channels to `width`, `depth` layers inside, to 1000 classes.
double chain(int64_t width, int64_t depth) {
  auto w = static_cast<double>(width);
  return 3 * w + static_cast<double>(depth) * w * w + 1000 * w;
}

TEST(Widths, AsTryingEveryWidth) {
  for (int64_t depth : {1, 7, 50})
    for (int64_t step : {1, 4, 8}) {
      double budget = chain(512, depth);
      unsigned asked = 0;
      auto cost = [&](int64_t width) -> std::optional<double> {
        ++asked;
        return chain(width, depth);
      };
      auto found = memberWidths({1, 3, 5, 9}, 512, step, budget, cost);
      ASSERT_EQ(found.size(), 4u);
      EXPECT_LE(asked, 4u * 10u);
      for (const MemberWidth &one : found) {
        int64_t widest = 0;
        for (int64_t width = step; width <= 512; width += step)
          if (one.members * chain(width, depth) <= budget)
            widest = width;
        EXPECT_EQ(one.width, widest) << one.members;
        EXPECT_DOUBLE_EQ(one.cost, one.members * chain(widest, depth));
      }
      EXPECT_EQ(found[0].width, 512);
    }
}

TEST(Widths, NearTheSquareRootWhereInnerLayersCount) {
  auto cost = [](int64_t width) -> std::optional<double> { return chain(width, 1000); };
  for (const MemberWidth &one : memberWidths({3, 5, 7}, 4096, 1, chain(4096, 1000), cost))
    EXPECT_NEAR(static_cast<double>(one.width) / 4096, 1 / std::sqrt(one.members), 0.001);
}

TEST(Widths, NoneFits) {
  auto none = [](int64_t) -> std::optional<double> { return std::nullopt; };
  EXPECT_TRUE(memberWidths({1, 3}, 64, 8, 100, none).empty());
  auto cost = [](int64_t width) -> std::optional<double> { return width; };
  EXPECT_TRUE(memberWidths({9}, 64, 8, 64, cost).empty());
  EXPECT_TRUE(memberWidths({1}, 0, 8, 64, cost).empty());
  EXPECT_TRUE(memberWidths({1}, 64, 0, 64, cost).empty());
  EXPECT_TRUE(memberWidths({0}, 64, 8, 64, cost).empty());
}

} // namespace
