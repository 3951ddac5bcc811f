#include "lib/jobs/simulate/PredictedSpeeds.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

std::vector<double> medians(const prediction::Normal &normal) {
  std::vector<double> rates;
  for (const double mean : normal.mean)
    rates.push_back(std::exp(mean));
  return rates;
}

} // namespace

std::shared_ptr<const prediction::Normal> PredictedSpeeds::logRates(const std::string &application, unsigned gang) {
  auto &found = known[{application, gang}];
  if (found)
    return found;
  const std::string family = familyOf(application);
  auto predictor = byFamily.find(family);
  if (predictor == byFamily.end()) {
    std::vector<MeasuredRate> others;
    for (const MeasuredRate &one : measured)
      if (one.family != family)
        others.push_back(one);
    predictor = byFamily.emplace(family, RatePredictor(std::move(others))).first;
  }
  std::vector<RatePlace> places;
  for (const std::string &type : types)
    places.push_back({type, gang});
  found = std::make_shared<prediction::Normal>(predictor->second.logRates(family, application, places));
  return found;
}

PredictedProgress::PredictedProgress(const SteadyJob &job, std::shared_ptr<const prediction::Normal> logRates,
                                     bool wholeSteps)
    : SteadyProgress(job, wholeSteps), prior(std::move(logRates)), seen(std::make_shared<Seen>()) {
  seen->rates = medians(*prior);
}

void PredictedProgress::place(const Cluster &cluster, const JobPlacement &placement) {
  SteadyProgress::place(cluster, placement);
  const size_t type = typeOf(cluster, placement);
  if (!(SteadyProgress::rate() > 0) || std::ranges::find(seen->types, type) != seen->types.end())
    return;
  seen->types.push_back(type);
  seen->logRates.push_back(std::log(SteadyProgress::rate()));
  seen->rates = medians(prediction::condition(*prior, seen->types, seen->logRates));
}

double PredictedProgress::rate(const Cluster &cluster, unsigned type, unsigned devices) const {
  const double measured = SteadyProgress::rate(cluster, type, devices);
  if (!(measured > 0) || std::ranges::find(seen->types, type) != seen->types.end())
    return measured;
  return seen->rates[type];
}

std::vector<SimulatedJob> predictedJobs(const std::vector<SteadyJob> &jobs, PredictedSpeeds &speeds, bool wholeSteps) {
  std::vector<SimulatedJob> simulated = simulatedJobs(jobs, wholeSteps);
  for (size_t i = 0; i < jobs.size(); ++i)
    simulated[i].progress = [job = jobs[i], logRates = speeds.logRates(jobs[i].application, jobs[i].gang), wholeSteps] {
      return std::make_unique<PredictedProgress>(job, logRates, wholeSteps);
    };
  return simulated;
}

} // namespace accord::jobs
