// A multiple-choice knapsack over counted equal items with a threshold: the core of which layers are computed again.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord::placing {

/// `count` equal layers, each of which keeps what one of `recomputeChoices` says, as often as its part has
/// micro-batches in flight.
struct KnapsackItem {
  const std::vector<RecomputeChoice> *recomputeChoices = nullptr;
  int64_t count = 0;
  size_t part = 0;
  double recomputeJoules = 0;
};
/// A keep that a threshold of `workspace` allows and no other one dominates, with the bytes of one layer.
struct KnapsackAlternative {
  uint32_t recomputeChoice = 0;
  int64_t recomputeTime = 0, bytes = 0;
};
/// Most bytes and least time first.
std::vector<KnapsackAlternative> alternativesOf(const KnapsackItem &item, int64_t threshold, int64_t inFlight);
/// The next one on the lower hull of time over bytes behind `at`, which is not the last: it gives up bytes for the
/// least time each.
size_t nextOnHull(const std::vector<KnapsackAlternative> &alternatives, size_t at);

struct KnapsackChoice {
  std::vector<std::vector<int64_t>> counts; ///< by item and keep
};
struct KnapsackSolution {
  int64_t bound = 0;     ///< of the sum of `recomputeTime`; reached by `choice` if `exact`
  KnapsackChoice choice; ///< empty if none was found
  bool exact = true;
};
/// Least sum of `recomputeTime` with sum of inFlight * activations + the largest `workspace` <= budget for each of
/// `held`, the micro-batches in flight by part. Nothing: no choice fits. `quick`, and always with several of `held`: a
/// good choice and a bound of the linear relaxation.
std::optional<KnapsackSolution> solveKnapsack(const std::vector<KnapsackItem> &items,
                                              const std::vector<std::vector<int64_t>> &held, int64_t budget,
                                              bool quick = false);
/// The same by a linear program: a mean of `held` bounds it, the best of them found by weights that follow the fullest
/// moment (Lagrangian relaxation); the choice is what its order of layers lets keep.
std::optional<KnapsackSolution> solveJointKnapsack(const std::vector<KnapsackItem> &items,
                                                   const std::vector<std::vector<int64_t>> &held, int64_t budget);
/// All choices that fit. False, and some of them, where there are more than `most`.
bool enumerateChoices(const std::vector<KnapsackItem> &items, const std::vector<std::vector<int64_t>> &held,
                      int64_t budget, size_t max, std::vector<KnapsackChoice> &choices);

} // namespace accord::placing
