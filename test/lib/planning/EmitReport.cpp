#include "lib/planning/output/Report.h"
#include "lib/planning/output/Trace.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/EmitFixture.h"
#include "gtest/gtest.h"

using namespace accord;
using llvm::StringRef;

TEST(EmitReport, EscapesWhatWouldEndTheScript) {
  EXPECT_EQ(escapeForScript("\"</script>\xe2\x80\xa8&\xe2\x80\xa9 \xe2\x80\x93\""),
            "\"\\u003c/script\\u003e\\u2028\\u0026\\u2029 \xe2\x80\x93\"");
}

TEST(EmitReport, DataReadsBackFromThePage) {
  Plan plan = test::gptPlan();
  plan.graph.model = "</script><!--accord:data-->";
  plan.whatIf = {{"hbm x 2", Seconds(1), 3, 4, true, "compute"}};
  std::string page = toReport(plan);
  EXPECT_EQ(page.find("<!--accord:"), std::string::npos);
  EXPECT_EQ(page.find("http://www.w3.org/2000/svg"),
            page.find("http:")); // the SVG name space is no address
  EXPECT_EQ(page.find("https:"), std::string::npos);
  StringRef mark = "<script type=\"application/json\" id=\"data\">";
  size_t from = page.find(mark.str()) + mark.size(), to = page.find("</script>", from);
  auto data = llvm::json::parse(page.substr(from, to - from));
  ASSERT_TRUE(bool(data));
  EXPECT_EQ(data->getAsObject()->getString("model"), "</script><!--accord:data-->");
  EXPECT_EQ(data->getAsObject()->getArray("whatIf")->size(), 1u);
}

TEST(EmitReport, EmptyPlanIsStillAPage) {
  EXPECT_NE(toReport(Plan()).find("</html>"), std::string::npos);
  EXPECT_NE(jsonText(toTrace(Plan())).find("traceEvents"), std::string::npos);
}

TEST(EmitTrace, IsBoundedHoweverDeepTheModel) {
  Plan plan = test::gptPlan({1, 16, 1, 1, 8, 2, 32});
  size_t one = toTrace(plan).getAsObject()->getArray("traceEvents")->size();
  plan.graph.regions[2].count = plan.graph.regions[3].count = 1000000;
  plan.graph.microbatches = 1000;
  size_t many = toTrace(plan).getAsObject()->getArray("traceEvents")->size();
  EXPECT_LT(many, 6 * one);
  TraceLimits small;
  small.slices = 50;
  EXPECT_LT(toTrace(plan, small).getAsObject()->getArray("traceEvents")->size(),
            50 + 100 + plan.memory.timeline.size());
}

TEST(EmitTrace, BusyTimeIsTheSchedulesOwn) {
  // Two layers and two micro-batches: nothing is summarized, so every execution has its slice.
  Plan plan = test::gptPlan({1, 64, 2, 2});
  llvm::json::Value trace = toTrace(plan);
  double busy = 0, expected = 0;
  for (const llvm::json::Value &event : *trace.getAsObject()->getArray("traceEvents"))
    if (event.getAsObject()->getString("ph") == "X" && event.getAsObject()->getInteger("pid") == 1)
      busy += *event.getAsObject()->getNumber("dur");
  for (const RegionSchedule &region : plan.schedule.regions)
    for (const Slot &slot : region.slots)
      if (slot.core >= 0)
        expected += static_cast<double>(slot.duration.value) * 1e-6 *
                    static_cast<double>(plan.graph.executions(slot.operation));
  EXPECT_NEAR(busy / expected, 1, 1e-9);
}
