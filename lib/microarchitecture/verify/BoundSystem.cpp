#include "lib/microarchitecture/verify/BoundSystem.h"
#include "lib/microarchitecture/problem/Evaluate.h"
#include <algorithm>

namespace accord::microarchitecture {

BoundSystem::BoundSystem(const Microarchitecture &machine, const InstructionProgram &rest, bool isUpper)
    : machine(machine), rest(rest), isUpper(isUpper) {
  std::vector<int> waiting(machine.stages.size(), 0);
  for (const Stage &stage : machine.stages)
    for (Index to : stage.to)
      ++waiting[to];
  for (Index s = 0; s < Index(machine.stages.size()); ++s)
    if (waiting[s] == 0)
      order.push_back(s);
  for (size_t n = 0; n < order.size(); ++n)
    for (Index to : machine.stages[order[n]].to)
      if (--waiting[to] == 0)
        order.push_back(to);
  for (; limit > 0; limit /= 2) {
    makeAll();
    if (places <= 160)
      return;
  }
  isRough = true, limit = 1;
  makeAll();
}

BoundSystem::Queue BoundSystem::make(int64_t size) {
  if (isRough)
    return isUpper ? Queue{0, 1} : Queue{};
  if (!isUpper && size > limit)
    return {};
  const Queue made{places, int32_t(std::min(size, limit))};
  places += made.size;
  return made;
}

void BoundSystem::makeAll() {
  const bool isOne = isRough && isUpper;
  places = 2;
  next = {0, 1}, ended = {isOne ? 0 : 1, 1};
  stages.clear(), units.clear(), files.clear(), registers.clear();
  storages.assign(machine.storages.size(), {});
  fetchWidth = make(machine.fetch.width), fetchBuffer = make(machine.fetch.buffer);
  window = make(machine.window);
  if (isUpper)
    decided = make(1);
  for (const Stage &stage : machine.stages)
    stages.push_back({make(1), make(1), make(stage.width), make(stage.capacity)});
  for (const Unit &unit : machine.units) {
    UnitQueues made;
    if (isUpper)
      made.enter = make(1);
    if (isUpper || unit.count == 1)
      made.start = make(1), made.entries = make(int64_t(unit.count) * unit.entries);
    units.push_back(made);
  }
  for (size_t f = 0; f < machine.registers.size(); ++f)
    files.push_back(isUpper ? std::pair(make(1), make(1)) : std::pair(Queue{}, Queue{}));
  for (const Storage &storage : machine.storages)
    if (storage.cache)
      storages[storage.cache->behind].isAsked = true;
  for (size_t s = 0; s < storages.size(); ++s) {
    if (isUpper)
      storages[s].beats = make(1), storages[s].fills = make(1);
    if (isUpper || !(machine.storages[s].cache || storages[s].isAsked))
      storages[s].requests = make(machine.storages[s].requests);
  }
  for (const Instruction &instruction : rest.instructions) {
    for (const std::vector<Register> *all : {&instruction.reads, &instruction.writes})
      for (const Register &r : *all)
        if (auto [at, isNew] = registers.try_emplace({r.file, r.number}); isNew)
          at->second = {make(1), machine.registers[r.file].renamed ? Queue{} : make(1)};
    const size_t loads = size_t(machine.opcodes[instruction.opcode].loads);
    for (size_t o = loads; o < instruction.memory.size(); ++o) {
      Index s = instruction.memory[o].storage;
      for (storages[s].isWritten = true; machine.storages[s].cache; storages[s].isWritten = true)
        s = machine.storages[s].cache->behind;
    }
  }
  if (isOne)
    places = 1;
}

int32_t BoundSystem::temporary(Steps &out) {
  const int32_t made = places + temporaries++;
  deepest = std::max(deepest, temporaries);
  out.push_back({Step::Kind::Forget, made, 0, 0});
  return made;
}

void BoundSystem::raise(Steps &out, int32_t to, int32_t from, Cycles by) {
  out.push_back({Step::Kind::Raise, to, from, by});
}

void BoundSystem::wait(Steps &out, int32_t to, const Queue &queue) {
  if (queue.size > 0)
    raise(out, to, queue.first);
}

/// A time more in a queue.
void BoundSystem::put(Steps &out, const Queue &queue, int32_t from, Cycles by) {
  if (queue.size == 0)
    return;
  out.push_back({Step::Kind::Shift, queue.first, queue.size, 0});
  raise(out, queue.first + queue.size - 1, from, by);
}

/// The youngest time of a queue is no earlier.
void BoundSystem::note(Steps &out, const Queue &queue, int32_t from, Cycles by) {
  if (queue.size > 0)
    raise(out, queue.first + queue.size - 1, from, by);
}

std::vector<BoundSystem::Way> BoundSystem::waysIn(Index stage, const Instruction &instruction) const {
  std::vector<Way> ways;
  for (Index unit : machine.stages[stage].units)
    if (processes(machine.units[unit], instruction, machine))
      for (const UnitOperation &operation : machine.units[unit].operations)
        if (operation.opcode == instruction.opcode)
          ways.push_back({unit, evaluate(operation.latency, instruction), evaluate(operation.interval, instruction)});
  return ways;
}

int32_t BoundSystem::stagesBelow(const Instruction &instruction, int32_t fetch, Steps &out) {
  const std::vector<char> reached = stagesTo(instruction, machine);
  // Latencies from each stage on, the fewest, and without its own.
  std::vector<Cycles> behind(stages.size(), kTooLate);
  for (size_t n = order.size(); n-- > 0;) {
    const Index s = order[n];
    if (!machine.stages[s].units.empty() && reached[s])
      behind[s] = 0;
    for (Index to : machine.stages[s].to)
      if (reached[to])
        behind[s] = std::min(behind[s], evaluate(machine.stages[to].latency, instruction) + behind[to]);
  }
  int32_t at = temporary(out);
  raise(out, at, fetch, machine.fetch.latency);
  Queue leaves = fetchBuffer, left;
  for (Index s = machine.fetch.to;;) {
    wait(out, at, stages[s].enter), wait(out, at, stages[s].width), wait(out, at, stages[s].capacity);
    put(out, leaves, at), note(out, left, at);
    note(out, stages[s].enter, at), put(out, stages[s].width, at, 1);
    leaves = stages[s].capacity, left = stages[s].leave;
    const int32_t ready = temporary(out);
    raise(out, ready, at, evaluate(machine.stages[s].latency, instruction));
    wait(out, ready, left);
    at = ready;
    std::vector<Index> choices;
    for (Index to : machine.stages[s].to)
      if (reached[to])
        choices.push_back(to);
    if (choices.size() == 1) {
      s = choices.front();
      continue;
    }
    if (choices.empty()) {
      wait(out, at, window);
      if (const std::vector<Way> ways = waysIn(s, instruction); ways.size() == 1)
        wait(out, at, units[ways.front().unit].entries);
    }
    put(out, leaves, at), note(out, left, at);
    if (choices.empty())
      return at;
    const int32_t issue = temporary(out);
    raise(out, issue, at, behind[s]);
    wait(out, issue, window);
    return issue;
  }
}

int32_t BoundSystem::stagesAbove(const Instruction &instruction, int32_t fetch, Steps &out) {
  const std::vector<char> reached = stagesTo(instruction, machine);
  auto await = [&](int32_t at, Index stage) {
    wait(out, at, stages[stage].enter), wait(out, at, stages[stage].width), wait(out, at, stages[stage].capacity);
    wait(out, at, decided);
  };
  std::vector<int32_t> enters(stages.size(), kNone);
  const int32_t first = enters[machine.fetch.to] = temporary(out);
  raise(out, first, fetch, machine.fetch.latency);
  await(first, machine.fetch.to);
  put(out, fetchBuffer, first);
  const int32_t issue = temporary(out), left = temporary(out);
  for (Index s : order) {
    const int32_t enter = enters[s];
    if (enter == kNone)
      continue;
    const int32_t leave = temporary(out);
    raise(out, leave, enter, evaluate(machine.stages[s].latency, instruction));
    wait(out, leave, stages[s].leave);
    std::vector<Index> choices;
    for (Index to : machine.stages[s].to)
      if (reached[to])
        choices.push_back(to);
    if (!choices.empty()) {
      await(leave, choices.front());
    } else {
      const UnitQueues &unit = units[waysIn(s, instruction).front().unit];
      wait(out, leave, unit.entries), wait(out, leave, unit.enter), wait(out, leave, window);
      raise(out, issue, leave);
    }
    note(out, stages[s].enter, enter), put(out, stages[s].width, enter, 1);
    note(out, stages[s].leave, leave), put(out, stages[s].capacity, leave);
    raise(out, left, leave);
    for (Index to : choices) {
      if (enters[to] == kNone)
        enters[to] = temporary(out);
      raise(out, enters[to], leave);
    }
  }
  bool joins = false;
  std::vector<int> before(stages.size(), 0);
  for (const Stage &stage : machine.stages)
    for (Index to : stage.to)
      joins |= ++before[to] > 1;
  if (joins)
    note(out, decided, left);
  return issue;
}

int32_t BoundSystem::execute(const Instruction &instruction, int32_t issue, Steps &out) {
  const int32_t start = temporary(out);
  raise(out, start, issue);
  for (const Register &r : instruction.reads)
    wait(out, start, registers.at({r.file, r.number}).first);
  for (const Register &r : instruction.writes)
    if (const RegisterFile &file = machine.registers[r.file]; !file.renamed && !file.counts) {
      wait(out, start, registers.at({r.file, r.number}).first);
      wait(out, start, registers.at({r.file, r.number}).second);
    }
  for (const Register &r : instruction.reads)
    if (machine.registers[r.file].readPorts > 0)
      wait(out, start, files[r.file].first);
  std::vector<Way> ways;
  for (Index s = 0; s < Index(stages.size()); ++s)
    for (const Way &way : waysIn(s, instruction))
      ways.push_back(way);
  const int32_t end = temporary(out);
  int32_t last = start;
  if (isUpper) {
    last = temporary(out);
    for (const Way &way : ways) {
      const UnitQueues &unit = units[way.unit];
      const int32_t own = temporary(out);
      raise(out, own, start);
      if (machine.units[way.unit].entries > 1)
        wait(out, own, unit.start);
      note(out, unit.enter, issue, 1), note(out, unit.start, own, way.interval);
      put(out, unit.entries, own, way.interval);
      raise(out, last, own), raise(out, end, own, way.latency);
    }
  } else {
    Cycles latency = ways.front().latency;
    for (const Way &way : ways)
      latency = std::min(latency, way.latency);
    if (ways.size() == 1) { // with several instances the queues are empty
      const UnitQueues &unit = units[ways.front().unit];
      wait(out, start, unit.start);
      note(out, unit.start, start, ways.front().interval), put(out, unit.entries, start, ways.front().interval);
    }
    raise(out, end, start, latency);
  }
  for (const Register &r : instruction.reads) {
    if (machine.registers[r.file].readPorts > 0)
      note(out, files[r.file].first, last, 1);
    note(out, registers.at({r.file, r.number}).second, last);
  }
  return end;
}

BoundSystem::Answer BoundSystem::access(Index storage, bool isStore, int64_t bytes, int32_t at, Steps &out) {
  const Storage &is = machine.storages[storage];
  if (isUpper && is.cache)
    return accessCache(storage, isStore, bytes, at, out);
  const Cycles latency = isStore ? is.writeLatency : is.readLatency;
  const int32_t begin = temporary(out);
  raise(out, begin, at);
  wait(out, begin, storages[storage].requests);
  Cycles before = 0;
  __int128 moved = (bytes - 1) / is.portBytes + 1;
  if (isUpper) {
    wait(out, begin, storages[storage].beats);
    before = is.rows.bytes > 0 ? is.rows.miss : 0;
    moved = std::min(__int128((bytes - 2 + is.portBytes) / is.portBytes + 1) * (1 + before), __int128(kTooLate));
    note(out, storages[storage].beats, begin, Cycles(moved));
  }
  const Answer made{temporary(out), temporary(out)};
  raise(out, made.first, begin, before + latency);
  raise(out, made.done, begin, Cycles(moved) - 1 + latency);
  put(out, storages[storage].requests, made.done);
  return made;
}

BoundSystem::Answer BoundSystem::accessCache(Index storage, bool isStore, int64_t bytes, int32_t at, Steps &out) {
  const Storage &is = machine.storages[storage];
  const Storage::Cache &cache = *is.cache;
  const StorageQueues queues = storages[storage];
  const __int128 each = 1 + (is.rows.bytes > 0 ? is.rows.miss : 0);
  const Cycles moved = Cycles(std::min(each * ((bytes - 2 + is.portBytes) / is.portBytes + 1), __int128(kTooLate)));
  const int32_t begin = temporary(out), looked = temporary(out), done = temporary(out);
  raise(out, begin, at);
  wait(out, begin, queues.beats);
  note(out, queues.beats, begin, moved);
  raise(out, looked, begin, moved - 1);
  raise(out, done, looked, isStore ? is.writeLatency : is.readLatency);
  wait(out, done, queues.fills);
  for (int64_t line = (bytes - 2 + cache.lineBytes) / cache.lineBytes; line >= 0; --line) {
    const int32_t free = temporaries;
    const int32_t onward = temporary(out);
    raise(out, onward, looked, is.writeLatency);
    if (!isStore || cache.allocatesOnWrite) {
      const int32_t slot = temporary(out), asked = temporary(out);
      raise(out, slot, looked);
      wait(out, slot, queues.requests);
      raise(out, asked, slot, is.readLatency);
      const int32_t came = access(cache.behind, false, cache.lineBytes, asked, out).done;
      put(out, queues.requests, came), note(out, queues.fills, came);
      raise(out, done, came), raise(out, onward, came);
      if (cache.writeBack && queues.isWritten)
        access(cache.behind, true, cache.lineBytes, came, out);
    }
    if (isStore && (!cache.writeBack || !cache.allocatesOnWrite))
      raise(out, done, access(cache.behind, true, std::min<int64_t>(bytes, cache.lineBytes), onward, out).done);
    temporaries = free;
  }
  return {done, done};
}

int32_t BoundSystem::transfer(const Instruction &instruction, int32_t begin, Steps &out) {
  const size_t loads = size_t(machine.opcodes[instruction.opcode].loads);
  const int32_t data = temporary(out), loaded = temporary(out), done = temporary(out);
  for (int32_t to : {data, loaded, done})
    raise(out, to, begin);
  for (size_t o = 0; o < instruction.memory.size(); ++o) {
    const MemoryOperand &operand = instruction.memory[o];
    const bool isStore = o >= loads;
    const Answer got = access(operand.storage, isStore, operand.bytes, isStore ? data : begin, out);
    if (!isStore)
      raise(out, data, got.first), raise(out, loaded, got.done);
    else if (loads > 0)
      raise(out, done, loaded, machine.storages[operand.storage].writeLatency);
    raise(out, done, got.done);
  }
  return done;
}

void BoundSystem::compile(const Instruction &instruction, Steps &out) {
  temporaries = 0;
  const int32_t fetch = temporary(out);
  wait(out, fetch, next), wait(out, fetch, fetchWidth), wait(out, fetch, fetchBuffer);
  note(out, next, fetch), put(out, fetchWidth, fetch, 1);
  const int32_t issue = isUpper ? stagesAbove(instruction, fetch, out) : stagesBelow(instruction, fetch, out);
  const int32_t end = transfer(instruction, execute(instruction, issue, out), out);
  const bool isOne = isUpper && isRough;
  for (const Register &r : instruction.writes)
    if (isUpper && machine.registers[r.file].writePorts > 0)
      wait(out, end, files[r.file].second);
  for (const Register &r : instruction.writes) {
    if (isUpper && machine.registers[r.file].writePorts > 0)
      note(out, files[r.file].second, end, 1);
    const auto &[written, readers] = registers.at({r.file, r.number});
    for (const Queue &queue : {written, readers})
      if (queue.size > 0 && !isOne && !machine.registers[r.file].counts)
        out.push_back({Step::Kind::Forget, queue.first, 0, 0});
    note(out, written, end);
  }
  note(out, ended, end);
  put(out, window, ended.first);
  if (machine.opcodes[instruction.opcode].redirects)
    note(out, next, end);
}

void BoundSystem::run(const Body &body) {
  for (const Item &item : body) {
    if (item.loop != kNone) {
      repeat(item.loop);
      continue;
    }
    if (item.isFence()) { // all so far is complete before the next fetch
      for (size_t c = 0; c < lines.front().size(); ++c)
        lines[next.first][c] = std::max(lines[next.first][c], lines[ended.first][c]);
      continue;
    }
    auto [at, isNew] = compiled.try_emplace(item.instruction);
    if (isNew)
      compile(rest.instructions[item.instruction], at->second);
    const size_t width = lines.front().size();
    lines.resize(std::max(lines.size(), size_t(places) + size_t(deepest)), Line(width, -1));
    for (const Step &step : at->second) {
      if (step.kind == Step::Kind::Forget) {
        lines[step.to].assign(width, -1);
      } else if (step.kind == Step::Kind::Shift) {
        for (int32_t n = 0; n + 1 < step.from; ++n)
          lines[step.to + n] = lines[step.to + n + 1];
        if (!isUpper)
          lines[step.to + step.from - 1].assign(width, -1);
      } else {
        for (size_t c = 0; c < width; ++c)
          if (const Cycles from = lines[step.from][c]; from >= 0)
            lines[step.to][c] = std::max(lines[step.to][c], std::min(from + step.by, kTooLate));
      }
    }
  }
}

BoundSystem::Table BoundSystem::multiply(const Table &a, const Table &b) {
  Table made(a.size(), Line(b.front().size(), -1));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size(); ++k) {
      const Cycles by = a[i][k];
      if (by < 0)
        continue;
      for (size_t j = 0; j < made[i].size(); ++j)
        if (b[k][j] >= 0)
          made[i][j] = std::max(made[i][j], std::min(by + b[k][j], kTooLate));
    }
  return made;
}

void BoundSystem::repeat(Index loop) {
  const InstructionLoop &is = rest.loops[loop];
  if (is.count == 0)
    return;
  lines.resize(size_t(places));
  auto [at, isNew] = powers.try_emplace(loop);
  if (isNew) {
    Table outside(size_t(places), Line(size_t(places), -1));
    for (size_t p = 0; p < outside.size(); ++p)
      outside[p][p] = 0;
    std::swap(outside, lines);
    run(is.body);
    lines.resize(size_t(places));
    std::swap(outside, lines);
    at->second = std::move(outside);
  }
  // A few lines of few times are less work by one iteration after the other.
  if (is.count <= 2 * int64_t(places) / int64_t(lines.front().size())) {
    for (int64_t i = 0; i < is.count; ++i)
      lines = multiply(at->second, lines);
    return;
  }
  // The iterations by the bits of their number, from the highest on: powers apart, then all at once.
  Table power;
  for (int bit = 46; bit >= 0; --bit) {
    if (!power.empty())
      power = multiply(power, power);
    if (is.count >> bit & 1)
      power = power.empty() ? at->second : multiply(power, at->second);
  }
  lines = multiply(power, lines);
}

Cycles BoundSystem::end(Cycles from) {
  lines.assign(size_t(places), Line{isUpper ? from : 0});
  lines[next.first] = Line{from};
  run(rest.body);
  return lines[ended.first].front();
}

} // namespace accord::microarchitecture
