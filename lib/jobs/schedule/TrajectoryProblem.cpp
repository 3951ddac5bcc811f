#include "lib/jobs/schedule/TrajectoryProblem.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/solve/LagrangePrices.h"
#include "lib/jobs/solve/PricedOptions.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::jobs {

constexpr int64_t kLoosening = 1024;             ///< parts of a capacity, of which one more is given
constexpr int64_t kMaxScaled = int64_t(1) << 20; ///< larger capacities have parts enough
constexpr double kMissing = 1e-6;                ///< shares of capacities below are rounding

constexpr double kLinearWork = 3e7; ///< of a relaxation at effort 0: cubes of rows
constexpr unsigned kMaxDoublings = 16;

/// Rows of a relaxation: more would take longer than all else.
static size_t maxRowsOf(const SearchLimits &limits) {
  return static_cast<size_t>(std::cbrt(kLinearWork * std::exp2(std::min(limits.effort, kMaxDoublings))));
}

static bool hasRows(JobMeasure measure) { return measure != JobMeasure::Makespan && measure != JobMeasure::Slowdown; }

std::vector<JobLimit> ObjectiveStage::allLimits() const {
  std::vector<JobLimit> all = limits;
  if (!isSum(measure))
    all.push_back({measure, max});
  return all;
}

TrajectoryRows::TrajectoryRows(const JobScheduleProblem &problem, const ObjectiveStage &stage)
    : laterRows(problem.jobs.size()), earlierRows(problem.jobs.size()) {
  addTimes(problem);
  for (const SlotResource &resource : problem.resources)
    capacity.insert(capacity.end(), resource.capacity.begin(), resource.capacity.end());
  for (size_t job = 0; job < problem.jobs.size(); ++job)
    for (unsigned before : problem.jobs[job].after) {
      laterRows[job].push_back(static_cast<unsigned>(capacity.size()));
      earlierRows[before].push_back(static_cast<unsigned>(capacity.size()));
      capacity.insert(capacity.end(), problem.slots, 1);
    }
  for (const JobLimit &limit : stage.allLimits()) {
    if (!hasRows(limit.measure))
      continue;
    limited.push_back({limit, static_cast<unsigned>(capacity.size())});
    if (limit.measure == JobMeasure::Tail)
      capacity.push_back(problem.tail);
    else if (limit.measure == JobMeasure::Group)
      for (const JobGroup &group : problem.groups)
        capacity.push_back(static_cast<int64_t>(
            std::clamp<__int128>(static_cast<__int128>(limit.max) * group.share, -1, int64_t(1) << 60)));
    else
      capacity.push_back(limit.max);
  }
}

void TrajectoryRows::addTimes(const JobScheduleProblem &problem) {
  const size_t count = problem.jobs.size();
  begins.assign(count, 0), ends.assign(count, 0);
  std::vector<size_t> missing(count);
  for (size_t job = 0; job < count; ++job)
    if ((missing[job] = problem.jobs[job].after.size()) == 0)
      order.push_back(job);
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t job = order[i];
    const ScheduledJob &of = problem.jobs[job];
    int64_t fastest = 1;
    for (const JobConfiguration &one : of.configurations)
      fastest = std::max(fastest, one.speed);
    begins[job] = firstSlot(problem, of);
    for (unsigned before : of.after)
      begins[job] = std::max(begins[job], ends[before]);
    int64_t completion = of.arrival;
    if (of.work > 0)
      completion = begins[job] * problem.slot + (of.running >= 0 && begins[job] == 0 ? 0 : of.restart) +
                   (of.work + fastest - 1) / fastest;
    ends[job] = std::min((completion + problem.slot - 1) / problem.slot, problem.slots);
    for (size_t next = 0; next < count; ++next)
      for (unsigned before : problem.jobs[next].after)
        if (before == job && --missing[next] == 0)
          order.push_back(next);
  }
}

int64_t lastCompletion(const JobScheduleProblem &problem, const ObjectiveStage &stage, const ScheduledJob &job) {
  __int128 last = job.work == 0 ? kMaxSeconds : job.mayContinue ? endOf(problem, job) : problem.slots * problem.slot;
  if (job.deadline >= 0)
    last = std::min<__int128>(last, job.deadline);
  for (const JobLimit &limit : stage.allLimits())
    if (limit.measure == JobMeasure::Makespan)
      last = std::min<__int128>(last, limit.max);
    else if (limit.measure == JobMeasure::Slowdown) // ceil(1000 * time / isolated) <= max
      last = std::min(last, limit.max < 0 ? -1 : job.since() + static_cast<__int128>(limit.max) * job.isolated / 1000);
  return static_cast<int64_t>(std::max<__int128>(last, -1)); // -1 is what a rejected job has
}

TrajectoryProblem::TrajectoryProblem(const JobScheduleProblem &problem, const TrajectoryLists &lists,
                                     const ObjectiveStage &stage)
    : problem(problem), lists(lists), stage(stage), rows(problem, stage) {
  made.capacity = rows.capacity;
  for (size_t job = 0; job < problem.jobs.size(); ++job) {
    const int64_t last = lastCompletion(problem, stage, problem.jobs[job]);
    listed.emplace_back();
    for (unsigned i = 0; i < lists[job].size(); ++i)
      if (lists[job][i].completion <= last && (lists[job][i].completion >= 0 || problem.jobs[job].mayBeRejected))
        listed.back().push_back(i);
  }
  shiftLimits();
  for (int64_t &capacity : made.capacity) { // more than an allocation can state limits nothing: the row has no uses
    isVoid.push_back(capacity > kMaxAllocationNumber);
    capacity = std::min(capacity, kMaxAllocationNumber);
  }
  for (size_t job = 0; job < problem.jobs.size(); ++job)
    addJob(job);
}

void TrajectoryProblem::shiftLimits() {
  for (const TrajectoryRows::Limited &one : rows.limited) {
    shifts.emplace_back(problem.jobs.size(), 0);
    if (!isSum(one.limit.measure))
      continue;
    __int128 capacity = one.limit.max;
    for (size_t job = 0; job < problem.jobs.size(); ++job) {
      int64_t min = 0;
      for (size_t i = 0; i < listed[job].size(); ++i) {
        const int64_t term = termOf(problem, one.limit.measure, problem.jobs[job], lists[job][listed[job][i]]);
        min = i == 0 ? term : std::min(min, term);
      }
      shifts.back()[job] = -min;
      capacity -= min;
    }
    made.capacity[one.row] = static_cast<int64_t>(std::clamp<__int128>(capacity, -1, int64_t(1) << 60));
  }
}

void TrajectoryProblem::addJob(size_t job) {
  const ScheduledJob &of = problem.jobs[job];
  AllocationJob allocated;
  allocated.mayWait = false;
  std::vector<int64_t> terms;
  for (unsigned i : listed[job])
    terms.push_back(isSum(stage.measure) ? termOf(problem, stage.measure, of, lists[job][i]) : 0);
  const int64_t max = terms.empty() ? 0 : *std::max_element(terms.begin(), terms.end());
  largest += max;
  for (size_t i = 0; i < listed[job].size(); ++i) {
    const JobTrajectory &trajectory = lists[job][listed[job][i]];
    Configuration one;
    one.value = max - terms[i];
    for (const JobRun &run : trajectory.runs)
      for (const ResourceUse &use : of.configurations[run.configuration].uses)
        for (int64_t slot = run.begin; slot < run.end; ++slot)
          one.uses.push_back({static_cast<unsigned>(use.resource * problem.slots + slot), use.amount});
    addDependences(job, trajectory, one.uses);
    addLimits(job, trajectory, one.uses);
    std::erase_if(one.uses, [&](const ResourceUse &use) { return isVoid[use.resource]; });
    std::sort(one.uses.begin(), one.uses.end());
    allocated.configurations.push_back(std::move(one));
  }
  made.jobs.push_back(std::move(allocated));
}

void TrajectoryProblem::addDependences(size_t job, const JobTrajectory &trajectory,
                                       std::vector<ResourceUse> &uses) const {
  const bool isRejected = trajectory.completion < 0;
  for (int64_t slot = 0; slot < problem.slots; ++slot) {
    if (isRejected || trajectory.completion > slot * problem.slot)
      for (unsigned row : rows.earlierRows[job])
        uses.push_back({static_cast<unsigned>(row + slot), 1});
    if (!trajectory.runs.empty() && trajectory.runs.front().begin <= slot)
      for (unsigned row : rows.laterRows[job])
        uses.push_back({static_cast<unsigned>(row + slot), 1});
  }
}

void TrajectoryProblem::addLimits(size_t job, const JobTrajectory &trajectory, std::vector<ResourceUse> &uses) const {
  const ScheduledJob &of = problem.jobs[job];
  for (size_t i = 0; i < rows.limited.size(); ++i) {
    const TrajectoryRows::Limited &one = rows.limited[i];
    const int64_t term = termOf(problem, one.limit.measure, of, trajectory);
    if (one.limit.measure == JobMeasure::Tail) {
      if (term > one.limit.max)
        uses.push_back({one.row, 1});
    } else if (one.limit.measure == JobMeasure::Group) {
      if (term > 0)
        for (unsigned group : of.groups)
          uses.push_back({one.row + group, term});
    } else if (term + shifts[i][job] > 0) {
      uses.push_back({one.row, term + shifts[i][job]});
    }
  }
}

namespace {

/// Rows that some allocation of configurations could exceed that fit by themselves, and for each other configuration a
/// row in which it does not. Equal jobs are equal with these rows alone only if they are equal with all.
class KeptRows {
public:
  explicit KeptRows(const AllocationProblem &problem) : problem(problem), number(problem.capacity.size(), -1) {
    std::vector<__int128> used(problem.capacity.size(), 0);
    std::vector<const Configuration *> unfit;
    for (const AllocationJob &job : problem.jobs) {
      std::map<unsigned, int64_t> max;
      for (const Configuration &one : job.configurations)
        if (std::any_of(one.uses.begin(), one.uses.end(), [&](const ResourceUse &use) { return exceeds(use); }))
          unfit.push_back(&one);
        else
          for (const ResourceUse &use : one.uses)
            max[use.resource] = std::max(max[use.resource], use.amount);
      for (const auto &[row, amount] : max)
        used[row] += amount;
    }
    for (size_t row = 0; row < used.size(); ++row)
      if (used[row] > problem.capacity[row])
        keep(row);
    for (const Configuration *one : unfit)
      keepUnfit(*one);
    while (tellEqualJobsApart())
      ;
  }

  AllocationProblem reduced() const {
    AllocationProblem made;
    for (size_t row : rows)
      made.capacity.push_back(problem.capacity[row]);
    for (const AllocationJob &job : problem.jobs)
      made.jobs.push_back(reducedJob(job));
    return made;
  }
  bool isEmpty() const { return rows.empty(); }
  /// The number of a kept row among all.
  size_t original(size_t row) const { return rows[row]; }
  /// Prices of all rows from those of the kept ones.
  template <class Number> std::vector<Number> expanded(const std::vector<Number> &prices) const {
    std::vector<Number> all(problem.capacity.size(), 0);
    for (size_t i = 0; i < rows.size() && !prices.empty(); ++i)
      all[rows[i]] = prices[i];
    return all;
  }

private:
  void keep(size_t row) {
    number[row] = static_cast<int64_t>(rows.size());
    rows.push_back(row);
  }
  bool exceeds(const ResourceUse &use) const { return use.amount > problem.capacity[use.resource]; }
  void keepUnfit(const Configuration &one) {
    if (std::any_of(one.uses.begin(), one.uses.end(),
                    [&](const ResourceUse &use) { return number[use.resource] >= 0 && exceeds(use); }))
      return;
    keep(std::find_if(one.uses.rbegin(), one.uses.rend(), [&](const ResourceUse &use) {
           return exceeds(use);
         })->resource); // the last: rows of limits exclude many
  }
  AllocationJob reducedJob(const AllocationJob &job) const {
    AllocationJob made{{}, job.mayWait};
    for (const Configuration &one : job.configurations) {
      Configuration reduced{one.value, {}};
      for (const ResourceUse &use : one.uses)
        if (number[use.resource] >= 0)
          reduced.uses.push_back({static_cast<unsigned>(number[use.resource]), use.amount});
      std::sort(reduced.uses.begin(), reduced.uses.end());
      made.configurations.push_back(std::move(reduced));
    }
    return made;
  }
  /// Keeps a row in which two jobs differ that are equal without it. Returns whether there was one.
  bool tellEqualJobsApart() {
    std::map<AllocationJob, size_t> seen;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      auto [first, isNew] = seen.try_emplace(reducedJob(problem.jobs[j]), j);
      if (isNew || problem.jobs[first->second] == problem.jobs[j])
        continue;
      const AllocationJob &a = problem.jobs[first->second], &b = problem.jobs[j];
      for (size_t k = 0; k < a.configurations.size(); ++k)
        if (a.configurations[k].uses != b.configurations[k].uses) {
          keepDifference(a.configurations[k].uses, b.configurations[k].uses);
          return true;
        }
    }
    return false;
  }
  void keepDifference(const std::vector<ResourceUse> &a, const std::vector<ResourceUse> &b) {
    for (const auto *uses : {&a, &b})
      for (const ResourceUse &use : *uses)
        if (const auto &other = uses == &a ? b : a;
            number[use.resource] < 0 && std::find(other.begin(), other.end(), use) == other.end())
          return keep(use.resource);
  }

  const AllocationProblem &problem;
  std::vector<int64_t> number; ///< of each row among those that are kept, or -1
  std::vector<size_t> rows;
};

/// The options of each job that fit by themselves; nothing where a job has none.
std::optional<OpenOptions> fittingOptions(const CompactAllocation &problem) {
  OpenOptions open;
  for (size_t job = 0; job < problem.jobs(); ++job) {
    open.first.push_back(static_cast<unsigned>(open.options.size()));
    for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i)
      if (problem.fits(i, problem.capacity))
        open.options.push_back(i);
    if (open.options.size() == open.first.back())
      return std::nullopt;
  }
  open.first.push_back(static_cast<unsigned>(open.options.size()));
  return open;
}

/// Takes one set of prices as the proof where that is better. Under the limit of an objective before, one device in one
/// slot may cost many times the largest value, so the denominator follows from the prices.
void boundByPrices(const AllocationProblem &problem, AllocationSolution &solution, const SearchLimits &limits) {
  const CompactAllocation compacted = compact(problem);
  const auto open = fittingOptions(compacted);
  if (!open)
    return;
  const Relaxation relaxed =
      relax(compacted, compacted.capacity, *open, RelaxedObjective::Value, limits, maxRowsOf(limits));
  double max = 1;
  for (double price : relaxed.prices)
    max = std::max(max, price);
  int64_t denominator = int64_t(1) << 40;
  while (denominator > 1 && max * static_cast<double>(denominator) > 0x1p52)
    denominator /= 2;
  PricedOptions priced =
      priceOptions(compacted, PartialAllocation(compacted), wholePrices(relaxed.prices, denominator), denominator);
  const int64_t bound = std::max(priced.wholeBound(), solution.value);
  if (!priced.possible || bound >= solution.bound)
    return;
  solution.bound = bound;
  solution.proof = {denominator, {{-1, {}, std::move(priced.prices)}}};
  if (!solution.choice.empty() && bound == solution.value)
    solution.status = AllocationStatus::Optimal;
}

} // namespace

bool TrajectoryProblem::isImpossible() const {
  return std::any_of(made.capacity.begin(), made.capacity.end(), [](int64_t one) { return one < 0; }) ||
         std::any_of(listed.begin(), listed.end(), [](const auto &list) { return list.empty(); });
}

AllocationSolution TrajectoryProblem::solve(const SearchLimits &limits) const {
  if (isImpossible()) {
    AllocationSolution none;
    none.status = AllocationStatus::Infeasible, none.bound = -1;
    none.proof.nodes.emplace_back();
    return none;
  }
  const KeptRows kept(made);
  const AllocationProblem reduced = kept.reduced();
  AllocationSolution solution = solveAllocation(reduced, limits);
  if (solution.status == AllocationStatus::Feasible || solution.status == AllocationStatus::Unknown)
    boundByPrices(reduced, solution, limits);
  for (AllocationProof::Node &node : solution.proof.nodes)
    if (node.job < 0 && (!node.prices.empty() || kept.isEmpty()))
      node.prices = kept.expanded(node.prices);
  return solution;
}

/// The same with a thousandth more of each row. Where all trajectories of some jobs fill a row exactly, its price would
/// be anything; so it is what the little that is more is good for.
static AllocationProblem loosened(AllocationProblem problem, std::vector<double> &scale) {
  scale.assign(problem.capacity.size(), 1);
  for (size_t row = 0; row < scale.size(); ++row)
    if (int64_t &capacity = problem.capacity[row]; capacity < kMaxScaled) {
      scale[row] = kLoosening;
      capacity = capacity * kLoosening + std::max<int64_t>(1, capacity);
    } else {
      capacity += capacity / kLoosening;
    }
  for (AllocationJob &job : problem.jobs)
    for (Configuration &one : job.configurations)
      for (ResourceUse &use : one.uses)
        use.amount *= static_cast<int64_t>(scale[use.resource]);
  return problem;
}

/// The relaxation over all options that fit into rows below `firstLimit`. Those that exceed the limit of a sum by
/// themselves stay: paths that are priced know nothing of it, so that its price has to keep them away.
static std::optional<Relaxation> relaxAll(AllocationProblem problem, const KeptRows &kept, size_t firstLimit,
                                          RelaxedObjective objective, const SearchLimits &limits) {
  const std::vector<int64_t> given = problem.capacity;
  for (const AllocationJob &job : problem.jobs)
    for (const Configuration &one : job.configurations)
      for (const ResourceUse &use : one.uses)
        if (kept.original(use.resource) >= firstLimit)
          problem.capacity[use.resource] = std::max(problem.capacity[use.resource], use.amount);
  const CompactAllocation compacted = compact(problem);
  const auto open = fittingOptions(compacted);
  if (!open)
    return std::nullopt;
  std::vector<int64_t> left = compacted.capacity;
  for (size_t row = 0; row < left.size(); ++row)
    if (given[row] < problem.capacity[row])
      left[row] = given[row];
  return relax(compacted, left, *open, objective, limits, maxRowsOf(limits));
}

std::vector<double> TrajectoryProblem::relaxedPrices(bool &isMissing, const SearchLimits &limits) const {
  const KeptRows kept(made);
  const size_t firstLimit = rows.limited.empty() ? made.capacity.size() : rows.limited.front().row;
  if (!isMissing) {
    std::vector<double> scale;
    if (auto relaxed = relaxAll(loosened(kept.reduced(), scale), kept, firstLimit, RelaxedObjective::Value, limits)) {
      for (size_t row = 0; row < relaxed->prices.size(); ++row)
        relaxed->prices[row] *= scale[row];
      return kept.expanded(relaxed->prices);
    }
  }
  auto relaxed = relaxAll(kept.reduced(), kept, firstLimit, RelaxedObjective::Value, limits);
  if (!relaxed) { // nothing of a job fits
    isMissing = true;
    return std::vector<double>(made.capacity.size(), 0);
  }
  isMissing &= relaxed->overflow > kMissing;
  if (isMissing)
    relaxed = relaxAll(kept.reduced(), kept, firstLimit, RelaxedObjective::Fit, limits);
  return kept.expanded(relaxed->prices);
}

std::vector<JobTrajectory> TrajectoryProblem::trajectories(const std::vector<int64_t> &choice) const {
  std::vector<JobTrajectory> chosen;
  for (size_t job = 0; job < choice.size(); ++job)
    chosen.push_back(lists[job][listed[job][choice[job]]]);
  return chosen;
}

std::vector<int64_t> TrajectoryProblem::choiceOf(const std::vector<JobTrajectory> &schedule) const {
  std::vector<int64_t> choice;
  for (size_t job = 0; job < schedule.size(); ++job) {
    const auto &list = listed[job];
    const auto at = std::find_if(list.begin(), list.end(), [&](unsigned i) { return lists[job][i] == schedule[job]; });
    if (at == list.end())
      return {};
    choice.push_back(at - list.begin());
  }
  return choice;
}

} // namespace accord::jobs
