#include "lib/jobs/problem/JobWords.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

/// "3.2 k" before a unit.
std::string prefixed(double value, std::string_view unit) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (std::abs(value) >= 999.95 && prefix + 1 < std::size(kPrefixes))
    value /= 1000, ++prefix;
  return fmt::format("{:.4g} {}{}", value, kPrefixes[prefix], unit);
}

double sumOfWeights(const JobScheduleProblem &problem) {
  double sum = 0;
  for (const ScheduledJob &job : problem.jobs)
    sum += static_cast<double>(job.weight);
  return sum > 0 ? sum : 1;
}

/// Slots of a run that exist.
std::pair<int64_t, int64_t> slotsOf(const JobScheduleProblem &problem, const JobRun &run) {
  return {std::clamp<int64_t>(run.begin, 0, problem.slots), std::clamp<int64_t>(run.end, 0, problem.slots)};
}

/// Whether a run goes on in what runs before slot 0, without a restart.
bool goesOn(const ScheduledJob &job, const JobRun &run) {
  return run.begin == 0 && job.running == static_cast<int64_t>(run.configuration);
}

} // namespace

std::string timeText(double seconds) {
  const double size = std::abs(seconds);
  return size < 120               ? fmt::format("{:.4g} s", seconds)
         : size < 7200            ? fmt::format("{:.4g} min", seconds / 60)
         : size < 4 * 24 * 3600.0 ? fmt::format("{:.4g} h", seconds / 3600)
                                  : fmt::format("{:.4g} days", seconds / 86400);
}

std::string dollarText(double dollars) {
  return std::abs(dollars) >= 1000 ? fmt::format("{:.0f} $", dollars) : fmt::format("{:.4g} $", dollars);
}

std::string amountText(const JobAnswer &answer, size_t resource, int64_t amount) {
  if (resource >= answer.problem.resources.size())
    return fmt::format("{}", amount);
  const std::string &name = answer.problem.resources[resource].name;
  if (name == kPowerResource)
    return prefixed(static_cast<double>(amount), "W");
  return std::ranges::count(answer.cluster.types, name) ? fmt::format("{} {}", amount, name)
                                                        : fmt::format("{} of {}", amount, name);
}

std::string configurationText(const JobAnswer &answer, size_t job, size_t configuration) {
  std::string name;
  if (job < answer.problem.jobs.size() && configuration < answer.problem.jobs[job].configurations.size())
    name = answer.problem.jobs[job].configurations[configuration].name;
  if (job >= answer.jobs.size() || configuration >= answer.jobs[job].configurations.size())
    return name;
  const ConfigurationWords &words = answer.jobs[job].configurations[configuration];
  if (words.devices == 0 || words.type >= answer.cluster.types.size())
    return name;
  return fmt::format("{} {}{}{}{}{}{}", words.devices, answer.cluster.types[words.type],
                     words.level.empty() ? "" : " at " + words.level, words.choice.empty() ? "" : " as " + words.choice,
                     words.batch == 0 ? "" : fmt::format(", batch {}", words.batch), words.plan.empty() ? "" : ", ",
                     words.plan);
}

std::string batchText(const ConfigurationWords &words) {
  if (words.batch == 0)
    return "";
  std::string text = fmt::format("batch {}", words.batch);
  if (words.accumulation > 0)
    text += words.accumulation == 1 ? " in 1 micro-batch" : fmt::format(" in {} micro-batches", words.accumulation);
  if (words.learningRate > 0)
    text += fmt::format(", learning rate x {:.3g}", words.learningRate);
  if (words.warmup > 0 && words.warmup != 1)
    text += fmt::format(", warm-up x {:.3g}", words.warmup);
  return text + fmt::format(", efficiency {:.3g}", words.efficiency);
}

std::string_view wordsOf(JobMeasure measure) {
  constexpr std::string_view kWords[kJobMeasures] = {"rejected jobs",
                                                     "mean completion",
                                                     "lateness cost",
                                                     "cost",
                                                     "energy",
                                                     "carbon",
                                                     "mean slowdown",
                                                     "makespan",
                                                     "finish-time fairness",
                                                     "tail completion",
                                                     "tenant fairness",
                                                     "unfinished work",
                                                     "restarts"};
  return kWords[static_cast<size_t>(measure)];
}

std::string measureText(const JobScheduleProblem &problem, JobMeasure measure, int64_t value) {
  const double number = static_cast<double>(value);
  switch (measure) {
  case JobMeasure::Rejected:
  case JobMeasure::Restarts:
    return fmt::format("{}", value);
  case JobMeasure::Unfinished:
    return fmt::format("{:.4g} % left", number / 1e4 / sumOfWeights(problem));
  case JobMeasure::Completion:
    return timeText(number / sumOfWeights(problem));
  case JobMeasure::Lateness:
  case JobMeasure::Price:
    return dollarText(number / 1e6);
  case JobMeasure::Energy:
    return prefixed(number / 3600, "Wh");
  case JobMeasure::Carbon:
    return prefixed(number / 1e6, "g CO2e");
  case JobMeasure::Nash:
    return fmt::format("{:.4g} times", std::exp2(number / 1e6 / sumOfWeights(problem)));
  case JobMeasure::Slowdown:
    return fmt::format("{:.4g} times", number / 1000);
  case JobMeasure::Makespan:
  case JobMeasure::Tail:
  case JobMeasure::Group:
    return timeText(number);
  }
  return fmt::format("{}", value);
}

std::string wholeMeasureText(const JobAnswer &answer, size_t limit, int64_t value) {
  const JobMeasure measure = answer.problem.limits[limit].measure;
  if (!answer.replan || limit >= answer.replan->spent.size())
    return measureText(answer.problem, measure, value);
  JobScheduleProblem whole; // its weights are all that a mean needs
  whole.jobs = answer.problem.jobs;
  whole.jobs.emplace_back();
  whole.jobs.back().weight = answer.replan->completedWeight;
  return measureText(whole, measure, value + answer.replan->spent[limit]);
}

std::string limitText(const JobScheduleProblem &problem, const JobLimit &limit) {
  return fmt::format("{} <= {}", wordsOf(limit.measure), measureText(problem, limit.measure, limit.max));
}

double gapOf(int64_t value, int64_t bound) {
  if (value <= bound)
    return 0;
  const double size = std::max(std::abs(static_cast<double>(value)), std::abs(static_cast<double>(bound)));
  return (static_cast<double>(value) - static_cast<double>(bound)) / size;
}

int64_t resourceNamed(const JobScheduleProblem &problem, std::string_view name) {
  for (size_t r = 0; r < problem.resources.size(); ++r)
    if (problem.resources[r].name == name)
      return static_cast<int64_t>(r);
  return -1;
}

std::vector<std::vector<int64_t>> usedAmounts(const JobScheduleProblem &problem, const JobSchedule &schedule) {
  const size_t slots = static_cast<size_t>(std::max<int64_t>(problem.slots, 0));
  std::vector<std::vector<int64_t>> used(problem.resources.size(), std::vector<int64_t>(slots, 0));
  for (size_t job = 0; job < schedule.jobs.size() && job < problem.jobs.size(); ++job)
    for (const JobRun &run : schedule.jobs[job].runs) {
      if (run.configuration >= problem.jobs[job].configurations.size())
        continue;
      auto [begin, end] = slotsOf(problem, run);
      for (const ResourceUse &use : problem.jobs[job].configurations[run.configuration].uses)
        for (int64_t slot = begin; use.resource < used.size() && slot < end; ++slot)
          used[use.resource][slot] += use.amount;
    }
  return used;
}

int64_t shownWorkLeft(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs) {
  __int128 left = job.work;
  for (const JobRun &run : runs)
    if (run.configuration < job.configurations.size()) {
      auto [begin, end] = slotsOf(problem, run);
      const int64_t seconds = (end - begin) * problem.slot - (goesOn(job, run) ? 0 : job.restart);
      left -= __int128(job.configurations[run.configuration].speed) * std::max<int64_t>(0, seconds);
    }
  return static_cast<int64_t>(std::max<__int128>(left, 0));
}

std::string shareDoneText(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &does) {
  const auto done = static_cast<double>(job.work - shownWorkLeft(problem, job, does.runs));
  // Rounded down: what continues is never said to be all done.
  return fmt::format("{:.1f} %", std::floor(1000 * done / static_cast<double>(std::max<int64_t>(1, job.work))) / 10);
}

namespace {

/// Weighted millionths of the work of a job.
__int128 unfinished(const ScheduledJob &job, int64_t left) {
  const __int128 work = std::max<int64_t>(1, job.work);
  return (__int128(left) * 1'000'000 + work - 1) / work * job.weight;
}

int64_t held(__int128 value) {
  constexpr __int128 kLargest = __int128(1) << 62;
  return static_cast<int64_t>(std::clamp(value, -kLargest, kLargest));
}

/// What one job that is not rejected adds to a sum.
__int128 termOf(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &does,
                JobMeasure measure) {
  const __int128 wait = __int128(does.completion) - job.since();
  switch (measure) {
  case JobMeasure::Completion:
    return wait * job.weight;
  case JobMeasure::Lateness:
    return job.due < 0 ? 0 : std::max<__int128>(0, __int128(does.completion) - job.due) * job.latePrice;
  case JobMeasure::Price:
    return runCosts(problem, job, does.runs).price;
  case JobMeasure::Energy:
    return runCosts(problem, job, does.runs).energy;
  case JobMeasure::Carbon:
    return runCosts(problem, job, does.runs).carbon;
  case JobMeasure::Nash: {
    if (wait <= 0)
      return 0;
    const double slowdown = static_cast<double>(wait) / static_cast<double>(std::max<int64_t>(1, job.isolated));
    return __int128(std::llround(1e6 * std::log2(slowdown))) * job.weight;
  }
  case JobMeasure::Unfinished:
    return does.continues ? unfinished(job, shownWorkLeft(problem, job, does.runs)) : 0;
  case JobMeasure::Restarts:
    return std::ranges::count_if(does.runs, [&](const JobRun &run) { return !goesOn(job, run); });
  default:
    return 0;
  }
}

} // namespace

int64_t shownValue(const JobScheduleProblem &problem, const JobSchedule &schedule, JobMeasure measure) {
  __int128 sum = 0, max = 0;
  std::vector<__int128> groups(problem.groups.size(), 0);
  std::vector<int64_t> waits;
  for (size_t j = 0; j < problem.jobs.size() && j < schedule.jobs.size(); ++j) {
    const ScheduledJob &job = problem.jobs[j];
    const JobTrajectory &does = schedule.jobs[j];
    if (does.completion < 0) {
      sum += measure == JobMeasure::Rejected     ? job.weight
             : measure == JobMeasure::Unfinished ? unfinished(job, job.work)
                                                 : 0;
      continue;
    }
    sum += termOf(problem, job, does, measure);
    waits.push_back(does.completion - job.since());
    const __int128 isolated = std::max<int64_t>(1, job.isolated);
    max = std::max(max, measure == JobMeasure::Makespan ? __int128(does.completion)
                                                        : (__int128(1000) * waits.back() + isolated - 1) / isolated);
    for (unsigned group : job.groups)
      if (group < groups.size())
        groups[group] += __int128(waits.back()) * job.weight;
  }
  if (measure == JobMeasure::Makespan || measure == JobMeasure::Slowdown)
    return held(max);
  if (measure == JobMeasure::Tail) {
    std::sort(waits.begin(), waits.end());
    const int64_t counted = static_cast<int64_t>(waits.size()) - problem.tail;
    return counted > 0 ? std::max<int64_t>(0, waits[counted - 1]) : 0;
  }
  if (measure == JobMeasure::Group)
    for (size_t g = 0; g < groups.size(); ++g) {
      const __int128 share = std::max<int64_t>(1, problem.groups[g].share);
      sum = std::max(sum, (groups[g] + share - 1) / share);
    }
  return held(sum);
}

RunCosts &RunCosts::operator+=(const RunCosts &other) {
  price += other.price;
  energy += other.energy;
  carbon += other.carbon;
  return *this;
}

RunCosts runCosts(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs) {
  RunCosts costs;
  for (const JobRun &run : runs) {
    if (run.configuration >= job.configurations.size())
      continue;
    const JobConfiguration &configuration = job.configurations[run.configuration];
    auto [begin, end] = slotsOf(problem, run);
    const __int128 seconds = __int128(end - begin) * problem.slot;
    costs.price += seconds * configuration.price;
    costs.energy += seconds * configuration.watts;
    for (int64_t slot = begin; slot < end && slot < static_cast<int64_t>(problem.carbon.size()); ++slot)
      costs.carbon += __int128(configuration.watts) * problem.slot * problem.carbon[slot];
  }
  return costs;
}

} // namespace accord::jobs
