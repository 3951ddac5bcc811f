#include "lib/search/Simplex.h"
#include "lib/search/PivotIntegers.h"

namespace accord {
namespace {

using llvm::DynamicAPInt;

/// Which of the rows that are wrong is made right next.
enum class Rule {
  Length, ///< by amount for the length of its row of the inverse (Forrest and Goldfarb,
          ///< Mathematical Programming 57, 1992): fewer and smaller steps where the objective leads
  Amount, ///< better where it does not
};

/// Columns after those of the program are one for each row, the first of which is the sum of 1:
/// what is missing to its side. That is 0 where the row is "equal".
template <typename Numbers> class Simplex {
  using Integer = Numbers::Integer;

public:
  Simplex(const ExactProgram &program, Rule rule)
      : program(program), rule(rule), columns(program.columns.size()), rows(program.rows.size() + 1),
        inverse(rows * rows), inside(rows) {
    for (const auto &row : program.rows)
      scale = lcm(scale, row.side.denominator());
    for (size_t i = 0; i < rows; ++i) {
      Rational side = i == 0 ? Rational(1) : program.rows[i - 1].side;
      amounts.push_back(side.numerator() * (scale / side.denominator()));
      inverse[i * rows + i] = Integer(1);
      inside[i] = columns + i;
    }
  }

  /// `work`: entries of the inverse that may change.
  ExactSolution solve(uint64_t work) {
    // With a multiplier of the greatest objective for the sum alone no column gains anything.
    size_t start = 0;
    for (size_t column = 1; column < columns; ++column)
      if (std::pair(objective(column), nudge(column)) > std::pair(objective(start), nudge(start)))
        start = column;
    enter(start, 0); // its entry is 1, as is that of every column in the row of the sum
    constexpr unsigned kPatience = 60;
    unsigned still = 0; // steps that changed no multiplier
    while (true) {
      size_t leaving = wrongRow(still > kPatience);
      if (leaving == rows)
        return optimum();
      bool moved = false;
      size_t entering = choose(leaving, moved);
      if (entering == SIZE_MAX)
        return contradiction(leaving);
      if (spent > work || !enter(entering, leaving))
        return unfinished();
      still = moved ? 0 : still + 1;
    }
  }

private:
  /// Must be 0.
  bool missing(size_t column) const {
    return column >= columns && (column == columns || program.rows[column - columns - 1].equal);
  }
  int64_t objective(size_t column) const { return column < columns ? program.columns[column].objective : 0; }
  /// Objectives are alike, so that most steps would change no multiplier: each has an infinitely
  /// small part beside it, drawn at random (Charnes, Econometrica 20, 1952).
  int64_t nudge(size_t column) const {
    uint64_t bits = (column + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93u;
    return -int64_t(bits >> 52);
  }
  /// A row of numbers times a column.
  Integer product(const Integer *row, size_t column) const {
    if (column >= columns)
      return row[column - columns];
    Integer sum = row[0];
    for (auto [at, entry] : program.columns[column].entries)
      sum += entry == 1 ? row[at + 1] : row[at + 1] * Integer(entry);
    return sum;
  }

  /// The row whose amount is farthest from what it may be, or else the one of the first column.
  size_t wrongRow(bool firstColumn) const {
    size_t worst = rows;
    double max = 0;
    for (size_t i = 0; i < rows; ++i) {
      if (amounts[i] >= 0 && !(missing(inside[i]) && amounts[i] != 0))
        continue;
      double length = 0, size = std::fabs(LargeIntegers::toDouble(amounts[i]));
      for (size_t j = 0; rule == Rule::Length && j < rows; ++j) {
        double entry = Numbers::toDouble(inverse[i * rows + j]);
        length += entry * entry;
      }
      if (length > 0)
        size /= std::sqrt(length);
      if (worst == rows || (firstColumn ? inside[i] < inside[worst] : size > max)) {
        worst = i;
        max = size;
      }
    }
    return worst;
  }

  /// Multipliers of the rows, times the determinant, by one objective or the other.
  template <typename F> std::vector<Integer> prices(F of) const {
    std::vector<Integer> y(rows);
    for (size_t i = 0; i < rows; ++i)
      if (int64_t c = of(inside[i]))
        for (size_t j = 0; j < rows; ++j)
          y[j] += inverse[i * rows + j] * Integer(c);
    return y;
  }
  std::vector<Integer> prices() const {
    return prices([&](size_t column) { return objective(column); });
  }

  /// The column that can make the row's amount right while no column gains anything.
  size_t choose(size_t leaving, bool &moved) {
    std::vector<Integer> y = prices(), small = prices([&](size_t column) { return nudge(column); });
    bounding = with(y, Numbers::large(determinant));
    bool up = amounts[leaving] < 0;
    size_t best = SIZE_MAX;
    Integer bestLoss{}, bestSmall{}, bestSize{};
    for (size_t column = 0; column < columns + rows; ++column) {
      if (missing(column))
        continue;
      Integer size = product(&inverse[leaving * rows], column);
      if (up)
        size = -size;
      if (size <= Integer(0))
        continue;
      Integer failure = product(y.data(), column) - determinant * Integer(objective(column));
      int than = best == SIZE_MAX ? -1 : Numbers::compare(failure, bestSize, bestLoss, size);
      if (than > 0)
        continue;
      Integer less = product(small.data(), column) - determinant * Integer(nudge(column));
      if (than < 0 || Numbers::compare(less, bestSize, bestSmall, size) < 0) {
        best = column;
        bestLoss = std::move(failure);
        bestSmall = std::move(less);
        bestSize = std::move(size);
      }
    }
    moved = best != SIZE_MAX && (bestLoss != Integer(0) || bestSmall != Integer(0));
    return best;
  }

  bool enter(size_t column, size_t leaving) {
    std::vector<Integer> change(rows);
    for (size_t i = 0; i < rows; ++i)
      change[i] = product(&inverse[i * rows], column);
    const Integer next = change[leaving];
    Numbers numbers(determinant);
    DynamicAPInt whole = Numbers::large(determinant), other = Numbers::large(next);
    const Integer *from = &inverse[leaving * rows];
    for (size_t i = 0; i < rows; ++i) {
      if (i == leaving || (change[i] == Integer(0) && next == determinant))
        continue;
      spent += rows;
      Integer *to = &inverse[i * rows];
      for (size_t j = 0; j < rows; ++j)
        if ((to[j] != Integer(0) || from[j] != Integer(0)) && !numbers.replace(to[j], from[j], change[i], next))
          return false;
      amounts[i] = (amounts[i] * other - Numbers::large(change[i]) * amounts[leaving]) / whole;
    }
    determinant = next;
    inside[leaving] = column;
    if (determinant < Integer(0)) {
      determinant = -determinant;
      for (Integer &entry : inverse)
        entry = -entry;
      for (DynamicAPInt &amount : amounts)
        amount = -amount;
    }
    return true;
  }

  ExactSolution with(const std::vector<Integer> &multipliers, const DynamicAPInt &size) const {
    ExactSolution solution;
    for (size_t i = 0; i < rows; ++i) {
      Rational multiplier(Numbers::large(multipliers[i]), size);
      if (i == 0)
        solution.constant = solution.value = multiplier;
      else {
        solution.value = solution.value + multiplier * program.rows[i - 1].side;
        solution.multipliers.push_back(multiplier);
      }
    }
    return solution;
  }
  ExactSolution optimum() const {
    DynamicAPInt size = Numbers::large(determinant);
    ExactSolution solution = with(prices(), size);
    solution.x.resize(columns);
    for (size_t i = 0; i < rows; ++i)
      if (inside[i] < columns)
        solution.x[inside[i]] = Rational(amounts[i], size * scale);
    return solution;
  }
  ExactSolution unfinished() {
    bounding.complete = false;
    return bounding;
  }
  /// No column brings the amount of the row nearer to what it may be.
  ExactSolution contradiction(size_t row) const {
    std::vector<Integer> multipliers(&inverse[row * rows], &inverse[row * rows] + rows);
    if (amounts[row] > 0)
      for (Integer &multiplier : multipliers)
        multiplier = -multiplier;
    ExactSolution solution = with(multipliers, Numbers::large(determinant));
    solution.feasible = false;
    return solution;
  }

  const ExactProgram &program;
  Rule rule;
  size_t columns, rows;
  std::vector<Integer> inverse;      ///< of the columns inside, times the determinant
  std::vector<DynamicAPInt> amounts; ///< of the columns inside, times the determinant and `scale`
  std::vector<size_t> inside;        ///< column by row
  Integer determinant{1};
  ExactSolution bounding; ///< of the last step's multipliers
  uint64_t spent = 0;
  DynamicAPInt scale{1};
};

} // namespace

ExactSolution maximize(const ExactProgram &program) {
  // So that sums over a column are of 127 bits.
  bool small = program.rows.size() < 1024;
  for (const auto &column : program.columns) {
    int64_t sum = 0;
    for (auto [row, entry] : column.entries)
      sum = std::min<int64_t>(sum + std::min<int64_t>(std::abs(entry), 1 << 20), 1 << 21);
    small &= sum < 1 << 20;
  }
  constexpr uint64_t kWork = 60'000'000, kLargeWork = 6'000'000; // some seconds each
  ExactSolution best;
  best.complete = false;
  best.value = INT64_MAX;
  auto attempt = [&](ExactSolution solution) {
    if (solution.complete || solution.value < best.value)
      best = std::move(solution);
    return best.complete;
  };
  for (Rule rule : {Rule::Length, Rule::Amount})
    if (small && attempt(Simplex<ShortIntegers>(program, rule).solve(kWork)))
      return best;
  attempt(Simplex<LargeIntegers>(program, Rule::Length).solve(kLargeWork));
  return best;
}

} // namespace accord
