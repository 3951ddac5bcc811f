#include "dialects/dnn/Infer.h"

using namespace mlir;

namespace accord::dnn {

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + (ShapedType::isDynamic(extent) ? "?" : std::to_string(extent));
  return shape.empty() ? "scalar" : text;
}

RankedTensorType ShapeInference::operator[](unsigned operand) const {
  return operand < operands.size() ? dyn_cast<RankedTensorType>(operands[operand].getType()) : RankedTensorType();
}

FailureOr<int64_t> ShapeInference::dimensionOf(int64_t axis, RankedTensorType type) const {
  int64_t batch = batchRank(type), rank = type.getRank() - batch;
  if (axis < -rank || axis >= rank)
    return error(Code::BadAttribute, "axis ", axis, " is outside the ", rank, " dimensions of ",
                 shapeText(type.getShape()));
  return (axis < 0 ? axis + rank : axis) + batch;
}

LogicalResult ShapeInference::takes(ArrayRef<int64_t> ranks) const {
  for (unsigned i = 0; i < operands.size(); ++i) {
    auto wrong = [&](const auto &...text) {
      return mlir::emitOptionalError(location, "operand ", i + 1, " of '", op, "' ", text...);
    };
    RankedTensorType type = (*this)[i];
    if (!type)
      return wrong("must be a tensor, found ", operands[i].getType());
    if (type.getRank() > 1 && llvm::is_contained(type.getShape().drop_front(), ShapedType::kDynamic))
      return wrong("is ", shapeText(type.getShape()), ", but only the first extent may be open: the batch");
    int64_t min = i < ranks.size() ? ranks[i] : 0;
    if (type.getRank() < min)
      return wrong("needs at least ", min, " dimensions with the batch, found ", shapeText(type.getShape()));
  }
  if (operands.size() < ranks.size())
    return error("takes at least ", ranks.size(), " operands, found ", operands.size());
  return success();
}

LogicalResult ShapeInference::needs(ArrayRef<std::pair<StringRef, Attribute>> attributes) const {
  for (auto [name, attribute] : attributes)
    if (!attribute)
      return error("needs '", name, "'");
  return success();
}

LogicalResult ShapeInference::sameElement(RankedTensorType a, RankedTensorType b) const {
  if (a.getElementType() == b.getElementType())
    return success();
  return error(Code::WrongElementType, "operands have different element types: ", a.getElementType(), " and ",
               b.getElementType());
}

LogicalResult ShapeInference::giveProduct(ArrayRef<int64_t> shape, RankedTensorType operand) {
  Type element = operand.getElementType();
  return give(RankedTensorType::get(shape, isQuantized(element) ? BFloat16Type::get(operand.getContext()) : element));
}

LogicalResult ShapeInference::integers(RankedTensorType type, StringRef what) const {
  if (isa<IntegerType>(type.getElementType()))
    return success();
  return error(Code::WrongElementType, what, " must be integers, found ", type.getElementType());
}

FailureOr<SmallVector<int64_t>> ShapeInference::broadcast(ArrayRef<int64_t> a, ArrayRef<int64_t> b) const {
  SmallVector<int64_t> result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return error("cannot broadcast ", shapeText(a), " with ", shapeText(b));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

} // namespace accord::dnn
