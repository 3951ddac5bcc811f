// A decision beside the plan of one training: the step time as a function.
#include "lib/driver/tasks/Latency.h"
#include "lib/latency/forms/MlirLowering.h"
#include "lib/latency/forms/Print.h"
#include "mlir/Parser/Parser.h"
#include "passes/decide/Decision.h"
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
    for (const LatencyArgument &one : model.arguments())
      plan::LatencyArgumentOp::create(
          builder, unknown, one.name, one.unit, APFloat(one.initial), APFloat(one.min), APFloat(one.max), one.multiple,
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
    for (auto function : llvm::make_early_inc_range(made->getOps<SymbolOpInterface>())) {
      if (mlir::Operation *before = getOperation().lookupSymbol(function.getName());
          before && before->getName() == function->getName())
        before->erase();
      function->moveBefore(getOperation().getBody(), getOperation().getBody()->end());
    }
    return success();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    EmitLatencyModelBase::getDependentDialects(registry);
    registerLatencyDialects(registry);
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
