// accord mine --stages: a design for each stage of a pipeline.
#pragma once
#include "lib/driver/exploration/MineJobs.h"
#include "lib/exploration/clusters/StagedDesigns.h"

namespace accord {

/// Why stages cannot be mined, with what would do; reported at once. False then.
bool mayMineStages(const MineOptions &options, MineJobs &jobs);
/// Stages of the only job, beginning with its best common design. Nothing where none are in the search space.
std::optional<MinedStages> minedStages(const MineOptions &options, MineJobs &jobs, const PlacedBest &placed,
                                       const Design &common, const std::atomic<bool> *stop);

} // namespace accord
