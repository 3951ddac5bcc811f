// What a choice of options must keep, as sums with limits.
#pragma once
#include "lib/sparsity/problem/Selection.h"
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace accord {

/// A sum over what is taken that has a limit.
struct LimitRow {
  std::string what;
  int64_t limit = 0;
};
/// What is decided at once, an operation or a group: for each of its options what it adds to rows.
struct Branches {
  std::vector<std::map<size_t, int64_t>> options;
};

/// All rows of a choice that keeps budgets and rules, and whose value, or each stage of it, is at most `most`
/// (`kUnlimited`: any).
class SelectionLimits {
public:
  SelectionLimits(const SelectionProblem &problem, int64_t max);

  std::vector<LimitRow> rows;
  std::vector<Branches> units;
  std::vector<std::vector<unsigned>> members; ///< operations of units
  /// What an option of an operation adds, by row.
  std::map<size_t, int64_t> adds(unsigned o, unsigned i) const;

private:
  static constexpr size_t kNone = SIZE_MAX;
  const SelectionProblem &problem;
  size_t loss = kNone, bytes = kNone;
  std::map<std::pair<unsigned, unsigned>, std::vector<size_t>> ruled;
  std::map<unsigned, size_t> stages; ///< the row of a stage; of stage 0 where all is one sum

  size_t row(std::string what, int64_t limit);
  void values(int64_t max);
  void branches();
};

} // namespace accord
