// What `accord mine` finds out about the design that it found.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"
#include "lib/exploration/space/DesignSpace.h"
#include <functional>

namespace accord {

struct MineReportOptions {
  std::optional<double> front; ///< how near every design is to be to one of the front
  bool sensitivity = false;    ///< search again with each choice pinned, each limit relaxed
};

/// The problem that was mined, and what only its jobs know.
struct MinedProblem {
  DesignSpace &space;
  MiningProblem &problem;
  MiningOptions search; ///< as it was asked for; without its files
  /// A design as it is written; it may be.
  std::function<MinedDesign(const std::string &name, const Design &design)> designed;
  std::function<std::vector<JobLimits>(const Design &)> limits; ///< by job
  /// Of a design that keeps all requirements and is worth nothing: what it has no room for.
  std::function<std::string(const Design &)> unfit;
};

/// Adds front and findings to a plan that has a design. Limits, waits and the designs beside the best take about as
/// many values as there are choices (on clusters only for `sensitivity`). Each search of `sensitivity` takes at most as
/// many evaluations and bounds as the search before it (a few where that took fewer), with a limit relaxed twice as
/// many. Nothing where that search was stopped.
void addFindings(MiningPlan &plan, const MinedProblem &mined, const MineReportOptions &options);

/// What the best design takes of a requirement's limit.
RequirementSensitivity requirementSensitivity(const DesignSpace &space, size_t requirement, const Design &best);

} // namespace accord
