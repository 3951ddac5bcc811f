// When each job runs, in which configuration: the problem over a horizon and an answer, as plain data.
//
// Time is cut into slots of equal length. In a slot, a job runs in one of its configurations or pauses, and what it
// uses of the resources is used for the whole slot. It can begin in any slot that does not start before its arrival. In
// the last of its slots it completes when its work is done. All numbers are whole, so that values and bounds are exact;
// the caller chooses the unit of work.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include <algorithm>
#include <string>

namespace accord::jobs {

/// Slots are at most so many, and times at most so many seconds.
constexpr int64_t kMaxSlots = 4096, kMaxSeconds = int64_t(1) << 32;
/// Numbers of families are at most so large.
constexpr int64_t kMaxFamily = 10'000;

/// Something of which there is only so much: devices of a type, watts, devices of a tenant.
struct SlotResource {
  std::string name;
  std::vector<int64_t> capacity; ///< in each slot, 0 or more
};

struct JobConfiguration {
  std::string name;              ///< "8 h100"
  int64_t speed = 1;             ///< work in a second, 1 or more
  std::vector<ResourceUse> uses; ///< of `JobScheduleProblem::resources`, ascending
  int64_t watts = 0;             ///< while it runs
  int64_t price = 0;             ///< micro-dollars for each second
  unsigned family = 0;           ///< a job runs in configurations of one family alone: what it trains stays the same
};

enum class Elasticity : uint8_t {
  Moldable, ///< keeps the configuration in which it starts, and does not pause; rigid if it has only one
  Malleable ///< its configuration may change within its family, and it may pause, at the start of each slot
};

/// Times are seconds from the start of the schedule.
struct ScheduledJob {
  std::string name;
  int64_t arrival = 0; ///< 0 or more
  int64_t waited = 0;  ///< seconds since it arrived, of a job that was there before the schedule; its arrival is 0 then
  int64_t deadline = -1; ///< it must be complete at this time; -1: none
  int64_t due = -1;      ///< later completion costs `latePrice`; -1: none
  int64_t latePrice = 0; ///< micro-dollars for each second after `due`
  int64_t weight = 1;    ///< in sums over jobs; 0 or more
  int64_t work = 1;      ///< 0: it is complete when it arrives, and never runs
  Elasticity elasticity = Elasticity::Malleable;
  int64_t restart = 0; ///< seconds without progress at the start, after a pause, and at each change of configuration
  /// Index of the configuration in which it runs before slot 0, with arrival 0: it goes on in it without a restart; -1:
  /// it does not run.
  int64_t running = -1;
  std::vector<JobConfiguration> configurations;
  std::vector<unsigned> after; ///< jobs that are complete before this one begins: in an earlier slot, or at its start
  bool mayBeRejected = false;  ///< the schedule may leave it out
  /// Work may be left at the end of the schedule, see `JobTrajectory::continues`. With a deadline, so much at most that
  /// it could still keep it: work left <= max speed * (deadline - `endOf`).
  bool mayContinue = false;
  int64_t maxRestarts = -1; ///< what its trajectory counts in `Restarts` is at most this; -1: any number
  int64_t isolated = 1;     ///< seconds from arrival to completion that the job would take in its share; 1 or more
  std::vector<unsigned> groups = {}; ///< tenants and their parents, indices into `JobScheduleProblem::groups`

  /// Elapsed times, which are written completion - arrival below, count from here: 0 or less, or the arrival.
  int64_t since() const { return arrival - waited; }
};

/// What a schedule is measured by; less is better for all of them. Rejected jobs count in `Rejected`, and all of their
/// work in `Unfinished`.
enum class JobMeasure : uint8_t {
  Rejected,   ///< sum of the weights of jobs that are left out
  Completion, ///< sum of weight * (completion - arrival), in seconds
  Lateness,   ///< sum of latePrice * max(0, completion - due), in micro-dollars
  Price,      ///< sum of price * slot seconds, in micro-dollars: a slot is paid for whole
  Energy,     ///< sum of watts * slot seconds, in joules
  Carbon,     ///< sum of watts * slot seconds * carbon of the slot, in micrograms
  Nash,       ///< sum of weight * round(10^6 * log2((completion - arrival) / isolated)): the logarithm of Nash welfare
  Makespan,   ///< max of completion, in seconds; 0 without jobs
  Slowdown,   ///< max of ceil(1000 * (completion - arrival) / isolated): finish-time fairness, in thousandths
  Tail,       ///< min time within which all but `tail` of the jobs complete after their arrival, in seconds
  Group,      ///< max over groups of ceil(sum of weight * (completion - arrival) of its jobs / share), in seconds
  Unfinished, ///< sum of weight * ceil(10^6 * work left at the end / work), in millionths; 0 of a job without work
  Restarts    ///< sum of the numbers of runs, without those that go on in `running` from slot 0
};
constexpr unsigned kJobMeasures = 13;
/// "rejected", "mean_completion", "lateness", "cost", "energy", "carbon", "nash_welfare", "makespan",
/// "finish_time_fairness", "tail_completion", "tenant_fairness", "goodput" (of `Unfinished`), "restarts".
std::string_view nameOf(JobMeasure measure);
std::optional<JobMeasure> jobMeasure(std::string_view name);
/// Whether it is a sum over jobs, whose terms depend on the trajectory of one job each.
bool isSum(JobMeasure measure);

/// A tenant, or several: its jobs are served alike if the sums of their waiting are as their shares.
struct JobGroup {
  std::string name;
  int64_t share = 1; ///< 1 or more
};

struct JobLimit {
  JobMeasure measure = JobMeasure::Price;
  int64_t max = 0;
};

struct JobScheduleProblem {
  int64_t slot = 900; ///< seconds
  int64_t slots = 96;
  std::vector<SlotResource> resources;
  std::vector<JobGroup> groups;
  std::vector<ScheduledJob> jobs;
  std::vector<JobMeasure> objectives; ///< the first is minimized, among its best the second, and so on; each once
  std::vector<JobLimit> limits;
  std::vector<int64_t> carbon; ///< micrograms for each joule, in each slot; empty: 0
  int64_t tail = 0;            ///< jobs that `Tail` leaves out
};
/// The second at which a job that continues after the schedule counts as complete: the end of the last slot, or its
/// arrival where that is later.
inline int64_t endOf(const JobScheduleProblem &problem, const ScheduledJob &job) {
  return std::max(problem.slot * problem.slots, job.arrival);
}

/// A job in one configuration, in the slots from `begin` up to `end`, which it does not use.
struct JobRun {
  int64_t begin = 0, end = 0;
  unsigned configuration = 0;
  auto operator<=>(const JobRun &) const = default;
};

/// What one job does. Runs follow each other, are of one family, and of two that touch, configurations differ. Empty:
/// the job is rejected, has no work, or continues and does nothing before.
struct JobTrajectory {
  std::vector<JobRun> runs;
  int64_t completion = -1; ///< seconds from the start of the schedule; -1: rejected; if it continues, `endOf`
  /// Work is left at the end of the schedule. A malleable job may run up to the end or pause there, a moldable one that
  /// has begun runs up to the end. For all measures but `Unfinished` it is complete at `completion`, and jobs that are
  /// after it never begin.
  bool continues = false;
  auto operator<=>(const JobTrajectory &) const = default;
};

/// Proves that no schedule has less than `bound` of an objective while the objectives before it have at most the values
/// of the schedule, by an allocation problem of trajectories: each job takes one of its trajectories.
///
/// Trajectories of a job are listed in ascending order (of their runs), without those that miss its deadline, or the
/// horizon unless it may continue, and of those that may be rejected the rejection is the last; none may wait. Its rows
/// are, in this order:
/// - each resource in each slot, resource by resource: what the runs use, and the capacity;
/// - of each job and each of its `after`, of each slot t: 1, which the earlier job uses if it is not complete at the
///   start of slot t, or is rejected, and the later one if it begins in slot t or before;
/// - each limit, and each objective before with its value as a limit, that is a sum: its term + s, and the limit + the
///   sum of all s, where s of each job makes its smallest term 0. If it is `Tail`: 1 of each trajectory that takes
///   longer, and `tail`. If it is `Group`: a row for each group, of weight * (completion - arrival) of its jobs, and
///   limit * share. `Makespan` and `Slowdown` have no row: trajectories with a larger term are not listed.
/// Rows of which nobody uses anything stay, with no use.
///
/// Of an objective that is a sum, a trajectory has the value M - its term, where M is the job's largest term of those
/// listed; the sum of all M - the bound of the allocation is a bound of the objective. Of a max, the allocation with a
/// limit of bound - 1 is infeasible; its values are 0, and a bound of 0 or less needs no proof. Where a limit less the
/// smallest terms is negative, or a job has no trajectory, nothing fits, which needs no prices.
///
/// Where trajectories are more than `kMaxTrajectories`, they are not listed: `prices` of the rows bound all of them
/// that use no more of a resource than its capacity in any slot. M and s are 0 then, and a row of a limit has the limit
/// itself. Of a sum, no schedule has less than the sum over jobs of the smallest term + prices * uses of a trajectory,
/// less prices * capacities, rounded up. Of a max, the sum over jobs of the smallest prices * uses is more than
/// prices * capacities, so nothing keeps the limit of bound - 1.
struct JobScheduleProof {
  int64_t bound = 0;
  AllocationProof allocation;  ///< where trajectories are listed; its bound is the one that `bound` needs
  std::vector<int64_t> prices; ///< of the rows, 0 or more, over `denominator`, where they are not listed
  int64_t denominator = 1;
};
/// Of all jobs together.
constexpr size_t kMaxTrajectories = 200'000;

struct JobSchedule {
  AllocationStatus status = AllocationStatus::Unknown; ///< Optimal if all objectives are at their bounds
  std::vector<JobTrajectory> jobs;                     ///< empty if there is none
  std::vector<int64_t> values;                         ///< of each objective
  std::vector<JobScheduleProof> proofs;                ///< of each objective; infeasible: one, of that
};

/// A constraint that a user stated, so that an infeasible problem can be explained.
struct JobConstraint {
  enum class Of : uint8_t { Deadline, Capacity, Limit, Dependence, MustRun } of = Of::Deadline;
  unsigned index = 0; ///< of the job, the resource, or the limit
  unsigned other = 0; ///< of a dependence: index into `after`
  auto operator<=>(const JobConstraint &) const = default;
};

/// A change of one constraint after which the problem is feasible.
struct JobRepair {
  JobConstraint constraint;
  int64_t value = 0; ///< deadline, or limit, that suffices; of a capacity: how much more in each slot; else 0: dropped
};

/// A set of constraints that exclude each other, of which none can be left out, with changes of which each repairs
/// alone. Where no single change does, because other constraints exclude each other too, changes that repair together.
struct JobConflict {
  std::vector<JobConstraint> constraints; ///< ascending
  std::vector<JobRepair> repairs;
  std::vector<JobRepair> together;
};

/// Why a problem is not well formed (A1106): a number out of range, a resource or job that does not exist, dependences
/// in a circle. The places of errors are empty.
Result<void> checkJobScheduleProblem(const JobScheduleProblem &problem);

} // namespace accord::jobs
