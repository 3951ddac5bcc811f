// The table of objectives. A new one is an enumerator and an entry here, and its formula in verify/ObjectiveRules.cpp.
#include "lib/placement/problem/Objective.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <string>

namespace accord {

const std::vector<ObjectiveFormula> &objectiveFormulas() {
  using enum ObjectiveFormula::Needs;
  static const std::vector<ObjectiveFormula> table = {
      {PlacementObjective::StepTime, "step_time", "step_time", "step time", "s", 1e-12, Nothing, nullptr, nullptr,
       [](const StepCosts &costs, double) { return costs.step; }, nullptr, false},
      {PlacementObjective::Energy, "energy", "energy", "energy", "J", 1, Nothing, nullptr, nullptr,
       [](const StepCosts &costs, double costPerJoule) { return costs.joules * costPerJoule; },
       [](const SecondCosts &costs, double costPerJoule) { return costs.joules * costPerJoule; }, true},
      {PlacementObjective::Price, "price", "price", "price", "", 1, Price, nullptr, nullptr,
       [](const StepCosts &costs, double) { return costs.price; },
       [](const SecondCosts &costs, double) { return costs.price; }, false},
      {PlacementObjective::TdpTime, "tdp_time", nullptr, "step time x TDP", "W s", 1, Tdp, nullptr, nullptr,
       [](const StepCosts &costs, double) { return costs.tdpTime; },
       [](const SecondCosts &costs, double) { return costs.tdpTime; }, false},
      {PlacementObjective::Memory, "memory", "device.memory", "memory", "B", 1, Nothing, nullptr, nullptr,
       [](const StepCosts &costs, double) { return costs.memory; }, nullptr, false},
      {PlacementObjective::Carbon, "carbon", "carbon", "carbon", "gCO2e", 1, Nothing, "grid_intensity", "400 g/kWh",
       [](const StepCosts &costs, double gramsPerJoule) { return costs.joules * gramsPerJoule; },
       [](const SecondCosts &costs, double gramsPerJoule) { return costs.joules * gramsPerJoule; }, true},
  };
  return table;
}

const ObjectiveFormula &formulaOf(PlacementObjective objective) {
  return objectiveFormulas()[llvm::to_underlying(objective)];
}

const ObjectiveFormula *findObjective(llvm::StringRef name) {
  for (const ObjectiveFormula &one : objectiveFormulas())
    if (name == one.name)
      return &one;
  return nullptr;
}

const ObjectiveFormula *findMinimized(llvm::StringRef word) {
  for (const ObjectiveFormula &one : objectiveFormulas())
    if (one.minimize && word == one.minimize)
      return &one;
  return nullptr;
}

const char *name(PlacementObjective objective) { return formulaOf(objective).name; }

} // namespace accord
