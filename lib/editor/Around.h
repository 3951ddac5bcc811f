// What stands around a place in a text that is being written, and so may be broken: brackets that are open there, the
// words before them, and the word that is half there.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord::editor {

/// A bracket that is open.
struct OpenBracket {
  char bracket = '{';   ///< { ( [
  uint32_t at = 0;      ///< its byte
  llvm::StringRef head; ///< the text before it, from the beginning of its entry or argument: "memory hbm : dram"
};

struct Around {
  bool inComment = false;
  bool inText = false;           ///< between quotes, which begin before `prefix`
  std::vector<OpenBracket> open; ///< outermost first
  llvm::StringRef before;        ///< of the entry or argument, up to the word that is being written
  llvm::StringRef prefix;        ///< the half word, or the half text
  uint32_t begin = 0, end = 0;   ///< bytes of the whole word, of which `prefix` is the first part

  /// The innermost block, whatever brackets are open in it; null outside of all.
  const OpenBracket *block() const;
};

/// Reads the text from its beginning to `offset`, without regard for errors. The result refers into the text.
Around around(llvm::StringRef text, uint32_t offset);

/// The words and signs of a piece of text: names, numbers, and single characters; blanks and comments are left out.
std::vector<llvm::StringRef> piecesOf(llvm::StringRef text);

bool isNameCharacter(char c);

} // namespace accord::editor
