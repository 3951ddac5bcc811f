// What a layer with zeros takes on any step of its network, beside what it takes without: for whoever prices steps in
// other ways than one operation after the other.
#pragma once
#include "lib/sparsity/cost/SparseCost.h"
#include "lib/sparsity/problem/PruneStep.h"
#include <map>

namespace accord {

/// A 2:4 product of a layer as kernels are expected to take it; nothing where no kernel computes it with zeros.
std::optional<SparseProductTime> expectedProduct(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                                                 OperationId id, const SparseCost &part,
                                                 const std::vector<SparseKernelTable> &kernels);
/// What finding the masks of a layer's weights again takes of a step, in every `period` steps.
MaskSearchTime maskSearchOf(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                            const PrunedLayer &layer, const SparsityPattern &weights, double period,
                            const std::vector<SparseKernelTable> &kernels);

/// The parameter that the forward product of a layer multiplies by, which has the value: by what updates it, as values
/// inside of a repeat have no names of their own; one that several operations share is updated elsewhere, and has one.
std::string parameterOf(const WorkGraph &graph, const PrunedLayer &layer, ValueId value);

/// The machine at the rates of its data sheet. Shares of times are found there: what a fit says of a dense operation
/// says nothing of one with zeros.
Machine withoutFits(Machine machine);

struct SparseLayerUse {
  /// Shares of what an operation takes without zeros.
  struct OfOperation {
    OperationId id = kNone;
    double time = 1; ///< what masks do not exceed with the confidence, or what kernels are expected to take
    double energy = 1;
  };
  std::vector<OfOperation> operations; ///< products in all phases and the update
  double maskSeconds = 0;              ///< of a step, in all iterations of the repeats around it
  /// Shares of bytes: of weights where they are kept, at the confidence; of gradients and states of the optimizer.
  double weights = 1, states = 1;
};

/// Of one work graph and its costs on a machine (`estimate`). Keeps references to both.
class SparseLayerUses {
public:
  struct Options {
    double confidence = 0.95;
    double maskPeriod = 1;                  ///< steps
    std::vector<SparseKernelTable> kernels; ///< measured 2:4 products; none: published figures
    /// What of the interval of kernels and of mask searches is taken.
    enum class Kernels : uint8_t { Expected, Fastest, Slowest } speed = Kernels::Expected;
  };
  SparseLayerUses(const WorkGraph &graph, const Machine &machine, const Costs &costs, Options options);

  /// `layer`: name of its forward product. Nothing: the graph has no such product. `searchesMasks`: zeros of weights
  /// are chosen, no facts, so that masks that move have to be found. A1010 as in `sparseCost`.
  Result<std::optional<SparseLayerUse>> of(const std::string &layer, const LinearSparsity &zeros,
                                           bool searchesMasks) const;

private:
  const WorkGraph &graph_;
  const Machine &machine_;
  const Costs &costs_;
  const Options options_;
  std::map<std::string, PrunedLayer> layers_;
};

} // namespace accord
