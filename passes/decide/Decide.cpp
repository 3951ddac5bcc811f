// The passes: decisions beside the plan of one training.
#include "dialects/plan/PlanDialect.h"
#include "lib/driver/Session.h"
#include "lib/driver/exploration/Mine.h"
#include "lib/driver/tasks/Latency.h"
#include "lib/driver/tasks/Prune.h"
#include "lib/driver/tasks/Vote.h"
#include "lib/latency/forms/MlirLowering.h"
#include "lib/latency/forms/Print.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "passes/analyze/Target.h"
#include "passes/decide/Passes.h"

using namespace mlir;

namespace accord {
namespace {

/// At the end of a module, with a decision of an earlier run of this name removed.
template <class Decision> mlir::OpBuilder decisionBuilder(mlir::ModuleOp module, llvm::StringRef name) {
  if (auto before = module.lookupSymbol<Decision>(name))
    before.erase();
  return mlir::OpBuilder::atBlockEnd(module.getBody());
}

/// The options of a session for a file and a training of it.
Options sessionOptions(StringRef file, StringRef target, StringRef train, StringRef costModel) {
  Options options;
  options.file = file.str();
  options.elaborate.target = target.str();
  options.elaborate.train = train.str();
  options.costModel = costModel.str();
  return options;
}

/// What a session reported, as diagnostics of MLIR; what has no place is at the module. Fails, and says that there is
/// no decision where it reported no error. Warnings alone: succeeds where `decided`.
LogicalResult reportSession(ModuleOp module, Session &session, bool decided) {
  emitDiagnostics(module, session.diagnostics());
  if (session.diagnostics().hasErrors())
    return failure();
  if (!decided)
    return module.emitError("nothing was decided: see the errors above");
  return success();
}

/// The builder moves into the decision, whose assumptions and conflict are written first.
void beginParts(OpBuilder &builder, mlir::Operation *decision, ArrayRef<std::string> assumptions,
                StringRef conflict = {}) {
  builder.setInsertionPointToEnd(&decision->getRegion(0).emplaceBlock());
  for (const std::string &assumption : assumptions)
    plan::AssumptionOp::create(builder, builder.getUnknownLoc(), assumption);
  if (!conflict.empty())
    plan::ConflictOp::create(builder, builder.getUnknownLoc(), conflict, "");
}

} // namespace

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
                                      real(layer.chosen().quantile), real(layer.options.front().seconds), IntegerAttr(),
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
    auto plan = session.prepare() ? chooseSparsity(session, confidence) : std::nullopt;
    if (failed(reportSession(getOperation(), session, plan.has_value())))
      return signalPassFailure();
    write(*plan);
  }
};

} // namespace

#define GEN_PASS_DEF_PARTITIONENSEMBLE
#include "passes/decide/Passes.h.inc"

namespace {

struct PartitionEnsemble : impl::PartitionEnsembleBase<PartitionEnsemble> {
  using PartitionEnsembleBase::PartitionEnsembleBase;

  void write(const EnsemblePlan &plan) {
    OpBuilder builder = decisionBuilder<plan::EnsembleOp>(getOperation(), plan.name);
    Location unknown = builder.getUnknownLoc();
    const MemberChoice *chosen = plan.chosen();
    MemberObjective objective = plan.problem.objective;
    double unit = objective == MemberObjective::StepTime ? 1e-12 : 1; // picoseconds become seconds
    const GuaranteeText *guarantee = nullptr;
    if (chosen && plan.guarantees[*plan.result.best])
      guarantee = &*plan.guarantees[*plan.result.best];
    auto ensemble = plan::EnsembleOp::create(
        builder, unknown, plan.name, plan.train, name(objective),
        APFloat(chosen ? valueOf(*chosen, objective) * unit : std::numeric_limits<double>::infinity()),
        APFloat(plan.result.bound * unit), (chosen ? chosen->error : Rational(1)).print(),
        guarantee ? guarantee->bound : "", plan.confidence.print());
    beginParts(builder, ensemble, plan.assumptions, plan.conflict);
    if (!chosen)
      return;
    for (const PlacedMember &member : chosen->members) {
      const MemberCost &cost = plan.problem.kinds[member.kind].alternatives[member.device][member.alternative];
      plan::MemberOp::create(builder, unknown, plan.problem.kinds[member.kind].name,
                             plan.problem.devices[member.device].name, member.first, cost.text, cost.devices, cost.time,
                             cost.state, cost.activations);
    }
  }

  void runOnOperation() override {
    Options options = sessionOptions(file, "", "", costModel);
    options.elaborate.ensemble = ensemble;
    Session session(options);
    std::optional<int> printed; // the exit status, where errors of a member's training are printed
    auto plan = session.prepare() ? planEnsemble(session, options, printed) : std::nullopt;
    if (failed(reportSession(getOperation(), session, plan.has_value())))
      return signalPassFailure();
    write(*plan);
  }
};

} // namespace

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
