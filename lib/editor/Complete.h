// What may be written at a place: words of the languages, keys, operations, names, units.
#pragma once
#include "lib/editor/Names.h"

namespace accord::editor {

enum class ProposalKind : uint8_t {
  Keyword,
  Key,
  Word,
  Operation,
  Function,
  Module,
  Model,
  Machine,
  Training,
  Value,
  Parameter,
  Unit,
  File,
  Block
};

struct Proposal {
  std::string label;
  ProposalKind kind = ProposalKind::Word;
  std::string detail;        ///< one line
  std::string documentation; ///< more, as Markdown
  std::string snippet;       ///< text instead of the label, with places to fill in as ${1:name}; empty: the label
  std::string import;        ///< a file that the name needs, "catalog/gpt2.dnn"; empty: none
};

/// The byte range that a proposal replaces, and the proposals in the order of their kinds and names. Those that do not
/// begin with what is written already, whatever its case, are left out.
struct Proposals {
  uint32_t begin = 0, end = 0;
  std::vector<Proposal> all;
};

/// `text` is what the editor has now; names are those of `snapshot`.
Proposals complete(llvm::StringRef text, llvm::StringRef path, uint32_t offset, Snapshot &snapshot);

/// Where a new import belongs in a text, and what is to be inserted there; nothing where it is imported already.
std::optional<std::pair<uint32_t, std::string>> importOf(llvm::StringRef text, llvm::StringRef import);

} // namespace accord::editor
