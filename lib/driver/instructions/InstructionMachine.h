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

/// `FILE.accel`, `FILE.accel:NAME`, or a microarchitecture or an accelerator of the catalogue. Error A0104 with the
/// microarchitectures of the catalogue where it has no such one; A0008 where there is no catalogue.
Result<MachineFile> machineFileOf(llvm::StringRef written);

/// The machine of the file that a workspace has read. `name` and `wanted` are that of a microarchitecture or of a core,
/// `chip.core`; where nothing is called so, `core` or `chip` alone. Empty ones say nothing. Where several are meant,
/// `hint` chooses among them if it can. After errors nothing: A0104 where none is called so (with those that there
/// are), A0604 where the file has none, A0605 where several are meant.
std::optional<InstructionMachine> instructionMachineOf(Workspace &workspace, const std::string &name,
                                                       const std::string &wanted, const std::string &hint);

} // namespace accord
