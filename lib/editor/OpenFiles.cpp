#include "lib/editor/OpenFiles.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <set>

namespace accord::editor {

std::string realPathOf(llvm::StringRef path) {
  llvm::SmallString<256> real;
  return llvm::sys::fs::real_path(path, real) ? path.str() : real.str().str();
}

void OpenFiles::open(const std::string &path, std::string text, int64_t version) {
  byRealPath[realPathOf(path)] = {path, std::move(text), version};
  ++changes;
}

bool OpenFiles::change(const std::string &path, llvm::ArrayRef<TextChange> edits, int64_t version) {
  auto found = byRealPath.find(realPathOf(path));
  if (found == byRealPath.end())
    return false;
  for (const TextChange &edit : edits)
    apply(edit, found->second.text);
  found->second.version = version;
  ++changes;
  return true;
}

void OpenFiles::close(const std::string &path) {
  byRealPath.erase(realPathOf(path));
  ++changes;
}

const OpenFiles::File *OpenFiles::find(const std::string &path) const {
  auto found = byRealPath.find(realPathOf(path));
  return found == byRealPath.end() ? nullptr : &found->second;
}

namespace {

/// What stands in quotes behind the word `import`. Imports stand before all else, but a text that is being written may
/// have anything; a name too many does no harm here.
std::vector<std::string> importsIn(llvm::StringRef text) {
  std::vector<std::string> found;
  for (size_t at = text.find("import"); at != llvm::StringRef::npos; at = text.find("import", at + 6)) {
    llvm::StringRef rest = text.drop_front(at + 6).ltrim(" \t");
    if (rest.consume_front("\""))
      found.push_back(rest.take_until([](char c) { return c == '"' || c == '\n' || c == '\r'; }).str());
  }
  return found;
}

} // namespace

void provideOpenTexts(const OpenFiles &open, const std::string &main, const std::string &catalog,
                      SourceManager &sources) {
  SourceManager none;
  Diagnostics unheard(none);
  Sources names(unheard, catalog);
  std::set<std::string> seen;
  std::vector<std::string> next{main};
  while (!next.empty()) {
    std::string path = std::move(next.back());
    next.pop_back();
    if (!seen.insert(path).second)
      continue;
    llvm::StringRef shown = path;
    bool shipped = !catalog.empty() && shown.consume_front(catalog + "/");
    std::string text;
    if (const OpenFiles::File *file = open.find(path)) {
      text = file->text;
      sources.add(shipped ? "catalog/" + shown.str() : path, text);
    } else if (auto buffer = llvm::MemoryBuffer::getFile(path)) {
      text = (*buffer)->getBuffer().str();
    }
    for (const std::string &import : importsIn(text))
      next.push_back(names.resolve(import, path));
  }
}

} // namespace accord::editor
