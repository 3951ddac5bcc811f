#include "lib/microarchitecture/solve/MemorySystem.h"
#include <numeric>

namespace accord::microarchitecture {

MemorySystem::State::State(const Storage &storage)
    : is(&storage), ports(storage.ports), single(1), slots(storage.requests, 0) {
  const bool hasRows = storage.rows.bytes > 0;
  // One port, or one bank: a single beat a cycle, whichever bank it is in.
  isSingle = !hasRows && (storage.ports == 1 || storage.banks == 1);
  if (!isSingle)
    banks.assign(storage.banks, Calendar(1));
  if (hasRows)
    rows.assign(storage.banks, {-1, -1});
  period = isSingle ? storage.portBytes : int64_t(storage.portBytes) * storage.banks;
  if (hasRows)
    period = std::lcm(period, storage.rows.bytes);
  if (const auto &cache = storage.cache) {
    period = std::lcm(period, int64_t(cache->sets) * cache->lineBytes);
    lines.resize(size_t(cache->sets) * cache->ways);
    if (cache->replacement == Replacement::TreePlru)
      bits.assign(cache->sets, 0);
  }
}

MemorySystem::MemorySystem(const Microarchitecture &machine) {
  states.reserve(machine.storages.size());
  for (const Storage &storage : machine.storages)
    states.emplace_back(storage);
  // What a cache asks the memory behind it for depends on that one's period, too.
  for (size_t round = 0; round < states.size(); ++round)
    for (State &state : states)
      if (state.is->cache)
        state.period = std::lcm(state.period, states[state.is->cache->behind].period);
}

std::pair<Cycles, Cycles> MemorySystem::beats(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at) {
  const Storage &is = *state.is;
  const int64_t begin = address / is.portBytes, count = (address + bytes - 1) / is.portBytes - begin + 1;
  state.counts.beats += count;
  if (state.isSingle)
    return state.single.takeFirst(at, count);
  Cycles first = -1;
  for (int64_t piece = begin; piece < begin + count; ++piece) {
    const size_t number = piece % is.banks;
    Calendar &bank = state.banks[number];
    if (is.rows.bytes > 0) {
      const int64_t row = piece * is.portBytes / is.rows.bytes * is.rows.bytes;
      if (state.rows[number].first != row) {
        if (is.rows.miss > 0)
          at = bank.takeFirst(at, is.rows.miss).second + 1;
      }
      state.rows[number] = {row, by};
    }
    for (;;) {
      Cycles next = state.ports.firstFree(bank.firstFree(at));
      if (next == at)
        break;
      at = next;
    }
    bank.take(at), state.ports.take(at);
    if (first < 0)
      first = at;
    ++at;
  }
  return {first, at - 1};
}

Served MemorySystem::plain(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at, Cycles latency,
                           Cycles earliestDone) {
  Cycles &slot = state.slots[state.next];
  state.next = state.next + 1 == state.slots.size() ? 0 : state.next + 1;
  auto [first, last] = beats(state, by, address, bytes, std::max(at, slot));
  slot = std::max(last + latency, earliestDone);
  return {first + latency, slot};
}

Served MemorySystem::load(Index storage, OperandId by, int64_t address, int64_t bytes, Cycles at) {
  State &state = states[storage];
  return state.is->cache ? cached(state, by, address, bytes, at, false)
                         : plain(state, by, address, bytes, at, state.is->readLatency);
}

Served MemorySystem::store(Index storage, OperandId by, int64_t address, int64_t bytes, Cycles at,
                           Cycles earliestDone) {
  State &state = states[storage];
  if (!state.is->cache)
    return plain(state, by, address, bytes, at, state.is->writeLatency, earliestDone);
  Served served = cached(state, by, address, bytes, at, true);
  served.done = std::max(served.done, earliestDone);
  return served;
}

MemorySystem::Line *MemorySystem::find(State &state, int64_t line) {
  const Storage::Cache &cache = *state.is->cache;
  Line *set = &state.lines[size_t(line / cache.lineBytes % cache.sets) * cache.ways];
  for (int32_t way = 0; way < cache.ways; ++way)
    if (set[way].by >= 0 && set[way].address == line)
      return set + way;
  return nullptr;
}

void MemorySystem::use(State &state, Line *line) {
  const Storage::Cache &cache = *state.is->cache;
  const size_t at = line - state.lines.data(), set = at / cache.ways;
  size_t way = at % cache.ways;
  if (cache.replacement == Replacement::Lru) {
    Line *first = &state.lines[set * cache.ways];
    std::rotate(first, first + way, first + way + 1);
  } else if (cache.replacement == Replacement::TreePlru) {
    // From the leaf to the root: each bit points away from what was used. Node n has the children 2n and 2n + 1.
    uint32_t &bits = state.bits[set];
    for (size_t node = cache.ways + way; node > 1; node /= 2)
      if (node % 2)
        bits &= ~(1u << (node / 2));
      else
        bits |= 1u << (node / 2);
  }
}

MemorySystem::Line *MemorySystem::victim(State &state, int64_t line) {
  const Storage::Cache &cache = *state.is->cache;
  const size_t set = line / cache.lineBytes % cache.sets;
  Line *first = &state.lines[set * cache.ways];
  if (cache.replacement == Replacement::TreePlru) {
    for (int32_t way = 0; way < cache.ways; ++way)
      if (first[way].by < 0)
        return first + way;
    size_t node = 1;
    while (node < size_t(cache.ways))
      node = 2 * node + (state.bits[set] >> node & 1);
    return first + (node - cache.ways);
  }
  // What was used or came last stands first, so the last goes; empty ones are behind all others.
  std::rotate(first, first + cache.ways - 1, first + cache.ways);
  return first;
}

Served MemorySystem::fill(State &state, OperandId by, int64_t line, Cycles at) {
  const Storage::Cache &cache = *state.is->cache;
  ++state.counts.misses;
  Cycles &slot = state.slots[state.next];
  state.next = state.next + 1 == state.slots.size() ? 0 : state.next + 1;
  const Cycles begin = std::max(at, slot) + state.is->readLatency;
  Line *into = victim(state, line);
  const Line old = *into;
  const Served served = load(cache.behind, by, line, cache.lineBytes, begin);
  slot = served.done;
  *into = {line, by, false, served.done};
  if (cache.replacement == Replacement::TreePlru)
    use(state, into);
  if (old.by >= 0 && old.dirty) {
    ++state.counts.writeBacks;
    store(cache.behind, old.by, old.address, cache.lineBytes, served.done);
  }
  return {cache.criticalWordFirst ? served.first : served.done, served.done};
}

Served MemorySystem::cached(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at, bool isStore) {
  const Storage &is = *state.is;
  const Storage::Cache &cache = *is.cache;
  Served all{-1, 0};
  for (int64_t from = address, end = address + bytes; from < end;) {
    const int64_t lineAt = from / cache.lineBytes * cache.lineBytes, to = std::min(end, lineAt + cache.lineBytes);
    const Cycles t = beats(state, by, from, to - from, at).second;
    at = t + 1;
    Line *line = find(state, lineAt);
    Cycles data;
    if (line) {
      ++state.counts.hits;
      use(state, line);
      line = find(state, lineAt);
    }
    if (!isStore) {
      data = line ? std::max(t + is.readLatency, line->fill) : fill(state, by, lineAt, t).first;
      if (line)
        line->by = by;
    } else if (cache.writeBack && (line || cache.allocatesOnWrite)) {
      if (!line) {
        data = std::max(t + is.writeLatency, fill(state, by, lineAt, t).done);
        line = find(state, lineAt);
      } else
        data = std::max(t + is.writeLatency, line->fill);
      line->dirty = true, line->by = by;
    } else {
      Cycles begin = t + is.writeLatency;
      if (!line && cache.allocatesOnWrite)
        begin = std::max(begin, fill(state, by, lineAt, t).done);
      else if (!line)
        ++state.counts.misses;
      data = store(cache.behind, by, from, to - from, begin).done;
    }
    if (all.first < 0)
      all.first = data;
    all.done = std::max(all.done, data);
    from = to;
  }
  return all;
}

void MemorySystem::forget(Cycles before) {
  for (State &state : states) {
    state.ports.forget(before), state.single.forget(before);
    for (Calendar &bank : state.banks)
      bank.forget(before);
  }
}

void MemorySystem::shift(Cycles by) {
  for (State &state : states) {
    state.ports.shift(by), state.single.shift(by);
    for (Calendar &bank : state.banks)
      bank.shift(by);
    for (Cycles &slot : state.slots)
      slot += by;
    for (Line &line : state.lines)
      line.fill += by;
  }
}

void MemorySystem::translate(const std::vector<int64_t> &by) {
  for (State &state : states) {
    for (auto &[row, operand] : state.rows)
      if (operand >= 0)
        row += by[operand];
    for (Line &line : state.lines)
      if (line.by >= 0)
        line.address += by[line.by];
  }
}

} // namespace accord::microarchitecture
