// Which call is which operation: plans and steps by hand, and the laws of every comparison on random ones.
#include "lib/comparison/solve/Matcher.h"
#include "lib/comparison/solve/Compare.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace accord::comparison {
namespace {

Signature product(int64_t size, int64_t depth = 64) { return {WorkClass::Product, "", size, depth}; }
Signature elementWise(const std::string &word, int64_t size) { return {WorkClass::ElementWise, word, size, 0}; }

/// A plan in which each operation runs once a micro-batch, and a step of calls.
class Pair {
public:
  uint32_t plan(const std::string &name, const Signature &work, Part part = Part::Forward, int64_t forward = -1) {
    PlannedOperation &op = planned.operations.emplace_back();
    op.name = name, op.work = {work}, op.part = part, op.forward = forward;
    op.seconds = 1e-6, op.executions = 1;
    return planned.operations.size() - 1;
  }
  void execute(uint32_t operation, int64_t microbatch = 0, int64_t layer = 0) {
    planned.executions.push_back({operation, microbatch, layer});
  }
  MeasuredOperation &call(const std::string &name, const Signature &work, Part part = Part::Forward) {
    MeasuredOperation &op = measured.operations.emplace_back();
    op.name = name, op.work = work, op.part = part;
    op.seconds = op.exposed = 2e-6;
    op.start = 1e-5 * static_cast<double>(measured.operations.size());
    measured.seconds += op.exposed;
    return op;
  }
  Matcher match() {
    Matcher matcher(planned, measured);
    matcher.run();
    return matcher;
  }
  Comparison compared() { return compare(planned, measured); }
  PlannedStep planned;
  MeasuredStep measured;
};

using Links = std::vector<std::tuple<uint32_t, uint32_t, MatchKind>>;
Links linksOf(const Matcher &matcher) {
  Links links;
  for (const Link &one : matcher.links())
    links.emplace_back(one.execution, one.call, one.kind);
  std::sort(links.begin(), links.end());
  return links;
}
constexpr auto kName = MatchKind::Name, kSequence = MatchKind::Sequence, kShapes = MatchKind::Shapes,
               kOrder = MatchKind::Order;

TEST(Matcher, MatchesEqualWorkInOrder) {
  Pair p;
  for (int64_t size : {100, 200, 300})
    p.execute(p.plan("op" + std::to_string(size), product(size)));
  for (int64_t size : {100, 200, 300})
    p.call("aten::mm", product(size));
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 0, kShapes}, {1, 1, kShapes}, {2, 2, kShapes}}));
}

TEST(Matcher, FindsReorderedWorkNearby) {
  Pair p;
  for (int64_t size : {100, 200, 300})
    p.execute(p.plan("op" + std::to_string(size), product(size)));
  for (int64_t size : {300, 100, 200})
    p.call("aten::mm", product(size));
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 1, kShapes}, {1, 2, kShapes}, {2, 0, kShapes}}));
}

TEST(Matcher, LeavesDuplicatesOver) {
  Pair p;
  p.execute(p.plan("one", product(100)));
  p.call("aten::mm", product(100)), p.call("aten::mm", product(100));
  EXPECT_EQ(p.match().links().size(), 1u);
  const Comparison both = p.compared();
  ASSERT_EQ(both.rows.size(), 1u);
  EXPECT_EQ(both.rows[0].calls, 1);
  ASSERT_EQ(both.extra.size(), 1u);
  EXPECT_DOUBLE_EQ(both.unexplained, 2e-6);
  Pair q;
  const uint32_t one = q.plan("one", product(100));
  q.execute(one), q.execute(one, 0, 1);
  q.call("aten::mm", product(100));
  const Comparison missing = q.compared();
  ASSERT_EQ(missing.rows.size(), 2u);
  EXPECT_EQ(missing.rows[0].missing + missing.rows[1].missing, 1);
}

TEST(Matcher, TakesOneProductForSeveral) {
  Pair p; // queries, keys and values of one operand
  p.execute(p.plan("norm", {WorkClass::Normalization, "", 10, 0}));
  for (const char *name : {"query", "key", "value"})
    p.execute(p.plan(name, product(100)));
  p.execute(p.plan("out", product(70)));
  p.call("aten::layer_norm", {WorkClass::Normalization, "", 10, 0});
  p.call("aten::linear", product(300));
  p.call("aten::linear", product(70));
  EXPECT_EQ(linksOf(p.match()),
            (Links{{0, 0, kShapes}, {1, 1, kShapes}, {2, 1, kShapes}, {3, 1, kShapes}, {4, 2, kShapes}}));
}

TEST(Matcher, TakesSeveralCallsForAFusedOperation) {
  Pair p;
  const uint32_t fused = p.plan("fused", product(100));
  p.planned.operations[fused].work = {product(100), elementWise("add", 10), elementWise("gelu", 10)};
  p.execute(fused);
  p.call("aten::mm", product(100)), p.call("aten::add", elementWise("add", 10));
  p.call("aten::gelu", elementWise("gelu", 10));
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 0, kShapes}, {0, 1, kShapes}, {0, 2, kShapes}}));
  const Comparison both = p.compared();
  ASSERT_EQ(both.rows.size(), 1u);
  EXPECT_EQ(both.rows[0].calls, 3);
  EXPECT_EQ(both.rows[0].executions, 1);
  EXPECT_DOUBLE_EQ(both.rows[0].measured, 6e-6);
}

TEST(Matcher, TakesAKernelOfACompilerForWhatIsBetween) {
  Pair p;
  p.execute(p.plan("a", product(100)));
  p.execute(p.plan("add", elementWise("add", 10)));
  p.execute(p.plan("gelu", elementWise("gelu", 10)));
  p.execute(p.plan("b", product(200)));
  p.call("aten::mm", product(100));
  p.call("triton_poi_fused_add_gelu_0", {WorkClass::Other, "", 0, 0});
  p.call("aten::mm", product(200));
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 0, kShapes}, {1, 1, kOrder}, {2, 1, kOrder}, {3, 2, kShapes}}));
}

TEST(Matcher, TakesAnAttentionForItsParts) {
  Pair p;
  p.execute(p.plan("scores", product(100)));
  p.execute(p.plan("softmax", {WorkClass::Softmax, "", 10, 0}));
  p.execute(p.plan("mix", product(100)));
  p.call("aten::_scaled_dot_product_flash_attention", {WorkClass::Attention, "", 5, 0});
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 0, kOrder}, {1, 0, kOrder}, {2, 0, kOrder}}));
}

TEST(Matcher, MatchesByNameBeforeShapes) {
  Pair p;
  const uint32_t first = p.plan("gpt.block.mlp.fc1", product(100)), second = p.plan("gpt.block.mlp.fc2", product(100));
  p.execute(first), p.execute(second);
  // In the other order, with numbers of layers, and with more in front.
  p.call("aten::mm", product(100)).scopes = {"module.gpt.block.0.mlp.fc2"};
  p.call("aten::mm", product(100)).scopes = {"block.0", "block.0.mlp.fc1"};
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 1, kName}, {1, 0, kName}}));
}

TEST(Matcher, DoesNotTrustNamesOfAnotherCount) {
  Pair p;
  p.execute(p.plan("block.fc1", product(100)));
  p.execute(p.plan("block.fc1b", product(100), Part::Forward), 0, 1);
  p.planned.executions[1].operation = 0; // twice the same
  for (int i = 0; i < 3; ++i)
    p.call("aten::mm", product(100)).scopes = {"block.fc1"};
  Matcher matcher = p.match();
  ASSERT_EQ(matcher.notes.size(), 1u);
  EXPECT_NE(matcher.notes[0].find("3 calls, 2 executions"), std::string::npos);
  for (const Link &link : matcher.links())
    EXPECT_EQ(link.kind, kShapes);
}

TEST(Matcher, MatchesGradientsBySequenceNumber) {
  Pair p;
  const uint32_t a = p.plan("a", product(100)), b = p.plan("b", product(100));
  const uint32_t da = p.plan("a.x", product(100), Part::Backward, a),
                 wa = p.plan("a.w", product(100), Part::Backward, a);
  const uint32_t db = p.plan("b.x", product(100), Part::Backward, b);
  for (uint32_t operation : {a, b, db, da, wa})
    p.execute(operation);
  p.call("aten::mm", product(100)).sequences = {7};
  p.call("aten::mm", product(100)).sequences = {8};
  // The gradients of the second come last here, against the order of the plan.
  p.call("aten::mm", product(100), Part::Backward).sequences = {7};
  p.call("aten::mm", product(100), Part::Backward).sequences = {7};
  p.call("aten::mm", product(100), Part::Backward).sequences = {8};
  EXPECT_EQ(linksOf(p.match()),
            (Links{{0, 0, kShapes}, {1, 1, kShapes}, {2, 4, kSequence}, {3, 2, kSequence}, {4, 3, kSequence}}));
}

TEST(Matcher, TellsMicrobatchesApart) {
  Pair p;
  p.planned.microbatches = 2;
  const uint32_t a = p.plan("a", product(100)), da = p.plan("a.x", product(100), Part::Backward, a);
  for (int64_t m : {0, 1})
    p.execute(a, m), p.execute(da, m);
  for (int m = 0; m < 2; ++m)
    p.call("aten::mm", product(100)), p.call("aten::mm", product(100), Part::Backward);
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 0, kShapes}, {1, 1, kShapes}, {2, 2, kShapes}, {3, 3, kShapes}}));
  p.call("aten::mm", product(100)), p.call("aten::mm", product(100), Part::Backward);
  Matcher matcher = p.match();
  ASSERT_EQ(matcher.notes.size(), 1u);
  EXPECT_NE(matcher.notes[0].find("2 micro-batches a step, and the trace 3"), std::string::npos);
}

TEST(Matcher, MatchesNothingThatIsNothingAlike) {
  Pair p;
  p.execute(p.plan("a", product(100))), p.execute(p.plan("b", product(200)));
  p.call("aten::conv2d", {WorkClass::Convolution, "", 100, 9});
  p.call("my::thing", {WorkClass::Other, "", 0, 0});
  EXPECT_TRUE(p.match().links().empty());
  const Comparison both = p.compared();
  EXPECT_EQ(both.rows.size(), 2u);
  for (const Row &row : both.rows)
    EXPECT_EQ(row.match, MatchKind::None);
  EXPECT_DOUBLE_EQ(both.unexplained, 4e-6);
  EXPECT_DOUBLE_EQ(explainedShare(both), 0);
  ASSERT_FALSE(both.notes.empty());
  EXPECT_NE(both.notes.back().find("0 % of the time in calls is of operations that the plan has"), std::string::npos);
}

TEST(Matcher, MatchesKernelsOfNoCallByClass) {
  Pair p;
  p.execute(p.plan("a", product(100))), p.execute(p.plan("b", elementWise("gelu", 10)));
  p.call("sm80_xmma_gemm", {WorkClass::Product, "", 0, 0}, Part::Unknown);
  p.call("vectorized_elementwise_kernel", {WorkClass::ElementWise, "", 0, 0}, Part::Unknown);
  EXPECT_EQ(linksOf(p.match()), (Links{{0, 0, kOrder}, {1, 1, kOrder}}));
}

TEST(Matcher, TakesEmptyPlansAndSteps) {
  Pair p;
  EXPECT_TRUE(p.match().links().empty());
  p.execute(p.plan("a", product(100)));
  EXPECT_EQ(p.compared().rows.size(), 1u);
  Pair q;
  q.call("aten::mm", product(100));
  EXPECT_DOUBLE_EQ(q.compared().unexplained, 2e-6);
}

/// Whatever the step: each call is in one row, one group or in what is not explained, each execution in one row, and
/// nothing is counted twice or lost.
TEST(Matcher, KeepsSumsOfRandomSteps) {
  std::mt19937 random(11);
  auto draw = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const Signature works[] = {product(100),
                             product(200),
                             product(300),
                             elementWise("gelu", 10),
                             elementWise("add", 20),
                             {WorkClass::Normalization, "", 10, 0},
                             {WorkClass::Softmax, "", 10, 0},
                             {WorkClass::Attention, "", 10, 0},
                             {WorkClass::Copy, "", 10, 0},
                             {WorkClass::Communication, "", 0, 0},
                             {WorkClass::Other, "", 0, 0},
                             {WorkClass::Fill, "", 4, 0}};
  const char *names[] = {"aten::a", "aten::b", "triton_poi_c", "aten::d"};
  for (int round = 0; round < 400; ++round) {
    Pair p;
    p.planned.microbatches = draw(1, 3);
    std::vector<uint32_t> forward, backward;
    for (int i = 0, count = draw(1, 8); i < count; ++i) {
      const Signature &work = works[draw(0, 11)];
      forward.push_back(p.plan("model.op" + std::to_string(i), work));
      if (draw(0, 1))
        backward.push_back(p.plan("model.op" + std::to_string(i) + ".x", work, Part::Backward, forward.back()));
    }
    double planned = 0;
    for (int64_t m = 0; m < p.planned.microbatches; ++m)
      for (const auto *list : {&forward, &backward})
        for (uint32_t operation : *list)
          p.execute(operation, m), planned += 1e-6;
    double exposed = 0;
    for (int i = 0, count = draw(0, 40); i < count; ++i) {
      MeasuredOperation &call = p.call(names[draw(0, 3)], works[draw(0, 11)], static_cast<Part>(draw(0, 5)));
      call.exposed = draw(0, 5) * 1e-6;
      exposed += call.exposed;
      if (draw(0, 2) == 0)
        call.sequences = {draw(0, 10)};
      if (draw(0, 3) == 0)
        call.scopes = {"model.op" + std::to_string(draw(0, 9))};
    }
    const Comparison both = p.compared();
    double rows = 0, groups = 0, plannedRows = 0;
    int64_t executions = 0;
    for (const Row &row : both.rows) {
      rows += row.exposed, plannedRows += row.planned, executions += row.executions;
      EXPECT_EQ(row.match == MatchKind::None, row.calls == 0) << round;
    }
    for (const MeasuredGroup &group : both.groups)
      groups += group.seconds;
    EXPECT_NEAR(rows + groups + both.unexplained, exposed, 1e-12) << round;
    EXPECT_NEAR(plannedRows, planned, 1e-12) << round;
    EXPECT_EQ(executions, static_cast<int64_t>(p.planned.executions.size())) << round;
    double extra = 0;
    for (const Extra &one : both.extra)
      extra += one.exposed;
    EXPECT_NEAR(extra, both.unexplained, 1e-12) << round;
    // The same answer again.
    const Comparison again = p.compared();
    ASSERT_EQ(again.rows.size(), both.rows.size());
    for (size_t i = 0; i < both.rows.size(); ++i)
      EXPECT_EQ(again.rows[i].operations, both.rows[i].operations);
  }
}

} // namespace
} // namespace accord::comparison
