#include "lib/planning/output/PlanDifference.h"
#include "lib/planning/output/Summary.h"
#include "lib/support/documents/TextTable.h"
#include "test/support/EmitFixture.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>

using namespace accord;

namespace {
size_t widest(const std::string &text) {
  size_t max = 0;
  for (size_t from = 0; from < text.size();) {
    size_t to = std::min(text.find('\n', from), text.size());
    max = std::max(max, columnsOf(text.substr(from, to - from)));
    from = to + 1;
  }
  return max;
}
} // namespace

TEST(EmitSummary, Prefixes) {
  EXPECT_EQ(formatSi(312e12, "FLOP/s"), "312 TFLOP/s");
  EXPECT_EQ(formatSi(0.1842, "s"), "184.2 ms");
  EXPECT_EQ(formatSi(9.9996e-4, "s"), "1 ms");
  EXPECT_EQ(formatSi(999.96, "s"), "1 ks");
  EXPECT_EQ(formatSi(0, "s"), "0 s");
  EXPECT_EQ(formatSi(124.4e6, ""), "124.4 M");
  EXPECT_EQ(formatSi(243200, "tokens/s"), "243.2 k tokens/s");
  EXPECT_EQ(formatBytes(80.0 * (1ull << 30)), "80 GiB");
  EXPECT_EQ(formatBytes(1000), "1000 B");
  EXPECT_EQ(formatBytes(1023.99 * 1024), "1 MiB");
}

TEST(EmitSummary, FitsAHundredColumns) {
  Plan plan = test::gptPlan();
  plan.graph.operations[4].name += std::string(120, 'x');
  TextStyle style;
  EXPECT_LE(widest(compileSummary(plan, {1024, "out/report.html"}, style)), 100u);
  EXPECT_LE(widest(estimateTable(plan.graph, plan.machine, plan.costs, sumEstimate(plan.graph, plan.costs), style)),
            100u);
  EXPECT_LE(widest(differenceText(differenceOf(plan, test::gptPlan({8})), style)), 100u);
  EXPECT_LE(widest(cantFail(explainOperation(plan, "block.fc1", style))), 100u);
}

TEST(EmitSummary, PlainTextHasNeitherColourNorUtf8) {
  Plan plan = test::gptPlan();
  TextStyle style;
  style.unicode = false;
  std::string all = compileSummary(plan, {}, style) + differenceText(differenceOf(plan, test::gptPlan({8})), style) +
                    cantFail(explainOperation(plan, "block.repeat", style)) +
                    estimateTable(plan.graph, plan.machine, plan.costs, sumEstimate(plan.graph, plan.costs), style);
  for (char c : all)
    ASSERT_TRUE(c == '\n' || (c >= 32 && c < 127)) << static_cast<int>(c);
}

TEST(EmitSummary, ExplainNamesSourcesAndTheNearestName) {
  Plan plan = test::gptPlan();
  std::string text = cantFail(explainOperation(plan, "block.fc1", {}));
  EXPECT_NE(text.find("tc.peak = 312 TFLOP/s (NVIDIA A100 data sheet; a100.accel:5)"), std::string::npos) << text;
  EXPECT_NE(text.find("96 times per step"), std::string::npos);
  auto wrong = explainOperation(plan, "block.fc3", {});
  ASSERT_FALSE(bool(wrong));
  EXPECT_EQ(toString(wrong.takeError()), "the plan has no operation 'block.fc3'; did you mean 'block.fc1'?");
}

TEST(EmitSummary, InfeasiblePlansShowTheirConflicts) {
  Plan plan = test::gptPlan();
  plan.feasible = false;
  plan.conflicts = {{"device memory", "gpt.dnn", 31, "needs 92.1 GiB, hbm has 80 GiB: 12.1 GiB too much"}};
  EXPECT_NE(compileSummary(plan, {}, {}).find("unknown"), std::string::npos);
  plan.excludedCandidates = 3;
  std::string text = compileSummary(plan, {}, {});
  EXPECT_NE(text.find("infeasible"), std::string::npos);
  EXPECT_NE(text.find("device memory (gpt.dnn:31): needs 92.1 GiB"), std::string::npos) << text;
  EXPECT_EQ(text.find("gap"), std::string::npos);
}

TEST(PlanDifference, NamesWhatTheStepLoses) {
  Plan before = test::gptPlan(), after = test::gptPlan({8});
  PlanDifference d = differenceOf(before, after);
  auto figure = [&](llvm::StringRef key) {
    return *std::ranges::find_if(d.figures, [&](const FigureDifference &one) { return one.key == key; });
  };
  double x = 0, y = 0;
  for (const PartDifference &part : d.step)
    x += part.before, y += part.after;
  EXPECT_NEAR(x, figure("step_time_s").before, 1e-9 * x);
  EXPECT_NEAR(y, figure("step_time_s").after, 1e-9 * y);
  EXPECT_EQ(figure("microbatch").after, 8);
  ASSERT_FALSE(d.causes.empty());
  EXPECT_TRUE(llvm::StringRef(d.causes.front()).starts_with("the step takes ")) << d.causes.front();
  ASSERT_FALSE(d.operations.empty());
  auto change = [](const OperationDifference &o) { return std::fabs(*o.after - *o.before); };
  EXPECT_TRUE(std::ranges::is_sorted(d.operations, std::greater<>(), change));
  // The other way round everything is exchanged.
  PlanDifference back = differenceOf(after, before);
  EXPECT_EQ(back.figures.size(), d.figures.size());
  for (size_t i = 0; i < back.figures.size(); ++i)
    EXPECT_EQ(back.figures[i].before, d.figures[i].after) << d.figures[i].key;
}

TEST(PlanDifference, IsNoneOfAPlanAndItself) {
  Plan plan = test::gptPlan();
  PlanDifference d = differenceOf(plan, plan);
  EXPECT_TRUE(d.causes.empty() && d.operations.empty());
  for (const FigureDifference &one : d.figures)
    EXPECT_EQ(one.change().value_or(0), 0) << one.key;
}

TEST(PlanDifference, IsAPageWhateverItsNames) {
  Plan plan = test::gptPlan(), other = plan;
  other.machine.name = "</script><!--accord:data-->";
  std::string page = toReport(differenceOf(plan, other), {"a/report.html", ""});
  EXPECT_EQ(page.find("<!--accord:"), std::string::npos);
  EXPECT_EQ(page.find("</script><!--"), std::string::npos);
}

TEST(EmitSummary, NothingChanged) {
  Plan plan = test::gptPlan();
  EXPECT_NE(differenceText(differenceOf(plan, plan), {}).find("every operation takes as long as before"),
            std::string::npos);
}
