// Mapping a training step's convolutions onto DRAM and an on-chip memory.
#include "lib/machine/tiling/Mapping.h"
#include <benchmark/benchmark.h>
#include <bit>
#include <cmath>
#include <map>

using namespace accord;
using namespace accord::tile;

namespace {

/// Output channels, input channels, side of the output image, kernel, stride, how often.
struct Convolution {
  int64_t out, in, side, kernel, stride, count;
};

/// ResNet-50: He, Zhang, Ren, Sun (CVPR 2016), table 1; the first 1x1 convolution of a stage and
/// its projection have stride 2.
const std::vector<Convolution> resnet50 = {
    {64, 3, 112, 7, 2, 1},    {64, 64, 56, 1, 1, 1},    {64, 64, 56, 3, 1, 3},    {256, 64, 56, 1, 1, 4},
    {64, 256, 56, 1, 1, 2},   {128, 256, 28, 1, 2, 1},  {128, 128, 28, 3, 1, 4},  {512, 128, 28, 1, 1, 4},
    {512, 256, 28, 1, 2, 1},  {128, 512, 28, 1, 1, 3},  {256, 512, 14, 1, 2, 1},  {256, 256, 14, 3, 1, 6},
    {1024, 256, 14, 1, 1, 6}, {1024, 512, 14, 1, 2, 1}, {256, 1024, 14, 1, 1, 5}, {512, 1024, 7, 1, 2, 1},
    {512, 512, 7, 3, 1, 3},   {2048, 512, 7, 1, 1, 3},  {2048, 1024, 7, 1, 2, 1}, {512, 2048, 7, 1, 1, 2}};

/// 0: forward, 1: gradient of the input, 2: gradient of the weights. Elements of 16 bits.
Nest nestOf(const Convolution &c, int which, int64_t batch) {
  auto parallel = IteratorKind::Parallel;
  using Terms = std::vector<LoopTensor::Term>;
  int64_t side = which == 1 ? c.side * c.stride : c.side, stride = which == 1 ? 1 : c.stride;
  // n, channels of the small and of the large tensor, rows, columns, kernel. The gradient of the
  // input walks over input positions and reads outputs around each.
  std::vector<Loop> domain = {{batch, parallel},   {which == 1 ? c.in : c.out, parallel}, {side, parallel},
                              {side, parallel},    {which == 1 ? c.out : c.in, parallel}, {c.kernel, parallel},
                              {c.kernel, parallel}};
  LoopTensor window{
      {Terms{{0, 1}}, Terms{{4, 1}}, Terms{{2, stride}, {5, 1}}, Terms{{3, stride}, {6, 1}}}, {}, 16, false};
  LoopTensor weight{{Terms{{1, 1}}, Terms{{4, 1}}, Terms{{5, 1}}, Terms{{6, 1}}}, {}, 16, which == 2};
  LoopTensor image{{Terms{{0, 1}}, Terms{{1, 1}}, Terms{{2, 1}}, Terms{{3, 1}}}, {}, 16, which != 2};
  return tile::nestOf(domain, std::vector<LoopTensor>{window, weight, image});
}

struct Matrix {
  double rows = 1, columns = 1, depth = 1;
};

/// The matrix product that a convolution is: rows from one operand, columns from the other.
Matrix matrixOf(const Nest &nest, std::span<const int64_t> extents) {
  Matrix m;
  for (size_t i = 0; i < extents.size(); ++i) {
    unsigned indexes = 0, result = 0;
    for (size_t t = 0; t < nest.tensors.size(); ++t)
      for (const auto &terms : nest.tensors[t].dimensions)
        for (const Term &term : terms)
          if (term.loop == i)
            (nest.tensors[t].written ? result : indexes) |= 1u << t;
    bool first = indexes & (indexes - 1) || std::countr_zero(indexes) == 0;
    (!result ? m.depth : first ? m.rows : m.columns) *= static_cast<double>(extents[i]);
  }
  return m;
}

/// Output-stationary array of 128 x 128 at 940 MHz: K + R + C - 2 cycles a fold.
constexpr double kSide = 128, kFill = 254, kClock = 940e6;

Seconds arrayTime(const Nest &nest, std::span<const int64_t> extents) {
  Matrix m = matrixOf(nest, extents);
  return Seconds(std::ceil(m.rows / kSide) * std::ceil(m.columns / kSide) * (m.depth + kFill) / kClock);
}

/// With tiles of at most `extents`: a fold works on that many rows and columns at most, and each
/// cut of the depth fills again.
Seconds arrayFloor(const Nest &nest, const Matrix &whole, std::span<const int64_t> extents) {
  Matrix max = matrixOf(nest, extents);
  double depths = std::ceil(whole.depth / max.depth);
  return Seconds(std::ceil(whole.rows / std::min(kSide, max.rows)) *
                 std::ceil(whole.columns / std::min(kSide, max.columns)) * (whole.depth + depths * kFill) / kClock);
}

std::vector<Level> memories(double mebibytes) {
  return {{"hbm", Bytes(16e9), BytesPerSecond(900e9), Seconds(1e-7), false, {}},
          {"vmem", Bytes(mebibytes * 1048576), {}, {}, true, {}}};
}

void BM_ResNet50(benchmark::State &state) {
  auto levels = memories(static_cast<double>(state.range(0)));
  bool array = state.range(1);
  int64_t nests = 0, nodes = 0, exact = 0;
  double worst = 0;
  for (auto _ : state) {
    nests = nodes = exact = 0;
    for (const Convolution &c : resnet50)
      for (int which = 0; which < 3; ++which) {
        Nest nest = grouped(nestOf(c, which, 32)).nest;
        std::vector<int64_t> all;
        for (const NestLoop &loop : nest.loops)
          all.push_back(loop.extent);
        SearchLimits limits;
        if (Matrix whole = matrixOf(nest, all); array)
          limits.floor = [&nest, whole](std::span<const int64_t> extents) { return arrayFloor(nest, whole, extents); };
        auto mapping = bestMapping(
            nest, levels,
            [&](std::span<const int64_t> extents) { return array ? arrayTime(nest, extents) : Seconds(0); }, limits);
        if (auto *m = mapping.get()) {
          ++nests;
          nodes += m->nodes;
          exact += m->exact;
          worst = std::max(worst, m->gap);
        }
      }
  }
  state.counters["nests"] = static_cast<double>(nests);
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["exact"] = static_cast<double>(exact);
  state.counters["gap"] = worst;
}
BENCHMARK(BM_ResNet50)->ArgsProduct({{16, 1}, {0, 1}})->Unit(benchmark::kMillisecond);

} // namespace
