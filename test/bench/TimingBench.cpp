// Timing graphs: all of a large one, and what each operation gains.
#include "lib/planning/analysis/TimingGraph.h"
#include "test/support/Random.h"
#include <benchmark/benchmark.h>

using namespace accord;

namespace {

using Edge = TimingGraph::Edge;
struct Input {
  std::vector<int64_t> durations;
  std::vector<Edge> edges;
};
enum Shape : int64_t { Layered, Transformer, Chain };

/// Layers of 1000, two edges from the layer before into each operation.
Input layered(uint32_t operations, fuzz::Random &random) {
  Input in;
  for (uint32_t i = 0; i < operations; ++i) {
    in.durations.push_back(1 + static_cast<int64_t>(random.below(1000)));
    for (int edge = 0; edge < 2 && i >= 1000; ++edge)
      in.edges.push_back({(i / 1000 - 1) * 1000 + static_cast<uint32_t>(random.below(1000)), i, 0});
  }
  return in;
}

/// Blocks of ten operations with two residuals; for each the gradient, which takes what the
/// operation kept, for most one of weights beside the chain, and its update.
Input transformer(uint32_t operations, fuzz::Random &random) {
  Input in;
  auto add = [&](std::initializer_list<uint32_t> after, size_t min) {
    auto id = static_cast<uint32_t>(in.durations.size());
    for (uint32_t before : after)
      in.edges.push_back({before, id, 0});
    in.durations.push_back(static_cast<int64_t>(min + random.below(min)));
    return id;
  };
  std::vector<uint32_t> kept, weights;
  uint32_t x = add({}, 100);
  for (uint32_t layer = 0; layer < operations / 36; ++layer) {
    uint32_t norm = add({x}, 20), q = add({norm}, 200), k = add({norm}, 200), v = add({norm}, 200);
    uint32_t scores = add({q, k}, 100), mixed = add({scores, v}, 100), out = add({mixed}, 200);
    uint32_t sum = add({x, out}, 20), inner = add({sum}, 800);
    x = add({inner, sum}, 800);
    kept.insert(kept.end(), {norm, q, k, v, scores, mixed, out, sum, inner, x});
  }
  uint32_t gradient = add({x}, 50);
  for (size_t i = kept.size(); i-- > 0;) {
    if (i % 10 != 4 && i % 10 != 7)
      weights.push_back(add({gradient, kept[i]}, 300));
    gradient = add({gradient, kept[i]}, 300);
  }
  for (uint32_t weight : weights)
    add({weight}, 30);
  return in;
}

Input chain(uint32_t operations, fuzz::Random &random) {
  Input in;
  for (uint32_t i = 0; i < operations; ++i) {
    in.durations.push_back(1 + static_cast<int64_t>(random.below(1000)));
    if (i)
      in.edges.push_back({i - 1, i, 0});
  }
  return in;
}

Input make(int64_t shape, uint32_t operations) {
  fuzz::Random random(1);
  return shape == Layered       ? layered(operations, random)
         : shape == Transformer ? transformer(operations, random)
                                : chain(operations, random);
}

void BM_TimeAll(benchmark::State &state) {
  Input in = make(state.range(0), static_cast<uint32_t>(state.range(1)));
  for (auto _ : state)
    benchmark::DoNotOptimize(TimingGraph::of(in.durations, in.edges));
}
BENCHMARK(BM_TimeAll)->ArgsProduct({{Layered, Transformer, Chain}, {100000, 1000000}})->Unit(benchmark::kMillisecond);

void BM_GainOfEach(benchmark::State &state) {
  Input in = make(state.range(0), 1000000);
  TimingGraph graph = *TimingGraph::of(in.durations, in.edges);
  for (auto _ : state)
    benchmark::DoNotOptimize(graph.avoiding());
}
BENCHMARK(BM_GainOfEach)->Arg(Layered)->Arg(Transformer)->Arg(Chain)->Unit(benchmark::kMillisecond);

} // namespace
