// What exchanges of data among the devices of a step cost.
#pragma once
#include "lib/machine/cost/Estimate.h"
#include <map>
#include <optional>
#include <tuple>

namespace accord {

/// Prices the exchanges of one graph; groups are routed once. All groups of an axis exchange data
/// at the same time, because all devices run the same step.
class CommunicationCosts {
public:
  /// A0455 where the axes need more devices than the fabric has, or an axis has two sizes; A0454
  /// for networks.
  static Result<CommunicationCosts> make(const WorkGraph &graph, const Machine &machine,
                                         const EstimateOptions &options);

  /// time = max(the collective's, latency + (bytes read + bytes written) / bandwidth of device
  /// memory). No core; energy of one device's share of the links and of its memory. A0451 where the
  /// operation does not say what it exchanges.
  Result<OperationCost> price(const Operation &op, Assumptions &assumptions) const;

  /// What its collective moves, and how; nothing where it exchanges nothing, or does not say with whom.
  std::optional<CollectiveCost> exchange(const Operation &op) const;

  /// Seconds of that, but for rounding; 0 of nothing.
  double seconds(const Operation &op) const;

private:
  explicit CommunicationCosts(const Machine &machine) : machine(&machine) {}

  const Machine *machine;
  using Key = std::tuple<std::string, std::string, bool>; ///< kind, axis, whether it goes round a ring
  static Key keyOf(const Communication &one) { return {one.kind, one.axis, one.ring}; }
  std::map<Key, CollectiveModel> models;
};

} // namespace accord
