#include "lib/jobs/bandit/LinearBandit.h"
#include <algorithm>
#include <cmath>
#include <optional>

namespace accord::jobs {
namespace {

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace

LinearBandit::LinearBandit(const std::vector<std::vector<double>> &means, double noise, double prior)
    : features(means.empty() ? 0 : means.front().size()), noise(noise) {
  const double ridge = noise * noise / (prior * prior);
  for (const std::vector<double> &mean : means) {
    Model &model = models.emplace_back();
    for (double number : mean)
      model.sum.push_back(ridge * number);
    model.inverse.assign(features * features, 0);
    for (size_t i = 0; i < features; ++i)
      model.inverse[i * features + i] = 1 / ridge;
  }
}

std::vector<double> LinearBandit::solved(const Model &model, const std::vector<double> &context) const {
  std::vector<double> product(features, 0);
  for (size_t row = 0; row < features; ++row)
    for (size_t column = 0; column < features; ++column)
      product[row] += model.inverse[row * features + column] * context[column];
  return product;
}

/// The inverse of A + x x' by Sherman and Morrison (Annals of Mathematical Statistics 21, 1950).
void LinearBandit::observe(size_t arm, const std::vector<double> &context, double reward) {
  Model &model = models[arm];
  const std::vector<double> product = solved(model, context);
  const double divisor = 1 + dot(context, product);
  for (size_t row = 0; row < features; ++row) {
    for (size_t column = 0; column < features; ++column)
      model.inverse[row * features + column] -= product[row] * product[column] / divisor;
    model.sum[row] += reward * context[row];
  }
}

ExpectedReward LinearBandit::expect(size_t arm, const std::vector<double> &context) const {
  const std::vector<double> product = solved(models[arm], context);
  return {dot(product, models[arm].sum), noise * std::sqrt(std::max(dot(product, context), 0.0))};
}

size_t LinearBandit::choose(const std::vector<double> &context, double width, const std::vector<bool> &leftOut) const {
  std::optional<size_t> best;
  double bestScore = 0;
  for (size_t arm = 0; arm < arms(); ++arm) {
    if (leftOut[arm])
      continue;
    const ExpectedReward expected = expect(arm, context);
    const double score = expected.mean + width * expected.deviation;
    if (!best || score > bestScore)
      best = arm, bestScore = score;
  }
  return best.value_or(0);
}

} // namespace accord::jobs
