// What a plan would gain with a little more of what limits it, and what plans with less look like.
#include "lib/placement/solve/Configurations.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/search/BestFirstQueue.h"
#include "lib/search/ParetoFront.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <set>
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

using namespace placing;

namespace {

using Degrees = std::pair<size_t, std::set<std::pair<int64_t, int64_t>>>;

Degrees degreesOf(const PlacementProblem &problem, const Placement &plan) {
  Degrees degrees{plan.groups(), {}};
  for (const PlacedStage &stage : plan.stages) {
    const ParallelConfig &config = problem.parallelConfigs[stage.parallelConfig];
    degrees.second.insert({config.tensor, config.data});
  }
  return degrees;
}

/// Values that differ by no more of them are equal; then the shorter step is better.
constexpr double Equal = 1e-9;
bool better(const PlanMetrics &a, const PlanMetrics &b) {
  return a.value < b.value * (1 - Equal) || (a.value <= b.value * (1 + Equal) && a.step < b.step);
}

/// The best of each degrees, best first.
std::vector<RunnerUp> sorted(std::map<Degrees, RunnerUp> &best, size_t max) {
  std::vector<RunnerUp> left, list;
  for (auto &[degrees, one] : best)
    left.push_back(std::move(one));
  while (!left.empty() && list.size() < max) {
    auto min = left.begin(); // of the least value, and of those as good the shortest step
    for (auto one = left.begin(); one != left.end(); ++one)
      if (one->metrics.value < min->metrics.value)
        min = one;
    double value = min->metrics.value * (1 + Equal);
    for (auto one = left.begin(); one != left.end(); ++one)
      if (one->metrics.value <= value && one->metrics.step < min->metrics.step)
        min = one;
    list.push_back(std::move(*min));
    left.erase(min);
  }
  return list;
}

/// Plans of other degrees that take little memory: short steps with room for a little more than the answer takes, then
/// more.
std::vector<RunnerUp> ofLittleMemory(const PlacementProblem &problem, const PlacementResult &result, size_t max,
                                     const PlacementOptions &options) {
  std::map<Degrees, RunnerUp> best;
  PlacementProblem room = problem;
  room.objective = PlacementObjective::StepTime;
  for (double share : {1.0, 1.1, 1.3, 1.7, 2.5, 5.0}) {
    auto bytes = static_cast<int64_t>(std::min(result.value * share, 0x1p61));
    for (size_t k = 0; k < room.deviceTypes.size(); ++k)
      room.deviceTypes[k].memory = std::min(problem.deviceTypes[k].memory, bytes);
    for (RunnerUp &one : runnersUp(room, result, max, options)) {
      one.metrics = evaluate(problem, one.plan);
      auto [found, added] = best.try_emplace(degreesOf(problem, one.plan), one);
      if (!added && better(one.metrics, found->second.metrics))
        found->second = std::move(one);
    }
    if (best.size() >= max)
      break;
  }
  return sorted(best, max);
}

} // namespace

std::vector<RunnerUp> runnersUp(const PlacementProblem &problem, const PlacementResult &result, size_t max,
                                const PlacementOptions &options) {
  std::map<Degrees, RunnerUp> best;
  if (!result.plan || max == 0)
    return {};
  if (problem.objective == PlacementObjective::Memory)
    return ofLittleMemory(problem, result, max, options);
  // Equal values do not matter where they are the step's time.
  double slack = problem.objective == PlacementObjective::StepTime ? 0 : 2 * Equal;
  DownSetLattice lattice(problem, kMaxDownSets);
  RecomputeSolver recomputeChoices(lattice);
  Configurations all(lattice);
  Degrees mine = degreesOf(problem, *result.plan);
  BestFirstQueue open(later, std::move(all.list));
  // By increasing bound; a good many more than asked for, as bounds do not tell all.
  for (size_t tried = 0, steps = 0; !open.empty() && tried < 16 * max && steps < 100'000; ++steps) {
    if (options.stopped())
      break;
    Configuration one = open.pop();
    if (one.min < one.max) {
      for (Configuration &half : all.halvesOf(one))
        if (!std::isinf(half.bound))
          open.push(std::move(half));
      continue;
    }
    if (best.size() >= max) { // worse than all of them
      double worst = 0;
      for (const auto &[degrees, other] : best)
        worst = std::max(worst, other.metrics.value);
      if (one.bound >= worst)
        break;
    }
    SearchState searchState;
    searchState.budget = 2'000'000;
    searchState.stop = options.stop;
    if (one.parallelConfigs.size() == 1) { // degrees are known: only what beats their best
      const ParallelConfig &parallelConfig = problem.parallelConfigs[one.parallelConfigs[0]];
      Degrees degrees(one.min, {{parallelConfig.tensor, parallelConfig.data}});
      if (degrees == mine)
        continue;
      if (auto found = best.find(degrees); found != best.end()) {
        searchState.value = found->second.metrics.value * (1 + slack);
        if (one.bound >= searchState.value)
          continue;
      }
    }
    ++tried;
    ConfigurationSearch(lattice, recomputeChoices, one, searchState).seed(false);
    if (!searchState.plan)
      continue;
    Degrees degrees = degreesOf(problem, *searchState.plan);
    if (degrees == mine)
      continue;
    auto [found, added] = best.try_emplace(degrees, RunnerUp{*searchState.plan, searchState.metrics});
    if (!added && better(searchState.metrics, found->second.metrics))
      found->second = {*searchState.plan, searchState.metrics};
  }
  return sorted(best, max);
}

} // namespace accord
