#include "lib/planning/solve/SingleDevice.h"
#include "lib/machine/calibration/OperationTimes.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/machine/model/Check.h"
#include "lib/planning/analysis/CriticalPath.h"
#include "lib/planning/analysis/Liveness.h"
#include "lib/planning/analysis/MinPeakMemory.h"
#include "lib/planning/analysis/Totals.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "lib/support/ThreadPool.h"
#include "lib/support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {

const char *name(Objective objective) {
  static constexpr const char *kNames[] = {"throughput", "step_time", "memory", "energy", "step_time"};
  return kNames[static_cast<size_t>(objective)];
}

CandidateMetrics measureCandidate(const Plan &plan) {
  CandidateMetrics a;
  a.stepTime = plan.schedule.step.seconds();
  a.throughput = a.stepTime.value > 0 ? plan.batch / a.stepTime.value : 0;
  a.deviceMemory = Bytes(plan.memory.peak);
  a.energy = stepEnergy(plan.graph, plan.costs, plan.machine, a.stepTime);
  if (a.stepTime.value > 0) // a limit holds for what may be measured, not for the mean of it
    a.power = Watts(a.energy.value / a.stepTime.value * (hasBoardPower(plan.machine) ? kBoardPowerInterval.high : 1));
  return a;
}

namespace {

/// More than anything is.
constexpr double kUnbounded = 1e30;

double gibibytes(double bytes) { return bytes / (1 << 30); }

/// Value and bound of the objective. A shorter step is the only way to more throughput or less energy here, so their
/// bounds follow from the bound on the step; but a board draws less where another form of an operation works for
/// fewer seconds, so where there are other forms only its idle power is sure. Memory of one given schedule order has
/// the trivial bound: its residents.
void recordObjective(Plan &plan, Objective objective, const CandidateMetrics &achieved) {
  plan.objective = name(objective);
  double bound = plan.schedule.bound.seconds().value;
  switch (objective) {
  case Objective::Throughput:
    plan.objectiveValue = achieved.throughput;
    plan.objectiveBound = bound > 0 ? plan.batch / bound : achieved.throughput;
    return;
  case Objective::StepTime:
  case Objective::OfCluster:
    plan.objectiveValue = achieved.stepTime.value;
    plan.objectiveBound = bound;
    return;
  case Objective::Memory: {
    plan.objectiveValue = achieved.deviceMemory.value;
    plan.objectiveBound = 0;
    for (const StaticTensor &r : plan.graph.staticTensors)
      plan.objectiveBound += r.bytes;
    return;
  }
  case Objective::Energy:
    plan.objectiveValue = achieved.energy.value;
    plan.objectiveBound = hasBoardPower(plan.machine) && !plan.costs.alternatives.empty()
                              ? plan.machine.idle.value * bound
                              : stepEnergy(plan.graph, plan.costs, plan.machine, Seconds(bound)).value;
    return;
  }
}

void findConflicts(Plan &plan, const SingleDeviceRequest &request, const CandidateMetrics &achieved) {
  const Memory &device = plan.machine.memories.front();
  if (achieved.deviceMemory > device.capacity) {
    const auto &origin = device.origins.find("capacity");
    SourceLocation at = origin != device.origins.end() ? origin->second.location : plan.machine.location;
    double need = achieved.deviceMemory.value, have = device.capacity.value;
    plan.conflicts.push_back({"device memory", at.file, at.line,
                              fmt::format("needs {:.2f} GiB, '{}' has {:.2f} GiB: {:.2f} GiB too much", gibibytes(need),
                                          device.name, gibibytes(have), gibibytes(need - have))});
  }
  for (const Requirement &r : request.requirements)
    if (auto error = r.check(plan, achieved))
      plan.conflicts.push_back({r.text, r.location.file, r.location.line, *error});
  plan.feasible = plan.conflicts.empty();
}

/// Whether no plan of this micro-batch and recomputation keeps the memory and all requirements: one of them breaks with
/// every number at its bound. A requirement that more of everything would keep says nothing of that.
bool isExcluded(const Plan &plan, const SingleDeviceRequest &request) {
  double memory = minPeakMemory(plan.graph), step = plan.schedule.bound.seconds().value;
  if (memory > plan.machine.memories.front().capacity.value)
    return true;
  CandidateMetrics best, worst;
  best.stepTime = Seconds(step);
  best.throughput = step > 0 ? plan.batch / step : kUnbounded;
  best.deviceMemory = Bytes(memory);
  best.power = plan.machine.idle;
  best.energy = Joules(plan.machine.idle.value * step);
  worst.stepTime = Seconds(kUnbounded), worst.throughput = 1 / kUnbounded, worst.deviceMemory = Bytes(kUnbounded);
  worst.energy = Joules(kUnbounded), worst.power = Watts(kUnbounded);
  return llvm::any_of(request.requirements,
                      [&](const Requirement &r) { return r.check(plan, best) && r.check(plan, worst); });
}

} // namespace

Result<Plan, Errors> planFor(WorkGraph graph, const Machine &machine, const SingleDeviceRequest &request) {
  Errors issues = check(graph);
  llvm::append_range(issues, check(machine));
  if (!issues.empty())
    return issues;
  EstimateOptions options;
  options.costModel = request.costModel;
  options.fabric = request.fabric;
  options.axes = request.axes;
  auto costs = estimate(graph, machine, options);
  if (!costs)
    return costs.error();
  return planWith(std::move(*costs), std::move(graph), machine, request);
}

Result<Plan, Errors> planWith(Costs costs, WorkGraph graph, const Machine &machine,
                              const SingleDeviceRequest &request) {
  Plan plan;
  plan.job = request.job;
  plan.version = kVersion;
  plan.batch = request.batch;
  plan.machine = machine;
  if (!request.costModel.empty())
    plan.machine.costModel = request.costModel; // what priced the plan, not what the file states
  if (auto parameters = calibrate::calibratedParametersOf(machine); parameters && plan.machine.costModel.empty())
    plan.machine.host = calibrate::hostOverheadOf(graph, *parameters);
  plan.costs = costs;
  ScheduleOptions scheduling(request);
  scheduling.observe = request.observe;
  scheduling.subsets = request.subsets;
  scheduling.overlap = request.overlap && request.objective != Objective::Memory;
  auto schedule = scheduleStep(graph, plan.machine, plan.costs, scheduling);
  if (!schedule)
    return schedule.error();
  plan.schedule = std::move(*schedule);
  addRepeatCosts(graph, plan.schedule, plan.costs);
  CriticalPath path = CriticalPath::of(graph, Dependences::of(graph), durationsOf(graph, plan.costs));
  plan.timing = std::move(path.timing);
  plan.criticalPath = std::move(path.chain);
  plan.memory = liveness(graph, plan.schedule);
  plan.graph = std::move(graph);
  plan.assumptions = plan.costs.assumptions;
  if (!request.costModel.empty())
    plan.assumptions.push_back("times are by cost model '" + request.costModel + "', as asked for");
  bool energy = machine.energyPerFlop.value > 0 || !machine.energyPerFlopOf.empty() ||
                llvm::any_of(machine.memories, [](const Memory &m) { return m.energy.value > 0; });
  if (hasBoardPower(machine))
    plan.assumptions.push_back(fmt::format(
        "'{}' states its design power and no energy of its parts: its energy is that of the board by the law of "
        "docs/power.md, 90 of 100 measured powers are {:.2f} to {:.2f} times it; a limit of the power is held by the "
        "upper end",
        machine.name, kBoardPowerInterval.low, kBoardPowerInterval.high));
  else if (!energy)
    plan.assumptions.push_back(machine.idle.value > 0
                                   ? "energy is idle power only: the machine states no energy per operation or byte"
                                   : "energy is unknown: the machine states no power or energy");
  CandidateMetrics achieved = measureCandidate(plan);
  recordObjective(plan, request.objective, achieved);
  findConflicts(plan, request, achieved);
  auto overlaps = [](const RegionSchedule &region) { return region.overhang.value > 0; };
  if (!plan.feasible && llvm::any_of(plan.schedule.regions, overlaps)) {
    SingleDeviceRequest inOrder = request; // iterations one after the other keep less
    inOrder.overlap = false;
    return planWith(std::move(costs), std::move(plan.graph), machine, inOrder);
  }
  for (RegionId r = 0; r < plan.schedule.regions.size(); ++r)
    if (overlaps(plan.schedule.regions[r]))
      plan.assumptions.push_back(fmt::format(
          "iterations of '{}' overlap: each starts before the one ahead of it is over", plan.graph.regions[r].name));
  plan.excludedCandidates = !plan.feasible && isExcluded(plan, request);
  return plan;
}

Result<Plan, Errors> planSingleDevice(const SingleDeviceRequest &request, const Machine &machine) {
  std::vector<int64_t> sizes;
  for (int64_t size : request.microbatches)
    if (size > 0 && size <= request.batch && request.batch % size == 0)
      sizes.push_back(size);
  llvm::sort(sizes);
  sizes.erase(llvm::unique(sizes), sizes.end());
  if (sizes.empty())
    return Errors{{Code::BatchNotDivisible,
                   fmt::format("no micro-batch size in the search space divides the batch of {}", request.batch),
                   {},
                   {}}};

  using Outcome = Result<Plan, Errors>;
  std::vector<std::pair<int64_t, std::string>> candidates;
  for (const std::string &recompute : request.recomputes)
    for (int64_t size : sizes)
      candidates.emplace_back(size, recompute);
  std::vector<Outcome> outcomes(candidates.size());
  auto plan = [&](size_t i, WorkGraph graph) -> Outcome {
    if (!request.progress)
      return planFor(std::move(graph), machine, request);
    SingleDeviceRequest candidate = request;
    std::string where = fmt::format("micro-batch {}", candidates[i].first);
    if (candidates.size() > 1)
      where += fmt::format(" ({} of {})", i + 1, candidates.size());
    candidate.progress = [&](const SolveProgress &p) {
      request.progress({where + ", " + p.phase, p.incumbent, p.bound});
    };
    candidate.progress({"costs", 0, 0});
    return planFor(std::move(graph), machine, candidate);
  };
  // Stopped, the candidates that are planned will do; which they are depends on the moment.
  std::atomic<bool> some = false;
  std::vector<char> isSkipped(candidates.size());
  ThreadPool(std::min<size_t>(request.threads, candidates.size())).each(candidates.size(), [&](size_t i) {
    const auto &[size, recompute] = candidates[i];
    if (request.stopped() && some) {
      isSkipped[i] = true;
      return;
    }
    auto graph = request.instantiate(size, request.batch / size, recompute);
    outcomes[i] = graph ? plan(i, std::move(*graph)) : Outcome(Errors{graph.error()});
    some = true;
  });

  bool maximize = request.objective == Objective::Throughput;
  Outcome *best = nullptr;
  auto better = [&](const Plan &a, const Plan &b) {
    if (a.feasible != b.feasible)
      return a.feasible;
    if (!a.feasible)
      return a.memory.peak < b.memory.peak;
    return maximize ? a.objectiveValue > b.objectiveValue : a.objectiveValue < b.objectiveValue;
  };
  bool stopped = false, allExcluded = true;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    Outcome &outcome = outcomes[i];
    if (isSkipped[i]) {
      stopped = true, allExcluded = false;
      continue;
    }
    auto *plan = outcome.get();
    if (!plan)
      return outcome.error();
    stopped |= !plan->schedule.stopped.empty();
    allExcluded &= plan->excludedCandidates > 0;
    if (!best || better(*plan, *(*best)))
      best = &outcome;
  }
  Plan chosen = std::move(*(*best));
  chosen.excludedCandidates = allExcluded ? static_cast<int64_t>(candidates.size()) : 0;
  if (stopped)
    chosen.schedule.stopped = "interrupted";
  if (sizes.size() > 1)
    chosen.assumptions.push_back(fmt::format(
        "micro-batch sizes tried: {}; the bound is of the chosen one's own schedule", fmt::join(sizes, ", ")));
  if (request.recomputes.size() > 1)
    chosen.assumptions.push_back(
        fmt::format("recomputation tried: {}; the bound is of the chosen one", fmt::join(request.recomputes, ", ")));
  return chosen;
}

} // namespace accord
