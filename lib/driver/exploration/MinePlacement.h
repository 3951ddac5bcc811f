// accord mine where a file trains on a cluster: its job as one of mining, and the placement on the
// design that is best.
#pragma once
#include "lib/driver/Session.h"
#include "lib/exploration/clusters/PlacedProblem.h"
#include "lib/exploration/problem/MiningPlan.h"

namespace accord {

/// The session's job on devices of the space, by point of what its cluster leaves open: null where
/// it has no placement. Nothing after errors, which are reported.
PlacedWorks placedWorks(Session &session, const DesignSpace &space, MiningMetric metric);
/// Plans the job on its cluster of the design's machine as `accord compile` does, beginning with
/// the mined plan, proves the plan and writes it into a folder. False after errors.
bool writeMinedPlacement(Session &session, const Machine &machine, const PlacedBest &mined, MiningMetric metric,
                         const std::string &folder);
/// What keeps the job from devices with the most of everything; nothing: it is not known.
std::optional<Conflict> placementConflict(Session &session, const Machine &max, MiningMetric metric);

} // namespace accord
