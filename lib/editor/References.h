// Where a name is declared, where it is used, and what changes where it gets another one.
#pragma once
#include "lib/editor/Diagnose.h"
#include "lib/editor/Names.h"
#include <functional>

namespace accord::editor {

/// All units of a program, each once, that of the main file first.
std::vector<const Sources::Unit *> unitsOf(const Snapshot &snapshot);
FilePlace placeOf(Snapshot &snapshot, SourceRange range);

/// The declaration of the name at a byte, or the first place of the file that an import there names; nothing where none
/// is known. Words of a plan's machine (`hbm`) are found, too.
std::optional<FilePlace> definitionAt(Snapshot &snapshot, uint32_t offset);

/// Reads another file for the places in it; null where it cannot be read.
using SnapshotReader = std::function<Snapshot *(const std::string &path)>;

/// All places that name what is named at a byte, by file and place: in this file, in what it imports, and in `others`
/// (paths) with their imports. Empty where nothing of a file is named there.
std::vector<FilePlace> referencesAt(Snapshot &snapshot, uint32_t offset, llvm::ArrayRef<std::string> others,
                                    const SnapshotReader &read, bool withDeclaration);

/// The name that can be changed at a byte. Errors, in words: nothing is named there, or a file that Accord ships
/// declares it.
Result<SourceRange> renameableAt(Snapshot &snapshot, uint32_t offset);
/// What changes. The new name is no name, or means something in one of the files already: an error in words.
Result<std::vector<FilePlace>> renameAt(Snapshot &snapshot, uint32_t offset, llvm::StringRef newName,
                                        llvm::ArrayRef<std::string> others, const SnapshotReader &read);

} // namespace accord::editor
