#include "lib/microarchitecture/solve/BoundProgram.h"
#include "lib/microarchitecture/solve/TimingEnvelope.h"
#include <algorithm>
#include <set>

namespace accord::microarchitecture {
namespace {

constexpr __int128 kMany = __int128(1) << 100;

/// How often each instruction is executed, at most 2^100 times.
std::vector<__int128> executions(const InstructionProgram &program) {
  std::vector<__int128> all(program.instructions.size(), 0);
  auto visit = [&](auto &self, const Body &body, __int128 times) -> void {
    for (const Item &item : body)
      if (item.loop == kNone) {
        all[item.instruction] = std::min(all[item.instruction] + times, kMany);
      } else if (const int64_t count = program.loops[item.loop].count; count > 0) {
        self(self, program.loops[item.loop].body, times > kMany / count ? kMany : times * count);
      }
  };
  visit(visit, program.body, 1);
  return all;
}

/// Sums of what a rest needs, over what a cycle gives.
class ResourceCounts {
public:
  ResourceCounts(const Microarchitecture &machine, const InstructionProgram &rest)
      : machine(machine), decoded(machine, rest), times(executions(rest)) {}

  Cycles end(Cycles fetch) {
    __int128 all = 0;
    for (__int128 count : times)
      all = std::min(all + count, kMany);
    add(all, machine.fetch.width, 1);
    unitSets(), ports(), beats();
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
    std::vector<__int128> sums(machine.storages.size(), 0);
    for (size_t i = 0; i < times.size(); ++i) {
      const DecodedInstruction &is = decoded.instructions[i];
      for (OperandId o = is.firstOperand; o < is.firstOperand + is.operands; ++o) {
        const auto [storage, bytes] = decoded.operands[o];
        const int64_t port = machine.storages[storage].portBytes;
        sums[storage] = std::min(sums[storage] + product(times[i], (bytes + port - 1) / port), kMany);
      }
    }
    for (size_t s = 0; s < sums.size(); ++s)
      add(sums[s], std::min(machine.storages[s].ports, machine.storages[s].banks), 1);
  }

  const Microarchitecture &machine;
  const DecodedProgram decoded;
  const std::vector<__int128> times; ///< by instruction
  __int128 cycles = 0;
};

} // namespace

InstructionProgram restOf(const InstructionProgram &program, const ProgramPlace &place) {
  InstructionProgram rest;
  rest.name = program.name, rest.instructions = program.instructions, rest.loops = program.loops;
  for (size_t depth = place.items.size(); depth-- > 0;) {
    const Body &body = depth == 0 ? program.body : program.loops[place.loops[depth - 1]].body;
    rest.body.insert(rest.body.end(), body.begin() + int64_t(place.items[depth]) + 1, body.end());
    if (depth == 0)
      break;
    InstructionLoop more = program.loops[place.loops[depth - 1]];
    more.count -= place.iterations[depth - 1] + 1;
    rest.body.push_back({kNone, Index(rest.loops.size())});
    rest.loops.push_back(std::move(more));
  }
  return rest;
}

Cycles lowerEnd(const Microarchitecture &machine, const InstructionProgram &rest, Cycles fetch) {
  const Cycles counted = ResourceCounts(machine, rest).end(fetch);
  return std::max(counted, TimingEnvelope(machine, rest, TimingEnvelope::Side::Lower).end(fetch));
}

Cycles upperEnd(const Microarchitecture &machine, const InstructionProgram &rest, Cycles quiet) {
  return TimingEnvelope(machine, rest, TimingEnvelope::Side::Upper).end(quiet);
}

} // namespace accord::microarchitecture
