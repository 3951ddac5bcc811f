// The latency model of GPT-2 XL on an A100: making it, compiling it, asking it.
#include "lib/latency/forms/Jit.h"
#include "lib/latency/forms/Print.h"
#include "test/support/LatencyCluster.h"
#include <algorithm>
#include <benchmark/benchmark.h>

using namespace accord;

namespace {

const LatencyModel &gpt2() {
  static const LatencyModel model = [] {
    std::string error;
    auto made = test::catalogueLatencyModel("gpt2.dnn", "gpt2_xl", "a100_80g", 32, 4, error);
    if (!made)
      std::fprintf(stderr, "%s\n", error.c_str());
    return made ? std::move(*made) : LatencyModel();
  }();
  return model;
}

std::unique_ptr<LatencyJit> compiled(benchmark::State &state, const LatencyJitOptions &options) {
  auto jit = LatencyJit::compile(gpt2(), options);
  if (!jit) {
    state.SkipWithError(jit.error().message.c_str());
    return nullptr;
  }
  return std::move(*jit);
}

const std::vector<std::string> kSizes = {"batch", "microbatch", "sequence"};

} // namespace

static void BM_LatencyFit(benchmark::State &state) {
  std::string error;
  for (auto _ : state)
    benchmark::DoNotOptimize(test::catalogueLatencyModel("gpt2.dnn", "gpt2_xl", "a100_80g", 32, 4, error));
}
BENCHMARK(BM_LatencyFit)->Unit(benchmark::kMillisecond);

static void BM_LatencyInterpreted(benchmark::State &state) {
  const LatencyModel &model = gpt2();
  for (auto _ : state)
    benchmark::DoNotOptimize(evaluate(model, 32, 4, 1024));
  state.SetItemsProcessed(state.iterations());
  state.counters["nodes"] = double(model.nodes.needed(model.roots()).size());
}
BENCHMARK(BM_LatencyInterpreted)->Unit(benchmark::kMicrosecond);

/// Optimization level, batch function or scalar one.
static void BM_LatencyCompile(benchmark::State &state) {
  LatencyJitOptions options;
  options.optimize = static_cast<unsigned>(state.range(0));
  options.batches = state.range(1), options.single = !options.batches;
  for (auto _ : state)
    if (!compiled(state, options))
      return;
}
BENCHMARK(BM_LatencyCompile)->ArgsProduct({{1, 2, 3}, {0, 1}})->Unit(benchmark::kMillisecond);

static void BM_LatencyScalar(benchmark::State &state) {
  LatencyJitOptions options;
  options.batches = false;
  auto jit = compiled(state, options);
  if (!jit)
    return;
  std::vector<double> at = gpt2().initial();
  for (auto _ : state) {
    at[kMicrobatch] = at[kMicrobatch] < 32 ? at[kMicrobatch] + 1 : 1;
    benchmark::DoNotOptimize(jit->evaluate(at));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_LatencyScalar)->Unit(benchmark::kMicrosecond);

/// 0: sizes vary; 1: the machine does, too.
static void BM_LatencyBatch(benchmark::State &state) {
  LatencyJitOptions options;
  options.single = false;
  if (!state.range(0))
    options.varying = kSizes;
  auto jit = compiled(state, options);
  if (!jit)
    return;
  constexpr size_t kCount = 1 << 16;
  std::vector<double> initial = gpt2().initial();
  std::vector<std::vector<int64_t>> integers(initial.size());
  std::vector<std::vector<double>> reals(initial.size());
  std::vector<const void *> columns;
  for (size_t index : jit->varying()) {
    const LatencyArgument &a = gpt2().arguments()[index];
    for (size_t i = 0; i < kCount; ++i) {
      integers[index].push_back(index == kBatch        ? 64 + int64_t(i % 512)
                                : index == kMicrobatch ? 1 + int64_t(i % 64)
                                                       : int64_t(a.max) / 2 + int64_t(i % 128));
      reals[index].push_back(a.initial * (0.5 + double(i) / kCount));
    }
    columns.push_back(a.integer ? static_cast<const void *>(integers[index].data()) : reals[index].data());
  }
  std::vector<double> step(kCount), memory(kCount), flops(kCount);
  std::vector<LatencyStatus> status(kCount);
  for (auto _ : state)
    jit->evaluateBlocks(kCount / LatencyJit::kLanes, columns, step.data(), memory.data(), flops.data(), status.data());
  if (status[0] != 0)
    return state.SkipWithError("the configurations are refused");
  state.SetItemsProcessed(state.iterations() * int64_t(kCount));
}
BENCHMARK(BM_LatencyBatch)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// Degrees, batch and micro-batch vary: GPT-2 XL's 12 pairs of degrees on 12 devices.
static void BM_LatencyDegrees(benchmark::State &state) {
  static test::ClusterCase gpt("gpt2.dnn", "gpt2_xl", 32);
  static auto made = gpt.model({1, 2, 4}, {1, 2, 3, 4, 6, 12}, 4);
  if (!made)
    return state.SkipWithError(made.error().message.c_str());
  const auto &model = *made;
  LatencyJitOptions options;
  options.single = false;
  options.varying = {"batch", "microbatch", "tensor_parallel", "data_parallel"};
  auto compiled = LatencyJit::compile(model, options);
  if (!compiled)
    return state.SkipWithError(compiled.error().message.c_str());
  constexpr size_t kCount = 1 << 14;
  std::vector<std::vector<int64_t>> values(4);
  for (size_t i = 0; i < kCount; ++i) {
    values[0].push_back(48 + 12 * int64_t(i % 512)), values[1].push_back(1 + int64_t(i % 4));
    values[2].push_back(int64_t(1) << i % 3), values[3].push_back(1 + int64_t(i % 3));
  }
  std::vector<const void *> columns;
  for (const auto &column : values)
    columns.push_back(column.data());
  std::vector<double> step(kCount), memory(kCount), flops(kCount);
  std::vector<LatencyStatus> status(kCount);
  for (auto _ : state)
    (*compiled)->evaluateBlocks(kCount / LatencyJit::kLanes, columns, step.data(), memory.data(), flops.data(),
                                status.data());
  if (std::count(status.begin(), status.end(), 0) != int64_t(kCount))
    return state.SkipWithError("configurations are refused");
  state.SetItemsProcessed(state.iterations() * int64_t(kCount));
  state.counters["nodes"] = double(model.nodes.needed(model.roots()).size());
}
BENCHMARK(BM_LatencyDegrees)->Unit(benchmark::kMillisecond);

static void BM_LatencyPrint(benchmark::State &state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(printC(gpt2()));
    benchmark::DoNotOptimize(printPython(gpt2()));
    benchmark::DoNotOptimize(printMlir(gpt2()));
    benchmark::DoNotOptimize(printCsv(gpt2()));
  }
}
BENCHMARK(BM_LatencyPrint)->Unit(benchmark::kMillisecond);
