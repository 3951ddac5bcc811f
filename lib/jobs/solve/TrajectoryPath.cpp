#include "lib/jobs/solve/TrajectoryPath.h"
#include "lib/jobs/solve/TrajectoryList.h"
#include <algorithm>

namespace accord::jobs {
namespace {

/// Prices as a job meets them: of each slot of a configuration, of its begin, and of its completion.
class JobPrices {
public:
  JobPrices(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
            const TrajectoryPrices &prices, size_t number)
      : problem(problem), stage(stage), rows(rows), prices(prices), job(problem.jobs[number]) {
    priceSlots();
    begins.assign(problem.slots + 1, 0);
    ends = begins;
    for (int64_t slot = problem.slots; slot-- > 0;) {
      begins[slot] = begins[slot + 1];
      for (unsigned row : rows.laterRows[number])
        begins[slot] += prices.rows[row + slot];
    }
    for (int64_t slot = 0; slot < problem.slots; ++slot) { // of completion in the slot before or later
      ends[slot + 1] = ends[slot];
      for (unsigned row : rows.earlierRows[number])
        ends[slot + 1] += prices.rows[row + slot];
    }
  }

  Priced ofRun(int64_t begin, int64_t end, unsigned configuration) const {
    return slots[configuration][end] - slots[configuration][begin];
  }
  Priced ofBegin(int64_t slot) const { return begins[slot]; }
  /// Of completion at a second: never less at a later one, but for rounding of `Nash`.
  Priced ofCompletion(int64_t completion) const {
    const JobTrajectory only{{}, completion};
    Priced sum = ends[std::min(problem.slots, (completion + problem.slot - 1) / problem.slot)];
    if (isOfCompletion(stage.measure))
      sum += Priced(prices.denominator) * termOf(problem, stage.measure, job, only);
    for (const TrajectoryRows::Limited &one : rows.limited)
      sum += ofLimit(one, only, false);
    return sum;
  }
  Priced ofRejection() const {
    Priced sum = ends[problem.slots];
    if (stage.measure == JobMeasure::Rejected)
      sum += Priced(prices.denominator) * job.weight;
    for (const TrajectoryRows::Limited &one : rows.limited)
      if (one.limit.measure == JobMeasure::Rejected)
        sum += Priced(prices.rows[one.row]) * job.weight;
    return sum;
  }

private:
  static bool isOfSlots(JobMeasure measure) {
    return measure == JobMeasure::Price || measure == JobMeasure::Energy || measure == JobMeasure::Carbon;
  }
  static bool isOfCompletion(JobMeasure measure) { return isSum(measure) && !isOfSlots(measure); }

  Priced ofLimit(const TrajectoryRows::Limited &one, const JobTrajectory &trajectory, bool inSlots) const {
    const JobMeasure measure = one.limit.measure;
    if (isOfSlots(measure) != inSlots)
      return 0;
    const int64_t term = termOf(problem, measure, job, trajectory);
    if (measure == JobMeasure::Tail)
      return term > one.limit.max ? prices.rows[one.row] : 0;
    if (measure != JobMeasure::Group)
      return Priced(prices.rows[one.row]) * term;
    Priced sum = 0;
    for (unsigned group : job.groups)
      sum += Priced(prices.rows[one.row + group]) * term;
    return sum;
  }

  void priceSlots() {
    for (unsigned k = 0; k < job.configurations.size(); ++k) {
      std::vector<Priced> sums(problem.slots + 1, 0);
      for (int64_t slot = 0; slot < problem.slots; ++slot) {
        const JobTrajectory only{{{slot, slot + 1, k}}, 0};
        Priced one = 0;
        for (const ResourceUse &use : job.configurations[k].uses)
          one += Priced(prices.rows[use.resource * problem.slots + slot]) * use.amount;
        if (isOfSlots(stage.measure))
          one += Priced(prices.denominator) * termOf(problem, stage.measure, job, only);
        for (const TrajectoryRows::Limited &limited : rows.limited)
          one += ofLimit(limited, only, true);
        sums[slot + 1] = sums[slot] + one;
      }
      slots.push_back(std::move(sums));
    }
  }

  const JobScheduleProblem &problem;
  const ObjectiveStage &stage;
  const TrajectoryRows &rows;
  const TrajectoryPrices &prices;

  const ScheduledJob &job;
  std::vector<std::vector<Priced>> slots; ///< of each configuration: sums up to each slot
  std::vector<Priced> begins, ends;
};

class PathSearch {
public:
  PathSearch(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
             const TrajectoryPrices &prices, size_t number, const std::vector<int64_t> *left)
      : problem(problem), job(problem.jobs[number]), prices(problem, stage, rows, prices, number),
        last(lastCompletion(problem, stage, job)), left(left) {}

  CheapestTrajectory run() {
    if (job.mayBeRejected) {
      best = prices.ofRejection();
      found.trajectory = JobTrajectory{};
    }
    if (job.work == 0) {
      if (job.arrival <= last)
        offer(prices.ofCompletion(job.arrival), -1, {{}, job.arrival});
    } else {
      search();
    }
    found.bound = best;
    return std::move(found);
  }

private:
  /// A run ends in a slot, or a job that has begun pauses there.
  struct Label {
    __int128 work = 0; ///< that is done, at most
    Priced cost = 0;   ///< at least
    int64_t parent = -1;
    JobRun run;       ///< that ended; `end` 0: a pause
    int64_t real = 0; ///< work that the runs on the way do
  };

  void search() {
    open.resize(problem.slots + 1);
    fit();
    for (int64_t slot = firstSlot(problem, job); slot < problem.slots; ++slot) {
      Label start;
      start.cost = prices.ofBegin(slot);
      extend(slot, start, -1);
      if (job.elasticity == Elasticity::Moldable)
        continue;
      thin(open[slot]);
      for (const Label &label : open[slot]) {
        all.push_back(label);
        extend(slot, label, static_cast<int64_t>(all.size()) - 1);
        Label pause = label;
        pause.parent = static_cast<int64_t>(all.size()) - 1;
        pause.run = {};
        if (slot + 1 < problem.slots)
          open[slot + 1].push_back(pause);
      }
      open[slot].clear();
    }
  }

  /// In how many slots from each one a configuration fits into what is left.
  void fit() {
    const auto count = static_cast<size_t>(job.configurations.size());
    fits.assign(count, std::vector<int64_t>(problem.slots + 1, 0));
    for (size_t k = 0; k < count; ++k)
      for (int64_t slot = problem.slots; slot-- > 0;) {
        bool isFree = true;
        if (left)
          for (const ResourceUse &use : job.configurations[k].uses)
            isFree &= use.amount <= (*left)[use.resource * problem.slots + slot];
        fits[k][slot] = isFree ? fits[k][slot + 1] + 1 : 0;
      }
  }

  void extend(int64_t begin, const Label &from, int64_t parent) {
    if (best && from.cost + prices.ofCompletion(begin * problem.slot + 1) >= *best)
      return;
    for (unsigned k = 0; k < job.configurations.size(); ++k) {
      const int64_t speed = job.configurations[k].speed, restart = restartOf(job, begin, k);
      const __int128 needed = (job.work - from.work + speed - 1) / speed + restart;
      for (int64_t end = begin + 1; end <= begin + fits[k][begin]; ++end) {
        const int64_t seconds = (end - begin) * problem.slot;
        if (needed <= seconds) {
          complete(begin, end, k, from, parent, begin * problem.slot + static_cast<int64_t>(needed));
          break;
        }
        if (job.elasticity == Elasticity::Moldable || seconds <= restart || end == problem.slots)
          continue;
        Label next;
        next.work = from.work + static_cast<__int128>(speed) * (seconds - restart);
        next.cost = from.cost + prices.ofRun(begin, end, k);
        next.parent = parent, next.run = {begin, end, k};
        next.real = from.real + speed * (seconds - restart);
        if (!best || next.cost + prices.ofCompletion(end * problem.slot + 1) < *best)
          open[end].push_back(next);
      }
    }
  }

  void complete(int64_t begin, int64_t end, unsigned k, const Label &from, int64_t parent, int64_t completion) {
    if (completion > last)
      return;
    const Priced cost = from.cost + prices.ofRun(begin, end, k) + prices.ofCompletion(completion);
    if (best && cost >= *best)
      return;
    JobTrajectory made;
    made.runs.push_back({begin, end, k});
    for (int64_t at = parent; at >= 0; at = all[at].parent)
      if (all[at].run.end > 0)
        made.runs.push_back(all[at].run);
    std::reverse(made.runs.begin(), made.runs.end());
    // On the way some work may be that of another label.
    const int64_t missing = job.work - from.real;
    const auto really = completeIn(problem, job, begin, k, missing);
    made.completion = completion;
    const bool isReal = missing > 0 && really && really->completion <= last && really->end <= begin + fits[k][begin];
    if (isReal)
      made.runs.back().end = really->end, made.completion = really->completion;
    offer(cost, isReal ? 0 : -2, std::move(made));
  }

  /// `state` -2: the trajectory is none, and only its cost counts.
  void offer(Priced cost, int state, JobTrajectory trajectory) {
    if (best && cost >= *best)
      return;
    best = cost;
    if (state != -2)
      found.trajectory = join(std::move(trajectory));
  }

  /// Runs that touch in one configuration are one run, with less restarts and no later end.
  JobTrajectory join(JobTrajectory trajectory) const {
    std::vector<JobRun> runs;
    for (const JobRun &run : trajectory.runs)
      if (!runs.empty() && runs.back().end == run.begin && runs.back().configuration == run.configuration)
        runs.back().end = run.end;
      else
        runs.push_back(run);
    if (runs.size() == trajectory.runs.size())
      return trajectory;
    int64_t work = job.work;
    JobTrajectory made;
    for (const JobRun &run : runs) {
      made.runs.push_back(run);
      const auto end = completeIn(problem, job, run.begin, run.configuration, work);
      if (end && end->end <= run.end) {
        made.runs.back().end = end->end, made.completion = end->completion;
        return made;
      }
      work -= job.configurations[run.configuration].speed *
              std::max<int64_t>(0, (run.end - run.begin) * problem.slot - restartOf(job, run.begin, run.configuration));
    }
    return trajectory;
  }

  /// Leaves out what has no more work at no less cost; joins neighbours where too many remain.
  static void thin(std::vector<Label> &labels) {
    std::sort(labels.begin(), labels.end(), [](const Label &a, const Label &b) {
      return a.work != b.work ? a.work > b.work : a.cost != b.cost ? a.cost < b.cost : a.run < b.run;
    });
    std::vector<Label> kept;
    for (const Label &label : labels)
      if (kept.empty() || label.cost < kept.back().cost)
        kept.push_back(label);
    if (kept.size() > kMaxLabels) {
      std::vector<Label> joined;
      const size_t group = (kept.size() + kMaxLabels - 1) / kMaxLabels;
      for (size_t i = 0; i < kept.size(); i += group) {
        joined.push_back(kept[std::min(i + group, kept.size()) - 1]); // the cheapest, with the work of the first
        joined.back().work = kept[i].work;
      }
      kept = std::move(joined);
    }
    labels = std::move(kept);
  }

  const JobScheduleProblem &problem;
  const ScheduledJob &job;
  const JobPrices prices;
  const int64_t last;
  const std::vector<int64_t> *left;
  std::vector<std::vector<int64_t>> fits;
  std::vector<std::vector<Label>> open; ///< of each slot
  std::vector<Label> all;
  std::optional<Priced> best;
  CheapestTrajectory found;
};

} // namespace

Priced costOf(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
              const TrajectoryPrices &prices, size_t job, const JobTrajectory &trajectory) {
  const JobPrices of(problem, stage, rows, prices, job);
  if (trajectory.completion < 0)
    return of.ofRejection();
  Priced sum = of.ofCompletion(trajectory.completion);
  if (!trajectory.runs.empty())
    sum += of.ofBegin(trajectory.runs.front().begin);
  for (const JobRun &run : trajectory.runs)
    sum += of.ofRun(run.begin, run.end, run.configuration);
  return sum;
}

CheapestTrajectory cheapestTrajectory(const JobScheduleProblem &problem, const ObjectiveStage &stage,
                                      const TrajectoryRows &rows, const TrajectoryPrices &prices, size_t job,
                                      const std::vector<int64_t> *left) {
  return PathSearch(problem, stage, rows, prices, job, left).run();
}

} // namespace accord::jobs
