#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/solve/AllocationSearch.h"
#include <algorithm>

namespace accord::jobs {
namespace {

/// At the default effort of 10 branch and bound prices 1.5 * 10^8 options and uses, or does as much other work, the
/// dynamic program makes 5 * 10^6 states, and a proof has at most 40,000 nodes.
constexpr uint64_t kWork = 150'000, kTable = 5'000, kNodes = 40;
constexpr unsigned kMaxDoublings = 16;

SearchBudget budgetOf(unsigned effort) {
  const unsigned doublings = std::min(effort, kMaxDoublings);
  if (doublings == 0)
    return {0, 1, 0};
  return {kWork << doublings, kNodes << doublings, kTable << doublings};
}

AllocationStatus statusOf(const SearchAnswer &answer) {
  if (answer.found.found())
    return answer.bound == answer.found.value ? AllocationStatus::Optimal : AllocationStatus::Feasible;
  return answer.bound < 0 ? AllocationStatus::Infeasible : AllocationStatus::Unknown;
}

} // namespace

AllocationSolution solveAllocation(const AllocationProblem &problem, const SearchLimits &limits) {
  const CompactAllocation compacted = compact(problem);
  SearchAnswer answer = searchAllocation(compacted, budgetOf(limits.effort), limits);
  AllocationSolution solution;
  solution.status = statusOf(answer);
  solution.bound = answer.bound;
  solution.proof = std::move(answer.proof);
  if (!answer.found.found())
    return solution;
  solution.value = answer.found.value;
  solution.choice.assign(problem.jobs.size(), -1);
  for (size_t job = 0; job < compacted.jobs(); ++job) {
    const unsigned slot = compacted.options[answer.found.option[job]].slots.front();
    if (slot < problem.jobs[compacted.original[job]].configurations.size())
      solution.choice[compacted.original[job]] = slot;
  }
  return solution;
}

} // namespace accord::jobs
