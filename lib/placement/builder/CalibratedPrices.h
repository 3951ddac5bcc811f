// What operations, transfers and exchanges take on a machine whose parameters were fitted to measured steps: the source
// of the times of a placement problem where a machine has a calibration.
#pragma once
#include "lib/machine/calibration/OperationTimes.h"
#include "lib/machine/collectives/Cluster.h"
#include "lib/placement/builder/Layers.h"
#include "lib/placement/problem/Placement.h"

namespace accord {

/// The same terms as `calibrate::stepTime`, apart by layer: a step of stages of equal parallel configurations is the
/// closed form's, but for what a simulation sees besides (unequal stages, boundaries inside of servers).
class CalibratedPrices {
public:
  /// Nothing where the group's machine has no calibration. `unlinked`: share of the other devices of a server that no
  /// link reaches.
  static std::optional<CalibratedPrices> of(const Cluster &group, double unlinked = 0);

  /// Seconds of one execution of each operation (`calibrate::operationTimes`).
  Result<std::vector<double>> times(const WorkGraph &graph, int64_t tensor, int64_t context = 1) const;
  PlacementProblem::Link link() const;
  /// Of a parallel configuration with several replicas, `replicasPerNode` in each server: an exchange of its gradients,
  /// for `perGradient` bytes of weights to one of gradients, and what each pass gathers of weights or scatters of
  /// gradients, `perWeight` to one of weights. ZeRO 2 scatters gradients in every micro-batch, ZeRO 3 gathers weights
  /// in every pass; of either the share that nothing hides counts.
  std::vector<AlphaBetaModel> exchange(const ParallelConfig &parallelConfig, int64_t replicasPerNode,
                                       double perGradient) const;
  std::vector<AlphaBetaModel> gather(const ParallelConfig &parallelConfig, int64_t replicasPerNode,
                                     double perWeight) const;
  calibrate::GradientOverlap hiding() const { return calibrate::gradientOverlapOf(parameters_); }
  Machine::HostOverhead hostOverhead(const WorkGraph &graph) const {
    return calibrate::hostOverheadOf(graph, parameters_);
  }
  const std::string &source() const { return source_; }

private:
  calibrate::Layout layout(double tensor, double data) const;
  /// Picoseconds a byte of a gather or a scatter; an all-reduce is two.
  double half(const ParallelConfig &parallelConfig, int64_t replicasPerNode) const;

  Machine machine_;
  calibrate::Parameters parameters_{};
  std::string source_;
  double unlinked_ = 0, devicesPerNode_ = 1, network_ = 1, link_ = 1, memoryBandwidth_ = 1;
  bool interNode_ = false;
};

} // namespace accord
