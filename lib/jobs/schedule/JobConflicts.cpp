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
    conflict.constraints = smallest(problem);
    for (const JobConstraint &one : conflict.constraints)
      if (!limits.stopped() && isFeasible(relaxed(problem, one)))
        if (auto repair = cheapestRepair(problem, one))
          conflict.repairs.push_back(*repair);
    if (conflict.repairs.empty() && !limits.stopped())
      conflict.together = repairTogether(conflict.constraints);
    return conflict;
  }

private:
  AllocationStatus statusOf(const JobScheduleProblem &other) const { return solveJobSchedule(other, limits).status; }
  bool isFeasible(const JobScheduleProblem &other) const {
    const AllocationStatus status = statusOf(other);
    return status == AllocationStatus::Optimal || status == AllocationStatus::Feasible;
  }

  /// A job that cannot run by itself is a conflict of its own, which is found without the others.
  std::vector<JobConstraint> smallest(const JobScheduleProblem &of) const {
    for (unsigned j = 0; j < of.jobs.size() && !limits.stopped(); ++j) {
      JobScheduleProblem alone = of;
      alone.jobs = {of.jobs[j]};
      alone.jobs[0].after.clear();
      alone.limits.clear();
      if (statusOf(alone) != AllocationStatus::Infeasible)
        continue;
      std::vector<JobConstraint> kept = filtered(alone);
      for (JobConstraint &one : kept)
        if (one.of != Of::Capacity)
          one.index = j;
      return kept;
    }
    return filtered(of);
  }

  /// Halves of the constraints are relaxed together first: of many, few matter.
  std::vector<JobConstraint> filtered(JobScheduleProblem now) const {
    std::vector<JobConstraint> all = constraintsOf(now), kept;
    filter(all, 0, all.size(), now, kept);
    return kept;
  }
  void filter(const std::vector<JobConstraint> &all, size_t begin, size_t end, JobScheduleProblem &now,
              std::vector<JobConstraint> &kept) const {
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

  /// The smallest change of one constraint with which a problem has a schedule; without the constraint it has one.
  std::optional<JobRepair> cheapestRepair(const JobScheduleProblem &of, const JobConstraint &constraint) const {
    JobRepair repair{constraint, 0};
    int64_t low = 0, high = 0; // too little, enough
    switch (constraint.of) {
    case Of::Dependence:
    case Of::MustRun:
      return repair;
    case Of::Deadline:
      low = of.jobs[constraint.index].deadline, high = latestDeadline(of, of.jobs[constraint.index]);
      break;
    case Of::Capacity:
      high = largestUse(of, constraint.index);
      break;
    case Of::Limit:
      low = of.limits[constraint.index].max;
      high = valueWithout(of, constraint);
      break;
    }
    // Where trajectories are generated, each try is a search: the last digits are left out, on the safe side.
    const int64_t step = canListTrajectories(of) ? 1 : std::max<int64_t>(1, (high - low) / 64);
    while (high - low > step && !limits.stopped()) {
      repair.value = low + (high - low) / 2;
      (isFeasible(repaired(of, repair)) ? high : low) = repair.value;
    }
    repair.value = high;
    return isFeasible(repaired(of, repair)) ? std::optional(repair) : std::nullopt;
  }

  /// A deadline with which nothing that a job may do misses it.
  static int64_t latestDeadline(const JobScheduleProblem &of, const ScheduledJob &job) {
    if (!job.mayContinue)
      return of.slot * of.slots;
    int64_t fastest = 1;
    for (const JobConfiguration &one : job.configurations)
      fastest = std::max(fastest, one.speed);
    return std::min(kMaxSeconds, endOf(of, job) + (job.work + fastest - 1) / fastest);
  }

  /// What the measure of a limit is in some schedule without it.
  int64_t valueWithout(const JobScheduleProblem &of, const JobConstraint &constraint) const {
    JobScheduleProblem without = relaxed(of, constraint);
    without.objectives = {of.limits[constraint.index].measure};
    const JobSchedule found = solveJobSchedule(without, limits);
    return found.values.empty() ? kMaxAllocationNumber : found.values.front();
  }

  /// Relaxes one constraint of each conflict, the first of the next conflict and so on, until there is a schedule; then
  /// each of them as little as the others allow.
  std::vector<JobRepair> repairTogether(std::vector<JobConstraint> conflict) const {
    std::vector<JobConstraint> changed;
    JobScheduleProblem now = problem;
    for (size_t round = 0; round < kMaxTogether && !limits.stopped(); ++round) {
      if (conflict.empty() || conflict.front().of == Of::Dependence) // whose place would be another one afterwards
        return {};
      changed.push_back(conflict.front());
      now = relaxed(now, conflict.front());
      if (statusOf(now) != AllocationStatus::Infeasible)
        break;
      conflict = smallest(now);
    }
    if (!isFeasible(now))
      return {};
    std::vector<JobRepair> repairs;
    for (size_t i = 0; i < changed.size(); ++i) {
      JobScheduleProblem others = problem; // those before as they are repaired, those after relaxed
      for (const JobRepair &one : repairs)
        others = repaired(others, one);
      for (size_t k = i + 1; k < changed.size(); ++k)
        others = relaxed(others, changed[k]);
      auto repair = cheapestRepair(others, changed[i]);
      if (!repair)
        return {};
      repairs.push_back(*repair);
    }
    return repairs;
  }

  static constexpr size_t kMaxTogether = 50;
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
