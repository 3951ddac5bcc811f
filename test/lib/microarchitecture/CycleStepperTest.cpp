// The stepper of cycles finds the times that the engine computes, and caches do what was computed by hand.
#include "lib/microarchitecture/verify/CycleStepper.h"
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "test/lib/microarchitecture/MachineCases.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <functional>

namespace accord::microarchitecture {
namespace {

/// Calls for every instruction that is executed, with the iterations of the loops around it, and for every iteration.
struct Walk {
  const InstructionProgram &program;
  std::function<void(Index, const std::vector<int64_t> &)> instruction;
  std::function<void(Index, int64_t)> move = [](Index, int64_t) {};
  std::vector<int64_t> around = {};

  void run(const Body &body) {
    for (const Item &item : body) {
      if (item.loop == kNone) {
        std::vector<int64_t> addresses;
        for (const MemoryOperand &operand : program.instructions[item.instruction].memory) {
          addresses.push_back(operand.address.base);
          for (size_t l = 0; l < operand.address.strides.size(); ++l)
            addresses.back() += operand.address.strides[l] * around[l];
        }
        instruction(item.instruction, addresses);
        continue;
      }
      const int64_t count = program.loops[item.loop].count;
      around.push_back(0);
      for (; around.back() < count; ++around.back()) {
        if (around.back() > 0)
          move(item.loop, 1);
        run(program.loops[item.loop].body);
      }
      if (count > 1)
        move(item.loop, 1 - count);
      around.pop_back();
    }
  }
};

/// Empty, or where engine and stepper differ first.
std::string difference(const Microarchitecture &machine, const InstructionProgram &program) {
  InstructionEngine engine(machine, program);
  std::vector<Visit> expected;
  Walk{program, [&](Index i, const auto &) { expected.push_back(engine.step(i)); },
       [&](Index loop, int64_t by) { engine.advance(loop, by); }}
      .run(program.body);
  CycleStepper stepper(machine, program);
  stepper.keepsVisits = true;
  bool stuck = false;
  std::vector<Index> executed;
  Walk{program,
       [&](Index i, const auto &addresses) {
         if (stuck || !stepper.awaitFetch())
           stuck = true;
         else
           stepper.fetch(i, addresses), executed.push_back(i);
       }}
      .run(program.body);
  if (stuck || !stepper.finish())
    return "stuck at cycle " + std::to_string(stepper.now());
  for (size_t n = 0; n < expected.size(); ++n) {
    const Visit &a = expected[n];
    const SteppedVisit &b = stepper.visits[n];
    if (a.fetch != b.fetch || a.issue != b.entry || a.start != b.start || a.complete != b.completion ||
        a.unit != b.unit) {
      std::string text = "instruction " + std::to_string(n) + " (" +
                         machine.opcodes[program.instructions[executed[n]].opcode].name + "), engine/stepper:";
      for (auto [x, y] : {std::pair(a.fetch, b.fetch), std::pair(a.issue, b.entry), std::pair(a.start, b.start),
                          std::pair(a.complete, b.completion), std::pair(Cycles(a.unit), Cycles(b.unit))})
        text += " " + std::to_string(x) + "/" + std::to_string(y);
      return text;
    }
  }
  if (engine.end() != stepper.end())
    return "end " + std::to_string(engine.end()) + "/" + std::to_string(stepper.end());
  for (Index u = 0; u < Index(machine.units.size()); ++u)
    if (engine.unitUse(u).instructions != stepper.units[u].instructions ||
        engine.unitUse(u).busy != stepper.units[u].busy)
      return "use of unit " + std::to_string(u);
  return "";
}

/// How many seeds: the environment may ask for more than a unit test has time for.
uint64_t seeds(uint64_t usual) {
  const char *asked = std::getenv("ACCORD_MACHINE_CASES");
  return asked ? std::strtoull(asked, nullptr, 10) : usual;
}

TEST(CycleStepper, AgreesWithTheEngineOnEveryVisit) {
  int64_t differing = 0;
  for (uint64_t seed = 0; seed < seeds(600); ++seed) {
    MachineCases cases(seed * 7919 + 17);
    const Microarchitecture machine = cases.machine();
    const InstructionProgram program = cases.program(machine, 20);
    const std::string found = difference(machine, program);
    if (!found.empty() && ++differing <= 20)
      ADD_FAILURE() << seed << ": " << found;
  }
  EXPECT_EQ(differing, 0);
}

} // namespace
} // namespace accord::microarchitecture
