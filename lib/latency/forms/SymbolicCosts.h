// How cost models say a time as an expression, so that a latency model can ask at other sizes and machines.
#pragma once
#include "lib/latency/model/Expression.h"
#include "lib/machine/model/Machine.h"
#include <functional>

namespace accord {

/// One operation, or a part of a fused one, at any size.
struct SymbolicOperation {
  const Operation *operation = nullptr;             ///< at the plan's sizes; of a part the fused one
  std::string kind;                                 ///< "linear", "softmax"; of a part its own
  const std::vector<LoopTensor> *tensors = nullptr; ///< by the loops of its domain; may be empty
  const Machine *machine = nullptr;
  int core = -1;                   ///< index into Machine::cores
  NodeId flops = kNoNode;          ///< an integer
  std::vector<NodeId> extents;     ///< integers, of the loops of its domain; empty if they are unknown
  std::vector<IteratorKind> kinds; ///< of the same loops
  NodeId rate = kNoNode;           ///< real, FLOP/s at the peak of all instances; kNoNode if the core has none
  NodeId clock = kNoNode;          ///< real, times the machine's clock; 1 in the plan
};

/// Seconds (reals) of the arithmetic alone: candidates, the likeliest first. Each is compared with what the cost model
/// said at every sample; the first that agrees everywhere is taken.
using SymbolicCost = std::function<std::vector<NodeId>(const SymbolicOperation &, Expressions &)>;

/// Seconds of a whole operation, given the node of its roofline (the largest of its arithmetic and its transfers):
/// candidates again. For models that override `CostModel::cost`.
using SymbolicTotal = std::function<std::vector<NodeId>(NodeId roofline, Expressions &)>;

/// What a cost model of this name gives, tried before the built-in forms. False if there is one already. Plugins call
/// it when they are loaded.
bool registerSymbolicCost(const std::string &costModel, SymbolicCost arithmetic, SymbolicTotal total = {});

/// Stage 0: the registered ones of `costModel`; then those of the built-in models, stage 1:
/// - flops / (rate * efficiency * clock): a data sheet;
/// - the same times the used share of tiles of an array (M, N or K on rows and columns) or of lanes;
/// - rate * efficiency * x / (x + half) with x = flops: an efficiency curve (Core::halfPerformanceWork); stage 2:
/// - cycles of an array's folds and of lanes.
std::vector<NodeId> symbolicCosts(const std::string &costModel, const SymbolicOperation &operation, Expressions &nodes,
                                  unsigned stage);
constexpr unsigned kSymbolicCostStages = 3;
/// The registered ones, then: the roofline itself; with `kernel` (Machine::host) added; no less than `kernel`.
std::vector<NodeId> symbolicTotals(const std::string &costModel, NodeId roofline, double kernel, Expressions &nodes);

} // namespace accord
