// What the placements of a job on a cluster are worth at least, for proofs about many machines.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include "lib/exploration/verify/LayerLowerBound.h"
#include <functional>
#include <numeric>
#include <unordered_map>

namespace accord {

/// Not to be shared between threads.
class PlacementLowerBound {
public:
  using Id = PlacementProblem::Id;
  /// Prices of a step by a machine's cost model; nothing where it has none.
  using Prices = std::function<std::optional<Costs>(size_t step)>;

  /// `cluster` outlives it.
  explicit PlacementLowerBound(const CertificateCluster &cluster);

  /// Value of the problem's objective (picoseconds, W s) that no placement on devices of this kind
  /// is below: `reprovedLowerBound` with layers that take what their operations take at least
  /// (`StepLowerBound`), whatever fits into memory. Found once for all devices of the same times.
  double value(const Machine &machine);
  /// With memory and cuts (`unprovenPlacements`): forms of which a placement may be worth less than
  /// `below`. `prices`: operations by these, only of forms `among`.
  struct Open {
    std::vector<Id> parallelConfigs; ///< of the cluster's problem, ascending
    double lowerBound = 0;           ///< no placement is worth less
  };
  Open open(const Machine &machine, double below);
  Open open(const Machine &machine, double below, const Prices &prices, const std::vector<Id> &among);

  /// What a stated problem says otherwise than the cluster and the machine, with its layers by `prices`: other devices,
  /// networks, schedules, forms or layers, or layers that take less than their operations; or why it is malformed
  /// (`check`). Empty: nothing.
  std::string differs(const PlacementProblem &stated, const Machine &machine, const Prices &prices);
  /// The cluster's forms that a stated problem has; of those that are alike as many as there are.
  std::vector<Id> formsOf(const PlacementProblem &stated) const;

  const CertificateCluster &cluster() const { return cluster_; }
  /// Bytes of such a device's memory that a placement may use.
  int64_t memoryBudget(const Machine &machine) const;

private:
  std::vector<Id> allConfigs() const {
    std::vector<Id> all(steps_.size());
    std::iota(all.begin(), all.end(), Id{0});
    return all;
  }
  /// By step; nothing: of those that do not count.
  using LayerUses = std::vector<std::optional<std::vector<LayerLowerBound>>>;
  LayerUses usesOf(const Machine &machine, const Prices &prices, const std::vector<Id> &among);
  PlacementProblem lowerBound(const Machine &machine, const std::vector<Id> &among, const LayerUses &uses) const;
  void cost(Id parallelConfig, const std::vector<const std::vector<LayerLowerBound> *> &policies,
            PlacementProblem &into, size_t at) const;
  std::string differsInLayers(const PlacementProblem &stated, const PlacementProblem &floor) const;

  const CertificateCluster &cluster_;
  std::vector<StepLayers> layers_;         ///< by step
  std::vector<std::vector<size_t>> steps_; ///< by form, those of its policies; none: it takes nothing
  bool delays_ = false, chain_ = false;
  std::unordered_map<std::string, double> known_;
  std::unordered_map<std::string, Open> opened_; ///< without prices
};

} // namespace accord
