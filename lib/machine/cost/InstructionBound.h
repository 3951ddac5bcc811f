// What operations take at least on cores at the level of instructions, without timing their programs.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/microarchitecture/search/WorkBound.h"
#include <mutex>
#include <span>
#include <string>

namespace accord {

/// All of a machine that the program of an operation follows from: opcodes, what units do and reach, registers, sizes
/// of memories, the ports and lines that tensors are aligned to, in bytes. Machines with equal keys execute the same
/// instructions; fences are where the window is too small for what is handed over in memory.
std::string programKeyOf(const microarchitecture::Microarchitecture &machine);
/// The part of an operation that each of several instances of a core has: its longest parallel loop is cut into as
/// many, and so are the dimensions of tensors that it goes along.
Operation partOf(const Operation &operation, int64_t instances);

/// Whether a core at the level of instructions has a memory by this name: what it moves is part of its cycles.
bool isInside(const Core &core, const Memory &memory);

/// How often the programs of operations execute which instructions, which is the same on all machines with an equal
/// `programKeyOf`.
class InstructionBound {
public:
  /// Of these operations, each on one of `instances` of a core like `machine`. What cannot be mapped takes no cycles.
  InstructionBound(std::span<const Operation *const> operations, const std::string &optimizer, int64_t instances,
                   const microarchitecture::Microarchitecture &machine);

  /// Cycles of each operation that no machine needs fewer of which has no more of anything than this one (instances,
  /// entries, widths, ports, requests, a window) and no lower latency; the largest of
  /// - what the machine's resources are taken for (`microarchitecture::WorkBound`), and for each register that is not
  ///   renamed the cycles of those who write it;
  /// - what instructions wait for operands and for units of one instance, which start in order: the lower envelope
  ///   (`microarchitecture::TimingEnvelope`) of a machine that has enough of all else. Each of its times is the latest
  ///   of older times and latencies, so none is later where latencies are lower, or where a unit has more instances.
  std::vector<int64_t> cyclesOn(const microarchitecture::Microarchitecture &machine) const;

private:
  using Counts = std::vector<std::pair<uint32_t, __int128>>; ///< executions, by instruction of `distinct`
  struct Distinct {
    microarchitecture::Instruction instruction, before; ///< `before`: what it reads is written right before it
    bool follows = false;
  };
  struct Executed {
    Counts counts;
    std::vector<Counts> writers; ///< of each register, none twice
    std::shared_ptr<const microarchitecture::InstructionProgram> program;
    std::vector<char> opcodes; ///< by opcode: whether the program has it
  };
  /// The ends of envelopes that were found before.
  struct Envelopes {
    std::mutex mutex;
    std::map<std::string, int64_t> ends; ///< by operation, and what of a machine its end follows from
  };
  Executed executedBy(const microarchitecture::InstructionProgram &program,
                      const microarchitecture::Microarchitecture &machine);
  uint32_t numberOf(Distinct instruction);
  /// Cycles of each operation by its envelope.
  std::vector<int64_t> envelopesOn(const microarchitecture::Microarchitecture &machine) const;

  std::map<std::string, uint32_t> numbers_;
  std::vector<Distinct> distinct_;
  std::vector<Executed> executed_; ///< by operation
  std::unique_ptr<Envelopes> envelopes_ = std::make_unique<Envelopes>();
};

} // namespace accord
