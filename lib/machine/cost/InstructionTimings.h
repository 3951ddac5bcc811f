// Times of programs that were found before, on machines that differ in what they do not depend on.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include <map>
#include <mutex>
#include <set>

namespace accord {

/// Safe to share between threads. A timing holds for another machine that executes the same program if they are equal
/// in all but
///
/// - cycles of opcodes that the program does not have;
/// - capacities that nothing waited for: entries of the fetch buffer, the window, the capacity of stages (where each
/// hands
///   on to one at most, so that none chooses), ports of register files, of which the other machine has as many or more.
///   Each time of an instruction is the latest of several, and names one of the latest (`Wait`); where no instruction
///   names a capacity, all times stay what they are without it.
///
/// All that the program itself follows from (`programKeyOf`) is equal in both.
class InstructionTimings {
public:
  struct Known {
    std::shared_ptr<const microarchitecture::InstructionTiming> timing;
    std::set<std::string> words; ///< assumptions
    std::string searched = {};   ///< what a search for schedules found; nothing where there was none
  };
  /// What an operation is mapped to, on all machines with an equal `programKeyOf`.
  struct Mapped {
    microarchitecture::InstructionProgram program;
    std::set<std::string> words; ///< assumptions of the kernel
  };
  /// Null: not known. `operation`: all that the kernel follows from besides the machine.
  std::shared_ptr<const Mapped> mapped(const std::string &operation,
                                       const microarchitecture::Microarchitecture &machine);
  std::optional<Known> find(const std::string &operation, const microarchitecture::Microarchitecture &machine);
  /// The timing has `waits`. One that is an estimate between bounds holds for machines that are equal in every
  /// capacity.
  void insert(const std::string &operation, const microarchitecture::Microarchitecture &machine,
              std::shared_ptr<const Mapped> mapped, Known known);

private:
  struct Entry {
    std::vector<int64_t> capacities;
    std::vector<char> isFree; ///< nothing waited for it
    Known known;
  };
  struct Programs {
    std::shared_ptr<const Mapped> mapped;
    std::vector<char> opcodes; ///< that the program has
    std::map<std::string, std::vector<Entry>> entries;
  };
  std::mutex mutex_;
  std::map<std::string, Programs> programs_; ///< by operation and what its program follows from
  size_t size_ = 0;
};

} // namespace accord
