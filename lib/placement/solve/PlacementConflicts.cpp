// Why no plan fits: a smallest set of limits that conflict, and how far each must give way.
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/support/documents/SearchStatus.h"
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
  double everything = 0, largest = 1;
  for (const PlacementProblem::Layer &layer : problem.layers) {
    double max = 0;
    for (const auto &cost : problem.classes[layer.of].costs)
      if (cost)
        for (const RecomputeChoice &choice : cost->recomputeChoices)
          max = std::max(max, cost->staticMemory + 1.0 * choice.activations * problem.batch + choice.workspace);
    everything += max;
  }
  everything = std::min(everything, 4e18);
  for (const ParallelConfig &config : problem.parallelConfigs)
    largest = std::max<double>(largest, config.devices());
  double room = largest * problem.layers.size();
  // A number of each device: `field` of a device type, which `max` is enough of.
  auto ofDevices = [&](const char *what, Id k, int64_t DeviceType::*field, const SourceLocation &at, double max,
                       auto needs) {
    const DeviceType &type = problem.deviceTypes[k];
    double now = type.*field;
    all.push_back({fmt::format("{} of '{}'", what, type.name), at,
                   [=](PlacementProblem &p) {
                     int64_t &amount = p.deviceTypes[k].*field;
                     amount = std::max<int64_t>(amount, max);
                   },
                   [=](PlacementProblem &p, double amount) { p.deviceTypes[k].*field = amount; }, now,
                   std::max(now, max), [=, name = type.name](double amount) { return needs(amount - now, name); }});
  };
  for (Id k = 0; k < problem.deviceTypes.size(); ++k) {
    const DeviceType &type = problem.deviceTypes[k];
    ofDevices("memory", k, &DeviceType::memory, type.location, everything, [](double more, const std::string &name) {
      return fmt::format("{} more memory on each '{}'", bytes(more), name);
    });
    ofDevices("devices", k, &DeviceType::devices, type.counted, room,
              [node = type.devicesPerNode](double more, const std::string &name) {
                double servers = std::ceil(more / std::max<double>(node, 1)); // whole ones alone can be had
                if (node <= 1)
                  return fmt::format("{:.0f} more device{} of '{}'", more, more == 1 ? "" : "s", name);
                return fmt::format("{:.0f} more server{} of {} '{}'", servers, servers == 1 ? "" : "s", node, name);
              });
  }
  for (Id id = 0; id < problem.placementConstraints.size(); ++id) {
    const PlacementProblem::PlacementConstraint &one = problem.placementConstraints[id];
    all.push_back({one.text,
                   one.location,
                   [id](PlacementProblem &p) { p.placementConstraints[id].lift(); },
                   {},
                   0,
                   0,
                   [text = one.text](double) { return fmt::format("leaving out '{}'", text); }});
  }
  auto ofPlan = [&](const char *what, auto PlacementProblem::Limits::*limit, double max, auto needs) {
    double now = problem.limits.*limit;
    if (now > 0)
      all.push_back({what, problem.location, [limit](PlacementProblem &p) { p.limits.*limit = 0; },
                     [limit](PlacementProblem &p, double amount) { p.limits.*limit = amount; }, now, std::max(now, max),
                     needs});
  };
  ofPlan("step time", &PlacementProblem::Limits::step, 2e18,
         [](double amount) { return fmt::format("a step of {:.4g} s", amount * 1e-12); });
  ofPlan("number of devices", &PlacementProblem::Limits::devices, room,
         [](double amount) { return fmt::format("{:.0f} devices", amount); });
  auto real = [&](const char *what, double PlacementProblem::Limits::*limit, const char *unit) {
    ofPlan(what, limit, 1e30, [=](double amount) { return fmt::format("{} of {:.4g}{}", what, amount, unit); });
  };
  real("power", &PlacementProblem::Limits::watts, " W");
  real("energy", &PlacementProblem::Limits::joules, " J");
  real("price", &PlacementProblem::Limits::price, "");
  return all;
}

/// The first plan will do. Unknown where neither a plan was found nor its absence proved.
SearchStatus statusOf(const PlacementProblem &problem, PlacementOptions options) {
  options.gap = 1;
  options.progress = nullptr;
  PlacementResult result = place(problem, options);
  return accord::statusOf(result.plan.has_value(), 1, std::isinf(result.bound));
}
bool isFeasible(const PlacementProblem &problem, const PlacementOptions &options) {
  return statusOf(problem, options) == SearchStatus::Feasible;
}
bool isInfeasible(const PlacementProblem &problem, const PlacementOptions &options) {
  return statusOf(problem, options) == SearchStatus::Infeasible;
}

/// The least amount of one limit with which there is a plan, all others as they are: within 1/1000 of it, or exact
/// where it is a small number.
std::optional<double> minRelaxation(PlacementProblem problem, const Limit &limit, const PlacementOptions &options) {
  auto holds = [&](double amount) {
    limit.set(problem, amount);
    return isFeasible(problem, options);
  };
  double low = limit.now, step = std::max(1.0, std::abs(limit.now) / 16), high = low;
  do { // gallop first: what is near is found in few steps
    if (high >= limit.max || options.stopped())
      return std::nullopt;
    low = high;
    high = std::min(limit.max, high + step);
    step *= 4;
  } while (!holds(high));
  while (!options.stopped() && high - low > std::max(limit.max < 1e30 ? 1.0 : 1e-9 * high, high * 1e-3)) {
    double middle = low + (high - low) / 2;
    if (limit.max < 1e30)
      middle = std::floor(middle);
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

} // namespace

PlacementConflict conflictsOf(const PlacementProblem &problem, const PlacementOptions &options) {
  PlacementConflict conflict;
  if (!isInfeasible(problem, options))
    return conflict;
  std::vector<Limit> all = limitsOf(problem);
  PlacementProblem freed = problem;
  for (const Limit &limit : all)
    limit.lift(freed);
  if (isInfeasible(freed, options)) {
    conflict.conflicts.push_back({"parallel configurations and schedules", problem.location.file, problem.location.line,
                                  "no combination in the search space divides the batch and runs all layers"});
    return conflict;
  }
  // Deletion: a limit stays lifted if the rest conflict without it.
  std::vector<char> lifted(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    PlacementProblem without = problem;
    lifted[i] = 1;
    for (size_t j = 0; j < all.size(); ++j)
      if (lifted[j])
        all[j].lift(without);
    lifted[i] = isInfeasible(without, options);
  }
  if (options.stopped()) // what is left conflicts, but need not be a smallest set
    return conflict;
  for (size_t i = 0; i < all.size(); ++i) {
    if (lifted[i])
      continue;
    std::string detail;
    if (!all[i].set) {
      PlacementProblem without = problem;
      all[i].lift(without);
      if (isFeasible(without, options))
        detail = all[i].needs(0);
    } else if (auto amount = minRelaxation(problem, all[i], options)) {
      detail = all[i].needs(*amount);
    }
    conflict.conflicts.push_back(
        {all[i].what, all[i].location.file, all[i].location.line,
         options.stopped() && detail.empty() ? ""
         : !all[i].set    ? fmt::format("leaving it out{}", detail.empty() ? " alone does not help" : " would suffice")
         : detail.empty() ? "more of it alone does not help"
                          : "needs " + detail});
    if (!detail.empty())
      conflict.relaxations.push_back(detail);
  }
  return conflict;
}

} // namespace accord
