// What an exchange of data among devices costs, by the fastest algorithm that is allowed.
#pragma once
#include "lib/machine/collectives/CollectiveRounds.h"
#include "lib/machine/collectives/CollectiveTerms.h"
#include <memory>

namespace accord {
struct LevelRow;

/// Devices by rank, each group in ascending order; all groups exchange data of their own at the
/// same time.
using Groups = std::vector<std::vector<int64_t>>;

/// time = alpha + beta: latencies of the messages that wait for each other, and the sum over rounds
/// of what the most loaded link needs. In the usual case, n peers at B bytes/s, latency a, payload
/// S (Thakur et al. 2005, table 2, and the sources in Rounds.h):
///   ring              (n-1) a + (n-1)/n S/B, an all-reduce twice that
///   halving_doubling  log2(n) a + (n-1)/n S/B, an all-reduce twice that; 2 a + 2 S/B more where n
///   is no power of two double_tree       2 (d+m-1) (a + S/(m B)), d the trees' depth and m the
///   pieces, as many as are best; a broadcast half of it direct            (n-1) a + (n-1)/n S/B,
///   an all-reduce twice that; 1 instead of n-1 latencies with a link for every pair tree ceil(log2
///   n) (a + S/B) dimensions        sum(d_i - 1) a + (n-1)/n S/B, an all-reduce twice that;
///   all-to-all sum(d_i - 1) a + sum((d_i-1)/d_i) S/B in_switch         a + S/B hierarchical
///   reduce-scatter inside, all-reduce of S/g across, all-gather inside (Thakur et al. 2005,
///   section 6;
///                     Cho et al., BlueConnect, MLSys 2019), each by the fastest algorithm;
///                     all-to-all inside, then across
/// On a fabric that is used by level (`Fabric::byLevel`), groups that are rows along their levels do the same level by
/// level: of levels 1 to k with g_i peers, reduce-scatters of S, S/g_1, …, an all-reduce on level k, and all-gathers
/// back. All rows of a network exchange data at the same time, whether there is a group in each or not, and what the
/// devices of one endpoint send shares its links on its plane.
/// Rounds wait for each other, and a message is not forwarded before it is there whole.
struct CollectiveCost {
  Algorithm algorithm = Algorithm::Ring;
  Seconds time, alpha, beta;
  std::string formula;     ///< in symbols, then the numbers
  std::string bound;       ///< "network ib" or, if messages take longer to travel than to send, "latency
                           ///< ib"; "nothing to exchange"
  std::string network;     ///< the one that binds; empty if there is nothing to exchange
  std::vector<Bytes> sent; ///< by one device, per level of the fabric; the mean over devices
  Joules energy;           ///< of all links, one device's share
  int64_t flows = 0;       ///< messages on the link that binds
  /// Of a hierarchical one, the algorithms inside and across in order: "ring in nvlink, ring in ib,
  /// ring in nvlink".
  std::string parts;
};

/// All ways to carry out one collective among given groups. Routes are computed once, for any
/// payload.
class CollectiveModel {
public:
  /// Codes: A0454 for numbers of the networks, A0455 for devices that the fabric has not, groups of
  /// different sizes, a device twice in a group, or an all-to-all among more than `kMaxAllToAll`.
  /// `only`: this algorithm, where it can do the collective, beats what the networks state.
  static Result<CollectiveModel> make(const Fabric &fabric, Collective collective, const Groups &groups,
                                      std::optional<Algorithm> only = {});
  /// Of the fastest way, ties to the first in the order of `Algorithm`. `payload` is the whole
  /// tensor: what is reduced, or what all parts together are, or all that one device has for
  /// others. Nothing to exchange (one device, or no bytes) costs nothing. A payload that is
  /// negative or no number counts as zero.
  CollectiveCost cost(Bytes payload) const;
  double seconds(double payload) const; ///< of `cost`, but for rounding, in a hundredth of the time
  /// Of each way, in the order of `Algorithm`.
  std::vector<CollectiveCost> all(Bytes payload) const;
  /// `cost(payload).time` is the least of them for every payload above zero; empty where nothing is
  /// exchanged. Hierarchical ways are made of the parts' own; what never is the fastest is left
  /// out.
  std::vector<CollectiveTerms> terms() const;
  /// What comes one after the other, each by the fastest of its own ways, of `scale` of the payload; empty where the
  /// model has other ways.
  struct PartTerms {
    double scale = 1;
    std::vector<CollectiveTerms> ways;
  };
  std::vector<PartTerms> termsByPart() const;

private:
  static Result<CollectiveModel> makeByLevel(const Fabric &fabric, Collective collective,
                                             const std::vector<LevelRow> &rows);
  static std::optional<Result<CollectiveModel>> levelByLevel(const Fabric &fabric, Collective collective,
                                                             const Groups &groups, std::optional<Algorithm> only);
  static Result<const CollectiveModel *> ofUnit(const Network &level, Collective collective, const LevelRow &row);
  static Result<CollectiveModel> ofLevel(const Fabric &fabric, Collective collective, const LevelRow &row);
  struct Alternative;
  std::vector<std::shared_ptr<const Alternative>> alternatives;
  std::vector<std::string> networks; ///< names of the levels
  size_t peers = 1;
};

/// One axis of devices, as tensor parallelism: `devices` equal shares.
struct Axis {
  std::string name;
  int64_t devices = 1;
};
/// The groups of an axis, innermost axis first: device r stands at r % devices of the first axis,
/// and so on. Those that differ only along `axis` are a group. Empty when there is no such axis, or
/// the product passes kMaxDevices.
Groups groupsAlong(const std::vector<Axis> &axes, const std::string &axis);

} // namespace accord
