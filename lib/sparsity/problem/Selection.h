// Which option each operation takes, as plain data: the problem, a choice, and what is claimed of it.
#pragma once
#include "lib/support/Rational.h"
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace accord {

/// What is made least: the sum of all operations' times, energies or bytes, or the time of the slowest stage of a
/// pipeline (the sum of its operations).
enum class SelectionObjective : uint8_t { Time, Energy, Memory, SlowestStage };
const char *name(SelectionObjective); ///< "step_time", "energy", "memory", "slowest_stage"

/// One way to compute an operation: pattern, density, format and use, in `label`. Integers, so that sums are exact;
/// none negative.
struct SelectionOption {
  std::string label; ///< one option of an operation
  int64_t picoseconds = 0, picojoules = 0;
  int64_t bytes = 0; ///< or whatever is limited in sum, as multipliers of a dataflow device
  int64_t loss = 0;  ///< of accuracy, in units that `lossUnits` makes of it
  bool sparse = false;
};

struct SelectionOperation {
  std::string name;
  unsigned stage = 0; ///< of `SlowestStage`
  /// The first is the dense one: of equal options it is taken.
  std::vector<SelectionOption> options;
};

/// At most `max` of these options, each an operation and the number of one of its options, are taken.
struct SelectionRule {
  std::vector<std::pair<unsigned, unsigned>> options;
  int64_t max = 0;
};

struct SelectionProblem {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  SelectionObjective objective = SelectionObjective::Time;
  std::vector<SelectionOperation> operations;
  int64_t lossBudget = kUnlimited; ///< of the sum of losses (`budgetUnits`)
  int64_t byteBudget = kUnlimited; ///< of the sum of bytes
  /// Operations that take the same option: one whose label all of them have. Disjoint.
  std::vector<std::vector<unsigned>> groups;
  std::vector<SelectionRule> rules;
};

/// Losses are counted in 10^-12: a loss rounded up, negative ones to 0; a budget divided by the margin and rounded
/// down. So what keeps a budget in units keeps it: margin * sum of losses <= budget. A budget below 0 is -1, which
/// nothing keeps; one too large for any problem is unlimited.
int64_t lossUnits(const Rational &loss);
int64_t budgetUnits(const Rational &budget, const Rational &margin);

/// Sums of a choice, which is of the problem.
struct SelectionSums {
  int64_t picoseconds = 0, picojoules = 0, bytes = 0, loss = 0;
  int64_t slowest = 0; ///< picoseconds of the slowest stage
  /// Adds all but the stage.
  void add(const SelectionOption &option);
  bool operator==(const SelectionSums &) const = default;
};
SelectionSums sums(const SelectionProblem &problem, const std::vector<unsigned> &choice);
int64_t valueOf(const SelectionSums &sums, SelectionObjective objective);
/// Whether it keeps budgets, groups and rules.
bool isFeasible(const SelectionProblem &problem, const std::vector<unsigned> &choice);

struct SelectionResult {
  bool feasible = false;        ///< a choice was found that keeps everything
  std::vector<unsigned> choice; ///< by operation, the number of its option
  SelectionSums sums;
  int64_t value = 0;
  /// No choice that keeps everything is below. `SelectionProblem::kUnlimited`: there is none.
  int64_t bound = 0;
  uint64_t states = 0; ///< partial choices that were looked at
  bool proven() const { return feasible ? bound >= value : bound == SelectionProblem::kUnlimited; }
  double gap() const; ///< (value - bound) / value
};

/// What is wrong with a problem: none or more than 10,000 operations, one without options or with two of one label, a
/// first option that is not dense, negative numbers, sums that pass 2^60, stages from 10,000 on, budgets below -1,
/// groups and rules that name what is not there or one operation twice. Empty: nothing.
std::string check(const SelectionProblem &problem);

} // namespace accord
