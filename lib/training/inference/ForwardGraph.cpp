#include "lib/training/inference/ForwardGraph.h"
#include "lib/support/EmitError.h"
#include "lib/training/inference/JoinAttention.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accord {

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// One number for each sample, or one of all.
bool isNumber(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == dnn::batchRank(type);
}

class ForwardGraph {
public:
  ForwardGraph(dnn::ModelOp model, const dnn::ForwardOptions &options) : model(model), options(options) {}

  LogicalResult run() {
    if (failed(replaceLoss()))
      return failure();
    dropUnused(model.getBlock());
    model.walk([](dnn::DropoutOp dropout) {
      dropout.getY().replaceAllUsesWith(dropout.getX());
      if (dropout->use_empty())
        dropout.erase();
    });
    if (options.compiled) {
      model.walk([](dnn::BatchNormOp norm) { fold(norm); });
      joinAttention(model);
      model.walk([](Block *block) { dropUnused(*block); });
    }
    if (options.lastPosition)
      keepLastPosition();
    return options.context > 0 ? cacheAttention() : success();
  }

private:
  /// The loss goes, and what it was made of is what comes out.
  LogicalResult replaceLoss() {
    auto losses = model.getBlock().getOps<dnn::LossOp>();
    if (losses.empty())
      return model.emitError() << "model '" << model.getSymName() << "' has no loss, which says what comes out of it";
    dnn::LossOp loss = *losses.begin();
    llvm::SetVector<Value> outputs;
    addOutputs(loss.getValue(), outputs);
    if (outputs.empty())
      return model.emitError() << "nothing of model '" << model.getSymName() << "' depends on its parameters";
    OpBuilder builder(loss);
    dnn::OutputOp::create(builder, loss.getLoc(), outputs.getArrayRef());
    loss.erase();
    return success();
  }

  /// From a number back to the tensors that it is taken from.
  void addOutputs(Value value, llvm::SetVector<Value> &outputs) {
    Operation *op = value.getDefiningOp();
    if (!dependsOnParameters(value))
      return;
    if (!isNumber(value) || isa<dnn::RepeatOp, dnn::ReadOp>(op)) {
      outputs.insert(value);
      return;
    }
    for (Value operand : op->getOperands())
      addOutputs(operand, outputs);
  }

  bool dependsOnParameters(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<dnn::ReadOp, dnn::RepeatOp>(op))
      return true;
    auto [slot, isNew] = depends.try_emplace(op, false);
    if (!isNew)
      return slot->second;
    bool found = llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOnParameters(operand); });
    return depends[op] = found;
  }

  static void dropUnused(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && dnn::isMovable(&op) && !isa<dnn::ParameterOp, dnn::OutputOp, dnn::YieldOp>(op))
        op.erase();
  }

  static void fold(dnn::BatchNormOp norm) {
    Operation *before = norm.getX().getDefiningOp();
    auto work = dyn_cast_or_null<WorkOpInterface>(before);
    if (!work || !work.isContraction() || !norm.getX().hasOneUse())
      return;
    norm.getY().replaceAllUsesWith(norm.getX());
    norm.erase();
  }

  /// The product that makes the logits takes the last position alone.
  void keepLastPosition() {
    dnn::OutputOp output = *model.getBlock().getOps<dnn::OutputOp>().begin();
    for (Value value : output.getValues()) {
      SmallVector<Operation *> chain; // from the output back to the product
      Operation *op = value.getDefiningOp();
      while (op && isa<dnn::ScaleOp, dnn::TanhOp>(op) && op->getResult(0).hasOneUse()) {
        chain.push_back(op);
        op = op->getOperand(0).getDefiningOp();
      }
      if (!isa_and_nonnull<dnn::LinearOp, dnn::MatmulOp>(op) || !op->getResult(0).hasOneUse())
        continue;
      RankedTensorType x = typeOf(op->getOperand(0)), y = typeOf(op->getResult(0));
      int64_t batch = dnn::batchRank(x);
      if (x.getRank() != batch + 2 || y.getRank() != x.getRank() || x.getDimSize(batch) < 2)
        continue;
      OpBuilder builder(op);
      auto slice =
          dnn::createInferred(builder, op->getLoc(), "dnn.slice", op->getOperand(0),
                              {builder.getNamedAttr("axis", builder.getI64IntegerAttr(0)),
                               builder.getNamedAttr("start", builder.getI64IntegerAttr(x.getDimSize(batch) - 1)),
                               builder.getNamedAttr("size", builder.getI64IntegerAttr(1))});
      if (failed(slice))
        continue;
      op->setOperand(0, (*slice)->getResult(0));
      chain.push_back(op);
      for (Operation *each : chain)
        each->getResult(0).setType(withExtent(typeOf(each->getResult(0)), batch, 1));
    }
  }

  static RankedTensorType withExtent(RankedTensorType type, int64_t dimension, int64_t extent) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dimension] = extent;
    return RankedTensorType::get(shape, type.getElementType());
  }

  // ---- the cache of keys and values

  LogicalResult cacheAttention() {
    SmallVector<Operation *> attentions;
    bool hasState = false;
    model.walk([&](Operation *op) {
      if (auto flash = dyn_cast<dnn::FlashAttentionOp>(op); flash && flash.getCausal())
        attentions.push_back(op);
      if (auto softmax = dyn_cast<dnn::SoftmaxOp>(op); softmax && softmax.getCausal())
        attentions.push_back(op);
      hasState |= isa<dnn::SelectiveScanOp>(op);
    });
    if (attentions.empty() && !hasState)
      return emitError(model, Code::NotSupported)
             << "model '" << model.getSymName() << "' has no causal attention and no scan: it does not make one token "
             << "after the other, and 'decode' needs that";
    for (Operation *op : attentions)
      if (failed(isa<dnn::FlashAttentionOp>(op) ? cacheFused(cast<dnn::FlashAttentionOp>(op))
                                                : cacheScores(cast<dnn::SoftmaxOp>(op))))
        return failure();
    return success();
  }

  Value cached(OpBuilder &builder, Operation *user, Value x, int64_t axis, int64_t length, StringRef role) {
    int64_t dimension = axis + dnn::batchRank(typeOf(x));
    auto cache = dnn::CachedOp::create(builder, user->getLoc(), withExtent(typeOf(x), dimension, length), x,
                                       builder.getI64IntegerAttr(axis), builder.getI64IntegerAttr(length));
    if (StringRef name = dnn::nameOf(user); !name.empty())
      cache->setAttr(dnn::DnnDialect::kNameAttr, builder.getStringAttr(name + "." + role));
    return cache;
  }

  LogicalResult cacheFused(dnn::FlashAttentionOp attention) {
    int64_t queries = typeOf(attention.getQ()).getDimSize(dnn::batchRank(typeOf(attention.getQ())));
    int64_t length = std::max(queries, attention.getWindow() > 0 ? std::min(options.context, attention.getWindow())
                                                                 : options.context);
    OpBuilder builder(attention);
    attention.getKMutable().assign(cached(builder, attention, attention.getK(), 0, length, "keys"));
    attention.getVMutable().assign(cached(builder, attention, attention.getV(), 0, length, "values"));
    if (queries == 1) { // the mask leaves nothing out
      attention.setCausal(false);
      attention.setWindow(0);
    }
    return success();
  }

  /// Scores that are materialized: product, element-wise operations and views, softmax, views, product.
  LogicalResult cacheScores(dnn::SoftmaxOp softmax) {
    auto refuse = [&](Operation *at) {
      return emitError(at, Code::NotSupported)
             << "decoding does not know this form of attention: its scores come from one product of queries and keys "
                "and are multiplied with the values; use flash_attention";
    };
    SmallVector<Operation *> between; // whose last dimension is the keys
    Operation *op = softmax;
    while (op && !isa<dnn::MatmulOp>(op)) {
      if (!isa<dnn::SoftmaxOp, dnn::ReshapeOp, dnn::ScaleOp, dnn::AlibiOp, dnn::TanhOp>(op))
        return refuse(softmax);
      between.push_back(op);
      op = op->getOperand(0).getDefiningOp();
    }
    auto first = dyn_cast_or_null<dnn::MatmulOp>(op);
    if (!first)
      return refuse(softmax);
    between.push_back(first);
    op = softmax;
    while (!isa<dnn::MatmulOp>(op)) {
      if (!op->getResult(0).hasOneUse())
        return refuse(softmax);
      Operation *user = *op->getResult(0).getUsers().begin();
      if (!isa<dnn::MatmulOp, dnn::ReshapeOp, dnn::CastOp>(user))
        return refuse(softmax);
      op = user;
      if (!isa<dnn::MatmulOp>(op))
        between.push_back(op);
    }
    auto second = cast<dnn::MatmulOp>(op);
    RankedTensorType keys = typeOf(first.getB());
    int64_t axis = keys.getRank() - dnn::batchRank(keys) - (first.getTransposeB() ? 2 : 1);
    int64_t before = keys.getDimSize(axis + dnn::batchRank(keys)), length = std::max(options.context, before);
    if (llvm::any_of(between,
                     [&](Operation *each) { return typeOf(each->getResult(0)).getShape().back() != before; }) ||
        second.getTransposeB() || second.getTransposeA())
      return refuse(softmax);
    OpBuilder builder(first);
    first.getBMutable().assign(cached(builder, first, first.getB(), axis, length, "keys"));
    builder.setInsertionPoint(second);
    RankedTensorType values = typeOf(second.getB());
    second.getBMutable().assign(
        cached(builder, second, second.getB(), values.getRank() - dnn::batchRank(values) - 2, length, "values"));
    for (Operation *each : between) {
      RankedTensorType type = typeOf(each->getResult(0));
      each->getResult(0).setType(withExtent(type, type.getRank() - 1, length));
      if (auto view = dyn_cast<dnn::ReshapeOp>(each))
        view.setDimsAttr(builder.getDenseI64ArrayAttr(
            typeOf(view.getY()).getShape().drop_front(dnn::batchRank(typeOf(view.getY())))));
    }
    if (before == 1)
      softmax.setCausal(false);
    return success();
  }

  dnn::ModelOp model;
  const dnn::ForwardOptions &options;
  llvm::DenseMap<Operation *, bool> depends;
};

} // namespace

LogicalResult makeForward(dnn::ModelOp model, const dnn::ForwardOptions &options) {
  return ForwardGraph(model, options).run();
}

} // namespace accord
