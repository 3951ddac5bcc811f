// Every scheduler against the optimum found by exhaustion, family by family.
#include "lib/scheduling/verify/Scheduling.h"
#include "SchedulingFamilies.h"
#include "lib/scheduling/solve/Bounds.h"
#include "lib/scheduling/solve/Solve.h"
#include "test/support/SchedulingBruteForce.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

constexpr unsigned kSeeds = 340; // of each family: 2,040 problems

std::string print(const Errors &errors) {
  std::string text;
  for (const Error &error : errors)
    text += numberOf(error.code) + " " + error.message + "\n";
  return text;
}

struct Member {
  SchedulingProblem problem;
  std::optional<SchedulingSolution> best;
};
/// Of a family, by seed; solved once.
const std::vector<Member> &members(Family family) {
  static std::array<std::vector<Member>, kFamilies.size()> all;
  auto &mine = all[static_cast<size_t>(family)];
  for (unsigned seed = 0; mine.size() < kSeeds; ++seed) {
    SchedulingProblem problem = FamilyMember(family, seed).problem;
    auto best = BruteForce(problem).best;
    mine.push_back({std::move(problem), std::move(best)});
  }
  return mine;
}

class Families : public ::testing::TestWithParam<Family> {};

TEST_P(Families, ScheduleEqualsBruteForce) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto &[problem, best] = members(GetParam())[seed];
    SchedulingResult result = schedule(problem);
    EXPECT_EQ(print(verify(problem, result)), "");
    using Status = SchedulingResult::Status;
    if (!best) {
      EXPECT_EQ(result.status, Status::Infeasible);
      continue;
    }
    ASSERT_EQ(result.status, Status::Feasible);
    EXPECT_TRUE(occupancyAllows(problem, result.solution));
    EXPECT_EQ(result.solution.makespan, best->makespan);
    EXPECT_EQ(result.bound.value, best->makespan);
  }
}

TEST_P(Families, SimpleBoundsHoldAndAreProvedAgain) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto &[problem, best] = members(GetParam())[seed];
    SchedulingBound bound = solve::simpleBound(solve::Instance(problem));
    EXPECT_EQ(print(verify(problem, bound)), "");
    if (best)
      EXPECT_LE(bound.value, best->makespan);
    ++bound.value;
    EXPECT_EQ(print(verify(problem, bound)).substr(0, 5), "A0906");
  }
}

/// The families are of use only if they hold both kinds of problems, and bounds do not settle all.
TEST_P(Families, HaveEasyHardAndInfeasibleMembers) {
  unsigned feasible = 0, infeasible = 0, gap = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const auto &[problem, best] = members(GetParam())[seed];
    EXPECT_LE(problem.tasks.size(), 9u);
    if (!best) {
      ++infeasible;
      continue;
    }
    ++feasible;
    EXPECT_TRUE(occupancyAllows(problem, *best)) << seed;
    EXPECT_EQ(print(verify(problem, *best)), "") << seed;
    gap += solve::simpleBound(solve::Instance(problem)).value < best->makespan;
  }
  EXPECT_GE(feasible, kSeeds / 3);
  EXPECT_GE(gap, kSeeds / 20);
  if (GetParam() != Family::Projects && GetParam() != Family::Transfers)
    EXPECT_GE(infeasible, kSeeds / 50);
  RecordProperty("feasible", static_cast<int>(feasible));
  RecordProperty("gap", static_cast<int>(gap));
}

/// All modes and all starts up to a horizon that suffices, one by one: evidence for the evidence.
TEST_P(Families, BruteForceIsTheBestOfAllStarts) {
  unsigned compared = 0;
  for (unsigned seed = 0; seed < kSeeds && compared < 12; ++seed) {
    const auto &[p, found] = members(GetParam())[seed];
    size_t n = p.tasks.size();
    int64_t horizon = 0;
    double count = 1;
    for (const auto &task : p.tasks) {
      int64_t max = 0;
      for (const auto &mode : task.modes)
        max = std::max(max, mode.duration);
      horizon += max;
      count *= static_cast<double>(task.modes.size());
    }
    for (const auto &edge : p.precedences)
      horizon += edge.delay;
    for (size_t t = 0; t < n; ++t)
      count *= static_cast<double>(horizon + 1);
    if (count > 4e5)
      continue;
    ++compared;
    SchedulingSolution at{std::vector<int64_t>(n, 0), std::vector<SchedulingProblem::Id>(n, 0), 0};
    int64_t best = INT64_MAX;
    auto next = [&] { // an odometer of modes and starts
      for (size_t t = 0; t < n; ++t) {
        if (++at.start[t] <= horizon)
          return true;
        at.start[t] = 0;
        if (++at.mode[t] < p.tasks[t].modes.size())
          return true;
        at.mode[t] = 0;
      }
      return false;
    };
    do {
      at.makespan = 0;
      for (size_t t = 0; t < n; ++t)
        if (const auto &mode = p.tasks[t].modes[at.mode[t]]; !mode.absent)
          at.makespan = std::max(at.makespan, at.start[t] + mode.duration);
      if (at.makespan < best && occupancyAllows(p, at))
        best = at.makespan;
    } while (next());
    EXPECT_EQ(found ? found->makespan : INT64_MAX, best) << seed;
  }
  EXPECT_GE(compared, 3u);
}

INSTANTIATE_TEST_SUITE_P(Scheduling, Families, ::testing::ValuesIn(kFamilies),
                         [](const auto &info) { return std::string(nameOf(info.param)); });

} // namespace
