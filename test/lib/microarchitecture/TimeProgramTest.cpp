// Programs are timed as if every instruction were evaluated, however few are.
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

std::string messages(const Errors &errors) {
  std::string all;
  for (const Error &error : errors)
    all += error.message + "\n";
  return all;
}

bool isSame(const InstructionTiming &a, const InstructionTiming &b) {
  bool same = a.cycles == b.cycles && a.instructions == b.instructions;
  for (size_t u = 0; u < a.units.size(); ++u)
    same &= a.units[u].instructions == b.units[u].instructions && a.units[u].busy == b.units[u].busy;
  for (size_t s = 0; s < a.storages.size(); ++s)
    same &= a.storages[s].beats == b.storages[s].beats && a.storages[s].hits == b.storages[s].hits &&
            a.storages[s].misses == b.storages[s].misses && a.storages[s].writeBacks == b.storages[s].writeBacks;
  return same;
}

/// Many kernels of some hundred iterations, and a few of thousands, up to 10^5.
TEST(TimeProgram, RecurrencesChangeNothing) {
  int64_t recurring = 0, long_ = 0;
  for (uint64_t seed = 0; seed < seeds(600); ++seed) {
    MachineCases cases(seed);
    Microarchitecture machine = cases.machine();
    if (seed % 5 == 0)
      tangle(machine, cases);
    ASSERT_EQ(messages(check(machine)), "") << seed;
    InstructionProgram program = cases.program(machine, 150);
    if (seed % 3 == 1)
      addFences(program, seed);
    if (seed % 100 == 7) {
      for (InstructionLoop &loop : program.loops)
        loop.count = std::min<int64_t>(loop.count, 3);
      program.loops.back().count = seed % 300 == 7 ? 100'000 : 3'001;
      for (Instruction &instruction : program.instructions)
        for (MemoryOperand &operand : instruction.memory)
          operand.address.base += 1 << 24;
      ++long_;
    }
    ASSERT_EQ(messages(check(program, machine)), "") << seed;
    TimingLimits all;
    all.recurrences = false;
    auto fast = timeProgram(machine, program), slow = timeProgram(machine, program, all);
    ASSERT_TRUE(fast && slow);
    ASSERT_TRUE(isSame(*fast, *slow)) << seed << ": " << fast->cycles << " " << slow->cycles;
    ASSERT_EQ(slow->instructions, executedInstructions(program));
    recurring += !fast->recurrences.empty();
  }
  EXPECT_GT(recurring, int64_t(seeds(600)) / 5);
  EXPECT_GE(long_, 6);
}

/// Three loops whose inner ones do not divide their periods, with instructions between them.
TEST(TimeProgram, NestsWithRemainders) {
  int64_t recurring = 0;
  for (uint64_t seed = 0; seed < seeds(120); ++seed) {
    MachineCases cases(seed * 97 + 13);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 40);
    const std::vector<int64_t> counts = {cases.draw(3, 17), cases.draw(3, 19), cases.draw(3, 23)};
    for (size_t l = 0; l < program.loops.size(); ++l)
      program.loops[l].count = counts[l % 3];
    for (Instruction &instruction : program.instructions) // so that some outer loops recur
      for (MemoryOperand &operand : instruction.memory)
        for (int64_t &stride : operand.address.strides)
          stride = cases.flip() ? 0 : stride;
    if (seed % 3 == 1)
      addFences(program, seed);
    ASSERT_EQ(messages(check(program, machine)), "") << seed;
    TimingLimits all;
    all.recurrences = false;
    auto fast = timeProgram(machine, program), slow = timeProgram(machine, program, all);
    ASSERT_TRUE(fast && slow);
    ASSERT_TRUE(isSame(*fast, *slow)) << seed << ": " << fast->cycles << " " << slow->cycles;
    recurring += !fast->recurrences.empty();
  }
  EXPECT_GT(recurring, int64_t(seeds(120)) / 3);
}

/// States beyond the limit are kept as hashes: the same time, after at most some periods more.
TEST(TimeProgram, HashesFindTheSameTimes) {
  int64_t recurring = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    MachineCases cases(seed * 5 + 1);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 150);
    TimingLimits few;
    few.kept = 0;
    auto with = timeProgram(machine, program), without = timeProgram(machine, program, few);
    ASSERT_TRUE(with && without);
    ASSERT_TRUE(isSame(*with, *without)) << seed;
    ASSERT_GE(without->evaluated, with->evaluated) << seed;
    recurring += !without->recurrences.empty();
  }
  EXPECT_GT(recurring, 20);
}

/// Fences alone take no time, however many they are, and a fence is no instruction.
TEST(TimeProgram, FencesAlone) {
  MachineCases cases(3);
  const Microarchitecture machine = cases.machine();
  InstructionProgram program;
  program.name = "fences";
  for (Index l = 0; l < 3; ++l)
    program.loops.push_back({"l" + std::to_string(l), int64_t(1) << 46, {{kFence, kNone}}, {}});
  program.loops[0].body.push_back({kNone, 1}), program.loops[1].body.push_back({kNone, 2});
  program.body = {{kFence, kNone}, {kNone, 0}, {kFence, kNone}};
  ASSERT_EQ(messages(check(program, machine)), "");
  EXPECT_EQ(executedInstructions(program), 0);
  for (bool recurrences : {true, false}) {
    TimingLimits limits;
    limits.recurrences = recurrences, limits.waits = true;
    auto timing = timeProgram(machine, program, limits);
    ASSERT_TRUE(timing);
    EXPECT_EQ(timing->cycles, 0);
    EXPECT_TRUE(timing->waits.empty());
  }
}

/// 10^12 iterations by hundreds of instructions, in loops that do and do not touch memory.
TEST(TimeProgram, ATrillionIterations) {
  int64_t instructions = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    MachineCases cases(seed * 13 + 4);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 60);
    for (Instruction &instruction : program.instructions)
      for (MemoryOperand &operand : instruction.memory)
        operand.address.strides.clear();
    for (InstructionLoop &loop : program.loops)
      loop.count = std::max<int64_t>(loop.count, 1);
    program.loops[0].count = 1'000'000'000'000;
    auto timing = timeProgram(machine, program);
    ASSERT_TRUE(timing) << seed;
    ASSERT_GE(timing->instructions, 1'000'000'000'000) << seed;
    ASSERT_LT(timing->evaluated, 40'000) << seed;
    instructions += timing->evaluated;
  }
  EXPECT_LT(instructions / 100, 4'000);
}

} // namespace
} // namespace accord::microarchitecture
