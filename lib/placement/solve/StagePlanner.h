// Plans whose stages are chosen: what each group recomputes, a last bound, and the evaluation.
#pragma once
#include "lib/placement/solve/ConfigurationContext.h"

namespace accord::placing {

class StagePlanner : protected ConfigurationContext {
protected:
  using ConfigurationContext::ConfigurationContext;

  /// Evaluates plans with these stages. Returns the least value of one, or a bound of those that were pruned; infinite
  /// if there are none. Unless all recomputation choices were looked at, `complete_` is unset.
  double planStages(const std::vector<StagePlacement> &stages, bool exhaustive);

  bool balanced_ = false; ///< stages are interleaved, and equal layers in the middle of a chain make them alike
  int64_t work_ = 0;      ///< left for the depth-first search
  bool complete_ = true;

private:
  double chooseRecomputation(const std::vector<StagePlacement> &stages, Placement &plan,
                             const std::vector<RecomputeSolver::Options> &options, bool exhaustive);

  /// Lower bounds of the simulated step from the exact times of the stages: each is a path through what any run of the
  /// schedule must do one after the other.
  int64_t minStepOf(const PlanMetrics &metrics, const StageEdges &edges) const;
  int64_t minStepOfGroups(const std::vector<StageTimes> &times, const StageEdges &edges) const;
  int64_t minStepOfGPipe(const std::vector<StageTimes> &times) const;
  int64_t minStepThroughChain(const std::vector<StageTimes> &times) const;

  /// Of balanced stages: recomputation of the least time by group, parallel configuration and classes of the layers of
  /// its stages.
  std::map<std::vector<uint64_t>, RecomputeSolver::Options> known_;
};

} // namespace accord::placing
