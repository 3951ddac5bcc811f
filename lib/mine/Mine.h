// Searches for the best design of a space. What a design is worth is the business of a
// `MiningProblem`; strategies see no machine.
#pragma once
#include "lib/model/MiningPlan.h"
#include <atomic>
#include <functional>
#include <optional>

namespace accord {

/// Values are of an objective that is made least; infinite: the design may not be (a requirement
/// fails, the step does not fit, no area is known).
class MiningProblem {
public:
  virtual ~MiningProblem() = default;
  virtual const std::vector<DesignParameter> &parameters() const = 0;
  /// No design of the box is worth less. Costs microseconds. Never above `value` of any of its
  /// designs, and never less for a part of the box.
  virtual double bound(const DesignBox &box) = 0;
  /// Costs milliseconds. The same for the same design.
  virtual double value(const Design &design) = 0;
  /// What a critical-path search asks of a design: by parameter, by how much of the value more of
  /// it could at most help (0: nothing on the critical path waits for it). Empty: not known.
  virtual std::vector<double> waits(const Design &) { return {}; }
};

struct MiningOptions {
  uint64_t evaluations = UINT64_MAX; ///< of `value`, at most
  uint64_t bounds = UINT64_MAX;      ///< of `bound`, at most
  uint64_t seed = 1;
  double gap = 0;       ///< of the exact search: stop when proven so near
  unsigned threads = 1; ///< the answer does not depend on it
  const std::atomic<bool> *stop = nullptr;
  std::function<void(double incumbent, double bound)> progress;
};

/// Best first over boxes: the one of the least bound is halved, a design of the least bound is
/// valued. Ends when no box is below the best value. Of equal designs the first in the order of
/// parameters.
MiningResult mineExactly(MiningProblem &problem, const MiningOptions &options = {});
/// Every design, in the order of parameters.
MiningResult mineExhaustively(MiningProblem &problem, const MiningOptions &options = {});
/// Designs drawn evenly, none twice.
MiningResult mineAtRandom(MiningProblem &problem, const MiningOptions &options = {});
/// Simulated annealing (Kirkpatrick et al., Science 220, 1983) over neighbours in one parameter.
MiningResult mineByAnnealing(MiningProblem &problem, const MiningOptions &options = {});
/// Critical-path mining (WHAM, arXiv 2404.14632): sizes of cores from large to small by halving,
/// counts that grow where the critical path waits.
MiningResult mineByCriticalPath(MiningProblem &problem, const MiningOptions &options = {});
/// Gaussian process on the parameters' numbers, next where mean - deviation is least (Spotlight,
/// HPCA 2023).
MiningResult mineByBayes(MiningProblem &problem, const MiningOptions &options = {});

/// By name: "exact", "exhaustive", "random", "annealing", "wham", "bayes".
using MiningStrategy = MiningResult (*)(MiningProblem &, const MiningOptions &);
MiningStrategy miningStrategy(const std::string &name); ///< null: unknown
std::vector<std::string> miningStrategies();

} // namespace accord
