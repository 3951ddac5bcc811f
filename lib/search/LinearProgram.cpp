#include "lib/search/LinearProgram.h"
#include <algorithm>
#include <cmath>
#include <optional>

namespace accord {
namespace {

using Relation = LinearProgram::Relation;
constexpr double kUnlimited = LinearProgram::kUnlimited;
constexpr double kFeasible = 1e-9; ///< by which a value may miss its bound, in units of the largest side
constexpr double kGain = 1e-9;     ///< reduced costs up to this, in units of the largest objective, are 0
constexpr double kPivot = 1e-9;    ///< smaller pivots are 0
constexpr unsigned kRenew = 150;   ///< pivots, and one for each row, after which the inverse is computed anew
constexpr unsigned kPatience = 40; ///< pivots without a gain before Bland's rule

/// Variables are the columns, then one slack for each row: row + slack = side, with a slack of [0, inf) where it is "at
/// most", (-inf, 0] where it is "at least" and [0, 0] where it is equal.
class Simplex {
public:
  explicit Simplex(const LinearProgram &program)
      : program(program), m(program.rows.size()), n(program.columns.size()), basic(m), at(n + m, -1), value(n + m, 0),
        lower(n + m, 0), upper(n + m, kUnlimited), inverse(m * m, 0) {
    for (size_t j = 0; j < n; ++j) {
      upper[j] = program.columns[j].upper;
      costScale = std::max(costScale, std::abs(program.columns[j].objective));
    }
    for (size_t i = 0; i < m; ++i) {
      if (program.rows[i].relation != Relation::AtMost)
        upper[n + i] = 0;
      if (program.rows[i].relation == Relation::AtLeast)
        lower[n + i] = -kUnlimited;
      basic[i] = n + i;
      at[n + i] = static_cast<int64_t>(i);
      value[n + i] = program.rows[i].side;
      inverse[i * m + i] = 1;
      sideScale = std::max(sideScale, std::abs(program.rows[i].side));
    }
  }

  LinearSolution solve() {
    LinearSolution solution;
    const uint64_t limit = 50 * (n + m) + 1000;
    unsigned idle = 0; // pivots without a gain
    for (; solution.pivots < limit; ++solution.pivots) {
      if (solution.pivots % (kRenew + m) == kRenew + m - 1)
        renew();
      const bool infeasible = !feasible();
      computeMultipliers(infeasible);
      const bool bland = idle > kPatience;
      const std::optional<Entering> entering = chooseEntering(infeasible, bland);
      if (!entering) {
        if (solution.pivots > 0 && !renewed) { // rounding must not decide
          renew();
          continue;
        }
        solution.status = infeasible ? LinearSolution::Status::Infeasible : LinearSolution::Status::Optimal;
        break;
      }
      computeDirection(*entering);
      const Step step = chooseStep(*entering, infeasible, bland);
      if (step.length == kUnlimited) {
        solution.status = LinearSolution::Status::Unbounded;
        break;
      }
      idle = step.length > kFeasible * sideScale ? 0 : idle + 1;
      move(*entering, step);
      renewed = false;
    }
    finish(solution);
    return solution;
  }

private:
  struct Entering {
    size_t variable;
    double sign; ///< +1: its value grows
  };
  struct Step {
    double length = kUnlimited;
    int64_t row = -1; ///< whose basic variable leaves; -1: the entering one goes to its other bound
    bool toUpper = false;
  };

  double tolerance() const { return kFeasible * sideScale; }

  bool feasible() const {
    return std::all_of(basic.begin(), basic.end(), [&](size_t j) {
      return value[j] >= lower[j] - tolerance() && value[j] <= upper[j] + tolerance();
    });
  }

  /// Of a basic variable: the objective, or in the first phase +1 below its lower bound and -1 above its upper one.
  double costOf(size_t j, bool infeasible) const {
    if (!infeasible)
      return j < n ? program.columns[j].objective : 0;
    return value[j] < lower[j] - tolerance() ? 1 : value[j] > upper[j] + tolerance() ? -1 : 0;
  }

  void computeMultipliers(bool infeasible) {
    multipliers.assign(m, 0);
    std::vector<std::pair<size_t, double>> costs; // of rows, without zeros
    for (size_t i = 0; i < m; ++i)
      if (const double cost = costOf(basic[i], infeasible); cost != 0)
        costs.push_back({i, cost});
    for (size_t k = 0; k < m; ++k)
      for (const auto &[i, cost] : costs)
        multipliers[k] += cost * inverse[k * m + i];
  }

  double reducedCost(size_t j, bool infeasible) const {
    if (j >= n)
      return -multipliers[j - n];
    double cost = infeasible ? 0 : program.columns[j].objective;
    for (const auto &[row, entry] : program.columns[j].entries)
      cost -= multipliers[row] * entry;
    return cost;
  }

  std::optional<Entering> chooseEntering(bool infeasible, bool bland) const {
    std::optional<Entering> best;
    double largest = kGain * (infeasible ? 1 : costScale);
    for (size_t j = 0; j < n + m; ++j) {
      if (at[j] >= 0 || lower[j] == upper[j])
        continue;
      const double cost = reducedCost(j, infeasible);
      const bool mayGrow = value[j]<upper[j], mayShrink = value[j]> lower[j];
      if (std::abs(cost) <= largest || (cost > 0 ? !mayGrow : !mayShrink))
        continue;
      best = Entering{j, cost > 0 ? 1.0 : -1.0};
      if (bland)
        break;
      largest = std::abs(cost);
    }
    return best;
  }

  /// `direction`: by how much each basic variable shrinks for one unit of the entering one's move.
  void computeDirection(const Entering &entering) {
    direction.assign(m, 0);
    auto add = [&](size_t row, double entry) {
      const double *column = &inverse[row * m];
      for (size_t i = 0; i < m; ++i)
        direction[i] += entry * column[i];
    };
    if (entering.variable >= n)
      add(entering.variable - n, entering.sign);
    else
      for (const auto &[row, entry] : program.columns[entering.variable].entries)
        add(row, entering.sign * entry);
  }

  Step chooseStep(const Entering &entering, bool infeasible, bool bland) const {
    Step best;
    const size_t in = entering.variable;
    if (lower[in] > -kUnlimited && upper[in] < kUnlimited)
      best = {upper[in] - lower[in], -1, entering.sign > 0};
    double bestPivot = 0;
    for (size_t i = 0; i < m; ++i) {
      const double pivot = direction[i];
      if (std::abs(pivot) <= kPivot)
        continue;
      const size_t j = basic[i];
      // In the first phase a variable beyond a bound stops where it comes to it, and none where it moves away.
      const bool below = infeasible && value[j] < lower[j] - tolerance(),
                 above = infeasible && value[j] > upper[j] + tolerance();
      bool toUpper = pivot < 0;
      if ((pivot > 0 && below) || (pivot < 0 && above))
        continue;
      if ((pivot > 0 && above) || (pivot < 0 && below))
        toUpper = above;
      const double bound = toUpper ? upper[j] : lower[j];
      if (std::isinf(bound))
        continue;
      const double length = std::max(0.0, (value[j] - bound) / pivot), slack = 1e-12 * (1 + std::abs(length));
      const bool tie = best.row >= 0 && std::abs(length - best.length) <= slack;
      const bool better =
          tie ? (bland ? j < basic[static_cast<size_t>(best.row)] : std::abs(pivot) > bestPivot) : length < best.length;
      if (!better)
        continue;
      best = {length, static_cast<int64_t>(i), toUpper};
      bestPivot = std::abs(pivot);
    }
    return best;
  }

  void move(const Entering &entering, const Step &step) {
    const size_t in = entering.variable;
    for (size_t i = 0; i < m; ++i)
      value[basic[i]] -= step.length * direction[i];
    if (step.row < 0) {
      value[in] = step.toUpper ? upper[in] : lower[in];
      return;
    }
    value[in] += entering.sign * step.length;
    const size_t row = static_cast<size_t>(step.row), out = basic[row];
    value[out] = step.toUpper ? upper[out] : lower[out];
    at[out] = -1;
    at[in] = step.row;
    basic[row] = in;
    pivotInverse(row, entering.sign);
  }

  /// The inverse after column `direction * sign` became basic in `row`.
  void pivotInverse(size_t row, double sign) {
    std::vector<std::pair<size_t, double>> shares; // of other rows, without zeros
    for (size_t i = 0; i < m; ++i)
      if (i != row && direction[i] != 0)
        shares.push_back({i, direction[i] * sign});
    const double factor = 1 / (direction[row] * sign);
    for (size_t k = 0; k < m; ++k) {
      double *column = &inverse[k * m];
      if (column[row] == 0)
        continue;
      const double entry = column[row] *= factor;
      for (const auto &[i, share] : shares)
        column[i] -= share * entry;
    }
  }

  /// Computes the inverse and the basic values from the program: slacks first, then each column in the free row where
  /// its pivot is largest.
  void renew() {
    std::vector<size_t> structural;
    std::vector<char> taken(m, 0);
    std::fill(inverse.begin(), inverse.end(), 0);
    for (size_t i = 0; i < m; ++i)
      inverse[i * m + i] = 1;
    for (size_t j : std::vector<size_t>(basic))
      if (j >= n)
        taken[j - n] = 1;
      else
        structural.push_back(j);
    for (size_t i = 0; i < m; ++i)
      if (taken[i])
        place(n + i, i);
    for (size_t j : structural) {
      computeDirection({j, 1});
      size_t row = m;
      for (size_t i = 0; i < m; ++i)
        if (!taken[i] && (row == m || std::abs(direction[i]) > std::abs(direction[row])))
          row = i;
      taken[row] = 1;
      if (std::abs(direction[row]) <= 1e-11) { // by rounding dependent: the slack takes its place
        at[j] = -1;
        value[j] = value[j] > upper[j] ? upper[j] : std::max(value[j], lower[j]);
        place(n + row, row);
        continue;
      }
      place(j, row);
      pivotInverse(row, 1);
    }
    computeValues();
    renewed = true;
  }

  void place(size_t j, size_t row) {
    basic[row] = j;
    at[j] = static_cast<int64_t>(row);
  }

  void computeValues() {
    std::vector<double> side(m);
    for (size_t i = 0; i < m; ++i)
      side[i] = program.rows[i].side - (at[n + i] < 0 ? value[n + i] : 0);
    for (size_t j = 0; j < n; ++j)
      if (at[j] < 0 && value[j] != 0)
        for (const auto &[row, entry] : program.columns[j].entries)
          side[row] -= entry * value[j];
    std::vector<double> sums(m, 0);
    for (size_t k = 0; k < m; ++k)
      for (size_t i = 0; i < m && side[k] != 0; ++i)
        sums[i] += inverse[k * m + i] * side[k];
    for (size_t i = 0; i < m; ++i)
      value[basic[i]] = sums[i];
  }

  void finish(LinearSolution &solution) const {
    solution.multipliers = multipliers;
    for (size_t i = 0; i < m; ++i)
      if (program.rows[i].relation == Relation::AtMost)
        solution.multipliers[i] = std::max(0.0, solution.multipliers[i]);
      else if (program.rows[i].relation == Relation::AtLeast)
        solution.multipliers[i] = std::min(0.0, solution.multipliers[i]);
    if (solution.status == LinearSolution::Status::Infeasible || solution.status == LinearSolution::Status::Unbounded)
      return;
    solution.x.assign(value.begin(), value.begin() + static_cast<ptrdiff_t>(n));
    for (size_t j = 0; j < n; ++j) {
      solution.x[j] = std::clamp(solution.x[j], 0.0, upper[j]);
      solution.value += program.columns[j].objective * solution.x[j];
    }
  }

  const LinearProgram &program;
  const size_t m, n;
  std::vector<size_t> basic; ///< the variable of each row
  std::vector<int64_t> at;   ///< the row of each variable; -1: not basic
  std::vector<double> value, lower, upper;
  std::vector<double> inverse; ///< of the basis, by columns
  std::vector<double> multipliers, direction;
  double costScale = 1e-300, sideScale = 1;
  bool renewed = true; ///< no pivot since the inverse was computed
};

} // namespace

unsigned LinearProgram::addColumn(double objective, double upper) {
  columns.push_back({objective, upper, {}});
  return static_cast<unsigned>(columns.size() - 1);
}

unsigned LinearProgram::addRow(double side, Relation relation) {
  rows.push_back({side, relation});
  return static_cast<unsigned>(rows.size() - 1);
}

LinearSolution maximize(const LinearProgram &program) { return Simplex(program).solve(); }

double dualBound(const LinearProgram &program, const std::vector<double> &multipliers) {
  std::vector<double> y = multipliers;
  double bound = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (program.rows[i].relation == Relation::AtMost)
      y[i] = std::max(0.0, y[i]);
    else if (program.rows[i].relation == Relation::AtLeast)
      y[i] = std::min(0.0, y[i]);
    bound += y[i] * program.rows[i].side;
  }
  for (const LinearProgram::Column &column : program.columns) {
    double excess = column.objective, terms = std::abs(column.objective);
    for (const auto &[row, entry] : column.entries) {
      excess -= y[row] * entry;
      terms += std::abs(y[row] * entry);
    }
    if (excess <= 0)
      continue;
    if (column.upper < kUnlimited)
      bound += excess * column.upper;
    else if (excess > 1e-9 * (1 + terms))
      return kUnlimited;
  }
  return bound;
}

} // namespace accord
