// A file of an editor with all that it imports, read at one moment: trees, and what names mean in them. It does not
// change; after an edit another one is made.
#pragma once
#include "lib/editor/LineTable.h"
#include "lib/editor/OpenFiles.h"
#include "lib/language/syntax/Evaluate.h"

namespace accord::editor {
struct Occurrence;

class Snapshot {
public:
  /// Reads `path` (absolute) and its imports; texts that are open stand for those on the disk.
  Snapshot(const OpenFiles &open, const std::string &path, const std::string &catalog);
  ~Snapshot();

  /// Null where the file could not be read.
  const Sources::Unit *main() const { return theMain; }
  const ast::File *tree() const { return theMain ? theMain->file.get() : nullptr; }
  llvm::StringRef text() const;
  SourceManager &sources() const { return texts; }
  Sources &names() { return theNames; }
  const std::string &catalog() const { return theCatalog; }

  /// The path on the disk of a file of this snapshot.
  std::string pathOf(FileId id) const;
  /// Whether a file is one that Accord ships, which an editor does not change.
  bool isShipped(FileId id) const;
  const LineTable &lines(FileId id);
  /// All names of a unit, which are looked for once.
  llvm::ArrayRef<Occurrence> namesOf(const Sources::Unit &unit);
  /// The declaration that a name means in a unit; null: there is none.
  const ast::Declaration *find(const Sources::Unit &unit, llvm::StringRef name);
  const Sources::Unit *unitOf(FileId id) const;
  /// The value of a constant, or of an expression that stands in a declaration of a unit; nothing where it has none.
  std::optional<Constant> valueOf(const ast::Expr &expr, const Sources::Unit &unit);
  /// Reads a file of the catalogue that the program does not import. Null where there is none.
  const Sources::Unit *loadShipped(const std::string &path);

private:
  std::optional<Constant> lookUp(llvm::StringRef name, const Sources::Unit &unit, unsigned depth);

  mutable SourceManager texts;
  Diagnostics unheard; ///< of reading; what is shown comes from `diagnose`
  std::string theCatalog, shippedFolder;
  Sources theNames;
  const Sources::Unit *theMain = nullptr;
  std::map<uint32_t, std::unique_ptr<LineTable>> tables;
  std::map<uint32_t, std::vector<Occurrence>> named;
};

} // namespace accord::editor
