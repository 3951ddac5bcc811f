// The pass: a training's step as a function of its sizes.
#include "lib/driver/tasks/Latency.h"
#include "lib/latency/forms/Print.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "passes/decide/DecisionBuilder.h"
#include "passes/decide/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_EMITLATENCYMODEL
#include "passes/decide/Passes.h.inc"

namespace {

struct EmitLatencyModel : impl::EmitLatencyModelBase<EmitLatencyModel> {
  using EmitLatencyModelBase::EmitLatencyModelBase;

  void writeModel(const LatencyModel &model, const std::string &name) {
    OpBuilder builder = decisionBuilder<plan::LatencyModelOp>(getOperation(), name);
    Location unknown = builder.getUnknownLoc();
    auto decision = plan::LatencyModelOp::create(builder, unknown, name, model.model, model.machine,
                                                 model.name + "_evaluate", APFloat(model.planStep), model.exact);
    beginParts(builder, decision, model.notes);
    auto real = [&](double value) { return builder.getF64FloatAttr(value); };
    for (const LatencyArgument &one : model.arguments())
      plan::LatencyArgumentOp::create(
          builder, unknown, builder.getStringAttr(one.name), builder.getStringAttr(one.unit), real(one.initial),
          real(one.min), real(one.max), builder.getI64IntegerAttr(one.multiple),
          one.allowed.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(one.allowed),
          one.fixedReason.empty() ? StringAttr() : builder.getStringAttr(one.fixedReason));
    for (const LatencyModel::Sample &sample : model.samples)
      plan::LatencySampleOp::create(builder, unknown, builder.getF64ArrayAttr(sample.arguments),
                                    APFloat(sample.result.step), APFloat(sample.result.memory),
                                    APFloat(sample.result.flops));
  }

  /// The functions that compute the model; those of an earlier run go.
  LogicalResult writeFunctions(const LatencyModel &model) {
    OwningOpRef<ModuleOp> made = parseSourceString<ModuleOp>(printMlir(model), &getContext());
    if (!made)
      return failure();
    for (auto function : llvm::make_early_inc_range(made->getOps<func::FuncOp>())) {
      if (auto before = getOperation().lookupSymbol<func::FuncOp>(function.getSymName()))
        before.erase();
      function->moveBefore(getOperation().getBody(), getOperation().getBody()->end());
    }
    return success();
  }

  void runOnOperation() override {
    Options options = sessionOptions(file, target, train, costModel);
    options.elaborate.clusters = true;
    Session session(options);
    auto model = session.prepare() ? jobLatencyModel(session) : std::nullopt;
    if (failed(reportSession(getOperation(), session, model.has_value())))
      return signalPassFailure();
    writeModel(*model, session.job().name + ".latency");
    if (failed(writeFunctions(*model)))
      signalPassFailure();
  }
};

} // namespace
} // namespace accord
