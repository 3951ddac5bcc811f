// What is known of a running cluster at a moment: how far each job of a block is, where it runs, which servers are out
// of service; and events that make it differ from its plan. Plain data.
//
// Times are seconds on the clock of the block, which starts with its first period.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// The end of what has no end.
constexpr int64_t kForGood = 2 * kMaxSeconds;

/// A job of a block at a moment. Its devices are those with which it runs, or ran last; 0: it never ran.
struct JobState {
  std::string name;        ///< "lm", "sweep[3]"
  double samples = 0;      ///< its whole work, as it was planned
  double done = 0;         ///< of it, that is kept if the job goes on, or stops as planned
  int64_t completion = -1; ///< when it was complete; -1: it is not
  bool running = false;
  std::string deviceType;
  int64_t devices = 0;
  std::string plan;          ///< its parallelism, in words
  std::string configuration; ///< its name in the plan
  std::string choice;        ///< the training that it runs; empty: the job's own
  JobPlacement servers;      ///< where; empty: not known
  int64_t begun = 0;         ///< when its run began to make progress
  int64_t restarting = 0;    ///< seconds until then, of a job that runs; 0: it makes progress
  double rate = 0;           ///< samples a second
  double pace = 1;           ///< its speed is what tables of configurations say, times this
  int64_t starts = 0;        ///< of its runs so far
  int64_t restarts = -1;     ///< how often it may start again; -1: not limited
};

struct ServerAway {
  unsigned server = 0; ///< index into `Cluster::servers`
  int64_t from = 0, until = kForGood;
};

struct RunningState {
  int64_t at = 0;             ///< the moment
  int64_t slot = 0;           ///< seconds of a period of the plan that runs; 0: none
  std::vector<JobState> jobs; ///< each name once
  std::vector<ServerAway> outages;
  /// What was spent before, in the units of `JobMeasure`.
  int64_t price = 0, energy = 0, carbon = 0, starts = 0;

  const JobState *find(const std::string &name) const {
    for (const JobState &job : jobs)
      if (job.name == name)
        return &job;
    return nullptr;
  }
};

/// What makes a running cluster differ from its plan.
struct JobEvent {
  enum class Of : uint8_t {
    Progress,     ///< a job has done more or less than planned: `share` or `samples`
    Complete,     ///< a job is complete
    Stopped,      ///< a job was stopped, and goes on from `share`, `samples`, or its last checkpoint
    Failed,       ///< the same after a failure
    Speed,        ///< a job runs at `factor` times the speed of the plan
    ServerOut,    ///< a server is out of service; jobs on it stop, and go on from their last checkpoints
    ServerBack,   ///< a server is in service again
    RestartBudget ///< a job may start again `restarts` times at most
  } of = Of::Progress;
  std::string job;
  double share = -1, samples = -1; ///< of its work that is done; -1: not stated
  double factor = 1;
  int64_t checkpoint = 0; ///< seconds between two checkpoints; 0: not stated
  int64_t restarts = 0;
  unsigned server = 0;
  int64_t from = -1, until = -1; ///< -1: the moment, and for good
};

/// What a new plan means for a job, against the plan before.
struct JobChange {
  enum class Kind : uint8_t {
    Complete,  ///< it is complete already
    GoesOn,    ///< in its configuration, on its servers
    Moves,     ///< from its configuration or its servers to others, at once
    Stops,     ///< it ran, and goes on later
    Starts,    ///< at once
    Waits,     ///< it starts later
    LeftOut,   ///< the plan leaves it out
    Cancelled, ///< the block does not have it any more
  } kind = Kind::GoesOn;
  std::string job;
  std::string from, to;            ///< configurations; empty: none
  int64_t before = -1, after = -1; ///< when it completes in the plan before, and in the new one; -1: it does not
  double restartHours = 0;         ///< device-hours of restarts that the new plan pays
  std::string why;                 ///< events; empty: none is of this job
};

/// A plan that goes on from a moment.
struct Replan {
  RunningState state;
  std::vector<JobChange> changes; ///< jobs of the block in their order, then those that are cancelled
  /// The values of the objectives if the plan before is kept; empty: it cannot be kept, because of `whyNotKept`.
  std::vector<int64_t> keptValues;
  std::string whyNotKept;
  /// What the time before counts in each limit of the problem, and the weights of jobs that are complete and not in it.
  std::vector<int64_t> spent;
  int64_t completedWeight = 0;
};

} // namespace accord::jobs
