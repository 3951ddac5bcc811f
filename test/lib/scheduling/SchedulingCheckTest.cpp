// Malformed scheduling problems: each is found and named, and nothing computes on it.
#include "lib/scheduling/verify/Scheduling.h"
#include <gtest/gtest.h>

using namespace accord;
using Id = SchedulingProblem::Id;

namespace {

/// Two tasks on a core, a buffer, a budget and an optional task: well-formed.
SchedulingProblem wellFormed() {
  SchedulingProblem p;
  p.addResource("core", 2);
  p.budgets = {{"energy", 5}};
  p.memories = {{"hbm", 10}};
  p.addTask("a", 2, {{0, 1}});
  p.addTask("b", 3, {{0, 2}});
  p.addTask("c", 1, {});
  p.tasks[0].modes[0].spends = {{0, 1}};
  p.tasks[2].modes.push_back({"not", 0, {}, {}, true});
  p.addPrecedence(0, 1, 1);
  p.buffers.push_back({"x", 4, 0, 0, {{1, 2}}, false});
  p.pairings.push_back({1, 2, {{0, 0}, {0, 1}}});
  return p;
}

/// What is said of the well-formed problem after a change; checkers of answers say the same.
template <typename Change> std::string after(Change change) {
  SchedulingProblem p = wellFormed();
  change(p);
  Errors errors = check(p);
  std::string text;
  for (const Error &error : errors) {
    EXPECT_EQ(error.code, Code::MalformedSchedulingProblem);
    text += (text.empty() ? "" : "; ") + error.message;
  }
  size_t n = p.tasks.size();
  EXPECT_EQ(verify(p, SchedulingSolution{std::vector<int64_t>(n, 0), std::vector<Id>(n, 0), 0}).empty(), false);
  SchedulingBound bound;
  bound.value = 1, bound.kind = SchedulingBound::Kind::Path, bound.tasks = {0};
  EXPECT_EQ(verify(p, bound).size(), errors.size());
  SchedulingResult result;
  result.bound = bound;
  EXPECT_EQ(verify(p, result).size(), errors.size());
  return text;
}
using P = SchedulingProblem &;

TEST(SchedulingCheck, WellFormed) {
  EXPECT_TRUE(check(wellFormed()).empty());
  EXPECT_TRUE(check(SchedulingProblem{}).empty());
}

TEST(SchedulingCheck, Tasks) {
  EXPECT_EQ(after([](P p) { p.tasks[1].modes.clear(); }).substr(0, 21), "task 'b' has no mode;");
}

TEST(SchedulingCheck, Numbers) {
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].duration = -1; }), "task 'a' takes -1, which is negative");
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].usage[0].amount = -3; }), "task 'a' uses -3 of resource 'core'");
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].spends[0].amount = -3; }), "task 'a' uses -3 of budget 'energy'");
  EXPECT_EQ(after([](P p) { p.precedences[0].delay = -1; }),
            "task 'b' starts -1 after the end of 'a', which is negative");
  EXPECT_EQ(after([](P p) { p.buffers[0].bytes = -1; }), "buffer 'x' has -1 bytes");
  EXPECT_EQ(after([](P p) { p.memories[0].capacity = -1; }), "memory 'hbm' has capacity -1");
  EXPECT_EQ(after([](P p) { p.resources.push_back({"r", -1}); }), "resource 'r' has capacity -1");
  EXPECT_EQ(after([](P p) { p.budgets.push_back({"b", -1}); }), "budget 'b' has capacity -1");
}

TEST(SchedulingCheck, Ids) {
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].usage[0].of = 1; }), "task 'a' uses resource 1 of 1");
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].spends[0].of = 7; }), "task 'a' uses budget 7 of 1");
  EXPECT_EQ(after([](P p) { p.precedences[0].after = 3; }), "a precedence from task 0 to 3 of 3");
  const char *noBuffer = "buffer 'x' names a memory or a task that there is not";
  EXPECT_EQ(after([](P p) { p.buffers[0].memory = 1; }), noBuffer);
  EXPECT_EQ(after([](P p) { p.buffers[0].producer = 3; }), noBuffer);
  EXPECT_EQ(after([](P p) { p.buffers[0].readers[0].task = 3; }), noBuffer);
  EXPECT_EQ(after([](P p) { p.buffers[0].readers[0].unless = 3; }), noBuffer);
  EXPECT_EQ(after([](P p) { p.buffers[0].readers[0].unless = 1; }), noBuffer); // not optional
  EXPECT_EQ(after([](P p) { p.pairings[0].b = 3; }), "a pairing of tasks 1 and 3 of 3");
  EXPECT_EQ(after([](P p) { p.pairings[0].b = 1; }), "a pairing of tasks 1 and 1 of 3");
  EXPECT_EQ(after([](P p) { p.pairings[0].allowed.push_back({1, 0}); }),
            "a pairing allows mode 1 of 'b' with mode 0 of 'c'");
}

TEST(SchedulingCheck, Modes) {
  EXPECT_EQ(after([](P p) { p.tasks[2].modes.push_back({"", 0, {}, {}, true}); }),
            "task 'c' has 2 modes in which it does not happen");
  EXPECT_EQ(after([](P p) { p.tasks[2].modes[1].duration = 1; }),
            "task 'c' takes time or resources where it does not happen");
  EXPECT_EQ(after([](P p) { p.tasks[1].modes[0].usage[0].amount = 3; }),
            "task 'b' needs 3 of resource 'core', which has 2");
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].spends[0].amount = 6; }),
            "task 'a' needs 6 of budget 'energy', which has 5");
  EXPECT_EQ(after([](P p) {
              p.tasks[1].modes[0].usage[0].amount = 3;
              p.tasks[1].modes.push_back(p.tasks[1].modes[0]);
            }),
            "task 'b' needs 3 of resource 'core', which has 2, and no other mode fits");
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].usage.push_back({0, 1}); }), "task 'a' lists resource 'core' twice");
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].spends.push_back({0, 1}); }), "task 'a' lists budget 'energy' twice");
}

TEST(SchedulingCheck, CyclesAreNamedWithNotes) {
  EXPECT_EQ(after([](P p) { p.addPrecedence(1, 0); }).substr(0, 27), "the precedences form a cycl");
  EXPECT_EQ(after([](P p) { p.addPrecedence(2, 2); }), "the precedences form a cycle: 'c' -> 'c'");
  SchedulingProblem p;
  for (const char *name : {"a", "b", "c", "d"})
    p.addTask(name, 1, {});
  p.addPrecedence(0, 1), p.addPrecedence(1, 2), p.addPrecedence(2, 3), p.addPrecedence(3, 1);
  Errors errors = check(p);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].notes.size(), 2u); // the issue is at the third task of the cycle
  for (const char *edge : {"'b' -> 'c'", "'c' -> 'd'", "'d' -> 'b'"})
    EXPECT_NE(errors[0].message.find(edge), std::string::npos) << errors[0].message << edge;
  EXPECT_EQ(errors[0].message.find("'a'"), std::string::npos);
  // A cycle that no room for issues is left for does not leave its notes at another.
  for (int i = 0; i < 30; ++i)
    p.memories.push_back({"m", -1});
  errors = check(p);
  EXPECT_EQ(errors.size(), 20u);
  EXPECT_TRUE(errors.back().notes.empty());
}

TEST(SchedulingCheck, SumsBeyondRange) {
  constexpr int64_t kMax = INT64_MAX / 4; // 2^61
  const char *times = "the sum of durations and delays passes 2^61";
  EXPECT_EQ(after([](P p) { p.tasks[0].modes[0].duration = kMax; }), times);
  EXPECT_EQ(after([](P p) { p.precedences[0].delay = INT64_MAX; }), times);
  EXPECT_EQ(after([](P p) {
              for (auto &task : p.tasks)
                task.modes[0].duration = INT64_MAX;
            }),
            times);
  EXPECT_EQ(after([](P p) { p.buffers.assign(5, {"x", kMax, 0, 0, {}, false}); }),
            "the sum of all buffers passes 2^61 bytes");
  EXPECT_EQ(after([](P p) {
              p.resources[0].capacity = INT64_MAX;
              p.tasks[0].modes[0].usage[0].amount = INT64_MAX;
            }),
            "the sum of all amounts that fit a resource or a budget passes 2^61");
  // Just below, everything is exact.
  SchedulingProblem p;
  Id core = p.addResource("core", INT64_MAX);
  Id a = p.addTask("a", kMax - 10, {{core, kMax - 10}}), b = p.addTask("b", 3, {{core, 1}});
  p.addPrecedence(a, b, 7);
  ASSERT_TRUE(check(p).empty());
  EXPECT_TRUE(verify(p, SchedulingSolution{{0, kMax - 3}, {0, 0}, kMax}).empty());
  EXPECT_EQ(verify(p, SchedulingSolution{{1, kMax - 3}, {0, 0}, kMax})[0].code, Code::DependenceViolated);
  SchedulingBound path{kMax, SchedulingBound::Kind::Path, {a, b}, 0, {}, ""};
  EXPECT_TRUE(verify(p, path).empty());
  path.value = kMax + 1;
  EXPECT_EQ(verify(p, path)[0].code, Code::BoundNotProved);
  SchedulingBound set{kMax / 4, SchedulingBound::Kind::Set, {a}, core, {}, ""};
  EXPECT_TRUE(verify(p, set).empty()); // about 2^120 of work over a capacity of about 2^63
}

} // namespace
