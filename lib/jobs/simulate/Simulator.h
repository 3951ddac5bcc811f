// A deterministic simulation of jobs on a shared cluster: rounds of a fixed length, at the start of each a policy says
// where each job runs.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/jobs/simulate/SimulationEvents.h"
#include "lib/support/Result.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord::jobs {

/// How one job progresses. An object holds the state of one job in one simulation. Times are seconds.
class JobProgress {
public:
  virtual ~JobProgress() = default;
  /// The job continues on these devices from now on; never called with an empty placement. What it loses by a restart
  /// is the simulator's.
  virtual void place(const Cluster &cluster, const JobPlacement &placement) = 0;
  /// Runs for `seconds` on the devices of the last `place`. Returns the seconds after which the job was complete (at
  /// most `seconds`), or nothing if it is not.
  virtual std::optional<double> run(double seconds) = 0;

  /// Work that is done and that is left, in a unit of the job's own (steps, samples, progress). A policy that does not
  /// know the work of a job asks for `workDone` alone.
  virtual double workDone() const = 0;
  virtual double workLeft() const = 0;
  /// Work in a second on `devices` devices of a type, on as few servers as hold them; 0 where it cannot run so.
  virtual double rate(const Cluster &cluster, unsigned type, unsigned devices) const = 0;
  /// Whether `rate` is in work a second; otherwise only the ratios of rates mean something: nothing was seen of it yet.
  virtual bool knowsSpeed() const { return true; }
  /// The same state again: a checkpoint. Nothing: the job loses no work in a failure.
  virtual std::unique_ptr<JobProgress> copy() const { return nullptr; }
};

struct SimulatedJob {
  std::string name;
  double arrival = 0;        ///< seconds from the start
  unsigned devices = 1;      ///< that the user asks for; the gang size of rigid jobs
  unsigned maxDevices = 1;   ///< that it can use; `devices` where it is rigid
  double restartSeconds = 0; ///< without progress, each time its devices change (and when it starts)
  std::function<std::unique_ptr<JobProgress>()> progress;
  int tenant = -1;                     ///< a number of the policy's tenants; -1: none
  double weight = 1;                   ///< more than 0: what it counts for policies that weigh jobs
  std::optional<double> deadline = {}; ///< seconds from the start, at which it is to be complete
  std::string application = {};        ///< whose work is in one unit, and alike; "": it is not known
};

/// What policies see of a job that has arrived and is not complete.
struct JobView {
  size_t job = 0; ///< index into the simulated jobs
  const SimulatedJob *description = nullptr;
  const JobProgress *progress = nullptr;
  JobPlacement placement;     ///< in the round before; empty: it waited, or its servers are not there any more
  double attainedService = 0; ///< device-seconds that it held
  double restartLeft = 0;     ///< seconds of its restart that are still to come
  unsigned restarts = 0;      ///< changes of its devices, without the first start
};

/// Rounds in which a policy was asked, and those in which the planner's allocation was taken in the place of its own.
struct ShieldCount {
  size_t rounds = 0, shielded = 0;
};

/// Who runs where in the next round. A policy may keep state; each simulation has a policy of its own.
class Policy {
public:
  virtual ~Policy() = default;
  /// The placement of each job of `jobs`, in their order (by arrival; ties in the order of the simulated jobs). Servers
  /// may not hold more than they have; one that is not there now has 0 devices. `now` is the start of the round.
  virtual std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) = 0;
  /// A job that it placed is complete, and had this work.
  virtual void completed(const JobView & /*job*/, double /*work*/) {}
  /// Of a policy that maximizes with a proved bound: the largest (bound - value) / bound of its rounds.
  virtual std::optional<double> maxGap() const { return std::nullopt; }
  /// Of a policy whose weights are bounded by its planner's: how many rounds there were, and in how many it was.
  virtual std::optional<ShieldCount> shield() const { return std::nullopt; }
  /// Why the policy could not decide the last round; the simulation ends with that.
  virtual std::optional<Error> failure() const { return std::nullopt; }
};

struct SimulationOptions {
  double round = 60;                    ///< seconds
  bool endsEarly = false;               ///< a round ends when no job runs any more, and an idle one at an arrival
  double maxSeconds = 10 * 365 * 86400; ///< after which a simulation is given up: a job never runs
  SimulationEvents events = {};         ///< a simulation is given up too if no job runs for 30 days because of them
  SpeedNoise noise = {};
  uint64_t seed = 0; ///< of failures and noise
  /// Seconds that a job runs from one checkpoint to the next; it has one too when it starts, and when a policy stops or
  /// moves it. In a failure it loses the work since the last. 1 or more; 0: no work is lost.
  double checkpoint = 0;
  /// A job that was restarted so often within an hour is not moved or stopped by its policy: it keeps its devices, and
  /// other jobs wait whose new placement does not fit beside. 0: no limit.
  unsigned maxRestartsPerHour = 0;
};

struct SimulatedOutcome {
  std::optional<double> start, completion; ///< seconds from the start of the simulation
  unsigned restarts = 0;
  double service = 0;     ///< device-seconds that it held
  unsigned failures = 0;  ///< of a server while it ran there
  double lostSeconds = 0; ///< in which it ran, and which failures undid
};

/// A job on its devices for a while.
struct SimulatedSpan {
  size_t job = 0;
  double start = 0, end = 0;
  JobPlacement placement;
};

struct SimulationResult {
  std::vector<SimulatedOutcome> jobs; ///< in the order of the simulated jobs
  std::vector<SimulatedSpan> spans;   ///< by start, then job; rounds with the same placement are one
  double busy = 0;                    ///< device-seconds held
  size_t rounds = 0;                  ///< in which the policy was asked

  /// Mean of completion - arrival, of all jobs.
  double meanCompletion(const std::vector<SimulatedJob> &jobs) const;
  double makespan() const; ///< the last completion
};

/// A simulation whose decisions the caller takes, round by round. What it is made of has to stay while it runs.
class SimulationRun {
public:
  /// `completed` is told of each job that is complete, with the work that it had.
  SimulationRun(const Cluster &cluster, const std::vector<SimulatedJob> &jobs, const SimulationOptions &options,
                std::function<void(const JobView &, double)> completed);
  ~SimulationRun();
  SimulationRun(const SimulationRun &) = delete;

  /// Goes to the start of the next round; false: all jobs are complete. Errors A1103 and A1106 as of `simulate`.
  Result<bool> next();
  double now() const;                       ///< start of the round, seconds
  const Cluster &cluster() const;           ///< servers that are there in the round
  const std::vector<JobView> &jobs() const; ///< by arrival, then number
  /// Runs the round with the placement of each of `jobs()`. Error A1105 as of `simulate`.
  Result<void> place(std::vector<JobPlacement> placements);
  const SimulationResult &soFar() const;
  /// The result; at the end, and once.
  SimulationResult take();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// Simulates until all jobs are complete. Error A1103 if a job never completes; A1106 if events are wrong; A1105 if the
/// policy placed more than a server has or named a server that does not exist.
Result<SimulationResult> simulate(const Cluster &cluster, const std::vector<SimulatedJob> &jobs, Policy &policy,
                                  const SimulationOptions &options);

} // namespace accord::jobs
