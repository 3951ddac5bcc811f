// A small training whose operations are of every class that a calibration prices, at any micro-batch and sequence, and
// what it takes by arithmetic of its own.
#pragma once
#include "lib/machine/calibration/Parameters.h"
#include "test/support/RandomGraph.h"
#include <cmath>

namespace accord::testing {

constexpr int64_t kWidth = 512, kVocabulary = 3000, kHeads = 4, kBlocks = 3;

/// A device of 200 TFLOP/s in bf16, 20 TFLOP/s in fp32 and 1 TB/s, with parameters that nothing else has.
inline Machine calibratedMachine() {
  Machine machine;
  machine.name = "calibrated";
  Memory memory;
  memory.name = "hbm", memory.kind = "dram";
  memory.capacity = Bytes(80e9), memory.bandwidth = BytesPerSecond(1e12);
  machine.memories.push_back(memory);
  Core tensor, vector;
  tensor.name = "tc", tensor.kind = CoreKind::Tensor, tensor.count = 100, tensor.reads = 0;
  tensor.peak = {{"bf16", FlopsPerSecond(2e12)}};
  vector.name = "sm", vector.kind = CoreKind::Vector, vector.count = 100, vector.reads = 0;
  vector.peak = {{"fp32", FlopsPerSecond(2e11)}};
  machine.cores = {tensor, vector};
  calibrate::Parameters p = calibrate::priorOf(machine);
  using calibrate::Parameter;
  for (auto [which, value] : {std::pair(Parameter::ProductEfficiency, 0.75),
                              {Parameter::Fp32Efficiency, 0.6},
                              {Parameter::ProductDepth, 70.0},
                              {Parameter::ProductWave, 9e5},
                              {Parameter::AttentionEfficiency, 0.4},
                              {Parameter::AttentionDepth, 33.0},
                              {Parameter::MemoryEfficiency, 0.8},
                              {Parameter::SoftmaxEfficiency, 0.65},
                              {Parameter::LookupEfficiency, 0.45},
                              {Parameter::LossPasses, 2.5},
                              {Parameter::KernelLaunchOverhead, 4e-6},
                              {Parameter::Launch, 3e-5},
                              {Parameter::UpdatePasses, 1.7},
                              {Parameter::HostOverheadPerMicrobatch, 2e-3},
                              {Parameter::HostOverheadPerStep, 3e-2}})
    p[which] = value;
  machine.fitted = calibrate::toCalibratedValues("measured by hand", p);
  return machine;
}

/// Two equal lookups, three blocks of a product, attention scores and a softmax, a loss over a vocabulary, the table's
/// gradient, a product whose batch is the micro-batch; an update of weights and one of rows.
inline WorkGraph calibratedGraph(int64_t microbatch, int64_t microbatches, int64_t sequence) {
  GraphBuilder b;
  b.graph.microbatch = microbatch, b.graph.microbatches = microbatches;
  int64_t tokens = microbatch * sequence, rows = tokens * kWidth;
  auto named = [&](OperationId id, const char *name, const char *kind, const char *type, int64_t read,
                   int64_t written) -> Operation & {
    Operation &op = b.graph.operations[id];
    op.name = name, op.kind = kind, op.type = type, op.bytesRead = read, op.bytesWritten = written;
    return op;
  };
  auto add = [&](RegionId region, ValueId from, const char *name, const char *kind, int64_t flops, int64_t read,
                 int64_t written) {
    ValueId to = b.value(region, 2 * rows);
    named(b.operation(region, {from}, {to}, CoreKind::Vector, flops), name, kind, "fp32", read, written);
    return to;
  };
  // (count) times m x k by k x n, in 16 or 32 bits.
  auto product = [&](RegionId region, ValueId from, const char *name, const char *type, std::array<int64_t, 4> x) {
    auto [count, m, n, k] = x;
    int64_t size = std::string(type) == "fp32" ? 4 : 2;
    ValueId to = b.value(region, 2 * rows);
    Operation &op = named(b.operation(region, {from}, {to}, CoreKind::Tensor, 2 * count * m * n * k), name, "contract",
                          type, size * count * (m * k + k * n), size * count * m * n);
    op.domain = {{count, IteratorKind::Parallel},
                 {m, IteratorKind::Parallel},
                 {n, IteratorKind::Parallel},
                 {k, IteratorKind::Reduction}};
    auto tensor = [&](unsigned i, unsigned j, bool written) {
      LoopTensor t;
      t.dimensions = {{{0}}, {{i}}, {{j}}};
      t.elementBits = 8 * size, t.written = written;
      return t;
    };
    op.tensors = {tensor(1, 3, false), tensor(3, 2, false), tensor(1, 2, true)};
    return to;
  };
  ValueId words = b.value(0, 4 * tokens, Category::Inputs);
  ValueId first = add(0, words, "words", "embedding", 0, 2 * rows + 4 * tokens, 2 * rows);
  add(0, words, "segments", "embedding", 0, 2 * rows + 4 * tokens, 2 * rows);
  OperationId block = b.repeat(0, kBlocks);
  ValueId at = b.carry(block, first);
  at = product(2, at, "fc", "bf16", {1, tokens, 4 * kWidth, kWidth});
  at = product(2, at, "scores", "bf16", {microbatch * kHeads, sequence, sequence, kWidth / kHeads});
  int64_t scores = microbatch * kHeads * sequence * sequence;
  at = add(2, at, "softmax", "softmax", 5 * scores, 2 * scores, 2 * scores);
  at = add(2, at, "gelu", "gelu", 8 * rows, 2 * rows, 2 * rows);
  ValueId last = b.yield(block, 0, at);
  last = product(0, last, "pool", "fp32", {microbatch, 1, kWidth, sequence});
  ValueId loss = add(0, last, "loss", "cross_entropy", 4 * tokens * kVocabulary, 2 * tokens * kVocabulary, 4 * tokens);
  ValueId gradient = b.value(0, 0, Category::Gradients);
  OperationId table = b.operation(0, {loss}, {gradient}, CoreKind::Vector, rows);
  b.graph.operations[table].phase = Phase::WeightGradient;
  named(table, "words.gradient", "embedding_grad", "fp32", 2 * rows + 4 * tokens, 4 * kVocabulary * kWidth);
  int64_t weights = 4 * kWidth * kWidth;
  named(b.operation(1, {b.value(1, 0, Category::Weights)}, {b.value(1, 0, Category::Weights)}, CoreKind::Vector,
                    20 * weights),
        "fc.update", "adam", "fp32", 16 * weights, 14 * weights);
  named(b.operation(1, {b.value(1, 0, Category::Weights)}, {b.value(1, 0, Category::Weights)}, CoreKind::Vector,
                    2 * kVocabulary),
        "segments.update", "update_rows", "fp32", 8 * kVocabulary, 4 * kVocabulary);
  b.graph.staticTensors = {{"w", Category::Weights, 4 * weights}};
  return b.graph;
}

/// Whole picoseconds of a step of calibratedGraph on calibratedMachine, one kernel after the other, by the formulas of
/// lib/machine/calibration/WorkTime.h with the numbers of the machine put in by hand. `bandwidth` and `rate`: times
/// that of the machine, of the memory and of the 16-bit products.
inline int64_t calibratedStep(int64_t microbatch, int64_t microbatches, int64_t sequence, double bandwidth = 1,
                              double rate = 1) {
  double B = static_cast<double>(microbatch), S = static_cast<double>(sequence), tokens = B * S, rows = tokens * 512;
  double memory = 1e12 * bandwidth, kernel = 4e-6, launch = 3e-5;
  // Of the 16-bit peak; arithmetic of a tenth of it is filled sooner by the root of that.
  auto product = [&](double count, double m, double n, double k, double bytes, double peak, double efficiency,
                     double depth, double slower) {
    double wave = 1 + slower * 9e5 / std::max(count * m * n * (1 + k / 8192), 1.0), deep = 1 + slower * depth / k;
    return std::max(2 * count * m * n * k * wave * deep / (peak * efficiency), bytes / (memory * 0.8)) + kernel;
  };
  double lookup = ((4 * rows + 4 * tokens) * 2 / (memory * 0.45) + kernel) / 2; // of two that are one kernel
  double fc = product(1, tokens, 2048, 512, 2 * (tokens * 512 + 512 * 2048 + tokens * 2048), 2e14 * rate, 0.75, 70, 1);
  double scores = product(B * 4, S, S, 128, 2 * B * 4 * (S * 128 + 128 * S + S * S), 2e14 * rate, 0.4, 33, 1);
  double softmax = 4 * B * 4 * S * S / (memory * 0.65) + kernel, gelu = 4 * rows / (memory * 0.8) + kernel;
  double root = std::sqrt(2e13 / 2e14), poolBytes = 4 * B * (S + S * 512 + 512);
  double pool = B > 1 ? product(B, 1, 512, S, poolBytes, 2e13, 0.4, 33, root)
                      : product(1, 1, 512, S, poolBytes, 2e13, 0.6, 70, root);
  double loss = (2 * tokens * 3000 + 4 * tokens) * 2.5 / (memory * 0.8) + kernel;
  double read = 2 * rows + 4 * tokens, table = (read + 2 * std::min(read, 4.0 * 3000 * 512)) / (memory * 0.45) + kernel;
  double device = 2 * lookup + 3 * (fc + scores + softmax + gelu) + pool + loss + table;
  double host = launch * (1 + 3 * 4 + 3); // both lookups are one kernel
  double waits = std::max(1.0, host / device);
  auto whole = [](double seconds) { return std::llround(std::ceil(seconds * 1e12 * (1 - 1e-15))); };
  int64_t micro = 2 * whole(lookup * waits) +
                  3 * (whole(fc * waits) + whole(scores * waits) + whole(softmax * waits) + whole(gelu * waits)) +
                  whole(pool * waits) + whole(loss * waits) + whole(table * waits);
  double weights = 4 * 512 * 512;
  int64_t update = whole(30 * weights * 1.7 / (memory * 0.8)) + whole(12 * 3000 / (memory * 0.45));
  // Its blocks attend: the host's own costs count in full.
  return microbatches * (micro + whole(2e-3)) + update + whole(3e-2);
}

} // namespace accord::testing
