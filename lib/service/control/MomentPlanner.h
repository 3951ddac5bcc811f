// Plans a cluster in which hundreds of jobs run at once: who runs now, on which nodes.
#pragma once
#include "lib/service/control/ClusterPlanner.h"

namespace accord::service {

/// Each job that runs and cannot move stays; the others get the configurations by which, weighted, as many jobs as
/// possible are complete in a second from now on (each counts 1 / its time left), within devices, power and quotas of
/// this moment: an allocation with a proved bound. Runs have no planned begin but now.
Result<ClusterPlan, Errors> planMoment(const PlannerInput &input, const PlannerOptions &options);

} // namespace accord::service
