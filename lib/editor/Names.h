// What each name in a file stands for: the base of definitions, references, renaming, colours and explanations.
#pragma once
#include "lib/editor/Snapshot.h"

namespace accord::editor {

enum class NameKind : uint8_t {
  Declaration, ///< of a file: a machine, a model, a training, a constant
  Parameter,
  Value,     ///< of a body: let, var, input, the variable of a loop
  Part,      ///< of a machine or cluster, a job, a member
  Layer,     ///< of repeat … as NAME
  Operation, ///< built in
  Attribute, ///< of such an operation
  Function,  ///< built in: min, shape, …
  Key,       ///< of a block
  Kind,      ///< memory, core, job: the word before the name of a part
  Word       ///< one of a fixed list (bf16), or a name that nothing declares
};

/// One name as it is written. `target` is where it is declared, which is the same place for all that mean one thing;
/// invalid where nothing in a file declares it.
struct Occurrence {
  SourceRange range;
  NameKind kind = NameKind::Word;
  SourceRange target;
  const ast::Declaration *declaration = nullptr; ///< that it names, or whose parameter it is
  const ast::Declaration *within = nullptr;      ///< where it stands
  bool isDeclaration() const { return target.valid() && target == range; }
};

/// All names of a unit, in the order of their places. `Snapshot::namesOf` keeps them.
std::vector<Occurrence> namesIn(Snapshot &snapshot, const Sources::Unit &unit);
/// The name at a byte, or that ends there; null: there is none.
const Occurrence *nameAt(llvm::ArrayRef<Occurrence> names, uint32_t offset);

} // namespace accord::editor
