// The simplex method in double precision against all vertices of small programs, and against weak duality.
#include "lib/search/LinearProgram.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <optional>

namespace accord {
namespace {

using Relation = LinearProgram::Relation;
using Status = LinearSolution::Status;

/// Solves a square system by elimination; nothing if it is singular.
std::optional<std::vector<double>> solveSquare(std::vector<std::vector<double>> a) {
  const size_t n = a.size();
  for (size_t c = 0; c < n; ++c) {
    size_t pivot = c;
    for (size_t r = c; r < n; ++r)
      if (std::abs(a[r][c]) > std::abs(a[pivot][c]))
        pivot = r;
    if (std::abs(a[pivot][c]) < 1e-9)
      return std::nullopt;
    std::swap(a[c], a[pivot]);
    for (size_t r = 0; r < n; ++r)
      if (r != c) {
        const double f = a[r][c] / a[c][c];
        for (size_t k = c; k <= n; ++k)
          a[r][k] -= f * a[c][k];
      }
  }
  std::vector<double> x(n);
  for (size_t i = 0; i < n; ++i)
    x[i] = a[i][n] / a[i][i];
  return x;
}

std::vector<double> activities(const LinearProgram &program, const std::vector<double> &x) {
  std::vector<double> sums(program.rows.size(), 0);
  for (size_t j = 0; j < x.size(); ++j)
    for (const auto &[row, entry] : program.columns[j].entries)
      sums[row] += entry * x[j];
  return sums;
}

bool isFeasible(const LinearProgram &program, const std::vector<double> &x) {
  const std::vector<double> sums = activities(program, x);
  for (size_t j = 0; j < x.size(); ++j)
    if (x[j] < -1e-7 || x[j] > program.columns[j].upper + 1e-7)
      return false;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double over = sums[i] - program.rows[i].side;
    if ((program.rows[i].relation != Relation::AtLeast && over > 1e-7) ||
        (program.rows[i].relation != Relation::AtMost && over < -1e-7))
      return false;
  }
  return true;
}

/// The best vertex: each choice of as many planes (rows, bounds) as there are columns. All columns are bounded.
std::optional<double> bestVertex(const LinearProgram &program) {
  const size_t n = program.columns.size(), m = program.rows.size();
  std::vector<std::vector<double>> planes;
  for (size_t i = 0; i < m; ++i) {
    std::vector<double> plane(n + 1, 0);
    for (size_t j = 0; j < n; ++j)
      for (const auto &[row, entry] : program.columns[j].entries)
        if (row == i)
          plane[j] = entry;
    plane[n] = program.rows[i].side;
    planes.push_back(plane);
  }
  for (size_t j = 0; j < n; ++j)
    for (double bound : {0.0, program.columns[j].upper}) {
      std::vector<double> plane(n + 1, 0);
      plane[j] = 1;
      plane[n] = bound;
      planes.push_back(plane);
    }
  std::optional<double> best;
  for (unsigned mask = 0; mask < (1u << planes.size()); ++mask) {
    if (static_cast<size_t>(__builtin_popcount(mask)) != n)
      continue;
    std::vector<std::vector<double>> system;
    for (size_t p = 0; p < planes.size(); ++p)
      if (mask >> p & 1)
        system.push_back(planes[p]);
    const auto x = solveSquare(system);
    if (!x || !isFeasible(program, *x))
      continue;
    double value = 0;
    for (size_t j = 0; j < n; ++j)
      value += program.columns[j].objective * (*x)[j];
    best = std::max(best.value_or(value), value);
  }
  return best;
}

LinearProgram randomProgram(SplitMix &random, size_t n, size_t m, bool bounded) {
  LinearProgram program;
  auto number = [&](int low, int high) {
    return static_cast<double>(low + static_cast<int>(random.next() % static_cast<uint64_t>(high - low + 1)));
  };
  for (size_t i = 0; i < m; ++i)
    program.addRow(number(-2, 8), static_cast<Relation>(random.next() % 5 < 3 ? 0 : 1 + random.next() % 2));
  for (size_t j = 0; j < n; ++j) {
    const unsigned column = program.addColumn(number(-3, 6), bounded ? number(0, 4) : LinearProgram::kUnlimited);
    for (unsigned i = 0; i < m; ++i)
      if (const double entry = number(-2, 4); entry != 0)
        program.columns[column].entries.push_back({i, entry});
  }
  return program;
}

TEST(LinearProgramTest, SmallProgramsAreAsGoodAsTheirBestVertex) {
  SplitMix random(7);
  int optimal = 0, infeasible = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const size_t n = 1 + random.next() % 4, m = 1 + random.next() % 4;
    const LinearProgram program = randomProgram(random, n, m, true);
    const std::optional<double> expected = bestVertex(program);
    const LinearSolution solution = maximize(program);
    if (!expected) {
      EXPECT_EQ(solution.status, Status::Infeasible) << trial;
      ++infeasible;
      continue;
    }
    ASSERT_EQ(solution.status, Status::Optimal) << trial;
    EXPECT_NEAR(solution.value, *expected, 1e-7) << trial;
    EXPECT_TRUE(isFeasible(program, solution.x)) << trial;
    EXPECT_NEAR(dualBound(program, solution.multipliers), *expected, 1e-6) << trial;
    ++optimal;
  }
  EXPECT_GT(optimal, 200);
  EXPECT_GT(infeasible, 50);
}

TEST(LinearProgramTest, BoundsOfLargerProgramsMeetTheirValues) {
  SplitMix random(11);
  int optimal = 0;
  for (int trial = 0; trial < 60; ++trial) {
    LinearProgram program = randomProgram(random, 40, 25, trial % 2 == 0);
    std::vector<double> point; // made feasible by the sides
    for (const LinearProgram::Column &column : program.columns)
      point.push_back(std::min(column.upper, static_cast<double>(random.below(3))));
    const std::vector<double> sums = activities(program, point);
    for (size_t i = 0; i < sums.size(); ++i)
      program.rows[i].side = sums[i];
    const LinearSolution solution = maximize(program);
    EXPECT_NE(solution.status, Status::Stopped);
    EXPECT_NE(solution.status, Status::Infeasible);
    if (solution.status != Status::Optimal)
      continue;
    ++optimal;
    EXPECT_TRUE(isFeasible(program, solution.x));
    EXPECT_NEAR(dualBound(program, solution.multipliers), solution.value, 1e-6 * (1 + std::abs(solution.value)));
  }
  EXPECT_GT(optimal, 10);
}

TEST(LinearProgramTest, AnyMultipliersBound) {
  SplitMix random(13);
  for (int trial = 0; trial < 200; ++trial) {
    const LinearProgram program = randomProgram(random, 6, 4, true);
    const LinearSolution solution = maximize(program);
    if (solution.status != Status::Optimal)
      continue;
    std::vector<double> multipliers;
    for (size_t i = 0; i < 4; ++i)
      multipliers.push_back(static_cast<double>(random.next() % 7) - 3);
    EXPECT_GE(dualBound(program, multipliers), solution.value - 1e-7);
  }
}

TEST(LinearProgramTest, UnboundedIsSaid) {
  LinearProgram program;
  const unsigned row = program.addRow(1, Relation::AtLeast);
  program.addColumn(1);
  program.columns[0].entries = {{row, 1}};
  EXPECT_EQ(maximize(program).status, Status::Unbounded);
}

/// Beale's example (Naval Research Logistics Quarterly 2, 1955): it cycles without a rule against that; value 1/20.
TEST(LinearProgramTest, BealesExampleDoesNotCycle) {
  LinearProgram program;
  for (double side : {0.0, 0.0, 1.0})
    program.addRow(side);
  const double objective[] = {0.75, -150, 0.02, -6};
  const double entries[4][3] = {{0.25, 0.5, 0}, {-60, -90, 0}, {-0.04, -0.02, 1}, {9, 3, 0}};
  for (int j = 0; j < 4; ++j) {
    program.addColumn(objective[j]);
    for (unsigned i = 0; i < 3; ++i)
      program.columns.back().entries.push_back({i, entries[j][i]});
  }
  const LinearSolution solution = maximize(program);
  ASSERT_EQ(solution.status, Status::Optimal);
  EXPECT_NEAR(solution.value, 0.05, 1e-12);
}

/// Shares of 96 jobs on three types: the min of their speeds is maximized (Gavel's linear program, OSDI 2020).
TEST(LinearProgramTest, FairSharesOfManyJobsMeetTheirBound) {
  SplitMix random(17);
  LinearProgram program;
  const double capacity[] = {8, 16, 24};
  for (double one : capacity)
    program.addRow(one);
  const unsigned level = program.addColumn(1);
  for (int job = 0; job < 96; ++job) {
    const unsigned time = program.addRow(1), speed = program.addRow(0);
    program.columns[level].entries.push_back({speed, 1});
    const double gang = static_cast<double>(1u << random.next() % 3);
    for (unsigned type = 0; type < 3; ++type) {
      const unsigned share = program.addColumn(0, 1);
      program.columns[share].entries = {{type, gang}, {time, 1}, {speed, -gang * (1 + random.next() % 100 / 25.0)}};
    }
  }
  const LinearSolution solution = maximize(program);
  ASSERT_EQ(solution.status, Status::Optimal);
  EXPECT_TRUE(isFeasible(program, solution.x));
  EXPECT_NEAR(dualBound(program, solution.multipliers), solution.value, 1e-8);
  EXPECT_LT(solution.pivots, 2000u);
}

} // namespace
} // namespace accord
