// What the cost model says of configurations before any of them is trained, as plain data.
//
// A tuning may name a `train` block, whose model, batch, optimizer and precision the hyper-parameters of the same names
// change, and an `infer` block of the network that is deployed. Each configuration then has a price: how long a unit
// takes on each number of devices, what memory it needs, and what an inference takes on its own device. Their
// `require`s are limits: a configuration that breaks one is never started.
#pragma once
#include "lib/tuning/problem/Tuning.h"
#include <limits>
#include <map>

namespace accord::tuning {

/// The limit that the memory of a device is.
constexpr const char *kDeviceMemory = "device memory";

/// A limit that a configuration breaks.
struct BrokenLimit {
  std::string limit;  ///< as written, or its label; "device memory" where the device has too little
  std::string block;  ///< the `train` or `infer` block that states it
  std::string detail; ///< with the numbers of both sides
};

/// On so many devices, each of which has an equal part of the batch.
struct DevicePrice {
  int64_t devices = 1;
  double unitSeconds = 0;
  double stepSeconds = 0;
  double memory = 0;      ///< bytes of each device at the peak
  int64_t microbatch = 1; ///< samples of a device at a time: the largest that fits
  bool fits = false;      ///< no limit is broken
  std::vector<BrokenLimit> broken = {};
};

/// A forward pass of the deployed network.
struct InferencePrice {
  double latency = 0; ///< seconds of the batch
  double memory = 0;  ///< bytes
  double energy = 0;  ///< joules of the batch; 0: the machine does not say
  std::vector<BrokenLimit> broken = {};
};

struct Price {
  std::vector<DevicePrice> training; ///< by `PricedTuning::devices`; empty where the inference breaks a limit
  std::optional<InferencePrice> inference;
  int64_t parameters = 0; ///< trained scalars

  /// Whether some number of devices may train it, and the inference keeps its limits.
  bool mayRun() const {
    bool fits = false;
    for (const DevicePrice &one : training)
      fits = fits || one.fits;
    return fits && (!inference || inference->broken.empty());
  }
  /// Of one that may not run: what is broken, of the inference, else of the training on one device.
  const BrokenLimit &reason() const {
    return inference && !inference->broken.empty() ? inference->broken.front() : training.front().broken.front();
  }
};

/// What is priced, and what came of it.
struct PricedTuning {
  std::string training, machine;             ///< the `train` block, and its device
  std::string inference, inferenceMachine;   ///< empty: none
  std::vector<std::string> bound;            ///< hyper-parameters that change prices
  std::vector<int64_t> devices{1};           ///< on how many a trial may run, ascending, from 1 on
  double capacity = 0;                       ///< bytes of a device
  std::vector<Price> trials;                 ///< of the trials of the result, in their order
  int64_t proposed = 0, rejected = 0;        ///< configurations that were looked at, and those that broke a limit
  std::map<std::string, int64_t> rejectedBy; ///< "latency <= 5 ms" to how many it rejected; each counts once
  double largestMemory = 0;                  ///< bytes of the largest one that a device does not hold; 0: there is none
  std::string largest;                       ///< the same, in words
  bool isExhaustive = false;                 ///< all configurations were priced, as `proposed` says
  std::vector<unsigned> front;               ///< trials of which no other is as good in value and `frontCost`
};

/// What stands beside the objective in the front: the latency where something is deployed, else the seconds of a unit.
inline double frontCost(const Price &price) {
  return price.inference ? price.inference->latency : price.training.front().unitSeconds;
}

/// The best value of a trial; not finite where it has none.
inline double bestValue(const TuningProblem &problem, const Trial &trial) {
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const Report &report : trial.reports)
    if (isBetter(problem, report.value, best))
      best = report.value;
  return best;
}

} // namespace accord::tuning
