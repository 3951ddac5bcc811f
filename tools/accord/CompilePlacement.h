// accord compile on a cluster.
#pragma once
#include "lib/model/PlacementPlan.h"
#include "tools/accord/Planning.h"

namespace accord {

class Session;
struct Options;

/// Places the session's job, prints a summary and returns the exit status.
int compilePlacement(Session &session, const Options &options, const PlanningLimits &limits);

/// What a person wants to know of a placement first.
std::string placementText(const PlacementPlan &plan);

} // namespace accord
