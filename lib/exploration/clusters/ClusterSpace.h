// What a cluster leaves open: numbers of servers and devices, its networks and hosts.
#pragma once
#include "lib/exploration/clusters/ClusterPoints.h"
#include "lib/machine/collectives/Network.h"
#include <map>
#include <memory>
#include <optional>

namespace accord::accel {
class ClusterOp;
class RequireOp;
} // namespace accord::accel

namespace accord {

/// The choices of a cluster. `choose` writes into the operation that it was made of, which has to outlive it;
/// everything else may be called by several threads.
///
/// Up to `kMax` combinations are points, each a placement problem of its own. Of more, bandwidths and latencies of
/// networks are relaxed, and where networks are dimensions (`endpoints`) topologies and algorithms, too: then at most
/// `kMax` combinations of the other choices may be left that make a cluster, whose dimensions multiply to what they
/// connect.
class ClusterSpace {
public:
  static constexpr uint64_t kMax = 256;

  /// Without choices there are no parameters, and one point. Issues: A0303, A0305, A0307, A0311 a choice that has no
  /// values, or too many, or more than `kMax` combinations; A0307 of what cannot be a choice; A0456 where no
  /// combination makes a cluster, or one that is as required; of what is required A0104, A0204, A0611. `max`:
  /// combinations that are points; at most `kMax`.
  static Result<ClusterSpace, Errors> of(accel::ClusterOp cluster, uint64_t max = kMax);
  ClusterSpace(ClusterSpace &&) noexcept;
  ~ClusterSpace();

  /// By the names of what they are of: "board.count", "ici.bandwidth".
  const std::vector<DesignParameter> &parameters() const;
  const ClusterPoints &points() const;
  void choose(const Design &choices) const;
  /// Values by name, as they are written.
  std::map<std::string, std::string> labels(const Design &choices) const;

  /// Whether a requirement names parts of the cluster (`d1.bandwidth`): others (`power <= 1 MW`) are of trainings on
  /// it.
  static bool limits(accel::RequireOp require);
  /// What clusters require of their parts, as it is written.
  const std::vector<std::string> &requirements() const;
  /// A box of the cluster's choices without values, at both ends of each parameter, with which no cluster of the box is
  /// as required, by intervals; nothing: none is.
  std::optional<DesignBox> within(DesignBox box) const;
  /// Of a fabric of one point: for each exchange the best network of the box, at the most bandwidth and the least
  /// latency, by topology and algorithm. Of one cluster it is that of the cluster.
  Fabric fabric(Fabric of, const DesignBox &box) const;

private:
  struct Data;
  explicit ClusterSpace(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

} // namespace accord
