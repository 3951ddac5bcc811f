// Problems of every family survive their JSON, and are scheduled alike.
#include "lib/scheduling/output/SchedulingJson.h"
#include "lib/scheduling/output/SchedulingMlir.h"
#include "lib/scheduling/solve/Solve.h"
#include "test/lib/scheduling/SchedulingFamilies.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

TEST(SchedulingJson, GivesBackWhatWasWritten) {
  for (Family family : kFamilies)
    for (unsigned seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE(std::string(nameOf(family)) + " " + std::to_string(seed));
      SchedulingProblem problem = FamilyMember(family, seed).problem;
      std::string text = schedulingJson(problem);
      auto read = readSchedulingJson(text, "x.json");
      ASSERT_TRUE(read) << read.error()[0].message << text;
      EXPECT_EQ(schedulingJson(*read), text);
      EXPECT_EQ(schedulingMlir(*read), schedulingMlir(problem)); // by the other writer, too
      SolveOptions options;
      options.effort = 2;
      SchedulingResult first = schedule(problem, options), second = schedule(*read, options);
      EXPECT_EQ(first.status, second.status);
      EXPECT_EQ(first.solution.start, second.solution.start);
      EXPECT_EQ(first.solution.mode, second.solution.mode);
      EXPECT_EQ(first.bound.value, second.bound.value);
    }
}

TEST(SchedulingJson, NamesMayBeMissingOrAlike) {
  SchedulingProblem p;
  p.name = "quote \" and \n line";
  auto r = p.addResource("", 1), s = p.addResource("", 2);
  auto a = p.addTask("x", 1, {{s, 2}}), b = p.addTask("x", 2, {{r, 1}}), c = p.addTask("#1", 3, {});
  p.addPrecedence(b, a);
  p.addPrecedence(c, b, 4);
  auto read = readSchedulingJson(schedulingJson(p), "x.json");
  ASSERT_TRUE(read) << read.error()[0].message;
  EXPECT_EQ(schedulingMlir(*read), schedulingMlir(p));
  EXPECT_EQ(read->precedences[1].before, c);
  EXPECT_EQ(read->precedences[1].after, b);
}

struct Broken {
  const char *text, *message;
  unsigned line, column;
  const char *suggestion = "";
};

/// A problem with a part in place of another.
#define TASKS                                                                                                          \
  "{\"kind\": \"scheduling_problem\",\n\"resources\": [{\"name\": \"core\", \"capacity\": 2}],\n\"tasks\": ["

TEST(SchedulingJson, SaysWhereTextIsWrong) {
  const Broken kBroken[] = {
      {"", "expected", 1, 1},
      {"[]", "expected object", 1, 1},
      {"{}", "missing", 1, 1},
      {"{\"kind\": \"plan\", \"tasks\": []}", "expected scheduling_problem", 1, 10},
      {"{\"kind\": \"scheduling_problem\"}", "missing", 1, 1},
      {"{\"kind\": \"scheduling_problem\", \"tasks\": 1}", "expected array", 1, 41},
      {"{\"kind\": \"scheduling_problem\", \"tasks\": [], \"task\": 1}", "unknown", 1, 53},
      {"{\"kind\": \"scheduling_problem\", \"tasks\": []", "", 1, 0},
      {TASKS "{\"name\": \"a\"}]}", "missing", 3, 11},
      {TASKS "{\"name\": \"a\", \"modes\": []}]}", "task 'a' has no mode", 3, 11},
      {TASKS "{\"name\": \"a\", \"modes\": [{}]}]}", "missing", 3, 35},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": -1}]}]}", "integer out of range", 3, 48},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1.5}]}]}", "expected", 3, 48},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 99999999999999999999}]}]}", "", 3, 48},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": \"1\"}]}]}", "expected", 3, 48},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1, \"uses\": [{\"resource\": \"cor\", \"amount\": 1}]}]}]}",
       "no resource has the name 'cor'", 3, 73, "core"},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1, \"uses\": [{\"resource\": \"#1\", \"amount\": 1}]}]}]}",
       "expected #0 to #0, found '#1'", 3, 73},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1, \"uses\": [{\"resource\": \"core\", \"amount\": 3}]}]}]}",
       "task 'a' needs 3 of resource 'core', which has 2", 3, 11},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1, \"consumes\": [{\"budget\": \"n\", \"amount\": 3}]}]}]}",
       "no budget has the name 'n': there is none", 3, 75},
      {TASKS
       "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}],\n\"precedences\": [{\"before\": \"a\", \"after\": \"b\"}]}",
       "no task has the name 'b'", 4, 42},
      {TASKS
       "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}],\n\"precedences\": [{\"before\": \"a\", \"after\": \"a\"}]}",
       "the precedences form a cycle: 'a' -> 'a'", 3, 11},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}, {\"name\": \"a\", \"modes\": [{\"duration\": 1}]}],\n"
             "\"precedences\": [{\"before\": \"a\", \"after\": \"a\"}]}",
       "there are several of the name 'a': expected \"#\" and the number of one, from 0", 4, 28},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}],\n\"buffers\": [{\"bytes\": 1, \"memory\": \"hbm\"}]}",
       "no memory has the name 'hbm': there is none", 4, 36},
      {TASKS
       "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}],\n\"memories\": [{\"name\": \"hbm\", \"capacity\": 1}],\n"
       "\"buffers\": [{\"bytes\": 1, \"memory\": \"hbm\", \"readers\": [{\"task\": \"a\", \"unless\": \"a\"}]}]}",
       "names a memory or a task that there is not", 0, 0},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"absent\": true}, {\"absent\": true}]}]}",
       "2 modes in which it does not happen", 3, 11},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"absent\": true, \"duration\": 2}]}]}",
       "takes time or resources where it does not happen", 3, 11},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}],\n\"pairings\": [{\"a\": \"a\", \"b\": \"c\", "
             "\"allowed\": []}]}",
       "no task has the name 'c'", 4, 30},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}],\n"
             "\"pairings\": [{\"a\": \"a\", \"b\": \"a\", \"allowed\": [[0, 0]]}]}",
       "a pairing of tasks 0 and 0", 0, 0},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 1}]}, {\"name\": \"b\", \"modes\": [{\"duration\": 1}]}],\n"
             "\"pairings\": [{\"a\": \"a\", \"b\": \"b\", \"allowed\": [[0, 9999999999]]}]}",
       "a pairing allows mode 0", 0, 0},
      {TASKS "{\"name\": \"a\", \"modes\": [{\"duration\": 2305843009213693952}]}, {\"name\": \"b\", \"modes\": "
             "[{\"duration\": 2305843009213693952}]}]}",
       "the sum of durations and delays passes 2^61", 0, 0},
  };
  for (const Broken &one : kBroken) {
    SCOPED_TRACE(one.text);
    auto read = readSchedulingJson(one.text, "x.json");
    ASSERT_FALSE(read);
    const Error &error = read.error()[0];
    EXPECT_NE(error.message.find(one.message), std::string::npos) << error.message;
    if (one.line > 0) {
      EXPECT_EQ(error.location.file, "x.json");
      EXPECT_EQ(error.location.line, one.line) << error.message;
    }
    if (one.line > 0 && one.column > 0) {
      EXPECT_EQ(error.location.column, one.column) << error.message;
    }
    EXPECT_EQ(error.suggestion, one.suggestion);
  }
}

} // namespace
