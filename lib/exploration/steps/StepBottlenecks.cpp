#include "lib/exploration/steps/StepBottlenecks.h"
#include "lib/planning/analysis/Bottlenecks.h"
#include "lib/planning/analysis/CriticalPath.h"
#include "lib/planning/analysis/StepSensitivity.h"
#include <algorithm>
#include <set>

namespace accord {
namespace {

class Delays {
public:
  explicit Delays(const Plan &plan)
      : plan_(plan), dependences_(Dependences::of(plan.graph)),
        path_(CriticalPath::of(plan.graph, dependences_, durationsOf(plan.graph, plan.costs))) {
    for (const Core &core : plan.machine.cores)
      all.push_back({core.name, 0, 0});
  }

  /// What runs in a region, so often in a step.
  void add(RegionId region, double times) {
    const RegionSchedule &schedule = plan_.schedule.regions[region];
    std::map<OperationId, int64_t> ends;
    std::set<std::pair<size_t, int64_t>> freed; ///< a core, and when something on it ended
    for (const Slot &slot : schedule.slots) {
      int64_t end = slot.start.value + slot.duration.value;
      ends[slot.operation] = end;
      for (size_t core = 0; core < all.size() && slot.duration.value > 0; ++core)
        if (uses(slot, core))
          freed.insert({core, end});
    }
    for (const Slot &slot : schedule.slots) {
      if (path_.timing[slot.operation].slack().value > 0)
        continue;
      RegionId body = plan_.graph.operations[slot.operation].body;
      if (body != kNone)
        add(body, times * plan_.graph.regions[body].count);
      int64_t ready = 0;
      for (OperationId before : dependences_.predecessors[slot.operation])
        ready = std::max(ready, ends[before]);
      if (body != kNone || slot.duration.value == 0 || slot.start.value <= ready)
        continue;
      for (size_t core = 0; core < all.size(); ++core)
        if (uses(slot, core) && freed.count({core, slot.start.value})) {
          ++all[core].operations;
          all[core].seconds += times * (slot.start.value - ready) * 1e-12;
        }
    }
  }

  std::vector<CoreDelay> all;

private:
  bool uses(const Slot &slot, size_t core) const { return usesCore(plan_.costs.operations[slot.operation], core); }

  const Plan &plan_;
  Dependences dependences_;
  CriticalPath path_;
};

} // namespace

std::vector<LimitShare> stepLimits(const Plan &plan) {
  auto timing = StepTiming::of(plan);
  if (!timing || timing->step() <= 0)
    return {};
  std::map<std::string, double> spent;
  spent["host"] = timing->host();
  auto follow = [&](auto &&self, RegionId region, double times) -> void {
    for (OperationId id : timing->criticalPath(region)) {
      RegionId body = plan.graph.operations[id].body;
      if (body != kNone)
        self(self, body, times * plan.graph.regions[body].count);
      else if (timing->duration(id) > 0)
        spent[findBottlenecks(plan.costs.operations[id], plan.machine).resource] += times * timing->duration(id);
    }
  };
  follow(follow, kMicrobatchRegion, plan.graph.microbatches);
  follow(follow, kUpdateRegion, 1);
  std::vector<LimitShare> shares;
  for (const auto &[resource, time] : spent)
    if (time > 0)
      shares.push_back({resource, time / timing->step()});
  std::sort(shares.begin(), shares.end(), [](const LimitShare &a, const LimitShare &b) {
    return a.share != b.share ? a.share > b.share : a.resource < b.resource;
  });
  return shares;
}

std::vector<CoreDelay> coreDelays(const Plan &plan) {
  if (sumOfWork(plan.graph, durationsOf(plan.graph, plan.costs)) >= Count{kLongestStep})
    return {};
  Delays delays(plan);
  delays.add(kMicrobatchRegion, plan.graph.microbatches);
  delays.add(kUpdateRegion, 1);
  return std::move(delays.all);
}

} // namespace accord
