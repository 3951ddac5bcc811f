#include "lib/jobs/problem/SteadyJob.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

Result<void> checkNumbers(const Cluster &cluster, const SteadyJob &job) {
  auto wrong = [&](const char *what, double found, const char *allowed) {
    return Error{Code::WrongJobsFile, fmt::format("{} of job '{}' is {}, not {}", what, job.name, found, allowed)};
  };
  if (!(job.steps > 0) || std::isinf(job.steps))
    return wrong("number of steps", job.steps, "more than 0");
  if (!(job.weight > 0) || std::isinf(job.weight))
    return wrong("weight", job.weight, "more than 0");
  if (!(job.arrival >= 0) || std::isinf(job.arrival))
    return wrong("arrival", job.arrival, "0 or more seconds");
  if (job.gang == 0)
    return wrong("gang", 0, "1 or more devices");
  if (job.rates.size() != cluster.types.size())
    return Error{Code::WrongJobsFile, fmt::format("application '{}' of job '{}' has no rates with {} devices",
                                                  job.application, job.name, job.gang)};
  for (double rate : job.rates)
    if (!(rate >= 0) || std::isinf(rate))
      return wrong("rate", rate, "0 or more steps a second");
  return {};
}

} // namespace

Result<void> checkSteadyJobs(const Cluster &cluster, const std::vector<SteadyJob> &jobs) {
  const std::vector<int64_t> capacity = cluster.capacity();
  const int64_t largest = capacity.empty() ? 0 : *std::max_element(capacity.begin(), capacity.end());
  for (const SteadyJob &job : jobs) {
    if (auto checked = checkNumbers(cluster, job); !checked)
      return checked;
    if (job.gang > largest)
      return Error{Code::GangTooLarge,
                   fmt::format("job '{}' needs {} devices of one type, and no type has more than {}", job.name,
                               job.gang, largest)};
    bool runs = false;
    for (size_t type = 0; type < capacity.size(); ++type)
      runs |= capacity[type] >= job.gang && job.rates[type] > 0;
    if (!runs)
      return Error{Code::JobNeverCompletes,
                   fmt::format("job '{}' makes no progress on any type that has {} devices", job.name, job.gang)};
  }
  return {};
}

size_t ThroughputTable::typeOf(const std::string &name) const {
  return static_cast<size_t>(std::find(types.begin(), types.end(), name) - types.begin());
}

std::vector<double> ThroughputTable::ratesOn(const std::vector<std::string> &names, const std::string &application,
                                             unsigned gang) const {
  const auto found = rates.find({application, gang});
  if (found == rates.end())
    return {};
  std::vector<double> result;
  for (const std::string &name : names) {
    const size_t type = typeOf(name);
    result.push_back(type < types.size() ? found->second[type] : 0);
  }
  return result;
}

std::vector<size_t> ThroughputTable::typesThatFit(const std::string &application, unsigned gang) const {
  std::vector<size_t> fit;
  if (const auto found = rates.find({application, gang}); found != rates.end())
    for (size_t type = 0; type < types.size(); ++type)
      if (found->second[type] > 0)
        fit.push_back(type);
  return fit;
}

} // namespace accord::jobs
