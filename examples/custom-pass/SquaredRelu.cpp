// An operation: relu(x)^2 (So et al., Primer: Searching for Efficient Transformers, 2021), and the
// pass that puts it into a model.
#include "Plugin.h"
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace accord;

namespace custom {
namespace {

/// `custom.squared_relu`: y = max(x, 0)^2, element-wise. What it answers for `WorkOpInterface` is
/// all that costs, schedules and plans know of it; what it answers for `DifferentiableOpInterface`
/// is all that the training graph needs.
class SquaredReluOp
    : public mlir::Op<
          SquaredReluOp, mlir::OpTrait::ZeroRegions, mlir::OpTrait::ZeroSuccessors, mlir::OpTrait::OneOperand,
          mlir::OpTrait::OneResult, mlir::OpTrait::OneTypedResult<mlir::RankedTensorType>::Impl,
          mlir::OpTrait::SameOperandsAndResultType, WorkOpInterface::Trait, DifferentiableOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SquaredReluOp)
  using Op::Op;
  static llvm::StringRef getOperationName() { return "custom.squared_relu"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
  static SquaredReluOp create(mlir::OpBuilder &builder, mlir::Location location, mlir::Value x,
                              llvm::ArrayRef<mlir::NamedAttribute> attributes) {
    mlir::OperationState state(location, getOperationName(), x, x.getType(), attributes);
    return llvm::cast<SquaredReluOp>(builder.create(state));
  }

  Work getWork() { return dnn::pointwiseWork(getOperation()); }
  int64_t getFlopsPerPoint() { return 2; }

  /// dx = 2 * max(x, 0) * dy. It reads x of the forward pass, which the training graph keeps for
  /// it.
  llvm::LogicalResult buildGradient(GradientContext &context) {
    mlir::OpBuilder &builder = context.builder;
    mlir::Type type = getType();
    mlir::Value x = context.forward(getOperand());
    mlir::Value relu = dnn::ReluOp::create(builder, context.location, type, x);
    mlir::Value slope = dnn::ScaleOp::create(builder, context.location, type, relu, builder.getF64FloatAttr(2));
    context.operandGradients[0] =
        dnn::MulOp::create(builder, context.location, type, context.resultGradients[0], slope);
    return mlir::success();
  }
};

class CustomDialect : public mlir::Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CustomDialect)
  explicit CustomDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context, mlir::TypeID::get<CustomDialect>()) {
    addOperations<SquaredReluOp>();
  }
  static llvm::StringRef getDialectNamespace() { return "custom"; }
};

/// Before:  %y = dnn.gelu %x : …
/// After:   %y = "custom.squared_relu"(%x) : …
struct UseSquaredRelu : mlir::PassWrapper<UseSquaredRelu, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UseSquaredRelu)

  llvm::StringRef getArgument() const override { return "use-squared-relu"; }
  llvm::StringRef getDescription() const override { return "relu(x)^2 instead of gelu(x)"; }
  void getDependentDialects(mlir::DialectRegistry &registry) const override { registry.insert<CustomDialect>(); }

  void runOnOperation() override {
    getOperation().walk([](dnn::GeluOp gelu) {
      mlir::OpBuilder builder(gelu);
      auto squared = SquaredReluOp::create(builder, gelu.getLoc(), gelu.getX(), gelu->getAttrs());
      gelu.replaceAllUsesWith(squared->getResult(0));
      gelu.erase();
    });
  }
};

} // namespace

void registerSquaredRelu() { mlir::PassRegistration<UseSquaredRelu>(); }
void registerDialect(mlir::DialectRegistry *registry) { registry->insert<CustomDialect>(); }
} // namespace custom
