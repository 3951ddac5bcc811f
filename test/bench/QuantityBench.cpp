// Exact numbers: reading units and computing with them, which every literal of a file goes through.
#include "lib/support/Quantity.h"
#include <benchmark/benchmark.h>

using namespace accord;

static void BM_ParseQuantity(benchmark::State &state) {
  for (auto _ : state)
    for (const char *text : {"940 MHz", "16 GiB", "3.9 pJ/bit", "4096 B/cycle"})
      benchmark::DoNotOptimize(parseQuantity(text));
  state.SetItemsProcessed(state.iterations() * 4);
}
BENCHMARK(BM_ParseQuantity);

static void BM_RationalSum(benchmark::State &state) {
  Rational step = *Rational::parse("0.1");
  for (auto _ : state) {
    Rational sum;
    for (int i = 0; i < 1000; ++i)
      sum = sum + step / Rational(3);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(BM_RationalSum);
