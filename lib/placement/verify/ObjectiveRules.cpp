// One case for each objective; written without the solver's table on purpose.
#include "lib/placement/verify/ObjectiveRules.h"
#include <map>

namespace accord {

using Problem = PlacementProblem;
using Type = DeviceType;

const ObjectiveRule &ruleOf(PlacementObjective objective) {
  auto nothing = [](const Problem &, const Type &) { return 0.0; };
  auto joules = [](const Problem &p, const RecountedStep &s) { return p.costPerJoule * s.joules; };
  auto idle = [](const Problem &p, const Type &type) { return p.costPerJoule * type.restWatts(); };
  static const std::map<PlacementObjective, ObjectiveRule> rules{
      {PlacementObjective::StepTime, {[](const Problem &, const RecountedStep &s) { return s.step; }, nothing}},
      {PlacementObjective::Energy, {joules, idle, true}},
      {PlacementObjective::Price,
       {[](const Problem &, const RecountedStep &s) { return s.price; },
        [](const Problem &, const Type &type) { return type.pricePerHour / 3600; }}},
      {PlacementObjective::TdpTime,
       {[](const Problem &, const RecountedStep &s) { return s.tdpTime; },
        [](const Problem &, const Type &type) { return type.tdpWatts; }}},
      {PlacementObjective::Memory,
       {[](const Problem &, const RecountedStep &s) { return s.memory; }, nothing, false, true}},
      {PlacementObjective::Carbon, {joules, idle, true}},
  };
  return rules.at(objective);
}

} // namespace accord
