// mine.json, written and read back.
#include "lib/exploration/output/MiningFolder.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/MiningFixture.h"
#include "gtest/gtest.h"
#include <limits>

using namespace accord;

namespace {

std::optional<MiningPlan> readBack(const std::string &text) {
  auto plan = miningFromJson(text, "mine.json");
  if (plan)
    return std::move(*plan);
  llvm::consumeError(plan.takeError());
  return std::nullopt;
}

TEST(MiningJson, WrittenAndReadBack) {
  MiningPlan plan = test::minedPlan();
  plan.certificate = {{"certificate/mining.json", std::string(64, 'a')}};
  for (bool several : {true, false}) {
    if (!several)
      plan.aggregation = "", plan.metric = "energy * step_time", plan.unit = "J*s", plan.own.clear();
    auto back = readBack(jsonText(toJson(plan)));
    ASSERT_TRUE(back);
    EXPECT_EQ(jsonText(toJson(*back)), jsonText(toJson(plan)));
    EXPECT_EQ(convergenceCsv(*back), convergenceCsv(plan));
    EXPECT_EQ(comparisonCsv(*back), comparisonCsv(plan));
    EXPECT_EQ(toReport(*back), toReport(plan));
    EXPECT_EQ(back->best.result.best, plan.best.result.best);
    EXPECT_EQ(back->front->front.points[1].design, plan.front->front.points[1].design);
  }
}

TEST(MiningJson, WithoutADesign) {
  MiningPlan none;
  none.space = "chips", none.size = "48", none.metric = "step_time", none.version = "0";
  none.best.result.value = none.best.result.bound = std::numeric_limits<double>::infinity();
  none.conflicts.push_back({"'area <= 1 mm2'", "chips.accel", 3, ""});
  auto back = readBack(jsonText(toJson(none)));
  ASSERT_TRUE(back);
  EXPECT_EQ(jsonText(toJson(*back)), jsonText(toJson(none)));
  EXPECT_FALSE(back->best.result.best);
}

/// Whatever is replaced by something else: refused, or what was read is printed just so.
TEST(MiningJson, MutatedDocuments) {
  llvm::json::Value document = toJson(test::minedPlan());
  const llvm::json::Value others[] = {nullptr, -1, 1e300, "x", true, llvm::json::Array{}, llvm::json::Object{}};
  unsigned refused = 0, tried = 0;
  for (const auto &[key, value] : *document.getAsObject())
    for (const auto &other : others) {
      llvm::json::Value copy = document;
      (*copy.getAsObject())[key] = other;
      ++tried;
      refused += !readBack(jsonText(copy));
    }
  EXPECT_GT(refused, tried / 2);
}

} // namespace
