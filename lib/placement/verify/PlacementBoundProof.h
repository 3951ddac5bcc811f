// A lower bound of all placements of a problem, by arithmetic of its own.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <atomic>

namespace accord {

struct BoundProof {
  std::optional<Placement> better;              ///< a plan that passes the bound
  double value = 0;                             ///< its objective
  uint64_t configurations = 0;                  ///< looked at
  uint64_t byWork = 0, byCuts = 0, byPlans = 0; ///< of these proved by each step below
  std::vector<std::string> trusted;             ///< which are not
  std::vector<std::string> wrong;               ///< what `paths` state that is not so
  uint64_t work = 0;                            ///< steps taken, of the effort
};

/// That no plan of the problem that fits has an objective below `bound` (infinite: that none
/// fits). A configuration is a number of samples per micro-batch, a schedule with its virtual stages, and
/// what each device type runs: one parallel configuration, or none (any parallel configurations of so many samples
/// where
/// `uniformConfigPerDeviceType` is not asked for). For each, until one proves it, with m micro-batches:
/// 1. Work. Each group is busy for all micro-batches with its layers' least times, and what is
///    before it in a chain takes one micro-batch there and back: T >= A_s + m w_s, A_s the sum of w
///    before. The least T over real w_s of sum W on p groups: W / (1 - (1 - 1/m)^p); m W / p where
///    virtual stages interleave or layers branch. GPipe turns round behind its last stage: T >= W + (m - 1)
///    w_s for all s, so (m + p - 1) / p W. In 1F1B with k = min(m, p - s) a micro-batch goes there
///    and back behind stage s before its first backward pass and another one after its last forward
///    pass: T >= A_s + 2 (sum of w behind s) + (m - k + 1) w_s, and a mean of these has the factor
///    (m + p - 1) / p for each w if m > p. Where groups are of several device types, a mean of these in which no w_s
///    counts less than its share of the layers' work, whatever the order of the types. A group of devices costs its
///    rate for all of T >= m w_s.
/// 2. Cuts. A dynamic program from the last group to the first, over prefixes of a chain or
///    down-sets of at most 64 layers (4,096 sets), devices used, and the groups behind, which say
///    how many micro-batches 1F1B holds: least time computed again by a knapsack over `recomputeChoices`. In a
///    chain, E is the time until the last backward pass leaves a suffix, T until all has ended:
///    E = max(m w, w + E'), T = max(E + finish, F + T'); ZB-H1: E = max(m (F + B) + (m - p) W, F +
///    B + E'), as no group holds more than p. A suffix of a chain does not count if it cannot be
///    below with what is before it: these groups are busy for all micro-batches, each is paid for
///    all of the step, and but for ZB-H1 the last backward pass goes through them. Where layers
///    branch, only layers that must come before count as such. Interleaved, what `balancedStepBound`
///    (BalancedStepBound.h) says, with the paths of the configuration if there are any.
/// 3. Plans. Cuts and parallel configurations enumerated as far as 2. does not exclude them, each replayed with the
///    least that must be computed again, which is its best (passes in a fixed order never end
///    earlier when one takes longer; not so ZB-H1, of which only 2. counts). With several stages in a group, more
///    recomputation in one may hide gradients while the last pass waits for another group: without any exchange of
///    these.
///
/// Of the objective `Memory`: that no plan fits into `bound` - 1 bytes of every device.
/// `stop` ends it like `effort`: what is not proved by then is trusted.
///
/// `alsoOfMore`: what is proved has to hold of every problem that differs in larger costs, too. A replay of ZB-H1 says
/// nothing of these, since its passes may change places; of schedules with several stages in a group see `Relaxation`
/// in SparsePlacementVerifier.cpp.
BoundProof proveBound(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
                      const std::vector<PathBound> &paths = {}, const std::atomic<bool> *stop = nullptr,
                      bool alsoOfMore = false);
/// What 1. and 2. leave of a bound of an objective that grows with the step. It holds for all problems whose layers are
/// runs of these, or take more; interleaved, 1. alone.
struct UnprovenPlacements {
  std::vector<PlacementProblem::Id> parallelConfigs; ///< of configurations that are left, ascending
  double lowerBound = 0;                             ///< no plan is worth less; infinite: there is none
};
UnprovenPlacements unprovenPlacements(const PlacementProblem &problem, double bound, uint64_t effort);

} // namespace accord
