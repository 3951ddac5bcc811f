#include "lib/planning/solve/ScheduleStep.h"
#include "lib/planning/analysis/TimeWindows.h"
#include "lib/planning/solve/OperationVariants.h"
#include "lib/planning/solve/SoftwarePipeline.h"
#include "lib/planning/solve/StepSubsets.h"
#include "lib/planning/solve/StepWorkloads.h"
#include "lib/scheduling/solve/Bounds.h"
#include "lib/scheduling/solve/Solve.h"
#include "llvm/ADT/BitVector.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

/// Regions of more operations are not searched for those that exclude each other.
constexpr size_t kMaxJoint = 1000;
/// Subsets that are looked at for a bound without effort: some hundredths of a second.
constexpr int64_t kQuickSubsets = 50'000;

using Id = SchedulingProblem::Id;

bool exclude(const SchedulingProblem &problem, Id a, Id b) {
  return llvm::all_of(problem.tasks[a].modes, [&](const SchedulingProblem::Mode &one) {
    return llvm::all_of(problem.tasks[b].modes,
                        [&](const SchedulingProblem::Mode &two) { return problem.clash(one, two); });
  });
}

/// By task: those that it precedes or follows, directly or not.
std::vector<llvm::BitVector> closure(const SchedulingProblem &problem) {
  size_t n = problem.tasks.size();
  std::vector<std::vector<Id>> after(n);
  for (const auto &edge : problem.precedences)
    after[edge.before].push_back(edge.after);
  std::vector<llvm::BitVector> followers(n, llvm::BitVector(n));
  std::vector<Id> order = problem.topologicalOrder();
  for (Id t : llvm::reverse(order))
    for (Id next : after[t]) {
      followers[t].set(next);
      followers[t] |= followers[next];
    }
  std::vector<llvm::BitVector> ordered = followers;
  for (Id t = 0; t < n; ++t)
    for (Id follower : followers[t].set_bits())
      ordered[follower].set(t);
  return ordered;
}

int64_t minTime(const SchedulingProblem::Task &task) {
  return std::ranges::min_element(task.modes, {}, &SchedulingProblem::Mode::duration)->duration;
}

/// Adds one resource for each of the first `count` (in their order) that some tasks need besides
/// others that never run beside these: an operation that takes all of a memory's bandwidth stands
/// in the way of each one on a core, though it does not use that core, and so does one that each of
/// them precedes or follows. The new one is used like the old one, and wholly by those other tasks:
/// the longest first (the first among equals) that no task which uses it, and none that was taken
/// before, can run beside, by precedences or whatever their modes. No schedule is lost; bounds by
/// work on one resource see both. O(tasks^2 * modes^2 * usage + tasks * precedences).
void addJointResources(SchedulingProblem &problem, size_t count) {
  std::vector<llvm::BitVector> ordered = closure(problem);
  // Whether it is apart in time from all of a set.
  auto apart = [&](Id t, llvm::BitVector all) {
    all.reset(ordered[t]);
    return llvm::all_of(all.set_bits(), [&](Id other) { return exclude(problem, t, other); });
  };
  std::vector<Id> byTime;
  for (Id t = 0; t < problem.tasks.size(); ++t)
    if (minTime(problem.tasks[t]) > 0)
      byTime.push_back(t);
  llvm::sort(byTime, [&](Id a, Id b) {
    return std::pair(-minTime(problem.tasks[a]), a) < std::pair(-minTime(problem.tasks[b]), b);
  });
  std::vector<std::vector<Id>> joining(count);
  for (Id r = 0; r < count; ++r) {
    llvm::BitVector together(problem.tasks.size()); // those that use it, then those that join
    for (Id t : byTime)
      if (llvm::any_of(problem.tasks[t].modes, [&](const SchedulingProblem::Mode &mode) { return mode.uses(r) > 0; }))
        together.set(t);
    bool used = together.any();
    for (Id t : byTime)
      if (used && !together[t] && apart(t, together)) {
        together.set(t);
        joining[r].push_back(t);
      }
  }
  for (Id r = 0; r < count; ++r) {
    if (joining[r].empty())
      continue;
    int64_t capacity = problem.resources[r].capacity;
    Id joint = problem.addResource(problem.resources[r].name + " with what excludes it", capacity);
    for (SchedulingProblem::Task &task : problem.tasks)
      for (SchedulingProblem::Mode &mode : task.modes)
        if (int64_t amount = mode.uses(r); amount > 0)
          mode.usage.push_back({joint, amount});
    for (Id t : joining[r])
      for (SchedulingProblem::Mode &mode : problem.tasks[t].modes)
        mode.usage.push_back({joint, capacity});
  }
}

class StepScheduler {
public:
  StepScheduler(const WorkGraph &graph, const Machine &machine, Costs &costs, const ScheduleOptions &options)
      : graph_(graph), machine_(machine), costs_(costs), options_(options), deps_(Dependences::of(graph)),
        variants_(graph, machine, costs),
        workloads_(options.bounds ? workloadsOf(graph, machine, variants_) : std::vector<Workloads>()),
        loads_(graph.regions.size()), surely_(graph.regions.size()), chosen_(graph.operations.size()) {
    if (options.ordered)
      options.ordered->regions.assign(graph.regions.size(), {});
  }

  Result<Schedule, Errors> run() {
    double host = graph_.microbatches * machine_.host.microbatch.value + machine_.host.step.value;
    if (sumOfWork(graph_, durations(true)) >= kLongestStep || host * 1e12 >= kLongestStep / 2.0)
      return Errors{{Code::TimeOutOfRange,
                     fmt::format("a step of '{}' takes longer than 26 days on '{}', one operation after the other",
                                 graph_.model, machine_.name),
                     machine_.location,
                     {}}};
    schedule_.regions.resize(graph_.regions.size());
    Proven micro = region(kMicrobatchRegion), update = region(kUpdateRegion);
    if (options_.bounds)
      raise(micro, update);
    assignInstances();
    choose();
    if (options_.bounds) {
      CriticalPath path = CriticalPath::of(graph_, deps_, durationsOf(graph_, costs_));
      for (RegionId r = 0; r < graph_.regions.size(); ++r)
        schedule_.regions[r].criticalPath = path.length[r];
    }
    wait(kMicrobatchRegion, machine_.host.microbatch);
    wait(kUpdateRegion, machine_.host.step);
    schedule_.step = {graph_.microbatches * schedule_.regions[kMicrobatchRegion].length.value +
                      schedule_.regions[kUpdateRegion].length.value};
    if (!options_.bounds)
      return std::move(schedule_);
    auto withHost = [&](int64_t micro, int64_t update) {
      return Picoseconds{graph_.microbatches * (micro + Picoseconds::ceil(machine_.host.microbatch).value) + update +
                         Picoseconds::ceil(machine_.host.step).value};
    };
    schedule_.bound = withHost(micro.value, update.value);
    if (OrderedBound *ordered = options_.ordered)
      ordered->step = withHost(ordered->regions[kMicrobatchRegion].value, ordered->regions[kUpdateRegion].value);
    if (update.value == 0 || micro.proof == update.proof)
      schedule_.proof = micro.proof;
    else if (micro.value == 0)
      schedule_.proof = update.proof;
    else
      schedule_.proof = "micro-batch: " + micro.proof + "; update: " + update.proof;
    return std::move(schedule_);
  }

private:
  /// No iteration takes less, and why.
  struct Proven {
    int64_t value = 0;
    std::string proof;
    SchedulingBound bound; ///< of the scheduler
  };

  /// With each operation's longest or shortest form.
  std::vector<Picoseconds> durations(bool longest) const {
    std::vector<Picoseconds> all(graph_.operations.size());
    for (OperationId id = 0; id < all.size(); ++id) {
      if (graph_.operations[id].body != kNone)
        continue;
      auto [min, max] = std::minmax_element(variants_.of(id).begin(), variants_.of(id).end(),
                                            [](const auto &a, const auto &b) { return a.duration < b.duration; });
      all[id] = {longest ? max->duration : min->duration};
    }
    return all;
  }

  /// The host prepares what a top region does before its first operation starts.
  void wait(RegionId top, Seconds host) {
    Picoseconds time = Picoseconds::ceil(host);
    RegionSchedule &schedule = schedule_.regions[top];
    schedule.length.value += time.value;
    for (Slot &slot : schedule.slots)
      slot.start.value += time.value;
  }

  SchedulingProblem problemOf(RegionId r) const {
    SchedulingProblem problem;
    for (size_t i = 0; i < variants_.resources(); ++i)
      problem.addResource(variants_.nameOf(i), variants_.capacity(i));
    std::vector<SchedulingProblem::Id> task(graph_.operations.size());
    for (OperationId id : graph_.regions[r].operations) {
      RegionId body = graph_.operations[id].body;
      std::vector<SchedulingProblem::Usage> usage;
      if (body != kNone) { // holds all that its body uses, all the while
        for (uint32_t i = 0; i < variants_.resources(); ++i)
          if (loads_[body][i] > 0)
            usage.push_back({i, variants_.capacity(i)});
        task[id] =
            problem.addTask(graph_.operations[id].name,
                            schedule_.regions[body].repeated(graph_.regions[body].count).value, std::move(usage));
      } else {
        task[id] = problem.addTask(graph_.operations[id].name, 0, {});
        std::vector<SchedulingProblem::Mode> &modes = problem.tasks[task[id]].modes;
        modes.clear();
        for (const OperationVariants::Variant &variant : variants_.of(id)) {
          SchedulingProblem::Mode &mode = modes.emplace_back();
          mode.duration = variant.duration;
          for (uint32_t i = 0; i < variants_.resources(); ++i)
            if (int64_t amount = variants_.amount(variant, i); amount > 0)
              mode.usage.push_back({i, amount});
        }
      }
      for (OperationId before : deps_.predecessors[id])
        problem.addPrecedence(task[before], task[id]);
    }
    return problem;
  }

  /// Bodies first. What the scheduler proved holds for regions without repeats, whose iterations
  /// might overlap otherwise.
  Proven region(RegionId r) {
    const Region &region = graph_.regions[r];
    std::vector<int64_t> &load = loads_[r];
    load.resize(variants_.resources());
    bool repeats = false;
    for (OperationId id : region.operations)
      if (RegionId body = graph_.operations[id].body; body != kNone) {
        repeats = true;
        this->region(body);
        for (size_t i = 0; i < load.size(); ++i)
          load[i] += graph_.regions[body].count * loads_[body][i];
      }
    SchedulingProblem problem = problemOf(r);
    std::optional<SchedulingProblem> alone; // without joint resources, which rest on the order in one iteration
    if (options_.overlap && region.owner != kNone)
      alone = problem;
    if (options_.bounds && !repeats && region.operations.size() <= kMaxJoint)
      addJointResources(problem, machine_.cores.size());
    SolveOptions options = options_;
    if (repeats && !options_.searches)
      options.effort = 0;                                 // bounded below, as repeats must be
    options.subsets &= !repeats && region.owner == kNone; // `stepSubsets` sees what repeats
    if (options_.observe)
      options_.observe(r, problem);
    SchedulingResult result = accord::schedule(problem, options);
    if (result.stopped == "interrupted")
      schedule_.stopped = result.stopped;
    if (options_.ordered)
      boundInOrder(r, problem, result.bound, options);
    SchedulingSolution solution = std::move(result.solution);
    RegionSchedule &out = schedule_.regions[r];
    out.length = {solution.makespan};
    if (alone && busiest(*alone, solution) < solution.makespan)
      if (auto made = overlapIterations(*alone, dependencesOf(r), region.count, solution, options)) {
        out.length = {made->solution.makespan};
        out.overhang = {made->overhang};
        if (options_.observe)
          options_.observe(r, made->problem);
        for (Id t = 0; t < solution.start.size(); ++t)
          solution.start[t] = made->start(t);
        solution.mode = std::move(made->solution.mode);
      }
    for (size_t i = 0; i < region.operations.size(); ++i) {
      OperationId id = region.operations[i];
      Slot &slot = out.slots.emplace_back();
      slot.operation = id;
      slot.start = {solution.start[i]};
      slot.duration = {problem.tasks[i].modes[solution.mode[i]].duration};
      if (graph_.operations[id].body != kNone)
        continue;
      const OperationVariants::Variant &variant = variants_.of(id)[solution.mode[i]];
      chosen_[id] = variant.alternative;
      slot.core = variant.cost->core;
      for (size_t resource = 0; resource < load.size(); ++resource)
        load[resource] += variants_.work(variant, resource);
    }
    std::sort(out.slots.begin(), out.slots.end(), [](const Slot &a, const Slot &b) {
      return a.start != b.start ? a.start < b.start : a.operation < b.operation;
    });
    for (int64_t one : load)
      out.resourceBound.value = std::max(out.resourceBound.value, one);
    if (repeats)
      return {};
    return {result.bound.value, result.bound.proof, std::move(result.bound)};
  }

  /// The most that any resource works: no period is shorter in these modes.
  static int64_t busiest(const SchedulingProblem &problem, const SchedulingSolution &solution) {
    std::vector<Count> work(problem.resources.size());
    for (Id t = 0; t < problem.tasks.size(); ++t) {
      const SchedulingProblem::Mode &mode = problem.tasks[t].modes[solution.mode[t]];
      for (const SchedulingProblem::Usage &use : mode.usage)
        work[use.of] += Count{mode.duration} * use.amount;
    }
    int64_t busiest = 0;
    for (Id r = 0; r < work.size(); ++r)
      busiest = std::max(busiest, static_cast<int64_t>(work[r] / problem.resources[r].capacity));
    return busiest;
  }

  /// Of the tasks of a body: operations in their order.
  std::vector<IterationDependence> dependencesOf(RegionId body) const {
    const std::vector<OperationId> &operations = graph_.regions[body].operations;
    std::vector<Id> task(graph_.operations.size());
    for (Id t = 0; t < operations.size(); ++t)
      task[operations[t]] = t;
    std::vector<IterationDependence> all;
    for (Id t = 0; t < operations.size(); ++t)
      for (OperationId before : deps_.predecessors[operations[t]])
        all.push_back({task[before], t, 0});
    for (const Dependences::Carried &c : deps_.carried(graph_, body))
      all.push_back({task[c.before], task[c.after], c.distance});
    return all;
  }

  /// The scheduler's bound of the region's problem, if repeats take no longer than they must; else
  /// its bound of that where they do not.
  void boundInOrder(RegionId r, SchedulingProblem problem, const SchedulingBound &found, SolveOptions options) {
    std::vector<SchedulingBound> &regions = options_.ordered->regions;
    std::vector<char> &surely = surely_[r];
    surely.resize(variants_.resources());
    const std::vector<OperationId> &operations = graph_.regions[r].operations;
    bool same = true;
    for (size_t i = 0; i < operations.size(); ++i) {
      RegionId body = graph_.operations[operations[i]].body;
      for (size_t resource = 0; resource < surely.size() && body == kNone; ++resource)
        surely[resource] |= takes(operations[i], resource);
      if (body == kNone)
        continue;
      SchedulingProblem::Mode &mode = problem.tasks[i].modes.front();
      int64_t count = graph_.regions[body].count, min = count * regions[body].value;
      same &= mode.duration == min;
      mode.duration = min;
      std::vector<SchedulingProblem::Usage> used = std::move(mode.usage);
      mode.usage.clear();
      for (uint32_t resource = 0; resource < surely.size(); ++resource)
        if (count > 0 && surely_[body][resource]) {
          mode.usage.push_back({resource, variants_.capacity(resource)});
          surely[resource] = 1;
        }
      same &= std::equal(used.begin(), used.end(), mode.usage.begin(), mode.usage.end(),
                         [](const auto &a, const auto &b) { return a.of == b.of; });
    }
    if (same && options.effort == options_.effort) {
      regions[r] = found;
      return;
    }
    options.effort = options_.effort;
    if (options.effort < kMinSolverEffort)
      options.searches = false; // which raises no bound then
    regions[r] = accord::schedule(problem, options).bound;
  }

  /// In whatever form.
  bool takes(OperationId id, size_t resource) const {
    const std::vector<OperationVariants::Variant> &variants = variants_.of(id);
    return llvm::all_of(variants, [&](const OperationVariants::Variant &variant) {
      return variant.duration > 0 && variants_.amount(variant, resource) > 0;
    });
  }

  /// What stands in the costs is how each operation runs; the forms are those of before.
  void choose() {
    for (OperationId id = 0; id < chosen_.size(); ++id)
      if (chosen_[id] > 0)
        std::swap(costs_.operations[id], costs_.alternatives.at(id)[chosen_[id] - 1]);
  }

  /// The first instance that is free for those that run on one, in order of start: there is one,
  /// since no more run at a time than there are.
  void assignInstances() {
    for (RegionSchedule &region : schedule_.regions) {
      std::vector<std::vector<int64_t>> freeAt(machine_.cores.size());
      for (size_t c = 0; c < freeAt.size(); ++c)
        freeAt[c].resize(variants_.capacity(c));
      // In a period every operation runs once, and none beyond its end.
      std::vector<std::pair<int64_t, Slot *>> inPeriod;
      for (Slot &slot : region.slots)
        if (graph_.operations[slot.operation].body == kNone && slot.duration.value > 0)
          inPeriod.push_back({slot.start.value - region.stage(slot) * region.length.value, &slot});
      llvm::sort(inPeriod, [](const auto &a, const auto &b) {
        return std::pair(a.first, a.second->operation) < std::pair(b.first, b.second->operation);
      });
      for (auto [start, at] : inPeriod) {
        Slot &slot = *at;
        int64_t end = start + slot.duration.value;
        auto variant = llvm::find_if(variants_.of(slot.operation), [&](const OperationVariants::Variant &one) {
          return one.alternative == chosen_[slot.operation];
        });
        for (size_t c = 0; c < freeAt.size(); ++c) {
          int64_t needs = variants_.amount(*variant, c);
          for (size_t i = 0; i < freeAt[c].size() && needs > 0; ++i) {
            if (freeAt[c][i] > start)
              continue;
            freeAt[c][i] = end;
            if (std::cmp_equal(c, slot.core) && needs == variants_.amount(*variant, c))
              slot.instance = i;
            --needs;
          }
        }
      }
    }
  }

  void raise(Proven &micro, Proven &update) {
    // Whatever forms are chosen, no chain is shorter than with the shortest.
    std::vector<Picoseconds> min = durations(false);
    CriticalPath path = CriticalPath::of(graph_, deps_, min);
    TimeWindows windows = TimeWindows::of(graph_, deps_, min, path);
    raise(micro, kMicrobatchRegion, path, windows);
    raise(update, kUpdateRegion, path, windows);
  }

  /// The best of what the scheduler proved and, of one iteration of a top region, whatever the
  /// forms of operations, the order and overlap of the iterations inside: the critical path, and

  /// for each resource the best bound over all its work, each piece with the least chain before and
  /// after it; for each core the trade between both.
  void raise(Proven &best, RegionId top, const CriticalPath &path, const TimeWindows &windows) {
    SchedulingBound proven = std::move(best.bound);
    best = {path.length[top].value, "critical path", {}};
    std::vector<std::vector<Job>> jobs(variants_.resources() + workloads_.size());
    auto collect = [&](auto &&self, RegionId r, int64_t times) -> void {
      for (OperationId id : graph_.regions[r].operations) {
        if (RegionId body = graph_.operations[id].body; body != kNone) {
          self(self, body, times * graph_.regions[body].count);
          continue;
        }
        auto add = [&](size_t i, int64_t work) {
          if (work > 0)
            jobs[i].push_back({windows.head[id], times * work, windows.tail[id]});
        };
        for (size_t i = 0; i < variants_.resources(); ++i)
          add(i, variants_.minWork(id, i));
        for (size_t i = 0; i < workloads_.size(); ++i)
          add(variants_.resources() + i, workloads_[i].min(id));
      }
    };
    collect(collect, top, 1);
    for (size_t i = 0; i < jobs.size(); ++i)
      if (int64_t length = criticalSet(std::move(jobs[i])).value; length > best.value)
        best = {
            length, i < variants_.resources() ? variants_.nameOf(i) : workloads_[i - variants_.resources()].name, {}};
    for (const Workloads &workloads : workloads_)
      if (workloads.choice())
        if (int64_t length = allotmentBound(graph_, deps_, variants_, workloads, top); length > best.value)
          best = {length, "critical path and " + workloads.name, {}};
    int64_t length = schedule_.regions[top].length.value;
    bool repeats = llvm::any_of(graph_.regions[top].operations,
                                [&](OperationId id) { return graph_.operations[id].body != kNone; });
    if (repeats && !options_.ordered && (options_.effort > 0 || options_.subsets) && best.value < length)
      proven =
          stepSubsets(graph_, deps_, variants_, top,
                      {length, options_.effort > 0 ? StepSubsetOptions().subsets : kQuickSubsets, options_.orders});
    if (proven.value <= best.value)
      return;
    best.value = proven.value;
    best.proof = proven.proof;
    schedule_.regions[top].proven = std::move(proven);
  }

  const WorkGraph &graph_;
  const Machine &machine_;
  Costs &costs_;
  const ScheduleOptions &options_;
  Dependences deps_;
  OperationVariants variants_;
  std::vector<Workloads> workloads_;
  std::vector<std::vector<int64_t>> loads_; ///< by RegionId and resource: picoseconds of one
  ///< iteration, bodies included
  std::vector<std::vector<char>> surely_; ///< by RegionId and resource: used whatever is chosen
  std::vector<size_t> chosen_;            ///< by OperationId: `Variant::alternative`
  Schedule schedule_;
};

} // namespace

Result<Schedule, Errors> scheduleStep(const WorkGraph &graph, const Machine &machine, Costs &costs,
                                      const ScheduleOptions &options) {
  Errors errors;
  if (costs.operations.size() != graph.operations.size())
    errors.push_back({Code::CostsMismatch,
                      fmt::format("{} costs for {} operations", costs.operations.size(), graph.operations.size()),
                      {},
                      {}});
  auto examine = [&](const Operation &op, const OperationCost &cost) {
    if (!Picoseconds::fits(cost.time))
      errors.push_back({Code::TimeOutOfRange,
                        fmt::format("'{}' takes {:.6g} s, a schedule holds at most 9e6 s", op.name, cost.time.value),
                        op.location,
                        {}});
    else if (cost.core < -1 || cost.core >= std::ssize(machine.cores) ||
             cost.transfer.size() != machine.memories.size())
      errors.push_back(
          {Code::CostsMismatch,
           fmt::format("the cost of '{}' is for core {} and {} memories, '{}' has {} cores and {} memories", op.name,
                       cost.core, cost.transfer.size(), machine.name, machine.cores.size(), machine.memories.size()),
           op.location,
           {}});
  };
  for (OperationId id = 0; errors.empty() && id < costs.operations.size(); ++id)
    if (graph.operations[id].body == kNone)
      examine(graph.operations[id], costs.operations[id]);
  for (const auto &[id, others] : costs.alternatives)
    for (const OperationCost &other : others)
      if (errors.empty() && id < graph.operations.size())
        examine(graph.operations[id], other);
  if (!errors.empty())
    return errors;
  return StepScheduler(graph, machine, costs, options).run();
}

void addRepeatCosts(const WorkGraph &graph, const Schedule &schedule, Costs &costs) {
  auto fill = [&](auto &&self, RegionId r) -> void {
    for (OperationId id : graph.regions[r].operations) {
      RegionId body = graph.operations[id].body;
      if (body == kNone)
        continue;
      self(self, body);
      const Region &region = graph.regions[body];
      double count = region.count;
      OperationCost sum;
      for (OperationId inner : region.operations) {
        const OperationCost &cost = costs.operations[inner];
        sum.bytes.resize(std::max(sum.bytes.size(), cost.bytes.size()));
        sum.transfer.resize(std::max(sum.transfer.size(), cost.transfer.size()));
        for (size_t m = 0; m < cost.bytes.size(); ++m)
          sum.bytes[m] += cost.bytes[m] * count;
        for (size_t m = 0; m < cost.transfer.size(); ++m)
          sum.transfer[m] += cost.transfer[m] * count;
        sum.compute += cost.compute * count;
        sum.energy += cost.energy * count;
      }
      const OperationCost &old = costs.operations[id];
      sum.bytes.resize(std::max(sum.bytes.size(), old.bytes.size()));
      sum.transfer.resize(std::max(sum.transfer.size(), old.transfer.size()));
      const RegionSchedule &scheduled = schedule.regions[body];
      sum.time = scheduled.repeated(region.count).seconds();
      sum.model = "schedule";
      sum.bound = "critical path";
      double length = scheduled.length.seconds().value;
      sum.formula = scheduled.overhang.value > 0
                        ? fmt::format("count * time between iterations + what the last one takes longer = {} * {:.6g} "
                                      "s + {:.6g} s = {:.6g} s",
                                      region.count, length, scheduled.overhang.seconds().value, sum.time.value)
                        : fmt::format("count * length of one iteration = {} * {:.6g} s = {:.6g} s", region.count,
                                      length, sum.time.value);
      costs.operations[id] = std::move(sum);
    }
  };
  fill(fill, kMicrobatchRegion);
  fill(fill, kUpdateRegion);
}

} // namespace accord
