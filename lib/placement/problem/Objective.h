// What a placement minimizes: each objective is one entry of a table, with its words, its unit and its formula.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// Throughput is batch / step time, so minimizing the step time maximizes it; a step of a given batch costs devices *
/// price * time. Of plans whose values are equal (within 1e-9) the one with the shortest step is best.
enum class PlacementObjective : uint8_t {
  StepTime,
  Energy,  ///< joules of a step
  Price,   ///< of a step
  TdpTime, ///< step time * thermal design power of the devices used: maximum throughput per watt of TDP
  Memory,  ///< bytes of the device that uses most of its memory, whatever its type
  Carbon   ///< grams of carbon dioxide equivalent of a step: energy times the intensity of the grid
};

/// What a step of a plan takes, or a lower bound of each.
struct StepCosts {
  double step = 0;   ///< picoseconds
  double joules = 0; ///< work and idle power
  double price = 0;
  double tdpTime = 0; ///< watts of thermal design power * seconds
  double memory = 0;  ///< bytes of the device that uses most
};

/// What the devices in use take in every second, whatever they do.
struct SecondCosts {
  double joules = 0, price = 0, tdpTime = 0;
};

/// One objective. A value is linear in what a step takes, and less of anything never makes it larger: the same formula
/// gives the value of a plan and, of lower bounds, a lower bound. `costPerJoule` is `PlacementProblem::costPerJoule`.
struct ObjectiveFormula {
  PlacementObjective objective;
  const char *name;     ///< in documents: "step_time"
  const char *minimize; ///< what `minimize` names in a training; nullptr: another expression states it
  const char *label;    ///< in summaries
  const char *unit;     ///< of a printed value; empty: dollars
  double scale;         ///< printed value / value
  /// What every device type of the cluster has to state, if anything.
  enum class Needs : uint8_t { Nothing, Price, Tdp } needs;
  const char *clusterKey;     ///< key of the cluster that says what a joule costs; nullptr: a joule counts as one
  const char *clusterExample; ///< of that key
  double (*value)(const StepCosts &, double costPerJoule);
  /// What each second adds to the value; nullptr: the value is no sum over devices.
  double (*perSecond)(const SecondCosts &, double costPerJoule);
  bool countsJoules; ///< each joule of work adds `costPerJoule`
};

/// All objectives, in the order of the enumeration.
const std::vector<ObjectiveFormula> &objectiveFormulas();
const ObjectiveFormula &formulaOf(PlacementObjective objective);
/// The objective with a name of documents; nullptr: there is none.
const ObjectiveFormula *findObjective(llvm::StringRef name);
/// The objective that `minimize WORD` states; nullptr: there is none.
const ObjectiveFormula *findMinimized(llvm::StringRef word);

const char *name(PlacementObjective objective); ///< `ObjectiveFormula::name`

} // namespace accord
