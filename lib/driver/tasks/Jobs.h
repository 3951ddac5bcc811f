// Jobs that share a cluster: replays a trace under policies.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct JobsOptions {
  std::string trace;    ///< a workload of Pollux (.csv) or a trace of Gavel
  std::string profiles; ///< a folder of profiled applications, or a .json of throughputs
  std::string servers;  ///< "16x4", or "v100=8x1,p100=16x1"
  std::vector<std::string> policies;
  std::optional<double> round, restart; ///< seconds
  std::string schedule;                 ///< a .csv file to write, or ""
  bool json = false;
};

/// Names of all policies.
std::vector<std::string> jobPolicies();

/// Replays the trace under each policy and prints a table or a document. Exit status: 0, 1 the input is wrong.
int simulateJobs(const JobsOptions &options);

} // namespace accord
