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
  return fmt::format("{} {}{}{}", words.devices, answer.cluster.types[words.type], words.plan.empty() ? "" : ", ",
                     words.plan);
}

std::string_view wordsOf(JobMeasure measure) {
  constexpr std::string_view kWords[kJobMeasures] = {
      "rejected jobs", "mean completion",      "lateness cost",   "cost",           "energy", "carbon", "mean slowdown",
      "makespan",      "finish-time fairness", "tail completion", "tenant fairness"};
  return kWords[static_cast<size_t>(measure)];
}

std::string measureText(const JobScheduleProblem &problem, JobMeasure measure, int64_t value) {
  const double number = static_cast<double>(value);
  switch (measure) {
  case JobMeasure::Rejected:
    return fmt::format("{}", value);
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

RunCosts &RunCosts::operator+=(const RunCosts &other) {
  price += other.price;
  energy += other.energy;
  carbon += other.carbon;
  return *this;
}

RunCosts costsOf(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs) {
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
