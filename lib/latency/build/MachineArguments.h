// The arguments of a latency model that describe the machine (clock, memories, cores, networks), and what exchanges
// among the devices of a cluster cost, as expressions.
#pragma once
#include "lib/latency/build/OperationFit.h"
#include "lib/latency/model/LatencyModel.h"
#include "lib/machine/collectives/Collective.h"
#include "lib/machine/collectives/Network.h"
#include <set>

namespace accord {

class MachineArguments {
public:
  /// Appends to `all`, which holds the sizes; the clock first.
  explicit MachineArguments(std::vector<LatencyArgument> &all);
  /// The memories of the machine, which all plans share.
  void memories(const Machine &machine);
  /// Rates of each core in each arithmetic that the plan's operations use; again for other plans.
  void rates(const Plan &plan);
  /// Bandwidth and latency of each level.
  void networks(const Fabric &fabric);

  /// The nodes of what was added; of the micro-batch and the sequence too.
  MachineNodes nodes(Expressions &e) const;
  /// By level, reals: seconds, and the bandwidth as described over the argument.
  struct NetworkNodes {
    std::vector<NodeId> latencies, ratios;
  };
  NetworkNodes networkNodes(Expressions &e) const;

private:
  size_t add(const std::string &name, const char *unit, const std::string &text, double initial);

  std::vector<LatencyArgument> &all;
  std::set<std::string> taken;
  std::map<std::pair<int, std::string>, size_t> rateArguments;
  std::vector<size_t> bandwidthArguments;                  ///< by memory; 0: none
  std::vector<std::pair<size_t, size_t>> networkArguments; ///< bandwidth and latency by level
};

/// What the machine's arguments are held at, where nobody said how times follow them.
void fixMachineArguments(LatencyModel &model, const std::string &reason);

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
