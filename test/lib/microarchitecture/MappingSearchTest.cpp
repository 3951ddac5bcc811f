// Searches over mappings: bounds that hold, optima that exhaustion finds too, nothing random that is better.
#include "lib/microarchitecture/search/MappingSearch.h"
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
  for (uint64_t seed = 0; seed < 300; ++seed) {
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
  EXPECT_GT(programs, 250);
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
  return kind == 0 ? machine.scalar() : kind == 1 ? machine.vector() : machine.tiles();
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
  for (uint64_t seed = 0; seed < seeds(40); ++seed) {
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

} // namespace
} // namespace accord::microarchitecture
