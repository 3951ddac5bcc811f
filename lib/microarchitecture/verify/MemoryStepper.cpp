#include "lib/microarchitecture/verify/MemoryStepper.h"
#include <algorithm>

namespace accord::microarchitecture {

MemoryStepper::MemoryStepper(const Microarchitecture &machine) : states(machine.storages.size()), machine(&machine) {
  for (size_t s = 0; s < states.size(); ++s) {
    states[s].banks.resize(size_t(machine.storages[s].banks));
    if (machine.storages[s].cache)
      states[s].contents.emplace(*machine.storages[s].cache);
  }
}

int32_t MemoryStepper::expand(std::vector<MemoryRequest> &to, Index storage, bool store, int64_t address, int64_t bytes,
                              Touch touch) {
  const Storage &is = machine->storages[storage];
  State &state = states[storage];
  const int32_t which = int32_t(to.size());
  MemoryRequest made;
  made.storage = storage, made.store = store;
  made.firstPiece = made.piece = address / is.portBytes, made.lastPiece = (address + bytes - 1) / is.portBytes;
  const int64_t pieces = made.lastPiece - made.firstPiece + 1;
  state.use.beats += pieces;
  if (is.rows.bytes > 0) {
    for (int64_t p = 0; p < std::min<int64_t>(pieces, is.banks); ++p) {
      const auto last = state.rows.find((made.firstPiece + p) % is.banks);
      made.rowBefore.push_back(last == state.rows.end() ? -1 : last->second.address / is.rows.bytes);
    }
    for (int64_t p = std::max(made.firstPiece, made.lastPiece - is.banks + 1); p <= made.lastPiece; ++p)
      state.rows[p % is.banks] = {p * is.portBytes, touch};
  }
  if (!is.cache) {
    made.number = state.times.add();
    to.push_back(std::move(made));
    return which;
  }
  const Storage::Cache &cache = *is.cache;
  to.push_back(made);
  for (int64_t at = address - address % cache.lineBytes; at < address + bytes; at += cache.lineBytes) {
    const int64_t low = std::max(at, address), high = std::min(at + cache.lineBytes, address + bytes);
    const Lookup found = state.contents->access(at, store, touch);
    MemoryRequest::Line line;
    line.hit = found.hit, line.fills = found.fills, line.fill = found.fill;
    line.lastPiece = (high - 1) / is.portBytes;
    ++(found.hit ? state.use.hits : state.use.misses), state.use.writeBacks += found.writesBack;
    if (found.fills) {
      state.times.add();
      line.fillRequest = expand(to, cache.behind, false, at, cache.lineBytes, touch);
    }
    if (found.writesBack)
      line.writeBack = expand(to, cache.behind, true, found.victim, cache.lineBytes, found.victimTouch);
    if (store && (!cache.writeBack || (!found.hit && !found.fills)))
      line.through = expand(to, cache.behind, true, low, high - low, touch);
    to[which].lines.push_back(line);
  }
  return which;
}

void MemoryStepper::beats(MemoryRequest &request, StepClock &clock) {
  const Storage &is = machine->storages[request.storage];
  State &state = states[request.storage];
  const Cycles free = std::max(request.begin, request.lastBeat == kUnknown ? 0 : request.lastBeat + 1);
  if (request.piece > request.lastPiece)
    return;
  if (free > clock.now)
    return clock.wakeAt(free);
  if (!is.cache) {
    const Cycles before = state.times.get(request.number - is.requests);
    if (before == kUnknown || before > clock.now)
      return before == kUnknown ? void() : clock.wakeAt(before);
  }
  clock.wakeAt(clock.now + 1);
  const int64_t bank = request.piece % is.banks;
  TakenNow &taken = state.banks[size_t(bank)];
  if (request.rowLeft == kUnknown) {
    const int64_t since = request.piece - request.firstPiece;
    auto row = [&](int64_t piece) { return piece * is.portBytes / is.rows.bytes; };
    const bool other = is.rows.bytes > 0 && row(request.piece) != (since < is.banks ? request.rowBefore[size_t(since)]
                                                                                    : row(request.piece - is.banks));
    request.rowLeft = other ? is.rows.miss : 0;
  }
  if (taken.in(clock.now) > 0 || (request.rowLeft == 0 && state.ports.in(clock.now) >= is.ports))
    return;
  taken.take(clock.now);
  clock.note(StepClock::Taken::Bank, request.storage, bank, clock.now);
  if (request.rowLeft > 0) {
    --request.rowLeft;
    return;
  }
  state.ports.take(clock.now);
  clock.note(StepClock::Taken::Port, request.storage, 0, clock.now);
  if (request.firstBeat == kUnknown)
    request.firstBeat = clock.now;
  request.lastBeat = clock.now, request.rowLeft = kUnknown;
  if (is.cache && request.lines[request.linesReached].lastPiece == request.piece)
    request.lines[request.linesReached++].at = clock.now;
  ++request.piece;
}

void MemoryStepper::child(std::vector<MemoryRequest> &all, int32_t which, Cycles begin, StepClock &clock) {
  if (all[which].begin == kUnknown)
    all[which].begin = begin;
  advance(all, which, 0, clock);
}

void MemoryStepper::line(std::vector<MemoryRequest> &all, int32_t which, size_t index, StepClock &clock) {
  const Storage &is = machine->storages[all[which].storage];
  NumberedTimes &fills = states[all[which].storage].times;
  MemoryRequest::Line &line = all[which].lines[index];
  const bool store = all[which].store;
  const Cycles latency = store ? is.writeLatency : is.readLatency;
  if (line.fills) {
    const Cycles before = fills.get(line.fill - is.requests);
    if (before == kUnknown)
      return;
    child(all, line.fillRequest, std::max(line.at, before) + is.readLatency, clock);
    if (line.filled == kUnknown && all[line.fillRequest].done != kUnknown)
      line.filled = all[line.fillRequest].done, fills.set(line.fill, line.filled);
    if (!store && is.cache->criticalWordFirst)
      line.data = all[line.fillRequest].firstData;
  } else if (line.filled == kUnknown) {
    line.filled = line.hit ? fills.get(line.fill) : 0;
  }
  if (line.writeBack >= 0 && line.filled != kUnknown)
    child(all, line.writeBack, line.filled, clock);
  if (line.through >= 0) {
    if (line.fills && line.filled == kUnknown)
      return;
    child(all, line.through, std::max(line.at + latency, line.fills ? line.filled : 0), clock);
    line.data = all[line.through].done;
  } else if (line.filled != kUnknown && line.data == kUnknown) {
    line.data = std::max(line.at + latency, line.filled);
  }
}

Cycles MemoryStepper::doneOf(const MemoryRequest &request, Cycles floor) const {
  const Storage &is = machine->storages[request.storage];
  if (floor == kUnknown)
    return kUnknown;
  Cycles done = floor;
  if (!is.cache)
    return std::max(done, request.lastBeat + (request.store ? is.writeLatency : is.readLatency));
  for (const MemoryRequest::Line &line : request.lines) {
    if (line.data == kUnknown)
      return kUnknown;
    done = std::max(done, line.data);
  }
  return done;
}

void MemoryStepper::advance(std::vector<MemoryRequest> &all, int32_t which, Cycles floor, StepClock &clock) {
  MemoryRequest &request = all[which];
  if (request.finished || request.begin == kUnknown)
    return;
  if (request.begin > clock.now)
    return clock.wakeAt(request.begin);
  beats(request, clock);
  const Storage &is = machine->storages[request.storage];
  auto ended = [&](int32_t child) { return child < 0 || all[child].finished; };
  for (size_t l = request.linesFinished; l < request.linesReached; ++l) {
    const MemoryRequest::Line &at = request.lines[l];
    auto closed = [&] {
      return at.data != kUnknown && ended(at.fillRequest) && ended(at.writeBack) && ended(at.through);
    };
    if (!closed())
      line(all, which, l, clock);
    if (l == request.linesFinished && closed())
      ++request.linesFinished;
  }
  if (request.firstData == kUnknown && request.firstBeat != kUnknown)
    request.firstData = !is.cache                   ? request.firstBeat + is.readLatency
                        : request.linesReached == 0 ? kUnknown
                                                    : request.lines[0].data;
  if (request.piece <= request.lastPiece)
    return;
  if (request.done == kUnknown) {
    request.done = doneOf(request, floor);
    if (request.done != kUnknown && !is.cache)
      states[request.storage].times.set(request.number, request.done);
  }
  request.finished = request.done != kUnknown && request.linesFinished == request.lines.size();
}

void MemoryStepper::forget(Cycles now) {
  for (State &state : states)
    state.times.forget(now);
}

} // namespace accord::microarchitecture
