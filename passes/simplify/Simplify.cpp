// The passes: chains of operations as one, repeats that run once, equal operations once.
#include "lib/training/fuse/BlockNodes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/simplify/Passes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_FUSE
#include "passes/simplify/Passes.h.inc"

namespace {

struct FusePass : impl::FuseBase<FusePass> {
  using FuseBase::FuseBase;

  void fuseIn(Block &block, const FusionOptions &options) {
    for (auto repeat : block.getOps<dnn::RepeatOp>())
      fuseIn(repeat.getBlock(), options);
    BlockNodes nodes(block);
    rebuild(block, nodes, fuse(nodes.nodes, options));
  }

  void runOnOperation() override {
    dnn::TrainingGraphOp graph = getOperation();
    if (maxBodies < 1) {
      graph.emitError() << "'max-bodies' of 'fuse' is at least 1, found " << maxBodies.getValue();
      return signalPassFailure();
    }
    fuseIn(graph.getMicrobatch().getBlock(), {contractions, normalizations, elementwise, maxBodies});
  }
};

} // namespace

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

#define GEN_PASS_DEF_MERGEEQUAL
#include "passes/simplify/Passes.h.inc"

namespace {

/// Attributes that say what an operation computes; names and phases do not.
DictionaryAttr meaning(Operation *op) {
  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  attributes.erase(dnn::DnnDialect::kNameAttr);
  attributes.erase(dnn::DnnDialect::kPhaseAttr);
  return attributes.getDictionary(op->getContext());
}

struct Equal : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *key) {
    auto *op = const_cast<Operation *>(key);
    return llvm::hash_combine(op->getName(), op->hashProperties(), meaning(op),
                              llvm::hash_combine_range(op->operand_begin(), op->operand_end()),
                              llvm::hash_combine_range(op->result_type_begin(), op->result_type_end()));
  }
  static bool isEqual(const Operation *x, const Operation *y) {
    if (x == y)
      return true;
    if (x == getEmptyKey() || x == getTombstoneKey() || y == getEmptyKey() || y == getTombstoneKey())
      return false;
    auto *a = const_cast<Operation *>(x), *b = const_cast<Operation *>(y);
    return a->getName() == b->getName() && llvm::equal(a->getOperands(), b->getOperands()) &&
           a->getResultTypes() == b->getResultTypes() && meaning(a) == meaning(b) &&
           a->getName().compareOpProperties(a->getPropertiesStorage(), b->getPropertiesStorage());
  }
};

struct MergeEqualPass : impl::MergeEqualBase<MergeEqualPass> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) {
      llvm::DenseMap<Operation *, Operation *, Equal> seen;
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        // Operations with regions stay as they are; so does what has an effect, such as a random
        // mask.
        if (op.getNumRegions() != 0 || op.getNumResults() == 0 || !isMemoryEffectFree(&op))
          continue;
        auto [first, isNew] = seen.try_emplace(&op, &op);
        if (isNew)
          continue;
        op.replaceAllUsesWith(first->second);
        op.erase();
      }
    });
  }
};

} // namespace

} // namespace accord
