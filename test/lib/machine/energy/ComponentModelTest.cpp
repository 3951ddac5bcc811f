// Components against what is published of them, and laws that areas and energies keep.
#include "lib/machine/energy/ComponentModel.h"
#include "lib/machine/energy/NodeScaling.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace accord;
namespace {

constexpr double kKiB = 1024, kUm2 = 1e-12;

Memory scratchpad(double bytes, int64_t banks, int64_t ports, double bytesPerCycle, double clock = 1e9) {
  Memory memory;
  memory.name = "m", memory.kind = "scratchpad";
  memory.capacity = Bytes(bytes), memory.banks = banks, memory.ports = ports;
  memory.bandwidth = BytesPerSecond(bytesPerCycle * clock);
  return memory;
}

std::string codeOf(const std::string &code, const Error *error) {
  return error ? numberOf(error->code) + " " + std::to_string(error->location.line) : code;
}

TEST(Components, CellsAreThePublishedOnes) {
  const std::pair<double, double> cells[] = {{65, 0.525}, {45, 0.346}, {28, 0.127}, {22, 0.092},
                                             {16, 0.07},  {10, 0.042}, {7, 0.027},  {5, 0.021}};
  double before = 1;
  for (auto [node, cell] : cells) {
    EXPECT_NEAR(ProcessTable::shipped().at(node * 1e-9).cell, cell * kUm2, 1e-20) << node;
    EXPECT_LT(cell, before);
    before = cell;
  }
  double between = ProcessTable::shipped().at(20e-9).cell;
  EXPECT_GT(between, 0.07 * kUm2);
  EXPECT_LT(between, 0.092 * kUm2);
  EXPECT_EQ(ProcessTable::shipped().at(130e-9).cell, ProcessTable::shipped().at(65e-9).cell);
  EXPECT_EQ(ProcessTable::shipped().at(3e-9).cell, ProcessTable::shipped().at(5e-9).cell);
}

// Stillmaker and Baas, Integration 58, 2017, as accelergy-library-plug-in tabulates it.
TEST(Components, LogicScalesAsPublished) {
  const std::pair<double, double> areas[] = {{130, 6.4}, {65, 1.5}, {45, 1}, {16, 0.19}, {7, 0.059}};
  for (auto [node, area] : areas)
    EXPECT_NEAR(NodeScaling::shipped().area(45e-9, node * 1e-9), area, 1e-12) << node;
  EXPECT_DOUBLE_EQ(NodeScaling::shipped().supply(16e-9, 1), 1);
  double at09 = 0.2958 * 0.81 - 0.1241 * 0.9 + 0.03024, at08 = 0.2958 * 0.64 - 0.1241 * 0.8 + 0.03024;
  EXPECT_NEAR(NodeScaling::shipped().supply(16e-9, 0.9 / 0.8), at09 / at08, 1e-12);
}

// Simba (Zimmer et al., VLSI 2019): 161 MHz at 0.42 V and 2 GHz at 1.2 V, 16 nm, 12.4 times.
TEST(Components, ClockFollowsTheSupply) {
  const ProcessTable &process = ProcessTable::shipped();
  EXPECT_NEAR(process.clockLimit(16e-9, 1), 3.1e9, 1);
  double ratio = process.clockLimit(16e-9, 1.2 / 0.8) / process.clockLimit(16e-9, 0.42 / 0.8);
  EXPECT_NEAR(ratio, 2000.0 / 161, 0.3 * 2000 / 161);
  EXPECT_EQ(process.clockLimit(16e-9, 0.4), 0);
  for (double share = 0.75, before = 0; share <= 1.3; share += 0.05) {
    double clock = process.clockLimit(28e-9, share);
    EXPECT_GT(clock, before);
    before = clock;
  }
}

// Horowitz's multiplier and adder, and 72 bits of NanGate's DFF_X1.
TEST(Components, ElementOfInt8At45nm) {
  ComponentModel model(45e-9, 1, 1e9);
  const double overhead = ComponentNumbers::shipped().logic;
  EXPECT_NEAR(*model.elementArea("int8"), (282 + 137 + 72 * 4.522) * overhead * kUm2, 1e-15);
  EXPECT_NEAR(*model.elementArea("fp16"), (1640 + 4184 + 112 * 4.522) * overhead * kUm2, 1e-15);
  double pitch = std::sqrt(*model.elementArea("int8") / overhead * ComponentNumbers::shipped().array) * 1e3; // mm
  double wires = 48 * pitch * 0.121e-12; // 0.9 V is nominal at 45 nm
  EXPECT_NEAR(*model.elementEnergy("int8"), (0.3e-12 + 72 * 3e-15 + wires) * ComponentNumbers::shipped().energy, 1e-16);
  EXPECT_FALSE(model.elementArea("bool"));
  EXPECT_FALSE(model.elementEnergy("bool"));
  // Two operands of 16 bit take four multipliers of 8 bit.
  EXPECT_NEAR(*model.elementArea("int16"), (4 * 282 + 137 + 112 * 4.522) * overhead * kUm2, 1e-15);
}

// Keckler et al., IEEE Micro 2011: 310 pJ for 256 bit over 10 mm at 40 nm and 0.9 V.
TEST(Components, WireIsThePublishedOne) {
  EXPECT_NEAR(ComponentNumbers::shipped().wire.value * 32 * 10e-3, 310e-12, 1e-12);
}

// Han et al., EIE, ISCA 2016: 128 KiB of 64 bit in 0.469 mm2 at 45 nm, without what a chip adds.
TEST(Components, MacroOfEie) {
  ComponentModel model(45e-9, 1, 0.8e9);
  double area = model.macroArea(scratchpad(128 * kKiB, 1, 1, 8, 0.8e9)) / ComponentNumbers::shipped().memory;
  EXPECT_NEAR(area * 1e6, 0.469, 0.05 * 0.469);
  // 4 KiB, read 256 bit at a time: 256 columns and 128 rows.
  double small = model.macroArea(scratchpad(4 * kKiB, 1, 1, 32, 0.8e9)) / ComponentNumbers::shipped().memory;
  EXPECT_NEAR(small, (32768 * (1 + 36.0 / 128) * (1 + 36.0 / 256) + 36 * (256 + 36)) * 0.346 * kUm2, 1e-16);
}

TEST(Components, MemoriesKeepTheirLaws) {
  std::mt19937 random(7);
  auto pow2 = [&](int low, int high) { return std::pow(2.0, low + int(random() % (high - low + 1))); };
  for (int i = 0; i < 2000; ++i) {
    double node = 5e-9 + 60e-9 * (random() % 1000) / 1000;
    ComponentModel model(node, 1, 1e9);
    double bytes = pow2(10, 26) * (1 + (random() % 8) / 8.0);
    int64_t banks = int64_t(pow2(0, 7)), ports = 1 + random() % 3;
    double width = double(1 + random() % 4096);
    Memory one = scratchpad(bytes, banks, ports, width);
    double area = model.macroArea(one), energy = model.macroEnergy(one), slack = 1e-12;
    EXPECT_GT(area, 0);
    EXPECT_GT(energy, 0);
    EXPECT_LE(area, model.macroArea(scratchpad(bytes * 1.5, banks, ports, width)) * (1 + slack));
    EXPECT_LT(area, model.macroArea(scratchpad(bytes, banks * 2, ports, width)));
    EXPECT_LT(area, model.macroArea(scratchpad(bytes, banks, ports + 1, width)));
    EXPECT_LT(area, model.macroArea(scratchpad(bytes, banks, ports, width * 1.5)));
    EXPECT_LE(energy, model.macroEnergy(scratchpad(bytes * 1.5, banks, ports, width)) * (1 + slack));
    EXPECT_GE(energy, model.macroEnergy(scratchpad(bytes, banks * 2, ports, width)) * (1 - slack));
    EXPECT_LE(energy, model.macroEnergy(scratchpad(bytes, banks, ports + 1, width)) * (1 + slack));
    ComponentModel larger(node * 1.2, 1, 1e9), higher(node, 1.1, 1e9);
    EXPECT_LE(area, larger.macroArea(one) * (1 + slack));
    EXPECT_LT(energy, higher.macroEnergy(one));
    EXPECT_LE(*model.elementArea("bf16"), *larger.elementArea("bf16") * (1 + slack));
    EXPECT_LT(*model.elementEnergy("bf16"), *higher.elementEnergy("bf16"));
    EXPECT_LT(*model.elementArea("int8"), *model.elementArea("int16"));
  }
}

// Vangal et al., JSSC 2008: 97 W of 80 tiles at 4.27 GHz and 1.07 V, of which a router and its links have 28 %; 0.34
// mm2 of 5 ports of 32 bit. A mesh of 8 x 10 passes 6 routers to another tile at the mean.
TEST(Components, MeshOfTeraflopsChip) {
  ComponentModel model(65e-9, 1, 4.27e9);
  InterconnectCost mesh = model.interconnect("mesh", 80, 80 * 32, 240e-6);
  double wider = std::sqrt(80) / 4;
  EXPECT_NEAR(mesh.area, 80 * 0.34e-6 * wider, 1e-9);
  double hops = 2 * (80 - 1) / (3 * std::sqrt(80));
  double published = 0.28 * 97 / 80 / (5 * 32 * 4.27e9) / 1.07 / 1.07 * 8; // joules of a byte and hop
  EXPECT_NEAR(mesh.joulesPerByte / hops, published, 0.25 * published);
}

// McKeown et al., HPCA 2018 (medium certainty): 11 pJ for half of 64 bits that switch over a hop of Piton, 32 nm.
TEST(Components, HopOfPiton) {
  ComponentModel model(32e-9, 1, 5e8);
  double hops = 2 * (25 - 1) / (3 * 5.0),
         perBit = model.interconnect("mesh", 25, 25 * 64, 35e-6).joulesPerByte / 8 / hops;
  EXPECT_GT(perBit, 11.16e-12 / 64 / 2);
  EXPECT_LT(perBit, 11.16e-12 / 64 * 2);
}

TEST(Components, InterconnectsKeepTheirLaws) {
  ComponentModel model(16e-9, 1, 1e9);
  for (const char *kind : {"bus", "ring", "mesh", "crossbar"})
    for (double cores : {1.0, 2.0, 16.0, 120.0, 1024.0}) {
      InterconnectCost one = model.interconnect(kind, cores, 8192, 400e-6);
      EXPECT_GE(one.area, 0) << kind;
      EXPECT_GT(one.joulesPerByte, 0) << kind;
      EXPECT_LE(one.area, model.interconnect(kind, cores * 2, 8192, 400e-6).area * (1 + 1e-12)) << kind;
      EXPECT_LE(one.area, model.interconnect(kind, cores, 16384, 400e-6).area) << kind;
      EXPECT_LE(one.joulesPerByte, model.interconnect(kind, cores, 8192, 800e-6).joulesPerByte) << kind;
    }
  // 8192 tracks of 80 nm each way; a bus has wires of the edge alone.
  InterconnectCost crossbar = model.interconnect("crossbar", 8, 8192, 400e-6),
                   bus = model.interconnect("bus", 8, 8192, 400e-6);
  EXPECT_NEAR(crossbar.area, std::pow(8192 * 80e-9, 2), 1e-12);
  EXPECT_NEAR(bus.joulesPerByte, 0.121e-12 * 8 * 20 * std::pow(0.8 / 0.9, 2), 1e-15);
}

TEST(Components, InterfacesAreWhole) {
  ComponentModel model(7e-9, 1, 1e9);
  Memory memory;
  memory.kind = "dram";
  memory.bandwidth = BytesPerSecond(614e9);
  const double fed = ComponentNumbers::shipped().interface;
  EXPECT_NEAR(model.interfaceArea(memory) * 1e6, 2 * 10.45 * fed, 1e-9); // hbm2 unless it is stated
  EXPECT_NEAR(model.interfaceEdge(memory) * 1e3, 2 * 6, 1e-9);
  memory.bandwidth = BytesPerSecond(615e9);
  EXPECT_NEAR(model.interfaceArea(memory) * 1e6, 3 * 10.45 * fed, 1e-9);
  EXPECT_NEAR(model.interfaceStandby(memory), 3 * InterfaceTable::shipped().find("hbm2")->standby, 1e-9);
  memory.origins["standard"] = {"none", "", {}};
  EXPECT_EQ(model.interfaceArea(memory), 0);
  EXPECT_EQ(model.macroArea(memory), 0);
  for (const char *type : {"hbm2", "hbm2e", "ddr3", "lpddr4", "lpddr5", "gddr6", "gddr6x", "pcie3", "serdes56"})
    EXPECT_TRUE(InterfaceTable::shipped().find(type)) << type;
}

TEST(Components, TablesSayWhereTheyAreWrong) {
  std::string areas =
      "part, type, area, node, source\nmultiply, int8, 282 um2, 45 nm, x\nmultiply, int32, 3495 um2, 45 nm, "
      "x\nmultiply, fp16, 1640 um2, 45 nm, x\nmultiply, fp32, 7700 um2, 45 nm, x\nadd, fp32, 4184 um2, "
      "45 nm, x\nadd, int32, 137 um2, 45 nm, x\n";
  std::string rows[] = {"register, area, 45 nm, 4.5 um2, 0.2, x\n",
                        "register, energy, 45 nm, 3 fJ, 0.2, x\n",
                        "wire, energy, 40 nm, 0.1 pJ/bit, 0.2, x\n",
                        "periphery, rows, , 36, 0.2, x\n",
                        "port, area, , 0.6, 0.2, x\n",
                        "overhead, logic, , 5, 0.2, x\n",
                        "overhead, memory, , 4, 0.2, x\n",
                        "overhead, energy, , 1, 0.2, x\n",
                        "overhead, interface, , 3, 0.2, x\n",
                        "clock, share, , 0.1, 0.2, x\n",
                        "array, area, , 2, 0.2, x\n",
                        "router, area, 65 nm, 2000 um2, 0.2, x\n",
                        "router, energy, 65 nm, 0.2 pJ/bit, 0.2, x\n",
                        "track, nodes, , 5, 0.2, x\n"};
  auto with = [&](int row, const std::string &text) {
    std::string all = "part, type, node, value, error, source\n";
    for (size_t i = 0; i < std::size(rows); ++i)
      all += int(i) == row ? text : rows[i];
    auto read = ComponentNumbers::read(all, areas, "c.csv", "a.csv");
    return codeOf("none", read.getError());
  };
  EXPECT_EQ(with(-1, ""), "none");
  EXPECT_EQ(with(0, ""), "A0103 1");
  EXPECT_EQ(with(0, "register, area, 45 nm, 4.5, 0.2, x\n"), "A0202 2");
  EXPECT_EQ(with(0, "register, area, 45 nm, 4.5 mm, 0.2, x\n"), "A0203 2");
  EXPECT_EQ(with(0, "register, area, 45 nm, 0 um2, 0.2, x\n"), "A0302 2");
  EXPECT_EQ(with(1, "register, energy, 45 nm, -3 fJ, 0.2, x\n"), "A0302 3");
  EXPECT_EQ(with(2, "wires, energy, 40 nm, 0.1 pJ/bit, 0.2, x\n"), "A0305 4");
  EXPECT_EQ(with(3, "periphery, rows, , 36, 0.2, x\nperiphery, rows, , 36, 0.2, x\n"), "A0302 6");
  EXPECT_EQ(with(4, "port, area, , 0.6, 0.2\n"), "A0103 6");
  EXPECT_EQ(with(5, "overhead, logic, , 5, 0, x\n"), "A0302 7");

  auto process = [&](const std::string &text) {
    auto read = ProcessTable::read("node, cell, supply, threshold, clock, leakage, error, source\n" + text, "p.csv");
    return codeOf("none", read.getError());
  };
  const std::string good = "45 nm, 0.3 um2, 0.9, 0.35, 1 GHz, 0.01 W/mm2, 0.1, x\n";
  EXPECT_EQ(process(good), "none");
  EXPECT_EQ(process(""), "A0103 1");
  EXPECT_EQ(process(good + good), "A0302 3"); // nodes get smaller
  EXPECT_EQ(process("45 nm, 0.3 um2, 0.3, 0.35, 1 GHz, 0.01 W/mm2, 0.1, x\n"), "A0302 2");
  EXPECT_EQ(process("45 nm, 0.3 um2, 0.9, 0.35, 1 ns, 0.01 W/mm2, 0.1, x\n"), "A0203 2");

  auto interfaces = [&](const std::string &text) {
    auto read = InterfaceTable::read("type, area, edge, bandwidth, energy, standby, error, source\n" + text, "i.csv");
    return codeOf("none", read.getError());
  };
  const std::string one = "hbm, 10 mm2, 6 mm, 300 GB/s, 0 pJ/bit, 5 W, 0.3, x\n";
  EXPECT_EQ(interfaces(one), "none");
  EXPECT_EQ(interfaces(one + one), "A0302 3");
  EXPECT_EQ(interfaces("hbm, 10 mm2, 0 mm, 300 GB/s, 0 pJ/bit, 5 W, 0.3, x\n"), "A0302 2");
  EXPECT_EQ(interfaces("hbm, 10 mm2, 6 mm, 300 GB/s, 0 pJ/bit, -5 W, 0.3, x\n"), "A0302 2");
  EXPECT_EQ(interfaces("hbm, 10 mm2, 6 mm, 300 GB/s, 0 pJ/bit, 5, 0.3, x\n"), "A0202 2");
  EXPECT_EQ(interfaces(""), "A0103 1");
  // What is shipped is right.
  EXPECT_TRUE(ComponentNumbers::read(shippedTable("components"), shippedTable("area"), "c", "a"));
  EXPECT_TRUE(ProcessTable::read(shippedTable("process"), "p"));
  EXPECT_TRUE(InterfaceTable::read(shippedTable("interfaces"), "i"));
}

TEST(Components, WhatIsMissingIsSaid) {
  Machine machine;
  machine.name = "c";
  ComponentRule rule;
  rule.area = true;
  EXPECT_EQ(applyComponents(rule, machine)->code, Code::NoProcess);
  rule.node = 7e-9;
  EXPECT_EQ(applyComponents(rule, machine)->code, Code::NoProcess); // no clock
  machine.clock = Hertz(1e9);
  EXPECT_FALSE(applyComponents(rule, machine));
  for (double node : {3e-9, 5e-9, 65e-9}) {
    rule.node = node;
    EXPECT_FALSE(applyComponents(rule, machine)) << node;
  }
  for (double node : {1e-9, 90e-9, 1e-3}) {
    rule.node = node;
    EXPECT_EQ(applyComponents(rule, machine)->code, Code::AreaNotCovered) << node;
  }
  rule.node = 7e-9;
  machine.cores.emplace_back().name = "peaks";
  EXPECT_EQ(applyComponents(rule, machine)->code, Code::AreaNotCovered);
}

} // namespace
