// Rigid jobs with a number of steps at a constant rate on each type of device: plain data.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/support/Result.h"

namespace accord::jobs {

/// A number for each job and type.
using TypeMatrix = std::vector<std::vector<double>>;

struct SteadyJob {
  std::string name, application;
  double arrival = 0;        ///< seconds
  double steps = 0;          ///< more than 0
  unsigned gang = 1;         ///< devices of one type, all at once
  double weight = 1;         ///< more than 0; twice the weight is entitled to twice the speed
  double restartSeconds = 0; ///< without progress, each time its devices change (and when it starts)
  std::vector<double> rates; ///< steps a second on each type of the cluster; 0: it does not fit
};

/// Refuses what could never run: error A1102 for a gang larger than every type (with the job and the largest count),
/// A1103 for a rate of 0 on each type that holds the gang, A1101 for steps, weights or rates that are no such numbers.
Result<void> checkSteadyJobs(const Cluster &cluster, const std::vector<SteadyJob> &jobs);

} // namespace accord::jobs
