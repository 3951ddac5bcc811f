#include "lib/microarchitecture/solve/OperandArrays.h"
#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace accord::microarchitecture {

OperandArrays::OperandArrays(const Microarchitecture &machine, const InstructionProgram &program,
                             const DecodedProgram &decoded, const MemorySystem &memory) {
  for (const Instruction &instruction : program.instructions)
    for (const MemoryOperand &operand : instruction.memory) {
      address.push_back(operand.address.base);
      period.push_back(memory.addressPeriod(operand.storage));
    }
  const std::vector<Extent> extents = walk(program, decoded);
  forgetPlaces(machine, decoded);
  join(machine, decoded, extents);
}

void OperandArrays::forgetPlaces(const Microarchitecture &machine, const DecodedProgram &decoded) {
  std::vector<int64_t> alignment; // of all addresses to that of the first iterations
  for (const DecodedProgram::Operand &operand : decoded.operands)
    alignment.push_back(machine.storages[operand.storage].portBytes);
  for (const auto &moved : moves)
    for (auto [o, stride] : moved)
      alignment[o] = std::gcd(alignment[o], stride);
  for (size_t o = 0; o < address.size(); ++o) {
    const Storage &is = machine.storages[decoded.operands[o].storage];
    if (is.cache || is.rows.bytes > 0 || (is.ports > 1 && is.banks > 1))
      continue;
    const int64_t first = address[o] % alignment[o], last = first + is.portBytes - alignment[o];
    auto beats = [&](int64_t from) { return (from + decoded.operands[o].bytes - 1) / is.portBytes; };
    if (beats(first) == beats(last))
      period[o] = 1;
  }
}

std::vector<OperandArrays::Extent> OperandArrays::walk(const InstructionProgram &program,
                                                       const DecodedProgram &decoded) {
  moves.resize(program.loops.size());
  std::vector<Extent> extents(address.size());
  std::vector<Index> around;
  auto place = [&](OperandId o, const MemoryOperand &is) {
    Extent extent{is.address.base, is.address.base + is.bytes - 1};
    for (size_t depth = 0; depth < is.address.strides.size(); ++depth) {
      const int64_t stride = is.address.strides[depth];
      const int64_t steps = std::max<int64_t>(program.loops[around[depth]].count - 1, 0);
      if (stride != 0)
        moves[around[depth]].push_back({o, stride});
      if (steps > 0)
        (stride < 0 ? extent.low : extent.high) += stride * steps;
    }
    Extent &all = extents[o];
    all = all.high < all.low ? extent : Extent{std::min(all.low, extent.low), std::max(all.high, extent.high)};
  };
  auto visit = [&](auto &self, const Body &body) -> void {
    for (const Item &item : body) {
      if (item.loop != kNone) {
        around.push_back(item.loop);
        self(self, program.loops[item.loop].body);
        around.pop_back();
        continue;
      }
      if (item.isFence())
        continue;
      const Instruction &is = program.instructions[item.instruction];
      for (size_t o = 0; o < is.memory.size(); ++o)
        place(decoded.instructions[item.instruction].firstOperand + OperandId(o), is.memory[o]);
    }
  };
  visit(visit, program.body);
  for (auto &moved : moves) { // an instruction may be in several places of a loop
    std::sort(moved.begin(), moved.end());
    moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  }
  return extents;
}

void OperandArrays::join(const Microarchitecture &machine, const DecodedProgram &decoded,
                         const std::vector<Extent> &extents) {
  leader.resize(address.size());
  std::iota(leader.begin(), leader.end(), 0);
  // By storage: the memory behind all caches; by such a memory: sizes of lines before it, then of rows.
  std::vector<Index> last;
  for (Index s = 0; s < Index(machine.storages.size()); ++s) {
    last.push_back(s);
    while (machine.storages[last.back()].cache)
      last.back() = machine.storages[last.back()].cache->behind;
  }
  std::vector<std::set<int64_t>> lines(machine.storages.size()), rows(machine.storages.size());
  for (size_t s = 0; s < machine.storages.size(); ++s) {
    if (machine.storages[s].cache)
      lines[last[s]].insert(machine.storages[s].cache->lineBytes);
    if (machine.storages[s].rows.bytes > 0)
      rows[last[s]].insert(machine.storages[s].rows.bytes);
  }
  auto family = [&](OperandId o) { return last[decoded.operands[o].storage]; };
  // What an operand touches are whole lines, and of those whole rows.
  auto touched = [&](OperandId o) {
    Extent is = extents[o];
    for (const auto *sizes : {&lines[family(o)], &rows[family(o)]})
      for (int64_t size : *sizes)
        is.low -= is.low % size, is.high += size - 1 - is.high % size;
    return is;
  };
  std::vector<Extent> reach;
  for (OperandId o = 0; o < OperandId(address.size()); ++o)
    reach.push_back(touched(o));
  std::vector<OperandId> order(leader);
  std::sort(order.begin(), order.end(), [&](OperandId a, OperandId b) {
    return std::tuple(family(a), reach[a].low, a) < std::tuple(family(b), reach[b].low, b);
  });
  int64_t high = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const OperandId o = order[i];
    const bool isFirst = i == 0 || family(o) != family(order[i - 1]);
    const bool remembers = !lines[family(o)].empty() || !rows[family(o)].empty();
    if (!isFirst && remembers && reach[o].low <= high)
      leader[o] = leader[order[i - 1]];
    high = isFirst ? reach[o].high : std::max(high, reach[o].high);
  }
  // The place of an array matters to every memory through which one of its operands goes.
  for (OperandId o = 0; o < OperandId(address.size()); ++o)
    period[leader[o]] = commonPeriod(period[leader[o]], period[o]);
  for (OperandId o = 0; o < OperandId(address.size()); ++o)
    if (leader[o] != o || period[o] > 1)
      placed.push_back(o);
}

std::vector<int64_t> OperandArrays::origins() const {
  std::vector<int64_t> all(address.size());
  for (size_t o = 0; o < all.size(); ++o)
    all[o] = address[leader[o]];
  return all;
}

} // namespace accord::microarchitecture
