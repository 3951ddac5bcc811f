// A whole training step priced on a machine of systolic arrays, with the search for tiles.
#include "lib/machine/cost/Estimate.h"
#include "test/support/CatalogueWork.h"
#include <benchmark/benchmark.h>

using namespace accord;

namespace {

void step(benchmark::State &state, const char *file, const char *model, const char *target, int64_t microbatch) {
  auto found = test::ofCatalogue(file, model, target, microbatch);
  if (!found)
    return state.SkipWithError("the network cannot be priced");
  const auto &[graph, machine] = *found;
  size_t mapped = 0, exact = 0;
  for (auto _ : state) {
    auto costs = estimate(graph, machine);
    if (!costs)
      return state.SkipWithError("no costs");
    mapped = exact = 0;
    for (const OperationCost &cost : costs->operations) {
      mapped += !cost.tiles.empty();
      exact += !cost.tiles.empty() && cost.gap == 0;
    }
  }
  state.counters["operations"] = static_cast<double>(graph.operations.size());
  state.counters["mapped"] = static_cast<double>(mapped);
  state.counters["exact"] = static_cast<double>(exact);
}

} // namespace

BENCHMARK_CAPTURE(step, ResNet50OnArrays, "resnet.dnn", "resnet50", "tpu_like", 32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, BertLargeOnArrays, "bert.dnn", "bert_large", "tpu_like", 16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, Gpt3OnDataSheet, "gpt3.dnn", "gpt3", "a100_80g", 1)->Unit(benchmark::kMillisecond);
