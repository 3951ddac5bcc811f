// Bounds hold what they say: the exact time is between them, wherever evaluation ends, and they say something.
#include "lib/microarchitecture/solve/BoundProgram.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
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

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + int64_t(of.size() / 2), of.end());
  return of[of.size() / 2];
}

TEST(BoundProgram, ExactTimesAreBetween) {
  std::vector<double> low, high, estimate;
  for (uint64_t seed = 0; seed < seeds(150); ++seed) {
    MachineCases cases(seed * 17 + 3);
    Microarchitecture machine = cases.machine();
    if (seed % 4 == 0)
      tangle(machine, cases);
    const InstructionProgram program = cases.program(machine, 100);
    const InstructionTiming exact = timed(machine, program, {});
    for (int64_t evaluated : {0, 7, 90, 500}) {
      const InstructionTiming bounded = cut(machine, program, evaluated);
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

} // namespace
} // namespace accord::microarchitecture
