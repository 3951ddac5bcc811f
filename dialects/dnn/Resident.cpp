// Memory and work of the optimizer.
#include "dialects/dnn/Dnn.h"

using namespace mlir;

namespace accord::dnn {

static int64_t states(OptimizerKind optimizer) {
  switch (optimizer) {
  case OptimizerKind::Sgd:
    return 0;
  case OptimizerKind::Momentum:
    return 1;
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return 2;
  }
  return 0;
}

int64_t updateFlops(OptimizerKind optimizer) {
  switch (optimizer) {
  case OptimizerKind::Sgd:
    return 2;
  case OptimizerKind::Momentum:
    return 4;
  case OptimizerKind::Adam:
    return 14;
  case OptimizerKind::AdamW:
    return 16;
  }
  return 0;
}

ResidentBytes residentBytesPerScalar(OptimizerKind optimizer, PrecisionAttr precision) {
  constexpr int64_t kFp32 = 4;
  int64_t element = elementBytes(precision.getElement());
  ResidentBytes bytes{element, elementBytes(precision.getGradients()), 0};
  bytes.optimizerStates = precision.getMixed() ? kFp32 * (1 + states(optimizer)) : element * states(optimizer);
  return bytes;
}

std::optional<ResidentBytes> residentBytes(ParameterOp parameter, OptimizerKind optimizer, PrecisionAttr precision) {
  std::optional<int64_t> elements =
      checkedMultiply(volume(parameter.getTensorType().getShape(), 1), parameter.getCopies());
  ResidentBytes one = residentBytesPerScalar(optimizer, precision);
  std::optional<int64_t> weights = checkedMultiply(elements, one.weights);
  std::optional<int64_t> gradients = checkedMultiply(elements, one.gradients);
  std::optional<int64_t> optimizerStates = checkedMultiply(elements, one.optimizerStates);
  if (!checkedAdd(weights, checkedAdd(gradients, optimizerStates)))
    return std::nullopt;
  return ResidentBytes{*weights, *gradients, *optimizerStates};
}

/// Elements of all copies.
static std::optional<int64_t> elementsOf(UpdateOp op) {
  return checkedMultiply(volume(op.getTensorType().getShape(), 1), op.getCopies());
}

std::optional<int64_t> UpdateOp::getBytesRead(int64_t) {
  ResidentBytes one = residentBytesPerScalar(getOptimizer(), getPrecision());
  // Mixed: the update starts from the master weights, which count among the optimizer's states.
  return checkedMultiply(elementsOf(*this),
                         one.gradients + one.optimizerStates + (getPrecision().getMixed() ? 0 : one.weights));
}
std::optional<int64_t> UpdateOp::getBytesWritten(int64_t) {
  ResidentBytes one = residentBytesPerScalar(getOptimizer(), getPrecision());
  return checkedMultiply(elementsOf(*this), one.weights + one.optimizerStates);
}

} // namespace accord::dnn
