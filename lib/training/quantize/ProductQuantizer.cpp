#include "lib/training/quantize/ProductQuantizer.h"

using namespace mlir;

namespace accord {
namespace {

/// What cuBLAS wants dimensions of operands of 8 bits to be multiples of.
constexpr int64_t kMultiple = 16;

RankedTensorType withElement(Value value, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(value.getType()).getShape(), element);
}

/// Whether a weight is read from a parameter, in bf16 and in dimensions that products of 8 bits take.
bool isWeight(Value value) {
  auto read = value.getDefiningOp<dnn::ReadOp>();
  if (!read || !read.getType().getElementType().isBF16() || read.getType().getRank() < 2)
    return false;
  return llvm::all_of(read.getType().getShape().take_back(2), [](int64_t extent) { return extent % kMultiple == 0; });
}

class ProductQuantizer {
public:
  explicit ProductQuantizer(Type format) : format(format) {}

  unsigned run(dnn::ModelOp model) {
    SmallVector<Operation *> products;
    model.walk([&](Operation *op) {
      if (isProduct(op))
        products.push_back(op);
    });
    for (Operation *op : products)
      for (OpOperand &operand : op->getOpOperands())
        if (!isBias(operand))
          operand.set(operand.get().getDefiningOp<dnn::ReadOp>() ? copyOf(operand.get()) : castOf(operand));
    return products.size();
  }

private:
  static bool isBias(OpOperand &operand) {
    return isa<dnn::LinearOp>(operand.getOwner()) && operand.getOperandNumber() == 2;
  }

  /// A product in a repeat of an activation with weights, all of them of bf16.
  static bool isProduct(Operation *op) {
    auto repeat = op->getParentOfType<dnn::RepeatOp>();
    if (!repeat || !repeat.getUnstashed().empty() || !isa<dnn::LinearOp, dnn::ContractOp, dnn::MoeExpertsOp>(op))
      return false;
    unsigned weights = 0, others = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (!isBias(operand))
        ++(isWeight(operand.get()) ? weights : others);
    Value activation = op->getOperand(0);
    if (isWeight(activation)) // of a contraction, either may be the weight
      activation = op->getOperand(1);
    return others == 1 && weights > 0 && !activation.getDefiningOp<dnn::ReadOp>() &&
           cast<RankedTensorType>(activation.getType()).getElementType().isBF16();
  }

  /// The read of the parameter's copy of 8 bits; the other one goes if nobody else needs it.
  Value copyOf(Value weight) {
    auto read = weight.getDefiningOp<dnn::ReadOp>();
    Value &copy = reads[read];
    if (!copy) {
      OpBuilder builder(read);
      copy = dnn::ReadOp::create(builder, read.getLoc(), withElement(weight, format), read.getParameterAttr());
      if (auto name = read->getAttr(dnn::DnnDialect::kNameAttr))
        copy.getDefiningOp()->setAttr(dnn::DnnDialect::kNameAttr, name);
    }
    return copy;
  }

  /// Before the first product of the block that takes it.
  Value castOf(OpOperand &operand) {
    Operation *op = operand.getOwner();
    Value &made = casts[{op->getBlock(), operand.get()}];
    if (!made) {
      OpBuilder builder(op);
      auto cast = dnn::CastOp::create(builder, op->getLoc(), withElement(operand.get(), format), operand.get());
      if (StringRef name = dnn::nameOf(op); !name.empty())
        cast->setAttr(dnn::DnnDialect::kNameAttr, builder.getStringAttr(name + ".cast"));
      if (Attribute recompute = op->getAttr(dnn::DnnDialect::kRecomputeAttr))
        cast->setAttr(dnn::DnnDialect::kRecomputeAttr, recompute);
      made = cast;
    }
    return made;
  }

  Type format;
  llvm::DenseMap<dnn::ReadOp, Value> reads;
  llvm::DenseMap<std::pair<Block *, Value>, Value> casts;
};

} // namespace

unsigned quantizeProducts(dnn::ModelOp model, Type format) {
  unsigned products = ProductQuantizer(format).run(model);
  model.walk([](dnn::ReadOp read) {
    if (read->use_empty() && isWeight(read))
      read.erase();
  });
  return products;
}

} // namespace accord
