#include "lib/jobs/schedule/TrajectoryPath.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

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
};
using Labels = std::vector<Label>;

/// Leaves out labels with no more work at no less cost.
void leaveOutDominated(Labels &labels) {
  std::sort(labels.begin(), labels.end(), [](const Label &a, const Label &b) {
    if (a.work != b.work)
      return a.work > b.work;
    return a.cost != b.cost
               ? a.cost < b.cost
               : std::tie(a.begin, a.configuration, a.parent) < std::tie(b.begin, b.configuration, b.parent);
  });
  size_t kept = 0;
  for (size_t i = 0; i < labels.size(); ++i)
    if (kept == 0 || labels[i].cost < labels[kept - 1].cost)
      labels[kept++] = labels[i];
  labels.resize(kept);
}

/// Joins neighbours where too many labels remain.
void joinNeighbours(Labels &labels) {
  const size_t kept = labels.size();
  if (kept <= kMaxLabels)
    return;
  const size_t group = (kept + kMaxLabels - 1) / kMaxLabels;
  size_t joined = 0;
  for (size_t i = 0; i < kept; i += group) {
    const int64_t work = labels[i].work;
    labels[joined] = labels[std::min(i + group, kept) - 1]; // the cheapest, with the work of the first
    labels[joined++].work = work;
  }
  labels.resize(joined);
}

/// The last second at which a job may be complete; where `Tail` leaves out no job, its limit is one of each job.
int64_t lastOf(const JobScheduleProblem &problem, const ObjectiveStage &stage, const ScheduledJob &job) {
  int64_t last = lastCompletion(problem, stage, job);
  for (const JobLimit &limit : stage.allLimits())
    if (limit.measure == JobMeasure::Tail && problem.tail == 0)
      last = std::min(last, job.arrival + std::max<int64_t>(limit.max, -job.arrival - 1));
  return last;
}

class PathSearch {
public:
  PathSearch(const JobScheduleProblem &problem, const ObjectiveStage &stage, const TrajectoryRows &rows,
             const TrajectoryPrices &prices, size_t number, const std::vector<int64_t> *left, bool isQuick)
      : problem(problem), job(problem.jobs[number]), prices(problem, stage, rows, prices, number),
        first(std::max(firstSlot(problem, job), rows.begins[number])),
        last(rows.tailOfEach ? lastOf(problem, stage, job) : lastCompletion(problem, stage, job)), left(left),
        isQuick(isQuick) {}

  CheapestTrajectory run() {
    if (job.mayBeRejected) {
      best = prices.ofRejection();
      found.trajectory = JobTrajectory{};
    }
    if (job.work > 0)
      search();
    else if (job.arrival <= last && (!best || prices.ofCompletion(job.arrival) < *best)) {
      best = prices.ofCompletion(job.arrival);
      found.trajectory = JobTrajectory{{}, job.arrival};
    }
    found.bound = best;
    return std::move(found);
  }

private:
  void search() {
    prepare();
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
    all.clear();
    going.assign(job.configurations.size(), std::vector<Labels>(static_cast<size_t>(problem.slots) + 1));
    Labels pausing;
    for (int64_t slot = first; slot < problem.slots; ++slot) {
      for (unsigned k = 0; k < job.configurations.size(); ++k) {
        Labels &here = going[k][static_cast<size_t>(slot)];
        thin(here, slot, isNarrow);
        pausing.insert(pausing.end(), here.begin(), here.end());
      }
      thin(pausing, slot, isNarrow);
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
  }

  void thin(Labels &labels, int64_t slot, bool isNarrow) const {
    std::erase_if(labels, [&](const Label &label) { return isHopeless(label, slot); });
    leaveOutDominated(labels);
    if (!isNarrow)
      return joinNeighbours(labels);
    if (labels.size() <= kNarrow)
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

  /// In how many slots from each one a configuration fits into what is left.
  void prepare() {
    const size_t count = job.configurations.size();
    fits.assign(count, std::vector<int64_t>(problem.slots + 1, 0));
    for (int64_t slot = problem.slots; slot-- > 0;) {
      for (unsigned k = 0; k < count; ++k) {
        bool isFree = true;
        if (left)
          for (const ResourceUse &use : job.configurations[k].uses)
            isFree &= use.amount <= (*left)[use.resource * problem.slots + slot];
        fits[k][slot] = isFree ? fits[k][slot + 1] + 1 : 0;
      }
    }
  }

  /// What is left to do costs at least so much from each slot on, completion included: a path through parts of the work
  /// that are rounded down, without restarts.
  void boundRest() {
    const int64_t size = problem.slots * std::max<int64_t>(1, static_cast<int64_t>(job.configurations.size()));
    parts =
        std::clamp<int64_t>((isQuick ? kMaxQuickSteps : kMaxSteps) / size, 1, std::min<int64_t>(kMaxParts, job.work));
    part = (job.work + parts - 1) / parts;
    const auto row = static_cast<size_t>(parts) + 1;
    rest.assign(row * (static_cast<size_t>(problem.slots) + 1), kNever);
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
      return complete(slot * problem.slot + needed, slot + 1, from.begin, k, from,
                      from.cost + prices.ofRun(slot, slot + 1, k));
    Label next = from;
    next.work += speed * problem.slot;
    next.cost += prices.ofRun(slot, slot + 1, k);
    if (slot + 1 < problem.slots && !isHopeless(next, slot + 1))
      going[k][static_cast<size_t>(slot + 1)].push_back(next);
  }

  /// Runs from a slot on, up to the first end of a slot with work done. Without `next` single runs to the end.
  void begin(int64_t slot, const Label &from, std::vector<std::vector<Labels>> *next) {
    for (unsigned k = 0; k < job.configurations.size(); ++k) {
      const int64_t speed = job.configurations[k].speed, restart = restartOf(job, slot, k);
      const __int128 needed = static_cast<__int128>(job.work - from.work + speed - 1) / speed + restart;
      const int64_t some = restart / problem.slot + 1, room = fits[k][slot];
      if (needed <= static_cast<__int128>(next ? std::min(some, room) : room) * problem.slot) {
        const auto end = static_cast<int64_t>((needed + problem.slot - 1) / problem.slot);
        complete(slot * problem.slot + static_cast<int64_t>(needed), slot + end, slot, k, from,
                 from.cost + prices.ofRun(slot, slot + end, k));
        continue;
      }
      if (!next || some > room || slot + some >= problem.slots)
        continue;
      Label label = from;
      label.work += speed * (some * problem.slot - restart);
      label.cost += prices.ofRun(slot, slot + some, k);
      label.begin = static_cast<int32_t>(slot), label.configuration = k;
      if (!isHopeless(label, slot + some))
        (*next)[k][static_cast<size_t>(slot + some)].push_back(label);
    }
  }

  void complete(int64_t completion, int64_t end, int64_t begun, unsigned k, const Label &from, Priced cost) {
    if (completion > last)
      return;
    cost += prices.ofCompletion(completion);
    if (best && cost >= *best)
      return;
    best = cost;
    JobTrajectory made;
    made.runs.push_back({begun, end, k});
    int64_t before = 0; // work of earlier runs
    for (int64_t at = from.parent; at >= 0; at = all[at].first.parent) {
      const auto &[label, until] = all[at];
      made.runs.push_back({label.begin, until, label.configuration});
      before += job.configurations[label.configuration].speed *
                ((until - label.begin) * problem.slot - restartOf(job, label.begin, label.configuration));
    }
    std::reverse(made.runs.begin(), made.runs.end());
    // Labels may have been joined on the way: the runs may do less work than the label says.
    const auto really = completeIn(problem, job, begun, k, job.work - before);
    if (before >= job.work || !really || really->completion > last || really->end > begun + fits[k][begun])
      return;
    made.runs.back().end = really->end, made.completion = really->completion;
    found.trajectory = joined(std::move(made));
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
    for (const JobRun &run : runs) {
      made.runs.push_back(run);
      const auto end = completeIn(problem, job, run.begin, run.configuration, work);
      if (end && end->end <= run.end) {
        made.runs.back().end = end->end, made.completion = end->completion;
        return made;
      }
      work -= job.configurations[run.configuration].speed *
              ((run.end - run.begin) * problem.slot - restartOf(job, run.begin, run.configuration));
    }
    return trajectory;
  }

  const JobScheduleProblem &problem;
  const ScheduledJob &job;
  const JobPrices prices;
  const int64_t first, last; ///< slot, second
  const std::vector<int64_t> *left;
  const bool isQuick;
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
  Priced sum = of.ofCompletion(trajectory.completion);
  if (!trajectory.runs.empty())
    sum += of.ofBegin(trajectory.runs.front().begin);
  for (const JobRun &run : trajectory.runs)
    sum += of.ofRun(run.begin, run.end, run.configuration);
  return sum;
}

CheapestTrajectory cheapestTrajectory(const JobScheduleProblem &problem, const ObjectiveStage &stage,
                                      const TrajectoryRows &rows, const TrajectoryPrices &prices, size_t job,
                                      const std::vector<int64_t> *left, bool isQuick) {
  return PathSearch(problem, stage, rows, prices, job, left, isQuick).run();
}

} // namespace accord::jobs
