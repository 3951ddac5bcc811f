#include "lib/placement/output/PlacementMlir.h"
#include "dialects/plan/PlanDialect.h"
#include "lib/placement/output/PlacementFigures.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace accord {
namespace {

SmallVector<StringRef> texts(const std::vector<std::string> &strings) { return {strings.begin(), strings.end()}; }

void writeStages(OpBuilder &builder, const PlacementPlan &plan) {
  const PlacementProblem &problem = plan.problem;
  const Placement &placement = *plan.result.plan;
  PlacementFigures figures = figuresOf(plan);
  Location unknown = builder.getUnknownLoc();
  plan::PipelineScheduleOp::create(builder, unknown, name(placement.schedule), placement.virtualStages,
                                   placement.microbatches, plan.result.metrics.devices);
  for (size_t s = 0; s < placement.stages.size(); ++s) {
    const PlacedStage &stage = placement.stages[s];
    const ParallelConfig &config = problem.parallelConfigs[stage.parallelConfig];
    const GroupFigures &group = figures.groups[s % figures.groups.size()];
    NamedAttrList recompute;
    for (const RecomputeRun &run : recomputeRuns(problem, stage))
      recompute.set(run.policy, builder.getStrArrayAttr(texts(layerRuns(problem, run.layers))));
    std::string features = featuresText(config);
    plan::PipelineStageOp::create(
        builder, unknown, builder.getI64IntegerAttr(s),
        builder.getStrArrayAttr(texts(layerRuns(problem, stage.layers))),
        builder.getStringAttr(problem.deviceTypes[config.deviceType].name), builder.getStringAttr(group.ranks()),
        builder.getI64IntegerAttr(config.tensor), builder.getI64IntegerAttr(config.data / config.context),
        builder.getI64IntegerAttr(config.microbatch), builder.getI64IntegerAttr(config.zero),
        config.sequence ? builder.getUnitAttr() : UnitAttr(),
        features.empty() ? StringAttr() : builder.getStringAttr(features),
        recompute.getDictionary(builder.getContext()), builder.getI64IntegerAttr(group.peak()));
  }
}

/// The layers that have zeros, and what is claimed of accuracy.
void writeZeros(OpBuilder &builder, const PlacementPlan &plan) {
  Location unknown = builder.getUnknownLoc();
  for (const SparsityFigures::Row &row : sparsityFiguresOf(plan).rows)
    for (const std::string &layer : row.layers)
      if (!row.isDense)
        plan::LayerSparsityOp::create(builder, unknown, layer, row.option, FloatAttr(), FloatAttr(), FloatAttr(),
                                      IntegerAttr(), FloatAttr());
  if (const auto &accuracy = plan.zeros->accuracy)
    plan::AccuracyOp::create(builder, unknown, accuracy->metric, accuracy->min.print(), accuracy->guaranteed,
                             accuracy->level);
}

} // namespace

OwningOpRef<ModuleOp> toPlanDialect(MLIRContext &context, const PlacementPlan &plan) {
  context.getOrLoadDialect<plan::PlanDialect>();
  OpBuilder builder(&context);
  Location unknown = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(unknown);
  builder.setInsertionPointToEnd(module->getBody());
  auto placement = plan::ClusterPlacementOp::create(
      builder, unknown, plan.job, plan.model, plan.cluster, name(plan.problem.objective), APFloat(plan.result.value),
      APFloat(plan.result.bound), plan.result.proof, plan.result.metrics.step);
  builder.setInsertionPointToEnd(&placement.getBody().emplaceBlock());
  if (plan.result.plan)
    writeStages(builder, plan);
  if (plan.result.plan && plan.zeros)
    writeZeros(builder, plan);
  auto located = [&](const Conflict &conflict) -> Location {
    if (conflict.file.empty())
      return unknown;
    return FileLineColLoc::get(&context, conflict.file, conflict.line, 1);
  };
  for (const Conflict &conflict : plan.conflicts)
    plan::ConflictOp::create(builder, located(conflict), conflict.constraint, conflict.detail);
  for (const std::string &assumption : plan.assumptions)
    plan::AssumptionOp::create(builder, unknown, assumption);
  return module;
}

std::string planMlir(const PlacementPlan &plan) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string text;
  llvm::raw_string_ostream out(text);
  toPlanDialect(context, plan)->print(out);
  return text;
}

} // namespace accord
