// What operations take at least on cores at the level of instructions, for proofs about many machines: bounds of their
// programs, found again by code that the search does not use.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace accord {

/// The program that a part of an operation is mapped to where no schedule is searched for; nothing: it has none.
using OperationPrograms = std::function<std::optional<microarchitecture::InstructionProgram>(
    const Operation &part, const std::string &optimizer, const microarchitecture::Microarchitecture &machine)>;

/// Of the operations of one graph, always the same. Not to be shared between threads.
class ProgramTimeBound {
public:
  /// Null: no operation has a program.
  explicit ProgramTimeBound(OperationPrograms programs) : programOf_(std::move(programs)) {}

  /// Cycles that an operation with the plain schedule does not end before on one of `instances` instances of the core,
  /// each of which has its part of the longest parallel loop. The bound of `microarchitecture::BoundSystem` where the
  /// core has enough of all (entries, widths, ports, requests, a window) but instances of units that have one: waits
  /// for operands, and for what starts in order. 0 where the operation has no program. `core` has a microarchitecture.
  int64_t cycles(const WorkGraph &graph, OperationId operation, const Core &core, int64_t instances);

private:
  struct Mapped {
    microarchitecture::InstructionProgram program;
    std::vector<char> opcodes; ///< by opcode: whether the program has it
  };
  /// Null: it has none.
  const Mapped *mapped(const WorkGraph &graph, OperationId operation, const Core &core, int64_t instances);
  /// The core that was asked for last, which is asked for many operations.
  void look(const Core &core);
  size_t numberOf(const std::string &text) { return numbers_.try_emplace(text, numbers_.size()).first->second; }

  OperationPrograms programOf_;
  std::map<std::string, size_t> numbers_; ///< of texts
  std::map<std::tuple<OperationId, int64_t, size_t>, std::unique_ptr<Mapped>> mapped_;
  std::map<std::tuple<OperationId, int64_t, size_t, std::string>, int64_t> ends_;

  std::shared_ptr<const microarchitecture::Microarchitecture> looked_;
  microarchitecture::Microarchitecture machine_; ///< that has enough
  std::vector<std::string> cycles_;              ///< of it, by opcode
  size_t rest_ = 0, programs_ = 0;               ///< its number without cycles; of all that programs follow from
};

} // namespace accord
