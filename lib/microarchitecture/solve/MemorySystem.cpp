#include "lib/microarchitecture/solve/MemorySystem.h"
#include <algorithm>
#include <numeric>

namespace accord::microarchitecture {

int64_t commonPeriod(int64_t a, int64_t b) {
  constexpr __int128 kMax = __int128(1) << 62;
  return int64_t(std::min(a / std::gcd(a, b) * __int128(b), kMax));
}

MemorySystem::State::State(const Storage &storage)
    : is(&storage), ports(storage.ports), single(1), bankPlaces(storage.banks), slots(storage.requests),
      setPlaces(storage.cache ? storage.cache->sets : 0) {
  const bool hasRows = storage.rows.bytes > 0;
  // One port, or one bank: a single beat a cycle, whichever bank it is in.
  isSingle = !hasRows && (storage.ports == 1 || storage.banks == 1);
  period = isSingle ? storage.portBytes : int64_t(storage.portBytes) * storage.banks;
  if (hasRows)
    period = commonPeriod(period, storage.rows.bytes);
  if (storage.cache)
    period = commonPeriod(period, int64_t(storage.cache->sets) * storage.cache->lineBytes);
}

MemorySystem::MemorySystem(const Microarchitecture &machine) {
  states.reserve(machine.storages.size());
  for (const Storage &storage : machine.storages)
    states.emplace_back(storage);
  // What a cache asks the memory behind it for depends on the periods of all that is behind it, too.
  for (State &state : states)
    for (const Storage *at = state.is; at->cache; at = &machine.storages[at->cache->behind])
      state.period = commonPeriod(state.period, states[at->cache->behind].period);
}

bool MemorySystem::remembers() const {
  return std::any_of(states.begin(), states.end(),
                     [](const State &state) { return state.is->cache || state.is->rows.bytes > 0; });
}

std::pair<Cycles, Cycles> MemorySystem::beats(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at) {
  const Storage &is = *state.is;
  const int64_t begin = address / is.portBytes, count = (address + bytes - 1) / is.portBytes - begin + 1;
  state.counts.beats += count;
  if (state.isSingle)
    return state.single.takeFirst(at, count);
  looked += count;
  Cycles first = -1;
  for (int64_t piece = begin; piece < begin + count; ++piece) {
    const Index place = state.bankPlaces.add(piece % is.banks);
    if (size_t(place) == state.banks.size())
      state.banks.emplace_back();
    Bank &bank = state.banks[place];
    if (is.rows.bytes > 0) {
      const int64_t row = piece * is.portBytes / is.rows.bytes * is.rows.bytes;
      if ((bank.by < 0 || bank.row != row) && is.rows.miss > 0)
        at = bank.taken.takeFirst(at, is.rows.miss).second + 1;
      bank.row = row, bank.by = by;
    }
    for (;;) {
      Cycles next = state.ports.firstFree(bank.taken.firstFree(at));
      if (next == at)
        break;
      at = next;
    }
    bank.taken.take(at), state.ports.take(at);
    if (first < 0)
      first = at;
    ++at;
  }
  return {first, at - 1};
}

Served MemorySystem::plain(State &state, OperandId by, int64_t address, int64_t bytes, Cycles at, Cycles latency,
                           Cycles earliestDone) {
  auto [first, last] = beats(state, by, address, bytes, std::max(at, state.slots.oldest()));
  const Cycles done = std::max(last + latency, earliestDone);
  state.slots.push(done, past);
  return {first + latency, done};
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

size_t MemorySystem::setOf(State &state, int64_t line) {
  const Storage::Cache &cache = *state.is->cache;
  const size_t place = size_t(state.setPlaces.add(line / cache.lineBytes % cache.sets));
  if (place == state.sets.size()) {
    state.sets.emplace_back();
    if (cache.replacement == Replacement::TreePlru)
      state.bits.push_back(0);
  }
  looked += 1 + int64_t(state.sets[place].size()) / 8;
  return place;
}

MemorySystem::Line *MemorySystem::find(State &state, size_t set, int64_t line) {
  for (Line &one : state.sets[set])
    if (one.address == line)
      return &one;
  return nullptr;
}

void MemorySystem::use(State &state, size_t set, Line *line) {
  const Storage::Cache &cache = *state.is->cache;
  std::vector<Line> &lines = state.sets[set];
  const size_t way = size_t(line - lines.data());
  if (cache.replacement == Replacement::Lru) {
    std::rotate(lines.begin(), lines.begin() + int64_t(way), lines.begin() + int64_t(way) + 1);
  } else if (cache.replacement == Replacement::TreePlru) {
    // From the leaf to the root: each bit points away from what was used. Node n has the children 2n and 2n + 1.
    uint32_t &bits = state.bits[set];
    for (size_t node = size_t(cache.ways) + way; node > 1; node /= 2)
      if (node % 2)
        bits &= ~(1u << (node / 2));
      else
        bits |= 1u << (node / 2);
  }
}

MemorySystem::Line *MemorySystem::victim(State &state, size_t set) {
  const Storage::Cache &cache = *state.is->cache;
  std::vector<Line> &lines = state.sets[set];
  const bool isFull = lines.size() == size_t(cache.ways);
  if (cache.replacement == Replacement::TreePlru) {
    if (!isFull)
      return &lines.emplace_back();
    size_t node = 1;
    while (node < size_t(cache.ways))
      node = 2 * node + (state.bits[set] >> node & 1);
    return &lines[node - size_t(cache.ways)];
  }
  // What was used or came last stands first, so the last goes.
  if (!isFull)
    return &*lines.insert(lines.begin(), Line{});
  std::rotate(lines.begin(), lines.end() - 1, lines.end());
  return &lines.front();
}

Served MemorySystem::fill(State &state, OperandId by, int64_t line, Cycles at) {
  const Storage::Cache &cache = *state.is->cache;
  ++state.counts.misses;
  const Cycles begin = std::max(at, state.slots.oldest()) + state.is->readLatency;
  const size_t set = setOf(state, line);
  Line *into = victim(state, set);
  const Line old = *into;
  const Served served = load(cache.behind, by, line, cache.lineBytes, begin);
  state.slots.push(served.done, past);
  *into = {line, by, false, served.done};
  if (cache.replacement == Replacement::TreePlru)
    use(state, set, into);
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
    const size_t set = setOf(state, lineAt);
    Line *line = find(state, set, lineAt);
    Cycles data;
    if (line) {
      ++state.counts.hits;
      use(state, set, line);
      line = find(state, set, lineAt);
    }
    if (!isStore) {
      data = line ? std::max(t + is.readLatency, line->fill) : fill(state, by, lineAt, t).first;
      if (line)
        line->by = by;
    } else if (cache.writeBack && (line || cache.allocatesOnWrite)) {
      if (!line) {
        data = std::max(t + is.writeLatency, fill(state, by, lineAt, t).done);
        line = find(state, set, lineAt);
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
  past = before;
  for (State &state : states) {
    state.ports.forget(before), state.single.forget(before);
    for (Bank &bank : state.banks)
      bank.taken.forget(before);
  }
}

void MemorySystem::shift(Cycles by, Cycles after) {
  past += by;
  for (State &state : states) {
    state.ports.shift(by), state.single.shift(by);
    for (Bank &bank : state.banks)
      bank.taken.shift(by);
    state.slots.shift(by, after);
    for (std::vector<Line> &set : state.sets)
      for (Line &line : set)
        line.fill += by;
  }
}

Cycles MemorySystem::quiet() const {
  Cycles all = 0;
  for (const State &state : states) {
    all = std::max({all, state.ports.end(), state.single.end(), state.slots.latest()});
    for (const Bank &bank : state.banks)
      all = std::max(all, bank.taken.end());
    for (const std::vector<Line> &set : state.sets)
      for (const Line &line : set)
        all = std::max(all, line.fill);
  }
  return all;
}

std::set<std::pair<int64_t, bool>> MemorySystem::lines(Index storage) const {
  std::set<std::pair<int64_t, bool>> all;
  for (const std::vector<Line> &set : states[storage].sets)
    for (const Line &line : set)
      all.insert({line.address, line.dirty});
  return all;
}

void MemorySystem::translate(const std::vector<int64_t> &by) {
  for (State &state : states) {
    for (Bank &bank : state.banks)
      if (bank.by >= 0)
        bank.row += by[bank.by];
    for (std::vector<Line> &set : state.sets)
      for (Line &line : set)
        line.address += by[line.by];
  }
}

} // namespace accord::microarchitecture
