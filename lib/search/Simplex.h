// Linear programs over distributions, in exact fractions.
#pragma once
#include "lib/support/Rational.h"
#include <vector>

namespace accord {

/// Make objective * x most, x >= 0 with a sum of 1, where the entries of each row times x are its
/// side, or at most that.
struct ExactProgram {
  struct Column {
    int64_t objective = 0;
    std::vector<std::pair<unsigned, int64_t>> entries; ///< row, not zero
  };
  struct Row {
    Rational side;
    bool equal = true;
  };
  std::vector<Column> columns; ///< one or more
  std::vector<Row> rows;
};

struct ExactSolution {
  bool feasible = true;
  /// False: it takes too much work; `value` is no less than the most, and `x` is empty. It may be
  /// infeasible.
  bool complete = true;
  /// `constant` + the sum of multipliers * sides; infeasible: below 0.
  Rational value;
  std::vector<Rational> x; ///< by column; infeasible: empty
  /// By row, not negative where it is "at most": `constant` and their sum over a column's entries
  /// are at least its objective; infeasible: at least 0.
  Rational constant;
  std::vector<Rational> multipliers;
};

/// The dual simplex method (Lemke, Naval Research Logistics Quarterly 1, 1954) from the column of
/// the greatest objective, with integers alone (Edmonds, Journal of Research of the National Bureau
/// of Standards 71B, 1967: the inverse of the basis times its determinant), and by Bland's rule
/// (Mathematics of Operations Research 2, 1977) where it does not get on. Its multipliers bound the
/// objective at every step, so that it can stop at any; how far it gets does not depend on time.
ExactSolution maximize(const ExactProgram &program);

} // namespace accord
