#include "lib/jobs/actor/ActorWeigher.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr double kHour = 3600;

/// Seconds, so that minutes and days are of one order.
double hours(double seconds) { return std::log1p(std::max(seconds, 0.0) / kHour); }

/// Seconds of the work that is expected to be left, where the job is fastest; 0 where it can run nowhere.
double secondsLeft(const JobEstimate &estimate) {
  return estimate.bestRate > 0 ? estimate.work / estimate.bestRate : 0;
}

void addJob(const RoundView &round, size_t i, double meanLeft, double devices, const std::vector<int64_t> &capacity,
            std::vector<double> &row) {
  const JobView &job = round.jobs[i];
  const SimulatedJob &described = *job.description;
  const JobEstimate &estimate = round.estimates[i];
  const double left = secondsLeft(estimate);
  double worst = 1, mean = 0;
  for (size_t type = 0; type < estimate.typeRates.size(); ++type) {
    if (capacity[type] == 0)
      continue;
    const double share = estimate.bestRate > 0 ? estimate.typeRates[type] / estimate.bestRate : 0;
    worst = std::min(worst, share);
    mean += share * static_cast<double>(capacity[type]) / devices;
  }
  const double held = devicesOf(job.placement);
  for (double feature : {hours(round.now - described.arrival), hours(job.attainedService), hours(left),
                         std::clamp(std::log((left + 60) / (meanLeft + 60)), -4.0, 4.0),
                         hours(estimate.bestRate > 0 ? job.progress->workDone() / estimate.bestRate : 0), worst, mean,
                         std::log2(1.0 + described.devices) / 4, std::min(described.maxDevices / devices, 1.0),
                         described.restartSeconds / (described.restartSeconds + left + 1), held > 0 ? 1.0 : 0.0,
                         held / devices, std::log1p(job.restarts)})
    row.push_back(feature);
}

} // namespace

const std::vector<std::string> &jobFeatureNames() {
  static const std::vector<std::string> kNames = {
      "age_log_h",           // log(1 + hours since its arrival)
      "service_log_h",       // log(1 + device-hours that it held)
      "left_log_h",          // log(1 + hours that it is expected to need where it is fastest)
      "left_over_mean_log",  // log of that over the mean of all jobs, each with a minute more, clamped to +-4
      "done_log_h",          // log(1 + hours of the work that is done, where it is fastest)
      "worst_type_share",    // rate on its worst type over that on its best
      "mean_type_share",     // the mean of such shares over all devices
      "devices_log2_over_4", // log2(1 + devices that it asks for) / 4
      "max_devices_share",   // devices that it can use, over those that are there, at most 1
      "restart_share",       // restart / (restart + seconds left + 1)
      "runs",                // 1: it has devices now
      "held_share",          // devices that it has over those that are there
      "restarts_log",        // log(1 + changes of its devices)
  };
  return kNames;
}

const std::vector<std::string> &clusterFeatureNames() {
  static const std::vector<std::string> kNames = {
      "free_share",              // devices that no job has now
      "jobs_per_device_log",     // log(1 + jobs / devices)
      "asked_per_device_log",    // log(1 + devices that all jobs ask for / devices)
      "running_share",           // jobs that have devices now
      "complete_jobs_log_over_4" // log(1 + jobs that were complete) / 4
  };
  return kNames;
}

Observation observe(const RoundView &round) {
  const std::vector<int64_t> capacity = round.cluster.capacity();
  const double devices = std::max<double>(1, static_cast<double>(round.cluster.devices()));
  const auto count = static_cast<double>(std::max<size_t>(round.jobs.size(), 1));
  double left = 0, held = 0, asked = 0, running = 0;
  for (size_t i = 0; i < round.jobs.size(); ++i) {
    left += secondsLeft(round.estimates[i]) / count;
    held += devicesOf(round.jobs[i].placement);
    asked += round.jobs[i].description->devices;
    running += round.jobs[i].placement.empty() ? 0 : 1;
  }
  Observation seen;
  seen.jobs = {round.jobs.size(), jobFeatureNames().size()};
  seen.jobs.numbers.reserve(seen.jobs.rows * seen.jobs.columns);
  for (size_t i = 0; i < round.jobs.size(); ++i)
    addJob(round, i, left, devices, capacity, seen.jobs.numbers);
  seen.cluster = {1,
                  clusterFeatureNames().size(),
                  {1 - std::min(held / devices, 1.0), std::log1p(count / devices), std::log1p(asked / devices),
                   running / count, std::log1p(static_cast<double>(round.complete)) / 4}};
  return seen;
}

Result<std::shared_ptr<ActorWeigher>> ActorWeigher::make(ActorNetwork network) {
  const ActorGraph &graph = network.graph();
  if (graph.jobFeatures != jobFeatureNames().size() || graph.clusterFeatures != clusterFeatureNames().size())
    return Error{Code::WrongJobsFile,
                 fmt::format("the actor takes {} features of jobs and {} of the cluster, but there are {} and {}",
                             graph.jobFeatures, graph.clusterFeatures, jobFeatureNames().size(),
                             clusterFeatureNames().size())};
  return std::shared_ptr<ActorWeigher>(new ActorWeigher(std::move(network)));
}

Result<std::vector<double>> ActorWeigher::weigh(const RoundView &round) {
  const Observation seen = observe(round);
  ACCORD_TRY(answers, network.evaluate(seen.jobs, seen.cluster));
  return boundedWeights(std::move(answers));
}

std::vector<double> boundedWeights(std::vector<double> logarithms) {
  for (double &number : logarithms)
    number = std::exp(std::clamp(number, -kMaxLogWeight, kMaxLogWeight));
  return logarithms;
}

} // namespace accord::jobs
