// Which stages: the least load of the fullest device of a pipeline, with proof.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"
#include "lib/search/SearchLimits.h"

namespace accord {

struct PartitioningOptions {
  /// Work limit, of stages that are looked at: each step more doubles it, 10 is 2^24 (some ten
  /// seconds). The same effort gives the same answer.
  unsigned effort = 10;
  double gap = 0;                                      ///< stop when (load - bound) / load is at most this
  size_t memory = size_t(512) << 20;                   ///< bytes of sets of nodes
  const std::atomic<bool> *stop = nullptr;             ///< set from anywhere: the best so far is returned
  std::function<void(const SolveProgress &)> progress; ///< in picoseconds
};

/// Needs a problem that `check` passes. Deterministic unless stopped. Answers satisfy
/// `verify(problem, result)` of lib/partitioning/verify/PartitioningVerifier.h.
///
/// Which down-sets of the graph can be done by so many devices is a dynamic program (Tarnawski et
/// al., section 5.1); it is run for one limit after another, each a little above the load that is
/// already known not to be possible, so that few sets and few stages are below the limit: without
/// an answer the limit is a bound, and the first answer is the best one.
PartitioningResult partitionGraph(const PartitioningProblem &problem, const PartitioningOptions &options = {});

} // namespace accord
