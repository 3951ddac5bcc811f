// What a request and the decisions have to be, seen from their text alone.
#include "dialects/plan/PlanDialect.h"
#include <cmath>
#include <utility>

using namespace mlir;
using namespace accord::plan;

LogicalResult RequestOp::verifyRegions() {
  Block &body = getBody().front();
  if (!llvm::hasSingleElement(body) || body.front().getName().getStringRef() != "dnn.model")
    return emitOpError() << "holds one 'dnn.model', the one that is trained";
  if (getRecompute().empty())
    return emitOpError() << "names at least one policy in 'recompute'";
  return success();
}

/// Whether a value that is minimized keeps its bound; both are computed in binary floating point.
template <class Decision> static LogicalResult keepsBound(Decision op, StringRef objective) {
  double value = op.getValue().convertToDouble(), bound = op.getBound().convertToDouble();
  if (value < bound - 0x1p-40 * std::abs(bound))
    return op.emitOpError() << "objective '" << objective << "' of " << value << " is below its bound of " << bound;
  return success();
}

template <class Part, class Decision> static bool has(Decision op) {
  return !op.getBody().template getOps<Part>().empty();
}

/// A decision without parts says why there are none.
template <class Part, class Decision> static LogicalResult isDecided(Decision op, StringRef objective) {
  if (has<Part>(op))
    return keepsBound(op, objective);
  if (!has<ConflictOp>(op))
    return op.emitOpError() << "has neither a '" << Part::getOperationName() << "' nor a '"
                            << ConflictOp::getOperationName() << "'";
  return success();
}

LogicalResult ClusterPlacementOp::verify() {
  return has<PipelineStageOp>(*this) ? keepsBound(*this, getObjective()) : success();
}

LogicalResult DesignChoiceOp::verify() { return isDecided<DesignParameterOp>(*this, getMetric()); }

LogicalResult EnsembleOp::verify() { return isDecided<MemberOp>(*this, getObjective()); }

LogicalResult SparsityOp::verify() {
  if (getValue() < getBound())
    return emitOpError() << "objective '" << getObjective() << "' of " << getValue() << " is below its bound of "
                         << getBound();
  return success();
}

LogicalResult LatencyModelOp::verify() {
  auto arguments = getBody().getOps<LatencyArgumentOp>();
  for (LatencySampleOp sample : getBody().getOps<LatencySampleOp>())
    if (std::cmp_not_equal(sample.getArguments().size(), llvm::range_size(arguments)))
      return emitOpError() << "has a sample of " << sample.getArguments().size() << " arguments, the model has "
                           << llvm::range_size(arguments);
  return success();
}

LogicalResult LatencyArgumentOp::verify() {
  double initial = getInitial().convertToDouble();
  if (!(getMin().convertToDouble() <= initial && initial <= getMax().convertToDouble()))
    return emitOpError() << "'" << getName() << "' has a default outside of its interval";
  return success();
}

LogicalResult ClusterPlacementOp::verifyRegions() {
  auto stages = getBody().front().getOps<PipelineStageOp>();
  auto schedules = getBody().front().getOps<PipelineScheduleOp>();
  bool feasible = !stages.empty();
  if (llvm::range_size(schedules) != (feasible ? 1 : 0))
    return emitOpError() << "has " << (feasible ? "one 'plan.pipeline_schedule'" : "stages where it has a schedule");
  uint64_t next = 0;
  for (PipelineStageOp stage : stages) {
    if (stage.getIndex() != next++)
      return stage.emitOpError() << "is number " << next - 1 << ", found " << stage.getIndex();
    if (stage.getLayers().empty())
      return stage.emitOpError() << "runs at least one layer";
  }
  return success();
}
