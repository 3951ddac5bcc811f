// The finished answer: work, machine, costs, schedule, memory, objective, bound. What emitters print and `verify`
// re-checks.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/ModelArchitecture.h"
#include "lib/machine/model/Schedule.h"
#include "lib/machine/model/StepEstimate.h"
#include <array>
#include <memory>
#include <optional>

namespace accord {
struct TrainingRun;

struct MemoryPoint {
  Picoseconds time; ///< from the start of the step
  std::array<int64_t, kCategories> bytes{};
};
struct MemoryUse {
  int64_t peak = 0;                          ///< bytes in Machine::memories[0]
  std::array<int64_t, kCategories> atPeak{}; ///< by category
  Picoseconds when;                          ///< time of the peak in the step
  std::vector<MemoryPoint>
      timeline; ///< at most a few thousand points; of the first and last micro-batch and the update
};

struct Conflict {
  std::string constraint; ///< as the user wrote it, or "device memory"
  std::string file;
  unsigned line = 0;
  std::string detail; ///< "needs 92.1 GiB, hbm has 80 GiB: 12.1 GiB too much"
};

/// The same job with one thing changed, planned anew.
struct WhatIf {
  std::string change; ///< "hbm bandwidth x 2"
  Seconds step;
  double throughput = 0; ///< samples per second
  int64_t memory = 0;    ///< peak bytes
  bool feasible = true;
  std::string note; ///< what binds then
};

struct Plan {
  std::string job; ///< the `train` block's name
  WorkGraph graph;
  Machine machine;
  Costs costs;
  Schedule schedule;
  MemoryUse memory;
  std::vector<Timing> timing;            ///< by OperationId
  std::vector<OperationId> criticalPath; ///< top-level chain, repeats entered once
  int64_t batch = 1;                     ///< samples per step
  bool feasible = true;
  std::vector<Conflict> conflicts; ///< why not, when infeasible
  /// Micro-batch sizes and kinds of recomputation for which bounds exclude every plan: all that there are. 0: not all
  /// are excluded; without a plan that is feasible, it is not known whether there is one.
  int64_t excludedCandidates = 0;
  std::string objective = "throughput";
  double objectiveValue = 0;            ///< samples per second
  double objectiveBound = 0;            ///< no schedule of this space does better
  std::optional<StepEstimate> estimate; ///< where times are calibrated
  std::vector<std::string> assumptions;
  std::shared_ptr<const TrainingRun> run; ///< all steps, with failures; null: no amount of training is stated
  std::vector<WhatIf> whatIf;             ///< what would help; as searches found it
  int64_t sequence = 0;                   ///< tokens of a sample; 0: not known
  std::string version;
  std::optional<ModelArchitecture> architecture; ///< nothing: it was not looked for
};

} // namespace accord
