#include "lib/exploration/steps/StepLimits.h"
#include "lib/planning/analysis/Bottlenecks.h"
#include "lib/planning/analysis/StepSensitivity.h"
#include <algorithm>

namespace accord {

std::vector<LimitShare> stepLimits(const StepWork &work, const Machine &machine) {
  std::optional<Plan> plan = work.planned(machine);
  if (!plan)
    return {};
  auto made = StepTiming::of(*plan);
  const StepTiming *timing = made.get();
  if (!timing || timing->step() <= 0)
    return {};
  std::map<std::string, double> spent;
  spent["host"] = timing->host();
  auto follow = [&](auto &&self, RegionId region, double times) -> void {
    for (OperationId id : timing->criticalPath(region)) {
      RegionId body = plan->graph.operations[id].body;
      if (body != kNone)
        self(self, body, times * static_cast<double>(plan->graph.regions[body].count));
      else if (timing->duration(id) > 0)
        spent[findBottlenecks(plan->costs.operations[id], machine).resource] +=
            times * static_cast<double>(timing->duration(id));
    }
  };
  follow(follow, kMicrobatchRegion, static_cast<double>(plan->graph.microbatches));
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

} // namespace accord
