// The pass: what runs once is no repeat.
#include "mlir/IR/BuiltinOps.h"
#include "passes/simplify/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_INLINESINGLEREPEATS
#include "passes/simplify/Passes.h.inc"

namespace {

/// The names that operations get inside, which they keep outside.
void giveNames(dnn::RepeatOp repeat) {
  for (Operation &op : repeat.getBlock().without_terminator())
    if (dnn::nameOf(&op).empty() && !isa<dnn::ReadOp, dnn::RepeatOp>(op))
      op.setAttr(dnn::DnnDialect::kNameAttr,
                 StringAttr::get(op.getContext(), repeat.getLabel() + "." + op.getName().stripDialect()));
}

void inlineBody(dnn::RepeatOp repeat) {
  giveNames(repeat);
  Block &body = repeat.getBlock();
  dnn::YieldOp yield = repeat.getYield();
  for (auto [argument, init] : llvm::zip(body.getArguments(), repeat.getInits()))
    argument.replaceAllUsesWith(init);
  for (auto [result, value] : llvm::zip(repeat.getCarried(), yield.getCarried()))
    result.replaceAllUsesWith(value);
  yield.erase();
  repeat->getBlock()->getOperations().splice(Block::iterator(repeat), body.getOperations());
  repeat.erase();
}

struct InlineSingleRepeats : impl::InlineSingleRepeatsBase<InlineSingleRepeats> {
  void runOnOperation() override {
    getOperation().walk([](dnn::RepeatOp repeat) { // inner ones first
      if (repeat.getCount() == 1 && repeat.getUnstashed().empty() && repeat.getStashed().empty())
        inlineBody(repeat);
    });
  }
};

} // namespace
} // namespace accord
