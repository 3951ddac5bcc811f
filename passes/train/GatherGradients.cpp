// The pass: weight gradients of all steps as one product.
#include "passes/train/Gatherer.h"
#include "passes/train/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_GATHERGRADIENTS
#include "passes/train/Passes.h.inc"

namespace {

/// Whether a repeat walks a tensor: then what it keeps for this grows with time, as its activations do.
bool walksSlices(dnn::RepeatOp repeat) {
  return llvm::any_of(repeat.getUnstashed(), [](Value stash) { return stash.getDefiningOp<dnn::UnstackOp>(); }) ||
         llvm::any_of(repeat.getStashed(), [](Value stash) {
           return llvm::any_of(stash.getUsers(), [](Operation *user) { return isa<dnn::StackOp>(user); });
         });
}

struct GatherGradients : impl::GatherGradientsBase<GatherGradients> {
  void runOnOperation() override {
    Names names;
    getOperation().walk([&](Operation *op) { names.reserve(dnn::nameOf(op)); });
    SmallVector<dnn::RepeatOp> repeats;
    getOperation().walk([&](dnn::RepeatOp repeat) { // inner ones first
      if (dnn::phaseOf(repeat) != dnn::Phase::Forward && walksSlices(repeat))
        repeats.push_back(repeat);
    });
    for (dnn::RepeatOp repeat : repeats)
      Gatherer(repeat, names).run();
  }
};

} // namespace
} // namespace accord
