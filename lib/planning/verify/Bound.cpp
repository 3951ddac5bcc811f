// The lower bound again: longest walk with unlimited cores, work of each core and memory.

#include "lib/planning/verify/Proof.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {
namespace {

/// One form of an operation: picoseconds that it runs, and of these what it takes of the whole.
struct Demand {
  int64_t duration = 0;
  long double work = 0;
};

/// Something of which no more is taken at a time than there is.
struct SharedResource {
  std::string name;
  std::vector<std::vector<Demand>> of; ///< by OperationId, by form; empty: nothing, surely or not
  long double min(OperationId id) const {
    long double min = of[id].empty() ? 0 : of[id].front().work;
    for (const Demand &demand : of[id])
      min = std::min(min, demand.work);
    return min;
  }
  /// On the forms that are chosen.
  bool depends() const {
    for (const std::vector<Demand> &variants : of)
      for (const Demand &demand : variants)
        if (demand.work != variants.front().work)
          return true;
    return false;
  }
};

/// Shares of a bandwidth that add up to no more than this may be rounding.
constexpr long double kFull = 1 + 1e-9L;

int64_t durationOf(const OperationCost &cost) { return Picoseconds::ceil(cost.time).value; }

long double coreShare(const Proof &p, const OperationCost &cost, size_t core) {
  long double held = p.instances(cost, core);
  return held / p.plan.machine.cores[core].count;
}

/// Of a memory's bandwidth, while it runs.
long double bandwidthShare(const OperationCost &cost, size_t memory) {
  long double duration = durationOf(cost), transfer = cost.transfer[memory].value * 1e12L;
  return duration > 0 ? std::min(1.0L, transfer / duration) : 0;
}

template <typename Work> SharedResource sharedResource(const Proof &p, std::string name, Work work) {
  SharedResource made{std::move(name), std::vector<std::vector<Demand>>(p.plan.graph.operations.size())};
  for (OperationId id = 0; id < made.of.size(); ++id)
    if (p.operation(id).body == kNone)
      p.variants(id, [&](const OperationCost &cost) { made.of[id].push_back({durationOf(cost), work(id, cost)}); });
  return made;
}

/// Least of all forms, or 0 for a repeat.
template <typename Share> long double minShare(const Proof &p, OperationId id, Share share) {
  long double min = 1;
  if (p.operation(id).body != kNone)
    return 0;
  p.variants(id, [&](const OperationCost &cost) { min = std::min(min, share(cost)); });
  return min;
}

/// Those that use core and memory in whatever form, as they take the core; those that leave none of
/// these its bandwidth take all of it.
SharedResource pair(const Proof &p, size_t core, size_t memory) {
  auto onCore = [&](const OperationCost &cost) { return coreShare(p, cost, core); };
  auto onMemory = [&](const OperationCost &cost) { return bandwidthShare(cost, memory); };
  size_t operations = p.plan.graph.operations.size();
  std::vector<char> uses(operations), fills(operations);
  long double min = 1;
  for (OperationId id = 0; id < operations; ++id) {
    long double bandwidth = minShare(p, id, onMemory);
    uses[id] = bandwidth > 0 && minShare(p, id, onCore) > 0;
    if (uses[id])
      min = std::min(min, bandwidth);
  }
  bool any = false;
  for (OperationId id = 0; id < operations; ++id) {
    long double bandwidth = minShare(p, id, onMemory);
    // Neither beside the one that uses least, nor beside another like itself.
    fills[id] = bandwidth + std::min(min, bandwidth) > kFull;
    any = any || (fills[id] && !uses[id]);
  }
  SharedResource made = sharedResource(p, "", [&](OperationId id, const OperationCost &cost) {
    long double duration = durationOf(cost);
    return fills[id] ? duration : duration * coreShare(p, cost, core);
  });
  for (OperationId id = 0; id < operations; ++id)
    if (!any || (!fills[id] && !uses[id]))
      made.of[id].clear();
  if (!any)
    made.of.clear();
  return made;
}

/// Cores, memories, networks that exchanges name; then a core with a memory, where operations that
/// take the memory's whole bandwidth keep those from running that use both.
std::vector<SharedResource> findSharedResources(const Proof &p) {
  const Machine &machine = p.plan.machine;
  std::vector<SharedResource> all;
  for (size_t core = 0; core < machine.cores.size(); ++core)
    all.push_back(sharedResource(p, machine.cores[core].name, [&](OperationId, const OperationCost &cost) {
      return durationOf(cost) * coreShare(p, cost, core);
    }));
  for (size_t memory = 0; memory < machine.memories.size(); ++memory)
    all.push_back(sharedResource(p, machine.memories[memory].name, [&](OperationId, const OperationCost &cost) {
      return std::min<long double>(cost.transfer[memory].value * 1e12L, durationOf(cost));
    }));
  std::set<std::string> networks;
  for (OperationId id = 0; id < p.plan.costs.operations.size(); ++id)
    if (std::string network = p.network(id); !network.empty())
      networks.insert(network);
  for (const std::string &network : networks)
    all.push_back(sharedResource(p, network, [&](OperationId id, const OperationCost &cost) -> long double {
      return p.network(id) == network ? durationOf(cost) : 0;
    }));
  for (size_t core = 0; core < machine.cores.size(); ++core)
    for (size_t memory = 0; memory < machine.memories.size(); ++memory)
      if (SharedResource both = pair(p, core, memory); !both.of.empty()) {
        both.name = fmt::format("{} and {}", machine.cores[core].name, machine.memories[memory].name);
        all.push_back(std::move(both));
      }
  return all;
}

/// More operations than this on one resource are not compared pair by pair.
constexpr size_t kMaxSubsets = 3000;

/// Largest of: least head + work + least tail over the users whose head and tail are at least some
/// pair. For one machine that is the best bound of this kind (Carlier 1982, proposition 1).
int64_t bestSubset(const std::vector<int64_t> &head, const std::vector<int64_t> &work,
                   const std::vector<int64_t> &tail) {
  std::vector<size_t> byTail(head.size());
  for (size_t i = 0; i < byTail.size(); ++i)
    byTail[i] = i;
  std::sort(byTail.begin(), byTail.end(), [&](size_t a, size_t b) { return tail[a] > tail[b]; });
  int64_t best = 0;
  for (int64_t from : head) {
    int64_t sum = 0;
    for (size_t i : byTail)
      if (head[i] >= from) {
        sum += work[i];
        best = std::max(best, from + sum + tail[i]);
      }
  }
  return best;
}

/// Work of one iteration, repeats multiplied out.
long double workOf(const Proof &p, const SharedResource &sharedResource, RegionId r) {
  long double sum = 0;
  for (OperationId id : p.plan.graph.regions[r].operations)
    if (RegionId body = p.operation(id).body; body != kNone)
      sum += p.plan.graph.regions[body].count * workOf(p, sharedResource, body);
    else
      sum += sharedResource.min(id);
  return sum;
}

/// For all that is shared: its work, each operation's with the least head and tail of all its
/// executions.
int64_t workBound(const Proof &p, const std::vector<SharedResource> &all, const ScheduleReplay &w) {
  std::vector<int64_t> follows(w.executions.size(), 0);
  for (size_t i = w.executions.size(); i-- > 0;)
    for (uint32_t m = w.executions[i].producersBegin; m < w.executions[i].producersEnd; ++m) {
      int64_t &min = follows[w.producers[m]];
      min = std::max(min, w.executions[i].end - w.executions[i].start + follows[i]);
    }
  struct Item {
    int64_t head = INT64_MAX, tail = INT64_MAX, times = 0;
  };
  std::vector<Item> items(p.plan.graph.operations.size());
  for (size_t i = 0; i < w.executions.size(); ++i) {
    Item &item = items[w.executions[i].operation];
    item.head = std::min(item.head, w.executions[i].start);
    item.tail = std::min(item.tail, follows[i]);
    ++item.times;
  }
  int64_t best = 0;
  for (const SharedResource &sharedResource : all) {
    std::vector<int64_t> heads, work, tails;
    for (OperationId id = 0; id < items.size(); ++id) {
      long double used = sharedResource.min(id);
      if (used < 1 || items[id].times == 0)
        continue;
      heads.push_back(items[id].head);
      work.push_back(std::ceil(used * items[id].times));
      tails.push_back(items[id].tail);
    }
    if (heads.size() <= kMaxSubsets)
      best = std::max(best, bestSubset(heads, work, tails));
  }
  return best;
}

/// No step is shorter than a mean of the time of its longest chain and of what it takes of
/// something shared. In the mean each operation has the form that is best for it, not the one that
/// is best for both: of 31 means the largest is the bound.
int64_t meanBound(const Proof &p, const SharedResource &sharedResource, RegionId top) {
  constexpr int kMeans = 32;
  std::vector<long double> times(p.plan.graph.operations.size(), 0);
  auto count = [&](auto &&self, RegionId r, long double executions) -> void {
    for (OperationId id : p.plan.graph.regions[r].operations)
      if (RegionId body = p.operation(id).body; body != kNone)
        self(self, body, executions * p.plan.graph.regions[body].count);
      else
        times[id] = executions;
  };
  count(count, top, 1);
  int64_t best = 0;
  for (int k = 1; k < kMeans; ++k) {
    long double share = static_cast<long double>(k) / kMeans, off = 0;
    std::vector<int64_t> inChain(times.size(), 0);
    for (OperationId id = 0; id < times.size(); ++id) {
      if (times[id] == 0)
        continue;
      long double mean = -1, work = share * sharedResource.min(id);
      if (sharedResource.of[id].empty())
        p.variants(id, [&](const OperationCost &cost) {
          long double time = Picoseconds::ceil(cost.time).value;
          mean = mean < 0 ? (1 - share) * time : std::min(mean, (1 - share) * time);
        });
      for (const Demand &demand : sharedResource.of[id]) {
        long double one = (1 - share) * demand.duration + share * demand.work;
        mean = mean < 0 ? one : std::min(mean, one);
      }
      inChain[id] = std::max(0.0L, mean - work);
      off += times[id] * work;
    }
    ScheduleReplay w = replaySchedule(p.plan.graph, p.plan.schedule, inChain, Clock::Earliest, {top});
    best = std::max(best, w.end + int64_t(off));
  }
  return best;
}

struct Derived {
  int64_t path = 0, work = 0, windows = 0, means = 0, proven = 0;
  bool complete = true;
  int64_t max() const { return std::max({path, work, windows, means, proven}); }
};

Derived derive(Proof &p, RegionId r) {
  std::vector<int64_t> shortest = p.durations;
  for (OperationId id = 0; id < shortest.size(); ++id)
    if (p.operation(id).body == kNone)
      p.variants(id, [&](const OperationCost &cost) {
        shortest[id] = std::min(shortest[id], Picoseconds::ceil(cost.time).value);
      });
  ScheduleReplay w = replaySchedule(p.plan.graph, p.plan.schedule, shortest, Clock::Earliest, {r});
  Derived d;
  d.path = w.end;
  d.complete = w.complete;
  std::vector<SharedResource> all = findSharedResources(p);
  for (const SharedResource &sharedResource : all)
    d.work = std::max(d.work, static_cast<int64_t>(std::ceil(workOf(p, sharedResource, r))));
  d.windows = workBound(p, all, w);
  d.complete &= p.plan.graph.operations.size() <= kMaxSubsets;
  d.proven = verifyProvenBound(p, r);
  return d;
}

void raiseByWeightedMeans(const Proof &p, RegionId r, Derived &derived) {
  for (const SharedResource &sharedResource : findSharedResources(p))
    if (sharedResource.depends())
      derived.means = std::max(derived.means, meanBound(p, sharedResource, r));
}

void verifyTiming(Proof &p) {
  const Plan &plan = p.plan;
  if (!plan.timing.empty() && plan.timing.size() != plan.graph.operations.size())
    return p.find(Code::WrongTiming, {}, "the plan has {} timings for {} operations", plan.timing.size(),
                  plan.graph.operations.size());
  if (!plan.timing.empty())
    for (const RegionSchedule &region : plan.schedule.regions)
      for (const Slot &slot : region.slots) {
        Picoseconds length = region.iteration();
        const Timing &t = plan.timing[slot.operation];
        const Operation &op = p.operation(slot.operation);
        if (t.earliest.value < 0 || t.slack().value < 0 || t.latest > length ||
            (op.body == kNone &&
             (t.earliest > slot.start || t.latest.value + p.durations[slot.operation] > length.value)))
          p.find(Code::WrongTiming, op.location,
                 "'{}' is stated to start from {} to {} ps, it starts at {} of {} ps and takes {} ps", op.name,
                 t.earliest.value, t.latest.value, slot.start.value, length.value, slot.duration.value);
      }
  std::vector<bool> seen(plan.graph.operations.size());
  for (OperationId id : plan.criticalPath) {
    if (id >= seen.size() || seen[id])
      return p.find(Code::WrongTiming, {}, "the critical path names operation {} twice, or it does not exist", id);
    seen[id] = true;
  }
  p.checked("earliest and latest starts agree with the schedule");
}
} // namespace

void verifyBound(Proof &p) {
  const Schedule &s = p.plan.schedule;
  verifyTiming(p);
  for (RegionId r = 0; r < s.regions.size(); ++r)
    if (const RegionSchedule &region = s.regions[r];
        region.criticalPath > region.iteration() || region.resourceBound > region.length)
      p.find(Code::BoundNotProved, {},
             "region '{}' is {} ps long, below its critical path of {} ps or its resources' {} ps",
             p.plan.graph.regions[r].name, region.length.value, region.criticalPath.value, region.resourceBound.value);
  if (s.bound > s.step)
    p.find(Code::BoundNotProved, {}, "the bound of {} ps is above the step of {} ps", s.bound.value, s.step.value);
  if (s.bound.value < 0)
    p.find(Code::BoundNotProved, {}, "the bound is {} ps", s.bound.value);
  size_t before = p.out.trusted.size(), found = p.out.findings.size();
  Derived micro = derive(p, kMicrobatchRegion), update = derive(p, kUpdateRegion);
  // Work is rounded per operation: allow a picosecond for each.
  Count rounding = (Count{p.plan.graph.microbatches} + 1) * (p.plan.graph.operations.size() + 1);
  Count microHost = hostTime(p.plan.machine.host.microbatch), stepHost = hostTime(p.plan.machine.host.step);
  auto whole = [&] { return Count{p.plan.graph.microbatches} * (micro.max() + microHost) + update.max() + stepHost; };
  Count derived = whole();
  if (micro.complete && update.complete && s.bound.value > derived + rounding) {
    // What is dearer, where nothing else is enough.
    raiseByWeightedMeans(p, kMicrobatchRegion, micro);
    raiseByWeightedMeans(p, kUpdateRegion, update);
    derived = whole();
  }
  if (!micro.complete || !update.complete)
    p.trusted("the bound of {} ps is assumed, the arithmetic over the first and last "
              "iterations gives {:.0f} ps",
              s.bound.value, static_cast<double>(derived));
  else if (s.bound.value > derived + rounding)
    p.find(Code::BoundNotProved, {},
           "the plan states that no schedule is below {} ps, critical path and work give {:.0f} ps", s.bound.value,
           static_cast<double>(derived));
  else
    p.checked("no schedule is below {} ps: {} micro-batches with a critical path of {} ps and work "
              "of {} ps, an update with {} and {} ps",
              s.bound.value, p.plan.graph.microbatches, micro.path, micro.work, update.path, update.work);
  p.out.boundProved = p.out.trusted.size() == before && p.out.findings.size() == found;
}

} // namespace accord
