// Closed forms of arrays and lanes: estimates a second, with other extents each time.
#include "lib/machine/array/Systolic.h"
#include "lib/machine/array/VectorCycles.h"
#include <array>
#include <benchmark/benchmark.h>

using namespace accord;

static std::array<Gemm, 256> products() {
  std::array<Gemm, 256> made;
  uint64_t x = 7;
  auto next = [&](int64_t max) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    return 1 + static_cast<int64_t>((x >> 33) % static_cast<uint64_t>(max));
  };
  for (Gemm &gemm : made)
    gemm = {next(64), next(8192), next(8192), next(8192)};
  return made;
}

static void BM_SystolicCost(benchmark::State &state) {
  auto gemms = products();
  size_t i = 0;
  SystolicArray array{128, 128, 4};
  array.cutStream = state.range(1) > 0;
  auto flow = static_cast<Dataflow>(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(systolicCost(gemms[i++ % gemms.size()], flow, array));
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(std::string(name(flow)) + (array.cutStream ? ", streams cut" : ""));
}
BENCHMARK(BM_SystolicCost)->ArgsProduct({{0, 1, 2, 3}, {0, 1}});

static void BM_RowStationaryConvolution(benchmark::State &state) {
  auto gemms = products();
  size_t i = 0;
  for (auto _ : state) {
    const Gemm &g = gemms[i++ % gemms.size()];
    Convolution conv{1, g.batch, g.n, g.k, 3, 3, 1 + g.m % 56, 56, 1, 1, 1, 1};
    benchmark::DoNotOptimize(rowStationaryCost(conv, {12, 14}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RowStationaryConvolution);

static void BM_RowCycles(benchmark::State &state) {
  auto gemms = products();
  size_t i = 0;
  for (auto _ : state) {
    const Gemm &g = gemms[i++ % gemms.size()];
    benchmark::DoNotOptimize(rowCycles({g.m, g.n, 5, 2}, {128, 2}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RowCycles);

static void BM_GemmOf(benchmark::State &state) { // a convolution
  constexpr auto sum = IteratorKind::Reduction;
  std::vector<Loop> domain = {{4}, {64}, {28}, {28}, {16, sum}, {3, sum}, {3, sum}};
  std::vector<LoopTensor> tensors(3);
  tensors[0].dimensions = {{{0}}, {{4}}, {{2}, {5}}, {{3}, {6}}};
  tensors[1].dimensions = {{{1}}, {{4}}, {{5}}, {{6}}};
  tensors[2].dimensions = {{{0}}, {{1}}, {{2}}, {{3}}};
  tensors[2].written = true;
  for (auto _ : state)
    benchmark::DoNotOptimize(gemmOf(domain, tensors));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_GemmOf);
