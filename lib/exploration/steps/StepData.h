// What a `StepWork` holds, and what bounds of its step are made of.
#pragma once
#include "lib/exploration/steps/StepCores.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/steps/StepZeros.h"
#include "lib/planning/solve/StepSubsets.h"
#include <algorithm>
#include <cmath>

namespace accord {

/// Sums in another order than the scheduler's differ in their last digits.
inline constexpr double kStepRoundingFactor = 1 - 1e-9;
/// The share of a memory's bandwidth that an operation holds is rounded down to such parts.
inline constexpr double kMinBandwidthFraction = 1e-9;
/// Work of this much is more than a picosecond after rounding, so that the scheduler sees it.
inline constexpr double kMinVisibleWork = 2e-12;

/// One operation of a region, as its class.
struct StepItem {
  uint32_t price = 0; ///< class
  RegionId body = kNone;
  std::vector<uint32_t> before; ///< positions in the region
};

struct StepPart {
  RegionId region;
  std::vector<StepItem> items;
};

/// What a class takes on a machine at least.
struct StepPrice {
  double time = 0;
  int core = -1;      ///< the only one it may run on
  uint64_t holds = 0; ///< by core: a fused operation has all of its instances
  double work = 0;    ///< of `core`, as seconds of all its instances
  double spread = 0;  ///< where it may be on all instances of `core` or on one: seconds on all
  double single = 0;  ///< and on one; else both are 0
  double ofKind = 0;  ///< of all cores of a kind
  uint64_t fills = 0; ///< by memory: takes all of its bandwidth, on this very machine
  int kind = -1;      ///< 0: tensor, 1: vector
};

/// What a core or memory does that is looked at for a bound: all of it; also what begins after some time, and what has
/// some time behind it; every part of it.
enum class LoadSubsets : uint8_t { Whole, Nested, Every };

/// All that one core or memory does in a region, one after the other or with as much of it at a time.
class StepLoad {
public:
  bool seen = false;
  void clear() { sum_ = 0, head_ = tail_ = INFINITY, seen = false, all_.clear(); }
  void add(double work, double before, double after, bool isSeen) {
    if (!(work > 0))
      return;
    sum_ += work;
    head_ = std::min(head_, before), tail_ = std::min(tail_, after);
    seen |= isSeen;
    all_.push_back({before, work, after});
  }
  /// No schedule is below: the largest, over subsets, of least chain before, `whole` of the work, least chain after.
  /// Over every one it is Jackson's preemptive schedule (Carlier, European J. Operational Research 11, 1982). Orders
  /// what was added.
  double length(LoadSubsets subsets, double whole = 1);

private:
  struct One {
    double head, work, tail;
  };
  double preemptive(double whole);
  std::vector<One> all_, there_;
  double sum_ = 0, head_ = INFINITY, tail_ = INFINITY;
};

inline constexpr uint8_t kSpread = 1, kSingle = 2;

struct StepScratch {
  std::vector<StepPrice> prices;
  std::vector<double> transfers;            ///< by class and memory
  std::vector<StepLoad> loads;              ///< of one region
  StepLoad joint;                           ///< of what excludes each other there
  std::vector<std::vector<char>> uses;      ///< by region: cores and memories that it uses surely
  std::vector<std::array<double, 2>> kinds; ///< by region: work of tensor, vector cores
  std::vector<double> lengths, times, heads, tails;
  std::vector<uint8_t> forms; ///< by item of a region: which of its two forms it may have, `kSpread | kSingle`
  void begin(size_t regions) {
    lengths.assign(regions, 0);
    uses.resize(regions);
    kinds.assign(regions, {});
  }
};

struct StepWork::Data {
  WorkGraph graph;
  StepZeros zeros;
  std::vector<ZeroOperation> zeroOperations; ///< what zeros touch
  /// As `estimate` has it, with zeros.
  Result<Costs, Errors> estimated(const Machine &machine, PriceCache *prices) const;
  StepCores cores;                ///< with the shapes
  std::vector<StepPart> parts;    ///< bodies first; the micro-batch and the update are the last two
  std::vector<double> executions; ///< by class, in a step

  /// The step's bound, from the memo where nothing is left out.
  double priced(const Machine &machine, const StepBoundOptions &options) const;
  double pricedNow(const Machine &machine, const StepBoundOptions &options) const;
  std::string keyOf(const Machine &machine, const StepBoundOptions &options) const;
  mutable ExecutionOrders orders;
  mutable std::shared_mutex mutex;
  mutable std::unordered_map<std::string, double> known; ///< bounds, by all that they follow from
  void times(const Machine &machine, const StepBoundOptions &options, std::vector<double> &seconds) const;
  void price(const Machine &machine, const StepBoundOptions &options, StepScratch &scratch) const;
  double length(const StepPart &part, const Machine &machine, StepScratch &scratch, LoadSubsets subsets) const;
  /// The same in the forms that `scratch` allows; leaves times, heads and tails there.
  double lengthOfForms(const StepPart &part, const Machine &machine, StepScratch &scratch, LoadSubsets subsets) const;
  double lengthClosely(const StepPart &part, const Machine &machine, StepScratch &scratch) const;
  bool dropForms(const StepPart &part, StepScratch &scratch, double until) const;
  double jointBound(const StepPart &part, const Machine &machine, size_t core, size_t memory, StepScratch &scratch,
                    LoadSubsets subsets, bool byMemory) const;
};

} // namespace accord
