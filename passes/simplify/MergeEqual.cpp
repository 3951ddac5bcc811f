// The pass: what several operations compute, once.
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/simplify/Passes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace accord {
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
