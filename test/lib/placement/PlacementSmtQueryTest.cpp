// The arithmetic of a placement as a solver sees it: right of each plan, wrong of each changed one.
#include "lib/placement/output/PlacementSmtQuery.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/planning/output/Certificate.h"
#include "test/support/PlacementRandom.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace accord;

namespace {

std::string asked(const std::string &smtQuery) {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("placement", "smt2", path));
  std::error_code why;
  llvm::raw_fd_ostream(path, why) << smtQuery;
  std::string answer = runSolver("z3", path.str().str(), smtQuery).answer;
  (void)llvm::sys::fs::remove(path);
  return answer;
}

} // namespace

TEST(PlacementClaim, ASolverFindsWhatIsWrong) {
  ASSERT_TRUE(llvm::sys::findProgramByName("z3")) << "scripts/packages.sh lists z3";
  size_t plans = 0;
  for (uint64_t seed = 1; plans < 16; ++seed) {
    PlacementPlan plan;
    plan.problem = accord::testing::randomPlacementProblem(seed, 5);
    plan.problem.blockingTransfers = true;
    plan.result = place(plan.problem);
    if (!plan.result.plan)
      continue;
    ++plans;
    EXPECT_EQ(asked(placementSmtQuery(plan)), "unsat") << "seed " << seed;
    PlanMetrics &metrics = plan.result.metrics;
    switch (plans % 4) {
    case 0:
      ++metrics.step; // it can be shorter
      break;
    case 1:
      --metrics.step; // its last pass ends later
      break;
    case 2:
      --metrics.memory[0];
      break;
    default:
      ++metrics.times[0].weight;
    }
    EXPECT_EQ(asked(placementSmtQuery(plan)), "sat") << "seed " << seed;
  }
}
