#include "lib/jobs/schedule/TrajectoryList.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

int64_t divideUp(__int128 a, int64_t b) { return static_cast<int64_t>((a + b - 1) / b); }

class Lister {
public:
  Lister(const JobScheduleProblem &problem, const ScheduledJob &job, size_t max, bool counts)
      : problem(problem), job(job), max(max), counts(counts), maxLeft(maxWorkLeft(problem, job, endOf(problem, job))) {
    for (const JobConfiguration &one : job.configurations)
      fastest = std::max(fastest, one.speed);
  }

  /// How many there are.
  std::optional<size_t> count() {
    if (job.work == 0) {
      if (job.deadline < 0 || job.arrival <= job.deadline)
        add(job.arrival);
    } else {
      leave(job.work);
      for (int64_t begin = firstSlot(problem, job); begin < problem.slots && isGoingOn(); ++begin)
        extend(begin, job.work, -1);
    }
    const size_t all = found + job.mayBeRejected;
    return isTooLong || all > max ? std::nullopt : std::optional(all);
  }
  std::optional<std::vector<JobTrajectory>> list() {
    if (!count())
      return std::nullopt;
    std::sort(made.begin(), made.end());
    if (job.mayBeRejected)
      made.push_back({});
    return std::move(made);
  }

private:
  /// Adds the trajectory of the runs so far.
  void add(int64_t completion, bool continues = false) {
    ++found;
    if (!counts)
      made.push_back({runs, completion, continues});
  }
  /// Adds all trajectories that go on with a run from `begin`; `before`: the configuration that ended there, or -1.
  void extend(int64_t begin, int64_t work, int64_t before) {
    if (++steps > kStepsPerTrajectory * max) // most lead nowhere
      isTooLong = true;
    if (isTooLong || !canComplete(begin, work))
      return;
    for (unsigned k = 0; k < job.configurations.size() && isGoingOn(); ++k)
      if (k != before && isOfFamily(k))
        run(begin, work, k);
  }
  void run(int64_t begin, int64_t work, unsigned k) {
    if (job.maxRestarts >= 0 && startsOf(job, runs) + isStart(job, begin, k) > job.maxRestarts)
      return;
    const int64_t speed = job.configurations[k].speed, restart = restartOf(job, begin, k);
    const auto complete = completeIn(problem, job, begin, k, work);
    if (complete) {
      runs.push_back({begin, complete->end, k});
      add(complete->completion);
      runs.pop_back();
    }
    const bool isMoldable = job.elasticity == Elasticity::Moldable;
    if (isMoldable && complete)
      return;
    const int64_t last = complete ? complete->end : problem.slots + (maxLeft > 0);
    for (int64_t end = isMoldable ? problem.slots : begin + 1; end < last && isGoingOn(); ++end) {
      const int64_t seconds = (end - begin) * problem.slot - restart;
      if (seconds <= 0)
        continue;
      const auto left = static_cast<int64_t>(work - static_cast<__int128>(speed) * seconds);
      if (left <= 0) // it completes, and misses its deadline
        break;
      runs.push_back({begin, end, k});
      leave(left);
      for (int64_t next = end; next < problem.slots && isGoingOn(); ++next)
        extend(next, left, next == end ? static_cast<int64_t>(k) : -1);
      runs.pop_back();
    }
  }
  /// Adds the trajectory of the runs so far that continues with so much work, if it may.
  void leave(int64_t work) {
    if (work <= maxLeft)
      add(endOf(problem, job), true);
  }
  /// Whether a configuration is of the same family as the runs before.
  bool isOfFamily(unsigned k) const {
    return runs.empty() || job.configurations[runs.front().configuration].family == job.configurations[k].family;
  }
  bool isGoingOn() const { return !isTooLong && found <= max; }
  /// Whether the fastest configuration without a restart would be in time, or need not be.
  bool canComplete(int64_t begin, int64_t work) const {
    if (maxLeft > 0) // or continue
      return true;
    const int64_t end = begin * problem.slot + divideUp(work, fastest);
    return end <= problem.slots * problem.slot && (job.deadline < 0 || end <= job.deadline);
  }

  const JobScheduleProblem &problem;
  const ScheduledJob &job;
  const size_t max;
  const bool counts;     ///< none is kept
  const int64_t maxLeft; ///< work with which it may continue
  static constexpr size_t kStepsPerTrajectory = 10;
  int64_t fastest = 1;
  size_t steps = 0, found = 0;
  bool isTooLong = false;
  std::vector<JobRun> runs;
  std::vector<JobTrajectory> made;
};

int64_t sumOverSlots(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &trajectory,
                     JobMeasure measure) {
  int64_t sum = 0;
  for (const JobRun &run : trajectory.runs) {
    const JobConfiguration &in = job.configurations[run.configuration];
    const int64_t seconds = (run.end - run.begin) * problem.slot;
    if (measure == JobMeasure::Price)
      sum += in.price * seconds;
    else if (measure == JobMeasure::Energy)
      sum += in.watts * seconds;
    else if (!problem.carbon.empty())
      for (int64_t slot = run.begin; slot < run.end; ++slot)
        sum += in.watts * problem.slot * problem.carbon[slot];
  }
  return sum;
}

} // namespace

bool isStart(const ScheduledJob &job, int64_t begin, unsigned configuration) {
  return begin != 0 || job.running != static_cast<int64_t>(configuration);
}

int64_t startsOf(const ScheduledJob &job, const std::vector<JobRun> &runs) {
  return std::count_if(runs.begin(), runs.end(),
                       [&](const JobRun &run) { return isStart(job, run.begin, run.configuration); });
}

int64_t restartOf(const ScheduledJob &job, int64_t begin, unsigned configuration) {
  return isStart(job, begin, configuration) ? job.restart : 0;
}

int64_t unfinishedTerm(const ScheduledJob &job, int64_t left) {
  return job.weight * divideUp(static_cast<__int128>(1'000'000) * std::max<int64_t>(left, 0), job.work);
}

std::optional<RunEnd> completeIn(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t begin,
                                 unsigned configuration, int64_t work) {
  const int64_t needed = restartOf(job, begin, configuration) + divideUp(work, job.configurations[configuration].speed);
  RunEnd made{begin + divideUp(needed, problem.slot), begin * problem.slot + needed};
  if (made.end > problem.slots || (job.deadline >= 0 && made.completion > job.deadline))
    return std::nullopt;
  return made;
}

int64_t workLeft(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs) {
  __int128 left = job.work;
  for (const JobRun &run : runs)
    left -= static_cast<__int128>(job.configurations[run.configuration].speed) *
            ((run.end - run.begin) * problem.slot - restartOf(job, run.begin, run.configuration));
  return static_cast<int64_t>(std::max<__int128>(left, -kMaxAllocationNumber));
}

int64_t maxWorkLeft(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t last) {
  const int64_t end = endOf(problem, job);
  if (!job.mayContinue || job.work == 0 || end > last)
    return -1;
  if (job.deadline < 0)
    return job.work;
  int64_t fastest = 0;
  for (const JobConfiguration &one : job.configurations)
    fastest = std::max(fastest, one.speed);
  const __int128 later = static_cast<__int128>(fastest) * (job.deadline - end);
  return static_cast<int64_t>(std::clamp<__int128>(later, -1, job.work));
}

int64_t firstSlot(const JobScheduleProblem &problem, const ScheduledJob &job) {
  return job.running >= 0 ? 0 : divideUp(job.arrival, problem.slot);
}

std::optional<std::vector<JobTrajectory>> listTrajectories(const JobScheduleProblem &problem, const ScheduledJob &job,
                                                           size_t max) {
  return Lister(problem, job, max, false).list();
}

std::optional<size_t> countTrajectories(const JobScheduleProblem &problem, const ScheduledJob &job, size_t max) {
  return Lister(problem, job, max, true).count();
}

int64_t termOf(const JobScheduleProblem &problem, JobMeasure measure, const ScheduledJob &job,
               const JobTrajectory &trajectory) {
  if (measure == JobMeasure::Unfinished) {
    const bool isOpen = job.work > 0 && (trajectory.continues || trajectory.completion < 0);
    return isOpen ? unfinishedTerm(job, workLeft(problem, job, trajectory.runs)) : 0;
  }
  if (trajectory.completion < 0)
    return measure == JobMeasure::Rejected ? job.weight : 0;
  const int64_t time = trajectory.completion - job.since();
  switch (measure) {
  case JobMeasure::Rejected:
    return 0;
  case JobMeasure::Completion:
  case JobMeasure::Group:
    return job.weight * time;
  case JobMeasure::Lateness:
    return job.due < 0 ? 0 : job.latePrice * std::max<int64_t>(0, trajectory.completion - job.due);
  case JobMeasure::Price:
  case JobMeasure::Energy:
  case JobMeasure::Carbon:
    return sumOverSlots(problem, job, trajectory, measure);
  case JobMeasure::Nash:
    if (time <= 0)
      return 0;
    return job.weight * std::llround(1e6L * std::log2(static_cast<long double>(time) / job.isolated));
  case JobMeasure::Makespan:
    return trajectory.completion;
  case JobMeasure::Slowdown:
    return divideUp(static_cast<__int128>(1000) * time, job.isolated);
  case JobMeasure::Tail:
    return time;
  case JobMeasure::Unfinished:
    break;
  case JobMeasure::Restarts:
    return startsOf(job, trajectory.runs);
  }
  return 0;
}

int64_t valueOf(const JobScheduleProblem &problem, JobMeasure measure, const std::vector<JobTrajectory> &jobs) {
  std::vector<int64_t> terms;
  for (size_t j = 0; j < jobs.size(); ++j)
    terms.push_back(termOf(problem, measure, problem.jobs[j], jobs[j]));
  if (isSum(measure)) {
    int64_t sum = 0;
    for (int64_t term : terms)
      sum += term;
    return sum;
  }
  if (measure == JobMeasure::Group) {
    int64_t max = 0;
    for (unsigned g = 0; g < problem.groups.size(); ++g) {
      int64_t sum = 0;
      for (size_t j = 0; j < jobs.size(); ++j)
        if (const auto &of = problem.jobs[j].groups; std::find(of.begin(), of.end(), g) != of.end())
          sum += terms[j];
      max = std::max(max, divideUp(sum, problem.groups[g].share));
    }
    return max;
  }
  std::sort(terms.begin(), terms.end(), std::greater<>());
  const size_t place = measure == JobMeasure::Tail ? static_cast<size_t>(problem.tail) : 0;
  return place < terms.size() ? std::max<int64_t>(0, terms[place]) : 0;
}

} // namespace accord::jobs
