// Dependences, cores, bandwidth and memory, from a walk through all executions.

#include "lib/planning/verify/Proof.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace accord {
namespace {

/// A walk comes nearly in order of time, and often quite.
template <typename T, typename Less> void order(std::vector<T> &items, Less less) {
  if (!std::is_sorted(items.begin(), items.end(), less))
    std::sort(items.begin(), items.end(), less);
}
/// What ends and what begins, in order of time; at the same time ends come first.
template <typename T> std::vector<T> merge(std::vector<T> ends, std::vector<T> begins) {
  auto earlier = [](const T &a, const T &b) { return a.first < b.first; };
  order(ends, earlier);
  order(begins, earlier);
  std::vector<T> all(ends.size() + begins.size());
  std::merge(ends.begin(), ends.end(), begins.begin(), begins.end(), all.begin(), earlier);
  return all;
}

void verifyDependences(Proof &p, const ScheduleReplay &w) {
  for (const Execution &e : w.executions)
    if (e.start < e.ready)
      p.find(Code::DependenceViolated, p.operation(e.operation).location,
             "'{}' starts at {} ps, '{}' gives it a value at {} ps", p.operation(e.operation).name, e.start,
             e.last == kNone ? std::string("the region") : p.operation(e.last).name, e.ready);
  p.checked("{} executions start after their operands are there", w.executions.size());
}

void verifyCores(Proof &p, const ScheduleReplay &w) {
  struct Busy {
    int64_t start, end;
    OperationId operation;
  };
  std::map<std::pair<int, int64_t>, std::vector<Busy>> lanes;
  std::vector<int> instance(p.plan.graph.operations.size());
  for (const RegionSchedule &region : p.plan.schedule.regions)
    for (const Slot &slot : region.slots)
      instance[slot.operation] = slot.instance;
  // A core of which no operation takes one instance is one lane, whatever its count.
  std::vector<bool> divided(p.plan.machine.cores.size());
  for (const OperationCost &cost : p.plan.costs.operations)
    if (cost.core >= 0 && p.instances(cost, cost.core) < p.plan.machine.cores[cost.core].count)
      divided[cost.core] = true;
  auto occupy = [&](const Execution &e, int core) {
    int64_t held = divided[core] ? p.instances(p.plan.costs.operations[e.operation], core) : 1;
    int64_t first = divided[core] && held == 1 ? instance[e.operation] : 0;
    for (int64_t i = first; i < first + held; ++i)
      lanes[{core, i}].push_back({e.start, e.end, e.operation});
  };
  for (const Execution &e : w.executions)
    for (int core = 0; core < std::ssize(p.plan.machine.cores); ++core)
      if (usesCore(p.plan.costs.operations[e.operation], core) && e.end > e.start)
        occupy(e, core);
  for (auto &[lane, busy] : lanes) {
    order(busy,
          [](const Busy &a, const Busy &b) { return std::tie(a.start, a.operation) < std::tie(b.start, b.operation); });
    size_t longest = 0;
    for (size_t i = 1; i < busy.size(); ++i) {
      if (busy[i].start < busy[longest].end) {
        p.find(Code::ResourceOverlap, p.operation(busy[i].operation).location,
               "'{}' starts at {} ps on core '{}', on which '{}' runs until {} ps", p.operation(busy[i].operation).name,
               busy[i].start, p.plan.machine.cores[lane.first].name, p.operation(busy[longest].operation).name,
               busy[longest].end);
        break;
      }
      if (busy[i].end > busy[longest].end)
        longest = i;
    }
  }
  p.checked("no core runs two operations concurrently");
}

void verifyNetworks(Proof &p, const ScheduleReplay &w) {
  std::map<std::string, std::vector<Execution>> exchanges;
  for (const Execution &e : w.executions)
    if (std::string network = p.network(e.operation); !network.empty() && e.end > e.start)
      exchanges[network].push_back(e);
  for (auto &[network, list] : exchanges) {
    order(list, [](const Execution &a, const Execution &b) {
      return std::tie(a.start, a.operation) < std::tie(b.start, b.operation);
    });
    for (size_t i = 1; i < list.size(); ++i)
      if (list[i].start < list[i - 1].end) {
        p.find(Code::ResourceOverlap, p.operation(list[i].operation).location,
               "'{}' starts at {} ps on network '{}', on which '{}' runs until {} ps",
               p.operation(list[i].operation).name, list[i].start, network, p.operation(list[i - 1].operation).name,
               list[i - 1].end);
        break;
      }
  }
  if (!exchanges.empty())
    p.checked("no network carries two transfers concurrently");
}

void verifyBandwidth(Proof &p, const ScheduleReplay &w) {
  for (size_t m = 0; m < p.plan.machine.memories.size(); ++m) {
    std::vector<std::pair<int64_t, long double>> begins, ends;
    for (const Execution &e : w.executions)
      if (long double transfer = p.plan.costs.operations[e.operation].transfer[m].value * 1e12L;
          transfer > 0 && e.end > e.start) {
        long double share = std::min(1.0L, transfer / (e.end - e.start));
        begins.push_back({e.start, share});
        ends.push_back({e.end, -share});
      }
    long double used = 0;
    for (const auto &[time, share] : merge(std::move(ends), std::move(begins))) {
      used += share;
      if (used > 1.000001L) {
        p.find(Code::BandwidthExceeded, {}, "at {} ps operations move {:.6f} times what memory '{}' carries", time,
               static_cast<double>(used), p.plan.machine.memories[m].name);
        break;
      }
    }
  }
  p.checked("no memory carries more than its bandwidth");
}

void verifyMemory(Proof &p, const ScheduleReplay &w) {
  std::vector<std::pair<int64_t, int64_t>> begins, ends;
  for (const Buffer &b : w.buffers)
    if (b.to > b.from) {
      begins.push_back({b.from, b.bytes});
      ends.push_back({b.to, -b.bytes});
    }
  int64_t now = 0;
  for (const StaticTensor &r : p.plan.graph.staticTensors)
    now += r.bytes;
  int64_t peak = now;
  for (const auto &[time, bytes] : merge(std::move(ends), std::move(begins))) {
    now += bytes;
    peak = std::max(peak, now);
  }
  int64_t reported = p.plan.memory.peak;
  Count sum = 0;
  for (int64_t bytes : p.plan.memory.atPeak)
    sum += bytes;
  // What runs beside a repeat may be counted for all of it, and what overlapping iterations keep for longer: more than
  // needed is allowed there, less never.
  bool beside = false;
  for (const RegionSchedule &region : p.plan.schedule.regions) {
    beside |= region.overhang.value > 0;
    for (const Slot &a : region.slots)
      if (p.operation(a.operation).body != kNone)
        for (const Slot &b : region.slots)
          beside |= &a != &b && a.start < b.start + b.duration && b.start < a.start + a.duration;
  }
  bool equal = w.complete && !beside;
  if (reported < peak || (equal && reported != peak))
    p.find(Code::WrongMemory, {}, "the plan reports a peak of {} B, the replay finds {}{} B", reported,
           equal ? "" : "at least ", peak);
  if (sum != reported)
    p.find(Code::WrongMemory, {}, "the categories at the peak add up to {:.0f} B, the peak is {} B",
           static_cast<double>(sum), reported);
  if (p.plan.memory.when.value < 0 || p.plan.memory.when > p.plan.schedule.step)
    p.find(Code::WrongMemory, {}, "the peak is stated to be at {} ps of a step of {} ps", p.plan.memory.when.value,
           p.plan.schedule.step.value);
  double capacity = p.plan.machine.memories[0].capacity.value;
  if (p.plan.feasible && capacity > 0 && std::max(peak, reported) > capacity)
    p.find(Code::MemoryExceeded, {}, "the plan needs {} B, memory '{}' has {:.0f} B", std::max(peak, reported),
           p.plan.machine.memories[0].name, capacity);
  if (w.complete && reported == peak)
    p.checked("the replay needs {} B at its peak, as reported", peak);
  else
    p.trusted("the peak of {} B is assumed, the replay of {} finds {} B", reported,
              w.complete ? "overlapping iterations and of operations beside a repeat" : "the first and last iterations",
              peak);
}

} // namespace

void verifyReplay(Proof &p) {
  ScheduleReplay w =
      replaySchedule(p.plan.graph, p.plan.schedule, p.durations, Clock::Scheduled, {kMicrobatchRegion, kUpdateRegion});
  if (!w.complete)
    p.trusted("repeats were replayed in their first and last iterations only");
  verifyDependences(p, w);
  verifyNetworks(p, w);
  verifyCores(p, w);
  verifyBandwidth(p, w);
  verifyMemory(p, w);
}

} // namespace accord
