#include "lib/vote/Simplex.h"
#include "lib/vote/PivotIntegers.h"

namespace accord {
namespace {

using llvm::DynamicAPInt;

/// Columns after those of the program are one for each row, the first of which is the sum of 1:
/// what is missing to its side. That is 0 where the row is "equal".
template <typename Numbers> class Simplex {
  using Integer = typename Numbers::Integer;

public:
  explicit Simplex(const ExactProgram &program)
      : program(program), columns(program.columns.size()), rows(program.rows.size() + 1),
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
      if (program.columns[column].objective > program.columns[start].objective)
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
  int64_t objective(size_t column) const {
    return column < columns ? program.columns[column].objective : 0;
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
    DynamicAPInt most(0);
    for (size_t i = 0; i < rows; ++i) {
      if (amounts[i] >= 0 && !(missing(inside[i]) && amounts[i] != 0))
        continue;
      DynamicAPInt size = llvm::abs(amounts[i]);
      if (worst == rows || (firstColumn ? inside[i] < inside[worst] : size > most)) {
        worst = i;
        most = std::move(size);
      }
    }
    return worst;
  }

  /// Multipliers of the rows, times the determinant.
  std::vector<Integer> prices() const {
    std::vector<Integer> y(rows);
    for (size_t i = 0; i < rows; ++i)
      if (int64_t c = objective(inside[i]))
        for (size_t j = 0; j < rows; ++j)
          y[j] += inverse[i * rows + j] * Integer(c);
    return y;
  }

  /// The column that can make the row's amount right while no column gains anything.
  size_t choose(size_t leaving, bool &moved) {
    std::vector<Integer> y = prices();
    bounding = with(y, Numbers::large(determinant));
    bool up = amounts[leaving] < 0;
    size_t best = SIZE_MAX;
    Integer bestLoss{}, bestSize{};
    for (size_t column = 0; column < columns + rows; ++column) {
      if (missing(column))
        continue;
      Integer size = product(&inverse[leaving * rows], column);
      if (up)
        size = -size;
      if (size <= Integer(0))
        continue;
      Integer loss = product(y.data(), column) - determinant * Integer(objective(column));
      if (best == SIZE_MAX || Numbers::compare(loss, bestSize, bestLoss, size) < 0) {
        best = column;
        bestLoss = std::move(loss);
        bestSize = std::move(size);
      }
    }
    moved = best != SIZE_MAX && bestLoss != Integer(0);
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
        if ((to[j] != Integer(0) || from[j] != Integer(0)) &&
            !numbers.replace(to[j], from[j], change[i], next))
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
    std::vector<Integer> multipliers(inverse.begin() + static_cast<ptrdiff_t>(row * rows),
                                     inverse.begin() + static_cast<ptrdiff_t>((row + 1) * rows));
    if (amounts[row] > 0)
      for (Integer &multiplier : multipliers)
        multiplier = -multiplier;
    ExactSolution solution = with(multipliers, Numbers::large(determinant));
    solution.feasible = false;
    return solution;
  }

  const ExactProgram &program;
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
  constexpr uint64_t kWork = 200'000'000, kLargeWork = 10'000'000; // seconds
  ExactSolution first;
  if (small)
    if (first = Simplex<ShortIntegers>(program).solve(kWork); first.complete)
      return first;
  ExactSolution second = Simplex<LargeIntegers>(program).solve(kLargeWork);
  bool worse = small && !second.complete && first.value < second.value;
  return worse ? first : second;
}

} // namespace accord
