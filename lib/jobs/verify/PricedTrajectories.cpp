#include "lib/jobs/verify/PricedTrajectories.h"
#include "lib/jobs/verify/Trajectories.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace accord::jobs {
namespace {

using Wide = __int128;

int64_t ceilOf(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/// Work done until a slot begins, and what it costs.
struct Label {
  int64_t done = 0;
  Wide cost = 0;
  int64_t starts = 0; ///< of a job with a max number of restarts
};

class PathSearch {
public:
  PathSearch(const ScheduleRows &rows, size_t number, const RowPrices &prices, int64_t latest, size_t &labels)
      : rows(rows), problem(rows.problem), number(number), job(problem.jobs[number]), prices(prices), latest(latest),
        labels(labels), slots(problem.slots), slot(problem.slot) {
    for (const JobConfiguration &configuration : job.configurations)
      maxSpeed = std::max(maxSpeed, configuration.speed);
    toLeave = largestLeft(problem, job, latest);
    startCost = coefficient(JobMeasure::Restarts), leftCost = coefficient(JobMeasure::Unfinished);
  }

  Result<std::optional<Wide>> search() {
    priceDependences();
    if (job.mayBeRejected)
      offer(costOf({{}, -1}) + earlier[size_t(slots)]);
    if (latest < 0)
      return best;
    if (job.work == 0) {
      if (job.arrival <= latest)
        offer(completionCost(job.arrival));
      return best;
    }
    leave({0, 0});
    priceRuns();
    fitRuns();
    if (job.elasticity == Elasticity::Moldable)
      oneRun();
    else
      walkFamilies();
    if (tooLong)
      return Error{Code::BoundNotProved,
                   fmt::format("job {} has more paths through the slots than can be looked at", number)};
    return best;
  }

private:
  void offer(Wide cost) {
    if (!best || cost < *best)
      best = cost;
  }

  /// Of measures, with a trajectory's own terms.
  Wide costOf(const JobTrajectory &trajectory) const {
    Wide sum = 0;
    if (prices.objective)
      sum += Wide(prices.denominator) * termOf(problem, job, trajectory, *prices.objective);
    for (size_t i = 0; i < rows.limits.size(); ++i)
      if (int64_t price = prices.prices[rows.firstLimit + i])
        sum += Wide(price) * rows.termOf(job, trajectory, rows.limits[i]);
    return sum;
  }
  /// The same of completion alone, with the dependences of later jobs.
  Wide completionCost(int64_t completion) const {
    const int64_t busy = std::min(slots, ceilOf(completion, slot)); // it is not complete at the start of these
    return costOf({{}, completion}) + earlier[size_t(busy)];
  }

  /// Stops with what a label has done, and continues after the schedule.
  void leave(const Label &label) {
    const int64_t left = job.work - label.done;
    if (left <= toLeave)
      offer(label.cost + completionCost(endOf(problem, job)) + leftCost * unfinishedOf(job, left));
  }

  /// What a unit of a sum costs.
  Wide coefficient(JobMeasure measure) const {
    Wide sum = prices.objective == measure ? prices.denominator : 0;
    for (size_t i = 0; i < rows.limits.size(); ++i)
      if (rows.limits[i].measure == measure)
        sum += prices.prices[rows.firstLimit + i];
    return sum;
  }

  void priceDependences() {
    earlier.assign(size_t(slots) + 1, 0);
    begun.assign(size_t(slots) + 1, 0);
    for (size_t i : rows.asEarlier[number])
      for (int64_t t = 0; t < slots; ++t)
        earlier[size_t(t) + 1] += prices.prices[rows.dependences[i].first + size_t(t)];
    for (size_t i : rows.asLater[number])
      for (int64_t t = 0; t < slots; ++t)
        begun[size_t(t)] += prices.prices[rows.dependences[i].first + size_t(t)];
    for (int64_t t = 0; t < slots; ++t)
      earlier[size_t(t) + 1] += earlier[size_t(t)];
    for (int64_t t = slots; t-- > 0;)
      begun[size_t(t)] += begun[size_t(t) + 1];
  }

  /// What each configuration costs in each slot, as sums from slot 0 on.
  void priceRuns() {
    const Wide price = coefficient(JobMeasure::Price), energy = coefficient(JobMeasure::Energy),
               carbon = coefficient(JobMeasure::Carbon);
    for (const JobConfiguration &configuration : job.configurations) {
      std::vector<Wide> &sums = cost.emplace_back(1, Wide(0));
      const Wide joules = Wide(configuration.watts) * slot;
      for (int64_t t = 0; t < slots; ++t) {
        Wide one = price != 0 ? price * configuration.price * slot : 0;
        one += energy != 0 ? energy * joules : 0;
        one += carbon != 0 && !problem.carbon.empty() ? carbon * (joules * problem.carbon[size_t(t)]) : 0;
        for (const ResourceUse &use : configuration.uses)
          one += Wide(prices.prices[rows.resource(use.resource, t)]) * use.amount;
        sums.push_back(sums.back() + one);
      }
    }
  }
  Wide runCost(unsigned configuration, int64_t begin, int64_t end) const {
    return cost[configuration][size_t(end)] - cost[configuration][size_t(begin)];
  }
  /// From each slot on, up to where a configuration stays within the capacities.
  void fitRuns() {
    for (const JobConfiguration &configuration : job.configurations) {
      std::vector<int64_t> &until = fitsUntil.emplace_back(size_t(slots), 0);
      for (int64_t t = slots; t-- > 0;) {
        const bool fits =
            std::all_of(configuration.uses.begin(), configuration.uses.end(), [&](const ResourceUse &use) {
              return use.amount <= problem.resources[use.resource].capacity[size_t(t)];
            });
        until[size_t(t)] = !fits ? t : t + 1 < slots ? std::max(t + 1, until[size_t(t) + 1]) : slots;
      }
    }
  }
  int64_t restartAt(int64_t begin, unsigned configuration) const {
    return goesOn(job, begin, configuration) ? 0 : job.restart;
  }

  void oneRun() {
    for (int64_t begin = ceilOf(job.arrival, slot); begin < slots; ++begin)
      for (unsigned k = 0; k < job.configurations.size(); ++k) {
        const int64_t from = begin * slot + restartAt(begin, k), speed = job.configurations[k].speed;
        const Wide completion = Wide(from) + ceilOf(job.work, speed);
        if (job.maxRestarts == 0 && !goesOn(job, begin, k))
          continue;
        const Wide before = begun[size_t(begin)] + (goesOn(job, begin, k) ? 0 : startCost);
        if (completion > Wide(slots) * slot && from < slots * slot && fitsUntil[k][size_t(begin)] >= slots)
          leave({speed * (slots * slot - from), before + runCost(k, begin, slots)});
        if (completion > latest || completion > Wide(slots) * slot)
          continue;
        const int64_t at = static_cast<int64_t>(completion);
        if (fitsUntil[k][size_t(begin)] >= ceilOf(at, slot))
          offer(before + runCost(k, begin, ceilOf(at, slot)) + completionCost(at));
      }
  }

  /// A malleable job stays in the family of its first run.
  void walkFamilies() {
    std::set<unsigned> families;
    for (const JobConfiguration &configuration : job.configurations)
      families.insert(configuration.family);
    for (unsigned family : families)
      walk(family);
  }
  bool isOf(unsigned family, size_t configuration) const { return job.configurations[configuration].family == family; }

  void walk(unsigned family) {
    pausing.clear();
    running.assign(job.configurations.size(), std::vector<std::vector<Label>>(size_t(slots) + 1));
    const int64_t first = ceilOf(job.arrival, slot);
    if (job.running >= 0 && isOf(family, size_t(job.running)))
      running[size_t(job.running)][0].push_back({0, begun[0]});
    for (int64_t t = 0; t < slots && !tooLong; ++t) {
      std::vector<Label> &idle = pausing;
      for (unsigned k = 0; k < job.configurations.size(); ++k) {
        std::vector<Label> here = std::move(running[k][size_t(t)]);
        running[k][size_t(t)].clear();
        keepBest(here, t, 0);
        for (const Label &label : here)
          step(label, k, t, t + 1, 0);
        if (t > 0)
          idle.insert(idle.end(), here.begin(), here.end());
      }
      if (t >= first)
        idle.push_back({0, begun[size_t(t)]});
      keepBest(idle, t, job.restart);
      const int64_t length = std::max<int64_t>(1, ceilOf(job.restart, slot));
      for (const Label &label : idle) {
        if (job.maxRestarts >= 0 && label.starts >= job.maxRestarts)
          continue; // none is left
        for (unsigned k = 0; t + length <= slots && k < job.configurations.size(); ++k)
          if (isOf(family, k))
            step({label.done, label.cost + startCost, label.starts + (job.maxRestarts >= 0)}, k, t, t + length,
                 job.restart);
      }
    }
  }
  /// Runs in the slots from `begin` to `end`; at least all but the last are for the restart.
  void step(const Label &label, unsigned k, int64_t begin, int64_t end, int64_t restart) {
    if (tooLong |= labels == 0; tooLong)
      return;
    --labels;
    if (fitsUntil[k][size_t(begin)] < end)
      return;
    const int64_t speed = job.configurations[k].speed, left = job.work - label.done;
    const int64_t from = begin * slot + restart, needed = ceilOf(left, speed), seconds = end * slot - from;
    const Wide now = label.cost + runCost(k, begin, end);
    if (needed > seconds) {
      const Label next{label.done + speed * seconds, now, label.starts};
      leave(next);
      if (end < slots)
        running[k][size_t(end)].push_back(next);
      return;
    }
    if (from + needed <= latest)
      offer(now + completionCost(from + needed));
  }
  /// Drops labels that can only continue, if another one of these does so at less cost whatever both do from here on.
  /// What is left costs the same for each unit of work then, but for a millionth of the job that is rounded up.
  void dropOpen(std::vector<Label> &all, int64_t t) const {
    if (toLeave == 0)
      return;
    constexpr long double kSafe = 1e-13L; // relative error of sums
    const long double millionth = static_cast<long double>(leftCost) * job.weight;
    std::vector<long double> ends;
    std::vector<long double> cheapest(size_t(std::max<int64_t>(0, job.maxRestarts)) + 1, INFINITY); // by starts
    for (const Label &label : all) {
      const int64_t left = job.work - label.done;
      ends.push_back(static_cast<long double>(label.cost) + millionth * 1e6L * left / job.work);
      if (isOpen(label, t) && left <= toLeave)
        for (size_t starts = size_t(label.starts); starts < cheapest.size(); ++starts)
          cheapest[starts] = std::min(cheapest[starts], ends.back());
    }
    size_t kept = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const long double min = cheapest[size_t(all[i].starts)];
      if (!isOpen(all[i], t) || ends[i] - kSafe * std::abs(ends[i]) <= min + millionth + kSafe * std::abs(min))
        all[kept++] = all[i];
    }
    all.resize(kept);
  }
  /// Whether the job cannot be complete after the last slot, though it is as fast as it can be from a slot on.
  bool isOpen(const Label &label, int64_t t) const {
    return Wide(maxSpeed) * (slots - t) * slot < Wide(job.work) - label.done;
  }
  /// Drops labels that another one dominates, and those that cannot be complete in time or cheaper than the best.
  void keepBest(std::vector<Label> &all, int64_t t, int64_t restart) const {
    dropOpen(all, t);
    std::sort(all.begin(), all.end(), [](const Label &a, const Label &b) {
      return std::tie(a.starts, b.done, a.cost) < std::tie(b.starts, a.done, b.cost);
    });
    std::vector<Label> kept;
    for (const Label &label : all) {
      if (!kept.empty() && kept.back().starts == label.starts && kept.back().cost <= label.cost)
        continue;
      int64_t soonest = t * slot + restart + ceilOf(job.work - label.done, maxSpeed);
      if (toLeave > 0) // or it continues
        soonest = std::min(soonest, endOf(problem, job));
      if (soonest > latest || (best && label.cost + completionCost(soonest) >= *best))
        continue;
      kept.push_back(label);
    }
    all = std::move(kept);
  }

  const ScheduleRows &rows;
  const JobScheduleProblem &problem;
  const size_t number;
  const ScheduledJob &job;
  const RowPrices &prices;
  const int64_t latest;
  size_t &labels;
  const int64_t slots, slot;
  int64_t maxSpeed = 1, toLeave = 0;
  Wide startCost = 0, leftCost = 0; ///< of a start; of a millionth of the work that is left, with its weight
  bool tooLong = false;
  std::optional<Wide> best;
  std::vector<Wide> earlier;                            ///< of being incomplete at the start of the first so many slots
  std::vector<Wide> begun;                              ///< of the first run in each slot
  std::vector<std::vector<Wide>> cost;                  ///< of each configuration, in the first so many slots
  std::vector<std::vector<int64_t>> fitsUntil;          ///< of each configuration and slot
  std::vector<std::vector<std::vector<Label>>> running; ///< of each configuration, at the start of each slot
  std::vector<Label> pausing;                           ///< of those that start a run anew, now or later
};

} // namespace

Result<std::optional<__int128>> cheapestTrajectory(const ScheduleRows &rows, size_t job, const RowPrices &prices,
                                                   int64_t latest, size_t &labels) {
  return PathSearch(rows, job, prices, latest, labels).search();
}

} // namespace accord::jobs
