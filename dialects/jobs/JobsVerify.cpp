// Proves again, from the text alone, what a problem and a schedule of jobs claim: names, ranges, times, capacities.
#include "dialects/interfaces/Note.h"
#include "dialects/jobs/JobsDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using accord::note;
using namespace accord::jobs;

using Wide = __int128;

/// Slots are at most so many, numbers and families at most so large; as in the problems that are solved.
static constexpr int64_t kLargestSlots = 4096, kLargestNumber = int64_t(1) << 40, kLargestFamily = 10'000;

static bool isMeasure(StringRef name) {
  return llvm::is_contained({"rejected", "mean_completion", "lateness", "cost", "energy", "carbon", "nash_welfare",
                             "makespan", "finish_time_fairness", "tail_completion", "tenant_fairness", "goodput",
                             "restarts"},
                            name);
}

/// Why steps are not well formed; empty if they are.
static std::string wrongSteps(ArrayRef<int64_t> steps) {
  if (steps.empty() || steps.size() % 2)
    return "needs pairs of a slot and an amount";
  for (size_t i = 0; i < steps.size(); i += 2) {
    if (i == 0 ? steps[0] != 0 : steps[i] <= steps[i - 2])
      return "has slots that do not ascend from 0";
    if (steps[i + 1] < 0 || steps[i + 1] > kLargestNumber)
      return "has an amount that is not 0 to 2^40";
  }
  return {};
}

static int64_t amountAt(ArrayRef<int64_t> steps, int64_t slot) {
  int64_t amount = 0;
  for (size_t i = 0; i + 1 < steps.size() && steps[i] <= slot; i += 2)
    amount = steps[i + 1];
  return amount;
}

LogicalResult ProblemOp::verify() {
  if (getSlots() > kLargestSlots)
    return emitOpError() << "has at most " << kLargestSlots << " slots, found " << getSlots();
  if (getSlot() > kLargestNumber / kLargestSlots)
    return emitOpError() << "has slots of at most " << kLargestNumber / kLargestSlots << " s, found " << getSlot();
  llvm::StringMap<bool> seen;
  for (auto name : getObjectives().getAsRange<StringAttr>()) {
    if (!isMeasure(name.getValue()))
      return emitOpError() << "minimizes '" << name.getValue() << "', which is no measure of a schedule";
    if (!seen.try_emplace(name.getValue(), true).second)
      return emitOpError() << "minimizes '" << name.getValue() << "' twice";
  }
  if (auto carbon = getCarbon())
    if (std::string wrong = wrongSteps(*carbon); !wrong.empty())
      return emitOpError() << "has carbon that " << wrong;
  return success();
}

LogicalResult ResourceOp::verify() {
  if (std::string wrong = wrongSteps(getCapacity()); !wrong.empty())
    return emitOpError() << "'" << getName() << "' " << wrong;
  return success();
}

LogicalResult LimitOp::verify() {
  if (!isMeasure(getMeasure()))
    return emitOpError() << "'" << getMeasure() << "' is no measure of a schedule";
  return success();
}

LogicalResult JobOp::verify() {
  if (getElasticity() != "moldable" && getElasticity() != "malleable")
    return emitOpError() << "'" << getName() << "' is 'moldable' or 'malleable', found '" << getElasticity() << "'";
  if (getLatePrice().value_or(0) > 0 && !getDue())
    return emitOpError() << "'" << getName() << "' has a price of lateness and no time at which it is due";
  if (getRunning() && getArrival() != 0)
    return emitOpError() << "'" << getName() << "' runs before slot 0, and arrives at " << getArrival();
  if (getWaited().value_or(0) > 0 && getArrival() != 0)
    return emitOpError() << "'" << getName() << "' waited before slot 0, and arrives at " << getArrival();
  return success();
}

LogicalResult JobOp::verifyRegions() {
  llvm::StringMap<ConfigurationOp> names;
  for (Operation &part : getBody().front())
    if (!isa<ConfigurationOp>(part))
      return part.emitOpError() << "is no configuration of a job";
  for (auto configuration : getBody().getOps<ConfigurationOp>()) {
    auto [place, fresh] = names.try_emplace(configuration.getName(), configuration);
    if (!fresh)
      return configuration.emitError() << "'" << getName() << "' has two configurations '" << configuration.getName()
                                       << "'" << note(place->second.getLoc(), "the first one is here");
  }
  if (names.empty())
    return emitOpError() << "'" << getName() << "' has no configuration";
  if (getRunning() && !names.contains(*getRunning()))
    return emitOpError() << "'" << getName() << "' runs in '" << *getRunning()
                         << "', which is none of its configurations";
  return success();
}

LogicalResult ConfigurationOp::verify() {
  if (getFamily().value_or(0) > kLargestFamily)
    return emitOpError() << "'" << getName() << "' is of a family from 0 to " << kLargestFamily << ", found "
                         << *getFamily();
  const ArrayAttr uses = getUses().value_or(ArrayAttr::get(getContext(), {}));
  for (Attribute entry : uses) {
    auto use = dyn_cast<ArrayAttr>(entry);
    auto amount = use && use.size() == 2 ? dyn_cast<IntegerAttr>(use[1]) : IntegerAttr();
    if (!amount || !amount.getType().isInteger(64) || !isa<StringAttr>(use[0]))
      return emitOpError() << "'" << getName() << "' uses names with amounts";
    if (amount.getInt() < 1 || amount.getInt() > kLargestNumber)
      return emitOpError() << "'" << getName() << "' uses 1 to 2^40 of a resource, found " << amount.getInt();
  }
  return success();
}

LogicalResult ScheduleOp::verify() {
  if (!llvm::is_contained({"optimal", "feasible", "infeasible", "unknown"}, getStatus()))
    return emitOpError() << "is 'optimal', 'feasible', 'infeasible' or 'unknown', found '" << getStatus() << "'";
  return success();
}

LogicalResult RunOp::verify() {
  if (getBegin() >= getEnd())
    return emitOpError() << "of '" << getJob() << "' ends in slot " << getEnd() << ", and begins in slot "
                         << getBegin();
  if (auto servers = getServers()) {
    if (servers->empty() || servers->size() % 2)
      return emitOpError() << "of '" << getJob() << "' needs pairs of a server and devices";
    for (size_t i = 0; i < servers->size(); i += 2)
      if ((*servers)[i] < 0 || (*servers)[i + 1] < 1)
        return emitOpError() << "of '" << getJob() << "' has servers from 0 and at least 1 device of each";
  }
  return success();
}

namespace {

/// Parts of a problem by name.
class ProblemNames {
public:
  explicit ProblemNames(ProblemOp problem) : problem(problem) {}

  /// Finds what stands twice, and names that lead nowhere.
  LogicalResult check() {
    for (Operation &part : problem.getBody().front()) {
      LogicalResult added = success();
      if (auto resource = dyn_cast<ResourceOp>(part))
        added = add(resources, resource, "resource");
      else if (auto group = dyn_cast<GroupOp>(part))
        added = add(groups, group, "group");
      else if (auto job = dyn_cast<JobOp>(part))
        added = add(jobs, job, "job");
      else if (!isa<ServersOp, LimitOp>(part))
        return part.emitOpError() << "is no part of a problem of jobs";
      if (failed(added))
        return failure();
    }
    for (auto job : problem.getBody().getOps<JobOp>())
      if (failed(checkJob(job)))
        return failure();
    return checkCycles();
  }

  llvm::MapVector<StringRef, ResourceOp> resources;
  llvm::MapVector<StringRef, GroupOp> groups;
  llvm::MapVector<StringRef, JobOp> jobs;

private:
  template <typename Op> LogicalResult add(llvm::MapVector<StringRef, Op> &all, Op op, StringRef what) {
    auto [place, fresh] = all.insert({op.getName(), op});
    if (!fresh)
      return op.emitError() << "there are two of the " << what << " '" << op.getName() << "'"
                            << note(place->second.getLoc(), "the first one is here");
    return success();
  }

  LogicalResult checkJob(JobOp job) {
    for (auto configuration : job.getBody().getOps<ConfigurationOp>()) {
      llvm::StringMap<bool> seen;
      for (auto use : configuration.getUses().value_or(ArrayAttr::get(job.getContext(), {})).getAsRange<ArrayAttr>()) {
        StringRef name = cast<StringAttr>(use[0]).getValue();
        if (!resources.contains(name))
          return configuration.emitError()
                 << "'" << job.getName() << "' uses '" << name << "', which is no resource of this problem";
        if (!seen.try_emplace(name, true).second)
          return configuration.emitError() << "'" << configuration.getName() << "' uses '" << name << "' twice";
      }
    }
    for (auto name : names(job.getAfter()))
      if (!jobs.contains(name.getValue()))
        return job.emitError() << "'" << job.getName() << "' comes after '" << name.getValue()
                               << "', which is no job of this problem";
    for (auto name : names(job.getGroups()))
      if (!groups.contains(name.getValue()))
        return job.emitError() << "'" << job.getName() << "' is of '" << name.getValue()
                               << "', which is no group of this problem";
    return success();
  }

  static SmallVector<StringAttr> names(std::optional<ArrayAttr> list) {
    return list ? llvm::to_vector(list->getAsRange<StringAttr>()) : SmallVector<StringAttr>();
  }

  /// Takes jobs away whose earlier jobs are all gone; what stays is in a cycle, or after one.
  LogicalResult checkCycles() {
    llvm::StringMap<int64_t> open;
    llvm::StringMap<SmallVector<JobOp>> later;
    SmallVector<JobOp> ready;
    for (auto &[name, job] : jobs) {
      const auto after = names(job.getAfter());
      open[name] = static_cast<int64_t>(after.size());
      for (StringAttr earlier : after)
        later[earlier.getValue()].push_back(job);
      if (after.empty())
        ready.push_back(job);
    }
    size_t done = 0;
    for (; !ready.empty(); ++done)
      for (JobOp next : later[ready.pop_back_val().getName()])
        if (--open[next.getName()] == 0)
          ready.push_back(next);
    for (auto &[name, job] : jobs)
      if (done < jobs.size() && open[name] > 0)
        return job.emitError() << "'" << name << "' comes after itself, or after jobs of which one does";
    return success();
  }

  ProblemOp problem;
};

/// A schedule against its problem.
class ScheduleCheck {
public:
  ScheduleCheck(ScheduleOp schedule, ProblemOp problem, ProblemNames &names)
      : schedule(schedule), problem(problem), names(names) {}

  LogicalResult run() {
    for (Operation &part : schedule.getBody().front()) {
      LogicalResult held = success();
      if (auto run = dyn_cast<RunOp>(part))
        held = addRun(run);
      else if (auto complete = dyn_cast<CompleteOp>(part))
        held = addEnd(complete, complete.getJob(), complete.getTime());
      else if (auto reject = dyn_cast<RejectOp>(part))
        held = addEnd(reject, reject.getJob(), kRejected);
      else if (auto open = dyn_cast<ContinueOp>(part))
        held = addEnd(open, open.getJob(), kContinues);
      else if (!isa<ValueOp>(part))
        return part.emitOpError() << "is no part of a schedule";
      if (failed(held))
        return failure();
    }
    if (schedule.getStatus() == "infeasible" || schedule.getStatus() == "unknown")
      return ends.empty() && runs.empty()
                 ? success()
                 : schedule.emitError() << "is " << schedule.getStatus() << ", and yet runs jobs";
    for (auto &[name, job] : names.jobs)
      if (failed(checkJob(job)))
        return failure();
    return failed(checkValues()) || failed(checkResources()) || failed(checkServers()) ? failure() : success();
  }

private:
  static constexpr int64_t kRejected = -1, kContinues = -2;

  LogicalResult addRun(RunOp run) {
    auto job = names.jobs.find(run.getJob());
    if (job == names.jobs.end())
      return run.emitError() << "'" << run.getJob() << "' is no job of the problem";
    if (!configurationOf(run))
      return run.emitError() << "'" << run.getJob() << "' has no configuration '" << run.getConfiguration() << "'"
                             << note(job->second.getLoc(), "the job is here");
    if (run.getEnd() > problem.getSlots())
      return run.emitError() << "'" << run.getJob() << "' runs to slot " << run.getEnd() << " of "
                             << problem.getSlots();
    SmallVector<RunOp> &before = runs[run.getJob()];
    if (!before.empty() && before.back().getEnd() > run.getBegin())
      return run.emitError() << "'" << run.getJob() << "' begins in slot " << run.getBegin()
                             << " before its last run ends in slot " << before.back().getEnd()
                             << note(before.back().getLoc(), "the last run is here");
    before.push_back(run);
    return success();
  }

  LogicalResult addEnd(Operation *op, StringRef name, int64_t time) {
    if (!names.jobs.contains(name))
      return op->emitError() << "'" << name << "' is no job of the problem";
    if (!ends.try_emplace(name, time).second)
      return op->emitError() << "'" << name << "' is complete, rejected or continues twice";
    return success();
  }

  ConfigurationOp configurationOf(RunOp run) {
    for (auto configuration : names.jobs.find(run.getJob())->second.getBody().getOps<ConfigurationOp>())
      if (configuration.getName() == run.getConfiguration())
        return configuration;
    return {};
  }

  LogicalResult checkJob(JobOp job) {
    auto end = ends.find(job.getName());
    if (end == ends.end())
      return schedule.emitError() << "'" << job.getName() << "' neither completes, nor continues, nor is rejected"
                                  << note(job.getLoc(), "the job is here");
    auto own = runs.find(job.getName());
    const bool hasRuns = own != runs.end();
    const int64_t time = end->second;
    if (time == kRejected) {
      if (hasRuns || !job.getRejectable())
        return schedule.emitError() << "'" << job.getName() << "' is rejected, and "
                                    << (hasRuns ? "yet runs" : "may not be");
      return success();
    }
    if (time == kContinues && failed(checkOpen(job)))
      return failure();
    if (time >= 0 && hasRuns != (job.getWork() > 0))
      return schedule.emitError() << "'" << job.getName() << "' is complete after work of " << job.getWork() << " in "
                                  << (hasRuns ? own->second.size() : 0) << " runs";
    if (job.getDeadline() && time > static_cast<int64_t>(*job.getDeadline()))
      return schedule.emitError() << "'" << job.getName() << "' completes at " << time << " s, after its deadline at "
                                  << *job.getDeadline() << " s";
    if (!hasRuns)
      return success();
    RunOp first = own->second.front(), last = own->second.back();
    const Wide slot = problem.getSlot(), begin = Wide(first.getBegin()) * slot, until = Wide(last.getEnd()) * slot;
    if (begin < Wide(job.getArrival()))
      return first.emitError() << "'" << job.getName() << "' begins at " << int64_t(begin) << " s, and arrives at "
                               << job.getArrival() << " s";
    if (job.getElasticity() == "moldable" && own->second.size() > 1)
      return own->second[1].emitError() << "'" << job.getName() << "' is moldable, and has a second run";
    for (RunOp run : own->second)
      if (configurationOf(run).getFamily().value_or(0) != configurationOf(first).getFamily().value_or(0))
        return run.emitError() << "'" << job.getName() << "' runs in a configuration of another family than at first";
    if (time >= 0 && (Wide(time) > until || Wide(time) <= until - slot))
      return schedule.emitError() << "'" << job.getName() << "' completes at " << time
                                  << " s, which is not in its last slot, from " << int64_t(until - slot) << " s to "
                                  << int64_t(until) << " s";
    const bool goesOn = first.getBegin() == 0 && job.getRunning() == first.getConfiguration();
    if (const uint64_t starts = own->second.size() - goesOn; job.getMaxRestarts() && starts > *job.getMaxRestarts())
      return first.emitError() << "'" << job.getName() << "' has " << starts << " restarts, and may have "
                               << *job.getMaxRestarts();
    for (auto name : job.getAfter().value_or(ArrayAttr::get(job.getContext(), {})).getAsRange<StringAttr>())
      if (auto earlier = ends.find(name.getValue());
          earlier != ends.end() && (earlier->second < 0 || Wide(earlier->second) > begin))
        return first.emitError() << "'" << job.getName() << "' begins at " << int64_t(begin) << " s, before '"
                                 << name.getValue() << "' is complete";
    return success();
  }

  /// A job that continues may do so, has work, and a moldable one runs up to the end if it has begun.
  LogicalResult checkOpen(JobOp job) {
    if (!job.getContinuable() || job.getWork() == 0)
      return schedule.emitError() << "'" << job.getName() << "' continues after the last slot, and "
                                  << (job.getContinuable() ? "has no work" : "may not");
    if (job.getDeadline() && Wide(*job.getDeadline()) <= Wide(problem.getSlot()) * problem.getSlots())
      return schedule.emitError() << "'" << job.getName() << "' continues after its deadline at " << *job.getDeadline()
                                  << " s";
    auto own = runs.find(job.getName());
    if (own != runs.end() && job.getElasticity() == "moldable" && own->second.back().getEnd() < problem.getSlots())
      return own->second.back().emitError()
             << "'" << job.getName() << "' is moldable, and stops in slot " << own->second.back().getEnd();
    return success();
  }

  /// One value for each objective, in their order, and none below its bound.
  LogicalResult checkValues() {
    auto values = llvm::to_vector(schedule.getBody().getOps<ValueOp>());
    for (auto [number, value] : llvm::enumerate(values)) {
      if (number >= problem.getObjectives().size() ||
          cast<StringAttr>(problem.getObjectives()[number]).getValue() != value.getMeasure())
        return value.emitError() << "'" << value.getMeasure() << "' is not objective " << number << " of the problem";
      if (value.getBound() && *value.getBound() > value.getValue())
        return value.emitError() << "'" << value.getMeasure() << "' is " << value.getValue() << ", below its bound of "
                                 << *value.getBound();
      if (schedule.getStatus() == "optimal" && value.getBound() != value.getValue())
        return value.emitError() << "'" << value.getMeasure() << "' is not at its bound in an optimal schedule";
    }
    return success();
  }

  /// What runs use of each resource, by the changes at their begin and end.
  LogicalResult checkResources() {
    llvm::MapVector<StringRef, std::map<int64_t, Wide>> changes;
    for (auto &[name, own] : runs)
      for (RunOp run : own)
        if (auto uses = configurationOf(run).getUses())
          for (auto use : uses->getAsRange<ArrayAttr>()) {
            const int64_t amount = cast<IntegerAttr>(use[1]).getInt();
            auto &change = changes[cast<StringAttr>(use[0]).getValue()];
            change[run.getBegin()] += amount;
            change[run.getEnd()] -= amount;
          }
    for (auto &[name, change] : changes) {
      ResourceOp resource = names.resources.find(name)->second;
      ArrayRef<int64_t> steps = resource.getCapacity();
      for (size_t i = 0; i < steps.size(); i += 2)
        change.try_emplace(steps[i], 0);
      Wide used = 0;
      for (auto [slot, more] : change) {
        used += more;
        if (const int64_t capacity = amountAt(steps, slot); used > capacity && slot < int64_t(problem.getSlots()))
          return schedule.emitError() << "uses " << int64_t(std::min<Wide>(used, INT64_MAX)) << " of '" << name
                                      << "' in slot " << slot << ", of " << capacity
                                      << note(resource.getLoc(), "the resource is here");
      }
    }
    return success();
  }

  /// Runs have the devices of their type, and no server holds more than it has.
  LogicalResult checkServers() {
    SmallVector<ServersOp> all;
    for (auto servers : problem.getBody().getOps<ServersOp>())
      all.push_back(servers);
    std::map<int64_t, std::map<int64_t, Wide>> changes;
    for (auto &[name, own] : runs)
      for (RunOp run : own) {
        if (!run.getServers())
          continue;
        std::map<StringRef, Wide> devices;
        for (size_t i = 0; i < run.getServers()->size(); i += 2) {
          const int64_t server = (*run.getServers())[i], held = (*run.getServers())[i + 1];
          ServersOp of = serversOf(all, server);
          if (!of)
            return run.emitError() << "'" << run.getJob() << "' is on server " << server << ", which does not exist";
          devices[of.getType()] += held;
          changes[server][run.getBegin()] += held;
          changes[server][run.getEnd()] -= held;
        }
        for (auto [type, held] : devices)
          if (const int64_t wanted = useOf(run, type); held != wanted)
            return run.emitError() << "'" << run.getJob() << "' has " << int64_t(std::min<Wide>(held, INT64_MAX))
                                   << " devices of " << type << " on servers, and uses " << wanted;
      }
    for (auto &[server, change] : changes) {
      const int64_t there = serversOf(all, server).getDevices();
      Wide used = 0;
      for (auto [slot, more] : change)
        if ((used += more) > there)
          return schedule.emitError() << "uses " << int64_t(std::min<Wide>(used, INT64_MAX)) << " devices of server "
                                      << server << " in slot " << slot << ", of " << there;
    }
    return success();
  }

  static ServersOp serversOf(ArrayRef<ServersOp> all, int64_t server) {
    for (ServersOp of : all) {
      if (server < static_cast<int64_t>(of.getCount()))
        return of;
      server -= of.getCount();
    }
    return {};
  }

  int64_t useOf(RunOp run, StringRef type) {
    if (auto uses = configurationOf(run).getUses())
      for (auto use : uses->getAsRange<ArrayAttr>())
        if (cast<StringAttr>(use[0]).getValue() == type)
          return cast<IntegerAttr>(use[1]).getInt();
    return 0;
  }

  ScheduleOp schedule;
  ProblemOp problem;
  ProblemNames &names;
  llvm::MapVector<StringRef, SmallVector<RunOp>> runs; ///< of each job
  llvm::MapVector<StringRef, int64_t> ends;            ///< of each job, in seconds, or `kRejected`, `kContinues`
};

} // namespace

LogicalResult ProblemOp::verifyRegions() { return ProblemNames(*this).check(); }

LogicalResult ScheduleOp::verifyRegions() {
  auto problem = SymbolTable::lookupNearestSymbolFrom<ProblemOp>(*this, getProblemAttr());
  if (!problem)
    return emitError() << "'" << getProblem() << "' is no problem here";
  ProblemNames names(problem);
  // Of a problem that is not well formed that alone is said, at its place.
  {
    ScopedDiagnosticHandler silent(getContext(), [](Diagnostic &) { return success(); });
    bool wrong = failed(problem.verifyInvariants()) || failed(names.check());
    problem.walk([&](Operation *part) {
      if (part != problem)
        wrong |= failed(part->getName().verifyInvariants(part));
    });
    if (wrong)
      return success();
  }
  return ScheduleCheck(*this, problem, names).run();
}
