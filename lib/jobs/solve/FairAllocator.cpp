#include "lib/jobs/solve/FairAllocator.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include <algorithm>

namespace accord::jobs {
namespace {

/// Shares of a tenant are told apart up to so many devices.
constexpr int64_t kMaxShares = 100'000;

class FairSearch {
public:
  FairSearch(const FairProblem &problem, const SearchLimits &limits)
      : problem(problem), limits(limits), layers(layersOf(problem)) {}

  Result<FairSolution> search() {
    reserve();
    if (!begin())
      return finish();
    for (unsigned layer = 0; layer < layers.size(); ++layer)
      if (isSum(layers[layer]))
        maximizeSum(layer);
      else
        maximizeLevels(layer);
    keepRunning();
    const bool optimal =
        std::ranges::all_of(made.steps, [](const FairStep &step) { return step.value == step.bound; }) &&
        std::ranges::all_of(made.reserves, [](const FairReserve &reserve) {
          return reserve.solution.status == AllocationStatus::Optimal;
        });
    made.status = optimal ? AllocationStatus::Optimal : AllocationStatus::Feasible;
    return finish();
  }

private:
  Result<FairSolution> finish() {
    if (!outOfRange)
      return outOfRange.takeError();
    return std::move(made);
  }

  /// Solves a problem, unless its sums are out of range.
  AllocationSolution solve(const AllocationProblem &allocation, const SearchLimits &with) {
    if (auto checked = checkAllocationProblem(allocation); !checked) {
      outOfRange = std::move(checked);
      return {};
    }
    return solveAllocation(allocation, with);
  }

  void reserve() {
    for (unsigned t = 0; t < problem.tenants.size(); ++t)
      for (unsigned a = 0; a < problem.tenants[t].guaranteed.size(); ++a) {
        SearchLimits exact = limits;
        exact.gap = 0;
        made.reserves.push_back({t, a, solve(reserveProblem(problem, t, a), exact)});
      }
  }

  /// A first allocation; false if there is none.
  bool begin() {
    AllocationSolution solution = solve(stepProblem(problem, made.reserves, {}, nullptr).allocation, limits);
    if (!take(solution)) {
      made.status = solution.status;
      made.infeasibility = std::move(solution.proof);
      return false;
    }
    return true;
  }

  /// Takes the choice of a solution, if it has one.
  bool take(const AllocationSolution &solution) {
    if (solution.choice.empty() && !problem.jobs.empty())
      return false;
    if (solution.status == AllocationStatus::Infeasible || solution.status == AllocationStatus::Unknown)
      return false;
    made.choice.assign(problem.jobs.size(), -1);
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      const FairJob &job = problem.jobs[j];
      if (job.pinned)
        made.choice[j] = job.running;
      else if (solution.choice[j] < static_cast<int64_t>(job.configurations.size()))
        made.choice[j] = solution.choice[j];
    }
    return true;
  }

  int64_t sumOf(const FairLayer &layer) const {
    int64_t sum = 0;
    for (unsigned job : layer.members)
      sum += termOf(problem, layer.objective, job, made.choice[job]);
    return sum;
  }

  int64_t tenantDevices(unsigned tenant) const {
    int64_t devices = 0;
    for (size_t j = 0; j < problem.jobs.size(); ++j)
      if (made.choice[j] >= 0 && belongsTo(problem, problem.jobs[j], tenant))
        devices += devicesOf(problem, problem.jobs[j].configurations[made.choice[j]]);
    return devices;
  }

  /// The levels of all members, ascending.
  std::vector<int64_t> levels(const FairLayer &layer) const {
    std::vector<int64_t> of;
    for (unsigned member : layer.members)
      of.push_back(layer.ofTenants ? tenantLevel(problem.tenants[member], tenantDevices(member))
                                   : levelOf(problem, layer.objective, member, made.choice[member]));
    std::ranges::sort(of);
    return of;
  }
  static int64_t countAbove(const std::vector<int64_t> &levels, int64_t level) {
    return levels.end() - std::ranges::upper_bound(levels, level);
  }

  /// Maximizes a step, takes its choice if that is better, and keeps its value.
  void maximizeStep(FairStep step) {
    StepProblem problemOfStep = stepProblem(problem, made.reserves, made.steps, &step);
    AllocationSolution solution = solve(problemOfStep.allocation, limits);
    const FairLayer &layer = layers[step.layer];
    auto valueNow = [&] { return isSum(layer) ? sumOf(layer) : countAbove(levels(layer), step.level); };
    step.value = valueNow();
    step.bound = solution.bound - problemOfStep.offset;
    auto tryOut = [&](const AllocationSolution &found) {
      const std::vector<int64_t> incumbent = made.choice;
      if (!take(found))
        return;
      if (const int64_t value = valueNow(); value >= step.value)
        step.value = value;
      else
        made.choice = incumbent;
    };
    tryOut(solution);
    if (step.value < step.bound && !layer.ofTenants && layer.members.size() < problem.jobs.size())
      tryOut(solveWithin(std::move(problemOfStep.allocation), layer));
    step.proof = std::move(solution.proof);
    made.steps.push_back(std::move(step));
  }

  /// A choice where jobs that are no members of a layer keep their configurations.
  AllocationSolution solveWithin(AllocationProblem allocation, const FairLayer &layer) {
    std::vector<int64_t> slots(problem.jobs.size(), -1); // of those that keep theirs
    for (unsigned j = 0; j < problem.jobs.size(); ++j) {
      if (std::ranges::binary_search(layer.members, j))
        continue;
      std::vector<Configuration> &configurations = allocation.jobs[j].configurations;
      const bool waits = made.choice[j] < 0;
      slots[j] = problem.jobs[j].pinned ? 0 : waits ? static_cast<int64_t>(configurations.size()) - 1 : made.choice[j];
      configurations = {configurations[slots[j]]};
    }
    AllocationSolution solution = solve(allocation, limits);
    for (size_t j = 0; j < slots.size() && !solution.choice.empty(); ++j)
      if (slots[j] >= 0)
        solution.choice[j] = slots[j];
    return solution;
  }

  void maximizeSum(unsigned layer) { maximizeStep({layer, 0, 0, 0, {}}); }

  /// Levels that members can have, ascending, each once.
  std::vector<int64_t> levelsThere(const FairLayer &layer) const {
    std::vector<int64_t> there;
    for (unsigned member : layer.members) {
      if (!layer.ofTenants) {
        const auto count = static_cast<int64_t>(problem.jobs[member].configurations.size());
        for (int64_t k = -1; k < count; ++k)
          there.push_back(levelOf(problem, layer.objective, member, k));
        continue;
      }
      int64_t all = 0;
      for (const FairResource &resource : problem.resources)
        all += resource.devices ? std::min(resource.capacity, kMaxShares) : 0;
      for (int64_t devices = 0; devices <= std::min(all, kMaxShares); ++devices)
        there.push_back(tenantLevel(problem.tenants[member], devices));
    }
    std::ranges::sort(there);
    there.erase(std::unique(there.begin(), there.end()), there.end());
    return there;
  }

  /// Whether so many members of a layer can be above a level, beside the steps so far; then takes such a choice.
  bool canBeAbove(unsigned layer, int64_t level, int64_t members) {
    std::vector<FairStep> kept = made.steps;
    kept.push_back({layer, level, members, members, {}});
    return take(solve(stepProblem(problem, made.reserves, kept, nullptr).allocation, limits));
  }

  void maximizeLevels(unsigned layer) {
    const std::vector<int64_t> there = levelsThere(layers[layer]);
    auto counted = static_cast<int64_t>(layers[layer].members.size()); // members that are not yet at their level
    for (unsigned steps = 0; outOfRange && counted > 0 && (problem.maxSteps == 0 || steps < problem.maxSteps);) {
      // The smallest level of those counted: at least that of the choice so far.
      auto smallest = [&] {
        const std::vector<int64_t> now = levels(layers[layer]);
        return static_cast<size_t>(std::ranges::lower_bound(there, now[now.size() - counted]) - there.begin());
      };
      size_t low = smallest(), high = there.size();
      while (low + 1 < high) {
        const size_t middle = low + (high - low) / 2;
        if (canBeAbove(layer, there[middle] - 1, counted))
          low = std::max(middle, smallest());
        else
          high = middle;
      }
      maximizeStep({layer, there[std::min(low, there.size() - 1)], 0, 0, {}});
      if (made.steps.back().value == counted) { // the bisection was not exact, and now all are above
        made.steps.pop_back();
        continue;
      }
      counted = made.steps.back().value;
      ++steps;
    }
  }

  int64_t keptNow() const {
    int64_t kept = 0;
    for (size_t j = 0; j < problem.jobs.size(); ++j)
      kept += problem.jobs[j].running >= 0 && made.choice[j] == problem.jobs[j].running;
    return kept;
  }

  void keepRunning() {
    made.kept = keptNow();
    if (std::ranges::none_of(problem.jobs, [](const FairJob &job) { return job.running >= 0 && !job.pinned; }))
      return;
    AllocationProblem last = stepProblem(problem, made.reserves, made.steps, nullptr).allocation;
    for (size_t j = 0; j < problem.jobs.size(); ++j)
      if (const FairJob &job = problem.jobs[j]; job.running >= 0)
        last.jobs[j].configurations[job.pinned ? 0 : job.running].value = 1;
    const std::vector<int64_t> incumbent = made.choice;
    if (take(solve(last, limits)) && keptNow() > made.kept)
      made.kept = keptNow();
    else
      made.choice = incumbent;
  }

  const FairProblem &problem;
  const SearchLimits &limits;
  const std::vector<FairLayer> layers;
  FairSolution made;
  Result<void> outOfRange; ///< of the last problem that was
};

} // namespace

Result<FairSolution> allocateFairly(const FairProblem &problem, const SearchLimits &limits) {
  if (auto checked = checkFairProblem(problem); !checked)
    return checked.takeError();
  return FairSearch(problem, limits).search();
}

} // namespace accord::jobs
