#include "lib/solve/ScheduleStep.h"
#include "lib/analysis/Windows.h"
#include "lib/solve/OneMachine.h"
#include "lib/solve/Solve.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace accord {
namespace {

constexpr int64_t kWhole = 1000000; ///< all of a memory's bandwidth, in ppm

struct Load {
  std::vector<int64_t> cores, memories, networks; ///< picoseconds of one iteration, bodies included
};

class StepScheduler {
public:
  StepScheduler(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                const ScheduleOptions &options)
      : graph_(graph), machine_(machine), costs_(costs), options_(options),
        deps_(Dependences::of(graph)), durations_(durationsOf(graph, costs)),
        loads_(graph.regions.size()) {
    for (OperationId id = 0; id < costs.operations.size(); ++id)
      if (std::string network = networkOf(id); !network.empty())
        networks_.insert({network, 0});
    for (size_t n = 0; auto &[network, index] : networks_)
      index = n++;
  }

  std::variant<Schedule, std::vector<Issue>> run() {
    double host = static_cast<double>(graph_.microbatches) * machine_.host.microbatch.value +
                  machine_.host.step.value;
    if (sumOfWork(graph_, durations_) >= kLongestStep ||
        host * 1e12 >= static_cast<double>(kLongestStep) / 2)
      return std::vector<Issue>{
          {"A0452",
           fmt::format(
               "a step of '{}' takes longer than 26 days on '{}', one operation after the other",
               graph_.model, machine_.name),
           machine_.location,
           {}}};
    path_ = CriticalPath::of(graph_, deps_, durations_);
    windows_ = Windows::of(graph_, deps_, durations_, path_);
    schedule_.regions.resize(graph_.regions.size());
    region(kMicrobatchRegion);
    region(kUpdateRegion);
    wait(kMicrobatchRegion, machine_.host.microbatch);
    wait(kUpdateRegion, machine_.host.step);
    const RegionSchedule &micro = schedule_.regions[kMicrobatchRegion],
                         &update = schedule_.regions[kUpdateRegion];
    schedule_.step = {graph_.microbatches * micro.length.value + update.length.value};
    auto [microBound, microProof] = bound(kMicrobatchRegion);
    auto [updateBound, updateProof] = bound(kUpdateRegion);
    schedule_.bound = {graph_.microbatches *
                           (microBound + Picoseconds::ceil(machine_.host.microbatch).value) +
                       updateBound + Picoseconds::ceil(machine_.host.step).value};
    if (updateBound == 0 || microProof == updateProof)
      schedule_.proof = microProof;
    else if (microBound == 0)
      schedule_.proof = updateProof;
    else
      schedule_.proof = "micro-batch: " + microProof + "; update: " + updateProof;
    return std::move(schedule_);
  }

private:
  /// The host prepares what a top region does before its first operation starts.
  void wait(RegionId top, Seconds host) {
    Picoseconds time = Picoseconds::ceil(host);
    RegionSchedule &schedule = schedule_.regions[top];
    schedule.length.value += time.value;
    for (Slot &slot : schedule.slots)
      slot.start.value += time.value;
  }

  /// The network whose links an exchange holds while it runs; empty for others.
  std::string networkOf(OperationId id) const {
    const OperationCost &cost = costs_.operations[id];
    llvm::StringRef model = cost.model;
    bool exchange = graph_.operations[id].core == CoreKind::Network && cost.core < 0;
    return exchange && model.consume_front("network ") ? model.str() : "";
  }
  std::optional<size_t> linksOf(OperationId id) const {
    std::string network = networkOf(id);
    return network.empty() ? std::nullopt : std::optional(networks_.at(network));
  }

  /// Share of a memory's bandwidth, rounded up.
  int64_t share(OperationId id, size_t memory) const {
    double transfer = costs_.operations[id].transfer[memory].value * 1e12,
           time = static_cast<double>(durations_[id].value);
    if (time <= 0 || transfer <= 0)
      return 0;
    double ppm = transfer / time * static_cast<double>(kWhole);
    return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(ppm)), 0, kWhole);
  }

  SchedulingProblem problemOf(RegionId r) const {
    SchedulingProblem problem;
    size_t cores = machine_.cores.size();
    for (size_t c = 0; c < cores; ++c)
      problem.addResource("core " + machine_.cores[c].name, lanes(c));
    for (const Memory &memory : machine_.memories)
      problem.addResource("memory " + memory.name + " bandwidth", kWhole);
    size_t links = cores + machine_.memories.size();
    for (const auto &[network, index] : networks_)
      problem.addResource("network " + network, 1);
    std::vector<SchedulingProblem::Id> task(graph_.operations.size());
    for (OperationId id : graph_.regions[r].operations) {
      std::vector<SchedulingProblem::Usage> usage;
      RegionId body = graph_.operations[id].body;
      int64_t duration = durations_[id].value;
      if (body != kNone) {
        duration = graph_.regions[body].count * schedule_.regions[body].length.value;
        for (size_t c = 0; c < cores; ++c)
          if (loads_[body].cores[c] > 0)
            usage.push_back({static_cast<uint32_t>(c), lanes(c)});
        for (size_t m = 0; m < machine_.memories.size(); ++m)
          if (loads_[body].memories[m] > 0)
            usage.push_back({static_cast<uint32_t>(cores + m), kWhole});
        for (size_t n = 0; n < networks_.size(); ++n)
          if (loads_[body].networks[n] > 0)
            usage.push_back({static_cast<uint32_t>(links + n), 1});
      } else {
        for (size_t c = 0; c < cores; ++c)
          if (holds(costs_.operations[id], static_cast<int>(c)))
            usage.push_back({static_cast<uint32_t>(c), width(id, c)});
        for (size_t m = 0; m < machine_.memories.size(); ++m)
          if (int64_t ppm = share(id, m); ppm > 0)
            usage.push_back({static_cast<uint32_t>(cores + m), ppm});
        if (auto network = linksOf(id))
          usage.push_back({static_cast<uint32_t>(links + *network), 1});
      }
      task[id] = problem.addTask(graph_.operations[id].name, duration, std::move(usage));
      for (OperationId before : deps_.predecessors[id])
        problem.addPrecedence(task[before], task[id]);
    }
    return problem;
  }

  void region(RegionId r) {
    const Region &region = graph_.regions[r];
    Load &load = loads_[r];
    load.cores.resize(machine_.cores.size());
    load.memories.resize(machine_.memories.size());
    load.networks.resize(networks_.size());
    for (OperationId id : region.operations) {
      const OperationCost &cost = costs_.operations[id];
      if (RegionId body = graph_.operations[id].body; body != kNone) {
        this->region(body);
        for (size_t c = 0; c < load.cores.size(); ++c)
          load.cores[c] += graph_.regions[body].count * loads_[body].cores[c];
        for (size_t m = 0; m < load.memories.size(); ++m)
          load.memories[m] += graph_.regions[body].count * loads_[body].memories[m];
        for (size_t n = 0; n < load.networks.size(); ++n)
          load.networks[n] += graph_.regions[body].count * loads_[body].networks[n];
        continue;
      }
      for (size_t c = 0; c < load.cores.size(); ++c)
        if (holds(cost, static_cast<int>(c)))
          load.cores[c] += durations_[id].value * width(id, c);
      for (size_t m = 0; m < load.memories.size(); ++m)
        load.memories[m] += transferOf(id, m);
      if (auto network = linksOf(id))
        load.networks[*network] += durations_[id].value;
    }

    SchedulingProblem problem = problemOf(r);
    SolveOptions options;
    options.effort = options_.effort;
    SchedulingSolution solution = accord::schedule(problem, options).solution;
    RegionSchedule &out = schedule_.regions[r];
    for (size_t i = 0; i < region.operations.size(); ++i) {
      OperationId id = region.operations[i];
      out.slots.push_back({id,
                           graph_.operations[id].body != kNone ? -1 : costs_.operations[id].core,
                           0,
                           {solution.start[i]},
                           {problem.tasks[i].modes[0].duration}});
    }
    std::sort(out.slots.begin(), out.slots.end(), [](const Slot &a, const Slot &b) {
      return a.start != b.start ? a.start < b.start : a.operation < b.operation;
    });
    out.length = {solution.makespan};
    out.criticalPath = path_.length[r];
    assignInstances(out.slots);
    for (size_t c = 0; c < load.cores.size(); ++c)
      out.resourceBound.value = std::max(out.resourceBound.value, load.cores[c] / lanes(c));
    for (const auto *loads : {&load.memories, &load.networks})
      for (int64_t one : *loads)
        out.resourceBound.value = std::max(out.resourceBound.value, one);
  }

  /// How many operations a core runs at a time.
  int64_t lanes(size_t core) const {
    return machine_.cores[core].oneEach ? machine_.cores[core].count : 1;
  }
  /// Of these, what one operation holds: a fused one whose parts use several cores holds all.
  int64_t width(OperationId id, size_t core) const {
    return costs_.operations[id].parts.empty() ? 1 : lanes(core);
  }

  /// The first instance that is free, in order of start: there is one, since no more run at a time
  /// than there are.
  void assignInstances(std::vector<Slot> &slots) const {
    std::vector<std::vector<int64_t>> freeAt(machine_.cores.size());
    for (size_t c = 0; c < freeAt.size(); ++c)
      freeAt[c].resize(machine_.cores[c].oneEach ? static_cast<size_t>(lanes(c)) : 0);
    for (Slot &slot : slots) {
      if (slot.core < 0 || freeAt[slot.core].empty() || slot.duration.value == 0)
        continue;
      auto &free = freeAt[slot.core];
      auto found = std::find_if(free.begin(), free.end(),
                                [&](int64_t time) { return time <= slot.start.value; });
      slot.instance = static_cast<int>(found - free.begin());
      *found = slot.start.value + slot.duration.value;
    }
  }

  /// Of one iteration of a top region, whatever the order and overlap of the iterations inside: the
  /// critical path, and for each core, memory and network the best bound over all its work, each
  /// piece with the least chain before and after it.
  std::pair<int64_t, std::string> bound(RegionId top) const {
    std::pair<int64_t, std::string> best{path_.length[top].value, "critical path"};
    size_t cores = machine_.cores.size(), links = cores + machine_.memories.size();
    std::vector<std::vector<Job>> jobs(links + networks_.size());
    auto collect = [&](auto &&self, RegionId r, int64_t times) -> void {
      for (OperationId id : graph_.regions[r].operations) {
        if (RegionId body = graph_.operations[id].body; body != kNone) {
          self(self, body, times * graph_.regions[body].count);
          continue;
        }
        auto add = [&](size_t resource, int64_t work) {
          if (work > 0)
            jobs[resource].push_back({windows_.head[id], times * work, windows_.tail[id]});
        };
        for (size_t c = 0; c < cores; ++c)
          if (holds(costs_.operations[id], static_cast<int>(c)))
            add(c, durations_[id].value * width(id, c) / lanes(c));
        for (size_t m = 0; m < machine_.memories.size(); ++m)
          add(cores + m, transferOf(id, m));
        if (auto network = linksOf(id))
          add(links + *network, durations_[id].value);
      }
    };
    collect(collect, top, 1);
    for (size_t i = 0; i < jobs.size(); ++i) {
      int64_t length = preemptiveOneMachine(std::move(jobs[i]));
      if (length > best.first)
        best = {length, nameOf(i)};
    }
    return best;
  }

  std::string nameOf(size_t resource) const {
    size_t cores = machine_.cores.size();
    if (resource < cores)
      return "core " + machine_.cores[resource].name;
    if (resource < cores + machine_.memories.size())
      return "memory " + machine_.memories[resource - cores].name + " bandwidth";
    size_t network = resource - cores - machine_.memories.size();
    for (const auto &[name, index] : networks_)
      if (index == network)
        return "network " + name;
    return "";
  }

  /// Time of a memory's whole bandwidth, rounded down.
  int64_t transferOf(OperationId id, size_t memory) const {
    return std::min(
        static_cast<int64_t>(std::floor(costs_.operations[id].transfer[memory].value * 1e12)),
        durations_[id].value);
  }

  const WorkGraph &graph_;
  const Machine &machine_;
  const Costs &costs_;
  const ScheduleOptions &options_;
  Dependences deps_;
  std::vector<Picoseconds> durations_;
  std::vector<Load> loads_;                ///< by RegionId
  std::map<std::string, size_t> networks_; ///< that exchanges hold, in order of their names
  CriticalPath path_;
  Windows windows_;
  Schedule schedule_;
};

} // namespace

std::variant<Schedule, std::vector<Issue>> scheduleStep(const WorkGraph &graph,
                                                        const Machine &machine, const Costs &costs,
                                                        const ScheduleOptions &options) {
  std::vector<Issue> issues;
  if (costs.operations.size() != graph.operations.size())
    issues.push_back({"A0917",
                      fmt::format("{} costs for {} operations", costs.operations.size(),
                                  graph.operations.size()),
                      {},
                      {}});
  for (OperationId id = 0; issues.empty() && id < costs.operations.size(); ++id) {
    const OperationCost &cost = costs.operations[id];
    const Operation &op = graph.operations[id];
    if (op.body != kNone)
      continue;
    if (!Picoseconds::fits(cost.time))
      issues.push_back({"A0452",
                        fmt::format("'{}' takes {:.6g} s, a schedule holds at most 9e6 s", op.name,
                                    cost.time.value),
                        op.location,
                        {}});
    else if (cost.core < -1 || cost.core >= static_cast<int>(machine.cores.size()) ||
             cost.transfer.size() != machine.memories.size())
      issues.push_back(
          {"A0917",
           fmt::format(
               "the cost of '{}' is for core {} and {} memories, '{}' has {} cores and {} memories",
               op.name, cost.core, cost.transfer.size(), machine.name, machine.cores.size(),
               machine.memories.size()),
           op.location,
           {}});
  }
  if (!issues.empty())
    return issues;
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
      double count = static_cast<double>(region.count);
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
      Picoseconds length = schedule.regions[body].length;
      sum.time = length.seconds() * count;
      sum.model = "schedule";
      sum.bound = "critical path";
      sum.formula = fmt::format("count * length of one iteration = {} * {:.6g} s = {:.6g} s",
                                region.count, length.seconds().value, sum.time.value);
      costs.operations[id] = std::move(sum);
    }
  };
  fill(fill, kMicrobatchRegion);
  fill(fill, kUpdateRegion);
}

} // namespace accord
