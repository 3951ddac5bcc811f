#include "lib/jobs/problem/JobBatches.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

namespace accord::jobs {
namespace {

/// What steps say at a share.
double at(const Steps &steps, double share, double otherwise) {
  double amount = otherwise;
  for (const auto &[from, one] : steps)
    if (from <= share)
      amount = one;
  return amount;
}

} // namespace

double sampleEfficiency(double noise, int64_t own, int64_t batch) {
  return (noise + static_cast<double>(own)) / (noise + static_cast<double>(batch));
}

std::vector<int64_t> batchesOf(const JobsRequest::Batches &stated, int64_t own) {
  if (!stated.of.empty())
    return stated.of;
  if (stated.max == 0)
    return {own};
  std::vector<int64_t> batches;
  int64_t batch = own;
  while (batch % 2 == 0 && batch > stated.min)
    batch /= 2;
  for (;; batch *= 2) {
    if (batch >= stated.min && batch <= stated.max)
      batches.push_back(batch);
    if (batch > stated.max / 2)
      return batches;
  }
}

Result<LearningRateRule> learningRateRuleOf(const JobsRequest::Batches &stated, std::string_view name) {
  const std::optional<Optimizer> known = optimizer(name);
  const bool isAdaptive = known == Optimizer::Adam || known == Optimizer::AdamW || known == Optimizer::RmsProp;
  const LearningRateRule rule = stated.learningRate == "linear" ? LearningRateRule::Linear
                                : stated.learningRate == "sqrt" ? LearningRateRule::SquareRoot
                                : stated.learningRate == "legw" ? LearningRateRule::Legw
                                : isAdaptive                    ? LearningRateRule::AdaScaleRoot
                                                                : LearningRateRule::AdaScale;
  if (!known)
    return Error{Code::WrongJobsBlock, fmt::format("no learning-rate rule is known for optimizer '{}'", name),
                 stated.learningRate.empty() ? stated.location : stated.at};
  if (auto checked = scaleLearningRate(rule, *known, 1, 1); !checked)
    return Error{Code::WrongJobsBlock, checked.error().message,
                 stated.learningRate.empty() ? stated.location : stated.at};
  return rule;
}

LearningRateScale learningRateAt(LearningRateRule rule, double noise, int64_t own, int64_t batch) {
  const double scale = static_cast<double>(batch) / static_cast<double>(own);
  auto made = scaleLearningRate(rule, optimizersOf(rule).front(), scale, scale * sampleEfficiency(noise, own, batch));
  return made ? *made : LearningRateScale{};
}

std::vector<JobPhase> phasesOf(const JobsRequest::Job &job) {
  std::set<double> shares{0};
  for (const Steps *steps : {&job.phases, &job.batches.noise})
    for (const auto &[from, amount] : *steps)
      shares.insert(from);
  std::vector<JobPhase> phases;
  for (double share : shares)
    phases.push_back({share, at(job.phases, share, 1), at(job.batches.noise, share, 0)});
  return phases;
}

bool BatchBounds::mayWin(const JobsRequest::Job &job, int64_t own, int64_t batch) const {
  if (!job.batches.areStated())
    return true;
  double bound = std::numeric_limits<double>::infinity();
  for (const auto &[multiple, rate] : rates)
    if (multiple % batch == 0)
      bound = std::min(bound, rate * kMargin);
  for (const JobPhase &phase : phasesOf(job)) {
    double best = 0;
    for (const auto &[other, rate] : rates)
      best = std::max(best, rate * sampleEfficiency(phase.noise, own, other));
    if (bound * sampleEfficiency(phase.noise, own, batch) > best)
      return true;
  }
  return false;
}

} // namespace accord::jobs
