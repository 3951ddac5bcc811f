#include "lib/microarchitecture/solve/BoundProgram.h"
#include "lib/microarchitecture/solve/TimingEnvelope.h"
#include <algorithm>
#include <set>
#include <tuple>

namespace accord::microarchitecture {
namespace {

constexpr __int128 kMany = __int128(1) << 100;

/// How often each instruction is executed, at most 2^100 times.
std::vector<__int128> executions(const InstructionProgram &program) {
  std::vector<__int128> all(program.instructions.size(), 0);
  auto visit = [&](auto &self, const Body &body, __int128 times) -> void {
    for (const Item &item : body)
      if (item.isFence()) {
        continue;
      } else if (item.loop == kNone) {
        all[item.instruction] = std::min(all[item.instruction] + times, kMany);
      } else if (const int64_t count = program.loops[item.loop].count; count > 0) {
        self(self, program.loops[item.loop].body, times > kMany / count ? kMany : times * count);
      }
  };
  visit(visit, program.body, 1);
  return all;
}

/// Lines of so many bytes that an operand touches at least, with the strides of loops of so many iterations.
__int128 linesTouched(std::vector<std::pair<uint64_t, int64_t>> strides, int64_t line) {
  std::sort(strides.begin(), strides.end());
  __int128 lines = 1, extent = 0;
  bool isDense = true;
  for (auto [stride, count] : strides) {
    if (count == 0)
      return 0;
    if (stride == 0 || count == 1)
      continue;
    const bool isNear = stride <= extent + line;
    extent += __int128(stride) * (count - 1);
    isDense &= isNear;
    lines = isDense ? extent / line + 1 : isNear ? lines : std::min(lines, kMany / count) * count;
  }
  return lines;
}

/// Sums of what a rest needs, over what a cycle gives.
class ResourceCounts {
public:
  ResourceCounts(const Microarchitecture &machine, const InstructionProgram &program, const ProgramRest &rest)
      : machine(machine), program(program), rest(rest), decoded(machine, rest.program), times(executions(rest.program)),
        beatsIn(machine.storages.size(), 0) {}

  Cycles end(Cycles fetch) {
    __int128 all = 0;
    for (__int128 count : times)
      all = std::min(all + count, kMany);
    add(all, machine.fetch.width, 1);
    unitSets(), ports(), beats(), misses();
    for (size_t s = 0; s < beatsIn.size(); ++s)
      add(beatsIn[s], std::min(machine.storages[s].ports, machine.storages[s].banks), 1);
    return Cycles(std::min<__int128>(fetch + cycles, TimingEnvelope::kBeyond));
  }

private:
  void add(__int128 sum, int64_t perCycle, Cycles last) {
    if (sum > 0)
      cycles = std::max(cycles, (sum + perCycle - 1) / perCycle - last);
  }
  /// A product that is at most 2^100.
  static __int128 product(__int128 count, int64_t by) { return by > 0 && count > kMany / by ? kMany : count * by; }

  void unitSets() {
    std::set<std::vector<Index>> sets;
    std::vector<std::vector<Index>> unitsOf; // by route
    std::vector<Cycles> shortest;
    for (const Route &route : decoded.routes) {
      std::set<Index> units;
      Cycles interval = INT64_MAX;
      for (const std::vector<UnitWay> &ways : route.ways)
        for (const UnitWay &way : ways)
          units.insert(way.unit), interval = std::min(interval, way.interval);
      unitsOf.emplace_back(units.begin(), units.end()), shortest.push_back(interval);
      sets.insert(unitsOf.back());
    }
    std::vector<Index> every;
    for (Index u = 0; u < Index(machine.units.size()); ++u)
      every.push_back(u);
    sets.insert(every);
    std::vector<__int128> byRoute(decoded.routes.size(), 0);
    for (size_t i = 0; i < times.size(); ++i)
      byRoute[decoded.instructions[i].route] = std::min(byRoute[decoded.instructions[i].route] + times[i], kMany);
    for (const std::vector<Index> &set : sets) {
      __int128 sum = 0;
      Cycles last = 0;
      int64_t instances = 0;
      for (Index unit : set)
        instances += machine.units[unit].count;
      for (size_t r = 0; r < byRoute.size(); ++r)
        if (byRoute[r] > 0 && std::includes(set.begin(), set.end(), unitsOf[r].begin(), unitsOf[r].end()))
          sum = std::min(sum + product(byRoute[r], shortest[r]), kMany), last = std::max(last, shortest[r]);
      add(sum, instances, last);
    }
  }

  void ports() {
    std::vector<__int128> reads(machine.registers.size(), 0), writes(reads);
    for (size_t i = 0; i < times.size(); ++i) {
      const DecodedInstruction &is = decoded.instructions[i];
      for (const PortUse &use : decoded.readPorts(is))
        reads[use.file] = std::min(reads[use.file] + product(times[i], use.amount), kMany);
      for (const PortUse &use : decoded.writePorts(is))
        writes[use.file] = std::min(writes[use.file] + product(times[i], use.amount), kMany);
    }
    for (size_t f = 0; f < reads.size(); ++f)
      add(reads[f], std::max(machine.registers[f].readPorts, 1), 1),
          add(writes[f], std::max(machine.registers[f].writePorts, 1), 1);
  }

  void beats() {
    for (size_t i = 0; i < times.size(); ++i) {
      const DecodedInstruction &is = decoded.instructions[i];
      for (OperandId o = is.firstOperand; o < is.firstOperand + is.operands; ++o) {
        const auto [storage, bytes] = decoded.operands[o];
        const int64_t port = machine.storages[storage].portBytes;
        beatsIn[storage] = std::min(beatsIn[storage] + product(times[i], (bytes + port - 1) / port), kMany);
      }
    }
  }

  /// Calls for each place of an instruction in a body, with the loops around it.
  template <class Visitor>
  static void visit(const InstructionProgram &of, const Body &body, std::vector<Index> &around, Visitor &&visitor) {
    for (const Item &item : body) {
      if (item.isFence())
        continue;
      if (item.loop == kNone) {
        visitor(item.instruction);
        continue;
      }
      around.push_back(item.loop);
      visit(of, of.loops[item.loop].body, around, visitor);
      around.pop_back();
    }
  }

  struct Range {
    __int128 low = 0, high = -1; ///< none yet
  };
  /// By operand: its bytes in the whole program.
  std::vector<Range> ranges() const {
    std::vector<Range> all(decoded.operands.size());
    std::vector<Index> around;
    visit(program, program.body, around, [&](Index i) {
      for (size_t o = 0; o < program.instructions[i].memory.size(); ++o) {
        const MemoryOperand &is = program.instructions[i].memory[o];
        Range range{is.address.base, __int128(is.address.base) + is.bytes - 1};
        for (size_t l = 0; l < is.address.strides.size(); ++l)
          (is.address.strides[l] < 0 ? range.low : range.high) +=
              __int128(is.address.strides[l]) * std::max<int64_t>(program.loops[around[l]].count - 1, 0);
        Range &whole = all[size_t(decoded.instructions[i].firstOperand) + o];
        whole =
            whole.high < whole.low ? range : Range{std::min(whole.low, range.low), std::max(whole.high, range.high)};
      }
    });
    return all;
  }

  /// By operand: lines of a size that it touches in a nest of the rest.
  std::vector<__int128> lines(int64_t size) const {
    std::vector<__int128> all(decoded.operands.size(), 0);
    const InstructionProgram &of = rest.program;
    for (size_t item = 0; item < of.body.size(); ++item) {
      std::vector<Index> around;
      visit(of, {of.body[item]}, around, [&](Index i) {
        for (size_t o = 0; o < of.instructions[i].memory.size(); ++o) {
          const std::vector<int64_t> &strides = of.instructions[i].memory[o].address.strides;
          std::vector<std::pair<uint64_t, int64_t>> moves;
          for (size_t l = 0; l < around.size(); ++l) {
            const size_t depth = rest.depths[item] + l;
            const int64_t stride = depth < strides.size() ? strides[depth] : 0;
            moves.push_back({stride < 0 ? -uint64_t(stride) : uint64_t(stride), of.loops[around[l]].count});
          }
          __int128 &found = all[size_t(decoded.instructions[i].firstOperand) + o];
          found = std::max(found, linesTouched(std::move(moves), size));
        }
      });
    }
    return all;
  }

  /// Whether a request that a cache must fill comes to another one as one that it must fill.
  bool fills(Index from, Index cache, bool isStore) const {
    for (Index s = from; machine.storages[s].cache; s = machine.storages[s].cache->behind) {
      if (isStore && !machine.storages[s].cache->allocatesOnWrite)
        return false;
      if (s == cache)
        return true;
    }
    return false;
  }

  /// Lines that a cache and all before it may hold.
  __int128 held(Index cache) const {
    __int128 sum = 0;
    for (Index from = 0; from < Index(machine.storages.size()); ++from)
      if (fills(from, cache, false)) {
        const Storage::Cache &is = *machine.storages[from].cache;
        sum += __int128(is.sets) * is.ways * std::max(is.lineBytes / machine.storages[cache].cache->lineBytes, 1);
      }
    return sum;
  }

  void misses() {
    const std::vector<Range> range = ranges();
    for (Index c = 0; c < Index(machine.storages.size()); ++c) {
      if (!machine.storages[c].cache)
        continue;
      const int64_t size = machine.storages[c].cache->lineBytes;
      const std::vector<__int128> touched = lines(size);
      std::vector<std::pair<Range, __int128>> sorted;
      for (const DecodedInstruction &is : decoded.instructions)
        for (OperandId o = is.firstOperand; o < is.firstOperand + is.operands; ++o) {
          if (range[o].high >= range[o].low && fills(decoded.operands[o].storage, c, o >= is.firstOperand + is.loads))
            sorted.push_back({{range[o].low / size, range[o].high / size}, touched[o]});
        }
      fill(c, std::max<__int128>(distinct(std::move(sorted)) - held(c), 0));
    }
  }

  /// Of operands that may meet, the one that touches most; others add up.
  static __int128 distinct(std::vector<std::pair<Range, __int128>> sorted) {
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
      return std::tie(a.first.low, a.first.high, a.second) < std::tie(b.first.low, b.first.high, b.second);
    });
    __int128 sum = 0, here = 0, high = -1;
    for (const auto &[lines, touched] : sorted) {
      if (lines.low > high)
        sum = std::min(sum + here, kMany), here = 0;
      here = std::max(here, touched), high = std::max(high, lines.high);
    }
    return std::min(sum + here, kMany);
  }

  void fill(Index cache, __int128 count) {
    const Storage &is = machine.storages[cache], &behind = machine.storages[is.cache->behind];
    const int64_t pieces = (is.cache->lineBytes + behind.portBytes - 1) / behind.portBytes;
    const Cycles each = is.readLatency + pieces - 1 + behind.readLatency;
    const __int128 rounds = (count + is.requests - 1) / is.requests;
    if (rounds > 1)
      cycles = std::max(cycles, std::min(rounds - 1, kMany >> 40) * each);
    __int128 &sum = beatsIn[is.cache->behind];
    sum = std::min(sum + product(std::max<__int128>(count - is.requests, 0), pieces), kMany);
  }

  const Microarchitecture &machine;
  const InstructionProgram &program;
  const ProgramRest &rest;
  const DecodedProgram decoded;
  const std::vector<__int128> times; ///< by instruction
  std::vector<__int128> beatsIn;     ///< by storage
  __int128 cycles = 0;
};

} // namespace

ProgramRest restOf(const InstructionProgram &program, const ProgramPlace &place) {
  ProgramRest made;
  InstructionProgram &rest = made.program;
  rest.name = program.name, rest.instructions = program.instructions, rest.loops = program.loops;
  for (size_t depth = place.items.size(); depth-- > 0;) {
    const Body &body = depth == 0 ? program.body : program.loops[place.loops[depth - 1]].body;
    rest.body.insert(rest.body.end(), body.begin() + int64_t(place.items[depth]) + 1, body.end());
    made.depths.resize(rest.body.size(), depth);
    if (depth == 0)
      break;
    InstructionLoop more = program.loops[place.loops[depth - 1]];
    more.count -= place.iterations[depth - 1] + 1;
    rest.body.push_back({kNone, Index(rest.loops.size())}), made.depths.push_back(depth - 1);
    rest.loops.push_back(std::move(more));
  }
  return made;
}

Cycles lowerEnd(const Microarchitecture &machine, const InstructionProgram &program, const ProgramRest &rest,
                Cycles fetch) {
  const Cycles counted = ResourceCounts(machine, program, rest).end(fetch);
  return std::max(counted, TimingEnvelope(machine, rest.program, TimingEnvelope::Side::Lower).end(fetch));
}

Cycles upperEnd(const Microarchitecture &machine, const InstructionProgram &rest, Cycles quiet) {
  return TimingEnvelope(machine, rest, TimingEnvelope::Side::Upper).end(quiet);
}

} // namespace accord::microarchitecture
