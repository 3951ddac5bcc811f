// The execution traces of a plan of a cluster, one for each rank.
#pragma once
#include "lib/chakra/problem/ExecutionTrace.h"
#include "lib/placement/output/PlacementFigures.h"

namespace accord::chakra {

/// What the ranks of a plan do in a step. Ranks count from 0 through all device types, in the order of `deviceTypes`.
///
/// The passes of a device group are computations in the order of its schedule (each waits for the one before: a control
/// dependence). Before a forward pass, activations are received from each earlier stage, behind it they are sent to
/// each later one, and gradients go the other way; ranks of two groups of different sizes are joined in proportion.
/// After the last pass gradients are all-reduced over the replicas (with ZeRO reduce-scattered, and gathered behind the
/// update), then weights are updated. Collectives inside of layers (of tensor, context and expert parallelism) are in
/// the time of the passes.
class ClusterTraces {
public:
  /// Of a plan that is there.
  explicit ClusterTraces(const PlacementPlan &plan);

  int64_t ranks() const { return static_cast<int64_t>(places.size()); }
  /// Nodes of all traces together, or somewhat more.
  int64_t nodes() const;
  ExecutionTrace trace(int64_t rank) const;
  /// Lists of ranks by the number that a collective names, as ASTRA-sim reads them: {"1": [0, 8]}.
  std::string groupsJson() const;

private:
  struct Pass {
    uint8_t kind = 0; ///< 0 forward, 1 backward, 2 gradients of weights
    uint32_t stage = 0, microbatch = 0;
    double seconds = 0;
  };
  struct Transfer {
    uint32_t from = 0, to = 0; ///< stages
    int64_t bytes = 0;
  };
  struct Group {
    std::vector<Pass> passes;
    int64_t replicas = 1, tensor = 1;
    int64_t gradientBytes = 0;
    double sync = 0, update = 0; ///< seconds
    int zero = 0;
    std::vector<int64_t> ranks; ///< replica after replica
  };
  int64_t peerIn(const RankPlace &place, size_t group) const;
  std::vector<int64_t> replicasOf(const RankPlace &place) const;

  std::vector<Group> groups;
  std::vector<Transfer> transfers;
  std::vector<RankPlace> places; ///< by rank
};

} // namespace accord::chakra
