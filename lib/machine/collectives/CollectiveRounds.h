// Which messages an algorithm sends, round by round.
#pragma once
#include "lib/machine/collectives/Network.h"

namespace accord {

/// `AllToAll`: every peer has a part for each. `Send`: from the first peer to the last one.
/// `Broadcast`: from the first.
enum class Collective : uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Send };
constexpr unsigned kCollectives = 6;
const char *name(Collective); ///< "all_reduce", …: the words of `Exchange::kind`
std::optional<Collective> collectiveOf(const std::string &word);

/// Messages that are sent at the same time, between peers 0 .. n-1 of a group; the next round waits
/// for all of them.
struct Round {
  struct Message {
    int64_t from = 0, to = 0;
    double share = 0; ///< of the payload
  };
  std::vector<Message> messages;
  int64_t times = 1;     ///< so many rounds like this one after the other
  int64_t latencies = 1; ///< messages that one peer sends one after the other in it
};

/// How the peers of a group stand in one network, for algorithms that make use of it.
struct GroupTopology {
  bool isBidirectional = false; ///< rings send one half of the data each way round
  bool hasLinkPerPair = false;  ///< a link for every two peers
  /// Extents of the grid that the peers fill, peer by peer along the first dimension first; empty:
  /// none.
  std::vector<int64_t> grid;
  bool canReduceInSwitch = false; ///< on one network that adds up what passes through it
};

/// Peers that all pairs of messages are listed for: of an all-to-all, and of others, which have
/// better ways.
constexpr int64_t kMaxAllToAll = 4096, kMaxDirect = 512;

/// Rounds of the algorithm for n >= 2 peers; empty where it cannot do this collective for so many.
/// A double tree's rounds are those of one piece: see `pieces` in Collective.h.
/// - ring: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
/// workstations, JPDC 69(2), 2009,
///   section 4; all-gather and reduce-scatter are one half of it.
/// - halving_doubling: Thakur, Rabenseifner and Gropp, Optimization of collective communication
/// operations in MPICH,
///   IJHPCA 19(1), 2005, sections 4.1 and 4.5. An all-reduce of n between two powers of two first
///   adds the data of n - 2^k peers to that of others, who tell them the sum at the end. Neighbours
///   exchange the larger parts.
/// - double_tree: Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan, Parallel
///   Computing 35(12), 2009. Two trees with half of the data each; who forwards in one is (nearly
///   always) a leaf of the other.
/// - direct: every peer sends to every other one its part (Thakur et al. 2005, section 4.6, in one
/// go).
/// - tree: binomial (Chan, Heimlich, Purkayastha, van de Geijn, Collective communication: theory,
/// practice, and
///   experience, Concurrency and Computation 19(13), 2007, section 4.1).
/// - dimensions: a ring in every row of the grid, dimension after dimension; where all extents are
/// equal, as many copies
///   of it as there are dimensions, each with its share of the data and starting in another one
///   (Chan et al. 2007, section 7).
/// - in_switch: everybody sends everything, the switch adds and sends back (Graham et al., SHArP,
/// COMHPC 2016).
std::vector<Round> roundsOf(Algorithm algorithm, Collective collective, int64_t n, const GroupTopology &groupTopology);

/// Parents in the two trees of `double_tree`, by peer; -1 of a root.
std::pair<std::vector<int64_t>, std::vector<int64_t>> doubleTree(int64_t n);
/// Edges from the root of a tree to its farthest leaf.
int64_t depthOf(const std::vector<int64_t> &parents);

} // namespace accord
