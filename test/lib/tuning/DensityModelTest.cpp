// Densities, the space, and tables of trials.
#include "lib/tuning/solve/DensityModel.h"
#include "lib/tuning/solve/TrialTable.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;

TEST(SearchSpace, GoesToTheCubeAndBack) {
  const SearchSpace space{{.name = "rate", .kind = Kind::Real, .min = 1e-5, .max = 0.1, .isLog = true},
                          {.name = "size", .kind = Kind::Integer, .min = 2, .max = 512, .isLog = true},
                          {.name = "layers", .kind = Kind::Integer, .min = 1, .max = 4},
                          {.name = "one", .kind = Kind::Integer, .min = 3, .max = 3},
                          {.name = "rule", .kind = Kind::Choice, .choices = {"a", "b", "c"}}};
  SplitMix random(1);
  std::vector<int> layers(5);
  for (int i = 0; i < 4000; ++i) {
    const Configuration one = fromCube(space, drawPoint(space, random));
    EXPECT_TRUE(one[0] >= 1e-5 && one[0] <= 0.1);
    EXPECT_TRUE(one[1] >= 2 && one[1] <= 512 && one[1] == std::round(one[1]));
    EXPECT_EQ(one[3], 3);
    ++layers[static_cast<size_t>(one[2])];
    const Configuration again = fromCube(space, toCube(space, one));
    for (size_t p = 0; p < space.size(); ++p)
      EXPECT_NEAR(again[p], one[p], 1e-9 * std::abs(one[p]));
  }
  for (size_t i = 1; i <= 4; ++i) // each whole number has the same share: 1,000 of 4,000, deviation 27
    EXPECT_NEAR(layers[i], 1000, 135);
  EXPECT_EQ(configurationText(space, {0.001, 64, 2, 3, 1}), "rate 0.001, size 64, layers 2, one 3, rule b");
}

/// The integral over the cube and the choices, by a grid: one.
TEST(KernelDensity, SumsToOne) {
  const SearchSpace space{
      {.name = "x"}, {.name = "y"}, {.name = "rule", .kind = Kind::Choice, .choices = {"a", "b", "c"}}};
  SplitMix random(2);
  for (size_t count : {2u, 5u, 30u}) {
    std::vector<CubePoint> points;
    for (size_t i = 0; i < count; ++i)
      points.push_back(drawPoint(space, random));
    const KernelDensity density(space, points);
    constexpr int kSteps = 200;
    double sum = 0;
    for (int x = 0; x < kSteps; ++x)
      for (int y = 0; y < kSteps; ++y)
        for (int rule = 0; rule < 3; ++rule)
          sum += density.at({(x + 0.5) / kSteps, (y + 0.5) / kSteps, double(rule)}) / kSteps / kSteps;
    EXPECT_NEAR(sum, 1, 1e-3);
    for (int i = 0; i < 200; ++i) {
      const CubePoint drawn = density.draw(random, 3);
      EXPECT_TRUE(drawn[0] >= 0 && drawn[0] <= 1 && drawn[1] >= 0 && drawn[1] <= 1 && drawn[2] >= 0 && drawn[2] <= 2);
    }
  }
}

TEST(DensityModel, ProposesNearGoodOnes) {
  const SearchSpace space{{.name = "x"}, {.name = "rule", .kind = Kind::Choice, .choices = {"a", "b"}}};
  SplitMix random(3);
  std::vector<ScoredPoint> points;
  EXPECT_FALSE(proposeByDensity(space, points, random));
  for (int i = 0; i < 60; ++i) {
    CubePoint point = drawPoint(space, random);
    const double loss = std::abs(point[0] - 0.3) + (point[1] == 0);
    points.push_back({point, i % 7 == 0 ? std::nan("") : loss}); // those that diverged are the worst
  }
  double far = 0;
  int right = 0;
  for (int i = 0; i < 100; ++i) {
    const auto one = proposeByDensity(space, points, random);
    far += std::abs((*one)[0] - 0.3) / 100;
    right += (*one)[1] == 1;
  }
  EXPECT_LT(far, 0.15); // 0.29 by chance
  EXPECT_GT(right, 65); // 50 by chance
}

TEST(TrialTable, SaysWhatIsWrong) {
  const SearchSpace space{{.name = "rate", .min = 0, .max = 1},
                          {.name = "rule", .kind = Kind::Choice, .choices = {"a", "b"}}};
  auto message = [&](const std::string &text) {
    auto table = readTrialTable(text, "t.csv", space);
    if (table)
      return std::string("read");
    const Error &error = table.error().front();
    return std::to_string(error.location.line) + ":" + std::to_string(error.location.column) + " " + error.message;
  };
  EXPECT_EQ(message("rate,rule,seconds,1,2\n0.5,a,3,0.1,0.2\n0.25,b,2.5,nan,\n"), "read");
  EXPECT_EQ(message("rate,1\n0.5,1\n"), "1:1 there is no column 'rule'");
  EXPECT_EQ(message("rate,rule,rate,1\n0.5,a,1,1\n"), "1:11 column 'rate' stands twice");
  EXPECT_EQ(message("rate,rule,2\n0.5,a,1\n"),
            "1:11 column '2' is no hyper-parameter of the tuning, 'seconds' or the next unit, 1");
  EXPECT_EQ(message("rate,rule,1\n0.5,c,1\n"), "2:5 'c' is no choice of 'rule'");
  EXPECT_EQ(message("rate,rule,1\n1.5,a,1\n"), "2:1 '1.5' of 'rate' is no number from 0 to 1");
  EXPECT_EQ(message("rate,rule,1\n0.5,a,x\n"),
            "2:7 'x' is no value: a number, nan, inf, -inf, or empty where the trial ends");
  EXPECT_EQ(message("rate,rule,1\n0.5,a,1\n0.5,a,2\n"), "3:1 the configuration of line 2 stands here again");
  EXPECT_EQ(message("rate,rule,seconds,1\n0.5,a,0,1\n"), "2:7 '0' is no number of seconds above 0");
  EXPECT_EQ(message("rate,rule,1\n0.5,a\n"), "2:1 a row has 2 cells, and the first row 3");
  EXPECT_EQ(message("rate,rule,1\n"), "0:0 a table of trials has a row of names and a row for each configuration");
}

} // namespace
