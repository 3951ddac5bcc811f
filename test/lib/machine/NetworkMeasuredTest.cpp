// All-reduce times measured with NCCL: a line through two of them predicts the others.
#include "lib/machine/collectives/AlphaBetaFit.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// VIA-Research/vTrain (MIT licence), trace/{a100,v100}/AR_GPU{2,4,8}_1M_1024M_LUT, out of place,
/// in microseconds. A100 80 GB with NVSwitch, V100 in a DGX-1 (hybrid cube mesh).
constexpr int kMebibytes[] = {1, 16, 256, 64, 128, 384, 512, 768, 1024};
struct Measured {
  const char *machine;
  int n;
  double microseconds[9];
};
const Measured kRows[] = {
    {"a100", 2, {44.21, 131.9, 1455.8, 404.7, 763.6, 2142.9, 2838.4, 4151, 5442.8}},
    {"a100", 4, {51.4, 179.6, 1929, 543.8, 998.6, 2820.7, 3720, 5493.5, 7259.4}},
    {"a100", 8, {92.79, 232.4, 2162.3, 579.9, 1162, 3147.1, 4191.5, 6187, 8193}},
    {"v100", 2, {70.14, 764.1, 11915, 2998.9, 5968, 17865, 23807, 35706, 47610}},
    {"v100", 4, {67.26, 324.2, 4714, 1202.1, 2364.8, 7074.2, 9437.4, 14176, 18869}},
    {"v100", 8, {79.93, 273.8, 3527.4, 911.3, 1777.1, 5261.9, 7004.4, 10484, 13969}},
};

MeasuredCollective row(const Measured &m, int i) {
  return {Bytes(kMebibytes[i] * 1048576.0), Seconds(m.microseconds[i] * 1e-6)};
}

double factorOf(const Measured &m) { return 2.0 * (m.n - 1) / m.n; }

} // namespace

TEST(NetworkMeasured, TwoSizesPredictLargerOnes) {
  for (const Measured &m : kRows) {
    MeasuredCollective known[] = {row(m, 1), row(m, 2)};
    auto fit = fitAlphaBeta(known, factorOf(m));
    ASSERT_TRUE(fit);
    double sum = 0;
    for (int i = 3; i < 9; ++i) {
      auto [payload, time] = row(m, i);
      sum += std::abs(fit->time(payload, factorOf(m)).value / time.value - 1);
    }
    fmt::print("{} n={}: alpha {:.1f} us, beta {:.1f} GB/s, mean error {:.2f} %\n", m.machine, m.n,
               fit->alpha.value * 1e6, fit->beta.value * 1e-9, 100 * sum / 6);
    EXPECT_LE(sum / 6, 0.03) << m.machine << m.n;
  }
}

/// Across the sizes at which the library changes its protocol a line is farther off, up to a tenth.
TEST(NetworkMeasured, SmallAndLargePredictTheMiddle) {
  for (const Measured &m : kRows) {
    MeasuredCollective known[] = {row(m, 0), row(m, 2)};
    auto fit = fitAlphaBeta(known, factorOf(m));
    ASSERT_TRUE(fit);
    auto [payload, time] = row(m, 1);
    double error = fit->time(payload, factorOf(m)).value / time.value - 1;
    fmt::print("{} n={}: 16 MiB from 1 and 256 MiB {:+.1f} %\n", m.machine, m.n, 100 * error);
    EXPECT_LE(std::abs(error), 0.1) << m.machine << m.n;
  }
}

/// More NVLink rings of the cube mesh serve more peers (and all go through a switch in the A100
/// server).
TEST(NetworkMeasured, BandwidthDependsOnThePeers) {
  double before = 0;
  for (const Measured &m : kRows) {
    MeasuredCollective all[9];
    for (int i = 0; i < 9; ++i)
      all[i] = row(m, i);
    auto fit = fitAlphaBeta(all, factorOf(m));
    ASSERT_TRUE(fit);
    if (m.n > 2)
      EXPECT_GT(fit->beta.value, before);
    before = fit->beta.value;
  }
}

TEST(NetworkMeasured, LinesAreFoundAndNonsenseIsRefused) {
  MeasuredCollective line[] = {
      {Bytes(1e6), Seconds(30e-6)}, {Bytes(3e6), Seconds(50e-6)}, {Bytes(9e6), Seconds(110e-6)}};
  auto fit = fitAlphaBeta(line, 1.5);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->alpha.value, 20e-6, 1e-12);
  EXPECT_NEAR(fit->beta.value, 1.5e11, 1);
  MeasuredCollective same[] = {line[0], line[0]};
  EXPECT_FALSE(fitAlphaBeta(same, 1.5));
  MeasuredCollective falling[] = {{Bytes(1e6), Seconds(5e-5)}, {Bytes(3e6), Seconds(3e-5)}};
  EXPECT_FALSE(fitAlphaBeta(falling, 1.5));
  EXPECT_FALSE(fitAlphaBeta({}, 1.5));
  EXPECT_FALSE(fitAlphaBeta(line, 0));
  MeasuredCollective steep[] = {{Bytes(1e6), Seconds(1e-6)}, {Bytes(2e6), Seconds(9e-6)}};
  auto throughZero = fitAlphaBeta(steep, 1);
  ASSERT_TRUE(throughZero);
  EXPECT_EQ(throughZero->alpha.value, 0);
}
