// The whole training of a plan: what the job, the cluster and the plan state of it, with priors for the rest.
#pragma once
#include "lib/compilation/Target.h"
#include "lib/compilation/TrainingRequest.h"
#include "lib/machine/model/Plan.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/run/problem/TrainingRun.h"
#include <memory>

namespace accord {

struct PlannedRun {
  std::shared_ptr<const TrainingRun> run;
  std::vector<std::string> assumptions; ///< of the plan: those of the run, or why there is none
};

/// Nothing where there is no plan, or the job states no amount of training. No run but the reason where failures come
/// so often that the training would hardly end (`isBounded`), or a number is beyond what can be counted.
///
/// What the cluster does not state is a prior, a median with a 90 % interval (lib/run/problem/RunPriors.h), which the
/// assumptions name. The step time is exact: who knows its interval gives it to `RunProblem::step`. The energy of a
/// step has the interval of the law of boards where that counts (docs/decisions/0037), else it is exact.
PlannedRun trainingRun(const PlacementPlan &plan, const TrainingJob &job, const ClusterTarget &target);
/// The same on one device, whose cluster states nothing.
PlannedRun trainingRun(const Plan &plan, const TrainingRequest &request);

/// Bytes of a checkpoint: what the job states, else those of the weights and of the optimizer's states, of each
/// parameter.
double checkpointBytesOf(const TrainingJob &job, double parameters, llvm::StringRef precision,
                         llvm::StringRef optimizer);

} // namespace accord
