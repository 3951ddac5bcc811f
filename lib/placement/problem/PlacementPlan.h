// A placement with all that emitters print: what `accord compile` answers for a cluster.
#pragma once
#include "lib/machine/model/ModelArchitecture.h"
#include "lib/machine/model/Plan.h"
#include "lib/placement/problem/DeviceMemory.h"
#include "lib/placement/problem/LinkTraffic.h"
#include "lib/placement/problem/SparsePlacement.h"
#include <memory>

namespace accord {
struct TrainingRun;

/// The best plan found of other parallel degrees, and what it loses.
struct RunnerUp {
  Placement plan;
  PlanMetrics metrics;
  double bound = 0; ///< of the objective: no plan of these degrees has less
  /// Share of its value by which another plan of its degrees may be better.
  double gap() const { return metrics.value > 0 ? std::max(0.0, 1 - bound / metrics.value) : 0; }
};

/// One limit relaxed by a tenth.
struct Relaxation {
  std::string what; ///< "memory of 'a100_80g' + 10 %"
  double value = 0; ///< of the objective then
};

/// The best plan found with fewer devices, or less memory on each.
struct Tradeoff {
  std::string what; ///< "at most 64 devices"
  Placement plan;
  PlanMetrics metrics;
};

struct PlacementPlan {
  std::string job, model, cluster;
  std::string precision, optimizer;
  PlacementProblem problem;
  PlacementResult result;
  int64_t parameters = 0;          ///< trained scalars
  double modelFlops = 0;           ///< of a step
  std::vector<double> peakFlops;   ///< FLOP/s of one device in the plan's precision, by device type; empty: not known
  std::vector<Conflict> conflicts; ///< a smallest set, when there is no plan
  std::vector<std::string> relaxations; ///< what would make it feasible: "4.2 GiB more memory"
  std::vector<RunnerUp> runnersUp;      ///< best first, of other degrees
  std::vector<Relaxation> whatIf;
  std::vector<Tradeoff> front;            ///< none beats another in everything; most devices and memory first
  double samples = 0;                     ///< to train on; 0: not stated
  int64_t sequence = 0;                   ///< tokens of a sample; 0: not known
  std::shared_ptr<const TrainingRun> run; ///< all steps, with failures; null: no amount of training is stated
  std::vector<std::pair<std::string, int64_t>> sizes; ///< integer parameters of the model, with their values
  std::optional<ModelArchitecture> architecture;      ///< nothing: it was not looked for
  std::optional<StepEstimate> estimate;               ///< where times are calibrated
  std::optional<PlacementSparsity> zeros;             ///< where layers may have some; the problem has the chosen ones
  std::optional<LinkTraffic> traffic;                 ///< of one step; nothing without a plan, or where it is not known
  std::vector<std::string> assumptions;
  std::optional<DeviceMemory> deviceMemory; ///< nothing: no framework is stated, and tensors are all there is
  std::string version;
  SourceLocation location; ///< of the `train` block
};

} // namespace accord
