#include "lib/partitioning/solve/NodeAssignment.h"
#include "lib/partitioning/solve/AssignmentBound.h"
#include "lib/support/SplitMix.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord::partitioning {
namespace {

using Id = PartitioningProblem::Id;

/// Devices that are looked at: more than there are nodes do not help, and each counts of each transfer.
constexpr size_t kMaxCounts = size_t(1) << 26;

/// Nodes on devices, so far, and what each device takes for them: a net whose ends are on several is paid by each
/// accelerator among them.
class Assignment {
public:
  Assignment(const PartitioningProblem &p, const Items &items, size_t accelerators, size_t processors)
      : p(p), items(items), accelerators(accelerators), devices(accelerators + processors), load(devices, 0),
        memory(devices, 0), members(devices, 0), at(items.items.size(), kNowhere),
        counts(items.nets.size() * devices, 0), touched(items.nets.size(), 0) {}

  static constexpr uint32_t kNowhere = ~0u;

  bool isProcessor(size_t device) const { return device >= accelerators; }
  bool fits(uint32_t item, size_t device) const {
    const Items::Item &one = items.items[item];
    return isProcessor(device) || (one.onAccelerator && memory[device] + one.memory <= p.memory);
  }
  void add(uint32_t item, size_t device) { change(item, device, true); }
  void remove(uint32_t item) { change(item, at[item], false); }
  int64_t max() const { return *std::max_element(load.begin(), load.end()); }

  const PartitioningProblem &p;
  const Items &items;
  size_t accelerators, devices;
  std::vector<int64_t> load, memory;
  std::vector<uint32_t> members; ///< items of each device
  std::vector<uint32_t> at;      ///< by item
  int64_t sum = 0;               ///< of all loads

private:
  void pay(size_t device, int64_t time) {
    if (isProcessor(device))
      return;
    load[device] += time;
    sum += time;
  }

  void change(uint32_t id, size_t device, bool isAdded) {
    const Items::Item &item = items.items[id];
    int64_t sign = isAdded ? 1 : -1, time = isProcessor(device) ? item.processorTime : item.time;
    load[device] += sign * time;
    sum += sign * time;
    memory[device] += sign * item.memory;
    members[device] += isAdded ? 1 : -1;
    at[id] = isAdded ? static_cast<uint32_t>(device) : kNowhere;
    for (uint32_t net : item.nets) {
      uint32_t *count = &counts[net * devices];
      int64_t cost = items.nets[net].time;
      if (isAdded ? count[device]++ > 0 : --count[device] > 0)
        continue; // the device pays as before
      uint32_t before = touched[net];
      touched[net] += isAdded ? 1 : -1;
      uint32_t larger = std::max(before, touched[net]);
      if (larger > 1)
        pay(device, sign * cost);
      if (larger == 2) // the other one pays only while there are two
        for (size_t other = 0; other < devices; ++other)
          if (other != device && count[other] > 0)
            pay(other, sign * cost);
    }
  }

  std::vector<uint32_t> counts;  ///< by net and device: ends there
  std::vector<uint32_t> touched; ///< by net: devices with ends
};

class AssignmentSearch {
  /// Rounds of annealing, each from the best so far: the temperature at its begin as a share of the load, and what is
  /// compared. No choice of both is best for all graphs.
  struct Round {
    double hot = 0;
    bool isMean = false; ///< a mean of loads that the longest dominate; else the longest and a tenth of the mean
  };
  static constexpr Round kRounds[] = {{0.05, false}, {0.1, true}, {0.02, true}, {0.1, false}};
  static constexpr double kCold = 1e-4;

public:
  AssignmentSearch(const PartitioningProblem &problem, const PartitioningOptions &options)
      : p(problem), options(options), maxWork(uint64_t(1) << (14 + std::min(options.effort, kMaxEffort))) {}

  PartitioningResult run() {
    PartitioningResult result;
    begin();
    Items items(p, together(INT64_MAX));
    accelerators = std::min<size_t>(static_cast<size_t>(p.accelerators), items.items.size());
    processors = std::min<size_t>(static_cast<size_t>(p.processors), items.items.size());
    lower = assignmentLowerBound(items, accelerators, processors);
    bool complete = false;
    if (items.nets.size() * (accelerators + processors) <= kMaxCounts) {
      complete = branch(work + maxWork / 16); // small problems end here
      for (const Round &round : kRounds)
        if (!complete && best < INT64_MAX && limitOf(best) > lower)
          anneal(items, round, maxWork / 8);
      complete = complete || branch(maxWork);
    }
    result.stagesTried = work;
    result.stopped = complete ? "" : options.stopped() ? "interrupted" : "work limit";
    if (best == INT64_MAX) {
      result.status = complete ? PartitioningResult::Status::Infeasible : PartitioningResult::Status::Unknown;
      if (complete)
        result.conflict = fmt::format("no division of the nodes among {} accelerators and {} processors keeps each "
                                      "accelerator within {} B",
                                      p.accelerators, p.processors, p.memory);
      return result;
    }
    result.status = PartitioningResult::Status::Feasible;
    result.load = best;
    result.bound = complete ? std::max(lower, std::min(best, limitOf(best))) : lower;
    result.bound = std::min(result.bound, best);
    result.proof = result.bound > lower ? "no stages below it" : "all work on all devices, and the longest node";
    if (result.bound == best)
      result.stopped.clear();
    result.stages = stages();
    return result;
  }

private:
  /// What must share a device: colour classes, and ends of transfers that cost as much as `limit`.
  llvm::IntEqClasses together(int64_t limit) const {
    llvm::IntEqClasses classes(static_cast<unsigned>(p.nodes.size()));
    std::map<int64_t, Id> first;
    for (Id v = 0; v < p.nodes.size(); ++v)
      if (p.nodes[v].colocationGroup >= 0)
        classes.join(v, first.try_emplace(p.nodes[v].colocationGroup, v).first->second);
    for (const auto &transfer : p.transfers)
      if (transfer.time >= limit && p.processors == 0)
        for (Id to : transfer.to)
          classes.join(transfer.from, to);
    return classes;
  }

  /// The best contiguous stages.
  void begin() {
    PartitioningProblem contiguous = p;
    contiguous.contiguous = true;
    PartitioningOptions some = options;
    some.effort = options.effort > 3 ? options.effort - 3 : 0;
    PartitioningResult result = partitionGraph(contiguous, some);
    work += result.stagesTried;
    if (result.status != PartitioningResult::Status::Feasible)
      return;
    best = result.load;
    device.resize(p.nodes.size());
    size_t accelerator = 0, processor = 0;
    for (const PartitioningStage &stage : result.stages) {
      size_t of = stage.processor ? static_cast<size_t>(p.accelerators) + processor++ : accelerator++;
      for (Id id : stage.nodes)
        device[id] = of;
    }
  }

  int64_t minTime(const Items::Item &item) const {
    return processors == 0                            ? item.time
           : accelerators == 0 || !item.onAccelerator ? item.processorTime
                                                      : std::min(item.time, item.processorTime);
  }

  /// Loads from here on are not looked for.
  int64_t limitOf(int64_t load) const {
    return load == INT64_MAX ? load : static_cast<int64_t>(std::ceil(double(load) * (1 - options.gap)));
  }

  void keep(const Assignment &assignment) {
    best = assignment.max();
    device.resize(p.nodes.size());
    for (Id v = 0; v < p.nodes.size(); ++v) {
      size_t at = assignment.at[assignment.items.itemOf[v]];
      device[v] = at < accelerators ? at : static_cast<size_t>(p.accelerators) + at - accelerators;
    }
    if (options.progress)
      options.progress({"search", double(best), double(lower)});
  }

  Assignment assignmentOf(const Items &items) const { return Assignment(p, items, accelerators, processors); }

  /// The best so far, on devices 0, 1, ...
  void place(Assignment &assignment) const {
    std::map<size_t, size_t> renamed;
    size_t nextAccelerator = 0, nextProcessor = accelerators;
    for (Id v = 0; v < p.nodes.size(); ++v) {
      bool isProcessor = device[v] >= static_cast<size_t>(p.accelerators);
      auto [known, isNew] = renamed.try_emplace(device[v], 0);
      if (isNew)
        known->second = isProcessor ? nextProcessor++ : nextAccelerator++;
      if (uint32_t item = assignment.items.itemOf[v]; assignment.at[item] == Assignment::kNowhere)
        assignment.add(item, known->second);
    }
  }

  /// Items move to other devices, alone or with all that a net joins; what is worse is taken with a chance that falls
  /// with the temperature.
  void anneal(const Items &items, const Round &round, uint64_t steps) {
    Assignment now = assignmentOf(items);
    place(now);
    if (now.devices < 2 || items.items.size() < 2)
      return;
    SplitMix random(items.items.size() + work);
    const double unit = double(best);
    auto cost = [&] {
      if (!round.isMean)
        return (double(now.max()) + 0.1 * double(now.sum) / double(now.devices)) / unit;
      double sum = 0;
      for (int64_t load : now.load) {
        double share = double(load) / unit, fourth = share * share * share * share;
        sum += fourth * fourth;
      }
      return std::sqrt(std::sqrt(std::sqrt(sum)));
    };
    double value = cost();
    std::vector<std::pair<uint32_t, size_t>> moved; // items, and where they were
    for (uint64_t step = 0; step < steps && !options.stopped() && best > lower; ++step, ++work) {
      size_t to = random.below(now.devices);
      moved.clear();
      auto move = [&](uint32_t item) {
        if (size_t from = now.at[item]; from != to) {
          now.remove(item);
          bool fits = now.fits(item, to);
          now.add(item, fits ? to : from);
          if (fits)
            moved.emplace_back(item, from);
        }
      };
      if (items.nets.empty() || random.below(4) > 0)
        move(static_cast<uint32_t>(random.below(items.items.size())));
      else
        for (uint32_t end : items.nets[random.below(items.nets.size())].ends)
          move(end);
      double next = cost(), temperature = round.hot * std::pow(kCold / round.hot, double(step) / double(steps));
      if (next > value && random.unit() >= std::exp((value - next) / temperature)) {
        for (auto [item, from] : llvm::reverse(moved)) {
          now.remove(item);
          now.add(item, from);
        }
        continue;
      }
      value = next;
      if (now.max() < best)
        keep(now);
    }
  }

  /// Branch and bound, until so much work is done. Returns whether nothing below the limit was left out.
  bool branch(uint64_t until) {
    end = until;
    if (limitOf(best) <= lower)
      return true;
    Items items(p, together(limitOf(best)));
    Assignment now = assignmentOf(items);
    std::vector<uint32_t> order = orderOf(items);
    rest.assign(order.size() + 1, 0);
    for (size_t i = order.size(); i-- > 0;)
      rest[i] = rest[i + 1] + minTime(items.items[order[i]]);
    isSpent = false;
    extend(now, order, 0);
    return !isSpent;
  }

  /// The longest first, then always what exchanges most with those before.
  static std::vector<uint32_t> orderOf(const Items &items) {
    std::vector<int64_t> tied(items.items.size(), 0);
    std::vector<bool> done(items.items.size(), false), reached(items.nets.size(), false);
    std::vector<uint32_t> order;
    while (order.size() < items.items.size()) {
      uint32_t next = 0;
      bool any = false;
      for (uint32_t i = 0; i < items.items.size(); ++i)
        if (!done[i] && (!any || std::pair(tied[i] + items.items[i].time, items.items[i].time) >
                                     std::pair(tied[next] + items.items[next].time, items.items[next].time)))
          next = i, any = true;
      done[next] = true;
      order.push_back(next);
      for (uint32_t net : items.items[next].nets) {
        if (reached[net])
          continue;
        reached[net] = true;
        for (uint32_t end : items.nets[net].ends)
          tied[end] += items.nets[net].time;
      }
    }
    return order;
  }

  void extend(Assignment &now, const std::vector<uint32_t> &order, size_t i) {
    const Items &items = now.items;
    if (i == order.size())
      return keep(now);
    std::vector<std::pair<int64_t, size_t>> choices;
    bool freeAccelerator = false, freeProcessor = false;
    for (size_t d = 0; d < now.devices; ++d) {
      // Of devices that hold nothing yet, one of a kind is enough.
      bool &seen = now.isProcessor(d) ? freeProcessor : freeAccelerator;
      if (now.members[d] == 0 && std::exchange(seen, true))
        continue;
      if (!now.fits(order[i], d))
        continue;
      work += 1 + items.items[order[i]].nets.size() / 4;
      now.add(order[i], d);
      if (isPromising(now, i + 1))
        choices.emplace_back(now.max(), d);
      now.remove(order[i]);
    }
    llvm::sort(choices);
    for (auto [load, d] : choices) {
      isSpent |= work >= end || options.stopped();
      if (isSpent)
        return;
      now.add(order[i], d);
      if (isPromising(now, i + 1)) // the limit may have fallen
        extend(now, order, i + 1);
      now.remove(order[i]);
    }
  }

  bool isPromising(const Assignment &now, size_t next) const {
    int64_t limit = limitOf(best);
    if (limit == INT64_MAX)
      return true;
    __int128 room = __int128(limit - 1) * static_cast<int64_t>(now.devices);
    return now.max() < limit && __int128(now.sum) + rest[next] <= room;
  }

  std::vector<PartitioningStage> stages() const {
    std::map<size_t, PartitioningStage> byDevice;
    for (Id v = 0; v < p.nodes.size(); ++v) {
      PartitioningStage &stage = byDevice[device[v]];
      stage.processor = device[v] >= static_cast<size_t>(p.accelerators);
      stage.nodes.push_back(v);
      stage.compute += stage.processor ? p.nodes[v].processorTime : p.nodes[v].time;
      stage.memory += p.nodes[v].memory;
    }
    for (const auto &transfer : p.transfers) {
      std::map<size_t, bool> ends = {{device[transfer.from], true}};
      for (Id to : transfer.to)
        ends[device[to]] = true;
      if (ends.size() > 1)
        for (auto [of, is] : ends)
          if (!byDevice[of].processor)
            byDevice[of].communication += transfer.time;
    }
    std::vector<PartitioningStage> all;
    for (auto &[of, stage] : byDevice) {
      stage.load = stage.compute + stage.communication;
      all.push_back(std::move(stage));
    }
    llvm::sort(all, [](const PartitioningStage &a, const PartitioningStage &b) { return a.nodes[0] < b.nodes[0]; });
    return all;
  }

  const PartitioningProblem &p;
  const PartitioningOptions &options;
  uint64_t maxWork, work = 0, end = 0;
  size_t accelerators = 0, processors = 0;
  int64_t best = INT64_MAX, lower = 0;
  std::vector<size_t> device; ///< of each node, in the best so far
  std::vector<int64_t> rest;  ///< by place in the order: time that is left at least
  bool isSpent = false;
};

} // namespace

PartitioningResult assignNodes(const PartitioningProblem &problem, const PartitioningOptions &options) {
  return AssignmentSearch(problem, options).run();
}

} // namespace accord::partitioning
