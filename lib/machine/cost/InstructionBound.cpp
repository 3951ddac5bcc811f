#include "lib/machine/cost/InstructionBound.h"
#include "lib/machine/cost/KeyBytes.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/kernels/OperationKernels.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/solve/TimingEnvelope.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord {
namespace microarchitecture {
static KeyBytes &operator<<(KeyBytes &row, const MemoryOperand &operand) {
  return row << operand.storage << operand.bytes;
}
/// All that the time of an instruction follows from, besides which registers and addresses it names.
static KeyBytes &operator<<(KeyBytes &row, const Instruction &instruction) {
  row << instruction.opcode << instruction.memory << instruction.immediates << instruction.reads.size();
  for (const Register &of : instruction.reads)
    row << of.file;
  for (const Register &of : instruction.writes)
    row << of.file;
  return row;
}
} // namespace microarchitecture

using namespace microarchitecture;

/// Whether any cycles follow from the immediates of an instruction.
static bool usesImmediates(const Microarchitecture &machine) {
  auto uses = [](const CycleExpression &cycles) {
    return llvm::any_of(cycles.terms, [](auto &term) { return term.kind == CycleExpression::Kind::Immediate; });
  };
  return llvm::any_of(machine.stages, [&](const Stage &stage) { return uses(stage.latency); }) ||
         llvm::any_of(machine.units, [&](const microarchitecture::Unit &unit) {
           return llvm::any_of(unit.operations,
                               [&](const UnitOperation &of) { return uses(of.latency) || uses(of.interval); });
         });
}

std::string programKeyOf(const Microarchitecture &machine) {
  KeyBytes row;
  row << usesImmediates(machine) << (machine.window > 1);
  row << machine.opcodes.size() << machine.units.size() << machine.registers.size() << machine.storages.size();
  for (const Opcode &opcode : machine.opcodes)
    row << opcode.reads << opcode.writes << opcode.immediates << opcode.loads << opcode.stores << opcode.redirects
        << opcode.role.does << opcode.role.lanes << opcode.role.m << opcode.role.n << opcode.role.k;
  for (const Stage &stage : machine.stages)
    row << stage.to << stage.units;
  for (const microarchitecture::Unit &unit : machine.units) {
    row << unit.operations.size();
    for (const UnitOperation &operation : unit.operations)
      row << operation.opcode;
    row << unit.reads << unit.writes << unit.loadsFrom << unit.storesTo;
  }
  for (const RegisterFile &file : machine.registers)
    row << file.count << file.bits << file.renamed << file.counts;
  for (const Storage &storage : machine.storages)
    row << storage.begin << storage.end << storage.portBytes << (storage.cache ? storage.cache->behind : -1)
        << (storage.cache ? storage.cache->lineBytes : 0);
  return std::move(row.text);
}

/// Bytes of operands and of results.
static std::array<__int128, 2> tensorBytes(const Operation &operation) {
  std::array<__int128, 2> bytes = {};
  for (const LoopTensor &tensor : operation.tensors)
    bytes[tensor.written] += __int128(elementsOf(tensor)) * bytesOf(tensor);
  return bytes;
}

Operation partOf(const Operation &operation, int64_t instances) {
  Operation part = operation;
  auto longest = std::max_element(part.domain.begin(), part.domain.end(), [](const Loop &a, const Loop &b) {
    auto length = [](const Loop &loop) { return loop.kind == IteratorKind::Parallel ? loop.extent : 0; };
    return length(a) < length(b);
  });
  if (instances <= 1 || longest == part.domain.end() || longest->kind != IteratorKind::Parallel)
    return part;
  const unsigned cut = unsigned(longest - part.domain.begin());
  const int64_t all = longest->extent, left = all / instances + (all % instances > 0), gone = all - left;
  longest->extent = left;
  const auto before = tensorBytes(part);
  for (LoopTensor &tensor : part.tensors) // each dimension that the loop goes along has fewer elements
    for (size_t d = 0; d < std::min(tensor.sizes.size(), tensor.dimensions.size()); ++d)
      for (const LoopTensor::Term &term : tensor.dimensions[d])
        if (term.loop == cut)
          tensor.sizes[d] = int64_t(std::max<__int128>(tensor.sizes[d] - __int128(term.stride) * gone,
                                                       std::min<int64_t>(tensor.sizes[d], 1)));
  const auto after = tensorBytes(part);
  auto share = [&](int64_t bytes, int isWritten) { // what is no tensor, such as a buffer of a gradient, is cut, too
    const __int128 others = (bytes - before[isWritten]) * left / std::max<int64_t>(all, 1);
    return int64_t(std::clamp<__int128>(after[isWritten] + others, 0, int64_t(1) << 62));
  };
  part.bytesRead = share(part.bytesRead, 0), part.bytesWritten = share(part.bytesWritten, 1);
  return part;
}

bool isInside(const Core &core, const Memory &memory) {
  return core.microarchitecture && llvm::any_of(core.microarchitecture->storages,
                                                [&](const Storage &storage) { return storage.name == memory.name; });
}

static void dropFences(InstructionProgram &program) {
  auto drop = [](Body &body) { llvm::erase_if(body, [](const Item &item) { return item.isFence(); }); };
  drop(program.body);
  for (InstructionLoop &loop : program.loops)
    drop(loop.body);
}

InstructionBound::InstructionBound(std::span<const Operation *const> operations, const std::string &optimizer,
                                   int64_t instances, const Microarchitecture &machine) {
  for (const Operation *operation : operations) {
    Executed &executed = executed_.emplace_back();
    if (auto kernel = kernelOf(partOf(*operation, instances), optimizer, machine))
      if (auto mapped = emitKernel(*kernel, machine)) {
        executed = executedBy(mapped->program, machine);
        executed.opcodes.assign(machine.opcodes.size(), 0);
        for (const Instruction &instruction : mapped->program.instructions)
          executed.opcodes[instruction.opcode] = 1;
        dropFences(mapped->program); // which other machines may not have
        executed.program = std::make_shared<const InstructionProgram>(std::move(mapped->program));
      }
  }
}

uint32_t InstructionBound::numberOf(Distinct instruction) {
  KeyBytes row;
  row << instruction.instruction << instruction.follows;
  if (instruction.follows)
    row << instruction.before;
  auto [found, isNew] = numbers_.try_emplace(std::move(row.text), uint32_t(distinct_.size()));
  if (isNew)
    distinct_.push_back(std::move(instruction));
  return found->second;
}

InstructionBound::Executed InstructionBound::executedBy(const InstructionProgram &program,
                                                        const Microarchitecture &machine) {
  constexpr __int128 kMax = __int128(1) << 64;
  const bool immediates = usesImmediates(machine);
  std::map<uint32_t, __int128> counts;
  std::map<std::pair<Index, Index>, std::map<uint32_t, __int128>> writers;
  auto visit = [&](auto &self, const Body &body, __int128 count) -> void {
    const Instruction *before = nullptr;
    for (const Item &item : body) {
      if (item.loop >= 0) {
        const InstructionLoop &loop = program.loops[item.loop];
        if (loop.count > 0)
          self(self, loop.body, std::min(count * loop.count, kMax));
        before = nullptr;
        continue;
      }
      if (item.isFence())
        continue;
      const Instruction &is = program.instructions[item.instruction];
      const bool follows =
          before && machine.opcodes[is.opcode].redirects && !machine.opcodes[before->opcode].redirects &&
          llvm::any_of(is.reads, [&](const Register &of) { return llvm::is_contained(before->writes, of); });
      Distinct kind{is, follows ? *before : Instruction(), follows};
      if (!immediates)
        kind.instruction.immediates.clear(), kind.before.immediates.clear();
      const uint32_t number = numberOf(std::move(kind));
      counts[number] += count;
      std::vector<Register> seen;
      for (const Register &of : is.writes)
        if (!machine.registers[of.file].renamed && !machine.registers[of.file].counts &&
            !llvm::is_contained(seen, of)) {
          seen.push_back(of);
          writers[{of.file, of.number}][number] += count;
        }
      before = &is;
    }
  };
  visit(visit, program.body, 1);
  Executed made;
  made.counts.assign(counts.begin(), counts.end());
  for (const auto &[of, all] : writers) {
    Counts one(all.begin(), all.end());
    if (!llvm::is_contained(made.writers, one))
      made.writers.push_back(std::move(one));
  }
  return made;
}

/// A machine that has enough of all but instances of units, of which those with several have enough, too.
static Microarchitecture withEnough(Microarchitecture machine) {
  constexpr int32_t kEnough = 1 << 20;
  machine.window = machine.fetch.buffer = kEnough;
  for (Stage &stage : machine.stages)
    stage.width = stage.capacity = kEnough;
  for (microarchitecture::Unit &unit : machine.units) {
    unit.entries = kEnough;
    if (unit.count > 1)
      unit.count = kEnough;
  }
  for (RegisterFile &file : machine.registers)
    file.readPorts = file.writePorts = 0;
  for (Storage &storage : machine.storages)
    storage.ports = storage.banks = storage.requests = kEnough;
  return machine;
}

std::vector<int64_t> InstructionBound::envelopesOn(const Microarchitecture &of) const {
  const Microarchitecture machine = withEnough(of);
  // What ends follow from: cycles of opcodes that a program has, which of their units are one, and the rest of the
  // machine.
  std::vector<KeyBytes> byOpcode(machine.opcodes.size());
  Microarchitecture rest = machine;
  for (microarchitecture::Unit &unit : rest.units) {
    for (UnitOperation &operation : unit.operations) {
      byOpcode[operation.opcode] << (unit.count > 1);
      for (const CycleExpression *cycles : {&operation.latency, &operation.interval}) {
        byOpcode[operation.opcode] << cycles->terms.size();
        for (const CycleExpression::Term &term : cycles->terms)
          byOpcode[operation.opcode] << term.kind << term.value;
      }
      operation.latency.terms.clear(), operation.interval.terms.clear();
    }
    unit.count = 1;
  }
  const std::string common = PriceCache::keyOf(rest);
  std::vector<int64_t> ends;
  for (size_t i = 0; i < executed_.size(); ++i) {
    if (!executed_[i].program) {
      ends.push_back(0);
      continue;
    }
    KeyBytes key;
    key << i;
    for (size_t o = 0; o < byOpcode.size(); ++o)
      if (executed_[i].opcodes[o])
        key << byOpcode[o].text;
    key.text += common;
    {
      std::lock_guard lock(envelopes_->mutex);
      if (auto known = envelopes_->ends.find(key.text); known != envelopes_->ends.end()) {
        ends.push_back(known->second);
        continue;
      }
    }
    ends.push_back(TimingEnvelope(machine, *executed_[i].program, TimingEnvelope::Side::Lower).end(0));
    std::lock_guard lock(envelopes_->mutex);
    envelopes_->ends.try_emplace(std::move(key.text), ends.back());
  }
  return ends;
}

std::vector<int64_t> InstructionBound::cyclesOn(const Microarchitecture &machine) const {
  constexpr int64_t kMax = int64_t(1) << 62;
  const WorkBound bound(machine);
  std::vector<Work> works;
  std::vector<int64_t> tails;
  for (const Distinct &one : distinct_) {
    works.push_back(one.follows ? bound.ofRedirect(one.instruction, one.before) : bound.of(one.instruction));
    tails.push_back(bound.tailOf(one.instruction));
  }
  std::vector<int64_t> cycles = envelopesOn(machine);
  for (size_t i = 0; i < executed_.size(); ++i) {
    const Executed &executed = executed_[i];
    WorkTotals totals;
    for (const auto &[number, count] : executed.counts)
      bound.add(works[number], count, totals);
    __int128 max = executed.counts.empty() ? 0 : bound.cycles(totals);
    for (const Counts &writers : executed.writers) {
      __int128 sum = 0;
      for (const auto &[number, count] : writers)
        sum = std::min<__int128>(sum + std::min<__int128>(count, kMax) * tails[number], kMax);
      max = std::max(max, sum);
    }
    cycles[i] = std::max(cycles[i], int64_t(std::min<__int128>(max, kMax)));
  }
  return cycles;
}

} // namespace accord
