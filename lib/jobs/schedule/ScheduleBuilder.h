// From a `jobs` block and configuration tables to the problem of a schedule, in whole numbers.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/jobs/problem/JobLaunch.h"
#include "lib/jobs/problem/JobsRequest.h"
#include <memory>

namespace accord::jobs {

/// One way to run a job: on a number of devices of one type at a power level, at a batch, in its best parallel plan.
struct TableRow {
  unsigned type = 0;        ///< index into `Cluster::types`
  int64_t devices = 1;      ///< at least 1
  double rate = 0;          ///< samples a second, of a choice those of the job that they replace
  double lowRate = 0;       ///< the lower end of its 90 % interval; 0: not known
  double watts = 0;         ///< of all its devices, on average
  double price = 0;         ///< dollars a second
  double quality = -1;      ///< of what it trains, 0 to 1; -1: not known
  double step = 0;          ///< seconds; 0: not known
  double memory = 0;        ///< bytes of the fullest device; 0: not known
  std::string plan;         ///< its parallelism, in words
  std::string level = {};   ///< of the devices' power; empty: the full one
  std::string choice = {};  ///< the training that it runs instead of the job's own; empty: that one
  unsigned family = 0;      ///< of what it trains: a job keeps it
  double samples = 1;       ///< of what it trains, for each of the job's own; not 1 of a choice alone
  int64_t batch = 0;        ///< samples of a step; 0: not known
  int64_t ownBatch = 0;     ///< that of its training, whose samples `rate` counts where the job states its noise
  int64_t accumulation = 0; ///< micro-batches of a step; 0: not known
  /// Its plan for launchers; null: it was profiled.
  std::shared_ptr<const LaunchPlan> launch = nullptr;
};

/// What is known of one job of a request.
struct JobTable {
  double samples = 0;         ///< its work
  std::vector<TableRow> rows; ///< the configurations that fit in memory
  std::string reason;         ///< why there are none
};

/// A job of the problem, and where it comes from.
struct ScheduledPart {
  size_t job = 0;                 ///< index into `JobsRequest::jobs`
  unsigned phase = 0, phases = 1; ///< of an evolving job
  std::vector<unsigned> rows;     ///< of the table, for each configuration
  double samples = 0;             ///< its work
  double noise = 0;               ///< of its gradient; 0: not stated
};

struct BuiltSchedule {
  JobScheduleProblem problem;
  std::vector<ScheduledPart> parts;     ///< one for each job of the problem
  double weightScale = 1;               ///< weights of the problem are priorities times this
  std::vector<ServerAbsence> absences;  ///< servers in maintenance, by server, then slot
  std::vector<std::string> assumptions; ///< in words
};

/// The devices of each server type and the numbers of them that a configuration may have: powers of two up to a server
/// of a power of two of devices, and whole servers in multiples up to 16, then in powers of two; at most `max`.
std::vector<int64_t> deviceCounts(const Cluster &cluster, unsigned type, int64_t min, int64_t max);

/// Speeds are rounded down and work up, by at most 1 part in 10,000; amounts of resources and prices are rounded up.
/// Capacities of a slot are the smallest in it, and of devices at most those of servers that are there.
/// `maintenance … devices` takes from that. Configurations that another one of the same type equals with no more
/// devices, watts and price are left out; of a malleable job only within what it trains. Phases of an evolving job
/// become jobs, each after the one before; their speeds at a batch are weighted by `sampleEfficiency`. Errors, at
/// the places of the block: A1107 for what cannot be (a time beyond the horizon, a device type that the cluster does
/// not have, a job without configurations), and those of `checkJobScheduleProblem`.
Result<BuiltSchedule, Errors> buildJobSchedule(const JobsRequest &request, const Cluster &cluster,
                                               const std::vector<JobTable> &tables);

} // namespace accord::jobs
