// Spaces of cores at the level of instructions: what choices make of a machine, bounds of boxes against every design in
// them, and the exact search against all designs.
#include "lib/exploration/output/MiningSpace.h"
#include "lib/exploration/steps/StepProblem.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/verify/MachineDifferences.h"
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include "test/support/DesignSpaceFixture.h"
#include "test/support/SourcePath.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <variant>

using namespace accord;
using namespace accord::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Scalar, with multiply-accumulates, additions, and counters of loops.
const std::string kCore = R"(
microarchitecture tiny(units = 1, ports = 1, buffer = 4, latency = 3 cycles, window = 8) {
  window = window
  opcode load { writes = 1, loads = 1, does = load }
  opcode store { reads = 1, stores = 1, does = store }
  opcode constant { writes = 1, immediates = 1, does = constant }
  opcode move { reads = 1, writes = 1, does = move }
  opcode add { reads = 2, writes = 1, does = add }
  opcode multiply { reads = 2, writes = 1, does = multiply }
  opcode mac { reads = 3, writes = 1, does = multiply_add }
  opcode max { reads = 2, writes = 1, does = max }
  opcode step { reads = 1, writes = 1, immediates = 1, does = add_immediate }
  opcode branch { reads = 2, redirects = true, does = branch }
  fetch front { width = 2, buffer = buffer, to = issue }
  execute issue { capacity = 2 * units, width = 2, units = {alu, port} }
  unit alu[units] {
    entries = 2, reads = r, writes = r
    operation constant { latency = 1 }
    operation move { latency = 1 }
    operation add { latency = latency }
    operation multiply { latency = latency }
    operation mac { latency = 1 cycle + latency }
    operation max { latency = 1 }
    operation step { latency = 1 }
    operation branch { latency = 1 }
  }
  unit port {
    entries = 2, reads = r, writes = r, loads = mem, stores = mem
    operation load { latency = 1 + bytes / (4 * ports) }
    operation store { latency = 1 }
  }
  registers r[24] { width = 32 bit, read_ports = 2 + ports }
  memory mem { size = 1 MiB, port_width = 4 B, ports = ports, requests = 2, read_latency = 2 cycles }
}
)";
std::string chip(const std::string &core, const std::string &more = "") {
  return kCore + R"(
accelerator s {
  clock = 1 GHz
  memory dram : dram { capacity = 1 GiB, bandwidth = 64 GB/s, energy = 10 pJ/bit }
  core c : vector { types = {fp32}, )" +
         core + R"( }
  path dram -> c
  power { mac = 1 pJ, idle = 1 mW }
  )" + more +
         "\n}\n";
}
const char *const kOpen = "microarchitecture = tiny(units = {1, 2, 4}, ports = 1..2, buffer = pow2 1..4, "
                          "latency = 1..3 cycles)";

DesignSpace spaceOf(const std::string &text) {
  Machines machines(text);
  auto made = machines.space("s");
  if (!made) {
    for (const Error &error : made.error())
      ADD_FAILURE() << error.code << " " << error.message << " at " << error.location.line;
    std::abort();
  }
  return std::move(*made);
}

std::vector<std::string> namesOf(const DesignSpace &space) {
  std::vector<std::string> names;
  for (const DesignParameter &parameter : space.parameters())
    names.push_back(parameter.name);
  return names;
}

Operation product(int64_t rows, int64_t columns, int64_t depth) {
  Operation op;
  op.name = "product", op.kind = "matmul", op.type = "fp32";
  op.core = CoreKind::Tensor, op.contraction = true;
  op.flops = 2 * rows * columns * depth;
  op.bytesRead = 4 * (rows * depth + depth * columns), op.bytesWritten = 4 * rows * columns;
  op.domain = {{rows, IteratorKind::Parallel}, {columns, IteratorKind::Parallel}, {depth, IteratorKind::Reduction}};
  auto tensor = [](bool written, std::vector<std::pair<uint32_t, int64_t>> dimensions) {
    LoopTensor made;
    made.elementBits = 32, made.written = written;
    for (auto [loop, size] : dimensions) {
      made.dimensions.push_back({{loop, 1}});
      made.sizes.push_back(size);
    }
    return made;
  };
  op.tensors = {tensor(false, {{0, rows}, {2, depth}}), tensor(false, {{2, depth}, {1, columns}}),
                tensor(true, {{0, rows}, {1, columns}})};
  return op;
}
Operation rectified(int64_t points) {
  Operation op;
  op.name = "relu", op.kind = "relu", op.type = "fp32";
  op.core = CoreKind::Vector;
  op.flops = points, op.bytesRead = op.bytesWritten = 4 * points;
  op.domain = {{points, IteratorKind::Parallel}};
  return op;
}
StepWork work() {
  WorkGraph graph;
  graph.regions.resize(2);
  graph.microbatches = 1, graph.microbatch = 1;
  for (Operation op : {product(6, 5, 7), rectified(30), product(3, 9, 4)}) {
    graph.regions[kMicrobatchRegion].operations.push_back(graph.operations.size());
    op.region = kMicrobatchRegion;
    graph.operations.push_back(std::move(op));
  }
  return StepWork(std::move(graph));
}
StepProblem problemOf(const DesignSpace &space) {
  return StepProblem(space, {{"step", {{"", std::make_shared<StepWork>(work())}}, 1}}, MiningMetric::StepTime);
}

TEST(InstructionSpace, ChoicesOfParametersAreThoseOfTheCore) {
  DesignSpace space = spaceOf(chip(kOpen));
  EXPECT_THAT(namesOf(space), ElementsAre("c.units", "c.ports", "c.buffer", "c.latency"));
  EXPECT_EQ(space.points(), 54u);
  for (uint64_t point : {0, 17, 53}) {
    Design design = space.at(point);
    auto made = space.machine(design);
    ASSERT_TRUE(made) << made.error().message;
    const auto &core = *made->cores[0].microarchitecture;
    auto number = [&](size_t p) { return int64_t(space.parameters()[p].numbers[design[p]]); };
    EXPECT_EQ(core.units[0].count, number(0));
    EXPECT_EQ(core.stages[0].capacity, 2 * number(0));
    EXPECT_EQ(core.storages[0].ports, number(1));
    EXPECT_EQ(core.registers[0].readPorts, 2 + number(1));
    EXPECT_EQ(core.fetch.buffer, number(2));
    EXPECT_EQ(core.window, 8);
  }
}

TEST(InstructionSpace, ChoicesMayStandInTheCoreItself) {
  std::string body = kCore.substr(kCore.find('{') + 1);
  body = body.substr(0, body.rfind('}'));
  for (auto [from, to] : {std::pair("window = window", "window = {4, 8}"),
                          {"alu[units]", "alu[1..2]"},
                          {"capacity = 2 * units", "capacity = 2 * c.alu.count"},
                          {"buffer = buffer", "buffer = 4"},
                          {"latency = latency", "latency = 2"},
                          {"latency = latency", "latency = 2"},
                          {"1 cycle + latency", "3"},
                          {"2 + ports", "3"},
                          {"4 * ports", "4"},
                          {"ports = ports", "ports = 1"},
                          {"mem { size", "mem { banks = pow2 1..2, size"}}) {
    size_t at = body.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    body.replace(at, std::string(from).size(), to);
  }
  DesignSpace space = spaceOf(chip("microarchitecture {" + body + "}"));
  EXPECT_THAT(namesOf(space), ElementsAre("c.microarchitecture.window", "c.alu.count", "c.mem.banks"));
  auto made = space.machine({1, 1, 1});
  ASSERT_TRUE(made) << made.error().message;
  const auto &core = *made->cores[0].microarchitecture;
  EXPECT_EQ(core.window, 8);
  EXPECT_EQ(core.stages[0].capacity, 4);
  EXPECT_EQ(core.storages[0].banks, 2);
}

TEST(InstructionSpace, EachDesignIsWrittenAndReadAlike) {
  DesignSpace space = spaceOf(chip(kOpen));
  auto read = MiningSpace::read(space.source());
  auto *again = std::get_if<std::unique_ptr<MiningSpace>>(&read);
  ASSERT_TRUE(again) << std::get<std::string>(read);
  ASSERT_TRUE((*again)->arrange(namesOf(space)));
  for (uint64_t point = 0; point < *space.points(); point += 7) {
    Design design = space.at(point);
    Machine machine = *space.machine(design);
    const Machine *nearly = (*again)->nearly(design);
    ASSERT_TRUE(nearly);
    EXPECT_EQ(differs(machine, *nearly), "");
    auto exactly = (*again)->exactly(design);
    ASSERT_TRUE(std::get_if<Machine>(&exactly)) << std::get<std::string>(exactly);
    EXPECT_EQ(differs(machine, std::get<Machine>(exactly)), "");
    const std::string text = space.text(design);
    EXPECT_THAT(text, HasSubstr("// c.units = "));
    Machines written(text);
    accel::AcceleratorOp op = written["s"];
    ASSERT_TRUE(op) << text;
    auto alone = machineFrom(op);
    ASSERT_TRUE(mlir::succeeded(alone)) << text;
    EXPECT_EQ(differs(*alone, machine), "") << text;
  }
}

TEST(InstructionSpace, NoDesignIsFasterThanTheBoundOfItsBox) {
  DesignSpace space = spaceOf(chip(kOpen));
  StepProblem problem = problemOf(space);
  std::mt19937 random(3);
  double ratio = 0, sum = 0;
  for (int i = 0; i < 60; ++i) {
    Design design = someDesign(space, random);
    const double value = problem.value(design);
    ASSERT_TRUE(std::isfinite(value)) << i;
    double before = 0;
    for (const DesignBox &box : boxesAround(space, design, random)) {
      const double bound = problem.bound(box);
      ASSERT_GE(bound, before * (1 - 1e-9)) << i;
      before = bound;
    }
    ASSERT_GT(before, 0) << i;
    ASSERT_LE(before, value) << i;
    ratio += before / value, sum += 1;
  }
  EXPECT_GT(ratio / sum, 0.7); // else it would rule little out
}

/// Random boxes of the 10,000 designs of example 15, each against every design in it, up to some hundreds.
TEST(InstructionSpace, NoDesignOfTheExampleIsFasterThanTheBoundOfItsBox) {
  std::string text;
  for (const char *name : {"ember.accel", "space.accel"}) {
    std::ifstream file(accord::sourcePath("examples/15-microarchitecture/") + name);
    for (std::string line; std::getline(file, line);)
      text += line.rfind("import", 0) == 0 ? "" : line + "\n";
  }
  ASSERT_NE(text.find("accelerator embers"), std::string::npos);
  Machines machines(text);
  auto space = machines.space("embers");
  ASSERT_TRUE(space);
  StepProblem problem = problemOf(*space);
  std::mt19937 random(15);
  for (int i = 0; i < 25; ++i) {
    DesignBox box;
    for (const DesignParameter &parameter : space->parameters()) {
      const uint32_t count = parameter.labels.size(), low = random() % count;
      box.low.push_back(low), box.high.push_back(std::min<uint32_t>(low + random() % 4, count - 1));
    }
    const double bound = problem.bound(box);
    int compared = 0;
    for (Design design = box.low; compared < 200; ++compared) {
      ASSERT_LE(bound, problem.value(design)) << i << " " << compared;
      size_t p = 0; // the next design of the box
      while (p < design.size() && design[p] == box.high[p])
        design[p] = box.low[p], ++p;
      if (p == design.size())
        break;
      ++design[p];
    }
  }
}

/// Timings are taken from other machines where nothing waited for what these have less of.
TEST(InstructionSpace, KnownTimesAreThoseOfEachMachine) {
  std::string text = chip("microarchitecture = tiny(units = 1..2, ports = 1..3, buffer = 1..8, latency = 1..3 cycles, "
                          "window = 1..12)");
  DesignSpace space = spaceOf(text);
  StepProblem shared = problemOf(space);
  std::mt19937 random(9);
  for (int i = 0; i < 250; ++i) {
    Design design = someDesign(space, random);
    StepProblem fresh = problemOf(space);
    ASSERT_EQ(shared.value(design), fresh.value(design)) << i;
  }
}

TEST(InstructionSpace, TheExactSearchFindsTheBestOfAllDesigns) {
  for (const std::string &more : {std::string(), std::string("area = 0.1 mm2 + c.units * 0.2 mm2 + c.ports * 0.3 mm2\n"
                                                             "  require area <= 0.9 mm2")}) {
    DesignSpace space = spaceOf(chip(kOpen, more));
    StepProblem problem = problemOf(space);
    double best = INFINITY;
    for (uint64_t point = 0; point < *space.points(); ++point)
      best = std::min(best, problem.value(space.at(point)));
    StepProblem fresh = problemOf(space);
    MiningResult found = mineExactly(fresh, {});
    ASSERT_TRUE(found.best) << more;
    EXPECT_EQ(found.value, best) << more;
    if (more.empty())
      continue;
    EXPECT_LT(found.evaluations, *space.points());
    EXPECT_LE(space.machine(*found.best)->area.squareMillimetres(), 0.9 + 1e-12);
  }
}

TEST(InstructionSpace, SaysWhatCannotBeAChoice) {
  EXPECT_THAT(firstError(chip("microarchitecture = tiny(units = {})")), StartsWith("A0303 'units' has no value"));
  EXPECT_THAT(firstError(chip("microarchitecture = tiny(units = {1, 2 cycles})")), StartsWith("A0204 "));
  EXPECT_THAT(firstError(chip("microarchitecture = tiny(units = {one, two})")), StartsWith("A0104 "));
  EXPECT_THAT(firstError(chip("microarchitecture = tiny(units = {0, 1})")), HasSubstr("A1301 "));
  std::string named = chip("lanes = 4, microarchitecture = tiny(lanes = {1, 2})");
  for (auto [from, to] :
       {std::pair("tiny(units", "tiny(lanes"), {"2 * units", "2 * lanes"}, {"alu[units]", "alu[lanes]"}})
    named.replace(named.find(from), std::string(from).size(), to);
  EXPECT_THAT(firstError(named), StartsWith("A0105 'c.lanes' is a value of core 'c' itself"));
}

} // namespace
