#include "lib/jobs/schedule/TrajectoryGenerator.h"
#include "lib/jobs/schedule/JobOrder.h"
#include "lib/jobs/schedule/ScheduleRepair.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::jobs {
namespace {

constexpr unsigned kRoundsPerEffort = 20; ///< of prices, each of which adds a trajectory to each job
constexpr unsigned kMinRounds = 12;
constexpr double kLinearWork = 4e8;        ///< of all rounds at effort 0: cubes of rows
constexpr unsigned kParts = 3, kSteps = 4; ///< of the rounds of a sum: one step of a bisection, and all of them
constexpr double kConverged = 1e-4;        ///< of the bound: what a better price may still gain
constexpr double kInertia = 0.7;           ///< share of the best prices so far in those that are tried next
constexpr unsigned kFewer = 4;             ///< parts of the rounds of varying a schedule at each step of a bisection
constexpr unsigned kPasses = 20;           ///< of placing each job anew
constexpr double kMaxPrice = 0x1p39;
constexpr int64_t kFitDenominator = int64_t(1) << 30;

/// One question, answered with the trajectories that are there and new ones.
class StageSearch {
public:
  enum class Outcome : uint8_t { Bounded, Infeasible, Open };

  StageSearch(const JobScheduleProblem &given, const ObjectiveStage &stage, TrajectoryLists &columns,
              const SearchLimits &limits)
      : given(given), problem(withoutRejection(given, stage)), stage(stage), columns(columns), limits(limits),
        rows(problem, stage), repair(problem, stage) {
    for (size_t job = 0; job < problem.jobs.size(); ++job)
      if (given.jobs[job].mayBeRejected && !problem.jobs[job].mayBeRejected)
        mustRun.push_back(job);
  }

  /// How many rounds of prices a question is worth at an effort: a linear program of many rows takes longer.
  static unsigned roundsOf(size_t rows, unsigned effort) {
    const double work = std::exp2(std::min(effort, 16u)) * kLinearWork / std::pow(static_cast<double>(rows) + 1, 3);
    return static_cast<unsigned>(
        std::clamp<double>(work, kMinRounds, kRoundsPerEffort * std::max(1u, std::min(effort, 16u))));
  }
  size_t size() const { return rows.capacity.size(); }

  Outcome run(unsigned maxRounds) {
    if (const auto job = seed(); job)
      return proveNoPlace(*job);
    greedy(plainPrices());
    if (best && isSum(stage.measure)) {
      last = plainPrices();
      center.assign(rows.capacity.size(), 0);
      priceJobs();
      isConverged = false;
    }
    for (unsigned round = 0; round < maxRounds && !limits.stopped(); ++round) {
      ++rounds;
      const Outcome outcome = improvePrices();
      if (outcome == Outcome::Infeasible)
        return outcome;
      if (isConverged || isGoodEnough())
        break;
      if (round % 8 == 7 && !isFitting)
        greedy(last);
    }
    solveColumns();
    if (best && isSum(stage.measure) && !isGoodEnough()) {
      auto schedule = *best;
      repair.vary(schedule, hasBound ? TrajectoryPrices{proof.prices, proof.denominator} : plainPrices(),
                  ScheduleRepair::roundsOf(problem, limits),
                  hasBound ? proof.bound : std::numeric_limits<int64_t>::min(), limits);
      offer(std::move(schedule));
    }
    if (hasBound)
      proof.bound = std::min(proof.bound, provedBound({proof.prices, proof.denominator}).value_or(proof.bound));
    return hasBound ? Outcome::Bounded : Outcome::Open;
  }

  const std::optional<std::vector<JobTrajectory>> &schedule() const { return best; }
  /// Takes a schedule that is known, if it keeps the limits and is better.
  void offer(std::vector<JobTrajectory> schedule) {
    if (!repair.keepsAll(schedule))
      return;
    const int64_t value = measured(schedule);
    if (best && value >= bestValue)
      return;
    for (size_t job = 0; job < schedule.size(); ++job)
      add(job, schedule[job]);
    bestValue = value;
    best = std::move(schedule);
  }
  JobScheduleProof proof;
  unsigned rounds = 0; ///< that were made

private:
  /// Where no weight may be left out, jobs with a weight have to run: so much is known before any price.
  static JobScheduleProblem withoutRejection(JobScheduleProblem problem, const ObjectiveStage &stage) {
    for (const JobLimit &limit : stage.limits)
      if (limit.measure == JobMeasure::Rejected && limit.max == 0)
        for (ScheduledJob &job : problem.jobs)
          job.mayBeRejected &= job.weight == 0;
    return problem;
  }
  /// Prices of limits of 0 with which leaving out such a job, or completing late, costs more than anything else that a
  /// job may do. They have no part in the bound.
  void priceLimitsOfNothing(const std::vector<Priced> &cheapest) {
    for (const TrajectoryRows::Limited &one : rows.limited) {
      if (one.limit.measure == JobMeasure::Rejected && one.limit.max == 0) {
        for (size_t job : mustRun)
          raise(one.row, cheapest[job] / problem.jobs[job].weight + 1);
      } else if (one.limit.measure == JobMeasure::Tail && problem.tail == 0) { // a job that is late uses 1 of 0
        for (size_t job = 0; job < cheapest.size(); ++job)
          raise(one.row, cheapest[job] + 1);
      }
    }
  }
  void raise(size_t row, Priced price) {
    if (price > last.rows[row])
      last.rows[row] = static_cast<int64_t>(std::min<Priced>(price, int64_t(1) << 56));
  }

  /// A job cannot begin before those that it is after can be complete, which the paths that were priced keep. A price
  /// of the last slot in which all that the job before may do is incomplete says so for every path: that job pays it in
  /// any case, so it has no part in the bound. Later jobs first: what a job pays for them makes its own begin dearer.
  void priceEarlyBegins(std::vector<Priced> cheapest) {
    for (size_t at = rows.order.size(); at-- > 0;) {
      const size_t job = rows.order[at];
      const ScheduledJob &of = problem.jobs[job];
      const Priced lowest = stage.measure == JobMeasure::Nash ? -Priced(last.denominator) * of.weight * 64'000'000 : 0;
      for (size_t i = 0; i < of.after.size(); ++i) {
        const int64_t end = rows.ends[of.after[i]];
        const Priced price = std::min<Priced>(cheapest[job] - lowest + 1, int64_t(1) << 56);
        if (end <= 0 || price <= 0)
          continue;
        last.rows[rows.laterRows[job][i] + end - 1] += static_cast<int64_t>(price);
        cheapest[of.after[i]] += price;
      }
    }
  }

  /// The bound of a proof by all paths of the problem as it was given, with nothing that only follows from dependences
  /// and limits; nothing where the prices prove that there is no schedule.
  std::optional<int64_t> provedBound(const TrajectoryPrices &prices) const {
    TrajectoryRows all = rows;
    std::fill(all.begins.begin(), all.begins.end(), 0);
    all.tailOfEach = false;
    Priced total = 0;
    for (size_t row = 0; row < all.capacity.size(); ++row)
      total -= Priced(prices.rows[row]) * all.capacity[row];
    for (size_t job = 0; job < given.jobs.size(); ++job) {
      const auto found = cheapestTrajectory(given, stage, all, prices, job, &rows.capacity);
      if (!found.bound)
        return std::nullopt;
      total += *found.bound;
    }
    if (prices.denominator == 0)
      return total > 0 ? std::nullopt : std::optional<int64_t>(0);
    return static_cast<int64_t>(total / prices.denominator + (total > 0 && total % prices.denominator != 0));
  }

  /// A job has no trajectory after the fastest of those that it is after: prices that prove it.
  Outcome proveNoPlace(size_t job) {
    last = {Prices(rows.capacity.size(), 0), 0};
    priceLimitsOfNothing(std::vector<Priced>(problem.jobs.size(), 0));
    if (provedBound(last)) {
      std::vector<Priced> none(problem.jobs.size(), 0);
      none[job] = 1;
      priceEarlyBegins(std::move(none));
    }
    if (provedBound(last))
      return Outcome::Open;
    proof = {0, {}, last.rows, 1};
    return Outcome::Infeasible;
  }

  TrajectoryPrices plainPrices() const { return {Prices(rows.capacity.size(), 0), 1}; }
  int64_t measured(const std::vector<JobTrajectory> &schedule) const {
    return valueOf(problem, isSum(stage.measure) ? stage.measure : JobMeasure::Completion, schedule);
  }
  bool isGoodEnough() const {
    if (!best)
      return false;
    if (!isSum(stage.measure))
      return true; // a schedule was all that was asked
    return hasBound &&
           static_cast<double>(bestValue - proof.bound) <= limits.gap * std::abs(static_cast<double>(bestValue));
  }

  bool add(size_t job, const JobTrajectory &trajectory) {
    auto &list = columns[job];
    const auto at = std::lower_bound(list.begin(), list.end(), trajectory);
    if (at != list.end() && *at == trajectory)
      return false;
    list.insert(at, trajectory);
    return true;
  }

  /// The fastest trajectory of each job alone. Returns a job that has none.
  std::optional<size_t> seed() {
    for (size_t job = 0; job < problem.jobs.size(); ++job) {
      if (problem.jobs[job].mayBeRejected)
        add(job, {});
      auto found = cheapestTrajectory(problem, stage, rows, plainPrices(), job, &rows.capacity);
      if (!found.bound)
        return job;
      if (found.trajectory)
        add(job, *found.trajectory);
    }
    return std::nullopt;
  }

  /// Schedules job by job, in several orders, with the prices that are there.
  void greedy(const TrajectoryPrices &prices) {
    const size_t count = problem.jobs.size();
    std::vector<std::vector<double>> orders(3, std::vector<double>(count));
    for (size_t job = 0; job < count; ++job) {
      const ScheduledJob &of = problem.jobs[job];
      int64_t speed = 1;
      for (const JobConfiguration &one : of.configurations)
        speed = std::max(speed, one.speed);
      const double alone = static_cast<double>(of.work) / static_cast<double>(speed) + 1;
      orders[0][job] = static_cast<double>(of.arrival) + alone / static_cast<double>(std::max<int64_t>(1, of.weight));
      orders[1][job] = static_cast<double>(lastCompletion(problem, stage, of));
      orders[2][job] = -alone;
    }
    for (const std::vector<double> &order : orders)
      for (const TrajectoryPrices &one : {prices, plainPrices()}) {
        if (limits.stopped() && best)
          return;
        auto schedule = repair.build(order, one);
        if (!schedule || !repair.keepsAll(*schedule))
          continue;
        repair.improve(*schedule, kPasses, limits);
        offer(std::move(*schedule));
      }
  }

  /// Prices by the relaxation over the trajectories that are there; bounds by the cheapest of all; new trajectories.
  Outcome improvePrices() {
    const TrajectoryProblem master(problem, columns, stage);
    std::vector<double> relaxed;
    bool isMissing = !best;
    if (const auto row = best ? std::nullopt : impossibleRow(); row) {
      relaxed.assign(rows.capacity.size(), 0);
      relaxed[*row] = 1;
    } else {
      relaxed = master.relaxedPrices(isMissing, limits);
    }
    if (!isSum(stage.measure) && !isMissing) {
      isConverged = true; // shares of the trajectories fit
      return Outcome::Open;
    }
    isFitting = isMissing;
    const bool isTried = !isFitting && !center.empty() && !isStuck; // else the prices of the relaxation themselves
    if (isTried)
      for (size_t row = 0; row < relaxed.size(); ++row)
        relaxed[row] = kInertia * center[row] + (1 - kInertia) * relaxed[row];
    last = wholePricesOf(relaxed);
    const int64_t before = hasBound ? proof.bound : std::numeric_limits<int64_t>::min();
    const Outcome outcome = priceJobs();
    if (hasBound && proof.bound > before)
      center = relaxed;
    if (isTried) { // a mixture that says nothing new: the relaxation's own prices are next
      isStuck = isConverged;
      isConverged = false;
    } else {
      isStuck = false;
    }
    return outcome;
  }

  /// A row whose limit is below the sum of the smallest terms of the trajectories that are there.
  std::optional<size_t> impossibleRow() const {
    for (const TrajectoryRows::Limited &one : rows.limited) {
      const bool isOfGroups = one.limit.measure == JobMeasure::Group;
      if (!isOfGroups && !isSum(one.limit.measure))
        continue;
      std::vector<__int128> sums(isOfGroups ? problem.groups.size() : 1, 0);
      for (size_t job = 0; job < problem.jobs.size(); ++job) {
        const int64_t min = smallestTerm(one.limit.measure, job);
        if (!isOfGroups)
          sums[0] += min;
        else
          for (unsigned group : problem.jobs[job].groups)
            sums[group] += min;
      }
      for (size_t row = 0; row < sums.size(); ++row)
        if (sums[row] > rows.capacity[one.row + row])
          return one.row + row;
    }
    return std::nullopt;
  }
  int64_t smallestTerm(JobMeasure measure, size_t job) const {
    const int64_t latest = lastCompletion(problem, stage, problem.jobs[job]);
    std::optional<int64_t> min;
    for (const JobTrajectory &trajectory : columns[job])
      if (trajectory.completion <= latest && (trajectory.completion >= 0 || problem.jobs[job].mayBeRejected))
        if (const int64_t term = termOf(problem, measure, problem.jobs[job], trajectory); !min || term < *min)
          min = term;
    return min.value_or(0);
  }

  TrajectoryPrices wholePricesOf(const std::vector<double> &relaxed) const {
    const double max = relaxed.empty() ? 0 : *std::max_element(relaxed.begin(), relaxed.end());
    TrajectoryPrices made{Prices(relaxed.size(), 0), isFitting ? 0 : 1};
    double scale = 1;
    if (isFitting)
      scale = max > 0 ? static_cast<double>(kFitDenominator) / max : 0;
    else
      while (made.denominator < (int64_t(1) << 20) && 2 * scale * max < kMaxPrice)
        scale *= 2, made.denominator *= 2;
    for (size_t row = 0; row < relaxed.size(); ++row)
      made.rows[row] = static_cast<int64_t>(std::floor(std::clamp(relaxed[row] * scale, 0.0, kMaxPrice)));
    return made;
  }

  Outcome priceJobs() {
    Priced sum = 0, there = 0;
    bool isNew = false;
    std::vector<Priced> cheapest;
    for (size_t job = 0; job < problem.jobs.size(); ++job) {
      std::optional<Priced> min;
      for (const JobTrajectory &trajectory : columns[job])
        if (trajectory.completion <= lastCompletion(problem, stage, problem.jobs[job]) &&
            (trajectory.completion >= 0 || problem.jobs[job].mayBeRejected))
          if (const Priced cost = costOf(problem, stage, rows, last, job, trajectory); !min || cost < *min)
            min = cost;
      auto found = cheapestTrajectory(problem, stage, rows, last, job, &rows.capacity);
      if (!found.bound)
        return Outcome::Infeasible;
      sum += *found.bound;
      cheapest.push_back(*found.bound);
      there += min.value_or(*found.bound);
      if (found.trajectory)
        isNew |= add(job, *found.trajectory);
    }
    priceLimitsOfNothing(cheapest);
    Priced early = 0; // what jobs before others pay of it
    for (const int64_t one : last.rows)
      early -= one;
    priceEarlyBegins(std::move(cheapest));
    for (const int64_t one : last.rows)
      early += one;
    sum += early, there += early;
    Priced capacity = 0;
    for (size_t row = 0; row < rows.capacity.size(); ++row)
      capacity += Priced(last.rows[row]) * rows.capacity[row];
    if (isFitting) {
      if (sum > capacity && !provedBound(last)) {
        proof = {0, {}, last.rows, 1};
        return Outcome::Infeasible;
      }
      isConverged = !isNew;
      return Outcome::Open;
    }
    const Priced total = sum - capacity;
    const auto bound = static_cast<int64_t>(total / last.denominator + (total > 0 && total % last.denominator != 0));
    if (!hasBound || bound > proof.bound)
      proof = {bound, {}, last.rows, last.denominator};
    hasBound = true;
    isConverged =
        !isNew || static_cast<double>(there - sum) <= kConverged * std::abs(static_cast<double>(there - capacity));
    return Outcome::Bounded;
  }

  void solveColumns() {
    const TrajectoryProblem master(problem, columns, stage);
    if (master.isImpossible() || isGoodEnough() || limits.stopped())
      return;
    const AllocationSolution solution = master.solve(limits);
    if (solution.status != AllocationStatus::Optimal && solution.status != AllocationStatus::Feasible)
      return;
    auto schedule = master.trajectories(solution.choice);
    repair.improve(schedule, kPasses, limits);
    offer(std::move(schedule));
  }

  const JobScheduleProblem &given;
  const JobScheduleProblem problem;
  const ObjectiveStage &stage;
  TrajectoryLists &columns;
  const SearchLimits &limits;
  std::vector<size_t> mustRun; ///< jobs that might be left out, but for a limit of 0
  const TrajectoryRows rows;
  ScheduleRepair repair;
  TrajectoryPrices last;
  std::vector<double> center; ///< the prices of the best bound
  bool isConverged = false, isFitting = false, hasBound = false, isStuck = false;
  std::optional<std::vector<JobTrajectory>> best;
  int64_t bestValue = 0;
};

class Generator {
public:
  Generator(const JobScheduleProblem &problem, const SearchLimits &limits, const std::vector<JobTrajectory> &known)
      : problem(problem), limits(limits), known(known), columns(problem.jobs.size()) {}

  JobSchedule run() {
    for (size_t objective = 0; objective < problem.objectives.size(); ++objective)
      if (takeKnown(objective);
          !(isSum(problem.objectives[objective]) ? minimizeSum(objective) : minimizeMax(objective)))
        return std::move(made);
    if (problem.objectives.empty() && !ask(stageOf(0, JobMeasure::Completion)))
      return std::move(made);
    for (size_t i = 0; i < made.values.size(); ++i)
      made.values[i] = valueOf(problem, problem.objectives[i], made.jobs);
    made.status = AllocationStatus::Optimal;
    for (size_t i = 0; i < made.proofs.size(); ++i)
      if (made.values[i] > made.proofs[i].bound)
        made.status = AllocationStatus::Feasible;
    return std::move(made);
  }

private:
  ObjectiveStage stageOf(size_t objective, JobMeasure measure) const {
    ObjectiveStage stage;
    stage.limits = problem.limits;
    for (size_t i = 0; i < objective; ++i)
      stage.limits.push_back({problem.objectives[i], made.values[i]});
    stage.measure = measure;
    return stage;
  }

  /// Starts an objective with the known schedule, where that is better.
  void takeKnown(size_t objective) {
    if (known.empty())
      return;
    ObjectiveStage stage = stageOf(objective, problem.objectives[objective]);
    stage.max = kUnlimited;
    ScheduleRepair(problem, stage).offer(made.jobs, known);
  }

  /// The best schedule of a stage of a sum; false where there is none.
  bool ask(const ObjectiveStage &stage, JobScheduleProof *proof = nullptr) {
    StageSearch search(problem, stage, columns, limits);
    if (!made.jobs.empty())
      search.offer(made.jobs);
    const StageSearch::Outcome outcome = search.run(StageSearch::roundsOf(search.size(), limits.effort));
    if (outcome == StageSearch::Outcome::Infeasible && made.jobs.empty()) {
      made = JobSchedule{};
      made.status = AllocationStatus::Infeasible;
      made.proofs.push_back(std::move(search.proof));
      return false;
    }
    if (search.schedule())
      made.jobs = *search.schedule();
    if (made.jobs.empty()) {
      made = JobSchedule{};
      made.status = AllocationStatus::Unknown;
      return false;
    }
    if (proof)
      *proof = std::move(search.proof);
    return true;
  }

  bool minimizeSum(size_t objective) {
    JobScheduleProof proof;
    if (!ask(stageOf(objective, problem.objectives[objective]), &proof))
      return false;
    if (proof.prices.empty()) // no round was made: every term is at least 0, or of `Nash` unknown
      proof.bound = problem.objectives[objective] == JobMeasure::Nash ? -kMaxAllocationNumber : 0;
    made.values.push_back(valueOf(problem, problem.objectives[objective], made.jobs));
    made.proofs.push_back(std::move(proof));
    return true;
  }

  bool minimizeMax(size_t objective) {
    const JobMeasure measure = problem.objectives[objective];
    if (made.jobs.empty() && !ask(stageOf(objective, JobMeasure::Completion)))
      return false;
    const int64_t alone = valueAlone(measure);
    vary(objective, alone, 1);
    int64_t high = valueOf(problem, measure, made.jobs), low = -1; // tried; nothing found at `low`
    JobScheduleProof proof;                                        // of what is proved
    if (alone > 0 && alone <= high) {
      ObjectiveStage stage = stageOf(objective, measure);
      stage.max = alone - 1;
      StageSearch search(problem, stage, columns, limits);
      if (search.run(StageSearch::roundsOf(search.size(), limits.effort)) == StageSearch::Outcome::Infeasible)
        low = stage.max, proof = std::move(search.proof), proof.bound = alone;
    }
    unsigned rounds = 0, maxRounds = 1;
    int64_t fitting = high; // shares of trajectories keep it, whether or not a schedule does
    const auto ask = [&](int64_t max) {
      ObjectiveStage stage = stageOf(objective, measure);
      stage.max = max;
      StageSearch search(problem, stage, columns, limits);
      const unsigned all = StageSearch::roundsOf(search.size(), limits.effort);
      const bool isProved = search.run(std::max(1u, all / kParts)) == StageSearch::Outcome::Infeasible;
      rounds += search.rounds, maxRounds = kSteps * all;
      if (!isProved)
        fitting = std::min(fitting, max);
      else if (max + 1 > proof.bound)
        proof = std::move(search.proof), proof.bound = max + 1;
      if (!isProved && search.schedule())
        made.jobs = *search.schedule(), high = std::min(high, valueOf(problem, measure, made.jobs));
      return isProved;
    };
    const auto isFar = [&](int64_t from, int64_t to) {
      return to - from > std::max<int64_t>(1, high / 2000) && rounds < maxRounds && !limits.stopped();
    };
    while (isFar(low, high)) {
      const int64_t middle = low + (high - low) / 2;
      if (!ask(middle) && high > middle) {
        vary(objective, middle, kFewer);
        high = valueOf(problem, measure, made.jobs);
      }
      if (high > middle)
        low = middle;
    }
    while (isFar(proof.bound, fitting))
      ask(proof.bound + (fitting - proof.bound) / 2);
    made.values.push_back(high);
    made.proofs.push_back(std::move(proof));
    return true;
  }

  /// Schedules near the best one with less of a max, down to a bound.
  void vary(size_t objective, int64_t bound, unsigned part) {
    ObjectiveStage stage = stageOf(objective, problem.objectives[objective]);
    stage.max = valueOf(problem, stage.measure, made.jobs);
    ScheduleRepair(problem, stage)
        .vary(made.jobs, {{}, 1}, ScheduleRepair::roundsOf(problem, limits) / part, bound, limits);
  }

  /// What a max measure is where each job is as fast as it can be by itself.
  int64_t valueAlone(JobMeasure measure) const {
    const ObjectiveStage stage = stageOf(0, JobMeasure::Completion);
    const TrajectoryRows rows(problem, stage);
    const TrajectoryPrices plain{Prices(rows.capacity.size(), 0), 1};
    std::vector<JobTrajectory> fastest;
    for (size_t job = 0; job < problem.jobs.size(); ++job) {
      auto found = cheapestTrajectory(problem, stage, rows, plain, job, &rows.capacity);
      if (!found.trajectory)
        return 0;
      fastest.push_back(problem.jobs[job].mayBeRejected ? JobTrajectory{} : std::move(*found.trajectory));
    }
    return valueOf(problem, measure, fastest);
  }

  const JobScheduleProblem &problem;
  const SearchLimits &limits;
  const std::vector<JobTrajectory> &known;
  TrajectoryLists columns;
  JobSchedule made;
};

} // namespace

JobSchedule generateJobSchedule(const JobScheduleProblem &problem, const SearchLimits &limits,
                                const std::vector<JobTrajectory> &known) {
  const JobOrder order(problem);
  const std::vector<JobTrajectory> ordered = order.toOrder(known);
  return order.fromOrder(Generator(order.problem(), limits, ordered).run());
}

} // namespace accord::jobs
