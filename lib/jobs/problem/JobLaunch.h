// What starts the runs of a job: the parallel plan of a configuration as launchers take it, and the names by which
// Slurm and Kueue know a tenant. Plain data, from which scripts and manifests are printed (lib/launch/JobScripts.h).
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace accord::jobs {

/// The plan of a training on the devices of one configuration.
struct LaunchPlan {
  std::string title;                                            ///< "gpt2_medium on lab: data 8, …", on one line
  int64_t servers = 0, devicesPerServer = 0;                    ///< devices are `servers` * `devicesPerServer`
  int64_t coresPerDevice = 0;                                   ///< of the processor of a server; 0: not known
  int64_t memory = 0;                                           ///< bytes of a device; 0: not known
  std::vector<std::pair<std::string, std::string>> environment; ///< degrees, batches, precision: ACCORD_…
  std::vector<std::string> megatron; ///< arguments of Megatron-LM with their values; empty: `withoutMegatron` says why
  std::vector<std::string> remarks;  ///< what Megatron-LM does otherwise than planned, and is only slower by
  std::string withoutMegatron;       ///< why Megatron-LM cannot run the plan; empty: it can
  std::string refusal;               ///< why no launcher can: there is neither a script nor a manifest; empty: one can
};

struct JobLaunch {
  /// Of one configuration of the job that a run of the schedule uses.
  struct Configuration {
    unsigned index = 0; ///< of `ScheduledJob::configurations`
    LaunchPlan plan;
  };
  std::string job;                           ///< in the block; phases of an evolving job have the same
  double samples = 0;                        ///< that the job has trained on at its end; 0: not known
  std::string account, service;              ///< of Slurm; empty: the block has no tenants
  std::string queue, priorityClass;          ///< of Kueue; the queue is the namespace, too; empty: no tenants
  std::vector<Configuration> configurations; ///< ascending; empty: the job was profiled
};

} // namespace accord::jobs
