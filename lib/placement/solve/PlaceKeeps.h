// What each layer of a device group keeps for its backward pass, within the memory of a device.
#pragma once
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/solve/PlaceSpace.h"
#include <array>
#include <unordered_map>

namespace accord::placing {

/// Layers of a stage.
struct Part {
  uint32_t from = 0, to = 0; ///< nodes of the space
};
/// Micro-batches in flight by part, at each moment when they may be the most: `heldOf`.
using Held = std::vector<std::vector<int64_t>>;

/// A choice for a group: by part, by position in `layersBetween`.
struct KeepOption {
  std::vector<std::vector<uint32_t>> keeps;
  std::vector<int64_t> again; ///< by part
  double joules = 0;          ///< of what is computed again; 0 for `Times` and `Distinct`
};

/// A multiple-choice knapsack: least recomputation with resident + inFlight * kept + working <=
/// memory, at each moment. Of one part exact: fronts of (again, bytes) merged with dominance, one
/// layer class at a time, equal layers counted and the largest class last, for each threshold of
/// `working`; where fronts grow beyond the cap, its linear relaxation bounds it.
class Keeps {
public:
  explicit Keeps(const Space &space) : space_(space) {}

  /// Least time of recomputation, or a lower bound of it. Nothing where no choice fits.
  std::optional<int64_t> leastAgain(Id form, uint32_t from, uint32_t to, int64_t inFlight,
                                    int64_t memory);

  enum class Which : uint8_t {
    Least,    ///< one: the least sum of recomputation
    Times,    ///< for each choice one that takes no longer in any part
    Front,    ///< and no more energy
    Distinct, ///< whatever differs in time
    All       ///< whatever differs in time or energy
  };
  struct Options {
    std::vector<KeepOption> list; ///< least recomputation first
    bool exact = true;            ///< nothing was left out
    int64_t work = 1;             ///< choices looked at
  };
  Options options(Id form, const std::vector<Part> &parts, const Held &held, int64_t memory,
                  Which which);

  /// What the groups of a pipeline hold (`heldOf`), by group: configurations differ in little else.
  const std::vector<Held> &held(const PipelineShape &shape);

private:
  const Space &space_;
  std::map<std::array<int64_t, 4>, std::vector<Held>> held_;
  size_t numbers_ = 0;                          ///< in `held_`
  std::unordered_map<uint64_t, int64_t> cache_; ///< -1: nothing fits
};

} // namespace accord::placing
