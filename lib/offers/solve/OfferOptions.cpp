#include "lib/offers/solve/OfferOptions.h"
#include "lib/run/problem/RunPriors.h"
#include "lib/run/solve/RunEstimator.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace accord::offers {
namespace {

constexpr double kHour = 3600, kDay = 86400;

RunInput scaled(const RunInput &input, double by) { return {input.value * by, input.low * by, input.high * by}; }
Range scaled(const Range &range, double by) { return {range.value * by, range.low * by, range.high * by}; }

/// A run on a number of instances of a pool, at a rate of interruptions.
struct Run {
  std::string error; ///< why there is none
  Range time;
  double stops = 0, interval = 0;
};

class OptionBuilder {
public:
  OptionBuilder(const OfferedWork &work, const std::vector<Offer> &offers, const std::vector<OfferPool> &pools,
                const OptionSettings &settings)
      : work(work), offers(offers), pools(pools), settings(settings) {
    training.name = work.name;
  }

  void add(const PooledOffer &one) {
    const Offer &offer = offers[one.offer];
    const OfferPool &pool = pools[one.pool];
    std::string reason = "no plan";
    bool fits = false;
    const int64_t max = offer.available > 0 ? std::min(offer.available, settings.maxInstances) : settings.maxInstances;
    for (size_t p = 0; p < pool.plans.size(); ++p) {
      const OfferPlan &plan = pool.plans[p];
      const int64_t instances = plan.devices / std::max<int64_t>(pool.devices, 1);
      if (instances < 1 || instances * pool.devices != plan.devices || instances > max)
        continue;
      if (!plan.fits) {
        reason = plan.reason.empty() ? "no plan fits" : plan.reason;
        continue;
      }
      for (bool spot : {false, true}) {
        const double rate = spot ? offer.spotPrice : offer.price;
        if (rate < 0 || !(spot ? settings.spot : settings.onDemand))
          continue;
        const Run &run = runOf(one.pool, p, instances, spot ? std::optional(offer.interruptions) : std::nullopt);
        if (!run.error.empty())
          reason = run.error;
        else
          addOption(one, plan, run, instances, spot, rate), fits = true;
      }
    }
    if (!fits)
      training.unfit.emplace_back(one.offer, reason);
  }
  OfferTraining take() { return std::move(training); }

private:
  void addOption(const PooledOffer &one, const OfferPlan &plan, const Run &run, int64_t instances, bool spot,
                 double rate) {
    OfferOption option;
    option.offer = one.offer, option.instances = instances, option.devices = plan.devices, option.spot = spot;
    option.steps = std::ceil(work.samples / static_cast<double>(work.batch));
    option.step = plan.step.value, option.rate = rate, option.intensity = one.intensity;
    option.stops = run.stops, option.checkpointInterval = run.interval;
    option.time = run.time;
    option.price = scaled(run.time, static_cast<double>(instances) * rate / kHour);
    option.watts = plan.watts;
    option.energy = plan.watts * run.time.value;
    option.carbon = option.energy * one.intensity;
    option.plan = plan.plan, option.catalogue = pools[one.pool].catalogue;
    training.options.push_back(std::move(option));
  }

  /// `interruptions` of a spot instance in an hour, -1 where they are not stated. Each run is estimated once.
  const Run &runOf(unsigned pool, size_t plan, int64_t instances, std::optional<double> interruptions) {
    auto [found, isNew] = runs.try_emplace({pool, plan, interruptions});
    Run &run = found->second;
    if (!isNew)
      return run;
    std::optional<RunInput> rate;
    if (interruptions)
      rate = *interruptions >= 0 ? RunInput::exact(*interruptions) : kInterruptionsPerHour;
    const RunProblem problem = runOfOffer(work, pools[pool].plans[plan], instances, rate);
    if (Errors errors = check(problem); !errors.empty()) {
      run.error = errors.front().message;
      return run;
    }
    const RunEstimate estimate = estimateRun(problem);
    if (!isBounded(estimate)) {
      run.error = "failures and interruptions come so often that such a training hardly ends";
      return run;
    }
    run.time = {estimate.time.value, estimate.time.low, estimate.time.high};
    run.stops = estimate.interruptions.value, run.interval = estimate.interval;
    return run;
  }

  const OfferedWork &work;
  const std::vector<Offer> &offers;
  const std::vector<OfferPool> &pools;
  const OptionSettings &settings;
  std::map<std::tuple<unsigned, size_t, std::optional<double>>, Run> runs;
  OfferTraining training;
};

} // namespace

RunProblem runOfOffer(const OfferedWork &work, const OfferPlan &plan, int64_t instances,
                      std::optional<RunInput> interruptionsPerHour) {
  RunProblem run;
  run.samples = work.samples;
  run.steps = std::ceil(work.samples / static_cast<double>(std::max<int64_t>(work.batch, 1)));
  run.step = {plan.step.value, std::min(plan.step.low, plan.step.value), std::max(plan.step.high, plan.step.value)};
  if (!(run.step.low > 0))
    run.step = RunInput::exact(plan.step.value);
  run.devices = plan.devices;
  run.servers = instances;
  if (instances > 1)
    run.slowdown = kSlowdown;
  run.failureRate = scaled(kFailuresPerDay, 1 / kDay);
  if (interruptionsPerHour) {
    const double share = static_cast<double>(instances) / static_cast<double>(plan.devices) / kHour;
    const RunInput taken = scaled(*interruptionsPerHour, share);
    run.failureRate.value += taken.value, run.failureRate.low += taken.low, run.failureRate.high += taken.high;
  }
  run.detection = kDetectionTime;
  run.restart = kRestartTime;
  run.checkpointBytes = plan.checkpoint;
  run.checkpointBandwidth = scaled(kServerCheckpointBandwidth, static_cast<double>(instances));
  run.blocking = kBlockingTime;
  run.repairShare = kRepairShare;
  run.repair = kRepairTime;
  return run;
}

OfferTraining optionsOf(const OfferedWork &work, const std::vector<Offer> &offers, const std::vector<OfferPool> &pools,
                        const std::vector<PooledOffer> &pooled, const OptionSettings &settings) {
  OptionBuilder builder(work, offers, pools, settings);
  for (const PooledOffer &one : pooled)
    builder.add(one);
  return builder.take();
}

std::vector<std::string> assumptionsOf(const std::vector<Offer> &offers, const OfferTraining &training) {
  bool isSpot = false, isAssumed = false, isLinked = false;
  std::set<std::string> clusters;
  for (const OfferOption &option : training.options) {
    isSpot |= option.spot;
    isAssumed |= option.spot && offers[option.offer].interruptions < 0;
    isLinked |= option.instances > 1;
    clusters.insert(option.catalogue);
  }
  std::vector<std::string> all;
  if (training.options.empty())
    return all;
  std::string names;
  for (const std::string &cluster : clusters)
    names += (names.empty() ? "" : ", ") + cluster;
  all.push_back(fmt::format("hosts{} are those of the catalogue's clusters ({}): price lists do not state them",
                            isLinked ? " and networks between instances" : "", names));
  if (isAssumed)
    all.push_back("a spot instance is taken away 0.05 times an hour (0.005 to 0.33): assumed, no published rate; the "
                  "column InterruptionRate states it");
  if (isSpot)
    all.push_back("a spot instance that was taken away is replaced at once, at the same price");
  all.push_back("a device fails 4.4e-4 times a day (1.1e-4 to 1.7e-3), as published of clusters");
  all.push_back(
      "a failure is detected after 2 min (0.2 to 30), and software restarts the training in 16 min (4 to 68)");
  all.push_back("an instance writes checkpoints at 1 GB/s (0.4 to 2.5), devices wait for them, and they are written at "
                "the best interval");
  if (isLinked)
    all.push_back("stragglers lengthen a step of several instances by 2 % (0 to 10)");
  all.push_back("instances are paid for the whole time by the second, outages with it; storage and traffic are not "
                "counted");
  all.push_back("while no step runs, devices draw what they draw on average");
  return all;
}

std::vector<PooledOffer> cheapestOf(const std::vector<Offer> &offers, const std::vector<PooledOffer> &pooled,
                                    size_t count) {
  using Key = std::tuple<unsigned, double, double>;
  std::map<Key, std::vector<size_t>> alike;
  std::vector<char> isKept(pooled.size(), 0);
  for (size_t i = 0; i < pooled.size(); ++i) {
    const Offer &offer = offers[pooled[i].offer];
    if (offer.available > 0)
      isKept[i] = 1;
    else
      alike[{pooled[i].pool, pooled[i].intensity, offer.interruptions}].push_back(i);
  }
  for (auto &[key, members] : alike)
    for (double Offer::*const price : {&Offer::price, &Offer::spotPrice}) {
      std::vector<size_t> sold;
      for (size_t i : members)
        if (offers[pooled[i].offer].*price >= 0)
          sold.push_back(i);
      std::ranges::sort(sold, [&](size_t a, size_t b) {
        const double first = offers[pooled[a].offer].*price, second = offers[pooled[b].offer].*price;
        return first != second ? first < second : a < b;
      });
      for (size_t i = 0; i < std::min(count, sold.size()); ++i)
        isKept[sold[i]] = 1;
    }
  std::vector<PooledOffer> kept;
  for (size_t i = 0; i < pooled.size(); ++i)
    if (isKept[i])
      kept.push_back(pooled[i]);
  return kept;
}

} // namespace accord::offers
