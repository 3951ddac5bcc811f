// The pass: marks for what the backward pass computes again.
#include "lib/compilation/TrainingGraphs.h"
#include "passes/train/Passes.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_RECOMPUTE
#include "passes/train/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kMark = dnn::DnnDialect::kRecomputeAttr;

void mark(Operation *op) { op->setAttr(kMark, UnitAttr::get(op->getContext())); }

/// Between the products of attention: what costs few FLOP per byte kept.
bool insideAttention(Operation *op) {
  return isa<dnn::ReshapeOp, dnn::ScaleOp, dnn::AlibiOp, dnn::AddOp, dnn::DropoutOp>(op);
}

/// From the scores (a product of two activations) to what is multiplied with the values.
void markAttention(dnn::SoftmaxOp softmax) {
  SmallVector<Operation *> chain{softmax};
  Operation *scores = softmax.getX().getDefiningOp();
  while (scores && insideAttention(scores)) {
    chain.push_back(scores);
    scores = scores->getOperand(0).getDefiningOp();
  }
  if (!isa_and_nonnull<dnn::MatmulOp>(scores))
    return;
  chain.push_back(scores);
  Operation *next = softmax;
  while (next && next->getResult(0).hasOneUse()) {
    next = *next->getResult(0).user_begin();
    if (!insideAttention(next))
      break;
    chain.push_back(next);
  }
  if (isa_and_nonnull<dnn::MatmulOp>(next))
    for (Operation *op : chain)
      mark(op);
}

struct Patterns {
  SmallVector<llvm::GlobPattern> globs;
  LogicalResult read(ArrayRef<std::string> texts, ModuleOp module) {
    for (const std::string &text : texts) {
      auto glob = llvm::GlobPattern::create(text);
      if (!glob)
        return module.emitError() << "'" << text << "' is no pattern: " << llvm::toString(glob.takeError());
      globs.push_back(std::move(*glob));
    }
    return success();
  }
  bool match(StringRef name) const {
    return llvm::any_of(globs, [&](const llvm::GlobPattern &glob) { return glob.match(name); });
  }
};

bool known(StringRef policy) { return policy.empty() || policy == "none" || policy == "selective" || policy == "full"; }

struct Recompute : impl::RecomputeBase<Recompute> {
  using RecomputeBase::RecomputeBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!known(policy)) {
      module.emitError() << "there is no policy '" << policy << "'; there are none, selective and full";
      return signalPassFailure();
    }
    Patterns byName, byRepeat;
    if (failed(byName.read(operations, module)) || failed(byRepeat.read(repeats, module)))
      return signalPassFailure();
    for (auto model : module.getOps<dnn::ModelOp>()) {
      StringRef policy = this->policy.getValue();
      if (auto own = model->getAttrOfType<StringAttr>(kRecomputePolicy)) {
        policy = own == "none" ? "" : own.getValue();
        if (!known(policy)) {
          model.emitError() << "there is no policy '" << policy << "'; there are none, selective and full";
          return signalPassFailure();
        }
      }
      model.walk([&](Operation *op) {
        if (policy == "none")
          op->removeAttr(kMark);
        auto repeat = op->getParentOfType<dnn::RepeatOp>();
        bool meant = byRepeat.globs.empty() || (repeat && byRepeat.match(repeat.getLabel()));
        // A repeat inside a repeat keeps what its own iterations start from.
        if (policy == "full" && meant && repeat && !isa<dnn::RepeatOp, dnn::YieldOp>(op))
          mark(op);
        if (auto softmax = dyn_cast<dnn::SoftmaxOp>(op); policy == "selective" && meant && softmax)
          markAttention(softmax);
        if (!isa<dnn::RepeatOp, dnn::YieldOp, dnn::LossOp>(op) && byName.match(dnn::nameOf(op)))
          mark(op);
      });
    }
  }
};

} // namespace
} // namespace accord
