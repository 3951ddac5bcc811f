#include "lib/microarchitecture/verify/CycleStepper.h"
#include "lib/microarchitecture/problem/Evaluate.h"
#include <algorithm>

namespace accord::microarchitecture {

using Taken = StepClock::Taken;

CycleStepper::CycleStepper(const Microarchitecture &machine, const InstructionProgram &program)
    : memory(machine), machine(&machine), program(&program), stages(machine.stages.size()) {
  units.resize(machine.units.size()), instances.resize(machine.units.size());
  size_t count = 0;
  for (const RegisterFile &file : machine.registers)
    firstRegister.push_back(count), count += size_t(file.count);
  registers.resize(count);
  readPorts.resize(machine.registers.size()), writePorts.resize(machine.registers.size());
  std::vector<int> before(machine.stages.size(), 0);
  for (const Stage &stage : machine.stages)
    for (Index next : stage.to)
      joins |= ++before[next] > 1;
  Index operands = 0;
  for (const Instruction &instruction : program.instructions) {
    decode(instruction);
    decoded.back().firstOperand = operands, operands += Index(instruction.memory.size());
  }
}

void CycleStepper::decode(const Instruction &instruction) {
  Decoded made;
  made.stages = stagesTo(instruction, *machine);
  for (const Stage &stage : machine->stages)
    made.stageLatency.push_back(evaluate(stage.latency, instruction));
  for (const Unit &unit : machine->units) {
    made.latency.push_back(kUnknown), made.interval.push_back(kUnknown);
    if (processes(unit, instruction, *machine))
      for (const UnitOperation &operation : unit.operations)
        if (operation.opcode == instruction.opcode) {
          made.latency.back() = evaluate(operation.latency, instruction);
          made.interval.back() = evaluate(operation.interval, instruction);
        }
  }
  auto gather = [&](const std::vector<Register> &all, auto &counts, auto &names) {
    for (const Register &one : all) {
      auto known = std::find_if(counts.begin(), counts.end(), [&](const auto &of) { return of.first == one.file; });
      if (known == counts.end())
        counts.push_back({one.file, 1});
      else
        ++known->second;
      names.push_back(firstRegister[one.file] + size_t(one.number));
    }
  };
  gather(instruction.reads, made.reads, made.readRegisters);
  gather(instruction.writes, made.writes, made.writtenRegisters);
  decoded.push_back(std::move(made));
}

bool CycleStepper::canFetch() {
  if (redirect >= 0 && !isComplete(redirect))
    return false;
  if (retired < fenced)
    return false;
  if (fetched() - leftBuffer >= machine->fetch.buffer)
    return false;
  if (fetchedNow.in(clock.now) < machine->fetch.width)
    return true;
  clock.wakeAt(clock.now + 1);
  return false;
}

bool CycleStepper::step() {
  if (clock.wake == kNever)
    return false;
  clock.now = clock.wake, clock.wake = kNever;
  for (int64_t number = base; number < fetched(); ++number)
    advance(number);
  dropOld();
  if (!clock.logs)
    memory.forget(clock.now);
  return true;
}

void CycleStepper::dropOld() {
  auto isOver = [](const InFlight &at) {
    return at.place == Place::Complete &&
           std::all_of(at.operands.begin(), at.operands.end(), [&](int32_t o) { return at.requests[o].finished; });
  };
  while (!inFlight.empty() && isOver(inFlight.front()))
    inFlight.pop_front(), ++base;
}

bool CycleStepper::awaitFetch() {
  while (!canFetch())
    if (!step())
      return false;
  return true;
}

bool CycleStepper::finish() {
  dropOld();
  while (!inFlight.empty())
    if (!step())
      return false;
  return true;
}

Cycles CycleStepper::quiet() const {
  Cycles all = std::max(clock.now, last);
  for (const std::vector<Instance> &unit : instances)
    for (const Instance &instance : unit)
      for (const Instance::Held &held : instance.held)
        all = std::max(all, held.free);
  return all;
}

void CycleStepper::fetch(Index instruction, const std::vector<int64_t> &addresses) {
  const Instruction &is = program->instructions[instruction];
  const Opcode &opcode = machine->opcodes[is.opcode];
  const int64_t number = fetched();
  InFlight made;
  made.instruction = instruction, made.since = clock.now, made.visit.fetch = clock.now;
  depend(made, number);
  for (size_t o = 0; o < is.memory.size(); ++o) {
    const MemoryOperand &operand = is.memory[o];
    made.operands.push_back(memory.expand(made.requests, operand.storage, int64_t(o) >= opcode.loads, addresses[o],
                                          operand.bytes, {operandOf(instruction, o), number}));
  }
  fetchedNow.take(clock.now);
  if (opcode.redirects)
    redirect = number;
  inFlight.push_back(std::move(made));
  if (keepsVisits)
    visits.emplace_back();
  advance(number);
}

void CycleStepper::depend(InFlight &made, int64_t number) {
  const Decoded &is = decoded[made.instruction];
  const Instruction &instruction = program->instructions[made.instruction];
  auto await = [&](int64_t writer) {
    if (writer >= 0 && !isComplete(writer))
      made.completeBefore.push_back(writer);
  };
  auto counts = [&](const Register &r) { return machine->registers[r.file].counts; };
  for (size_t r = 0; r < is.readRegisters.size(); ++r)
    if (RegisterState &state = registers[is.readRegisters[r]]; counts(instruction.reads[r])) {
      std::erase_if(state.counted, [&](int64_t writer) { return isComplete(writer); });
      made.completeBefore.insert(made.completeBefore.end(), state.counted.begin(), state.counted.end());
    } else {
      await(state.writer);
    }
  for (size_t w = 0; w < is.writtenRegisters.size(); ++w) {
    const RegisterState &state = registers[is.writtenRegisters[w]];
    if (machine->registers[instruction.writes[w].file].renamed || counts(instruction.writes[w]))
      continue;
    await(state.writer);
    for (int64_t reader : state.readers)
      if (!isStarted(reader))
        made.startBefore.push_back(reader);
  }
  for (size_t r = 0; r < is.readRegisters.size(); ++r) {
    if (machine->registers[instruction.reads[r].file].renamed || counts(instruction.reads[r]))
      continue;
    std::vector<int64_t> &readers = registers[is.readRegisters[r]].readers;
    if (!readers.empty() && readers.back() == number) // it reads the register twice
      continue;
    std::erase_if(readers, [&](int64_t reader) { return isStarted(reader); });
    readers.push_back(number);
  }
  for (size_t w = 0; w < is.writtenRegisters.size(); ++w) {
    RegisterState &state = registers[is.writtenRegisters[w]];
    state.writer = number, state.readersStarted = 0;
    state.readers.clear();
    if (counts(instruction.writes[w]) && (state.counted.empty() || state.counted.back() != number)) {
      std::erase_if(state.counted, [&](int64_t writer) { return isComplete(writer); });
      state.counted.push_back(number);
    }
  }
}

void CycleStepper::advance(int64_t number) {
  InFlight &is = at(number);
  for (;;) {
    const Place place = is.place;
    std::vector<char> before;
    if (joins && place <= Place::Stage)
      before = mayEnter(is);
    bool moved = false;
    if (place == Place::Buffer)
      moved = leaveBuffer(is, number);
    else if (place == Place::Stage)
      moved = leaveStage(is, number);
    else if (place == Place::Instance)
      moved = start(is, number);
    else {
      runMemory(is);
      moved = place == Place::Running && complete(is, number);
    }
    if (!moved || is.place == Place::Complete)
      break;
    if (joins && place <= Place::Stage)
      decide(before, is);
  }
  if (keepsVisits)
    visits[size_t(number)] = is.visit;
}

std::vector<char> CycleStepper::mayEnter(const InFlight &at) const {
  std::vector<char> may(stages.size(), 0);
  if (at.place > Place::Stage)
    return may;
  auto visit = [&](auto &self, Index stage) -> void {
    if (may[stage] || !decoded[at.instruction].stages[stage])
      return;
    may[stage] = 1;
    for (Index next : machine->stages[stage].to)
      self(self, next);
  };
  if (at.place == Place::Buffer)
    visit(visit, machine->fetch.to);
  else
    for (Index next : machine->stages[at.stage].to)
      visit(visit, next);
  return may;
}

void CycleStepper::decide(const std::vector<char> &before, const InFlight &at) {
  const std::vector<char> after = mayEnter(at);
  for (size_t s = 0; s < stages.size(); ++s)
    if (before[s] && !after[s])
      stages[s].decided = clock.now;
}

bool CycleStepper::leaveBuffer(InFlight &at, int64_t number) {
  if (leftBuffer != number)
    return false;
  const Cycles ready = at.since + machine->fetch.latency;
  if (ready > clock.now)
    return clock.wakeAt(ready), false;
  if (!acceptsStage(machine->fetch.to, number))
    return false;
  ++leftBuffer;
  clock.note(Taken::LeaveBuffer, 0, 0, clock.now);
  enterStage(at, number, machine->fetch.to);
  return true;
}

bool CycleStepper::acceptsStage(Index stage, int64_t number) {
  const StageState &state = stages[stage];
  if (state.entered.in(clock.now) >= machine->stages[stage].width)
    return clock.wakeAt(clock.now + 1), false;
  if (int32_t(state.order.size()) >= machine->stages[stage].capacity)
    return false;
  if (joins)
    for (int64_t older = base; older < number; ++older)
      if (mayEnter(at(older))[stage])
        return false;
  return true;
}

void CycleStepper::enterStage(InFlight &at, int64_t number, Index stage) {
  stages[stage].entered.take(clock.now);
  stages[stage].order.push_back(number);
  clock.note(Taken::EnterStage, stage, 0, clock.now);
  at.place = Place::Stage, at.stage = stage, at.since = clock.now;
}

bool CycleStepper::leaveStage(InFlight &at, int64_t number) {
  const Index from = at.stage;
  const Stage &stage = machine->stages[from];
  if (stages[from].order.front() != number)
    return false;
  const Cycles ready = at.since + decoded[at.instruction].stageLatency[from];
  if (ready > clock.now)
    return clock.wakeAt(ready), false;
  bool moved = false;
  if (!stage.units.empty()) {
    moved = enterInstance(at, number, stage);
  } else {
    for (Index next : stage.to)
      if (decoded[at.instruction].stages[next] && acceptsStage(next, number)) {
        enterStage(at, number, next);
        moved = true;
        break;
      }
  }
  if (moved) {
    stages[from].order.pop_front();
    clock.note(Taken::LeaveStage, from, 0, clock.now);
  }
  return moved;
}

void CycleStepper::free(Instance &instance) const {
  while (!instance.held.empty() && instance.held.front().free != kUnknown && instance.held.front().free <= clock.now)
    instance.held.pop_front();
}

bool CycleStepper::enterInstance(InFlight &at, int64_t number, const Stage &stage) {
  if (number - retired >= machine->window)
    return false;
  for (Index u : stage.units) {
    if (decoded[at.instruction].interval[u] == kUnknown)
      continue;
    for (size_t n = 0; n < size_t(machine->units[u].count); ++n) {
      if (n == instances[u].size())
        instances[u].emplace_back(); // the first that was never used
      Instance &instance = instances[u][n];
      free(instance);
      if (instance.entered.in(clock.now) > 0) {
        clock.wakeAt(clock.now + 1);
        continue;
      }
      if (int32_t(instance.held.size()) >= machine->units[u].entries) {
        if (instance.held.front().free != kUnknown)
          clock.wakeAt(instance.held.front().free);
        continue;
      }
      instance.entered.take(clock.now);
      instance.held.push_back({number, kUnknown});
      clock.note(Taken::EnterInstance, u, int64_t(n), clock.now);
      at.place = Place::Instance, at.unit = u, at.instance = Index(n);
      at.visit.entry = clock.now, at.visit.unit = u, at.visit.instance = Index(n);
      return true;
    }
  }
  return false;
}

bool CycleStepper::start(InFlight &at, int64_t number) {
  Instance &instance = instances[at.unit][size_t(at.instance)];
  free(instance);
  if (instance.held.front().number != number) {
    if (instance.held.front().free != kUnknown)
      clock.wakeAt(instance.held.front().free);
    return false;
  }
  std::erase_if(at.completeBefore, [&](int64_t older) { return isComplete(older); });
  std::erase_if(at.startBefore, [&](int64_t older) { return isStarted(older); });
  if (!at.completeBefore.empty() || !at.startBefore.empty())
    return false;
  const Decoded &is = decoded[at.instruction];
  for (const auto &[file, count] : is.reads)
    if (const int32_t ports = machine->registers[file].readPorts;
        ports > 0 && readPorts[file].in(clock.now) + count > ports)
      return clock.wakeAt(clock.now + 1), false;
  for (const auto &[file, count] : is.reads) {
    readPorts[file].take(clock.now, count);
    for (int32_t n = 0; n < count; ++n)
      clock.note(Taken::ReadPort, file, 0, clock.now);
  }
  for (size_t r : is.readRegisters)
    if (registers[r].writer < number) // no writer after it, nor itself
      registers[r].readersStarted = std::max(registers[r].readersStarted, clock.now);
  const Cycles interval = is.interval[at.unit];
  instance.held.front().free = clock.now + interval;
  clock.note(Taken::FreeInstance, at.unit, at.instance, clock.now + interval);
  ++units[at.unit].instructions, units[at.unit].busy += interval;
  at.place = Place::Running, at.visit.start = clock.now;
  at.begin = clock.now + is.latency[at.unit];
  if (at.operands.empty())
    at.result = at.begin;
  return true;
}

void CycleStepper::runMemory(InFlight &at) {
  const int32_t loads = machine->opcodes[program->instructions[at.instruction].opcode].loads;
  Cycles storesBegin = at.begin, storesDone = 0, done = at.begin;
  auto latest = [](Cycles &of, Cycles one) { of = of == kUnknown || one == kUnknown ? kUnknown : std::max(of, one); };
  for (int32_t o = 0; o < int32_t(at.operands.size()); ++o) {
    MemoryRequest &request = at.requests[at.operands[o]];
    const bool load = o < loads;
    if (request.begin == kUnknown)
      request.begin = load ? at.begin : storesBegin;
    const Cycles writeLatency = machine->storages[request.storage].writeLatency;
    memory.advance(at.requests, at.operands[o],
                   load || loads == 0       ? 0
                   : storesDone == kUnknown ? kUnknown
                                            : storesDone + writeLatency,
                   clock);
    if (load)
      latest(storesBegin, request.firstData), latest(storesDone, request.done);
    latest(done, request.done);
  }
  if (!at.operands.empty())
    at.result = done;
}

bool CycleStepper::complete(InFlight &at, int64_t number) {
  if (at.result == kUnknown)
    return false;
  if (at.result > clock.now)
    return clock.wakeAt(at.result), false;
  const Decoded &is = decoded[at.instruction];
  for (const auto &[file, count] : is.writes)
    if (const int32_t ports = machine->registers[file].writePorts;
        ports > 0 && writePorts[file].in(clock.now) + count > ports)
      return clock.wakeAt(clock.now + 1), false;
  for (const auto &[file, count] : is.writes) {
    writePorts[file].take(clock.now, count);
    for (int32_t n = 0; n < count; ++n)
      clock.note(Taken::WritePort, file, 0, clock.now);
  }
  for (size_t w = 0; w < is.writtenRegisters.size(); ++w) {
    RegisterState &state = registers[is.writtenRegisters[w]];
    if (state.writer == number || machine->registers[program->instructions[at.instruction].writes[w].file].counts)
      state.completed = clock.now;
  }
  at.place = Place::Complete, at.visit.completion = clock.now;
  last = std::max(last, clock.now);
  for (; retired < fetched() && isComplete(retired); ++retired)
    clock.note(Taken::Retire, 0, 0, clock.now);
  return true;
}

void CycleStepper::noteTaken() {
  clock.logs = true;
  auto repeat = [&](const TakenNow &taken, Taken::Kind kind, size_t which, size_t inside) {
    for (int32_t n = 0; n < taken.in(clock.now); ++n)
      clock.note(kind, int64_t(which), int64_t(inside), clock.now);
  };
  for (size_t s = 0; s < stages.size(); ++s)
    repeat(stages[s].entered, Taken::EnterStage, s, 0);
  for (size_t u = 0; u < instances.size(); ++u)
    for (size_t n = 0; n < instances[u].size(); ++n) {
      repeat(instances[u][n].entered, Taken::EnterInstance, u, n);
      for (const Instance::Held &held : instances[u][n].held)
        if (held.free != kUnknown)
          clock.note(Taken::FreeInstance, int64_t(u), int64_t(n), held.free);
    }
  for (size_t f = 0; f < readPorts.size(); ++f)
    repeat(readPorts[f], Taken::ReadPort, f, 0), repeat(writePorts[f], Taken::WritePort, f, 0);
  for (size_t s = 0; s < memory.states.size(); ++s) {
    repeat(memory.states[s].ports, Taken::Port, s, 0);
    for (size_t b = 0; b < memory.states[s].banks.size(); ++b)
      repeat(memory.states[s].banks[b], Taken::Bank, s, b);
  }
}

int64_t CycleStepper::binding(const Taken &of) const {
  switch (Taken::Kind(of.kind)) {
  case Taken::EnterStage:
    return machine->stages[of.which].width;
  case Taken::LeaveStage:
    return machine->stages[of.which].capacity;
  case Taken::LeaveBuffer:
    return machine->fetch.buffer;
  case Taken::EnterInstance:
    return 1;
  case Taken::FreeInstance:
    return machine->units[of.which].entries;
  case Taken::Retire:
    return machine->window;
  case Taken::ReadPort:
    return machine->registers[of.which].readPorts > 0 ? kNever : 0;
  case Taken::WritePort:
    return machine->registers[of.which].writePorts > 0 ? kNever : 0;
  case Taken::Bank:
    return hasBanks(machine->storages[of.which]) ? kNever : 0;
  default:
    return kNever;
  }
}

std::vector<int64_t> CycleStepper::relativeTimes(CycleStepper &settled) const {
  const Cycles from = clock.now;
  settled = *this;
  settled.keepsVisits = false;
  settled.noteTaken();
  settled.finish();
  std::vector<int64_t> all = {fetchedNow.in(from)};
  std::vector<Taken> &log = settled.clock.log;
  std::sort(log.begin(), log.end());
  for (size_t begin = 0, end = 0; begin < log.size(); begin = end) {
    while (end < log.size() && log[end].kind == log[begin].kind && log[end].which == log[begin].which &&
           log[end].inside == log[begin].inside)
      ++end;
    const bool atOnce = log[begin].kind == Taken::LeaveStage || log[begin].kind == Taken::LeaveBuffer ||
                        log[begin].kind == Taken::FreeInstance || log[begin].kind == Taken::Retire;
    const int64_t kept = std::min<int64_t>(binding(log[begin]), int64_t(end - begin));
    for (size_t n = end - size_t(kept); n < end; ++n)
      if (log[n].at > from || !atOnce)
        all.insert(all.end(), {log[n].kind, log[n].which, log[n].inside, log[n].at - from});
  }
  all.push_back(-1);
  for (size_t r = 0; r < registers.size(); ++r) {
    const Cycles completed = std::max<Cycles>(settled.registers[r].completed - from, 0);
    const Cycles started = std::max<Cycles>(settled.registers[r].readersStarted - from, 0);
    if (completed > 0 || started > 0)
      all.insert(all.end(), {int64_t(r), completed, started});
  }
  all.push_back(-1);
  for (const StageState &stage : settled.stages)
    all.push_back(std::max<Cycles>(stage.decided - from, 0));
  for (size_t s = 0; s < memory.states.size(); ++s) {
    const NumberedTimes &times = settled.memory.states[s].times;
    for (int64_t n = times.size() - machine->storages[s].requests; n < times.size(); ++n)
      all.push_back(n < 0 ? 0 : std::max<Cycles>(times.get(n) - from, 0));
  }
  return all;
}

} // namespace accord::microarchitecture
