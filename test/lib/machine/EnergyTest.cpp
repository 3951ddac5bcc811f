// Energies against the published numbers and by their properties.
#include "lib/machine/energy/Energy.h"
#include "lib/machine/energy/NodeScaling.h"
#include <gtest/gtest.h>

using namespace accord;
namespace {

const EnergyTable &table() { return EnergyTable::shipped(); }
constexpr double kPico = 1e-12, kNode45 = 45e-9;

TEST(Energy, PublishedArithmetic) {
  // Horowitz, ISSCC 2014, 45 nm: additions of int32 0.1, fp32 0.9 pJ; multiplications of int8 0.2, fp16 1.1, fp32 3.7
  // pJ.
  EXPECT_NE(table().flop("fp32", kNode45)->source.find("ISSCC 2014"), std::string::npos);
  // Half of a multiplication and an addition in the accumulator's type.
  EXPECT_NEAR(table().flop("fp32", kNode45)->value.value / kPico, (3.7 + 0.9) / 2, 1e-9);
  EXPECT_NEAR(table().flop("bf16", kNode45)->value.value / kPico, (1.1 + 0.9) / 2, 1e-9);
  EXPECT_NEAR(table().flop("int8", kNode45)->value.value / kPico, (0.2 + 0.1) / 2, 1e-9);
  EXPECT_FALSE(table().flop("fp7", kNode45));
}

TEST(Energy, PublishedMemories) {
  auto perAccess = [](double bytes) { // of 64 bit, in pJ
    return table().sram(Bytes(bytes), kNode45).value.value * 8 / kPico;
  };
  EXPECT_NEAR(perAccess(8 << 10), 10, 1e-9);
  EXPECT_NEAR(perAccess(32 << 10), 20, 1e-9);
  EXPECT_NEAR(perAccess(1 << 20), 100, 1e-9);
  EXPECT_NEAR(perAccess(16 << 10), std::sqrt(10.0 * 20), 1e-9); // half way on both scales
  EXPECT_EQ(perAccess(1024), perAccess(8 << 10));
  EXPECT_NEAR(perAccess(64 << 20), 100, 1e-9);
  for (double size = 1024; size < 1e8; size *= 1.3)
    EXPECT_LE(perAccess(size), perAccess(size * 1.3));
  auto perBit = [](const char *kind) { return table().dram(kind)->value.value / 8 / kPico; };
  EXPECT_NEAR(perBit("hbm2"), 3.9, 1e-9);
  EXPECT_NEAR(perBit("hbm2e"), 6.0, 1e-9);
  EXPECT_NEAR(perBit("gddr6"), 7.5, 1e-9);
  EXPECT_NEAR(perBit("gddr6x"), 7.25, 1e-9);
  EXPECT_NEAR(perBit("ddr3"), 1300.0 / 64, 1e-9);
  EXPECT_FALSE(table().dram("hbm9"));
  EXPECT_NEAR(table().registerFile().value.value / 8 / kPico, 0.021 / 16, 1e-9);
}

TEST(Energy, ScalesWithTheNode) {
  for (const char *type : {"fp16", "fp32", "fp64", "int8", "int4", "tf32", "fp8"}) {
    double at45 = table().flop(type, kNode45)->value.value;
    EXPECT_NEAR(table().flop(type, 7e-9)->value.value / at45, 0.094, 0.0005) << type;
    EXPECT_EQ(table().flop(type, 4e-9)->value.value, table().flop(type, 7e-9)->value.value);
  }
  EXPECT_GT(table().flop("fp64", kNode45)->value, table().flop("fp32", kNode45)->value);
}

Machine chip() {
  Machine machine;
  machine.name = "chip";
  Memory hbm, glb;
  hbm.name = "hbm", hbm.kind = "dram";
  glb.name = "glb", glb.kind = "scratchpad", glb.capacity = Bytes(1 << 20);
  machine.memories = {hbm, glb};
  Core tensor;
  tensor.name = "tc";
  tensor.peak["bf16"] = FlopsPerSecond(1e12);
  machine.cores = {tensor};
  return machine;
}

TEST(Energy, StatedNumbersWin) {
  Machine machine = chip();
  machine.memories[0].energy = JoulesPerByte(1e-12);
  machine.memories[0].origins["energy"] = {"1 pJ/B", "", {}};
  machine.energyPerFlop = JoulesPerFlop(3e-13);
  machine.origins["mac"] = {"0.6 pJ", "", {}};
  fillEnergies(machine, 7e-9);
  EXPECT_EQ(machine.memories[0].energy.value, 1e-12);
  EXPECT_EQ(energyPerFlop(machine, "bf16").value, 3e-13);
  std::vector<std::string> said = energyAssumptions(machine);
  ASSERT_EQ(said.size(), 1u); // of the scratchpad
  EXPECT_NE(said[0].find("'glb'"), std::string::npos);
  EXPECT_NE(said[0].find("Horowitz"), std::string::npos);
  // Stated as zero is stated as well.
  machine.memories[1].energy = JoulesPerByte(0);
  fillEnergies(machine, 7e-9);
  EXPECT_EQ(machine.memories[1].energy.value, 0);
}

TEST(Energy, FillsWhatIsNotStated) {
  Machine machine = chip();
  fillEnergies(machine, 0);
  EXPECT_TRUE(energyAssumptions(machine).empty());
  EXPECT_EQ(machine.memories[0].energy.value, 0);
  fillEnergies(machine, 16e-9, {{"hbm", "gddr6"}});
  EXPECT_NEAR(machine.memories[0].energy.value / 8 / kPico, 7.5, 1e-9);
  EXPECT_EQ(machine.energyPerFlopOf.size(), 1u); // the type that the core has
  EXPECT_GT(energyPerFlop(machine, "bf16").value, 0);
  EXPECT_EQ(energyPerFlop(machine, "fp32").value, 0);
  EXPECT_EQ(energyAssumptions(machine).size(), 3u);
}

TEST(Energy, PartsAddUp) {
  Machine machine = chip();
  machine.memories[0].energy = JoulesPerByte(31e-12);
  machine.memories[1].energy = JoulesPerByte(1e-12);
  machine.energyPerFlop = JoulesPerFlop(0.5e-12);
  machine.idle = Watts(10);
  OperationCost cost;
  cost.time = Seconds(1e-3);
  cost.bytes = {Bytes(1e6), Bytes(4e6)};
  cost.energy = Joules(2e9 * 0.5e-12 + 1e6 * 31e-12 + 4e6 * 1e-12); // 1 mJ, 31 uJ, 4 uJ
  EnergyBreakdown one = energyOf(cost, machine);
  EXPECT_NEAR(one.arithmetic.value, 1e-3, 1e-12);
  EXPECT_NEAR(one.memories[0].value, 31e-6, 1e-15);
  EXPECT_NEAR(one.memories[1].value, 4e-6, 1e-15);
  EXPECT_NEAR(one.idle.value, 10e-3, 1e-12);
  EXPECT_NEAR(one.total().value, 11.035e-3, 1e-12);

  WorkGraph graph;
  graph.microbatches = 3;
  graph.regions.resize(2);
  Operation op;
  graph.operations = {op, op};
  graph.operations[1].region = kUpdateRegion;
  Costs costs;
  costs.operations = {cost, cost};
  EnergyBreakdown step = stepEnergyBreakdown(graph, costs, machine, Seconds(5e-3));
  EXPECT_NEAR(step.arithmetic.value, 4e-3, 1e-12); // three micro-batches and the update
  EXPECT_NEAR(step.memories[0].value, 4 * 31e-6, 1e-12);
  EXPECT_NEAR(step.idle.value, 50e-3, 1e-12);
  EXPECT_NEAR(step.total().value, 4 * 1.035e-3 + 50e-3, 1e-9);
}

TEST(Energy, PowerAboveTheDesignPower) {
  Machine machine = chip();
  EnergyBreakdown energy;
  energy.arithmetic = Joules(3);
  energy.memories = {Joules(1), Joules(0)};
  energy.idle = Joules(1);
  EXPECT_FALSE(checkPower(energy, machine, Seconds(0.01))); // no design power is stated
  machine.tdp = Watts(500);
  EXPECT_FALSE(checkPower(energy, machine, Seconds(0.01))); // exactly
  EXPECT_FALSE(checkPower(energy, machine, Seconds(0)));
  auto error = checkPower(energy, machine, Seconds(0.005));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::PowerAboveLimit);
  EXPECT_NE(error->message.find("1000 W"), std::string::npos);
  EXPECT_NE(error->message.find("500 W"), std::string::npos);
}

TEST(Energy, TablesSayWhereTheyAreWrong) {
  auto codeOf = [](const std::string &row) {
    auto result = EnergyTable::read("part, type, size, energy, per, node, source\n" + row, "e.csv");
    auto *error = result.getError();
    return error ? numberOf(error->code) + " " + std::to_string(error->location.line) : "none";
  };
  EXPECT_EQ(codeOf("sram, , 8 KiB, 10 pJ, 64 bit, 45 nm, \"x, y\"\n"), "none");
  EXPECT_EQ(codeOf("sram, , 8 KiB, 10, 64 bit, 45 nm, x\n"), "A0202 2");
  EXPECT_EQ(codeOf("sram, , 8 KiB, 10 pJ, , 45 nm, x\n"), "A0203 2"); // per byte, or `per`
  EXPECT_EQ(codeOf("sram, , 8 KiB, 10 pJ, 64 bit, , x\n"), "A0301 2");
  EXPECT_EQ(codeOf("sram, , 8 KiB, 0 pJ, 64 bit, 45 nm, x\n"), "A0302 2");
  EXPECT_EQ(codeOf("stram, , 8 KiB, 10 pJ, 64 bit, 45 nm, x\n"), "A0305 2");
  EXPECT_EQ(codeOf(""), "A0103 1");
  for (const char *name : {"energy", "area", "scaling", "area_45nm"})
    EXPECT_FALSE(shippedTable(name).empty());
  EXPECT_TRUE(EnergyTable::read(shippedTable("energy"), "e"));
  EXPECT_TRUE(NodeScaling::read(shippedTable("scaling"), "s"));
  auto areas = Table::parse(shippedTable("area"), "a", {"part", "type", "area", "node", "source"});
  ASSERT_TRUE(areas);
  for (const TableRow &row : areas->rows())
    EXPECT_TRUE(areas->number(row, "area", Dimension::of(Base::Metre, 2)));
}

} // namespace
