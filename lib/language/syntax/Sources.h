// The files of one program: reading, imports, and what a name means in which file.
#pragma once
#include "lib/language/syntax/DeclarationScope.h"
#include "lib/support/Diagnostics.h"
#include <map>
#include <memory>
#include <set>

namespace accord {

/// That there is no folder of shipped descriptions, where it was looked for, and what to do; empty if there is one.
std::string missingCatalog(const std::string &folder);
/// Microarchitectures that files of a catalogue declare, by name, and their files.
std::map<std::string, std::string> microarchitecturesIn(const std::string &catalog);

class Sources : public DeclarationScope {
public:
  struct Unit {
    std::string path; ///< real path
    std::unique_ptr<ast::File> file;
    std::vector<std::pair<const ast::Import *, Unit *>> imports;
    std::map<std::string, const ast::Declaration *> names;
  };

  Sources(Diagnostics &diags, std::string catalog) : diags(diags), catalog(std::move(catalog)) {}
  /// Hands its trees to the memory of the thread, if it has one.
  ~Sources() override;

  /// Reads a file and all it imports. Null if it cannot be read. Errors: unreadable, syntax, import
  /// cycle, duplicate import, wrong language, name declared twice.
  Unit *load(const std::string &path, SourceRange from);
  /// Inputs, names and imports that nothing uses, in all files read. Asked last, and only where all
  /// else is right: a misspelt use would be reported twice.
  void reportUnused();
  /// "catalog/a100.accel" or a path relative to the importing file -> the file to read.
  std::string resolve(llvm::StringRef written, llvm::StringRef importer) const;

  const ast::Declaration *find(llvm::StringRef name, const ast::Declaration &from, SourceRange at) override;
  std::vector<std::string> names(const ast::Declaration &from) override;
  /// The declaration that `name` means in a file: its own, else of a direct import (two of them:
  /// A0110 at `at`).
  const ast::Declaration *find(const Unit &unit, llvm::StringRef name, SourceRange at);
  /// Of the file and its imports, of all kinds or of these alone; the file's own come first.
  std::vector<std::string> names(const Unit &unit, llvm::ArrayRef<ast::DeclarationKind> kinds = {}) const;
  Unit *unitOf(const ast::Declaration &declaration) const;

  /// The catalogue file that declares an accelerator or cluster of this name; all accelerators'
  /// names, sorted.
  std::optional<std::string> catalogFileOf(llvm::StringRef machine) const;
  /// Names of accelerators, and of clusters behind them.
  std::vector<std::string> catalogMachines(bool clusters) const;

private:
  void imports(Unit &unit);
  void declarations(Unit &unit);
  const std::map<std::string, std::string> &catalogIndex() const;

  Diagnostics &diags;
  std::string catalog;
  std::map<std::string, std::unique_ptr<Unit>> units; ///< by real path
  std::map<uint32_t, Unit *> byFile;
  std::vector<std::pair<Unit *, const ast::Import *>> loading;     ///< the chain of imports being read
  mutable std::optional<std::map<std::string, std::string>> index; ///< accelerators, once it is read
  mutable std::map<std::string, std::string> clusterIndex;
};

} // namespace accord
