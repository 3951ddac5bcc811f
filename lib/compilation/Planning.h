// How the phases of the pipeline that decide search, and what they found, for a caller that needs more than the module.
#pragma once
#include "lib/machine/collectives/Collective.h"
#include "lib/machine/model/Plan.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/support/Result.h"
#include <functional>
#include <optional>

namespace accord {
class Diagnostics;
class TrainingGraphs;
struct PlacementSpace;
struct PlacementSparsityRequest;

/// Progress is told from all threads.
struct Planning : SearchControl {
  unsigned threads = 1;                                                    ///< the result is the same for any number
  std::function<std::string()> stopReason;                                 ///< why it was stopped, in words
  std::function<std::optional<Placement>(const PlacementProblem &)> known; ///< a plan for a placement to begin with
  std::function<void(PlacementSpace &)>
      within; ///< restricts the space to that plan's part, all that a stopped search needs
  /// Whether a placement is to have some plan at hand before the costs of all its configurations are known, for a stop
  /// that may come at any moment.
  bool firstAnswer = false;
  std::function<void()> found;    ///< called when there is such a plan
  const Fabric *fabric = nullptr; ///< of a step that several devices share: what connects them, and the axes of devices
  std::vector<Axis> axes;
  const PlacementSparsityRequest *zeros = nullptr; ///< that layers of a placement may have; null: none
  TrainingGraphs *graphs = nullptr;   ///< those of the request that are built already; null: they are built again
  Diagnostics *diagnostics = nullptr; ///< gets errors with their places; null: they become diagnostics of MLIR

  Errors errors;                          ///< why there is no plan
  std::optional<Plan> plan;               ///< of the phase schedule
  std::optional<PlacementPlan> placement; ///< of the phase place
};

} // namespace accord
