#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/solve/BoundProgram.h"
#include "lib/microarchitecture/solve/CycleStack.h"
#include "lib/microarchitecture/solve/SeenStates.h"
#include "lib/microarchitecture/solve/TimingEnvelope.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxBeats = int64_t(1) << 22;
constexpr Cycles kMaxCycles = Cycles(1) << 62;
/// How many numbers of states are looked at in a loop before fewer of its iterations are.
constexpr int64_t kLooked = int64_t(1) << 26;
/// Where a state has more numbers than the first, no more than so many are looked at for each instruction of a loop.
constexpr size_t kSmallState = 512;
constexpr double kLookedForEach = 8;
/// How many beats, lines and ways may be looked at for each instruction that may be evaluated, and besides.
constexpr int64_t kWork = 32, kMoreWork = int64_t(1) << 24;

class ProgramTimer {
public:
  ProgramTimer(const Microarchitecture &machine, const InstructionProgram &program, const TimingLimits &limits)
      : machine(machine), program(program), limits(limits), engine(machine, program), stack(machine) {}

  Result<InstructionTiming> run() {
    for (const Instruction &instruction : program.instructions)
      for (const MemoryOperand &operand : instruction.memory)
        measure(operand, instruction);
    body(program.body);
    if (failed)
      return *failed;
    if (isCut)
      if (std::optional<Error> error = bound())
        return *error;
    const Counters all = counters();
    if (!isCut)
      answer.cycles = engine.end(), answer.instructions = all[0];
    answer.evaluated = engine.visits();
    size_t at = 1;
    for (size_t u = 0; u < machine.units.size(); ++u, at += 2)
      answer.units.push_back({all[at], all[at + 1]});
    for (size_t s = 0; s < machine.storages.size(); ++s, at += 4)
      answer.storages.push_back({all[at], all[at + 1], all[at + 2], all[at + 3]});
    if (limits.waits)
      answer.waits = stack.waits({all.begin() + int64_t(at), all.end()}, engine.end());
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

  /// Beats and lines of an operand are gone through one by one.
  void measure(const MemoryOperand &operand, const Instruction &of) {
    for (const Storage *at = &machine.storages[operand.storage]; at; at = behind(*at)) {
      // One beat a cycle, whatever bank it is in: all at once.
      const bool isBulk = at->rows.bytes == 0 && (at->ports == 1 || at->banks == 1);
      if (isBulk && !at->cache)
        continue;
      const int64_t size = isBulk ? at->cache->lineBytes : at->portBytes;
      if (operand.bytes / size > kMaxBeats)
        fail(fmt::format("'{}' moves {} bytes through '{}', more than 2^22 times {} B", machine.opcodes[of.opcode].name,
                         operand.bytes, at->name, size),
             of.location);
    }
  }
  const Storage *behind(const Storage &is) const { return is.cache ? &machine.storages[is.cache->behind] : nullptr; }

  bool isOver() const { return failed || isCut; }

  void body(const Body &items) {
    place.items.push_back(0);
    for (size_t i = 0; i < items.size() && !isOver(); ++i) {
      place.items.back() = i;
      if (items[i].loop != kNone)
        loop(items[i].loop);
      else if (items[i].isFence())
        fence();
      else
        instruction(items[i].instruction);
    }
    if (!isCut)
      place.items.pop_back();
  }

  void instruction(Index index) {
    if (engine.visits() >= limits.evaluated || (engine.work() - kMoreWork) / kWork > limits.evaluated) {
      if (!limits.bounds)
        return fail(
            fmt::format("the time of '{}' does not recur within {} instructions", program.name, engine.visits()));
      --place.items.back(); // this one is the first of the rest
      isCut = true;
      return;
    }
    if (limits.waits)
      stack.add(engine.step(index, way).fetch, way);
    else
      engine.step(index);
    if (engine.visits() == limits.evaluated / 2)
      half = {engine.end(), timed()};
    if (engine.end() > kMaxCycles || engine.base() > kMaxCycles)
      fail("the program takes more than 2^62 cycles");
  }

  void fence() {
    const Stretch until = engine.fence();
    if (limits.waits)
      stack.fence(until);
  }

  __int128 timed() const { return engine.visits() + (skipped.empty() ? 0 : skipped.front()); }

  void loop(Index number) {
    const InstructionLoop &is = program.loops[number];
    if (!executes(is.body)) {
      if (is.count > 0 && hasFence(program, is.body))
        fence();
      return;
    }
    SeenStates seen(keptNumbers, limits.kept);
    bool searches = limits.recurrences && is.count > 1;
    // Where states are large, fewer iterations are looked at, and fewer and fewer.
    int64_t every = 1, allowed = kLooked;
    for (const double each = executedBy(is.body);
         searches && stateSize > kSmallState && double(stateSize) > kLookedForEach * each * double(every);)
      every *= 2, searches = is.count / every >= 3;
    around.push_back(0), place.loops.push_back(number);
    int64_t k = 0;
    while (k < is.count && !isOver()) {
      around.back() = k;
      if (searches && k % every == 0) {
        std::vector<int64_t> state = engine.state();
        stateSize = state.size();
        if (const SeenStates::Seen *before =
                seen.find(std::move(state), k, [&] { return Marks{engine.base(), counters()}; })) {
          k += recur(number, k, *before);
          searches = false;
          if (k >= is.count)
            break;
          around.back() = k;
        } else {
          searches = seen.size() < limits.states;
          if (seen.looked() > allowed)
            every *= 2, allowed *= 2;
        }
      }
      body(is.body);
      if (isCut)
        return; // the place remains
      engine.advance(number, 1), ++k;
    }
    around.pop_back(), place.loops.pop_back();
    engine.advance(number, -is.count);
  }

  /// Instructions that a body executes.
  double executedBy(const Body &body) const {
    double sum = 0;
    for (const Item &item : body)
      sum += item.isFence()       ? 0
             : item.loop == kNone ? 1
                                  : double(program.loops[item.loop].count) * executedBy(program.loops[item.loop].body);
    return sum;
  }

  /// Whether there are instructions in a body, however often its loops are run.
  bool executes(const Body &body) const {
    return std::any_of(body.begin(), body.end(), [&](const Item &item) {
      return (item.loop == kNone && !item.isFence()) ||
             (item.loop != kNone && program.loops[item.loop].count > 0 && executes(program.loops[item.loop].body));
    });
  }

  /// Iterations that are skipped from iteration k on, whose state was seen.
  int64_t recur(Index number, int64_t k, const SeenStates::Seen &before) {
    Recurrence found;
    found.loop = number, found.around.assign(around.begin(), around.end() - 1);
    found.first = before.iteration, found.period = k - before.iteration;
    found.growth = engine.base() - before.marks.base;
    found.repeats = (program.loops[number].count - k) / found.period;
    if (found.repeats == 0)
      return 0;
    const __int128 cycles = __int128(found.growth) * found.repeats;
    if (cycles + engine.end() > kMaxCycles) {
      fail("the program takes more than 2^62 cycles");
      return 0;
    }
    Counters now = counters();
    skipped.resize(now.size());
    for (size_t i = 0; i < now.size(); ++i)
      skipped[i] += (now[i] - before.marks.counts[i]) * found.repeats;
    engine.skip(Cycles(cycles), number, found.repeats * found.period);
    stack.skip(Cycles(cycles));
    answer.recurrences.push_back(found);
    return found.repeats * found.period;
  }

  /// What is left bounds the time from both sides.
  std::optional<Error> bound() {
    place.iterations = around;
    const ProgramRest rest = restOf(program, place);
    InstructionTiming::Bounds bounds;
    bounds.reached = engine.end(), bounds.timed = timed();
    bounds.low = std::max(bounds.reached, lowerEnd(machine, program, rest, engine.base()));
    bounds.high = upperEnd(machine, rest.program, engine.quiet() + 1);
    if (bounds.high >= TimingEnvelope::kBeyond)
      return Error{Code::NoRecurrence,
                   fmt::format("the time of '{}' does not recur within {} instructions, and may be beyond 2^61 cycles",
                               program.name, engine.visits()),
                   {}};
    const __int128 left = executedInstructions(rest.program);
    answer.instructions = bounds.timed + left;
    double rate = 0;
    if (bounds.timed > half.timed)
      rate = double(bounds.reached - half.end) / double(bounds.timed - half.timed);
    const double more = std::min(rate * double(left), double(bounds.high));
    answer.cycles = std::clamp(bounds.reached + Cycles(more), bounds.low, bounds.high);
    answer.bounds = bounds;
    return {};
  }

  void fail(std::string message, SourceLocation at = {}) {
    if (!failed)
      failed = Error{Code::NoRecurrence, std::move(message), std::move(at)};
  }

  const Microarchitecture &machine;
  const InstructionProgram &program;
  const TimingLimits &limits;
  InstructionEngine engine;
  CycleStack stack;
  std::vector<Stretch> way;
  InstructionTiming answer;
  std::vector<int64_t> around;
  ProgramPlace place;
  struct {
    Cycles end = 0;
    __int128 timed = 0;
  } half; ///< after half of what may be evaluated
  Counters skipped;
  int64_t keptNumbers = 0;
  size_t stateSize = 0; ///< numbers of the last state
  bool isCut = false;   ///< at the limit; bounds follow
  std::optional<Error> failed;
};

} // namespace

Result<InstructionTiming> timeProgram(const Microarchitecture &machine, const InstructionProgram &program,
                                      const TimingLimits &limits) {
  return ProgramTimer(machine, program, limits).run();
}

} // namespace accord::microarchitecture
