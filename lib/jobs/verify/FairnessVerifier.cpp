#include "lib/jobs/verify/FairnessVerifier.h"
#include "lib/jobs/verify/AllocationVerifier.h"
#include "lib/jobs/verify/FairnessRows.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {
__extension__ using Wide = __int128;

Error wrong(std::string message) { return {Code::WrongAllocationProblem, std::move(message)}; }

class FairCheck {
public:
  FairCheck(const FairProblem &problem, const FairSolution &solution)
      : problem(problem), solution(solution), layers(layersOf(problem)) {}

  Result<void> run() {
    if (auto checked = checkReserves(); !checked)
      return checked;
    if (solution.status == AllocationStatus::Infeasible || solution.status == AllocationStatus::Unknown)
      return checkNone();
    for (const FairLayer &layer : layers)
      for (unsigned member : layer.ofTenants ? std::vector<unsigned>{} : layer.members)
        if (auto checked = checkDefinition(layer, member); !checked)
          return checked;
    if (auto checked = checkChoice(); !checked)
      return checked;
    if (auto checked = checkTenants(); !checked)
      return checked;
    return checkSteps();
  }

private:
  Result<void> checkReserves() {
    size_t at = 0;
    for (unsigned t = 0; t < problem.tenants.size(); ++t)
      for (unsigned a = 0; a < problem.tenants[t].guaranteed.size(); ++a, ++at) {
        if (at >= solution.reserves.size() || solution.reserves[at].tenant != t || solution.reserves[at].amount != a)
          return wrong(fmt::format("tenant '{}' has no reserve for guarantee {}", problem.tenants[t].name, a));
        const AllocationSolution &reserve = solution.reserves[at].solution;
        if (auto checked = verifyAllocation(guaranteeRows(problem, t, a), reserve); !checked)
          return checked;
        optimal = optimal && reserve.status == AllocationStatus::Optimal;
      }
    if (at != solution.reserves.size())
      return wrong(fmt::format("there are {} reserves for {} guarantees", solution.reserves.size(), at));
    return {};
  }

  Result<void> checkNone() {
    if (!solution.choice.empty() || !solution.steps.empty())
      return wrong("there is no allocation, but a choice");
    if (solution.status == AllocationStatus::Unknown)
      return {};
    return verifyAllocation(stepRows(problem, solution, 0, nullptr).allocation,
                            {AllocationStatus::Infeasible, {}, 0, -1, solution.infeasibility});
  }

  /// By inequalities for levels, in extended precision for terms.
  Result<void> checkDefinition(const FairLayer &layer, unsigned number) const {
    const FairJob &job = problem.jobs[number];
    int64_t fastest = 0;
    for (const FairConfiguration &one : job.configurations)
      fastest = std::max(fastest, one.rate);
    for (int64_t k = -1; k < static_cast<int64_t>(job.configurations.size()); ++k) {
      const int64_t rate = k < 0 ? 0 : job.configurations[k].rate;
      bool holds = true;
      if (isSum(layer))
        holds = termHolds(layer.objective, job, rate, termOf(problem, layer.objective, number, k));
      else if (layer.objective == FairObjective::MaxMin)
        holds = shareHolds(job, rate, levelOf(problem, layer.objective, number, k));
      else if (fastest > 0)
        holds = ratioHolds(job, k < 0 ? fastest : rate, k < 0 ? problem.waitSeconds : 0,
                           -levelOf(problem, layer.objective, number, k));
      if (!holds)
        return wrong(fmt::format("configuration {} of job {} does not have the level or term of '{}'", k, number,
                                 nameOf(layer.objective)));
    }
    return {};
  }

  static bool shareHolds(const FairJob &job, int64_t rate, int64_t level) {
    const Wide share = Wide(job.isolated) * job.weight, scaled = Wide(rate) * kFairScale;
    const bool below = share * level <= scaled, above = share * (Wide(level) + 1) > scaled;
    return below && (above || level == kMaxAllocationNumber);
  }

  static bool ratioHolds(const FairJob &job, int64_t rate, int64_t wait, int64_t ratio) {
    const Wide isolated = Wide(rate) * job.isolatedSeconds;
    const Wide shared = (Wide(rate) * (Wide(job.age) + wait) + job.remaining) * kFairScale;
    return (isolated * ratio >= shared || ratio == kMaxAllocationNumber) && isolated * (Wide(ratio) - 1) < shared;
  }

  bool termHolds(FairObjective objective, const FairJob &job, int64_t rate, int64_t term) const {
    if (rate == 0)
      return term == 0;
    if (objective == FairObjective::Throughput)
      return term == std::min(Wide(rate) * job.weight, Wide(kMaxAllocationNumber));
    const long double share = static_cast<long double>(rate) / job.isolated;
    long double exact = 0;
    if (objective == FairObjective::Nash) {
      const long double floor = static_cast<long double>(problem.waitShare) / kFairScale;
      exact = share > floor ? (std::log(share) - std::log(floor)) / std::log(2.0L) : 0;
    } else {
      const long double power = std::exp(static_cast<long double>(problem.power) * std::log(share));
      exact = problem.waitCost + (problem.power < 0 ? -power : power);
    }
    const long double scaled = std::clamp<long double>(exact, -1e6L, 1e6L) * kFairScale * job.weight;
    return std::abs(term) == kMaxAllocationNumber || std::abs(scaled - term) <= 0.51L * job.weight + 1;
  }

  Result<void> checkChoice() const {
    if (solution.choice.size() != problem.jobs.size())
      return wrong(fmt::format("the choice has {} jobs of {}", solution.choice.size(), problem.jobs.size()));
    std::vector<Wide> used(problem.resources.size(), 0);
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      const FairJob &job = problem.jobs[j];
      const int64_t chosen = solution.choice[j];
      if (chosen < -1 || chosen >= static_cast<int64_t>(job.configurations.size()))
        return wrong(fmt::format("job {} runs in configuration {} of {}", j, chosen, job.configurations.size()));
      if (job.pinned && chosen != job.running)
        return wrong(fmt::format("job {} is pinned, but runs in configuration {}", j, chosen));
      if (chosen >= 0)
        for (const ResourceUse &use : job.configurations[chosen].uses)
          used[use.resource] += use.amount;
    }
    for (size_t r = 0; r < used.size(); ++r)
      if (used[r] > problem.resources[r].capacity)
        return wrong(
            fmt::format("more than {} of '{}' is used", problem.resources[r].capacity, problem.resources[r].name));
    return {};
  }

  /// Devices that a tenant and those below it have of a resource; of all with -1.
  Wide devicesHeld(unsigned tenant, int64_t resource) const {
    Wide held = 0;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      int64_t at = problem.jobs[j].tenant;
      while (at >= 0 && at != tenant)
        at = problem.tenants[at].parent;
      if (at < 0 || solution.choice[j] < 0)
        continue;
      for (const ResourceUse &use : problem.jobs[j].configurations[solution.choice[j]].uses)
        if (problem.resources[use.resource].devices && (resource < 0 || use.resource == resource))
          held += use.amount;
    }
    return held;
  }

  Result<void> checkTenants() const {
    for (unsigned t = 0; t < problem.tenants.size(); ++t)
      for (const TenantAmount &quota : problem.tenants[t].quota)
        if (devicesHeld(t, quota.resource) > quota.amount)
          return wrong(fmt::format("tenant '{}' has more than its quota of {}", problem.tenants[t].name, quota.amount));
    for (const FairReserve &reserve : solution.reserves)
      if (devicesHeld(reserve.tenant, problem.tenants[reserve.tenant].guaranteed[reserve.amount].resource) <
          reserve.solution.value)
        return wrong(fmt::format("tenant '{}' does not have the {} devices that it is sure of",
                                 problem.tenants[reserve.tenant].name, reserve.solution.value));
    return {};
  }

  /// Members of a layer with at least a level.
  int64_t countFrom(const FairLayer &layer, Wide level) const {
    int64_t count = 0;
    for (unsigned member : layer.members)
      if (layer.ofTenants) // 10^6 * devices / weight >= level
        count += devicesHeld(member, -1) * kFairScale >= level * problem.tenants[member].weight;
      else
        count += levelOf(problem, layer.objective, member, solution.choice[member]) >= level;
    return count;
  }

  Result<void> checkSteps() {
    size_t at = 0;
    for (unsigned layer = 0; layer < layers.size(); ++layer) {
      auto previous = static_cast<int64_t>(layers[layer].members.size());
      unsigned steps = 0;
      for (; at < solution.steps.size() && solution.steps[at].layer == layer; ++at, ++steps) {
        if (auto checked = checkStep(at, previous); !checked)
          return checked;
        previous = solution.steps[at].value;
      }
      const bool ends = isSum(layers[layer]) ? steps == 1 : previous == 0 || (steps > 0 && steps == problem.maxSteps);
      if (!ends)
        return wrong(fmt::format("objective {} is not maximized to its end", layer));
    }
    if (at != solution.steps.size())
      return wrong(fmt::format("step {} is of objective {}, after one of its own", at, solution.steps[at].layer));
    if ((solution.status == AllocationStatus::Optimal) != optimal)
      return wrong("the status does not follow from values and bounds");
    return {};
  }

  Result<void> checkStep(size_t at, int64_t previous) {
    const FairStep &step = solution.steps[at];
    const FairLayer &layer = layers[step.layer];
    constexpr int64_t kMax = int64_t(1) << 61;
    if (std::abs(step.level) > kMax || std::abs(step.bound) > kMax)
      return wrong(
          fmt::format("step {} has level {} and bound {}, which are out of range", at, step.level, step.bound));
    Wide value = 0;
    if (isSum(layer))
      for (unsigned job : layer.members)
        value += termOf(problem, layer.objective, job, solution.choice[job]);
    else {
      value = countFrom(layer, Wide(step.level) + 1);
      if (countFrom(layer, step.level) < previous || step.value >= previous)
        return wrong(
            fmt::format("step {} says level {}, which is not the smallest of {} members", at, step.level, previous));
    }
    // What comes after a step that is not at its bound may be better in it than it says.
    if (value < step.value || (value > step.value && step.value == step.bound))
      return wrong(fmt::format("step {} has value {}, but {} is said", at, static_cast<int64_t>(value), step.value));
    if (step.bound < step.value)
      return wrong(fmt::format("step {} has bound {}, below its value {}", at, step.bound, step.value));
    optimal = optimal && step.bound == step.value;
    const StepProblem made = stepRows(problem, solution, at, &step);
    return verifyAllocation(made.allocation, {AllocationStatus::Unknown, {}, 0, step.bound + made.offset, step.proof});
  }

  const FairProblem &problem;
  const FairSolution &solution;
  const std::vector<FairLayer> layers;
  bool optimal = true;
};

} // namespace

Result<void> verifyFairAllocation(const FairProblem &problem, const FairSolution &solution) {
  if (auto checked = checkFairProblem(problem); !checked)
    return checked;
  return FairCheck(problem, solution).run();
}

} // namespace accord::jobs
