// A file with everything it imports, in the order in which things must be declared.
#pragma once
#include "lib/support/Diagnostics.h"
#include "lib/syntax/Ast.h"
#include <map>

namespace accord {

struct LoadedFile {
  std::unique_ptr<ast::File> ast;
  /// For each import of `ast->imports`, the index of the file it names in Program::files; ~0 if it could not be read.
  std::vector<size_t> imports;
};

struct Program {
  /// Every file once; a file comes after all files it imports, so the main file is last.
  std::vector<LoadedFile> files;
  const ast::File &main() const { return *files.back().ast; }
  bool complete = true; ///< false if a file could not be read or has errors

  struct Found {
    const ast::Declaration *declaration = nullptr;
    size_t file = ~size_t{0};   ///< index into `files`
    size_t import = ~size_t{0}; ///< index of the import it came through, ~0 if declared in the file itself
  };
  /// What a name means in a file: its own declaration, else those its direct imports declare (several: ambiguous), else
  /// those reached through imports of imports.
  std::vector<Found> find(size_t file, llvm::StringRef name) const;
  /// Names visible in a file, its own first, for suggestions.
  std::vector<std::string> names(size_t file) const;
};

/// Reads and parses `path` and all it imports. An import is looked up beside the importing file, then under each folder of
/// `search` (`import "catalog/a100.accel"` is <folder>/catalog/a100.accel, or <folder>/a100.accel if the folder itself
/// is called catalog). Circles, duplicates and unreadable files are diagnosed at the import; a name declared twice in
/// one file is A0105. Unused imports are for the elaborator to find, which knows what was used (`Found::import`).
Program load(Diagnostics &diags, llvm::StringRef path, llvm::ArrayRef<std::string> search);
/// The same for a text that is already in the source manager (standard input, an editor's buffer).
Program load(Diagnostics &diags, FileId file, llvm::ArrayRef<std::string> search);

/// A0013 for each import of the main file whose flag is not set.
void reportUnusedImports(Diagnostics &diags, const Program &program, llvm::ArrayRef<bool> used);

} // namespace accord
