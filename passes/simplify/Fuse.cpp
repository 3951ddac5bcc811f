// The pass: chains of operations as one.
#include "lib/training/fuse/BlockNodes.h"
#include "passes/simplify/Passes.h"

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
} // namespace accord
