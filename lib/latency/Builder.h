// Puts a latency model together: arguments, times of operations, the plan's order, memory, FLOPs.
#pragma once
#include "lib/latency/Fit.h"
#include "lib/latency/Order.h"

namespace accord {

class LatencyBuilder {
public:
  LatencyBuilder(const Plan &plan, const std::vector<LatencySample> &samples, PolynomialFit points,
                 const LatencyFitOptions &options);
  /// What does not depend on the range of the micro-batch: order of the schedule, memory.
  std::optional<Issue> prepare();
  /// With micro-batches up to `mostMicrobatch`.
  std::variant<LatencyModel, Issue> build(int64_t mostMicrobatch);
  /// Whether all integers of the model stay within 64 bits in its domain.
  bool fits(const LatencyModel &model) const;

private:
  /// Bytes in device memory at one moment of the plan's schedule.
  struct LiveSet {
    std::string where; ///< "3.2 ms into the step: block.repeat"
    Polynomial bytes;
  };
  bool free(size_t argument) const; ///< whether samples differ in it
  std::vector<LatencyArgument> arguments(int64_t mostMicrobatch);
  std::optional<Issue> fitMemory();
  std::string placeOf(Picoseconds time) const;
  /// Picoseconds of one iteration of a region.
  NodeId lengthOf(RegionId region, LatencyModel &model, const std::vector<NodeId> &durations);
  std::optional<Issue> operations(LatencyModel &model, MachineNodes &machine,
                                  std::vector<NodeId> &durations);
  void step(LatencyModel &model, NodeId microbatches, const std::vector<NodeId> &durations);
  std::optional<Issue> memoryAndFlops(LatencyModel &model, const MachineNodes &machine,
                                      NodeId microbatches);
  std::optional<Issue> fractional(const LatencyModel &model) const;
  bool inUpdate(OperationId id) const;

  const Plan &plan;
  const std::vector<LatencySample> &samples;
  PolynomialFit points;
  const LatencyFitOptions &options;
  std::vector<RegionOrder> orders; ///< by region
  std::vector<LiveSet> liveSets;   ///< without those that another dominates
  std::vector<int64_t> executions; ///< per micro-batch, or per step in the update
  int64_t longest = 0;             ///< picoseconds of one operation, so that sums fit
  bool exactOrder = true;
  std::vector<Polynomial> flops; ///< by operation
  std::map<std::pair<int, std::string>, size_t> rateArguments;
  std::vector<size_t> bandwidthArguments; ///< by memory; 0: none
};

} // namespace accord
