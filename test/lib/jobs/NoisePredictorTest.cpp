// Gradient noise of trainings that never ran: a law that is exact, what is not known, coverage of drawn families that
// are left out, and tables.
#include "lib/jobs/solve/NoisePredictor.h"
#include "lib/import/jobs/TraceJobs.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace accord::jobs {
namespace {

double normal(SplitMix &random) {
  const double u = 1 - random.unit(), v = random.unit();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// Families of two models, whose noise is the root of the data times what differs by family and model.
std::vector<MeasuredNoise> drawn(uint64_t seed, size_t families, double familyScale, double modelScale) {
  SplitMix random(seed);
  std::vector<MeasuredNoise> made;
  for (size_t family = 0; family < families; ++family) {
    const double own = familyScale * normal(random);
    for (const char *model : {"a", "b"}) {
      const double data = 1e4 * std::pow(10, 4 * random.unit());
      const std::string name = "f" + std::to_string(family);
      made.push_back({name + model,
                      name,
                      {"vision", 0, data},
                      10 * std::sqrt(data) * std::exp(own + modelScale * normal(random))});
    }
  }
  return made;
}

TEST(NoisePredictorTest, CarriesALawOver) {
  const NoisePredictor predictor(drawn(1, 12, 0, 0));
  for (double data : {2e4, 1e6, 5e7}) {
    const PredictedNoise noise = predictor.predict({"vision", 0, data});
    EXPECT_NEAR(noise.median / (10 * std::sqrt(data)), 1, 0.1) << data;
    EXPECT_LT(noise.low, noise.median);
    EXPECT_LT(noise.median, noise.high);
  }
  // What is like no measured training has a wider interval.
  const PredictedNoise known = predictor.predict({"vision", 0, 1e6}), far = predictor.predict({"vision", 0, 1e12}),
                       other = predictor.predict({"speech", 0, 1e6});
  EXPECT_GT(far.high / far.low, known.high / known.low);
  EXPECT_GT(other.high / other.low, known.high / known.low);
}

/// A training whose sibling is known is nearer to it than one of another family.
TEST(NoisePredictorTest, IsNearWhatIsAlikeAndKnown) {
  const std::vector<MeasuredNoise> measured = drawn(2, 12, 1, 0.1);
  const NoisePredictor predictor(measured);
  const MeasuredNoise &one = measured.front();
  const PredictedNoise sibling = predictor.predict(one.training, one.family),
                       stranger = predictor.predict(one.training);
  EXPECT_LT(std::abs(std::log(sibling.median / one.noise)), std::abs(std::log(stranger.median / one.noise)));
  EXPECT_LT(sibling.high / sibling.low, stranger.high / stranger.low);
}

TEST(NoisePredictorTest, CoversFamiliesThatAreLeftOut) {
  size_t rows = 0, covered = 0;
  for (uint64_t seed = 0; seed < 12; ++seed)
    for (const auto &[model, value] : leaveNoiseOut(drawn(seed, 12, 1, 0.5), NoiseGroup::Family))
      ++rows, covered += value.isCovered();
  EXPECT_GE(static_cast<double>(covered) / static_cast<double>(rows), 0.85);
}

TEST(NoisePredictorTest, LeavesModelsOut) {
  const std::vector<MeasuredNoise> measured = drawn(3, 10, 1, 0.1);
  double ofModels = 0, ofFamilies = 0;
  for (const auto &[model, value] : leaveNoiseOut(measured, NoiseGroup::Model))
    ofModels += std::abs(std::log(value.predicted / value.measured));
  for (const auto &[model, value] : leaveNoiseOut(measured, NoiseGroup::Family))
    ofFamilies += std::abs(std::log(value.predicted / value.measured));
  EXPECT_LT(ofModels, ofFamilies); // siblings are known
}

TEST(NoisePredictorTest, ReadsTables) {
  const std::string header = "model,family,task,parameters,data,noise\n";
  const auto table = readNoiseTable(header + "a,f,vision,,1000,20\n\"b, c\",f,vision,5e6,2e3,30\n", "t.csv");
  ASSERT_TRUE(bool(table));
  EXPECT_EQ((*table)[0].training.parameters, 0);
  EXPECT_EQ((*table)[1].model, "b, c");
  EXPECT_EQ((*table)[1].training.parameters, 5e6);
  EXPECT_EQ((*table)[1].noise, 30);
  for (const char *wrong : {"a,f,vision,,0,20\n", "a,f,vision,,10,0\n", "a,f,vision,x,10,5\n", "a,f,vision,,,5\n",
                            "a,f,vision,,10,5\na,f,vision,,10,5\n", "a,f,vision,,10,-1\n", "a,f\n"})
    EXPECT_FALSE(bool(readNoiseTable(header + wrong, "t.csv"))) << wrong;
  const auto assumed = readAssumedNoise("application,noise\nbert,690\nncf,0\n", "t.csv");
  ASSERT_TRUE(bool(assumed));
  EXPECT_EQ(assumed->at("bert"), 690);
  EXPECT_FALSE(bool(readAssumedNoise("application,noise\nbert,1\nbert,2\n", "t.csv")));
}

} // namespace
} // namespace accord::jobs
