// One network and the levels of a cluster as plain data, in base units.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/support/Result.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// `Switch`: every endpoint on one non-blocking switch. `FatTree`: leaf switches below non-blocking
/// ones, with less bandwidth between them than into them where it is oversubscribed. `Bus`: one
/// link that one message has at a time.
enum class Topology : uint8_t { Switch, FullyConnected, Ring, Mesh, Torus, FatTree, Bus };
const char *name(Topology); ///< "switch", "fully_connected", …: the words of `.accel`
std::optional<Topology> topologyOf(const std::string &word);

/// How a collective is carried out; the formulas are in Collective.h.
enum class Algorithm : uint8_t { Ring, DoubleTree, HalvingDoubling, Direct, Tree, Dimensions, InSwitch, Hierarchical };
constexpr unsigned kAlgorithms = 8;
const char *name(Algorithm); ///< "ring", "double_tree", "halving_doubling", …
std::optional<Algorithm> algorithmOf(const std::string &word);

struct Network {
  std::string name;
  Topology topology = Topology::Switch;
  int64_t endpoints = 1;
  std::vector<int64_t> shape; ///< endpoints along each dimension of a mesh or torus; their product is `endpoints`
  /// Of one endpoint in one direction, over all its links together: each of the links of a ring,
  /// mesh or torus has its share (half, a quarter, a sixth; a dimension of two endpoints has one
  /// link), and so has each of the `endpoints` - 1 links of a fully connected network. Of a bus: of
  /// the bus.
  BytesPerSecond bandwidth;
  Seconds latency;             ///< of one message over one link (over a switch: from endpoint to endpoint)
  double efficiency = 1;       ///< share of `bandwidth` that long messages reach
  double oversubscription = 1; ///< of a fat tree: bandwidth into a leaf switch over bandwidth out of it
  int64_t leaf = 1;            ///< of a fat tree: endpoints of one leaf switch
  bool inSwitchReduction = false;
  JoulesPerByte energy; ///< of a byte over one link
  /// Measured bandwidth of an endpoint by the number of peers that exchange data; linear between
  /// two numbers, constant beyond the ends. Replaces `bandwidth`, `efficiency` and the routing over
  /// links.
  std::vector<std::pair<int64_t, BytesPerSecond>> bandwidthByPeers;
  std::optional<Algorithm> algorithm; ///< the only one, for the collectives that it can do
  /// So many equal networks side by side, each with these numbers: the devices of an endpoint are spread over them
  /// evenly, in rows of neighbours, and exchange data with devices at the same place of other endpoints alone.
  int64_t planes = 1;
  /// Of a box of networks: topologies and algorithms of which each exchange takes the fastest, instead of `topology`
  /// and `algorithm`. Only where the fabric is used by level.
  struct Variant {
    Topology topology = Topology::Switch;
    std::optional<Algorithm> algorithm;
    friend bool operator==(const Variant &, const Variant &) = default;
  };
  std::vector<Variant> variants;
  SourceLocation location;
  std::map<std::string, Origin> origins;
};

/// Levels from the innermost (the devices of a server) to the outermost. The endpoints of a level
/// are the whole networks of the level below. Device r has coordinate r % endpoints in the
/// innermost level, then (r / endpoints) % endpoints of the next, and so on. A message takes the
/// outermost level in which its two ends differ, and no other.
///
/// `byLevel`: collectives of groups that are rows along each level go level after level, as in `Hierarchical` of any
/// number of levels, each by the algorithm of that level (Cho et al., BlueConnect, MLSys 2019; Won et al., ASTRA-sim
/// 2.0, ISPASS 2023, section IV). Else any algorithm may run over all levels at once.
struct Fabric {
  std::vector<Network> levels;
  bool byLevel = false;
  int64_t devices() const; ///< product of the levels' endpoints; 1 without levels
};

/// At most so many devices, so that every count fits and links can be listed.
constexpr int64_t kMaxDevices = int64_t(1) << 22;

/// Bandwidth of an endpoint when `peers` of them exchange data: by the table, else bandwidth *
/// efficiency.
BytesPerSecond endpointBandwidth(const Network &network, int64_t peers);

/// Names, positive finite numbers, a shape that multiplies to the endpoints, at most
/// `kMaxDevices`. Code A0454.
Errors check(const Fabric &fabric);

} // namespace accord
