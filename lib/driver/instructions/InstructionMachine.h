// The machine at the level of instructions that a user names: a declaration of a file, or a core of an accelerator.
#pragma once
#include "lib/driver/Workspace.h"
#include "lib/microarchitecture/problem/Microarchitecture.h"

namespace accord {

struct InstructionMachine {
  microarchitecture::Microarchitecture machine;
  double clock = 0; ///< of its accelerator, in cycles a second; 0: none is stated
};

/// A file and the name of what is meant in it.
struct MachineFile {
  std::string file;
  std::string name; ///< an accelerator or a microarchitecture; empty: the only one
};

/// `FILE.accel`, `FILE.accel:NAME`, or an accelerator of the catalogue. Error A0104 with all names of the catalogue
/// that has no such one; A0008 where there is no catalogue.
Result<MachineFile> machineFileOf(llvm::StringRef written);

/// The machine of the file that a workspace has read. `name` and `wanted` are that of a microarchitecture, of a core
/// (`chip.core` or `core`), or of an accelerator with one such core; empty ones say nothing. Where both say nothing and
/// there are several, `hint` chooses the one of this name. After errors nothing: A0104 where none is called so (with
/// those that there are), A0604 where the file has none, A0605 where several are meant.
std::optional<InstructionMachine> instructionMachineOf(Workspace &workspace, const std::string &name,
                                                       const std::string &wanted, const std::string &hint);

} // namespace accord
