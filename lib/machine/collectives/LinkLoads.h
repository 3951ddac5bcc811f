// Explicit routing: which links messages take, and how long the most loaded one needs.
#pragma once
#include "lib/machine/collectives/Network.h"
#include <unordered_map>

namespace accord {

/// Bytes on each link of a fabric by messages that are sent at the same time.
/// - switch: a link into it and one out of it for each endpoint. bus: one link.
/// - fat tree: those of a switch, and for each leaf switch a link up and one down, of leaf *
/// bandwidth / oversubscription,
///   that messages between leaves take (up-down routing; Leiserson, Fat-trees, IEEE Trans.
///   Computers C-34(10), 1985).
/// - fully connected: the link between the two. ring, mesh, torus: dimension after dimension (Dally
/// and Towles, Principles
///   and Practices of Interconnection Networks, 2004, section 8.4), on a ring or torus the shorter
///   way; of two equally long ways endpoints at even coordinates take the one up.
class Links {
public:
  /// `peers[l]`: how many endpoints of a network of level l exchange data with each other, for
  /// measured bandwidths.
  Links(const Fabric &fabric, std::vector<int64_t> peers);

  /// Devices in range. A message to itself takes no link.
  void send(int64_t from, int64_t to, double bytes);

  struct BottleneckLink {
    Seconds time;      ///< bytes / bandwidth of the most loaded link
    int64_t flows = 0; ///< messages on it
    int level = -1;    ///< whose network it belongs to, -1: nothing was sent
  };
  BottleneckLink bottleneckLink() const;
  /// Seconds of the most loaded link of each level; 0: nothing was sent there.
  std::vector<double> bottleneckTimeByLevel() const;
  /// Links of the longest message of each level; 0: none.
  const std::vector<int64_t> &hopsByLevel() const { return longest; }
  /// Bytes over all links of a level, each link counted: what energy is paid for.
  const std::vector<double> &traffic() const { return moved; }
  /// Bytes that all devices together sent on a level.
  const std::vector<double> &sent() const { return injected; }

private:
  struct Load {
    double bytes = 0, capacity = 0;
    int64_t flows = 0;
    int level = 0;
  };
  void load(int level, int64_t instance, int64_t link, double capacity, double bytes);
  void route(int level, int64_t instance, int64_t from, int64_t to, double bytes, int64_t &hops);

  const Fabric &fabric;
  std::vector<int64_t> peers;
  std::unordered_map<uint64_t, Load> loads;
  std::vector<double> moved, injected;
  std::vector<int64_t> longest;
};

/// Extents of the grid that a ring, mesh or torus is; empty for others.
std::vector<int64_t> gridOf(const Network &network);

} // namespace accord
