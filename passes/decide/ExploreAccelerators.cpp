// A decision beside the plan of one training: the best accelerator of a space.
#include "lib/driver/exploration/Mine.h"
#include "passes/decide/Decision.h"
#include "passes/decide/Passes.h"

using namespace mlir;

namespace accord {

#define GEN_PASS_DEF_EXPLOREACCELERATORS
#include "passes/decide/Passes.h.inc"

namespace {

struct ExploreAccelerators : impl::ExploreAcceleratorsBase<ExploreAccelerators> {
  using ExploreAcceleratorsBase::ExploreAcceleratorsBase;

  void write(const MiningPlan &plan) {
    const MiningResult &result = plan.best.result;
    const auto &design = plan.best.design;
    std::string name = design ? design->name : plan.space;
    OpBuilder builder = decisionBuilder<plan::DesignChoiceOp>(getOperation(), name);
    Location unknown = builder.getUnknownLoc();
    auto choice =
        plan::DesignChoiceOp::create(builder, unknown, name, plan.space, plan.size, plan.metric, APFloat(result.value),
                                     APFloat(result.bound), result.proof, result.isOptimal, result.evaluations);
    beginParts(builder, choice, plan.assumptions,
               design                   ? ""
               : plan.conflicts.empty() ? "no design of the space keeps all requirements"
                                        : plan.conflicts[0].constraint);
    if (!design)
      return;
    for (auto [parameter, value] : llvm::zip_equal(plan.parameters, design->chosen))
      plan::DesignParameterOp::create(builder, unknown, parameter.name, value);
    for (const MinedStep &step : design->steps)
      plan::DesignStepOp::create(builder, unknown, step.job, step.alternative, step.batch, APFloat(step.step),
                                 APFloat(step.joules), static_cast<int64_t>(step.bytes));
  }

  void runOnOperation() override {
    MineOptions options;
    options.files.assign(files.begin(), files.end());
    options.session = sessionOptions("", space, train, "");
    options.metric = metric, options.strategy = strategy, options.aggregation = aggregation;
    options.evaluations = evaluations;
    if (options.files.empty()) {
      getOperation().emitError("'explore-accelerators' needs the option 'files'");
      return signalPassFailure();
    }
    if (auto plan = mineDesigns(options)) // what its sessions reported is printed
      return write(*plan);
    getOperation().emitError("nothing was mined: see the errors above");
    signalPassFailure();
  }
};

} // namespace

} // namespace accord
