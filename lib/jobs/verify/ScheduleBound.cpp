#include "lib/jobs/verify/ScheduleBound.h"
#include "lib/jobs/verify/AllocationVerifier.h"
#include "lib/jobs/verify/PricedTrajectories.h"
#include "lib/jobs/verify/ScheduleRows.h"
#include "lib/jobs/verify/Trajectories.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::jobs {

ScheduleRows::ScheduleRows(const JobScheduleProblem &problem, const std::vector<JobLimit> &all)
    : problem(problem), asEarlier(problem.jobs.size()), asLater(problem.jobs.size()) {
  size_t row = problem.resources.size() * size_t(problem.slots);
  for (size_t later = 0; later < problem.jobs.size(); ++later)
    for (unsigned earlier : problem.jobs[later].after) {
      asEarlier[earlier].push_back(dependences.size());
      asLater[later].push_back(dependences.size());
      dependences.push_back({earlier, later, row});
      row += size_t(problem.slots);
    }
  firstLimit = row;
  for (const JobLimit &limit : all) {
    if (isSum(limit.measure) || limit.measure == JobMeasure::Tail)
      limits.push_back({limit.measure, limit.max, 0});
    for (unsigned group = 0; limit.measure == JobMeasure::Group && group < problem.groups.size(); ++group)
      limits.push_back({limit.measure, limit.max, group});
  }
}

int64_t ScheduleRows::termOf(const ScheduledJob &job, const JobTrajectory &trajectory, const Limit &limit) const {
  if (limit.measure == JobMeasure::Group && !std::binary_search(job.groups.begin(), job.groups.end(), limit.group))
    return 0;
  const int64_t term = jobs::termOf(problem, job, trajectory, limit.measure);
  return limit.measure == JobMeasure::Tail ? !isRejected(trajectory) && term > limit.max : term;
}

__int128 ScheduleRows::capacityOf(const Limit &limit) const {
  if (limit.measure == JobMeasure::Tail)
    return problem.tail;
  if (limit.measure == JobMeasure::Group)
    return static_cast<__int128>(limit.max) * problem.groups[limit.group].share;
  return limit.max;
}

namespace {

using Wide = __int128;
using Lists = std::vector<std::vector<JobTrajectory>>;

/// Bounds and sums of all terms are within this.
constexpr int64_t kMaxBound = int64_t(1) << 62;
/// Of all prices of a proof together: times amounts and over all jobs they fit 127 bits.
constexpr int64_t kMaxPrices = int64_t(1) << 62;
/// Steps of paths of all jobs of one proof.
constexpr size_t kMaxLabels = size_t(1) << 28;
constexpr size_t kMaxRowCount = size_t(1) << 31, kMaxUses = size_t(1) << 25;

Error notProved(std::string message) { return {Code::BoundNotProved, std::move(message)}; }

/// The allocation problem of listed trajectories.
class ListedAllocation {
public:
  ListedAllocation(const ScheduleRows &rows, const Lists &lists, std::optional<JobMeasure> objective)
      : rows(rows), problem(rows.problem), lists(lists), objective(objective) {}

  /// Returns false if a limit is less than the sum of smallest terms: nothing fits.
  Result<bool> build() {
    capacities();
    if (!shift())
      return false;
    allocation.jobs.resize(lists.size());
    size_t uses = allocation.capacity.size();
    for (size_t j = 0; j < lists.size(); ++j) {
      allocation.jobs[j].mayWait = false;
      int64_t largest = INT64_MIN;
      for (const JobTrajectory &trajectory : lists[j])
        largest = std::max(largest, valueOf(j, trajectory));
      largestTerms += largest;
      for (const JobTrajectory &trajectory : lists[j]) {
        Configuration one{largest - valueOf(j, trajectory), usesOf(j, trajectory)};
        uses += 1 + one.uses.size();
        if (uses > kMaxUses)
          return notProved(fmt::format("listed trajectories use more than {} rows and slots", kMaxUses));
        allocation.jobs[j].configurations.push_back(std::move(one));
      }
    }
    return true;
  }

  AllocationProblem allocation;
  Wide largestTerms = 0;

private:
  int64_t valueOf(size_t job, const JobTrajectory &trajectory) const {
    return objective ? termOf(problem, problem.jobs[job], trajectory, *objective) : 0;
  }

  void capacities() {
    for (const SlotResource &resource : problem.resources)
      allocation.capacity.insert(allocation.capacity.end(), resource.capacity.begin(), resource.capacity.end());
    allocation.capacity.resize(rows.firstLimit, 1);
  }
  bool shift() {
    for (const ScheduleRows::Limit &limit : rows.limits) {
      std::vector<int64_t> &shifts = smallest.emplace_back(lists.size(), 0);
      Wide capacity = rows.capacityOf(limit);
      for (size_t j = 0; j < lists.size() && isSum(limit.measure); ++j) {
        shifts[j] = INT64_MAX;
        for (const JobTrajectory &trajectory : lists[j])
          shifts[j] = std::min(shifts[j], rows.termOf(problem.jobs[j], trajectory, limit));
        capacity -= shifts[j];
      }
      if (capacity < 0)
        return false;
      isVoid.push_back(capacity > kMaxAllocationNumber);
      allocation.capacity.push_back(static_cast<int64_t>(std::min<Wide>(capacity, kMaxAllocationNumber)));
    }
    return true;
  }

  std::vector<ResourceUse> usesOf(size_t job, const JobTrajectory &trajectory) const {
    std::vector<ResourceUse> uses;
    auto add = [&](size_t row, int64_t amount) { uses.push_back({static_cast<unsigned>(row), amount}); };
    for (const JobRun &run : trajectory.runs)
      for (const ResourceUse &use : problem.jobs[job].configurations[run.configuration].uses)
        for (int64_t t = run.begin; t < run.end; ++t)
          add(rows.resource(use.resource, t), use.amount);
    for (size_t i : rows.asEarlier[job])
      for (int64_t t = 0; t < problem.slots; ++t)
        if (isRejected(trajectory) || trajectory.completion > t * problem.slot)
          add(rows.dependences[i].first + size_t(t), 1);
    for (size_t i : rows.asLater[job])
      for (int64_t t = trajectory.runs.empty() ? problem.slots : trajectory.runs[0].begin; t < problem.slots; ++t)
        add(rows.dependences[i].first + size_t(t), 1);
    for (size_t i = 0; i < rows.limits.size(); ++i)
      if (const int64_t term = rows.termOf(problem.jobs[job], trajectory, rows.limits[i]) - smallest[i][job];
          term > 0 && !isVoid[i])
        add(rows.firstLimit + i, term);
    std::sort(uses.begin(), uses.end());
    return uses;
  }

  const ScheduleRows &rows;
  const JobScheduleProblem &problem;
  const Lists &lists;
  const std::optional<JobMeasure> objective;
  std::vector<std::vector<int64_t>> smallest; ///< term of each limit and job, if the limit is of a sum
  std::vector<bool> isVoid;                   ///< of each limit: an allocation cannot state it
};

/// Proves that no schedule has less than `bound` of the objective, or without one that there is none.
class BoundProof {
public:
  BoundProof(const BoundQuestion &question, std::optional<JobMeasure> objective, int64_t bound,
             const JobScheduleProof &proof)
      : problem(question.problem), objective(objective), bound(bound), proof(proof), rows(problem, question.limits) {
    for (const ScheduledJob &job : problem.jobs)
      latest.push_back(latestCompletion(problem, job, question.limits));
  }

  Result<void> prove() {
    if (rows.size() > kMaxRowCount)
      return notProved(fmt::format("the proof has {} rows, and at most {} are allowed", rows.size(), kMaxRowCount));
    return proof.allocation.nodes.empty() ? byPrices() : byLists();
  }

private:
  Result<void> byLists() {
    Lists lists;
    size_t left = kMaxTrajectories;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      auto list = listTrajectories(problem, problem.jobs[j], latest[j], left);
      if (!list)
        return notProved(fmt::format("trajectories are more than {}, so that they are not listed", kMaxTrajectories));
      if (list->empty())
        return {}; // of a job that may not be rejected
      left -= list->size();
      lists.push_back(std::move(*list));
    }
    ListedAllocation listed(rows, lists, objective);
    ACCORD_TRY(fits, listed.build());
    if (!fits)
      return {};
    const Wide needed = objective ? listed.largestTerms - bound : -1;
    return verifyAllocationBound(listed.allocation, static_cast<int64_t>(std::clamp<Wide>(needed, -1, kMaxBound)),
                                 proof.allocation);
  }

  Result<void> byPrices() {
    if (proof.prices.empty() && isPlain())
      return {};
    if (auto checked = checkPrices(); !checked)
      return checked;
    Wide sum = 0;
    size_t labels = kMaxLabels;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      ACCORD_TRY(cheapest,
                 cheapestTrajectory(rows, j, {objective, proof.prices, proof.denominator}, latest[j], labels));
      if (!cheapest)
        return {}; // there is no trajectory, and it may not be rejected
      sum += *cheapest;
    }
    const Wide surplus = sum - pricedCapacity();
    if (objective ? surplus > (Wide(bound) - 1) * proof.denominator : surplus > 0)
      return {};
    return notProved(objective ? fmt::format("the prices do not prove a bound of {}", bound)
                               : "the prices do not prove that there is no schedule");
  }
  /// Whether there is no schedule for a reason that needs no prices.
  bool isPlain() const {
    size_t labels = kMaxLabels;
    const std::vector<int64_t> none(rows.size(), 0);
    for (size_t j = 0; j < problem.jobs.size(); ++j)
      if (auto cheapest = cheapestTrajectory(rows, j, {std::nullopt, none, 1}, latest[j], labels);
          cheapest && !*cheapest)
        return true;
    return std::any_of(rows.limits.begin(), rows.limits.end(), [&](const ScheduleRows::Limit &limit) {
      return limit.measure != JobMeasure::Nash && rows.capacityOf(limit) < 0;
    });
  }
  Result<void> checkPrices() const {
    if (proof.prices.size() != rows.size())
      return notProved(fmt::format("the proof has {} prices for {} rows", proof.prices.size(), rows.size()));
    if (proof.denominator < 1)
      return notProved(fmt::format("the denominator of prices is {}, which is below 1", proof.denominator));
    Wide sum = proof.denominator;
    for (size_t row = 0; row < proof.prices.size(); ++row) {
      if (proof.prices[row] < 0)
        return notProved(fmt::format("the price of row {} is {}, which is below 0", row, proof.prices[row]));
      sum += proof.prices[row];
    }
    if (sum > kMaxPrices)
      return notProved(fmt::format("the prices and their denominator sum to more than {}", kMaxPrices));
    return {};
  }
  Wide pricedCapacity() const {
    Wide sum = 0;
    size_t row = 0;
    for (const SlotResource &resource : problem.resources)
      for (int64_t capacity : resource.capacity)
        sum += Wide(proof.prices[row++]) * capacity;
    for (; row < rows.firstLimit; ++row)
      sum += proof.prices[row];
    // All jobs together use less than `kMaxBound` of a row.
    for (const ScheduleRows::Limit &limit : rows.limits)
      sum += proof.prices[row++] * std::min<Wide>(rows.capacityOf(limit), kMaxBound);
    return sum;
  }

  const JobScheduleProblem &problem;
  const std::optional<JobMeasure> objective;
  const int64_t bound;
  const JobScheduleProof &proof;
  const ScheduleRows rows;
  std::vector<int64_t> latest; ///< completion of each job
};

} // namespace

Result<void> proveScheduleBound(BoundQuestion question, JobMeasure measure, const JobScheduleProof &proof) {
  if (proof.bound < -kMaxBound || proof.bound > kMaxBound)
    return notProved(fmt::format("the bound {} is not in {} to {}", proof.bound, -kMaxBound, kMaxBound));
  if (isSum(measure))
    return BoundProof(question, measure, proof.bound, proof).prove();
  if (proof.bound <= 0)
    return {};
  question.limits.push_back({measure, proof.bound - 1});
  return BoundProof(question, std::nullopt, proof.bound, proof).prove();
}

Result<void> proveNoSchedule(const BoundQuestion &question, const JobScheduleProof &proof) {
  return BoundProof(question, std::nullopt, 0, proof).prove();
}

} // namespace accord::jobs
