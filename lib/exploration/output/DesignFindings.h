// What `accord mine` finds out about the design that it found, and the page about it.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/support/Diagnostics.h"
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

/// report.html, and front.csv with front/NN.accel where a front was asked for. False after an
/// error, which is reported. Numbered designs of an earlier front are removed.
bool writeFindings(Diagnostics &diags, const std::string &folder, const MiningPlan &plan);

} // namespace accord
