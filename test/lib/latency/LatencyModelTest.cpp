#include "lib/latency/build/LatencyModelFit.h"
#include "lib/latency/forms/Print.h"
#include "lib/planning/solve/SingleDevice.h"
#include "test/support/EmitFixture.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace accord;

namespace {
struct Fitted {
  Plan plan = test::gptPlan();
  std::vector<test::Costed> costed;
  std::vector<LatencySample> samples;
  Fitted() {
    std::vector<std::pair<int64_t, int64_t>> points;
    for (int64_t B : {1, 2, 4})
      for (int64_t S : {128, 256, 512, 1024})
        points.push_back({B, S});
    for (auto [B, S] : points)
      costed.push_back(test::gptCosts({B, S}));
    for (size_t i = 0; i < points.size(); ++i)
      samples.push_back({points[i].first, points[i].second, &costed[i].graph, &costed[i].costs});
  }
  std::string error;
  std::optional<LatencyModel> fit() {
    LatencyFitOptions options;
    options.sequence = 1024, options.minSequence = 1, options.maxSequence = 8192;
    options.memoryOf = test::memoryOf;
    auto fitted = fitLatencyModel(plan, samples, options);
    if (!fitted) {
      error = fitted.error().message;
      return std::nullopt;
    }
    return std::move(*fitted);
  }
};

LatencyResult resultOf(const LatencyModel &model, int64_t batch, int64_t B, int64_t S) {
  LatencyEvaluation at = evaluate(model, batch, B, S);
  EXPECT_EQ(at.status, 0) << batch << " " << B << " " << S;
  return at.result;
}
} // namespace

TEST(LatencyModel, IsTheScheduleWherePlanned) {
  Fitted f;
  auto input = f.fit();
  ASSERT_TRUE(input) << f.error;
  EXPECT_TRUE(input->exact);
  EXPECT_DOUBLE_EQ(resultOf(*input, f.plan.batch, 4, 1024).step, f.plan.schedule.step.seconds().value);
}

TEST(LatencyModel, PredictsOtherSizesOfTheSameOrder) {
  Fitted f;
  auto input = f.fit();
  ASSERT_TRUE(input) << f.error;
  // Sizes that no sample had; the fixture's scheduler keeps program order, as the model does.
  for (auto [B, S] : {std::pair(3, 384), {6, 2048}, {8, 64}}) {
    Plan other = test::gptPlan({B, S});
    LatencyResult got = resultOf(*input, other.batch, B, S);
    EXPECT_NEAR(got.step / other.schedule.step.seconds().value, 1, 1e-9) << B << " " << S;
    Count flops = 0;
    for (OperationId id = 0; id < other.graph.operations.size(); ++id)
      flops += other.graph.executions(id) * other.graph.operations[id].flops;
    EXPECT_NEAR(got.flops / static_cast<double>(flops), 1, 1e-12);
    EXPECT_EQ(got.memory, static_cast<double>(test::memoryOf(other.graph).peak));
  }
}

TEST(LatencyModel, GeneratedCAgrees) {
  Fitted f;
  auto input = f.fit();
  ASSERT_TRUE(input) << f.error;
  std::string folder = testing::TempDir() + "accord-latency-model";
  ASSERT_EQ(std::system(("mkdir -p '" + folder + "'").c_str()), 0);
  std::ofstream(folder + "/latency_model.h") << printC(*input);
  std::ofstream main(folder + "/main.c");
  main << "#include \"latency_model.h\"\n#include <stdio.h>\nint main(void) {\n";
  std::vector<LatencyResult> expected;
  for (int64_t B : {1, 2, 3, 4, 7, 16})
    for (int64_t S : {1, 64, 1000, 1024, 8192}) {
      for (const char *what : {"step_time_s", "memory_bytes", "flops"})
        main << "  printf(\"%.17g \", gpt_small_" << what << "_at(48, " << B << ", " << S << "));\n";
      expected.push_back(resultOf(*input, 48, B, S));
    }
  main << "  printf(\"%.17g \", gpt_small_step_time_s(32, 1024));\n";
  main << "  printf(\"%.17g \", gpt_small_step_time_scaled_s(32, 4, 1024, 2.0, 1.0));\n";
  main << "  printf(\"%.17g\\n\", gpt_small_step_time_scaled_s(32, 4, 1024, 2.0, 2.0));\n  return 0;\n}\n";
  main.close();
  std::string build = "cc -std=c99 -O1 -Wall -Wextra -Werror -pedantic -o '" + folder + "/run' '" + folder + "/main.c'";
  ASSERT_EQ(std::system(build.c_str()), 0);
  FILE *pipe = popen(("'" + folder + "/run'").c_str(), "r");
  ASSERT_TRUE(pipe);
  auto next = [&] {
    double value = -1;
    EXPECT_EQ(std::fscanf(pipe, "%lf", &value), 1);
    return value;
  };
  for (const LatencyResult &e : expected) {
    EXPECT_DOUBLE_EQ(next(), e.step);
    EXPECT_DOUBLE_EQ(next(), e.memory);
    EXPECT_DOUBLE_EQ(next(), e.flops);
  }
  double step = f.plan.schedule.step.seconds().value;
  EXPECT_DOUBLE_EQ(next(), step);
  double faster = next();
  EXPECT_LT(faster, step);
  EXPECT_GT(faster, step / 2);
  EXPECT_NEAR(next() / step, 0.5,
              1e-6); // twice of everything: half the time, but for whole picoseconds
  pclose(pipe);
}

TEST(LatencyModel, NamesWhatIsNoPolynomial) {
  Fitted f;
  f.costed[5].graph.operations[3].flops += 1;
  auto input = f.fit();
  ASSERT_FALSE(input);
  std::string text = f.error;
  EXPECT_NE(text.find("operation '" + f.plan.graph.operations[3].name + "'"), std::string::npos) << text;
  EXPECT_NE(text.find("polynomial"), std::string::npos) << text;
}

TEST(LatencyModel, FollowsTheTilesOfAnArray) {
  // Weight-stationary array of 128 x 128: utilization from the extents of the product (lib/cost, model "array").
  Fitted f;
  Core &tc = f.plan.machine.cores[0];
  tc.rows = tc.cols = 128;
  auto reprice = [&](const WorkGraph &g, Costs &costs) {
    for (OperationId id = 0; id < g.operations.size(); ++id) {
      const Operation &op = g.operations[id];
      if (op.name != "block.fc1")
        continue;
      double k = 768 + 0.0, n = 3072 + 0.0;
      (void)n;
      OperationCost &c = costs.operations[id];
      c.model = "array";
      double columns = static_cast<double>(op.domain[1].extent);
      double used = k * columns / (std::ceil(k / 128) * 128 * std::ceil(columns / 128) * 128);
      c.compute = Seconds(static_cast<double>(op.flops) / (312e12 * used));
      c.time = std::max(c.compute, c.transfer[0]);
    }
  };
  auto domain = [](WorkGraph &g, int64_t B, int64_t S) {
    for (Operation &op : g.operations)
      if (op.name == "block.fc1")
        op.domain = {{B * 3072, IteratorKind::Parallel}, {S, IteratorKind::Parallel}, {768, IteratorKind::Reduction}};
  };
  for (size_t i = 0; i < f.costed.size(); ++i) {
    domain(f.costed[i].graph, f.samples[i].microbatch, f.samples[i].sequence);
    reprice(f.costed[i].graph, f.costed[i].costs);
  }
  domain(f.plan.graph, 4, 1024);
  reprice(f.plan.graph, f.plan.costs);
  f.costed.push_back(test::gptCosts({2, 100})); // partial tiles
  domain(f.costed.back().graph, 2, 100);
  reprice(f.costed.back().graph, f.costed.back().costs);
  f.samples.clear();
  size_t i = 0;
  for (int64_t B : {1, 2, 4})
    for (int64_t S : {128, 256, 512, 1024})
      f.samples.push_back({B, S, &f.costed[i].graph, &f.costed[i].costs}), ++i;
  f.samples.push_back({2, 100, &f.costed[i].graph, &f.costed[i].costs});
  auto input = f.fit();
  ASSERT_TRUE(input) << f.error;
  // 97 to 128 tokens fill the same tiles of 128 rows, so their product takes the same time.
  EXPECT_NE(printPython(*input).find("// 128"), std::string::npos);
}

TEST(LatencyModel, ReproducesAccordsOwnPlanner) {
  // The real cost models, scheduler and liveness: at the plan's sizes the model is the plan.
  SingleDeviceRequest request;
  request.job = "gpt", request.batch = 32;
  auto planAt = [&](int64_t B, int64_t S) {
    auto planned = planFor(test::gptCosts({B, S}).graph, test::gptPlan().machine, request);
    if (!planned) {
      ADD_FAILURE() << planned.error().front().message;
      return Plan();
    }
    return std::move(*planned);
  };
  Plan plan = planAt(4, 1024);
  ASSERT_FALSE(plan.graph.operations.empty());
  std::vector<Plan> others;
  for (int64_t B : {1, 2, 3})
    for (int64_t S : {512, 1024, 2048, 3072})
      others.push_back(planAt(B, S));
  std::vector<LatencySample> samples;
  for (size_t i = 0; i < others.size(); ++i)
    samples.push_back({others[i].graph.microbatch, std::array<int64_t, 4>{512, 1024, 2048, 3072}[i % 4],
                       &others[i].graph, &others[i].costs});
  LatencyFitOptions options;
  options.sequence = 1024;
  auto fitted = fitLatencyModel(plan, samples, options);
  ASSERT_TRUE(fitted) << fitted.error().message;
  auto *input = &*fitted;
  LatencyResult got = resultOf(*input, 32, 4, 1024);
  EXPECT_TRUE(input->exact);
  EXPECT_NEAR(got.step / plan.schedule.step.seconds().value, 1, 1e-9);
  EXPECT_EQ(got.memory, static_cast<double>(plan.memory.peak));
  EXPECT_FALSE(printMlir(*input).empty());
}
