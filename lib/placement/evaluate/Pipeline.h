// In which order device groups run the passes of a pipeline, and when each pass ends.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord {

struct SimulatedPass {
  PipelinePass pass;
  int64_t start = 0, end = 0;
};
struct PipelineRun {
  int64_t step = 0;
  std::vector<int64_t> groupEnd; ///< when each group's last pass ends (its stages' `finish` not counted)
  std::vector<int64_t> inFlight; ///< by stage: as happened
  std::vector<std::vector<SimulatedPass>> passes; ///< by group, if asked for
};

/// Which stages a stage waits for in its forward pass, and which wait for it: chains unless the layers branch. Backward
/// passes wait the other way round.
using StageEdges = std::vector<std::vector<uint32_t>>; ///< by stage: stages that feed it, ascending

/// Exact times: a pass starts when its group is free and what it needs has arrived. Without blocking transfers what
/// stage a sends to b arrives `send` of a after its pass ends, transfers of one boundary and direction one after the
/// other. step = max over groups of (groupEnd + finish of its stages). O(m v p) but for ZeroBubble, O(m p log).
PipelineRun simulate(const PipelineShape &shape, const std::vector<StageTimes> &stages, const StageEdges &edges,
                     bool record = false);
/// Stages in a chain.
StageEdges chainOf(size_t stages);

} // namespace accord
