#include "lib/placement/problem/SparsePlacement.h"
#include <fmt/format.h>
#include <set>

namespace accord {

int64_t SparsePlacementProblem::takesOf(size_t unit, size_t alternative, size_t budget) const {
  const SparsityUnit &of = units[unit];
  int64_t sum = 0;
  for (size_t d = 0; d < of.decisions.size(); ++d) {
    const std::vector<int64_t> &takes = of.decisions[d].options[of.alternatives[alternative].options[d]].takes;
    sum += takes.empty() ? 0 : takes[budget];
  }
  return sum;
}

bool SparsePlacementProblem::keepsBudgets(const std::vector<uint32_t> &choice) const {
  for (size_t b = 0; b < budgets.size(); ++b) {
    int64_t sum = 0;
    for (size_t u = 0; u < units.size(); ++u)
      sum += takesOf(u, choice[u], b);
    if (sum > budgets[b].max)
      return false;
  }
  return true;
}

PlacementProblem SparsePlacementProblem::with(const std::vector<uint32_t> &choice) const {
  PlacementProblem made = dense;
  for (size_t u = 0; u < units.size(); ++u)
    for (size_t c = 0; c < units[u].classes.size(); ++c)
      if (units[u].classes[c] < made.classes.size()) // else `check` says so
        made.classes[units[u].classes[c]].costs = units[u].alternatives[choice[u]].costs[c];
  return made;
}

const SparsityDecision::Option &PlacementSparsity::chosen(size_t unit, size_t decision) const {
  const SparsityUnit &of = units[unit];
  const uint32_t alternative = choice.empty() ? 0 : choice[unit];
  return of.decisions[decision].options[of.alternatives[alternative].options[decision]];
}

SparsePlacementProblem problemOf(const PlacementProblem &chosen, const PlacementSparsity &zeros) {
  SparsePlacementProblem problem{chosen, zeros.units, zeros.budgets};
  problem.dense = problem.with(std::vector<uint32_t>(zeros.units.size()));
  return problem;
}

SparsePlacementResult resultOf(const PlacementResult &result, const PlacementSparsity &zeros) {
  return {zeros.choice, result, zeros.proof, zeros.denseValue, zeros.parts};
}

namespace {

constexpr int64_t kMaxSum = int64_t{1} << 60;

class SparsePlacementChecker {
public:
  explicit SparsePlacementChecker(const SparsePlacementProblem &problem) : p_(problem) {}

  Errors run() {
    errors_ = check(p_.dense);
    if (!errors_.empty())
      return std::move(errors_);
    for (const SparsityBudget &budget : p_.budgets)
      if (budget.max < 0)
        report(fmt::format("the budget of '{}' is {}, which has to be 0 or more", budget.what, budget.max));
    for (size_t u = 0; u < p_.units.size() && errors_.empty(); ++u)
      unit(u);
    if (errors_.empty())
      sums();
    // Each alternative by itself, those of all units at once; then sums of any choice.
    size_t max = 0;
    for (const SparsityUnit &unit : p_.units)
      max = std::max(max, unit.alternatives.size());
    for (size_t a = 0; a < max && errors_.empty(); ++a) {
      std::vector<uint32_t> choice;
      for (const SparsityUnit &unit : p_.units)
        choice.push_back(static_cast<uint32_t>(std::min(a, unit.alternatives.size() - 1)));
      errors_ = check(p_.with(choice));
    }
    if (errors_.empty())
      errors_ = check(largest());
    return std::move(errors_);
  }

private:
  void report(std::string text) {
    if (errors_.size() < 20)
      errors_.push_back({Code::MalformedPlacementProblem, std::move(text), p_.dense.location, {}});
  }

  void unit(size_t number) {
    const SparsityUnit &unit = p_.units[number];
    if (unit.classes.empty() || unit.alternatives.empty())
      return report(fmt::format("unit {} of zeros has {} classes and {} alternatives", number, unit.classes.size(),
                                unit.alternatives.size()));
    for (PlacementProblem::Id one : unit.classes)
      if (one >= p_.dense.classes.size() || !seen_.insert(one).second)
        report(fmt::format("unit {} of zeros has class {}, {}", number, one,
                           one < p_.dense.classes.size() ? "which is named twice"
                                                         : fmt::format("there are {}", p_.dense.classes.size())));
    auto isDense = [](const SparsityAlternative &one) {
      return std::ranges::all_of(one.options, [](uint32_t option) { return option == 0; });
    };
    if (std::any_of(unit.alternatives.begin() + 1, unit.alternatives.end(), isDense))
      report(fmt::format("the dense alternative of unit {} of zeros is not the first one", number));
    for (const SparsityDecision &decision : unit.decisions) {
      if (!decision.options.empty())
        for (int64_t takes : decision.options[0].takes)
          if (takes != 0)
            report(fmt::format("the dense option '{}' takes {} of a budget", decision.options[0].label, takes));
      if (decision.layers.empty() || decision.options.empty())
        report(fmt::format("a decision of unit {} of zeros has no layers or no options", number));
      for (const SparsityDecision::Option &option : decision.options) {
        if (!option.takes.empty() && option.takes.size() != p_.budgets.size())
          report(fmt::format("option '{}' takes of {} budgets, there are {}", option.label, option.takes.size(),
                             p_.budgets.size()));
        for (int64_t takes : option.takes)
          if (takes < 0 || takes > kMaxSum)
            report(fmt::format("option '{}' takes {} of a budget, which has to be 0 to 2^60", option.label, takes));
      }
    }
    for (const SparsityAlternative &alternative : unit.alternatives)
      this->alternative(number, alternative);
  }

  void alternative(size_t number, const SparsityAlternative &alternative) {
    const SparsityUnit &unit = p_.units[number];
    if (alternative.options.size() != unit.decisions.size())
      return report(fmt::format("an alternative of unit {} of zeros has {} options for {} decisions", number,
                                alternative.options.size(), unit.decisions.size()));
    for (size_t d = 0; d < unit.decisions.size(); ++d)
      if (alternative.options[d] >= unit.decisions[d].options.size())
        report(fmt::format("an alternative of unit {} of zeros has option {} of {}", number, alternative.options[d],
                           unit.decisions[d].options.size()));
    if (alternative.costs.size() != unit.classes.size())
      return report(fmt::format("an alternative of unit {} of zeros has costs of {} classes, there are {}", number,
                                alternative.costs.size(), unit.classes.size()));
    for (const auto &costs : alternative.costs)
      if (costs.size() != p_.dense.parallelConfigs.size())
        report(fmt::format("an alternative of unit {} of zeros has costs in {} parallel configurations, there are {}",
                           number, costs.size(), p_.dense.parallelConfigs.size()));
  }

  /// With the largest of each number over a unit's alternatives, and all of their recomputation choices.
  PlacementProblem largest() const {
    using Cost = PlacementProblem::Cost;
    PlacementProblem made = p_.dense;
    for (const SparsityUnit &unit : p_.units)
      for (size_t c = 0; c < unit.classes.size(); ++c)
        for (size_t f = 0; f < made.parallelConfigs.size(); ++f) {
          std::optional<Cost> &max = made.classes[unit.classes[c]].costs[f];
          max.reset();
          for (const SparsityAlternative &alternative : unit.alternatives)
            if (const std::optional<Cost> &cost = alternative.costs[c][f]) {
              if (!max)
                max.emplace();
              for (auto field :
                   {&Cost::forward, &Cost::backward, &Cost::weight, &Cost::update, &Cost::staticMemory,
                    &Cost::gradients, &Cost::expertGradients, &Cost::weights, &Cost::hostStaticMemory, &Cost::tied})
                (*max).*field = std::max((*max).*field, (*cost).*field);
              max->recomputeChoices.insert(max->recomputeChoices.end(), cost->recomputeChoices.begin(),
                                           cost->recomputeChoices.end());
            }
        }
    return made;
  }

  /// No sum over units passes what can be counted.
  void sums() {
    for (size_t b = 0; b < p_.budgets.size(); ++b) {
      __int128 all = 0;
      for (const SparsityUnit &unit : p_.units)
        for (const SparsityDecision &decision : unit.decisions) {
          int64_t max = 0;
          for (const SparsityDecision::Option &option : decision.options)
            max = std::max(max, option.takes.empty() ? 0 : option.takes[b]);
          all += max;
        }
      if (all > kMaxSum)
        report(fmt::format("zeros may take more than 2^60 of the budget of '{}'", p_.budgets[b].what));
    }
  }

  const SparsePlacementProblem &p_;
  Errors errors_;
  std::set<PlacementProblem::Id> seen_;
};

} // namespace

Errors check(const SparsePlacementProblem &problem) { return SparsePlacementChecker(problem).run(); }

} // namespace accord
