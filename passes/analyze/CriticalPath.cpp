// The pass: how critical each operation is, beside it.
#include "lib/planning/analysis/CriticalPath.h"
#include "mlir/IR/Builders.h"
#include "passes/analyze/Passes.h"
#include "passes/analyze/Target.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_CRITICALPATHPASS
#include "passes/analyze/Passes.h.inc"

namespace {

/// `plan.time` of each operation; repeats take what their bodies take.
FailureOr<std::vector<Picoseconds>> times(dnn::TrainingGraphOp graph, const WorkGraph &work,
                                          ArrayRef<mlir::Operation *> origins) {
  std::vector<Picoseconds> durations(origins.size());
  for (OperationId id = 0; id < origins.size(); ++id) {
    if (work.operations[id].body != kNone)
      continue;
    auto time = origins[id]->getAttrOfType<IntegerAttr>("plan.time");
    if (!time || !time.getType().isInteger(64) || time.getInt() < 0)
      return origins[id]->emitError() << "'" << work.operations[id].name << "' "
                                      << (time ? "has a 'plan.time' that is no number of picoseconds (i64, 0 or more)"
                                               : "has no 'plan.time': run 'estimate-cost' first");
    durations[id] = Picoseconds{time.getInt()};
  }
  if (sumOfWork(work, durations) >= kLongestStep)
    return graph.emitError("the step takes longer than 26 days, one operation after the other");
  return durations;
}

/// What each operation and each kind of core contributes to the longest chains.
void annotateWhatIf(dnn::TrainingGraphOp graph, const WorkGraph &work, const Dependences &dependences,
                    const std::vector<Picoseconds> &durations, ArrayRef<mlir::Operation *> origins) {
  Builder builder(graph.getContext());
  IncrementalCriticalPath moving(work, dependences, durations);
  int64_t step = moving.path().step.value;
  std::vector<Timing> timing = moving.path().timing;
  for (OperationId id = 0; id < origins.size(); ++id) {
    origins[id]->removeAttr("plan.gain");
    // In a body slack says nothing: other operations may bind over many iterations.
    bool top = work.operations[id].region <= kUpdateRegion;
    if (durations[id].value == 0 || (top && timing[id].slack().value > 0))
      continue;
    if (int64_t gain = step - moving.stepWith(id, {0}).value; gain > 0)
      origins[id]->setAttr("plan.gain", builder.getI64IntegerAttr(gain));
  }
  NamedAttrList kinds;
  for (CoreKind kind : {CoreKind::Tensor, CoreKind::Vector, CoreKind::Network, CoreKind::None}) {
    std::vector<Picoseconds> only(durations.size());
    for (OperationId id = 0; id < durations.size(); ++id)
      if (work.operations[id].core == kind)
        only[id] = durations[id];
    if (Picoseconds alone = accord::CriticalPath::of(work, dependences, only).step; alone.value > 0)
      kinds.append(name(kind), builder.getI64IntegerAttr(alone.value));
  }
  graph->setAttr("plan.critical_path_of", kinds.getDictionary(graph.getContext()));
}

LogicalResult annotate(dnn::TrainingGraphOp graph, bool whatIf) {
  auto samples = graph->getAttrOfType<IntegerAttr>("plan.microbatch");
  std::vector<mlir::Operation *> origins;
  FailureOr<WorkGraph> work = checkedWork(graph, samples ? samples.getInt() : 1, 1, &origins);
  if (failed(work))
    return failure();
  auto durations = times(graph, *work, origins);
  if (failed(durations))
    return failure();
  Dependences dependences = Dependences::of(*work);
  accord::CriticalPath path = accord::CriticalPath::of(*work, dependences, *durations);
  Builder builder(graph.getContext());
  auto set = [&](mlir::Operation *op, StringRef name, Picoseconds value) {
    op->setAttr(name, builder.getI64IntegerAttr(value.value));
  };
  for (OperationId id = 0; id < origins.size(); ++id) {
    mlir::Operation *op = origins[id];
    if (work->operations[id].body != kNone)
      set(op, "plan.time", path.repeat[id]);
    set(op, "plan.earliest", path.timing[id].earliest);
    set(op, "plan.latest", path.timing[id].latest);
    set(op, "plan.slack", path.timing[id].slack());
    op->removeAttr("plan.critical");
  }
  for (OperationId id : path.chain)
    origins[id]->setAttr("plan.critical", builder.getUnitAttr());
  graph->setAttr("plan.critical_path", builder.getDenseI64ArrayAttr(
                                           {path.length[kMicrobatchRegion].value, path.length[kUpdateRegion].value}));
  if (whatIf)
    annotateWhatIf(graph, *work, dependences, *durations, origins);
  return success();
}

struct AnnotateCriticalPath : impl::CriticalPathPassBase<AnnotateCriticalPath> {
  using CriticalPathPassBase::CriticalPathPassBase;
  void runOnOperation() override {
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>())
      if (failed(annotate(graph, whatIf)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace accord
