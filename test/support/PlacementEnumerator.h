// Every plan of a small placement problem, by arithmetic that shares nothing with lib/place or
// lib/verify.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <cmath>

namespace accord::test {

struct EnumeratorOptions {
  double below = INFINITY;   ///< only plans of less value are of interest
  uint64_t max = UINT64_MAX; ///< cuts and simulations after which it gives up
  uint64_t sampleEvery = 0;  ///< each so-many-th simulated plan is compared with `worthAgain`
  bool everything = false;   ///< simulate also what is known to be no better
};

struct Enumerated {
  bool complete = true;          ///< within `most`
  double best = INFINITY;        ///< least value below `below`, if `plan`
  int64_t step = INT64_MAX;      ///< shortest of the plans with it, within 1e-9 of it
  std::optional<Placement> plan; ///< of it
  uint64_t cuts = 0;             ///< stages and forms looked at
  uint64_t choices = 0;          ///< plans, each with other stages, forms or keeps
  uint64_t simulated = 0;        ///< of these; the others have a group too busy to be better
  uint64_t sampled = 0;
  std::string difference; ///< where lib/verify says something else of a plan
};

/// Of a problem that `check` passes, with at most 10 layers and 128 micro-batches. All set
/// partitions of the layers in all orders, all forms of all groups, all choices of what is kept:
/// those of a group that recompute for the same time in each of its stages and use the same energy
/// are one. Skipped are groups that do not fit, and what a group alone makes no better:
/// micro-batches * its work + finish is already too long.
Enumerated enumeratePlans(const PlacementProblem &problem, const EnumeratorOptions &options = {});

} // namespace accord::test
