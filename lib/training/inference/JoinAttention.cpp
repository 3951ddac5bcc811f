#include "lib/training/inference/JoinAttention.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace accord {
namespace {

/// A tensor before its transposition, and what is done to it behind that.
struct Source {
  dnn::TransposeOp transposition;
  SmallVector<Operation *> steps; ///< scales, rotary positions and norms, in their order
};

class AttentionJoiner {
public:
  explicit AttentionJoiner(dnn::SoftmaxOp softmax) : softmax(softmax) {}

  bool run() {
    if (!findProducts() || !findResult())
      return false;
    auto query = sourceOf(scores.getA(), {1, 2, 0, 3}), key = sourceOf(scores.getB(), {1, 0, 2}),
         value = sourceOf(context.getB(), {1, 0, 2});
    if (!query || !key || !value || !value->steps.empty())
      return false;
    OpBuilder builder(result);
    double scale = 1;
    Value q = withSteps(builder, *query, scale), k = withSteps(builder, *key, scale);
    FailureOr<Operation *> joined =
        dnn::createInferred(builder, softmax.getLoc(), "dnn.flash_attention", {q, k, value->transposition.getX()},
                            {builder.getNamedAttr("scale", builder.getF64FloatAttr(scale)),
                             builder.getNamedAttr("causal", builder.getBoolAttr(softmax.getCausal()))});
    if (failed(joined) || (*joined)->getResult(0).getType() != result.getY().getType())
      return false;
    if (Attribute name = context->getAttr(dnn::DnnDialect::kNameAttr))
      (*joined)->setAttr(dnn::DnnDialect::kNameAttr, name);
    result.getY().replaceAllUsesWith((*joined)->getResult(0));
    return true;
  }

private:
  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
  static bool isLast(int64_t axis, Value of) {
    RankedTensorType type = typeOf(of);
    return dnn::tensorDimension(axis, type) == type.getRank() - 1;
  }
  /// The operation before a value, views left out, if nobody else reads it or them.
  static Operation *before(Value value) {
    Operation *op = value.hasOneUse() ? value.getDefiningOp() : nullptr;
    while (op && isa<dnn::ReshapeOp>(op))
      op = op->getOperand(0).hasOneUse() ? op->getOperand(0).getDefiningOp() : nullptr;
    return op;
  }
  /// The only operation that reads a value, views left out.
  static Operation *behind(Value value) {
    Operation *op = value.hasOneUse() ? *value.getUsers().begin() : nullptr;
    while (op && isa<dnn::ReshapeOp>(op))
      op = op->getResult(0).hasOneUse() ? *op->getResult(0).getUsers().begin() : nullptr;
    return op;
  }

  bool findProducts() {
    scores = dyn_cast_or_null<dnn::MatmulOp>(before(softmax.getX()));
    context = dyn_cast_or_null<dnn::MatmulOp>(behind(softmax.getY()));
    return scores && context && isLast(softmax.getAxis(), softmax.getX()) && scores.getTransposeB() &&
           !scores.getTransposeA() && !context.getTransposeA() && !context.getTransposeB() &&
           context.getB() != context.getA() && !context.getB().getDefiningOp<dnn::SoftmaxOp>();
  }
  bool findResult() {
    result = dyn_cast_or_null<dnn::TransposeOp>(behind(context.getY()));
    return result && ArrayRef<int64_t>(*result.getPermutation()) == ArrayRef<int64_t>({2, 0, 1, 3});
  }

  static std::optional<Source> sourceOf(Value value, ArrayRef<int64_t> permutation) {
    Source found;
    Operation *op = before(value);
    while (isa_and_nonnull<dnn::ScaleOp, dnn::RotaryOp, dnn::RmsNormOp>(op)) {
      found.steps.insert(found.steps.begin(), op);
      op = before(op->getOperand(0));
    }
    found.transposition = dyn_cast_or_null<dnn::TransposeOp>(op);
    if (!found.transposition || ArrayRef<int64_t>(*found.transposition.getPermutation()) != permutation)
      return std::nullopt;
    return found;
  }

  /// The steps on what is not transposed yet; factors go to the scores.
  static Value withSteps(OpBuilder &builder, Source source, double &scale) {
    Value value = source.transposition.getX();
    for (Operation *step : source.steps) {
      if (auto factor = dyn_cast<dnn::ScaleOp>(step)) {
        scale *= factor.getFactor().convertToDouble();
        continue;
      }
      IRMapping map;
      map.map(step->getOperand(0), value);
      Operation *moved = builder.clone(*step, map);
      moved->getResult(0).setType(value.getType());
      if (auto rotary = dyn_cast<dnn::RotaryOp>(moved))
        rotary.setAxis(0); // positions come first here
      value = moved->getResult(0);
    }
    return value;
  }

  dnn::SoftmaxOp softmax;
  dnn::MatmulOp scores, context;
  dnn::TransposeOp result;
};

} // namespace

unsigned joinAttention(dnn::ModelOp model) {
  SmallVector<dnn::SoftmaxOp> all;
  model.walk([&](dnn::SoftmaxOp softmax) { all.push_back(softmax); });
  unsigned joined = 0;
  for (dnn::SoftmaxOp softmax : all)
    joined += AttentionJoiner(softmax).run();
  return joined;
}

} // namespace accord
