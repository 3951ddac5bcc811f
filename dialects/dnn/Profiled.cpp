// Operations of which only the time and the sizes are known.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

ACCORD_INFER(ProfiledOp) {
  if (failed(requireTensors(adaptor.getOperands(), {}, location, "profiled")) ||
      failed(require(adaptor.getForward(), location, "profiled", "forward")))
    return failure();
  size_t reads = adaptor.getXs().size() - (adaptor.getTrained() ? 1 : 0);
  if (reads == 0 || reads > adaptor.getXs().size())
    return emitOptionalError(location, "'profiled' needs an operand that it reads");
  SmallVector<int64_t> shape;
  if (std::optional<int64_t> elements = adaptor.getElements()) {
    if (*elements < 1)
      return emitOptionalError(location, "'profiled' gives at least 1 element, found ", *elements);
    bool batched = llvm::any_of(adaptor.getXs(), [](Value x) { return batchRank(tensor(x)) > 0; });
    if (batched)
      shape.push_back(ShapedType::kDynamic);
    shape.push_back(*elements);
  }
  types.push_back(RankedTensorType::get(shape, Float32Type::get(adaptor.getXs().front().getContext())));
  return success();
}

ACCORD_GRADIENT(ProfiledOp) {
  SmallVector<Value> saved;
  SmallVector<Type> types;
  for (auto [x, isNeeded] : llvm::zip(getXs(), context.needed)) {
    saved.push_back(context.forward(x));
    if (isNeeded)
      types.push_back(x.getType());
  }
  auto gradient = make<ProfiledGradOp>(context, types, context.resultGradients[0], saved, getBackwardAttr());
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
