#include "lib/exploration/solve/Sensitivity.h"
#include "lib/exploration/solve/MiningRun.h"
#include "lib/support/ThreadPool.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

/// A problem whose designs all have one choice of one parameter.
class Pinned : public MiningProblem {
public:
  Pinned(MiningProblem &whole, size_t parameter, uint32_t choice)
      : whole(whole), parameter(parameter), choice(choice), all(whole.parameters()) {
    DesignParameter &pinned = all[parameter];
    pinned.labels = {pinned.labels[choice]};
    if (!pinned.numbers.empty())
      pinned.numbers = {pinned.numbers[choice]};
  }
  const std::vector<DesignParameter> &parameters() const override { return all; }
  double bound(const DesignBox &box) override { return whole.bound({inWhole(box.low), inWhole(box.high)}); }
  unsigned numBoundLevels() const override { return whole.numBoundLevels(); }
  bool hasCheapValues() const override { return whole.hasCheapValues(); }
  double tightenBound(const Design &design, unsigned level) override {
    return whole.tightenBound(inWhole(design), level);
  }
  DesignEvaluation evaluate(const Design &design, double below) override {
    return whole.evaluate(inWhole(design), below);
  }
  Design inWhole(Design design) const {
    design[parameter] = choice;
    return design;
  }

private:
  MiningProblem &whole;
  size_t parameter;
  uint32_t choice;
  std::vector<DesignParameter> all;
};

/// Those nearest to the middle one, ascending.
std::vector<uint32_t> choicesAround(uint32_t middle, size_t size, size_t max) {
  size_t count = std::min(size, std::max<size_t>(max, 1));
  size_t first = middle > count / 2 ? middle - count / 2 : 0;
  first = std::min(first, size - count);
  std::vector<uint32_t> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(first + i);
  return all;
}

} // namespace

std::vector<std::vector<ChoiceSensitivity>> sensitivityOf(MiningProblem &problem, const Design &best,
                                                          const SensitivityOptions &options) {
  const std::vector<DesignParameter> &parameters = problem.parameters();
  std::vector<std::vector<ChoiceSensitivity>> all(parameters.size());
  if (validDesigns(parameters, {best}).empty())
    return all;
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t p = 0; p < parameters.size(); ++p)
    for (uint32_t choice : choicesAround(best[p], parameters[p].labels.size(), options.choices)) {
      places.emplace_back(p, all[p].size());
      all[p].emplace_back().choice = choice;
    }
  auto stopped = [&] { return options.stop && options.stop->load(std::memory_order_relaxed); };
  ThreadPool(options.threads).each(places.size(), [&](size_t i) {
    auto [p, at] = places[i];
    if (stopped())
      return;
    Design beside = best;
    beside[p] = all[p][at].choice;
    bool possible = boundOf(problem, {beside, beside}) < INFINITY;
    all[p][at].value = possible ? evaluationOf(problem, beside, INFINITY).value : INFINITY;
  });
  if (stopped())
    return std::vector<std::vector<ChoiceSensitivity>>(parameters.size());
  if (options.evaluations == 0)
    return all;
  std::vector<Design> found = {best};
  for (auto [p, at] : places) {
    ChoiceSensitivity &entry = all[p][at];
    size_t distance = std::max(entry.choice, best[p]) - std::min(entry.choice, best[p]);
    if (distance == 0 || distance > options.numFixedChoices / 2 || stopped())
      continue;
    Pinned pinned(problem, p, entry.choice);
    MiningOptions search;
    search.evaluations = options.evaluations;
    search.bounds = options.bounds;
    search.threads = options.threads;
    search.stop = options.stop;
    Design beside = best;
    beside[p] = 0;
    if (std::isfinite(entry.value))
      search.known.push_back(beside);
    for (const Design &other : found)
      if (other[p] == entry.choice) {
        search.known.push_back(other);
        search.known.back()[p] = 0;
        break;
      }
    MiningResult result = mineExactly(pinned, search);
    entry.searched = true;
    entry.best = result.value;
    entry.bound = result.bound;
    entry.isOptimal = result.isOptimal || result.bound == INFINITY;
    if (result.best)
      found.push_back(pinned.inWhole(*result.best));
  }
  return all;
}

} // namespace accord
