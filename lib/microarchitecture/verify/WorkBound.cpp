#include "lib/microarchitecture/verify/WorkBound.h"
#include "lib/microarchitecture/problem/Evaluate.h"
#include <algorithm>
#include <map>

namespace accord::microarchitecture {
namespace {

constexpr __int128 kEnough = __int128(1) << 90;

/// What is known of the lines that an operand touches: the bytes that it may reach, and how many lines it must.
struct Footprint {
  __int128 from = 0, to = -1;
  __int128 lines = 0;
};

/// Loops around a place, and what iterates: how far an address moves, how often.
struct Motion {
  __int128 by = 0;
  int64_t times = 0;
};

__int128 linesOf(std::vector<Motion> motions, int64_t line) {
  std::erase_if(motions, [](const Motion &m) { return m.times == 1 || (m.by == 0 && m.times > 0); });
  std::sort(motions.begin(), motions.end(),
            [](const Motion &a, const Motion &b) { return a.by != b.by ? a.by < b.by : a.times < b.times; });
  // While all lines between the ends are touched their number follows from the distance of the ends; afterwards each
  // motion multiplies it by which copies do not share a line.
  __int128 reach = 0, lines = 1;
  bool hasGaps = false;
  for (const Motion &m : motions) {
    if (m.times == 0)
      return 0;
    const bool apart = m.by > reach + line;
    reach += m.by * (m.times - 1);
    if (apart)
      hasGaps = true, lines = std::min(lines * m.times, __int128(1) << 64);
    else if (!hasGaps)
      lines = 1 + reach / line;
  }
  return lines;
}

template <class Visitor>
void eachPlace(const InstructionProgram &program, const Body &body, std::vector<Index> &loops, const Visitor &visitor) {
  for (const Item &item : body)
    if (item.isFence()) {
      continue;
    } else if (item.loop == kNone) {
      visitor(item.instruction, loops);
    } else {
      loops.push_back(item.loop);
      eachPlace(program, program.loops[item.loop].body, loops, visitor);
      loops.pop_back();
    }
}

/// Whether what misses in a storage asks a cache for lines to fill.
bool leadsTo(const Microarchitecture &machine, Index storage, Index cache, bool isStore) {
  const std::optional<Storage::Cache> &is = machine.storages[storage].cache;
  if (!is || (isStore && !is->allocatesOnWrite))
    return false;
  return storage == cache || leadsTo(machine, is->behind, cache, isStore);
}

/// By cache: lines that the rest must bring to it.
std::vector<__int128> misses(const Microarchitecture &machine, const InstructionProgram &program,
                             const RestOfProgram &rest) {
  std::vector<__int128> all(machine.storages.size(), 0);
  for (Index c = 0; c < Index(machine.storages.size()); ++c) {
    if (!machine.storages[c].cache)
      continue;
    const int64_t line = machine.storages[c].cache->lineBytes;
    std::map<std::pair<Index, size_t>, Footprint> found; // by instruction and operand
    auto comes = [&](Index i, size_t o) {
      const Instruction &is = program.instructions[i];
      return leadsTo(machine, is.memory[o].storage, c, int64_t(o) >= machine.opcodes[is.opcode].loads);
    };
    std::vector<Index> loops;
    eachPlace(program, program.body, loops, [&](Index i, const std::vector<Index> &around) {
      for (size_t o = 0; o < program.instructions[i].memory.size(); ++o) {
        if (!comes(i, o))
          continue;
        const MemoryOperand &is = program.instructions[i].memory[o];
        __int128 from = is.address.base, to = from + is.bytes - 1;
        for (size_t l = 0; l < is.address.strides.size(); ++l) {
          const __int128 far =
              __int128(is.address.strides[l]) * std::max<int64_t>(program.loops[around[l]].count - 1, 0);
          from += std::min<__int128>(far, 0), to += std::max<__int128>(far, 0);
        }
        auto [at, isNew] = found.try_emplace({i, o}, Footprint{from, to, 0});
        if (!isNew)
          at->second.from = std::min(at->second.from, from), at->second.to = std::max(at->second.to, to);
      }
    });
    for (size_t item = 0; item < rest.program.body.size(); ++item)
      eachPlace(rest.program, {rest.program.body[item]}, loops, [&](Index i, const std::vector<Index> &around) {
        for (size_t o = 0; o < program.instructions[i].memory.size(); ++o) {
          if (!comes(i, o))
            continue;
          const std::vector<int64_t> &strides = program.instructions[i].memory[o].address.strides;
          std::vector<Motion> motions;
          for (size_t l = 0; l < around.size(); ++l) {
            const __int128 by = rest.depths[item] + l < strides.size() ? strides[rest.depths[item] + l] : 0;
            motions.push_back({by < 0 ? -by : by, rest.program.loops[around[l]].count});
          }
          Footprint &of = found.at({i, o});
          of.lines = std::max(of.lines, linesOf(motions, line));
        }
      });
    std::vector<Footprint> sorted;
    for (const auto &[which, footprint] : found)
      sorted.push_back({footprint.from / line, footprint.to / line, footprint.lines});
    std::sort(sorted.begin(), sorted.end(), [](const Footprint &a, const Footprint &b) { return a.from < b.from; });
    __int128 sum = 0;
    for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
      __int128 to = sorted[begin].to, lines = 0;
      for (; end < sorted.size() && sorted[end].from <= to; ++end)
        to = std::max(to, sorted[end].to), lines = std::max(lines, sorted[end].lines);
      sum = std::min(sum + lines, __int128(1) << 70);
    }
    for (Index s = 0; s < Index(machine.storages.size()); ++s)
      if (leadsTo(machine, s, c, false)) { // may hold some of them already
        const Storage::Cache &is = *machine.storages[s].cache;
        sum -= __int128(is.sets) * is.ways * std::max<int64_t>(1, is.lineBytes / line);
      }
    all[c] = std::max<__int128>(sum, 0);
  }
  return all;
}

} // namespace

Cycles endByWork(const Microarchitecture &machine, const InstructionProgram &program, const RestOfProgram &behind,
                 Cycles from) {
  const InstructionProgram &rest = behind.program;
  std::vector<__int128> times(rest.instructions.size(), 0);
  auto visit = [&](auto &self, const Body &body, __int128 around) -> void {
    for (const Item &item : body)
      if (item.isFence())
        continue;
      else if (item.loop == kNone)
        times[item.instruction] = std::min(times[item.instruction] + around, kEnough);
      else if (__int128 count = rest.loops[item.loop].count; count > 0)
        self(self, rest.loops[item.loop].body, around > kEnough / count ? kEnough : around * count);
  };
  visit(visit, rest.body, 1);
  const std::vector<__int128> missed = misses(machine, program, behind);
  // By what does the work: sum of it, how much goes on at once, and what of it need not be over at the last start.
  struct Work {
    __int128 sum = 0;
    int64_t atOnce = 1;
    Cycles last = 1;
  };
  std::map<std::vector<Index>, std::pair<__int128, Cycles>> byUnits; // those that must go to one of these
  std::vector<Work> all(1 + 2 * machine.registers.size() + machine.storages.size());
  auto more = [&](size_t which, __int128 amount, int64_t atOnce) {
    all[which].sum = std::min(all[which].sum + std::min(amount, kEnough), kEnough), all[which].atOnce = atOnce;
  };
  for (size_t i = 0; i < times.size(); ++i) {
    const Instruction &is = rest.instructions[i];
    std::vector<Index> able;
    Cycles shortest = INT64_MAX;
    for (Index u = 0; u < Index(machine.units.size()); ++u)
      if (processes(machine.units[u], is, machine)) {
        able.push_back(u);
        for (const UnitOperation &operation : machine.units[u].operations)
          if (operation.opcode == is.opcode)
            shortest = std::min(shortest, evaluate(operation.interval, is));
      }
    auto &[sum, longest] = byUnits[able];
    if (times[i] == 0)
      continue;
    sum = std::min(sum + std::min(times[i], kEnough / shortest) * shortest, kEnough);
    longest = std::max(longest, shortest);
    more(0, times[i], machine.fetch.width);
    for (const Register &r : is.reads)
      if (int32_t ports = machine.registers[r.file].readPorts; ports > 0)
        more(1 + 2 * size_t(r.file), times[i], ports);
    for (const Register &r : is.writes)
      if (int32_t ports = machine.registers[r.file].writePorts; ports > 0)
        more(2 + 2 * size_t(r.file), times[i], ports);
    for (const MemoryOperand &operand : is.memory) {
      const Storage &storage = machine.storages[operand.storage];
      const int64_t beats = (operand.bytes - 1) / storage.portBytes + 1;
      more(1 + 2 * machine.registers.size() + size_t(operand.storage), std::min(times[i], kEnough / beats) * beats,
           std::min(storage.ports, storage.banks));
    }
  }
  __int128 latest = 0;
  for (size_t c = 0; c < machine.storages.size(); ++c) {
    const Storage &is = machine.storages[c];
    if (missed[c] == 0)
      continue;
    const Storage &next = machine.storages[is.cache->behind];
    const int64_t beats = (is.cache->lineBytes - 1) / next.portBytes + 1;
    // Each waits for the one `requests` before it; so many may still be on their way at the end.
    const __int128 waits = std::min((missed[c] - 1) / is.requests, __int128(1) << 60);
    latest = std::max(latest, waits * (is.readLatency + next.readLatency + beats - 1));
    if (missed[c] > is.requests)
      more(1 + 2 * machine.registers.size() + size_t(is.cache->behind), (missed[c] - is.requests) * beats,
           std::min(next.ports, next.banks));
  }
  std::vector<Index> every;
  for (Index u = 0; u < Index(machine.units.size()); ++u)
    every.push_back(u);
  byUnits.try_emplace(every);
  for (const auto &[set, ignored] : byUnits) {
    Work work{0, 0, 0};
    for (Index unit : set)
      work.atOnce += machine.units[unit].count;
    for (const auto &[inside, is] : byUnits)
      if (std::includes(set.begin(), set.end(), inside.begin(), inside.end()))
        work.sum = std::min(work.sum + is.first, kEnough), work.last = std::max(work.last, is.second);
    all.push_back(work);
  }
  for (const Work &work : all)
    if (work.sum > 0)
      latest = std::max(latest, (work.sum - 1) / work.atOnce + 1 - work.last);
  return Cycles(std::min(from + latest, __int128(kTooLate)));
}

} // namespace accord::microarchitecture
