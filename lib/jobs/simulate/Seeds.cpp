#include "lib/jobs/simulate/Seeds.h"
#include "lib/prediction/StudentDistribution.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

double meanOf(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

} // namespace

MeanInterval studentInterval(const std::vector<double> &values, double confidence) {
  const double mean = meanOf(values);
  if (values.size() < 2)
    return {mean, mean, mean};
  const auto count = static_cast<double>(values.size());
  double squares = 0;
  for (double value : values)
    squares += (value - mean) * (value - mean);
  const double half = studentQuantile((1 + confidence) / 2, static_cast<unsigned>(values.size() - 1)) *
                      std::sqrt(squares / (count - 1) / count);
  return {mean, mean - half, mean + half};
}

MeanInterval bootstrapInterval(const std::vector<double> &values, double confidence, unsigned resamples,
                               uint64_t seed) {
  const double mean = meanOf(values);
  if (values.size() < 2 || resamples == 0)
    return {mean, mean, mean};
  SplitMix random(seed);
  std::vector<double> means;
  for (unsigned i = 0; i < resamples; ++i) {
    double sum = 0;
    for (size_t k = 0; k < values.size(); ++k)
      sum += values[random.below(values.size())];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::ranges::sort(means);
  auto at = [&](double share) {
    const double rank = std::floor(share * (resamples - 1) + 0.5);
    return means[static_cast<size_t>(std::clamp(rank, 0.0, resamples - 1.0))];
  };
  return {mean, at((1 - confidence) / 2), at((1 + confidence) / 2)};
}

std::vector<DrawnJob> drawTrace(const std::vector<double> &arrivals, size_t count, double load, uint64_t seed) {
  std::vector<DrawnJob> drawn;
  if (arrivals.empty())
    return drawn;
  const auto [first, last] = std::ranges::minmax(arrivals);
  const double gap =
      arrivals.size() > 1 ? (last - first) / static_cast<double>(arrivals.size() - 1) / load : 0; // in the mean
  SplitMix random(seed);
  double now = 0;
  for (size_t i = 0; i < count; ++i) {
    drawn.push_back({static_cast<size_t>(random.below(arrivals.size())), now});
    now -= gap * std::log1p(-random.unit());
  }
  return drawn;
}

SeedOutcome outcomeOf(uint64_t seed, const std::vector<SimulatedJob> &jobs, const SimulationResult &result) {
  SeedOutcome outcome;
  outcome.seed = seed;
  outcome.meanCompletion = result.meanCompletion(jobs);
  outcome.makespan = result.makespan();
  std::vector<double> times;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const SimulatedOutcome &job = result.jobs[i];
    times.push_back(job.completion.value_or(0) - jobs[i].arrival);
    outcome.restartsPerJob += job.restarts / static_cast<double>(jobs.size());
    outcome.failures += job.failures;
    outcome.lostSeconds += job.lostSeconds;
  }
  std::ranges::sort(times);
  if (!times.empty())
    outcome.tailCompletion = times[static_cast<size_t>(std::ceil(0.99 * static_cast<double>(times.size()))) - 1];
  return outcome;
}

Result<std::vector<SeedOutcome>> simulateSeeds(const Cluster &cluster, const std::vector<SimulatedJob> &jobs,
                                               const std::function<std::unique_ptr<Policy>()> &make,
                                               const SimulationOptions &options, unsigned count) {
  std::vector<SeedOutcome> outcomes;
  for (unsigned i = 0; i < count; ++i) {
    SimulationOptions seeded = options;
    seeded.seed = options.seed + i;
    const std::unique_ptr<Policy> policy = make();
    auto result = simulate(cluster, jobs, *policy, seeded);
    if (!result)
      return result.takeError();
    outcomes.push_back(outcomeOf(seeded.seed, jobs, *result));
  }
  return outcomes;
}

} // namespace accord::jobs
