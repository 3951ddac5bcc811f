#include "lib/jobs/schedule/ScheduleRepair.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include <algorithm>
#include <utility>

namespace accord::jobs {

ScheduleRepair::ScheduleRepair(const JobScheduleProblem &problem, const ObjectiveStage &stage)
    : problem(problem), stage(stage), scratch(problem), rows(problem, stage), later(problem.jobs.size()) {
  for (unsigned job = 0; job < problem.jobs.size(); ++job)
    for (unsigned before : problem.jobs[job].after)
      later[before].push_back(job);
  for (const SlotResource &resource : problem.resources)
    left.insert(left.end(), resource.capacity.begin(), resource.capacity.end());
}

void ScheduleRepair::use(size_t job, const JobTrajectory &trajectory, int64_t sign) {
  for (const JobRun &run : trajectory.runs)
    for (const ResourceUse &one : problem.jobs[job].configurations[run.configuration].uses)
      for (int64_t slot = run.begin; slot < run.end; ++slot)
        left[one.resource * problem.slots + slot] -= sign * one.amount;
}

std::optional<JobTrajectory> ScheduleRepair::place(size_t job, const std::vector<JobTrajectory> &schedule,
                                                   const TrajectoryPrices &prices) {
  ScheduledJob &one = scratch.jobs[job];
  one = problem.jobs[job];
  if (one.work == 0) // it never begins
    return cheapestTrajectory(scratch, stage, rows, prices, job, &left).trajectory;
  for (unsigned before : one.after) {
    const bool isRejected = schedule[before].completion < 0;
    if (isRejected && !one.mayContinue)
      return one.mayBeRejected ? std::optional(JobTrajectory{}) : std::nullopt;
    // At the end of the horizon it cannot begin any more, and only continue.
    const int64_t horizon = problem.slots * problem.slot;
    one.arrival = std::max(one.arrival, isRejected ? horizon : std::min(schedule[before].completion, horizon));
  }
  if (one.arrival > 0)
    one.running = -1;
  for (unsigned after : later[job])
    if (!schedule[after].runs.empty()) {
      const int64_t begin = schedule[after].runs.front().begin * problem.slot;
      one.deadline = one.deadline < 0 ? begin : std::min(one.deadline, begin);
      one.mayBeRejected = false;
    }
  // A job that is left out costs nothing of most measures: it is only where it has no place.
  const bool mayBeRejected = std::exchange(one.mayBeRejected, false);
  auto placed = cheapestTrajectory(scratch, stage, rows, prices, job, &left).trajectory;
  return placed || !mayBeRejected ? placed : std::optional(JobTrajectory{});
}

std::optional<std::vector<JobTrajectory>> ScheduleRepair::build(const std::vector<double> &keys,
                                                                const TrajectoryPrices &prices) {
  left.clear();
  for (const SlotResource &resource : problem.resources)
    left.insert(left.end(), resource.capacity.begin(), resource.capacity.end());
  std::vector<JobTrajectory> schedule(problem.jobs.size());
  std::vector<char> placed(problem.jobs.size(), 0);
  for (size_t step = 0; step < problem.jobs.size(); ++step) {
    size_t next = problem.jobs.size();
    for (size_t job = 0; job < problem.jobs.size(); ++job) {
      const bool isReady = std::all_of(problem.jobs[job].after.begin(), problem.jobs[job].after.end(),
                                       [&](unsigned before) { return placed[before] != 0; });
      if (!placed[job] && isReady && (next == problem.jobs.size() || keys[job] < keys[next]))
        next = job;
    }
    auto trajectory = place(next, schedule, prices);
    if (!trajectory)
      return std::nullopt;
    use(next, *trajectory, 1);
    schedule[next] = std::move(*trajectory);
    placed[next] = 1;
  }
  return schedule;
}

void ScheduleRepair::improve(std::vector<JobTrajectory> &schedule, unsigned maxPasses) {
  left.clear();
  for (const SlotResource &resource : problem.resources)
    left.insert(left.end(), resource.capacity.begin(), resource.capacity.end());
  for (size_t job = 0; job < schedule.size(); ++job)
    use(job, schedule[job], 1);
  const JobMeasure measure = isSum(stage.measure) ? stage.measure : JobMeasure::Completion;
  const TrajectoryPrices plain{Prices(rows.capacity.size(), 0), 1};
  bool isBetter = true;
  for (unsigned pass = 0; isBetter && pass < maxPasses; ++pass) {
    isBetter = false;
    for (size_t job = 0; job < schedule.size(); ++job) {
      const JobTrajectory before = schedule[job];
      use(job, before, -1);
      auto trajectory = place(job, schedule, plain);
      if (trajectory && *trajectory != before &&
          termOf(problem, measure, problem.jobs[job], *trajectory) <
              termOf(problem, measure, problem.jobs[job], before)) {
        schedule[job] = std::move(*trajectory);
        if (keepsAll(schedule))
          isBetter = true;
        else
          schedule[job] = before;
      }
      use(job, schedule[job], 1);
    }
  }
}

bool ScheduleRepair::fill(std::vector<JobTrajectory> &schedule, const std::vector<size_t> &missing) {
  left.clear();
  for (const SlotResource &resource : problem.resources)
    left.insert(left.end(), resource.capacity.begin(), resource.capacity.end());
  std::vector<char> isMissing(schedule.size(), 0);
  for (size_t job : missing)
    isMissing[job] = 1, schedule[job] = {};
  for (size_t job = 0; job < schedule.size(); ++job)
    use(job, schedule[job], 1);
  const TrajectoryPrices plain{Prices(rows.capacity.size(), 0), 1};
  for (size_t job : rows.order) {
    if (!isMissing[job])
      continue;
    auto trajectory = place(job, schedule, plain);
    if (!trajectory)
      return false;
    use(job, *trajectory, 1);
    schedule[job] = std::move(*trajectory);
  }
  return true;
}

void ScheduleRepair::offer(std::vector<JobTrajectory> &schedule, const std::vector<JobTrajectory> &known) const {
  if (known.size() == problem.jobs.size() && keepsAll(known) &&
      (schedule.empty() || valueOf(problem, stage.measure, known) < valueOf(problem, stage.measure, schedule)))
    schedule = known;
}

bool ScheduleRepair::keepsAll(const std::vector<JobTrajectory> &schedule) const {
  std::vector<int64_t> room;
  for (const SlotResource &resource : problem.resources)
    room.insert(room.end(), resource.capacity.begin(), resource.capacity.end());
  for (size_t job = 0; job < schedule.size(); ++job) {
    const JobTrajectory &one = schedule[job];
    if (one.completion > lastCompletion(problem, stage, problem.jobs[job]))
      return false;
    for (const JobRun &run : one.runs)
      for (const ResourceUse &used : problem.jobs[job].configurations[run.configuration].uses)
        for (int64_t slot = run.begin; slot < run.end; ++slot)
          if ((room[used.resource * problem.slots + slot] -= used.amount) < 0)
            return false;
    for (unsigned before : problem.jobs[job].after)
      if (!one.runs.empty() &&
          (schedule[before].completion < 0 || schedule[before].completion > one.runs.front().begin * problem.slot))
        return false;
  }
  for (const JobLimit &limit : stage.allLimits())
    if (valueOf(problem, limit.measure, schedule) > limit.max)
      return false;
  return true;
}

} // namespace accord::jobs
