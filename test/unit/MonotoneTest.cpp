// More of anything never makes an operation slower: 10,000 random machines and operations, every
// number of the machine doubled in turn. And no traffic is below the compulsory bytes.
#include "lib/cost/Estimate.h"
#include <cmath>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace accord {
namespace {

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int64_t whole(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
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

Machine randomMachine(Draw &draw) {
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
    memory.capacity =
        Bytes(std::ceil(i == 0 ? 1e12 : draw.any(2048, 1e8 / static_cast<double>(i))));
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
      tensor.dataflow = draw.one<const char *>(
          {"output_stationary", "weight_stationary", "input_stationary", "row_stationary"});
      tensor.overlapFill = draw.coin(), tensor.overlapDrain = draw.coin();
      tensor.oneEach = draw.coin();
    } else {
      tensor.peak = {{"bf16", FlopsPerSecond(draw.any(1e10, 1e15))}};
      tensor.halfWork = Flops(draw.coin() ? 0 : draw.any(1e6, 1e10));
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

LoopTensor tensor(std::vector<std::vector<LoopTensor::Term>> dimensions, bool written = false) {
  LoopTensor t;
  t.dimensions = std::move(dimensions), t.written = written, t.elementBits = 16;
  return t;
}

/// A matrix product, a batch of them, a convolution or element-wise work.
Operation randomOperation(Draw &draw) {
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
    op.tensors = {tensor({{{0}}, {{1}}, {{3}}}), tensor({{{0}}, {{3}}, {{2}}}),
                  tensor({{{0}}, {{1}}, {{2}}}, true)};
    op.flops = 2 * b * m * n * k;
    op.bytesRead = 2 * b * (m * k + k * n), op.bytesWritten = 2 * b * m * n;
    break;
  }
  case 1: { // image, channel, row, column; channel, window
    int64_t n = loop(draw.whole(1, 16)), c = loop(draw.whole(1, 256)), h = loop(draw.whole(1, 56)),
            w = loop(draw.whole(1, 56)), i = loop(draw.whole(1, 256), true),
            r = loop(draw.one<int64_t>({1, 3, 5}), true), s = loop(draw.one<int64_t>({1, 3}), true);
    int64_t stride = draw.whole(1, 2);
    op.tensors = {tensor({{{0}}, {{4}}, {{2, stride}, {5}}, {{3, stride}, {6}}}),
                  tensor({{{1}}, {{4}}, {{5}}, {{6}}}), tensor({{{0}}, {{1}}, {{2}}, {{3}}}, true)};
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

std::variant<Costs, std::vector<Issue>> price(const Operation &op, const Machine &m) {
  WorkGraph g;
  g.regions.resize(2);
  g.operations = {op};
  g.regions[0].operations = {0};
  return estimate(g, m);
}

/// Every number of the machine of which there can be more, doubled.
std::vector<std::pair<std::string, std::function<void(Machine &)>>> doublings(const Machine &m) {
  std::vector<std::pair<std::string, std::function<void(Machine &)>>> all;
  all.emplace_back("clock", [](Machine &more) {
    more.clock = more.clock * 2;
    for (Core &core : more.cores) // of a data sheet: its peak is at the clock
      for (auto &[type, peak] : core.peak)
        peak = peak * 2;
  });
  for (size_t i = 0; i < m.memories.size(); ++i) {
    all.emplace_back("bandwidth " + m.memories[i].name, [i](Machine &more) {
      more.memories[i].bandwidth = more.memories[i].bandwidth * 2;
    });
    all.emplace_back("capacity " + m.memories[i].name, [i](Machine &more) {
      more.memories[i].capacity = more.memories[i].capacity * 2;
    });
  }
  for (size_t i = 0; i < m.cores.size(); ++i)
    all.emplace_back("count " + m.cores[i].name, [i](Machine &more) { more.cores[i].count *= 2; });
  return all;
}

TEST(Monotone, MoreOfAnythingIsNeverSlower) {
  Draw draw(7);
  int priced = 0, inexact = 0, all = 0;
  for (int i = 0; i < 10000; ++i) {
    Machine m = randomMachine(draw);
    Operation op = randomOperation(draw);
    auto before = price(op, m);
    auto *costs = std::get_if<Costs>(&before);
    if (!costs)
      continue; // a memory that holds no tile is refused
    ++priced;
    const OperationCost &cost = costs->operations[0];
    for (size_t l = 0; l < cost.bytes.size(); ++l)
      ASSERT_GE(cost.bytes[l].value,
                static_cast<double>(op.bytesRead + op.bytesWritten) * (1 - 1e-12))
          << i << ": " << m.memories[l].name << ": " << cost.formula;
    for (const auto &[what, change] : doublings(m)) {
      ++all;
      Machine more = m;
      change(more);
      auto after = price(op, more);
      ASSERT_TRUE(std::holds_alternative<Costs>(after)) << i << " " << what;
      const OperationCost &now = std::get<Costs>(after).operations[0];
      // One memory on the chip is always searched to the end.
      inexact += now.gap > 0;
      if (m.memories.size() < 3)
        ASSERT_EQ(now.gap, 0) << i << ": twice the " << what;
      // What is not proven best is no slower either.
      ASSERT_LE(now.time.value, cost.time.value * (1 + 1e-12))
          << i << ": twice the " << what << "\n"
          << cost.formula << "\n"
          << now.formula;
    }
  }
  EXPECT_GT(priced, 8000);
  EXPECT_LT(inexact, all / 150);
  std::printf("%d of %d answers are not proven best\n", inexact, all);
}

} // namespace
} // namespace accord
