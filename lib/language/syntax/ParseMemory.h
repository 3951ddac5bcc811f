// Trees of the last versions of texts, for programs that read a text again and again while it is edited.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <optional>

namespace accord {

/// While one is in use in a thread, `parse` there takes over what a text has in common with its last version:
/// declarations, and the statements and entries of one that changed, as long as nothing in them was wrong. What it
/// returns is the same as without. `Sources` hands its trees back when it ends, so a tree is in one place only.
class ParseMemory {
public:
  struct Kept {
    std::string text;
    std::unique_ptr<ast::File> file;
  };

  /// The path is the one that diagnostics print. What was kept of it before is dropped.
  void keep(llvm::StringRef path, llvm::StringRef text, std::unique_ptr<ast::File> file);
  /// What was kept of a path, which is no longer in the memory then.
  std::optional<Kept> take(llvm::StringRef path);
  void forget(llvm::StringRef path) { take(path); }

  /// That of this thread; null: none.
  static ParseMemory *current();
  /// Puts a memory to use in this thread.
  class Use {
  public:
    explicit Use(ParseMemory &memory);
    ~Use();
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;

  private:
    ParseMemory *before;
  };

private:
  std::map<std::string, Kept, std::less<>> byPath;
};

} // namespace accord
