#include "lib/driver/jobs/JobsPlanner.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/driver/jobs/NoisePredictions.h"
#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/jobs/output/ConflictWords.h"
#include "lib/jobs/output/TenantQueues.h"
#include "lib/jobs/problem/JobBatches.h"
#include "lib/jobs/schedule/JobConflicts.h"
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/schedule/WaitReasons.h"
#include "lib/machine/cost/OperationsModel.h"
#include "lib/machine/translate/PowerLevels.h"
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
  for (size_t job = 0; job < request.jobs.size(); ++job)
    if (request.jobs[job].train.empty())
      takeProfiled(job);
  if (diagnostics().hasErrors())
    return false;
  auto trainings = usesOfTrainings();
  for (auto &[train, uses] : trainings)
    if (!planTraining(train, uses))
      return false;
  for (const auto &[train, uses] : trainings)
    weighChoices(uses);
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

/// Which jobs run each training, as their own or as a choice.
std::map<std::string, std::vector<JobsPlanner::TrainingUse>> JobsPlanner::usesOfTrainings() const {
  std::map<std::string, std::vector<TrainingUse>> uses;
  for (size_t j = 0; j < thePlan.request.jobs.size(); ++j) {
    const JobsRequest::Job &job = thePlan.request.jobs[j];
    if (job.train.empty())
      continue;
    auto own = llvm::find_if(job.choices, [&](const JobsRequest::Choice &one) { return one.train == job.train; });
    uses[job.train].push_back({j, 0, own == job.choices.end() ? nullptr : &*own, {}, 0});
    unsigned family = 0;
    for (const JobsRequest::Choice &one : job.choices)
      if (one.train != job.train)
        uses[one.train].push_back({j, ++family, &one, {}, 0});
  }
  return uses;
}

/// Plans a training on each type of devices, in the numbers and at the batches that some of its jobs may have.
bool JobsPlanner::planTraining(const std::string &train, std::vector<TrainingUse> &uses) {
  Options own = options;
  own.elaborate.train = train;
  own.elaborate.target.clear();
  TrainingPlans plans(own);
  if (!plans.prepare() || !settleUses(train, plans, uses))
    return false;
  for (unsigned type = 0; type < thePlan.cluster.types.size(); ++type)
    if (!planType(plans, type, uses))
      return false;
  for (const std::string &text : plans.assumptions())
    assume(text);
  return true;
}

/// Puts the predicted gradient noise in the place of a measured one, and says so.
bool JobsPlanner::predictNoise(TrainingPlans &plans, const TrainingUse &use) {
  if (!noises) {
    auto table = catalogNoises(diagnostics());
    if (!table)
      return false;
    noises = std::make_unique<NoisePredictor>(std::move(*table));
  }
  JobsRequest::Job &job = thePlan.request.jobs[use.job];
  const double stated = plans.samples(), pass = stated > 0 ? std::min(stated, use.samples) : use.samples;
  const NoisyTraining training = plans.describe(pass);
  const PredictedNoise noise = noises->predict(training);
  const double toSamples = pass / training.data; // of tokens
  job.batches.noise = {{0, noise.median * toSamples}};
  assume(
      fmt::format("the gradient noise of job '{}' was not measured: {:.3g} samples are predicted from those of other "
                  "trainings (90 of 100 lie from {:.2g} to {:.2g}) by {:.3g} samples a pass over its data{}; it is "
                  "taken to stay the same",
                  job.name, noise.median * toSamples, noise.low * toSamples, noise.high * toSamples, pass,
                  pass < use.samples ? "" : ", as if all of its samples were different"));
  return true;
}

/// Work, batches and learning-rate rule of each job with a training.
bool JobsPlanner::settleUses(const std::string &train, TrainingPlans &plans, std::vector<TrainingUse> &uses) {
  optimizers[train] = plans.optimizer();
  for (TrainingUse &use : uses) {
    const JobsRequest::Job &job = thePlan.request.jobs[use.job];
    use.samples = use.choice && use.choice->samples > 0 ? use.choice->samples : samplesOf(job, plans);
    if (use.family == 0)
      thePlan.tables[use.job].samples = use.samples;
    if (use.samples <= 0) {
      diagnostics()
          .error(Code::WrongJobsBlock, rangeOf(diagnostics(), job.location),
                 fmt::format("nothing says how long job '{}' trains", job.name))
          .help(fmt::format("samples = 1e6 in the job, or in 'train {}'", train));
      return false;
    }
    use.batches = batchesOf(job.batches, plans.batch());
    if (use.batches.empty()) {
      diagnostics().error(Code::WrongJobsBlock, rangeOf(diagnostics(), job.batches.location),
                          fmt::format("no power of two times the batch of {} of '{}' is from {} to {}", plans.batch(),
                                      train, job.batches.min, job.batches.max));
      return false;
    }
    if (!job.batches.areStated())
      continue;
    if (use.family == 0 && job.batches.noise.empty() && !predictNoise(plans, use))
      return false;
    if (auto rule = learningRateRuleOf(job.batches, plans.optimizer()); !rule) {
      workspace.report(rule.error());
      return false;
    }
  }
  return true;
}

/// The rows of one type, largest batches first: their rates tell which smaller ones are not looked at.
bool JobsPlanner::planType(TrainingPlans &plans, unsigned type, const std::vector<TrainingUse> &uses) {
  const std::string &name = thePlan.cluster.types[type];
  std::map<int64_t, std::set<int64_t>, std::greater<>> wanted; // numbers of devices by batch
  std::map<std::pair<int64_t, int64_t>, std::vector<const TrainingUse *>> by;
  for (const TrainingUse &use : uses)
    if (const JobsRequest::Job &job = thePlan.request.jobs[use.job];
        job.deviceTypes.empty() || llvm::is_contained(job.deviceTypes, name))
      for (int64_t count : deviceCounts(thePlan.cluster, type, job.minDevices, job.maxDevices))
        for (int64_t batch : use.batches) {
          wanted[batch].insert(count);
          by[{batch, count}].push_back(&use);
        }
  std::map<int64_t, BatchBounds> bounds; // by devices
  for (const auto &[batch, all] : wanted) {
    std::vector<int64_t> counts;
    for (int64_t count : all)
      if (llvm::any_of(by[{batch, count}], [&](const TrainingUse *use) {
            return bounds[count].mayWin(thePlan.request.jobs[use->job], plans.batch(), batch);
          }))
        counts.push_back(count);
    if (counts.empty())
      continue;
    auto rows = plans.on({thePlan.request.cluster, name, 0, 0}, counts, batch);
    if (!rows)
      return false;
    for (const DeviceCountPlan &row : *rows)
      if (row.fits)
        bounds[row.devices].add(batch, static_cast<double>(batch) / row.step);
    auto add = [&](const std::vector<DeviceCountPlan> &made, const std::string &level) {
      for (const TrainingUse &use : uses)
        if (llvm::is_contained(use.batches, batch))
          addRows(use, type, made, batch, plans.batch(), level);
    };
    add(*rows, "");
    for (const PowerLevel &level : levelsOf(type)) {
      assume("at a power level, arithmetic is slower, and device memory, links and launches are as before");
      auto slower = plans.on({thePlan.request.cluster, name, 0, 0, level}, counts, batch);
      if (!slower)
        return false;
      add(*slower, level.name);
    }
  }
  return true;
}

/// The power levels of a device type; none where nothing is gained by less power: no capacity of it, and neither energy
/// nor carbon is asked for.
std::vector<PowerLevel> JobsPlanner::levelsOf(unsigned type) {
  const JobsRequest &request = thePlan.request;
  auto ofEnergy = [](const auto &one) {
    return one.measure == JobMeasure::Energy || one.measure == JobMeasure::Carbon;
  };
  if (!llvm::any_of(request.capacities, [](const auto &one) { return one.resource == kPowerResource; }) &&
      !llvm::any_of(request.objectives, ofEnergy) && !llvm::any_of(request.limits, ofEnergy))
    return {};
  if (target.groups().groups[type].machine.costModel.starts_with(kOperationsModel)) {
    assume(
        fmt::format("'{}' is at full power: its operations were measured at one clock", thePlan.cluster.types[type]));
    return {};
  }
  for (accel::AcceleratorOp accelerator : workspace.program().machines())
    if (accelerator.getSymName() == thePlan.cluster.types[type])
      return powerLevelsOf(accelerator);
  return {};
}

void JobsPlanner::addRows(const TrainingUse &use, unsigned type, const std::vector<DeviceCountPlan> &plans,
                          int64_t batch, int64_t own, const std::string &level) {
  const double rent = target.groups().groups[type].pricePerHour / 3600, samples = static_cast<double>(batch);
  JobTable &table = thePlan.tables[use.job];
  for (const DeviceCountPlan &one : plans) {
    if (!one.fits) {
      table.reason = fmt::format("on {} {}: {}", one.devices, thePlan.cluster.types[type], one.reason);
      continue;
    }
    TableRow row;
    row.type = type, row.devices = one.devices;
    row.rate = samples / one.step, row.lowRate = one.stepHigh > 0 ? samples / one.stepHigh : 0;
    row.watts = one.watts, row.price = rent * static_cast<double>(one.devices);
    row.step = one.step, row.memory = one.memory, row.plan = one.plan, row.level = level;
    row.launch = one.launch;
    row.batch = batch, row.ownBatch = own, row.accumulation = one.accumulation;
    row.family = use.family;
    if (use.choice)
      row.quality = use.choice->quality;
    if (use.family > 0)
      row.choice = use.choice->train;
    table.rows.push_back(std::move(row));
  }
}

/// Rates of a choice count what its samples replace of the job's own.
void JobsPlanner::weighChoices(const std::vector<TrainingUse> &uses) {
  for (const TrainingUse &use : uses)
    if (JobTable &table = thePlan.tables[use.job]; use.family > 0)
      for (TableRow &row : table.rows)
        if (row.family == use.family)
          row.samples = use.samples / table.samples, row.rate /= row.samples, row.lowRate /= row.samples;
}

/// What of a row is known beside the numbers of its configuration; of batches where it is not that of its training.
ConfigurationWords JobsPlanner::configurationWords(const ScheduledPart &part, unsigned i) const {
  const TableRow &row = thePlan.tables[part.job].rows[i];
  const JobsRequest::Job &job = thePlan.request.jobs[part.job];
  ConfigurationWords words{row.plan, row.type, row.devices, static_cast<int64_t>(row.memory), row.step};
  words.choice = row.choice, words.level = row.level;
  if (row.batch == row.ownBatch)
    return words;
  words.batch = row.batch, words.accumulation = row.accumulation;
  words.efficiency = sampleEfficiency(part.noise, row.ownBatch, row.batch);
  if (auto rule = learningRateRuleOf(job.batches, optimizers.at(row.choice.empty() ? job.train : row.choice))) {
    const LearningRateScale scale = learningRateAt(*rule, part.noise, row.ownBatch, row.batch);
    words.learningRate = scale.rate, words.warmup = scale.warmup;
  }
  return words;
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
    for (unsigned i : part.rows)
      one.configurations.push_back(configurationWords(part, i));
    all.push_back(std::move(one));
  }
  return all;
}

/// Samples that a part of a job trains on in its runs, which may have other batches and another training than its work
/// is counted in. What is left at the end of the schedule counts as in the last run.
static double trainedSamples(const JobsPlan &plan, size_t p) {
  const ScheduledPart &part = plan.built.parts[p];
  const JobScheduleProblem &problem = plan.built.problem;
  const ScheduledJob &job = problem.jobs[p];
  if (p >= plan.schedule.jobs.size() || plan.schedule.jobs[p].runs.empty() || job.work <= 0)
    return part.samples;
  double left = 1, sum = 0;
  const std::vector<JobRun> &runs = plan.schedule.jobs[p].runs;
  for (size_t r = 0; r < runs.size(); ++r) {
    const JobRun &run = runs[r];
    const TableRow &row = plan.tables[part.job].rows[part.rows[run.configuration]];
    const int64_t seconds = (run.end - run.begin) * problem.slot - restartOf(job, run.begin, run.configuration);
    const double done = static_cast<double>(std::max<int64_t>(0, seconds)) *
                        static_cast<double>(job.configurations[run.configuration].speed) /
                        static_cast<double>(job.work);
    const double share = r + 1 == runs.size() ? left : std::min(left, done);
    const bool isOther = part.noise > 0 && row.batch != row.ownBatch;
    sum += share * part.samples * row.samples / (isOther ? sampleEfficiency(part.noise, row.ownBatch, row.batch) : 1);
    left -= share;
  }
  return sum;
}

/// What starts each job of the schedule: the names of its tenant in Slurm and Kueue, and the plans of those
/// configurations that its runs use. `state`: of a plan that goes on, else null.
static std::vector<JobLaunch> launchesOf(const JobsPlan &plan, const RunningState *state) {
  const std::vector<TenantNames> names = tenantNames(plan.request);
  std::vector<JobLaunch> all;
  double samples = 0;
  for (size_t j = 0; j < plan.built.parts.size(); ++j) {
    const ScheduledPart &part = plan.built.parts[j];
    const JobState *before = state && part.phase == 0 ? state->find(plan.request.jobs[part.job].name) : nullptr;
    samples = trainedSamples(plan, j) + (before ? before->done : part.phase == 0 ? 0 : samples);
    const TenantNames &tenant = names[part.job];
    JobLaunch launch{plan.request.jobs[part.job].name,
                     samples,
                     tenant.account,
                     tenant.service,
                     tenant.queue,
                     tenant.priorityClass,
                     {}};
    std::set<unsigned> used;
    if (j < plan.schedule.jobs.size())
      for (const JobRun &run : plan.schedule.jobs[j].runs)
        used.insert(run.configuration);
    for (unsigned configuration : used)
      if (const auto &one = plan.tables[part.job].rows[part.rows[configuration]].launch)
        launch.configurations.push_back({configuration, *one});
    all.push_back(std::move(launch));
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
    made.launch = launchesOf(thePlan, theRunning ? &theRunning->state : nullptr);
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
