// What a name, a key, a number or an error means: what `accord explain` and the documentation say, at a place.
#pragma once
#include "lib/editor/Diagnose.h"
#include "lib/editor/Names.h"

namespace accord::editor {

struct Explanation {
  SourceRange range;    ///< what is explained
  std::string markdown; ///< empty: there is nothing to say
};

/// `findings`: of this file, whose codes are explained at their places.
Explanation explainAt(Snapshot &snapshot, uint32_t offset, llvm::ArrayRef<Finding> findings);

/// The first line of a declaration as it is written, without its block.
std::string headOf(const Snapshot &snapshot, const ast::Declaration &declaration);

} // namespace accord::editor
