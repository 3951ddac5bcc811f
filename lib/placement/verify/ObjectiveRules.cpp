// One case for each objective; written without the solver's table on purpose.
#include "lib/placement/verify/ObjectiveRules.h"

namespace accord {

using Problem = PlacementProblem;
using Type = PlacementProblem::DeviceType;

const ObjectiveRule &ruleOf(PlacementObjective objective) {
  static const ObjectiveRule step{[](const Problem &, const RecountedStep &s) { return s.step; },
                                  [](const Problem &, const Type &) { return 0.0; }, false, false};
  static const ObjectiveRule energy{[](const Problem &p, const RecountedStep &s) { return p.costPerJoule * s.joules; },
                                    [](const Problem &p, const Type &type) { return p.costPerJoule * type.idleWatts; },
                                    true, false};
  static const ObjectiveRule price{[](const Problem &, const RecountedStep &s) { return s.price; },
                                   [](const Problem &, const Type &type) { return type.pricePerHour / 3600; }, false,
                                   false};
  static const ObjectiveRule tdpTime{[](const Problem &, const RecountedStep &s) { return s.tdpTime; },
                                     [](const Problem &, const Type &type) { return type.tdpWatts; }, false, false};
  static const ObjectiveRule memory{[](const Problem &, const RecountedStep &s) { return s.memory; },
                                    [](const Problem &, const Type &) { return 0.0; }, false, true};
  static const ObjectiveRule carbon{[](const Problem &p, const RecountedStep &s) { return p.costPerJoule * s.joules; },
                                    [](const Problem &p, const Type &type) { return p.costPerJoule * type.idleWatts; },
                                    true, false};
  switch (objective) {
  case PlacementObjective::StepTime:
    return step;
  case PlacementObjective::Energy:
    return energy;
  case PlacementObjective::Price:
    return price;
  case PlacementObjective::TdpTime:
    return tdpTime;
  case PlacementObjective::Memory:
    return memory;
  case PlacementObjective::Carbon:
    return carbon;
  }
  return step;
}

} // namespace accord
