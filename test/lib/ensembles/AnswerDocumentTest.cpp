// Members that answer, written and read back; log-odds weights; votes by class.
#include "AnswerRandom.h"
#include "lib/ensembles/output/Answer.h"
#include "lib/ensembles/solve/ChooseAnswer.h"
#include "lib/ensembles/verify/Answer.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

TEST(AnswerDocument, IsReadAsItWasWritten) {
  std::mt19937 draw(41);
  for (unsigned round = 0; round < 40; ++round) {
    AnswerPlan plan;
    plan.name = "e", plan.train = "t", plan.version = "0";
    plan.problem = randomAnswerProblem(draw);
    plan.statistics = randomKinds(draw, plan.problem.kinds.size());
    plan.confidence = ratio(19, 20);
    plan.tests = answerTests(plan.problem, plan.statistics);
    plan.result = chooseAnswer(plan.problem, plan.statistics, {plan.confidence, plan.tests});
    if (!plan.result.best)
      plan.conflict = "none";
    const llvm::json::Value document = toJson(plan);
    AnswerPlan read;
    llvm::json::Path::Root root("answer");
    ASSERT_TRUE(readAnswerPlan(document, read, root)) << round;
    EXPECT_EQ(toJson(read), document) << round;
    EXPECT_TRUE(verify(read).holds()) << round;
    EXPECT_EQ(read.result.best.has_value(), plan.result.best.has_value());
    EXPECT_FALSE(answerSummary(read, TextStyle()).empty());
  }
}

TEST(AnswerDocument, OfAMemberThatIsNoneIsRefused) {
  std::mt19937 draw(42);
  AnswerPlan plan;
  plan.problem = randomAnswerProblem(draw);
  plan.statistics = randomKinds(draw, plan.problem.kinds.size());
  plan.confidence = ratio(19, 20);
  plan.result.best.emplace();
  plan.result.best->devices = {{0, 0, 0, {7}}};
  AnswerPlan read;
  llvm::json::Path::Root root("answer");
  EXPECT_FALSE(readAnswerPlan(toJson(plan), read, root));
}

TEST(LogOddsWeights, AreNearTheLogarithm) {
  MemberStatistics statistics;
  statistics.memberErrors = {{ratio(1, 10), 0}, {ratio(2, 5), 100}, {ratio(3, 5), 0}, {1, -1}, {1, -1}};
  statistics.table.kinds = {4};
  statistics.table.votes = {{0, 99}, {1, 1}};
  statistics.table.samples = 100;
  EXPECT_EQ(logOddsWeights(statistics), (std::vector<int64_t>{9, 2, 1, 1, 18}));
}
