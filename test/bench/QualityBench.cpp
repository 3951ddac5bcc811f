// Choices of zeros, products with zeros, and bounds of votes.
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/ensembles/verify/Vote.h"
#include "lib/sparsity/cost/Cycles.h"
#include "lib/sparsity/solve/Select.h"
#include "lib/sparsity/verify/Selection.h"
#include <benchmark/benchmark.h>
#include <random>

using namespace accord;

namespace {

/// ResNet-18's 21 layers, each with `options` ways: the faster, the more is lost.
SelectionProblem layers(unsigned options) {
  std::mt19937_64 random(7);
  auto upTo = [&](int64_t max) { return static_cast<int64_t>(random() % static_cast<uint64_t>(max)); };
  SelectionProblem problem;
  int64_t losses = 0;
  for (unsigned layer = 0; layer < 21; ++layer) {
    SelectionOperation operation{"layer " + std::to_string(layer), 0, {}};
    int64_t time = 1'000'000 + upTo(10'000'000), loss = 0;
    for (unsigned option = 0; option < options; ++option) {
      operation.options.push_back({std::to_string(option), time, time, time, loss, option > 0});
      time -= upTo(time / 4), loss += upTo(2'000'000'000);
    }
    losses += loss;
    problem.operations.push_back(std::move(operation));
  }
  problem.lossBudget = losses / 3;
  return problem;
}

void BM_SelectLayers(benchmark::State &state) {
  const SelectionProblem problem = layers(static_cast<unsigned>(state.range(0)));
  for (auto _ : state)
    if (SelectionResult result = select(problem); !result.proven())
      state.SkipWithError("not proven");
}
BENCHMARK(BM_SelectLayers)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

void BM_VerifySelection(benchmark::State &state) {
  const SelectionProblem problem = layers(8);
  const SelectionResult result = select(problem);
  for (auto _ : state)
    if (!verify(problem, result).holds())
      state.SkipWithError("does not hold");
}
BENCHMARK(BM_VerifySelection)->Unit(benchmark::kMillisecond);

/// Nine different members; all sets of at most `size` of them have a rate.
ErrorStatistics nine(size_t size) {
  ErrorStatistics statistics;
  for (int64_t i = 0; i < 9; ++i)
    statistics.memberErrors.push_back({Rational(80 + i) / Rational(1000), 0});
  for (uint64_t set = 1; set < 512; ++set) {
    std::vector<unsigned> members;
    for (unsigned i = 0; i < 9; ++i)
      if (set >> i & 1)
        members.push_back(i);
    if (members.size() < 2 || members.size() > size)
      continue;
    // A fifth of the first one's errors is wrong all at once, the rest is independent.
    const Rational shared = statistics.memberErrors[0].rate / Rational(5);
    Rational rest = 1;
    for (unsigned i : members)
      rest = rest * (statistics.memberErrors[i].rate - shared);
    statistics.jointErrors[members] = {shared + rest, 0};
  }
  return statistics;
}

void BM_NineVoters(benchmark::State &state) {
  const ErrorStatistics statistics = nine(static_cast<size_t>(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(strongest(statistics, {}).value());
}
BENCHMARK(BM_NineVoters)->Arg(2)->Arg(3)->Unit(benchmark::kMillisecond);

void BM_VerifyNineVoters(benchmark::State &state) {
  const VoteCertificate certificate = strongest(nine(2), {}).strongest().certificate;
  for (auto _ : state)
    if (!verify(certificate).holds())
      state.SkipWithError("does not hold");
}
BENCHMARK(BM_VerifyNineVoters)->Unit(benchmark::kMillisecond);

/// A 3 x 3 layer of ResNet-50, both operands skipped in tiles, sixteen lanes in lock-step.
void inLanes(benchmark::State &state, const SparsityPattern &weights) {
  SparseProduct product;
  product.rows = 802'816, product.columns = 64, product.depth = 576;
  product.stationary = weights;
  product.streaming.kind = SparsityPattern::Kind::Unstructured;
  product.streaming.density = 0.4;
  product.stationaryFormat.kind = product.streamingFormat.kind = SparseFormat::Kind::Bitmask;
  SparseCore core;
  core.stationary = core.streaming = {SparseAcceleration::Mode::Skip, true, 0, 0, 1};
  core.tile = state.range(0), core.slots = 4, core.lanes = 16;
  for (auto _ : state)
    benchmark::DoNotOptimize(productCycles(product, core, {1024, 0, 0, 0}, 0.95));
}

void BM_ProductInLanes(benchmark::State &state) {
  SparsityPattern weights;
  weights.kind = SparsityPattern::Kind::Unstructured, weights.density = 0.4;
  inLanes(state, weights);
}
BENCHMARK(BM_ProductInLanes)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

/// Tiles cut groups: cycles of groups that are drawn.
void BM_ProductInLanesSampled(benchmark::State &state) {
  SparsityPattern weights;
  weights.kind = SparsityPattern::Kind::Structured, weights.kept = 3, weights.of = 7;
  inLanes(state, weights);
}
BENCHMARK(BM_ProductInLanesSampled)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

} // namespace
