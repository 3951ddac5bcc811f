#include "lib/jobs/translate/JobsConversion.h"
#include <algorithm>
#include <map>

using namespace mlir;

namespace accord::jobs {
namespace {

std::vector<int64_t> slotsFrom(llvm::ArrayRef<int64_t> steps, int64_t slots) {
  std::vector<int64_t> amounts(static_cast<size_t>(slots), 0);
  for (size_t i = 0; i + 1 < steps.size(); i += 2)
    for (int64_t slot = steps[i]; slot < slots; ++slot)
      amounts[slot] = steps[i + 1];
  return amounts;
}

DenseI64ArrayAttr stepsAttr(OpBuilder &builder, const std::vector<int64_t> &amounts) {
  SmallVector<int64_t> steps;
  for (size_t slot = 0; slot < amounts.size(); ++slot)
    if (slot == 0 || amounts[slot] != amounts[slot - 1])
      steps.append({static_cast<int64_t>(slot), amounts[slot]});
  return builder.getDenseI64ArrayAttr(steps);
}

/// Numbers of what is named.
using Numbers = std::map<std::string, unsigned, std::less<>>;

unsigned numberOf(const Numbers &numbers, llvm::StringRef name) { return numbers.find(name.str())->second; }

SmallVector<StringAttr> namesIn(std::optional<ArrayAttr> list) {
  return list ? llvm::to_vector(list->getAsRange<StringAttr>()) : SmallVector<StringAttr>();
}

JobConfiguration configurationFrom(ConfigurationOp op, const Numbers &resources) {
  JobConfiguration configuration;
  configuration.name = op.getName().str();
  configuration.speed = op.getSpeed();
  configuration.watts = op.getWatts().value_or(0);
  configuration.price = op.getPrice().value_or(0);
  configuration.family = static_cast<unsigned>(op.getFamily().value_or(0));
  if (auto uses = op.getUses())
    for (auto use : uses->getAsRange<ArrayAttr>())
      configuration.uses.push_back(
          {numberOf(resources, cast<StringAttr>(use[0]).getValue()), cast<IntegerAttr>(use[1]).getInt()});
  std::sort(configuration.uses.begin(), configuration.uses.end());
  return configuration;
}

ScheduledJob jobFrom(JobOp op, const Numbers &resources, const Numbers &groups, const Numbers &jobs) {
  ScheduledJob job;
  job.name = op.getName().str();
  job.arrival = op.getArrival();
  job.waited = op.getWaited().value_or(0);
  job.work = op.getWork();
  job.deadline = op.getDeadline() ? static_cast<int64_t>(*op.getDeadline()) : -1;
  job.due = op.getDue() ? static_cast<int64_t>(*op.getDue()) : -1;
  job.latePrice = op.getLatePrice().value_or(0);
  job.weight = op.getWeight().value_or(1);
  job.restart = op.getRestart().value_or(0);
  job.isolated = op.getIsolated().value_or(1);
  job.elasticity = op.getElasticity() == "malleable" ? Elasticity::Malleable : Elasticity::Moldable;
  job.mayBeRejected = op.getRejectable();
  job.mayContinue = op.getContinuable();
  job.maxRestarts = op.getMaxRestarts() ? static_cast<int64_t>(*op.getMaxRestarts()) : -1;
  for (auto configuration : op.getBody().getOps<ConfigurationOp>()) {
    if (op.getRunning() == configuration.getName())
      job.running = static_cast<int64_t>(job.configurations.size());
    job.configurations.push_back(configurationFrom(configuration, resources));
  }
  for (StringAttr name : namesIn(op.getAfter()))
    job.after.push_back(numberOf(jobs, name.getValue()));
  for (StringAttr name : namesIn(op.getGroups()))
    job.groups.push_back(numberOf(groups, name.getValue()));
  return job;
}

template <typename Op> Numbers numbersOf(ProblemOp problem) {
  Numbers numbers;
  for (Op op : problem.getBody().getOps<Op>())
    numbers.emplace(op.getName().str(), static_cast<unsigned>(numbers.size()));
  return numbers;
}

/// The value as an attribute where it is not what a missing one means.
IntegerAttr unless(OpBuilder &builder, int64_t value, int64_t missing) {
  return value == missing ? IntegerAttr() : builder.getI64IntegerAttr(value);
}

void writeJob(OpBuilder &builder, Location at, const ScheduledJob &job, const JobScheduleProblem &problem) {
  auto names = [&](const std::vector<unsigned> &numbers, const auto &all) {
    SmallVector<llvm::StringRef> list;
    for (unsigned number : numbers)
      list.push_back(all[number].name);
    return list.empty() ? ArrayAttr() : builder.getStrArrayAttr(list);
  };
  auto op = JobOp::create(
      builder, at, builder.getStringAttr(job.name),
      builder.getStringAttr(job.elasticity == Elasticity::Malleable ? "malleable" : "moldable"),
      builder.getI64IntegerAttr(job.arrival), unless(builder, job.waited, 0), builder.getI64IntegerAttr(job.work),
      unless(builder, job.deadline, -1), unless(builder, job.due, -1), unless(builder, job.latePrice, 0),
      unless(builder, job.weight, 1), unless(builder, job.restart, 0), unless(builder, job.isolated, 1),
      job.running < 0 ? StringAttr() : builder.getStringAttr(job.configurations[job.running].name),
      names(job.after, problem.jobs), names(job.groups, problem.groups),
      job.mayBeRejected ? builder.getUnitAttr() : UnitAttr(), job.mayContinue ? builder.getUnitAttr() : UnitAttr(),
      unless(builder, job.maxRestarts, -1));
  OpBuilder parts = OpBuilder::atBlockEnd(&op.getBody().emplaceBlock());
  for (const JobConfiguration &configuration : job.configurations) {
    SmallVector<Attribute> uses;
    for (const ResourceUse &use : configuration.uses)
      uses.push_back(builder.getArrayAttr(
          {builder.getStringAttr(problem.resources[use.resource].name), builder.getI64IntegerAttr(use.amount)}));
    ConfigurationOp::create(parts, at, builder.getStringAttr(configuration.name),
                            builder.getI64IntegerAttr(configuration.speed), unless(builder, configuration.watts, 0),
                            unless(builder, configuration.price, 0), unless(builder, configuration.family, 0),
                            uses.empty() ? ArrayAttr() : builder.getArrayAttr(uses));
  }
}

} // namespace

JobScheduleProblem problemFrom(ProblemOp op) {
  JobScheduleProblem problem;
  problem.slot = op.getSlot();
  problem.slots = op.getSlots();
  problem.tail = op.getTail().value_or(0);
  for (auto name : op.getObjectives().getAsRange<StringAttr>())
    if (auto measure = jobMeasure(name.getValue()))
      problem.objectives.push_back(*measure);
  if (auto carbon = op.getCarbon())
    problem.carbon = slotsFrom(*carbon, problem.slots);
  const Numbers resources = numbersOf<ResourceOp>(op), groups = numbersOf<GroupOp>(op), jobs = numbersOf<JobOp>(op);
  for (auto resource : op.getBody().getOps<ResourceOp>())
    problem.resources.push_back({resource.getName().str(), slotsFrom(resource.getCapacity(), problem.slots)});
  for (auto group : op.getBody().getOps<GroupOp>())
    problem.groups.push_back({group.getName().str(), static_cast<int64_t>(group.getShare())});
  for (auto limit : op.getBody().getOps<LimitOp>())
    if (auto measure = jobMeasure(limit.getMeasure()))
      problem.limits.push_back({*measure, static_cast<int64_t>(limit.getMax())});
  for (auto job : op.getBody().getOps<JobOp>())
    problem.jobs.push_back(jobFrom(job, resources, groups, jobs));
  return problem;
}

Cluster clusterFrom(ProblemOp op) {
  Cluster cluster;
  for (auto servers : op.getBody().getOps<ServersOp>()) {
    const std::string type = servers.getType().str();
    auto found = std::find(cluster.types.begin(), cluster.types.end(), type);
    const unsigned number = static_cast<unsigned>(found - cluster.types.begin());
    if (found == cluster.types.end())
      cluster.types.push_back(type);
    const uint64_t devices = std::min<uint64_t>(servers.getDevices(), UINT32_MAX);
    cluster.servers.insert(cluster.servers.end(), servers.getCount(), Server{number, static_cast<unsigned>(devices)});
  }
  return cluster;
}

JobSchedule scheduleFrom(ScheduleOp op, ProblemOp problem) {
  JobSchedule schedule;
  schedule.status = op.getStatus() == "optimal"      ? AllocationStatus::Optimal
                    : op.getStatus() == "feasible"   ? AllocationStatus::Feasible
                    : op.getStatus() == "infeasible" ? AllocationStatus::Infeasible
                                                     : AllocationStatus::Unknown;
  if (op.getBody().getOps<CompleteOp>().empty() && op.getBody().getOps<RejectOp>().empty() &&
      op.getBody().getOps<ContinueOp>().empty())
    return schedule;
  std::vector<Numbers> configurations;
  for (auto job : problem.getBody().getOps<JobOp>()) {
    Numbers &names = configurations.emplace_back();
    for (auto configuration : job.getBody().getOps<ConfigurationOp>())
      names.emplace(configuration.getName().str(), static_cast<unsigned>(names.size()));
  }
  const Numbers jobs = numbersOf<JobOp>(problem);
  schedule.jobs.resize(jobs.size());
  for (auto run : op.getBody().getOps<RunOp>()) {
    const unsigned job = numberOf(jobs, run.getJob());
    schedule.jobs[job].runs.push_back({static_cast<int64_t>(run.getBegin()), static_cast<int64_t>(run.getEnd()),
                                       numberOf(configurations[job], run.getConfiguration())});
  }
  for (auto complete : op.getBody().getOps<CompleteOp>())
    schedule.jobs[numberOf(jobs, complete.getJob())].completion = complete.getTime();
  std::vector<int64_t> ends;
  for (auto job : problem.getBody().getOps<JobOp>())
    ends.push_back(std::max<int64_t>(problem.getSlot() * problem.getSlots(), job.getArrival()));
  for (auto open : op.getBody().getOps<ContinueOp>()) {
    const unsigned job = numberOf(jobs, open.getJob());
    schedule.jobs[job].completion = ends[job], schedule.jobs[job].continues = true;
  }
  for (auto value : op.getBody().getOps<ValueOp>()) {
    schedule.values.push_back(value.getValue());
    if (value.getBound())
      schedule.proofs.resize(schedule.values.size()), schedule.proofs.back().bound = *value.getBound();
  }
  return schedule;
}

JobAnswer answerFrom(ProblemOp op, JobSchedule schedule) {
  JobAnswer answer;
  answer.name = op.getSymName().str();
  answer.cluster = clusterFrom(op);
  answer.problem = problemFrom(op);
  answer.schedule = std::move(schedule);
  const std::vector<std::string> &types = answer.cluster.types;
  for (const ScheduledJob &job : answer.problem.jobs) {
    JobWords &words = answer.jobs.emplace_back();
    if (!job.groups.empty())
      words.tenant = answer.problem.groups[job.groups.front()].name;
    for (const JobConfiguration &configuration : job.configurations) {
      ConfigurationWords &one = words.configurations.emplace_back();
      for (const ResourceUse &use : configuration.uses)
        if (auto found = std::find(types.begin(), types.end(), answer.problem.resources[use.resource].name);
            one.devices == 0 && found != types.end())
          one.type = static_cast<unsigned>(found - types.begin()), one.devices = use.amount;
    }
  }
  return answer;
}

ProblemOp writeProblem(OpBuilder &builder, Location at, llvm::StringRef name, const JobScheduleProblem &problem,
                       const Cluster &cluster) {
  SmallVector<llvm::StringRef> objectives;
  for (JobMeasure measure : problem.objectives)
    objectives.push_back(nameOf(measure));
  auto op = ProblemOp::create(builder, at, builder.getStringAttr(name), builder.getI64IntegerAttr(problem.slots),
                              builder.getI64IntegerAttr(problem.slot), builder.getStrArrayAttr(objectives),
                              unless(builder, problem.tail, 0),
                              problem.carbon.empty() ? DenseI64ArrayAttr() : stepsAttr(builder, problem.carbon));
  OpBuilder parts = OpBuilder::atBlockEnd(&op.getBody().emplaceBlock());
  for (const SlotResource &resource : problem.resources)
    ResourceOp::create(parts, at, builder.getStringAttr(resource.name), stepsAttr(builder, resource.capacity));
  for (size_t first = 0, end = 0; first < cluster.servers.size(); first = end) {
    auto alike = [&](const Server &server) {
      return server.type == cluster.servers[first].type && server.devices == cluster.servers[first].devices;
    };
    for (end = first; end < cluster.servers.size() && alike(cluster.servers[end]); ++end)
      ;
    ServersOp::create(parts, at, static_cast<int64_t>(end - first), cluster.types[cluster.servers[first].type],
                      cluster.servers[first].devices);
  }
  for (const JobGroup &group : problem.groups)
    GroupOp::create(parts, at, group.name, group.share);
  for (const JobLimit &limit : problem.limits)
    LimitOp::create(parts, at, nameOf(limit.measure), limit.max);
  for (const ScheduledJob &job : problem.jobs)
    writeJob(parts, at, job, problem);
  return op;
}

DenseI64ArrayAttr serversAttr(OpBuilder &builder, const JobPlacement &placement) {
  SmallVector<int64_t> servers;
  for (const ServerShare &share : placement)
    servers.append({share.server, share.devices});
  return servers.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(servers);
}

ScheduleOp writeSchedule(OpBuilder &builder, Location at, llvm::StringRef name, const JobScheduleProblem &problem,
                         const JobSchedule &schedule, const std::vector<std::vector<JobPlacement>> &placements) {
  constexpr llvm::StringLiteral kStatus[] = {"optimal", "feasible", "infeasible", "unknown"};
  auto op = ScheduleOp::create(builder, at, FlatSymbolRefAttr::get(builder.getContext(), name),
                               builder.getStringAttr(kStatus[static_cast<size_t>(schedule.status)]));
  OpBuilder parts = OpBuilder::atBlockEnd(&op.getBody().emplaceBlock());
  for (size_t o = 0; o < schedule.values.size() && o < problem.objectives.size(); ++o)
    ValueOp::create(parts, at, builder.getStringAttr(nameOf(problem.objectives[o])),
                    builder.getI64IntegerAttr(schedule.values[o]),
                    o < schedule.proofs.size() ? builder.getI64IntegerAttr(schedule.proofs[o].bound) : IntegerAttr());
  for (size_t j = 0; j < schedule.jobs.size(); ++j) {
    const ScheduledJob &job = problem.jobs[j];
    const JobTrajectory &does = schedule.jobs[j];
    for (size_t r = 0; r < does.runs.size(); ++r) {
      const JobRun &run = does.runs[r];
      const bool placed = j < placements.size() && r < placements[j].size();
      RunOp::create(parts, at, builder.getStringAttr(job.name),
                    builder.getStringAttr(job.configurations[run.configuration].name),
                    builder.getI64IntegerAttr(run.begin), builder.getI64IntegerAttr(run.end),
                    placed ? serversAttr(builder, placements[j][r]) : DenseI64ArrayAttr());
    }
    if (does.completion < 0)
      RejectOp::create(parts, at, job.name);
    else if (does.continues)
      ContinueOp::create(parts, at, job.name);
    else
      CompleteOp::create(parts, at, job.name, does.completion);
  }
  return op;
}

} // namespace accord::jobs
