// Time, traffic, memory and energy of one operation whose operands have zeros, and of a layer: its products in all
// phases and its update, together.
#pragma once
#include "lib/machine/cost/CostModel.h"
#include "lib/sparsity/cost/TrainingSparsity.h"

namespace accord {

struct SparseCost {
  OperationCost mean;                    ///< as a dense operation's; its bytes are what passes with the formats
  Seconds quantile;                      ///< not exceeded with the confidence asked for
  Joules quantileEnergy;                 ///< of the traffic that is not exceeded, and of the mean arithmetic
  double cycles = 1, quantileCycles = 1; ///< shares of the dense arithmetic's time, without set-up
  double active = 1, gated = 0;          ///< shares of multiply-accumulates; the rest is skipped
  Bytes metadata;                        ///< of `mean.bytes[0]`
  Bytes stationary, streaming;           ///< what the operands take where they are kept, at the confidence
  bool sampled = false;                  ///< cycles are estimated from draws
  bool used = false;                     ///< the core makes something of the zeros, be it time, traffic or energy
};

/// One execution on the core that `dense` (of `estimate`) is of, whatever is better:
/// - arithmetic: dense.compute * (cycles with zeros / cycles without, `productCycles` both times) + setupCycles /
///   clock;
/// - traffic at each memory: dense.bytes less what the formats save of each operand's share of it (its tiles' where the
///   operation was mapped), plus positions. An operand that the core does not compress moves whole, with one bit an
///   element where it is skipped by mask; what a core takes as N:M alone is dense to it in any other pattern or format.
///   A dynamic mask adds what `maskChange` says at memory 0 (of weights, over `maskPeriod`): weights in the forward
///   product, activations there, gradients in the data gradient, where they are seen first;
/// - both put together by `roofline`, as dense costs are;
/// - energy: flops * energy of a FLOP * (active + gated * gatedEnergy) + traffic.
/// With nothing zero, formats Dense and no set-up, `mean` is `dense` to the bit. An operation of phase Update whose
/// parameter has a static mask, and is not stored dense, takes `updateShare` of arithmetic and traffic. A core without
/// `sparse`, an operation that is no product (`productOf`), or a cost that `roofline` does not give (a plug-in's) keeps
/// the dense cost. A1010 as in `productCycles` and `storedBits`, or set-up cycles without a clock.
Result<SparseCost> sparseCost(const WorkGraph &, const Operation &, const Machine &, const OperationCost &dense,
                              const LinearSparsity &, double confidence);

/// The multipliers of a core for `productCycles`: all instances that the operation runs on. A core that skips any zeros
/// of both operands, with tiles, an array and no lanes in lock-step, computes outer products, `rows` of the stationary
/// operand by `cols` of the streaming one; an array's `rows` kept words enter in a cycle at N:M.
ProductArray productArray(const Machine &, const OperationCost &dense);

/// A parameter's operations: "x" of the forward pass and those named after it ("x.data_gradient", "x.weight.update",
/// …).
struct PrunedLayer {
  std::string name; ///< of the forward operation
  OperationId forward = kNone;
  std::vector<OperationId> operations; ///< in the order of their ids; without repeats and views
  OperandShape weights;                ///< as the forward product sees them
  int64_t weightBits = 16;
};
/// Whether an update is of the layer's weights, and not of its bias: it goes over at least as many elements.
bool updatesWeights(const Operation &, const PrunedLayer &);
/// In the order of the forward pass; products of two activations are none.
std::vector<PrunedLayer> prunedLayers(const WorkGraph &);

struct LayerCost {
  /// Of one step: executions times each operation's, run one after the other.
  Seconds time, quantile;
  Joules energy, quantileEnergy;
  Bytes moved;          ///< through memory 0
  Bytes metadata;       ///< of `moved`
  Bytes weights;        ///< where they are kept, all iterations of a repeat, at the confidence; a dynamic
                        ///< mask also keeps the dense ones
  bool sampled = false; ///< cycles of some part are estimated
  bool used = false;    ///< some core makes something of the zeros
  std::vector<std::pair<OperationId, SparseCost>> parts; ///< of one execution each
};

/// With these zeros. A1010 as in `sparseCost`. `LinearSparsity{}` is the dense cost.
Result<LayerCost> layerCost(const WorkGraph &, const Machine &, const Costs &, const PrunedLayer &,
                            const LinearSparsity &, double confidence);

} // namespace accord
