// Why no plan fits: a smallest set of limits that conflict, and how far each must give way.
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// Something that a user could relax.
struct Limit {
  std::string what;
  SourceLocation location;
  std::function<void(PlacementProblem &)> lift;
  /// Sets it to `amount`; nothing where it is there or not, and that is all.
  std::function<void(PlacementProblem &, double amount)> set;
  double now = 0, max = 0;
  std::function<std::string(double amount)> needs;
};

std::string bytes(double amount) {
  return amount >= 1073741824.0 ? fmt::format("{:.1f} GiB", amount / 1073741824.0)
         : amount >= 1048576.0  ? fmt::format("{:.3g} MiB", amount / 1048576.0)
                                : fmt::format("{:.0f} bytes", amount);
}

std::vector<Limit> limitsOf(const PlacementProblem &problem) {
  std::vector<Limit> all;
  double everything = 0, onHost = 0;
  for (const PlacementProblem::Layer &layer : problem.layers) {
    double max = 0;
    for (const auto &cost : problem.classes[layer.of].costs)
      if (cost)
        for (const PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices)
          max = std::max(max, cost->staticMemory + static_cast<double>(recomputeChoice.activations) * problem.batch +
                                  recomputeChoice.workspace);
    everything += max;
  }
  everything = std::min(everything, 4e18);
  int64_t largest = 1;
  for (const PlacementProblem::ParallelConfig &parallelConfig : problem.parallelConfigs)
    largest = std::max(largest, parallelConfig.devices());
  auto room = static_cast<double>(largest) * problem.layers.size();
  for (Id k = 0; k < problem.deviceTypes.size(); ++k) {
    const PlacementProblem::DeviceType &deviceType = problem.deviceTypes[k];
    auto now = static_cast<double>(deviceType.memory);
    all.push_back({fmt::format("memory of '{}'", deviceType.name), deviceType.location,
                   [k, everything](PlacementProblem &p) {
                     p.deviceTypes[k].memory = std::max(p.deviceTypes[k].memory, static_cast<int64_t>(everything));
                   },
                   [k](PlacementProblem &p, double amount) { p.deviceTypes[k].memory = static_cast<int64_t>(amount); },
                   now, std::max(now, everything),
                   [now, name = deviceType.name](double amount) {
                     return fmt::format("{} more memory on each '{}'", bytes(amount - now), name);
                   }});
    if (onHost > 0) {
      now = deviceType.hostMemory;
      all.push_back(
          {fmt::format("host memory of '{}'", deviceType.name), deviceType.location,
           [k, onHost](PlacementProblem &p) {
             p.deviceTypes[k].hostMemory = std::max(p.deviceTypes[k].hostMemory, static_cast<int64_t>(onHost));
           },
           [k](PlacementProblem &p, double amount) { p.deviceTypes[k].hostMemory = static_cast<int64_t>(amount); }, now,
           std::max(now, onHost),
           [now, name = deviceType.name](double amount) {
             return fmt::format("{} more host memory for each '{}'", bytes(amount - now), name);
           }});
    }
    now = deviceType.devices;
    all.push_back({fmt::format("devices of '{}'", deviceType.name), deviceType.counted,
                   [k, room](PlacementProblem &p) {
                     p.deviceTypes[k].devices = std::max(p.deviceTypes[k].devices, static_cast<int64_t>(room));
                   },
                   [k](PlacementProblem &p, double amount) { p.deviceTypes[k].devices = static_cast<int64_t>(amount); },
                   now, std::max(now, room),
                   [now, name = deviceType.name](double amount) {
                     return fmt::format("{:.0f} more devices of '{}'", amount - now, name);
                   }});
  }
  for (Id constraint = 0; constraint < problem.placementConstraints.size(); ++constraint)
    all.push_back({problem.placementConstraints[constraint].text,
                   problem.placementConstraints[constraint].location,
                   [constraint](PlacementProblem &p) {
                     p.placementConstraints[constraint].deviceTypes.clear();
                     p.placementConstraints[constraint].stage.reset();
                     p.placementConstraints[constraint].sameStage = false;
                   },
                   {},
                   0,
                   0,
                   [text = problem.placementConstraints[constraint].text](double) {
                     return fmt::format("leaving out '{}'", text);
                   }});
  if (problem.limits.step > 0)
    all.push_back({"step time", problem.location, [](PlacementProblem &p) { p.limits.step = 0; },
                   [](PlacementProblem &p, double amount) { p.limits.step = static_cast<int64_t>(amount); },
                   static_cast<double>(problem.limits.step), 2e18,
                   [](double amount) { return fmt::format("a step of {:.4g} s", amount * 1e-12); }});
  if (problem.limits.devices > 0)
    all.push_back({"number of devices", problem.location, [](PlacementProblem &p) { p.limits.devices = 0; },
                   [](PlacementProblem &p, double amount) { p.limits.devices = static_cast<int64_t>(amount); },
                   static_cast<double>(problem.limits.devices),
                   std::max(room, static_cast<double>(problem.limits.devices)),
                   [](double amount) { return fmt::format("{:.0f} devices", amount); }});
  auto real = [&](const char *what, double PlacementProblem::Limits::*limit, const char *unit) {
    if (problem.limits.*limit > 0)
      all.push_back({what, problem.location, [limit](PlacementProblem &p) { p.limits.*limit = 0; },
                     [limit](PlacementProblem &p, double amount) { p.limits.*limit = amount; }, problem.limits.*limit,
                     1e30, [what, unit](double amount) { return fmt::format("{} of {:.4g}{}", what, amount, unit); }});
  };
  real("power", &PlacementProblem::Limits::watts, " W");
  real("energy", &PlacementProblem::Limits::joules, " J");
  real("price", &PlacementProblem::Limits::price, "");
  return all;
}

/// The first plan will do.
bool feasible(const PlacementProblem &problem, PlacementOptions options) {
  options.gap = 1;
  options.progress = nullptr;
  return place(problem, options).plan.has_value();
}

/// The least amount of one limit with which there is a plan, all others as they are: within 1/1000
/// of it, or exact where it is a small number.
std::optional<double> minRelaxation(PlacementProblem problem, const Limit &limit, const PlacementOptions &options) {
  auto holds = [&](double amount) {
    limit.set(problem, amount);
    return feasible(problem, options);
  };
  double low = limit.now, step = std::max(1.0, std::abs(limit.now) / 16), high = low;
  do { // gallop first: what is near is found in few steps
    if (high >= limit.max)
      return std::nullopt;
    low = high;
    high = std::min(limit.max, high + step);
    step *= 4;
  } while (!holds(high));
  while (high - low > std::max(limit.max < 1e30 ? 1.0 : 1e-9 * high, high * 1e-3)) {
    double middle = low + (high - low) / 2;
    if (limit.max < 1e30)
      middle = std::floor(middle);
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

} // namespace

PlacementConflict conflictsOf(const PlacementProblem &problem, const PlacementOptions &options) {
  PlacementConflict searchState;
  if (feasible(problem, options))
    return searchState;
  std::vector<Limit> all = limitsOf(problem);
  PlacementProblem freed = problem;
  for (const Limit &limit : all)
    limit.lift(freed);
  if (!feasible(freed, options)) {
    searchState.conflicts.push_back({"parallel configurations and schedules", problem.location.file,
                                     problem.location.line,
                                     "no combination in the search space divides the batch and runs all layers"});
    return searchState;
  }
  // Deletion: a limit stays lifted if the rest conflict without it.
  std::vector<char> lifted(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    PlacementProblem without = problem;
    lifted[i] = 1;
    for (size_t j = 0; j < all.size(); ++j)
      if (lifted[j])
        all[j].lift(without);
    lifted[i] = !feasible(without, options);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (lifted[i])
      continue;
    std::string detail;
    if (!all[i].set) {
      PlacementProblem without = problem;
      all[i].lift(without);
      if (feasible(without, options))
        detail = all[i].needs(0);
    } else if (auto amount = minRelaxation(problem, all[i], options)) {
      detail = all[i].needs(*amount);
    }
    searchState.conflicts.push_back(
        {all[i].what, all[i].location.file, all[i].location.line,
         !all[i].set      ? fmt::format("leaving it out{}", detail.empty() ? " alone does not help" : " would suffice")
         : detail.empty() ? "more of it alone does not help"
                          : "needs " + detail});
    if (!detail.empty())
      searchState.relaxations.push_back(detail);
  }
  return searchState;
}

} // namespace accord
