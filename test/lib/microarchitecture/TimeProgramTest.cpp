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

TEST(TimeProgram, RecurrencesChangeNothing) {
  int recurring = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    MachineCases cases(seed);
    const Microarchitecture machine = cases.machine();
    ASSERT_EQ(messages(check(machine)), "") << seed;
    const InstructionProgram program = cases.program(machine, 150);
    ASSERT_EQ(messages(check(program, machine)), "") << seed;
    TimingLimits all;
    all.recurrences = false;
    auto fast = timeProgram(machine, program), slow = timeProgram(machine, program, all);
    ASSERT_TRUE(fast && slow);
    ASSERT_TRUE(isSame(*fast, *slow)) << seed << ": " << fast->cycles << " " << slow->cycles;
    ASSERT_EQ(slow->instructions, executedInstructions(program));
    recurring += !fast->recurrences.empty();
  }
  EXPECT_GT(recurring, 150);
}

} // namespace
} // namespace accord::microarchitecture
