// Problems and answers of every family survive their text.
#include "lib/scheduling/output/SchedulingMlir.h"
#include "lib/scheduling/solve/Solve.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/lib/scheduling/SchedulingFamilies.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

std::vector<std::string> messages(const SchedulingProblem &problem, const SchedulingResult &result) {
  std::vector<std::string> list;
  for (const Error &error : verify(problem, result))
    list.push_back(error.message);
  return list;
}

TEST(SchedulingMlir, GivesBackWhatWasWritten) {
  for (Family family : kFamilies)
    for (unsigned seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE(std::string(nameOf(family)) + " " + std::to_string(seed));
      SchedulingProblem problem = FamilyMember(family, seed).problem;
      SchedulingResult result = schedule(problem);
      std::string text = schedulingMlir(problem, &result);
      auto read = readSchedulingMlir(text, "x.mlir");
      ASSERT_TRUE(read) << read.error().message << text;
      const auto &[again, answer] = *read;
      ASSERT_TRUE(answer);
      EXPECT_EQ(schedulingMlir(again, &*answer), text);
      // Not only the text: what is read proves as much as what was written.
      EXPECT_EQ(messages(again, *answer), messages(problem, result)) << text;
      EXPECT_EQ(answer->solution.start,
                result.status == SchedulingResult::Status::Feasible ? result.solution.start : std::vector<int64_t>());
      EXPECT_EQ(answer->bound.steps.size(), result.bound.steps.size());
      EXPECT_EQ(answer->status, result.status);
    }
}

TEST(SchedulingMlir, NamesMayBeMissingOrAlike) {
  SchedulingProblem p;
  p.name = "quote \" and \n line";
  auto r = p.addResource("", 1), s = p.addResource("", 2);
  auto a = p.addTask("x", 1, {{s, 2}}), b = p.addTask("x", 2, {{r, 1}}), c = p.addTask("#1", 3, {});
  p.addPrecedence(b, a);
  p.addPrecedence(c, b, 4);
  auto read = readSchedulingMlir(schedulingMlir(p), "x.mlir");
  ASSERT_TRUE(read) << read.error().message;
  const SchedulingProblem &again = read->problem;
  EXPECT_EQ(again.name, p.name);
  EXPECT_EQ(again.tasks[2].name, "#1");
  EXPECT_EQ(again.tasks[0].modes[0].usage[0].of, s);
  EXPECT_EQ(again.precedences[1].before, c);
  EXPECT_EQ(again.precedences[1].after, b);
  EXPECT_FALSE(read->result);
}

TEST(SchedulingMlir, SaysWhereTextIsWrong) {
  for (std::string text :
       {"", "plan.problem", "plan.problem @p { plan.task \"a\" modes }", "module {}",
        "plan.problem @p { plan.task \"a\" modes duration 1 uses \"b\" 1 }",
        "plan.problem @p { plan.task \"a\" modes duration 99999999999999999999 }",
        "plan.problem @p { plan.task \"a\" modes duration 1\nplan.precedence \"a\" before \"a\" }"}) {
    auto read = readSchedulingMlir(text, "x.mlir");
    ASSERT_TRUE(!read) << text;
    EXPECT_FALSE(read.error().message.empty());
  }
}

} // namespace
