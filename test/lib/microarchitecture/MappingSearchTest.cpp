// Searches over mappings: bounds that hold, optima that exhaustion finds too, nothing random that is better.
#include "lib/microarchitecture/search/MappingSearch.h"
#include "lib/microarchitecture/mapping/RowOperations.h"
#include "lib/microarchitecture/search/ScheduleBound.h"
#include "lib/microarchitecture/search/ScheduleText.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/support/SplitMix.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"
#include <fmt/format.h>
#include <set>

namespace accord::microarchitecture {
namespace {

TEST(WorkBound, NoProgramEndsEarlier) {
  double tightness = 0;
  int programs = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MachineCases cases(seed);
    Microarchitecture machine = cases.machine();
    if (seed % 2)
      tangle(machine, cases);
    const InstructionProgram program = cases.program(machine, 60);
    if (!check(machine).empty() || !check(program, machine).empty())
      continue;
    const auto timing = timeProgram(machine, program);
    ASSERT_TRUE(timing) << seed;
    const Cycles bound = WorkBound(machine).ofProgram(program);
    ASSERT_LE(bound, timing->cycles) << seed;
    if (timing->cycles > 0)
      tightness += double(bound) / double(timing->cycles), ++programs;
  }
  EXPECT_GT(programs, 150);
  EXPECT_GT(tightness / programs, 0.4);
}

// ---- small spaces, all of them

/// Exact cycles of a schedule; nothing where it is refused.
std::optional<Cycles> cyclesOf(const KernelProblem &problem, const std::variant<Schedule, RowSchedule> &schedule,
                               const Microarchitecture &machine, Cycles *bound = nullptr) {
  auto kernel = std::holds_alternative<Contraction>(problem)
                    ? contractionKernel(std::get<Contraction>(problem), std::get<Schedule>(schedule))
                    : rowKernel(std::get<RowOperation>(problem), std::get<RowSchedule>(schedule));
  if (!kernel)
    return std::nullopt;
  auto mapped = emitKernel(*kernel, machine);
  if (!mapped)
    return std::nullopt;
  if (bound)
    *bound = WorkBound(machine).ofProgram(mapped->program);
  auto timing = timeProgram(machine, mapped->program);
  if (!timing)
    return std::nullopt;
  return timing->cycles;
}

class Exhaustion {
public:
  Exhaustion(const Contraction &contraction, const Microarchitecture &machine, const SpaceOptions &options)
      : problem(contraction), machine(machine), space(contraction, machine, options), bounds(space, machine) {}

  /// The fewest cycles below a point, each bound on the way having held.
  Cycles run(const SchedulePoint &point) {
    Cycles best = INT64_MAX;
    if (auto choices = space.children(point)) {
      for (const SchedulePoint &choice : *choices)
        best = std::min(best, run(choice));
    } else {
      Cycles program = 0;
      const Schedule schedule = space.scheduleOf(point);
      const std::string text = printSchedule(schedule, space.of());
      EXPECT_TRUE(texts.insert(text).second) << text; // each is reached in one way
      EXPECT_EQ(space.pointOf(schedule), point) << text;
      if (auto cycles = cyclesOf(problem, schedule, machine, &program)) {
        best = *cycles, ++valued;
        EXPECT_LE(program, *cycles) << text;
      }
    }
    if (point.shape != SchedulePoint::kOpen) {
      EXPECT_LE(bounds.of(point).cycles, best)
          << space.of().name << " inner " << point.inner << " " << printSchedule(space.scheduleOf(point), space.of());
    }
    return best;
  }

  int64_t valued = 0;

private:
  KernelProblem problem;
  const Microarchitecture &machine;
  ScheduleSpace space;
  ScheduleBound bounds;
  std::set<std::string> texts;
};

Microarchitecture machineOf(int kind, KernelMachineOptions options = {}) {
  KernelMachine machine(options);
  return kind == 0   ? machine.scalar()
         : kind == 1 ? machine.vector()
         : kind == 2 ? machine.tiles()
         : kind == 3 ? machine.stagedVector()
                     : machine.stagedTiles();
}
/// A cache in front of the memory.
Microarchitecture cached(Microarchitecture machine) {
  Storage cache = machine.storages[0];
  cache.name = "cache", cache.portBytes = 16,
  cache.cache = Storage::Cache{4, 2, 64, Replacement::Lru, true, true, true, 0};
  machine.storages.push_back(cache);
  for (Unit &unit : machine.units)
    unit.loadsFrom = unit.storesTo = {1};
  return machine;
}

void expectOptimum(const Contraction &contraction, const Microarchitecture &machine, int64_t unrolled) {
  MappingLimits limits;
  limits.space.unrolled = unrolled;
  limits.schedules = limits.instructions = limits.kernels = limits.points = int64_t(1) << 40;
  Exhaustion all(contraction, machine, limits.space);
  const Cycles best = all.run({});
  ASSERT_GT(all.valued, 1) << contraction.name;
  const auto found = searchMapping(contraction, machine, limits);
  ASSERT_TRUE(found) << found.error().message;
  const auto plain = cyclesOf(contraction, plainSchedule(contraction, machine), machine);
  EXPECT_EQ(found->timing.cycles, std::min(best, *plain)) << contraction.name;
  EXPECT_TRUE(found->proven) << contraction.name;
  EXPECT_EQ(found->bound, found->timing.cycles);
  EXPECT_LE(found->valued, all.valued + 1);
  EXPECT_EQ(cyclesOf(contraction, found->schedule, machine), found->timing.cycles);
}

ConvolutionShape smallConvolution(int64_t filters, int64_t channels, int64_t rows, int64_t columns, int64_t filter) {
  ConvolutionShape shape;
  shape.filters = filters, shape.channels = channels, shape.rows = rows, shape.columns = columns;
  shape.filterRows = 1, shape.filterColumns = filter;
  return shape;
}

TEST(MappingSearch, EqualsExhaustionOnAScalarMachine) {
  expectOptimum(product({3, 4, 2}), machineOf(0), 6);
  expectOptimum(product({5, 1, 7}), machineOf(0), 8);
  expectOptimum(convolution(smallConvolution(2, 1, 1, 5, 2), ConvolutionPart::DataGradient), machineOf(0), 4);
  KernelMachineOptions options;
  options.addresses = options.control = options.multiplyAdd = false, options.registers = 8;
  expectOptimum(product({4, 3, 3, 1, true}), machineOf(0, options), 8);
}

TEST(MappingSearch, EqualsExhaustionOnAVectorMachine) {
  KernelMachineOptions options;
  options.lanes = 4, options.registers = 8;
  expectOptimum(product({3, 9, 2}), machineOf(1, options), 4);
  expectOptimum(convolution(smallConvolution(2, 2, 1, 6, 3), ConvolutionPart::Forward), machineOf(1, options), 3);
  expectOptimum(convolution(smallConvolution(5, 1, 1, 4, 2), ConvolutionPart::WeightGradient), machineOf(1, options),
                3);
}

TEST(MappingSearch, EqualsExhaustionWithTiles) {
  KernelMachineOptions options;
  options.tile = 2, options.registers = 6;
  expectOptimum(product({5, 4, 6}), machineOf(2, options), 4);
  options.tile = 4;
  expectOptimum(product({9, 7, 3, 2}), machineOf(2, options), 4);
  expectOptimum(convolution(smallConvolution(4, 8, 2, 6, 1), ConvolutionPart::Forward), machineOf(2, options), 2);
}

TEST(MappingSearch, EqualsExhaustionWithACache) {
  expectOptimum(product({4, 8, 1}), cached(machineOf(0)), 2);
  expectOptimum(product({1, 8, 4}), cached(machineOf(0)), 2);
}

TEST(MappingSearch, EqualsExhaustionWhereTensorsAreCopied) {
  expectOptimum(product({3, 17, 2}), machineOf(3), 3);
  expectOptimum(product({9, 7, 6}), machineOf(4), 2);
  expectOptimum(convolution(smallConvolution(4, 8, 1, 6, 2), ConvolutionPart::Forward), machineOf(4), 2);
}

/// A machine whose numbers are all drawn.
Microarchitecture drawnMachine(MachineCases &draw, int kind) {
  KernelMachineOptions options;
  options.addresses = draw.flip(), options.control = draw.flip(), options.multiplyAdd = draw.draw(0, 3) > 0;
  options.registers = int32_t(draw.draw(8, 14)), options.lanes = 2 << draw.draw(0, 1);
  options.tile = int32_t(draw.draw(2, 3));
  Microarchitecture machine = machineOf(kind, options);
  machine.window = int32_t(draw.draw(2, 12)), machine.fetch.width = int32_t(draw.draw(1, 3));
  machine.fetch.buffer = int32_t(draw.draw(1, 6)), machine.fetch.latency = draw.draw(0, 2);
  for (Stage &stage : machine.stages)
    stage.capacity = int32_t(draw.draw(1, 4)), stage.width = int32_t(draw.draw(1, 3)),
    stage.latency = cycles(draw.draw(0, 2));
  for (Unit &unit : machine.units) {
    unit.count = int32_t(draw.draw(1, 2)), unit.entries = int32_t(draw.draw(1, 3));
    for (UnitOperation &operation : unit.operations)
      operation.latency = cycles(draw.draw(0, 5)), operation.interval = cycles(draw.draw(1, 3));
  }
  for (RegisterFile &file : machine.registers) {
    file.renamed = draw.draw(0, 2) == 0;
    file.readPorts = draw.flip() ? 0 : 3, file.writePorts = draw.flip() ? 0 : 1;
  }
  Storage &memory = machine.storages[0];
  memory.portBytes = 4 << draw.draw(0, 3), memory.ports = int32_t(draw.draw(1, 2)), memory.banks = 1 << draw.draw(0, 1);
  memory.requests = int32_t(draw.draw(1, 4)), memory.readLatency = draw.draw(0, 6),
  memory.writeLatency = draw.draw(0, 4);
  if (draw.draw(0, 3) == 0)
    memory.rows = {256, draw.draw(0, 5)};
  return draw.draw(0, 3) == 0 ? cached(machine) : machine;
}
/// At most some dozen products; now and then a loop of no iterations.
Contraction drawnContraction(MachineCases &draw, int kind) {
  const int64_t unit = kind == 0 ? 1 : 3;
  Contraction made;
  if (draw.flip()) {
    made = product({draw.draw(1, 3 * (kind == 2 ? 2 : 1)), draw.draw(1, 3 * unit), draw.draw(1, 4), draw.draw(1, 2),
                    draw.flip(), draw.flip()});
  } else {
    ConvolutionShape shape =
        smallConvolution(draw.draw(1, 2), draw.draw(1, 2), 1, draw.draw(2, 2 + 2 * unit), draw.draw(1, 2));
    shape.columnStride = draw.draw(1, 2), shape.columnDilation = draw.draw(1, 2), shape.columnPadding = draw.draw(0, 1);
    made = convolution(shape, ConvolutionPart(draw.draw(0, 2)));
  }
  if (draw.draw(0, 9) == 0)
    made.loops[size_t(draw.draw(0, int64_t(made.loops.size()) - 1))].extent = 0;
  made.accumulates = draw.draw(0, 4) == 0;
  return made;
}

TEST(MappingSearch, EqualsExhaustionOnDrawnMachines) {
  int spaces = 0;
  std::vector<uint64_t> tried = {1002}; // whose machine refuses all of the space
  for (uint64_t seed = 0; seed < seeds(40); ++seed)
    tried.push_back(seed);
  for (uint64_t seed : tried) {
    MachineCases draw(seed);
    const int kind = int(seed % 3);
    const Microarchitecture machine = drawnMachine(draw, kind);
    ASSERT_TRUE(check(machine).empty()) << seed;
    const Contraction contraction = drawnContraction(draw, kind);
    MappingLimits limits;
    limits.space.unrolled = draw.draw(1, 4);
    limits.schedules = limits.instructions = limits.kernels = limits.points = int64_t(1) << 40;
    Exhaustion all(contraction, machine, limits.space);
    const Cycles best = all.run({});
    ASSERT_FALSE(::testing::Test::HasFailure()) << seed;
    const auto plain = cyclesOf(contraction, plainSchedule(contraction, machine), machine);
    const auto found = searchMapping(contraction, machine, limits);
    ASSERT_EQ(bool(found), plain.has_value() || best < INT64_MAX) << seed;
    if (!found)
      continue;
    ASSERT_EQ(found->timing.cycles, std::min(best, plain.value_or(INT64_MAX))) << seed;
    ASSERT_TRUE(found->proven) << seed;
    spaces += all.valued > 1;
  }
  EXPECT_GT(spaces, 20);
}

// ---- larger spaces, at random

/// Any schedule with a shape of the space: levels in any order with any steps, any blocks.
Schedule drawnSchedule(MachineCases &draw, const ScheduleSpace &space) {
  const ScheduleShape &shape = space.shapes()[size_t(draw.draw(0, int64_t(space.shapes().size()) - 1))];
  Schedule made = shape.schedule;
  const int64_t loops = int64_t(shape.count.size());
  made.block.assign(size_t(loops), 0);
  std::vector<int64_t> last(size_t(loops), int64_t(1) << 20);
  for (int64_t i = draw.draw(1, 3); i > 0; --i) {
    const size_t l = size_t(draw.draw(0, loops - 1));
    made.block[l] = shape.chunk[l] * draw.draw(1, 4);
  }
  for (int64_t i = draw.draw(0, 8); i > 0; --i) {
    const size_t l = size_t(draw.draw(0, loops - 1));
    const int64_t unit = std::max(shape.chunk[l], made.block[l]);
    const int64_t step = unit * draw.draw(1, std::max<int64_t>(shape.count[l] * shape.chunk[l] / unit, 1));
    if (step < last[l])
      made.levels.push_back({Index(l), step}), last[l] = step;
  }
  made.ahead = int16_t(std::max<int64_t>(draw.draw(-3, 6), 0));
  return made;
}
SchedulePoint drawnPoint(MachineCases &draw, const ScheduleSpace &space) {
  for (;;) {
    SchedulePoint point = space.root();
    for (auto choices = space.children(point);; choices = space.children(point)) {
      if (!choices)
        return point;
      if (choices->empty())
        break;
      point = (*choices)[size_t(draw.draw(0, int64_t(choices->size()) - 1))];
    }
  }
}

/// Legal mappings, half of them of the space and half of any form (a thousand where the environment asks for them):
/// none is better than what is found, and none of the space is below the bound.
void expectNoneBetter(const Contraction &contraction, const Microarchitecture &machine) {
  MappingLimits limits;
  const auto found = searchMapping(contraction, machine, limits);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LE(found->bound, found->timing.cycles);
  EXPECT_LE(found->valued, limits.schedules + 1);
  const ScheduleSpace space(contraction, machine, limits.space);
  MachineCases draw(7);
  for (int legal = 0; legal < int(seeds(150));) {
    const bool isInSpace = legal % 2 == 0;
    Schedule schedule = isInSpace ? space.scheduleOf(drawnPoint(draw, space)) : drawnSchedule(draw, space);
    if (!isInSpace)
      (void)stagePieces(schedule, contraction, machine);
    Cycles program = 0;
    const auto cycles = cyclesOf(contraction, schedule, machine, &program);
    if (!cycles)
      continue;
    ++legal;
    ASSERT_GE(*cycles, found->timing.cycles) << contraction.name << "\n" << printSchedule(schedule, contraction);
    ASSERT_LE(program, *cycles);
    if (isInSpace)
      ASSERT_GE(*cycles, found->bound);
  }
}

ConvolutionShape square(int64_t filters, int64_t channels, int64_t size, int64_t filter, int64_t stride = 1) {
  ConvolutionShape shape = smallConvolution(filters, channels, size, size, filter);
  shape.filterRows = filter, shape.rowStride = shape.columnStride = stride;
  return shape;
}

TEST(MappingSearch, NoRandomMappingIsBetterOnAScalarMachine) {
  expectNoneBetter(product({6, 7, 8}), machineOf(0));
  expectNoneBetter(convolution(square(3, 2, 5, 3), ConvolutionPart::Forward), machineOf(0));
  expectNoneBetter(convolution(square(2, 3, 4, 2), ConvolutionPart::DataGradient), machineOf(0));
}
TEST(MappingSearch, NoRandomMappingIsBetterOnAVectorMachine) {
  expectNoneBetter(product({9, 24, 7, 1, false, true}), machineOf(1));
  expectNoneBetter(product({13, 17, 5, 2}), machineOf(1));
  expectNoneBetter(convolution(square(16, 3, 7, 3), ConvolutionPart::Forward), machineOf(1));
  expectNoneBetter(convolution(square(8, 5, 6, 3, 2), ConvolutionPart::WeightGradient), machineOf(1));
}
TEST(MappingSearch, NoRandomMappingIsBetterWithTiles) {
  expectNoneBetter(product({31, 30, 29}), machineOf(2));
  expectNoneBetter(convolution(square(16, 8, 10, 3), ConvolutionPart::Forward), machineOf(2));
  expectNoneBetter(convolution(square(12, 16, 8, 3), ConvolutionPart::DataGradient), machineOf(2));
  expectNoneBetter(product({16, 20, 24}), machineOf(4));
}

/// A layer of ResNet-18: on machines that start instructions in order the search finds schedules whose loads stand
/// ahead of products, and that take far fewer cycles than the same ones with each load directly before its use.
TEST(MappingSearch, LoadsAheadOfProductsAreNotWaitedFor) {
  ConvolutionShape shape = square(64, 64, 56, 3);
  shape.rowPadding = shape.columnPadding = 1;
  for (int kind : {0, 1, 2}) {
    const Microarchitecture machine = machineOf(kind);
    const Contraction contraction = convolution(shape, ConvolutionPart::WeightGradient);
    const auto found = searchMapping(contraction, machine);
    ASSERT_TRUE(found) << found.error().message;
    Schedule schedule = std::get<Schedule>(found->schedule);
    EXPECT_GT(schedule.ahead, 0) << kind;
    schedule.ahead = 0;
    const auto without = cyclesOf(contraction, schedule, machine);
    ASSERT_TRUE(without);
    EXPECT_LT(double(found->timing.cycles), 0.8 * double(*without)) << kind;
    EXPECT_LT(found->gap(), kind == 2 ? 0.4 : 0.1) << kind;
  }
}

// ---- rows, limits, extremes

TEST(MappingSearch, RowOperations) {
  for (int kind : {0, 1})
    for (const char *name : {"softmax", "layer_norm_grad"}) {
      const RowOperation operation = *lineOperation(name, 5, 27);
      const Microarchitecture machine = machineOf(kind);
      MappingLimits limits;
      limits.schedules = limits.instructions = limits.kernels = int64_t(1) << 40;
      const auto found = searchMapping(operation, machine, limits);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_TRUE(found->proven);
      for (Index loop : {kNone, 0, 1})
        for (int64_t unroll = 1; unroll <= 27; ++unroll)
          if (auto cycles = cyclesOf(operation, RowSchedule{loop, loop == kNone ? 1 : 8, unroll}, machine)) {
            EXPECT_LE(found->timing.cycles, *cycles) << name << " " << loop << " " << unroll;
          }
      EXPECT_NE(describe(*found, operation).find("no schedule of its space takes fewer"), std::string::npos);
    }
}

TEST(MappingSearch, LimitsLeaveABound) {
  const Contraction large = product({int64_t(1) << 20, 1000003, 4096});
  for (int kind : {0, 1, 2}) {
    MappingLimits limits;
    limits.schedules = 5, limits.kernels = 40, limits.points = 2000;
    const auto found = searchMapping(large, machineOf(kind), limits);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LE(found->valued, 5);
    EXPECT_FALSE(found->proven);
    EXPECT_GT(found->bound, 0);
    EXPECT_LT(found->bound, found->timing.cycles);
    const auto again = searchMapping(large, machineOf(kind), limits);
    EXPECT_EQ(describe(*found, large), describe(*again, large)); // the same limits, the same answer
    // No effort at all: the plain schedule, with a bound.
    limits.schedules = 0;
    const auto plain = searchMapping(large, machineOf(kind), limits);
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->timing.cycles, cyclesOf(large, plainSchedule(large, machineOf(kind)), machineOf(kind)));
    // A gap that is wide enough ends the search.
    limits.schedules = 5, limits.gap = 1;
    EXPECT_LE(searchMapping(large, machineOf(kind), limits)->valued, 5);
  }
}

TEST(MappingSearch, ExtremeExtents) {
  for (int kind : {0, 1, 2})
    for (const ProductShape &shape :
         {ProductShape{1, 1, 1}, ProductShape{0, 3, 4}, ProductShape{1, 1, int64_t(1) << 30}}) {
      MappingLimits limits;
      limits.schedules = 20, limits.kernels = 100, limits.points = 5000;
      const auto found = searchMapping(product(shape), machineOf(kind), limits);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_LE(found->bound, found->timing.cycles);
      if (shape.m == 0) {
        EXPECT_TRUE(found->proven);
      }
    }
  Microarchitecture none = machineOf(0);
  for (Opcode &opcode : none.opcodes)
    opcode.role = {};
  EXPECT_EQ(searchMapping(product({2, 2, 2}), none).error().code, Code::NotMapped);
}

// ---- text

std::string text(const Errors &errors) {
  std::string all;
  for (const Error &error : errors)
    all += fmt::format("{}:{}: {} {}{}\n", error.location.line, error.location.column, entryOf(error.code).number.str(),
                       error.message, error.suggestion.empty() ? "" : " (" + error.suggestion + ")");
  return all;
}

TEST(ScheduleText, IsReadAsItWasPrinted) {
  const char *const wanted = R"(schedule {
  order = [batch, k, m, n, k]
  tile(k) = 64
  block(m) = 4
  block(n) = 16
  lanes(n) = 8
  ahead = 4
}
)";
  const Contraction contraction = product({32, 64, 256});
  const auto schedule = parseSchedule(wanted, "s", contraction);
  ASSERT_TRUE(schedule) << text(schedule.error());
  EXPECT_EQ(printSchedule(*schedule, contraction), wanted);
  ASSERT_EQ(schedule->levels.size(), 5u);
  EXPECT_EQ(schedule->levels[1].step, 64);
  EXPECT_EQ(schedule->levels[3].step, 16);
  EXPECT_EQ(schedule->levels[4].step, 1);
  const auto short1 = parseSchedule("schedule { lanes(n) = 8; order = [m] // rows\n }", "s", contraction);
  ASSERT_TRUE(short1) << text(short1.error());
  EXPECT_EQ(short1->lanes, 8);
  MachineCases draw(3);
  for (int kind : {0, 1, 2}) {
    const ScheduleSpace space(contraction, machineOf(kind), {});
    for (int i = 0; i < 60; ++i) {
      const Schedule drawn = i % 2 ? space.scheduleOf(drawnPoint(draw, space)) : drawnSchedule(draw, space);
      const std::string printed = printSchedule(drawn, contraction);
      if (!contractionKernel(contraction, drawn))
        continue;
      const auto again = parseSchedule(printed, "s", contraction);
      ASSERT_TRUE(again) << printed << text(again.error());
      EXPECT_EQ(printSchedule(*again, contraction), printed);
      EXPECT_EQ(cyclesOf(contraction, *again, machineOf(kind)), cyclesOf(contraction, drawn, machineOf(kind)));
    }
  }
  const RowOperation rows = *lineOperation("softmax", 4, 64);
  const RowSchedule row{1, 8, 4};
  const auto again = parseRowSchedule(printSchedule(row, rows), "s", rows);
  ASSERT_TRUE(again) << text(again.error());
  EXPECT_EQ(std::tuple(again->vectorLoop, again->lanes, again->unroll), std::tuple(1, 8, 4));
}

TEST(ScheduleText, ErrorsAreAtTheirPlace) {
  const Contraction contraction = product({32, 64, 256});
  auto wrong = [&](const char *is) {
    const auto schedule = parseSchedule(is, "s", contraction);
    return schedule ? std::string("read") : text(schedule.error());
  };
  EXPECT_EQ(wrong("plan {"), "1:1: A0001 found 'plan'; allowed here: 'schedule'\n");
  EXPECT_EQ(wrong("schedule {\n  order = [m, kk]\n}"), "2:15: A1308 'product_32x64x256' has no loop 'kk' (k)\n");
  EXPECT_EQ(wrong("schedule {\n  lanes(n) = 8\n  block(n) = 12\n}"),
            "3:14: A1308 a block of 12 of 'n' is no multiple of the 8 that one instruction covers\n");
  EXPECT_EQ(wrong("schedule {\n  order = [k, m, k]; tile(k) = [4, 8]\n}"),
            "2:36: A1308 a level of 'k' has a step of 8, which is not below the 4 of the one outside\n");
  EXPECT_EQ(wrong("schedule {\n  order = [k]\n  tile(k) = [8, 4]\n}"),
            "3:17: A1308 'order' has 1 levels of 'k', and 'tile' says 2 steps\n");
  EXPECT_EQ(wrong("schedule {\n  lanes(k) = 8\n}"),
            "1:1: A1308 'product_32x64x256': the elements of lanes do not lie side by side along 'k'\n");
  EXPECT_EQ(wrong("schedule {\n  block(m) = 0\n}"), "2:14: A1308 'block' is 0, not from 1 to 2^46\n");
  EXPECT_EQ(wrong("schedule {\n  ahead = 5000\n}"), "2:11: A1308 'ahead' is 5000, not from 1 to 2^12\n");
  EXPECT_EQ(wrong("schedule {\n  preload = first\n}"), "2:13: A0001 found 'first'; allowed here: 'second'\n");
  EXPECT_EQ(wrong("schedule {\n  block(m) = 2; block(m) = 4\n}").substr(0, 10), "2:17: A010");
  EXPECT_EQ(wrong("schedule {\n  product(m, m, k) = [4, 4, 4]\n}").substr(0, 42),
            "2:14: A1308 'product' names 'm' twice\n");
  for (const char *cut :
       {"", "schedule", "schedule {", "schedule { order", "schedule { order =", "schedule { order = [m",
        "schedule { tile(", "schedule { tile(m)", "schedule { tile(m) = [", "schedule { lanes(n) = 8"})
    EXPECT_NE(wrong(cut), "read") << cut;
}

} // namespace
} // namespace accord::microarchitecture
