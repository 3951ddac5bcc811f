// A step of training with zeros, as an answer shows it.
#pragma once
#include "lib/support/Rational.h"
#include "lib/support/Result.h"
#include <string>
#include <vector>

namespace accord {

/// What one layer takes with some zeros: sums over all executions of its products in a step, and of its parameter's
/// update.
struct PruneOption {
  std::string label;                ///< "weights nm(2, 4) as nm(2, 4)", "dense"
  std::string sparsity;             ///< the same without formats: "weights nm(2, 4)"
  std::string format, encoding;     ///< of weights; MLIR's `#sparse_tensor.encoding`, empty if dense
  double seconds = 0, quantile = 0; ///< mean; not exceeded with the confidence asked for
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
  double quantile = 0;     ///< seconds that the step does not exceed with the confidence
  double otherSeconds = 0; ///< of `seconds`, those of operations that zeros do not touch
};

} // namespace accord
