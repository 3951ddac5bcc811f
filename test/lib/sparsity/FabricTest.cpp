// Memories of a dataflow device: counts by hand from AMD's guides, layouts against all there are, tables of zeros.
#include "lib/sparsity/solve/FabricAllocation.h"
#include "lib/sparsity/solve/FabricUse.h"
#include "lib/sparsity/solve/FabricZeros.h"
#include "lib/sparsity/verify/Dataflow.h"
#include "lib/sparsity/verify/FabricProof.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

DataflowLayer fabricLayer(int64_t channels, int64_t filters, int64_t input, int64_t result, int64_t kernel) {
  DataflowLayer layer;
  layer.name = "layer";
  layer.channels = channels, layer.filters = filters;
  layer.inputRows = layer.inputColumns = input;
  layer.rows = layer.columns = result;
  layer.kernelRows = layer.kernelColumns = kernel;
  return layer;
}

DataflowResult laidOut(const DataflowProblem &problem) {
  auto result = planDataflow(problem);
  if (auto *wrong = std::get_if<std::string>(&result)) {
    ADD_FAILURE() << *wrong;
    return {};
  }
  return std::get<DataflowResult>(std::move(result));
}

TEST(FabricUse, BlockRamsOfTheGuide) {
  // UltraScale Architecture Memory Resources, UG573: RAMB18E2 is 16K x 1, 8K x 2, 4K x 4, 2K x 9, 1K x 18, 512 x 36.
  for (auto [width, depth] :
       {std::pair<int64_t, int64_t>{1, 16384}, {2, 8192}, {4, 4096}, {9, 2048}, {18, 1024}, {36, 512}}) {
    EXPECT_EQ(blockRamsOf({width, depth}), 1) << width;
    EXPECT_EQ(blockRamsOf({width, depth + 1}), 2) << width;
    EXPECT_EQ(blockRamsOf({2 * width, depth}), 2) << width;
  }
  EXPECT_EQ(blockRamsOf({37, 512}), 2);
  EXPECT_EQ(blockRamsOf({16, 1024}), 1);
  EXPECT_EQ(blockRamsOf({32, 1024}), 2);
  EXPECT_EQ(blockRamsOf({8, 16384}), 8);
  EXPECT_EQ(blockRamsOf({8, 40000}), 20); // 2,048 deep each; a single bit of 16,384: 24
  EXPECT_EQ(blockRamsOf({1, 40000}), 3);
  EXPECT_EQ(blockRamsOf({4608, 128}), 128);
  EXPECT_EQ(ultraRamsOf({72, 4096}), 1);
  EXPECT_EQ(ultraRamsOf({73, 4096}), 2);
  EXPECT_EQ(ultraRamsOf({72, 4097}), 2);
  EXPECT_EQ(ultraRamsOf({16, 100'000}), 25);
  EXPECT_TRUE(liesInTables({4096, 32}));
  EXPECT_TRUE(liesInTables({8, 128}));
  EXPECT_FALSE(liesInTables({8, 129}));
}

TEST(FabricUse, ALayerByHand) {
  DataflowLayer layer = fabricLayer(64, 64, 56, 56, 3);
  const DataflowFolding folding{1, 4, 8, 9};
  FabricUse use = useOf(layer, folding, false, {}, {});
  // 288 weights of 16 bits at once, 128 times: 128 block RAMs of 36 x 512. Two lines of 56 x 16 words for each of 4
  // streams: 128 x 896, 8 of 18 x 1,024.
  EXPECT_EQ(use.blockRams, 128 + 8);
  // Sums of 16 + 16 + 10 bits of 32 engines; 12 streams; 2 x 3 words of 16 bits of 4 streams; sums of 8 filters.
  EXPECT_EQ(use.luts, 32 * 42 + 12 * 16 + 384 + 336);
  EXPECT_EQ(use.multipliers, 288);
  EXPECT_EQ(use.ultraRams, 0);
  EXPECT_EQ(use.bits, 0);
  use = useOf(layer, folding, false, {WeightPlace::UltraRam, 0, true}, {});
  EXPECT_EQ(use.ultraRams, 64 + 2); // 4,608 / 72 and 128 / 72
  EXPECT_EQ(use.blockRams, 0);
  // Read once for an image: two images of the input, three rows at once, sums of all positions, results of two images.
  use = useOf(layer, folding, false, {WeightPlace::Streamed, 1}, {});
  EXPECT_EQ(use.bits, 64 * 64 * 9 * 16);
  const int64_t input = blockRamsOf({4 * 16 * 3, 38 * 56 * 16}), sums = blockRamsOf({8 * 42, 56 * 56});
  EXPECT_EQ(use.blockRams, input + sums + blockRamsOf({8 * 16, 2 * 56 * 56 * 8}));
  // Once for each position, and one line at a time as on the chip.
  use = useOf(layer, folding, false, {WeightPlace::Streamed, 56 * 56}, {});
  EXPECT_EQ(use.bits, int64_t(64) * 64 * 9 * 16 * 56 * 56);
  EXPECT_EQ(use.blockRams, 8);
  // Zeros: all nine weights of each engine at once, a choice of 9 for each multiplier (3 tables a bit) and of the next.
  use = useOf(layer, {1, 4, 8, 2}, true, {}, {});
  EXPECT_EQ(use.blockRams, 128 + 8);
  EXPECT_EQ(use.luts, 32 * 42 + 12 * 16 + 384 + 336 + 64 * 32 * 3 + 64 * 9);
  // A shortcut waits for the two rows that the layer holds: 16 of its words come with each of the layer's.
  layer.detours.push_back({56, 56, 256, 16});
  EXPECT_EQ(useOf(layer, folding, false, {}, {}).blockRams, 136 + blockRamsOf({16 * 16, 2 * 56 * 16}));
  use = useOf(layer, folding, false, {WeightPlace::BlockRam, 0, false, true}, {});
  EXPECT_EQ(use.blockRams, 136);
  EXPECT_EQ(use.bits, int64_t(2) * 56 * 56 * 256 * 16);
}

/// Small problems of any kind.
class FabricRandom {
public:
  explicit FabricRandom(unsigned seed) : generator(seed) {}
  int64_t from(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator); }

  DataflowLayer layer(int64_t scale) {
    DataflowLayer made = fabricLayer(from(1, 2) * scale, from(1, 3) * scale, 1, 1, from(1, 2));
    made.rows = from(1, 9), made.columns = from(1, 150);
    made.inputRows = made.rows * from(1, 2), made.inputColumns = made.columns * from(1, 2);
    made.weightBits = from(4, 20), made.activationBits = from(4, 20);
    if (from(0, 4) == 0)
      made.groups = scale;
    if (from(0, 2) == 0)
      made.detours.push_back({made.inputRows, made.inputColumns, from(1, 64), 16});
    const int64_t window = made.kernelRows * made.kernelColumns;
    if (from(0, 1) == 0)
      made.sparsity.push_back({"zeros", binomialZeroHistogram(window, 0.5), from(0, 3)});
    if (!made.sparsity.empty() && from(0, 1) == 0)
      for (int64_t c = 0; c < made.channels; ++c)
        made.sparsity[0].channels.push_back(binomialZeroHistogram(window, 0.1 * static_cast<double>(from(0, 9))));
    return made;
  }

  DataflowProblem problem() {
    DataflowProblem made;
    const int64_t count = from(1, 3);
    for (int64_t l = count; l > 0; --l) {
      made.layers.push_back(layer(count == 3 ? from(1, 4) : from(4, 12)));
      made.layers.back().name = fmt::format("l{}", l);
    }
    made.fabric.multipliers = from(2, 60);
    made.hertz = 1e9;
    made.resources.blockRams = from(1, 8);
    made.resources.ultraRams = from(0, 1) * from(1, 4);
    made.resources.luts = from(0, 1) * from(300, 9000);
    made.resources.bytesPerSecond = from(0, 4) == 0 ? 0 : std::ldexp(1e7, static_cast<int>(from(0, 14)));
    made.lossBudget = from(0, 1) ? SelectionProblem::kUnlimited : from(0, 5);
    return made;
  }

private:
  std::mt19937 generator;
};

TEST(FabricUse, CountedAgain) {
  FabricRandom random(3);
  size_t inRams = 0;
  for (unsigned trial = 0; trial < 3000; ++trial) {
    DataflowLayer layer = random.layer(random.from(1, 40));
    FabricResources all{100, 100, 0, 1e9};
    DataflowFolding folding;
    auto divisor = [&](int64_t of) {
      int64_t d = random.from(1, of);
      while (of % d != 0)
        --d;
      return d;
    };
    folding = {divisor(layer.groups), divisor(layer.channels / layer.groups), divisor(layer.filters / layer.groups),
               divisor(layer.kernelRows * layer.kernelColumns)};
    for (const DataflowMemory &memory : memoryChoices(layer, all)) {
      EXPECT_TRUE(proof::isWay(layer, folding, false, memory, all));
      for (bool skips : {false, true}) {
        FabricUse use = useOf(layer, folding, skips, memory, {}),
                  again = proof::useOf(layer, folding, skips, memory, {});
        ASSERT_EQ(use, again) << trial << " " << name(memory.weights) << " " << memory.passes;
        inRams += use.blockRams > 0;
      }
    }
    for (const DataflowSparsity &sparsity : layer.sparsity)
      EXPECT_NEAR(cyclesOf(layer, folding, &sparsity).max(), proof::cyclesOf(layer, folding, &sparsity).max(), 1e-6);
  }
  EXPECT_GT(inRams, 1000U);
}

/// All layouts of all layers, counted by what verifies.
struct FabricBruteForce {
  struct Way {
    double cycles = 0;
    FabricUse use;
    int64_t loss = 0;
  };
  const DataflowProblem &problem;
  std::vector<std::vector<Way>> ways;
  double min = HUGE_VAL;

  explicit FabricBruteForce(const DataflowProblem &problem) : problem(problem) {
    for (const DataflowLayer &layer : problem.layers)
      add(layer);
    FabricUse none;
    none.bits = proof::imageBits(problem);
    go(0, 0, none, 0);
  }

  void add(const DataflowLayer &layer) {
    std::vector<Way> &all = ways.emplace_back();
    std::vector<int64_t> times;
    for (int64_t passes = 0; passes <= layer.rows; ++passes)
      times.push_back(passes);
    if (layer.columns > 1)
      times.push_back(layer.rows * layer.columns);
    for (int64_t g = 1; g <= layer.groups; ++g)
      for (int64_t in = 1; in <= layer.channels; ++in)
        for (int64_t out = 1; out <= layer.filters; ++out)
          for (int64_t fine = 1; fine <= layer.kernelRows * layer.kernelColumns; ++fine)
            for (size_t z = 0; z <= layer.sparsity.size(); ++z)
              for (WeightPlace place : {WeightPlace::BlockRam, WeightPlace::UltraRam, WeightPlace::Streamed})
                for (int64_t passes : times)
                  for (int flags = 0; flags < 4; ++flags) {
                    DataflowMemory memory{place, passes, (flags & 1) != 0, (flags & 2) != 0};
                    DataflowFolding folding{g, in, out, fine};
                    if (!proof::isWay(layer, folding, z > 0, memory, problem.resources))
                      continue;
                    const DataflowSparsity *sparsity = z > 0 ? &layer.sparsity[z - 1] : nullptr;
                    all.push_back({proof::cyclesOf(layer, folding, sparsity).max(),
                                   proof::useOf(layer, folding, z > 0, memory, problem.fabric),
                                   sparsity ? sparsity->loss : 0});
                  }
    std::sort(all.begin(), all.end(), [](const Way &a, const Way &b) { return a.cycles < b.cycles; });
  }

  void go(size_t l, double slowest, FabricUse used, int64_t loss) {
    const FabricResources &has = problem.resources;
    double bits = has.bytesPerSecond > 0 ? static_cast<double>(used.bits) / 8 / has.bytesPerSecond * problem.hertz : 0;
    double interval = std::max(slowest, bits);
    if (used.multipliers > problem.fabric.multipliers || used.blockRams > has.blockRams ||
        used.ultraRams > has.ultraRams || (has.luts > 0 && used.luts > has.luts) || loss > problem.lossBudget ||
        interval >= min)
      return;
    if (l == ways.size()) {
      min = interval;
      return;
    }
    for (const Way &way : ways[l]) {
      if (way.cycles >= min)
        break;
      FabricUse sum = used;
      sum.multipliers += way.use.multipliers, sum.luts += way.use.luts, sum.blockRams += way.use.blockRams;
      sum.ultraRams += way.use.ultraRams, sum.bits += way.use.bits;
      go(l + 1, std::max(slowest, way.cycles), sum, loss + way.loss);
    }
  }
};

TEST(Fabric, LayoutsAreTheBestOfAll) {
  size_t impossible = 0, streamed = 0, bandwidth = 0, evicted = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const DataflowProblem problem = FabricRandom(seed).problem();
    FabricBruteForce all(problem);
    DataflowResult result;
    auto made = planDataflow(problem);
    if (auto *wrong = std::get_if<std::string>(&made)) { // one layer alone does not fit
      EXPECT_TRUE(std::isinf(all.min)) << seed << *wrong;
      ++impossible;
      continue;
    }
    result = std::get<DataflowResult>(std::move(made));
    ASSERT_EQ(result.feasible, std::isfinite(all.min)) << seed << result.explanation;
    Verification proof = verify(problem, result);
    ASSERT_TRUE(proof.holds() && proof.trusted.empty())
        << seed << (proof.holds() ? proof.trusted[0] : proof.findings[0].message);
    if (!result.feasible) {
      ++impossible;
      EXPECT_FALSE(result.explanation.empty());
      continue;
    }
    ASSERT_NEAR(result.interval, all.min, 1e-8 * all.min) << seed;
    EXPECT_TRUE(result.proven) << seed;
    for (const DataflowStage &stage : result.stages) {
      streamed += stage.memory.weights == WeightPlace::Streamed;
      evicted += stage.memory.evicts;
    }
    bandwidth += transferCycles(problem, result.use.bits) >= result.interval * (1 - 1e-12);
  }
  EXPECT_GT(impossible, 5U);
  EXPECT_GT(streamed, 20U);
  EXPECT_GT(evicted, 2U);
  EXPECT_GT(bandwidth, 5U);
}

TEST(Fabric, AllocationsAreTheBestOfAll) {
  std::mt19937 generator(5);
  auto from = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator); };
  size_t feasible = 0;
  for (unsigned trial = 0; trial < 400; ++trial) {
    AllocationProblem problem;
    for (int64_t kind = from(1, 3); kind > 0; --kind) {
      std::vector<AllocationOption> &options = problem.kinds.emplace_back();
      for (int64_t o = from(1, 7); o > 0; --o)
        options.push_back({static_cast<double>(from(1, 50)),
                           {from(0, 9), from(0, 9), from(0, 9), from(0, 9), from(0, 9)},
                           from(0, 40)});
    }
    for (int64_t i = from(1, 6); i > 0; --i)
      problem.items.push_back(static_cast<size_t>(from(0, static_cast<int64_t>(problem.kinds.size()) - 1)));
    for (int64_t &budget : problem.budgets)
      budget = from(0, 3) == 0 ? AllocationProblem::kUnlimited : from(5, 40);
    problem.cyclesPerBit = from(0, 2) * 0.37;
    problem.fixedBits = from(0, 20);
    double best = HUGE_VAL;
    std::vector<unsigned> choice(problem.items.size(), 0);
    for (bool more = true; more;) {
      double slowest = 0, bits = static_cast<double>(problem.fixedBits);
      std::array<int64_t, kFabricBudgets> sums = {};
      for (size_t i = 0; i < choice.size(); ++i) {
        const AllocationOption &option = problem.kinds[problem.items[i]][choice[i]];
        slowest = std::max(slowest, option.cycles);
        bits += static_cast<double>(option.bits);
        for (size_t k = 0; k < kFabricBudgets; ++k)
          sums[k] += option.weights[k];
      }
      bool keeps = true;
      for (size_t k = 0; k < kFabricBudgets; ++k)
        keeps &= sums[k] <= problem.budgets[k];
      if (keeps)
        best = std::min(best, std::max(slowest, bits * problem.cyclesPerBit));
      more = false;
      for (size_t i = 0; i < choice.size() && !more; ++i) {
        more = ++choice[i] < problem.kinds[problem.items[i]].size();
        if (!more)
          choice[i] = 0;
      }
    }
    const AllocationResult result = allocate(problem);
    ASSERT_EQ(result.feasible, std::isfinite(best)) << trial;
    EXPECT_TRUE(result.proven()) << trial << " " << result.interval << " " << result.minInterval << " " << best;
    if (!result.feasible)
      continue;
    ++feasible;
    ASSERT_NEAR(result.interval, best, 1e-9 * best) << trial;
  }
  EXPECT_GT(feasible, 150U);
}

/// As MobileNet's and ResNet's larger layers, on a device that they do not fit all at once.
DataflowProblem crowded() {
  DataflowProblem problem;
  problem.fabric.multipliers = 400;
  problem.hertz = 200e6;
  problem.resources = {120, 0, 60'000, 2e9};
  for (auto [channels, filters, size, kernel] :
       {std::array<int64_t, 4>{3, 16, 56, 3}, {16, 32, 28, 3}, {32, 64, 14, 3}, {64, 64, 14, 3}, {64, 256, 14, 1}}) {
    problem.layers.push_back(fabricLayer(channels, filters, size, size, kernel));
    problem.layers.back().name = fmt::format("{}to{}", channels, filters);
  }
  for (size_t l = 1; l < problem.layers.size(); ++l) {
    DataflowLayer &layer = problem.layers[l];
    layer.sparsity.push_back({"zeros", binomialZeroHistogram(layer.kernelRows * layer.kernelColumns, 0.5), 0});
  }
  return problem;
}

TEST(Fabric, LessIsNeverFaster) {
  const double before = laidOut(crowded()).interval;
  for (int part = 0; part < 4; ++part) {
    DataflowProblem problem = crowded();
    (part == 0 ? problem.resources.blockRams : part == 1 ? problem.resources.luts : problem.fabric.multipliers) /= 2;
    if (part == 3)
      problem = crowded(), problem.resources.bytesPerSecond = 1e8;
    DataflowResult result = laidOut(problem);
    ASSERT_TRUE(result.feasible) << part;
    EXPECT_GE(result.interval, before) << part;
    EXPECT_NE(result.explanation.find("What binds"), std::string::npos) << result.explanation;
    Verification proof = verify(problem, result);
    EXPECT_TRUE(proof.holds()) << part;
  }
  DataflowProblem enough = crowded();
  enough.resources = {};
  EXPECT_LE(laidOut(enough).interval, before);
  DataflowProblem none = crowded();
  none.resources.blockRams = 38, none.resources.luts = 30'000, none.resources.bytesPerSecond = 0;
  DataflowResult result = laidOut(none);
  EXPECT_FALSE(result.feasible);
  EXPECT_NE(result.explanation.find("block RAM (38)"), std::string::npos) << result.explanation;
  EXPECT_TRUE(verify(none, result).holds());
  none.resources.blockRams = 1, none.resources.luts = 200;
  auto wrong = planDataflow(none);
  ASSERT_TRUE(std::holds_alternative<std::string>(wrong));
  EXPECT_NE(std::get<std::string>(wrong).find("look-up tables (200)"), std::string::npos)
      << std::get<std::string>(wrong);
}

TEST(Fabric, ChangedClaimsAreFound) {
  const DataflowProblem problem = crowded();
  const DataflowResult result = laidOut(problem);
  auto code = [&](auto change) {
    DataflowResult claim = result;
    change(claim);
    Verification proof = verify(problem, claim);
    return proof.holds() ? std::string() : numberOf(proof.findings.front().code);
  };
  EXPECT_EQ(code([](auto &) {}), "");
  EXPECT_EQ(code([](auto &c) { c.stages[1].use.blockRams -= 1; }), "A0905");
  EXPECT_EQ(code([](auto &c) { c.stages[1].use.bits += 8; }), "A0905");
  EXPECT_EQ(code([](auto &c) { c.use.luts -= 1; }), "A0905");
  EXPECT_EQ(code([](auto &c) { c.stages[0].cycles.input -= 1; }), "A0905");
  EXPECT_EQ(code([](auto &c) { c.stages[1].busy /= 2; }), "A0905");
  EXPECT_EQ(code([](auto &c) { c.stages[1].memory.weights = WeightPlace::UltraRam; }), "A0904");
  EXPECT_EQ(code([](auto &c) { c.stages[1].memory.passes = 3; }), "A0904");
  EXPECT_EQ(code([](auto &c) { c.stages[1].memory.evicts = true; }), "A0904");
  EXPECT_EQ(code([](auto &c) { c.interval /= 2, c.imagesPerSecond *= 2, c.minInterval /= 2; }), "A0905");
  EXPECT_EQ(code([](auto &c) { c.minInterval *= 0.9; }), "A0905");
  EXPECT_EQ(code([](auto &c) { c.feasible = false; }), "A0906");
  // A layout of a smaller device, called the best of this one; one of a larger device, said to fit.
  DataflowProblem other = problem;
  other.resources.blockRams = 60;
  EXPECT_EQ(code([&](auto &c) { c = laidOut(other); }), "A0906");
  other.resources.blockRams = 100'000;
  other.resources.bytesPerSecond = 0;
  EXPECT_EQ(code([&](auto &c) { c = laidOut(other); }), "A0904");
  // What is not called the best may be worse than it, but nothing below may be possible.
  other = problem;
  other.resources.blockRams = 60;
  DataflowResult worse = laidOut(other);
  worse.proven = false;
  worse.minInterval = result.interval * 0.9;
  EXPECT_EQ(code([&](auto &c) { c = worse; }), "");
  worse.minInterval = result.interval * 1.01;
  EXPECT_EQ(code([&](auto &c) { c = worse; }), "A0906");
}

TEST(Fabric, ChannelsAreDealtOutByTheirSteps) {
  DataflowLayer layer = fabricLayer(4, 2, 10, 10, 1);
  DataflowSparsity sparsity{"measured", {0.5, 0.5}, 0, {{1, 0}, {0.6, 0.4}, {0.3, 0.7}, {0.1, 0.9}}};
  // Two streams: 1 and 0.1 on the first one, 0.6 and 0.3 on the second.
  EXPECT_DOUBLE_EQ(cyclesOf(layer, {1, 2, 1, 1}, &sparsity).products, 100 * 2 * 1.1);
  EXPECT_DOUBLE_EQ(cyclesOf(layer, {1, 4, 1, 1}, &sparsity).products, 100 * 2 * 1.0);
  EXPECT_DOUBLE_EQ(cyclesOf(layer, {1, 1, 1, 1}, &sparsity).products, 100 * 2 * 2.0);
  // Channels that are alike are as one distribution.
  layer = fabricLayer(12, 4, 8, 8, 3);
  DataflowSparsity same{"measured", binomialZeroHistogram(9, 0.4), 0, {}};
  DataflowSparsity each = same;
  each.channels.assign(12, same.windows);
  for (int64_t in : {1, 2, 3, 4, 6, 12})
    for (int64_t fine = 1; fine <= 9; ++fine)
      EXPECT_NEAR(cyclesOf(layer, {1, in, 2, fine}, &each).products, cyclesOf(layer, {1, in, 2, fine}, &same).products,
                  1e-9);
  // Of unequal ones the mean is a limit from below.
  each.channels[3] = binomialZeroHistogram(9, 0);
  each.windows.assign(10, 0);
  for (const std::vector<double> &windows : each.channels)
    for (size_t z = 0; z < windows.size(); ++z)
      each.windows[z] += windows[z] / 12;
  same.windows = each.windows;
  EXPECT_GT(cyclesOf(layer, {1, 12, 2, 3}, &each).products, cyclesOf(layer, {1, 12, 2, 3}, &same).products);
  EXPECT_NEAR(cyclesOf(layer, {1, 1, 2, 3}, &each).products, cyclesOf(layer, {1, 1, 2, 3}, &same).products, 1e-9);
}

TEST(Fabric, OneThresholdOfAll) {
  for (bool memories : {false, true}) {
    DataflowProblem problem = crowded();
    if (!memories)
      problem.resources = {};
    for (size_t l = 1; l < problem.layers.size(); ++l) {
      DataflowLayer &layer = problem.layers[l];
      const int64_t window = layer.kernelRows * layer.kernelColumns;
      layer.sparsity = {{"threshold 0", binomialZeroHistogram(window, l % 2 ? 0.2 : 0.7), 0, {}},
                        {"threshold 1", binomialZeroHistogram(window, l % 2 ? 0.7 : 0.4), 0, {}}};
    }
    const double mixed = laidOut(problem).interval;
    problem.together = true;
    DataflowResult result = laidOut(problem);
    double min = HUGE_VAL;
    for (const char *label : {"dense", "threshold 0", "threshold 1"})
      min = std::min(min, laidOut(withLabel(problem, label)).interval);
    EXPECT_EQ(result.interval, min);
    EXPECT_GE(result.interval, mixed);
    Verification proof = verify(problem, result);
    EXPECT_TRUE(proof.holds()) << proof.findings[0].message;
    // Two networks at once are none that was measured.
    size_t first = 1;
    while (!result.stages[first].sparse)
      ++first;
    for (size_t l = first + 1; l < result.stages.size(); ++l)
      if (result.stages[l].sparse) {
        result.stages[l].label = result.stages[l].label == "threshold 0" ? "threshold 1" : "threshold 0";
        break;
      }
    EXPECT_FALSE(verify(problem, result).holds());
  }
}

TEST(ZeroFiles, TracesByChannel) {
  auto read = readZeroTraces("layer,channel,zeros,count\nconv,0,0,3\nconv,0,2,1\nconv,1,4,2\n", "t.csv");
  ASSERT_TRUE(std::holds_alternative<ZeroTraces>(read));
  const ZeroTraces &traces = std::get<ZeroTraces>(read);
  ASSERT_EQ(traces.channels.size(), 2U);
  EXPECT_EQ(traces.channels[0].counts, (std::vector<double>{3, 0, 1}));
  std::vector<DataflowLayer> layers = {fabricLayer(2, 4, 5, 5, 2), fabricLayer(2, 4, 5, 5, 2)};
  layers[0].name = "net.conv", layers[1].name = "net.other";
  FabricInputs inputs;
  inputs.traces = traces;
  MeasuredZeros zeros = measuredZeros(layers, {}, inputs);
  ASSERT_TRUE(zeros.rejections.empty()) << zeros.rejections[0].error.message;
  EXPECT_TRUE(zeros.isMeasured[0] && !zeros.isMeasured[1]);
  EXPECT_EQ(zeros.layers[0].sparsity[0].channels[0], (std::vector<double>{0.75, 0, 0.25, 0, 0}));
  EXPECT_EQ(zeros.layers[0].sparsity[0].windows, (std::vector<double>{0.375, 0, 0.125, 0, 0.5}));
  auto wrong = [&](const char *text) {
    auto again = readZeroTraces(text, "t.csv");
    if (auto *rejected = std::get_if<std::vector<Rejection>>(&again))
      return fmt::format("{}:{}", rejected->front().error.location.line, rejected->front().error.location.column);
    inputs.traces = std::get<ZeroTraces>(again);
    MeasuredZeros of = measuredZeros(layers, {}, inputs);
    return of.rejections.empty() ? std::string() : of.rejections[0].error.message;
  };
  EXPECT_EQ(wrong("layer,channel,zeros,count\nconv,0,0,x\n"), "2:10");
  EXPECT_EQ(wrong("layer,channel,zeros,counts\nconv,0,0,1\n"), "1:21");
  EXPECT_EQ(wrong("layer,channel,zeros,share\nconv,0,0,1.5\n"), "2:10");
  EXPECT_EQ(wrong("layer,channel,zeros,count\nconv,0,0,1\nconv,0,0,1\n"), "3:8");
  EXPECT_EQ(wrong("layer,channel,zeros,count\nconv,0\n"), "2:1");
  EXPECT_EQ(wrong(""), "1:1");
  EXPECT_NE(wrong("layer,channel,zeros,count\nconv,0,0,1\n").find("no windows of channel 1"), std::string::npos);
  EXPECT_NE(wrong("layer,channel,zeros,count\nconv,2,0,1\n").find("which has 2"), std::string::npos);
  EXPECT_NE(wrong("layer,channel,zeros,count\nconv,0,5,1\nconv,1,0,1\n").find("5 zeros"), std::string::npos);
  EXPECT_NE(wrong("layer,channel,zeros,count\nconv,0,0,0\nconv,1,0,1\n").find("no windows"), std::string::npos);
  EXPECT_NE(wrong("layer,channel,zeros,count\nfc,0,0,1\n").find("no layer"), std::string::npos);
}

/// fpgaConvNet's tools, README of fpgaconvnet-torch: ResNet-18 with 16 bits, average shares of zeros in products.
constexpr const char *kThresholds = "threshold,layer,density,top1,samples\n"
                                    "0,*,0.4925,0.6974,50000\n0.005,*,0.4367,0.6942,50000\n"
                                    "0.010,*,0.3853,0.6736,50000\n0.015,*,0.3409,0.5838,50000\n"
                                    "0.020,*,0.3037,0.2791,50000\n";

TEST(ZeroFiles, ThresholdsByAccuracy) {
  auto read = readThresholds(kThresholds, "t.csv");
  ASSERT_TRUE(std::holds_alternative<ThresholdTable>(read));
  FabricInputs inputs;
  inputs.thresholds = std::get<ThresholdTable>(read);
  EXPECT_EQ(inputs.thresholds->metric, "top1");
  ASSERT_EQ(inputs.thresholds->networks.size(), 5U);
  EXPECT_EQ(inputs.thresholds->networks[1].right, 34710);
  SparsityRequest request;
  auto shown = [&](const char *min, double confidence) {
    request.accuracy = SparsityRequest::Requirement{*Rational::parse(min), confidence, {}};
    return measuredZeros({fabricLayer(4, 4, 8, 8, 3)}, request, inputs);
  };
  EXPECT_EQ(shown("0.67", 0).networks.size(), 3U);
  EXPECT_EQ(shown("0.6942", 0).networks.size(), 2U);
  // The limit of 34,710 of 50,000, five at once, is below 0.694.
  MeasuredZeros limits = shown("0.69", 0.95);
  EXPECT_EQ(limits.networks.size(), 1U);
  EXPECT_EQ(limits.excluded.size(), 4U);
  EXPECT_LT(limits.networks[0].limit, *Rational::parse("0.6974"));
  EXPECT_EQ(shown("0.68", 0.95).networks.size(), 2U);
  MeasuredZeros none = shown("0.7", 0);
  ASSERT_EQ(none.rejections.size(), 1U);
  EXPECT_EQ(numberOf(none.rejections[0].error.code), "A1005");
  EXPECT_EQ(evaluationOf(limits, "threshold 0").dense, limits.networks[0].limit);
  auto place = [&](const std::string &text) {
    auto again = readThresholds(text, "t.csv");
    auto *rejected = std::get_if<std::vector<Rejection>>(&again);
    return rejected
               ? fmt::format("{}:{}", rejected->front().error.location.line, rejected->front().error.location.column)
               : "";
  };
  EXPECT_EQ(place("threshold,density,top1\n0,1,0.7\n0,1,0.6\n"), "3:1");
  EXPECT_EQ(place("threshold,density,top1\n0,1,\n"), "2:1");
  EXPECT_EQ(place("threshold,density,top1\n0,1.2,0.7\n"), "2:3");
  EXPECT_EQ(place("threshold,density,top1\n0,0.5,70\n"), "2:7");
  EXPECT_EQ(place("threshold,density\n0,0.5\n"), "1:1");
  EXPECT_EQ(place("threshold,density,right,samples\n0,0.5,7,6\n"), "2:7");
  EXPECT_EQ(place("threshold,density,top1,top5\n0,0.5,0.7,0.9\n"), "1:24");
}

} // namespace
