// What a training step takes on a machine at least, for proofs about many machines.
#pragma once
#include "lib/exploration/verify/PartTimeBound.h"
#include "lib/exploration/verify/ProgramTimeBound.h"
#include "lib/sparsity/problem/ZeroShares.h"
#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace accord {

/// Of a graph that `check` passes. Not to be shared between threads.
class StepLowerBound {
public:
  /// `programs`: of operations on cores at the level of instructions; null: bounds of their arithmetic alone.
  /// `zeros`: what they leave of operations at least.
  explicit StepLowerBound(const WorkGraph &graph, OperationPrograms programs = {}, const StepZeroShares &zeros = {});

  /// Seconds that no plan of the graph on the machine is below: micro-batches and the update one
  /// after the other, a repeat its count times its body, and all the while it holds the cores and
  /// memories that its body uses. Each operation takes its arithmetic
  /// (`partTimeBound`), on a core at the level of instructions also what its program waits for (`ProgramTimeBound`),
  /// and its compulsory bytes at each memory's bandwidth, joined as in a roofline. Of a region the largest of its
  /// longest chain; for each core and memory the work of all its operations between the least chain before and the
  /// least behind; and the same of operations that exclude each other, as they hold all of a core or take all of a
  /// memory's bandwidth. `below`: plans of this or more do not count, so that an operation that may run on one instance
  /// of a core or on all of them runs on all where one would take too long (destructive bounds: Klein and Scholl,
  /// European J. Operational Research 112, 1999). Infinite: no plan is less. `prices`: what the operations take on the
  /// machine, instead of closed forms; or null.
  double seconds(const Machine &machine, const Costs *prices = nullptr, double below = INFINITY);
  /// Seconds that each operation of a micro-batch, then of the update takes at least, in the order
  /// of their regions; of a repeat all of its iterations. `prices`: null, or as above.
  void times(const Machine &machine, const Costs *prices, std::vector<double> &seconds);
  /// Joules of a step that takes `step` seconds: arithmetic, compulsory bytes, idle power.
  double joules(const Machine &machine, const Costs *prices, double step);
  /// Of device memory, in any order of operations: all residents, and for some operation what is
  /// made before its end and read after it.
  double bytes() const { return bytes_; }

private:
  struct Kind {
    std::optional<double> given;
    bool free = false, mapped = false, fused = false;
    double bytes = 0, flops = 0, executions = 0;
    double computeShare = 1; ///< that zeros leave of its arithmetic; of its bytes and FLOP, and of what they save:
    double activeShare = 1, bytesShare = 1, savedBytes = 0;
    double left(double moved) const { return std::max(0.0, moved * bytesShare - savedBytes); }
    std::vector<BoundedPart> parts; ///< one, unless it is fused
    BoundedPart main;               ///< that says on which core it runs
    OperationId first = kNone;      ///< one of its operations
  };
  struct Item {
    uint32_t kind = 0;
    OperationId operation = kNone;
    RegionId body = kNone;
    std::vector<uint32_t> before; ///< places in the region
  };
  /// What an operation takes on some number of instances of its core.
  struct Alternative {
    double time = 0;
    double work = 0;               ///< seconds of all instances of the core
    bool whole = true;             ///< holds them all
    std::vector<double> transfers; ///< seconds of each memory
  };
  struct Price {
    int core = -1;          ///< the only one it may run on
    std::vector<int> holds; ///< whole cores, by a fused operation
    double joules = 0;
    std::vector<Alternative> alternatives; ///< one at least, at most 32
  };
  struct Times {
    std::vector<PartTimeBound> parts; ///< of all kinds, in order
  };

  const Times &timesOn(const Machine &machine, size_t core);
  void price(const Machine &machine);
  void price(const Machine &machine, const Costs *prices);
  /// Of a kind that is neither free nor given, on the cores that it may run on; `first`: its first part among all.
  static void priceOn(const EligibleCores &main, const Kind &kind, uint32_t first, const Machine &machine,
                      const std::vector<const Times *> &times, Price &price);
  static void priceFused(const Kind &kind, uint32_t first, const Machine &machine,
                         const std::vector<const Times *> &times, Price &price);
  const Price &priceOf(const Item &item) const { return prices_[byKind_ ? item.kind : item.operation]; }
  double length(RegionId region, const Machine &machine, double below);
  double longest(RegionId region, const Machine &machine, bool closely);
  /// By all that a core takes (`memory` -1), or that is on a core and moves bytes of a memory, or takes all of its
  /// bandwidth, which excludes the former: subsets of it, and means of it and of the longest chain, of which none is
  /// above the length (Lepere, Trystram and Woeginger, Int. J. Found. Comput. Sci. 13(4), 2002, section 3).
  /// `byMemory`: what runs on some instances counts with its share of the memory instead of the core.
  double together(RegionId region, const Machine &machine, size_t core, int memory, bool byMemory = false) const;
  /// Of a repeat's body, whatever is around it: the smaller of a time and of its bound below that time, of several.
  double lengthAlone(RegionId body, const Machine &machine);
  double step(const Machine &machine, double below);
  double minBytes() const;

  WorkGraph graph_;
  std::vector<Kind> kinds_;
  std::vector<uint32_t> firstPart_; ///< by kind, among the parts of all
  size_t allParts_ = 0;
  std::vector<std::vector<Item>> regions_; ///< by region
  bool byKind_ = true;                     ///< prices_ is by kind, else by operation
  std::vector<Price> prices_;
  /// Of a region while its length is found, by item: which forms it may have, and times.
  struct Laid {
    std::vector<uint32_t> alternatives;
    std::vector<double> times, heads, tails;
  };
  /// Means of chain and work that are tried, less one.
  static constexpr unsigned kMeans = 32;
  std::vector<Laid> found_;                   ///< by region
  std::vector<double> lengths_;               ///< by region
  std::vector<std::vector<double>> sums_;     ///< by region: work of each core, then memory
  std::unordered_map<std::string, Times> on_; ///< by all of a core that times follow from
  ProgramTimeBound programs_;
  double bytes_ = 0;
  static constexpr size_t kMaxKnown = 1 << 17;
  std::unordered_map<std::string, double> known_; ///< seconds, by machine and what is above it
};

} // namespace accord
