// Plans the jobs of a running cluster: who runs when, on which nodes, from a moment on. Plain data in and out, no
// clock.
//
// Up to `PlannerOptions::maxJobs` jobs, a plan is a schedule over the horizon with a proof (lib/jobs/schedule). Where
// more jobs wait, those are planned that are next by turn: tenants take turns by what they hold of the cluster over
// their weight, and of a tenant jobs of higher priority, then those that came first. All jobs that run are planned.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/jobs/problem/JobsRequest.h"
#include "lib/jobs/schedule/ScheduleBuilder.h"
#include "lib/search/SearchLimits.h"
#include "lib/service/control/JobModeller.h"
#include <memory>
#include <set>

namespace accord::service {

/// A job that is not over, as the planner sees it. Times are seconds since the clock of the cluster began.
struct PlannerJob {
  int64_t id = 0;
  std::shared_ptr<const ModelledJob> model; ///< its request has a name that no other job has
  double work = 0;                          ///< samples of the whole job, above 0
  double notBefore = 0;                     ///< it may not start earlier
  jobs::JobState state;                     ///< how far it is and where it runs; servers are indices into the cluster
  bool mayMove = true;                      ///< false: a malleable one that runs would lose what it did
  std::vector<int64_t> after;               ///< jobs that are not complete and have to be, before it starts
  /// Whether it runs on to its end in its configuration and on its servers.
  bool staysAsItIs() const {
    return state.running && (!mayMove || model->request.elasticity != jobs::Elasticity::Malleable);
  }
};

struct PlannerInput {
  jobs::JobsRequest operation; ///< tenants, capacities, objectives, limits; without jobs
  jobs::Cluster cluster;
  std::vector<jobs::ServerAway> outages;
  std::vector<PlannerJob> jobs; ///< by id
  int64_t at = 0;               ///< now
};

struct PlannerOptions {
  size_t maxJobs = 40;       ///< of a schedule over the horizon, besides those that run
  size_t maxScheduled = 100; ///< with more than these that run or wait so, only the moment is planned
  size_t maxMoment = 1000;   ///< that wait, of which a plan of the moment thinks
  int64_t slots = 96;        ///< periods of it, about, where no length of a period is stated
  int64_t minSlot = 1;       ///< seconds
  SearchLimits limits;
};

/// A run that is planned.
struct PlannedRun {
  int64_t job = 0;
  double begin = 0, end = 0; ///< on the clock of the cluster, in whole periods
  /// As the process starts it: as soon as the plan has its servers free, for as long as it takes. No later than
  /// planned.
  double expectedBegin = 0, expectedEnd = 0;
  std::string deviceType;
  int64_t devices = 0;
  jobs::JobPlacement servers; ///< empty: none are free for it, because what is free is scattered
  std::string configuration, plan;
  double rate = 0;            ///< samples a second
  unsigned row = 0;           ///< of its table
  size_t part = 0, index = 0; ///< the job of the answer, and which of its runs
  bool isLast = false;        ///< its job is complete at its end
  bool goesOn = false;        ///< it is the run in which the job is already
};

struct ClusterPlan {
  int64_t at = 0, slot = 1;                      ///< seconds
  std::shared_ptr<const jobs::JobAnswer> answer; ///< null: nothing was to plan
  std::vector<int64_t> ids;                      ///< of each job of the answer; phases of a job have the same
  std::vector<PlannedRun> runs;                  ///< by begin, then job
  std::map<int64_t, std::string> waits;          ///< why each job does not run now, one sentence
  std::map<int64_t, double> ends;                ///< when each planned job is complete
  std::vector<std::string> dropped;              ///< deadlines and requirements that cannot be kept, in words
  std::set<int64_t> withoutDeadline;             ///< jobs that were planned without theirs
  std::vector<double> prices; ///< of one more device of each type in the first period, in the first objective
};

/// Plans what is left. Where deadlines and requirements exclude each other, the smallest sets that do are dropped and
/// said in `dropped`: a running cluster goes on. Errors: those of `buildJobSchedule`.
Result<ClusterPlan, Errors> planCluster(const PlannerInput &input, const PlannerOptions &options,
                                        const ClusterPlan *before = nullptr);

/// Sets the expected times of the runs of a plan, which are in the order of their begin. A run begins earlier than
/// planned where it needs devices alone.
void expectTimes(const PlannerInput &input, ClusterPlan &plan);

/// The jobs that are planned: all that run, and at most so many that wait, by turn; by id. Jobs without configurations
/// are not among them, and those that come after others only together with them.
std::vector<const PlannerJob *> jobsByTurn(const PlannerInput &input, size_t maxWaiting);

/// Which runs are to run at `now`, at most one of each job of `open`: those whose time it is (the last run of a job
/// also behind its planned end, for the job may be late), and later ones that can begin early, because their servers
/// and all else that is limited are free by the plan from now until then. In the order of their planned begin.
std::vector<PlannedRun> dueRuns(const ClusterPlan &plan, double now, const std::set<int64_t> &open);

} // namespace accord::service
