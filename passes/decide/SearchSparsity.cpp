// A decision beside the plan of one training: which weights are zero.
#include "lib/driver/tasks/Prune.h"
#include "passes/decide/Decision.h"
#include "passes/decide/Passes.h"

using namespace mlir;

namespace accord {

#define GEN_PASS_DEF_SEARCHSPARSITY
#include "passes/decide/Passes.h.inc"

namespace {

struct SearchSparsity : impl::SearchSparsityBase<SearchSparsity> {
  using SearchSparsityBase::SearchSparsityBase;

  void write(const SparsityPlan &plan) {
    OpBuilder builder = decisionBuilder<plan::SparsityOp>(getOperation(), plan.training);
    Location unknown = builder.getUnknownLoc();
    const SelectionResult &selected = plan.selection();
    auto sparsity = plan::SparsityOp::create(builder, unknown, plan.training, plan.model, plan.machine, plan.objective,
                                             selected.value, selected.bound, APFloat(plan.confidence));
    beginParts(builder, sparsity, plan.assumptions);
    auto real = [&](double value) { return builder.getF64FloatAttr(value); };
    if (const auto &step = plan.step)
      for (const PruneLayer &layer : step->layers)
        plan::LayerSparsityOp::create(builder, unknown, layer.name, layer.chosen().label, real(layer.chosen().seconds),
                                      real(layer.chosen().expected), real(layer.options.front().seconds), IntegerAttr(),
                                      FloatAttr());
    else
      for (auto [layer, stage] : llvm::zip_equal(plan.pipeline->problem.layers, plan.pipeline->result.stages))
        plan::LayerSparsityOp::create(builder, unknown, layer.name, stage.label, FloatAttr(), FloatAttr(), FloatAttr(),
                                      builder.getI64IntegerAttr(stage.multipliers), real(stage.cycles.max()));
    if (const auto &accuracy = plan.accuracy)
      plan::AccuracyOp::create(builder, unknown, accuracy->metric, accuracy->min.print(), accuracy->guaranteed,
                               accuracy->level);
  }

  void runOnOperation() override {
    Options options = sessionOptions(file, target, train, costModel);
    options.elaborate.prunes = options.elaborate.clusters = true;
    Session session(options);
    auto plan = session.prepare() ? chooseSparsity(session, {.confidence = confidence}) : std::nullopt;
    if (failed(reportSession(getOperation(), session, plan.has_value())))
      return signalPassFailure();
    write(*plan);
  }
};

} // namespace

} // namespace accord
