// The smallest tile of an array, counted by hand.
#include "lib/machine/cost/CheckMemories.h"
#include <gtest/gtest.h>

using namespace accord;
namespace {

TEST(CheckMemories, SmallestTile) {
  // 2 x 3 weights of 2 B stay; 2 operands of 2 B come in, 3 results of 4 B go out.
  EXPECT_EQ(smallestTileBytes(2, 3, "weight_stationary", 2, 4), 12 + 4 + 12);
  EXPECT_EQ(smallestTileBytes(2, 3, "input_stationary", 2, 4), 12 + 4 + 12);
  EXPECT_EQ(smallestTileBytes(2, 3, "", 2, 4), 12 + 4 + 12);
  // 2 x 3 results of 4 B stay; 2 and 3 operands of 2 B come in.
  EXPECT_EQ(smallestTileBytes(2, 3, "output_stationary", 2, 4), 24 + 10);
  // The largest extents do not overflow.
  EXPECT_GT(smallestTileBytes(int64_t(1) << 62, int64_t(1) << 62, "output_stationary", 8, 8), 1e37);
}

} // namespace
