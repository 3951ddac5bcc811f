// Traces of pipelines: every place that an instruction was in, without overlaps on a track.
#include "lib/microarchitecture/output/PipelineTrace.h"
#include "lib/microarchitecture/text/ParseProgram.h"
#include "test/lib/microarchitecture/OmaMachine.h"
#include "gtest/gtest.h"
#include <fmt/format.h>
#include <map>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

struct Slice {
  std::string name;
  int64_t from = 0, until = 0;
};
using Tracks = std::map<std::pair<int64_t, int64_t>, std::vector<Slice>>;

Tracks slices(const json::Value &trace, StringRef category) {
  Tracks all;
  for (const json::Value &event : *trace.getAsObject()->getArray("traceEvents")) {
    const json::Object &is = *event.getAsObject();
    if (is.getString("ph") == "X" && is.getString("cat") == category)
      all[{*is.getInteger("pid"), *is.getInteger("tid")}].push_back(
          {is.getString("name")->str(), *is.getInteger("ts"), *is.getInteger("ts") + *is.getInteger("dur")});
  }
  return all;
}

std::string text(const json::Value &trace) {
  std::map<std::pair<int64_t, int64_t>, std::string> names;
  for (const json::Value &event : *trace.getAsObject()->getArray("traceEvents"))
    if (const json::Object &is = *event.getAsObject(); is.getString("name") == "thread_name")
      names[{*is.getInteger("pid"), *is.getInteger("tid")}] = is.getObject("args")->getString("name")->str();
  std::string all;
  Tracks waits = slices(trace, "wait");
  for (const auto &[track, of] : slices(trace, "instruction")) {
    all += names[track] + ":";
    for (const Slice &slice : of)
      all += fmt::format(" {} {}-{}", slice.name, slice.from, slice.until);
    for (const Slice &slice : waits[track])
      all += fmt::format(", {} {}-{}", slice.name, slice.from, slice.until);
    all += "\n";
  }
  return all;
}

TEST(PipelineTrace, CountedByHand) {
  const Microarchitecture oma = omaMachine();
  const auto program = parseProgram("program p on oma {\n  loop i 1000000000 {\n    loop none 70368744177664 {\n    }\n"
                                    "    fetch r1, dmem[0x1000 : 4 B]\n    mac r3, r1, r2, r3\n  }\n}\n",
                                    "p", oma);
  ASSERT_TRUE(program);
  EXPECT_EQ(text(pipelineTrace(oma, *program, {3})),
            "buffer of ifs: fetch 0-1 mac 1-2 fetch 2-3\n"
            "stage decode: fetch 1-2 mac 2-3 fetch 3-5, stage 'execute' full 4-5\n"
            "stage execute: fetch 2-3 mac 3-5 fetch 5-6, window full 4-5\n"
            "fu: mac 5-6\n"
            "mau: fetch 3-5 fetch 6-8, data of 'dmem' 4-5, data of 'dmem' 7-8\n");
}

TEST(PipelineTrace, SlicesOfATrackDoNotOverlap) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    MachineCases cases(seed);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 40);
    const json::Value trace = pipelineTrace(machine, program, {200});
    const int64_t executed = int64_t(std::min<__int128>(executedInstructions(program), 200));
    ASSERT_EQ(*trace.getAsObject()->getObject("otherData")->getInteger("instructions"), executed);
    Tracks waits = slices(trace, "wait");
    for (auto [track, of] : slices(trace, "instruction")) {
      std::sort(of.begin(), of.end(), [](const Slice &a, const Slice &b) { return a.from < b.from; });
      for (size_t i = 0; i + 1 < of.size(); ++i)
        ASSERT_LE(of[i].until, of[i + 1].from) << seed;
      for (const Slice &wait : waits[track])
        ASSERT_TRUE(std::any_of(of.begin(), of.end(), [&](const Slice &slice) {
          return slice.from <= wait.from && wait.until <= slice.until;
        })) << seed;
    }
  }
}

} // namespace
} // namespace accord::microarchitecture
