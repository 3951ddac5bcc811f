#include "lib/exploration/verify/ProgramTimeBound.h"
#include "lib/exploration/verify/MachineDifferences.h"
#include "lib/microarchitecture/verify/BoundSystem.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

using microarchitecture::CycleExpression;
using microarchitecture::Microarchitecture;

namespace {

constexpr int32_t kEnough = 1 << 20;

/// Numbers of a machine that programs do not follow from are set to 1; the window orders memory, and remains.
void setNumbers(Microarchitecture &machine) {
  machine.fetch.width = machine.fetch.buffer = 1;
  for (auto &stage : machine.stages)
    stage.width = stage.capacity = 1;
  for (auto &unit : machine.units)
    unit.count = unit.entries = 1;
  for (auto &file : machine.registers)
    file.readPorts = file.writePorts = 1;
  for (auto &storage : machine.storages)
    storage.ports = storage.requests = 1;
}

void setCycles(CycleExpression &cycles) {
  for (CycleExpression::Term &term : cycles.terms)
    if (term.kind == CycleExpression::Kind::Constant)
      term.value = 0;
}

std::string textOf(const Microarchitecture &machine) {
  Core core;
  core.microarchitecture = std::make_shared<const Microarchitecture>(machine);
  return numbersOf(core);
}

/// The part of an operation that each of several instances has.
Operation partOf(Operation operation, int64_t instances) {
  Loop *longest = nullptr;
  for (Loop &loop : operation.domain)
    if (loop.kind == IteratorKind::Parallel && (!longest || loop.extent > longest->extent))
      longest = &loop;
  if (instances <= 1 || !longest)
    return operation;
  const int64_t before = longest->extent, after = before / instances + (before % instances > 0);
  longest->extent = after;
  // Bytes that are no tensor's are cut as the loop is.
  auto restOf = [&](bool written, __int128 bytes) {
    for (const LoopTensor &tensor : operation.tensors)
      if (tensor.written == written) {
        __int128 of = std::clamp<int64_t>(tensor.elementBits / 8, 1, 64);
        for (int64_t size : tensor.sizes)
          of = std::min<__int128>(of * std::max<int64_t>(size, 0), __int128(1) << 80);
        bytes -= of;
      }
    return bytes;
  };
  auto cut = [&](__int128 bytes) { return before > 0 ? bytes * after / before : bytes; };
  const __int128 read = cut(restOf(false, operation.bytesRead)), written = cut(restOf(true, operation.bytesWritten));
  for (LoopTensor &tensor : operation.tensors) {
    size_t d = 0;
    for (const auto &terms : tensor.dimensions) {
      __int128 less = 0; // elements that the other instances have
      for (const LoopTensor::Term &term : terms)
        less += &operation.domain[term.loop] == longest ? __int128(term.stride) * (before - after) : 0;
      if (d < tensor.sizes.size() && less > 0 && tensor.sizes[d] > 0)
        tensor.sizes[d] = tensor.sizes[d] > less ? int64_t(tensor.sizes[d] - less) : 1;
      ++d;
    }
  }
  auto inRange = [](__int128 bytes) { return int64_t(std::clamp<__int128>(bytes, 0, int64_t(1) << 62)); };
  operation.bytesRead = inRange(read - restOf(false, 0)), operation.bytesWritten = inRange(written - restOf(true, 0));
  return operation;
}

} // namespace

void ProgramTimeBound::look(const Core &core) {
  if (looked_ == core.microarchitecture)
    return;
  looked_ = core.microarchitecture;
  Microarchitecture alike = *looked_;
  setNumbers(alike);
  alike.fetch.latency = 0;
  for (auto &stage : alike.stages)
    setCycles(stage.latency);
  for (auto &unit : alike.units)
    for (auto &operation : unit.operations)
      setCycles(operation.latency), setCycles(operation.interval);
  for (auto &storage : alike.storages)
    storage.readLatency = storage.writeLatency = 1;
  programs_ = numberOf(textOf(alike));

  machine_ = *looked_;
  machine_.window = machine_.fetch.buffer = kEnough;
  for (auto &stage : machine_.stages)
    stage.width = stage.capacity = kEnough;
  for (auto &unit : machine_.units)
    unit.entries = kEnough, unit.count = unit.count > 1 ? kEnough : 1;
  for (auto &file : machine_.registers)
    file.readPorts = file.writePorts = 0;
  for (auto &storage : machine_.storages)
    storage.ports = storage.banks = storage.requests = kEnough;
  Microarchitecture rest = machine_;
  cycles_.assign(rest.opcodes.size(), "");
  for (auto &unit : rest.units)
    for (auto &operation : unit.operations)
      for (CycleExpression *of : {&operation.latency, &operation.interval}) {
        for (const CycleExpression::Term &term : of->terms)
          cycles_[operation.opcode] += fmt::format("{} {} ", int(term.kind), term.value);
        cycles_[operation.opcode] += ';';
        of->terms.clear();
      }
  rest_ = numberOf(textOf(rest));
}

const ProgramTimeBound::Mapped *ProgramTimeBound::mapped(const WorkGraph &graph, OperationId operation,
                                                         const Core &core, int64_t instances) {
  auto [at, isNew] = mapped_.try_emplace({operation, instances, programs_});
  if (!isNew)
    return at->second.get();
  const Microarchitecture &machine = *core.microarchitecture;
  if (auto program = programOf_(partOf(graph.operations[operation], instances), graph.optimizer, machine)) {
    std::vector<char> opcodes(machine.opcodes.size(), 0);
    for (const auto &instruction : program->instructions)
      opcodes[instruction.opcode] = 1;
    at->second = std::make_unique<Mapped>(std::move(*program), std::move(opcodes));
  }
  return at->second.get();
}

int64_t ProgramTimeBound::cycles(const WorkGraph &graph, OperationId operation, const Core &core, int64_t instances) {
  if (!programOf_)
    return 0;
  look(core);
  const Mapped *is = mapped(graph, operation, core, instances);
  if (!is)
    return 0;
  std::string own;
  for (size_t o = 0; o < cycles_.size(); ++o)
    if (is->opcodes[o])
      own += cycles_[o] + '|';
  auto [end, isNew] = ends_.try_emplace({operation, instances, rest_, std::move(own)}, 0);
  if (isNew)
    end->second = microarchitecture::BoundSystem(machine_, is->program, false).end(0);
  return end->second;
}

} // namespace accord
