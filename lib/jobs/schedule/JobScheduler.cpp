#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/ScheduleRepair.h"
#include "lib/jobs/schedule/TrajectoryGenerator.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/schedule/TrajectoryNeighborhoods.h"
#include "lib/jobs/schedule/TrajectoryProblem.h"
#include <algorithm>

namespace accord::jobs {
namespace {

class ListedScheduler {
public:
  ListedScheduler(const JobScheduleProblem &problem, const TrajectoryLists &lists, const SearchLimits &limits,
                  const std::vector<JobTrajectory> &known)
      : problem(problem), lists(lists), limits(limits), known(known) {}

  JobSchedule run() {
    for (size_t objective = 0; objective < problem.objectives.size();) {
      if (!improve(objective))
        return std::move(made);
      objective = firstImproved(objective);
    }
    if (problem.objectives.empty() && !anySchedule())
      return std::move(made);
    made.values = values();
    made.status = AllocationStatus::Optimal;
    for (size_t i = 0; i < made.proofs.size(); ++i)
      if (made.values[i] > made.proofs[i].bound)
        made.status = AllocationStatus::Feasible;
    return std::move(made);
  }

private:
  std::vector<int64_t> values() const {
    std::vector<int64_t> all;
    for (JobMeasure measure : problem.objectives)
      all.push_back(valueOf(problem, measure, made.jobs));
    return all;
  }

  ObjectiveStage stageOf(size_t objective) const {
    ObjectiveStage stage;
    stage.limits = problem.limits;
    for (size_t i = 0; i < objective; ++i)
      stage.limits.push_back({problem.objectives[i], made.values[i]});
    if (objective < problem.objectives.size())
      stage.measure = problem.objectives[objective];
    return stage;
  }

  /// After an objective: the next one, or one before it that the new schedule has improved: its proof was of a larger
  /// limit, and lists of trajectories follow from limits.
  size_t firstImproved(size_t objective) {
    const std::vector<int64_t> now = values();
    for (size_t i = 0; i <= objective; ++i)
      if (now[i] < made.values[i]) {
        made.values.resize(i), made.proofs.resize(i);
        return i;
      }
    return objective + 1;
  }

  /// Starts an objective with the known schedule, where that is better.
  void takeKnown(size_t objective) {
    if (known.empty())
      return;
    ObjectiveStage stage = stageOf(objective);
    stage.max = kUnlimited;
    ScheduleRepair(problem, stage).offer(made.jobs, known);
  }

  /// A schedule without an objective.
  bool anySchedule() {
    ObjectiveStage stage = stageOf(0);
    stage.measure = JobMeasure::Completion;
    const TrajectoryProblem all(problem, lists, stage);
    return take(all, all.solve(limits));
  }

  /// Takes the schedule of a solution; without one, says what is known.
  bool take(const TrajectoryProblem &of, AllocationSolution solution) {
    if (solution.status == AllocationStatus::Optimal || solution.status == AllocationStatus::Feasible) {
      made.jobs = of.trajectories(solution.choice);
      return true;
    }
    made = JobSchedule{};
    made.status = solution.status;
    if (solution.status == AllocationStatus::Infeasible)
      made.proofs.push_back({0, std::move(solution.proof), {}, 1});
    return false;
  }

  bool improve(size_t objective) {
    takeKnown(objective);
    const bool hasSchedule = !made.jobs.empty() || problem.jobs.empty();
    if (!isSum(problem.objectives[objective]))
      return minimizeMax(objective, hasSchedule);
    const TrajectoryProblem of(problem, lists, stageOf(objective));
    AllocationSolution solution = of.solve(limits);
    JobScheduleProof proof{of.offset() - solution.bound, solution.proof, {}, 1};
    const std::vector<JobTrajectory> incumbent = made.jobs;
    const bool isSolved = solution.status == AllocationStatus::Optimal || solution.status == AllocationStatus::Feasible;
    if (!isSolved && hasSchedule && solution.status == AllocationStatus::Unknown)
      solution.status = AllocationStatus::Unknown; // the schedule so far stays
    else if (!take(of, std::move(solution)))
      return false;
    const JobMeasure measure = problem.objectives[objective];
    if (!incumbent.empty() && valueOf(problem, measure, incumbent) < valueOf(problem, measure, made.jobs))
      made.jobs = incumbent;
    if (const std::vector<int64_t> choice = of.choiceOf(made.jobs); !choice.empty())
      made.jobs = of.trajectories(improveChoice(of.allocation(), choice, of.offset() - proof.bound, limits));
    made.values.push_back(valueOf(problem, measure, made.jobs));
    made.proofs.push_back(std::move(proof));
    return true;
  }

  /// The values that a max measure can have, ascending, as far as they are above what each job has at least.
  std::vector<int64_t> candidates(JobMeasure measure, int64_t upTo) const {
    std::vector<int64_t> all{0};
    for (size_t j = 0; j < lists.size(); ++j)
      for (const JobTrajectory &trajectory : lists[j])
        if (const int64_t term = termOf(problem, measure, problem.jobs[j], trajectory); term < upTo)
          all.push_back(term);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  bool minimizeMax(size_t objective, bool hasSchedule) {
    const JobMeasure measure = problem.objectives[objective];
    if (!hasSchedule) {
      ObjectiveStage stage = stageOf(0); // without objectives before: this is the first
      stage.measure = JobMeasure::Completion;
      const TrajectoryProblem any(problem, lists, stage);
      SearchLimits quick = limits;
      quick.gap = 1;
      if (!take(any, any.solve(quick)))
        return false;
    }
    int64_t value = valueOf(problem, measure, made.jobs);
    std::vector<int64_t> below; // candidates; of groups any number
    if (measure != JobMeasure::Group)
      below = candidates(measure, value);
    int64_t low = -1, high = measure == JobMeasure::Group ? value : static_cast<int64_t>(below.size());
    JobScheduleProof proof;
    proof.bound = 0;
    bool isOpen = false;
    while (high - low > 1 && !isOpen) {
      const int64_t middle = low + (high - low) / 2;
      ObjectiveStage stage = stageOf(objective);
      stage.max = measure == JobMeasure::Group ? middle : below[middle];
      const TrajectoryProblem of(problem, lists, stage);
      AllocationSolution solution = of.solve(limits);
      if (solution.status == AllocationStatus::Infeasible) {
        low = middle;
      } else if (solution.status == AllocationStatus::Unknown) {
        isOpen = true;
      } else {
        made.jobs = of.trajectories(solution.choice);
        value = valueOf(problem, measure, made.jobs);
        high =
            measure == JobMeasure::Group ? value : std::lower_bound(below.begin(), below.end(), value) - below.begin();
      }
    }
    if (isOpen) // what was proved
      high = low + 1;
    proof.bound = measure == JobMeasure::Group || isOpen ? high : value;
    if (measure != JobMeasure::Group && isOpen)
      proof.bound = low < 0 ? 0 : below[low] + 1;
    prove(objective, proof);
    made.values.push_back(value);
    made.proofs.push_back(std::move(proof));
    return true;
  }

  /// Proves that nothing has less than the bound of a max; a bound of 0 needs no proof.
  void prove(size_t objective, JobScheduleProof &proof) {
    if (proof.bound <= 0)
      return;
    ObjectiveStage stage = stageOf(objective);
    stage.max = proof.bound - 1;
    AllocationSolution solution = TrajectoryProblem(problem, lists, stage).solve(limits);
    if (solution.status == AllocationStatus::Infeasible)
      proof.allocation = std::move(solution.proof);
    else
      proof.bound = 0;
  }

  const JobScheduleProblem &problem;
  const TrajectoryLists &lists;
  const SearchLimits &limits;
  const std::vector<JobTrajectory> &known;
  JobSchedule made;
};

} // namespace

bool canListTrajectories(const JobScheduleProblem &problem) {
  size_t left = kMaxTrajectories;
  return std::ranges::all_of(problem.jobs, [&](const ScheduledJob &job) {
    const auto count = countTrajectories(problem, job, left);
    left -= count.value_or(0);
    return count.has_value();
  });
}

/// The trajectories of all jobs; nothing where they are too many.
static std::optional<TrajectoryLists> listAll(const JobScheduleProblem &problem) {
  if (!canListTrajectories(problem))
    return std::nullopt;
  TrajectoryLists lists;
  size_t left = kMaxTrajectories;
  for (const ScheduledJob &job : problem.jobs) {
    auto list = listTrajectories(problem, job, left);
    if (!list)
      return std::nullopt;
    left -= list->size();
    lists.push_back(std::move(*list));
  }
  return lists;
}

/// Among schedules that are as good, one whose jobs do not wait for nothing.
static void beginEarly(const JobScheduleProblem &problem, JobSchedule &found) {
  if (found.jobs.empty())
    return;
  ObjectiveStage stage;
  stage.limits = problem.limits;
  for (size_t i = 0; i < found.values.size(); ++i)
    stage.limits.push_back({problem.objectives[i], found.values[i]});
  std::vector<JobTrajectory> earlier = found.jobs;
  ScheduleRepair(problem, stage).advance(earlier);
  for (size_t i = 0; i < found.values.size(); ++i)
    if (valueOf(problem, problem.objectives[i], earlier) != found.values[i])
      return; // proofs are of the values that were found
  found.jobs = std::move(earlier);
}

JobSchedule solveJobSchedule(const JobScheduleProblem &problem, const SearchLimits &limits,
                             const std::vector<JobTrajectory> &known) {
  const auto lists = listAll(problem);
  JobSchedule found =
      lists ? ListedScheduler(problem, *lists, limits, known).run() : generateJobSchedule(problem, limits, known);
  beginEarly(problem, found);
  return found;
}

} // namespace accord::jobs
