// Readable names, unique in one training graph, and the phase beside them.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace accord {

class Names {
public:
  /// Gives `op` the name `base` (with ".2", ".3", … when it is taken) and the phase.
  void setName(mlir::Operation *op, llvm::StringRef base, dnn::Phase phase);

  /// Names and phases for all forward operations of `block`: what they have is kept, else the repeat's label and the
  /// operation's kind.
  void nameForward(mlir::Block &block, llvm::StringRef prefix = "");

  /// Of an operation that has it already.
  void reserve(llvm::StringRef name) { ++taken[name]; }

private:
  llvm::StringMap<unsigned> taken;
};

} // namespace accord
