#include "lib/jobs/schedule/TrajectoryPath.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace accord::jobs {
namespace {

/// Prices as a job meets them: of each slot of a configuration, of its begin, of each start, and of its completion.
class JobPrices {
public:
  JobPrices(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
            const TrajectoryPrices &prices, size_t number)
      : problem(problem), stage(stage), rows(rows), prices(prices), job(problem.jobs[number]) {
    priceSlots();
    start = priceOf(JobMeasure::Restarts), left = priceOf(JobMeasure::Unfinished);
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
  /// Of the start of a run, but for what runs already.
  Priced ofStart(int64_t slot, unsigned configuration) const { return isStart(job, slot, configuration) ? start : 0; }
  /// Of so much work that is left at the end: never less of more.
  Priced ofEnd(int64_t work) const { return ofCompletion(endOf(problem, job)) + left * unfinishedTerm(job, work); }
  /// Of a millionth of the work of the job.
  Priced ofUnit() const { return left * job.weight; }
  /// Of a unit of work that is left, at most.
  long double ofWorkLeft() const { return static_cast<long double>(left) * job.weight * 1e6L / job.work; }
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
    const Priced unfinished = job.work > 0 ? left * unfinishedTerm(job, job.work) : 0;
    return ends[problem.slots] + priceOf(JobMeasure::Rejected) * job.weight + unfinished;
  }

private:
  /// What one unit of a sum costs, as the measure and by limits.
  Priced priceOf(JobMeasure measure) const {
    Priced sum = stage.measure == measure ? prices.denominator : 0;
    for (const TrajectoryRows::Limited &one : rows.limited)
      sum += one.limit.measure == measure ? prices.rows[one.row] : 0;
    return sum;
  }
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
  Priced start = 0, left = 0; ///< of a start; of a millionth of the weighted work
};

constexpr size_t kNarrow = 6;      ///< labels of a slot and configuration of a narrow search
constexpr int64_t kMaxParts = 512; ///< of the work of a job
constexpr int64_t kMaxSteps = 200'000, kMaxQuickSteps = 30'000; ///< of the bound of what is left
constexpr int64_t kMoments = 8; ///< of a slot, of which the bound knows the price of completion
constexpr Priced kNever = Priced(1) << 120;

/// Work that is done at the start of a slot, and what it cost.
struct Label {
  int64_t work = 0;    ///< at most
  Priced cost = 0;     ///< at least
  int32_t parent = -1; ///< in `PathSearch::all`; -1: the job begins here
  int32_t begin = -1;  ///< of the run that ends here or goes on; -1: it pauses
  unsigned configuration = 0;
  int64_t starts = 0; ///< of a job with `maxRestarts`; else 0
};
using Labels = std::vector<Label>;

constexpr long double kRounding = 1e-13L; ///< of prices with work, relative

/// Of the labels from `begin` to `end`, joins neighbours where they are too many: the cheapest, with the work of the
/// first. Returns their new end.
size_t joinNeighbours(Labels &labels, size_t begin, size_t end) {
  const size_t count = end - begin, group = (count + kMaxLabels - 1) / kMaxLabels;
  if (count <= kMaxLabels)
    return end;
  size_t joined = begin;
  for (size_t i = begin; i < end; i += group) {
    const int64_t work = labels[i].work;
    labels[joined] = labels[std::min(i + group, end) - 1];
    labels[joined++].work = work;
  }
  return joined;
}

/// Leaves out labels with no more work at no less cost and as many starts; joins neighbours where too many remain.
void thin(Labels &labels, bool isJoined) {
  std::sort(labels.begin(), labels.end(), [](const Label &a, const Label &b) {
    return std::tie(a.starts, b.work, a.cost, a.begin, a.configuration, a.parent) <
           std::tie(b.starts, a.work, b.cost, b.begin, b.configuration, b.parent);
  });
  size_t kept = 0, begin = 0; // of labels with as many starts
  auto join = [&] {
    if (isJoined)
      kept = begin = joinNeighbours(labels, begin, kept);
    begin = kept;
  };
  for (size_t i = 0; i < labels.size(); ++i) {
    const Label label = labels[i];
    if (kept > begin && labels[kept - 1].starts != label.starts)
      join();
    if (kept == begin || label.cost < labels[kept - 1].cost)
      labels[kept++] = label;
  }
  join();
  labels.resize(kept);
}

/// The last second at which a job may be complete; where `Tail` leaves out no job, its limit is one of each job.
int64_t lastOf(const JobScheduleProblem &problem, const ObjectiveStage &stage, const ScheduledJob &job) {
  int64_t last = lastCompletion(problem, stage, job);
  for (const JobLimit &limit : stage.allLimits())
    if (limit.measure == JobMeasure::Tail && problem.tail == 0)
      last = std::min(last, std::max<int64_t>(-1, job.since() + std::max<int64_t>(limit.max, -1)));
  return last;
}

class PathSearch {
public:
  PathSearch(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
             const TrajectoryPrices &prices, size_t number, const std::vector<int64_t> *left, bool isQuick)
      : problem(problem), job(problem.jobs[number]), prices(problem, stage, rows, prices, number),
        first(std::max(firstSlot(problem, job), rows.begins[number])),
        last(rows.tailOfEach ? lastOf(problem, stage, job) : lastCompletion(problem, stage, job)),
        maxLeft(maxWorkLeft(problem, job, last)), left(left), isQuick(isQuick) {}

  CheapestTrajectory run() {
    if (job.mayBeRejected) {
      best = prices.ofRejection();
      found.trajectory = JobTrajectory{};
    }
    if (job.work > 0) {
      leave(problem.slots, {}, 0);
      search();
    } else if (job.arrival <= last && (!best || prices.ofCompletion(job.arrival) < *best)) {
      best = prices.ofCompletion(job.arrival);
      found.trajectory = JobTrajectory{{}, job.arrival};
    }
    found.bound = best;
    return std::move(found);
  }

private:
  void search() {
    std::set<unsigned> families;
    for (const JobConfiguration &one : job.configurations)
      families.insert(one.family);
    for (unsigned family : families)
      search(family);
  }

  void search(unsigned family) {
    prepare(family);
    if (job.elasticity == Elasticity::Moldable) {
      for (int64_t slot = first; slot < problem.slots; ++slot)
        begin(slot, {0, prices.ofBegin(slot)}, nullptr);
      return;
    }
    for (int64_t slot = first; slot < problem.slots; ++slot) // single runs first: they bound all others
      begin(slot, {0, prices.ofBegin(slot)}, nullptr);
    boundRest();
    walk(true);
    if (!isQuick)
      walk(false);
  }

  /// All paths, or of each slot only the few labels that may be the cheapest, whose best bounds the others.
  void walk(bool isNarrow) {
    const auto slots = static_cast<size_t>(problem.slots);
    all.clear();
    going.assign(job.configurations.size(), std::vector<Labels>(slots + 1));
    Labels pausing;
    for (int64_t slot = first; slot < problem.slots; ++slot) {
      for (unsigned k = 0; k < job.configurations.size(); ++k) {
        Labels &here = going[k][static_cast<size_t>(slot)];
        choose(here, slot, isNarrow);
        for (const Label &label : here)
          leave(slot, label, k);
        pausing.insert(pausing.end(), here.begin(), here.end());
      }
      choose(pausing, slot, isNarrow);
      for (Label &label : pausing)
        remember(label, slot);
      for (unsigned k = 0; k < job.configurations.size(); ++k) {
        Labels &here = going[k][static_cast<size_t>(slot)];
        for (const Label &label : here)
          goOn(slot, k, label);
        Labels().swap(here);
      }
      for (const Label &label : pausing)
        begin(slot, label, &going);
      begin(slot, {0, prices.ofBegin(slot)}, &going);
    }
    for (unsigned k = 0; k < job.configurations.size(); ++k)
      for (const Label &label : going[k][slots])
        leave(problem.slots, label, k);
  }

  /// Leaves out labels that are not the way to anything cheaper, in a narrow search all but a few.
  void choose(Labels &labels, int64_t slot, bool isNarrow) const {
    std::erase_if(labels, [&](const Label &label) { return isHopeless(label, slot); });
    thinOpen(labels, slot);
    thin(labels, !isNarrow);
    if (!isNarrow || labels.size() <= kNarrow)
      return;
    std::vector<std::pair<Priced, size_t>> ranked;
    for (size_t i = 0; i < labels.size(); ++i)
      ranked.emplace_back(labels[i].cost + restFrom(labels[i].work, slot), i);
    std::nth_element(ranked.begin(), ranked.begin() + kNarrow, ranked.end());
    Labels few;
    for (size_t i = 0; i < kNarrow; ++i)
      few.push_back(labels[ranked[i].second]);
    labels = std::move(few);
  }

  /// Leaves out labels that cannot complete any more, where one of them that may continue costs less with what both
  /// leave, whatever follows: then all that counts is cost + price * work left, of which one unit is lost by rounding.
  void thinOpen(Labels &labels, int64_t slot) const {
    if (maxLeft <= 0)
      return;
    auto priced = [&](const Label &label) {
      return static_cast<long double>(label.cost) +
             prices.ofWorkLeft() * static_cast<long double>(job.work - label.work);
    };
    const size_t counts = static_cast<size_t>(std::max<int64_t>(0, job.maxRestarts)) + 1;
    std::vector<long double> cheapest(counts,
                                      std::numeric_limits<long double>::infinity()); // by starts, at most so many
    for (const Label &label : labels)
      if (isOpen(label, slot) && job.work - label.work <= maxLeft)
        cheapest[label.starts] = std::min(cheapest[label.starts], priced(label));
    for (size_t starts = 1; starts < counts; ++starts)
      cheapest[starts] = std::min(cheapest[starts], cheapest[starts - 1]);
    std::erase_if(labels, [&](const Label &label) {
      const long double cost = priced(label), min = cheapest[label.starts];
      const long double error = (std::abs(cost) + std::abs(min)) * kRounding;
      return isOpen(label, slot) && cost > min + static_cast<long double>(prices.ofUnit()) + error;
    });
  }

  /// In how many slots from each one a configuration of a family fits into what is left.
  void prepare(unsigned family) {
    const size_t count = job.configurations.size();
    fits.assign(count, std::vector<int64_t>(problem.slots + 1, 0));
    for (const JobConfiguration &one : job.configurations)
      fastest = std::max(fastest, one.speed);
    for (int64_t slot = problem.slots; slot-- > 0;)
      for (unsigned k = 0; k < count; ++k) {
        bool isFree = job.configurations[k].family == family;
        if (left)
          for (const ResourceUse &use : job.configurations[k].uses)
            isFree &= use.amount <= (*left)[use.resource * problem.slots + slot];
        fits[k][slot] = isFree ? fits[k][slot + 1] + 1 : 0;
      }
  }

  /// What is left to do costs at least so much from each slot on, completion included, or what a job that may continue
  /// leaves: a path through parts of the work that are rounded down, without restarts.
  void boundRest() {
    const int64_t size = problem.slots * std::max<int64_t>(1, static_cast<int64_t>(job.configurations.size()));
    parts =
        std::clamp<int64_t>((isQuick ? kMaxQuickSteps : kMaxSteps) / size, 1, std::min<int64_t>(kMaxParts, job.work));
    part = (job.work + parts - 1) / parts;
    const auto row = static_cast<size_t>(parts) + 1;
    rest.assign(row * (static_cast<size_t>(problem.slots) + 1), kNever);
    for (int64_t i = 0; i <= parts && std::max<int64_t>(1, i * part) <= maxLeft; ++i)
      rest[row * static_cast<size_t>(problem.slots) + static_cast<size_t>(i)] =
          prices.ofEnd(std::max<int64_t>(1, i * part));
    for (int64_t slot = problem.slots; slot-- > first;) {
      Priced *here = &rest[row * static_cast<size_t>(slot)];
      const Priced *next = here + row;
      std::copy(next, next + row, here);
      std::array<Priced, kMoments> completion;
      for (int64_t i = 0; i < kMoments; ++i)
        completion[i] = prices.ofCompletion(slot * problem.slot + 1 + i * problem.slot / kMoments);
      for (unsigned k = 0; k < job.configurations.size(); ++k) {
        if (fits[k][slot] == 0)
          continue;
        const int64_t speed = job.configurations[k].speed;
        const int64_t whole = speed > job.work / problem.slot ? job.work : speed * problem.slot; // of one slot
        const Priced cost = prices.ofRun(slot, slot + 1, k);
        for (int64_t i = 0; i <= parts; ++i) {
          const int64_t work = std::max<int64_t>(1, i * part);
          if (work > whole) {
            const int64_t after = (work - whole) / part;
            if (next[after] < kNever)
              here[i] = std::min(here[i], cost + next[after]);
          } else if (const int64_t second = (work + speed - 1) / speed; slot * problem.slot + second <= last) {
            here[i] = std::min(here[i], cost + completion[(second - 1) * kMoments / problem.slot]);
          }
        }
      }
    }
  }
  Priced restFrom(int64_t done, int64_t slot) const {
    return rest[(static_cast<size_t>(parts) + 1) * static_cast<size_t>(slot) +
                static_cast<size_t>((job.work - done) / part)];
  }

  /// Whether the job cannot complete any more from a slot on.
  bool isOpen(const Label &label, int64_t slot) const {
    return label.work + static_cast<__int128>(fastest) * (problem.slots - slot) * problem.slot < job.work;
  }

  /// Whether nothing that goes on from a label costs less than what was found.
  bool isHopeless(const Label &label, int64_t slot) const {
    const Priced min = restFrom(label.work, slot);
    return min == kNever || (best && label.cost + min >= *best);
  }

  /// A label of which a run may begin later gets a number.
  void remember(Label &label, int64_t slot) {
    if (label.begin < 0)
      return;
    all.push_back({label, slot});
    label.parent = static_cast<int32_t>(all.size()) - 1;
    label.begin = -1;
  }

  /// Another slot in the same run.
  void goOn(int64_t slot, unsigned k, const Label &from) {
    if (fits[k][slot] == 0)
      return;
    const int64_t speed = job.configurations[k].speed, needed = (job.work - from.work + speed - 1) / speed;
    if (needed <= problem.slot)
      return complete(slot * problem.slot + needed, from.begin, k, from, from.cost + prices.ofRun(slot, slot + 1, k));
    Label next = from;
    next.work += speed * problem.slot;
    next.cost += prices.ofRun(slot, slot + 1, k);
    if (!isHopeless(next, slot + 1))
      going[k][static_cast<size_t>(slot + 1)].push_back(next);
  }

  /// Runs from a slot on, up to the first end of a slot with work done. Without `next` single runs to the end.
  void begin(int64_t slot, const Label &from, std::vector<std::vector<Labels>> *next) {
    for (unsigned k = 0; k < job.configurations.size(); ++k) {
      const int64_t speed = job.configurations[k].speed, restart = restartOf(job, slot, k);
      const int64_t starts = from.starts + (job.maxRestarts >= 0 && isStart(job, slot, k));
      if (starts > std::max<int64_t>(0, job.maxRestarts))
        continue;
      const Priced started = from.cost + prices.ofStart(slot, k);
      const __int128 needed = static_cast<__int128>(job.work - from.work + speed - 1) / speed + restart;
      const int64_t some = restart / problem.slot + 1, room = fits[k][slot];
      if (needed <= static_cast<__int128>(next ? std::min(some, room) : room) * problem.slot) {
        const auto end = static_cast<int64_t>((needed + problem.slot - 1) / problem.slot);
        complete(slot * problem.slot + static_cast<int64_t>(needed), slot, k, from,
                 started + prices.ofRun(slot, slot + end, k));
        continue;
      }
      const bool isToEnd = !next && maxLeft > 0 && room == problem.slots - slot; // the run goes on to the end
      const int64_t length = isToEnd ? room : some;
      if ((!next && !isToEnd) || some > room || (slot + some == problem.slots && maxLeft <= 0))
        continue;
      Label label = from;
      label.work += speed * (length * problem.slot - restart);
      label.cost = started + prices.ofRun(slot, slot + length, k);
      label.begin = static_cast<int32_t>(slot), label.configuration = k, label.starts = starts;
      if (isToEnd)
        leave(problem.slots, label, k);
      else if (!isHopeless(label, slot + some))
        (*next)[k][static_cast<size_t>(slot + some)].push_back(label);
    }
  }

  void complete(int64_t completion, int64_t begun, unsigned k, const Label &from, Priced cost) {
    if (completion > last)
      return;
    cost += prices.ofCompletion(completion);
    if (best && cost >= *best)
      return;
    best = cost;
    JobTrajectory made{earlierRuns(from), completion};
    // Labels may have been joined on the way: the runs may do less work than the label says.
    const int64_t rest = workLeft(problem, job, made.runs);
    const auto really = completeIn(problem, job, begun, k, rest);
    if (rest <= 0 || !really || really->completion > last || really->end > begun + fits[k][begun])
      return;
    made.runs.push_back({begun, really->end, k});
    made.completion = really->completion;
    found.trajectory = joined(std::move(made));
  }

  /// Continues after the schedule with what a label leaves, whose run ends at a slot; without a run, with all of it.
  void leave(int64_t slot, const Label &from, unsigned k) {
    const int64_t work = job.work - from.work;
    if (work > maxLeft)
      return;
    const Priced cost = from.cost + prices.ofEnd(work);
    if (best && cost >= *best)
      return;
    best = cost;
    JobTrajectory made{earlierRuns(from), endOf(problem, job), true};
    if (from.begin >= 0)
      made.runs.push_back({from.begin, slot, k});
    const int64_t rest = workLeft(problem, job, made.runs);
    if (rest > 0 && rest <= maxLeft)
      found.trajectory = joined(std::move(made));
  }

  /// The runs before the one of a label.
  std::vector<JobRun> earlierRuns(const Label &label) const {
    std::vector<JobRun> runs;
    for (int64_t at = label.parent; at >= 0; at = all[at].first.parent)
      runs.push_back({all[at].first.begin, all[at].second, all[at].first.configuration});
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  /// Runs that touch in one configuration are one run, with less restarts and no later end.
  JobTrajectory joined(JobTrajectory trajectory) const {
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
    made.completion = endOf(problem, job), made.continues = true;
    for (const JobRun &run : runs) {
      made.runs.push_back(run);
      const auto end = completeIn(problem, job, run.begin, run.configuration, work);
      if (end && end->end <= run.end) {
        made.runs.back().end = end->end, made.completion = end->completion, made.continues = false;
        return made;
      }
      work -= job.configurations[run.configuration].speed *
              ((run.end - run.begin) * problem.slot - restartOf(job, run.begin, run.configuration));
    }
    return trajectory.continues ? made : trajectory;
  }

  const JobScheduleProblem &problem;
  const ScheduledJob &job;
  const JobPrices prices;
  const int64_t first, last; ///< slot, second
  const int64_t maxLeft;     ///< work with which it may continue
  const std::vector<int64_t> *left;
  const bool isQuick;
  int64_t fastest = 1;
  std::vector<std::vector<int64_t>> fits;
  std::vector<Priced> rest;                   ///< of each slot and number of parts of the work
  int64_t parts = 1, part = 1;                ///< of the work: how many, and how large each is
  std::vector<std::vector<Labels>> going;     ///< of each configuration and slot: runs that may go on
  std::vector<std::pair<Label, int64_t>> all; ///< runs that ended, with the slot in which they did
  std::optional<Priced> best;
  CheapestTrajectory found;
};

} // namespace

Priced costOf(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
              const TrajectoryPrices &prices, size_t job, const JobTrajectory &trajectory) {
  const JobPrices of(problem, stage, rows, prices, job);
  if (trajectory.completion < 0)
    return of.ofRejection();
  Priced sum = trajectory.continues ? of.ofEnd(workLeft(problem, problem.jobs[job], trajectory.runs))
                                    : of.ofCompletion(trajectory.completion);
  if (!trajectory.runs.empty())
    sum += of.ofBegin(trajectory.runs.front().begin);
  for (const JobRun &run : trajectory.runs)
    sum += of.ofStart(run.begin, run.configuration) + of.ofRun(run.begin, run.end, run.configuration);
  return sum;
}

CheapestTrajectory cheapestTrajectory(const JobScheduleProblem &problem, const ObjectiveStage &stage,
                                      const TrajectoryRows &rows, const TrajectoryPrices &prices, size_t job,
                                      const std::vector<int64_t> *left, bool isQuick) {
  return PathSearch(problem, stage, rows, prices, job, left, isQuick).run();
}

} // namespace accord::jobs
