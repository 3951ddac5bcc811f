#include "lib/machine/energy/Arithmetic.h"
#include "lib/machine/model/WorkGraph.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace accord {

std::string arithmetic(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "fp16";
  if (type.isTF32())
    return "tf32";
  if (type.isF64())
    return "fp64";
  if (isa<IntegerType>(type))
    return "int" + std::to_string(type.getIntOrFloatBitWidth());
  return "fp32";
}

std::string describe(dnn::PrecisionAttr precision) {
  std::string element = arithmetic(precision.getElement());
  if (!precision.getMixed())
    return element;
  if (precision.getGradients() != precision.getElement())
    element += ", gradients = " + arithmetic(precision.getGradients());
  return "mixed(" + element + ")";
}

std::string typeOf(mlir::Operation &op) {
  for (mlir::Value typed : op.getOperands())
    if (isa<RankedTensorType>(typed.getType()) && isa<FloatType>(getElementTypeOrSelf(typed.getType())))
      return arithmetic(typed.getType());
  return Operation().type;
}

} // namespace accord
