#include "lib/microarchitecture/search/WorkBound.h"
#include "lib/microarchitecture/problem/Evaluate.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace accord::microarchitecture {
namespace {

constexpr Cycles kMaxCycles = int64_t(1) << 62;
constexpr __int128 kMaxCount = __int128(1) << 64; // of executions; more are counted as so many
constexpr Cycles kMaxAmount = int64_t(1) << 40;

/// Of expressions that are not defined for an instruction: no cycles.
Cycles cyclesOf(const CycleExpression &expression, const Instruction &instruction) {
  return std::clamp<Cycles>(evaluate(expression, instruction), 0, kMaxAmount);
}

/// Whether it is the same for all instructions.
bool isNumber(const CycleExpression &expression) {
  using Kind = CycleExpression::Kind;
  return llvm::none_of(expression.terms,
                       [](const auto &term) { return term.kind == Kind::Immediate || term.kind == Kind::Bytes; });
}

bool mayProcess(const Unit &unit, const Instruction &is, const Microarchitecture &machine) {
  Instruction known = is;
  known.memory.clear();
  if (!processes(unit, known, machine))
    return false;
  const int32_t loads = machine.opcodes[is.opcode].loads;
  for (int32_t o = 0; o < int32_t(is.memory.size()); ++o)
    if (const Index storage = is.memory[o].storage;
        storage != kNone && !llvm::is_contained(o < loads ? unit.loadsFrom : unit.storesTo, storage))
      return false;
  return true;
}

__int128 divideUp(__int128 a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

} // namespace

WorkBound::WorkBound(const Microarchitecture &machine) : machine(machine) {
  auto resources = [&](size_t count) {
    const Index first = Index(rates.size());
    rates.resize(rates.size() + count, 1);
    return first;
  };
  fetch = resources(1), buffer = resources(1), window = resources(1), redirects = resources(1);
  rates[fetch] = rates[redirects] = machine.fetch.width, rates[buffer] = machine.fetch.buffer;
  rates[window] = machine.window;
  stageWidths = resources(machine.stages.size()), stageRooms = resources(machine.stages.size());
  for (size_t s = 0; s < machine.stages.size(); ++s)
    rates[stageWidths + s] = machine.stages[s].width, rates[stageRooms + s] = machine.stages[s].capacity;
  std::vector<char> all(machine.units.size(), 1);
  unitSets.push_back(all);
  for (Index o = 0; o < Index(machine.opcodes.size()); ++o) {
    std::vector<char> set(machine.units.size(), 0);
    for (size_t u = 0; u < set.size(); ++u)
      set[u] = llvm::any_of(machine.units[u].operations, [&](const UnitOperation &of) { return of.opcode == o; });
    if (!llvm::is_contained(unitSets, set))
      unitSets.push_back(set);
  }
  sets = resources(unitSets.size());
  for (size_t s = 0; s < unitSets.size(); ++s) {
    rates[sets + s] = 0;
    for (size_t u = 0; u < machine.units.size(); ++u)
      rates[sets + s] += unitSets[s][u] ? machine.units[u].count : 0;
  }
  const size_t files = machine.registers.size(), storages = machine.storages.size();
  readPorts = resources(files), writePorts = resources(files);
  beats = resources(storages), requests = resources(storages);
  for (size_t f = 0; f < files; ++f)
    rates[readPorts + f] = machine.registers[f].readPorts, rates[writePorts + f] = machine.registers[f].writePorts;
  for (size_t s = 0; s < storages; ++s)
    rates[beats + s] = machine.storages[s].ports, rates[requests + s] = machine.storages[s].requests;

  turns = resources(machine.units.size());
  way = shortestWay();
  for (Index u = 0; u < Index(machine.units.size()); ++u)
    isInTurn.push_back(hasTurns(u));

  // What all opcodes take, each of instructions without operands.
  std::map<Index, WorkPart> common;
  for (Index o = 0; o < Index(machine.opcodes.size()); ++o) {
    Instruction one;
    one.opcode = o;
    std::map<Index, WorkPart> here;
    for (WorkPart part : of(one))
      if (auto before = common.find(part.resource); o == 0 || before != common.end()) {
        if (o > 0)
          part.amount = std::min(part.amount, before->second.amount),
          part.offset = std::min(part.offset, before->second.offset);
        here[part.resource] = part;
      }
    common = std::move(here);
  }
  for (const auto &[resource, part] : common)
    if (resource == fetch || resource == redirects || (resource >= stageWidths && resource < stageRooms))
      any.push_back({resource, std::min<int64_t>(part.amount, 1), std::min<Cycles>(part.offset, -1)});
}

int64_t WorkBound::beatsOf(const MemoryOperand &operand) const {
  const int64_t port = machine.storages[operand.storage].portBytes;
  return std::max<int64_t>((operand.bytes + port - 1) / port, 1);
}

Cycles WorkBound::memoryTail(const Instruction &instruction) const {
  Cycles tail = 0;
  const int32_t loads = machine.opcodes[instruction.opcode].loads;
  for (int32_t o = 0; o < int32_t(instruction.memory.size()); ++o)
    if (const MemoryOperand &operand = instruction.memory[o]; operand.storage != kNone) {
      const Storage &is = machine.storages[operand.storage];
      // A store that waits for what is behind a cache takes its own write latency before, or none is said.
      tail = std::max(tail, beatsOf(operand) - 1 + (o < loads ? is.readLatency : is.writeLatency));
    }
  return tail;
}

WorkBound::Lives WorkBound::livesOf(const Instruction &instruction) const {
  Lives made;
  made.units.assign(machine.units.size(), 0);
  Cycles latency = kMaxAmount, interval = kMaxAmount;
  for (size_t u = 0; u < machine.units.size(); ++u)
    if (mayProcess(machine.units[u], instruction, machine))
      for (const UnitOperation &operation : machine.units[u].operations)
        if (operation.opcode == instruction.opcode) {
          made.units[u] = 1;
          latency = std::min(latency, cyclesOf(operation.latency, instruction));
          interval = std::min(interval, std::max<Cycles>(cyclesOf(operation.interval, instruction), 1));
        }
  if (!llvm::is_contained(made.units, 1))
    return made;
  made.interval = interval, made.tail = latency + memoryTail(instruction);
  // The shortest way from a stage to one of the units; stages are in no circle.
  std::vector<Cycles> way(machine.stages.size(), -1);
  auto shortest = [&](auto &self, Index stage) -> Cycles {
    if (way[stage] >= 0)
      return way[stage];
    Cycles behind = kMaxCycles;
    for (Index unit : machine.stages[stage].units)
      if (made.units[unit])
        behind = 0;
    for (Index next : machine.stages[stage].to)
      behind = std::min(behind, self(self, next));
    return way[stage] = behind == kMaxCycles ? behind : behind + cyclesOf(machine.stages[stage].latency, instruction);
  };
  const Cycles stages = shortest(shortest, machine.fetch.to);
  made.head = stages == kMaxCycles ? 0 : machine.fetch.latency + stages;
  return made;
}

std::vector<char> WorkBound::stagesOnAllWays(const Instruction &instruction, const std::vector<char> &units) const {
  const size_t count = machine.stages.size();
  std::vector<char> onAll(count, 0);
  // A stage is on all ways if no unit is reached without it.
  for (size_t avoided = 0; avoided < count; ++avoided) {
    std::vector<char> seen(count, 0);
    bool reached = false;
    auto visit = [&](auto &self, Index stage) -> void {
      if (size_t(stage) == avoided || seen[stage])
        return;
      seen[stage] = 1;
      for (Index unit : machine.stages[stage].units)
        reached |= units[unit] != 0;
      for (Index next : machine.stages[stage].to)
        self(self, next);
    };
    visit(visit, machine.fetch.to);
    onAll[avoided] = !reached;
  }
  return onAll;
}

Cycles WorkBound::shortestWay() const {
  std::vector<Cycles> ways(machine.stages.size(), -1);
  auto shortest = [&](auto &self, Index stage) -> Cycles {
    if (ways[stage] >= 0)
      return ways[stage];
    Cycles behind = machine.stages[stage].units.empty() ? kMaxCycles : 0;
    for (Index next : machine.stages[stage].to)
      behind = std::min(behind, self(self, next));
    const CycleExpression &latency = machine.stages[stage].latency;
    return ways[stage] = behind == kMaxCycles ? behind : behind + (isNumber(latency) ? cyclesOf(latency, {}) : 0);
  };
  const Cycles stages = shortest(shortest, machine.fetch.to);
  return stages == kMaxCycles ? 0 : machine.fetch.latency + stages;
}

bool WorkBound::hasTurns(Index unit) const {
  const Unit &is = machine.units[unit];
  const auto hand = llvm::count_if(machine.stages, [](const Stage &stage) { return !stage.units.empty(); });
  auto isKnown = [](const UnitOperation &of) { return isNumber(of.latency) && isNumber(of.interval); };
  if (is.count != 1 || hand != 1 || !llvm::all_of(is.operations, isKnown))
    return false;
  for (Index o = 0; o < Index(machine.opcodes.size()); ++o) {
    if (!machine.opcodes[o].redirects)
      continue;
    Lives lives;
    lives.units.assign(machine.units.size(), 0), lives.tail = kMaxAmount;
    for (size_t u = 0; u < machine.units.size(); ++u)
      for (const UnitOperation &of : machine.units[u].operations)
        if (of.opcode == o)
          lives.units[u] = 1, lives.tail = std::min(lives.tail, isNumber(of.latency) ? cyclesOf(of.latency, {}) : 0);
    if (llvm::is_contained(lives.units, 1) && turnsOf(unit, lives, nullptr) < 0)
      return false;
  }
  return true;
}

int64_t WorkBound::turnsOf(Index unit, const Lives &redirect, const Lives *before) const {
  auto isAlone = [&](const Lives &of) { return of.units[unit] && llvm::count(of.units, 1) == 1; };
  if (isAlone(redirect))
    return way + redirect.tail +
           (before && isAlone(*before) ? std::max<Cycles>(before->tail - before->interval, 0) : 0);
  Cycles interval = 1;
  for (const UnitOperation &of : machine.units[unit].operations)
    interval = std::max(interval, cyclesOf(of.interval, {}));
  const bool waits = before && !before->units[unit];
  return way + redirect.tail + (waits ? before->tail : 0) - interval * machine.units[unit].entries;
}

void WorkBound::addTurns(const Lives &is, bool redirects, const Lives *before, Work &to) const {
  for (Index u = 0; u < Index(isInTurn.size()); ++u) {
    if (!isInTurn[u])
      continue;
    const bool isAlone = is.units[u] && llvm::count(is.units, 1) == 1;
    if (redirects && llvm::is_contained(is.units, 1))
      to.push_back({Index(turns + u), turnsOf(u, is, before), 0});
    else if (isAlone)
      to.push_back({Index(turns + u), is.interval, std::min<Cycles>(way + is.tail - is.interval, 0)});
  }
}

Work WorkBound::of(const Instruction &instruction) const {
  const Lives is = livesOf(instruction);
  const Cycles life = is.head + is.tail;
  const int64_t width = machine.fetch.width;
  Work made;
  made.push_back({fetch, 1, life - 1});
  made.push_back({buffer, machine.fetch.latency, 0});
  made.push_back({window, is.tail, is.head});
  if (machine.opcodes[instruction.opcode].redirects)
    made.push_back({redirects, 1 + width * (life - 1), 0});
  else
    made.push_back({redirects, 1, std::min<Cycles>(life - 1, 0)});
  const std::vector<char> ways = stagesOnAllWays(instruction, is.units);
  for (size_t s = 0; s < ways.size(); ++s)
    if (ways[s]) {
      made.push_back({Index(stageWidths + s), 1, life - 1});
      made.push_back({Index(stageRooms + s), cyclesOf(machine.stages[s].latency, instruction), 0});
    }
  for (size_t s = 0; s < unitSets.size(); ++s) {
    bool isInside = llvm::is_contained(is.units, 1);
    for (size_t u = 0; u < is.units.size(); ++u)
      isInside &= !is.units[u] || unitSets[s][u];
    if (isInside)
      made.push_back({Index(sets + s), is.interval, life - is.interval});
  }
  addTurns(is, machine.opcodes[instruction.opcode].redirects, nullptr, made);
  for (bool isWrite : {false, true}) {
    std::map<Index, int64_t> uses;
    for (const Register &r : isWrite ? instruction.writes : instruction.reads)
      ++uses[r.file];
    for (auto [file, amount] : uses)
      if (const Index resource = (isWrite ? writePorts : readPorts) + file; rates[resource] > 0)
        made.push_back({resource, amount, is.head - 1});
  }
  const int32_t loads = machine.opcodes[instruction.opcode].loads;
  std::map<Index, WorkPart> memory;
  for (int32_t o = 0; o < int32_t(instruction.memory.size()); ++o) {
    const MemoryOperand &operand = instruction.memory[o];
    if (operand.storage == kNone)
      continue;
    const Storage &storage = machine.storages[operand.storage];
    const Cycles latency = o < loads ? storage.readLatency : storage.writeLatency;
    const int64_t count = beatsOf(operand);
    auto take = [&](Index resource, int64_t amount, Cycles offset) {
      auto [at, isNew] = memory.try_emplace(resource, WorkPart{resource, 0, offset});
      at->second.amount += amount, at->second.offset = std::min(at->second.offset, offset);
    };
    take(beats + operand.storage, count, is.head - 1 + (storage.cache ? 0 : latency));
    if (!storage.cache)
      take(requests + operand.storage, count - 1 + latency, is.head);
  }
  for (const auto &[resource, part] : memory)
    made.push_back(part);
  return made;
}

Work WorkBound::ofRedirect(const Instruction &redirect, const Instruction &before) const {
  Work made = of(redirect);
  const Lives last = livesOf(redirect), first = livesOf(before);
  for (WorkPart &part : made)
    if (part.resource == redirects)
      part.amount = std::max<int64_t>(part.amount, machine.fetch.width * (first.head + first.tail + last.tail - 1));
  llvm::erase_if(made, [&](const WorkPart &part) {
    return part.resource >= turns && part.resource < turns + Index(isInTurn.size());
  });
  addTurns(last, true, &first, made);
  return made;
}

Cycles WorkBound::tailOf(const Instruction &instruction) const { return livesOf(instruction).tail; }

void WorkBound::add(const Work &work, __int128 count, WorkTotals &to) const {
  if (to.amounts.empty())
    to.amounts.assign(rates.size(), 0), to.offsets.assign(rates.size(), kMaxCycles);
  if (count <= 0)
    return;
  count = std::min(count, kMaxCount);
  for (const WorkPart &part : work) {
    to.amounts[part.resource] = std::min(to.amounts[part.resource] + part.amount * count, kMaxCount * kMaxAmount);
    to.offsets[part.resource] = std::min(to.offsets[part.resource], part.offset);
  }
}

Cycles WorkBound::cycles(const WorkTotals &totals) const {
  __int128 best = 0;
  for (size_t r = 0; r < totals.amounts.size(); ++r)
    if (totals.offsets[r] != kMaxCycles)
      best = std::max(best, divideUp(totals.amounts[r], rates[r]) + totals.offsets[r]);
  return Cycles(std::min<__int128>(best, kMaxCycles));
}

double WorkBound::pressure(const WorkTotals &totals) const {
  double sum = 0;
  for (size_t r = 0; r < totals.amounts.size(); ++r)
    if (totals.offsets[r] != kMaxCycles)
      sum += double(totals.amounts[r]) / double(rates[r]);
  return sum;
}

Cycles WorkBound::ofProgram(const InstructionProgram &program) const {
  WorkTotals totals;
  std::map<std::pair<Index, Index>, std::pair<__int128, Cycles>> writes; // by register: cycles, first start
  auto writesRegister = [&](const Instruction &is, __int128 count) {
    const Lives lives = livesOf(is);
    std::vector<Register> seen; // a register that is written twice by one instruction is written once
    for (const Register &r : is.writes) {
      if (machine.registers[r.file].renamed || machine.registers[r.file].counts || llvm::is_contained(seen, r))
        continue;
      seen.push_back(r);
      auto [at, isNew] = writes.try_emplace({r.file, r.number}, 0, lives.head);
      at->second.first += count * lives.tail;
      at->second.second = std::min(at->second.second, lives.head);
    }
  };
  auto visit = [&](auto &self, const Body &body, __int128 count) -> void {
    const Instruction *before = nullptr;
    for (const Item &item : body) {
      if (item.loop != kNone) {
        const InstructionLoop &loop = program.loops[item.loop];
        if (loop.count > 0)
          self(self, loop.body, std::min(count * loop.count, kMaxCount));
        before = nullptr;
        continue;
      }
      if (item.isFence()) // only adds
        continue;
      const Instruction &is = program.instructions[item.instruction];
      const bool follows =
          before && machine.opcodes[is.opcode].redirects && !machine.opcodes[before->opcode].redirects &&
          llvm::any_of(is.reads, [&](const Register &r) { return llvm::is_contained(before->writes, r); });
      add(follows ? ofRedirect(is, *before) : of(is), count, totals);
      writesRegister(is, count);
      before = &is;
    }
  };
  visit(visit, program.body, 1);
  __int128 best = cycles(totals);
  for (const auto &[of, sum] : writes)
    best = std::max(best, sum.first + sum.second);
  return Cycles(std::min<__int128>(best, kMaxCycles));
}

} // namespace accord::microarchitecture
