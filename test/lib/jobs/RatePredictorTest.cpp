// Rates on types and gangs that were not measured: exact ratios, what a known rate says, coverage of left-out families
// of tables that are drawn, Gavel's table where it is, and jobs whose policies know no more.
#include "lib/jobs/solve/RatePredictor.h"
#include "lib/jobs/simulate/PredictedSpeeds.h"
#include "lib/support/SplitMix.h"
#include "test/support/GavelTraces.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace accord::jobs {
namespace {

double normal(SplitMix &random) {
  const double u = 1 - random.unit(), v = random.unit();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// Families of two applications on three types; the fast type is as many times as fast as the slow one.
ThroughputTable drawnTable(uint64_t seed, double familyScale) {
  SplitMix random(seed);
  ThroughputTable table;
  table.types = {"fast", "middle", "slow"};
  for (const char *family : {"Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta"}) {
    const double fast = 4 * std::exp(familyScale * normal(random)), middle = 2 * std::exp(familyScale * normal(random));
    for (const char *batch : {"-1 (batch size 8)", "-1 (batch size 16)"}) {
      const double slow = std::exp(normal(random));
      table.rates[{std::string(family) + batch, 1}] = {slow * fast, slow * middle, slow};
    }
  }
  return table;
}

TEST(RatePredictorTest, NamesFamilies) {
  EXPECT_EQ(familyOf("ResNet-50 (batch size 64)"), "ResNet");
  EXPECT_EQ(familyOf("A3C"), "A3C");
  EXPECT_EQ(familyOf("LM (batch size 5)"), "LM");
  EXPECT_EQ(familyOf("3d-unet"), "3d");
  EXPECT_EQ(familyOf("(x)"), "(x)");
  EXPECT_EQ(familyOf(""), "");
}

TEST(RatePredictorTest, CarriesEqualRatiosOver) {
  const RatePredictor predictor(measuredRates(drawnTable(1, 0)));
  const std::vector<RatePlace> places = {{"fast", 1}, {"middle", 1}, {"slow", 1}};
  const prediction::Normal prior = predictor.logRates("New", "New-1", places);
  const prediction::Normal known = prediction::condition(prior, {2}, {std::log(10.0)});
  EXPECT_NEAR(std::exp(known.mean[0]), 40, 2);
  EXPECT_NEAR(std::exp(known.mean[1]), 20, 1);
  EXPECT_GT(prior.variance(0), 1); // no rate says how fast it is
  const PredictedRate rate = predictedRate(known.mean[0], known.variance(0));
  EXPECT_LT(rate.high / rate.low, 1.6); // the ratio was the same in all of eight families
  EXPECT_LT(rate.low, rate.median);
  // A type that nothing was measured on is not refused; nobody knows how fast it is.
  const prediction::Normal other =
      prediction::condition(predictor.logRates("New", "New-1", {{"slow", 1}, {"unknown", 4}}), {0}, {std::log(10.0)});
  EXPECT_GT(other.variance(1), 4 * known.variance(0));
  // Nor is there a need for any other model.
  EXPECT_EQ(RatePredictor({}).logRates("New", "New-1", places).size(), 3u);
}

TEST(RatePredictorTest, CoversFamiliesThatWereLeftOut) {
  std::vector<prediction::HeldOutValue> values;
  for (uint64_t seed = 0; seed < 12; ++seed)
    for (const LeftOutRate &one : leaveRatesOut(measuredRates(drawnTable(seed, 0.3))))
      values.push_back(one.value);
  const prediction::HeldOutScore score = prediction::scoreOf(values);
  EXPECT_EQ(score.rows, 12u * 16 * 6);
  EXPECT_GE(score.coverage, 0.83);
  EXPECT_LE(score.coverage, 0.97);
  // Another batch of the model says more than all other families.
  std::vector<prediction::HeldOutValue> same;
  for (const LeftOutRate &one : leaveRatesOut(measuredRates(drawnTable(0, 0.3)), /*sameModel=*/true))
    same.push_back(one.value);
  EXPECT_LT(prediction::scoreOf(same).meanError, score.meanError / 2);
}

TEST(RatePredictorTest, PredictsGavelsRates) {
  const auto table = readGavelThroughputs(testing::gavelFile("physical_cluster_throughputs.json"), "rates.json");
  if (!table)
    GTEST_SKIP() << testing::kNoGavel;
  std::vector<MeasuredRate> alone = measuredRates(*table);
  std::erase_if(alone, [](const MeasuredRate &one) {
    return one.place.devices > 1 || one.place.type.find("unconsolidated") != std::string::npos;
  });
  std::vector<prediction::HeldOutValue> values;
  for (const LeftOutRate &one : leaveRatesOut(alone))
    values.push_back(one.value);
  const prediction::HeldOutScore score = prediction::scoreOf(values);
  EXPECT_EQ(score.rows, 152u); // docs/learning.md
  EXPECT_NEAR(score.meanError, 0.310, 0.002);
  EXPECT_NEAR(score.coverage, 0.895, 0.004);
}

TEST(PredictedSpeedsTest, KnowsWhereItRan) {
  const ThroughputTable table = drawnTable(3, 0.3);
  const std::string application = "Beta-1 (batch size 8)";
  const std::vector<double> rates = table.rates.at({application, 1});
  Cluster cluster;
  cluster.types = table.types;
  for (unsigned type = 0; type < 3; ++type)
    cluster.servers.push_back({type, 1});
  PredictedSpeeds speeds(table, table.types);
  SteadyJob job{"job", application, 0, 1000, 1, 1, 0, rates};
  job.rates[1] = 0; // it does not fit there
  const std::vector<SimulatedJob> jobs = predictedJobs({job}, speeds);
  const auto progress = jobs.front().progress();
  EXPECT_FALSE(progress->knowsSpeed());
  EXPECT_EQ(progress->rate(cluster, 1, 1), 0);
  EXPECT_EQ(progress->rate(cluster, 0, 2), 0);
  const double before = progress->rate(cluster, 0, 1) / progress->rate(cluster, 2, 1);
  EXPECT_NEAR(std::log(before), std::log(4), 0.5); // as others have it
  const auto checkpoint = progress->copy();
  progress->place(cluster, {{2, 1}});
  EXPECT_TRUE(progress->knowsSpeed());
  EXPECT_EQ(progress->rate(cluster, 2, 1), rates[2]);
  EXPECT_NEAR(progress->rate(cluster, 0, 1) / rates[2], before, 0.2 * before);
  EXPECT_NE(progress->rate(cluster, 0, 1), rates[0]);
  EXPECT_EQ(progress->run(10), std::nullopt);
  EXPECT_NEAR(progress->workDone(), 10 * rates[2], 1e-9); // as measured
  progress->place(cluster, {{0, 1}});
  EXPECT_EQ(progress->rate(cluster, 0, 1), rates[0]);
  EXPECT_TRUE(checkpoint->knowsSpeed()); // what was seen is not lost with the work
  EXPECT_FALSE(jobs.front().progress()->knowsSpeed());
}

} // namespace
} // namespace accord::jobs
