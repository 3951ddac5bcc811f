// What a mining claims to have proved, as plain data: the certificate of `accord mine`.
#pragma once
#include "lib/model/Design.h"
#include "lib/model/WorkGraph.h"

namespace accord {

/// One way in which a job's step may run.
struct ClaimedWay {
  std::string label; ///< "micro-batch 4, recompute full"
  WorkGraph graph;
};

struct ClaimedJob {
  std::string name;
  int64_t batch = 1; ///< samples of a step
  double weight = 1; ///< of a sum
  double best = 0;   ///< value of its own best design, which ratios are to; 0: none
  std::vector<ClaimedWay> ways;
};

/// A plan of a way's step that the certificate has, whose bound holds for all of its schedules.
struct ClaimedPlan {
  size_t job = 0, way = 0;
  unsigned number = 0; ///< of its file
};

/// A design that is not ruled out by what its operations take at least: what the search found.
struct ClaimedSurvivor {
  Design design;
  double value = 0; ///< infinite: no step fits
  std::vector<ClaimedPlan> plans;
};

/// The answer of one search.
struct ClaimedAnswer {
  std::string name;         ///< "common", or the job's
  std::vector<size_t> jobs; ///< that count
  std::optional<Design> winner;
  double value = 0; ///< of the winner; infinite without one
  double bound = 0; ///< no design of the space is worth less
  std::vector<ClaimedSurvivor> survivors;
};

struct MiningClaim {
  std::string space; ///< the accelerator with its choices, in the accel dialect
  /// "step_time", "tdp_time", "energy", "area_time", or the expression that `space` states.
  std::string metric;
  std::string blend; ///< of the last answer: "sum", "worst_ratio"; empty: one job
  std::vector<DesignParameter> parameters; ///< in the order of designs; without places
  std::vector<ClaimedJob> jobs;
  std::vector<ClaimedAnswer> answers; ///< of jobs alone, then of all
  std::string version;
};

} // namespace accord
