#include "LatencyFixture.h"
#include "lib/latency/forms/Jit.h"
#include "gtest/gtest.h"
#include <chrono>

using namespace accord;

namespace {
bool sameBits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::unique_ptr<LatencyJit> compiled(const LatencyModel &model, LatencyJitOptions options = {}) {
  auto jit = LatencyJit::compile(model, options);
  if (!jit) {
    ADD_FAILURE() << jit.error().message;
    return nullptr;
  }
  return std::move(*jit);
}
} // namespace

TEST(LatencyJit, AgreesToTheLastBit) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made) << made.error().message;
  const auto &model = *made;
  auto jit = compiled(model);
  ASSERT_TRUE(jit);
  std::mt19937_64 random(1);
  constexpr size_t kCount = 2003; // no multiple of any vector
  std::vector<std::vector<double>> all;
  for (size_t i = 0; i < kCount; ++i)
    all.push_back(test::randomArguments(model, random));
  std::vector<LatencyEvaluation> batch =
      jit->evaluate(kCount, [&](size_t i, size_t argument) { return all[i][argument]; });
  size_t refused = 0;
  for (size_t i = 0; i < kCount; ++i) {
    LatencyEvaluation expected = evaluate(model, all[i]), one = jit->evaluate(all[i]);
    for (const LatencyEvaluation &found : {one, batch[i]}) {
      EXPECT_EQ(found.status, expected.status) << i;
      EXPECT_TRUE(sameBits(found.result.step, expected.result.step)) << i;
      EXPECT_TRUE(sameBits(found.result.memory, expected.result.memory)) << i;
      EXPECT_TRUE(sameBits(found.result.flops, expected.result.flops)) << i;
    }
    refused += expected.status != 0;
  }
  EXPECT_GT(refused, kCount / 20);
  EXPECT_LT(refused, kCount / 2);
}

TEST(LatencyJit, LeavesOutWhatDoesNotVary) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made);
  const auto &model = *made;
  LatencyJitOptions options;
  options.varying = {"sequence", "microbatch"};
  options.single = false;
  auto jit = compiled(model, options);
  ASSERT_TRUE(jit);
  EXPECT_EQ(jit->varying(), (std::vector<size_t>{kMicrobatch, kSequence}));
  std::vector<int64_t> microbatch = {1, 2, 3, 4, 5, 6, 7, 8, 32, 33}, sequence(10, 777);
  std::vector<LatencyEvaluation> found = jit->evaluate(
      10, [&](size_t i, size_t argument) { return argument == kMicrobatch ? microbatch[i] : sequence[i]; });
  for (size_t i = 0; i < 10; ++i) {
    LatencyEvaluation expected = evaluate(model, 32, microbatch[i], 777);
    EXPECT_EQ(found[i].status, expected.status);
    EXPECT_TRUE(sameBits(found[i].result.step, expected.result.step)) << i;
  }
  EXPECT_NE(found[9].status, 0); // the batch is 32
  std::vector<double> step(8), memory(8), flops(8);
  std::vector<LatencyStatus> status(8, -1);
  jit->evaluateBlocks(1, {microbatch.data(), sequence.data()}, step.data(), memory.data(), flops.data(), status.data());
  for (size_t i = 0; i < 8; ++i)
    EXPECT_TRUE(status[i] == found[i].status && sameBits(step[i], found[i].result.step)) << i;
}

TEST(LatencyJit, NamesUnknownArguments) {
  auto made = test::gptLatencyModel();
  ASSERT_TRUE(made);
  LatencyJitOptions options;
  options.varying = {"voltage"};
  auto jit = LatencyJit::compile(*made, options);
  ASSERT_TRUE(!jit);
  EXPECT_NE(jit.error().message.find("'voltage'"), std::string::npos);
}
