// What zeros of a layer change in a whole training step: its products in all phases and its update, together.
#pragma once
#include "lib/sparsity/cost/SparseCost.h"

namespace accord {

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
