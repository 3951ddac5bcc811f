// Texts that an editor holds. They stand for those of the files on the disk wherever a program is read.
#pragma once
#include "lib/editor/LineTable.h"
#include "lib/language/syntax/Sources.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace accord::editor {

class OpenFiles {
public:
  struct File {
    std::string path; ///< as the editor names it, absolute
    std::string text;
    int64_t version = 0;
  };

  void open(const std::string &path, std::string text, int64_t version);
  /// Applies the changes in their order. False where the file is not open.
  bool change(const std::string &path, llvm::ArrayRef<TextChange> changes, int64_t version);
  void close(const std::string &path);
  /// Null where it is not open.
  const File *find(const std::string &path) const;
  const std::map<std::string, File> &files() const { return byRealPath; }
  /// Grows with every change of any file.
  uint64_t generation() const { return changes; }

private:
  std::map<std::string, File> byRealPath;
  uint64_t changes = 0;
};

/// The path without links and dots; the path itself where there is no such file.
std::string realPathOf(llvm::StringRef path);

/// Gives `sources` the open texts of a file and of all that it imports, directly or not, under the names by which
/// `Sources::load` asks for them, so that nothing of these is read from the disk.
void provideOpenTexts(const OpenFiles &open, const std::string &main, const std::string &catalog,
                      SourceManager &sources);

} // namespace accord::editor
