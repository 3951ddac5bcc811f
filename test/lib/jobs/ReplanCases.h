// Small blocks of jobs on small clusters, planned, and planned again at a moment.
#pragma once
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/KeptPlan.h"
#include "lib/jobs/schedule/RunningState.h"
#include "test/lib/jobs/JobScheduleCases.h"

namespace accord::jobs::test {

struct Block {
  JobsRequest request;
  Cluster cluster;
  std::vector<JobTable> tables;
};

/// 2 to 3 jobs in 4 to 5 periods on two types of devices.
inline Block randomBlock(SplitMix &random, bool onlyMalleable, bool onlySums) {
  auto between = [&](int64_t min, int64_t max) { return min + static_cast<int64_t>(random.below(max - min + 1)); };
  Block made;
  made.cluster.types = {"new", "old"};
  made.cluster.servers = {{0, 2}, {0, 2}, {1, 3}};
  JobsRequest &request = made.request;
  request.name = "random", request.cluster = "lab";
  const int64_t slots = between(4, 5);
  request.slot = static_cast<double>(between(8, 30)), request.horizon = request.slot * static_cast<double>(slots);
  request.tenants = {{"a", 1, {}, {}}, {"b", 2, {}, {}}};
  if (random.below(2))
    request.capacities.push_back({"power", {{0, 60}, {request.slot * 2, static_cast<double>(between(20, 60))}}, {}});
  const int64_t jobs = between(2, 3);
  for (int64_t j = 0; j < jobs; ++j) {
    JobsRequest::Job job;
    job.name = "job" + std::to_string(j);
    job.samples = static_cast<double>(between(20, 250));
    job.arrival = random.below(2) ? 0 : static_cast<double>(between(0, static_cast<int64_t>(request.slot) * 2));
    job.priority = static_cast<double>(between(1, 3));
    job.restart = random.below(4) ? static_cast<double>(between(0, 5)) : request.slot + 2;
    job.elasticity = onlyMalleable || random.below(2) ? Elasticity::Malleable : Elasticity::Moldable;
    job.optional = random.below(3) != 0;
    job.tenant = random.below(2) ? "a" : "b";
    if (random.below(2))
      job.due = static_cast<double>(between(0, 40)), job.latePrice = 1e-5 * static_cast<double>(between(1, 9));
    if (j > 0 && random.below(4) == 0)
      job.after.push_back("job0");
    JobTable table{job.samples, {}, ""};
    for (int64_t k = between(1, 3); k-- > 0;) {
      TableRow row;
      row.type = random.below(2), row.devices = between(1, 3), row.rate = static_cast<double>(between(1, 8));
      row.watts = static_cast<double>(between(5, 20)), row.price = 1e-6 * static_cast<double>(between(0, 9));
      row.plan = "plan " + std::to_string(k);
      table.rows.push_back(row);
    }
    request.jobs.push_back(job);
    made.tables.push_back(table);
  }
  std::vector<JobMeasure> measures = {JobMeasure::Completion, JobMeasure::Price, JobMeasure::Energy, JobMeasure::Nash,
                                      JobMeasure::Lateness};
  if (!onlySums)
    measures.insert(measures.end(), {JobMeasure::Makespan, JobMeasure::Slowdown, JobMeasure::Tail, JobMeasure::Group});
  request.objectives = {{JobMeasure::Rejected, {}}, {measures[random.below(measures.size())], {}}};
  return made;
}

/// What a planner makes of a problem and its schedule.
inline JobAnswer answerOf(const JobsRequest &request, const Cluster &cluster, const std::vector<JobTable> &tables,
                          const BuiltSchedule &built, JobSchedule schedule,
                          const std::vector<JobPlacement> &current = {}) {
  JobAnswer answer;
  answer.name = request.name, answer.cluster = cluster, answer.problem = built.problem;
  answer.schedule = std::move(schedule), answer.absences = built.absences;
  for (const ScheduledPart &part : built.parts) {
    JobWords words{request.jobs[part.job].tenant, "", {}, part.samples};
    for (unsigned i : part.rows) {
      const TableRow &row = tables[part.job].rows[i];
      words.configurations.push_back({row.plan, row.type, row.devices, 0, 0});
    }
    answer.jobs.push_back(std::move(words));
  }
  placeJobs(answer, current);
  return answer;
}

inline std::optional<JobAnswer> planned(const Block &block) {
  auto built = buildJobSchedule(block.request, block.cluster, block.tables);
  if (!built)
    return std::nullopt; // a job has no configuration, for example
  JobSchedule schedule = solveJobSchedule(built->problem, {});
  if (schedule.jobs.empty())
    return std::nullopt;
  return answerOf(block.request, block.cluster, block.tables, *built, std::move(schedule));
}

/// What the remaining runs of a plan count from a period on, of jobs that are not complete then, slot by slot.
inline int64_t remainderOf(const JobAnswer &plan, JobMeasure measure, int64_t from) {
  const JobScheduleProblem &problem = plan.problem;
  const int64_t at = from * problem.slot;
  int64_t sum = 0, max = 0;
  std::vector<int64_t> times;
  std::map<unsigned, int64_t> ofGroup;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const ScheduledJob &job = problem.jobs[j];
    const JobTrajectory &does = plan.schedule.jobs[j];
    const bool isOver = does.completion >= 0 && does.completion <= at;
    const int64_t time = does.completion - job.arrival;
    if (measure == JobMeasure::Group && does.completion >= 0) // also those that are complete
      for (unsigned group : job.groups)
        ofGroup[group] += job.weight * time;
    if (isOver)
      continue;
    if (does.completion < 0) {
      sum += measure == JobMeasure::Rejected ? job.weight : 0;
      times.push_back(0);
      continue;
    }
    times.push_back(time);
    for (const JobRun &run : does.runs)
      for (int64_t slot = std::max(from, run.begin); slot < run.end; ++slot) {
        const JobConfiguration &in = job.configurations[run.configuration];
        sum += measure == JobMeasure::Price    ? in.price * problem.slot
               : measure == JobMeasure::Energy ? in.watts * problem.slot
                                               : 0;
      }
    if (measure == JobMeasure::Completion)
      sum += job.weight * time;
    if (measure == JobMeasure::Nash && time > 0)
      sum += job.weight * std::llround(1e6 * std::log2(double(time) / double(job.isolated)));
    if (measure == JobMeasure::Lateness && job.due >= 0) // what is late by then does not count
      sum += job.latePrice * std::max<int64_t>(0, does.completion - std::max(job.due, at));
    if (measure == JobMeasure::Makespan)
      max = std::max(max, does.completion - at);
    if (measure == JobMeasure::Slowdown)
      max = std::max(max, (1000 * time + job.isolated - 1) / job.isolated);
  }
  for (const auto &[group, waited] : ofGroup)
    max = std::max(max, (waited + problem.groups[group].share - 1) / problem.groups[group].share);
  std::sort(times.rbegin(), times.rend());
  if (measure == JobMeasure::Tail)
    return times.empty() ? 0 : times[0];
  return isSum(measure) ? sum : max;
}

} // namespace accord::jobs::test
