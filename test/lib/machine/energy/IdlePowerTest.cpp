// Idle power of the model of components against what tools read on boards without work: leakage, links, and standby of
// stacks of HBM, which is fitted to the other boards for each of them. No chip of docs/chips.md is among them.
#include "lib/machine/calibration/CapFit.h"
#include "lib/machine/calibration/PowerFit.h"
#include "lib/machine/energy/ComponentModel.h"
#include "lib/machine/energy/Cooling.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// `links`: bytes a second in one direction.
struct Board {
  const char *name;
  double area, node, stacks, links, pcie, watts; ///< mm2, nm, …, GB/s, GB/s, W
  const char *source;
};

// Areas, stacks and links of data sheets, from memory.
const Board kBoards[] = {
    {"P100 PCIe", 610, 16, 4, 0, 15.75, 33.3, "smallest reading of a trace, ml-energy/zeus, summary_power_p100.csv"},
    {"V100 PCIe", 815, 12, 4, 0, 15.75, 34.8, "smallest reading of a trace, ml-energy/zeus, summary_power_v100.csv"},
    {"V100 SXM2", 815, 12, 4, 150, 15.75, 40, "nvidia-smi listings, as lib/catalog/v100.accel has it"},
    {"A100 SXM4", 826, 7, 5, 300, 31.5, 61.9, "5 % quantile of a fleet, InternLM/AcmeTrace"},
    {"H100 SXM5", 814, 4, 5, 450, 63, 70, "usual readings, from memory"},
    {"B200", 1600, 4, 8, 900, 63, 137, "ROCm/legacy-rocm-build, issue 5219"},
    {"MI325X", 2400, 5, 8, 448, 63, 138, "smallest of eight boards, SemiAnalysisAI/InferenceX, issue 828"},
};

double withoutStandby(const Board &board) {
  const InterfaceTable &interfaces = InterfaceTable::shipped();
  double perLink = 8 * 1e9 * 7e-12, perLane = 8 * 1e9 * 6e-12; // of interfaces.csv, for each GB/s
  EXPECT_NEAR(interfaces.find("serdes56")->joulesPerByte * 1e9, perLink, 1e-12);
  EXPECT_NEAR(interfaces.find("pcie4")->joulesPerByte * 1e9, perLane, 1e-12);
  return board.links * perLink + board.pcie * perLane;
}

/// With watts of a stack of HBM.
double idleOf(const Board &board, double standby) {
  ComponentModel model(board.node * 1e-9, 1, 1e9);
  double area = board.area * 1e-6, running = withoutStandby(board) + board.stacks * standby;
  double leakage = model.leakage(area).value;
  Cooling cooling;
  return running + leakage * leakageFactor(settledJunction(cooling, cooling.resistanceOf(area), running, leakage));
}

/// "V100" of "V100 PCIe".
std::string chipOf(const Board &board) { return std::string(board.name).substr(0, std::string(board.name).find(' ')); }

/// Least squares of logarithms over all boards but those of some chips.
double fittedWithout(const std::vector<std::string> &chips) {
  double low = 0, high = 50;
  auto squares = [&](double standby) {
    double sum = 0;
    for (const Board &one : kBoards)
      if (std::find(chips.begin(), chips.end(), chipOf(one)) == chips.end())
        sum += std::pow(std::log(idleOf(one, standby) / one.watts), 2);
    return sum;
  };
  for (int i = 0; i < 100; ++i) {
    double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (squares(a) < squares(b) ? high : low) = squares(a) < squares(b) ? b : a;
  }
  return low;
}

double wattsOf(const std::string &name) {
  return std::find_if(std::begin(kBoards), std::end(kBoards), [&](const Board &one) { return one.name == name; })
      ->watts;
}

} // namespace

// What the catalogue has measured of the same boards.
TEST(IdlePower, ReadingsAreThoseOfTheCatalogue) {
  for (const calibrate::PowerRow &row : calibrate::shippedPowerRows()) {
    if (row.id == "acme-gpu_power_kalos-p5")
      EXPECT_EQ(row.measured.value, wattsOf("A100 SXM4"));
    if (row.id == "idle-h100-sxm")
      EXPECT_EQ(row.measured.value, wattsOf("H100 SXM5"));
  }
  for (const calibrate::CapRow &row : calibrate::shippedCapRows()) {
    if (row.board == "p100")
      EXPECT_EQ(row.idle.value, wattsOf("P100 PCIe"));
    if (row.board == "v100")
      EXPECT_EQ(row.idle.value, wattsOf("V100 PCIe"));
  }
}

TEST(IdlePower, OfBoardsThatTheFitHasNotSeen) {
  double worst = 0;
  for (const Board &board : kBoards) {
    double standby = fittedWithout({chipOf(board)}), idle = idleOf(board, standby), error = idle / board.watts - 1;
    std::printf("| %s | %.4g | %.3g | %+.0f %% | %.2f |\n", board.name, board.watts, idle, 100 * error, standby);
    worst = std::max(worst, std::abs(error));
  }
  // Of one vendor from the board of another.
  double other = fittedWithout({"P100", "V100", "A100", "H100", "B200"});
  for (const Board &board : kBoards)
    worst = std::max(worst, std::abs(idleOf(board, other) / board.watts - 1));
  double all = fittedWithout({});
  std::printf("standby of a stack, fitted to all: %.2f W; worst error unseen %.0f %%\n", all, 100 * worst);
  EXPECT_NEAR(InterfaceTable::shipped().find("hbm2")->standby, all, 0.1);
  EXPECT_LT(worst, 0.2);
}
