#include "lib/machine/model/WorkGraph.h"
#include "lib/machine/model/Check.h"
#include "lib/machine/model/Dependences.h"
#include "test/support/RandomGraph.h"
#include <functional>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

GraphBuilder nested() {
  GraphBuilder b;
  ValueId x = b.value(0, 8, Category::Inputs);
  OperationId outer = b.repeat(0, 3);
  ValueId in = b.carry(outer, x);
  OperationId inner = b.repeat(2, 5);
  ValueId deep = b.carry(inner, in), out = b.value(3, 8);
  b.operation(3, {deep, x}, {out});
  ValueId result = b.yield(inner, 0, out);
  b.yield(outer, 0, result);
  b.operation(1, {}, {});
  b.graph.microbatches = 7;
  return b;
}

TEST(WorkGraph, ExecutionsMultiplyCounts) {
  WorkGraph g = nested().graph;
  EXPECT_EQ(g.executions(0), Count(7));
  EXPECT_EQ(g.executions(1), Count(7 * 3));
  EXPECT_EQ(g.executions(2), Count(7 * 3 * 5));
  EXPECT_EQ(g.executions(3), Count(1));
}

TEST(WorkGraph, CapturesReachEveryEnclosingRepeat) {
  WorkGraph g = nested().graph;
  OperationId maker = 0;
  GraphBuilder b;
  ValueId made = b.value(0, 8);
  maker = b.operation(0, {}, {made});
  OperationId outer = b.repeat(0, 2), inner = b.repeat(2, 2);
  b.operation(3, {made}, {});
  Dependences d = Dependences::of(b.graph);
  EXPECT_EQ(d.predecessors[outer], std::vector<OperationId>{maker});
  EXPECT_TRUE(d.predecessors[inner].empty());
  EXPECT_EQ(d.uses[inner], std::vector<ValueId>{made});
}

TEST(WorkGraph, CheckFindsEachDefect) {
  ASSERT_TRUE(check(nested().graph).empty());
  struct Defect {
    const char *sentence;
    std::function<void(WorkGraph &)> apply;
  };
  std::vector<Defect> defects = {
      {"the graph has 0 regions", [](WorkGraph &g) { g.regions.clear(); }},
      {"does not exist", [](WorkGraph &g) { g.operations[2].operands[0] = 99; }},
      {"does not exist", [](WorkGraph &g) { g.regions[2].operations[0] = 99; }},
      {"does not exist", [](WorkGraph &g) { g.regions[3].carried[0].yielded = 99; }},
      {"is not the body of a repeat", [](WorkGraph &g) { g.regions[3].parent = 0; }},
      {"is not the body of a repeat", [](WorkGraph &g) { g.operations[1].body = 2; }},
      {"runs 0 times", [](WorkGraph &g) { g.regions[3].count = 0; }},
      {"is listed 0 times", [](WorkGraph &g) { g.regions[3].operations.clear(); }},
      {"is made by 'op0' and by 'op1'",
       [](WorkGraph &g) { g.regions[3].carried[0].result = g.regions[2].carried[0].result; }},
      {"is a view of itself", [](WorkGraph &g) { g.values[0].alias = 0; }},
      {"which is not around it",
       [](WorkGraph &g) {
         g.operations[2].operands[0] = g.operations[0].results[0], g.values[g.operations[0].results[0]].region = 1;
       }},
      {"needs its own result", [](WorkGraph &g) { g.operations[2].operands[0] = g.operations[2].results[0]; }},
      {"negative work", [](WorkGraph &g) { g.operations[2].flops = -1; }},
      {"has -8 bytes", [](WorkGraph &g) { g.values[0].bytes = -8; }},
      {"runs more than", [](WorkGraph &g) { g.regions[3].count = int64_t{1} << 62; }},
      {"wants no core", [](WorkGraph &g) { g.operations[2].core = CoreKind::None; }},
      {"carries", [](WorkGraph &g) { g.values[g.operations[2].results[0]].bytes = 9; }},
  };
  for (const Defect &defect : defects) {
    WorkGraph g = nested().graph;
    defect.apply(g);
    Errors errors = check(g);
    bool found = false;
    std::string all;
    for (const Error &i : errors) {
      found |= i.message.find(defect.sentence) != std::string::npos;
      all += i.message + "\n";
    }
    EXPECT_TRUE(found) << defect.sentence << "\n" << all;
  }
}

TEST(WorkGraph, NestingIsLimited) {
  GraphBuilder b;
  RegionId at = 0;
  for (unsigned i = 0; i <= kMaxNesting; ++i)
    at = b.graph.operations[b.repeat(at, 2)].body;
  EXPECT_FALSE(check(b.graph).empty());
}

} // namespace
