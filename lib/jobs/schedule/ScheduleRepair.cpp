#include "lib/jobs/schedule/ScheduleRepair.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace accord::jobs {

constexpr uint64_t kWork = 200'000;  ///< of rounds at effort 0: slots and configurations of all jobs
constexpr unsigned kMaxDoubled = 12; ///< effort beyond adds no rounds
constexpr size_t kIdle = 8;          ///< rounds without a better schedule that end it, for each pair of jobs

/// A max is a limit like others: jobs that keep it are placed by their completion.
static ObjectiveStage asSum(const ObjectiveStage &stage) {
  return isSum(stage.measure) ? stage : ObjectiveStage{stage.allLimits(), JobMeasure::Completion, 0};
}

ScheduleRepair::ScheduleRepair(const JobScheduleProblem &problem, const ObjectiveStage &given)
    : problem(problem), measure(given.measure), stage(asSum(given)), scratch(problem), rows(problem, stage),
      later(problem.jobs.size()) {
  for (unsigned job = 0; job < problem.jobs.size(); ++job)
    for (unsigned before : problem.jobs[job].after)
      later[before].push_back(job);
  takeAll({});
}

void ScheduleRepair::takeAll(const std::vector<JobTrajectory> &schedule) {
  left.assign(rows.capacity.begin(),
              rows.capacity.begin() + static_cast<std::ptrdiff_t>(problem.resources.size() * problem.slots));
  for (size_t job = 0; job < schedule.size(); ++job)
    use(job, schedule[job], 1);
}

void ScheduleRepair::use(size_t job, const JobTrajectory &trajectory, int64_t sign) {
  for (const JobRun &run : trajectory.runs)
    for (const ResourceUse &one : problem.jobs[job].configurations[run.configuration].uses)
      for (int64_t slot = run.begin; slot < run.end; ++slot)
        left[one.resource * problem.slots + slot] -= sign * one.amount;
}

std::optional<JobTrajectory> ScheduleRepair::place(size_t job, const std::vector<JobTrajectory> &schedule,
                                                   const TrajectoryPrices &prices, bool isQuick) {
  ScheduledJob &one = scratch.jobs[job];
  one.arrival = problem.jobs[job].arrival, one.deadline = problem.jobs[job].deadline;
  one.running = problem.jobs[job].running, one.mayBeRejected = problem.jobs[job].mayBeRejected;
  if (one.work == 0) // it never begins
    return cheapestTrajectory(scratch, stage, rows, prices, job, &left, isQuick).trajectory;
  for (unsigned before : one.after) {
    const bool isRejected = schedule[before].completion < 0;
    if (isRejected && !one.mayContinue)
      return one.mayBeRejected ? std::optional(JobTrajectory{}) : std::nullopt;
    // At the end of the horizon it cannot begin any more, and only continue.
    const int64_t horizon = problem.slots * problem.slot;
    one.arrival = std::max(one.arrival, isRejected ? horizon : std::min(schedule[before].completion, horizon));
  }
  if (one.arrival > 0)
    one.running = -1;
  for (unsigned after : later[job])
    if (!schedule[after].runs.empty()) {
      const int64_t begin = schedule[after].runs.front().begin * problem.slot;
      one.deadline = one.deadline < 0 ? begin : std::min(one.deadline, begin);
      one.mayBeRejected = false;
    }
  // A job that is left out costs nothing of most measures: it is only where it has no place.
  const bool mayBeRejected = std::exchange(one.mayBeRejected, false);
  auto placed = cheapestTrajectory(scratch, stage, rows, prices, job, &left, isQuick).trajectory;
  return placed || !mayBeRejected ? placed : std::optional(JobTrajectory{});
}

std::optional<std::vector<JobTrajectory>> ScheduleRepair::build(const std::vector<double> &keys,
                                                                const TrajectoryPrices &prices) {
  takeAll({});
  std::vector<JobTrajectory> schedule(problem.jobs.size());
  std::vector<char> placed(problem.jobs.size(), 0);
  for (size_t step = 0; step < problem.jobs.size(); ++step) {
    size_t next = problem.jobs.size();
    for (size_t job = 0; job < problem.jobs.size(); ++job) {
      const bool isReady = std::all_of(problem.jobs[job].after.begin(), problem.jobs[job].after.end(),
                                       [&](unsigned before) { return placed[before] != 0; });
      if (!placed[job] && isReady && (next == problem.jobs.size() || keys[job] < keys[next]))
        next = job;
    }
    auto trajectory = place(next, schedule, prices);
    if (!trajectory)
      trajectory = place(next, schedule, prices, false);
    if (!trajectory)
      return std::nullopt;
    use(next, *trajectory, 1);
    schedule[next] = std::move(*trajectory);
    placed[next] = 1;
  }
  return schedule;
}

void ScheduleRepair::improve(std::vector<JobTrajectory> &schedule, unsigned maxPasses, const SearchLimits &limits) {
  takeAll(schedule);
  const TrajectoryPrices plain{Prices(rows.capacity.size(), 0), 1};
  bool isBetter = true;
  for (unsigned pass = 0; isBetter && pass < maxPasses; ++pass) {
    isBetter = false;
    for (size_t job = 0; job < schedule.size() && !limits.stopped(); ++job) {
      const JobTrajectory before = schedule[job];
      use(job, before, -1);
      auto trajectory = place(job, schedule, plain);
      if (trajectory && *trajectory != before &&
          termOf(problem, stage.measure, problem.jobs[job], *trajectory) <
              termOf(problem, stage.measure, problem.jobs[job], before)) {
        schedule[job] = std::move(*trajectory);
        if (keepsAll(schedule))
          isBetter = true;
        else
          schedule[job] = before;
      }
      use(job, schedule[job], 1);
    }
  }
}

ScheduleRepair::Value ScheduleRepair::valueOfAll(const std::vector<JobTrajectory> &schedule) const {
  return {valueOf(problem, measure, schedule), valueOf(problem, JobMeasure::Completion, schedule)};
}

/// Two to five jobs, in half of the cases such that run while the first is in the system.
std::vector<size_t> ScheduleRepair::draw(const std::vector<JobTrajectory> &schedule) {
  const size_t count = schedule.size(), wanted = std::min<size_t>(count, 2 + random.below(4));
  std::vector<size_t> critical; // jobs of which a max is
  const int64_t value = isSum(measure) || random.below(2) != 0 ? -1 : valueOf(problem, measure, schedule);
  for (size_t job = 0; job < count; ++job)
    if (value > 0 && measure != JobMeasure::Group &&
        termOf(problem, measure, problem.jobs[job], schedule[job]) == value)
      critical.push_back(job);
  const size_t first = critical.empty() ? random.below(count) : critical[random.below(critical.size())];
  std::vector<size_t> others;
  const bool isNear = random.below(2) != 0;
  for (size_t job = 0; job < count; ++job) {
    const auto &runs = schedule[job].runs;
    if (job != first && (!isNear || runs.empty() || schedule[first].completion < 0 ||
                         (runs.front().begin * problem.slot < schedule[first].completion &&
                          runs.back().end * problem.slot > problem.jobs[first].arrival)))
      others.push_back(job);
  }
  std::vector<size_t> drawn{first};
  while (drawn.size() < wanted && !others.empty()) {
    std::swap(others[random.below(others.size())], others.back());
    drawn.push_back(others.back());
    others.pop_back();
  }
  return drawn;
}

/// Prices of resources by chance between none and twice what they are; those of limits so too, or such that a limit
/// costs about as much as the measure.
TrajectoryPrices ScheduleRepair::variedPrices(const TrajectoryPrices &prices,
                                              const std::vector<JobTrajectory> &schedule) {
  TrajectoryPrices made{Prices(rows.capacity.size(), 0), std::max<int64_t>(1, prices.denominator)};
  const double share = random.below(3) == 0 ? 0 : 2 * random.unit();
  const size_t limits = rows.limited.empty() ? rows.capacity.size() : rows.limited.front().row;
  const auto priceOf = [](double price) { return static_cast<int64_t>(std::clamp(price, 0.0, 0x1p50)); };
  for (size_t row = 0; row < limits && !prices.rows.empty(); ++row)
    made.rows[row] = priceOf(share * static_cast<double>(prices.rows[row]));
  const double value = static_cast<double>(made.denominator) *
                       std::max(1.0, std::abs(static_cast<double>(valueOf(problem, stage.measure, schedule))));
  for (size_t row = limits; row < rows.capacity.size(); ++row) {
    const double known = prices.rows.empty() ? 0 : static_cast<double>(prices.rows[row]);
    const double even = value / std::max<double>(1, std::abs(static_cast<double>(rows.capacity[row])));
    const double factor = std::exp2(6 * random.unit() - 3);
    made.rows[row] = priceOf(random.below(3) == 0 ? 0 : factor * (random.below(2) != 0 ? known : even));
  }
  return made;
}

/// Places jobs anew, of which none is placed. False where one has no place.
bool ScheduleRepair::replace(std::vector<size_t> jobs, std::vector<JobTrajectory> &schedule,
                             const TrajectoryPrices &prices) {
  while (!jobs.empty()) {
    const auto next = std::find_if(jobs.begin(), jobs.end(), [&](size_t job) {
      const auto &after = problem.jobs[job].after;
      return std::none_of(after.begin(), after.end(),
                          [&](size_t before) { return std::find(jobs.begin(), jobs.end(), before) != jobs.end(); });
    });
    const size_t job = *next;
    jobs.erase(next);
    auto trajectory = place(job, schedule, prices);
    if (!trajectory)
      return false;
    use(job, *trajectory, 1);
    schedule[job] = std::move(*trajectory);
  }
  return true;
}

bool ScheduleRepair::fill(std::vector<JobTrajectory> &schedule, const std::vector<size_t> &missing) {
  for (size_t job : missing)
    schedule[job] = {};
  takeAll(schedule);
  std::vector<size_t> ordered;
  for (size_t job : rows.order)
    if (std::find(missing.begin(), missing.end(), job) != missing.end())
      ordered.push_back(job);
  return replace(std::move(ordered), schedule, {Prices(rows.capacity.size(), 0), 1});
}

void ScheduleRepair::offer(std::vector<JobTrajectory> &schedule, const std::vector<JobTrajectory> &known) const {
  if (known.size() == problem.jobs.size() && keepsAll(known) &&
      (schedule.empty() || valueOf(problem, stage.measure, known) < valueOf(problem, stage.measure, schedule)))
    schedule = known;
}

unsigned ScheduleRepair::roundsOf(const JobScheduleProblem &problem, const SearchLimits &limits) {
  uint64_t size = 1;
  for (const ScheduledJob &job : problem.jobs)
    size += static_cast<uint64_t>(problem.slots) * job.configurations.size();
  return static_cast<unsigned>((kWork << std::min(limits.effort, kMaxDoubled)) / size);
}

void ScheduleRepair::vary(std::vector<JobTrajectory> &schedule, const TrajectoryPrices &prices, unsigned rounds,
                          int64_t bound, const SearchLimits &limits) {
  if (schedule.empty())
    return;
  Value best = valueOfAll(schedule);
  const size_t maxIdle = kIdle * schedule.size() * schedule.size();
  size_t idle = 0;
  for (unsigned round = 0; round < rounds && ++idle <= maxIdle && best[0] > bound && !limits.stopped(); ++round) {
    std::vector<JobTrajectory> other = schedule;
    const std::vector<size_t> jobs = draw(schedule);
    takeAll(schedule);
    for (size_t job : jobs) {
      use(job, schedule[job], -1);
      other[job] = {};
    }
    if (!replace(jobs, other, variedPrices(prices, schedule)))
      continue;
    const Value value = valueOfAll(other);
    if (value > best || !keepsAll(other))
      continue;
    if (value < best)
      idle = 0;
    schedule = std::move(other), best = value;
  }
}

bool ScheduleRepair::hasRoom(size_t job, const JobTrajectory &trajectory) const {
  for (const JobRun &run : trajectory.runs)
    for (const ResourceUse &one : problem.jobs[job].configurations[run.configuration].uses)
      for (int64_t slot = run.begin; slot < run.end; ++slot)
        if (left[one.resource * problem.slots + slot] < one.amount)
          return false;
  return true;
}

bool ScheduleRepair::advance(size_t job, std::vector<JobTrajectory> &schedule) {
  const ScheduledJob &of = problem.jobs[job];
  const JobTrajectory planned = schedule[job];
  if (planned.runs.empty() || planned.continues || of.running >= 0)
    return false;
  int64_t ready = of.arrival;
  for (unsigned before : of.after)
    ready = std::max(ready, schedule[before].completion);
  use(job, planned, -1);
  int64_t sooner = planned.runs.front().begin - (ready + problem.slot - 1) / problem.slot;
  for (; sooner > 0; --sooner) {
    JobTrajectory &moved = schedule[job] = planned;
    for (JobRun &run : moved.runs)
      run.begin -= sooner, run.end -= sooner;
    moved.completion -= sooner * problem.slot;
    if (hasRoom(job, moved) && keepsAll(schedule))
      break;
  }
  if (sooner <= 0)
    schedule[job] = planned;
  use(job, schedule[job], 1);
  return sooner > 0;
}

void ScheduleRepair::advance(std::vector<JobTrajectory> &schedule) {
  takeAll(schedule);
  for (bool isMoved = true; isMoved;) {
    isMoved = false;
    for (size_t job : rows.order)
      isMoved |= advance(job, schedule);
  }
}

bool ScheduleRepair::keepsAll(const std::vector<JobTrajectory> &schedule) const {
  std::vector<int64_t> room;
  for (const SlotResource &resource : problem.resources)
    room.insert(room.end(), resource.capacity.begin(), resource.capacity.end());
  for (size_t job = 0; job < schedule.size(); ++job) {
    const JobTrajectory &one = schedule[job];
    if (one.completion > lastCompletion(problem, stage, problem.jobs[job]))
      return false;
    for (const JobRun &run : one.runs)
      for (const ResourceUse &used : problem.jobs[job].configurations[run.configuration].uses)
        for (int64_t slot = run.begin; slot < run.end; ++slot)
          if ((room[used.resource * problem.slots + slot] -= used.amount) < 0)
            return false;
    for (unsigned before : problem.jobs[job].after)
      if (!one.runs.empty() &&
          (schedule[before].completion < 0 || schedule[before].completion > one.runs.front().begin * problem.slot))
        return false;
  }
  for (const JobLimit &limit : stage.allLimits())
    if (valueOf(problem, limit.measure, schedule) > limit.max)
      return false;
  return true;
}

} // namespace accord::jobs
