#include "lib/jobs/schedule/JobConflicts.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include <algorithm>

namespace accord::jobs {
namespace {

using Of = JobConstraint::Of;

/// What all jobs together could use of a resource at once.
int64_t largestUse(const JobScheduleProblem &problem, unsigned resource) {
  __int128 sum = 0;
  for (const ScheduledJob &job : problem.jobs) {
    int64_t max = 0;
    for (const JobConfiguration &one : job.configurations)
      for (const ResourceUse &use : one.uses)
        if (use.resource == resource)
          max = std::max(max, use.amount);
    sum += max;
  }
  return static_cast<int64_t>(std::min<__int128>(sum, kMaxAllocationNumber));
}

std::vector<JobConstraint> constraintsOf(const JobScheduleProblem &problem) {
  std::vector<JobConstraint> all;
  for (unsigned j = 0; j < problem.jobs.size(); ++j)
    if (problem.jobs[j].deadline >= 0)
      all.push_back({Of::Deadline, j, 0});
  for (unsigned r = 0; r < problem.resources.size(); ++r)
    all.push_back({Of::Capacity, r, 0});
  for (unsigned l = 0; l < problem.limits.size(); ++l)
    all.push_back({Of::Limit, l, 0});
  for (unsigned j = 0; j < problem.jobs.size(); ++j)
    for (unsigned a = 0; a < problem.jobs[j].after.size(); ++a)
      all.push_back({Of::Dependence, j, a});
  for (unsigned j = 0; j < problem.jobs.size(); ++j)
    if (!problem.jobs[j].mayBeRejected)
      all.push_back({Of::MustRun, j, 0});
  return all;
}

class Explainer {
public:
  Explainer(const JobScheduleProblem &given, const SearchLimits &limits) : problem(given), limits(limits) {
    this->limits.gap = 1; // any schedule will do
    problem.objectives.clear();
  }

  std::optional<JobConflict> explain() {
    if (statusOf(problem) != AllocationStatus::Infeasible)
      return std::nullopt;
    JobConflict conflict;
    conflict.constraints = smallest();
    for (const JobConstraint &one : conflict.constraints)
      if (auto repair = cheapestRepair(one))
        conflict.repairs.push_back(*repair);
    return conflict;
  }

private:
  AllocationStatus statusOf(const JobScheduleProblem &other) const { return solveJobSchedule(other, limits).status; }
  bool isFeasible(const JobScheduleProblem &other) const {
    const AllocationStatus status = statusOf(other);
    return status == AllocationStatus::Optimal || status == AllocationStatus::Feasible;
  }

  /// Halves of the constraints are relaxed together first: of many, few matter.
  std::vector<JobConstraint> smallest() {
    std::vector<JobConstraint> all = constraintsOf(problem), kept;
    JobScheduleProblem now = problem;
    filter(all, 0, all.size(), now, kept);
    return kept;
  }
  void filter(const std::vector<JobConstraint> &all, size_t begin, size_t end, JobScheduleProblem &now,
              std::vector<JobConstraint> &kept) {
    if (begin == end)
      return;
    JobScheduleProblem without = now;
    for (size_t i = end; i-- > begin;) // dependences are named by their place: the last first
      without = relaxed(without, all[i]);
    if (!limits.stopped() && statusOf(without) == AllocationStatus::Infeasible) {
      now = std::move(without);
      return;
    }
    if (begin + 1 == end)
      return kept.push_back(all[begin]);
    // The later half first: places of dependences before it stay.
    std::vector<JobConstraint> later;
    const size_t middle = begin + (end - begin) / 2;
    filter(all, middle, end, now, later);
    filter(all, begin, middle, now, kept);
    kept.insert(kept.end(), later.begin(), later.end());
  }

  std::optional<JobRepair> cheapestRepair(const JobConstraint &constraint) {
    JobRepair repair{constraint, 0};
    if (!isFeasible(relaxed(problem, constraint)))
      return std::nullopt;
    int64_t low = 0, high = 0; // too little, enough
    switch (constraint.of) {
    case Of::Dependence:
    case Of::MustRun:
      return repair;
    case Of::Deadline:
      low = problem.jobs[constraint.index].deadline, high = problem.slot * problem.slots;
      break;
    case Of::Capacity:
      high = largestUse(problem, constraint.index);
      break;
    case Of::Limit:
      low = problem.limits[constraint.index].max;
      high = valueWithout(constraint);
      break;
    }
    while (low + 1 < high && !limits.stopped()) {
      repair.value = low + (high - low) / 2;
      (isFeasible(repaired(problem, repair)) ? high : low) = repair.value;
    }
    repair.value = high;
    return isFeasible(repaired(problem, repair)) ? std::optional(repair) : std::nullopt;
  }

  /// What the measure of a limit is in some schedule without it.
  int64_t valueWithout(const JobConstraint &constraint) const {
    JobScheduleProblem without = relaxed(problem, constraint);
    without.objectives = {problem.limits[constraint.index].measure};
    const JobSchedule found = solveJobSchedule(without, limits);
    return found.values.empty() ? kMaxAllocationNumber : found.values.front();
  }

  JobScheduleProblem problem;
  SearchLimits limits;
};

} // namespace

std::optional<JobConflict> explainConflict(const JobScheduleProblem &problem, const SearchLimits &limits) {
  return Explainer(problem, limits).explain();
}

JobScheduleProblem relaxed(const JobScheduleProblem &problem, const JobConstraint &constraint) {
  JobScheduleProblem made = problem;
  switch (constraint.of) {
  case Of::Deadline:
    made.jobs[constraint.index].deadline = -1;
    break;
  case Of::Capacity:
    for (int64_t &one : made.resources[constraint.index].capacity)
      one = std::max(one, largestUse(problem, constraint.index));
    break;
  case Of::Limit:
    made.limits[constraint.index].max = kMaxAllocationNumber;
    break;
  case Of::Dependence: {
    auto &after = made.jobs[constraint.index].after;
    after.erase(after.begin() + constraint.other);
    break;
  }
  case Of::MustRun:
    made.jobs[constraint.index].mayBeRejected = true;
    break;
  }
  return made;
}

JobScheduleProblem repaired(const JobScheduleProblem &problem, const JobRepair &repair) {
  const JobConstraint &constraint = repair.constraint;
  if (constraint.of == Of::Dependence || constraint.of == Of::MustRun)
    return relaxed(problem, constraint);
  JobScheduleProblem made = problem;
  if (constraint.of == Of::Deadline)
    made.jobs[constraint.index].deadline = repair.value;
  else if (constraint.of == Of::Limit)
    made.limits[constraint.index].max = repair.value;
  else
    for (int64_t &one : made.resources[constraint.index].capacity)
      one = std::min(kMaxAllocationNumber, one + repair.value);
  return made;
}

} // namespace accord::jobs
