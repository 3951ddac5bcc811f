// Speeds of a job as those see them who know only the steps that it ran so far: the estimates of Pollux and Sia.
#pragma once
#include "lib/jobs/simulate/ProfiledProgress.h"
#include "lib/jobs/solve/GoodputFit.h"
#include <algorithm>
#include <map>
#include <vector>

namespace accord::jobs {

/// What is known of one job. Each new number of servers, devices or local batch on a device type is measured once, and
/// then the times of the type are fitted (`fitGoodput`); the gradient noise is the last that was seen. Rules of what
/// was not seen (Qiao et al., Pollux, OSDI 2021, section 4.1, and its published artefact):
/// - before its first step, a job may have one device, of any type alike, and has its initial batch, or the maximum one
///   if its application uses one device alone (ncf, in the artefact);
/// - it may have twice as many devices as it had before;
/// - devices beyond one server, or one device, cost no time until some were seen there.
/// And of Sia (SOSP 2023, and its published simulator, with projected throughputs): a type that was not seen is as fast
/// as the first that was, times the ratio of samples a second on one device, which is known of every application.
class FittedSpeeds {
public:
  explicit FittedSpeeds(ApplicationTypes types) : types(std::move(types)), seen(this->types.size()) {}

  /// The job does steps with `atomicBatch` samples a device, and its gradient has this noise.
  void observe(unsigned type, DeviceCount on, int64_t atomicBatch, StepTime time, GradientNoise noise);
  /// Whether a step was seen.
  bool isKnown() const {
    return std::ranges::any_of(seen, [](const Seen &one) { return !one.steps.empty(); });
  }
  /// Devices that it may have.
  unsigned maxDevices() const { return std::max(1u, 2 * maxSeen); }

  /// The batch that the estimates say is best on a placement, of the limits that its devices have; nothing if there is
  /// none.
  std::optional<BatchSplit> split(unsigned type, const std::vector<unsigned> &placement) const;
  /// Progress a second with it, in steps of the initial batch; 0 on more devices than it may have. Before the first
  /// step, the number of devices.
  double rate(unsigned type, const std::vector<unsigned> &placement) const;

private:
  /// Steps that were seen on a type.
  struct Seen {
    std::vector<MeasuredStep> steps;
    GoodputModel model; ///< without noise; where `steps` is not empty
  };
  size_t indexOf(unsigned type) const { return types.size() == 1 ? 0 : type; }
  std::optional<BatchChoice> choose(unsigned type, const std::vector<unsigned> &placement) const;
  std::optional<BatchChoice> compute(size_t type, const std::vector<unsigned> &placement) const;

  ApplicationTypes types;
  std::vector<Seen> seen;
  GradientNoise noise;
  unsigned maxSeen = 0;                                                                           ///< devices
  mutable std::map<std::pair<size_t, std::vector<unsigned>>, std::optional<BatchChoice>> choices; ///< by the last fit
};

} // namespace accord::jobs
