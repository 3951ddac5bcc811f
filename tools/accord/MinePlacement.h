// accord mine where a file trains on a cluster: its job as one of mining, and the placement on the
// design that is best.
#pragma once
#include "lib/mine/PlacedProblem.h"
#include "lib/model/MiningPlan.h"
#include "tools/accord/Session.h"

namespace accord {

/// The session's job on devices of the space; nothing after errors, which are reported.
std::shared_ptr<const PlacedWork> placedWork(Session &session, const DesignSpace &space,
                                             MiningMetric metric);
/// Words and numbers of a placement, but for the job's own best value.
MinedStep minedStep(const std::string &job, int64_t batch, const PlacedBest &best);
/// Plans the job on its cluster of this machine as `accord compile` does, proves the plan and
/// writes it into a folder. False after errors; A0810 where its value is not the mined one.
bool writeMinedPlacement(Session &session, const MinedDesign &design, const MinedStep &step,
                         MiningMetric metric, const std::string &folder);
/// What keeps the job from devices with the most of everything; empty: nothing, or it is not known.
std::string placementConflict(Session &session, const Machine &most, MiningMetric metric,
                              SourceLocation &at);

} // namespace accord
