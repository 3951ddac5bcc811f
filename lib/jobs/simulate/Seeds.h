// Several seeds: other traces of the same kind, and results with intervals of confidence.
#pragma once
#include "lib/jobs/simulate/Simulator.h"
#include "lib/prediction/StudentDistribution.h"

namespace accord::jobs {

/// A mean, and an interval that holds the true one with a stated probability.
struct MeanInterval {
  double mean = 0, low = 0, high = 0;
};

/// Student's interval of the mean of independent values (Student, Biometrika 6, 1908): mean +- t * s / sqrt(n). All of
/// it is the value where there is only one, and 0 where there is none.
MeanInterval studentInterval(const std::vector<double> &values, double confidence = 0.9);

/// The percentile bootstrap of the mean (Efron, Annals of Statistics 7, 1979): `resamples` means of as many values
/// drawn with replacement by `seed`. Of paired differences, it says whether one policy is better than another: if the
/// interval holds 0, nothing is shown.
MeanInterval bootstrapInterval(const std::vector<double> &values, double confidence = 0.9, unsigned resamples = 10'000,
                               uint64_t seed = 0);

struct DrawnJob {
  size_t job = 0;     ///< of the trace that is known
  double arrival = 0; ///< seconds
};

/// `count` jobs of the trace, each drawn anew from all of them, in the order of their arrival: a Poisson process with
/// `load` times the rate at which the jobs of the trace arrive, the first at 0. All arrive at 0 where those of the
/// trace arrive at once. None of a trace without jobs. The same seed draws the same.
std::vector<DrawnJob> drawTrace(const std::vector<double> &arrivals, size_t count, double load, uint64_t seed);

/// A policy under one seed.
struct SeedOutcome {
  uint64_t seed = 0;
  double meanCompletion = 0, tailCompletion = 0, makespan = 0; ///< seconds; the tail is the 99th percentile
  double restartsPerJob = 0;
  double failures = 0;    ///< of all jobs
  double lostSeconds = 0; ///< of all jobs
};

/// What a simulation says, of `jobs` as they were simulated.
SeedOutcome outcomeOf(uint64_t seed, const std::vector<SimulatedJob> &jobs, const SimulationResult &result);

/// Simulates `count` times with the seeds `options.seed`, and those that follow it; `make` makes a policy for each.
/// The first error of a simulation is returned. The same arguments give the same outcomes.
Result<std::vector<SeedOutcome>> simulateSeeds(const Cluster &cluster, const std::vector<SimulatedJob> &jobs,
                                               const std::function<std::unique_ptr<Policy>()> &make,
                                               const SimulationOptions &options, unsigned count);

} // namespace accord::jobs
