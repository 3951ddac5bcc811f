#include "lib/driver/jobs/JobsPlanner.h"
#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/jobs/output/ConflictWords.h"
#include "lib/jobs/schedule/JobConflicts.h"
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/schedule/WaitReasons.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {

using namespace jobs;

static Options ofBlock(Options options) {
  options.elaborate.clusters = options.elaborate.placement = true;
  return options;
}

JobsPlanner::JobsPlanner(const Options &given) : options(ofBlock(given)), workspace(options), target(workspace) {}

void JobsPlanner::assume(const std::string &text) {
  if (!llvm::is_contained(thePlan.assumptions, text))
    thePlan.assumptions.push_back(text);
}

void JobsPlanner::note(const std::string &text) {
  if (!llvm::is_contained(theNotes, text))
    theNotes.push_back(text);
}

bool JobsPlanner::prepare() {
  if (!workspace.read())
    return false;
  auto request = workspace.program().jobs();
  if (!request || diagnostics().hasErrors())
    return false;
  thePlan.request = std::move(*request);
  return takeCluster();
}

bool JobsPlanner::takeCluster() {
  JobsRequest &request = thePlan.request;
  if (request.cluster.empty()) {
    diagnostics()
        .error(Code::WrongJobsBlock, rangeOf(diagnostics(), request.location),
               fmt::format("nothing says which cluster the jobs of '{}' share", request.name))
        .help(fmt::format("jobs {} on NAME {{ … }}, or --target NAME", request.name));
    return false;
  }
  if (!target.prepareCluster(request.cluster, rangeOf(diagnostics(), request.clusterAt)))
    return false;
  for (const accord::Cluster &group : target.groups().groups) {
    const unsigned type = thePlan.cluster.types.size();
    thePlan.cluster.types.push_back(group.machine.name);
    for (int64_t server = 0; server < group.servers; ++server)
      thePlan.cluster.servers.push_back({type, static_cast<unsigned>(group.devicesPerNode)});
  }
  return true;
}

bool JobsPlanner::build() {
  const JobsRequest &request = thePlan.request;
  thePlan.tables.resize(request.jobs.size());
  std::set<std::string> trains;
  for (size_t job = 0; job < request.jobs.size(); ++job)
    if (request.jobs[job].train.empty())
      takeProfiled(job);
    else
      trains.insert(request.jobs[job].train);
  if (diagnostics().hasErrors())
    return false;
  for (const std::string &train : trains)
    if (!planTraining(train))
      return false;
  if (theRunning) {
    theBlock = thePlan.request, theTables = thePlan.tables;
    return buildRemaining();
  }
  auto built = buildJobSchedule(request, thePlan.cluster, thePlan.tables);
  if (!built)
    return !workspace.reportAll(built.error());
  thePlan.built = std::move(*built);
  std::swap(thePlan.assumptions, thePlan.built.assumptions); // those of the schedule first
  for (const std::string &text : thePlan.built.assumptions)
    assume(text);
  return true;
}

/// The problem of what is left of the block.
bool JobsPlanner::buildRemaining() {
  auto sameServers = [&] {
    const jobs::Cluster &a = theRunning->plan.cluster, &b = thePlan.cluster;
    return a.types == b.types && llvm::equal(a.servers, b.servers, [](const Server &x, const Server &y) {
             return x.type == y.type && x.devices == y.devices;
           });
  };
  if (!sameServers()) {
    for (JobState &job : theRunning->state.jobs)
      job.servers.clear();
    note("the cluster has other servers than the plan that runs: jobs may go on elsewhere");
  }
  auto left = remainingSchedule(theBlock, thePlan.cluster, theTables, theRunning->state);
  if (!left)
    return !workspace.reportAll(left.error());
  theLeft = std::move(*left);
  for (const auto *texts : {&theLeft.assumptions, &theLeft.built.assumptions})
    for (const std::string &text : *texts)
      note(text);
  thePlan.request = theLeft.request, thePlan.tables = theLeft.tables, thePlan.built = theLeft.built;
  theKept = keepPlan(theLeft, theRunning->plan, theRunning->state);
  return true;
}

/// Jobs of the block that go on, but not on their servers.
std::vector<std::string> JobsPlanner::movedJobs() const {
  JobAnswer placed;
  placed.cluster = thePlan.cluster, placed.absences = thePlan.built.absences, placed.jobs = words();
  placed.problem = thePlan.built.problem, placed.schedule = thePlan.schedule;
  placeJobs(placed, theLeft.current);
  std::vector<std::string> moved;
  for (const RunRequest &run : runRequests(placed))
    if (run.stays && !theLeft.current[run.job].empty()) {
      auto ordered = [](JobPlacement placement) {
        llvm::sort(placement, [](const ServerShare &a, const ServerShare &b) { return a.server < b.server; });
        return placement;
      };
      if (ordered(placed.placements[run.job].front()) != ordered(theLeft.current[run.job]))
        moved.push_back(thePlan.request.jobs[thePlan.built.parts[run.job].job].name);
    }
  return moved;
}

/// The rows of a job that was profiled.
void JobsPlanner::takeProfiled(size_t job) {
  const JobsRequest::Job &asked = thePlan.request.jobs[job];
  thePlan.tables[job].samples = asked.samples;
  for (const JobsRequest::Profiled &one : asked.profiled) {
    auto type = llvm::find(thePlan.cluster.types, one.deviceType);
    if (type == thePlan.cluster.types.end()) {
      diagnostics()
          .error(Code::UnknownName, rangeOf(diagnostics(), one.location),
                 fmt::format("cluster '{}' has no devices '{}'", thePlan.request.cluster, one.deviceType))
          .suggest(nearest(one.deviceType, thePlan.cluster.types));
      continue;
    }
    TableRow row;
    row.type = type - thePlan.cluster.types.begin();
    row.devices = one.devices, row.rate = one.rate, row.watts = one.power, row.quality = one.quality;
    const double rent = target.groups().groups[row.type].pricePerHour / 3600;
    row.price = one.price > 0 ? one.price : rent * static_cast<double>(one.devices);
    row.plan = "as profiled";
    thePlan.tables[job].rows.push_back(std::move(row));
  }
}

/// What a job states of its work, else its training; 0: neither does.
static double samplesOf(const JobsRequest::Job &job, const TrainingPlans &plans) {
  if (job.tokens <= 0)
    return job.samples > 0 ? job.samples : plans.samples();
  const std::optional<int64_t> sequence = plans.sequence();
  return sequence && *sequence > 0 ? std::ceil(job.tokens / static_cast<double>(*sequence)) : 0;
}

/// Plans a training on each type of devices, in the numbers that some of its jobs may have.
bool JobsPlanner::planTraining(const std::string &train) {
  const JobsRequest &request = thePlan.request;
  Options own = options;
  own.elaborate.train = train;
  own.elaborate.target.clear();
  TrainingPlans plans(own);
  if (!plans.prepare())
    return false;
  std::vector<size_t> jobs;
  for (size_t j = 0; j < request.jobs.size(); ++j)
    if (request.jobs[j].train == train)
      jobs.push_back(j);
  for (size_t j : jobs) {
    thePlan.tables[j].samples = samplesOf(request.jobs[j], plans);
    if (thePlan.tables[j].samples > 0)
      continue;
    diagnostics()
        .error(Code::WrongJobsBlock, rangeOf(diagnostics(), request.jobs[j].location),
               fmt::format("nothing says how long job '{}' trains", request.jobs[j].name))
        .help(fmt::format("samples = 1e6 in the job, or in 'train {}'", train));
    return false;
  }
  for (unsigned type = 0; type < thePlan.cluster.types.size(); ++type) {
    const std::string &name = thePlan.cluster.types[type];
    std::set<int64_t> counts;
    for (size_t j : jobs)
      if (const JobsRequest::Job &job = request.jobs[j];
          job.deviceTypes.empty() || llvm::is_contained(job.deviceTypes, name))
        for (int64_t count : deviceCounts(thePlan.cluster, type, job.minDevices, job.maxDevices))
          counts.insert(count);
    if (counts.empty())
      continue;
    auto rows = plans.on({request.cluster, name, 0, 0}, {counts.begin(), counts.end()});
    if (!rows)
      return false;
    addRows(jobs, type, *rows, static_cast<double>(plans.batch()));
  }
  for (const std::string &text : plans.assumptions())
    assume(text);
  return true;
}

void JobsPlanner::addRows(const std::vector<size_t> &jobs, unsigned type, const std::vector<DeviceCountPlan> &plans,
                          double batch) {
  const double rent = target.groups().groups[type].pricePerHour / 3600;
  for (const DeviceCountPlan &one : plans) {
    if (!one.fits) {
      for (size_t j : jobs)
        thePlan.tables[j].reason = fmt::format("on {} {}: {}", one.devices, thePlan.cluster.types[type], one.reason);
      continue;
    }
    TableRow row;
    row.type = type, row.devices = one.devices;
    row.rate = batch / one.step, row.lowRate = one.stepHigh > 0 ? batch / one.stepHigh : 0;
    row.watts = one.watts, row.price = rent * static_cast<double>(one.devices);
    row.step = one.step, row.memory = one.memory, row.plan = one.plan;
    for (size_t j : jobs)
      thePlan.tables[j].rows.push_back(row);
  }
}

void JobsPlanner::solve(const SearchControl &control) {
  SearchLimits limits{control};
  limits.effort = options.effort;
  thePlan.schedule = solveJobSchedule(thePlan.built.problem, limits, theKept.known);
  // A job whose servers cannot be its own any more starts again, which the plan has to pay for.
  constexpr unsigned kRounds = 4;
  for (unsigned round = 0; theRunning && round < kRounds && !thePlan.schedule.jobs.empty(); ++round) {
    const std::vector<std::string> moved = movedJobs();
    for (JobState &job : theRunning->state.jobs)
      if (llvm::is_contained(moved, job.name))
        job.running = false, job.restarting = 0,
        note(fmt::format("job '{}' starts again: its servers are not there or not free for it", job.name));
    if (moved.empty() || !buildRemaining())
      break;
    thePlan.schedule = solveJobSchedule(thePlan.built.problem, limits, theKept.known);
  }
  if (thePlan.schedule.status == AllocationStatus::Infeasible)
    thePlan.conflict = explainConflict(thePlan.built.problem, limits);
}

/// When a job completes if its steps take what the upper end of their 90 % interval says, in the runs of the schedule
/// and longer in the last one; -1 where the interval is not known.
static double lateCompletion(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &does,
                             const std::vector<double> &slowness) {
  double left = static_cast<double>(job.work);
  for (size_t r = 0; r < does.runs.size(); ++r) {
    const JobRun &run = does.runs[r];
    if (slowness[run.configuration] <= 0)
      return -1;
    const double speed = static_cast<double>(job.configurations[run.configuration].speed) / slowness[run.configuration];
    const bool goesOn = run.begin == 0 && job.running == static_cast<int64_t>(run.configuration);
    const double begin = static_cast<double>(run.begin * problem.slot),
                 restart = goesOn ? 0 : static_cast<double>(job.restart);
    const double seconds = static_cast<double>((run.end - run.begin) * problem.slot) - restart;
    if (r + 1 == does.runs.size() || left <= speed * seconds)
      return begin + restart + left / speed;
    left -= speed * seconds;
  }
  return -1;
}

/// Jobs that keep their deadline, but not with steps at the upper end of their interval.
std::vector<std::string> JobsPlanner::risks() const {
  std::vector<std::string> all;
  const JobScheduleProblem &problem = thePlan.built.problem;
  for (size_t j = 0; j < thePlan.schedule.jobs.size(); ++j) {
    const ScheduledJob &job = problem.jobs[j];
    const ScheduledPart &part = thePlan.built.parts[j];
    std::vector<double> slowness;
    for (unsigned i : part.rows) {
      const TableRow &row = thePlan.tables[part.job].rows[i];
      slowness.push_back(row.lowRate > 0 ? row.rate / row.lowRate : 0);
    }
    const double late = lateCompletion(problem, job, thePlan.schedule.jobs[j], slowness);
    if (job.deadline >= 0 && late > static_cast<double>(job.deadline))
      all.push_back(
          fmt::format("job '{}' may be late: with steps at the upper end of their 90 % interval it is complete "
                      "at {:.2f} h, and its deadline is {:.2f} h",
                      job.name, late / 3600, static_cast<double>(job.deadline) / 3600));
  }
  return all;
}

/// What is known of the configurations of each job of the problem.
std::vector<JobWords> JobsPlanner::words() const {
  std::vector<JobWords> all;
  for (const ScheduledPart &part : thePlan.built.parts) {
    JobWords one{thePlan.request.jobs[part.job].tenant, thePlan.request.jobs[part.job].train, {}, part.samples};
    for (unsigned i : part.rows) {
      const TableRow &row = thePlan.tables[part.job].rows[i];
      one.configurations.push_back({row.plan, row.type, row.devices, static_cast<int64_t>(row.memory), row.step});
    }
    all.push_back(std::move(one));
  }
  return all;
}

JobAnswer JobsPlanner::answer() const {
  const JobsRequest &request = thePlan.request;
  JobAnswer made;
  made.name = request.name, made.clusterName = request.cluster, made.cluster = thePlan.cluster;
  made.absences = thePlan.built.absences;
  made.problem = thePlan.built.problem, made.schedule = thePlan.schedule;
  made.assumptions = risks();
  for (const auto *texts : {&theNotes, &thePlan.assumptions})
    made.assumptions.insert(made.assumptions.end(), texts->begin(), texts->end());
  for (const JobsRequest::Limit &limit : request.limits)
    made.requirements.push_back(limit.text);
  made.jobs = words();
  addConflict(made);
  if (!made.schedule.jobs.empty()) {
    placeJobs(made, theLeft.current);
    made.waits = waitReasons(made);
  }
  if (theRunning) {
    made.replan = Replan{theRunning->state, {}, {}, theKept.why, theLeft.spent, theLeft.completedWeight};
    if (!made.schedule.jobs.empty())
      made.replan->changes = changesOf(theBlock, theLeft, made, theRunning->plan, theRunning->planned,
                                       theRunning->state, theRunning->events);
    if (theKept.why.empty())
      for (JobMeasure measure : made.problem.objectives)
        made.replan->keptValues.push_back(valueOf(made.problem, measure, theKept.jobs));
  }
  return made;
}

/// A conflict in words, in which deadlines and requirements are as the block states them.
void JobsPlanner::addConflict(JobAnswer &made) const {
  if (!thePlan.conflict)
    return;
  JobScheduleProblem stated = made.problem;
  const int64_t at = theRunning ? theRunning->state.at : 0;
  for (ScheduledJob &job : stated.jobs)
    job.deadline += job.deadline >= 0 ? at : 0;
  auto whole = [&](JobRepair repair) {
    if (repair.constraint.of == JobConstraint::Of::Deadline)
      repair.value += at;
    if (repair.constraint.of == JobConstraint::Of::Limit && repair.constraint.index < theLeft.spent.size())
      repair.value += theLeft.spent[repair.constraint.index];
    return wordsOf(repair, stated, made.requirements);
  };
  for (const JobConstraint &one : thePlan.conflict->constraints)
    made.conflict.push_back(wordsOf(one, stated, made.requirements));
  for (const JobRepair &one : thePlan.conflict->repairs)
    made.repairs.push_back(whole(one));
  std::string together;
  for (const JobRepair &one : thePlan.conflict->together)
    together += (together.empty() ? "together: " : "; ") + whole(one);
  if (!together.empty())
    made.repairs.push_back(std::move(together));
}

} // namespace accord
