#include "lib/microarchitecture/search/CycleEstimate.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include <algorithm>

namespace accord::microarchitecture {
namespace {

constexpr int kHeight = 2;                // loops in each other that are timed
constexpr int64_t kIterations = 3;        // of its outer loop
constexpr int64_t kMaxEvaluated = 20'000; // instructions of one nest
constexpr double kShare = 0.01;           // of instructions, that a nest has to have

class Estimation {
public:
  Estimation(const Microarchitecture &machine, const InstructionProgram &program)
      : machine(machine), program(program) {}

  CycleEstimate run() {
    all = executed(program.body);
    visit(program.body, 1, 0);
    if (timed > 0)
      made.cycles *= all / timed;
    return made;
  }

private:
  double executed(const Body &body) const {
    double sum = 0;
    for (const Item &item : body)
      sum += item.isFence()       ? 0
             : item.loop == kNone ? 1
                                  : double(program.loops[item.loop].count) * executed(program.loops[item.loop].body);
    return sum;
  }
  int heightOf(const Body &body) const {
    int height = 0;
    for (const Item &item : body)
      if (item.loop != kNone)
        height = std::max(height, 1 + heightOf(program.loops[item.loop].body));
    return height;
  }

  void visit(const Body &body, double times, size_t depth) {
    for (const Item &item : body) {
      if (item.loop == kNone)
        continue;
      const InstructionLoop &loop = program.loops[item.loop];
      const int height = 1 + heightOf(loop.body);
      if (height > kHeight && loop.count > 0)
        visit(loop.body, times * double(loop.count), depth + 1);
      else if (const double share = times * double(loop.count) * executed(loop.body); share > kShare * all)
        if (const double cycles = nest(item.loop, height, depth); cycles >= 0)
          made.cycles += times * cycles, timed += share;
    }
  }

  /// Cycles of one run of a nest behind another one. Of its outer loop a few iterations stand for all.
  double nest(Index loop, int height, size_t depth) {
    const int64_t count = program.loops[loop].count;
    const int64_t shown = height == kHeight ? std::min<int64_t>(count, kIterations) : count;
    InstructionProgram part;
    TimingLimits limits;
    limits.evaluated = kMaxEvaluated;
    Cycles cycles[2];
    for (Cycles &of : cycles) {
      const Index run = copy(loop, depth, part);
      part.loops[run].count = shown;
      part.body.push_back({kNone, run});
      auto timing = timeProgram(machine, part, limits);
      made.evaluated += timing ? timing->evaluated : kMaxEvaluated;
      if (!timing)
        return -1;
      of = timing->cycles;
    }
    return double(cycles[1] - cycles[0]) * double(count) / double(shown);
  }
  /// Without the outermost `depth` loops, which stay in their first iteration.
  Index copy(Index loop, size_t depth, InstructionProgram &into) const {
    InstructionLoop made = program.loops[loop];
    for (Item &item : made.body) {
      if (item.loop != kNone) {
        item.loop = copy(item.loop, depth, into);
        continue;
      }
      if (item.isFence())
        continue;
      Instruction is = program.instructions[item.instruction];
      for (MemoryOperand &operand : is.memory) {
        auto &strides = operand.address.strides;
        strides.erase(strides.begin(), strides.begin() + int64_t(std::min(depth, strides.size())));
      }
      into.instructions.push_back(std::move(is));
      item.instruction = Index(into.instructions.size()) - 1;
    }
    into.loops.push_back(std::move(made));
    return Index(into.loops.size()) - 1;
  }

  const Microarchitecture &machine;
  const InstructionProgram &program;
  double all = 0, timed = 0;
  CycleEstimate made;
};

} // namespace

CycleEstimate estimateCycles(const Microarchitecture &machine, const InstructionProgram &program) {
  return Estimation(machine, program).run();
}

} // namespace accord::microarchitecture
