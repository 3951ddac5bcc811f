// What each layer of a device group keeps for its backward pass, within the memory of a device.
#pragma once
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/solve/DownSetLattice.h"
#include <array>
#include <unordered_map>

namespace accord::placing {

/// Layers of a stage.
struct Part {
  uint32_t from = 0, to = 0; ///< nodes of the space
};
/// Micro-batches in flight by part, at each moment when they may be the most: `inFlightStatesOf`.

/// A choice for a group: by part, by position in `layersBetween`.
struct GroupRecomputeChoice {
  std::vector<std::vector<uint32_t>> recomputeChoices;
  std::vector<int64_t> recomputeTime; ///< by part
  double joules = 0;                  ///< of what is computed again; 0 for `Times` and `Distinct`
};

/// A multiple-choice knapsack: least recomputation with staticMemory + inFlight * activations + working <= memory, at
/// each moment. Of one part exact: fronts of (again, bytes) merged with dominance, one layer class at a time, equal
/// layers counted and the largest class last, for each threshold of `workspace`; where fronts grow beyond the cap, its
/// linear relaxation bounds it.
class RecomputeSolver {
public:
  explicit RecomputeSolver(const DownSetLattice &lattice) : lattice_(lattice) {}

  /// Least time of recomputation, or a lower bound of it. Nothing where no choice fits.
  std::optional<int64_t> minRecomputeTime(Id parallelConfig, uint32_t from, uint32_t to, int64_t inFlight,
                                          int64_t memory);

  enum class Which : uint8_t {
    MinTime,     ///< one: the least sum of recomputation
    ParetoTimes, ///< for each choice one that takes no longer in any part
    ParetoFront, ///< and no more energy
    Distinct,    ///< whatever differs in time
    All          ///< whatever differs in time or energy
  };
  struct Options {
    std::vector<GroupRecomputeChoice> list; ///< least recomputation first
    bool exact = true;                      ///< nothing was left out
    int64_t work = 1;                       ///< choices looked at
  };
  Options options(Id parallelConfig, const std::vector<Part> &parts, const InFlightStates &held, int64_t memory,
                  Which which);

  /// What the groups of a pipeline hold (`inFlightStatesOf`), by group: configurations differ in little else.
  const std::vector<InFlightStates> &held(const PipelineShape &shape);

private:
  const DownSetLattice &lattice_;
  std::map<std::array<int64_t, 4>, std::vector<InFlightStates>> held_;
  size_t numbers_ = 0;                          ///< in `held_`
  std::unordered_map<uint64_t, int64_t> cache_; ///< -1: nothing fits
};

} // namespace accord::placing
