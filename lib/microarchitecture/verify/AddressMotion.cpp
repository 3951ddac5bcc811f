#include "lib/microarchitecture/verify/AddressMotion.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace accord::microarchitecture {

void ByteRange::add(const ByteRange &other) {
  if (other.isEmpty())
    return;
  low = isEmpty() ? other.low : std::min(low, other.low);
  high = std::max(high, other.high);
}

OperandPlaces::OperandPlaces(const InstructionProgram &program) {
  std::vector<size_t> firsts;
  for (const Instruction &instruction : program.instructions) {
    firsts.push_back(operands.size());
    for (const MemoryOperand &operand : instruction.memory)
      operands.push_back({&operand, {}});
  }
  std::vector<Index> around;
  auto visit = [&](auto &self, const Body &body) -> void {
    for (const Item &item : body) {
      if (item.isFence())
        continue;
      if (item.loop == kNone) {
        for (size_t o = 0; o < program.instructions[item.instruction].memory.size(); ++o)
          operands[firsts[item.instruction] + o].chains.push_back(around);
        continue;
      }
      around.push_back(item.loop);
      self(self, program.loops[item.loop].body);
      around.pop_back();
    }
  };
  visit(visit, program.body);
}

namespace {

/// The range in whole pieces of a size.
ByteRange aligned(ByteRange range, int64_t size) {
  if (!range.isEmpty() && size > 0)
    range.low -= range.low % size, range.high += (size - range.high % size) % size;
  return range;
}

} // namespace

AddressMotion::AddressMotion(const Microarchitecture &machine, const InstructionProgram &program,
                             const OperandPlaces &places, Index loop, const std::vector<int64_t> &around, int64_t first,
                             int64_t period, int64_t periods, int64_t loopStart)
    : machine(machine), places(places), periods(periods), loopStart(loopStart) {
  const size_t depth = around.size();
  for (const OperandPlaces::Operand &operand : places.operands) {
    const std::vector<int64_t> &strides = operand.is->address.strides;
    shifts.push_back(0), accessed.emplace_back();
    for (const std::vector<Index> &chain : operand.chains) {
      if (chain.size() <= depth || chain[depth] != loop)
        continue;
      shifts.back() = depth < strides.size() ? strides[depth] * period : 0;
      ByteRange range{operand.is->address.base, __int128(operand.is->address.base) + operand.is->bytes};
      bool runs = true;
      for (size_t l = 0; l < chain.size(); ++l) {
        const __int128 stride = l < strides.size() ? strides[l] : 0;
        const __int128 begin = l < depth ? around[l] : l == depth ? first : 0;
        const __int128 end = l < depth    ? begin + 1
                             : l == depth ? begin + __int128(period) * periods
                                          : __int128(program.loops[chain[l]].count);
        runs &= begin < end;
        range.low += std::min(stride * begin, stride * (end - 1));
        range.high += std::max(stride * begin, stride * (end - 1));
      }
      if (runs)
        accessed.back().add(range);
    }
  }
}

bool AddressMotion::hasEqualPieces(Index operand) const {
  const MemoryOperand &of = *places.operands[operand].is;
  const Storage &is = machine.storages[of.storage];
  if (is.cache || hasBanks(is) || hasRows(is))
    return false;
  // Within a piece, the operand begins at `begin` and every `step` bytes from there on.
  int64_t step = is.portBytes;
  for (int64_t stride : of.address.strides)
    step = std::gcd(step, stride);
  for (int64_t begin = of.address.base % step; begin < is.portBytes; begin += step)
    if ((begin + of.bytes + is.portBytes - 1) / is.portBytes !=
        (of.address.base % step + of.bytes + is.portBytes - 1) / is.portBytes)
      return false;
  return true;
}

std::string AddressMotion::misaligned(Index operand) const {
  const __int128 by = shifts[operand];
  for (Index s = places.operands[operand].is->storage;; s = machine.storages[s].cache->behind) {
    const Storage &is = machine.storages[s];
    if (by % (__int128(is.portBytes) * (hasBanks(is) ? is.banks : 1)) != 0 && !hasEqualPieces(operand))
      return fmt::format("an address moves by {} bytes, no whole number of ports and banks of '{}'", int64_t(by),
                         is.name);
    if (hasRows(is) && by % is.rows.bytes != 0)
      return fmt::format("an address moves by {} bytes, no whole number of rows of '{}'", int64_t(by), is.name);
    if (!is.cache)
      return "";
    if (by % (__int128(is.cache->lineBytes) * is.cache->sets) != 0)
      return fmt::format("an address moves by {} bytes, not by whole rounds of the sets of '{}'", int64_t(by), is.name);
  }
}

std::vector<ByteRange> AddressMotion::ranges(Index storage, const MemoryStepper &before) const {
  std::vector<ByteRange> all(accessed.size());
  // What a cache in front asks for are whole lines of it.
  auto reaches = [&](Index from, auto &&visit) {
    for (Index s = from;; s = machine.storages[s].cache->behind) {
      if (s == storage)
        return true;
      if (!machine.storages[s].cache)
        return false;
      visit(machine.storages[s].cache->lineBytes);
    }
  };
  const Storage &is = machine.storages[storage];
  auto own = [&](ByteRange range) {
    range = aligned(range, is.cache ? is.cache->lineBytes : 0);
    return aligned(range, hasRows(is) ? is.rows.bytes : 0);
  };
  for (size_t o = 0; o < accessed.size(); ++o) {
    ByteRange range = accessed[o];
    if (reaches(places.operands[o].is->storage, [&](int64_t line) { range = aligned(range, line); }))
      all[o].add(own(range));
  }
  auto moving = [&](int64_t address, int64_t bytes, const Touch &touch) {
    if (touch.instruction < loopStart)
      return;
    const __int128 far = __int128(shifts[touch.operand]) * periods;
    ByteRange range{address + std::min<__int128>(far, 0), address + bytes + std::max<__int128>(far, 0)};
    all[touch.operand].add(own(range));
  };
  for (Index s = 0; s < Index(machine.storages.size()); ++s) {
    const MemoryStepper::State &state = before.states[s];
    if (state.contents && reaches(s, [](int64_t) {}))
      for (const auto &[index, set] : state.contents->sets)
        for (const CacheContents::Way &way : set.ways)
          if (way.valid)
            moving(way.address, machine.storages[s].cache->lineBytes, way.touch);
  }
  if (hasRows(is))
    for (const auto &[bank, row] : before.states[storage].rows)
      moving(row.address, 1, row.touch);
  return all;
}

std::string AddressMotion::obstacle(const MemoryStepper &before) const {
  for (size_t o = 0; o < accessed.size(); ++o)
    if (!accessed[o].isEmpty())
      if (std::string why = misaligned(Index(o)); !why.empty())
        return why;
  for (Index s = 0; s < Index(machine.storages.size()); ++s) {
    const Storage &is = machine.storages[s];
    if (!is.cache && !hasRows(is))
      continue;
    const std::vector<ByteRange> all = ranges(s, before);
    for (size_t a = 0; a < all.size(); ++a)
      for (size_t b = a + 1; b < all.size(); ++b)
        if (!all[a].isEmpty() && !all[b].isEmpty() && shifts[a] != shifts[b] && all[a].meets(all[b]))
          return fmt::format("addresses that move by {} and by {} bytes meet in '{}'", shifts[a], shifts[b], is.name);
    // What the loop has not touched stays where it is.
    auto meets = [&](int64_t address, int64_t bytes, const Touch &touch) {
      for (size_t o = 0; o < all.size() && touch.instruction < loopStart; ++o)
        if (shifts[o] != 0 && !all[o].isEmpty() && all[o].meets({address, __int128(address) + bytes}))
          return true;
      return false;
    };
    const std::string old = fmt::format("'{}' holds what moving addresses of the loop reach from before it", is.name);
    if (is.cache)
      for (const auto &[index, set] : before.states[s].contents->sets)
        for (const CacheContents::Way &way : set.ways)
          if (way.valid && meets(way.address, is.cache->lineBytes, way.touch))
            return old;
    if (hasRows(is))
      for (const auto &[bank, row] : before.states[s].rows)
        if (meets(row.address, 1, row.touch))
          return old;
  }
  return "";
}

std::vector<int64_t> AddressMotion::contents(const MemoryStepper &memory, Cycles now, int64_t moved) const {
  std::vector<int64_t> all;
  for (size_t s = 0; s < memory.states.size(); ++s) {
    const MemoryStepper::State &state = memory.states[s];
    const Storage &is = machine.storages[s];
    if (hasRows(is))
      for (const auto &[bank, row] : state.rows)
        all.insert(all.end(), {bank, (row.address + moved * shift(row.touch)) / is.rows.bytes, shift(row.touch)});
    all.push_back(-1);
    if (!state.contents)
      continue;
    for (const auto &[index, set] : state.contents->sets) {
      const auto ways = state.contents->ordered(set);
      if (ways.empty())
        continue;
      all.insert(all.end(),
                 {index, int64_t(ways.size()), is.cache->replacement == Replacement::TreePlru ? set.tree : 0});
      for (const auto &[place, way] : ways)
        all.insert(all.end(), {place, way->address + moved * shift(way->touch), shift(way->touch), way->dirty,
                               std::max<Cycles>(state.times.get(way->fill) - now, 0)});
    }
    all.push_back(-1);
  }
  return all;
}

void AddressMotion::move(MemoryStepper &memory, int64_t moved) const {
  for (MemoryStepper::State &state : memory.states) {
    for (auto &[bank, row] : state.rows)
      row.address += moved * shift(row.touch);
    if (state.contents)
      for (auto &[index, set] : state.contents->sets)
        for (CacheContents::Way &way : set.ways)
          if (way.valid)
            way.address += moved * shift(way.touch);
  }
}

} // namespace accord::microarchitecture
