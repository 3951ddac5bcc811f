// The part of a placement problem that only some of its parallel configurations have.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord {

/// Makes many problems of one, each with a few of its parallel configurations, without a copy of the costs of all.
class ProblemRestriction {
public:
  using Id = PlacementProblem::Id;

  /// Keeps a reference to the problem.
  explicit ProblemRestriction(const PlacementProblem &problem) : problem_(problem), rest_(problem) {
    rest_.parallelConfigs.clear();
    for (LayerClass &one : rest_.classes)
      one.costs.clear();
  }

  /// The problem with these parallel configurations alone, which are numbered in the order of `configs`.
  PlacementProblem to(const std::vector<Id> &configs) const {
    PlacementProblem made = rest_;
    for (Id id : configs) {
      made.parallelConfigs.push_back(problem_.parallelConfigs[id]);
      for (size_t i = 0; i < made.classes.size(); ++i)
        made.classes[i].costs.push_back(problem_.classes[i].costs[id]);
    }
    return made;
  }

private:
  const PlacementProblem &problem_;
  PlacementProblem rest_; ///< without parallel configurations and costs
};

/// Of a plan of the restricted problem, the plan of the whole problem: its parallel configurations are `configs` there.
inline Placement widened(Placement plan, const std::vector<PlacementProblem::Id> &configs) {
  for (PlacedStage &stage : plan.stages)
    stage.parallelConfig = configs[stage.parallelConfig];
  return plan;
}

/// The reverse; nothing where a stage has none of `configs`.
inline std::optional<Placement> narrowed(Placement plan, const std::vector<PlacementProblem::Id> &configs) {
  for (PlacedStage &stage : plan.stages) {
    auto found = std::find(configs.begin(), configs.end(), stage.parallelConfig);
    if (found == configs.end())
      return std::nullopt;
    stage.parallelConfig = static_cast<PlacementProblem::Id>(found - configs.begin());
  }
  return plan;
}

} // namespace accord
