// accord mine, after its command line is read.
#pragma once
#include "lib/driver/Options.h"
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/exploration/solve/MiningProblem.h"

namespace accord {

struct MineOptions {
  std::vector<std::string> files;
  Options session; ///< of each file; its target is the space
  std::string strategy = "exact", metric, aggregation = "minimax_regret";
  std::vector<double> weights;    ///< by file, of a sum; empty: all 1
  std::string checkpoint, resume; ///< files; of a job alone with its name behind
  uint64_t checkpointEvery = MiningOptions().checkpointEvery;
  PlanSearchLimits limits;
  uint64_t evaluations = 0, seed = 1;  ///< 0: no limit
  std::string compare;                 ///< "evaluations", "time"; empty: nothing is
  std::vector<std::string> strategies; ///< that it is compared with; empty: all
  std::string front, against;          ///< a share; a machine that is compared with
  bool sensitivity = false;
  unsigned stages = 0;          ///< candidates for each mix of layers of a stage; 0: one design for all
  unsigned scheduleEffort = 0;  ///< effort of the search for schedules of the best designs; 0: none
  Executor *executor = nullptr; ///< several processes; null: threads of this one
  bool writes = true;           ///< false: another process does
};

/// The best design of the space, and what was found out about it, without files. Nothing after errors, which are
/// printed.
std::optional<MiningPlan> mineDesigns(MineOptions options);

/// The exit status.
int mine(const MineOptions &options);

} // namespace accord
