#include "lib/planning/output/EstimateJson.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/ScheduleOutput.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/DocumentSchema.h"
#include "test/support/EmitFixture.h"
#include "gtest/gtest.h"
#include <limits>
#include <random>
#include <regex>

using namespace accord;
using llvm::StringRef;

namespace {
/// Without ":line:column", which JsonParseTest looks at; it is there.
std::string message(llvm::Expected<Plan> plan) {
  if (plan)
    return "no error";
  std::string text = toString(plan.takeError());
  std::smatch parts;
  EXPECT_TRUE(std::regex_match(text, parts, std::regex("([^:]*):[1-9][0-9]*:[1-9][0-9]*(: .*)"))) << text;
  return parts[1].str() + parts[2].str();
}
} // namespace

TEST(EmitPlanJson, ComesBackBitForBit) {
  Plan plan = test::gptPlan();
  plan.feasible = false;
  plan.conflicts = {{"device.memory <= 1 GiB", "gpt.dnn", 31, "needs 4.6 GiB"}};
  plan.costs.operations[1].time = Seconds(0.1 + 0.2); // no short decimal
  plan.machine.memories[0].latency = Seconds(5e-324);
  plan.machine.memories[0].sector = Bytes(64);
  plan.machine.energyPerFlopOf["int8"] = JoulesPerFlop(0.1e-12);
  plan.machine.area = {826e-6};
  plan.machine.hostBandwidth = BytesPerSecond(32e9);
  plan.graph.operations[2].domain = {{4096, IteratorKind::Parallel}, {768, IteratorKind::Reduction}};
  plan.schedule.step.value = std::numeric_limits<int64_t>::max();
  std::string text = jsonText(toJson(plan));
  auto back = planFromJson(text, "plan.json");
  ASSERT_TRUE(bool(back)) << toString(back.takeError());
  // The text holds every field, so equal text is an equal plan; the fields below are the
  // independent look.
  EXPECT_EQ(jsonText(toJson(*back)), text);
  EXPECT_EQ(back->costs.operations[1].time, plan.costs.operations[1].time);
  EXPECT_EQ(back->machine.memories[0].latency.value, 5e-324);
  EXPECT_EQ(back->machine.memories[0].sector.value, 64);
  EXPECT_EQ(back->machine.energyPerFlopOf.at("int8").value, 0.1e-12);
  EXPECT_EQ(back->machine.area.value, 826e-6);
  EXPECT_EQ(back->machine.hostBandwidth.value, 32e9);
  EXPECT_EQ(back->schedule.step, plan.schedule.step);
  EXPECT_EQ(back->graph.regions.size(), plan.graph.regions.size());
  EXPECT_EQ(back->graph.regions[2].carried[0].yielded, plan.graph.regions[2].carried[0].yielded);
  EXPECT_EQ(back->graph.operations[2].domain[1].kind, IteratorKind::Reduction);
  EXPECT_EQ(back->machine.memories[0].origins.at("bandwidth").source, "NVIDIA A100 data sheet");
  EXPECT_EQ(back->memory.timeline.size(), plan.memory.timeline.size());
  EXPECT_EQ(back->conflicts[0].detail, "needs 4.6 GiB");
  EXPECT_EQ(back->timing.back().latest, plan.timing.back().latest);
  EXPECT_EQ(back->criticalPath, plan.criticalPath);
  EXPECT_FALSE(back->feasible);
}

TEST(EmitPlanJson, ErrorsNameThePlace) {
  std::string good = jsonText(toJson(test::gptPlan()));
  auto with = [&](StringRef from, StringRef to) {
    std::string text = good;
    size_t at = text.find(from.str());
    EXPECT_NE(at, std::string::npos) << from.str();
    return message(planFromJson(text.replace(at, from.size(), to.str()), "plan.json"));
  };
  EXPECT_EQ(with("\"command\": \"compile\"", "\"command\": \"verify\""),
            "plan.json: not a plan: expected 'compile' at plan.command");
  EXPECT_EQ(with("\"schema\": 2", "\"schema\": 9"),
            "plan.json: written by another version of accord: expected 2 at plan.schema");
  EXPECT_EQ(with("\"batch\": 32", "\"batch\": \"x\""), "plan.json: expected integer at plan.batch");
  EXPECT_EQ(with("\"parent\": 0", "\"parent\": 2"), "plan.json: regions form a cycle at plan.graph.regions[2].parent");
  EXPECT_EQ(with("\"phase\": \"forward\"", "\"phase\": \"sideways\""),
            "plan.json: expected phase at plan.graph.operations[0].phase");
  EXPECT_EQ(with("\"reads\": 0", "\"reads\": 7"),
            "plan.json: no memory has this number at plan.machine.cores[0].reads");
  EXPECT_EQ(with("\"instance\": 0", "\"instance\": 3"),
            "plan.json: the core has no such instance at plan.schedule.regions[0].slots[0].instance");
  EXPECT_NE(message(planFromJson("", "p")).find("p: this is no JSON"), std::string::npos);
  EXPECT_NE(message(planFromJson("[]", "p")).find("expected object"), std::string::npos);
  EXPECT_NE(message(planFromJson(std::string(1000000, '['), "p")).find("nested deeper"), std::string::npos);
}

TEST(EmitPlanJson, NumbersAtTheEndsOfTheirTypes) {
  std::string good = jsonText(toJson(test::gptPlan()));
  auto batch = [&](const char *number) {
    std::string text = good, from = "\"batch\": 32";
    return message(
        planFromJson(text.replace(text.find(from), from.size(), std::string("\"batch\": ") + number), "plan.json"));
  };
  EXPECT_EQ(batch("9.223372036854775808e18"), "plan.json: expected integer at plan.batch");
  EXPECT_EQ(batch("9223372036854775808"), "plan.json: expected integer at plan.batch");
  EXPECT_EQ(batch("1e999"), "plan.json: the number '1e999' is too large; the largest is 1.8e308");
  EXPECT_EQ(batch("9223372036854775807"), "no error");
  EXPECT_EQ(jsonLine(llvm::json::Value(0x1p63)), "9223372036854775808");
}

TEST(EmitPlanJson, SurvivesDamage) {
  // Whatever a byte turns into, the reader answers with a plan or an error; sanitizers watch the
  // rest.
  std::string good = jsonLine(toJson(test::gptPlan({1, 16, 2, 2, 8, 2, 32})));
  std::mt19937 random(3);
  unsigned refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = good;
    for (int k = 0; k < 2; ++k) {
      size_t at = random() % text.size();
      if (random() % 2)
        text[at] = static_cast<char>(random());
      else
        text.erase(at, random() % 40);
    }
    auto plan = planFromJson(text, "p");
    if (plan)
      toJson(*plan);
    else
      llvm::consumeError(plan.takeError()), ++refused;
  }
  EXPECT_GT(refused, 100u);
}

TEST(EmitPlanJson, GapIsAShare) {
  Plan plan;
  plan.objectiveValue = 90, plan.objectiveBound = 100;
  EXPECT_DOUBLE_EQ(gapOf(plan), 0.1);
  plan.objective = "step_time", plan.objectiveValue = 100, plan.objectiveBound = 90;
  EXPECT_DOUBLE_EQ(gapOf(plan), 0.1);
  plan.objectiveBound = 0;
  EXPECT_EQ(gapOf(plan), 1);
}

TEST(EmitPlanJson, SchemasDescribeTheDocuments) {
  Plan plan = test::gptPlan();
  accord::testing::expectDescribed(toJson(plan), planSchema());
  accord::testing::expectDescribed(toEstimateJson(plan.graph, plan.machine, plan.costs,
                                                  sumEstimate(plan.graph, plan.costs),
                                                  ClusterShare{"pod", 8, 2, 2, 4, 1}),
                                   estimateSchema());
  accord::testing::expectDescribed(scheduleJson(plan), scheduleSchema());
  plan.feasible = false;
  plan.conflicts = {{"device.memory <= 1 GiB", "gpt.dnn", 31, "needs 4.6 GiB"}};
  accord::testing::expectDescribed(scheduleJson(plan), scheduleSchema());
}

TEST(EmitJsonText, NumbersAndOrder) {
  EXPECT_EQ(jsonLine(llvm::json::Object{{"zeta", 0.1}, {"version", "1"}, {"command", "x"}, {"alpha", 312e12}}),
            R"({"command":"x","version":"1","alpha":312000000000000,"zeta":0.1})");
  EXPECT_EQ(jsonLine(jsonCount(Count(1) << 64)), "18446744073709551616");
  EXPECT_EQ(jsonLine(jsonCount((Count(1) << 64) - 1)), "18446744073709551615");
  EXPECT_EQ(jsonLine(jsonCount((Count(1) << 53) + 1)), "9007199254740993");
  EXPECT_EQ(jsonLine(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(jsonLine(jsonString("a\xff\"\n\x01")), "\"a\xef\xbf\xbd\\\"\\n\\u0001\"");
}

TEST(EmitEstimateJson, TotalsAreSumsTimesCounts) {
  Plan plan = test::gptPlan();
  EstimateTotals totals = sumEstimate(plan.graph, plan.costs);
  // 6 FLOP per parameter of a linear and token, forward and backward, plus attention and the
  // element-wise rest (Kaplan et al. 2020, appendix B; attention 12 * layers * hidden * sequence
  // per token).
  double tokens = 32 * 1024, matrices = 12 * 12 * 768.0 * 768 + 50304.0 * 768;
  double model = tokens * (6 * matrices + 12 * 12 * 768.0 * 1024);
  EXPECT_GT(static_cast<double>(totals.flops), model);
  EXPECT_LT(static_cast<double>(totals.flops), 1.05 * model);
  EXPECT_EQ(totals.memoryBytes, 18 * Count(plan.graph.parameters));
}
