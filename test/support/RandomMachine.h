// Machines and operations drawn at random: arrays or data sheets, lanes, one to three memories;
// products, convolutions and element-wise work.
#pragma once
#include "lib/machine/model/Machine.h"
#include <cmath>
#include <random>

namespace accord::testing {

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  /// Log-uniform.
  double any(double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(random_));
  }
  bool coin() { return whole(0, 1) == 1; }
  template <typename T> T one(std::initializer_list<T> of) {
    return of.begin()[whole(0, static_cast<int64_t>(of.size()) - 1)];
  }

private:
  std::mt19937 random_;
};

inline Machine randomMachine(Draw &draw) {
  Machine m;
  m.name = "m";
  m.clock = Hertz(draw.any(1e8, 4e9));
  m.host.kernel = Seconds(draw.coin() ? 0 : draw.any(1e-8, 1e-5));
  // Two memories on the chip take most of the time: few of them.
  size_t levels = draw.one<size_t>({1, 1, 2, 2, 2, 2, 2, 3});
  for (size_t i = 0; i < levels; ++i) {
    Memory memory;
    memory.name = "memory" + std::to_string(i);
    memory.kind = i == 0 ? "dram" : draw.one<const char *>({"scratchpad", "cache"});
    memory.capacity = Bytes(std::ceil(i == 0 ? 1e12 : draw.any(2048, 1e8 / static_cast<double>(i))));
    memory.bandwidth = BytesPerSecond(draw.any(1e9, 1e13));
    memory.latency = Seconds(draw.coin() ? 0 : draw.any(1e-9, 1e-6));
    memory.efficiency = draw.coin() ? 1 : draw.any(0.3, 1);
    memory.doubleBuffered = i > 0 && draw.coin();
    m.memories.push_back(memory);
  }
  auto core = [&](const std::string &name, CoreKind kind) {
    Core c;
    c.name = name, c.kind = kind;
    c.count = draw.whole(1, 8);
    c.reads = static_cast<int>(levels) - 1;
    c.efficiency = draw.coin() ? 1 : draw.any(0.2, 1);
    return c;
  };
  for (int64_t i = draw.whole(1, 2); i > 0; --i) {
    Core tensor = core("tc" + std::to_string(i), CoreKind::Tensor);
    if (draw.coin()) {
      tensor.rows = int64_t{1} << draw.whole(0, 7), tensor.cols = int64_t{1} << draw.whole(0, 7);
      tensor.dataflow =
          draw.one<const char *>({"output_stationary", "weight_stationary", "input_stationary", "row_stationary"});
      tensor.overlapFill = draw.coin(), tensor.overlapDrain = draw.coin();
      tensor.perInstanceMapping = draw.coin();
    } else {
      tensor.peak = {{"bf16", FlopsPerSecond(draw.any(1e10, 1e15))}};
      tensor.halfPerformanceWork = Flops(draw.coin() ? 0 : draw.any(1e6, 1e10));
    }
    m.cores.push_back(tensor);
  }
  Core vector = core("vc", CoreKind::Vector);
  vector.lanes = int64_t{1} << draw.whole(0, 10);
  if (draw.coin())
    vector.cyclesOf["gelu"] = draw.any(1, 30);
  m.cores.push_back(vector);
  return m;
}

inline LoopTensor randomTensor(std::vector<std::vector<LoopTensor::Term>> dimensions, bool written = false) {
  LoopTensor t;
  t.dimensions = std::move(dimensions), t.written = written, t.elementBits = 16;
  return t;
}

/// A matrix product, a batch of them, a convolution or element-wise work.
inline Operation randomOperation(Draw &draw) {
  Operation op;
  op.name = "op", op.type = "bf16", op.core = CoreKind::Tensor, op.contraction = true;
  auto loop = [&](int64_t extent, bool reduced = false) {
    op.domain.push_back({extent, reduced ? IteratorKind::Reduction : IteratorKind::Parallel});
    return extent;
  };
  auto extent = [&] { return static_cast<int64_t>(draw.any(1, 3000)); };
  switch (draw.whole(0, 3)) {
  case 0: { // (b), m, n, k
    int64_t b = loop(draw.coin() ? 1 : draw.whole(1, 32)), m = loop(extent()), n = loop(extent()),
            k = loop(extent(), true);
    op.tensors = {randomTensor({{{0}}, {{1}}, {{3}}}), randomTensor({{{0}}, {{3}}, {{2}}}),
                  randomTensor({{{0}}, {{1}}, {{2}}}, true)};
    op.flops = 2 * b * m * n * k;
    op.bytesRead = 2 * b * (m * k + k * n), op.bytesWritten = 2 * b * m * n;
    break;
  }
  case 1: { // image, channel, row, column; channel, window
    int64_t n = loop(draw.whole(1, 16)), c = loop(draw.whole(1, 256)), h = loop(draw.whole(1, 56)),
            w = loop(draw.whole(1, 56)), i = loop(draw.whole(1, 256), true),
            r = loop(draw.one<int64_t>({1, 3, 5}), true), s = loop(draw.one<int64_t>({1, 3}), true);
    int64_t stride = draw.whole(1, 2);
    op.tensors = {randomTensor({{{0}}, {{4}}, {{2, stride}, {5}}, {{3, stride}, {6}}}),
                  randomTensor({{{1}}, {{4}}, {{5}}, {{6}}}), randomTensor({{{0}}, {{1}}, {{2}}, {{3}}}, true)};
    op.flops = 2 * n * c * h * w * i * r * s;
    op.bytesRead = 2 * (n * i * (stride * (h - 1) + r) * (stride * (w - 1) + s) + c * i * r * s);
    op.bytesWritten = 2 * n * c * h * w;
    break;
  }
  default: {
    op.core = CoreKind::Vector, op.contraction = false;
    op.kind = draw.one<const char *>({"gelu", "add", "softmax"});
    int64_t rows = loop(extent()), columns = loop(extent(), op.kind == "softmax");
    op.flops = rows * columns * draw.whole(1, 12);
    op.bytesRead = op.bytesWritten = 2 * rows * columns;
  }
  }
  return op;
}

} // namespace accord::testing
