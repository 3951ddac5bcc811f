// A schedule of jobs with what people need to read it: names, plans in words, servers and reasons, as plain data.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// What is known of one configuration of a job beside `JobConfiguration`.
struct ConfigurationWords {
  std::string plan;       ///< "data 8, ZeRO 1": the parallel plan; empty where the configuration was profiled
  unsigned type = 0;      ///< index into `Cluster::types`
  int64_t devices = 0;    ///< 0: it uses none
  int64_t memory = 0;     ///< bytes, of the device that needs the most; 0: not known
  double stepTime = 0;    ///< seconds; 0: not known
  std::string level = {}; ///< of the devices' power; empty: the full one
};

struct JobWords {
  std::string tenant;                             ///< empty: none
  std::string train;                              ///< the `train` block that it runs; empty: it is profiled
  std::vector<ConfigurationWords> configurations; ///< as `ScheduledJob::configurations`
};

/// Why a job does not run for a while.
enum class WaitCause : uint8_t {
  Dependence, ///< a job that it comes after is not complete
  Resource,   ///< what its smallest configurations need is in use
  Duration,   ///< what it needs is free, but not for as long as it takes
  Completion, ///< only in configurations in which it would complete later
  Objective,  ///< an earlier start makes an objective worse
  Limit,      ///< an earlier start breaks a requirement
  Other       ///< nothing of the above, with the other jobs as they are
};

struct JobWait {
  unsigned job = 0;
  int64_t from = 0, until = 0; ///< seconds from the start of the schedule
  WaitCause cause = WaitCause::Other;
  std::string text; ///< one sentence without the name of the job: "8 h100 are needed, of 16 at most 4 are free: …"
};

struct JobAnswer {
  std::string name; ///< of the `jobs` block
  Cluster cluster;
  std::string clusterName; ///< empty: none
  JobScheduleProblem problem;
  JobSchedule schedule;
  std::vector<JobWords> jobs; ///< as `JobScheduleProblem::jobs`
  /// Where each run of each job is, as `JobTrajectory::runs`; empty, or of a run, where no servers are known.
  std::vector<std::vector<JobPlacement>> placements;
  std::vector<JobWait> waits;            ///< by job, and of a job by time
  std::vector<std::string> requirements; ///< as written, as `JobScheduleProblem::limits`; empty: they are put in words
  std::vector<std::string> assumptions;
  std::vector<std::string> conflict; ///< constraints that exclude each other, in words; empty: there is a schedule
  std::vector<std::string> repairs;  ///< changes of which each removes the conflict, in words
};

/// The name of the resource of `JobScheduleProblem::resources` that is the watts of all devices together. A resource
/// that is named as a device type of the cluster is the devices of this type; any other is a number of something.
constexpr const char *kPowerResource = "power";

} // namespace accord::jobs
