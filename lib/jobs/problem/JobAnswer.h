// A schedule of jobs with what people need to read it: names, plans in words, servers and reasons, as plain data.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/jobs/problem/JobLaunch.h"
#include "lib/jobs/problem/RunningState.h"

namespace accord::jobs {

/// What is known of one configuration of a job beside `JobConfiguration`.
struct ConfigurationWords {
  std::string plan;        ///< "data 8, ZeRO 1": the parallel plan; empty where the configuration was profiled
  unsigned type = 0;       ///< index into `Cluster::types`
  int64_t devices = 0;     ///< 0: it uses none
  int64_t memory = 0;      ///< bytes, of the device that needs the most; 0: not known
  double stepTime = 0;     ///< seconds; 0: not known
  std::string level = {};  ///< of the devices' power; empty: the full one
  std::string choice = {}; ///< the training that it runs instead of the job's own; empty: that one
  /// Samples of a step, where that is not the batch of the training; else it is 0, and so is what follows.
  int64_t batch = 0;
  int64_t accumulation = 0; ///< micro-batches of a step
  double efficiency = 0;    ///< samples at the batch of the training that a sample replaces
  double learningRate = 0;  ///< what that of the training is multiplied by
  double warmup = 0;        ///< the same of its warm-up
};

struct JobWords {
  std::string tenant;                             ///< empty: none
  std::string train;                              ///< the `train` block that it runs; empty: it is profiled
  std::vector<ConfigurationWords> configurations; ///< as `ScheduledJob::configurations`
  double samples = 0;                             ///< its work; 0: none, or not known
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
  std::string clusterName;             ///< empty: none
  std::vector<ServerAbsence> absences; ///< of named servers; capacities are without them
  JobScheduleProblem problem;
  JobSchedule schedule;
  std::vector<JobWords> jobs; ///< as `JobScheduleProblem::jobs`
  /// Where each run of each job is, as `JobTrajectory::runs`; empty, or of a run, where no servers are known.
  std::vector<std::vector<JobPlacement>> placements;
  std::vector<JobWait> waits;            ///< by job, and of a job by time
  std::vector<std::string> requirements; ///< as written, as `JobScheduleProblem::limits`; empty: they are put in words
  std::vector<std::string> assumptions;
  std::vector<std::string> conflict; ///< constraints that exclude each other, in words; empty: there is a schedule
  std::optional<Replan> replan;      ///< of a plan that goes on from a moment
  std::vector<std::string> repairs;  ///< changes of which each removes the conflict, in words
  std::vector<JobLaunch> launch;     ///< as `JobScheduleProblem::jobs`; empty: nothing is known of how jobs start
};

/// The name of the resource of `JobScheduleProblem::resources` that is the watts of all devices together. A resource
/// that is named as a device type of the cluster is the devices of this type; any other is a number of something.
constexpr const char *kPowerResource = "power";

} // namespace accord::jobs
