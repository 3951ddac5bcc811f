// What shrinking tiles move at least, against sums at random growths.
#include "lib/machine/tiling/GrowthBound.h"
#include "lib/machine/tiling/Nest.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace accord::tile {
namespace {

double sumAt(const std::vector<GrowthTerm> &terms, const double *growth) {
  double sum = 0;
  for (const GrowthTerm &term : terms) {
    double log = term.log;
    for (int i = 0; i < 5; ++i)
      if (term.loops >> i & 1)
        log += growth[i];
    sum += std::exp(log);
  }
  return sum;
}

TEST(Growth, NoGrowthsGiveLess) {
  std::mt19937 random(3);
  auto draw = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  double closest = 1e9;
  for (int round = 0; round < 2000; ++round) {
    std::vector<GrowthTerm> terms(3);
    for (GrowthTerm &term : terms)
      term = {draw(0, 5), static_cast<uint32_t>(random() % 32)};
    uint32_t shrinking = random() % 31 + 1;
    double max[kMaxLoops] = {}, all = 0;
    for (int i = 0; i < 5; ++i) {
      max[i] = draw(0, 3);
      all += shrinking >> i & 1 ? max[i] : 0;
    }
    double min = draw(0, all);
    double bound = std::exp(minGrowth(terms, shrinking, min, max));
    for (int sample = 0; sample < 200; ++sample) {
      double growth[kMaxLoops] = {}, sum = 0;
      for (int i = 0; i < 5; ++i)
        sum += growth[i] = shrinking >> i & 1 ? draw(0, max[i]) : 0;
      // As much growth as is asked for, and no more: the rest in equal parts of what is left.
      if (sum < min)
        for (int i = 0; i < 5; ++i)
          growth[i] += shrinking >> i & 1 ? (max[i] - growth[i]) * (min - sum) / (all - sum) : 0;
      else
        for (int i = 0; i < 5; ++i)
          growth[i] *= min / sum;
      double found = sumAt(terms, growth);
      ASSERT_GE(found, bound * (1 - 1e-9)) << round;
      closest = std::min(closest, found / bound);
    }
  }
  EXPECT_LT(closest, 1.001);
}

/// A matrix product whose result stays: a/n + b/m with m * n shrunk by g is least at equal parts, 2
/// sqrt(a b e^g).
TEST(Growth, MatrixProduct) {
  std::vector<GrowthTerm> terms = {{std::log(8.0), 1}, {std::log(8.0), 2}};
  double max[kMaxLoops] = {10, 10};
  EXPECT_NEAR(std::exp(minGrowth(terms, 3, 2, max)), 2 * 8 * std::exp(1.0), 1e-9);
  double unequal[kMaxLoops] = {10, 0};
  EXPECT_NEAR(std::exp(minGrowth(terms, 3, 2, unequal)), 8 * std::exp(2.0) + 8, 1e-9);
}

} // namespace
} // namespace accord::tile
