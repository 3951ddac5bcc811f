// The picture of a core: every part and edge is in it, nothing covers anything else, names are never markup.
#include "lib/microarchitecture/output/BlockDiagram.h"
#include "lib/microarchitecture/output/DiagramLayout.h"
#include "lib/microarchitecture/output/MicroarchitecturePage.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/lib/microarchitecture/OmaMachine.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>

using namespace accord;
using namespace accord::microarchitecture;
namespace {

/// Elements of an XML text by name, and what is wrong with it: a scanner of tags, attributes and entities.
struct XmlScan {
  std::map<std::string, int> elements;
  std::vector<std::string> titles;
  std::string wrong;
};

bool isEntity(const std::string &text, size_t at) {
  return std::ranges::any_of(std::vector<std::string>{"&lt;", "&gt;", "&amp;", "&quot;"},
                             [&](const std::string &entity) { return text.compare(at, entity.size(), entity) == 0; });
}

std::string unescaped(std::string text) {
  for (const auto &[entity, is] :
       std::vector<std::pair<std::string, std::string>>{{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}})
    for (size_t at = 0; (at = text.find(entity, at)) != std::string::npos; at += is.size())
      text.replace(at, entity.size(), is);
  return text;
}

XmlScan scan(const std::string &text) {
  XmlScan found;
  std::vector<std::string> open;
  size_t begin = 0; // of the text since the last tag
  for (size_t at = 0; at < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 && c != '\n')
      found.wrong = "control character";
    if (c == '&' && !isEntity(text, at))
      found.wrong = "bare &";
    if (c != '<') {
      ++at;
      continue;
    }
    const size_t end = text.find('>', at);
    if (end == std::string::npos) {
      found.wrong = "open tag";
      return found;
    }
    std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) {
        found.wrong = "closes " + tag;
        return found;
      }
      if (open.back() == "title")
        found.titles.push_back(unescaped(text.substr(begin, at - begin)));
      open.pop_back();
    } else {
      const std::string name = tag.substr(0, tag.find_first_of(" /"));
      ++found.elements[name];
      if (std::ranges::count(tag, '"') % 2 != 0 || tag.find('<') != std::string::npos)
        found.wrong = "attributes of " + name;
      if (!tag.ends_with("/"))
        open.push_back(name);
    }
    at = begin = end + 1;
  }
  if (!open.empty())
    found.wrong = "never closes " + open.back();
  return found;
}

bool overlap(const DiagramBox &a, const DiagramBox &b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
bool contains(const DiagramBox &a, const DiagramBox &b) {
  return a.x < b.x && b.x + b.width < a.x + a.width && a.y < b.y && b.y + b.height < a.y + a.height;
}
/// Whether a line of a net runs through the inside of a box.
bool crosses(const DiagramNet &net, const DiagramBox &box) {
  for (const DiagramNet::Line &line : net.lines)
    for (size_t i = 0; i + 1 < line.points.size(); ++i) {
      const auto [x1, x2] = std::minmax(line.points[i].x, line.points[i + 1].x);
      const auto [y1, y2] = std::minmax(line.points[i].y, line.points[i + 1].y);
      if (x1 < box.x + box.width && box.x < x2 + (x1 == x2) && y1 < box.y + box.height && box.y < y2 + (y1 == y2) &&
          (x1 != x2 || x1 > box.x) && (y1 != y2 || y1 > box.y))
        return true;
    }
  return false;
}

/// Whether two nets run upon each other for more than a point.
bool runTogether(const DiagramNet &a, const DiagramNet &b) {
  auto pieces = [](const DiagramNet &net, bool horizontal) {
    std::vector<std::array<int32_t, 3>> all; // place, from, until
    for (const DiagramNet::Line &line : net.lines)
      for (size_t i = 0; i + 1 < line.points.size(); ++i) {
        const DiagramPoint p = line.points[i], q = line.points[i + 1];
        if (horizontal && p.y == q.y)
          all.push_back({p.y, std::min(p.x, q.x), std::max(p.x, q.x)});
        if (!horizontal && p.x == q.x)
          all.push_back({p.x, std::min(p.y, q.y), std::max(p.y, q.y)});
      }
    return all;
  };
  for (bool horizontal : {false, true})
    for (const auto &p : pieces(a, horizontal))
      for (const auto &q : pieces(b, horizontal))
        if (p[0] == q[0] && std::max(p[1], q[1]) < std::min(p[2], q[2]))
          return true;
  return false;
}

/// All properties of a picture that do not depend on the machine.
void expectDrawn(const Microarchitecture &machine, const InstructionTiming *timing) {
  const Diagram diagram = diagramOf(machine, timing);
  const DiagramLayout layout = layoutOf(diagram);
  ASSERT_EQ(layout.boxes.size(), diagram.parts.size());
  size_t members = 0;
  for (size_t p = 0; p < diagram.parts.size(); ++p) {
    const DiagramPart &part = diagram.parts[p];
    const DiagramBox &box = layout.boxes[p];
    members += part.members.size();
    EXPECT_TRUE(box.x >= 0 && box.y >= 0 && box.x + box.width <= layout.width && box.y + box.height <= layout.height);
    for (const DiagramText &line : part.text)
      EXPECT_LE(textWidth(line.left, kTextSize, false) + textWidth(line.right, kTextSize, false), box.width - 16)
          << line.left << " " << line.right;
    for (size_t q = 0; q < p; ++q) {
      if (part.stage == int32_t(q))
        EXPECT_TRUE(contains(layout.boxes[q], box)) << part.name;
      else
        EXPECT_FALSE(overlap(layout.boxes[q], box)) << part.name << " " << diagram.parts[q].name;
    }
    for (const DiagramNet &net : layout.nets)
      if (!part.isExecute)
        EXPECT_FALSE(crosses(net, box)) << part.name;
  }
  EXPECT_EQ(members,
            1 + machine.stages.size() + machine.units.size() + machine.registers.size() + machine.storages.size());
  for (size_t a = 0; a < layout.nets.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      EXPECT_FALSE(runTogether(layout.nets[a], layout.nets[b])) << a << " " << b;

  const std::string svg = blockDiagram(machine, timing);
  EXPECT_EQ(svg, blockDiagram(machine, timing));
  const XmlScan is = scan(svg);
  EXPECT_EQ(is.wrong, "");
  std::string titles;
  for (const std::string &title : is.titles)
    titles += title + "\n";
  constexpr const char *kWords[] = {"goes to", "reads", "writes", "loads from", "stores to", "is a cache of"};
  for (const DiagramEdge &edge : diagram.edges)
    EXPECT_NE(titles.find(diagram.parts[edge.from].name + " " + kWords[size_t(edge.kind)] + " " +
                          diagram.parts[edge.to].name),
              std::string::npos)
        << diagram.parts[edge.from].name << " " << kWords[size_t(edge.kind)];
}

/// An array of multipliers that pass operands on, with a feeder for each row.
Microarchitecture meshMachine(int32_t side) {
  Microarchitecture made;
  made.name = "mesh", made.window = 64, made.fetch = {"front", 8, 32, 1, 0, {}};
  made.opcodes = {{"feed", 0, 1, 0, 1, 0, false, {}}, {"mac", 2, 2, 0, 0, 0, false, {}}};
  made.stages = {{"decode", 16, 8, cycles(1), {1}, {}, {}}, {"compute", 16, 16, cycles(1), {}, {}, {}}};
  Storage pad;
  pad.name = "pad", pad.end = 1 << 16;
  made.storages = {pad};
  auto add = [&](Unit unit, Index opcode) {
    unit.operations = {{opcode, cycles(1), cycles(1), {}}};
    made.stages[1].units.push_back(Index(made.units.size()));
    made.units.push_back(unit);
  };
  auto file = [&](const std::string &name) {
    made.registers.push_back({name, 1, 16, 0, 0, false, {}});
    return Index(made.registers.size()) - 1;
  };
  for (int32_t row = 0; row < side; ++row) {
    const std::string of = std::to_string(row);
    Unit port;
    port.name = "rows_" + of + "_port", port.writes = {file("rows_" + of + "_v")}, port.loadsFrom = {0};
    add(port, 0);
    Index west = port.writes[0];
    for (int32_t column = 0; column < side; ++column) {
      const std::string at = "mesh_" + of + "_" + std::to_string(column) + "_";
      const Index a = file(at + "a"), acc = file(at + "acc");
      Unit mac;
      mac.name = at + "mac", mac.reads = {west, acc}, mac.writes = {a, acc};
      add(mac, 1);
      west = a;
    }
  }
  return made;
}

const DiagramPart &named(const Diagram &diagram, const std::string &name) {
  const auto at = std::ranges::find(diagram.parts, name, &DiagramPart::name);
  EXPECT_NE(at, diagram.parts.end()) << name;
  return at == diagram.parts.end() ? diagram.parts[0] : *at;
}

InstructionTiming timingOf(const Microarchitecture &machine, SplitMix random) {
  InstructionTiming timing;
  timing.cycles = 1000, timing.instructions = 700;
  for (const Unit &unit : machine.units)
    timing.units.push_back({10, __int128(random.next() % 1000) * unit.count});
  for (size_t s = 0; s < machine.storages.size(); ++s)
    timing.storages.push_back({__int128(random.next() % 1000), 75, 25, 3});
  return timing;
}

TEST(BlockDiagram, KnownMachines) {
  for (const Microarchitecture &machine :
       {omaMachine(), KernelMachine({}).scalar(), KernelMachine({}).vector(), KernelMachine({}).tiles()}) {
    expectDrawn(machine, nullptr);
    const InstructionTiming timing = timingOf(machine, SplitMix(5));
    expectDrawn(machine, &timing);
  }
}

TEST(BlockDiagram, RandomMachines) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    MachineCases cases(seed);
    Microarchitecture machine = cases.machine();
    if (seed % 2)
      tangle(machine, cases);
    const InstructionTiming timing = timingOf(machine, SplitMix(seed));
    expectDrawn(machine, seed % 3 ? &timing : nullptr);
    if (HasFailure())
      FAIL() << "seed " << seed;
  }
}

TEST(BlockDiagram, CopiesAreOneBlock) {
  const Diagram diagram = diagramOf(meshMachine(5), nullptr);
  EXPECT_EQ(diagram.parts.size(), 1u + 2 + 2 + 3 + 1);
  const DiagramPart &mac = named(diagram, "mesh.mac");
  EXPECT_EQ(mac.members.size(), 25u);
  EXPECT_EQ(mac.grid.rows, 5);
  EXPECT_EQ(mac.grid.columns, 5);
  EXPECT_NE(mac.detail.find("a from west"), std::string::npos);
  EXPECT_EQ(named(diagram, "rows.port").members.size(), 5u);
  expectDrawn(meshMachine(5), nullptr);
}

TEST(BlockDiagram, UnitsInTheOrderOfTheirStage) {
  Microarchitecture machine = KernelMachine({}).vector();
  std::ranges::reverse(machine.stages[1].units);
  const Diagram diagram = diagramOf(machine, nullptr);
  const DiagramLayout layout = layoutOf(diagram);
  int32_t last = INT32_MAX;
  for (const Unit &unit : machine.units) {
    const int32_t y = layout.boxes[size_t(&named(diagram, unit.name) - diagram.parts.data())].y;
    EXPECT_LT(y, last) << unit.name;
    last = y;
  }
}

TEST(BlockDiagram, CopiesThatDifferAreApart) {
  Microarchitecture machine = meshMachine(3);
  for (Unit &unit : machine.units)
    if (unit.name == "mesh_1_1_mac")
      unit.entries = 7;
  const Diagram diagram = diagramOf(machine, nullptr);
  EXPECT_EQ(named(diagram, "mesh.mac").members.size(), 8u);
  EXPECT_EQ(named(diagram, "mesh.mac").grid.use[4], kNoCell);
  EXPECT_EQ(named(diagram, "mesh_1_1_mac").members.size(), 1u);
}

TEST(BlockDiagram, EachCellHasItsShade) {
  const Microarchitecture machine = meshMachine(3);
  InstructionTiming timing;
  timing.cycles = 100;
  for (size_t u = 0; u < machine.units.size(); ++u)
    timing.units.push_back({1, __int128(u)});
  const DiagramPart mac = named(diagramOf(machine, &timing), "mesh.mac");
  ASSERT_EQ(mac.grid.use.size(), 9u);
  double sum = 0;
  for (size_t i = 0; i < 9; ++i) {
    // Each row is a port and then its three multipliers.
    const double expected = double(i / 3 * 4 + 1 + i % 3) / 100;
    EXPECT_DOUBLE_EQ(mac.grid.use[i], expected);
    sum += expected;
  }
  EXPECT_NEAR(mac.use, sum / 9, 1e-12);
}

TEST(BlockDiagram, LargeArraysStaySmall) {
  const Microarchitecture machine = meshMachine(32);
  const InstructionTiming timing = timingOf(machine, SplitMix(9));
  EXPECT_LT(blockDiagram(machine, &timing).size(), 200'000u);
  EXPECT_LT(blockDiagram(meshMachine(100)).size(), 200'000u);
  const Diagram large = diagramOf(meshMachine(100), nullptr);
  EXPECT_EQ(named(large, "mesh.mac").grid.step, 2);
  EXPECT_EQ(named(large, "mesh.mac").grid.use.size(), 2500u);
}

TEST(BlockDiagram, Bottleneck) {
  const Microarchitecture machine = omaMachine();
  InstructionTiming timing;
  timing.cycles = 100;
  timing.units = {{5, 40}, {5, 60}};
  timing.storages = {{30, 0, 0, 0}};
  EXPECT_TRUE(named(diagramOf(machine, &timing), "mau").isBottleneck); // the highest utilization
  timing.waits = {{Wait::StageLatency, 0, 20, 20}, {Wait::Execution, 0, 10, 10}, {Wait::Memory, 0, 55, 70}};
  const Diagram diagram = diagramOf(machine, &timing);
  EXPECT_TRUE(named(diagram, "dmem").isBottleneck);
  EXPECT_NE(named(diagram, "dmem").detail.find("bottleneck: 55 % of cycles"), std::string::npos);
  EXPECT_EQ(std::ranges::count(diagram.parts, true, &DiagramPart::isBottleneck), 1);
}

TEST(BlockDiagram, CachesShowHits) {
  Microarchitecture machine = KernelMachine({}).vector();
  Storage l2 = machine.storages[0], l1 = l2;
  l1.name = "l1", l1.cache = Storage::Cache{64, 8, 64, Replacement::Lru, true, true, true, 1};
  l2.name = "l2", l2.cache = Storage::Cache{1024, 16, 64, Replacement::TreePlru, false, true, false, 0};
  machine.storages.push_back(l2), machine.storages.push_back(l1);
  machine.units[1].loadsFrom = machine.units[1].storesTo = {2};
  const InstructionTiming timing = timingOf(machine, SplitMix(4));
  expectDrawn(machine, &timing);
  EXPECT_NE(named(diagramOf(machine, &timing), "l1").detail.find("hit rate: 75 %"), std::string::npos);
}

TEST(BlockDiagram, HostileNames) {
  Microarchitecture machine = KernelMachine({}).vector();
  const std::string hostile[] = {"</title><script>throw 1</script>",
                                 "\"onload=\"x",
                                 "a&b",
                                 std::string("nul\0and\x1b[31m", 12),
                                 "\xff\xfe broken \xe2\x80",
                                 "\xe2\x80\xae turned",
                                 "one\ntwo",
                                 "",
                                 "__1_2_3__",
                                 "_1",
                                 std::string(5000, 'W'),
                                 "\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80"};
  size_t next = 0;
  auto rename = [&](std::string &name) { name = hostile[next++ % std::size(hostile)]; };
  rename(machine.name), rename(machine.fetch.name);
  for (auto &part : machine.stages)
    rename(part.name);
  for (auto &part : machine.units)
    rename(part.name);
  for (auto &part : machine.registers)
    rename(part.name);
  for (auto &part : machine.storages)
    rename(part.name);
  for (auto &part : machine.opcodes)
    rename(part.name);
  expectDrawn(machine, nullptr);
  EXPECT_EQ(scan(blockDiagram(machine)).elements.count("script"), 0u);
}

TEST(BlockDiagram, ExecutionsAddUp) {
  InstructionTiming one, sum;
  one.cycles = 10, one.instructions = 7, one.units = {{7, 9}}, one.storages = {{4, 3, 1, 0}};
  addExecutions(sum, one, 3);
  one.units = {{2, 2}, {5, 6}};
  addExecutions(sum, one, 2);
  EXPECT_EQ(sum.cycles, 50);
  EXPECT_TRUE(sum.instructions == 35 && sum.units[0].busy == 31 && sum.units[1].instructions == 10);
  EXPECT_TRUE(sum.storages[0].hits == 15 && sum.storages[0].beats == 20);
  addExecutions(sum, one, __int128(1) << 62);
  EXPECT_EQ(sum.cycles, int64_t(1) << 62);
  // Half of a program was timed: the other half does the same.
  InstructionTiming half;
  half.cycles = 100, half.instructions = 40, half.units = {{20, 30}};
  half.bounds = {.low = 90, .high = 120, .reached = 50, .timed = 20};
  InstructionTiming whole;
  addExecutions(whole, half, 1);
  EXPECT_TRUE(whole.cycles == 100 && whole.units[0].instructions == 40 && whole.units[0].busy == 60);
  addExecutions(whole, one, 1);
  ASSERT_TRUE(whole.bounds);
  EXPECT_EQ(whole.bounds->low, 100);
  EXPECT_EQ(whole.bounds->high, 130);
  EXPECT_EQ(whole.counted(), 110);
  const auto machine = omaMachine();
  EXPECT_DOUBLE_EQ(named(diagramOf(machine, &half), "fu").use, 0.6);
}

TEST(BlockDiagram, PageHasRowsForArrays) {
  const Microarchitecture machine = meshMachine(4);
  InstructionTiming timing = timingOf(machine, SplitMix(2));
  for (Index u = 0; u < Index(machine.units.size()); ++u)
    timing.waits.push_back({Wait::Execution, u, 10, 20});
  const llvm::json::Object data = coreData(machine, timing);
  EXPECT_EQ(data.getArray("units")->size(), 2u);
  ASSERT_EQ(data.getArray("waited")->size(), 2u); // in unit 'mesh.mac', in unit 'rows.port'
  EXPECT_EQ((*data.getArray("waited"))[0].getAsObject()->getString("text"), "in unit 'mesh.mac'");
  EXPECT_DOUBLE_EQ(*(*data.getArray("waited"))[0].getAsObject()->getNumber("share"), 0.16);
}

TEST(BlockDiagram, DegenerateMachines) {
  Microarchitecture empty;
  EXPECT_EQ(scan(blockDiagram(empty)).wrong, "");
  InstructionTiming timing;
  EXPECT_EQ(scan(blockDiagram(empty, &timing)).wrong, "");
  // No timing of its parts, no cycles, and numbers that name nothing.
  Microarchitecture machine = omaMachine();
  EXPECT_EQ(scan(blockDiagram(machine, &timing)).wrong, "");
  machine.stages[0].to = {7, -3, 0}, machine.stages[1].units.push_back(99), machine.units[0].reads = {44};
  machine.units[0].operations.push_back({1234, {}, {}, {}});
  EXPECT_EQ(scan(blockDiagram(machine)).wrong, "");
  // Stages in a circle, a cache behind itself, a unit without a stage.
  machine.stages[1].to = {0}, machine.stages[1].units = {0};
  machine.storages[0].cache = Storage::Cache{1, 1, 64, Replacement::Fifo, true, true, false, 0};
  EXPECT_EQ(scan(blockDiagram(machine)).wrong, "");
}

TEST(BlockDiagram, ManyPartsAndNumbersOfAnySize) {
  Microarchitecture machine = omaMachine();
  for (int i = 0; i < 150; ++i) {
    Unit unit = machine.units[1];
    unit.name = "unit" + std::to_string(i), unit.count = INT32_MAX;
    machine.registers.push_back({"file" + std::to_string(i), INT32_MAX, INT32_MAX, 0, 0, false, {}});
    unit.reads = {Index(machine.registers.size()) - 1};
    machine.stages[1].units.push_back(Index(machine.units.size()));
    machine.units.push_back(unit);
  }
  machine.storages[0].begin = 0, machine.storages[0].end = INT64_MAX;
  InstructionTiming timing;
  timing.cycles = int64_t(1) << 62, timing.instructions = __int128(1) << 100;
  timing.units.assign(machine.units.size(), {__int128(1) << 90, __int128(1) << 90});
  timing.storages = {{__int128(1) << 100, 0, 0, 0}};
  expectDrawn(machine, &timing);
}

} // namespace
