#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "lib/microarchitecture/verify/AddressMotion.h"
#include "lib/microarchitecture/verify/BoundSystem.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxReplayed = 1'000'000'000;  // instructions
constexpr int64_t kMaxPieces = int64_t(1) << 22; // of an operand

/// What is summed over a program.
struct Sums {
  __int128 instructions = 0;
  std::vector<InstructionTiming::UnitUse> units;
  std::vector<InstructionTiming::StorageUse> storages;

  /// Adds `times` times what is in `b` and not in `a`.
  void add(const Sums &b, const Sums &a, __int128 times) {
    instructions += times * (b.instructions - a.instructions);
    for (size_t u = 0; u < units.size(); ++u) {
      units[u].instructions += times * (b.units[u].instructions - a.units[u].instructions);
      units[u].busy += times * (b.units[u].busy - a.units[u].busy);
    }
    for (size_t s = 0; s < storages.size(); ++s) {
      storages[s].beats += times * (b.storages[s].beats - a.storages[s].beats);
      storages[s].hits += times * (b.storages[s].hits - a.storages[s].hits);
      storages[s].misses += times * (b.storages[s].misses - a.storages[s].misses);
      storages[s].writeBacks += times * (b.storages[s].writeBacks - a.storages[s].writeBacks);
    }
  }
};

std::string text(__int128 value) {
  if (value >= INT64_MIN && value <= INT64_MAX)
    return std::to_string(int64_t(value));
  return text(value / 1'000'000'000) +
         fmt::format("{:09}", int64_t(value < 0 ? -(value % 1'000'000'000) : value % 1'000'000'000));
}

class Replay {
public:
  Replay(const Microarchitecture &machine, const InstructionProgram &program, const InstructionTiming &timing)
      : machine(machine), program(program), timing(timing), places(program), stepper(machine, program),
        settled(machine, program) {}

  Errors run() {
    skipped = zero();
    rest.program.instructions = program.instructions, rest.program.loops = program.loops;
    if (timing.units.size() != machine.units.size() || timing.storages.size() != machine.storages.size())
      wrong({}, "it does not have the units and memories of the machine");
    if (timing.evaluated > kMaxReplayed)
      wrong({}, fmt::format("{} instructions are too many to be replayed", timing.evaluated));
    for (const OperandPlaces::Operand &operand : places.operands)
      if (!operand.chains.empty())
        measure(operand);
    for (size_t l = 0; l < program.loops.size(); ++l)
      perIteration.push_back(-1);
    for (size_t r = 0; r < timing.recurrences.size() && errors.empty(); ++r) {
      checkRecurrence(timing.recurrences[r]);
      byPlace[{timing.recurrences[r].loop, timing.recurrences[r].around}].push_back(&timing.recurrences[r]);
    }
    walk(program.body);
    if (errors.empty() && !stepper.finish())
      stuck();
    if (errors.empty())
      compare();
    return std::move(errors);
  }

private:
  struct Boundary {
    __int128 at = 0;
    std::vector<int64_t> times, contents;
    Sums sums;
  };

  void wrong(const SourceLocation &at, std::string message) {
    errors.push_back({Code::WrongProgramTiming, std::move(message), at});
  }
  void stuck() { wrong({}, fmt::format("the stepper stands still in cycle {}", stepper.now())); }

  Sums zero() const {
    return {0, decltype(Sums::units)(machine.units.size()), decltype(Sums::storages)(machine.storages.size())};
  }
  Sums sums(const CycleStepper &of) const {
    Sums made = zero();
    Sums own{of.fetched(), of.units, {}};
    for (const MemoryStepper::State &state : of.memory.states)
      own.storages.push_back(state.use);
    made.add(own, zero(), 1), made.add(skipped, zero(), 1);
    return made;
  }

  void measure(const OperandPlaces::Operand &operand) {
    for (Index s = operand.is->storage;; s = machine.storages[s].cache->behind) {
      if (operand.is->bytes / machine.storages[s].portBytes > kMaxPieces)
        return wrong({}, fmt::format("an operand of {} bytes is too large to be replayed", operand.is->bytes));
      if (!machine.storages[s].cache)
        return;
    }
  }

  __int128 instructionsIn(const Body &body, const std::vector<InstructionLoop> &loops) {
    __int128 all = 0;
    for (const Item &item : body)
      if (item.isFence())
        continue;
      else if (item.loop == kNone)
        ++all;
      else if (size_t(item.loop) < program.loops.size())
        all += loops[item.loop].count * inLoop(item.loop);
      else // of the rest
        all += loops[item.loop].count * instructionsIn(loops[item.loop].body, loops);
    return all;
  }
  /// Instructions in one iteration.
  __int128 inLoop(Index loop) {
    if (perIteration[loop] < 0)
      perIteration[loop] = instructionsIn(program.loops[loop].body, program.loops);
    return perIteration[loop];
  }

  void checkRecurrence(const Recurrence &is) {
    if (is.loop < 0 || size_t(is.loop) >= program.loops.size())
      return wrong({}, fmt::format("a recurrence is of loop number {}, which does not exist", is.loop));
    const InstructionLoop &loop = program.loops[is.loop];
    if (is.first < 0 || is.period < 1 || is.repeats < 1 || is.growth < 0 ||
        is.first + __int128(is.period) * (__int128(is.repeats) + 1) > loop.count)
      wrong(
          loop.location,
          fmt::format("a recurrence of loop '{}' with {} iterations has first {}, period {}, growth {} and {} repeats",
                      loop.name, loop.count, is.first, is.period, is.growth, is.repeats));
  }

  void walk(const Body &body) {
    for (const Item &item : body) {
      if (!errors.empty())
        return;
      const bool isRun = item.loop != kNone && program.loops[item.loop].count > 0;
      if (isCut)
        remain(item);
      else if (isRun && inLoop(item.loop) > 0)
        loop(item.loop);
      else if (item.isFence() || (isRun && hasFence(program, program.loops[item.loop].body)))
        stepper.fence();
      else if (item.loop == kNone)
        instruction(item.instruction);
    }
  }

  void instruction(Index index) {
    if (stepper.fetched() >= timing.evaluated && timing.bounds)
      return cut(index);
    if (stepper.fetched() >= timing.evaluated)
      return wrong(program.instructions[index].location,
                   fmt::format("more than {} instructions were evaluated", timing.evaluated));
    if (!stepper.awaitFetch())
      return stuck();
    std::vector<int64_t> addresses;
    for (const MemoryOperand &operand : program.instructions[index].memory) {
      addresses.push_back(operand.address.base);
      for (size_t l = 0; l < operand.address.strides.size(); ++l)
        addresses.back() += operand.address.strides[l] * around[l];
    }
    stepper.fetch(index, addresses);
  }

  /// An item more, in the loops that are around it now.
  void remain(const Item &item) { rest.program.body.push_back(item), rest.depths.push_back(around.size()); }

  /// From this instruction on there are bounds.
  void cut(Index index) {
    if (!stepper.awaitFetch())
      return stuck();
    isCut = true;
    cutAt = stepper.now() + offset;
    remain({index, kNone});
  }

  /// The recurrence of a loop inside of the present iterations that begins next; found in the order of the certificate.
  const Recurrence *next(Index loop, int64_t from) const {
    const auto all = byPlace.find({loop, around});
    if (all != byPlace.end())
      for (const Recurrence *of : all->second)
        if (of->first >= from)
          return of;
    return nullptr;
  }

  void loop(Index index) {
    const InstructionLoop &is = program.loops[index];
    const int64_t loopStart = stepper.fetched();
    const Recurrence *recurrence = next(index, 0);
    Boundary before;
    around.push_back(0);
    for (int64_t k = 0; k < is.count && errors.empty(); ++k) {
      around.back() = k;
      if (recurrence && k == recurrence->first + recurrence->period) {
        k = skip(*recurrence, before, loopStart);
        around.pop_back();
        recurrence = next(index, k);
        around.push_back(k);
        if (!errors.empty() || k >= is.count)
          break;
      }
      if (recurrence && k == recurrence->first)
        before = boundary(*recurrence, loopStart, 1);
      if (errors.empty())
        walk(is.body);
      if (isCut) {
        around.pop_back();
        remain({kNone, Index(rest.program.loops.size())});
        rest.program.loops.push_back(is);
        rest.program.loops.back().count = is.count - k - 1;
        return;
      }
    }
    around.pop_back();
  }

  AddressMotion motion(const Recurrence &of, int64_t loopStart) const {
    return AddressMotion(machine, program, places, of.loop, of.around, of.first, of.period, of.repeats + 1, loopStart);
  }

  /// The state before the next instruction; contents moved by so many periods.
  Boundary boundary(const Recurrence &of, int64_t loopStart, int64_t moved) {
    Boundary made;
    if (!stepper.awaitFetch())
      return stuck(), made;
    made.at = stepper.now() + offset;
    made.times = stepper.relativeTimes(settled);
    made.sums = sums(settled);
    const AddressMotion moves = motion(of, loopStart);
    if (moved > 0)
      if (std::string why = moves.obstacle(stepper.memory); !why.empty())
        refuse(of, why);
    made.contents = moves.contents(settled.memory, stepper.now(), moved);
    return made;
  }

  void refuse(const Recurrence &of, const std::string &why) {
    const InstructionLoop &loop = program.loops[of.loop];
    wrong(loop.location, fmt::format("loop '{}' does not recur from iteration {} on with period {}: {}", loop.name,
                                     of.first, of.period, why));
  }

  /// The iteration that comes after all that is left out.
  int64_t skip(const Recurrence &of, const Boundary &before, int64_t loopStart) {
    const Boundary after = boundary(of, loopStart, 0);
    if (!errors.empty())
      return 0;
    if (after.at - before.at != of.growth)
      refuse(of, fmt::format("it takes {} cycles, not {}", text(after.at - before.at), of.growth));
    else if (after.times != before.times)
      refuse(of, "units, registers or ports are not taken as before");
    else if (after.contents != before.contents)
      refuse(of, "caches or rows do not hold what they held before");
    if (&of != &timing.recurrences[used++])
      refuse(of, "the certificate names others before it, which are not reached before it");
    offset += __int128(of.growth) * of.repeats;
    skipped.add(after.sums, before.sums, of.repeats);
    motion(of, loopStart).move(stepper.memory, of.repeats);
    return of.first + of.period * (of.repeats + 1);
  }

  template <class Value> void equal(const std::string &what, Value found, Value stated) {
    if (found != stated)
      wrong({}, fmt::format("{}: {} are found, {} are stated", what, text(found), text(stated)));
  }

  void compare() {
    if (used < timing.recurrences.size()) {
      const InstructionLoop &loop = program.loops[timing.recurrences[used].loop];
      return wrong(loop.location, fmt::format("a recurrence of loop '{}' is nowhere in the program", loop.name));
    }
    const Sums all = sums(stepper);
    if (timing.bounds) {
      compareBounds(all.instructions);
    } else {
      equal<__int128>("cycles", stepper.end() + offset, timing.cycles);
      equal("instructions", all.instructions, timing.instructions);
    }
    __int128 waited = 0;
    for (const WaitedFor &wait : timing.waits)
      waited += wait.oldest;
    if (!timing.waits.empty())
      equal<__int128>("cycles that were waited for", waited, timing.bounds ? timing.bounds->reached : timing.cycles);
    equal<__int128>("evaluated instructions", stepper.fetched(), timing.evaluated);
    for (size_t u = 0; u < machine.units.size(); ++u) {
      equal("instructions of unit '" + machine.units[u].name + "'", all.units[u].instructions,
            timing.units[u].instructions);
      equal("busy cycles of unit '" + machine.units[u].name + "'", all.units[u].busy, timing.units[u].busy);
    }
    for (size_t s = 0; s < machine.storages.size(); ++s) {
      const std::string of = " of memory '" + machine.storages[s].name + "'";
      const InstructionTiming::StorageUse &found = all.storages[s], &stated = timing.storages[s];
      equal("beats" + of, found.beats, stated.beats), equal("hits" + of, found.hits, stated.hits);
      equal("misses" + of, found.misses, stated.misses);
      equal("write-backs" + of, found.writeBacks, stated.writeBacks);
    }
  }

  /// What was evaluated is exact; of the rest bounds are found here that are no wider than those that are stated.
  void compareBounds(__int128 found) {
    const InstructionTiming::Bounds &is = *timing.bounds;
    if (!isCut)
      return wrong({}, "bounds are stated of a program that was evaluated as a whole");
    equal<__int128>("cycles up to where bounds begin", stepper.end() + offset, is.reached);
    equal("instructions up to where bounds begin", found, is.timed);
    equal("instructions", found + instructionsIn(rest.program.body, rest.program.loops), timing.instructions);
    const __int128 quiet = stepper.quiet() + offset + 1;
    if (!errors.empty() || std::max(cutAt, quiet) >= kTooLate)
      return wrong({}, "bounds are beyond 2^61 cycles");
    const Cycles low = std::max({is.reached, endByWork(machine, program, rest, Cycles(cutAt)),
                                 BoundSystem(machine, rest.program, false).end(Cycles(cutAt))});
    const Cycles high = BoundSystem(machine, rest.program, true).end(Cycles(quiet));
    if (is.low > low)
      wrong({}, fmt::format("at least {} cycles are proved, {} are stated", low, is.low));
    if (is.high < high || high >= kTooLate)
      wrong({}, fmt::format("at most {} cycles are proved, {} are stated", high, is.high));
    if (timing.cycles < is.low || timing.cycles > is.high)
      wrong({}, fmt::format("{} cycles are not between the bounds {} and {}", timing.cycles, is.low, is.high));
  }

  const Microarchitecture &machine;
  const InstructionProgram &program;
  const InstructionTiming &timing;
  const OperandPlaces places;
  CycleStepper stepper, settled;
  Errors errors;
  std::vector<int64_t> around;
  std::vector<__int128> perIteration; ///< by loop; -1: not counted yet
  std::map<std::pair<Index, std::vector<int64_t>>, std::vector<const Recurrence *>> byPlace; ///< loop and around
  size_t used = 0;     ///< recurrences that were left out
  __int128 offset = 0; ///< cycles that were left out
  Sums skipped;        ///< what is in them
  bool isCut = false;  ///< from here on there are bounds
  __int128 cutAt = 0;  ///< when what follows may be fetched
  RestOfProgram rest;
};

} // namespace

Errors verifyTiming(const Microarchitecture &machine, const InstructionProgram &program,
                    const InstructionTiming &timing) {
  return Replay(machine, program, timing).run();
}

} // namespace accord::microarchitecture
