#include "lib/sparsity/problem/Selection.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {
namespace {

constexpr int64_t kMaxSum = int64_t(1) << 60;
constexpr size_t kMaxOperations = 10'000;
constexpr int64_t kLossUnits = 1'000'000'000'000;

/// Adds the most that an operation can have, of each number of its options; false: sums do not fit.
bool addMax(const SelectionOperation &operation, std::array<int64_t, 4> &sums) {
  constexpr int64_t SelectionOption::*kNumbers[] = {&SelectionOption::picoseconds, &SelectionOption::picojoules,
                                                    &SelectionOption::bytes, &SelectionOption::loss};
  for (auto [number, sum] : llvm::zip_equal(kNumbers, sums)) {
    int64_t max = 0;
    for (const SelectionOption &option : operation.options)
      max = std::max(max, option.*number);
    if (sum > kMaxSum - max)
      return false;
    sum += max;
  }
  return true;
}

std::string checkOperation(const SelectionOperation &operation) {
  if (operation.options.empty())
    return "it has no option";
  if (operation.options.front().sparse)
    return "its first option is not dense";
  if (operation.stage >= kMaxOperations)
    return fmt::format("stage {} of at most {}", operation.stage, kMaxOperations);
  std::set<std::string> labels;
  for (const SelectionOption &option : operation.options) {
    if (!labels.insert(option.label).second)
      return fmt::format("it has two options '{}'", option.label);
    if (std::min({option.picoseconds, option.picojoules, option.bytes, option.loss}) < 0)
      return fmt::format("option '{}' has a negative number", option.label);
  }
  return "";
}

std::string checkGroups(const SelectionProblem &problem) {
  std::set<unsigned> grouped;
  for (const std::vector<unsigned> &group : problem.groups) {
    for (unsigned o : group) {
      if (o >= problem.operations.size())
        return fmt::format("a group has operation {} of {}", o, problem.operations.size());
      if (!grouped.insert(o).second)
        return fmt::format("operation '{}' is in groups twice", problem.operations[o].name);
    }
  }
  return "";
}

std::string checkRules(const SelectionProblem &problem) {
  for (const SelectionRule &rule : problem.rules) {
    if (rule.max < 0)
      return "a rule allows fewer than none";
    std::set<std::pair<unsigned, unsigned>> named;
    for (auto [o, option] : rule.options) {
      if (o >= problem.operations.size() || option >= problem.operations[o].options.size())
        return fmt::format("a rule has option {} of operation {}, which is not there", option, o);
      if (!named.insert({o, option}).second)
        return fmt::format("a rule has an option of operation '{}' twice", problem.operations[o].name);
    }
  }
  return "";
}

} // namespace

const char *name(SelectionObjective objective) {
  constexpr const char *kNames[] = {"step_time", "energy", "memory", "slowest_stage"};
  return kNames[llvm::to_underlying(objective)];
}

int64_t lossUnits(const Rational &loss) {
  if (loss.sign() <= 0)
    return 0;
  // More units than fit: `check` refuses to add them.
  return (loss * Rational(kLossUnits)).ceil().toInt64().value_or(kMaxSum);
}

int64_t budgetUnits(const Rational &budget, const Rational &margin) {
  if (budget.sign() < 0 || margin.sign() < 0)
    return -1;
  if (margin.isZero())
    return SelectionProblem::kUnlimited;
  return (budget * Rational(kLossUnits) / margin).floor().toInt64().value_or(SelectionProblem::kUnlimited);
}

void SelectionSums::add(const SelectionOption &option) {
  picoseconds += option.picoseconds;
  picojoules += option.picojoules;
  bytes += option.bytes;
  loss += option.loss;
}

SelectionSums sums(const SelectionProblem &problem, const std::vector<unsigned> &choice) {
  SelectionSums out;
  std::map<unsigned, int64_t> stages;
  for (size_t o = 0; o < choice.size(); ++o) {
    const SelectionOperation &operation = problem.operations[o];
    const SelectionOption &option = operation.options[choice[o]];
    out.add(option);
    int64_t &stage = stages[operation.stage];
    stage += option.picoseconds;
    out.slowest = std::max(out.slowest, stage);
  }
  return out;
}

int64_t valueOf(const SelectionSums &sums, SelectionObjective objective) {
  const int64_t values[] = {sums.picoseconds, sums.picojoules, sums.bytes, sums.slowest};
  return values[llvm::to_underlying(objective)];
}

bool isFeasible(const SelectionProblem &problem, const std::vector<unsigned> &choice) {
  SelectionSums of = sums(problem, choice);
  if (of.loss > problem.lossBudget || of.bytes > problem.byteBudget)
    return false;
  auto label = [&](unsigned o) -> const std::string & { return problem.operations[o].options[choice[o]].label; };
  for (const std::vector<unsigned> &group : problem.groups)
    for (unsigned o : group)
      if (label(o) != label(group.front()))
        return false;
  return std::all_of(problem.rules.begin(), problem.rules.end(), [&](const SelectionRule &rule) {
    return std::count_if(rule.options.begin(), rule.options.end(),
                         [&](const auto &option) { return choice[option.first] == option.second; }) <= rule.max;
  });
}

double SelectionResult::gap() const {
  if (!feasible || bound >= value)
    return 0;
  return double(value - bound) / value;
}

std::string check(const SelectionProblem &problem) {
  if (problem.operations.empty())
    return "there are no operations";
  if (problem.operations.size() > kMaxOperations)
    return fmt::format("{} operations of at most {}", problem.operations.size(), kMaxOperations);
  if (std::min(problem.lossBudget, problem.byteBudget) < -1)
    return "a budget is below -1";
  std::array<int64_t, 4> max = {};
  for (const SelectionOperation &operation : problem.operations) {
    if (std::string wrong = checkOperation(operation); !wrong.empty())
      return fmt::format("operation '{}': {}", operation.name, wrong);
    if (!addMax(operation, max))
      return fmt::format("operation '{}': numbers too large to add", operation.name);
  }
  std::string wrong = checkGroups(problem);
  return wrong.empty() ? checkRules(problem) : wrong;
}

} // namespace accord
