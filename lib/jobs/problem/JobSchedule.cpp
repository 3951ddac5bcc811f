#include "lib/jobs/problem/JobSchedule.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using Wide = __int128;

constexpr std::array<std::string_view, kJobMeasures> kNames = {
    "rejected", "mean_completion",      "lateness",        "cost",           "energy", "carbon", "nash_welfare",
    "makespan", "finish_time_fairness", "tail_completion", "tenant_fairness"};

/// With at most so many, sums of terms over jobs fit 63 bits, and sums of prices over rows fit 127 bits.
constexpr size_t kMaxJobs = size_t(1) << 20, kMaxRows = size_t(1) << 23, kMaxUses = size_t(1) << 23;
/// Work, and what a configuration does in the whole horizon.
constexpr int64_t kMaxWork = int64_t(1) << 60;
/// No more than this is 10^6 * |log2| of a ratio of times.
constexpr int64_t kMaxLogarithm = 33'000'000;

Error wrong(std::string message) { return {Code::WrongJobSchedule, std::move(message)}; }

/// Finds what is wrong with a problem, part by part; the first finding counts.
class ProblemCheck {
public:
  explicit ProblemCheck(const JobScheduleProblem &problem) : problem(problem) {}

  std::string finding() {
    checkTime();
    if (found.empty())
      checkResources();
    if (found.empty())
      checkMeasures();
    if (found.empty() && problem.jobs.size() > kMaxJobs)
      say(fmt::format("a schedule has {} jobs, and at most {} are allowed", problem.jobs.size(), kMaxJobs));
    for (size_t j = 0; j < problem.jobs.size() && found.empty(); ++j)
      checkJob(j);
    if (found.empty() && rows > kMaxRows)
      say(fmt::format("resources and dependences in each slot, and limits and objectives of each group, are {}, and at "
                      "most {} are allowed",
                      rows, kMaxRows));
    if (found.empty())
      checkCircles();
    return std::move(found);
  }

private:
  void say(std::string finding) {
    if (found.empty())
      found = std::move(finding);
  }
  void range(std::string_view what, int64_t number, int64_t min, int64_t max) {
    if (number < min || number > max)
      say(fmt::format("{} is {}, which is not in {} to {}", what, number, min, max));
  }

  void checkTime() {
    range("the number of slots", problem.slots, 1, kMaxSlots);
    if (found.empty())
      range("the length of a slot", problem.slot, 1, kMaxSeconds / problem.slots);
    if (!found.empty())
      return;
    horizon = problem.slot * problem.slots;
    if (!problem.carbon.empty() && problem.carbon.size() != static_cast<size_t>(problem.slots))
      say(fmt::format("carbon is given for {} slots of {}", problem.carbon.size(), problem.slots));
    for (int64_t carbon : problem.carbon) {
      range("carbon of a slot", carbon, 0, kMaxAllocationNumber);
      allCarbon += carbon;
    }
  }

  void checkResources() {
    rows = problem.resources.size() * static_cast<size_t>(problem.slots);
    for (size_t r = 0; r < problem.resources.size(); ++r) {
      const SlotResource &resource = problem.resources[r];
      if (resource.capacity.size() != static_cast<size_t>(problem.slots))
        return say(fmt::format("resource {} ('{}') has capacities for {} slots of {}", r, resource.name,
                               resource.capacity.size(), problem.slots));
      for (int64_t capacity : resource.capacity)
        if (capacity < 0 || capacity > kMaxAllocationNumber)
          return say(fmt::format("resource {} ('{}') has capacity {}, which is not in 0 to {}", r, resource.name,
                                 capacity, kMaxAllocationNumber));
    }
    for (size_t g = 0; g < problem.groups.size(); ++g)
      range(fmt::format("the share of group {} ('{}')", g, problem.groups[g].name), problem.groups[g].share, 1,
            kMaxAllocationNumber);
  }

  void checkMeasures() {
    rows += (problem.limits.size() + problem.objectives.size()) * std::max<size_t>(1, problem.groups.size());
    range("the number of jobs that the tail leaves out", problem.tail, 0, kMaxAllocationNumber);
    for (JobMeasure measure : problem.objectives) {
      if (static_cast<unsigned>(measure) >= kJobMeasures)
        return say(fmt::format("objective {} is none of {}", static_cast<unsigned>(measure), kJobMeasures));
      if (used[static_cast<unsigned>(measure)])
        return say(fmt::format("objective '{}' stands twice", nameOf(measure)));
      used[static_cast<unsigned>(measure)] = true;
    }
    for (const JobLimit &limit : problem.limits) {
      if (static_cast<unsigned>(limit.measure) >= kJobMeasures)
        return say(
            fmt::format("the measure {} of a limit is none of {}", static_cast<unsigned>(limit.measure), kJobMeasures));
      used[static_cast<unsigned>(limit.measure)] = true;
      range(fmt::format("the limit of '{}'", nameOf(limit.measure)), limit.max,
            limit.measure == JobMeasure::Nash ? -kMaxWork : 0, kMaxWork);
    }
  }
  bool uses(JobMeasure measure) const { return used[static_cast<unsigned>(measure)]; }

  void checkJob(size_t number) {
    const ScheduledJob &job = problem.jobs[number];
    const std::string who = fmt::format("job {} ('{}'): ", number, job.name);
    auto in = [&](const char *what, int64_t value, int64_t min, int64_t max) {
      if (value < min || value > max)
        say(fmt::format("{}{} is {}, which is not in {} to {}", who, what, value, min, max));
    };
    in("arrival", job.arrival, 0, kMaxSeconds);
    in("deadline", job.deadline, -1, kMaxSeconds);
    in("due time", job.due, -1, kMaxSeconds);
    in("price of lateness", job.latePrice, 0, kMaxAllocationNumber);
    in("weight", job.weight, 0, kMaxAllocationNumber);
    in("work", job.work, 0, kMaxWork);
    in("restart", job.restart, 0, kMaxSeconds);
    in("isolated time", job.isolated, 1, kMaxSeconds);
    in("elasticity", static_cast<int64_t>(job.elasticity), 0, static_cast<int64_t>(Elasticity::Malleable));
    in("running configuration", job.running, -1, static_cast<int64_t>(job.configurations.size()) - 1);
    if (job.running >= 0 && job.arrival != 0)
      say(fmt::format("{}it runs before slot 0, but arrives at {}", who, job.arrival));
    for (unsigned earlier : job.after)
      in("dependence", earlier, 0, static_cast<int64_t>(problem.jobs.size()) - 1);
    for (size_t i = 0; i < job.groups.size(); ++i) {
      in("group", job.groups[i], 0, static_cast<int64_t>(problem.groups.size()) - 1);
      if (i > 0 && job.groups[i] <= job.groups[i - 1])
        say(fmt::format("{}group {} follows group {}, but groups are ascending, each once", who, job.groups[i],
                        job.groups[i - 1]));
    }
    rows += job.after.size() * static_cast<size_t>(problem.slots);
    for (size_t k = 0; k < job.configurations.size() && found.empty(); ++k)
      checkConfiguration(job.configurations[k], fmt::format("{}configuration {}", who, k));
    if (found.empty())
      checkTerms(job, who);
  }

  void checkConfiguration(const JobConfiguration &configuration, const std::string &who) {
    auto in = [&](const char *what, int64_t value, int64_t min, int64_t max) {
      if (value < min || value > max)
        say(fmt::format("{} has {} {}, which is not in {} to {}", who, what, value, min, max));
    };
    in("speed", configuration.speed, 1, kMaxWork / horizon);
    in("watts", configuration.watts, 0, kMaxAllocationNumber);
    in("price", configuration.price, 0, kMaxAllocationNumber);
    useCount += 1 + configuration.uses.size();
    if (useCount > kMaxUses)
      say(fmt::format("configurations and their uses are more than {}", kMaxUses));
    for (size_t i = 0; i < configuration.uses.size(); ++i) {
      const ResourceUse &use = configuration.uses[i];
      if (use.resource >= problem.resources.size())
        say(fmt::format("{} uses resource {} of {}", who, use.resource, problem.resources.size()));
      if (i > 0 && use.resource <= configuration.uses[i - 1].resource)
        say(fmt::format("{} uses resource {} after resource {}, but resources are ascending, each once", who,
                        use.resource, configuration.uses[i - 1].resource));
      in("a use of", use.amount, 1, kMaxAllocationNumber);
    }
  }

  /// The largest terms of measures that are used.
  void checkTerms(const ScheduledJob &job, const std::string &who) {
    const Wide last = job.work == 0 ? job.arrival : std::max(horizon, job.arrival), elapsed = last - job.arrival;
    auto term = [&](JobMeasure measure, Wide largest) {
      if (uses(measure) && largest > kMaxAllocationNumber)
        say(fmt::format("{}its part of '{}' can be more than {}", who, nameOf(measure), kMaxAllocationNumber));
    };
    term(JobMeasure::Completion, job.weight * elapsed);
    term(JobMeasure::Group, job.weight * elapsed);
    term(JobMeasure::Nash, Wide(job.weight) * 2 * kMaxLogarithm);
    term(JobMeasure::Slowdown, (1000 * elapsed + job.isolated - 1) / job.isolated);
    if (job.due >= 0)
      term(JobMeasure::Lateness, job.latePrice * std::max<Wide>(0, last - job.due));
    for (const JobConfiguration &configuration : job.configurations) {
      term(JobMeasure::Price, Wide(configuration.price) * horizon);
      term(JobMeasure::Energy, Wide(configuration.watts) * horizon);
      term(JobMeasure::Carbon, Wide(configuration.watts) * problem.slot * allCarbon);
    }
  }

  /// Takes away jobs that wait for no other, until none is left.
  void checkCircles() {
    const size_t jobs = problem.jobs.size();
    std::vector<size_t> waitsFor(jobs, 0), ready;
    std::vector<std::vector<size_t>> later(jobs);
    for (size_t j = 0; j < jobs; ++j) {
      waitsFor[j] = problem.jobs[j].after.size();
      for (unsigned earlier : problem.jobs[j].after)
        later[earlier].push_back(j);
      if (waitsFor[j] == 0)
        ready.push_back(j);
    }
    for (size_t i = 0; i < ready.size(); ++i)
      for (size_t j : later[ready[i]])
        if (--waitsFor[j] == 0)
          ready.push_back(j);
    for (size_t j = 0; j < jobs && ready.size() < jobs; ++j)
      if (waitsFor[j] > 0)
        return say(fmt::format("job {} ('{}') is on a circle of dependences, or after one", j, problem.jobs[j].name));
  }

  const JobScheduleProblem &problem;
  int64_t horizon = 0;
  Wide allCarbon = 0;
  size_t rows = 0, useCount = 0;
  std::array<bool, kJobMeasures> used = {};
  std::string found;
};

} // namespace

std::string_view nameOf(JobMeasure measure) { return kNames[static_cast<unsigned>(measure)]; }

std::optional<JobMeasure> jobMeasure(std::string_view name) {
  for (unsigned i = 0; i < kJobMeasures; ++i)
    if (kNames[i] == name)
      return static_cast<JobMeasure>(i);
  return std::nullopt;
}

bool isSum(JobMeasure measure) { return measure < JobMeasure::Makespan; }

Result<void> checkJobScheduleProblem(const JobScheduleProblem &problem) {
  if (std::string finding = ProblemCheck(problem).finding(); !finding.empty())
    return wrong(std::move(finding));
  return {};
}

} // namespace accord::jobs
