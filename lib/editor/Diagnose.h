// What is wrong in a file of an editor: all that `accord compile` and its neighbours would report before they search.
#pragma once
#include "lib/editor/LineTable.h"
#include "lib/editor/OpenFiles.h"
#include <functional>
#include <set>

namespace accord::editor {

/// A place in a file, as its path and places of an editor.
struct FilePlace {
  std::string path;
  EditorPosition begin, end;
};

struct Finding {
  FilePlace at;
  bool isError = true;
  std::string code;       ///< "A0104"
  std::string message;    ///< as on a terminal, with the help behind it
  std::string suggestion; ///< what to write instead of the range; empty if nothing is suggested
  std::vector<std::pair<FilePlace, std::string>> notes;
};

/// Accelerators of files in which nothing was wrong, by hashes: they are not looked at again while they, and all that
/// they may name, are the same.
class CheckMemory {
public:
  struct File {
    uint64_t context = 0; ///< of all other declarations, and of all other files that were read
    std::set<uint64_t> accelerators;
  };
  File &of(const std::string &path) { return files[path]; }
  void forget(const std::string &path) { files.erase(path); }

private:
  std::map<std::string, File> files;
};

/// Findings in the file and in what it imports, by path; the file itself is always there. Open texts stand for those on
/// the disk. What has no place is at the beginning of the file. Nothing is searched or planned. `stop` is asked between
/// the parts of the work; where it is true the answer is not complete.
std::map<std::string, std::vector<Finding>> diagnose(const OpenFiles &open, const std::string &path,
                                                     const std::function<bool()> &stop, CheckMemory *memory = nullptr);

/// "x" of "did you mean 'x'?", which a help begins with; empty otherwise.
std::string suggestedIn(llvm::StringRef help);

} // namespace accord::editor
