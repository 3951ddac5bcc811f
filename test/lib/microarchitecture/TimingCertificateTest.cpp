// Certificates of timings say all of an answer, and read back as it; what anybody else wrote is refused or proved.
#include "lib/microarchitecture/output/TimingCertificate.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/text/ParseProgram.h"
#include "lib/microarchitecture/text/PrintProgram.h"
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "test/lib/microarchitecture/OmaMachine.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

std::string messages(const Errors &errors) {
  std::string all;
  for (const Error &error : errors)
    all += numberOf(error.code) + ": " + error.message + "\n";
  return all;
}

/// The answer of a program, as its text reads back.
TimedProgram answerOf(const Microarchitecture &machine, const InstructionProgram &program) {
  TimedProgram made;
  made.machine = machine, made.clock = 1e9 / 3;
  auto read = parseProgram(printProgram(program, machine), "program", machine);
  EXPECT_TRUE(read) << messages(read.error());
  made.program = std::move(*read);
  TimingLimits limits;
  limits.waits = true;
  auto timing = timeProgram(made.machine, made.program, limits);
  EXPECT_TRUE(timing);
  made.timing = std::move(*timing);
  return made;
}

InstructionProgram parsed(const std::string &text, const Microarchitecture &machine) {
  auto read = parseProgram(text, "program", machine);
  EXPECT_TRUE(read) << messages(read.error());
  return std::move(*read);
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TimingCertificate, SaysAllOfRandomAnswers) {
  size_t recurrences = 0, caches = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    MachineCases cases(seed);
    const Microarchitecture machine = cases.machine();
    const TimedProgram answer = answerOf(machine, cases.program(machine, 40));
    const std::string text = timingCertificate(answer);
    auto read = timingFromCertificate(text, "time.json");
    ASSERT_TRUE(read) << seed << messages(read.error());
    EXPECT_EQ(timingCertificate(*read), text) << seed;
    EXPECT_EQ(read->clock, answer.clock);
    EXPECT_EQ(read->timing.waits, answer.timing.waits) << seed;
    EXPECT_EQ(messages(verifyTiming(read->machine, read->program, read->timing)), "") << seed;
    // The machine that was read takes the same time: nothing of it was left out.
    auto again = timeProgram(read->machine, read->program);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->cycles, answer.timing.cycles) << seed;
    const AnswerFiles written = filesOf(answer), printed = filesOf(*read);
    ASSERT_EQ(written.size(), printed.size());
    for (size_t f = 0; f < written.size(); ++f)
      EXPECT_EQ(written[f].text, printed[f].text) << written[f].name;
    recurrences += answer.timing.recurrences.size();
    for (const Storage &storage : machine.storages)
      caches += storage.cache.has_value();
  }
  EXPECT_GT(recurrences, 10u);
  EXPECT_GT(caches, 10u);
}

TEST(TimingCertificate, KeepsExpressionsOfCycles) {
  using Kind = CycleExpression::Kind;
  Microarchitecture machine = omaMachine();
  // 1 + max(bytes / 4, -2) * 3, and an immediate: 5 - imm0
  machine.units[1].operations[0].latency.terms = {{Kind::Constant, 1}, {Kind::Bytes},        {Kind::Constant, 4},
                                                  {Kind::DivideUp},    {Kind::Constant, -2}, {Kind::Max},
                                                  {Kind::Constant, 3}, {Kind::Multiply},     {Kind::Add}};
  machine.units[0].operations[1].latency.terms = {{Kind::Constant, 5}, {Kind::Immediate, 0}, {Kind::Subtract}};
  machine.opcodes[0].role = {Role::MultiplyAdd, 4, 2, 3, 5};
  const TimedProgram answer =
      answerOf(machine, parsed("program p on oma {\n  li r1, 3\n  load r2, r1, dmem[4096 : 16 B]\n}\n", machine));
  auto read = timingFromCertificate(timingCertificate(answer), "time.json");
  ASSERT_TRUE(read) << messages(read.error());
  EXPECT_EQ(read->machine.units[1].operations[0].latency, machine.units[1].operations[0].latency);
  EXPECT_EQ(read->machine.units[0].operations[1].latency, machine.units[0].operations[1].latency);
  EXPECT_EQ(read->machine.opcodes[0].role, machine.opcodes[0].role);
  EXPECT_EQ(messages(verifyTiming(read->machine, read->program, read->timing)), "");
}

TEST(TimingCertificate, CountsBeyondSixtyFourBits) {
  // 2^65 instructions that take no more than 2^62 cycles: 16 a cycle.
  Microarchitecture wide;
  wide.name = "wide", wide.window = 64;
  wide.fetch = {"f", 16, 64, 1, 0, {}};
  wide.opcodes = {{"nop", 0, 0, 0, 0, 0, false, {}}};
  wide.stages = {{"x", 64, 16, cycles(1), {}, {0}, {}}};
  Unit unit;
  unit.name = "u", unit.count = 16, unit.operations = {{0, cycles(1), cycles(1), {}}};
  wide.units = {unit};
  std::string body;
  for (int i = 0; i < 16; ++i)
    body += "nop\n";
  const TimedProgram answer = answerOf(
      wide, parsed("program p on wide {\nloop i 1073741824 {\nloop j 2147483648 {\n" + body + "}\n}\n}\n", wide));
  EXPECT_EQ(answer.timing.instructions, __int128(1) << 65);
  auto read = timingFromCertificate(timingCertificate(answer), "time.json");
  ASSERT_TRUE(read) << messages(read.error());
  EXPECT_EQ(read->timing.instructions, __int128(1) << 65);
  EXPECT_EQ(read->timing.units[0].busy, __int128(1) << 65);
  EXPECT_EQ(messages(verifyTiming(read->machine, read->program, read->timing)), "");
}

TEST(TimingCertificate, RefusesWhatIsNoAnswer) {
  const Microarchitecture machine = omaMachine();
  const std::string good = timingCertificate(
      answerOf(machine, parsed("program p on oma {\n  loop i 100 {\n    mac r1, r2, r3, r1\n  }\n}\n", machine)));
  auto refused = [&](const std::string &from, const std::string &to) {
    auto read = timingFromCertificate(replaced(good, from, to), "time.json");
    return read ? std::string("taken") : messages(read.error());
  };
  EXPECT_EQ(messages(timingFromCertificate("{", "time.json").error()).substr(0, 20), "A0901: time.json:1:2");
  EXPECT_NE(refused("\"kind\": \"time\"", "\"kind\": \"plan\"").find("expected time at time.kind"), std::string::npos);
  EXPECT_NE(refused("\"latency\": \"1\"", "\"latency\": \"1 bites\"").find("postfix order"), std::string::npos);
  EXPECT_NE(refused("\"instructions\": \"100\"", "\"instructions\": \"-100\"").find("decimal digits"),
            std::string::npos);
  EXPECT_NE(refused("\"wait\": \"", "\"wait\": \"x").find("no such wait"), std::string::npos);
  EXPECT_NE(refused("\"window\": 1", "\"window\": 1, \"door\": 1").find("unknown key"), std::string::npos);
  EXPECT_EQ(refused("\"window\": 1", "\"window\": 0").substr(0, 5), "A1301");
  EXPECT_EQ(refused("\"units\": [0, 1]", "\"units\": [0, 7]").substr(0, 5), "A1303");
  EXPECT_EQ(refused("mac r1, r2, r3, r1", "mac r1, r2, r3, r99").substr(0, 5), "A1304");
  EXPECT_EQ(refused("program p on oma", "program p on ome").substr(0, 5), "A0104");
  EXPECT_EQ(refused("\"wait\": \"stage_latency\"", "\"wait\": \"fetch_width\"").substr(0, 5), "A1307");
}

/// Numbers of a certificate that are anything: it is refused or the replay refuses it, and neither crashes nor hangs.
TEST(TimingCertificate, NumbersThatAreAnything) {
  const std::string numbers[] = {"0",     "1",   "2", "7", "-1", "1048576", "1073741824", "4611686018427387904",
                                 "\"0\"", "null"};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    MachineCases cases(seed);
    const Microarchitecture machine = cases.machine();
    const std::string good = timingCertificate(answerOf(machine, cases.program(machine, 40)));
    const size_t timing = good.find("\"timing\"");
    for (int change = 0; change < 12; ++change) {
      // The stepper goes through all cycles of latencies, so those stay short here.
      size_t at = good.find_first_of("0123456789", timing + size_t(cases.draw(0, int64_t(good.size() - timing) - 2)));
      if (at == std::string::npos)
        continue;
      size_t end = good.find_first_not_of("0123456789", at);
      std::string text = good.substr(0, at) + numbers[cases.draw(0, 9)] + good.substr(end);
      auto read = timingFromCertificate(text, "time.json");
      if (read && text != good)
        verifyTiming(read->machine, read->program, read->timing);
    }
  }
}

} // namespace
} // namespace accord::microarchitecture
