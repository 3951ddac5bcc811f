// A latency model, written and read back.
#include "lib/latency/forms/ModelJson.h"
#include "LatencyFixture.h"
#include "lib/latency/forms/Print.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/LatencyCatalogue.h"
#include "gtest/gtest.h"

using namespace accord;

namespace {

TEST(LatencyModelJson, AllFormsArePrintedAgain) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made) << made.error().message;
  auto back = latencyModelFromJson(latencyModelJson(*made), "latency.json");
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(printC(*back), printC(*made));
  EXPECT_EQ(printPython(*back), printPython(*made));
  EXPECT_EQ(printMlir(*back), printMlir(*made));
  EXPECT_EQ(printCsv(*back), printCsv(*made));
  EXPECT_EQ(latencyModelJson(*back), latencyModelJson(*made));
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    std::vector<double> arguments = test::randomArguments(*made, random);
    LatencyEvaluation a = evaluate(*made, arguments), b = evaluate(*back, arguments);
    EXPECT_EQ(a.status, b.status);
    EXPECT_TRUE(a.status != 0 || (a.result.step == b.result.step && a.result.memory == b.result.memory));
  }
}

/// Whatever a field of a node is replaced by: it is refused, or may be printed and evaluated.
TEST(LatencyModelJson, WrongNodesAreRefused) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made) << made.error().message;
  auto parsed = parseJson(latencyModelJson(*made), "latency.json");
  ASSERT_TRUE(bool(parsed));
  const llvm::json::Value others[] = {nullptr, -1, 1 << 20, "add", true, llvm::json::Array{0}, llvm::json::Array{}};
  size_t refused = 0, tried = 0;
  auto attempt = [&](const llvm::json::Value &document) {
    auto read = latencyModelFromJson(jsonLine(document), "latency.json");
    ++tried, refused += !read;
    if (read)
      printC(*read), evaluate(*read, read->initial());
    else
      llvm::consumeError(read.takeError());
  };
  size_t nodes = parsed->getAsObject()->getArray("nodes")->size();
  for (size_t i = 0; i < nodes; i += 1 + nodes / 40)
    for (const char *key : {"kind", "integer", "index", "operands", "coefficients"})
      for (const auto &other : others) {
        llvm::json::Value copy = *parsed;
        (*(*copy.getAsObject()->getArray("nodes"))[i].getAsObject())[key] = other;
        attempt(copy);
      }
  EXPECT_GT(refused, tried / 2);
}

} // namespace
