// Mixed models against closed forms written down again: ridge regression, conditional normal distributions by
// elimination, groups left out by computing without them; and conformal scores by their definition.
#include "lib/prediction/MixedModel.h"
#include "lib/prediction/HeldOut.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace accord::prediction {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// A^-1 b by Gauss' elimination with pivots.
std::vector<double> solved(Matrix a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t j = i; j < n; ++j)
      if (std::abs(a[j][i]) > std::abs(a[pivot][i]))
        pivot = j;
    std::swap(a[i], a[pivot]), std::swap(b[i], b[pivot]);
    for (size_t j = i + 1; j < n; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (size_t k = i; k < n; ++k)
        a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k)
      b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

double normal(SplitMix &random) {
  const double u = 1 - random.unit(), v = random.unit();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// Rows with two features and a group each; a model of a slope for each feature and an effect of each group.
struct Sample {
  std::vector<std::array<double, 2>> features;
  std::vector<int> groups;
  std::vector<double> values;
  std::vector<size_t> rows;

  Sample(uint64_t seed, int numGroups, int perGroup, double groupScale = 0.5, double noise = 0.3) {
    SplitMix random(seed);
    for (int group = 0; group < numGroups; ++group) {
      const double effect = groupScale * normal(random);
      for (int i = 0; i < perGroup; ++i) {
        features.push_back({normal(random), normal(random)});
        groups.push_back(group);
        values.push_back(0.7 * features.back()[0] - 0.4 * features.back()[1] + effect + noise * normal(random));
        rows.push_back(rows.size());
      }
    }
  }
  Kernel kernel() const {
    return [this](size_t effect, size_t a, size_t b) {
      return effect < 2 ? features[a][effect] * features[b][effect] : double(groups[a] == groups[b]);
    };
  }
  MixedModel model(double noise = 0.3) const {
    return MixedModel({{"first", 1, 1}, {"second", 1, 1}, {"group", 0.5, 1}}, kernel(), noise);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const int group : groups)
      all.push_back(std::to_string(group));
    return all;
  }
};

/// Covariance of two rows by `scales`, with noise on the diagonal.
double covarianceOf(const Sample &sample, const std::vector<double> &scales, double noise, size_t a, size_t b) {
  double sum = a == b ? noise * noise : 0;
  for (size_t effect = 0; effect < scales.size(); ++effect)
    sum += scales[effect] * scales[effect] * sample.kernel()(effect, a, b);
  return sum;
}

TEST(MixedModelTest, SlopesAloneAreRidgeRegression) {
  const Sample sample(1, 4, 5);
  const double scale = 0.8, noise = 0.3;
  const MixedModel model({{"first", scale, 0}, {"second", scale, 0}}, sample.kernel(), noise);
  const std::vector<size_t> rows(sample.rows.begin(), sample.rows.end() - 3);
  const std::vector<double> values(sample.values.begin(), sample.values.end() - 3);
  const std::vector<size_t> queries(sample.rows.end() - 3, sample.rows.end());
  const Normal predicted = model.predict(rows, values, queries);
  // Weights (X'X + noise^2 / scale^2 I)^-1 X'y, and variance noise^2 (1 + x (…)^-1 x').
  Matrix gram = {{noise * noise / (scale * scale), 0}, {0, noise * noise / (scale * scale)}};
  std::vector<double> moments(2);
  for (const size_t row : rows)
    for (size_t i = 0; i < 2; ++i) {
      moments[i] += sample.features[row][i] * values[row];
      for (size_t j = 0; j < 2; ++j)
        gram[i][j] += sample.features[row][i] * sample.features[row][j];
    }
  const std::vector<double> weights = solved(gram, moments);
  for (size_t q = 0; q < queries.size(); ++q) {
    const auto &x = sample.features[queries[q]];
    EXPECT_NEAR(predicted.mean[q], x[0] * weights[0] + x[1] * weights[1], 1e-9);
    const std::vector<double> spread = solved(gram, {x[0], x[1]});
    EXPECT_NEAR(predicted.variance(q), noise * noise * (1 + x[0] * spread[0] + x[1] * spread[1]), 1e-9);
  }
}

TEST(MixedModelTest, PredictsTheConditionalDistribution) {
  const Sample sample(2, 5, 4);
  const double noise = 0.3;
  MixedModel model = sample.model(noise);
  model.setScales({0.9, 0.6, 0.4});
  const std::vector<size_t> rows(sample.rows.begin(), sample.rows.end() - 2);
  const std::vector<double> values(sample.values.begin(), sample.values.end() - 2);
  const std::vector<size_t> queries(sample.rows.end() - 2, sample.rows.end());
  const Normal predicted = model.predict(rows, values, queries);
  Matrix all;
  for (const size_t a : rows) {
    all.emplace_back();
    for (const size_t b : rows)
      all.back().push_back(covarianceOf(sample, model.scales(), noise, a, b));
  }
  const std::vector<double> weights = solved(all, values);
  for (size_t q = 0; q < 2; ++q) {
    std::vector<double> across;
    for (const size_t row : rows)
      across.push_back(covarianceOf(sample, model.scales(), noise, queries[q], row));
    const std::vector<double> part = solved(all, across);
    double mean = 0, variance = covarianceOf(sample, model.scales(), noise, queries[q], queries[q]);
    for (size_t i = 0; i < rows.size(); ++i)
      mean += across[i] * weights[i], variance -= across[i] * part[i];
    EXPECT_NEAR(predicted.mean[q], mean, 1e-9);
    EXPECT_NEAR(predicted.variance(q), variance, 1e-9);
  }
  // A value that becomes known afterwards says the same as one that was known before.
  std::vector<size_t> more = rows;
  std::vector<double> moreValues = values;
  more.push_back(queries[0]), moreValues.push_back(sample.values[queries[0]]);
  const Normal later = condition(predicted, {0}, {sample.values[queries[0]]});
  const Normal before = model.predict(more, moreValues, {queries[1]});
  EXPECT_NEAR(later.mean[1], before.mean[0], 1e-9);
  EXPECT_NEAR(later.variance(1), before.variance(0), 1e-9);
  EXPECT_EQ(later.mean[0], sample.values[queries[0]]);
  EXPECT_EQ(later.variance(0), 0);
}

TEST(MixedModelTest, LeavesGroupsOutAsIfTheyHadNeverBeenThere) {
  const Sample sample(3, 6, 3);
  MixedModel model = sample.model();
  model.setScales({0.9, 0.6, 0.4});
  const auto leftOut = model.leaveGroupsOut(sample.rows, sample.values, sample.names());
  for (int group = 0; group < 6; ++group) {
    std::vector<size_t> others, own;
    std::vector<double> values;
    for (const size_t row : sample.rows)
      if (sample.groups[row] == group)
        own.push_back(row);
      else
        others.push_back(row), values.push_back(sample.values[row]);
    const Normal predicted = model.predict(others, values, own);
    for (size_t i = 0; i < own.size(); ++i) {
      EXPECT_NEAR(leftOut[own[i]].mean, predicted.mean[i], 1e-9);
      EXPECT_NEAR(leftOut[own[i]].variance, predicted.variance(i), 1e-9);
    }
  }
}

TEST(MixedModelTest, ChoosesScalesOfALocalMaximum) {
  const Sample sample(4, 40, 4, /*groupScale=*/2, /*noise=*/0.3);
  MixedModel model = sample.model();
  model.fit(sample.rows, sample.values);
  EXPECT_GT(model.scales()[2], 1);
  EXPECT_LT(model.scales()[2], 4);
  const std::vector<double> medians = {1, 1, 0.5};
  auto density = [&](const std::vector<double> &scales) {
    MixedModel other = sample.model();
    other.setScales(scales);
    double sum = other.logLikelihood(sample.rows, sample.values);
    for (size_t i = 0; i < scales.size(); ++i)
      sum -= std::pow(std::log(scales[i] / medians[i]), 2) / 2;
    return sum;
  };
  const double best = density(model.scales());
  for (size_t i = 0; i < 3; ++i)
    for (const double factor : {std::numbers::sqrt2, 1 / std::numbers::sqrt2}) {
      std::vector<double> scales = model.scales();
      scales[i] *= factor;
      EXPECT_LE(density(scales), best + 1e-5);
    }
  MixedModel again = sample.model();
  again.fit(sample.rows, sample.values);
  EXPECT_EQ(again.scales(), model.scales());
  again.fit({}, {});
  EXPECT_EQ(again.scales(), medians);
}

/// Intervals of 90 % cover new groups as often, over samples whose scales are chosen anew.
TEST(MixedModelTest, CoversNewGroups) {
  size_t covered = 0, all = 0;
  for (uint64_t seed = 10; seed < 40; ++seed) {
    const Sample sample(seed, 12, 4);
    const std::vector<size_t> rows(sample.rows.begin(), sample.rows.end() - 8),
        queries(sample.rows.end() - 8, sample.rows.end());
    const std::vector<double> values(sample.values.begin(), sample.values.end() - 8);
    MixedModel model = sample.model();
    model.fit(rows, values);
    const Normal predicted = model.predict(rows, values, queries);
    for (size_t i = 0; i < queries.size(); ++i, ++all)
      covered += std::abs(sample.values[queries[i]] - predicted.mean[i]) <= 1.645 * std::sqrt(predicted.variance(i));
  }
  EXPECT_GE(double(covered) / double(all), 0.84);
  EXPECT_LE(double(covered) / double(all), 0.96);
}

TEST(HeldOutTest, ScoresErrorsAndCoverage) {
  const HeldOutScore score = scoreOf({{"a", 10, 12, 9, 18}, {"a", 10, 9, 9, 9.9}, {"b", 4, 8, 2, 8}});
  EXPECT_EQ(score.rows, 3u);
  EXPECT_NEAR(score.meanError, (0.2 + 0.1 + 1) / 3, 1e-12);
  EXPECT_NEAR(score.medianError, 0.2, 1e-12);
  EXPECT_NEAR(score.worstError, 1, 1e-12);
  EXPECT_NEAR(score.coverage, 2.0 / 3, 1e-12);
  EXPECT_NEAR(score.width, 2, 1e-12);
  EXPECT_EQ(scoreOf({}).rows, 0u);
  const auto groups = scoresByGroup({{"b", 4, 8, 2, 8}, {"a", 10, 12, 9, 18}, {"a", 10, 9, 9, 9.9}});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].first, "a");
  EXPECT_NEAR(groups[0].second.meanError, 0.15, 1e-12);
  EXPECT_EQ(groups[1].second.rows, 1u);
}

TEST(HeldOutTest, ConformalScoreIsTheWeightedQuantile) {
  std::vector<GroupedScore> scores;
  for (int group = 0; group < 8; ++group)
    scores.push_back({std::to_string(group), double(group)});
  EXPECT_FALSE(conformalScore(scores, 0.9)); // 8 of 9 are less than 90 %
  EXPECT_EQ(conformalScore(scores, 0.8), 7);
  scores.push_back({"8", 8});
  EXPECT_EQ(conformalScore(scores, 0.9), 8); // 9 of 10
  EXPECT_EQ(conformalScore(scores, 0.5), 4);
  for (int i = 0; i < 99; ++i) // many rows of one group count as much as one
    scores.push_back({"0", 0});
  EXPECT_EQ(conformalScore(scores, 0.9), 8);
  EXPECT_FALSE(conformalScore({}, 0.9));
}

/// Groups that are exchangeable: one row of a new one is covered at least as often as asked.
TEST(HeldOutTest, ConformalScoreCoversANewGroup) {
  SplitMix random(7);
  constexpr int kTrials = 3000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<GroupedScore> scores;
    double own = 0;
    for (int group = 0; group <= 19; ++group) {
      const double effect = normal(random);
      const uint64_t rows = 1 + random.below(6);
      for (uint64_t row = 0; row < rows; ++row) {
        const double score = std::abs(effect + 0.5 * normal(random));
        if (group == 19)
          own = score; // the last of its rows
        else
          scores.push_back({std::to_string(group), score});
      }
    }
    covered += own <= conformalScore(scores, 0.9).value();
  }
  const double deviation = std::sqrt(0.9 * 0.1 / kTrials);
  EXPECT_GE(double(covered) / kTrials, 0.9 - 3 * deviation);
  EXPECT_LE(double(covered) / kTrials, 0.95 + 3 * deviation); // at most 1 / 20 more
}

} // namespace
} // namespace accord::prediction
