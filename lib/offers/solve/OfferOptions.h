// From the plans of a training on an offer's devices to its options: times with failures, prices, energy.
#pragma once
#include "lib/offers/problem/Offers.h"
#include "lib/run/problem/TrainingRun.h"

namespace accord::offers {

/// A spot instance is taken away 0.05 times an hour (0.005 to 0.33) where the list says nothing: an assumption, wide
/// because providers, regions and weeks differ. It is no published rate.
constexpr RunInput kInterruptionsPerHour{0.05, 0.005, 0.33};

/// Devices of one type in instances of one size, and the best plan on each number of instances.
struct OfferPool {
  std::string catalogue;        ///< the cluster that describes them
  int64_t devices = 1;          ///< of an instance
  std::vector<OfferPlan> plans; ///< on numbers of devices that are multiples of `devices`
};

/// An offer whose accelerator is known.
struct PooledOffer {
  unsigned offer = 0, pool = 0;
  double intensity = 0; ///< grams for each joule; 0: not stated
};

struct OfferedWork {
  std::string name;
  double samples = 0; ///< of the whole training, above 0
  int64_t batch = 1;  ///< samples of a step
};

struct OptionSettings {
  bool onDemand = true, spot = true;
  int64_t maxInstances = 16;
  unsigned threads = 1; ///< the options are the same with any number
};

/// What `accord compile` says of a training's run (RunPlanner.h), where the cluster states nothing, with the best
/// interval between checkpoints. Spot instances add `interruptionsPerHour` of each instance to the failures of devices;
/// both rates and both ends of their intervals are added, so that the interval is not too narrow. An interruption costs
/// what a failure costs: a new instance is there at once.
RunProblem runOfOffer(const OfferedWork &work, const OfferPlan &plan, int64_t instances,
                      std::optional<RunInput> interruptionsPerHour);

/// All options of a training on these offers. The price is that of all instances for the whole time, outages with them.
/// Energy is watts x time: while no step runs, devices count as if one ran. Offers on which no plan fits are named.
OfferTraining optionsOf(const OfferedWork &work, const std::vector<InstanceOffer> &offers,
                        const std::vector<OfferPool> &pools, const std::vector<PooledOffer> &pooled,
                        const OptionSettings &settings);

/// What the numbers of options rest on, each once, for these options.
std::vector<std::string> assumptionsOf(const std::vector<InstanceOffer> &offers, const OfferTraining &training);

/// Of offers with the same pool, intensity, rate of interruptions and any number of instances, those that are among the
/// `count` cheapest on demand, or on spot; others in addition. Each of the rest is dominated by one that is kept.
std::vector<PooledOffer> cheapestOf(const std::vector<InstanceOffer> &offers, const std::vector<PooledOffer> &pooled,
                                    size_t count);

} // namespace accord::offers
