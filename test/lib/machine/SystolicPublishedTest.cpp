// Systolic arrays against counts that SCALE-Sim v3 gives, its formulas on published layer lists,
// and properties.
#include "lib/machine/array/SaturatingArithmetic.h"
#include "lib/machine/array/Systolic.h"
#include "test/support/Random.h"
#include "test/support/SharedData.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace accord;

namespace {

constexpr Dataflow kFlows[] = {Dataflow::OutputStationary, Dataflow::WeightStationary, Dataflow::InputStationary,
                               Dataflow::RowStationary};

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What the classes systolic_compute_os, _ws and _is of SCALE-Sim v3 make of one product: rows of
/// the demand matrices (cycles), ifmap and filter requests, filled cells of the ofmap demand, mean
/// mapping efficiency.
struct Printed {
  int64_t cycles, lhs, rhs, writes;
  double mapping;
};
struct PrintedCase {
  Gemm gemm;
  int64_t rows, cols;
  Printed of[3];
};
const PrintedCase kPrinted[] = {
    {{1, 1, 1, 1}, 1, 1, {{1, 1, 1, 1, 1.0}, {2, 1, 1, 1, 1.0}, {2, 1, 1, 1, 1.0}}},
    {{1, 1, 1, 1}, 8, 8, {{15, 1, 1, 1, 0.015625}, {23, 1, 1, 1, 0.015625}, {23, 1, 1, 1, 0.015625}}},
    {{1, 5, 7, 3}, 4, 4, {{36, 30, 42, 35, 0.546875}, {30, 30, 21, 35, 0.65625}, {34, 15, 42, 35, 0.46875}}},
    {{1, 64, 64, 64},
     32,
     32,
     {{504, 8192, 8192, 4096, 1.0}, {632, 8192, 4096, 8192, 1.0}, {632, 4096, 8192, 8192, 1.0}}},
    {{1, 33, 31, 65},
     16,
     8,
     {{1044, 8580, 6045, 1023, 0.666015625},
      {1420, 8580, 2015, 5115, 0.787109375},
      {1725, 2145, 10075, 5115, 0.6703125}}},
    {{1, 100, 10, 20},
     8,
     16,
     {{546, 2000, 2600, 1000, 0.600961538}, {390, 2000, 200, 3000, 0.520833333}, {840, 2000, 1400, 3000, 0.744047619}}},
    {{1, 17, 129, 40},
     32,
     4,
     {{2442, 22440, 5160, 2193, 0.519176136},
      {5478, 22440, 5160, 4386, 0.610795455},
      {1950, 680, 25800, 4386, 0.53125}}},
    {{1, 2, 3, 200}, 1, 5, {{408, 400, 1200, 6, 0.6}, {1400, 400, 600, 1200, 0.6}, {1600, 400, 600, 1200, 0.4}}},
    {{1, 49, 64, 27},
     12,
     14,
     {{1275, 6615, 8640, 3136, 0.746666667}, {1275, 6615, 1728, 9408, 0.685714286}, {1200, 1323, 6912, 9408, 0.65625}}},
    {{1, 196, 32, 9},
     32,
     32,
     {{497, 1764, 2016, 6272, 0.875}, {290, 1764, 288, 6272, 0.28125}, {882, 1764, 2016, 6272, 0.24609375}}},
    {{1, 32, 100, 64},
     24,
     7,
     {{2790, 30720, 12800, 3200, 0.634920635},
      {3825, 30720, 6400, 9600, 0.846560847},
      {2295, 2048, 32000, 9600, 0.812698413}}},
    {{1, 128, 48, 96},
     16,
     64,
     {{1392, 12288, 36864, 6144, 0.75}, {1332, 12288, 4608, 36864, 0.75}, {1704, 12288, 9216, 36864, 1.0}}},
};

struct Layer {
  std::string name;
  std::vector<int64_t> v; ///< M, N, K, or input height and width, filter height and width, channels, filters, stride
};

/// The layer lists beside this checkout or in $ACCORD_DATA; none if they are not there.
std::vector<std::filesystem::path> layerLists() {
  std::vector<std::filesystem::path> lists;
  if (std::filesystem::path folder = accord::testing::sharedData("scalesim"); !folder.empty())
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".csv")
        lists.push_back(entry.path());
  std::sort(lists.begin(), lists.end());
  return lists;
}

std::vector<Layer> read(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line); // header
  std::vector<Layer> layers;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string field;
    Layer layer;
    std::getline(fields, layer.name, ',');
    while (std::getline(fields, field, ','))
      if (field.find_first_of("0123456789") != std::string::npos)
        layer.v.push_back(std::stoll(field));
    if (layer.v.size() == 3 || layer.v.size() == 7)
      layers.push_back(layer);
  }
  return layers;
}

using Terms = std::vector<std::vector<LoopTensor::Term>>;
LoopTensor tensor(Terms dimensions, bool written = false) { return {std::move(dimensions), {}, 16, written}; }
constexpr auto kSum = IteratorKind::Reduction;

} // namespace

TEST(SystolicPublished, EqualsWhatScaleSimCounts) {
  for (const PrintedCase &one : kPrinted)
    for (int flow = 0; flow < 3; ++flow) {
      SystolicCost cost = *systolicCost(one.gemm, kFlows[flow], {one.rows, one.cols});
      const Printed &printed = one.of[flow];
      EXPECT_EQ(int64_t(cost.cycles), printed.cycles);
      EXPECT_EQ(int64_t(cost.lhsReads), printed.lhs);
      EXPECT_EQ(int64_t(cost.rhsReads), printed.rhs);
      EXPECT_EQ(int64_t(cost.resultWrites), printed.writes);
      EXPECT_NEAR(cost.mappingEfficiency, printed.mapping, 1e-9);
    }
}

TEST(SystolicPublished, LayerListsForwardAndGradients) {
  auto lists = layerLists();
  if (lists.empty())
    GTEST_SKIP() << "not there: 0 layer lists";
  size_t layers = 0;
  for (const auto &path : lists)
    for (const Layer &layer : read(path)) {
      ++layers;
      SCOPED_TRACE(path.filename().string() + " " + layer.name);
      // The products of a layer, typed here as the lists of gradients that SCALE-Sim ships have
      // them.
      std::vector<Loop> domain;
      Terms lhs, rhs, result;
      int64_t m, n, k; // forward
      if (layer.v.size() == 3) {
        m = layer.v[0], n = layer.v[1], k = layer.v[2];
        domain = {{m}, {n}, {k, kSum}};
        lhs = {{{0}}, {{2}}}, rhs = {{{2}}, {{1}}}, result = {{{0}}, {{1}}};
      } else {
        int64_t h = layer.v[0], w = layer.v[1], fh = layer.v[2], fw = layer.v[3], c = layer.v[4], f = layer.v[5],
                s = layer.v[6];
        int64_t oh = up(h - fh, s) + 1, ow = up(w - fw, s) + 1;
        m = oh * ow, n = f, k = c * fh * fw;
        domain = {{oh}, {ow}, {f}, {c, kSum}, {fh, kSum}, {fw, kSum}};
        lhs = {{{3}}, {{0, s}, {4}}, {{1, s}, {5}}};
        rhs = {{{2}}, {{3}}, {{4}}, {{5}}};
        result = {{{2}}, {{0}}, {{1}}};
      }
      auto gemm = [&](Terms a, Terms b, Terms c) {
        return gemmOf(domain, {tensor(a), tensor(b), tensor(c, true)}).value();
      };
      EXPECT_EQ(gemm(lhs, rhs, result), (Gemm{1, m, n, k}));
      EXPECT_EQ(gemm(result, rhs, lhs), (Gemm{1, m, k, n})); // of the input
      EXPECT_EQ(gemm(lhs, result, rhs), (Gemm{1, k, n, m})); // of the weight
      for (Gemm g : {Gemm{1, m, n, k}, Gemm{1, m, k, n}, Gemm{1, k, n, m}})
        for (auto [r, c] : {std::pair<int64_t, int64_t>(32, 32), {128, 128}, {8, 256}, {1, 1}}) {
          SystolicArray a{r, c};
          int64_t os = up(g.m, r) * up(g.n, c) * (g.k + r + c - 2),
                  ws = up(g.k, r) * up(g.n, c) * (2 * r + c + g.m - 2),
                  is = up(g.k, r) * up(g.m, c) * (2 * r + c + g.n - 2);
          EXPECT_EQ(int64_t(systolicCost(g, kFlows[0], a)->cycles), os);
          EXPECT_EQ(int64_t(systolicCost(g, kFlows[1], a)->cycles), ws);
          EXPECT_EQ(int64_t(systolicCost(g, kFlows[2], a)->cycles), is);
        }
    }
  std::printf("%zu layers of %zu lists\n", layers, lists.size());
  EXPECT_GT(layers, 0u);
}

// Chen et al., JSSC 52(1), 2017, the table of AlexNet on the 12 x 14 array of Eyeriss: 135 of 168
// PEs are active in CONV2 (two sets of 5 x 27 below each other, in strips of 14 and 13), 156 in
// CONV3 to CONV5 (four sets of 3 x 13 below each other).
TEST(SystolicPublished, EyerissActivePes) {
  auto active = [](const Convolution &conv) { return 168 * rowStationaryCost(conv, {12, 14})->mappingEfficiency; };
  EXPECT_NEAR(active({2, 4, 128, 48, 5, 5, 27, 27}), 135, 1e-9);
  EXPECT_NEAR(active({1, 4, 384, 256, 3, 3, 13, 13}), 156, 1e-9);
  EXPECT_NEAR(active({2, 4, 192, 192, 3, 3, 13, 13}), 156, 1e-9);
  EXPECT_NEAR(active({2, 4, 128, 192, 3, 3, 13, 13}), 156, 1e-9);
}

TEST(SystolicPublished, NeverSlowerWithMore) {
  fuzz::Random random(21);
  auto any = [&] { return 1 + static_cast<int64_t>(random.below(size_t{1} << random.below(20))); };
  for (int i = 0; i < 3000; ++i) {
    Gemm g{any(), any(), any(), any()};
    Convolution v{any(), any(), any(), any(), any(), any(), any(), any()};
    SystolicArray a{1 + any() % 512, 1 + any() % 512, any() % 100 + 1, false, false, true};
    for (Dataflow flow : kFlows) {
      auto cost = [&](const SystolicArray &array) {
        return *(flow == Dataflow::RowStationary && i % 2 ? rowStationaryCost(v, array) : systolicCost(g, flow, array));
      };
      SystolicCost base = cost(a);
      EXPECT_GT(base.utilization, 0);
      EXPECT_LE(base.utilization, 1 + 1e-12);
      EXPECT_LE(base.mappingEfficiency, 1 + 1e-12);
      EXPECT_LE(base.utilization, base.mappingEfficiency * (1 + 1e-12));
      SystolicArray b = a;
      b.count += any();
      EXPECT_TRUE(cost(b).cycles <= base.cycles);
      b = a, b.cutStream = true;
      SystolicCost cut = cost(b);
      EXPECT_TRUE(cut.cycles <= base.cycles);
      b.count += any();
      EXPECT_TRUE(cost(b).cycles <= cut.cycles);
      b = a, b.split = false;
      EXPECT_TRUE(cost(b).cycles >= base.cycles);
      b = a, b.overlapFill = true;
      SystolicCost fill = cost(b);
      EXPECT_TRUE(fill.cycles <= base.cycles);
      b.overlapDrain = true;
      SystolicCost both = cost(b);
      b.overlapFill = false;
      SystolicCost drain = cost(b);
      EXPECT_TRUE(drain.cycles <= base.cycles && both.cycles <= fill.cycles && both.cycles <= drain.cycles);
    }
  }
}

TEST(SystolicPublished, LongStreamsAreCutForIdleArrays) {
  // One fold of 64 x 64 with a stream of 4000: four arrays take a quarter of it each.
  SystolicArray a{64, 64, 4};
  EXPECT_TRUE(systolicCost({1, 4000, 64, 64}, kFlows[1], a)->cycles == 64 + 4000 + 126);
  a.cutStream = true;
  SystolicCost cut = *systolicCost({1, 4000, 64, 64}, kFlows[1], a);
  EXPECT_TRUE(cut.cycles == 64 + 1000 + 126 && cut.pieces == 4);
  EXPECT_TRUE(cut.rhsReads == 4 * 64 * 64 && cut.lhsReads == 4000 * 64);
}

TEST(SystolicPublished, StopsAtTheLargestCount) {
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  Convolution huge{max, max, max, max, max, max, max, max, max, max, max, max};
  for (int64_t rows : {int64_t{1}, int64_t{3}, max})
    for (Dataflow flow : kFlows)
      for (bool overlap : {false, true}) {
        SystolicArray a{rows, 2, rows, overlap, overlap, true, overlap};
        SystolicCost product = *systolicCost({max, max, max, max}, flow, a);
        SystolicCost row = *rowStationaryCost(huge, a);
        for (const SystolicCost &cost : {product, row})
          for (Count count : {cost.cycles, cost.folds, cost.lhsReads, cost.rhsReads, cost.resultWrites,
                              cost.resultReads, cost.interval})
            EXPECT_TRUE(count >= 0 && count <= kMaxCount);
        EXPECT_TRUE(std::isfinite(row.utilization) && std::isfinite(product.utilization));
      }
  EXPECT_TRUE(systolicCost({max, max, max, max}, kFlows[0], {1, 1})->cycles == kMaxCount);
  for (SystolicArray none : {SystolicArray{0, 1}, {1, 0}, {1, 1, 0}, {-1, 1}, {1, -5}})
    for (Dataflow flow : kFlows)
      EXPECT_FALSE(systolicCost({1, 1, 1, 1}, flow, none));
  // Extents below 1 count as 1, as everywhere in a domain.
  EXPECT_TRUE(systolicCost({0, -3, 0, 0}, kFlows[0], {4, 4})->cycles == 7);
  Convolution odd{0, -1, 0, 0, 0, -max, 0, 0, -1, 0, -max, 0};
  EXPECT_TRUE(rowStationaryCost(odd, {4, 4})->cycles == 11);
}

TEST(SystolicPublished, NamesOfDataflows) {
  for (Dataflow flow : kFlows)
    EXPECT_EQ(parseDataflow(name(flow)), flow);
  EXPECT_EQ(parseDataflow("stationary"), std::nullopt);
}
