#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/AllocateRegisters.h"
#include "lib/microarchitecture/mapping/LowerKernel.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

class Emission {
public:
  Emission(const LoweredKernel &lowered, const Microarchitecture &machine)
      : lowered(lowered), kernel(lowered.kernel), machine(machine) {}

  Result<MappedKernel> run() {
    auto files = filesOfValues();
    if (!files)
      return files.takeError();
    auto allocated = allocateRegisters(kernel, machine, *files);
    if (!allocated)
      return allocated.takeError();
    registers = std::move(allocated->of);
    MappedKernel made;
    made.storage = lowered.storage, made.constants = lowered.constants, made.registers = allocated->inUse;
    for (size_t t = 0; t < kernel.tensors.size(); ++t)
      made.tensors.push_back({kernel.tensors[t].name, lowered.begin[t], kernel.tensors[t].elements,
                              kernel.tensors[t].bytes, lowered.storages[t], kernel.tensors[t].storage != kNone});
    program.name = kernel.name;
    for (const KernelLoop &loop : kernel.loops)
      program.loops.push_back({loop.name, loop.count, {}, {}});
    emit(kernel.body, program.body);
    for (const KernelStep &step : kernel.body)
      if (step.loop == kNone && step.role.does == Role::None && !step.isFence())
        made.presets.push_back({registers[step.result], step.immediate});
    if (Errors errors = check(program, machine); !errors.empty())
      return Error{Code::NotMapped, fmt::format("'{}': {}", kernel.name, errors.front().message), machine.location};
    made.program = std::move(program);
    return made;
  }

private:
  /// By value: files that hold it and that all of its steps reach, the narrowest first.
  Result<std::vector<std::vector<Index>>> filesOfValues() const {
    const size_t count = machine.registers.size();
    std::vector<std::vector<char>> allowed(kernel.valueBits.size(), std::vector<char>(count, 1));
    auto restrict = [&](Index value, Index opcode, bool isRead) {
      std::vector<char> reached(count, 0);
      for (const Unit &unit : machine.units)
        if (llvm::any_of(unit.operations, [&](const UnitOperation &o) { return o.opcode == opcode; }))
          for (Index file : isRead ? unit.reads : unit.writes)
            reached[file] = 1;
      for (size_t f = 0; f < count; ++f)
        allowed[value][f] &= reached[f];
    };
    auto visit = [&](const KernelBody &body) {
      for (const KernelStep &step : body) {
        if (step.loop != kNone || step.role.does == Role::None)
          continue;
        const Index opcode = opcodeOf(machine, step.role);
        for (Index value : step.arguments)
          restrict(value, opcode, true);
        if (step.result != kNone)
          restrict(step.result, opcode, false);
        if (step.signals != kNone)
          restrict(step.signals, opcode, false);
      }
    };
    visit(kernel.body);
    for (const KernelLoop &loop : kernel.loops)
      visit(loop.body);
    std::vector<std::vector<Index>> files(allowed.size());
    for (size_t v = 0; v < files.size(); ++v) {
      for (Index f = 0; f < Index(count); ++f)
        if (allowed[v][f] && machine.registers[f].counts == (kernel.valueBits[v] == kTokenBits) &&
            (machine.registers[f].bits == 0 || machine.registers[f].bits >= kernel.valueBits[v]))
          files[v].push_back(f);
      std::sort(files[v].begin(), files[v].end(), [&](Index a, Index b) {
        return std::pair(machine.registers[a].bits, a) < std::pair(machine.registers[b].bits, b);
      });
      if (files[v].empty())
        return Error{Code::NotMapped,
                     fmt::format("'{}': no register file of '{}' has {} bits and is reached by all units that need it",
                                 kernel.name, machine.name, kernel.valueBits[v]),
                     machine.location};
    }
    return files;
  }

  void emit(const KernelBody &body, Body &into) {
    for (const KernelStep &step : body) {
      if (step.loop != kNone) {
        around.push_back(step.loop);
        emit(kernel.loops[step.loop].body, program.loops[step.loop].body);
        around.pop_back();
        into.push_back({kNone, step.loop});
      } else if (step.isFence()) {
        into.push_back({kFence, kNone});
      } else if (step.role.does != Role::None) {
        program.instructions.push_back(instruction(step));
        into.push_back({Index(program.instructions.size()) - 1, kNone});
      }
    }
  }

  Instruction instruction(const KernelStep &step) const {
    Instruction made;
    made.opcode = opcodeOf(machine, step.role);
    const Opcode &opcode = machine.opcodes[made.opcode];
    for (Index value : step.arguments)
      made.reads.push_back(registers[value]);
    if (step.result != kNone)
      made.writes.push_back(registers[step.result]);
    if (step.signals != kNone)
      made.writes.push_back(registers[step.signals]);
    if (step.access.tensor != kNone)
      made.memory = operands(step.access, step.target.tensor != kNone ? opcode.loads : opcode.loads + opcode.stores);
    if (step.target.tensor != kNone)
      for (MemoryOperand &operand : operands(step.target, opcode.stores))
        made.memory.push_back(std::move(operand));
    made.immediates = immediates(step);
    made.immediates.resize(opcode.immediates, 0);
    return made;
  }
  std::vector<MemoryOperand> operands(const KernelAccess &access, int32_t count) const {
    const KernelTensor &tensor = kernel.tensors[access.tensor];
    MemoryOperand first;
    first.storage = lowered.storages[access.tensor];
    first.address.base = lowered.begin[access.tensor] + access.offset * tensor.bytes;
    first.address.strides.assign(around.size(), 0);
    for (auto [loop, stride] : access.strides)
      for (size_t d = 0; d < around.size(); ++d)
        if (around[d] == loop)
          first.address.strides[d] += stride * tensor.bytes;
    first.bytes = access.columns * tensor.bytes * (count == 1 ? access.rows : 1);
    std::vector<MemoryOperand> all(count, first);
    // Where fewer rows are left than the opcode has, the last one is moved again.
    for (int32_t row = 1; row < count; ++row)
      all[row].address.base += std::min<int64_t>(row, access.rows - 1) * access.rowStride * tensor.bytes;
    return all;
  }
  /// Constants and steps say their number, tiles their extents, vectors their elements in memory.
  static std::vector<int64_t> immediates(const KernelStep &step) {
    switch (step.role.does) {
    case Role::Constant:
    case Role::AddImmediate:
      return {step.immediate};
    case Role::Load:
    case Role::Store:
    case Role::Copy:
      if (step.role.isTile())
        return {step.access.rows, step.access.columns};
      return {step.access.columns};
    default:
      if (step.role.isTile())
        return {step.role.m, step.role.n, step.role.k};
      return {};
    }
  }

  const LoweredKernel &lowered;
  const LoopKernel &kernel;
  const Microarchitecture &machine;
  std::vector<Register> registers;
  InstructionProgram program;
  std::vector<Index> around;
};

} // namespace

Result<MappedKernel> emitKernel(const LoopKernel &kernel, const Microarchitecture &machine,
                                const EmitOptions &options) {
  auto lowered = lowerKernel(kernel, machine, options);
  if (!lowered)
    return lowered.takeError();
  return Emission(*lowered, machine).run();
}

} // namespace accord::microarchitecture
