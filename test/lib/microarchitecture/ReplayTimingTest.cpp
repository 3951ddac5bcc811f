// Certificates of timings are proved by replay, and changed ones are refused.
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"
#include <functional>

namespace accord::microarchitecture {
namespace {

std::string first(const Errors &errors) { return errors.empty() ? "" : errors.front().message; }

TEST(ReplayTiming, ProvesWhatTheEngineFinds) {
  int64_t recurring = 0, refused = 0;
  for (uint64_t seed = 0; seed < seeds(150); ++seed) {
    MachineCases cases(seed * 104729 + 3);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 150);
    if (seed % 3 == 1)
      addFences(program, seed);
    auto timing = timeProgram(machine, program);
    ASSERT_TRUE(timing) << seed;
    recurring += !timing->recurrences.empty();
    const Errors errors = verifyTiming(machine, program, *timing);
    if (!errors.empty() && ++refused <= 20)
      ADD_FAILURE() << seed << ": " << first(errors);
  }
  EXPECT_EQ(refused, 0);
  EXPECT_GT(recurring, int64_t(seeds(150)) / 5);
}

/// A certificate is of its program: with one fence less, another time is found.
TEST(ReplayTiming, RefusesAFenceLess) {
  int64_t slower = 0, recurring = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    MachineCases cases(seed * 31 + 7);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 150);
    addFences(program, seed);
    auto timing = timeProgram(machine, program);
    ASSERT_TRUE(timing) << seed;
    ASSERT_EQ(first(verifyTiming(machine, program, *timing)), "") << seed;
    InstructionProgram less = program;
    std::vector<Body *> bodies{&less.body};
    for (InstructionLoop &loop : less.loops)
      bodies.push_back(&loop.body);
    for (Body *body : bodies)
      if (auto at = std::find_if(body->begin(), body->end(), [](const Item &item) { return item.isFence(); });
          at != body->end()) {
        body->erase(at);
        break;
      }
    auto other = timeProgram(machine, less);
    ASSERT_TRUE(other) << seed;
    if (other->cycles == timing->cycles)
      continue; // it delayed nothing
    ASSERT_NE(first(verifyTiming(machine, less, *timing)), "") << seed;
    ASSERT_NE(first(verifyTiming(machine, program, *other)), "") << seed;
    ++slower, recurring += !timing->recurrences.empty();
  }
  EXPECT_GT(slower, 20);
  EXPECT_GT(recurring, 10);
}

/// Arrays that walk through caches by whole lines, with and without stores, on machines whose stages join.
TEST(ReplayTiming, ProvesWhereCachesRecur) {
  int64_t recurring = 0, missing = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    MachineCases cases(seed * 7 + 1);
    Microarchitecture machine = cases.machine();
    tangle(machine, cases);
    InstructionProgram program = cases.program(machine, 150);
    for (size_t i = 0; i < program.instructions.size(); ++i)
      for (MemoryOperand &operand : program.instructions[i].memory) {
        operand.address.base = int64_t(i + 1) << 22;
        for (int64_t &stride : operand.address.strides)
          stride = cases.draw(0, 3) * 128;
        if (Storage &storage = machine.storages[operand.storage]; storage.cache)
          storage.cache->sets = 1, storage.rows = {};
      }
    ASSERT_EQ(first(check(machine)) + first(check(program, machine)), "") << seed;
    auto timing = timeProgram(machine, program);
    ASSERT_TRUE(timing) << seed;
    ASSERT_EQ(first(verifyTiming(machine, program, *timing)), "") << seed;
    recurring += !timing->recurrences.empty();
    for (const InstructionTiming::StorageUse &use : timing->storages)
      missing += !timing->recurrences.empty() && use.misses > 20;
  }
  EXPECT_GT(recurring, 30);
  EXPECT_GT(missing, 10);
}

TEST(ReplayTiming, ProvesATrillionIterations) {
  int64_t proved = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    MachineCases cases(seed * 13 + 4);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 60);
    for (Instruction &instruction : program.instructions)
      for (MemoryOperand &operand : instruction.memory)
        operand.address.strides.clear();
    program.loops.back().count = 1'000'000'000'000;
    TimingLimits limits;
    limits.evaluated = 100'000;
    auto timing = timeProgram(machine, program, limits);
    if (!timing)
      continue;
    ++proved;
    ASSERT_EQ(first(verifyTiming(machine, program, *timing)), "") << seed;
  }
  EXPECT_EQ(proved, 60);
}

using Change = std::function<void(InstructionTiming &)>;

/// Everything that may be changed in a timing, one at a time.
std::vector<std::pair<std::string, Change>> changes(const InstructionTiming &of) {
  std::vector<std::pair<std::string, Change>> all;
  auto number = [&](std::string name, auto get) {
    all.push_back({name + " + 1", [get](InstructionTiming &t) { get(t) += 1; }});
    all.push_back({name + " - 1", [get](InstructionTiming &t) { get(t) -= 1; }});
  };
  number("cycles", [](InstructionTiming &t) -> auto & { return t.cycles; });
  number("instructions", [](InstructionTiming &t) -> auto & { return t.instructions; });
  number("evaluated", [](InstructionTiming &t) -> auto & { return t.evaluated; });
  for (size_t u = 0; u < of.units.size(); ++u) {
    number("unit instructions", [u](InstructionTiming &t) -> auto & { return t.units[u].instructions; });
    number("unit busy", [u](InstructionTiming &t) -> auto & { return t.units[u].busy; });
  }
  for (size_t s = 0; s < of.storages.size(); ++s) {
    number("beats", [s](InstructionTiming &t) -> auto & { return t.storages[s].beats; });
    number("hits", [s](InstructionTiming &t) -> auto & { return t.storages[s].hits; });
    number("misses", [s](InstructionTiming &t) -> auto & { return t.storages[s].misses; });
    number("writeBacks", [s](InstructionTiming &t) -> auto & { return t.storages[s].writeBacks; });
  }
  for (size_t r = 0; r < of.recurrences.size(); r += 1 + of.recurrences.size() / 4) {
    number("loop", [r](InstructionTiming &t) -> auto & { return t.recurrences[r].loop; });
    number("period", [r](InstructionTiming &t) -> auto & { return t.recurrences[r].period; });
    number("growth", [r](InstructionTiming &t) -> auto & { return t.recurrences[r].growth; });
    number("repeats", [r](InstructionTiming &t) -> auto & { return t.recurrences[r].repeats; });
    for (size_t a = 0; a < of.recurrences[r].around.size(); ++a)
      number("around", [r, a](InstructionTiming &t) -> auto & { return t.recurrences[r].around[a]; });
    all.push_back({"around longer", [r](InstructionTiming &t) { t.recurrences[r].around.push_back(0); }});
    all.push_back({"one left out", [r](InstructionTiming &t) { t.recurrences.erase(t.recurrences.begin() + r); }});
    all.push_back({"one twice", [r](InstructionTiming &t) { t.recurrences.push_back(t.recurrences[r]); }});
    for (int64_t wild : {int64_t(-1), INT64_MAX, INT64_MIN}) {
      all.push_back({"first wild", [r, wild](InstructionTiming &t) { t.recurrences[r].first = wild; }});
      all.push_back({"period wild", [r, wild](InstructionTiming &t) { t.recurrences[r].period = wild; }});
      all.push_back({"growth wild", [r, wild](InstructionTiming &t) { t.recurrences[r].growth = wild; }});
      all.push_back({"repeats wild", [r, wild](InstructionTiming &t) { t.recurrences[r].repeats = wild; }});
    }
  }
  for (size_t w = 0; w < of.waits.size(); ++w)
    number("waited", [w](InstructionTiming &t) -> auto & { return t.waits[w].oldest; });
  all.push_back({"bounds", [](InstructionTiming &t) { t.bounds = InstructionTiming::Bounds{0, INT64_MAX, 0, 0}; }});
  if (of.recurrences.size() > 1)
    all.push_back({"order", [](InstructionTiming &t) { std::swap(t.recurrences.front(), t.recurrences.back()); }});
  all.push_back({"a unit more", [](InstructionTiming &t) { t.units.emplace_back(); }});
  all.push_back({"a memory more", [](InstructionTiming &t) { t.storages.emplace_back(); }});
  return all;
}

TEST(ReplayTiming, RefusesEveryChange) {
  int64_t tried = 0;
  for (uint64_t seed = 0, kept = 0; kept < 12; ++seed) {
    MachineCases cases(seed * 31 + 5);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 60);
    TimingLimits limits;
    limits.waits = true;
    auto timing = timeProgram(machine, program, limits);
    ASSERT_TRUE(timing);
    if (timing->recurrences.empty() || timing->evaluated > 3000)
      continue;
    ++kept;
    ASSERT_EQ(first(verifyTiming(machine, program, *timing)), "") << seed;
    for (const auto &[name, change] : changes(*timing)) {
      InstructionTiming changed = *timing;
      change(changed);
      const Errors errors = verifyTiming(machine, program, changed);
      ++tried;
      ASSERT_FALSE(errors.empty()) << seed << ": " << name;
      for (const Error &error : errors)
        EXPECT_EQ(error.code, Code::WrongProgramTiming);
    }
  }
  EXPECT_GT(tried, 500);
}

/// A period that begins before the state recurs, or ends behind the loop.
TEST(ReplayTiming, RefusesAnotherFirst) {
  int64_t refused = 0, proved = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MachineCases cases(seed * 31 + 5);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 60);
    auto timing = timeProgram(machine, program);
    ASSERT_TRUE(timing);
    if (timing->recurrences.empty() || timing->evaluated > 3000)
      continue;
    const Recurrence &is = timing->recurrences.front();
    for (int64_t by : {-1, 1}) {
      InstructionTiming changed = *timing;
      changed.recurrences.front().first += by;
      // What recurs from an iteration on recurs from the next one on, too: that proves the same time.
      const bool holds = verifyTiming(machine, program, changed).empty();
      if (by > 0 && is.first + 1 + is.period * (is.repeats + 1) > program.loops[is.loop].count)
        EXPECT_FALSE(holds) << seed;
      ++(holds ? proved : refused);
      if (is.first + by < 0)
        EXPECT_FALSE(holds);
    }
  }
  EXPECT_GT(refused, proved);
}

} // namespace
} // namespace accord::microarchitecture
