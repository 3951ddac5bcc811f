// Operations of which only the time and the sizes are known.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

LogicalResult ProfiledOp::inferTypes(Adaptor adaptor, ShapeInference &infer) {
  size_t reads = infer.operands.size() - (adaptor.getTrained() ? 1 : 0);
  if (reads == 0 || reads > infer.operands.size())
    return infer.error("needs an operand that it reads");
  SmallVector<int64_t> shape;
  if (std::optional<int64_t> elements = adaptor.getElements()) {
    if (*elements < 1)
      return infer.error("gives at least 1 element, found ", *elements);
    if (llvm::any_of(infer.operands, [](Value x) { return batchRank(cast<RankedTensorType>(x.getType())) > 0; }))
      shape.push_back(ShapedType::kDynamic);
    shape.push_back(*elements);
  }
  return infer.give(RankedTensorType::get(shape, Float32Type::get(infer.operands[0].getContext())));
}

ACCORD_GRADIENT(ProfiledOp) {
  SmallVector<Value> saved;
  SmallVector<Type> types;
  for (auto [x, isNeeded] : llvm::zip(getXs(), context.needed)) {
    saved.push_back(context.forward(x));
    if (isNeeded)
      types.push_back(x.getType());
  }
  auto gradient = make<ProfiledGradOp>(context, types, context.dy(), saved, getBackwardAttr());
  unsigned next = 0;
  for (auto [i, isNeeded] : llvm::enumerate(context.needed))
    if (isNeeded)
      context.operandGradients[i] = gradient.getDxs()[next++];
  return success();
}

std::optional<double> ProfiledOp::getGivenSeconds(int64_t batch) {
  return getForward().value_or(APFloat(0.0)).convertToDouble() * batch;
}
std::optional<double> ProfiledGradOp::getGivenSeconds(int64_t batch) { return getBackward().convertToDouble() * batch; }
