// What the stages of a cluster's plan compute, operation by operation: from the description that the plan was made of.
#pragma once
#include "lib/comparison/problem/ClusterPlan.h"
#include "lib/comparison/problem/Comparison.h"
#include "lib/driver/Options.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/support/Result.h"
#include <optional>

namespace accord {

/// The step of one device of a stage, without the update and without collectives, which ranks exchange.
struct StageStep {
  comparison::PlannedStep step;
  /// Of collectives inside of layers, by purpose: seconds and bytes of a step.
  struct Exchange {
    std::map<comparison::CommunicationKind, int64_t> bytes;
    double seconds = 0;
  };
  std::map<comparison::Purpose, Exchange> exchanges;
};

/// By device group. The training graph is built as the plan divides it, at the micro-batch and with the recomputation
/// that most layers of the group have, and keeps the layers of the group. Times are those of the placement problem: of
/// the calibration where the machine has one, else of the cost model. `options` names the file; they are kept by
/// reference. Nothing after errors, which are reported: those of the file, and A0971 where it has other layers than the
/// plan.
std::optional<std::vector<StageStep>> stageSteps(const PlacementPlan &plan, const Options &options);

} // namespace accord
