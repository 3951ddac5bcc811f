// Linear programs in double precision: the primal simplex method, with multipliers that bound the value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace accord {

/// Maximize the sum of objective * x, with 0 <= x <= upper, where the entries of each row times x keep its side.
struct LinearProgram {
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  enum class Relation { AtMost, Equal, AtLeast };

  struct Column {
    double objective = 0;
    double upper = kUnlimited;                        ///< 0 or more
    std::vector<std::pair<unsigned, double>> entries; ///< row, coefficient; each row once
  };
  struct Row {
    double side = 0;
    Relation relation = Relation::AtMost;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;

  /// The number of a new column or row.
  unsigned addColumn(double objective, double upper = kUnlimited);
  unsigned addRow(double side, Relation relation = Relation::AtMost);
};

struct LinearSolution {
  /// Stopped: more pivots than 50 for each row and column, which rounding alone can cause.
  enum class Status { Optimal, Infeasible, Unbounded, Stopped };
  Status status = Status::Stopped;
  double value = 0;
  std::vector<double> x;           ///< by column; infeasible or unbounded: empty
  std::vector<double> multipliers; ///< by row, for `dualBound`; 0 or more where it is "at most", 0 or less "at least"
  uint64_t pivots = 0;
};

/// The revised primal simplex method with bounds of variables (Dantzig, Linear Programming and Extensions, 1963), from
/// the basis of slacks; where that is infeasible, the sum of infeasibilities is minimized first. The variable with the
/// greatest reduced cost enters, and by Bland's rule (Mathematics of Operations Research 2, 1977) after 40 pivots
/// without a gain. The inverse of the basis is dense: for up to some thousand rows. The pivots depend on the program
/// alone, and so does the solution of several that are optimal.
LinearSolution maximize(const LinearProgram &program);

/// No feasible x has a larger value (weak duality): the sum of multipliers * sides, plus for each column its upper
/// bound times what its objective exceeds the multipliers' price by. Multipliers of the wrong sign count as 0. Infinite
/// where an unlimited column exceeds its price by more than 1e-9 of the terms; smaller excesses are taken for rounding.
double dualBound(const LinearProgram &program, const std::vector<double> &multipliers);

} // namespace accord
