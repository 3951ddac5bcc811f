// The verifier's own formulas of objectives.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord {

/// What a step takes, as the verifier has counted it again.
struct RecountedStep {
  double step = 0; ///< picoseconds
  double joules = 0, price = 0, tdpTime = 0, memory = 0;
};

/// How the value of an objective follows from a step.
struct ObjectiveRule {
  double (*value)(const PlacementProblem &problem, const RecountedStep &step);
  /// Of one device in use, each second; 0 where the value is no sum over devices.
  double (*perSecond)(const PlacementProblem &problem, const DeviceType &deviceType);
  bool countsJoules = false; ///< joules of work add to the value, `costPerJoule` each
  bool isMemory = false;     ///< the value is no function of time: see `proveBound`
};
const ObjectiveRule &ruleOf(PlacementObjective objective);

} // namespace accord
