// What learning curves come to: against the proof of the verifier, which computes it in another way, and on curves that
// are known.
#include "lib/tuning/solve/LearningCurve.h"
#include "lib/prediction/StudentDistribution.h"
#include "lib/support/SplitMix.h"
#include "lib/tuning/verify/CurveProof.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::tuning;

namespace {

std::vector<double> someCurve(SplitMix &random, int64_t units, double noise) {
  const double end = random.unit(), range = 3 * random.unit() - 1, power = 0.3 + 2 * random.unit();
  std::vector<double> out;
  for (int64_t unit = 1; unit <= units; ++unit)
    out.push_back(end - range * std::pow(static_cast<double>(unit), -power) + noise * (random.unit() - 0.5));
  return out;
}

TEST(LearningCurve, TailsOfStudentsDistributionAreThoseOfTables) {
  EXPECT_NEAR(studentTail(6.314, 1), 0.05, 1e-5); // Student's t, one-sided
  EXPECT_NEAR(studentTail(2.015, 5), 0.05, 1e-5);
  EXPECT_NEAR(studentTail(1.711, 24), 0.05, 1e-4);
  EXPECT_NEAR(studentTail(0, 7), 0.5, 1e-15);
}

TEST(LearningCurve, AgreesWithTheProof) {
  SplitMix random(5);
  for (int i = 0; i < 60; ++i) {
    const auto seen = 1 + static_cast<int64_t>(random.below(i % 3 ? 20 : 200));
    const std::vector<double> curve =
        i % 7 ? someCurve(random, seen, 0.1 * random.unit()) : std::vector<double>(static_cast<size_t>(seen), 0.25);
    const int64_t unit = seen + 1 + static_cast<int64_t>(random.below(300));
    std::vector<double> last;
    for (size_t k = random.below(9); k > 0; --k)
      last.push_back(random.unit());
    const CurvePrediction prediction = predictCurve(curve, unit, quartileDistance(last));
    for (double best : {curve.back() - 0.2, curve.back() + 0.01, curve.back() + 1}) {
      EXPECT_NEAR(1 - prediction.below(best), probabilityToBeat(curve, unit, last, best, true), 1e-6);
      EXPECT_NEAR(prediction.below(best), probabilityToBeat(curve, unit, last, best, false), 1e-6);
    }
  }
}

TEST(LearningCurve, FollowsPowersAndMovesWithTheUnitOfValues) {
  std::vector<double> curve;
  for (int64_t unit = 1; unit <= 20; ++unit)
    curve.push_back(0.9 - 0.5 / static_cast<double>(unit));
  const double end = 0.9 - 0.5 / 100;
  const CurvePrediction prediction = predictCurve(curve, 100, 0);
  EXPECT_NEAR(prediction.quantile(0.5), end, 0.02);
  EXPECT_LT(prediction.quantile(0.05), end);
  EXPECT_GT(prediction.quantile(0.95), end);
  EXPECT_NEAR(prediction.below(prediction.quantile(0.3)), 0.3, 1e-9);
  // Further ahead it is less sure; and a loss is the mirror of an accuracy.
  const CurvePrediction further = predictCurve(curve, 1000, 0);
  EXPECT_GT(further.quantile(0.95) - further.quantile(0.05), prediction.quantile(0.95) - prediction.quantile(0.05));
  std::vector<double> mirrored;
  for (double value : curve)
    mirrored.push_back(7 - 3 * value);
  EXPECT_NEAR(predictCurve(mirrored, 100, 0).quantile(0.5), 7 - 3 * prediction.quantile(0.5), 1e-6);
}

TEST(LearningCurve, CoversCurvesWithNoise) {
  SplitMix random(11);
  int inside = 0, all = 0;
  for (int i = 0; i < 150; ++i)
    for (int64_t seen : {5, 15}) {
      std::vector<double> curve = someCurve(random, 50, 0.05);
      const double end = curve.back();
      curve.resize(static_cast<size_t>(seen));
      const double below = predictCurve(curve, 50, 0.5).below(end);
      inside += below > 0.05 && below < 0.95, ++all;
    }
  EXPECT_GT(inside, all * 85 / 100);
}

} // namespace
