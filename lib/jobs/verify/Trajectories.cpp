#include "lib/jobs/verify/Trajectories.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using Wide = __int128;

/// Runs that are looked at in the search for the trajectories of one job.
constexpr size_t kMaxSteps = size_t(1) << 26;

Error wrong(std::string message) { return {Code::WrongJobSchedule, std::move(message)}; }

int64_t ceilOf(int64_t a, int64_t b) { return a / b + (a % b > 0); }

int64_t restartOf(const ScheduledJob &job, int64_t begin, unsigned configuration) {
  return goesOn(job, begin, configuration) ? 0 : job.restart;
}

/// A run of a job of which `left` is to be done: what remains behind it, and when the job completes if nothing remains.
struct RunEffect {
  int64_t done = 0;
  int64_t completion = -1; ///< -1: it goes on
};

RunEffect effectOf(const JobScheduleProblem &problem, const ScheduledJob &job, const JobRun &run, int64_t left) {
  const int64_t speed = job.configurations[run.configuration].speed;
  const int64_t from = run.begin * problem.slot + restartOf(job, run.begin, run.configuration);
  const int64_t seconds = std::max<int64_t>(0, run.end * problem.slot - from), needed = ceilOf(left, speed);
  if (needed <= seconds)
    return {left, from + needed};
  return {speed * seconds, -1};
}

/// Work of a job that runs leave.
int64_t leftBy(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs) {
  int64_t left = job.work;
  for (const JobRun &run : runs)
    left -= effectOf(problem, job, run, left).done;
  return left;
}

int64_t energyOf(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &trajectory,
                 bool carbon) {
  Wide sum = 0;
  for (const JobRun &run : trajectory.runs) {
    const Wide joules = Wide(job.configurations[run.configuration].watts) * problem.slot;
    if (!carbon)
      sum += joules * (run.end - run.begin);
    for (int64_t t = run.begin; carbon && !problem.carbon.empty() && t < run.end; ++t)
      sum += joules * problem.carbon[t];
  }
  return static_cast<int64_t>(sum);
}

bool isOneFamily(const ScheduledJob &job, const JobRun &run, unsigned configuration) {
  return job.configurations[run.configuration].family == job.configurations[configuration].family;
}

/// Lists depth first, so that the order is ascending.
class Lister {
public:
  Lister(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t latest, size_t max)
      : problem(problem), job(job), latest(latest), max(max), toLeave(largestLeft(problem, job, latest)) {
    for (const JobConfiguration &configuration : job.configurations)
      maxSpeed = std::max(maxSpeed, configuration.speed);
  }

  std::optional<std::vector<JobTrajectory>> list() {
    if (job.work == 0) {
      if (job.arrival <= latest)
        add(job.arrival);
    } else if (latest >= 0) {
      addOpen(job.work);
      if (!job.configurations.empty())
        extend(ceilOf(job.arrival, problem.slot), job.work);
    }
    if (job.mayBeRejected && !stopped) {
      runs.clear();
      add(-1);
    }
    if (stopped)
      return std::nullopt;
    return std::move(found);
  }

private:
  void add(int64_t completion) {
    if (found.size() >= max)
      stopped = true;
    else
      found.push_back({runs, completion});
  }
  /// The trajectory of the runs so far that continues after the schedule.
  void addOpen(int64_t left) {
    if (left > toLeave)
      return;
    add(endOf(problem, job));
    if (!stopped)
      found.back().continues = true;
  }
  /// Whether the job can be complete in time if it runs from a slot on, at best, or may be incomplete.
  bool canComplete(int64_t begin, int64_t left) const {
    if (toLeave > 0)
      return begin < problem.slots;
    const int64_t restart = begin == 0 && job.running >= 0 ? 0 : job.restart;
    return begin < problem.slots && begin * problem.slot + restart + ceilOf(left, maxSpeed) <= latest;
  }
  void extend(int64_t from, int64_t left) {
    for (int64_t begin = from; canComplete(begin, left) && !stopped; ++begin) {
      const bool touches = !runs.empty() && runs.back().end == begin;
      const unsigned before = touches ? runs.back().configuration : ~0u;
      for (int64_t end = begin + 1; end <= problem.slots && (end - 1) * problem.slot < latest && !stopped; ++end)
        if (!runFor(begin, end, before, left))
          break;
    }
  }
  /// Whether another run keeps the number of restarts.
  bool mayStart(int64_t begin, unsigned configuration) const {
    int64_t count = !goesOn(job, begin, configuration);
    for (const JobRun &run : runs)
      count += !goesOn(job, run.begin, run.configuration);
    return job.maxRestarts < 0 || count <= job.maxRestarts;
  }
  /// Whether any longer run is to be looked at.
  bool runFor(int64_t begin, int64_t end, unsigned before, int64_t left) {
    bool longer = false;
    for (unsigned k = 0; k < job.configurations.size() && !stopped; ++k) {
      if (k == before || !mayStart(begin, k) || (!runs.empty() && !isOneFamily(job, runs.front(), k)))
        continue;
      stopped |= ++steps > kMaxSteps;
      const RunEffect effect = effectOf(problem, job, {begin, end, k}, left);
      if (effect.completion >= 0) {
        if (effect.completion <= (end - 1) * problem.slot || effect.completion > latest)
          continue;
        runs.push_back({begin, end, k});
        add(effect.completion);
        runs.pop_back();
        continue;
      }
      longer = true;
      const bool isMoldable = job.elasticity == Elasticity::Moldable;
      if (effect.done == 0 || (isMoldable && end < problem.slots))
        continue;
      runs.push_back({begin, end, k});
      addOpen(left - effect.done);
      if (!isMoldable && canComplete(end, left - effect.done))
        extend(end, left - effect.done);
      runs.pop_back();
    }
    return longer;
  }

  const JobScheduleProblem &problem;
  const ScheduledJob &job;
  const int64_t latest;
  const size_t max;
  const int64_t toLeave; ///< work with which it may continue
  int64_t maxSpeed = 1;
  size_t steps = 0;
  bool stopped = false;
  std::vector<JobRun> runs;
  std::vector<JobTrajectory> found;
};

/// A job that continues with so much work, after runs that are right.
Result<void> checkOpen(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &trajectory,
                       int64_t left) {
  const int64_t end = endOf(problem, job);
  if (left <= 0)
    return wrong("it continues after the schedule, and is complete");
  if (!job.mayContinue)
    return wrong(fmt::format("it continues after the schedule with {} of its work {}, and may not", left, job.work));
  if (trajectory.completion != end)
    return wrong(
        fmt::format("it continues after the schedule at {}, but completion {} is said", end, trajectory.completion));
  if (const int64_t max = largestLeft(problem, job, end); left > max)
    return wrong(fmt::format("{} of its work is left at {}, and at most {} can be done by its deadline {}", left, end,
                             std::max<int64_t>(0, max), job.deadline));
  if (job.elasticity == Elasticity::Moldable && !trajectory.runs.empty() && trajectory.runs[0].end < problem.slots)
    return wrong(fmt::format("it is moldable, and pauses in slot {}", trajectory.runs[0].end));
  return {};
}

Result<void> checkRun(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs,
                      size_t i) {
  const JobRun &run = runs[i];
  if (run.configuration >= job.configurations.size())
    return wrong(fmt::format("run {} has configuration {} of {}", i, run.configuration, job.configurations.size()));
  if (run.begin < 0 || run.end <= run.begin || run.end > problem.slots)
    return wrong(
        fmt::format("run {} is in slots {} to {}, which are none of 0 to {}", i, run.begin, run.end, problem.slots));
  if (run.begin * problem.slot < job.arrival)
    return wrong(
        fmt::format("run {} begins at {}, before the arrival at {}", i, run.begin * problem.slot, job.arrival));
  if (i > 0 && run.begin < runs[i - 1].end)
    return wrong(
        fmt::format("run {} begins in slot {}, but run {} ends in slot {}", i, run.begin, i - 1, runs[i - 1].end));
  if (!isOneFamily(job, runs[0], run.configuration))
    return wrong(fmt::format("run {} is of family {}, but the first of family {}", i,
                             job.configurations[run.configuration].family,
                             job.configurations[runs[0].configuration].family));
  if (i > 0 && run.begin == runs[i - 1].end && run.configuration == runs[i - 1].configuration)
    return wrong(fmt::format("run {} goes on in the configuration of run {}: they are one run", i, i - 1));
  return {};
}

} // namespace

bool goesOn(const ScheduledJob &job, int64_t begin, unsigned configuration) {
  return begin == 0 && job.running == static_cast<int64_t>(configuration);
}

int64_t unfinishedOf(const ScheduledJob &job, int64_t left) {
  if (job.work == 0)
    return 0;
  const Wide millionths = Wide(left) * 1'000'000;
  return job.weight * static_cast<int64_t>(millionths / job.work + (millionths % job.work > 0));
}

int64_t largestLeft(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t latest) {
  const int64_t end = endOf(problem, job);
  if (!job.mayContinue || latest < end || job.work == 0)
    return 0;
  int64_t speed = 0;
  for (const JobConfiguration &configuration : job.configurations)
    speed = std::max(speed, configuration.speed);
  const Wide later = job.deadline < 0 ? Wide(job.work) : Wide(speed) * (job.deadline - end);
  return static_cast<int64_t>(std::clamp<Wide>(later, 0, job.work));
}

int64_t termOf(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &trajectory,
               JobMeasure measure) {
  if (measure == JobMeasure::Unfinished)
    return unfinishedOf(job,
                        isRejected(trajectory) || trajectory.continues ? leftBy(problem, job, trajectory.runs) : 0);
  if (isRejected(trajectory))
    return measure == JobMeasure::Rejected ? job.weight : 0;
  const int64_t elapsed = trajectory.completion - job.arrival + job.waited;
  switch (measure) {
  case JobMeasure::Rejected:
    return 0;
  case JobMeasure::Completion:
  case JobMeasure::Group:
    return job.weight * elapsed;
  case JobMeasure::Lateness:
    return job.due < 0 ? 0 : job.latePrice * std::max<int64_t>(0, trajectory.completion - job.due);
  case JobMeasure::Price: {
    int64_t sum = 0;
    for (const JobRun &run : trajectory.runs)
      sum += job.configurations[run.configuration].price * (run.end - run.begin) * problem.slot;
    return sum;
  }
  case JobMeasure::Energy:
  case JobMeasure::Carbon:
    return energyOf(problem, job, trajectory, measure == JobMeasure::Carbon);
  case JobMeasure::Nash:
    return elapsed == 0
               ? 0
               : job.weight *
                     std::llround(1e6 * std::log2(static_cast<double>(elapsed) / static_cast<double>(job.isolated)));
  case JobMeasure::Makespan:
    return trajectory.completion;
  case JobMeasure::Slowdown:
    return ceilOf(1000 * elapsed, job.isolated);
  case JobMeasure::Tail:
    return elapsed;
  case JobMeasure::Restarts: {
    int64_t count = 0;
    for (const JobRun &run : trajectory.runs)
      count += !goesOn(job, run.begin, run.configuration);
    return count;
  }
  case JobMeasure::Unfinished:
    break;
  }
  return 0;
}

Result<void> checkTrajectory(const JobScheduleProblem &problem, const ScheduledJob &job,
                             const JobTrajectory &trajectory) {
  if (trajectory.completion < 0) {
    if (trajectory.completion != -1 || !trajectory.runs.empty() || trajectory.continues)
      return wrong(fmt::format("it has {} runs and completion {}", trajectory.runs.size(), trajectory.completion));
    return job.mayBeRejected ? Result<void>() : wrong("it is left out, but may not be rejected");
  }
  if (job.elasticity == Elasticity::Moldable && trajectory.runs.size() > 1)
    return wrong(fmt::format("it is moldable, but has {} runs", trajectory.runs.size()));
  if (const int64_t starts = termOf(problem, job, trajectory, JobMeasure::Restarts);
      job.maxRestarts >= 0 && starts > job.maxRestarts)
    return wrong(fmt::format("it has {} restarts, and may have {}", starts, job.maxRestarts));
  int64_t left = job.work, completion = job.work == 0 ? job.arrival : -1;
  for (size_t i = 0; i < trajectory.runs.size(); ++i) {
    if (auto checked = checkRun(problem, job, trajectory.runs, i); !checked)
      return checked;
    const JobRun &run = trajectory.runs[i];
    if (completion >= 0)
      return wrong(fmt::format("run {} begins when it is complete", i));
    const RunEffect effect = effectOf(problem, job, run, left);
    if (effect.done == 0)
      return wrong(fmt::format("run {} does no work", i));
    left -= effect.done;
    completion = effect.completion;
    if (completion >= 0 && completion <= (run.end - 1) * problem.slot)
      return wrong(fmt::format("it is complete at {}, before the last slot of run {}", completion, i));
  }
  if (trajectory.continues)
    return checkOpen(problem, job, trajectory, completion < 0 ? left : 0);
  if (completion < 0)
    return wrong(fmt::format("{} of its work {} is left", left, job.work));
  if (completion != trajectory.completion)
    return wrong(fmt::format("it completes at {}, but {} is said", completion, trajectory.completion));
  if (job.deadline >= 0 && completion > job.deadline)
    return wrong(fmt::format("it completes at {}, after its deadline {}", completion, job.deadline));
  return {};
}

int64_t latestCompletion(const JobScheduleProblem &problem, const ScheduledJob &job,
                         const std::vector<JobLimit> &limits) {
  Wide latest = job.work == 0 || job.mayContinue ? endOf(problem, job) : problem.slot * problem.slots;
  if (job.deadline >= 0)
    latest = std::min<Wide>(latest, job.deadline);
  for (const JobLimit &limit : limits) {
    if (limit.measure == JobMeasure::Makespan)
      latest = std::min<Wide>(latest, limit.max);
    if (limit.measure == JobMeasure::Slowdown)
      latest = std::min<Wide>(
          latest, limit.max < 0 ? -1 : Wide(job.arrival) - job.waited + Wide(limit.max) * job.isolated / 1000);
  }
  return static_cast<int64_t>(std::max<Wide>(latest, -1));
}

std::optional<std::vector<JobTrajectory>> listTrajectories(const JobScheduleProblem &problem, const ScheduledJob &job,
                                                           int64_t latest, size_t max) {
  return Lister(problem, job, latest, max).list();
}

} // namespace accord::jobs
