// Layers on a dataflow device against trying all foldings, cycles against counting, and ResNet-18.
#include "lib/sparsity/solve/Dataflow.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/sparsity/solve/FabricLayers.h"
#include "lib/sparsity/verify/Dataflow.h"
#include "test/support/CatalogueWork.h"
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

/// Cycles of the products by going through them, a window of each folded channel and filter after the other; zeros
/// independent with `share`, over all masks of a window.
double countedProducts(const DataflowLayer &layer, const DataflowFolding &folding, double share) {
  int window = static_cast<int>(layer.kernelRows * layer.kernelColumns);
  double expected = 0;
  for (unsigned mask = 0; mask < (1U << window); ++mask) {
    int sparsity = std::popcount(mask), left = window - sparsity, steps = 0;
    while (left > 0) {
      left -= static_cast<int>(folding.fine);
      ++steps;
    }
    expected += steps * std::pow(share, sparsity) * std::pow(1 - share, window - sparsity);
  }
  double cycles = 0;
  for (int64_t result = 0; result < layer.rows * layer.columns; ++result)
    for (int64_t group = 0; group < layer.groups; group += folding.groups)
      for (int64_t c = 0; c < layer.channels / layer.groups; c += folding.in)
        for (int64_t f = 0; f < layer.filters / layer.groups; f += folding.out)
          cycles += expected;
  return cycles;
}

DataflowLayer convolution(std::string name, int64_t channels, int64_t filters, int64_t input, int64_t result,
                          int64_t kernel) {
  DataflowLayer layer;
  layer.name = std::move(name);
  layer.channels = channels;
  layer.filters = filters;
  layer.inputRows = layer.inputColumns = input;
  layer.rows = layer.columns = result;
  layer.kernelRows = layer.kernelColumns = kernel;
  return layer;
}

/// He et al.: Deep residual learning for image recognition, CVPR 2016, table 1; all but the first layer with zeros in
/// products.
DataflowProblem resnet18(double share, int64_t multipliers = 12288, double hertz = 250e6) {
  DataflowProblem out;
  out.fabric.multipliers = multipliers;
  out.hertz = hertz;
  out.layers.push_back(convolution("conv1", 3, 64, 224, 112, 7));
  int64_t channels = 64, size = 56;
  for (int64_t stage = 2; stage <= 5; ++stage) {
    int64_t filters = 32 << (stage - 1);
    for (int block = 1; block <= 2; ++block) {
      int64_t result = stage > 2 && block == 1 ? size / 2 : size;
      std::string name = fmt::format("conv{}_{}", stage, block);
      out.layers.push_back(convolution(name + "a", channels, filters, size, result, 3));
      out.layers.push_back(convolution(name + "b", filters, filters, result, result, 3));
      if (channels != filters)
        out.layers.push_back(convolution(name + "s", channels, filters, size, result, 1));
      channels = filters;
      size = result;
    }
  }
  out.layers.push_back(convolution("fc", 512, 1000, 1, 1, 1));
  if (share > 0)
    for (size_t l = 1; l < out.layers.size(); ++l) {
      DataflowLayer &layer = out.layers[l];
      int64_t window = layer.kernelRows * layer.kernelColumns;
      layer.sparsity.push_back({"zeros", binomialZeroHistogram(window, share), 0});
    }
  return out;
}

DataflowResult planned(const DataflowProblem &problem) {
  auto result = planDataflow(problem);
  if (auto *wrong = std::get_if<std::string>(&result)) {
    ADD_FAILURE() << *wrong;
    return {};
  }
  return std::get<DataflowResult>(std::move(result));
}

TEST(Dataflow, CyclesAsCounted) {
  DataflowLayer layer = convolution("c", 4, 6, 10, 5, 3);
  layer.groups = 2;
  layer.columns = 7;
  layer.inputColumns = 14;
  for (double share : {0.0, 0.3, 0.8, 1.0})
    for (int64_t groups : {1, 2})
      for (int64_t in : {1, 2})
        for (int64_t filters : {1, 3})
          for (int64_t fine : {1, 3, 9}) {
            DataflowFolding folding{groups, in, filters, fine};
            DataflowSparsity sparsity{"z", binomialZeroHistogram(9, share), 0};
            DataflowCycles cycles = cyclesOf(layer, folding, &sparsity);
            EXPECT_NEAR(cycles.products, countedProducts(layer, folding, share), 1e-6);
            // Rows times columns, not rows times rows.
            EXPECT_EQ(cycles.input, 10.0 * 14 * 4 / (groups * in));
            EXPECT_EQ(cycles.output, 5.0 * 7 * 6 / (groups * filters));
            EXPECT_EQ(cyclesOf(layer, folding, nullptr).products, countedProducts(layer, folding, 0));
          }
}

TEST(Dataflow, MultipliersAreOfTheirBits) {
  DataflowLayer layer = convolution("c", 4, 6, 10, 5, 3);
  DataflowFolding folding{1, 2, 3, 9};
  DataflowFabric fabric;
  EXPECT_EQ(multipliersOf(layer, folding, fabric), 54);
  layer.activationBits = 18;
  layer.weightBits = 27;
  EXPECT_EQ(multipliersOf(layer, folding, fabric), 54);
  layer.activationBits = 19;
  EXPECT_EQ(multipliersOf(layer, folding, fabric), 108);
  layer.weightBits = 55;
  EXPECT_EQ(multipliersOf(layer, folding, fabric), 324);
}

/// All foldings of all layers: the least interval.
struct DataflowBruteForce {
  const DataflowProblem &problem;
  double min = HUGE_VAL;
  explicit DataflowBruteForce(const DataflowProblem &problem) : problem(problem) { go(0, 0, 0, 0); }
  void go(size_t l, double slowest, int64_t used, int64_t loss) {
    if (used > problem.fabric.multipliers || loss > problem.lossBudget || slowest >= min)
      return;
    if (l == problem.layers.size()) {
      min = slowest;
      return;
    }
    const DataflowLayer &layer = problem.layers[l];
    int64_t window = layer.kernelRows * layer.kernelColumns;
    for (int64_t in = 1; in <= layer.channels; ++in)
      for (int64_t out = 1; out <= layer.filters; ++out)
        for (int64_t fine = 1; fine <= window; ++fine) {
          if (layer.channels % in || layer.filters % out)
            continue;
          DataflowFolding folding{1, in, out, fine};
          double streams = std::max(static_cast<double>(layer.inputRows * layer.inputColumns * layer.channels / in),
                                    static_cast<double>(layer.rows * layer.columns * layer.filters / out));
          for (size_t z = window % fine ? 1 : 0; z <= layer.sparsity.size(); ++z) {
            double share = z == 0 ? 0 : 0.25 * static_cast<double>(z);
            double cycles = std::max(streams, countedProducts(layer, folding, share));
            go(l + 1, std::max(slowest, cycles), used + in * out * fine,
               loss + (z == 0 ? 0 : layer.sparsity[z - 1].loss));
          }
        }
  }
};

TEST(Dataflow, AsTryingEverything) {
  unsigned sparsityHelps = 0, impossible = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    auto from = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    };
    DataflowProblem problem;
    problem.hertz = 1e9;
    problem.fabric.multipliers = from(1, 40);
    problem.lossBudget = from(0, 12);
    for (int64_t l = from(1, 3); l > 0; --l) {
      DataflowLayer &layer = problem.layers.emplace_back(
          convolution(fmt::format("l{}", l), from(1, 4), from(1, 4), from(2, 6), from(1, 5), from(1, 2)));
      layer.columns = from(1, 5);
      for (int64_t z = 1; z <= from(0, 3); ++z)
        layer.sparsity.push_back(
            {fmt::format("z{}", z),
             binomialZeroHistogram(layer.kernelRows * layer.kernelColumns, 0.25 * static_cast<double>(z)), from(0, 8)});
    }
    DataflowResult result = planned(problem);
    DataflowBruteForce all(problem);
    ASSERT_EQ(result.feasible, std::isfinite(all.min)) << seed;
    Verification proof = verify(problem, result);
    EXPECT_TRUE(proof.holds() && proof.trusted.empty()) << seed;
    if (!result.feasible) {
      ++impossible;
      EXPECT_FALSE(result.explanation.empty());
      continue;
    }
    // Picoseconds, rounded up, of cycles of a nanosecond.
    EXPECT_NEAR(result.interval, all.min, 1e-3) << seed;
    EXPECT_LE(result.multipliers, problem.fabric.multipliers);
    EXPECT_LE(result.loss, problem.lossBudget);
    EXPECT_EQ(result.stages[result.bottleneck].busy, 1);
    for (const DataflowStage &stage : result.stages)
      sparsityHelps += stage.sparse;
  }
  EXPECT_GT(sparsityHelps, 10U);
  EXPECT_GT(impossible, 0U);
}

TEST(Dataflow, ResNet18WithoutZeros) {
  DataflowProblem problem = resnet18(0);
  ASSERT_EQ(problem.layers.size(), 21U);
  double products = 0;
  for (const DataflowLayer &layer : problem.layers)
    products += cyclesOf(layer, {}, nullptr).products;
  EXPECT_NEAR(products, 1.814e9, 1e6); // "1.8 x 10^9"
  DataflowResult result = planned(problem);
  double ideal = 12288 * 250e6 / products;
  EXPECT_LE(result.imagesPerSecond, ideal);
  EXPECT_GE(result.imagesPerSecond, 0.85 * ideal);
  EXPECT_LE(result.multipliers, 12288);
  EXPECT_TRUE(result.selection.proven());
  Verification proof = verify(problem, result);
  EXPECT_TRUE(proof.holds() && proof.trusted.empty());
  // An image of 3 x 224 x 224 words enters in three streams.
  EXPECT_EQ(result.saturating, 0U);
  EXPECT_DOUBLE_EQ(result.maxImagesPerSecond, 250e6 / (224 * 224));
}

TEST(Dataflow, ResNet18SaturatesAtItsFirstLayer) {
  double before = 0, first = 0;
  for (double share : {0.0, 0.5075, 0.5633, 0.6147, 0.6591, 0.6963, 0.8, 0.95}) {
    DataflowProblem problem = resnet18(share);
    DataflowResult result = planned(problem);
    ASSERT_TRUE(result.selection.proven());
    EXPECT_GE(result.imagesPerSecond, before);
    EXPECT_LE(result.imagesPerSecond, 250e6 / (224 * 224));
    double part = static_cast<double>(result.stages[0].multipliers) / static_cast<double>(result.multipliers);
    EXPECT_FALSE(result.stages[0].sparse);
    before = result.imagesPerSecond;
    if (share < 0.7) {
      EXPECT_GE(part, first - 0.02) << share;
      EXPECT_EQ(result.explanation.find("reads pixels") != std::string::npos, share > 0) << result.explanation;
      first = part;
    } else {
      EXPECT_EQ(result.bottleneck, 0U);
      EXPECT_EQ(result.stages[0].cycles.input, result.interval);
      EXPECT_DOUBLE_EQ(result.imagesPerSecond, 250e6 / (224 * 224));
      EXPECT_NE(result.explanation.find("3 channels"), std::string::npos) << result.explanation;
    }
    Verification proof = verify(problem, result);
    EXPECT_TRUE(proof.holds() && proof.trusted.empty());
  }
}

TEST(Dataflow, MoreMultipliersAreNeverSlower) {
  double before = 0;
  for (int64_t multipliers = 21; multipliers < 50'000; multipliers = multipliers * 5 / 2) {
    DataflowResult result = planned(resnet18(0.5, multipliers, 200e6));
    ASSERT_TRUE(result.feasible);
    EXPECT_GE(result.imagesPerSecond, before);
    before = result.imagesPerSecond;
  }
  auto none = planDataflow(resnet18(0.5, 20, 200e6));
  EXPECT_FALSE(std::get<DataflowResult>(none).feasible);
  EXPECT_NE(std::get<DataflowResult>(none).explanation.find("21 multipliers"), std::string::npos);
}

TEST(Dataflow, DensityOneIsDense) {
  DataflowProblem dense = resnet18(0), one = resnet18(0.5);
  for (DataflowLayer &layer : one.layers)
    for (DataflowSparsity &sparsity : layer.sparsity)
      sparsity.windows = binomialZeroHistogram(layer.kernelRows * layer.kernelColumns, 0);
  DataflowResult a = planned(dense), b = planned(one);
  EXPECT_EQ(a.interval, b.interval);
  EXPECT_EQ(a.multipliers, b.multipliers);
  for (const DataflowStage &stage : b.stages)
    EXPECT_FALSE(stage.sparse);
}

TEST(Dataflow, ThresholdsOfLayersShareABudget) {
  DataflowProblem problem = resnet18(0);
  for (size_t l = 1; l < problem.layers.size(); ++l) {
    DataflowLayer &layer = problem.layers[l];
    int64_t window = layer.kernelRows * layer.kernelColumns;
    for (int64_t z = 1; z < 8; ++z)
      layer.sparsity.push_back({fmt::format("z{}", z), binomialZeroHistogram(window, 0.1 * static_cast<double>(z)),
                                z * z * static_cast<int64_t>(3 + l % 4)});
  }
  double before = 0;
  for (int64_t budget : {0, 100, 400, 900, 4000}) {
    problem.lossBudget = budget;
    DataflowResult result = planned(problem);
    ASSERT_TRUE(result.feasible && result.selection.proven());
    EXPECT_LE(result.loss, budget);
    EXPECT_GE(result.imagesPerSecond, before);
    before = result.imagesPerSecond;
    Verification proof = verify(problem, result, 2'000'000);
    EXPECT_TRUE(proof.holds());
    EXPECT_TRUE(proof.trusted.empty()) << budget;
  }
}

TEST(Dataflow, ChangedClaimsAreFound) {
  DataflowProblem problem = resnet18(0.5);
  const DataflowResult result = planned(problem);
  auto found = [&](auto change, const char *code) {
    DataflowResult claim = result;
    change(claim);
    Verification proof = verify(problem, claim);
    return !proof.holds() && numberOf(proof.findings.front().code) == code;
  };
  EXPECT_TRUE(found([](auto &c) { c.stages.pop_back(); }, "A0904"));
  EXPECT_TRUE(found([](auto &c) { c.stages[0].label = "zeros"; }, "A0904"));
  EXPECT_TRUE(found([](auto &c) { c.stages[3].sparse = !c.stages[3].sparse; }, "A0904"));
  EXPECT_TRUE(found([](auto &c) { c.stages[3].folding.in = 7; }, "A0904"));
  EXPECT_TRUE(found([](auto &c) { c.stages[3].folding.fine = 0; }, "A0904"));
  EXPECT_TRUE(found([](auto &c) { c.stages[3].multipliers -= 1; }, "A0905"));
  EXPECT_TRUE(found([](auto &c) { c.stages[3].cycles.products = 1; }, "A0905"));
  EXPECT_TRUE(found([](auto &c) { c.imagesPerSecond *= 1.01; }, "A0905"));
  EXPECT_TRUE(found([](auto &c) { c.multipliers += 1; }, "A0905"));
  EXPECT_TRUE(found([](auto &c) { c.feasible = false; }, "A0906"));
  // A file has no selection: the claim is what it says of layers.
  EXPECT_FALSE(found([](auto &c) { c.selection = {}; }, ""));
  // Slower than need be: a layer with half of its channels at once.
  DataflowResult slow = planned(resnet18(0.5, 6000));
  EXPECT_TRUE(found([&](auto &c) { c = slow, c.selection = {}; }, "A0906"));
  DataflowResult fast = planned(resnet18(0.5, 24'000));
  EXPECT_TRUE(found([&](auto &c) { c = fast; }, "A0904"));
}

TEST(Dataflow, LayersOfTheCatalogueAreThoseOfThePaper) {
  auto work = test::ofCatalogue("resnet.dnn", "resnet18", "v100_16g", 1);
  ASSERT_TRUE(work.has_value());
  std::string wrong;
  std::vector<DataflowLayer> layers = dataflowLayers(work->first, wrong);
  EXPECT_EQ(wrong, "");
  auto figures = [](const DataflowLayer &layer) {
    return std::array{layer.channels,
                      layer.filters,
                      layer.groups,
                      layer.inputRows * layer.inputColumns,
                      layer.rows * layer.columns,
                      layer.kernelRows * layer.kernelColumns};
  };
  std::vector<std::array<int64_t, 6>> made, paper;
  for (const DataflowLayer &layer : layers)
    made.push_back(figures(layer));
  for (const DataflowLayer &layer : resnet18(0).layers)
    paper.push_back(figures(layer));
  EXPECT_EQ(made.front(), paper.front());
  EXPECT_EQ(made.back(), paper.back());
  std::sort(made.begin(), made.end());
  std::sort(paper.begin(), paper.end());
  EXPECT_EQ(made, paper);
  DataflowProblem problem = resnet18(0);
  double before = planned(problem).imagesPerSecond;
  problem.layers = layers;
  EXPECT_EQ(planned(problem).imagesPerSecond, before);
}

TEST(Dataflow, LayersOfABatchAreThoseOfAnImage) {
  for (const char *model : {"resnet50", "resnext101_32x8d"}) {
    std::string wrong;
    auto one = test::ofCatalogue("resnet.dnn", model, "v100_16g", 1);
    auto four = test::ofCatalogue("resnet.dnn", model, "v100_16g", 4);
    ASSERT_TRUE(one && four);
    std::vector<DataflowLayer> a = dataflowLayers(one->first, wrong);
    std::vector<DataflowLayer> b = dataflowLayers(four->first, wrong);
    EXPECT_EQ(wrong, "");
    ASSERT_EQ(a.size(), b.size());
    double products = 0;
    for (size_t l = 0; l < a.size(); ++l) {
      products += cyclesOf(a[l], {}, nullptr).products;
      EXPECT_EQ(cyclesOf(a[l], {}, nullptr).products, cyclesOf(b[l], {}, nullptr).products);
      EXPECT_EQ(cyclesOf(a[l], {}, nullptr).input, cyclesOf(b[l], {}, nullptr).input);
      EXPECT_EQ(a[l].name, b[l].name);
    }
    // As the catalogue states it.
    EXPECT_EQ(products, std::string(model) == "resnet50" ? 4089184256.0 : 16414015488.0);
  }
}

TEST(Dataflow, WrongProblemsAreRefused) {
  auto wrong = [](auto change) {
    DataflowProblem problem = resnet18(0.5);
    change(problem);
    return std::holds_alternative<std::string>(planDataflow(problem));
  };
  EXPECT_FALSE(wrong([](auto &) {}));
  EXPECT_TRUE(wrong([](auto &p) { p.layers.clear(); }));
  EXPECT_TRUE(wrong([](auto &p) { p.hertz = std::nan(""); }));
  EXPECT_TRUE(wrong([](auto &p) { p.hertz = 0; }));
  EXPECT_TRUE(wrong([](auto &p) { p.fabric.multipliers = 0; }));
  EXPECT_TRUE(wrong([](auto &p) { p.fabric.multiplierRows = 0; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].channels = 0; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].rows = INT64_MAX; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].kernelRows = 500; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].groups = 5; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].weightBits = 0; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].sparsity[0].windows.pop_back(); }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].sparsity[0].windows[0] += 0.1; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].sparsity[0].windows[0] = std::nan(""); }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].sparsity[0].label = "dense"; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].sparsity[0].loss = -1; }));
  EXPECT_TRUE(wrong([](auto &p) { p.layers[3].sparsity.push_back(p.layers[3].sparsity[0]); }));
}

TEST(SparsityJson, SchemaOfStepsAndPipelines) {
  llvm::json::Value schema = pruneSchema();
  const llvm::json::Object *properties = schema.getAsObject()->getObject("properties");
  ASSERT_TRUE(properties);
  for (const char *key : {"command", "objective", "step", "problem", "answer", "pipeline", "accuracy", "proven", "gap"})
    EXPECT_TRUE(properties->get(key)) << key;
  const llvm::json::Object *stages = properties->getObject("pipeline")->getObject("properties")->getObject("stages");
  EXPECT_TRUE(stages->getObject("items")->getObject("properties")->get("fine"));
}

} // namespace
