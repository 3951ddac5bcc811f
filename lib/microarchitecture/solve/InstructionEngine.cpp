#include "lib/microarchitecture/solve/InstructionEngine.h"

namespace accord::microarchitecture {

InstructionEngine::InstructionEngine(const Microarchitecture &machine, const InstructionProgram &program)
    : machine(machine), decoded(machine, program), instances(machine.units.size()), registers(decoded.fileOf.size()),
      fetchWidth(machine.fetch.width), fetchBuffer(machine.fetch.buffer), window(machine.window), memory(machine),
      arrays(machine, program, decoded, memory), use(machine.units.size()) {
  for (const Stage &stage : machine.stages) {
    StageState state;
    state.width = RecentTimes(stage.width), state.capacity = RecentTimes(stage.capacity);
    stages.push_back(std::move(state));
  }
  for (const RegisterFile &file : machine.registers)
    readPorts.emplace_back(std::max(file.readPorts, 1)), writePorts.emplace_back(std::max(file.writePorts, 1));
}

Cycles InstructionEngine::memoryDone(const DecodedInstruction &is, Cycles at, Index *last) {
  Cycles data = at, done = at;
  auto wait = [&](Cycles until, Index storage) {
    if (until > done && last)
      *last = storage;
    done = std::max(done, until);
  };
  const OperandId firstStore = is.firstOperand + is.loads, end = is.firstOperand + is.operands;
  for (OperandId o = is.firstOperand; o < firstStore; ++o) {
    const auto [storage, bytes] = decoded.operands[o];
    const Served served = memory.load(storage, o, arrays.address[o], bytes, at);
    data = std::max(data, served.first);
    wait(served.done, storage);
  }
  const Cycles loaded = done;
  for (OperandId o = firstStore; o < end; ++o) {
    const auto [storage, bytes] = decoded.operands[o];
    const Cycles earliestDone = is.loads > 0 ? loaded + machine.storages[storage].writeLatency : 0;
    wait(memory.store(storage, o, arrays.address[o], bytes, data, earliestDone).done, storage);
  }
  return done;
}

void InstructionEngine::decide(const Route &route, Index from, Index to, Cycles at) {
  for (size_t s = 0; s < stages.size(); ++s)
    if (route.behind[from][s] && (to == kNone || !route.behind[to][s]))
      stages[s].decided = std::max(stages[s].decided, at);
}

Stretch InstructionEngine::blocking(Index stage, Cycles until) const {
  const StageState &is = stages[stage];
  return {is.capacity.oldest() == until ? Wait::StageFull
          : is.width.oldest() == until  ? Wait::StageWidth
                                        : Wait::StageOrder,
          stage, kNone, until};
}

Stretch InstructionEngine::blockingFetch() const {
  const Cycles until = base();
  return {redirect == until               ? Wait::Redirect
          : fetchBuffer.oldest() == until ? Wait::FetchBuffer
                                          : Wait::FetchWidth,
          kNone, kNone, until};
}

template <bool kWatched>
Cycles InstructionEngine::start(const DecodedInstruction &is, const UnitWay &way, const Visit &visit, Stretch *why) {
  Cycles start = visit.issue;
  auto wait = [&](Cycles until, Wait wait, Index of) {
    if constexpr (kWatched)
      if (until > start)
        *why = {wait, of, kNone, until};
    start = std::max(start, until);
  };
  wait(instances[way.unit][visit.instance].start, Wait::UnitBusy, way.unit);
  for (uint32_t r : decoded.reads(is))
    wait(registers[r].ready, Wait::Operand, kWatched ? writer[r] : kNone);
  for (uint32_t r : decoded.guarded(is)) {
    wait(registers[r].ready, Wait::OutputOrder, kWatched ? decoded.fileOf[r] : kNone);
    wait(registers[r].read, Wait::AntiOrder, kWatched ? decoded.fileOf[r] : kNone);
  }
  if (is.readPorts > 0) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const PortUse &ports : decoded.readPorts(is))
        if (Cycles free = readPorts[ports.file].firstFree(start, ports.amount); free != start)
          wait(free, Wait::ReadPorts, ports.file), changed = true;
    }
    for (const PortUse &ports : decoded.readPorts(is))
      readPorts[ports.file].take(start, ports.amount);
  }
  return start;
}

Visit InstructionEngine::step(Index instruction) { return take<false>(instruction, nullptr); }

Visit InstructionEngine::step(Index instruction, std::vector<Stretch> &way) {
  way.clear();
  writer.resize(registers.size(), kNone);
  return take<true>(instruction, &way);
}

Cycles InstructionEngine::accept(const std::vector<UnitWay> &ways, Cycles ready, const UnitWay *&way,
                                 size_t &instance) {
  ready = std::max(ready, window.oldest());
  Cycles best = INT64_MAX;
  for (const UnitWay &candidate : ways) {
    std::vector<InstanceState> &known = instances[candidate.unit];
    size_t k = 0;
    for (; k < known.size() && best > ready; ++k) {
      const Cycles then = std::max({ready, known[k].enter, known[k].entries.oldest()});
      if (then < best)
        best = then, way = &candidate, instance = k;
    }
    looked += int64_t(k) / 8;
    if (best == ready)
      break;
    if (known.size() < size_t(machine.units[candidate.unit].count)) { // one that was never used
      known.emplace_back().entries = RecentTimes(machine.units[candidate.unit].entries);
      best = ready, way = &candidate, instance = known.size() - 1;
      break;
    }
  }
  return best;
}

template <bool kWatched>
const UnitWay &InstructionEngine::enter(const Route &route, Visit &visit, WayNotes<kWatched> &note) {
  auto accepts = [](const StageState &stage) {
    return std::max({stage.enter, stage.decided, stage.width.oldest(), stage.capacity.oldest()});
  };
  Index at = machine.fetch.to;
  Cycles time = std::max(fetched + machine.fetch.latency, accepts(stages[at]));
  note({Wait::FetchLatency, kNone, kNone, fetched + machine.fetch.latency});
  if constexpr (kWatched)
    note(blocking(at, time));
  fetchBuffer.push(time, fetched);
  const UnitWay *way = nullptr;
  size_t instance = 0;
  for (;;) {
    StageState &stage = stages[at];
    stage.enter = time;
    stage.width.push(time + 1, fetched);
    const Cycles ready = std::max(time + route.stageLatency[at], stage.leave);
    note({Wait::StageLatency, at, at, time + route.stageLatency[at]});
    note({Wait::StageOrder, at, at, ready});
    Cycles best = INT64_MAX;
    Index next = kNone;
    for (Index candidate : route.next[at]) {
      const Cycles then = std::max(ready, accepts(stages[candidate]));
      if (then < best)
        best = then, next = candidate;
    }
    if (next == kNone)
      best = accept(route.ways[at], ready, way, instance);
    if constexpr (kWatched) {
      Stretch why = next != kNone             ? blocking(next, best)
                    : window.oldest() == best ? Stretch{Wait::Window, kNone, at, best}
                                              : Stretch{Wait::UnitFull, way->unit, at, best};
      why.stage = at;
      note(why);
    }
    stage.leave = best;
    stage.capacity.push(best, fetched);
    time = best;
    if (decoded.joins)
      decide(route, at, next, time);
    if (next == kNone)
      break;
    at = next;
  }
  visit.issue = time, visit.unit = way->unit, visit.instance = Index(instance);
  return *way;
}

template <bool kWatched>
Cycles InstructionEngine::finish(const DecodedInstruction &is, const UnitWay &way, Cycles start,
                                 WayNotes<kWatched> &note) {
  Cycles complete = start + way.latency;
  note({Wait::Execution, way.unit, kNone, complete});
  if (is.operands > 0) {
    Index last = decoded.operands[is.firstOperand].storage;
    complete = memoryDone(is, complete, kWatched ? &last : nullptr);
    note({Wait::Memory, last, kNone, complete});
  }
  if (is.writePorts > 0) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const PortUse &ports : decoded.writePorts(is))
        if (Cycles free = writePorts[ports.file].firstFree(complete, ports.amount); free != complete) {
          complete = free, changed = true;
          note({Wait::WritePorts, ports.file, kNone, complete});
        }
    }
    for (const PortUse &ports : decoded.writePorts(is))
      writePorts[ports.file].take(complete, ports.amount);
  }
  for (uint32_t r : decoded.writes(is)) {
    const bool isEarlier = machine.registers[decoded.fileOf[r]].counts && complete < registers[r].ready;
    registers[r] = {isEarlier ? registers[r].ready : complete, 0};
    if constexpr (kWatched)
      writer[r] = isEarlier ? writer[r] : way.unit;
  }
  return complete;
}

template <bool kWatched> Visit InstructionEngine::take(Index instruction, std::vector<Stretch> *stretches) {
  const DecodedInstruction &is = decoded.instructions[instruction];
  ++count;
  Visit visit;
  fetched = std::max({fetched, fetchWidth.oldest(), fetchBuffer.oldest(), redirect});
  visit.fetch = fetched;
  fetchWidth.push(fetched + 1, fetched);
  if (count % 64 == 0) {
    memory.forget(fetched);
    for (Calendar &file : readPorts)
      file.forget(fetched);
    for (Calendar &file : writePorts)
      file.forget(fetched);
  }
  WayNotes<kWatched> note{stretches, fetched};
  const UnitWay &way = enter<kWatched>(decoded.routes[is.route], visit, note);
  InstanceState &unit = instances[way.unit][visit.instance];
  unit.enter = visit.issue + 1;
  Stretch why;
  visit.start = start<kWatched>(is, way, visit, &why);
  note(why);
  for (uint32_t r : decoded.reads(is))
    registers[r].read = std::max(registers[r].read, visit.start);
  unit.start = visit.start + way.interval;
  unit.entries.push(unit.start, fetched);
  use[way.unit].instructions += 1, use[way.unit].busy += way.interval;
  visit.complete = finish<kWatched>(is, way, visit.start, note);
  retired = std::max(retired, visit.complete);
  window.push(retired, fetched);
  if (is.redirects)
    redirect = std::max(redirect, visit.complete);
  if constexpr (kWatched)
    stretches->push_back(blockingFetch());
  return visit;
}

Stretch InstructionEngine::fence() {
  redirect = std::max(redirect, retired);
  return {Wait::Fence, kNone, kNone, base()};
}

void InstructionEngine::advance(Index loop, int64_t iterations) { arrays.advance(loop, iterations); }

Cycles InstructionEngine::base() const {
  return std::max({fetched, fetchWidth.oldest(), fetchBuffer.oldest(), redirect});
}

Cycles InstructionEngine::quiet() const {
  Cycles all = std::max(retired, memory.quiet());
  for (const std::vector<InstanceState> &unit : instances)
    for (const InstanceState &instance : unit)
      all = std::max(all, instance.start);
  return all;
}

std::vector<int64_t> InstructionEngine::state() const {
  std::vector<int64_t> all;
  all.reserve(written);
  const Cycles base = this->base();
  auto out = [&](int64_t value) { all.push_back(value); };
  auto time = [&](Cycles value) { out(std::max<Cycles>(value - base, 0)); };
  fetchWidth.write(base, out), fetchBuffer.write(base, out), window.write(base, out);
  for (const StageState &stage : stages) {
    time(stage.enter), time(stage.leave), time(stage.decided);
    stage.width.write(base, out), stage.capacity.write(base, out);
  }
  // Instances and registers that nobody waits for are left out.
  for (const std::vector<InstanceState> &unit : instances) {
    for (size_t k = 0; k < unit.size(); ++k)
      if (const InstanceState &is = unit[k]; std::max(is.enter, is.start) > base) {
        out(int64_t(k)), time(is.enter), time(is.start);
        is.entries.write(base, out);
      }
    out(-1);
  }
  for (size_t r = 0; r < registers.size(); ++r)
    if (const RegisterState &is = registers[r]; std::max(is.ready, is.read) > base) {
      out(int64_t(r)), time(is.ready), time(is.read);
      out(r < writer.size() && is.ready > base ? writer[r] : kNone);
    }
  out(-1);
  for (const Calendar &file : readPorts)
    file.write(base, out);
  for (const Calendar &file : writePorts)
    file.write(base, out);
  arrays.write(out);
  memory.write(base, memory.remembers() ? arrays.origins() : std::vector<int64_t>(), out);
  written = all.size();
  return all;
}

void InstructionEngine::skip(Cycles cycles, Index loop, int64_t iterations) {
  const Cycles from = base();
  fetchWidth.shift(cycles, from), fetchBuffer.shift(cycles, from), window.shift(cycles, from);
  for (StageState &stage : stages) {
    stage.enter += cycles, stage.leave += cycles, stage.decided += cycles;
    stage.width.shift(cycles, from), stage.capacity.shift(cycles, from);
  }
  for (std::vector<InstanceState> &unit : instances)
    for (InstanceState &instance : unit) {
      instance.enter += cycles, instance.start += cycles;
      instance.entries.shift(cycles, from);
    }
  for (RegisterState &r : registers)
    r.ready += cycles, r.read += cycles;
  for (Calendar &file : readPorts)
    file.shift(cycles);
  for (Calendar &file : writePorts)
    file.shift(cycles);
  memory.shift(cycles, from);
  // All that is next waits for is at `from` or later.
  fetched = from + cycles, redirect += cycles, retired += cycles;
  const std::vector<int64_t> before = arrays.origins();
  arrays.advance(loop, iterations);
  std::vector<int64_t> by = arrays.origins();
  for (size_t o = 0; o < by.size(); ++o)
    by[o] -= before[o];
  memory.translate(by);
}

} // namespace accord::microarchitecture
