// What a machine's description says of zeros, and of layers side by side, as plain data; written
// again as one design of a space.
#include "lib/machine/translate/FromAccel.h"
#include "mlir/IR/Diagnostics.h"
#include "test/support/DesignSpaceFixture.h"
#include "test/support/SourcePath.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

std::string machine(const std::string &sparse, const std::string &more = "", const std::string &bandwidth = "12 GB/s") {
  return "accelerator s {\n  clock = 1 GHz\n  memory ram : dram { capacity = 4 GiB, bandwidth = " + bandwidth +
         " }\n  core c : tensor { array = 16 x 16, multiply = fp16" + sparse + " }\n" + more + "}\n";
}

std::optional<Machine> read(const std::string &text) {
  Machines machines{std::string(text)};
  auto op = machines.program->machine("s", {});
  if (!op)
    return std::nullopt;
  auto made = machineFrom(op);
  return mlir::succeeded(made) ? std::optional(*made) : std::nullopt;
}

auto enumerateChoices(const SparseAcceleration &use) {
  return std::tie(use.mode, use.compress, use.kept, use.of, use.granule);
}
auto enumerateChoices(const SparseCore &core) {
  return std::tuple_cat(enumerateChoices(core.stationary), enumerateChoices(core.streaming),
                        std::tie(core.tile, core.slots, core.lanes, core.metadataBits, core.setupCycles,
                                 core.gatedEnergy, core.wordsPerCycle));
}

const std::string kAll = ", sparse { stationary = skip, streaming = gate, compress = {stationary}, "
                         "granule = 4, tile = 16, slots = 2, lanes = 8, metadata = 4 bit, setup_cycles = "
                         "64 cycles, gated_energy = 0.25, words_per_cycle = 32 }";

} // namespace

TEST(SparseCore, EveryKey) {
  auto made = read(machine(kAll));
  ASSERT_TRUE(made && made->cores[0].sparse);
  const SparseCore &core = *made->cores[0].sparse;
  EXPECT_EQ(core.stationary.mode, SparseAcceleration::Mode::Skip);
  EXPECT_EQ(core.streaming.mode, SparseAcceleration::Mode::Gate);
  EXPECT_TRUE(core.stationary.compress);
  EXPECT_FALSE(core.streaming.compress);
  EXPECT_EQ(core.stationary.of, 0); // any zeros
  EXPECT_EQ(core.stationary.granule, 4);
  EXPECT_EQ(core.tile, 16);
  EXPECT_EQ(core.slots, 2);
  EXPECT_EQ(core.lanes, 8);
  EXPECT_EQ(core.metadataBits, 4);
  EXPECT_EQ(core.setupCycles, 64);
  EXPECT_EQ(core.gatedEnergy, 0.25);
  EXPECT_EQ(core.wordsPerCycle, 32);
  EXPECT_FALSE(made->fabric);
}

TEST(SparseCore, NothingIsStatedUnlessItIs) {
  EXPECT_FALSE(read(machine(""))->cores[0].sparse);
  auto plain = read(machine(", sparse { streaming = skip }"));
  ASSERT_TRUE(plain && plain->cores[0].sparse);
  SparseCore expected;
  expected.streaming.mode = SparseAcceleration::Mode::Skip;
  EXPECT_EQ(enumerateChoices(*plain->cores[0].sparse), enumerateChoices(expected));
}

TEST(SparseCore, KeptOfNeighbours) {
  auto weights = read(machine(", sparse nm(2, 4) { rate = 2, on = weights, metadata = 2 bit }"));
  ASSERT_TRUE(weights && weights->cores[0].sparse);
  SparseCore expected;
  expected.stationary = {SparseAcceleration::Mode::Skip, true, 2, 4, 1};
  expected.metadataBits = 2;
  EXPECT_EQ(enumerateChoices(*weights->cores[0].sparse), enumerateChoices(expected));
  auto activations = read(machine(", sparse nm(1, 4) { rate = 4, on = activations }"));
  ASSERT_TRUE(activations && activations->cores[0].sparse);
  expected = {};
  expected.streaming = {SparseAcceleration::Mode::Skip, true, 1, 4, 1};
  EXPECT_EQ(enumerateChoices(*activations->cores[0].sparse), enumerateChoices(expected));
}

TEST(SparseCore, LayersSideBySide) {
  auto made = read(machine("", "  dataflow { multipliers = 12288, multiplier_bits = 9 x 8 }\n"));
  ASSERT_TRUE(made && made->fabric);
  EXPECT_EQ(made->fabric->multipliers, 12288);
  EXPECT_EQ(made->fabric->multiplierRows, 9);
  EXPECT_EQ(made->fabric->multiplierColumns, 8);
  EXPECT_EQ(read(machine("", "  dataflow { multipliers = 1 }\n"))->fabric->multiplierColumns, 27);
}

TEST(SparseCore, WhatIsWrong) {
  for (const char *sparse :
       {", sparse { stationary = skipped }", ", sparse { tile = 0 }", ", sparse { lanes = 1.5 }",
        ", sparse { metadata = 2 }", ", sparse { gated_energy = 1.5 }", ", sparse { gated_energy = -1 }",
        ", sparse { rate = 2 }", ", sparse { setup_cycles = 3 us }", ", sparse { compress = weights }",
        ", sparse nm(4, 2) { }", ", sparse nm(2, 4) { rate = 1.5 }", ", sparse nm(2, 4) { lanes = 2 }",
        ", sparse mn(2, 4) { }", ", sparse { }, sparse nm(2, 4) { }"})
    EXPECT_FALSE(read(machine(sparse))) << sparse;
  for (const char *fabric :
       {"  dataflow { }\n", "  dataflow { multipliers = 0 }\n",
        "  dataflow { multipliers = 1, multiplier_bits = 18 }\n", "  dataflow = output_stationary\n",
        "  dataflow { multipliers = 1 }\n  dataflow { multipliers = 2 }\n"})
    EXPECT_FALSE(read(machine("", fabric))) << fabric;
}

TEST(SparseCore, DesignsAreWrittenAgain) {
  for (const std::string &sparse : {kAll, std::string(", sparse nm(2, 4) { rate = 2, setup_cycles = 8 cycles }")}) {
    Machines machines(
        machine(sparse, "  dataflow { multipliers = 64, multiplier_bits = 9 x 8 }\n", "{12 GB/s, 24 GB/s}"));
    auto made = machines.space("s");
    ASSERT_TRUE(made);
    const auto &space = *made;
    Design design = space.at(1);
    auto one = space.machine(design);
    ASSERT_TRUE(one);
    auto again = read(space.text(design));
    ASSERT_TRUE(again && again->cores[0].sparse && again->fabric) << space.text(design);
    EXPECT_EQ(enumerateChoices(*one->cores[0].sparse), enumerateChoices(*again->cores[0].sparse));
    EXPECT_EQ(again->fabric->multiplierRows, 9);
    EXPECT_EQ(again->memories[0].bandwidth.value, 24e9);
  }
}

// Data sheets of A100 and H100: twice the dense peak with 2:4 weights.
TEST(SparseCore, ShippedGpusSkipTwoOfFour) {
  for (auto [file, name] : {std::pair("a100", "a100_80g"), {"h100", "h100"}}) {
    Machines machines(std::filesystem::path(accord::sourcePath(fmt::format("lib/catalog/{}.accel", file))));
    auto made = machineFrom(machines[name]);
    ASSERT_TRUE(mlir::succeeded(made)) << name;
    const auto &sparsity = made->cores[0].sparse;
    ASSERT_TRUE(sparsity) << name;
    EXPECT_EQ(sparsity->stationary.mode, SparseAcceleration::Mode::Skip);
    EXPECT_TRUE(sparsity->stationary.compress);
    EXPECT_EQ(sparsity->stationary.kept, 2);
    EXPECT_EQ(sparsity->stationary.of, 4);
    EXPECT_EQ(sparsity->streaming.mode, SparseAcceleration::Mode::None);
  }
}
