// What exchanges among the devices of a cluster cost, as expressions.
#pragma once
#include "lib/latency/build/MachineArguments.h"
#include "lib/machine/collectives/Collective.h"

namespace accord {

/// Terms of the collectives of a fabric, computed once for each way that devices stand.
class CollectiveTermsCache {
public:
  explicit CollectiveTermsCache(const Fabric &fabric) : fabric(fabric) {}
  /// Null where the collective is unknown or cannot be routed.
  const std::vector<CollectiveTerms> *of(const std::string &collective, const std::string &axis,
                                         const std::vector<Axis> &axes);

private:
  const Fabric &fabric;
  std::map<std::string, std::optional<std::vector<CollectiveTerms>>> known;
};

/// Seconds of exchanges at one tensor degree and any of several data degrees.
class CollectiveNodes {
public:
  /// Devices of a data degree: the axes, innermost first.
  struct Member {
    int64_t data = 1;
    std::vector<Axis> axes;
  };
  /// `data`: the integer that says which member, these by ascending degree.
  CollectiveNodes(Expressions &nodes, CollectiveTermsCache &terms, MachineArguments::NetworkNodes networks, NodeId data,
                  std::vector<Member> members);
  /// The least over the collective's ways (Collective.h) of alpha + beta * payload; `payload` is a real, in bytes,
  /// above zero. kNoNode where there is no way.
  NodeId seconds(const Communication &communication, NodeId payload);

private:
  NodeId sum(const LevelSum &levels, const std::vector<NodeId> &by);
  NodeId chosenSum(const std::vector<const LevelSum *> &members, const std::vector<NodeId> &by);
  NodeId alternative(const CollectiveTerms &terms, NodeId payload);

  Expressions &nodes;
  CollectiveTermsCache &terms;
  MachineArguments::NetworkNodes networks;
  NodeId data;
  std::vector<Member> members;
};

} // namespace accord
