// What cycles are waited for: each cycle once, the same whether loops are evaluated or skipped, and as counted by hand.
#include "lib/microarchitecture/solve/CycleStack.h"
#include "lib/microarchitecture/output/WaitText.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/text/ParseProgram.h"
#include "test/lib/microarchitecture/OmaMachine.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

InstructionTiming timed(const Microarchitecture &machine, const InstructionProgram &program, bool recurrences = true) {
  TimingLimits limits;
  limits.waits = true, limits.recurrences = recurrences;
  auto timing = timeProgram(machine, program, limits);
  EXPECT_TRUE(timing);
  return timing ? *timing : InstructionTiming{};
}

std::string waits(const InstructionTiming &timing, const Microarchitecture &machine) {
  std::string text;
  for (const WaitedFor &is : timing.waits)
    text += waitText(is.wait, is.of, machine) + " " + std::to_string(int64_t(is.oldest)) + " of " +
            std::to_string(int64_t(is.all)) + "\n";
  return text;
}

TEST(CycleStack, EachCycleIsCountedOnce) {
  int recurring = 0;
  std::vector<int> seen(size_t(Wait::WritePorts) + 1, 0);
  for (uint64_t seed = 0; seed < 250; ++seed) {
    MachineCases cases(seed);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 100);
    if (seed % 3 == 1)
      addFences(program, seed);
    const InstructionTiming fast = timed(machine, program), slow = timed(machine, program, false);
    const auto plain = timeProgram(machine, program);
    ASSERT_TRUE(plain);
    ASSERT_EQ(plain->cycles, fast.cycles) << seed;
    ASSERT_EQ(plain->waits.size(), 0u);
    __int128 sum = 0;
    for (const WaitedFor &is : fast.waits)
      sum += is.oldest, ++seen[size_t(is.wait)];
    ASSERT_EQ(int64_t(sum), fast.cycles) << seed << "\n" << waits(fast, machine);
    ASSERT_EQ(waits(fast, machine), waits(slow, machine)) << seed;
    recurring += !fast.recurrences.empty();
  }
  EXPECT_GT(recurring, 40);
  for (size_t kind = 0; kind < seen.size(); ++kind)
    EXPECT_GT(seen[kind], 0) << "never: " << kind;
}

/// A way leads from the fetch to the completion without a gap, through the times of the visit.
TEST(CycleStack, WaysAreWhole) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MachineCases cases(seed);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 100);
    InstructionEngine plain(machine, program), watched(machine, program);
    std::vector<Stretch> way;
    for (int turn = 0; turn < 3; ++turn)
      for (Index i = 0; i < Index(program.instructions.size()); ++i) {
        const Visit is = watched.step(i, way), other = plain.step(i);
        ASSERT_TRUE(is.fetch == other.fetch && is.issue == other.issue && is.start == other.start &&
                    is.complete == other.complete && is.unit == other.unit && is.instance == other.instance);
        ASSERT_EQ(way.back().until, watched.base());
        Cycles at = is.fetch;
        std::vector<Cycles> times{at};
        for (size_t s = 0; s + 1 < way.size(); ++s) {
          ASSERT_GT(way[s].until, at);
          at = way[s].until, times.push_back(at);
        }
        ASSERT_EQ(at, is.complete);
        for (Cycles time : {is.issue, is.start})
          ASSERT_TRUE(std::find(times.begin(), times.end(), time) != times.end());
      }
  }
}

/// fetch 1, decode 1, execute 1, then the unit: a lone load takes 1 cycle of the unit and 1 of the memory; a mac behind
/// it that needs its data waits for nothing else. With a window of 1 the next one enters its unit when the one before
/// is complete.
TEST(CycleStack, CountedByHand) {
  Microarchitecture oma = omaMachine();
  auto program =
      parseProgram("program p on oma {\n  fetch r1, dmem[0x1000 : 4 B]\n  mac r3, r1, r2, r3\n}\n", "p", oma);
  ASSERT_TRUE(program);
  // fetch:  0, first stage 1, execute 2, unit 3, start 3, memory 4, complete 5.
  // mac:    fetched 1 (the buffer is free when the load enters decode), decode 2, execute 3, window until 5,
  // complete 6.
  InstructionTiming timing = timed(oma, *program);
  EXPECT_EQ(timing.cycles, 6);
  EXPECT_EQ(waits(timing, oma), "fetch buffer full 0 of 1\nin fetch 1 of 2\nin stage 'decode' 1 of 2\n"
                                "in stage 'execute' 1 of 2\nwindow full 0 of 1\nin unit 'fu' 1 of 1\n"
                                "in unit 'mau' 1 of 1\ndata of 'dmem' 1 of 1\n");
  // With a longer memory and a window of 4 the mac waits for its operand in its unit; a load of 8 bytes needs two
  // beats.
  oma.window = 4, oma.storages[0].readLatency = 10;
  program =
      parseProgram("program p on oma {\n  fetch r1, dmem[0x1000 : 8 B]\n  loop i 100 {\n    mac r3, r1, r2, r3\n  }\n"
                   "}\n",
                   "p", oma);
  ASSERT_TRUE(program);
  // Memory from 4 on: beats in 4 and 5, data in 15. Macs start in 15, 16, ... 114, the last one is complete in 115. The
  // first one waits in its unit from 4 on, the second one in execute from 5 on, the third one in decode from 5 on, the
  // fourth one in the buffer from 5 on, and the fifth one is fetched in 16; from there on each follows in the next
  // cycle.
  timing = timed(oma, *program);
  EXPECT_EQ(timing.cycles, 115);
  EXPECT_EQ(waits(timing, oma),
            "fetch buffer full 0 of 111\nin fetch 1 of 101\nstage 'decode' full 0 of 11\n"
            "stage 'execute' full 0 of 11\nin stage 'decode' 1 of 101\nin stage 'execute' 1 of 101\n"
            "unit 'fu' full 0 of 11\noperand from unit 'mau' 0 of 11\nin unit 'fu' 100 of 100\n"
            "in unit 'mau' 1 of 1\ndata of 'dmem' 11 of 11\n");
  EXPECT_LT(timing.evaluated, 30);
  EXPECT_NE(waitTable(timing, oma, {}).find("in unit 'fu'"), std::string::npos);
  EXPECT_EQ(waitTable({}, oma, {}), "");
}

} // namespace
} // namespace accord::microarchitecture
