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
  std::string output;                   ///< a folder to write, or ""
  unsigned seeds = 1;                   ///< simulations of each policy, with seeds from 0
  unsigned draw = 0;                    ///< jobs that each seed draws from the trace; 0: the trace as it is
  double load = 1;                      ///< with `draw`: how many times as often they arrive
  std::string history, writeHistory; ///< .csv files of complete jobs: to learn from, and of those of the trace; or ""
  std::string reference;             ///< the policy that the others are compared with, or ""
  bool curve = false;                ///< the regret against it, job by job
  /// Times and powers with their units, "" where there are none: `mtbf` is the mean time between failures of a server.
  std::string noise, mtbf, repair, checkpoint, power, devicePower;
  std::vector<std::string> outages, drains; ///< "3@1h..2h"
  unsigned maxRestarts = 0;                 ///< of a job in an hour; 0: no limit
  std::string tenants;                      ///< "a=2,b=1"; "": applications are tenants
  std::optional<double> deadline;           ///< of each job: multiple of its time alone
  std::string speeds;            ///< "" or "measured"; "fitted", "predicted": policies know only what they saw of a job
  std::string gradientNoise;     ///< a .csv file of noise scales by which jobs choose batches; "": the measured ones
  std::string actor;             ///< a network that weighs jobs (.onnx), or ""
  std::string shield;            ///< "5%": what its allocation may lose in a round; "": the usual
  std::string train;             ///< a file to write (.onnx): an actor is trained, and nothing compared
  unsigned trainBudget = 20'000; ///< simulations
  unsigned trainSeed = 0;
  bool json = false;
};

/// Names of all policies.
std::vector<std::string> jobPolicies();

/// Trains an actor on jobs that are drawn from the trace, or on synthetic ones where there is none, writes its file and
/// prints how it went. Exit status: 0, 1 the input is wrong.
int trainActorOnJobs(const JobsOptions &options);

/// Replays the trace under each policy, prints a table or a document, and writes the folder of the answer if asked.
/// Exit status: 0, 1 the input is wrong.
int simulateJobs(const JobsOptions &options);

} // namespace accord
