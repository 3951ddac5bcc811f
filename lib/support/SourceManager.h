// The texts being compiled, and how a place in one is named: a half-open range of byte offsets.
#pragma once
#include "lib/support/Result.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct FileId {
  uint32_t index = ~0u;
  bool valid() const { return index != ~0u; }
  friend auto operator<=>(const FileId &, const FileId &) = default;
};

/// Bytes [begin, end) of a file. A range with an invalid file is "no place" (for example the
/// command line).
struct SourceRange {
  FileId file;
  uint32_t begin = 0, end = 0;
  bool valid() const { return file.valid(); }
  /// From the start of this range to the end of `other` (same file).
  SourceRange to(const SourceRange &other) const { return {file, begin, other.end}; }
  friend auto operator<=>(const SourceRange &, const SourceRange &) = default;
};

/// Both count from 1; a column is a character (code point), not a byte.
struct Position {
  uint32_t line = 1, column = 1;
  friend auto operator<=>(const Position &, const Position &) = default;
};

class SourceManager {
public:
  /// From now on, files that others name are read where they lie (by their real paths) in one of these folders; of the
  /// second kind of folders descriptions alone (.accel, .dnn, .calibration). For texts of people who may not read all
  /// that this program may.
  void restrictTo(std::vector<std::string> folders, std::vector<std::string> ofDescriptions);
  /// Whether a file may be read: without restrictions, each.
  bool mayRead(llvm::StringRef path) const;
  /// `path` is kept as the user gave it: it is what diagnostics print.
  FileId add(std::string path, std::string text);
  size_t size() const { return files.size(); }
  llvm::StringRef path(FileId id) const { return files[id.index].path; }
  llvm::StringRef text(FileId id) const { return files[id.index].text; }
  llvm::StringRef text(SourceRange range) const;
  std::optional<FileId> find(llvm::StringRef path) const;
  Position position(FileId id, uint32_t offset) const;
  Position position(SourceRange range) const { return position(range.file, range.begin); }
  /// Where a range begins, for errors that travel as data; empty for none.
  SourceLocation location(SourceRange range) const;
  /// The range of one word (or character) at a line and column, for locations that come back from
  /// MLIR.
  SourceRange at(FileId id, Position position) const;
  /// The line (without its line end) an offset lies in, and where it starts.
  llvm::StringRef line(FileId id, uint32_t offset, uint32_t *start = nullptr) const;

private:
  struct File {
    std::string path, text;
    std::vector<uint32_t> lineStarts;
  };
  std::optional<std::vector<std::string>> readable;
  std::vector<std::string> described;
  std::deque<File> files; // stable addresses: StringRefs into the texts are handed out
};

} // namespace accord
