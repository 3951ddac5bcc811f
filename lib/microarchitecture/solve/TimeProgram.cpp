#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/solve/CycleStack.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace accord::microarchitecture {
namespace {

/// Additive counters of an engine, in one list.
using Counters = std::vector<__int128>;

class ProgramTimer {
public:
  ProgramTimer(const Microarchitecture &machine, const InstructionProgram &program, const TimingLimits &limits)
      : machine(machine), program(program), limits(limits), engine(machine, program), stack(machine) {}

  Result<InstructionTiming> run() {
    body(program.body);
    if (failed)
      return *failed;
    answer.cycles = engine.end();
    const Counters all = counters();
    answer.evaluated = engine.visits();
    size_t at = 0;
    answer.instructions = all[at++];
    for (size_t u = 0; u < machine.units.size(); ++u, at += 2)
      answer.units.push_back({all[at], all[at + 1]});
    for (size_t s = 0; s < machine.storages.size(); ++s, at += 4)
      answer.storages.push_back({all[at], all[at + 1], all[at + 2], all[at + 3]});
    if (limits.waits)
      answer.waits = stack.waits({all.begin() + at, all.end()}, engine.end());
    return std::move(answer);
  }

private:
  /// What the engine counted and what was skipped.
  Counters counters() const {
    Counters all{engine.visits()};
    for (Index u = 0; u < Index(machine.units.size()); ++u)
      all.push_back(engine.unitUse(u).instructions), all.push_back(engine.unitUse(u).busy);
    for (Index s = 0; s < Index(machine.storages.size()); ++s) {
      const auto &is = engine.memories().counts(s);
      all.insert(all.end(), {is.beats, is.hits, is.misses, is.writeBacks});
    }
    if (limits.waits)
      all.insert(all.end(), stack.counts().begin(), stack.counts().end());
    for (size_t i = 0; i < skipped.size(); ++i)
      all[i] += skipped[i];
    return all;
  }

  void body(const Body &items) {
    for (const Item &item : items) {
      if (failed)
        return;
      if (item.loop != kNone) {
        loop(item.loop);
      } else {
        if (limits.waits)
          stack.add(engine.step(item.instruction, way).fetch, way);
        else
          engine.step(item.instruction);
        if (engine.visits() > limits.evaluated)
          fail(fmt::format("the time of '{}' does not recur within {} instructions", program.name, limits.evaluated));
      }
    }
  }

  struct Seen {
    int64_t iteration;
    Cycles base;
    Counters counts;
  };

  void loop(Index number) {
    const InstructionLoop &is = program.loops[number];
    if (!executes(is.body))
      return;
    std::map<std::vector<int64_t>, Seen> seen;
    bool searches = limits.recurrences && is.count > 2;
    around.push_back(0);
    int64_t k = 0;
    while (k < is.count && !failed) {
      around.back() = k;
      if (searches) {
        auto [at, isNew] = seen.try_emplace(engine.state());
        if (isNew) {
          at->second = {k, engine.base(), counters()};
          searches = int64_t(seen.size()) < limits.states;
        } else {
          k += recur(number, k, at->second);
          searches = false;
          if (k >= is.count)
            break;
          around.back() = k;
        }
      }
      body(is.body);
      engine.advance(number, 1), ++k;
    }
    around.pop_back();
    engine.advance(number, -is.count);
  }

  /// Whether there are instructions in a body, however often its loops are run.
  bool executes(const Body &body) const {
    return std::any_of(body.begin(), body.end(), [&](const Item &item) {
      return item.loop == kNone || (program.loops[item.loop].count > 0 && executes(program.loops[item.loop].body));
    });
  }

  /// Iterations that are skipped from iteration k on, whose state was seen.
  int64_t recur(Index number, int64_t k, const Seen &before) {
    Recurrence found;
    found.loop = number, found.around.assign(around.begin(), around.end() - 1);
    found.first = before.iteration, found.period = k - before.iteration;
    found.growth = engine.base() - before.base;
    found.repeats = (program.loops[number].count - k) / found.period;
    if (found.repeats == 0)
      return 0;
    const __int128 cycles = __int128(found.growth) * found.repeats;
    if (cycles + engine.end() > (int64_t(1) << 62)) {
      fail(fmt::format("the program takes more than 2^62 cycles"));
      return 0;
    }
    Counters now = counters();
    skipped.resize(now.size());
    for (size_t i = 0; i < now.size(); ++i)
      skipped[i] += (now[i] - before.counts[i]) * found.repeats;
    engine.skip(Cycles(cycles), number, found.repeats * found.period);
    stack.skip(Cycles(cycles));
    answer.recurrences.push_back(found);
    return found.repeats * found.period;
  }

  void fail(std::string message) {
    if (!failed)
      failed = Error{Code::NoRecurrence, std::move(message), {}};
  }

  const Microarchitecture &machine;
  const InstructionProgram &program;
  const TimingLimits &limits;
  InstructionEngine engine;
  CycleStack stack;
  std::vector<Stretch> way;
  InstructionTiming answer;
  std::vector<int64_t> around;
  Counters skipped;
  std::optional<Error> failed;
};

} // namespace

Result<InstructionTiming> timeProgram(const Microarchitecture &machine, const InstructionProgram &program,
                                      const TimingLimits &limits) {
  return ProgramTimer(machine, program, limits).run();
}

} // namespace accord::microarchitecture
