// What a plan would gain with a little more of what limits it, and what plans with less look like.
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/search/ParetoFront.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace accord {

namespace {

using Id = PlacementProblem::Id;

/// A tenth more, at least one more and whole multiples of `of`.
int64_t tenthMore(int64_t amount, int64_t of = 1) {
  of = std::max<int64_t>(1, of);
  int64_t more = std::max<int64_t>(1, (amount / 10 + of - 1) / of * of);
  return amount < (int64_t{1} << 60) ? amount + more : amount;
}

void faster(std::vector<AlphaBetaModel> &alternatives) {
  for (AlphaBetaModel &way : alternatives)
    way.perByte /= 1.1;
}

struct Change {
  std::string what;
  PlacementProblem problem;
};

std::vector<Change> changesOf(const PlacementProblem &problem) {
  std::vector<Change> all;
  auto change = [&](std::string what) -> PlacementProblem & {
    all.push_back({std::move(what), problem});
    return all.back().problem;
  };
  for (Id k = 0; k < problem.deviceTypes.size(); ++k) {
    const DeviceType &deviceType = problem.deviceTypes[k];
    change(fmt::format("memory of '{}' + 10 %", deviceType.name)).deviceTypes[k].memory = tenthMore(deviceType.memory);
    int64_t devices = tenthMore(deviceType.devices, deviceType.devicesPerNode);
    change(fmt::format("{} more of '{}'", devices - deviceType.devices, deviceType.name)).deviceTypes[k].devices =
        devices;
  }
  bool several = false, gradientSyncs = false;
  for (const DeviceType &deviceType : problem.deviceTypes)
    several |= deviceType.devices > deviceType.devicesPerNode;
  if (problem.layers.size() > 1 && (several || problem.deviceTypes.size() > 1))
    for (PlacementProblem::Link &link : change("bandwidth between stages in different servers + 10 %").links)
      link.interNode.perByte /= 1.1;
  if (problem.layers.size() > 1)
    for (PlacementProblem::Link &link : change("bandwidth between stages in a server + 10 %").links)
      link.intraNode.perByte /= 1.1;
  for (const ParallelConfig &parallelConfig : problem.parallelConfigs)
    gradientSyncs |= !parallelConfig.gradientSyncs.empty() || !parallelConfig.gather.empty();
  if (gradientSyncs)
    for (ParallelConfig &parallelConfig :
         change("bandwidth of exchanging gradients and weights + 10 %").parallelConfigs) {
      for (GradientSync &sync : parallelConfig.gradientSyncs)
        faster(sync.alternatives);
      faster(parallelConfig.gather);
    }
  const PlacementProblem::Limits &limits = problem.limits;
  if (limits.step > 0)
    change("limit of the step time + 10 %").limits.step = tenthMore(limits.step);
  if (limits.watts > 0)
    change("limit of the power + 10 %").limits.watts *= 1.1;
  if (limits.devices > 0)
    change("limit of the devices + 10 %").limits.devices = tenthMore(limits.devices);
  if (limits.joules > 0)
    change("limit of the energy + 10 %").limits.joules *= 1.1;
  if (limits.price > 0)
    change("limit of the price + 10 %").limits.price *= 1.1;
  for (Id id = 0; id < problem.placementConstraints.size(); ++id)
    change(fmt::format("without '{}'", problem.placementConstraints[id].text)).placementConstraints[id].lift();
  return all;
}

} // namespace

std::vector<Relaxation> whatIf(const PlacementProblem &problem, const PlacementResult &result,
                               const PlacementOptions &options) {
  std::vector<Relaxation> all;
  if (!result.plan)
    return all;
  PlacementOptions how = options;
  how.known = &*result.plan;
  how.progress = nullptr;
  for (const Change &change : changesOf(problem)) {
    if (how.stopped())
      break;
    PlacementResult other = place(change.problem, how);
    if (other.plan) // the plan at hand is one of it, too
      all.push_back({change.what, std::min(other.value, result.value)});
  }
  return all;
}

std::vector<Tradeoff> paretoFront(const PlacementProblem &problem, const PlacementResult &result,
                                  const PlacementOptions &options) {
  std::vector<Tradeoff> all;
  if (!result.plan)
    return all;
  auto add = [&](const PlacementResult &one, std::string what) {
    all.push_back({std::move(what), *one.plan, one.metrics});
  };
  auto maxMemory = [](const Tradeoff &one) { return maxDeviceMemory(one.metrics); };
  add(result, "this plan");
  PlacementOptions how = options;
  how.progress = nullptr;
  constexpr size_t kMaxRungs = 6;
  PlacementProblem less = problem;
  for (size_t rung = 0; rung < kMaxRungs && all.back().metrics.devices > 1; ++rung) {
    less.limits.devices = all.back().metrics.devices / 2;
    if (how.stopped())
      break;
    PlacementResult one = place(less, how);
    if (!one.plan)
      break;
    add(one, fmt::format("at most {} devices", less.limits.devices));
  }
  less = problem;
  for (int quarters : {3, 2, 1}) {
    int64_t max = maxMemory(all.front());
    for (Id k = 0; k < less.deviceTypes.size(); ++k)
      less.deviceTypes[k].memory = std::min(problem.deviceTypes[k].memory, max / 4 * quarters);
    if (how.stopped())
      break;
    PlacementResult one = place(less, how);
    if (!one.plan)
      break;
    add(one, fmt::format("{} % of its memory", 25 * quarters));
  }
  auto metrics = [&](const Tradeoff &t) {
    return std::array{1.0 * t.metrics.devices, 1.0 * maxMemory(t), 1.0 * t.metrics.step, t.metrics.joules,
                      t.metrics.price};
  };
  std::vector<Tradeoff> front;
  for (const Tradeoff &one : all)
    addNondominated(front, one, [&](const Tradeoff &a, const Tradeoff &b) {
      return b.what != all.front().what && isAtMost(metrics(a), metrics(b)); // "this plan" stays
    });
  std::sort(front.begin(), front.end(), [&](const Tradeoff &a, const Tradeoff &b) {
    return std::tuple(b.metrics.devices, maxMemory(b), a.metrics.step, a.what) <
           std::tuple(a.metrics.devices, maxMemory(a), b.metrics.step, b.what);
  });
  return front;
}

} // namespace accord
