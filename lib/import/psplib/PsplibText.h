// The lines of a PSPLIB file by section, and the numbers in them. Internal to lib/import.
#pragma once
#include "lib/support/Diagnostics.h"
#include <optional>
#include <string>
#include <vector>

namespace accord::import {

class PsplibText {
public:
  enum Section : uint8_t { Head, Resources, Information, Precedences, Requests, Availabilities };
  static constexpr size_t kSections = 6;

  PsplibText(Diagnostics &diags, FileId file) : diags(diags), file(file) {}

  /// False after errors: bytes that are no text, no known section, one missing or twice.
  bool split();

  const std::vector<llvm::StringRef> &lines(Section section) const { return content[section]; }
  /// Of the line that opens the section.
  SourceRange heading(Section section) const { return headings[section]; }
  static llvm::StringRef nameOf(Section section);

  /// Words of a line, between blanks.
  static llvm::SmallVector<llvm::StringRef, 16> words(llvm::StringRef line);
  /// Where a piece of the text is.
  SourceRange at(llvm::StringRef piece) const;
  /// A whole number of [least, most], or an error at the word: "'duration' must be ...".
  std::optional<int64_t> number(llvm::StringRef word, const std::string &what, int64_t min, int64_t max);
  Diagnostics::Builder reportInvalid(llvm::StringRef piece, std::string message);

private:
  bool text();

  Diagnostics &diags;
  FileId file;
  std::vector<llvm::StringRef> content[kSections];
  SourceRange headings[kSections];
};

} // namespace accord::import
