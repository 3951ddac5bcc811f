// Design spaces that cannot be, or hardly: each has a diagnostic or an exact answer.
#include "test/support/DesignSpaceFixture.h"
#include <gmock/gmock.h>
#include <thread>

using namespace accord;
using namespace accord::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// A chip with one more line in its parts.
struct Parts {
  std::string top = {}, dram = "capacity = 1 GiB, bandwidth = 1 TB/s", tensor = "array = 8 x 8, multiply = bf16",
              count = "[1]", lanes = "lanes = 8, types = {fp32}", more = {};
  std::string text() const {
    return "accelerator s {\n  clock = 1 GHz\n  " + top + "\n  memory hbm : dram { " + dram + " }\n  core tc" + count +
           " : tensor { " + tensor + " }\n  core vc[1..2] : vector { " + lanes + " }\n  " + more + "\n}\n";
  }
};

std::string said(Parts parts) { return firstError(parts.text()); }

} // namespace

TEST(DesignSpaceHostile, PartsAloneAreASpace) { EXPECT_EQ(said({}), ""); }

TEST(DesignSpaceHostile, NothingToChoose) {
  std::string text = Parts{}.text();
  text.replace(text.find("[1..2]"), 6, "[2]");
  EXPECT_THAT(firstError(text), StartsWith("A0612 's' leaves nothing to choose"));
}

TEST(DesignSpaceHostile, EmptyOrWrongChoices) {
  EXPECT_THAT(said({.tensor = "array = 8 x 8, dataflow = {}"}), Not(testing::IsEmpty()));
  EXPECT_THAT(said({.lanes = "lanes = pow2 5..7"}), StartsWith("A0303"));
  EXPECT_THAT(said({.lanes = "lanes = 8..2"}), StartsWith("A0303"));
  EXPECT_THAT(said({.dram = "capacity = pow2 1..4 GHz, bandwidth = 1 TB/s"}), StartsWith("A0203"));
  EXPECT_THAT(said({.dram = "capacity = {1 GiB, 2 GHz}, bandwidth = 1 TB/s"}), StartsWith("A0203"));
  EXPECT_THAT(said({.lanes = "lanes = 1..1000000000"}), StartsWith("A0311"));
  EXPECT_THAT(said({.lanes = "lanes = {8, tc.array.cols}"}), StartsWith("A0301"));
  EXPECT_THAT(said({.tensor = "array = 8 x 8, reads = {hbm, vc}"}), StartsWith("A0104"));
}

TEST(DesignSpaceHostile, ReferencesToNothingOrInACircle) {
  EXPECT_THAT(said({.lanes = "lanes = tc.array.colls"}),
              AllOf(StartsWith("A0104"), HasSubstr("did you mean 'tc.array.cols'?")));
  EXPECT_THAT(said({.lanes = "lanes = vc.lanes"}), StartsWith("A0120"));
  EXPECT_THAT(said({.tensor = "array = (vc.lanes) x 8", .lanes = "lanes = 2 * tc.array.rows"}), StartsWith("A0120"));
  EXPECT_THAT(said({.lanes = "lanes = hbm.capacity"}), StartsWith("A0203"));
  EXPECT_THAT(said({.lanes = "lanes = 8 + hbm.capacity"}), StartsWith("A0204"));
  EXPECT_THAT(said({.lanes = "lanes = 8 / (vc.count - 2)"}), StartsWith("A0302"));
  EXPECT_THAT(said({.lanes = "lanes = 2 ^ (9000 * vc.count)"}), StartsWith("A0302"));
}

TEST(DesignSpaceHostile, RequirementsOfNothing) {
  EXPECT_THAT(said({.more = "require area <= 1 mm2"}), AllOf(StartsWith("A0103"), HasSubstr("states no area")));
  EXPECT_THAT(said({.more = "require power.tdp <= 1 W"}), AllOf(StartsWith("A0103"), HasSubstr("state 'technology'")));
  EXPECT_EQ(said({.top = "technology = 7 nm", .more = "require power.tdp <= 1 W"}), "");
  EXPECT_EQ(said({.top = "area = 5 mm2", .more = "require area <= 1 mm2"}), "");
  EXPECT_THAT(said({.more = "require tc.cuont >= 1"}),
              AllOf(StartsWith("A0104"), HasSubstr("did you mean 'tc.count'?")));
  EXPECT_THAT(said({.more = "require hbm.capacity >= 1 GHz"}), StartsWith("A0204"));
  EXPECT_THAT(said({.tensor = "array = 8 x 8, dataflow = {ws, os}", .more = "require tc.dataflow == weight_stationry"}),
              AllOf(StartsWith("A0305"), HasSubstr("did you mean 'weight_stationary'?")));
  EXPECT_THAT(said({.more = "require tc.count + 1"}), StartsWith("A0611"));
}

TEST(DesignSpaceHostile, MoreDesignsThanAnyoneCounts) {
  std::string text = "accelerator s {\n  clock = 1 GHz\n"
                     "  memory hbm : dram { capacity = 1 GiB, bandwidth = 1 TB/s }\n";
  for (int i = 0; i < 80; ++i)
    text += "  core c" + std::to_string(i) + "[1..2] : vector { lanes = 8, types = {fp32} }\n";
  Machines machines(text + "}\n");
  auto made = machines.space("s");
  ASSERT_TRUE(made);
  const auto &space = *made;
  EXPECT_EQ(space.size(), "1208925819614629174706176"); // 2^80
  EXPECT_FALSE(space.points());
  Design ones(80, 1);
  EXPECT_EQ(space.at((uint64_t(1) << 63) + 1)[79], 1u);
  EXPECT_EQ(space.at((uint64_t(1) << 63) + 1)[16], 1u);
  auto best = space.best({Design(80), ones});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->cores[40].count, 2);
}

// One design of a space may be wrong where another is not: that one has an issue.
TEST(DesignSpaceHostile, DesignsThatAreNone) {
  Parts parts{.lanes = "lanes = tc.array.cols / 2, types = {fp32}"};
  parts.tensor = "array = 8 x (1..2), multiply = bf16";
  Machines machines(parts.text());
  auto made = machines.space("s");
  ASSERT_TRUE(made);
  const auto &space = *made;
  auto odd = space.machine({0, 0}), even = space.machine({1, 0});
  ASSERT_TRUE(!odd);
  EXPECT_EQ(odd.error().code, Code::NotAnInteger);
  EXPECT_EQ(odd.error().location.line, 6);
  ASSERT_TRUE(even);
  EXPECT_EQ(even->cores[1].lanes, 1);
  auto best = space.best({{0, 0}, {1, 1}});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->cores[1].lanes, 1);
}

// A scratchpad below two of the smallest tile, and a size that the table of areas lacks.
TEST(DesignSpaceHostile, DesignsThatTheirPartsForbid) {
  Parts parts;
  parts.top = "memory glb : scratchpad { capacity = {3 KiB, 2 MiB, 3 MiB}, bandwidth = 1 TB/s }";
  parts.tensor = "array = 64 x 64, multiply = bf16, reads = glb";
  parts.more = "area model = \"catalog/area_45nm\"\n  require area <= 1000 mm2";
  Machines machines(parts.text());
  auto made = machines.space("s");
  ASSERT_TRUE(made);
  const auto &space = *made;
  auto codeOf = [&](uint32_t capacity) {
    auto machine = space.machine({capacity, 0});
    auto *error = machine.getError();
    return error ? numberOf(error->code) : "";
  };
  EXPECT_EQ(codeOf(0), "A0481");
  EXPECT_EQ(codeOf(1), "");
  EXPECT_EQ(codeOf(2), "A0483");
  EXPECT_FALSE(space.violatedRequirement(DesignBox{{0, 0}, {2, 1}})) << "one of them keeps it";
}

// Threads find what one finds.
TEST(DesignSpaceHostile, ThreadsShareWhatIsRead) {
  DesignSpace space = shippedSpace("tpu_like_space"), alone = shippedSpace("tpu_like_space");
  auto areaOf = [](const DesignSpace &of, uint64_t point) {
    auto machine = of.machine(of.at(point));
    auto *good = machine.get();
    return good ? good->area.value + good->tdp.value : -1;
  };
  uint64_t all = *space.points();
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 2000; ++i)
        found[t].push_back(areaOf(space, (i * 7919 + t) % all));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t t = 0; t < found.size(); ++t)
    for (uint64_t i = 0; i < 2000; ++i)
      ASSERT_EQ(found[t][i], areaOf(alone, (i * 7919 + t) % all));
}

// What is open in words is the best of them, or none.
TEST(DesignSpaceHostile, OpenWords) {
  Parts parts;
  parts.top = "memory glb : scratchpad { capacity = 1 MiB, bandwidth = 1 TB/s }\n  technology = 7 nm";
  parts.tensor = "array = 8 x 8, multiply = {fp32, bf16}, dataflow = {ws, os}, mapping = {split, "
                 "per_instance}, reads = {glb, hbm}";
  parts.dram = "capacity = 1 GiB, bandwidth = 1 TB/s, standard = {gddr6, hbm2}";
  parts.count = "[1..3]";
  parts.more = "require power.tdp <= 1000 W";
  Machines machines(parts.text());
  auto made = machines.space("s");
  ASSERT_TRUE(made);
  const auto &space = *made;
  DesignBox all{space.at(0), space.at(*space.points() - 1)};
  auto found = space.best(all);
  ASSERT_TRUE(found);
  const Machine &best = *found;
  EXPECT_EQ(best.cores[0].dataflow, "");
  EXPECT_TRUE(best.cores[0].anyMapping);
  EXPECT_EQ(best.cores[0].reads, 0);
  EXPECT_EQ(best.cores[0].peak.size(), 2u);
  for (uint64_t point = 0; point < *space.points(); ++point) {
    auto one = space.machine(space.at(point));
    ASSERT_TRUE(one) << one.error().message;
    const Machine &machine = *one;
    EXPECT_EQ(machine.cores[0].peak.size(), 1u);
    EXPECT_NE(machine.cores[0].dataflow, "");
    EXPECT_FALSE(machine.cores[0].anyMapping);
    EXPECT_LE(best.tdp.value, machine.tdp.value * (1 + 1e-12));
    EXPECT_LE(best.memories[0].energy, machine.memories[0].energy);
    for (const auto &[type, energy] : machine.energyPerFlopOf)
      EXPECT_LE(best.energyPerFlopOf.at(type), energy);
    Machines read(space.text(space.at(point)));
    auto again = machineFrom(read["s"]);
    ASSERT_TRUE(mlir::succeeded(again));
    EXPECT_EQ(again->tdp, machine.tdp);
  }
}

// More instances of a stated peak share it: the best of a box has most of one, and most of them.
TEST(DesignSpaceHostile, StatedPeaksAreShared) {
  Parts parts;
  parts.tensor = "peak = {bf16: 12 TFLOP/s}";
  parts.count = "[1..4]";
  Machines machines(parts.text());
  auto made = machines.space("s");
  const auto &space = *made;
  auto best = space.best({space.at(0), space.at(7)});
  const Core &core = best->cores[0];
  EXPECT_EQ(core.count, 4);
  EXPECT_EQ(core.peak.at("bf16").value, 12e12);
  auto max = space.machine(space.at(7));
  EXPECT_EQ(max->cores[0].peak.at("bf16").value, 3e12);
}

// A description that uses most of what the language has comes back as the same machine.
TEST(DesignSpaceHostile, EverythingIsWrittenAgain) {
  const char *text = R"(
accelerator s(fast = 3 GHz) {
  clock = fast / 7
  kernel_launch_overhead = 1 us / 3, host_bandwidth = 64 GB/s, technology = 7 nm
  memory hbm : dram { capacity = 1 GiB, bandwidth = {1 TB/s, 2 TB/s}, standard = hbm2e, efficiency = 0.8..0.9 step 0.05 source "a \"b\" \\ c" }
  memory l2 : cache { capacity = pow2 1..4 MiB, bandwidth = 8 * 64 B/cycle, latency = 2 cycles, banks = 4, ports = {1, 2}, port_width = 128 B/cycle }
  core tc[2] : tensor {
    peak = {bf16: 96 TFLOP/s, fp8: 192 TFLOP/s} source "sheet"
    half_performance_work = pow2 1..2 GFLOP
    efficiency = 0.9 * hbm.efficiency
    overlap = {fill, drain}
    reads = {l2, hbm}
    sparse nm(2, 4) { rate = 2, on = weights }
  }
  core vc[1..3] : vector { lanes = 2 ^ vc.count * 16, types = {fp32}, cycles = {exp: 4 cycles, add: 1 cycle}, half_performance_work = 0 FLOP }
  path hbm -> l2 -> {tc, vc}
  power { idle = 10 W, mac_by_type = {bf16: 0.5 pJ, fp8: 0.2 pJ}, mac = 1 pJ }
  area { mac = 1 um2, lane = 700 um2, sram = 1 mm2 per 1 MiB, fixed = 3 mm2 }
  price = 2 USD/h
  require small: area <= 8 mm2 or not (vc.count > 1 and hbm.bandwidth / (1 TB/s) >= max(1, 2))
  require price <= 4 USD/h
  prefer cool: power.tdp <= 50 W weight 2
  minimize power.tdp
}
)";
  Machines machines{std::string(text)};
  auto made = machines.space("s");
  if (!made)
    FAIL() << made.error().front().code << " " << made.error().front().message;
  const auto &space = *made;
  EXPECT_EQ(space.size(), std::to_string(2 * 3 * 3 * 2 * 2 * 2 * 3));
  size_t good = 0;
  for (uint64_t point = 0; point < *space.points(); point += 5) {
    Design design = space.at(point);
    std::string written = space.text(design);
    Machines read(written);
    auto accelerator = read["s"];
    ASSERT_TRUE(accelerator) << written;
    auto again = machineFrom(accelerator);
    auto machine = space.machine(design);
    ASSERT_EQ(bool(machine), mlir::succeeded(again)) << written;
    if (mlir::failed(again))
      continue;
    ++good;
    const Machine &one = *machine;
    EXPECT_EQ(one.clock, again->clock);
    EXPECT_EQ(one.host.kernel, again->host.kernel);
    EXPECT_EQ(one.hostBandwidth, again->hostBandwidth);
    EXPECT_EQ(one.area.value, again->area.value);
    EXPECT_EQ(one.tdp, again->tdp);
    EXPECT_EQ(one.energyPerFlopOf, again->energyPerFlopOf);
    for (size_t i = 0; i < 2; ++i) {
      const Core &a = one.cores[i], &b = again->cores[i];
      EXPECT_EQ(std::tie(a.count, a.peak, a.lanes, a.efficiency, a.halfPerformanceWork, a.overlapFill, a.overlapDrain,
                         a.cyclesOf, a.reads),
                std::tie(b.count, b.peak, b.lanes, b.efficiency, b.halfPerformanceWork, b.overlapFill, b.overlapDrain,
                         b.cyclesOf, b.reads));
      const Memory &x = one.memories[i], &y = again->memories[i];
      EXPECT_EQ(
          std::tie(x.capacity, x.bandwidth, x.latency, x.energy, x.ports, x.banks, x.portBytesPerCycle, x.efficiency),
          std::tie(y.capacity, y.bandwidth, y.latency, y.energy, y.ports, y.banks, y.portBytesPerCycle, y.efficiency));
    }
  }
  EXPECT_GT(good, 10u);
}
