// The pass: how critical each operation is, beside it.
#include "lib/analysis/CriticalPath.h"
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
      return origins[id]->emitError()
             << "'" << work.operations[id].name << "' "
             << (time ? "has a 'plan.time' that is no number of picoseconds (i64, 0 or more)"
                      : "has no 'plan.time': run 'estimate-cost' first");
    durations[id] = Picoseconds{time.getInt()};
  }
  if (sumOfWork(work, durations) >= kLongestStep)
    return graph.emitError("the step takes longer than 26 days, one operation after the other");
  return durations;
}

LogicalResult annotate(dnn::TrainingGraphOp graph) {
  auto samples = graph->getAttrOfType<IntegerAttr>("plan.microbatch");
  std::vector<mlir::Operation *> origins;
  FailureOr<WorkGraph> work = checkedWork(graph, samples ? samples.getInt() : 1, 1, &origins);
  if (failed(work))
    return failure();
  auto durations = times(graph, *work, origins);
  if (failed(durations))
    return failure();
  accord::CriticalPath path = accord::CriticalPath::of(*work, Dependences::of(*work), *durations);
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
  graph->setAttr("plan.critical_path",
                 builder.getDenseI64ArrayAttr(
                     {path.length[kMicrobatchRegion].value, path.length[kUpdateRegion].value}));
  return success();
}

struct AnnotateCriticalPath : impl::CriticalPathPassBase<AnnotateCriticalPath> {
  void runOnOperation() override {
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>())
      if (failed(annotate(graph)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace accord
