// Runs a training step on small tensors in double precision, whatever formats the graph states.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/training/interpret/Array.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace accord::interpret {

/// One array per copy of a parameter (its iterations in repeats, the outermost slowest).
using Copies = std::vector<Array>;

struct StepInputs {
  int64_t batch = 1; ///< samples of the micro-batch: what `?` stands for
  std::map<std::string, Copies> parameters;
  std::vector<Array> inputs; ///< in the order of the micro-batch's arguments
};
struct StepResult {
  double loss = 0;
  std::map<std::string, Copies> gradients;
};

/// Runs the micro-batch of `graph`: its forward part up to the loss, and with `backward` the rest. The optimizer's
/// updates are not run: their rate is no part of the graph. A sharded graph runs on as many virtual devices as it is
/// for; inputs, parameters and gradients are the whole ones (`batch` is that of all devices), the loss is the mean of
/// the devices' losses. Errors: an operation without a kernel, an input of the wrong shape, a parameter without a
/// value, a batch that the devices cannot share, devices that disagree about a gradient that they all hold.
llvm::Expected<StepResult> interpret(dnn::TrainingGraphOp graph, const StepInputs &inputs, bool backward = true);

/// The shape of a tensor type with `batch` samples.
Shape shapeOf(mlir::Type type, int64_t batch);

/// Values for everything that the graph reads, the same for the same seed: floats in (-1, 1), ids within what they
/// index, row offsets that ascend. A parameter with the attribute `dnn.value` (a dense float array) has that value.
llvm::Expected<StepInputs> randomInputs(dnn::TrainingGraphOp graph, int64_t batch, uint64_t seed);

struct DerivativeCheck {
  int64_t checked = 0;
  double largestError = 0; ///< relative, see `checkDerivatives`
  std::string where;       ///< parameter and element of the largest error
};
/// Holds the gradients against central finite differences of the loss: for up to `most` elements of each copy of each
/// parameter, |difference - gradient| / max(|gradient|, 1e-3 * largest gradient of the parameter, 1e-6).
llvm::Expected<DerivativeCheck> checkDerivatives(dnn::TrainingGraphOp graph, const StepInputs &inputs,
                                                 int64_t max = 32);

} // namespace accord::interpret
