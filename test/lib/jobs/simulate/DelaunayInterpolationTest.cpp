// Interpolation between scattered points: properties that hold for each triangulation.
#include "lib/jobs/simulate/DelaunayInterpolation.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

using Point = std::array<double, 3>;

std::array<double, 2> linear(const Point &p) {
  return {3 + 2 * p[0] - p[1] + 0.5 * p[2], p[0] + 4 * p[1] - 0.25 * p[2]};
}

/// Points of a grid of n * n * n, or of a cube at random.
std::vector<ScatteredPoint> points(bool grid, size_t n, SplitMix &random) {
  std::vector<ScatteredPoint> result;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t k = 0; k < n; ++k) {
        Point p{double(i), double(j), 10 * double(k)};
        if (!grid)
          p = {random.unit(), random.unit(), random.unit()};
        result.push_back({p, linear(p)});
      }
  return result;
}

TEST(DelaunayInterpolation, RepeatsLinearFunctionsOnGridsAndAtRandom) {
  SplitMix random(3);
  for (bool grid : {true, false}) {
    const auto known = points(grid, 6, random);
    auto made = DelaunayInterpolation::make(known);
    ASSERT_TRUE(made);
    for (int i = 0; i < 2000; ++i) {
      // A weighted mean of known points is in their hull.
      Point p{};
      double total = 0;
      for (int j = 0; j < 5; ++j) {
        const double weight = random.unit() + 0.01;
        const Point &at = known[random.below(known.size())].at;
        for (size_t k = 0; k < 3; ++k)
          p[k] += weight * at[k];
        total += weight;
      }
      for (double &coordinate : p)
        coordinate /= total;
      const auto value = (*made)(p);
      ASSERT_TRUE(value);
      EXPECT_NEAR((*value)[0], linear(p)[0], 1e-9);
      EXPECT_NEAR((*value)[1], linear(p)[1], 1e-9);
    }
  }
}

TEST(DelaunayInterpolation, HasTheValuesOfItsPointsAndStaysBetweenThem) {
  SplitMix random(4);
  auto known = points(false, 5, random);
  for (ScatteredPoint &point : known)
    point.values = {random.unit(), 5 + random.unit()};
  auto made = DelaunayInterpolation::make(known);
  ASSERT_TRUE(made);
  for (const ScatteredPoint &point : known) {
    const auto value = (*made)(point.at);
    ASSERT_TRUE(value);
    EXPECT_NEAR((*value)[0], point.values[0], 1e-9);
    EXPECT_NEAR((*value)[1], point.values[1], 1e-9);
  }
  for (int i = 0; i < 1000; ++i)
    if (const auto value = (*made)({random.unit(), random.unit(), random.unit()})) {
      EXPECT_TRUE((*value)[0] >= 0 && (*value)[0] <= 1);
      EXPECT_TRUE((*value)[1] >= 5 && (*value)[1] <= 6);
    }
}

TEST(DelaunayInterpolation, EndsAtTheConvexHull) {
  SplitMix random(5);
  auto made = DelaunayInterpolation::make(points(true, 3, random));
  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)({2, 2, 20}));
  EXPECT_TRUE((*made)({0, 1, 7}));
  for (const Point &outside : {Point{-0.1, 1, 7}, Point{1, 2.001, 7}, Point{1, 1, 20.1}, Point{9, 9, 99}})
    EXPECT_FALSE((*made)(outside));
}

TEST(DelaunayInterpolation, NeedsPointsWithAVolume) {
  std::vector<ScatteredPoint> flat;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j)
      flat.push_back({{double(i), double(j), double(i + j)}, {1, 1}});
  auto made = DelaunayInterpolation::make(flat);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::WrongJobsFile);
  EXPECT_FALSE(DelaunayInterpolation::make({}));
  EXPECT_FALSE(DelaunayInterpolation::make({{{0, 0, 0}, {}}, {{1, 0, 0}, {}}, {{0, 1, 0}, {}}}));
}

} // namespace
} // namespace accord::jobs
