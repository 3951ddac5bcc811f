// A step of training with zeros, as an answer shows it.
#pragma once
#include "lib/machine/model/SparseKernels.h"
#include "lib/support/Rational.h"
#include "lib/support/Result.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// A 2:4 product in one execution: at the rate of the core, and as kernels are expected to take it.
struct SparseProductTime {
  std::string operation;
  double executions = 1;                   ///< in a step
  double rows = 0, depth = 0, columns = 0; ///< of one product
  std::string type;                        ///< of its arithmetic: "bf16"
  double dense = 0, ideal = 0;             ///< seconds
  double expected = 0, min = 0, max = 0;   ///< seconds, and their interval
};

/// What finding masks of a layer's weights again takes of a step.
struct MaskSearchTime {
  bool transposable = false;
  double elements = 0;  ///< of one matrix of weights
  double bits = 16;     ///< of an element
  double matrices = 1;  ///< iterations of the repeats around it
  double period = 1;    ///< steps from one search to the next
  double bandwidth = 0; ///< bytes a second of the device's memory
  std::string type;
  double seconds = 0, min = 0, max = 0; ///< of a step
};

/// What one layer takes with some zeros: sums over all executions of its products in a step, and of its parameter's
/// update.
struct PruneOption {
  std::string label;            ///< "weights nm(2, 4) as nm(2, 4)", "dense"
  std::string sparsity;         ///< the same without formats: "weights nm(2, 4)"
  std::string format, encoding; ///< of weights; MLIR's `#sparse_tensor.encoding`, empty if dense
  /// At the rates of the core: mean, and what masks do not exceed with the confidence asked for.
  double seconds = 0, quantile = 0;
  /// With kernels as they were measured or published, and masks that are found again: what options are compared by.
  double expected = 0, expectedMin = 0, expectedMax = 0;
  double forward = 0, dataGradient = 0, weightGradient = 0, update = 0,
         exchange = 0; ///< parts of `seconds`
  double joules = 0, quantileJoules = 0;
  double bytes = 0;                  ///< weights with their gradients and optimizer states, at the confidence
  double metadata = 0;               ///< bytes a step that say where values belong
  std::string bound;                 ///< what limits the forward product
  bool prunes = false;               ///< it has zeros that are no given facts
  bool sampled = false;              ///< some of its cycles are estimated from groups of lanes drawn at random
  Rational loss = 0;                 ///< of the metric, as far as it counts here
  std::vector<SourceLocation> lines; ///< of files that show it
  std::vector<SparseProductTime> products;
  std::optional<MaskSearchTime> masks;
};

struct PruneLayer {
  std::string name, parameter;
  double executions = 0;            ///< of the forward product, in a step
  std::vector<PruneOption> options; ///< the first is dense
  size_t choice = 0;                ///< the option that it takes
  std::string uses;                 ///< what the core makes of zeros: "weights: skip, compressed, nm(2, 4)"
  const PruneOption &chosen() const { return options[choice]; }
};

struct PruneStep {
  std::vector<PruneLayer> layers; ///< in the order of the forward pass: those a rule means
  /// Of the step, with what zeros do not touch.
  struct Totals {
    double seconds = 0, joules = 0, bytes = 0;
  };
  Totals chosen, dense;
  double quantile = 0; ///< seconds at the rates of the core that masks do not exceed with the confidence
  double expected = 0, expectedMin = 0, expectedMax = 0; ///< seconds of the chosen step
  std::vector<SparseKernelTable> kernels;                ///< that `expected` is of; empty: published figures
  std::string kernelsSource;                             ///< file of `kernels`
  std::string recipe;                                    ///< of masks of weights: "static", "dynamic(every = 100)"
  std::string scope;       ///< "first layer dense; uniform density", empty: no weights have zeros
  double otherSeconds = 0; ///< of `seconds`, those of operations that zeros do not touch
};

} // namespace accord
