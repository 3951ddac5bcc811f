// Searches for the best design of a space. What a design is worth is the business of a
// `MiningProblem`; strategies see no machine.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/search/SearchLimits.h"
#include <cmath>

namespace accord {
class Executor;

/// What is known of one design.
struct DesignEvaluation {
  double value = 0;                      ///< of the best that was found for it; infinite: nothing
  double lowerBound = 0;                 ///< it cannot be worth less, whatever is found
  std::vector<EvaluatedStep> steps = {}; ///< by job, of what was found; empty: not known
  friend bool operator==(const DesignEvaluation &, const DesignEvaluation &) = default;
};

/// Values are of an objective that is made least, 0 or more; infinite: the design may not be (a requirement fails, the
/// step does not fit, no area is known). NaN and less than 0 are taken for infinite as a value, for 0 as a bound.
/// With `MiningOptions::threads` above 1, or an executor, `bound`, `tightenBox`, `tightenBound`, `value` and `evaluate`
/// are called from several threads at once; everything else is called from the thread that called the strategy.
class MiningProblem {
public:
  virtual ~MiningProblem() = default;
  virtual const std::vector<DesignParameter> &parameters() const = 0;
  /// No design of the box is worth less. Costs microseconds. Never above `value` of any of its
  /// designs, and never less for a part of the box.
  virtual double bound(const DesignBox &box) = 0;
  /// Whether boxes have a dearer bound before they are divided: `tightenBox`, of which the larger one counts.
  virtual bool tightensBoxes() const { return false; }
  virtual double tightenBox(const DesignBox &) { return 0; }
  /// Parameters at one of which a box is divided next, that it leaves open; empty: at any.
  virtual std::vector<size_t> dividedFirst(const DesignBox &) { return {}; }
  /// False: no design of the box may be. Costs less than a bound, which says so, too; true says nothing.
  virtual bool mayHold(const DesignBox &) { return true; }
  /// Costs milliseconds. The same for the same design. A problem has this or `evaluate`.
  virtual double value(const Design &design) { return evaluate(design, INFINITY).value; }
  /// Bounds of one design between `bound` and `value`, each dearer than the one before: `tightenBound`
  /// with 1 to `numBoundLevels()`. Whether it is higher, too, is the search's to see to.
  virtual unsigned numBoundLevels() const { return 0; }
  /// Whether a value costs no more than some hundreds of `bound`, so that better designs are looked for all the while.
  virtual bool hasCheapValues() const { return numBoundLevels() == 0; }
  /// Bounds of a design that cost as much as its value, about.
  virtual double boundsPerValue() const { return 256; }
  virtual double tightenBound(const Design &, unsigned) { return 0; }
  /// Whether there is one level more, for designs that a search leaves open when it has ended (`tightenMining`).
  virtual bool hasFinalBound() const { return false; }
  /// For problems where a design's worth is itself what a search finds (a placement): its value,
  /// with the bound that this search proved. Of a design that is worth `below` or more anything
  /// may be said that is true: an infinite value, a bound not less than `below`. The same for the
  /// same design and `below`.
  virtual DesignEvaluation evaluate(const Design &design, double) {
    double known = value(design);
    if (!(known >= 0))
      known = INFINITY;
    return {known, known};
  }
  /// What a critical-path search asks of a design: by parameter, by how much of the value more of
  /// it could at most help (0: nothing on the critical path waits for it). Empty: not known.
  virtual std::vector<double> bottleneckGains(const Design &) { return {}; }
  /// What designs take besides their value, made least too (`mineParetoFront`): names, and as many
  /// numbers of 0 or more. Of one design exact; no design of a box takes less. Called as `bound`.
  virtual std::vector<std::string> costNames() { return {}; }
  virtual std::vector<double> costs(const DesignBox &) { return {}; }
  /// What values depend on besides the parameters (jobs, metric, versions), in any form: a
  /// checkpoint of a problem that says something else is refused.
  virtual std::string digest() { return {}; }
};

/// The exact search ends at the gap, all at the next round after `stop`, with what is known. Progress is told at each
/// moment; the incumbent may be infinite.
struct MiningOptions : SearchControl {
  uint64_t evaluations = UINT64_MAX;      ///< of `value`, at most
  uint64_t bounds = UINT64_MAX;           ///< of `bound`, at most
  uint64_t openNodes = uint64_t(1) << 26; ///< held by the exact search, at most; it ends at more
  uint64_t seed = 1;
  /// Processor time of the search, at most, and whether moments say when they were; both make a
  /// result depend on the machine. 0: no limit.
  double seconds = 0;
  bool timed = false;
  /// That the exact search and `mineParetoFront` value first. Those that are no designs are left out.
  std::vector<Design> known;
  /// Where the exact search looks at what an earlier one by other schedules left unsettled, and at nothing else: it
  /// evaluated all that may be best. Null: at the whole space.
  const MiningResult *after = nullptr;
  unsigned threads = 1;         ///< at most 256; nothing in the result depends on it
  Executor *executor = nullptr; ///< does the work instead of `threads`; nor on that
  /// File of the values known, of the exact search: written anew, atomically, after every
  /// `checkpointEvery` values and at the end. Empty: none.
  std::string checkpoint;
  uint64_t checkpointEvery = 256;
  /// File of an earlier search of the same problem, whose values are taken for known. The result is
  /// that of an unbroken search (`evaluations` counts what was valued then, too). Empty: none.
  std::string resume;
};

/// Branch and bound, best first over boxes (Land and Doig, Econometrica 28, 1960): of the box of the least bound every
/// parameter is halved on trial, and the box where that raises the bounds most (strong branching: Applegate et al.,
/// TR95-05, 1995); a design of the least bound is valued. What has several levels of bounds climbs them one by one,
/// whenever its own is the least. Ends when no box is below best * (1 - gap); what a design's own search left open is
/// in the bound of the result, which is below its value then. At gap 0 `best` is the first in the order of parameters
/// of all designs of the least value. Limits and `stop` end it with a bound that holds.
MiningResult mineExactly(MiningProblem &problem, const MiningOptions &options = {});
/// Every design, in the order of parameters. Refused: more than 2^48 without a limit.
MiningResult mineExhaustively(MiningProblem &problem, const MiningOptions &options = {});

// Those below bound the whole space at once, count a design that comes again once and none whose
// bound is infinite, and stop at `kDefaultEvaluations` if no limit is set.
constexpr uint64_t kDefaultEvaluations = 2000;

/// Designs drawn evenly, none twice; of a space that is large beside the limit, what is near them and may be
/// (`mayHold`).
MiningResult mineAtRandom(MiningProblem &problem, const MiningOptions &options = {});
/// Simulated annealing (Kirkpatrick et al., Science 220, 1983) over neighbours in one parameter or
/// two, of the logarithm of values: from the spread of a sample, cooled geometrically over the
/// evaluations, back to the best where nothing was found for long.
MiningResult mineByAnnealing(MiningProblem &problem, const MiningOptions &options = {});
/// Critical-path mining (after WHAM, arXiv 2404.14632): sizes of cores (parameters that end in rows, cols or lanes)
/// from the largest by halving, below the best first, a subtree left at the second size in a row that is worse than the
/// best before; for each, counts (those that end in count) from the least, and what the critical path waits for doubled
/// while that helps. Where a limit of area or power forbids that, what it waits for least gives way. Then better
/// neighbours; from several settings of the rest. Nothing is drawn at random.
MiningResult mineByCriticalPath(MiningProblem &problem, const MiningOptions &options = {});
/// Gaussian process over logarithms of the parameters' numbers, words one-hot (Rasmussen and
/// Williams, 2006, algorithm 2.1; kernel dot product + RBF + white), next the one of 1,000 random
/// candidates where mean - deviation is least (Spotlight, HPCA 2023). At most 300 designs if no
/// limit is set, and 600 of them, the best and the latest, in the process.
MiningResult mineByBayes(MiningProblem &problem, const MiningOptions &options = {});

/// A genetic algorithm with a steady state (Whitley, GENITOR, ICGA 1989): of 32 designs two are chosen by tournament, a
/// child has each parameter of one of them and one in as many parameters changed; what may not be becomes the nearest
/// that may; it replaces the one of the largest value unless it is there. The population is drawn anew around the best
/// where its designs are equal or nothing new was born for long.
MiningResult mineByGenetics(MiningProblem &problem, const MiningOptions &options = {});

/// The outer loop of PHAZE (Wang et al., ICML 2024): designs in bins of 10,000 um2 of their area, the largest first,
/// until the best of five bins in a row were none better than the one before. Bins without a design that may be do not
/// count. Of more than 2^22 designs, 2^18 that are drawn. Where no area is known all are in one bin.
MiningResult mineByAreaBins(MiningProblem &problem, const MiningOptions &options = {});

/// By name, done by `MiningOptions::executor` where there is one: "exact", "exhaustive", "random",
/// "annealing", "wham", "bayes", "phaze", "genetic".
using MiningStrategy = MiningResult (*)(MiningProblem &, const MiningOptions &);
MiningStrategy miningStrategy(const std::string &name); ///< null: unknown
std::vector<std::string> miningStrategies();

} // namespace accord
