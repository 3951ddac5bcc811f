#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "lib/microarchitecture/problem/Evaluate.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <tuple>

namespace accord::microarchitecture {
namespace {

/// First and last byte of an operand over the whole program, and its loops.
struct Extent {
  int64_t low = 0, high = -1; ///< none yet
};

/// By stage: which stages may follow, at once or later.
std::vector<std::vector<char>> stagesBehind(const std::vector<std::vector<Index>> &next) {
  std::vector<std::vector<char>> behind(next.size(), std::vector<char>(next.size(), 0));
  for (size_t round = 0; round < next.size(); ++round) // as many as stages may stand in a row
    for (size_t s = 0; s < next.size(); ++s)
      for (Index to : next[s]) {
        behind[s][to] = 1;
        for (size_t b = 0; b < next.size(); ++b)
          behind[s][b] |= behind[to][b];
      }
  return behind;
}

bool stagesJoin(const Microarchitecture &machine) {
  std::vector<int> before(machine.stages.size(), 0);
  bool joins = false;
  for (const Stage &stage : machine.stages)
    for (Index next : stage.to)
      joins |= ++before[next] > 1;
  return joins;
}

} // namespace

InstructionEngine::InstructionEngine(const Microarchitecture &machine, const InstructionProgram &program)
    : machine(machine), fetchWidth(machine.fetch.width), fetchBuffer(machine.fetch.buffer), window(machine.window),
      memory(machine) {
  for (const Stage &stage : machine.stages) {
    StageState state;
    state.width = Ring(stage.width), state.capacity = Ring(stage.capacity);
    stages.push_back(std::move(state));
  }
  joins = stagesJoin(machine);
  std::vector<size_t> firstInstance, firstRegister;
  for (const Unit &unit : machine.units) {
    firstInstance.push_back(instances.size());
    for (int32_t k = 0; k < unit.count; ++k) {
      instances.emplace_back();
      instances.back().entries = Ring(unit.entries);
    }
  }
  size_t registerCount = 0;
  for (const RegisterFile &file : machine.registers) {
    firstRegister.push_back(registerCount);
    registerCount += file.count;
    readPorts.emplace_back(std::max(file.readPorts, 1)), writePorts.emplace_back(std::max(file.writePorts, 1));
  }
  registers.resize(registerCount);
  use.resize(machine.units.size());

  auto ports = [&](const std::vector<Register> &of, bool isWrite) {
    std::vector<PortUse> uses;
    for (Index file = 0; file < Index(machine.registers.size()); ++file) {
      const RegisterFile &is = machine.registers[file];
      const int32_t amount = std::count_if(of.begin(), of.end(), [&](const Register &r) { return r.file == file; });
      if (amount > 0 && (isWrite ? is.writePorts : is.readPorts) > 0)
        uses.push_back({file, amount});
    }
    return uses;
  };
  for (const Instruction &instruction : program.instructions) {
    Decoded is;
    const std::vector<char> reached = stagesTo(instruction, machine);
    for (const Stage &stage : machine.stages) {
      is.stageLatency.push_back(evaluate(stage.latency, instruction));
      is.next.emplace_back(), is.ways.emplace_back();
      for (Index next : stage.to)
        if (reached[next])
          is.next.back().push_back(next);
      for (Index unit : stage.units)
        for (const UnitOperation &operation : machine.units[unit].operations)
          if (operation.opcode == instruction.opcode && processes(machine.units[unit], instruction, machine))
            is.ways.back().push_back({unit, firstInstance[unit], size_t(machine.units[unit].count),
                                      evaluate(operation.latency, instruction),
                                      evaluate(operation.interval, instruction)});
    }
    if (joins)
      is.behind = stagesBehind(is.next);
    for (const Register &r : instruction.reads)
      is.reads.push_back(firstRegister[r.file] + r.number);
    for (const Register &r : instruction.writes) {
      is.writes.push_back(firstRegister[r.file] + r.number);
      if (!machine.registers[r.file].renamed)
        is.guarded.push_back(is.writes.back());
    }
    is.readPorts = ports(instruction.reads, false), is.writePorts = ports(instruction.writes, true);
    is.memory = instruction.memory;
    is.loads = machine.opcodes[instruction.opcode].loads;
    is.redirects = machine.opcodes[instruction.opcode].redirects;
    for (const MemoryOperand &operand : instruction.memory) {
      is.operands.push_back(address.size());
      address.push_back(operand.address.base);
      period.push_back(memory.addressPeriod(operand.storage));
    }
    decoded.push_back(std::move(is));
  }

  // The loops around each instruction, the strides of its operands in them, and which operands meet.
  moves.resize(program.loops.size());
  std::vector<Extent> extents(address.size());
  std::vector<Index> around;
  auto walk = [&](auto &self, const Body &body) -> void {
    for (const Item &item : body) {
      if (item.loop != kNone) {
        around.push_back(item.loop);
        self(self, program.loops[item.loop].body);
        around.pop_back();
        continue;
      }
      const Decoded &is = decoded[item.instruction];
      for (size_t o = 0; o < is.memory.size(); ++o) {
        const Address &at = is.memory[o].address;
        Extent extent{at.base, at.base + is.memory[o].bytes - 1};
        for (size_t depth = 0; depth < at.strides.size(); ++depth) {
          const int64_t stride = at.strides[depth], count = program.loops[around[depth]].count;
          auto &moved = moves[around[depth]];
          if (std::pair move(is.operands[o], stride); stride != 0 && !llvm::is_contained(moved, move))
            moved.push_back(move);
          (stride < 0 ? extent.low : extent.high) += stride * std::max<int64_t>(count - 1, 0);
        }
        Extent &all = extents[is.operands[o]];
        all = all.high < all.low ? extent : Extent{std::min(all.low, extent.low), std::max(all.high, extent.high)};
      }
    }
  };
  walk(walk, program.body);

  // Operands whose addresses meet in a memory that remembers addresses move as one array; others each by itself.
  leader.resize(address.size());
  std::iota(leader.begin(), leader.end(), 0);
  auto last = [&](Index storage) {
    while (machine.storages[storage].cache)
      storage = machine.storages[storage].cache->behind;
    return storage;
  };
  std::vector<Index> family(address.size());
  std::vector<int64_t> reach(machine.storages.size(),
                             0); // by last storage: bytes of a line or row; 0: nothing is remembered
  for (Index s = 0; s < Index(machine.storages.size()); ++s) {
    const Storage &is = machine.storages[s];
    reach[last(s)] = std::max({reach[last(s)], is.rows.bytes, is.cache ? int64_t(is.cache->lineBytes) : 0});
  }
  for (const Decoded &is : decoded)
    for (size_t o = 0; o < is.operands.size(); ++o)
      family[is.operands[o]] = last(is.memory[o].storage);
  std::vector<OperandId> order(leader);
  std::sort(order.begin(), order.end(), [&](OperandId a, OperandId b) {
    return std::tuple(family[a], extents[a].low, a) < std::tuple(family[b], extents[b].low, b);
  });
  int64_t high = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const OperandId o = order[i];
    const bool isFirst = i == 0 || family[o] != family[order[i - 1]];
    const int64_t whole = reach[family[o]];
    if (!isFirst && whole > 0 && extents[o].low / whole <= high / whole)
      leader[o] = leader[order[i - 1]];
    high = isFirst ? extents[o].high : std::max(high, extents[o].high);
  }
  // The place of an array matters to every memory through which one of its operands goes.
  for (OperandId o = 0; o < OperandId(address.size()); ++o)
    period[leader[o]] = std::lcm(period[leader[o]], period[o]);
}

Cycles InstructionEngine::memoryDone(const Decoded &is, Cycles at, Index *last) {
  Cycles data = at, done = at;
  auto wait = [&](Cycles until, Index storage) {
    if (until > done && last)
      *last = storage;
    done = std::max(done, until);
  };
  for (int32_t o = 0; o < is.loads; ++o) {
    const Index storage = is.memory[o].storage;
    const Served served = memory.load(storage, is.operands[o], address[is.operands[o]], is.memory[o].bytes, at);
    data = std::max(data, served.first);
    wait(served.done, storage);
  }
  const Cycles loaded = done;
  for (size_t o = is.loads; o < is.memory.size(); ++o) {
    const Index storage = is.memory[o].storage;
    const Cycles earliestDone = is.loads > 0 ? loaded + machine.storages[storage].writeLatency : 0;
    wait(memory.store(storage, is.operands[o], address[is.operands[o]], is.memory[o].bytes, data, earliestDone).done,
         storage);
  }
  return done;
}

void InstructionEngine::decide(const Decoded &is, Index from, Index to, Cycles at) {
  for (size_t s = 0; s < stages.size(); ++s)
    if (is.behind[from][s] && (to == kNone || !is.behind[to][s]))
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
Cycles InstructionEngine::start(const Decoded &is, const Way &way, const Visit &visit, Stretch *why) {
  Cycles start = visit.issue;
  auto wait = [&](Cycles until, Wait wait, Index of) {
    if constexpr (kWatched)
      if (until > start)
        *why = {wait, of, kNone, until};
    start = std::max(start, until);
  };
  wait(instances[way.firstInstance + visit.instance].start, Wait::UnitBusy, way.unit);
  for (uint32_t r : is.reads)
    wait(registers[r].ready, Wait::Operand, kWatched ? writer[r] : kNone);
  for (uint32_t r : is.guarded) {
    wait(registers[r].ready, Wait::OutputOrder, kWatched ? fileOf[r] : kNone);
    wait(registers[r].read, Wait::AntiOrder, kWatched ? fileOf[r] : kNone);
  }
  if (!is.readPorts.empty()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const PortUse &ports : is.readPorts)
        if (Cycles free = readPorts[ports.file].firstFree(start, ports.amount); free != start)
          wait(free, Wait::ReadPorts, ports.file), changed = true;
    }
    for (const PortUse &ports : is.readPorts)
      readPorts[ports.file].take(start, ports.amount);
  }
  return start;
}

Visit InstructionEngine::step(Index instruction) { return take<false>(instruction, nullptr); }

Visit InstructionEngine::step(Index instruction, std::vector<Stretch> &way) {
  way.clear();
  if (writer.empty()) {
    writer.assign(registers.size(), kNone);
    for (Index file = 0; file < Index(machine.registers.size()); ++file)
      fileOf.resize(fileOf.size() + machine.registers[file].count, file);
  }
  return take<true>(instruction, &way);
}

template <bool kWatched>
const InstructionEngine::Way &InstructionEngine::enter(const Decoded &is, Visit &visit, WayNotes<kWatched> &note) {
  auto accepts = [](const StageState &stage) {
    return std::max({stage.enter, stage.decided, stage.width.oldest(), stage.capacity.oldest()});
  };
  Index at = machine.fetch.to;
  Cycles time = std::max(fetched + machine.fetch.latency, accepts(stages[at]));
  note({Wait::FetchLatency, kNone, kNone, fetched + machine.fetch.latency});
  if constexpr (kWatched)
    note(blocking(at, time));
  fetchBuffer.push(time);
  const Way *way = nullptr;
  size_t instance = 0;
  for (;;) {
    StageState &stage = stages[at];
    stage.enter = time;
    stage.width.push(time + 1);
    const Cycles ready = std::max(time + is.stageLatency[at], stage.leave);
    note({Wait::StageLatency, at, at, time + is.stageLatency[at]});
    note({Wait::StageOrder, at, at, ready});
    Cycles best = INT64_MAX;
    Index next = kNone;
    for (Index candidate : is.next[at]) {
      const Cycles then = std::max(ready, accepts(stages[candidate]));
      if (then < best)
        best = then, next = candidate;
    }
    for (const Way &candidate : is.ways[at])
      for (size_t k = candidate.firstInstance; k < candidate.firstInstance + candidate.instances; ++k) {
        const InstanceState &state = instances[k];
        const Cycles then = std::max({ready, state.enter, state.entries.oldest(), window.oldest()});
        if (then < best)
          best = then, next = kNone, way = &candidate, instance = k;
        if (best == ready)
          break;
      }
    if constexpr (kWatched) {
      Stretch why = next != kNone             ? blocking(next, best)
                    : window.oldest() == best ? Stretch{Wait::Window, kNone, at, best}
                                              : Stretch{Wait::UnitFull, way->unit, at, best};
      why.stage = at;
      note(why);
    }
    stage.leave = best;
    stage.capacity.push(best);
    time = best;
    if (joins)
      decide(is, at, next, time);
    if (next == kNone)
      break;
    at = next;
  }
  visit.issue = time, visit.unit = way->unit, visit.instance = instance - way->firstInstance;
  return *way;
}

template <bool kWatched>
Cycles InstructionEngine::finish(const Decoded &is, const Way &way, Cycles start, WayNotes<kWatched> &note) {
  Cycles complete = start + way.latency;
  note({Wait::Execution, way.unit, kNone, complete});
  if (!is.memory.empty()) {
    Index last = is.memory.front().storage;
    complete = memoryDone(is, complete, kWatched ? &last : nullptr);
    note({Wait::Memory, last, kNone, complete});
  }
  if (!is.writePorts.empty()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const PortUse &ports : is.writePorts)
        if (Cycles free = writePorts[ports.file].firstFree(complete, ports.amount); free != complete) {
          complete = free, changed = true;
          note({Wait::WritePorts, ports.file, kNone, complete});
        }
    }
    for (const PortUse &ports : is.writePorts)
      writePorts[ports.file].take(complete, ports.amount);
  }
  for (uint32_t r : is.writes) {
    registers[r] = {complete, 0};
    if constexpr (kWatched)
      writer[r] = way.unit;
  }
  return complete;
}

template <bool kWatched> Visit InstructionEngine::take(Index instruction, std::vector<Stretch> *stretches) {
  const Decoded &is = decoded[instruction];
  ++count;
  Visit visit;
  fetched = std::max({fetched, fetchWidth.oldest(), fetchBuffer.oldest(), redirect});
  visit.fetch = fetched;
  fetchWidth.push(fetched + 1);
  if (count % 64 == 0) {
    memory.forget(fetched);
    for (Calendar &file : readPorts)
      file.forget(fetched);
    for (Calendar &file : writePorts)
      file.forget(fetched);
  }
  WayNotes<kWatched> note{stretches, fetched};
  const Way &way = enter<kWatched>(is, visit, note);
  InstanceState &unit = instances[way.firstInstance + visit.instance];
  unit.enter = visit.issue + 1;
  Stretch why;
  visit.start = start<kWatched>(is, way, visit, &why);
  note(why);
  for (uint32_t r : is.reads)
    registers[r].read = std::max(registers[r].read, visit.start);
  unit.start = visit.start + way.interval;
  unit.entries.push(unit.start);
  use[way.unit].instructions += 1, use[way.unit].busy += way.interval;
  visit.complete = finish<kWatched>(is, way, visit.start, note);
  retired = std::max(retired, visit.complete);
  window.push(retired);
  if (is.redirects)
    redirect = std::max(redirect, visit.complete);
  if constexpr (kWatched)
    stretches->push_back(blockingFetch());
  return visit;
}

void InstructionEngine::advance(Index loop, int64_t iterations) {
  for (auto [operand, stride] : moves[loop])
    address[operand] += stride * iterations;
}

Cycles InstructionEngine::base() const {
  return std::max({fetched, fetchWidth.oldest(), fetchBuffer.oldest(), redirect});
}

std::vector<int64_t> InstructionEngine::state() const {
  std::vector<int64_t> all;
  const Cycles base = this->base();
  auto out = [&](int64_t value) { all.push_back(value); };
  auto time = [&](Cycles value) { out(std::max<Cycles>(value - base, 0)); };
  auto ring = [&](const Ring &ring) {
    for (size_t i = 0; i < ring.times.size(); ++i)
      time(ring.times[(ring.next + i) % ring.times.size()]);
  };
  ring(fetchWidth), ring(fetchBuffer), ring(window);
  for (const StageState &stage : stages) {
    time(stage.enter), time(stage.leave), time(stage.decided);
    ring(stage.width), ring(stage.capacity);
  }
  for (const InstanceState &unit : instances) {
    time(unit.enter), time(unit.start);
    ring(unit.entries);
  }
  for (const RegisterState &r : registers)
    time(r.ready), time(r.read);
  for (size_t r = 0; r < writer.size(); ++r)
    out(registers[r].ready > base ? writer[r] : kNone);
  for (const Calendar &file : readPorts)
    file.write(base, out);
  for (const Calendar &file : writePorts)
    file.write(base, out);
  for (OperandId o = 0; o < OperandId(address.size()); ++o)
    out(leader[o] == o ? address[o] % period[o] : address[o] - address[leader[o]]);
  std::vector<int64_t> origin(address.size());
  for (size_t o = 0; o < origin.size(); ++o)
    origin[o] = address[leader[o]];
  memory.write(base, origin, out);
  return all;
}

void InstructionEngine::skip(Cycles cycles, Index loop, int64_t iterations) {
  auto ring = [&](Ring &ring) {
    for (Cycles &time : ring.times)
      time += cycles;
  };
  fetched += cycles, redirect += cycles, retired += cycles;
  ring(fetchWidth), ring(fetchBuffer), ring(window);
  for (StageState &stage : stages) {
    stage.enter += cycles, stage.leave += cycles, stage.decided += cycles;
    ring(stage.width), ring(stage.capacity);
  }
  for (InstanceState &unit : instances) {
    unit.enter += cycles, unit.start += cycles;
    ring(unit.entries);
  }
  for (RegisterState &r : registers)
    r.ready += cycles, r.read += cycles;
  for (Calendar &file : readPorts)
    file.shift(cycles);
  for (Calendar &file : writePorts)
    file.shift(cycles);
  memory.shift(cycles);
  std::vector<int64_t> by(address.size(), 0), origin(address);
  advance(loop, iterations);
  for (size_t o = 0; o < by.size(); ++o)
    by[o] = address[leader[o]] - origin[leader[o]];
  memory.translate(by);
}

} // namespace accord::microarchitecture
