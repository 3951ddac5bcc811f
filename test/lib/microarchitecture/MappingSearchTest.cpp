// Searches over mappings: bounds that hold, optima that exhaustion finds too, nothing random that is better.
#include "lib/microarchitecture/search/WorkBound.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

TEST(WorkBound, NoProgramEndsEarlier) {
  double tightness = 0;
  int programs = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
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
  EXPECT_GT(programs, 500);
  EXPECT_GT(tightness / programs, 0.4);
}

} // namespace
} // namespace accord::microarchitecture
