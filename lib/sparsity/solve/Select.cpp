#include "lib/sparsity/solve/Select.h"
#include "lib/search/Knapsack.h"
#include "lib/sparsity/solve/SelectWithZ3.h"
#include <algorithm>
#include <map>
#include <optional>

namespace accord {
namespace {

/// Operations that are decided together: one, or a group of one stage. For each of its options the options of the
/// operations, and their sums.
struct Decision {
  std::vector<unsigned> operations;
  std::vector<std::vector<unsigned>> choices;
  std::vector<SelectionSums> sums;
};

class Selector {
public:
  Selector(const SelectionProblem &problem, const SelectOptions &options) : problem(problem), options(options) {}

  SelectionResult run() {
    bool rules = !problem.rules.empty();
    std::vector<bool> grouped(problem.operations.size());
    for (const std::vector<unsigned> &group : problem.groups) {
      if (acrossStages(group)) {
        rules = true; // of the others the best choice is a bound
        continue;
      }
      for (unsigned o : group)
        grouped[o] = true;
      if (!group.empty() && !decide(group))
        return impossible();
    }
    for (unsigned o = 0; o < problem.operations.size(); ++o)
      if (!grouped[o])
        decide({o});
    SelectionResult result = problem.objective == SelectionObjective::SlowestStage ? slowest() : sum();
    if (rules && (result.feasible ? !isFeasible(problem, result.choice) : !result.proven())) {
      SelectionResult ruled = selectWithZ3(problem, result.bound, options);
      ruled.states = result.states;
      return ruled;
    }
    return result;
  }

private:
  const SelectionProblem &problem;
  const SelectOptions &options;
  std::vector<Decision> decisions;
  uint64_t states = 0;

  static SelectionResult impossible() {
    SelectionResult out;
    out.bound = SelectionProblem::kUnlimited;
    return out;
  }

  bool acrossStages(const std::vector<unsigned> &group) const {
    return problem.objective == SelectionObjective::SlowestStage &&
           std::any_of(group.begin(), group.end(), [&](unsigned o) {
             return problem.operations[o].stage != problem.operations[group.front()].stage;
           });
  }

  /// False: there is no option that all of them have.
  bool decide(const std::vector<unsigned> &operations) {
    Decision decision;
    decision.operations = operations;
    for (const SelectionOption &option : problem.operations[operations.front()].options) {
      std::vector<unsigned> choice;
      SelectionSums sum;
      for (unsigned o : operations) {
        const std::vector<SelectionOption> &of = problem.operations[o].options;
        auto same = std::ranges::find(of, option.label, &SelectionOption::label);
        if (same == of.end())
          break;
        choice.push_back(same - of.begin());
        sum.add(*same);
      }
      if (choice.size() != operations.size())
        continue;
      sum.slowest = sum.picoseconds;
      decision.choices.push_back(std::move(choice));
      decision.sums.push_back(sum);
    }
    decisions.push_back(std::move(decision));
    return !decisions.back().choices.empty();
  }

  SelectionResult chosen(const std::vector<unsigned> &of, int64_t bound) const {
    SelectionResult out;
    out.feasible = true;
    out.choice.resize(problem.operations.size());
    for (size_t d = 0; d < decisions.size(); ++d)
      for (size_t i = 0; i < decisions[d].operations.size(); ++i)
        out.choice[decisions[d].operations[i]] = decisions[d].choices[of[d]][i];
    out.sums = accord::sums(problem, out.choice);
    out.value = valueOf(out.sums, problem.objective);
    out.bound = bound;
    out.states = states;
    return out;
  }

  /// Options of the first rule that an option of a decision takes.
  int64_t ruled(const Decision &decision, size_t option) const {
    if (problem.rules.empty())
      return 0;
    const auto &named = problem.rules.front().options;
    int64_t count = 0;
    for (size_t i = 0; i < decision.operations.size(); ++i)
      count += std::count(named.begin(), named.end(), std::pair(decision.operations[i], decision.choices[option][i]));
    return count;
  }

  SelectionResult sum() {
    Knapsack knapsack;
    knapsack.budgets = {problem.lossBudget, problem.byteBudget,
                        problem.rules.empty() ? Knapsack::kUnlimited : problem.rules.front().max};
    for (const Decision &decision : decisions) {
      auto &item = knapsack.items.emplace_back();
      for (size_t i = 0; i < decision.sums.size(); ++i) {
        const SelectionSums &sum = decision.sums[i];
        item.push_back({valueOf(sum, problem.objective), {sum.loss, sum.bytes, ruled(decision, i)}});
      }
    }
    KnapsackResult result = solve(knapsack, options.states);
    states += result.states;
    if (result.feasible)
      return chosen(result.choice, result.bound);
    SelectionResult out;
    out.bound = result.bound;
    out.states = states;
    return out;
  }

  /// A stage as one: what its decisions can be together, none better in everything.
  struct StageCombination {
    int64_t picoseconds = 0;
    KnapsackOption rest; ///< loss as the value, bytes
    std::vector<unsigned> choice;
  };
  struct Stage {
    std::vector<size_t> decisions;
    std::vector<StageCombination> options; ///< by ascending time
    int64_t min = 0;                       ///< picoseconds of any choice
    bool whole = true;                     ///< none had to be left out
  };

  Stage combineOptions(const std::vector<size_t> &of) {
    Stage stage;
    stage.decisions = of;
    stage.options.emplace_back();
    size_t max = std::max<uint64_t>(1000, options.states / 10);
    for (size_t d : of) {
      std::vector<StageCombination> next;
      std::vector<KnapsackOption> figures;
      stage.min += std::ranges::min(decisions[d].sums, {}, &SelectionSums::picoseconds).picoseconds;
      for (const StageCombination &before : stage.options)
        for (unsigned o = 0; o < decisions[d].sums.size(); ++o) {
          const SelectionSums &sum = decisions[d].sums[o];
          StageCombination after = before;
          after.picoseconds += sum.picoseconds;
          after.rest.value += sum.loss;
          after.rest.weights[0] += sum.bytes;
          ++states;
          if (after.rest.value > problem.lossBudget || after.rest.weights[0] > problem.byteBudget)
            continue;
          after.choice.push_back(o);
          // What is not limited does not make an option better.
          figures.push_back({after.picoseconds, {after.rest.value, after.rest.weights[0]}});
          next.push_back(std::move(after));
        }
      stage.options.clear();
      for (unsigned i : paretoFront(figures))
        stage.options.push_back(std::move(next[i]));
      if (stage.options.size() > max) {
        stage.options.resize(max);
        stage.whole = false;
      }
    }
    return stage;
  }

  /// The least loss, or the fewest bytes, with stages of at most `time`.
  std::optional<std::vector<unsigned>> within(const std::vector<Stage> &stages, int64_t time, bool bytes,
                                              int64_t budget, KnapsackResult &result) {
    Knapsack knapsack;
    knapsack.budgets[0] = budget;
    for (const Stage &stage : stages) {
      auto &item = knapsack.items.emplace_back();
      for (const StageCombination &option : stage.options)
        if (option.picoseconds <= time)
          item.push_back(bytes ? KnapsackOption{option.rest.weights[0], {option.rest.value, 0}}
                               : KnapsackOption{option.rest.value, {option.rest.weights[0], 0}});
      if (item.empty()) {
        result.bound = Knapsack::kUnlimited;
        return std::nullopt;
      }
    }
    result = solve(knapsack, options.states);
    states += result.states;
    if (!result.feasible)
      return std::nullopt;
    std::vector<unsigned> choice(decisions.size());
    for (size_t s = 0; s < stages.size(); ++s)
      for (size_t i = 0; i < stages[s].decisions.size(); ++i)
        choice[stages[s].decisions[i]] = stages[s].options[result.choice[s]].choice[i];
    return choice;
  }

  SelectionResult slowest() {
    std::map<unsigned, std::vector<size_t>> byStage;
    for (size_t d = 0; d < decisions.size(); ++d)
      byStage[problem.operations[decisions[d].operations.front()].stage].push_back(d);
    std::vector<Stage> stages;
    std::vector<int64_t> times;
    bool whole = true;
    int64_t min = 0;
    for (const auto &[number, of] : byStage) {
      stages.push_back(combineOptions(of));
      whole &= stages.back().whole;
      min = std::max(min, stages.back().min);
      for (const StageCombination &option : stages.back().options)
        times.push_back(option.picoseconds);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    // The first time that is enough: all before `low` are not.
    std::optional<std::vector<unsigned>> best;
    size_t low = 0, high = times.size();
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      KnapsackResult result;
      auto choice = within(stages, times[middle], false, problem.byteBudget, result);
      if (choice && result.value <= problem.lossBudget) {
        best = std::move(choice);
        high = middle;
      } else {
        // Not decided, where a limit ended the search.
        whole &= result.bound > problem.lossBudget || result.bound == Knapsack::kUnlimited;
        low = middle + 1;
      }
    }
    SelectionResult out = impossible();
    out.states = states;
    if (!whole)
      out.bound = min;
    if (!best)
      return out;
    int64_t time = times[high];
    KnapsackResult result;
    if (auto minLoss = within(stages, time, false, problem.byteBudget, result)) {
      best = std::move(minLoss);
      int64_t loss = result.value;
      if (auto smallest = within(stages, time, true, loss, result); smallest && result.value <= problem.byteBudget)
        best = std::move(smallest);
    }
    out = chosen(*best, 0);
    out.bound = whole ? out.value : min;
    return out;
  }
};

} // namespace

SelectionResult select(const SelectionProblem &problem, const SelectOptions &options) {
  return Selector(problem, options).run();
}

} // namespace accord
