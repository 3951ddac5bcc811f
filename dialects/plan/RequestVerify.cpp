// What a request and a placement on a cluster have to be, seen from their text alone.
#include "dialects/plan/PlanDialect.h"
#include <cmath>

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

LogicalResult ClusterPlacementOp::verify() {
  double value = getValue().convertToDouble(), bound = getBound().convertToDouble();
  if (value < bound - 0x1p-40 * std::abs(bound) && !getBody().front().getOps<PipelineStageOp>().empty())
    return emitOpError() << "objective '" << getObjective() << "' of " << value << " is below its bound of " << bound;
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
