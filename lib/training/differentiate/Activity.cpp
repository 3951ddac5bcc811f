#include "lib/training/differentiate/Activity.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accord {

static bool isFloat(Value value) {
  Type inner = value.getType();
  while (auto stash = dyn_cast<dnn::StashType>(inner))
    inner = stash.getElement();
  auto type = dyn_cast<RankedTensorType>(inner);
  return type && isa<FloatType>(type.getElementType());
}

void Activity::visit(Block &block) {
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<dnn::RepeatOp>(op)) {
      visit(repeat);
      continue;
    }
    if (!isa<dnn::ReadOp>(op) && llvm::none_of(op.getOperands(), [&](Value v) { return varied(v); }))
      continue;
    for (Value result : op.getResults())
      if (isFloat(result))
        variedValues.insert(result);
  }
}

void Activity::visit(dnn::RepeatOp repeat) {
  for (auto [argument, stash] : llvm::zip(repeat.getUnstashedArguments(), repeat.getUnstashed()))
    if (varied(stash))
      variedValues.insert(argument);
  // A value becomes varied at the latest after as many rounds as there are carried values.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [argument, init] : llvm::zip(repeat.getCarriedArguments(), repeat.getInits()))
      if (varied(init) && isFloat(argument))
        variedValues.insert(argument);
    visit(repeat.getBlock());
    for (auto [argument, yielded, result] :
         llvm::zip(repeat.getCarriedArguments(), repeat.getYield().getCarried(), repeat.getCarried())) {
      if (!varied(yielded) && !varied(argument))
        continue;
      variedValues.insert(result);
      changed |= variedValues.insert(argument).second;
    }
  }
  for (auto [stash, value] : llvm::zip(repeat.getStashed(), repeat.getYield().getStashed()))
    if (varied(value))
      variedValues.insert(stash);
}

llvm::SmallBitVector Activity::usefulCarried(dnn::RepeatOp repeat, llvm::SmallBitVector useful,
                                             ArrayRef<Value> stashed) const {
  for (bool changed = true; changed;) {
    changed = false;
    llvm::DenseSet<Value> live(stashed.begin(), stashed.end());
    for (auto [i, yielded] : llvm::enumerate(repeat.getYield().getCarried()))
      if (useful.test(i))
        live.insert(yielded);
    for (Operation &op : llvm::reverse(repeat.getBlock())) {
      if (llvm::none_of(op.getResults(), [&](Value result) { return live.contains(result); }))
        continue;
      live.insert(op.operand_begin(), op.operand_end());
      llvm::SetVector<Value> captured;
      for (Region &region : op.getRegions())
        getUsedValuesDefinedAbove(region, captured);
      live.insert(captured.begin(), captured.end());
    }
    for (auto [i, argument] : llvm::enumerate(repeat.getCarriedArguments()))
      if (!useful.test(i) && live.contains(argument) && varied(argument)) {
        useful.set(i);
        changed = true;
      }
  }
  return useful;
}

bool parametersOnly(Value value) {
  for (unsigned depth = 0; depth < 64; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<dnn::RepeatOp>(op))
      return false;
    if (isa<dnn::ReadOp>(op))
      return true;
    if (op->getNumOperands() != 1)
      return false;
    value = op->getOperand(0); // a view or a unary function of a parameter
  }
  return false;
}

} // namespace accord
