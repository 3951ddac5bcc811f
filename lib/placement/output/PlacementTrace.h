// trace.json of a pipeline, for Perfetto and chrome://tracing; and its passes for other pictures.
#pragma once
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/planning/output/Trace.h"

namespace accord {

/// One box on the track of a device group; picoseconds from the start of the step.
struct PipelineSlice {
  enum class Kind : uint8_t { Forward, Backward, Weight, GradientSync, Update, Bubble, Summary };
  Kind kind = Kind::Forward;
  uint32_t stage = 0, microbatch = 0;
  int64_t start = 0, end = 0;
  int64_t passes = 1; ///< a summary stands for so many
  double busy = 1;    ///< share of a summary's time
};
const char *name(PipelineSlice::Kind); ///< "forward", …

/// Passes as `simulate` gives them, gaps between them as bubbles, then exchange and update. With more than `most`
/// passes each group keeps as many at its beginning and its end, and one summary stands for those between.
struct PipelinePicture {
  std::vector<std::vector<PipelineSlice>> groups; ///< by start
  int64_t step = 0;
  int64_t left = 0; ///< passes that are in summaries
};
PipelinePicture picture(const PlacementPlan &plan, const PlacementFigures &figures, size_t max);

/// Trace event format, as `toTrace(const Plan &)`: process 1 has a thread for one device of each group; `args` of a
/// slice: stage, microbatch, layers. Process 2 has the memory of a device of each group. Only the first and the last
/// passes of long steps are there: `otherData.left_out` says how many are not.
llvm::json::Value toTrace(const PlacementPlan &plan, const TraceLimits &limits = {});

} // namespace accord
