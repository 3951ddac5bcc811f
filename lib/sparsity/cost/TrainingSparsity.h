// Which products of a training step zeros help, and what of the rest of the step follows a mask.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/sparsity/cost/Cycles.h"
#include <optional>

namespace accord {

struct OperandSparsity {
  SparsityPattern pattern;
  SparseFormat format;
};

/// Zeros around one linear operation Y = X W. Patterns are of matrices as the forward product (weights: outputs by
/// reduction; activations: rows of the result by reduction) and, of the gradient of Y, the data gradient see them.
struct LinearSparsity {
  OperandSparsity weights, activations, gradients;
  double maskPeriod = 1; ///< steps from one mask of weights that is dynamic to the next

  const OperandSparsity &of(GemmOperand operand) const {
    return operand == GemmOperand::Weights ? weights : operand == GemmOperand::Activations ? activations : gradients;
  }
};

/// The three products and their operands: Y = X W (W stays, X streams), dX = dY W' (W stays, dY streams), dW = X' dY (X
/// stays, dY streams).
struct PhaseOperands {
  GemmOperand stationary, streaming;
};
PhaseOperands operandsIn(Phase); ///< of Forward, Recompute, DataGradient, WeightGradient

/// The same zeros of the transposed matrix: N:M along the reduction is then along the outputs (both, if transposable),
/// a histogram's windows are across (its density is left, anywhere), blocks and masks turn.
SparsityPattern transposed(const SparsityPattern &);
/// Whether a phase's product sees an operand transposed: weights in the data gradient, both operands in the weight
/// gradient.
bool isTransposedIn(Phase, GemmOperand);
/// An operand's zeros as the product of a phase sees them.
SparsityPattern patternIn(Phase, GemmOperand, const LinearSparsity &);

/// Share of a parameter's optimizer states, updates and gradient exchange that is left: its density if the mask is
/// static (all devices know it, so no positions are sent), 1 if it is dynamic.
Result<double> updateShare(const SparsityPattern &weights, OperandShape);

/// What a mask that changes in each step moves besides: weights are read whole to find it, and stored anew; of what an
/// operation has just computed only positions are written. Nothing of a static mask or a dense format.
struct MaskChange {
  double readBits = 0, writtenBits = 0;
};
Result<MaskChange> maskChange(GemmOperand, const OperandSparsity &, OperandShape, int64_t elementBits,
                              double confidence);

/// The operands of an operation of the graph: tensors of W, X or dY, and the extents of one of its `batch` products.
struct OperationProduct {
  size_t stationary = 0, streaming = 0; ///< indices into Operation::tensors
  int64_t rows = 1, columns = 1, depth = 1, batch = 1;
  int64_t stationaryBits = 16, streamingBits = 16; ///< of an element
};
/// Nothing where an operation is no product of two tensors of which one is a parameter, or in the weight gradient is to
/// become one: products of two activations (attention) are dense.
std::optional<OperationProduct> productOf(const WorkGraph &, const Operation &);

/// The operations that one may be named after: itself, then without the last part of its name, and so on
/// ("x.weight.update", "x.weight", "x").
std::vector<std::string> namedAfter(const std::string &name);

/// Weights of a layer, among which a density of the network is divided.
struct ErdosRenyiLayer {
  double sum = 0;      ///< of the dimensions of one matrix or kernel: height, width, channels, filters
  double elements = 0; ///< of one
  double copies = 1;   ///< iterations of the repeats around it
};
/// Of the tensor `stationary` of a product.
ErdosRenyiLayer erdosRenyiLayer(const WorkGraph &graph, OperationId operation, size_t stationary);

/// Erdos-Renyi-Kernel: each density is a factor times sum / elements, at most 1, so that the share `density` of all
/// elements is kept; layers at 1 stay there and the factor of the others is found again (Evci et al.: Rigging the
/// Lottery, ICML 2020, section 3).
std::vector<double> erdosRenyiDensities(const std::vector<ErdosRenyiLayer> &layers, double density);

} // namespace accord
