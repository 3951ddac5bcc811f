#include "lib/jobs/problem/JobSchedule.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

struct MeasureRow {
  JobMeasure measure;
  const char *name;
  bool sum;
};
constexpr MeasureRow kMeasures[] = {
    {JobMeasure::Rejected, "rejected", true},
    {JobMeasure::Completion, "mean_completion", true},
    {JobMeasure::Lateness, "lateness", true},
    {JobMeasure::Price, "cost", true},
    {JobMeasure::Energy, "energy", true},
    {JobMeasure::Carbon, "carbon", true},
    {JobMeasure::Nash, "nash_welfare", true},
    {JobMeasure::Makespan, "makespan", false},
    {JobMeasure::Slowdown, "finish_time_fairness", false},
    {JobMeasure::Tail, "tail_completion", false},
    {JobMeasure::Group, "tenant_fairness", false},
};
static_assert(std::size(kMeasures) == kJobMeasures);

constexpr int64_t kMax = kMaxAllocationNumber;
/// With prices of all rows up to 2^62, sums over jobs fit 127 bits.
constexpr size_t kMaxJobs = size_t(1) << 18;

class Check {
public:
  explicit Check(const JobScheduleProblem &problem) : problem(problem) {}

  std::string run() {
    times();
    resources();
    for (size_t j = 0; j < problem.jobs.size() && wrong.empty(); ++j)
      job(problem.jobs[j]);
    objectives();
    if (wrong.empty())
      dependences();
    return wrong;
  }

private:
  template <class... Args> void require(bool holds, fmt::format_string<Args...> text, Args &&...args) {
    if (!holds && wrong.empty())
      wrong = fmt::format(text, std::forward<Args>(args)...);
  }
  static bool within(int64_t value, int64_t min, int64_t max) { return value >= min && value <= max; }

  void times() {
    require(within(problem.slots, 1, kMaxSlots), "slots are {}, from 1 to {} are allowed", problem.slots, kMaxSlots);
    require(within(problem.slot, 1, kMaxSeconds), "a slot has {} seconds, from 1 to {} are allowed", problem.slot,
            kMaxSeconds);
    if (wrong.empty())
      require(problem.slot <= kMaxSeconds / problem.slots, "{} slots of {} seconds are longer than {} seconds",
              problem.slots, problem.slot, kMaxSeconds);
    require(problem.jobs.size() <= kMaxJobs, "jobs are {}, at most {} are allowed", problem.jobs.size(), kMaxJobs);
    require(within(problem.tail, 0, static_cast<int64_t>(problem.jobs.size())), "the tail is {} of {} jobs",
            problem.tail, problem.jobs.size());
  }

  void resources() {
    require(problem.resources.size() <= 10'000 && problem.groups.size() <= 10'000,
            "resources are {} and groups {}, at most 10000 are allowed", problem.resources.size(),
            problem.groups.size());
    for (const SlotResource &resource : problem.resources) {
      require(static_cast<int64_t>(resource.capacity.size()) == problem.slots,
              "resource '{}' has a capacity in {} slots of {}", resource.name, resource.capacity.size(), problem.slots);
      for (int64_t one : resource.capacity)
        require(within(one, 0, kMax), "a capacity of '{}' is {}, from 0 to {} are allowed", resource.name, one, kMax);
    }
    for (const JobGroup &group : problem.groups)
      require(within(group.share, 1, kMax), "the share of group '{}' is {}, from 1 to {} are allowed", group.name,
              group.share, kMax);
    require(problem.carbon.empty() || static_cast<int64_t>(problem.carbon.size()) == problem.slots,
            "carbon is stated in {} slots of {}", problem.carbon.size(), problem.slots);
    for (int64_t one : problem.carbon)
      require(within(one, 0, kMax), "carbon in a slot is {}, from 0 to {} are allowed", one, kMax);
  }

  void number(const ScheduledJob &job, const char *what, int64_t value, int64_t min, int64_t max) {
    require(within(value, min, max), "{} of job '{}' is {}, from {} to {} are allowed", what, job.name, value, min,
            max);
  }

  void job(const ScheduledJob &job) {
    number(job, "the arrival", job.arrival, 0, kMaxSeconds);
    number(job, "the time waited", job.waited, 0, kMaxSeconds);
    require(job.waited == 0 || job.arrival == 0, "job '{}' waited already and arrives at {}", job.name, job.arrival);
    number(job, "the deadline", job.deadline, -1, kMaxSeconds);
    number(job, "the due time", job.due, -1, kMaxSeconds);
    number(job, "the price of lateness", job.latePrice, 0, kMax);
    number(job, "the weight", job.weight, 0, kMax);
    number(job, "the work", job.work, 0, kMax);
    number(job, "the restart", job.restart, 0, kMaxSeconds);
    number(job, "the isolated time", job.isolated, 1, kMax);
    number(job, "the running configuration", job.running, -1, static_cast<int64_t>(job.configurations.size()) - 1);
    require(job.running < 0 || job.arrival == 0, "job '{}' runs already and arrives at {}", job.name, job.arrival);
    require(job.configurations.size() <= 10'000, "job '{}' has {} configurations, at most 10000 are allowed", job.name,
            job.configurations.size());
    for (const JobConfiguration &one : job.configurations)
      configuration(job, one);
    for (size_t i = 0; i < job.after.size(); ++i)
      require(job.after[i] < problem.jobs.size() && (i == 0 || job.after[i] > job.after[i - 1]),
              "job '{}' is after jobs that do not exist, or are not ascending", job.name);
    for (size_t i = 0; i < job.groups.size(); ++i)
      require(job.groups[i] < problem.groups.size() && (i == 0 || job.groups[i] > job.groups[i - 1]),
              "job '{}' is of groups that do not exist, or are not ascending", job.name);
    terms(job);
  }
  void configuration(const ScheduledJob &job, const JobConfiguration &one) {
    number(job, "a speed", one.speed, 1, kMax);
    number(job, "the watts of a configuration", one.watts, 0, kMax);
    number(job, "the price of a configuration", one.price, 0, kMax);
    for (size_t i = 0; i < one.uses.size(); ++i) {
      require(one.uses[i].resource < problem.resources.size() &&
                  (i == 0 || one.uses[i].resource > one.uses[i - 1].resource),
              "configuration '{}' of job '{}' uses resources that do not exist, or are not ascending", one.name,
              job.name);
      number(job, "an amount of a resource", one.uses[i].amount, 1, kMax);
    }
  }

  /// What a job can count at most in each measure, which has to be a number of an allocation.
  void terms(const ScheduledJob &job) {
    const __int128 horizon = static_cast<__int128>(problem.slot) * problem.slots;
    const __int128 time = std::max<__int128>(horizon, job.arrival);
    int64_t price = 0, watts = 0, carbon = 0;
    for (const JobConfiguration &one : job.configurations)
      price = std::max(price, one.price), watts = std::max(watts, one.watts);
    for (int64_t one : problem.carbon)
      carbon = std::max(carbon, one);
    const __int128 elapsed = time + job.waited;
    auto bounded = [&](const char *what, __int128 term) {
      require(term <= kMax, "{} of job '{}' may be more than {}", what, job.name, kMax);
    };
    bounded("the weighted time", job.weight * elapsed);
    bounded("the price of lateness", job.latePrice * time);
    bounded("the price", price * horizon);
    bounded("the energy", watts * horizon);
    bounded("the carbon", static_cast<__int128>(watts) * horizon > kMax ? kMax : watts * horizon * carbon);
    bounded("the weighted logarithm", static_cast<__int128>(job.weight) * 64'000'000);
    bounded("the slowdown", 1000 * elapsed / job.isolated + 1);
  }

  void objectives() {
    for (size_t i = 0; i < problem.objectives.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        require(problem.objectives[i] != problem.objectives[k], "the objective {} stands twice",
                nameOf(problem.objectives[i]));
    for (const JobLimit &limit : problem.limits) {
      const int64_t min = limit.measure == JobMeasure::Nash ? -kMax : 0; // all others are 0 or more
      require(within(limit.max, min, kMax), "a limit of {} is {}, from {} to {} are allowed", nameOf(limit.measure),
              limit.max, min, kMax);
    }
  }

  /// Takes jobs whose predecessors are all taken; what remains is in a circle or behind one.
  void dependences() {
    std::vector<size_t> missing;
    std::vector<std::vector<size_t>> later(problem.jobs.size());
    std::vector<size_t> ready;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      missing.push_back(problem.jobs[j].after.size());
      if (missing[j] == 0)
        ready.push_back(j);
      for (unsigned before : problem.jobs[j].after)
        later[before].push_back(j);
    }
    size_t taken = 0;
    for (; !ready.empty(); ++taken) {
      const size_t job = ready.back();
      ready.pop_back();
      for (size_t next : later[job])
        if (--missing[next] == 0)
          ready.push_back(next);
    }
    for (size_t j = 0; j < problem.jobs.size() && taken < problem.jobs.size(); ++j)
      require(missing[j] == 0, "job '{}' is after jobs in a cycle", problem.jobs[j].name);
  }

  const JobScheduleProblem &problem;
  std::string wrong;
};

} // namespace

std::string_view nameOf(JobMeasure measure) {
  for (const MeasureRow &row : kMeasures)
    if (row.measure == measure)
      return row.name;
  return "";
}

std::optional<JobMeasure> jobMeasure(std::string_view name) {
  for (const MeasureRow &row : kMeasures)
    if (name == row.name)
      return row.measure;
  return std::nullopt;
}

bool isSum(JobMeasure measure) {
  for (const MeasureRow &row : kMeasures)
    if (row.measure == measure)
      return row.sum;
  return false;
}

Result<void> checkJobScheduleProblem(const JobScheduleProblem &problem) {
  if (std::string wrong = Check(problem).run(); !wrong.empty())
    return Error{Code::WrongJobSchedule, wrong};
  return {};
}

} // namespace accord::jobs
