#include "dialects/dnn/Infer.h"

using namespace mlir;

namespace accord::dnn {

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + (ShapedType::isDynamic(extent) ? "?" : std::to_string(extent));
  return shape.empty() ? "scalar" : text;
}

FailureOr<int64_t> dimensionOf(int64_t axis, RankedTensorType type, std::optional<Location> location, StringRef op) {
  int64_t batch = batchRank(type), rank = type.getRank() - batch;
  if (axis < -rank || axis >= rank)
    return emitOptionalError(location, Code::BadAttribute, "'", op, "' axis ", axis, " is outside the ", rank,
                             " dimensions of ", shapeText(type.getShape()));
  return (axis < 0 ? axis + rank : axis) + batch;
}

LogicalResult requireTensors(ValueRange operands, ArrayRef<int64_t> ranks, std::optional<Location> location,
                             StringRef op) {
  for (auto [i, value] : llvm::enumerate(operands)) {
    RankedTensorType type = tensor(value);
    if (!type)
      return emitOptionalError(location, "operand ", i + 1, " of '", op, "' must be a tensor, found ", value.getType());
    if (type.getRank() > 1 && llvm::is_contained(type.getShape().drop_front(), ShapedType::kDynamic))
      return emitOptionalError(location, "operand ", i + 1, " of '", op, "' is ", shapeText(type.getShape()),
                               ", but only the first extent may be open: the batch");
    int64_t min = i < ranks.size() ? ranks[i] : 0;
    if (type.getRank() < min)
      return emitOptionalError(location, "operand ", i + 1, " of '", op, "' needs at least ", min,
                               " dimensions with the batch, found ", shapeText(type.getShape()));
  }
  if (operands.size() < ranks.size())
    return emitOptionalError(location, "'", op, "' takes at least ", ranks.size(), " operands, found ",
                             operands.size());
  return success();
}

FailureOr<SmallVector<int64_t>> broadcast(ArrayRef<int64_t> a, ArrayRef<int64_t> b, std::optional<Location> location,
                                          StringRef op) {
  SmallVector<int64_t> result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return emitOptionalError(location, "'", op, "' cannot broadcast ", shapeText(a), " with ", shapeText(b));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

LogicalResult sameElement(RankedTensorType a, RankedTensorType b, std::optional<Location> location, StringRef op) {
  if (a.getElementType() == b.getElementType())
    return success();
  return emitOptionalError(location, Code::WrongElementType, "'", op,
                           "' operands have different element types: ", a.getElementType(), " and ",
                           b.getElementType());
}

} // namespace accord::dnn
