// Rigid jobs with a number of steps at a constant rate on each type of device, and tables of such rates: plain data.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/support/Result.h"
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace accord::jobs {

/// Steps a second of an application with a gang of devices, on each type.
struct ThroughputTable {
  std::vector<std::string> types;
  /// By application and gang size; one number for each of `types`, 0 where it does not fit into the memory.
  std::map<std::pair<std::string, unsigned>, std::vector<double>> rates;

  /// The number of a type, or `types.size()`.
  size_t typeOf(const std::string &name) const;
  /// The rates of an application and gang on the types of these names, in their order: 0 where the table does not have
  /// the type; empty where it does not have the application with that gang.
  std::vector<double> ratesOn(const std::vector<std::string> &names, const std::string &application,
                              unsigned gang) const;
  /// The types on which an application with a gang fits, ascending.
  std::vector<size_t> typesThatFit(const std::string &application, unsigned gang) const;
};

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
