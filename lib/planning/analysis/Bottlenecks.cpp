#include "lib/planning/analysis/Bottlenecks.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace accord {
namespace {

/// What an operation spends on each resource, and how these combine (lib/machine/cost/CostModel.h).
struct Spent {
  struct One {
    std::string resource;
    double seconds = 0;
    bool added = false; ///< it is waited for, instead of overlapping with what is nearer to the core
  };
  std::vector<One> parts; ///< from the core outwards
  double floor = 0;
};

/// Time with `resource` so many times as fast.
double timeWith(const Spent &spent, const std::string &resource, double faster) {
  double time = 0;
  for (const Spent::One &part : spent.parts) {
    double seconds = part.resource == resource ? part.seconds / faster : part.seconds;
    time = part.added ? time + seconds : std::max(time, seconds);
  }
  double floor = resource == "kernel launch overhead" ? spent.floor / faster : spent.floor;
  return std::max(time, floor);
}

Spent spentOn(const OperationCost &cost, const Machine &machine) {
  Spent spent;
  if (cost.core >= 0 && cost.compute.value > 0)
    spent.parts.push_back({"core " + machine.cores[cost.core].name, cost.compute.value});
  size_t levels = cost.core >= 0 ? levelsOf(machine, machine.cores[cost.core]) : machine.memories.size();
  for (size_t m = cost.transfer.size(); m-- > 0;) {
    bool added = m + 1 < levels && !overlapsTransfers(machine.memories[m + 1]);
    if (cost.transfer[m].value > 0)
      spent.parts.push_back({"bandwidth " + machine.memories[m].name, cost.transfer[m].value, added});
  }
  spent.floor = cost.floor.value;
  // Links to other devices, given times and models of plugins: what the cost itself names.
  if (cost.time.value > timeWith(spent, "", 1) * (1 + 1e-9))
    spent.parts.push_back({cost.bound, cost.time.value});
  return spent;
}

/// The resource whose improvement gains most; the first from the core outwards among equals.
std::pair<std::string, double> binding(const Spent &spent, const std::string &improved = "") {
  Spent rest = spent;
  std::erase_if(rest.parts, [&](const Spent::One &part) { return part.resource == improved; });
  if (improved == "kernel launch overhead")
    rest.floor = 0;
  double time = timeWith(rest, "", 1);
  std::pair<std::string, double> best{"", time};
  if (time <= 0)
    return best;
  if (rest.floor >= time)
    return {"kernel launch overhead",
            timeWith(rest, "kernel launch overhead", std::numeric_limits<double>::infinity())};
  double longest = 0;
  for (const Spent::One &part : rest.parts)
    if (part.seconds > longest) {
      longest = part.seconds;
      best = {part.resource, timeWith(rest, part.resource, std::numeric_limits<double>::infinity())};
    }
  return best;
}

} // namespace

OperationBottleneck findBottlenecks(const OperationCost &cost, const Machine &machine) {
  Spent spent = spentOn(cost, machine);
  double time = timeWith(spent, "", 1);
  auto [resource, without] = binding(spent);
  if (resource.empty())
    return {};
  OperationBottleneck bottleneck{resource, 1, binding(spent, resource).first};
  bottleneck.gain = without > 0 ? time / without : std::numeric_limits<double>::infinity();
  return bottleneck;
}

std::vector<StepBottleneck> findBottlenecks(const WorkGraph &graph, const Costs &costs, const Machine &machine) {
  std::map<std::string, double> bound, speedupIfTwice, speedupIfUnlimited;
  double total = 0;
  std::vector<std::pair<Spent, double>> all;
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id) {
    const OperationCost &cost = costs.operations[id];
    if (graph.operations[id].body != kNone || cost.time.value <= 0)
      continue;
    double times = graph.executions(id);
    total += times * cost.time.value;
    Spent spent = spentOn(cost, machine);
    if (std::string resource = binding(spent).first; !resource.empty())
      bound[resource] += times * cost.time.value;
    all.emplace_back(std::move(spent), times);
  }
  std::vector<StepBottleneck> bottlenecks;
  for (const auto &[resource, time] : bound) {
    double saved = 0, gone = 0;
    for (const auto &[spent, times] : all) {
      double now = timeWith(spent, "", 1);
      saved += times * (now - timeWith(spent, resource, 2));
      gone += times * (now - timeWith(spent, resource, std::numeric_limits<double>::infinity()));
    }
    StepBottleneck bottleneck{resource, time / total, 1, 1};
    bottleneck.speedupIfTwice = total / (total - saved);
    bottleneck.speedupIfUnlimited = gone < total ? total / (total - gone) : std::numeric_limits<double>::infinity();
    bottlenecks.push_back(bottleneck);
  }
  std::sort(bottlenecks.begin(), bottlenecks.end(), [](const StepBottleneck &a, const StepBottleneck &b) {
    return a.speedupIfUnlimited != b.speedupIfUnlimited ? a.speedupIfUnlimited > b.speedupIfUnlimited
                                                        : a.resource < b.resource;
  });
  return bottlenecks;
}

} // namespace accord
