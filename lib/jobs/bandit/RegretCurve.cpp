#include "lib/jobs/bandit/RegretCurve.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

constexpr double kConfidence = 0.95;
constexpr unsigned kResamples = 2000; ///< of parity

/// Sums over the first jobs of a seed, for each number of jobs from 1 on.
struct SeedSums {
  std::vector<double> regret, change;
};

SeedSums sumsOf(const SeedCompletions &policy, const SeedCompletions &other, size_t count) {
  SeedSums sums;
  double mine = 0, theirs = 0;
  for (size_t i = 0; i < count; ++i) {
    mine += policy[i], theirs += other[i];
    sums.regret.push_back(mine - theirs);
    sums.change.push_back(theirs > 0 ? mine / theirs - 1 : 0);
  }
  return sums;
}

/// The smallest number of jobs from which on the mean of the seeds is within the tolerance; one more than there are if
/// none is.
size_t parityOf(const std::vector<const SeedSums *> &seeds, size_t count, double tolerance) {
  size_t parity = count + 1;
  for (size_t jobs = count; jobs > 0; --jobs) {
    double sum = 0;
    for (const SeedSums *seed : seeds)
      sum += seed->change[jobs - 1];
    if (sum / static_cast<double>(seeds.size()) > tolerance)
      break;
    parity = jobs;
  }
  return parity;
}

} // namespace

RegretCurve regretCurve(const std::vector<SeedCompletions> &policy, const std::vector<SeedCompletions> &other,
                        size_t numPoints, double tolerance) {
  const size_t numSeeds = std::min(policy.size(), other.size());
  size_t count = numSeeds > 0 ? policy.front().size() : 0;
  for (size_t seed = 0; seed < numSeeds; ++seed)
    count = std::min({count, policy[seed].size(), other[seed].size()});
  RegretCurve curve;
  if (count == 0)
    return curve;
  std::vector<SeedSums> sums;
  for (size_t seed = 0; seed < numSeeds; ++seed)
    sums.push_back(sumsOf(policy[seed], other[seed], count));
  numPoints = std::clamp<size_t>(numPoints, 1, count);
  for (size_t i = 1; i <= numPoints; ++i) {
    const size_t jobs = count * i / numPoints;
    std::vector<double> regrets, changes;
    for (const SeedSums &seed : sums)
      regrets.push_back(seed.regret[jobs - 1]), changes.push_back(seed.change[jobs - 1]);
    curve.points.push_back({jobs, bootstrapInterval(regrets, kConfidence), bootstrapInterval(changes, kConfidence)});
  }
  std::vector<const SeedSums *> all;
  for (const SeedSums &seed : sums)
    all.push_back(&seed);
  auto reached = [count](size_t jobs) { return jobs > count ? std::nullopt : std::optional(jobs); };
  curve.parity.jobs = reached(parityOf(all, count, tolerance));
  std::vector<size_t> resampled;
  SplitMix random(0);
  for (unsigned i = 0; i < kResamples; ++i) {
    std::vector<const SeedSums *> drawn;
    for (size_t k = 0; k < numSeeds; ++k)
      drawn.push_back(&sums[random.below(numSeeds)]);
    resampled.push_back(parityOf(drawn, count, tolerance));
  }
  std::ranges::sort(resampled);
  auto at = [&](double share) {
    return reached(resampled[static_cast<size_t>(std::floor(share * (kResamples - 1) + 0.5))]);
  };
  curve.parity.low = at((1 - kConfidence) / 2), curve.parity.high = at((1 + kConfidence) / 2);
  return curve;
}

} // namespace accord::jobs
