// What is around a place: ever larger parts of the file to select, and the call whose arguments are being written.
#pragma once
#include "lib/editor/Snapshot.h"

namespace accord::editor {

/// Bytes of the parts that a place is in, the smallest first: a word, expressions, statements or entries, blocks, the
/// declaration, the file. Each is larger than the one before and holds it.
std::vector<std::pair<uint32_t, uint32_t>> enclosingParts(const Snapshot &snapshot, uint32_t offset);

/// How something is called: "linear(x, out, bias?)", and the bytes of each parameter in that.
struct Signature {
  std::string label, documentation;
  std::vector<std::pair<uint32_t, uint32_t>> parameters;
  size_t active = 0; ///< the parameter that is being written; beyond the last where there is none
};
/// Of the innermost call that is open at a byte of `text`, which may be newer than the snapshot and broken; nothing
/// where none is, or where nothing is known of what is called.
std::optional<Signature> signatureAt(llvm::StringRef text, uint32_t offset, Snapshot &snapshot);

} // namespace accord::editor
