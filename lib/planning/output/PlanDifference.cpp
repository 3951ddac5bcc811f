#include "lib/planning/output/PlanDifference.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/planning/analysis/StepSensitivity.h"
#include "lib/planning/analysis/Totals.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

using namespace llvm;
namespace accord {
namespace {

/// The parts of both plans, in the order of the first that has them.
class Parts {
public:
  void add(const std::string &name, bool after, double value) {
    auto [at, isNew] = index_.try_emplace(name, all_.size());
    if (isNew)
      all_.push_back({name, 0, 0});
    (after ? all_[at->second].after : all_[at->second].before) += value;
  }
  std::vector<PartDifference> take() {
    llvm::erase_if(all_, [](const PartDifference &part) { return part.before == 0 && part.after == 0; });
    return std::move(all_);
  }

private:
  std::vector<PartDifference> all_;
  std::map<std::string, size_t> index_;
};

/// Picoseconds of the longest path by phase, and the host: they add up to the step.
void addStep(Parts &parts, const Plan &plan, bool after) {
  auto made = StepSensitivity::of(plan);
  if (!made)
    return;
  const StepSensitivity &what = *made;
  for (auto [phase, time] : what.phases)
    parts.add(StringRef(name(phase)).str(), after, time.seconds().value);
  parts.add("host", after, what.host.seconds().value);
}

/// Cores and the idle power, where energies are known by parts.
void addEnergy(Parts &parts, const Plan &plan, double all, bool after) {
  double rest = all;
  StepTotals totals = stepTotals(plan.graph, plan.costs);
  for (const auto &[of, sum] : totals.byCore) {
    std::string core = of.first < 0 ? "no core" : plan.machine.cores[of.first].name;
    parts.add(core + (of.second.empty() ? "" : " " + of.second), after, sum.energy.value);
    rest -= sum.energy.value;
  }
  parts.add("idle power", after, std::max(0.0, rest));
}

void addOperations(PlanDifference &d, const Plan &a, const Plan &b) {
  std::map<std::string, OperationDifference> operations;
  auto collect = [&](const Plan &plan, bool after) {
    for (const Expense &e : expenses(plan)) {
      const std::string &name = plan.graph.operations[e.operation].name;
      OperationDifference &one = operations[name];
      one.name = name;
      (after ? one.after : one.before) = e.total.value;
      (after ? one.boundAfter : one.boundBefore) = plan.costs.operations[e.operation].bound;
    }
  };
  collect(a, false);
  collect(b, true);
  for (auto &[name, one] : operations)
    if (one.before != one.after || one.boundBefore != one.boundAfter)
      d.operations.push_back(std::move(one));
  llvm::sort(d.operations, [](const OperationDifference &x, const OperationDifference &y) {
    auto change = [](const OperationDifference &o) { return std::fabs(o.after.value_or(0) - o.before.value_or(0)); };
    return std::pair(-change(x), StringRef(x.name)) < std::pair(-change(y), StringRef(y.name));
  });
}

/// What a machine of the same parts has otherwise, of the arithmetic that the step uses.
void addMachineCauses(PlanDifference &d, const Plan &plan, const Machine &b) {
  const Machine &a = plan.machine;
  std::set<std::pair<int, std::string>> used;
  for (OperationId id = 0; id < plan.costs.operations.size(); ++id) {
    const OperationCost &cost = plan.costs.operations[id];
    used.insert({cost.core, cost.type.empty() ? plan.graph.operations[id].type : cost.type});
  }
  auto other = [&](const std::string &what, double x, double y, const char *unit) {
    if (x > 0 && y > 0 && x != y)
      d.causes.push_back(
          fmt::format("{}: {} instead of {} ({:.3g} times)", what, formatSi(y, unit), formatSi(x, unit), y / x));
  };
  for (const Memory &memory : a.memories)
    for (const Memory &its : b.memories)
      if (its.name == memory.name)
        other("bandwidth of " + memory.name, memory.bandwidth.value, its.bandwidth.value, "B/s");
  for (const Core &core : a.cores)
    for (const Core &its : b.cores)
      if (its.name == core.name)
        for (const auto &[type, peak] : core.peak)
          if (auto at = its.peak.find(type);
              at != its.peak.end() && used.contains({static_cast<int>(&core - a.cores.data()), type}))
            other(fmt::format("{} peak of {}", type, core.name), peak.value * core.count, at->second.value * its.count,
                  "FLOP/s");
}

/// How many operations another resource binds now.
void addBoundCauses(PlanDifference &d) {
  std::map<std::pair<std::string, std::string>, unsigned> moved;
  for (const OperationDifference &one : d.operations)
    if (one.before && one.after && one.boundBefore != one.boundAfter)
      ++moved[{one.boundBefore, one.boundAfter}];
  for (const auto &[bounds, count] : moved)
    d.causes.push_back(fmt::format("{} operation{} bound by {}, not by {}", count, count == 1 ? " is" : "s are",
                                   bounds.second, bounds.first));
}

} // namespace

std::optional<double> FigureDifference::change() const {
  return before == 0 ? std::nullopt : std::optional(after / before - 1);
}

std::string changeText(double before, double after) {
  double percent = (after / before - 1) * 100;
  return std::fabs(percent) < 1000 ? fmt::format("{:+.3g} %", percent) : fmt::format("{:+.0f} %", percent);
}

void PlanDifference::figure(std::string key, std::string label, std::string unit, Preference preferred, double x,
                            double y) {
  figures.push_back({std::move(key), std::move(label), std::move(unit), preferred, x, y});
}

void PlanDifference::word(std::string key, std::string label, const std::string &x, const std::string &y) {
  words.push_back({std::move(key), std::move(label), x, y});
}

void PlanDifference::explainStepAndEnergy() {
  double x = 0, y = 0, energyBefore = 0, energyAfter = 0;
  for (const FigureDifference &one : figures) {
    if (one.key == "step_time_s")
      x = one.before, y = one.after;
    if (one.key == "energy_J")
      energyBefore = one.before, energyAfter = one.after;
  }
  std::vector<PartDifference> parts = step;
  llvm::sort(parts, [](const PartDifference &a, const PartDifference &b) {
    return std::pair(-std::fabs(a.after - a.before), StringRef(a.name)) <
           std::pair(-std::fabs(b.after - b.before), StringRef(b.name));
  });
  std::vector<std::string> found;
  for (const PartDifference &part : parts)
    if (double change = part.after - part.before;
        std::fabs(change) > 0.01 * std::fabs(y - x) && std::fabs(change) > 1e-12)
      found.push_back(fmt::format("{} {}{}",
                                  StringRef(part.name).contains('_') ? join(split(part.name, '_'), " ") : part.name,
                                  change > 0 ? "+" : "-", formatSi(std::fabs(change), "s")));
  if (!found.empty())
    causes.insert(causes.begin(), fmt::format("the step takes {} {}: {}", formatSi(std::fabs(y - x), "s"),
                                              y < x ? "less" : "more", fmt::join(found, ", ")));
  if (energyBefore > 0 && energyAfter > 0 && x > 0 && y > 0 && energyBefore != energyAfter)
    causes.push_back(fmt::format("energy {}: average power {} ({} instead of {}), step time {}",
                                 changeText(energyBefore, energyAfter), changeText(energyBefore / x, energyAfter / y),
                                 formatSi(energyAfter / y, "W"), formatSi(energyBefore / x, "W"), changeText(x, y)));
}

PlanDifference differenceOf(const Plan &a, const Plan &b) {
  PlanDifference d;
  d.before = {"", a.graph.model, a.machine.name, name(statusOf(a)), true};
  d.after = {"", b.graph.model, b.machine.name, name(statusOf(b)), true};
  d.word("model", "model", a.graph.model, b.graph.model);
  d.word("machine", "machine", a.machine.name, b.machine.name);
  d.word("status", "status", name(statusOf(a)), name(statusOf(b)));
  Metrics x = measure(a), y = measure(b);
  auto count = [&](const char *key, const char *label, int64_t before, int64_t after) {
    d.figure(key, label, "", Preference::None, static_cast<double>(before), static_cast<double>(after));
  };
  count("microbatch", "micro-batch", a.graph.microbatch, b.graph.microbatch);
  count("batch", "batch", a.batch, b.batch);
  d.figure("step_time_s", "step time", "s", Preference::Lower, x.step.value, y.step.value);
  d.figure("throughput", "throughput", "samples/s", Preference::Higher, x.throughput, y.throughput);
  d.figure("mfu", "MFU", "1", Preference::Higher, x.mfu, y.mfu);
  d.figure("memory_bytes", "memory", "B", Preference::Lower, static_cast<double>(x.peakBytes),
           static_cast<double>(y.peakBytes));
  d.figure("energy_J", "energy", "J", Preference::Lower, x.energy.value, y.energy.value);
  d.figure("gap", "gap", "1", Preference::None, x.gap, y.gap);
  Parts step;
  addStep(step, a, false), addStep(step, b, true);
  d.step = step.take();
  if (!hasBoardPower(a.machine) && !hasBoardPower(b.machine)) {
    Parts energy;
    addEnergy(energy, a, x.energy.value, false), addEnergy(energy, b, y.energy.value, true);
    d.energy = energy.take();
  }
  addOperations(d, a, b);
  addMachineCauses(d, a, b.machine);
  if (a.graph.microbatch != b.graph.microbatch)
    d.causes.push_back(fmt::format("micro-batches of {} instead of {}", b.graph.microbatch, a.graph.microbatch));
  addBoundCauses(d);
  d.explainStepAndEnergy();
  return d;
}

} // namespace accord
