// Puts a latency model together: arguments, times of operations, the plan's order, memory, FLOPs.
#pragma once
#include "lib/latency/build/LatencyModelFit.h"
#include "lib/latency/model/RegionOrder.h"
#include <algorithm>

namespace accord {

/// What the operations of a step cost.
struct PricedStep {
  std::vector<NodeId> durations; ///< whole picoseconds by operation; 0 of a repeat
  std::vector<Polynomial> flops; ///< by operation
  std::string fixed;             ///< as PricedOperation::fixed, of the first that has one
  size_t tabulated = 0, all = 0; ///< operations with a time from a table, and with any
};

/// Where it is one micro-batch, and where it is several: gradients are then read to be added up.
struct PricedSteps {
  PricedStep single, accumulated;
  const std::string &fixed() const { return single.fixed.empty() ? accumulated.fixed : single.fixed; }
};

/// What a step is made of, all integers.
struct StepNodes {
  NodeId micro = kNoNode, update = kNoNode; ///< picoseconds of a micro-batch, of the update
  NodeId slowest = kNoNode;                 ///< picoseconds of the longest operation
  NodeId bytes = kNoNode;                   ///< in device memory at the fullest moment
  NodeId microFlops = kNoNode, updateFlops = kNoNode;
};

class LatencyBuilder {
public:
  LatencyBuilder(const Plan &plan, const std::vector<LatencySample> &samples, PolynomialFit points,
                 const LatencyFitOptions &options, const std::vector<LatencySample> &accumulated = {});
  /// What does not depend on the range of the micro-batch: order of the schedule, memory.
  std::optional<Error> prepare();
  std::optional<Error> prepareOrder();
  std::optional<Error> prepareMemory();
  /// With micro-batches up to `maxMicrobatch`.
  Result<LatencyModel> build(int64_t maxMicrobatch);

  // The parts of `build`, for models of several steps.
  /// Batch, micro-batch, sequence.
  std::vector<LatencyArgument> sizes(int64_t maxMicrobatch) const;
  /// "112 of 310 operations …", where a table gives times; else nothing.
  std::vector<std::string> tableNotes(const PricedSteps &priced) const;
  Result<PricedSteps> price(LatencyModel &model, const MachineNodes &machine) const;
  Result<StepNodes> step(LatencyModel &model, const MachineNodes &machine, const PricedSteps &priced,
                         NodeId microbatches) const;
  /// Operations are shorter, in picoseconds, so that sums fit.
  int64_t maxDuration() const { return longest; }
  void limitDuration(int64_t max) { longest = std::min(longest, max); }
  /// Added to labels: ", tensor_parallel 4".
  void setSuffix(std::string text) { suffix = std::move(text); }
  bool exact() const { return exactOrder; }
  const std::vector<RegionOrder> &order() const { return orders; }

private:
  Result<PricedStep> price(LatencyModel &model, const MachineNodes &machine,
                           const std::vector<LatencySample> &from) const;
  /// Bytes in device memory at one moment of the plan's schedule.
  struct LiveSet {
    std::string where; ///< "3.2 ms into the step: block.repeat"
    Polynomial bytes;
  };
  bool free(size_t argument) const; ///< whether samples differ in it
  std::string placeOf(Picoseconds time) const;
  /// Picoseconds of one iteration of a region.
  /// Of one iteration, to the start of the next; `lastStage`: to the end of the last stage (`RegionOrder`) in a period.
  NodeId lengthOf(RegionId region, LatencyModel &model, const std::vector<NodeId> &durations,
                  NodeId *lastStage = nullptr) const;
  bool inUpdate(OperationId id) const;

  const Plan &plan;
  const std::vector<LatencySample> &samples;
  std::vector<LatencySample> accumulated; ///< of several micro-batches; empty: `samples` are of both
  PolynomialFit points;
  const LatencyFitOptions &options;
  std::vector<RegionOrder> orders; ///< by region
  std::vector<LiveSet> liveSets;   ///< without those that another dominates
  std::vector<int64_t> executions; ///< per micro-batch, or per step in the update
  int64_t longest = 0;             ///< picoseconds of one operation, so that sums fit
  bool exactOrder = true;
  std::string suffix;
};

/// Guards and outputs of a model whose step is `micro-batches` times the micro-batch, then the update; labels in order.
/// A0707: a count that is no whole number. `maxDuration` as LatencyBuilder says.
std::optional<Error> finishModel(LatencyModel &model, const StepNodes &nodes, NodeId microbatches, int64_t maxDuration);
/// Builds with as large micro-batches as integers allow, in powers of two, down to `microbatch`.
Result<LatencyModel> buildWithinInt64(int64_t microbatch,
                                      const std::function<Result<LatencyModel>(int64_t max)> &build);
std::vector<PolynomialFit::Point> pointsOf(const std::vector<LatencySample> &samples);
/// Why samples are not of this plan's structure, or are too few.
std::optional<Error> checkSamples(const Plan &plan, const std::vector<LatencySample> &samples);

} // namespace accord
