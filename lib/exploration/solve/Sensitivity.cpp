#include "lib/exploration/solve/Sensitivity.h"
#include "lib/exploration/solve/Run.h"
#include "lib/support/Workers.h"
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
    pinned.spelled = {pinned.spelled[choice]};
    if (!pinned.numbers.empty())
      pinned.numbers = {pinned.numbers[choice]};
  }
  const std::vector<DesignParameter> &parameters() const override { return all; }
  double bound(const DesignBox &box) override {
    return whole.bound({inWhole(box.low), inWhole(box.high)});
  }
  double value(const Design &design) override { return whole.value(inWhole(design)); }
  unsigned tiers() const override { return whole.tiers(); }
  double deepen(const Design &design, unsigned tier) override {
    return whole.deepen(inWhole(design), tier);
  }
  Appraisal appraise(const Design &design, double below) override {
    return whole.appraise(inWhole(design), below);
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
std::vector<uint32_t> choicesAround(uint32_t middle, size_t size, size_t most) {
  size_t count = std::min(size, std::max<size_t>(most, 1));
  size_t first = middle > count / 2 ? middle - count / 2 : 0;
  first = std::min(first, size - count);
  std::vector<uint32_t> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(static_cast<uint32_t>(first + i));
  return all;
}

} // namespace

std::vector<std::vector<ChoiceWorth>> sensitivityOf(MiningProblem &problem, const Design &best,
                                                    const SensitivityOptions &options) {
  const std::vector<DesignParameter> &parameters = problem.parameters();
  std::vector<std::vector<ChoiceWorth>> all(parameters.size());
  if (designsAmong(parameters, {best}).empty())
    return all;
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t p = 0; p < parameters.size(); ++p)
    for (uint32_t choice : choicesAround(best[p], parameters[p].spelled.size(), options.choices)) {
      places.emplace_back(p, all[p].size());
      all[p].emplace_back().choice = choice;
    }
  auto stopped = [&] { return options.stop && options.stop->load(std::memory_order_relaxed); };
  Workers(options.threads).each(places.size(), [&](size_t i) {
    auto [p, at] = places[i];
    if (stopped())
      return;
    Design beside = best;
    beside[p] = all[p][at].choice;
    bool possible = boundOf(problem, {beside, beside}) < INFINITY;
    all[p][at].value = possible ? appraisalOf(problem, beside, INFINITY).value : INFINITY;
  });
  if (stopped())
    return std::vector<std::vector<ChoiceWorth>>(parameters.size());
  if (options.evaluations == 0)
    return all;
  std::vector<Design> found = {best};
  for (auto [p, at] : places) {
    ChoiceWorth &worth = all[p][at];
    size_t distance = std::max(worth.choice, best[p]) - std::min(worth.choice, best[p]);
    if (distance == 0 || distance > options.pins / 2 || stopped())
      continue;
    Pinned pinned(problem, p, worth.choice);
    MiningOptions search;
    search.evaluations = options.evaluations;
    search.bounds = options.bounds;
    search.threads = options.threads;
    search.stop = options.stop;
    Design beside = best;
    beside[p] = 0;
    if (std::isfinite(worth.value))
      search.known.push_back(beside);
    for (const Design &other : found)
      if (other[p] == worth.choice) {
        search.known.push_back(other);
        search.known.back()[p] = 0;
        break;
      }
    MiningResult result = mineExactly(pinned, search);
    worth.searched = true;
    worth.best = result.value;
    worth.bound = result.bound;
    worth.least = result.least || result.bound == INFINITY;
    if (result.best)
      found.push_back(pinned.inWhole(*result.best));
  }
  return all;
}

} // namespace accord
