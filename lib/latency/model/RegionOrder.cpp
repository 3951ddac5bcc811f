// The order of a plan's schedule as precedences: what has to end before an operation starts, wherever the sizes go.
#include "lib/latency/model/RegionOrder.h"
#include "lib/machine/model/PeriodOrder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <set>

using namespace llvm;
namespace accord {
namespace {

/// What a slot holds while it runs: lanes of cores, and shares of each memory's bandwidth.
struct OccupiedResources {
  std::set<std::pair<int, int>> lanes;
  std::map<size_t, double> share;
};

class Order {
public:
  Order(const Plan &plan, const Dependences &dependences) : plan(plan), dependences(dependences) {}

  RegionOrder of(RegionId r) {
    RegionOrder result;
    const RegionSchedule &schedule = plan.schedule.regions[r];
    std::vector<Slot> slots = schedule.slots;
    for (Slot &slot : slots) {
      int64_t stage = schedule.stage(slot);
      slot.start.value -= stage * schedule.length.value;
      if (stage > result.stages) {
        result.stages = stage;
        result.lastStage.clear();
      }
      if (stage > 0 && stage == result.stages)
        result.lastStage.push_back(slot.operation);
    }
    std::vector<std::vector<OperationId>> waitsFor = waitsInPeriod(plan.graph, dependences, schedule, r);
    std::map<OperationId, size_t> position;
    for (size_t i = 0; i < plan.graph.regions[r].operations.size(); ++i)
      position[plan.graph.regions[r].operations[i]] = i;
    auto key = [&](const Slot &s) {
      return std::tuple(s.start.value, s.start.value + s.duration.value, position[s.operation]);
    };
    llvm::sort(slots, [&](const Slot &a, const Slot &b) { return key(a) < key(b); });
    if (result.stages > 0)
      slots = waitedForFirst(slots, position, waitsFor);

    const Machine::HostOverhead &host = plan.machine.host;
    Seconds ahead = r == kMicrobatchRegion ? host.microbatch : r == kUpdateRegion ? host.step : Seconds(0);
    int64_t begin = Picoseconds::ceil(ahead).value; // the host's own work comes first
    if (!slots.empty() && slots.front().start.value < begin)
      begin = 0;
    std::vector<OccupiedResources> occupied;
    for (const Slot &slot : slots)
      occupied.push_back(resourcesOf(slot));
    std::vector<BitVector> ancestors(slots.size(), BitVector(slots.size()));
    for (size_t i = 0; i < slots.size(); ++i) {
      const Slot &slot = slots[i];
      auto end = [&](size_t j) { return slots[j].start.value + slots[j].duration.value; };
      std::vector<size_t> before;
      int64_t earliest = begin;
      for (size_t j = 0; j < i; ++j) {
        bool waits = is_contained(waitsFor[position[slot.operation]], slots[j].operation);
        if (!waits && end(j) <= slot.start.value)
          waits = collide(occupied[i], occupied[j]);
        if (!waits)
          continue;
        before.push_back(j);
        earliest = std::max(earliest, end(j));
      }
      // Three may share a memory that any two of them may: then it waits for whoever ends just when it starts.
      if (earliest < slot.start.value)
        for (size_t j = 0; j < i; ++j)
          if (end(j) == slot.start.value && shareMemory(occupied[i], occupied[j])) {
            before.push_back(j);
            earliest = slot.start.value;
          }
      result.exact &= earliest == slot.start.value;
      // Latest first, so that what a kept one waits for is left out.
      llvm::sort(before, [&](size_t a, size_t b) { return a > b; });
      std::vector<OperationId> after;
      for (size_t j : before) {
        if (ancestors[i].test(j))
          continue;
        after.push_back(slots[j].operation);
        ancestors[i] |= ancestors[j];
        ancestors[i].set(j);
      }
      std::reverse(after.begin(), after.end());
      result.operations.push_back(slot.operation);
      result.after.push_back(std::move(after));
    }
    return result;
  }

private:
  /// In their order, but each after those that it waits for: what takes no time may start with what it waits for, and
  /// belong to a later iteration.
  static std::vector<Slot> waitedForFirst(const std::vector<Slot> &slots, std::map<OperationId, size_t> &position,
                                          const std::vector<std::vector<OperationId>> &waitsFor) {
    std::map<OperationId, size_t> rank;
    for (size_t i = 0; i < slots.size(); ++i)
      rank[slots[i].operation] = i;
    std::vector<Slot> ordered;
    std::vector<char> placed(slots.size());
    auto place = [&](auto &&self, size_t i) -> void {
      if (placed[i])
        return;
      placed[i] = 1;
      for (OperationId before : waitsFor[position[slots[i].operation]])
        if (rank[before] > i)
          self(self, rank[before]);
      ordered.push_back(slots[i]);
    };
    for (size_t i = 0; i < slots.size(); ++i)
      place(place, i);
    return ordered;
  }

  OccupiedResources resourcesOf(const Slot &slot) const {
    OccupiedResources occupied;
    RegionId body = plan.graph.operations[slot.operation].body;
    if (body != kNone) { // a repeat holds all that its body uses, all the while
      for (const Slot &inner : plan.schedule.regions[body].slots) {
        OccupiedResources one = resourcesOf(inner);
        occupied.lanes.insert(one.lanes.begin(), one.lanes.end());
        for (const auto &[memory, share] : one.share)
          occupied.share[memory] = 1;
      }
      return occupied;
    }
    const OperationCost &cost = plan.costs.operations[slot.operation];
    for (int core = 0; core < static_cast<int>(plan.machine.cores.size()); ++core)
      if (int64_t instances = occupiedInstances(plan.machine, cost, core)) {
        int64_t lanes = operationsAtOnce(plan.machine.cores[core]);
        int first = instances < lanes ? slot.instance : 0;
        for (int64_t i = 0; i < std::min(instances, lanes); ++i)
          occupied.lanes.insert({core, first + static_cast<int>(i)});
      }
    for (size_t l = 0; l < cost.transfer.size(); ++l)
      if (cost.transfer[l].value > 0 && cost.time.value > 0)
        occupied.share[l] = cost.transfer[l] / cost.time;
    return occupied;
  }
  static bool collide(const OccupiedResources &a, const OccupiedResources &b) {
    for (const auto &lane : a.lanes)
      if (b.lanes.count(lane))
        return true;
    for (const auto &[memory, share] : a.share)
      if (auto other = b.share.find(memory); other != b.share.end() && share + other->second > 1 + 1e-6)
        return true;
    return false;
  }
  static bool shareMemory(const OccupiedResources &a, const OccupiedResources &b) {
    return llvm::any_of(a.share, [&](const auto &s) { return b.share.count(s.first) > 0; });
  }

  const Plan &plan;
  const Dependences &dependences;
};
} // namespace

RegionOrder orderOf(const Plan &plan, const Dependences &dependences, RegionId region) {
  return Order(plan, dependences).of(region);
}

} // namespace accord
