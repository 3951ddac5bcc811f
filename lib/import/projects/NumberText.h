// Text that is all numbers, word by word, with the place of each. Internal to lib/import.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include "lib/support/Diagnostics.h"
#include <optional>

namespace accord::import {

constexpr int64_t kMaxProjectTasks = 1'000'000, kMaxProjectNumber = int64_t(1) << 40;

/// Both ends belong to it.
struct ProjectRange {
  int64_t min = 0, max = kMaxProjectNumber;
};

/// Reads numbers one after another. After the first error it reads no more: what follows would not be at its place.
class NumberText {
public:
  NumberText(Diagnostics &diags, FileId file);

  /// Whether the file is text and not empty; else an error, with `help` on what is expected.
  bool isReadable(const std::string &help);
  /// Skips lines at the beginning in which the first word is no number: comments.
  void skipComments();

  /// The next word as a whole number; nothing after errors, and at the end of the text.
  std::optional<int64_t> next(const std::string &what, ProjectRange range = {});
  /// The same of a word of brackets, "[-12]".
  std::optional<int64_t> nextInBrackets(const std::string &what, ProjectRange range);
  /// Whether nothing but blanks is left; else an error at the next word.
  bool isDone(const std::string &what);
  /// Words of the next line that is not empty; none at the end.
  llvm::SmallVector<llvm::StringRef, 32> line();
  /// Whether only blanks are left in this line.
  bool isEndOfLine() const;
  bool atEnd() const { return rest.trim(kBlanks).empty(); }

  SourceRange at(llvm::StringRef piece) const;
  /// Of the word that was read last.
  SourceRange lastPlace() const { return at(last); }
  std::optional<int64_t> number(llvm::StringRef word, const std::string &what, ProjectRange range = {});
  std::nullopt_t fail(SourceRange range, std::string message);
  bool failed() const { return hasFailed; }

  /// Names the problem by its file, checks it as a whole, and reports what is wrong at the tasks' places.
  bool isSound(SchedulingProblem &problem);
  SourceLocation location(llvm::StringRef piece) const { return diags.sources().location(at(piece)); }
  llvm::StringRef lastWord() const { return last; }

private:
  static constexpr const char *kBlanks = " \t\r\n\f\v\x1a";
  llvm::StringRef word();

  Diagnostics &diags;
  FileId file;
  llvm::StringRef all, rest, last;
  bool hasFailed = false;
};

} // namespace accord::import
