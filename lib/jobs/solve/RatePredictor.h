// Rates of an application on device types and gangs on which it was never run.
#pragma once
#include "lib/jobs/problem/SteadyJob.h"
#include "lib/prediction/HeldOut.h"
#include "lib/prediction/MixedModel.h"
#include <memory>
#include <string>
#include <vector>

namespace accord::jobs {

/// A number of devices of a type.
struct RatePlace {
  std::string type;
  unsigned devices = 1;
  bool operator==(const RatePlace &) const = default;
};

/// Work that an application was measured to do in a second.
struct MeasuredRate {
  std::string family;      ///< of models that are alike: "ResNet"
  std::string application; ///< a model and its batch: "ResNet-50 (batch size 64)"
  RatePlace place;
  double rate = 0; ///< more than 0, in a unit of the application's own
};

/// What was not measured: its median, and the interval in which 90 of 100 such rates lie.
struct PredictedRate {
  double median = 0, low = 0, high = 0;
};
/// Of a logarithm that is normal.
PredictedRate predictedRate(double mean, double variance);

/// The letters with which the name of an application begins, "ResNet" of "ResNet-50 (batch size 64)"; where it begins
/// with fewer than two letters, all up to the first dash, space or bracket ("A3C").
std::string familyOf(const std::string &application);
/// Rates above 0 of a table, by application and gang, types in their order.
std::vector<MeasuredRate> measuredRates(const ThroughputTable &table);

/// Learns from measured rates of applications how rates go from place to place. The logarithm of a rate is a sum of
/// normal effects: the level of the application; what is common to all on a type, with a number of devices and with
/// both; and how a family, and an application in it, is different there. What differs by type has a part in proportion
/// to the type's mean rate among the measured ones (a family that gains more than others on one fast type does so on
/// all). How large the effects of families and applications are follows from the measured rates (`MixedModel::fit`).
/// No effect knows of data sheets, so any names of types will do. Deterministic.
class RatePredictor {
public:
  /// Rates beyond `kMaxRates` are left out, evenly.
  explicit RatePredictor(std::vector<MeasuredRate> measured);
  static constexpr size_t kMaxRates = 1500;

  /// The joint distribution of the logarithms of an application's rates at places. Where the application itself was
  /// not measured, their common level is as good as unknown: `prediction::condition` on a known one says the others.
  prediction::Normal logRates(const std::string &family, const std::string &application,
                              const std::vector<RatePlace> &places) const;

private:
  struct Rows;
  std::vector<MeasuredRate> measured;
  std::vector<double> values; ///< logarithms, less their mean
  double mean = 0;
  std::vector<double> scales; ///< of the effects
  std::vector<std::pair<std::string, double>> strengths;
};

/// What is known of an application when others of its rates are predicted.
enum class KnownRates {
  OneType,     ///< the same number of devices of one other type
  OneDevice,   ///< one device of the same type
  OneElsewhere ///< one device of another type, and several are predicted
};
constexpr size_t kKnownRates = 3;

/// A rate that was left out, as it was predicted.
struct LeftOutRate {
  KnownRates known = KnownRates::OneType;
  std::string application;
  RatePlace from, to;
  prediction::HeldOutValue value; ///< its group is the family
};

/// Each family in turn is left out as a whole, also of the choice of scales; then each of its rates is predicted from
/// each one that `KnownRates` names. With `sameModel`, applications are left out one at a time, so that the model's
/// other batches are known everywhere.
std::vector<LeftOutRate> leaveRatesOut(const std::vector<MeasuredRate> &measured, bool sameModel = false);

} // namespace accord::jobs
