// Programs and machines at the limits: an answer, or an error that says why, in bounded time and room.
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

std::string first(const Errors &errors) { return errors.empty() ? "" : errors.front().message; }

/// Loads from a memory of 2^62 bytes, and additions, one a cycle.
Microarchitecture plain() {
  Microarchitecture made;
  made.name = "plain", made.window = 8, made.fetch = {"fetch", 1, 2, 1, 0, {}};
  made.opcodes = {{"load", 0, 1, 0, 1, 0, false, {}}, {"add", 2, 1, 0, 0, 0, false, {}}};
  Stage stage;
  stage.name = "execute", stage.units = {0}, stage.latency = cycles(1);
  made.stages = {stage};
  Unit unit;
  unit.name = "unit", unit.operations = {{0, cycles(1), cycles(1), {}}, {1, cycles(2), cycles(1), {}}};
  unit.reads = unit.writes = unit.loadsFrom = {0};
  made.units = {unit};
  made.registers = {{"r", 8, 32, 0, 0, false, {}}};
  Storage memory;
  memory.name = "memory", memory.end = int64_t(1) << 62, memory.portBytes = 8, memory.readLatency = 3;
  made.storages = {memory};
  return made;
}

Instruction load(int64_t base, std::vector<int64_t> strides = {}, int64_t bytes = 8) {
  return {0, {}, {{0, 0}}, {{0, {base, std::move(strides)}, bytes}}, {}, {}};
}
Instruction add(Index to) { return {1, {{0, 0}, {0, 1}}, {{0, to}}, {}, {}, {}}; }

/// Loops in each other, the innermost with a body of its own, the others with one instruction each.
InstructionProgram nest(size_t depth, int64_t count) {
  InstructionProgram made;
  made.name = "nest", made.instructions = {add(1)};
  Body *body = &made.body;
  made.loops.resize(depth);
  for (size_t d = 0; d < depth; ++d) {
    made.loops[d].name = "l" + std::to_string(d), made.loops[d].count = count;
    body->push_back({kNone, Index(d)});
    body = &made.loops[d].body;
    body->push_back({0, kNone});
  }
  return made;
}

TEST(TimeLimits, AMillionInstructionsWithoutLoops) {
  const Microarchitecture machine = plain();
  InstructionProgram program;
  program.name = "long";
  for (Index i = 0; i < 1'000'000; ++i) {
    program.body.push_back({i, kNone});
    program.instructions.push_back(i % 2 ? add(Index(i % 7)) : load(int64_t(i) * 64));
  }
  ASSERT_EQ(first(check(program, machine)), "");
  auto timing = timeProgram(machine, program);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->evaluated, 1'000'000);
  EXPECT_GE(timing->cycles, 1'000'000);
  TimingLimits limits;
  limits.evaluated = 200'000, limits.bounds = true;
  auto bounded = timeProgram(machine, program, limits);
  ASSERT_TRUE(bounded && bounded->bounds);
  EXPECT_LE(bounded->bounds->low, timing->cycles);
  EXPECT_GE(bounded->bounds->high, timing->cycles);
}

TEST(TimeLimits, FortyLoopsInEachOther) {
  const Microarchitecture machine = plain();
  InstructionProgram program = nest(40, 1);
  ASSERT_EQ(first(check(program, machine)), "");
  auto one = timeProgram(machine, program);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->instructions, 40);
  // Once the machine is warm each loop recurs after its first iteration.
  program = nest(40, 2);
  auto two = timeProgram(machine, program);
  ASSERT_TRUE(two);
  EXPECT_GE(two->cycles, (int64_t(1) << 41) - 2);
  EXPECT_LT(two->evaluated, 10'000);
  EXPECT_EQ(first(verifyTiming(machine, program, *two)), "");
  auto beyond = timeProgram(machine, nest(40, 3)); // 3^40 is about 2^63
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message, "the program takes more than 2^62 cycles");
  // Addresses that move by a byte never recur in two iterations.
  program.instructions = {load(0, std::vector<int64_t>(40, 1))};
  for (size_t d = 0; d < 39; ++d)
    program.loops[d].body = {{kNone, Index(d + 1)}};
  ASSERT_EQ(first(check(program, machine)), "");
  TimingLimits limits;
  limits.evaluated = 50'000;
  auto none = timeProgram(machine, program, limits);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::NoRecurrence);
  EXPECT_EQ(none.error().message, "the time of 'nest' does not recur within 50000 instructions");
  limits.bounds = true;
  auto bounded = timeProgram(machine, program, limits);
  ASSERT_TRUE(bounded && bounded->bounds);
  EXPECT_EQ(bounded->instructions, __int128(1) << 40);
  EXPECT_GE(bounded->bounds->low, (int64_t(1) << 40));
  EXPECT_LE(bounded->bounds->high, 8 * (int64_t(1) << 40));
  EXPECT_EQ(first(verifyTiming(machine, program, *bounded)), "");
  // More than can be counted, and deeper than a nest may be.
  EXPECT_EQ(first(check(nest(40, int64_t(1) << 46), machine)), "'nest' executes more than 2^100 instructions");
  EXPECT_EQ(first(check(nest(300, 1), machine)), "loop 'l256' is in more than 255 others");
}

TEST(TimeLimits, CountsAndAddressesAtTheirEnd) {
  const Microarchitecture machine = plain();
  const int64_t top = (int64_t(1) << 62) - 8, maxCount = int64_t(1) << 46;
  InstructionProgram program;
  program.name = "far", program.instructions = {load(top), load(top, {-65536}), load(0, {65528})};
  program.loops.push_back({"i", maxCount, {{0, kNone}, {1, kNone}, {2, kNone}}, {}});
  program.body = {{kNone, 0}};
  ASSERT_EQ(first(check(program, machine)), "");
  auto timing = timeProgram(machine, program);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->instructions, 3 * __int128(maxCount));
  EXPECT_GE(timing->cycles, 3 * maxCount);
  EXPECT_LT(timing->evaluated, 1000);
  EXPECT_EQ(first(verifyTiming(machine, program, *timing)), "");
  program.loops[0].count = maxCount + 1;
  EXPECT_EQ(first(check(program, machine)), "loop 'i' has 70368744177665 iterations, not from 0 to 2^46");
  program.loops[0].count = maxCount;
  program.instructions[2].memory[0].address.strides = {INT64_MAX};
  EXPECT_EQ(check(program, machine).front().code, Code::AddressOutside);
  program.loops[0].count = 1; // it never moves
  ASSERT_EQ(first(check(program, machine)), "");
  EXPECT_TRUE(timeProgram(machine, program));
  // 2^46 iterations of 2^46 of instructions that take 2^20 cycles each.
  Microarchitecture slow = plain();
  slow.units[0].operations[1].interval = cycles(1 << 20);
  program = nest(2, maxCount);
  ASSERT_EQ(first(check(program, slow)), "");
  auto beyond = timeProgram(slow, program);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message, "the program takes more than 2^62 cycles");
}

TEST(TimeLimits, LargeCapacitiesAndManyUnits) {
  constexpr int32_t kMax = 1 << 20;
  Microarchitecture machine = plain();
  machine.window = machine.fetch.width = machine.fetch.buffer = kMax;
  machine.stages[0].capacity = machine.stages[0].width = kMax;
  machine.units.assign(1000, machine.units[0]);
  machine.stages[0].units.clear();
  for (Index u = 0; u < 1000; ++u) {
    machine.units[u].name = "u" + std::to_string(u), machine.units[u].count = machine.units[u].entries = kMax;
    machine.stages[0].units.push_back(u);
  }
  machine.registers[0].count = kMax;
  machine.storages[0].ports = machine.storages[0].banks = machine.storages[0].requests = kMax;
  Storage cache = machine.storages[0];
  cache.name = "cache", cache.cache = Storage::Cache{};
  cache.cache->sets = cache.cache->ways = kMax, cache.cache->behind = 0;
  machine.storages.push_back(cache);
  for (Unit &unit : machine.units)
    unit.loadsFrom = {0, 1};
  ASSERT_EQ(first(check(machine)), "");
  InstructionProgram program;
  program.name = "wide", program.instructions = {load(0, {8}), add(2)};
  program.instructions[0].memory[0].storage = 1;
  program.loops.push_back({"i", 4'000, {{0, kNone}, {1, kNone}}, {}});
  program.body = {{kNone, 0}};
  ASSERT_EQ(first(check(program, machine)), "");
  auto timing = timeProgram(machine, program);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->instructions, 8'000);
  EXPECT_EQ(timing->storages[1].misses, 500);
  TimingLimits limits;
  limits.evaluated = 1000, limits.bounds = true;
  auto bounded = timeProgram(machine, program, limits);
  ASSERT_TRUE(bounded && bounded->bounds);
  EXPECT_LE(bounded->bounds->low, timing->cycles);
  EXPECT_GE(bounded->bounds->high, timing->cycles);
  EXPECT_EQ(first(verifyTiming(machine, program, *bounded)), "");
}

/// Operands inside of one piece of a port take one beat wherever they are; those that may cross one take as many as
/// they take, with a period of the whole port. Both times are those of all iterations, and are proved.
TEST(TimeLimits, PlacesThatMatterAndPlacesThatDoNot) {
  Microarchitecture machine = plain();
  machine.storages[0].portBytes = 32;
  for (auto [base, stride, bytes, isFree] : {std::tuple(0, 4, 4, true),
                                             {12, 4, 4, true},
                                             {0, 12, 4, true},
                                             {0, 12, 8, false},
                                             {2, 4, 4, false},
                                             {16, 32, 64, true},
                                             {1, 7, 1, true},
                                             {3, 7, 40, false}}) {
    InstructionProgram program;
    program.name = "places";
    program.instructions = {load(base, {stride}, bytes), add(1)};
    program.loops.resize(1);
    program.loops[0].name = "i", program.loops[0].count = 100'000;
    program.loops[0].body = {{0, kNone}, {1, kNone}};
    program.body = {{kNone, 0}};
    ASSERT_EQ(first(check(program, machine)), "");
    auto timing = timeProgram(machine, program);
    TimingLimits all;
    all.recurrences = false;
    auto whole = timeProgram(machine, program, all);
    ASSERT_TRUE(timing && whole);
    EXPECT_EQ(timing->cycles, whole->cycles) << base << " " << stride << " " << bytes;
    EXPECT_EQ(timing->storages[0].beats, whole->storages[0].beats);
    EXPECT_EQ(first(verifyTiming(machine, program, *timing)), "") << base << " " << stride << " " << bytes;
    EXPECT_EQ(timing->recurrences.front().period == 1, isFree) << base << " " << stride << " " << bytes;
  }
}

TEST(TimeLimits, NothingToDo) {
  const Microarchitecture machine = plain();
  TimingLimits limits;
  limits.bounds = true, limits.waits = true;
  InstructionProgram empty;
  for (const InstructionProgram &program : {empty, nest(3, 0)}) {
    auto timing = timeProgram(machine, program, limits);
    ASSERT_TRUE(timing);
    EXPECT_TRUE(timing->cycles == 0 && timing->instructions == 0 && !timing->bounds && timing->waits.empty());
    EXPECT_EQ(first(verifyTiming(machine, program, *timing)), "");
  }
  limits.evaluated = 0;
  auto all = timeProgram(machine, nest(1, 5), limits);
  ASSERT_TRUE(all && all->bounds);
  EXPECT_EQ(all->bounds->timed, 0);
  EXPECT_EQ(first(verifyTiming(machine, nest(1, 5), *all)), "");
}

TEST(TimeLimits, LargeOperands) {
  Microarchitecture machine = plain();
  InstructionProgram program;
  program.name = "dma", program.instructions = {load(0, {}, int64_t(1) << 40)};
  program.body = {{0, kNone}};
  ASSERT_EQ(first(check(program, machine)), "");
  auto timing = timeProgram(machine, program); // one beat a cycle: at once
  ASSERT_TRUE(timing);
  EXPECT_GE(timing->cycles, int64_t(1) << 37);
  machine.storages[0].ports = machine.storages[0].banks = 3;
  program.instructions[0].location = {"dma.s", 3, 5};
  auto none = timeProgram(machine, program);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "'load' moves 1099511627776 bytes through 'memory', more than 2^22 times 8 B");
  EXPECT_EQ(none.error().location.line, 3u);
}

TEST(TimeLimits, NumbersOutOfRangeAreRefusedAtTheirPlace) {
  const SourceLocation at{"a.accel", 7, 3};
  auto message = [&](auto change) {
    Microarchitecture machine = plain();
    machine.fetch.location = machine.storages[0].location = machine.stages[0].location = machine.location = at;
    change(machine);
    const Errors errors = check(machine);
    EXPECT_FALSE(errors.empty());
    EXPECT_TRUE(!errors.empty() && errors.front().location.line == 7);
    return first(errors);
  };
  EXPECT_EQ(message([](auto &m) { m.window = 0; }), "'window' of 'plain' is 0, not from 1 to 1048576");
  EXPECT_EQ(message([](auto &m) { m.stages[0].capacity = 0; }), "'capacity' of 'execute' is 0, not from 1 to 1048576");
  EXPECT_EQ(message([](auto &m) { m.fetch.buffer = -1; }), "'buffer' of 'fetch' is -1, not from 1 to 1048576");
  EXPECT_EQ(message([](auto &m) { m.storages[0].requests = 0; }), "'requests' of 'memory' is 0, not from 1 to 1048576");
  EXPECT_EQ(message([](auto &m) { m.storages[0].readLatency = INT64_MAX; }),
            "'read_latency' of 'memory' is 9223372036854775807, not from 0 to 1073741824");
  EXPECT_EQ(message([](auto &m) { m.storages[0].end = INT64_MAX; }),
            "memory 'memory' ends at 9223372036854775807, beyond 2^62");
  EXPECT_EQ(message([](auto &m) { m.fetch.latency = -1; }), "'latency' of 'fetch' is negative");
}

} // namespace
} // namespace accord::microarchitecture
