#include "lib/sparsity/solve/SelectWithZ3.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <map>
#include <z3++.h>

namespace accord {
namespace {

/// One literal for each option of each operation.
class RuleSolver {
public:
  RuleSolver(const SelectionProblem &problem, unsigned effort) : problem(problem), solver(context) {
    z3::params limits(context);
    limits.set("rlimit", effort);
    limits.set("random_seed", 0U);
    solver.set(limits);
    for (size_t o = 0; o < problem.operations.size(); ++o) {
      z3::expr_vector literals(context);
      for (size_t i = 0; i < problem.operations[o].options.size(); ++i)
        literals.push_back(context.bool_const(("o" + std::to_string(o) + "_" + std::to_string(i)).c_str()));
      solver.add(z3::atmost(literals, 1));
      solver.add(z3::atleast(literals, 1));
      taken.push_back(literals);
    }
    if (problem.lossBudget != SelectionProblem::kUnlimited)
      solver.add(sum(&SelectionOption::loss) <= number(problem.lossBudget));
    if (problem.byteBudget != SelectionProblem::kUnlimited)
      solver.add(sum(&SelectionOption::bytes) <= number(problem.byteBudget));
    groups();
    rules();
    values();
  }

  /// 1: a choice whose value is at most `max`, in `choice`; 0: there is none; -1: not decided.
  int findBelow(int64_t max, std::vector<unsigned> &choice) {
    solver.push();
    if (max != SelectionProblem::kUnlimited)
      for (const z3::expr &value : valueTerms)
        solver.add(value <= number(max));
    z3::check_result result = solver.check();
    if (result == z3::sat) {
      z3::model model = solver.get_model();
      for (size_t o = 0; o < taken.size(); ++o)
        for (unsigned i = 0; i < taken[o].size(); ++i)
          if (model.eval(taken[o][i], true).is_true())
            choice[o] = i;
    }
    solver.pop();
    return result == z3::sat ? 1 : result == z3::unsat ? 0 : -1;
  }

private:
  const SelectionProblem &problem;
  z3::context context;
  z3::solver solver;
  std::vector<z3::expr_vector> taken;
  std::vector<z3::expr> valueTerms; ///< all are at most the value

  z3::expr number(int64_t value) { return context.int_val(value); }

  z3::expr of(size_t o, int64_t SelectionOption::*figure) {
    z3::expr out = number(0);
    const std::vector<SelectionOption> &options = problem.operations[o].options;
    for (size_t i = options.size(); i-- > 0;)
      out = z3::ite(taken[o][i], number(options[i].*figure), out);
    return out;
  }
  z3::expr sum(int64_t SelectionOption::*figure) {
    z3::expr_vector terms(context);
    for (size_t o = 0; o < taken.size(); ++o)
      terms.push_back(of(o, figure));
    return z3::sum(terms);
  }

  void groups() {
    for (const std::vector<unsigned> &group : problem.groups)
      for (unsigned o : group)
        for (unsigned other : group)
          requireSameLabel(o, other);
  }
  void requireSameLabel(unsigned o, unsigned other) {
    const auto &options = problem.operations[other].options;
    for (unsigned i = 0; i < taken[o].size(); ++i) {
      const std::string &label = problem.operations[o].options[i].label;
      auto same = std::ranges::find(options, label, &SelectionOption::label);
      z3::expr literal = taken[o][i];
      if (same == options.end())
        solver.add(!literal);
      else
        solver.add(z3::implies(literal, taken[other][unsigned(same - options.begin())]));
    }
  }

  void rules() {
    for (const SelectionRule &rule : problem.rules) {
      z3::expr_vector literals(context);
      for (auto [o, i] : rule.options)
        literals.push_back(taken[o][i]);
      if (rule.max < std::ssize(rule.options))
        solver.add(z3::atmost(literals, rule.max));
    }
  }

  void values() {
    constexpr int64_t SelectionOption::*kFigures[] = {&SelectionOption::picoseconds, &SelectionOption::picojoules,
                                                      &SelectionOption::bytes, &SelectionOption::picoseconds};
    std::map<unsigned, z3::expr_vector> stages; // all is one where the value is a sum
    for (size_t o = 0; o < taken.size(); ++o) {
      unsigned stage = problem.objective == SelectionObjective::SlowestStage ? problem.operations[o].stage : 0;
      stages.try_emplace(stage, context)
          .first->second.push_back(of(o, kFigures[llvm::to_underlying(problem.objective)]));
    }
    for (const auto &[stage, terms] : stages)
      valueTerms.push_back(z3::sum(terms));
  }
};

} // namespace

SelectionResult selectWithZ3(const SelectionProblem &problem, int64_t from, const SelectOptions &options) {
  SelectionResult out;
  out.bound = from;
  try {
    RuleSolver solver(problem, options.effort);
    std::vector<unsigned> choice(problem.operations.size());
    int64_t max = SelectionProblem::kUnlimited;
    // Halves what is between the bound and the best choice.
    while (!out.proven()) {
      int found = solver.findBelow(max, choice);
      if (found < 0)
        break;
      if (found == 0) {
        out.bound = out.feasible ? max + 1 : SelectionProblem::kUnlimited;
      } else {
        out.feasible = true;
        out.choice = choice;
        out.sums = sums(problem, choice);
        out.value = valueOf(out.sums, problem.objective);
      }
      max = out.bound + (out.value - out.bound) / 2;
    }
  } catch (const z3::exception &) { // out of memory; what was found holds
  }
  return out;
}

} // namespace accord
