#include "lib/jobs/schedule/WaitReasons.h"
#include "lib/jobs/problem/JobWords.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace accord::jobs {
namespace {

using Wide = __int128;

/// What a job could do instead from some slot on.
struct Alternative {
  std::vector<JobRun> runs;
  int64_t completion = -1;
  bool continues = false;
  int64_t left = 0, starts = 0; ///< work after the last slot, and runs that do not go on
};

/// Explains the waits of one job after the other.
class WaitExplainer {
public:
  explicit WaitExplainer(const JobAnswer &answer)
      : answer(answer), problem(answer.problem), used(usedAmounts(answer.problem, answer.schedule)),
        changed(answer.schedule) {
    carbonBefore.assign(static_cast<size_t>(std::max<int64_t>(problem.slots, 0)) + 1, 0);
    for (size_t slot = 0; slot + 1 < carbonBefore.size(); ++slot)
      carbonBefore[slot + 1] = carbonBefore[slot] + (slot < problem.carbon.size() ? problem.carbon[slot] : 0);
    for (const JobLimit &limit : problem.limits)
      totals.push_back(shown(answer.schedule, limit.measure));
  }

  std::vector<JobWait> explain() {
    for (size_t j = 0; j < answer.schedule.jobs.size() && j < problem.jobs.size(); ++j)
      explainJob(static_cast<unsigned>(j));
    return std::move(waits);
  }

private:
  // --- one job

  void explainJob(unsigned j) {
    number = j;
    job = &problem.jobs[j];
    trajectory = &answer.schedule.jobs[j];
    if (job->configurations.empty() || problem.slot <= 0 ||
        (trajectory->runs.empty() && trajectory->completion >= 0 && !trajectory->continues))
      return;
    const int64_t first = std::max<int64_t>(0, (job->arrival + problem.slot - 1) / problem.slot);
    if (first >= problem.slots)
      return;
    if (trajectory->runs.empty()) {
      add(-1);
      interval(first, problem.slots, 0);
      return;
    }
    std::vector<std::pair<size_t, std::pair<int64_t, int64_t>>> gaps;
    int64_t end = first;
    for (size_t r = 0; r < trajectory->runs.size(); ++r) {
      if (trajectory->runs[r].begin > end)
        gaps.push_back({r, {end, std::min(trajectory->runs[r].begin, problem.slots)}});
      end = trajectory->runs[r].end;
    }
    if (trajectory->continues && end < problem.slots)
      gaps.push_back({trajectory->runs.size(), {end, problem.slots}});
    if (gaps.empty())
      return;
    add(-1);
    for (const auto &[run, slots] : gaps)
      interval(slots.first, slots.second, run);
    add(1);
  }

  /// Adds what the runs of the job use, or takes it away.
  void add(int sign) {
    for (const JobRun &run : trajectory->runs)
      if (run.configuration < job->configurations.size())
        for (const ResourceUse &use : job->configurations[run.configuration].uses)
          for (int64_t slot = std::max<int64_t>(run.begin, 0);
               use.resource < used.size() && slot < std::min(run.end, problem.slots); ++slot)
            used[use.resource][slot] += sign * use.amount;
  }

  /// The job does not run from slot `from` up to slot `until`, where its run `next` begins.
  void interval(int64_t from, int64_t until, size_t next) {
    from = afterDependences(from, until, next);
    if (from >= until)
      return;
    findBlocked(from);
    int64_t free = from;
    while (free < until && isBlocked(free))
      ++free;
    if (free > from)
      emit(from, free, next, WaitCause::Resource, resourceText(from, free));
    if (free < until)
      couldStart(free, until, next);
  }

  void emit(int64_t from, int64_t until, size_t next, WaitCause cause, std::string text) {
    JobWait wait{number, from * problem.slot, until * problem.slot, cause, std::move(text)};
    if (next == 0 && (waits.empty() || waits.back().job != number))
      wait.from = std::max<int64_t>(job->arrival, 0);
    waits.push_back(std::move(wait));
  }

  // --- dependences

  int64_t afterDependences(int64_t from, int64_t until, size_t next) {
    int64_t ready = from;
    std::optional<unsigned> last;
    for (unsigned earlier : job->after) {
      if (next > 0 || earlier >= answer.schedule.jobs.size())
        continue;
      const int64_t completion = answer.schedule.jobs[earlier].completion;
      const int64_t slot = completion < 0 ? until : (completion + problem.slot - 1) / problem.slot;
      if (slot > ready)
        ready = slot, last = earlier;
    }
    if (!last)
      return from;
    ready = std::min(ready, until);
    const JobTrajectory &does = answer.schedule.jobs[*last];
    emit(from, ready, next, WaitCause::Dependence,
         fmt::format("it comes after '{}', which {}", problem.jobs[*last].name,
                     does.continues        ? "continues after the schedule"
                     : does.completion < 0 ? "is rejected"
                                           : "completes at " + timeText(static_cast<double>(does.completion))));
    return ready;
  }

  // --- resources

  int64_t freeAmount(unsigned resource, int64_t slot) const {
    const std::vector<int64_t> &capacity = problem.resources[resource].capacity;
    return (slot < static_cast<int64_t>(capacity.size()) ? capacity[slot] : 0) - used[resource][slot];
  }
  bool fits(const JobConfiguration &configuration, int64_t slot) const {
    return std::ranges::all_of(configuration.uses, [&](const ResourceUse &use) {
      return use.resource < used.size() && use.amount <= freeAmount(use.resource, slot);
    });
  }

  /// Of each configuration and slot from `from` on: the next slot in which it has no room.
  void findBlocked(int64_t from) {
    blockedFrom = from;
    blocked.assign(job->configurations.size(), std::vector<int64_t>(problem.slots - from + 1, problem.slots));
    for (size_t c = 0; c < blocked.size(); ++c)
      for (int64_t slot = problem.slots - 1; slot >= from; --slot)
        blocked[c][slot - from] = fits(job->configurations[c], slot) ? blocked[c][slot - from + 1] : slot;
  }
  int64_t nextBlocked(size_t configuration, int64_t slot) const { return blocked[configuration][slot - blockedFrom]; }
  bool isBlocked(int64_t slot) const {
    for (size_t c = 0; c < blocked.size(); ++c)
      if (nextBlocked(c, slot) > slot)
        return false;
    return true;
  }

  /// The configuration that needs the smallest shares of its resources.
  size_t smallest() const {
    size_t best = 0;
    double bestShare = INFINITY;
    for (size_t c = 0; c < job->configurations.size(); ++c) {
      double share = 0;
      for (const ResourceUse &use : job->configurations[c].uses) {
        if (use.resource >= used.size())
          continue;
        const std::vector<int64_t> &capacity = problem.resources[use.resource].capacity;
        const int64_t max = capacity.empty() ? 0 : *std::ranges::max_element(capacity);
        share += static_cast<double>(use.amount) / std::max(0.5, static_cast<double>(max));
      }
      if (share < bestShare)
        best = c, bestShare = share;
    }
    return best;
  }

  /// All slots from `from` up to `until` have no room: what is missing, and who has it.
  std::string resourceText(int64_t from, int64_t until) const {
    std::string text;
    for (const ResourceUse &use : job->configurations[smallest()].uses) {
      int64_t free = -1, there = 0;
      for (int64_t slot = from; use.resource < used.size() && slot < until; ++slot)
        if (const int64_t left = freeAmount(use.resource, slot); left < use.amount) {
          free = std::max({free, left, int64_t(0)});
          there = std::max(there, left + used[use.resource][slot]);
        }
      if (free < 0)
        continue;
      const std::string needed = amountText(answer, use.resource, use.amount);
      const std::string_view many = text.empty() ? "" : "; ";
      if (there < use.amount)
        text += fmt::format("{}{} needed, and only {} there", many, withVerb(needed, use.amount),
                            withVerb(amountText(answer, use.resource, there), there));
      else
        text +=
            fmt::format("{}{} needed, and {} of {} {} free{}", many, withVerb(needed, use.amount),
                        free == 0 ? "none" : "at most " + withoutName(use.resource, free),
                        withoutName(use.resource, there), free <= 1 ? "is" : "are", holders(use.resource, from, until));
    }
    return text;
  }

  static std::string withVerb(const std::string &amount, int64_t number) {
    return amount + (number == 1 ? " is" : " are");
  }
  /// Watts with their unit, other amounts as a number.
  std::string withoutName(unsigned resource, int64_t amount) const {
    return problem.resources[resource].name == kPowerResource ? amountText(answer, resource, amount)
                                                              : std::to_string(amount);
  }

  /// ": 'a' has 8, 'b' 4 and 2 more jobs the rest": who has most of a resource.
  std::string holders(unsigned resource, int64_t from, int64_t until) const {
    struct Holder {
      Wide total = 0;
      int64_t max = 0;
      size_t job = 0;
    };
    std::vector<Holder> all;
    for (size_t j = 0; j < answer.schedule.jobs.size() && j < problem.jobs.size(); ++j) {
      Holder holder{0, 0, j};
      for (const JobRun &run : answer.schedule.jobs[j].runs)
        if (j != number && run.configuration < problem.jobs[j].configurations.size())
          for (const ResourceUse &use : problem.jobs[j].configurations[run.configuration].uses)
            if (const int64_t slots = std::min(run.end, until) - std::max(run.begin, from);
                use.resource == resource && slots > 0)
              holder.total += Wide(slots) * use.amount, holder.max = std::max(holder.max, use.amount);
      if (holder.total > 0)
        all.push_back(holder);
    }
    std::ranges::sort(
        all, [](const Holder &a, const Holder &b) { return a.total != b.total ? a.total > b.total : a.job < b.job; });
    std::string text;
    constexpr size_t kShown = 3;
    for (size_t i = 0; i < all.size() && i < kShown; ++i)
      text += fmt::format("{}'{}' {}{}", i ? ", " : ": ", problem.jobs[all[i].job].name, i ? "" : "has ",
                          withoutName(resource, all[i].max));
    if (all.size() > kShown)
      text += fmt::format(" and {} more job{} the rest", all.size() - kShown, all.size() - kShown > 1 ? "s" : "");
    return text;
  }

  // --- an earlier start

  /// Whether a run goes on in the one before, or in what runs already.
  bool goesOn(const JobRun *previous, const JobRun &run) const {
    return previous ? previous->end == run.begin && previous->configuration == run.configuration
                    : run.begin == 0 && job->arrival == 0 && job->running == static_cast<int64_t>(run.configuration);
  }
  /// Seconds without progress at the start of a run.
  int64_t restartOf(const JobRun *previous, const JobRun &run) const {
    return goesOn(previous, run) ? 0 : std::max<int64_t>(job->restart, 0);
  }

  /// Work that is left after some runs, and for how long the last one has been without progress.
  struct Progress {
    Wide left = 0;
    int64_t pending = 0;
  };
  /// Runs until the work is done: the runs up to there. Where they are not enough and it may continue, all of them if
  /// they do some work and leave no more than its deadline allows; else nothing.
  std::optional<Alternative> follow(Progress progress, const JobRun *previous, const std::vector<JobRun> &runs) const {
    Alternative result;
    const Wide before = progress.left;
    for (const JobRun &run : runs) {
      result.starts += !goesOn(previous, run);
      if (!previous || previous->end != run.begin || previous->configuration != run.configuration)
        progress.pending = restartOf(previous, run);
      const Wide speed = std::max<int64_t>(job->configurations[run.configuration].speed, 1);
      const Wide seconds = progress.pending + (progress.left + speed - 1) / speed;
      const Wide length = Wide(run.end - run.begin) * problem.slot;
      result.runs.push_back(run);
      if (seconds <= length) {
        const int64_t slots = std::max<int64_t>(1, static_cast<int64_t>((seconds + problem.slot - 1) / problem.slot));
        result.runs.back().end = run.begin + slots;
        result.completion = run.begin * problem.slot + static_cast<int64_t>(seconds);
        return result;
      }
      const Wide worked = std::max<Wide>(0, length - progress.pending);
      progress.pending = static_cast<int64_t>(std::max<Wide>(0, progress.pending - length));
      progress.left -= worked * speed;
      previous = &run;
    }
    if (!job->mayContinue || progress.left >= before || !couldKeepDeadline(progress.left))
      return std::nullopt;
    result.completion = endOf(problem, *job), result.continues = true;
    result.left = static_cast<int64_t>(progress.left);
    return result;
  }
  bool couldKeepDeadline(Wide left) const {
    Wide fastest = 0;
    for (const JobConfiguration &one : job->configurations)
      fastest = std::max<Wide>(fastest, one.speed);
    return job->deadline < 0 || left <= fastest * (job->deadline - endOf(problem, *job));
  }

  Progress progressBefore(size_t next) const {
    Progress progress{job->work, 0};
    const JobRun *previous = nullptr;
    for (size_t r = 0; r < next; ++r) {
      const JobRun &run = trajectory->runs[r];
      if (run.configuration >= job->configurations.size())
        continue;
      if (!previous || previous->end != run.begin || previous->configuration != run.configuration)
        progress.pending = restartOf(previous, run);
      const Wide length = Wide(run.end - run.begin) * problem.slot;
      progress.left -= std::max<Wide>(0, length - progress.pending) * job->configurations[run.configuration].speed;
      progress.pending = static_cast<int64_t>(std::max<Wide>(0, progress.pending - length));
      previous = &run;
    }
    progress.left = std::max<Wide>(progress.left, 0);
    return progress;
  }

  bool hasRoom(const Alternative &alternative) const {
    return std::ranges::all_of(alternative.runs, [&](const JobRun &run) {
      return run.end <= problem.slots && nextBlocked(run.configuration, run.begin) >= run.end;
    });
  }

  /// What could be done from `free` on instead of waiting until `until`, and why it is not done.
  void couldStart(int64_t free, int64_t until, size_t next) {
    const Progress progress = progressBefore(next);
    const JobRun *previous = next > 0 ? &trajectory->runs[next - 1] : nullptr;
    const std::vector<JobRun> later(trajectory->runs.begin() + static_cast<int64_t>(next), trajectory->runs.end());
    own = {later, trajectory->completion, trajectory->continues};
    if (own.continues || own.completion < 0)
      own.left = shownWorkLeft(problem, *job, trajectory->runs);
    startsBefore = 0;
    for (size_t r = 0; r < next; ++r)
      startsBefore += !goesOn(r > 0 ? &trajectory->runs[r - 1] : nullptr, trajectory->runs[r]);
    for (size_t r = 0; r < later.size(); ++r)
      own.starts += !goesOn(r > 0 ? &later[r - 1] : previous, later[r]);
    EarlierStarts starts;
    for (size_t c = 0; c < job->configurations.size(); ++c)
      for (int64_t slot = free; slot < until; ++slot) {
        const int64_t end = nextBlocked(c, slot);
        if (end <= slot || (previous && !isOneFamily(c, previous->configuration)))
          continue;
        const JobRun whole{slot, problem.slots, static_cast<unsigned>(c)};
        if (auto run = follow(progress, previous, {whole}); run && hasRoom(*run))
          consider(*run, later, starts);
        const bool hasLater = later.empty() ? job->mayContinue : isOneFamily(c, later.front().configuration);
        if (job->elasticity == Elasticity::Malleable && hasLater) {
          std::vector<JobRun> more{{slot, std::min(end, until), static_cast<unsigned>(c)}};
          more.insert(more.end(), later.begin(), later.end());
          if (auto run = follow(progress, previous, more))
            consider(*run, later, starts);
        }
      }
    conclude(free, until, next, starts);
  }

  /// `b` is of a run, which may be of no configuration.
  bool isOneFamily(size_t a, size_t b) const {
    return b < job->configurations.size() && job->configurations[a].family == job->configurations[b].family;
  }

  struct EarlierStarts {
    std::optional<size_t> limit;     ///< that the first start breaks
    std::optional<Alternative> late; ///< the first that completes later
    std::optional<Alternative> best; ///< with the best differences
    std::vector<double> differences; ///< of each objective; of `best`
  };

  void consider(const Alternative &run, const std::vector<JobRun> &later, EarlierStarts &starts) {
    const bool misses = job->deadline >= 0 && run.completion > job->deadline;
    if (misses || (trajectory->completion >= 0 && run.completion > trajectory->completion)) {
      if (!starts.late || run.completion < starts.late->completion)
        starts.late = run;
      return;
    }
    if (job->maxRestarts >= 0 && startsBefore + run.starts > job->maxRestarts)
      return;
    const RunCosts before = costs(*job, later), now = costs(*job, run.runs);
    for (size_t l = 0; l < problem.limits.size(); ++l)
      if (totals[l] + growth(problem.limits[l].measure, run, before, now) >
          static_cast<double>(problem.limits[l].max)) {
        starts.limit = starts.limit.value_or(l);
        return;
      }
    std::vector<double> differences;
    for (JobMeasure measure : problem.objectives)
      differences.push_back(growth(measure, run, before, now));
    if (!starts.best || differences < starts.differences)
      starts.best = run, starts.differences = std::move(differences);
  }

  /// How much a measure grows if the job does something else with other costs.
  double difference(JobMeasure measure, const Alternative &run, const RunCosts &before, const RunCosts &now) const {
    const ScheduledJob &of = *job;
    const int64_t old = trajectory->completion;
    auto grows = [&](auto term) { return term(run.completion) - (old < 0 ? 0.0 : term(old)); };
    switch (measure) {
    case JobMeasure::Rejected:
      return old < 0 ? -static_cast<double>(of.weight) : 0;
    case JobMeasure::Completion:
      return grows([&](int64_t at) { return static_cast<double>(of.weight) * double(at - of.since()); });
    case JobMeasure::Lateness:
      return grows([&](int64_t at) {
        return of.due < 0 ? 0.0 : static_cast<double>(of.latePrice) * double(std::max<int64_t>(0, at - of.due));
      });
    case JobMeasure::Price:
      return static_cast<double>(now.price - before.price);
    case JobMeasure::Energy:
      return static_cast<double>(now.energy - before.energy);
    case JobMeasure::Carbon:
      return static_cast<double>(now.carbon - before.carbon);
    case JobMeasure::Nash:
      return grows([&](int64_t at) {
        const double slowdown = double(at - of.since()) / double(std::max<int64_t>(1, of.isolated));
        return at <= of.since() ? 0.0 : static_cast<double>(of.weight) * std::round(1e6 * std::log2(slowdown));
      });
    case JobMeasure::Makespan:
    case JobMeasure::Slowdown:
    case JobMeasure::Tail:
    case JobMeasure::Group:
      return 0; // an earlier completion makes no maximum larger
    case JobMeasure::Unfinished:
      return 1e6 * static_cast<double>(of.weight) * double(run.left - own.left) / double(std::max<int64_t>(1, of.work));
    case JobMeasure::Restarts:
      return double(run.starts - own.starts);
    }
    return 0;
  }

  /// How much a measure grows with an alternative.
  double growth(JobMeasure measure, const Alternative &run, const RunCosts &before, const RunCosts &now) {
    if (isSum(measure) || trajectory->completion >= 0)
      return difference(measure, run, before, now);
    changed.jobs[number] = {run.runs, run.completion, run.continues};
    const double value = shown(changed, measure);
    changed.jobs[number] = *trajectory;
    return value - shown(answer.schedule, measure);
  }
  double shown(const JobSchedule &schedule, JobMeasure measure) const {
    return static_cast<double>(shownValue(problem, schedule, measure));
  }

  /// As `runCosts`, in a time that does not depend on the length of the runs.
  RunCosts costs(const ScheduledJob &of, const std::vector<JobRun> &runs) const {
    RunCosts sum;
    for (const JobRun &run : runs) {
      if (run.configuration >= of.configurations.size())
        continue;
      const JobConfiguration &configuration = of.configurations[run.configuration];
      const int64_t begin = std::clamp<int64_t>(run.begin, 0, problem.slots);
      const int64_t end = std::clamp<int64_t>(run.end, begin, problem.slots);
      sum.price += Wide(end - begin) * problem.slot * configuration.price;
      sum.energy += Wide(end - begin) * problem.slot * configuration.watts;
      sum.carbon += (carbonBefore[end] - carbonBefore[begin]) * configuration.watts * problem.slot;
    }
    return sum;
  }

  // --- what is said of it

  void conclude(int64_t from, int64_t until, size_t next, const EarlierStarts &starts) {
    if (starts.best) {
      auto worse = std::ranges::find_if(starts.differences, [](double d) { return d != 0; });
      if (worse == starts.differences.end())
        return emit(from, until, next, WaitCause::Other, "an earlier start would improve no objective");
      const JobMeasure measure = problem.objectives[worse - starts.differences.begin()];
      if (*worse < 0)
        return emit(from, until, next, WaitCause::Other,
                    fmt::format("{} would have room at {}, which would improve the {}", startText(*starts.best),
                                slotText(starts.best->runs.front().begin), wordsOf(measure)));
      return emit(from, until, next, WaitCause::Objective, objectiveText(*starts.best, measure, next));
    }
    if (starts.limit)
      return emit(from, until, next, WaitCause::Limit,
                  fmt::format("an earlier start would break the requirement '{}'",
                              *starts.limit < answer.requirements.size()
                                  ? answer.requirements[*starts.limit]
                                  : limitText(problem, problem.limits[*starts.limit])));
    if (starts.late)
      return emit(from, until, next, WaitCause::Completion,
                  fmt::format("{} would have room at {}, but it would complete at {}{}", startText(*starts.late),
                              slotText(starts.late->runs.front().begin),
                              timeText(static_cast<double>(starts.late->completion)), insteadOf()));
    emit(from, until, next, WaitCause::Duration, durationText(from, until, next));
  }

  std::string slotText(int64_t slot) const { return timeText(static_cast<double>(slot * problem.slot)); }
  std::string startText(const Alternative &alternative) const {
    return nameOfConfiguration(alternative.runs.front().configuration);
  }
  std::string nameOfConfiguration(size_t configuration) const {
    const std::string text = configurationText(answer, number, configuration);
    return text.empty() ? fmt::format("configuration {}", configuration) : text;
  }
  std::string insteadOf() const {
    return trajectory->completion >= 0 && !trajectory->continues
               ? fmt::format(" instead of {}", timeText(static_cast<double>(trajectory->completion)))
               : fmt::format(", after its deadline at {}", timeText(static_cast<double>(job->deadline)));
  }

  /// "at 0 s, 8 h100 would need 12 kWh instead of 9 kWh".
  std::string objectiveText(const Alternative &alternative, JobMeasure measure, size_t next) const {
    const std::vector<JobRun> later(trajectory->runs.begin() + static_cast<int64_t>(next), trajectory->runs.end());
    const RunCosts now = costs(*job, alternative.runs), before = costs(*job, later);
    auto part = [&](const RunCosts &costs) {
      return measure == JobMeasure::Price ? costs.price : measure == JobMeasure::Energy ? costs.energy : costs.carbon;
    };
    std::string text = fmt::format("a start at {} on {} would make the {} worse",
                                   slotText(alternative.runs.front().begin), startText(alternative), wordsOf(measure));
    if (measure == JobMeasure::Price || measure == JobMeasure::Energy || measure == JobMeasure::Carbon)
      text += fmt::format(": {} instead of {}", measureText(problem, measure, static_cast<int64_t>(part(now))),
                          measureText(problem, measure, static_cast<int64_t>(part(before))));
    return text;
  }

  /// What is free is not free for long enough: by the configuration that has room for longest.
  std::string durationText(int64_t from, int64_t until, size_t next) const {
    const Progress progress = progressBefore(next);
    size_t best = 0;
    int64_t begin = from, length = -1;
    for (size_t c = 0; c < job->configurations.size(); ++c)
      for (int64_t slot = from; slot < until; ++slot)
        if (nextBlocked(c, slot) - slot > length)
          best = c, begin = slot, length = nextBlocked(c, slot) - slot;
    const Wide speed = std::max<int64_t>(job->configurations[best].speed, 1);
    const double seconds = static_cast<double>((progress.left + speed - 1) / speed + job->restart);
    return fmt::format("{} would have room from {} to {} only, and would take {}", nameOfConfiguration(best),
                       slotText(begin), slotText(begin + length), timeText(seconds));
  }

  const JobAnswer &answer;
  const JobScheduleProblem &problem;
  std::vector<std::vector<int64_t>> used;    ///< by resource and slot; without the job that is explained
  std::vector<Wide> carbonBefore;            ///< sum over the slots before each slot
  JobSchedule changed;                       ///< the schedule, where one job does something else
  std::vector<double> totals;                ///< of the measure of each limit
  std::vector<std::vector<int64_t>> blocked; ///< see `findBlocked`
  int64_t blockedFrom = 0;
  unsigned number = 0;
  const ScheduledJob *job = nullptr;
  const JobTrajectory *trajectory = nullptr;
  Alternative own; ///< what it does after the wait
  int64_t startsBefore = 0;
  std::vector<JobWait> waits;
};

} // namespace

std::vector<JobWait> waitReasons(const JobAnswer &answer) { return WaitExplainer(answer).explain(); }

} // namespace accord::jobs
