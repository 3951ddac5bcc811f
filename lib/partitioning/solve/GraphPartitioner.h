// Which stages: the least load of the fullest device of a pipeline, with proof.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"
#include "lib/search/SearchLimits.h"

namespace accord {

/// At most 2^(14 + effort) stages are looked at.
struct PartitioningOptions : SearchLimits {
  size_t memory = size_t(512) << 20; ///< bytes of sets of nodes
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
