// The machines of the catalogue are well formed, and their programs take what their sources say.
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/text/ParseProgram.h"
#include "test/support/CatalogMicroarchitectures.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

Cycles cyclesOf(const Microarchitecture &machine, const std::string &body) {
  auto program = parseProgram("program p on " + machine.name + " {\n" + body + "\n}\n", "p", machine);
  if (!program) {
    ADD_FAILURE() << program.error().front().message;
    return 0;
  }
  auto timing = timeProgram(machine, *program);
  EXPECT_TRUE(timing);
  return timing ? timing->cycles : 0;
}

/// Cycles that one more repetition takes.
double each(const Microarchitecture &machine, const std::string &body) {
  auto times = [&](int64_t count) { return cyclesOf(machine, fmt::format("loop i {} {{\n{}\n}}", count, body)); };
  return double(times(30'000) - times(20'000)) / 10'000;
}

TEST(CatalogMachines, ElaborateWithoutAComplaint) {
  for (const CatalogMachine &of : kCatalogMachines) {
    SCOPED_TRACE(of.name);
    const Machine chip = chipOf(of);
    ASSERT_FALSE(chip.cores.empty());
    bool executesAll = false;
    for (const Core &core : chip.cores) {
      ASSERT_TRUE(core.microarchitecture);
      EXPECT_TRUE(check(*core.microarchitecture).empty());
      executesAll |= core.kind == CoreKind::Vector;
    }
    EXPECT_TRUE(executesAll); // what no array does
    EXPECT_TRUE(check(microarchitectureOf(of, "")).empty());
    EXPECT_TRUE(check(microarchitectureOf(of, of.small)).empty());
  }
}

TEST(CatalogMachines, PeaksAreThoseOfTheirUnits) {
  auto peak = [](const char *name, const char *arguments = "") {
    return flopsPerCycle(microarchitectureOf(catalogMachine(name), arguments));
  };
  EXPECT_EQ(peak("systolic"), 2 * 16 * 16);
  EXPECT_EQ(peak("systolic", "rows = 8, columns = 32, stream = 50"), 2 * 8 * 32);
  EXPECT_NEAR(peak("systolic_folds"), 2.0 * 16 * 16 * 16 / (16 + 30), 1e-9);
  EXPECT_EQ(peak("gemmini"), 2 * 16 * 16);
  EXPECT_EQ(peak("ultratrail"), 2 * 8 * 8);
  EXPECT_NEAR(peak("eyeriss"), 2.0 * 168 * 64 / (64 + 24), 1e-9);
  EXPECT_GE(peak("plasticine"), 2 * 64 * 16);
}

TEST(CatalogMachines, GemminiOverlapsLoadsPreloadsAndProducts) {
  const Microarchitecture bytes = microarchitectureOf(catalogMachine("gemmini"), "miss = 20 cycles"),
                          words = microarchitectureOf(catalogMachine("gemmini"), "element = 4 B");
  EXPECT_EQ(bytes.registers[fileNamed(bytes, "spad")].count, 1024); // 256 KiB of 16 x 16 numbers
  EXPECT_EQ(bytes.registers[fileNamed(bytes, "acc")].count, 64);
  EXPECT_EQ(words.registers[fileNamed(words, "spad")].count, 256);
  // 16 cycles a product, whether its weights are new or not.
  const std::string product = "compute_accumulated acc0, spad0, next, acc0, 16";
  EXPECT_EQ(each(bytes, "preload next, spad1\n" + product), 16);
  EXPECT_EQ(each(bytes, product), 16);
  // Rows of 16 B fill the bus of 128 bit, so a tile comes in 16 cycles, one of 32 bit in 64: the bus bounds a product
  // with two new tiles.
  auto mvin = [](int spad, int bytes) {
    std::string text = fmt::format("mvin spad{}", spad);
    for (int row = 0; row < 16; ++row)
      text += fmt::format(", dram[{} : {} B]", 0x100000 + 64 * row, bytes);
    return text + "\n";
  };
  EXPECT_EQ(each(bytes, mvin(0, 16)), 16);
  EXPECT_EQ(each(words, mvin(0, 64)), 64);
  EXPECT_EQ(each(words, mvin(0, 64) + mvin(1, 64) + "preload next, spad1\n" + product), 128);
}

/// A layer of AlexNet on Eyeriss: its shape and its mapping to passes (Chen et al., IEEE JSSC 52(1), 2017: n images,
/// strips of e rows, p * t filters, q * r channels a pass), elements that are active, and milliseconds of processing of
/// a batch of 4. The mapping and the milliseconds are recalled, not re-read: the mapping gives the published active
/// elements and fits the spads; with the DRAM the published 35 images a second are 114 ms, of which these are 103.5.
struct EyerissLayer {
  int64_t groups, filters, channels, window, stride, out; ///< filters and channels of a group
  int64_t n, e, p, q, r, t;
  int64_t active;
  double milliseconds;
};
constexpr EyerissLayer kAlexNet[] = {
    {1, 96, 3, 11, 4, 55, 1, 7, 16, 1, 1, 2, 154, 16.5},    {2, 128, 48, 5, 1, 27, 1, 27, 16, 2, 1, 1, 135, 39.2},
    {1, 384, 256, 3, 1, 13, 4, 13, 16, 4, 1, 4, 156, 21.8}, {2, 192, 192, 3, 1, 13, 4, 13, 16, 3, 2, 2, 156, 16.0},
    {2, 128, 192, 3, 1, 13, 4, 13, 16, 3, 2, 2, 156, 10.0},
};
int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

TEST(CatalogMachines, EyerissPassesOfAlexNetTakeAboutWhatWasMeasured) {
  const Microarchitecture machine = microarchitectureOf(catalogMachine("eyeriss"), "");
  double all = 0, measured = 0;
  for (const EyerissLayer &is : kAlexNet) {
    EXPECT_EQ(is.window * is.e * is.r * is.t, is.active);
    // What the spads of an element hold.
    EXPECT_LE(is.p * is.q * is.window, 224);
    EXPECT_LE(is.q * is.window, 12);
    EXPECT_LE(is.p, 24);
    const int64_t passes =
        is.groups * up(is.filters, is.p * is.t) * up(is.channels, is.q * is.r) * up(4, is.n) * up(is.out, is.e);
    const int64_t filters = is.p * is.t * is.q * is.r * is.window * is.window,
                  features = is.n * is.q * is.r * ((is.e - 1) * is.stride + is.window) *
                             ((is.out - 1) * is.stride + is.window),
                  steps = is.p * is.q * is.n * is.out * is.window, sums = is.n * is.p * is.t * is.e * is.out;
    const Cycles cycles =
        cyclesOf(machine, fmt::format("loop pass {} {{\nfeatures glb0, {}\nfilters spads, glb1, {}\n"
                                      "pass psums0, glb0, spads, psums0, {}\nsums glb2, psums0, {}\n}}",
                                      passes, features, filters, steps, sums));
    // Elements never wait for features but the first, nor for sums, unless these take longer than a pass.
    const int64_t pass = std::max(up(filters, 4) + steps + 24, up(sums, 4));
    EXPECT_NEAR(double(cycles), double(passes * pass + features), double(sums));
    const double milliseconds = double(cycles) / 200e3;
    all += milliseconds, measured += is.milliseconds;
    EXPECT_GT(milliseconds, 0.85 * is.milliseconds) << milliseconds;
    EXPECT_LT(milliseconds, 1.05 * is.milliseconds) << milliseconds;
  }
  EXPECT_NEAR(all / measured, 1, 0.1);
}

/// TC-ResNet8 (Choi et al., arXiv 1904.03814): 98 frames of 40 coefficients, convolutions along time of 3, then of 9
/// with 1 beside them where the stride is 2; 16, 24, 32 and 48 channels.
TEST(CatalogMachines, UltraTrailIsInTime) {
  const Microarchitecture machine = microarchitectureOf(catalogMachine("ultratrail"), "");
  struct Layer {
    int64_t in, out, window, frames;
  };
  constexpr Layer kLayers[] = {{40, 16, 3, 98}, {16, 24, 9, 49}, {24, 24, 9, 49}, {16, 24, 1, 49},
                               {24, 32, 9, 25}, {32, 32, 9, 25}, {24, 32, 1, 25}, {32, 48, 9, 13},
                               {48, 48, 9, 13}, {32, 48, 1, 13}, {48, 12, 1, 1}};
  Cycles all = 0;
  int64_t products = 0;
  for (const Layer &is : kLayers) {
    const int64_t blocks = up(is.in, 8) * up(is.out, 8) * is.window * (is.frames / 16);
    const int64_t rest = is.frames % 16;
    products += is.in * is.out * is.window * is.frames;
    all += cyclesOf(machine, fmt::format("loop block {} {{\nconvolve lmem0, fmem0, wmem0, lmem0, 16\n}}\n"
                                         "loop rest {} {{\nconvolve lmem1, fmem1, wmem1, lmem1, {}\n}}",
                                         blocks, rest ? up(is.in, 8) * up(is.out, 8) * is.window : 0,
                                         std::max<int64_t>(rest, 1)));
  }
  // Full utilization but for channels that are no multiples of 8, and a few cycles a layer for the pipeline.
  EXPECT_GE(all, products / 64);
  EXPECT_LE(all, products / 64 * 11 / 10);
  // The published real time is 100 ms an inference; the clock of 250 kHz is not verified.
  EXPECT_LE(double(all) / 250e3, 0.1);
}

} // namespace
} // namespace accord::microarchitecture
