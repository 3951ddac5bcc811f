// Bounds hold what they say: the exact time is between them, wherever evaluation ends, and they say something.
#include "lib/microarchitecture/solve/BoundProgram.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/solve/TimingEnvelope.h"
#include "lib/microarchitecture/verify/BoundSystem.h"
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"
#include <algorithm>

namespace accord::microarchitecture {
namespace {

InstructionTiming timed(const Microarchitecture &machine, const InstructionProgram &program,
                        const TimingLimits &limits) {
  auto timing = timeProgram(machine, program, limits);
  EXPECT_TRUE(timing) << (timing ? "" : timing.error().message);
  return timing ? *timing : InstructionTiming{};
}

/// After `evaluated` instructions, without recurrences.
InstructionTiming cut(const Microarchitecture &machine, const InstructionProgram &program, int64_t evaluated) {
  TimingLimits limits;
  limits.evaluated = evaluated, limits.recurrences = false, limits.bounds = true;
  return timed(machine, program, limits);
}

/// The program, where two of three times arrays move by lines, so that they leave the caches.
InstructionProgram program(MachineCases &cases, const Microarchitecture &machine) {
  InstructionProgram made = cases.program(machine, 100);
  const int64_t by = int64_t(1) << (3 * cases.draw(0, 2));
  for (Instruction &instruction : made.instructions)
    for (MemoryOperand &operand : instruction.memory) {
      operand.address.base += 1 << 24;
      for (int64_t &stride : operand.address.strides)
        stride *= by;
    }
  if (by == 8)
    addFences(made, uint64_t(made.instructions.size()));
  return made;
}

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + int64_t(of.size() / 2), of.end());
  return of[of.size() / 2];
}

TEST(BoundProgram, ExactTimesAreBetween) {
  std::vector<double> low, high, estimate;
  for (uint64_t seed = 0; seed < seeds(100); ++seed) {
    MachineCases cases(seed * 17 + 3);
    Microarchitecture machine = cases.machine();
    if (seed % 4 == 0)
      tangle(machine, cases);
    const InstructionProgram is = program(cases, machine);
    const InstructionTiming exact = timed(machine, is, {});
    for (int64_t evaluated : {0, 7, 90, 500}) {
      const InstructionTiming bounded = cut(machine, is, evaluated);
      if (exact.instructions <= evaluated) {
        ASSERT_FALSE(bounded.bounds) << seed;
        ASSERT_EQ(bounded.cycles, exact.cycles) << seed;
        continue;
      }
      ASSERT_TRUE(bounded.bounds) << seed;
      ASSERT_LE(bounded.bounds->low, exact.cycles) << seed << " after " << evaluated;
      ASSERT_GE(bounded.bounds->high, exact.cycles) << seed << " after " << evaluated;
      ASSERT_LE(bounded.bounds->low, bounded.cycles);
      ASSERT_GE(bounded.bounds->high, bounded.cycles);
      ASSERT_EQ(bounded.instructions, exact.instructions) << seed;
      ASSERT_EQ(bounded.bounds->timed, evaluated);
      ASSERT_EQ(bounded.evaluated, evaluated);
      if (evaluated != 90 || exact.instructions < 300)
        continue;
      low.push_back(double(bounded.bounds->low) / double(exact.cycles));
      high.push_back(double(bounded.bounds->high) / double(exact.cycles));
      estimate.push_back(double(bounded.cycles) / double(exact.cycles));
    }
  }
  RecordProperty("low", std::to_string(median(low)));
  RecordProperty("high", std::to_string(median(high)));
  EXPECT_GT(median(low), 0.5);
  EXPECT_LT(median(high), 3);
  EXPECT_NEAR(median(estimate), 1, 0.1);
}

std::string first(const Errors &errors) { return errors.empty() ? "" : errors.front().message; }

/// Also behind recurrences, and in the middle of nests.
/// The instructions of a body one after the other, without a loop.
void unroll(const InstructionProgram &program, const Body &body, Body &to) {
  for (const Item &item : body)
    if (item.loop == kNone)
      to.push_back(item);
    else
      for (int64_t i = 0; i < program.loops[item.loop].count; ++i)
        unroll(program, program.loops[item.loop].body, to);
}

TEST(BoundProgram, PowersOfLoopsAreTheirIterationsOneByOne) {
  int compared = 0, many = 0;
  for (uint64_t seed = 0; seed < seeds(150); ++seed) {
    MachineCases cases(seed * 29 + 11);
    Microarchitecture machine = cases.machine();
    if (seed % 4 == 0)
      tangle(machine, cases);
    InstructionProgram is = program(cases, machine);
    for (InstructionLoop &loop : is.loops)
      loop.count = cases.draw(0, 3) ? cases.draw(0, 9) : cases.draw(100, 900);
    if (executedInstructions(is) > 5000)
      continue;
    InstructionProgram flat = is;
    flat.body.clear(), flat.loops.clear();
    unroll(is, is.body, flat.body);
    for (const Cycles from : {Cycles(0), Cycles(1000)}) {
      using Side = TimingEnvelope::Side;
      for (Side side : {Side::Lower, Side::Upper})
        ASSERT_EQ(TimingEnvelope(machine, is, side).end(from), TimingEnvelope(machine, flat, side).end(from)) << seed;
      for (bool isUpper : {false, true})
        ASSERT_EQ(BoundSystem(machine, is, isUpper).end(from), BoundSystem(machine, flat, isUpper).end(from)) << seed;
    }
    ++compared;
    many += std::any_of(is.loops.begin(), is.loops.end(), [](const InstructionLoop &of) { return of.count >= 100; });
  }
  EXPECT_GE(compared, 20);
  EXPECT_GE(many, 5);
}

TEST(BoundProgram, LoopsAroundLoopsAreOneOfAsManyIterations) {
  for (uint64_t seed = 0; seed < seeds(15); ++seed) {
    MachineCases cases(seed * 31 + 7);
    const Microarchitecture machine = cases.machine();
    InstructionProgram one = program(cases, machine);
    one.loops.clear(), one.body.clear();
    Body body;
    for (Index i = 0; i < Index(std::min<size_t>(one.instructions.size(), 5)); ++i)
      body.push_back({i, kNone});
    InstructionProgram two = one;
    for (const int64_t power : {int64_t(8), int64_t(300), int64_t(1) << 20, int64_t(1) << 30}) {
      one.loops = {{"", power * power, body, {}}}, one.body = {{kNone, 0}};
      two.loops = {{"", power, {{kNone, 1}}, {}}, {"", power, body, {}}}, two.body = {{kNone, 0}};
      for (auto side : {TimingEnvelope::Side::Lower, TimingEnvelope::Side::Upper})
        ASSERT_EQ(TimingEnvelope(machine, one, side).end(0), TimingEnvelope(machine, two, side).end(0)) << seed;
    }
  }
}

TEST(BoundProgram, TheReplayProvesThem) {
  int64_t proved = 0, recurring = 0;
  for (uint64_t seed = 0; seed < seeds(60); ++seed) {
    MachineCases cases(seed * 29 + 11);
    Microarchitecture machine = cases.machine();
    if (seed % 4 == 0)
      tangle(machine, cases);
    const InstructionProgram is = program(cases, machine);
    const InstructionTiming exact = timed(machine, is, {});
    for (int64_t evaluated : {0, 60, 150}) {
      TimingLimits limits;
      limits.evaluated = evaluated, limits.bounds = limits.waits = true;
      const InstructionTiming bounded = timed(machine, is, limits);
      ASSERT_EQ(first(verifyTiming(machine, is, bounded)), "") << seed << " after " << evaluated;
      if (!bounded.bounds)
        continue;
      ASSERT_LE(bounded.bounds->low, exact.cycles) << seed << " after " << evaluated;
      ASSERT_GE(bounded.bounds->high, exact.cycles) << seed << " after " << evaluated;
      ++proved, recurring += !bounded.recurrences.empty();
    }
  }
  EXPECT_GT(proved, 60);
  EXPECT_GT(recurring, 5);
}

TEST(BoundProgram, NarrowerOnesAreRefused) {
  int64_t tried = 0, equal = 0;
  for (uint64_t seed = 0; tried < 15; ++seed) {
    MachineCases cases(seed * 41 + 2);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 60);
    const InstructionTiming is = cut(machine, program, 60);
    if (!is.bounds)
      continue;
    ++tried;
    ASSERT_EQ(first(verifyTiming(machine, program, is)), "") << seed;
    auto refused = [&](const char *what, auto change) {
      InstructionTiming changed = is;
      change(changed);
      const Errors errors = verifyTiming(machine, program, changed);
      EXPECT_FALSE(errors.empty()) << seed << ": " << what;
      for (const Error &error : errors)
        EXPECT_EQ(error.code, Code::WrongProgramTiming);
    };
    refused("low", [](InstructionTiming &t) { t.bounds->low += 1; });
    const Cycles exact = timed(machine, program, {}).cycles;
    refused("high", [&](InstructionTiming &t) { t.cycles = t.bounds->high = exact - 1; });
    // The replay may tell more places apart, so that it proves a little less.
    InstructionTiming tight = is;
    tight.bounds->high -= 1, tight.cycles = std::min(tight.cycles, tight.bounds->high);
    equal += !verifyTiming(machine, program, tight).empty();
    refused("reached", [](InstructionTiming &t) { t.bounds->reached += 1; });
    refused("timed", [](InstructionTiming &t) { t.bounds->timed += 1; });
    refused("instructions", [](InstructionTiming &t) { t.instructions += 1; });
    refused("evaluated", [](InstructionTiming &t) { t.evaluated += 1; });
    refused("below", [](InstructionTiming &t) { t.cycles = t.bounds->low - 1; });
    refused("above", [](InstructionTiming &t) { t.cycles = t.bounds->high + 1; });
    refused("no bounds", [](InstructionTiming &t) { t.bounds.reset(); });
    refused("wild", [](InstructionTiming &t) { t.bounds = InstructionTiming::Bounds{INT64_MIN, INT64_MAX, -1, -1}; });
    InstructionTiming wider = is;
    wider.bounds->low -= 1, wider.bounds->high += 1;
    EXPECT_EQ(first(verifyTiming(machine, program, wider)), "") << seed;
  }
  EXPECT_GT(equal, 8);
}

/// A stream of lines that never come again: each is fetched, one after the other.
TEST(BoundProgram, StreamsMissEachLine) {
  Microarchitecture machine;
  machine.name = "stream", machine.window = 8, machine.fetch = {"fetch", 1, 8, 0, 0, {}};
  machine.opcodes = {{"load", 0, 0, 0, 1, 0, false, {}}};
  Stage stage;
  stage.name = "execute", stage.units = {0};
  machine.stages = {stage};
  Unit unit;
  unit.name = "unit", unit.operations = {{0, cycles(1), cycles(1), {}}}, unit.loadsFrom = {1};
  machine.units = {unit};
  Storage far, near;
  far.name = "far", far.end = 1 << 30, far.readLatency = 30, far.requests = 4;
  near.name = "near", near.readLatency = 2, near.cache = Storage::Cache{4, 2, 16, {}, true, true, false, 0};
  machine.storages = {far, near};
  ASSERT_TRUE(check(machine).empty());
  InstructionProgram stream;
  stream.name = "stream", stream.instructions = {{0, {}, {}, {{1, {64, {1 << 14, 16}}, 4}}, {}, {}}};
  stream.loops = {{"i", 50, {{kNone, 1}}, {}}, {"j", 1000, {{0, kNone}}, {}}};
  stream.body = {{kNone, 0}};
  ASSERT_TRUE(check(stream, machine).empty());
  const InstructionTiming exact = timed(machine, stream, {}), bounded = cut(machine, stream, 100);
  ASSERT_TRUE(bounded.bounds);
  // One miss at once: 2 + 4 beats - 1 + 30 cycles each. Of the 49,000 lines of the iterations left the cache may
  // hold 8.
  EXPECT_GE(bounded.bounds->low, bounded.bounds->reached + 35 * (49'000 - 8 - 1) - 1000);
  EXPECT_LE(bounded.bounds->low, exact.cycles);
  EXPECT_GT(bounded.bounds->low, exact.cycles * 9 / 10);
  EXPECT_GE(bounded.bounds->high, exact.cycles);
  EXPECT_EQ(first(verifyTiming(machine, stream, bounded)), "");
}

} // namespace
} // namespace accord::microarchitecture
