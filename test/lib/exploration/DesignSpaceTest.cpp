// Design spaces against numbers that were published, loops over their values, and what a design's
// own description says.
#include "test/support/DesignSpaceFixture.h"
#include "test/support/SourcePath.h"
#include <cmath>
#include <gmock/gmock.h>
#include <random>

using namespace accord;
using namespace accord::test;
using testing::HasSubstr;

namespace {

/// The published closed form (um2) of the machines that PHAZE searches.
double publishedArea(int64_t tensors, int64_t width, int64_t depth, int64_t vectors, int mib) {
  const std::map<int64_t, double> core = {{1, 6133.98},  {2, 8248.43},  {4, 12610.5},   {8, 22139.9},
                                          {16, 38583.0}, {32, 63338.4}, {64, 115579},   {128, 204764},
                                          {256, 446565}, {512, 897890}, {1024, 1634130}};
  const std::map<int, double> buffer = {{2, 3338220},   {4, 6078640},   {8, 11952400},   {16, 23745200},
                                        {32, 46750900}, {64, 88605700}, {128, 175423000}};
  double elements = static_cast<double>(width * depth);
  double tensor = 760.0413860 * elements + core.at(std::max<int64_t>(1, width * depth / 64));
  double vector = 759.8238530 * static_cast<double>(width) + core.at(std::max<int64_t>(1, width / 64));
  return static_cast<double>(tensors) * tensor + static_cast<double>(vectors) * vector + buffer.at(mib);
}

Machine machineOf(const DesignSpace &space, const Design &design) {
  auto made = space.machine(design);
  if (!made) {
    ADD_FAILURE() << made.error().code << " " << made.error().message;
    return {};
  }
  return *made;
}

size_t indexOf(const DesignSpace &space, const std::string &name) {
  for (size_t i = 0; i < space.parameters().size(); ++i)
    if (space.parameters()[i].name == name)
      return i;
  ADD_FAILURE() << "no parameter " << name;
  return 0;
}

Design randomDesign(const DesignSpace &space, std::mt19937 &random) {
  Design design;
  for (const DesignParameter &parameter : space.parameters())
    design.push_back(static_cast<uint32_t>(random() % parameter.labels.size()));
  return design;
}

DesignBox randomBox(const DesignSpace &space, std::mt19937 &random) {
  DesignBox box{randomDesign(space, random), randomDesign(space, random)};
  for (size_t i = 0; i < box.low.size(); ++i)
    if (box.low[i] > box.high[i])
      std::swap(box.low[i], box.high[i]);
  return box;
}

Design within(const DesignBox &box, std::mt19937 &random) {
  Design design = box.low;
  for (size_t i = 0; i < design.size(); ++i)
    design[i] += random() % (box.high[i] - box.low[i] + 1);
  return design;
}

/// Numbers of a machine in a fixed order: those of which more helps, then those of which less does.
std::pair<std::vector<double>, std::vector<double>> numbersOf(const Machine &machine) {
  std::vector<double> more{machine.clock.value, machine.hostBandwidth.value},
      less{machine.idle.value,          machine.tdp.value,         machine.area.value,
           machine.energyPerFlop.value, machine.host.kernel.value, machine.host.microbatch.value,
           machine.host.step.value};
  for (const Memory &memory : machine.memories) {
    more.insert(more.end(), {memory.capacity.value, memory.bandwidth.value, memory.efficiency, memory.portBytesPerCycle,
                             static_cast<double>(memory.banks), static_cast<double>(memory.ports)});
    less.insert(less.end(), {memory.latency.value, memory.energy.value, memory.sector.value});
  }
  for (const Core &core : machine.cores) {
    more.insert(more.end(), {static_cast<double>(core.count), static_cast<double>(core.rows),
                             static_cast<double>(core.cols), static_cast<double>(core.lanes), core.efficiency});
    for (const auto &[type, peak] : core.peak)
      more.push_back(peak.value);
    less.push_back(core.halfPerformanceWork.value);
    for (const auto &[kind, cycles] : core.cyclesOf)
      less.push_back(cycles);
  }
  for (const auto &[type, energy] : machine.energyPerFlopOf)
    less.push_back(energy.value);
  return {more, less};
}

/// A space whose values follow from each other, with units.
const char *const kLinked = R"(
accelerator s {
  clock = {500 MHz, 0.75 GHz, 1 GHz}
  technology = 16 nm
  memory hbm : dram { capacity = 16 GiB, bandwidth = 2 * glb.bandwidth, latency = 100 ns }
  memory glb : scratchpad { capacity = 4 MiB..16 MiB step 4 MiB, bandwidth = (8 * vc.lanes) * 1 B/cycle, latency = 4 cycles }
  core tc[1..3] : tensor { array = (pow2 16..64) x (tc.array.rows), multiply = bf16, dataflow = {ws, os, is} }
  core vc[2] : vector { lanes = max(ceil_div(3 * tc.array.cols, 7), 9), types = {fp32} }
  area { mac = 700 um2, lane = 900 um2, sram = 1.4 mm2 per 1 MiB, fixed = 1 mm2 }
  require area <= 25 mm2
  require slack: power.tdp / 1 W <= 2 * tc.array.rows + 60 and not (tc.count == 3 and clock < 600 MHz)
  require glb.capacity >= 4 MiB or tc.dataflow != input_stationary
}
)";
/// A space whose areas and energies follow from components, with all that they depend on left open.
const char *const kBuilt = R"(
accelerator s {
  clock = {500 MHz, 1 GHz, 1.5 GHz}
  technology = {28 nm, 16 nm}
  voltage = {0.8, 1, 1.2}
  memory hbm : dram { capacity = 16 GiB, bandwidth = {300 GB/s, 900 GB/s}, standard = {hbm2, ddr3, lpddr5} }
  memory glb : scratchpad { capacity = pow2 1..16 MiB, bandwidth = {512 B/cycle, 2048 B/cycle}, banks = pow2 1..64, ports = 1..3 }
  memory files : register_file { capacity = {8 KiB, 64 KiB}, bandwidth = 1024 B/cycle }
  core tc[1..3] : tensor { array = (pow2 16..64) x 32, multiply = int8 }
  core vc[2] : vector { lanes = pow2 16..64, types = {fp32} }
  path hbm -> glb -> files -> {tc, vc}
  area { model = "catalog/components", interfaces = {pcie4: 16} }
  power { model = "catalog/components" }
  require area <= 120 mm2
  require power.tdp <= 30 W
  require power.tdp / area <= 0.25 W/mm2
}
)";
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

std::vector<DesignSpace> &spaces() {
  static std::vector<DesignSpace> all = [] {
    std::vector<DesignSpace> made;
    made.push_back(shippedSpace("phaze_template"));
    made.push_back(shippedSpace("tpu_like_space"));
    made.push_back(spaceOf(kLinked));
    made.push_back(spaceOf(kBuilt));
    std::string network = kBuilt;
    made.push_back(spaceOf(network.insert(network.find("  clock"), "  interconnect = mesh\n")));
    return made;
  }();
  return all;
}

} // namespace

TEST(DesignSpace, TemplateHasThePublishedParameters) {
  const DesignSpace &space = spaces()[0];
  std::vector<std::string> names;
  for (const DesignParameter &parameter : space.parameters())
    names.push_back(parameter.name);
  EXPECT_THAT(names, testing::ElementsAre("glb.capacity", "tc.count", "tc.array.rows", "tc.array.cols", "vc.count"));
  EXPECT_EQ(space.size(), "75712");
  EXPECT_EQ(space.points(), 75712u);
  EXPECT_EQ(space.parameters()[0].labels.front(), "2 MiB");
  EXPECT_EQ(space.parameters()[0].numbers.back(), 134217728.0);
  EXPECT_EQ(space.at(1), (Design{0, 0, 0, 0, 1}));
  EXPECT_EQ(space.at(75711), (Design{6, 12, 7, 7, 12}));
}

// `tpu_like` of the catalogue is one of the chips around it, at the edge of the area.
TEST(DesignSpace, TpuLikeIsInItsSpace) {
  const DesignSpace &space = spaces()[1];
  EXPECT_EQ(space.size(), "76800");
  std::map<std::string, std::string> chosen = {
      {"vmem.capacity", "16 MiB"}, {"vmem.bandwidth", "2048 B/cycle"},    {"mxu.count", "2"}, {"mxu.array.rows", "128"},
      {"mxu.array.cols", "128"},   {"mxu.dataflow", "weight_stationary"}, {"vpu.count", "2"}, {"vpu.lanes", "1024"}};
  Design design;
  for (const DesignParameter &parameter : space.parameters()) {
    auto found = llvm::find(parameter.labels, chosen.at(parameter.name));
    ASSERT_NE(found, parameter.labels.end()) << parameter.name;
    design.push_back(static_cast<uint32_t>(found - parameter.labels.begin()));
  }
  Machine machine = machineOf(space, design);
  EXPECT_FALSE(space.violatedRequirement(design, machine));
  Machines shipped(std::filesystem::path(accord::sourcePath("lib/catalog/tpu.accel")));
  auto like = machineFrom(shipped["tpu_like"]);
  ASSERT_TRUE(mlir::succeeded(like));
  like->tdp = machine.tdp; // stated there, of its parts here
  EXPECT_EQ(numbersOf(machine), numbersOf(*like));
  // One array more passes the area.
  ++design[indexOf(space, "mxu.count")];
  EXPECT_EQ(space.violatedRequirement(design, machineOf(space, design)), std::optional<size_t>(0));
}

// The template's requirements are the published rule: their number counted by hand.
TEST(DesignSpace, TemplateKeepsWhatIsValid) {
  const DesignSpace &space = spaces()[0];
  double limit = 278826676.31216;
  EXPECT_NEAR(publishedArea(8, 128, 128, 2, 128), limit, 1e-4);
  size_t valid = 0, kept = 0;
  std::mt19937 random(3);
  for (uint64_t point = 0; point < *space.points(); ++point) {
    Design design = space.at(point);
    int mib = 2 << design[0];
    int64_t tensors = 1 << design[1], rows = 2 << design[2], cols = 2 << design[3], vectors = 1 << design[4];
    double area = publishedArea(tensors, cols, rows, vectors, mib);
    bool fits = area <= limit * (1 + 1e-12) && (tensors == 1 || vectors == 1 || area >= 0.3 * limit);
    valid += fits;
    auto made = space.machine(design);
    auto *machine = made.get();
    ASSERT_TRUE(machine) << made.error().message;
    bool keeps = !space.violatedRequirement(design, *machine);
    kept += keeps;
    ASSERT_EQ(keeps, fits) << point;
    if (random() % 1500 == 0) {
      EXPECT_NEAR(machine->area.value * 1e12, area, 1e-6 * area);
      EXPECT_EQ(machine->cores[1].lanes, cols);
    }
  }
  EXPECT_EQ(kept, valid);
}

/// The same machine as the description of the design has, read as any other.
TEST(DesignSpace, MachinesAreThoseOfTheirDescriptions) {
  for (const DesignSpace &space : spaces()) {
    std::mt19937 random(7);
    for (int i = 0; i < 100; ++i) {
      Design design = randomDesign(space, random);
      Machine machine = machineOf(space, design);
      std::string text = space.text(design);
      Machines read(text);
      auto accelerator = read[space.name()];
      ASSERT_TRUE(accelerator) << text;
      auto again = machineFrom(accelerator);
      ASSERT_TRUE(mlir::succeeded(again)) << text;
      ASSERT_EQ(numbersOf(machine), numbersOf(*again)) << text;
      for (size_t core = 0; core < machine.cores.size(); ++core) {
        const Core &a = machine.cores[core], &b = again->cores[core];
        EXPECT_EQ(std::tie(a.name, a.kind, a.dataflow, a.reads, a.perInstanceMapping, a.anyMapping),
                  std::tie(b.name, b.kind, b.dataflow, b.reads, b.perInstanceMapping, b.anyMapping));
      }
      for (size_t memory = 0; memory < machine.memories.size(); ++memory)
        EXPECT_EQ(machine.memories[memory].doubleBuffered, again->memories[memory].doubleBuffered);
    }
  }
}

TEST(DesignSpace, ValuesFollowTheirReferencesExactly) {
  const DesignSpace &space = spaces()[2];
  EXPECT_EQ(space.size(), std::to_string(3 * 4 * 3 * 3 * 3));
  Design design(space.parameters().size());
  design[indexOf(space, "tc.array.rows")] = 2; // 64
  design[indexOf(space, "clock")] = 1;         // 750 MHz
  design[indexOf(space, "glb.capacity")] = 3;
  Machine machine = machineOf(space, design);
  EXPECT_EQ(machine.cores[0].rows, 64);
  EXPECT_EQ(machine.cores[0].cols, 64);
  EXPECT_EQ(machine.cores[1].lanes, 28); // ceil(192 / 7)
  EXPECT_EQ(machine.memories[1].capacity.value, 16 * 1048576.0);
  EXPECT_EQ(machine.memories[1].bandwidth.value, 8 * 28 * 750e6);
  EXPECT_EQ(machine.memories[0].bandwidth.value, 2 * 8 * 28 * 750e6);
  EXPECT_EQ(machine.memories[1].latency.value, 4 / 750e6);
  // 700 um2 each of 64 x 64, 900 um2 each of 2 x 28 lanes, 1.4 mm2 each of 16 MiB, and 1 mm2.
  EXPECT_NEAR(machine.area.squareMillimetres(), 64 * 64 * 700e-6 + 56 * 900e-6 + 16 * 1.4 + 1, 1e-9);
  double power = machine.idle.value;
  for (const Core &core : machine.cores) {
    double max = 0;
    for (const auto &[type, peak] : core.peak)
      max = std::max(max, peak.value * machine.energyPerFlopOf.at(type).value);
    power += max * static_cast<double>(core.count);
  }
  for (const Memory &memory : machine.memories)
    power += memory.bandwidth.value * memory.energy.value;
  EXPECT_GT(power, 0);
  EXPECT_DOUBLE_EQ(machine.tdp.value, power);
}

/// Random boxes, and random designs in each: none has a better number than the best of its box.
void expectSoundBounds(const DesignSpace &space) {
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    DesignBox box = randomBox(space, random);
    auto found = space.best(box);
    ASSERT_TRUE(found) << found.error().message;
    auto [more, less] = numbersOf(*found);
    for (int k = 0; k < 10; ++k) {
      Design design = within(box, random);
      auto [itsMore, itsLess] = numbersOf(machineOf(space, design));
      ASSERT_EQ(more.size(), itsMore.size());
      for (size_t n = 0; n < more.size(); ++n)
        EXPECT_GE(more[n], itsMore[n] * (1 - 1e-12)) << n;
      for (size_t n = 0; n < less.size(); ++n)
        EXPECT_LE(less[n], itsLess[n] * (1 + 1e-12)) << n;
    }
    auto point = space.best({box.low, box.low});
    EXPECT_EQ(numbersOf(*point), numbersOf(machineOf(space, box.low)));
  }
}

/// A space in which every number that a machine reads is left open, on its own.
const char *const kOpen = R"(
accelerator s {
  clock = {500 MHz, 1 GHz}
  kernel_launch_overhead = {1 us, 2 us}
  host_overhead_per_microbatch = {1 ms, 2 ms}
  host_overhead_per_step = {1 ms, 2 ms}
  host_bandwidth = {16 GB/s, 32 GB/s}
  memory hbm : dram {
    capacity = {8 GiB, 16 GiB}, bandwidth = {1 TB/s, 2 TB/s}, latency = {100 ns, 200 ns}, energy = {10 pJ/B, 20 pJ/B}
    efficiency = {0.7, 0.9}, sector = {32 B, 64 B}, channels = {4, 8}, queue = {16, 32}
    refresh_efficiency = {0.9, 0.95}
  }
  memory glb : scratchpad {
    capacity = {4 MiB, 8 MiB}, bandwidth = {256 B/cycle, 512 B/cycle}, latency = {4 cycles, 8 cycles}
    banks = {16, 32}, ports = {1, 2}, port_width = {64 B/cycle, 128 B/cycle}, energy = {1 pJ/B, 2 pJ/B}
  }
  core tc[1..3] : tensor {
    array = (pow2 16..64) x (pow2 16..64), multiply = bf16, efficiency = {0.8, 0.9}
    half_performance_work = {1e6 FLOP, 2e6 FLOP}
  }
  core vc[2] : vector { lanes = {64, 128}, types = {fp32}, cycles = {gelu: 4 cycles, exp: 2 cycles} }
  power { idle = {10 W, 20 W}, mac = {1 pJ, 2 pJ} }
  area { mac = {600 um2, 700 um2}, lane = {800 um2, 900 um2}, sram = 1.4 mm2 per 1 MiB, fixed = {1 mm2, 2 mm2} }
}
)";

TEST(DesignSpace, NothingInABoxIsBetterThanItsBest) {
  for (const DesignSpace &space : spaces())
    expectSoundBounds(space);
  expectSoundBounds(spaceOf(kOpen));
}

TEST(DesignSpace, NumbersOfWhichNeitherMoreNorLessIsBetterStayClosed) {
  EXPECT_THAT(firstError("accelerator s {\n clock = 1 GHz\n memory m : dram { capacity = 1 GiB, bandwidth = 1 TB/s }\n"
                         " memory l : cache { capacity = 1 MiB, bandwidth = 2 TB/s, line = {64 B, 128 B} }\n"
                         " core c : vector { lanes = 8, types = {fp32} }\n}\n"),
              HasSubstr("'l.line' cannot be a choice"));
}

TEST(DesignSpace, NoBoxIsExcludedThatHoldsAKeptDesign) {
  for (const DesignSpace &space : spaces()) {
    std::mt19937 random(13);
    int excluded = 0, kept = 0;
    for (int i = 0; i < 3000; ++i) {
      DesignBox box = randomBox(space, random);
      bool out = space.violatedRequirement(box).has_value();
      excluded += out;
      for (int k = 0; k < 8; ++k) {
        Design design = within(box, random);
        bool keeps = !space.violatedRequirement(design, machineOf(space, design));
        kept += keeps;
        EXPECT_FALSE(out && keeps);
        // Of one design the two agree.
        EXPECT_EQ(space.violatedRequirement(DesignBox{design, design}).has_value(), !keeps);
      }
    }
    EXPECT_GT(excluded, 0) << space.name();
    EXPECT_GT(kept, 0) << space.name();
  }
}

TEST(DesignSpace, RequirementsSayWhatTheyMean) {
  const DesignSpace &space = spaces()[2];
  ASSERT_EQ(space.requirements().size(), 3u);
  EXPECT_EQ(space.requirements()[0].text, "area <= 25 mm2");
  EXPECT_EQ(space.requirements()[1].text, "slack");
  EXPECT_EQ(space.requirements()[1].location.line, 11);
  // By hand, over all of them.
  for (uint64_t point = 0; point < *space.points(); ++point) {
    Design design = space.at(point);
    Machine machine = machineOf(space, design);
    const Core &tc = machine.cores[0];
    bool holds[] = {machine.area.squareMillimetres() <= 25,
                    machine.tdp.value <= 2.0 * static_cast<double>(tc.rows) + 60 &&
                        !(tc.count == 3 && machine.clock.value < 600e6),
                    machine.memories[1].capacity.value >= 4 * 1048576.0 || tc.dataflow != "input_stationary"};
    size_t first = 0;
    while (first < 3 && holds[first])
      ++first;
    EXPECT_EQ(space.violatedRequirement(design, machine), first == 3 ? std::nullopt : std::optional<size_t>(first))
        << point;
  }
}

// A wider, more banked or higher driven memory is not free, and a clock that the supply does not give is no design.
TEST(DesignSpace, ComponentsHaveTheirPrice) {
  const DesignSpace &space = spaces()[3];
  Design base(space.parameters().size());
  base[indexOf(space, "voltage")] = 1, base[indexOf(space, "technology")] = 1; // 28 nm
  base[indexOf(space, "glb.banks")] = 5;                                       // 32
  Machine machine = machineOf(space, base);
  for (const char *name :
       {"glb.capacity", "glb.bandwidth", "glb.banks", "glb.ports", "tc.count", "vc.lanes", "hbm.bandwidth"}) {
    Design more = base;
    ++more[indexOf(space, name)];
    EXPECT_GT(machineOf(space, more).area.value, machine.area.value) << name;
  }
  Design higher = base, smaller = base, banked = base;
  ++higher[indexOf(space, "voltage")], ++banked[indexOf(space, "glb.banks")];
  EXPECT_GT(machineOf(space, higher).tdp.value, 1.02 * machine.tdp.value);
  EXPECT_EQ(machineOf(space, higher).area.value, machine.area.value);
  EXPECT_LT(machineOf(space, banked).memories[1].energy.value, machine.memories[1].energy.value);
  --smaller[indexOf(space, "technology")];
  EXPECT_LT(machineOf(space, smaller).area.value, machine.area.value);
  EXPECT_LT(machineOf(space, smaller).tdp.value, machine.tdp.value);

  DesignSpace fast = spaceOf("accelerator s {\n clock = {1 GHz, 2 GHz}\n technology = 28 nm\n voltage = {0.8, 1}\n"
                             " memory m : dram { capacity = 1 GiB, bandwidth = 1 TB/s }\n"
                             " core c : vector { lanes = 8, types = {fp32} }\n}\n");
  int machines = 0;
  for (uint64_t point = 0; point < *fast.points(); ++point)
    if (auto made = fast.machine(fast.at(point)))
      ++machines;
    else
      EXPECT_EQ(made.error().code, Code::ClockAboveProcess) << made.error().message;
  EXPECT_EQ(machines, 3); // 2 GHz at 0.8 of the supply is above 1.7 GHz
}
