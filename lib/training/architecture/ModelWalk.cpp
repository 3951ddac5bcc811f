#include "lib/training/architecture/ModelWalk.h"

using namespace mlir;

namespace accord {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t elementsOf(Value value) {
  int64_t all = 1;
  for (int64_t extent : typeOf(value).getShape())
    if (!ShapedType::isDynamic(extent) && __builtin_mul_overflow(all, extent, &all))
      return INT64_MAX;
  return all;
}

int64_t widthOf(Value value) {
  RankedTensorType type = typeOf(value);
  return type.getRank() > 0 && !type.isDynamicDim(type.getRank() - 1) ? type.getShape().back() : 1;
}

int64_t executionsOf(Operation *op) {
  int64_t all = 1;
  for (auto repeat = op->getParentOfType<dnn::RepeatOp>(); repeat; repeat = repeat->getParentOfType<dnn::RepeatOp>())
    if (__builtin_mul_overflow(all, repeat.getCount(), &all))
      return INT64_MAX;
  return all;
}

/// Whether an operation hands on its first operand, under another shape or by a known factor.
static bool handsOn(Operation *op, unsigned through) {
  if (isa<dnn::ReshapeOp, dnn::TransposeOp, dnn::CastOp>(op))
    return true;
  return (through & ModelWalk::Dropout && isa<dnn::DropoutOp>(op)) ||
         (through & ModelWalk::Scale && isa<dnn::ScaleOp>(op)) ||
         (through & ModelWalk::Cuts && isa<dnn::SliceOp, dnn::SplitOp, dnn::GatherOp>(op)) ||
         (through & ModelWalk::Rotary && isa<dnn::RotaryOp>(op));
}

static void note(Operation *op, PassedOperations *passed) {
  if (!passed)
    return;
  if (auto scale = dyn_cast<dnn::ScaleOp>(op))
    passed->scale *= scale.getFactor().convertToDouble();
  if (auto dropout = dyn_cast<dnn::DropoutOp>(op))
    passed->dropout = std::max(passed->dropout, dropout.getRate()->convertToDouble());
  if (auto rotary = dyn_cast<dnn::RotaryOp>(op))
    passed->rotaryBase = rotary.getBase().convertToDouble();
}

Value ModelWalk::source(Value value, unsigned through, PassedOperations *passed) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto repeat = dyn_cast<dnn::RepeatOp>(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      if (number >= repeat.getCarried().size())
        return value;
      understand(op);
      value = repeat.getYield().getCarried()[number];
      continue;
    }
    if (!handsOn(op, through))
      return value;
    understand(op), note(op, passed);
    value = op->getOperand(0);
  }
  return value;
}

SmallVector<OpOperand *> ModelWalk::uses(Value value, unsigned through, PassedOperations *passed) {
  SmallVector<OpOperand *> found;
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      auto repeat = dyn_cast<dnn::RepeatOp>(user);
      if (isa<dnn::YieldOp>(user)) {
        auto around = dyn_cast<dnn::RepeatOp>(user->getParentOp());
        if (!around || use.getOperandNumber() >= around.getCarried().size())
          continue;
        open.push_back(around.getCarried()[use.getOperandNumber()]);
        open.push_back(around.getCarriedArguments()[use.getOperandNumber()]);
      } else if (repeat && use.getOperandNumber() < repeat.getInits().size()) {
        open.push_back(repeat.getCarriedArguments()[use.getOperandNumber()]);
      } else if (handsOn(user, through) && use.getOperandNumber() == 0) {
        understand(user), note(user, passed);
        open.push_back(user->getResult(0));
      } else {
        found.push_back(&use);
      }
    }
  }
  return found;
}

StringRef ModelWalk::parameterOf(Value value) {
  auto read = source(value).getDefiningOp<dnn::ReadOp>();
  return read ? read.getParameter() : StringRef();
}

/// A sum of a product that has no bias of its own with a vector.
dnn::AddOp ModelWalk::biasBehind(dnn::MatmulOp product) {
  auto found = uses(product.getY());
  auto sum = found.size() == 1 ? dyn_cast<dnn::AddOp>(found[0]->getOwner()) : dnn::AddOp();
  if (!sum)
    return {};
  Value vector = found[0]->getOperandNumber() == 0 ? sum.getB() : sum.getA();
  bool isBias = !parameterOf(vector).empty() && elementsOf(vector) == widthOf(product.getY());
  return isBias ? sum : dnn::AddOp();
}

TrainedProduct ModelWalk::productBy(Operation *op) {
  if (auto sum = dyn_cast_or_null<dnn::AddOp>(op))
    for (Value side : {sum.getA(), sum.getB()})
      if (auto before = source(side).getDefiningOp<dnn::MatmulOp>(); before && biasBehind(before) == sum)
        return productBy(before);
  if (auto product = dyn_cast_or_null<dnn::MatmulOp>(op)) {
    StringRef weight = parameterOf(product.getB());
    if (weight.empty() || product.getTransposeA() || typeOf(product.getB()).getRank() != 2)
      return {};
    dnn::AddOp bias = biasBehind(product);
    understand(op), understand(bias);
    return {op,        product.getA(),          bias ? bias.getY() : product.getY(),
            weight,    widthOf(product.getA()), widthOf(product.getY()),
            bool(bias)};
  }
  auto linear = dyn_cast_or_null<dnn::LinearOp>(op);
  StringRef weight = linear ? parameterOf(linear.getWeight()) : StringRef();
  if (weight.empty())
    return {};
  understand(op);
  auto shape = typeOf(linear.getWeight()).getShape();
  return {op, linear.getX(), linear.getY(), weight, shape.back(), shape[shape.size() - 2], linear.getBias() != nullptr};
}

TrainedProduct ModelWalk::productOf(Value value) { return productBy(source(value).getDefiningOp()); }

} // namespace accord
