// The arithmetic of a placement in SMT-LIB, for a solver to look at.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include <string>

namespace accord {

/// Within the folder of a plan.
constexpr const char *kPlacementSmtQuery = "certificate/placement.smt2";
/// More passes than these are left to the path that determines the step.
constexpr size_t kMaxQueriedPasses = 20'000;

/// Unsatisfiable if
/// - times and memory of each stage are the sums over its layers that the plan states, and memory
/// is
///   within the capacity,
/// - each pass of the run that is stated begins when its device group has ended the one before, and
///   the passes that it waits for have ended, and the last of it ends with the step,
/// - no run whose passes have this order on each group has a shorter step: along one path of passes
///   that wait for each other, or because input comes no faster.
/// Difference constraints over integers (Cotton and Maler, Fast and flexible difference constraint
/// propagation, SAT 2006). Of transfers beside the computation the run is left out. Empty without a
/// plan.
std::string placementSmtQuery(const PlacementPlan &plan);

} // namespace accord
