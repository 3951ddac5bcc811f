#include "lib/offers/solve/OfferOptions.h"
#include "lib/run/problem/RunPriors.h"
#include "lib/run/solve/RunEstimator.h"
#include "lib/support/ThreadPool.h"
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

/// An option before its run is known.
struct Draft {
  PooledOffer of;
  const OfferPlan *plan = nullptr;
  int64_t instances = 1;
  bool spot = false;
  double rate = 0;
  size_t run = 0; ///< index into the runs
};

class OptionBuilder {
public:
  OptionBuilder(const OfferedWork &work, const std::vector<InstanceOffer> &offers, const std::vector<OfferPool> &pools,
                const OptionSettings &settings)
      : work(work), offers(offers), pools(pools), settings(settings) {
    training.name = work.name;
  }

  OfferTraining build(const std::vector<PooledOffer> &pooled) {
    std::vector<std::string> reasons;
    for (const PooledOffer &one : pooled)
      reasons.push_back(draft(one));
    // Each takes tens of milliseconds, and many offers share one.
    std::vector<Run> runs(problems.size());
    ThreadPool(settings.threads).each(problems.size(), [&](size_t i) { runs[i] = estimate(problems[i]); });
    size_t next = 0;
    for (size_t i = 0; i < pooled.size(); ++i) {
      bool fits = false;
      for (; next < drafts.size() && drafts[next].of.offer == pooled[i].offer; ++next)
        if (const Run &run = runs[drafts[next].run]; run.error.empty())
          addOption(drafts[next], run), fits = true;
        else
          reasons[i] = run.error;
      if (!fits)
        training.unfit.emplace_back(pooled[i].offer, reasons[i]);
    }
    return std::move(training);
  }

private:
  /// Drafts of all options on an offer; why there is none on the largest number of instances that has none.
  std::string draft(const PooledOffer &one) {
    const InstanceOffer &offer = offers[one.offer];
    const OfferPool &pool = pools[one.pool];
    std::string reason = "no plan";
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
        if (rate < 0 || !(spot ? settings.spot : settings.onDemand)) {
          reason = spot ? "it is not sold as a spot instance" : "it is not sold on demand";
          continue;
        }
        drafts.push_back({one, &plan, instances, spot, rate,
                          runOf(one.pool, p, instances, spot ? std::optional(offer.interruptions) : std::nullopt)});
      }
    }
    return reason;
  }

  /// `interruptions` of a spot instance in an hour, -1 where they are not stated.
  size_t runOf(unsigned pool, size_t plan, int64_t instances, std::optional<double> interruptions) {
    auto [found, isNew] = numbers.try_emplace({pool, plan, interruptions}, problems.size());
    if (isNew) {
      std::optional<RunInput> rate;
      if (interruptions)
        rate = *interruptions >= 0 ? RunInput::exact(*interruptions) : kInterruptionsPerHour;
      problems.push_back(runOfOffer(work, pools[pool].plans[plan], instances, rate));
    }
    return found->second;
  }

  static Run estimate(const RunProblem &problem) {
    Run run;
    if (Errors errors = check(problem); !errors.empty()) {
      run.error = errors.front().message;
      return run;
    }
    const RunTime estimate = estimateRunTime(problem);
    // As `isBounded` has it: steps that count are at least 1 in 10,000 of the time.
    if (!std::isfinite(estimate.time.high) || !std::isfinite(estimate.interruptions) ||
        problem.steps * problem.step.value < 1e-4 * estimate.time.value) {
      run.error = "failures and interruptions come so often that such a training hardly ends";
      return run;
    }
    run.time = {estimate.time.value, estimate.time.low, estimate.time.high};
    run.stops = estimate.interruptions, run.interval = estimate.interval;
    return run;
  }

  void addOption(const Draft &draft, const Run &run) {
    const OfferPlan &plan = *draft.plan;
    OfferOption option;
    option.offer = draft.of.offer, option.instances = draft.instances, option.devices = plan.devices;
    option.spot = draft.spot;
    option.steps = std::ceil(work.samples / static_cast<double>(work.batch));
    option.step = plan.step.value, option.rate = draft.rate, option.intensity = draft.of.intensity;
    option.stops = run.stops, option.checkpointInterval = run.interval;
    option.time = run.time;
    option.price = scaled(run.time, static_cast<double>(draft.instances) * draft.rate / kHour);
    option.watts = plan.watts;
    option.energy = plan.watts * run.time.value;
    option.carbon = option.energy * draft.of.intensity;
    option.plan = plan.plan, option.catalogue = pools[draft.of.pool].catalogue;
    training.options.push_back(std::move(option));
  }

  const OfferedWork &work;
  const std::vector<InstanceOffer> &offers;
  const std::vector<OfferPool> &pools;
  const OptionSettings &settings;
  std::vector<Draft> drafts; ///< offer after offer
  std::map<std::tuple<unsigned, size_t, std::optional<double>>, size_t> numbers;
  std::vector<RunProblem> problems; ///< by number
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

OfferTraining optionsOf(const OfferedWork &work, const std::vector<InstanceOffer> &offers,
                        const std::vector<OfferPool> &pools, const std::vector<PooledOffer> &pooled,
                        const OptionSettings &settings) {
  return OptionBuilder(work, offers, pools, settings).build(pooled);
}

std::vector<std::string> assumptionsOf(const std::vector<InstanceOffer> &offers, const OfferTraining &training) {
  bool isSpot = false, isAssumed = false, isLinked = false;
  std::set<std::string> clusters;
  for (const OfferOption &option : training.options) {
    isSpot |= option.spot;
    isAssumed |= option.spot && offers[option.offer].interruptions < 0;
    isLinked |= option.instances > 1;
    if (option.catalogue.find(".accel") == std::string::npos) // an inventory says it
      clusters.insert(option.catalogue);
  }
  std::vector<std::string> all;
  if (training.options.empty())
    return all;
  std::string names;
  for (const std::string &cluster : clusters)
    names += (names.empty() ? "" : ", ") + cluster;
  if (!clusters.empty())
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

std::vector<PooledOffer> cheapestOf(const std::vector<InstanceOffer> &offers, const std::vector<PooledOffer> &pooled,
                                    size_t count) {
  using Key = std::tuple<unsigned, double, double>;
  std::map<Key, std::vector<size_t>> alike;
  std::vector<char> isKept(pooled.size(), 0);
  for (size_t i = 0; i < pooled.size(); ++i) {
    const InstanceOffer &offer = offers[pooled[i].offer];
    if (offer.available > 0)
      isKept[i] = 1;
    else
      alike[{pooled[i].pool, pooled[i].intensity, offer.interruptions}].push_back(i);
  }
  for (auto &[key, members] : alike)
    for (double InstanceOffer::*const price : {&InstanceOffer::price, &InstanceOffer::spotPrice}) {
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
