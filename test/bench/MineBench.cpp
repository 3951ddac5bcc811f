// What a design is worth: bounds of a step and steps, a second, each of another machine.
#include "lib/exploration/steps/StepWork.h"
#include <benchmark/benchmark.h>

using namespace accord;

namespace {

/// A layer of 34 operations: 12 products, each followed by element-wise work, as attention and two
/// linear layers make them with their gradients.
WorkGraph layer() {
  WorkGraph graph;
  graph.model = "layer";
  graph.regions.resize(2);
  auto value = [&] {
    graph.values.push_back({"v", 64});
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  auto tensor = [](unsigned a, unsigned b, bool written) {
    LoopTensor made;
    made.dimensions = {{{a}}, {{b}}};
    made.elementBits = 16, made.written = written;
    return made;
  };
  ValueId last = value(), before = last;
  for (int i = 0; i < 34; ++i) {
    Operation op;
    op.name = "op" + std::to_string(i);
    op.type = "bf16";
    int64_t m = 4096, n = i % 4 == 0 ? 4096 : 1024, k = i % 5 == 0 ? 1024 : 4096;
    if (i % 3 == 0) {
      op.kind = "linear", op.core = CoreKind::Tensor, op.contraction = true;
      op.domain = {{m}, {n}, {k, IteratorKind::Reduction}};
      op.tensors = {tensor(0, 2, false), tensor(2, 1, false), tensor(0, 1, true)};
      op.flops = 2 * m * n * k;
      op.bytesRead = 2 * (m * k + k * n), op.bytesWritten = 2 * m * n;
    } else {
      op.kind = i % 3 == 1 ? "add" : "softmax", op.core = CoreKind::Vector;
      op.domain = {{m}, {n, i % 3 == 1 ? IteratorKind::Parallel : IteratorKind::Reduction}};
      op.flops = m * n * (i % 7 + 1);
      op.bytesRead = op.bytesWritten = 2 * m * n;
    }
    op.operands = {i % 6 == 5 ? before : last};
    op.results = {value()};
    before = last, last = op.results[0];
    graph.regions[0].operations.push_back(static_cast<OperationId>(graph.operations.size()));
    graph.operations.push_back(std::move(op));
  }
  return graph;
}

/// Arrays, lanes and a buffer of sizes that follow from a number.
Machine design(uint64_t point) {
  auto power = [&](unsigned min, unsigned choices) {
    int64_t chosen = int64_t{1} << (min + point % choices);
    point /= choices;
    return chosen;
  };
  Machine m;
  m.name = "design", m.clock = Hertz(1.05e9);
  m.memories.resize(2);
  m.memories[0].name = "hbm", m.memories[0].kind = "dram";
  m.memories[0].capacity = Bytes(8e10), m.memories[0].bandwidth = BytesPerSecond(9e11);
  m.memories[1].name = "glb", m.memories[1].kind = "scratchpad";
  m.memories[1].doubleBuffered = true;
  m.memories[1].bandwidth = BytesPerSecond(4096 * 1.05e9);
  m.memories[1].capacity = Bytes(static_cast<double>(power(21, 7)));
  m.cores.resize(2);
  m.cores[0].name = "tc", m.cores[0].reads = 1, m.cores[0].dataflow = "weight_stationary";
  m.cores[0].count = power(0, 8), m.cores[0].rows = power(4, 5), m.cores[0].cols = power(4, 5);
  m.cores[1].name = "vc", m.cores[1].kind = CoreKind::Vector, m.cores[1].reads = 1;
  m.cores[1].count = power(0, 8), m.cores[1].lanes = m.cores[0].cols;
  return m;
}
constexpr uint64_t kDesigns = 7 * 8 * 5 * 5 * 8;

void bounds(benchmark::State &state) {
  StepWork work(layer());
  std::vector<Machine> machines;
  for (uint64_t i = 0; i < 4096; ++i)
    machines.push_back(design(i * 7919 % kDesigns));
  size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(work.bound(machines[i++ % machines.size()], state.range(0) > 0));
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(state.range(0) > 0 ? "of one design" : "of a box");
}

void values(benchmark::State &state) {
  StepWork work(layer());
  uint64_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(work.value(design(i++ * 7919 % kDesigns)));
  state.SetItemsProcessed(state.iterations());
}

} // namespace

BENCHMARK(bounds)->Arg(0)->Arg(1);
BENCHMARK(values)->Unit(benchmark::kMillisecond);
