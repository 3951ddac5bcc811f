#include "lib/sparsity/verify/ReportedSelectionChecker.h"
#include "lib/sparsity/verify/ExpectedTimes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

class ReportedSelectionChecker {
public:
  ReportedSelectionChecker(const SelectionProblem &problem, const SelectionResult &result,
                           const ReportedSelection &shown)
      : problem(problem), result(result), shown(shown) {}

  Errors run() {
    if (!result.feasible)
      find("a choice is shown, but none is stated to satisfy the requirements");
    if (shown.objective != name(problem.objective))
      find(fmt::format("'{}' is shown as the objective of '{}'", shown.objective, name(problem.objective)));
    if (shown.proven != result.proven())
      find(fmt::format("the choice is called {}, with a value of {} and a bound of {}",
                       shown.proven ? "proven" : "not proven", result.value, result.bound));
    same("the gap", shown.gap, result.gap());
    if (shown.step.layers.size() != problem.operations.size() || result.choice.size() != problem.operations.size()) {
      find(fmt::format("{} layers are shown of {}", shown.step.layers.size(), problem.operations.size()));
      return std::move(findings);
    }
    for (std::string &error : findWrongKernels(shown.step.kernels))
      find(std::move(error));
    for (size_t i = 0; i < shown.step.layers.size() && findings.size() < kMax; ++i)
      layer(shown.step.layers[i], problem.operations[i], result.choice[i]);
    if (findings.empty())
      totals();
    return std::move(findings);
  }

private:
  void find(std::string message) {
    if (findings.size() < kMax)
      findings.push_back({Code::WrongObjective, std::move(message), {}, {}});
  }
  void same(const std::string &what, double found, double expected) {
    if (!(std::abs(found - expected) <= 1e-12 * std::max(std::abs(found), std::abs(expected))))
      find(fmt::format("{} is shown as {}, and is {}", what, found, expected));
  }
  /// A number in units of the problem, next to its integer.
  void counted(const std::string &what, double found, int64_t expected) {
    const double whole = expected;
    if (!(std::abs(found - whole) < 1 + 1e-12 * std::abs(whole)))
      find(fmt::format("{} is shown as {}, and counted as {}", what, found, expected));
  }

  void layer(const PruneLayer &layer, const SelectionOperation &operation, unsigned choice) {
    if (layer.name != operation.name)
      find(fmt::format("'{}' is shown as '{}'", operation.name, layer.name));
    if (layer.choice != choice || layer.options.size() <= choice)
      find(fmt::format("option {} of '{}' is shown as chosen, and it is {}", layer.choice, layer.name, choice));
    if (layer.options.size() != operation.options.size())
      return find(fmt::format("'{}' is shown with {} options of {}", layer.name, layer.options.size(),
                              operation.options.size()));
    for (size_t o = 0; o < layer.options.size(); ++o) {
      const PruneOption &option = layer.options[o];
      const SelectionOption &of = operation.options[o];
      const std::string what = fmt::format("'{}' of '{}'", of.label, layer.name);
      if (option.label != of.label && option.sparsity != of.label)
        find(fmt::format("{} is shown as '{}'", what, option.label));
      if (of.sparse != (o > 0))
        find(fmt::format("{} is {}counted as sparse", what, of.sparse ? "" : "not "));
      counted("the time of " + what, std::max(option.quantile, option.expected) * 1e12, of.picoseconds);

      counted("the energy of " + what, option.quantileJoules * 1e12, of.picojoules);
      counted("the memory of " + what, option.bytes, of.bytes);
      if (lossUnits(option.loss) != of.loss)
        find(fmt::format("the loss of {} is shown as {}, and counted as {}", what, option.loss.print(), of.loss));
      same("the time of " + what + " on average", option.seconds,
           option.forward + option.dataGradient + option.weightGradient + option.update + option.exchange);
      if (option.seconds > option.quantile * (1 + 1e-9) || option.joules > option.quantileJoules * (1 + 1e-9))
        find(fmt::format("{} takes more on average than what is not exceeded", what));
      for (const std::string &error : findWrongExpectations(option, shown.step.kernels))
        find(fmt::format("{}: {}", what, error));
    }
  }

  void totals() {
    PruneStep::Totals chosen, dense;
    double quantile = shown.step.otherSeconds, expected = quantile, min = quantile, max = quantile;
    chosen.seconds = dense.seconds = shown.step.otherSeconds;
    for (const PruneLayer &layer : shown.step.layers) {
      auto add = [](PruneStep::Totals &to, const PruneOption &option) {
        to.seconds += option.seconds, to.joules += option.joules, to.bytes += option.bytes;
      };
      add(chosen, layer.chosen()), add(dense, layer.options.front());
      quantile += layer.chosen().quantile;
      expected += layer.chosen().expected, min += layer.chosen().expectedMin, max += layer.chosen().expectedMax;
    }
    same("the time of the step", shown.step.chosen.seconds, chosen.seconds);
    same("the dense time of the step", shown.step.dense.seconds, dense.seconds);
    same("the ideal time that the step does not exceed", shown.step.quantile, quantile);
    same("the expected time of the step", shown.step.expected, expected);
    same("the least expected time of the step", shown.step.expectedMin, min);
    same("the largest expected time of the step", shown.step.expectedMax, max);
    // What no option changes has energy and memory too, the same in both.
    const double joules = shown.step.dense.joules - dense.joules, bytes = shown.step.dense.bytes - dense.bytes;
    if (joules < -1e-9 * dense.joules || bytes < -1)
      find("the dense step takes less than its layers");
    same("the energy of the step", shown.step.chosen.joules, chosen.joules + joules);
    same("the memory of states", shown.step.chosen.bytes, chosen.bytes + bytes);
  }

  static constexpr size_t kMax = 20;
  const SelectionProblem &problem;
  const SelectionResult &result;
  const ReportedSelection &shown;
  Errors findings;
};

} // namespace

Errors verify(const SelectionProblem &problem, const SelectionResult &result, const ReportedSelection &shown) {
  return ReportedSelectionChecker(problem, result, shown).run();
}

} // namespace accord
