#include "lib/machine/calibration/PowerFit.h"
#include "lib/machine/calibration/CapFit.h"
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::calibrate;

namespace {

TEST(BoardPower, IsIdleWhereNothingRunsAndMaxAtMost) {
  BoardRating rating{Watts(60), Watts(400), {}};
  BoardPowerLaw law;
  EXPECT_EQ(boardPower(rating, {}, law).average.value, 60);
  EXPECT_EQ(boardPower(rating, {1, 1, 1, 1, 1}, law).average.value, 400);
}

TEST(BoardPower, AddsUpByHand) {
  // 60 + 340 * (0.6 * 0.5 + 0.5 * 0.2 + 0.2 * 0.3) = 60 + 340 * 0.46 = 216.4.
  BoardPower power = boardPower({Watts(60), Watts(400), {}}, {0.5, 0, 0.2, 0.3, 0}, {0.6, 0.25, 0.5, 0.2, 0.05});
  EXPECT_NEAR(power.average.value, 216.4, 1e-9);
  EXPECT_NEAR(power.active.value, 60 + 340 * 0.92, 1e-9);
  EXPECT_EQ(power.slowdown, 1);
}

TEST(BoardPower, FallsAndTakesLongerAsTheLimitFalls) {
  UnitShares shares{0.8, 0, 0.5, 0.4, 0};
  double watts = 1e9, slowdown = 0;
  for (double limit = 400; limit >= 100; limit -= 10) {
    BoardPower power = boardPower({Watts(60), Watts(400), Watts(limit)}, shares, BoardPowerLaw());
    EXPECT_LE(power.average.value, std::min(watts, limit) + 1e-9);
    EXPECT_GE(power.slowdown, slowdown);
    watts = power.average.value, slowdown = power.slowdown;
  }
  // Where voltage goes with the clock, an eighth of the dynamic power is half the clock: a step that is all work takes
  // twice as long.
  BoardPowerLaw full{1, 0, 0, 0, 0, {1, 0}};
  EXPECT_NEAR(boardPower({Watts(0), Watts(80), Watts(10)}, {1}, full).slowdown, 2, 1e-12);
}

TEST(BoardPower, ServersAddHostAndLosses) {
  EXPECT_NEAR(serverPower({8, Watts(1400), Watts(600), 0.8}, Watts(700)).value, 9500, 1e-9);
}

TEST(PowerFit, FindsTheLawThatMadeTheRows) {
  std::vector<PowerRow> rows = shippedPowerRows();
  PowerFit truth;
  truth.law = {0.5, 0.4, 0.6, 0.15, 0.05};
  truth.host = Watts(1300);
  for (PowerRow &row : rows)
    row.measured = powerOf(row, truth);
  double before = 0, after = 0;
  PowerFit fit = fitPower(rows);
  for (const PowerRow &row : rows) {
    before += std::abs(powerOf(row, PowerFit()) / row.measured - 1);
    after += std::abs(powerOf(row, fit) / row.measured - 1);
  }
  EXPECT_LT(after / rows.size(), 0.02); // the prior pulls a little
  EXPECT_LT(after, before / 3);
}

TEST(PowerFit, IsWhatIsShipped) {
  PowerFit fit = fitPower(shippedPowerRows());
  BoardPowerLaw shipped;
  EXPECT_NEAR(fit.law.busy, shipped.busy, 0.002);
  EXPECT_NEAR(fit.law.vector, shipped.vector, 0.002);
  EXPECT_NEAR(fit.law.tensor, shipped.tensor, 0.002);
  EXPECT_NEAR(fit.law.memory, shipped.memory, 0.002);
  PowerInterval interval = powerInterval(scorePower(shippedPowerRows()));
  EXPECT_NEAR(interval.low, kBoardPowerInterval.low, 0.005);
  EXPECT_NEAR(interval.high, kBoardPowerInterval.high, 0.005);
}

TEST(PowerFit, IntervalHoldsNineOfTenUnseenRows) {
  std::vector<PowerScore> scores = scorePower(shippedPowerRows());
  PowerInterval interval = powerInterval(scores);
  size_t inside = 0, all = 0;
  for (const PowerScore &score : scores)
    if (score.row->level != "idle" && score.row->level != "run") {
      double ratio = 1 / (1 + score.unseen);
      inside += ratio >= interval.low && ratio <= interval.high, ++all;
    }
  EXPECT_NEAR(double(inside) / all, 0.9, 0.02);
}

/// ACCORD_WRITE_POWER names a file to write the page to (scripts/power.sh, which also compares it with docs/power.md).
TEST(PowerFit, PageIsWrittenFromTheRows) {
  std::string page = powerPage(shippedPowerRows());
  if (const char *file = std::getenv("ACCORD_WRITE_POWER"))
    std::ofstream(file) << page;
  EXPECT_NE(page.find("| servers in training | 19 |"), std::string::npos);
}

TEST(PowerFit, NamesWhatATableLacks) {
  auto rows = readPowerRows("id, level\n", "rows.csv");
  ASSERT_FALSE(rows);
}

TEST(VoltageLaw, FollowsTheClockDownToAFloor) {
  VoltageLaw law{2, 0.75};
  EXPECT_EQ(voltageAt(1, law), 1);
  EXPECT_NEAR(voltageAt(0.9, law), 0.8, 1e-12);
  EXPECT_EQ(voltageAt(0.875, law), 0.75);
  EXPECT_EQ(voltageAt(0.1, law), 0.75);
  EXPECT_NEAR(dynamicPowerAt(0.9, law), 0.576, 1e-12); // 0.9 * 0.8^2
  EXPECT_NEAR(dynamicPowerAt(0.4, law), 0.225, 1e-12); // 0.4 * 0.75^2
}

TEST(VoltageLaw, PowerGrowsWithTheClockAndTheClockIsFoundAgain) {
  double before = 0;
  for (int i = 1; i <= 100; ++i) {
    double clock = i / 100.0, power = dynamicPowerAt(clock);
    EXPECT_GT(power, before);
    EXPECT_LE(power, clock + 1e-12); // never less of power than of speed is saved
    EXPECT_NEAR(clockAt(power), clock, 1e-12);
    before = power;
  }
  EXPECT_EQ(clockAt(1), 1);
  EXPECT_EQ(clockAt(7), 1);
  EXPECT_EQ(clockAt(0), 0);
  EXPECT_EQ(clockAt(-1), 0);
}

TEST(CapFit, IsWhatIsShipped) {
  VoltageLaw fitted = fitVoltage(shippedCapRows()), shipped;
  EXPECT_EQ(fitted.slope, shipped.slope);
  EXPECT_EQ(fitted.floor, shipped.floor);
}

TEST(CapFit, FindsTheLawThatMadeTheRows) {
  std::vector<CapRow> rows = shippedCapRows();
  for (CapRow &row : rows)
    row.slowdown = slowdownOf(row, {1.25, 0.7});
  VoltageLaw fitted = fitVoltage(rows);
  EXPECT_EQ(fitted.slope, 1.25);
  EXPECT_EQ(fitted.floor, 0.7);
}

/// Zeus' published times of trainings on four boards under caps, each board unseen by the fit.
TEST(CapFit, MeetsPublishedTimesOfUnseenBoards) {
  double unseen = 0, cubic = 0;
  int rows = 0;
  for (const CapScore &score : scoreCaps(shippedCapRows())) {
    EXPECT_LT(score.unseen, 0.07) << score.board;
    unseen += score.unseen * score.rows, cubic += score.cubic * score.rows, rows += score.rows;
  }
  EXPECT_EQ(rows, 116);
  EXPECT_LT(unseen / rows, 0.06);
  EXPECT_LT(unseen, cubic / 1.7); // than with a power that goes with the cube of the clock
}

TEST(CapFit, NamesWhatATableLacks) {
  EXPECT_FALSE(readCapRows("board, workload\n", "rows.csv"));
  EXPECT_FALSE(readCapRows("board, workload, idle, tdp, limit, uncapped, power, slowdown\n", "rows.csv"));
  EXPECT_FALSE(readCapRows("board, workload, idle, tdp, limit, uncapped, power, slowdown\n"
                           "b, w, 50 W, 250 W, 100 W, 50 W, 40 W, 1.5\n",
                           "rows.csv"));
}

} // namespace
