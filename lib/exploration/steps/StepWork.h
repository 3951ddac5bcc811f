// One job's step on machines: what it takes, and in a microsecond what it takes at least.
#pragma once
#include "lib/exploration/problem/MinedZeros.h"
#include "lib/exploration/steps/StepProblem.h"
#include "lib/machine/model/Plan.h"
#include <memory>

namespace accord {
class PriceCache;
struct Costs;

/// What each class of operations of a step takes on one machine in the shortest of its forms, as it is priced there.
/// What devices exchange is left out.
struct StepPrices {
  struct OfClass {
    double time = 0;               ///< seconds
    int core = -1;                 ///< of all forms
    double work = 0;               ///< of `core`, as seconds of all its instances
    std::vector<double> transfers; ///< seconds, by memory
  };
  std::vector<OfClass> classes;
};

/// What of a machine is taken as it stands when its step is bounded.
struct StepBoundOptions {
  /// By core: no machine that the bound is for has other rows, columns, dataflow or overlaps than this one, so that the
  /// cycles of its arrays count, fill and all. Else a machine may have fewer rows and columns, and any dataflow where
  /// this one names none, and what counts is the stream of full folds. Empty: of all cores alike, as `exact` says.
  std::vector<bool> sameArrays = {};
  bool exact = true;
  /// Left out, by core and by memory of the machine: its time, or (cores) only that its operations
  /// wait for each other. Empty: nothing is.
  enum class Omitted : uint8_t { Nothing, Queue, Time };
  std::vector<Omitted> cores = {}, memories = {};
  bool communication = true; ///< false: what devices exchange takes no time
  /// By operation, seconds on the network, instead of those that the step was made with. Null: those.
  const std::vector<double> *exchanges = nullptr;
  /// Of one machine: where operations are priced at more than the closed forms say, that counts. Null: nothing is.
  const StepPrices *prices = nullptr;
  /// Of one machine, in some ten times the time: an operation that may be on all instances of a core or on one is in no
  /// form that alone makes its region longer than is tried.
  bool closely = false;
};

/// A step as `estimate` and `scheduleStep` have it (lib/machine/cost, lib/planning/solve); safe to share between
/// threads. The graph is checked (`check`).
class StepWork {
public:
  /// `communication`: by operation, seconds that it takes on the network between devices. `zeros`: of weights; the
  /// graph keeps in memory what they leave (`withZeros`).
  explicit StepWork(WorkGraph graph, const std::vector<double> &communication = {}, StepZeros zeros = {});
  StepWork(StepWork &&) noexcept;
  ~StepWork();
  const WorkGraph &graph() const;
  const StepZeros &zeros() const;

  /// Seconds that `value(machine).step` is not below; not exact: on no machine with no more of anything (instances,
  /// rows, columns, lanes, clock, peak, bandwidth, capacity) and no less latency. Per operation: compute by the closed
  /// forms of machine/array (`systolicCost`, `rowCycles`, `elementCycles`) or flops / peak; every memory's latency +
  /// bytes / bandwidth, of compulsory bytes and of what arrays take from the nearest; both joined as `roofline` does.
  /// Exact, what fills a memory's bandwidth also excludes what uses it. Per region the largest of its longest chain,
  /// and for each core and memory its time of all operations with the least chain before and after it; a repeat takes
  /// count times its body, and all that the body uses meanwhile. Cost models other than "peak", "array" and "vector"
  /// are not bounded: 0.
  double bound(const Machine &machine, bool exact) const;
  double bound(const Machine &machine, const StepBoundOptions &options) const;
  /// The same of each operation by itself: those of a micro-batch, then those of the update, by
  /// position in their regions. A repeat takes what all of its iterations do.
  void times(const Machine &machine, const StepBoundOptions &options, std::vector<double> &seconds) const;
  /// Joules that `value(machine).joules` is not below if its step is at least `step`: arithmetic
  /// and compulsory bytes at the machine's energies, and idle power.
  double minJoules(const Machine &machine, double step) const;

  /// A schedule without search (effort 0), its energy and its peak of device memory. Infinite, and
  /// does not fit, where `estimate` or `scheduleStep` refuse it: `issues` gets why.
  StepValue value(const Machine &machine, Errors *errors = nullptr) const;
  /// The same schedule, with a bound by what can run at once as well (`SolveOptions::subsets`), in some times as long.
  StepValue boundedBySubsets(const Machine &machine) const;
  /// What `estimate` has for the machine, without formulas, tiles and assumptions; nothing where
  /// it refuses.
  std::optional<Costs> costs(const Machine &machine) const;
  /// Of costs on a machine, over whatever network.
  StepPrices pricesOf(const Costs &costs, const Machine &machine) const;
  /// The same with a schedule that is searched for, and a bound of all schedules in which a repeat
  /// is a unit of its iterations (`OrderedBound`). Not `searches`: that bound alone, in a tenth of
  /// the time. Effort 4 and more; deterministic.
  StepValue refined(const Machine &machine, unsigned effort, bool searches) const;
  /// Costs and schedule that `value` is of; nothing where it is refused.
  std::optional<Plan> planned(const Machine &machine) const;

private:
  struct Data;
  std::unique_ptr<Data> data_;
  std::unique_ptr<PriceCache> prices_; ///< of all machines so far: numbers alone
};

} // namespace accord
