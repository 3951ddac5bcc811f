// The outer loop of PHAZE.
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/exploration/solve/MiningRun.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

constexpr double kBin = 1e-8;                   ///< m2: 10,000 um2
constexpr size_t kBinsWithoutImprovement = 5;   ///< bins in a row
constexpr uint64_t kListed = uint64_t(1) << 22; ///< designs, at most
constexpr uint64_t kDrawn = uint64_t(1) << 18;  ///< of more

/// m2; 0: not known.
double areaOf(MiningProblem &problem, const Design &design) {
  std::vector<std::string> names = problem.costNames();
  auto at = std::find(names.begin(), names.end(), "area");
  std::vector<double> costs = at == names.end() ? std::vector<double>() : problem.costs({design, design});
  size_t place = at - names.begin();
  return place < costs.size() ? costs[place] : 0;
}

class AreaBins {
public:
  explicit AreaBins(MiningRun &run) : run(run), size(designsOf(run.parameters())) {
    all = size && *size <= kListed;
    drawn.reserve(all ? *size : kDrawn);
    MiningRandom random(run.options().seed);
    for (uint64_t i = 0; i < (all ? *size : kDrawn) && !run.stopped(); ++i) {
      if (!all)
        designs.push_back(random.design(run.parameters()));
      double area = areaOf(run.problem(), at(i));
      drawn.push_back({std::isfinite(area) ? std::floor(area / kBin) : 0, i});
    }
    std::sort(drawn.begin(), drawn.end(),
              [](const Listed &a, const Listed &b) { return std::pair(-a.bin, a.index) < std::pair(-b.bin, b.index); });
  }

  /// Whether every design was looked at.
  bool search() {
    std::vector<double> last; // best values of bins that were not better than the one before
    size_t next = 0;
    while (next < drawn.size() && !run.isExhausted() && last.size() < kBinsWithoutImprovement) {
      double best = INFINITY, bin = drawn[next].bin;
      while (next < drawn.size() && drawn[next].bin == bin && !run.isExhausted()) {
        std::vector<Design> round;
        for (; next < drawn.size() && drawn[next].bin == bin && round.size() < 64; ++next)
          round.push_back(at(drawn[next].index));
        for (double value : run.values(round))
          best = std::min(best, value);
      }
      if (std::isinf(best))
        continue; // none of it is an architecture
      if (!last.empty() && best < last.back())
        last.clear();
      last.push_back(best);
    }
    return all && next == drawn.size() && !run.isTruncated();
  }

private:
  struct Listed {
    double bin;
    uint64_t index;
  };
  Design at(uint64_t index) const { return all ? designAt(run.parameters(), index) : designs[index]; }

  MiningRun &run;
  std::optional<uint64_t> size;
  bool all = false; ///< are listed
  std::vector<Design> designs;
  std::vector<Listed> drawn;
};

} // namespace

MiningResult mineByAreaBins(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "phaze", kDefaultEvaluations);
  run.screenInfeasible();
  return run.conclude(run.empty() || AreaBins(run).search());
}

} // namespace accord
