#include "test/support/SparsePlacementProblems.h"
#include "test/support/PlacementProblems.h"

namespace accord::test {
namespace {

using Cost = PlacementProblem::Cost;

class ZerosMaker {
public:
  explicit ZerosMaker(uint64_t seed) : random_(seed ^ 0x2e20), seed_(seed) {}

  SparsePlacementProblem run() {
    problem_.dense = randomPlacement(seed_, 5, 4);
    alike_ = seed_ % 5 == 0;
    plain_ = alike_ || one(3);
    if (alike_)
      repeatOneLayer();
    else if (one(2))
      separate();
    for (int64_t b = alike_ ? 1 : below(3); b > 0; --b)
      problem_.budgets.push_back({alike_ || one(2) ? "layers with zeros" : "loss", 0});
    const auto classes = static_cast<int64_t>(problem_.dense.classes.size());
    const int64_t units = alike_ ? classes : std::min<int64_t>(5, 1 + below(classes));
    for (int64_t u = 0; u < units; ++u)
      unit(static_cast<uint32_t>(u), classes, units);
    for (size_t b = 0; b < problem_.budgets.size(); ++b)
      problem_.budgets[b].max = alike_   ? 1 + below(units)
                                : one(8) ? 0
                                : one(5) ? maxTakes_[b]
                                         : below(maxTakes_[b] * 2 / 3 + 1);
    return std::move(problem_);
  }

private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_.below(static_cast<size_t>(n))); }
  bool one(int64_t in) { return below(in) == 0; }

  /// A chain of layers that cost the same, in a schedule and of an objective that prices are for.
  void repeatOneLayer() {
    PlacementProblem &dense = problem_.dense;
    const LayerClass first = dense.classes[0];
    dense.classes.assign(4, first), dense.layers.clear(), dense.edges.clear();
    dense.ties.clear(), dense.placementConstraints.clear(), dense.uniformClass.reset();
    for (uint32_t l = 0; l < dense.classes.size(); ++l) {
      dense.layers.push_back({"layer" + std::to_string(l), l, {}, {}});
      if (l > 0)
        dense.edges.push_back({l - 1, l, below(60)});
    }
    dense.objective = one(3) ? PlacementObjective::Energy : PlacementObjective::StepTime;
    dense.schedules = {one(2) ? PipelineSchedule::GPipe : PipelineSchedule::OneFOneB};
  }

  /// Gives each layer a class of its own, so that there are more units.
  void separate() {
    PlacementProblem &dense = problem_.dense;
    std::vector<bool> seen(dense.classes.size());
    for (PlacementProblem::Layer &layer : dense.layers)
      if (seen[layer.of]) {
        dense.classes.push_back(dense.classes[layer.of]);
        layer.of = static_cast<uint32_t>(dense.classes.size() - 1);
      } else {
        seen[layer.of] = true;
      }
  }

  /// Class u, and classes of no other unit.
  void unit(uint32_t number, int64_t classes, int64_t units) {
    SparsityUnit unit;
    unit.classes = {number};
    for (int64_t c = units; c < classes; ++c)
      if (free_ <= c && one(2)) {
        unit.classes.push_back(static_cast<uint32_t>(c));
        free_ = c + 1;
      }
    maxTakes_.resize(problem_.budgets.size());
    for (int64_t d = alike_ ? 1 : 1 + below(2); d > 0; --d) {
      SparsityDecision decision{{"product" + std::to_string(number) + "_" + std::to_string(d)}, {{"dense", {}}}};
      for (int64_t o = alike_ ? 1 : 1 + below(one(3) ? 2 : 1); o > 0; --o) {
        decision.options.push_back({"zeros" + std::to_string(o), {}});
        for (size_t b = 0; b < problem_.budgets.size(); ++b)
          decision.options.back().takes.push_back(problem_.budgets[b].what != "loss" ? 1 : one(6) ? 0 : 1 + below(20));
      }
      for (size_t b = 0; b < problem_.budgets.size(); ++b) {
        int64_t max = 0;
        for (const auto &option : decision.options)
          max = std::max(max, option.takes.empty() ? 0 : option.takes[b]);
        maxTakes_[b] += max;
      }
      unit.decisions.push_back(std::move(decision));
    }
    std::vector<uint32_t> options(unit.decisions.size());
    do {
      const bool dense = std::ranges::count(options, 0U) == static_cast<int64_t>(options.size());
      if (dense || alike_ || !one(8))
        unit.alternatives.push_back({options, costsOf(unit, options)});
    } while (next(options, unit));
    problem_.units.push_back(std::move(unit));
  }

  static bool next(std::vector<uint32_t> &options, const SparsityUnit &unit) {
    for (size_t d = 0; d < options.size(); ++d) {
      if (++options[d] < unit.decisions[d].options.size())
        return true;
      options[d] = 0;
    }
    return false;
  }

  std::vector<std::vector<std::optional<Cost>>> costsOf(const SparsityUnit &unit,
                                                        const std::vector<uint32_t> &options) {
    std::vector<std::vector<std::optional<Cost>>> all;
    for (uint32_t c : unit.classes) {
      const auto &dense = problem_.dense.classes[c].costs;
      all.push_back(dense);
      if (std::ranges::count(options, 0U) == static_cast<int64_t>(options.size()))
        continue;
      for (std::optional<Cost> &cost : all.back()) {
        if (!cost && one(4)) // zeros may be all that can run
          cost = dense.front();
        if (!alike_ && one(plain_ ? 50 : 14))
          cost.reset();
        if (cost)
          for (uint32_t option : options)
            if (option > 0)
              scale(*cost);
      }
    }
    return all;
  }

  void scale(Cost &cost) {
    auto times = [](auto &number, double by) { number = static_cast<std::decay_t<decltype(number)>>(number * by); };
    if (plain_) { // passes take a part of their time, and of their energy
      const double by = alike_ ? 0.5 : static_cast<double>(40 + below(50)) / 100;
      for (auto field : {&Cost::forward, &Cost::backward, &Cost::weight})
        times(cost.*field, by);
      times(cost.joules, by);
      return;
    }
    auto factor = [&] { return static_cast<double>(one(8) ? 100 + below(60) : 40 + below(61)) / 100; };
    for (auto field : {&Cost::forward, &Cost::backward, &Cost::weight, &Cost::update, &Cost::gradients, &Cost::weights,
                       &Cost::expertGradients, &Cost::hostStaticMemory, &Cost::tied})
      times(cost.*field, factor());
    const double memory = factor();
    for (auto field : {&Cost::staticMemory, &Cost::weightMemory, &Cost::gradientMemory})
      times(cost.*field, memory);
    times(cost.joules, factor()), times(cost.recomputeJoules, factor());
    for (RecomputeChoice &choice : cost.recomputeChoices)
      for (auto field : {&RecomputeChoice::recomputeTime, &RecomputeChoice::activations, &RecomputeChoice::workspace,
                         &RecomputeChoice::hostActivations})
        times(choice.*field, factor());
    if (cost.recomputeChoices.size() > 1 && one(6))
      cost.recomputeChoices.pop_back();
  }

  fuzz::Random random_;
  uint64_t seed_;
  SparsePlacementProblem problem_;
  bool plain_ = false, alike_ = false;
  int64_t free_ = 0; ///< classes before it are of some unit, or of none
  std::vector<int64_t> maxTakes_;
};

} // namespace

SparsePlacementProblem randomSparsePlacement(uint64_t seed) { return ZerosMaker(seed).run(); }

int64_t takenBy(const SparsePlacementProblem &problem, const std::vector<uint32_t> &choice, size_t budget) {
  int64_t sum = 0;
  for (size_t u = 0; u < choice.size(); ++u) {
    const SparsityUnit &unit = problem.units[u];
    for (size_t d = 0; d < unit.decisions.size(); ++d)
      if (const auto &takes = unit.decisions[d].options[unit.alternatives[choice[u]].options[d]].takes; !takes.empty())
        sum += takes[budget];
  }
  return sum;
}

bool isWithinBudgets(const SparsePlacementProblem &problem, const std::vector<uint32_t> &choice) {
  for (size_t b = 0; b < problem.budgets.size(); ++b)
    if (takenBy(problem, choice, b) > problem.budgets[b].max)
      return false;
  return true;
}

PlacementProblem withSparsity(const SparsePlacementProblem &problem, const std::vector<uint32_t> &choice) {
  PlacementProblem made = problem.dense;
  for (size_t u = 0; u < choice.size(); ++u)
    for (size_t c = 0; c < problem.units[u].classes.size(); ++c)
      made.classes[problem.units[u].classes[c]].costs = problem.units[u].alternatives[choice[u]].costs[c];
  return made;
}

std::vector<std::vector<uint32_t>> allChoices(const SparsePlacementProblem &problem) {
  std::vector<std::vector<uint32_t>> all{{}};
  for (const SparsityUnit &unit : problem.units) {
    std::vector<std::vector<uint32_t>> longer;
    for (const auto &choice : all)
      for (uint32_t a = 0; a < unit.alternatives.size(); ++a) {
        longer.push_back(choice);
        longer.back().push_back(a);
      }
    all = std::move(longer);
  }
  return all;
}

EnumeratedZeros enumerateZeros(const SparsePlacementProblem &problem) {
  EnumeratedZeros found;
  for (const auto &choice : allChoices(problem)) {
    if (!isWithinBudgets(problem, choice))
      continue;
    ++found.choices;
    EnumeratorOptions options;
    options.max = 20'000'000, options.below = found.best;
    Enumerated all = enumeratePlans(withSparsity(problem, choice), options);
    found.complete &= all.complete;
    found.plans += all.choices;
    if (all.plan && all.best < found.best)
      found.best = all.best, found.choice = choice;
  }
  return found;
}

} // namespace accord::test
