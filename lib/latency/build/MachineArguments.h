// The arguments of a latency model that describe the machine: clock, memories, cores, networks.
#pragma once
#include "lib/latency/build/OperationFit.h"
#include "lib/latency/model/LatencyModel.h"
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

} // namespace accord
